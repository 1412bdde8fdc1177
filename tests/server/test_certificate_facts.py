"""What a certificate says, as properties; all of them as the schema has them."""

import re

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes

from redfish_fm.server.certificate_facts import certificate_properties
from tests.certificates_made import CLIENT, SERVER, an_authority, key_usage, made, name, rsa_key
from tests.redfish.builders import CATALOG

SUBJECT = name(
    "one.example",
    "two.example",
    ORGANIZATION_NAME="An Organisation",
    ORGANIZATIONAL_UNIT_NAME="A Unit",
    LOCALITY_NAME="A Town",
    STATE_OR_PROVINCE_NAME="A State",
    COUNTRY_NAME="XX",
    EMAIL_ADDRESS="who@example.org",
    DOMAIN_COMPONENT="example",
)
ROOT = an_authority("an authority")
USAGE = key_usage(digital_signature=True, key_agreement=True, encipher_only=True)
LEAF = made(SUBJECT, ROOT, purposes=[SERVER, CLIENT], usage=USAGE).certificate
SAID = certificate_properties(LEAF)


def test_the_subject_is_told_name_by_name() -> None:
    subject = dict(SAID["Subject"])
    assert "CN=one.example" in subject.pop("DisplayString")
    assert subject == {
        "CommonName": "one.example",
        "AdditionalCommonNames": ["two.example"],
        "Organization": "An Organisation",
        "OrganizationalUnit": "A Unit",
        "City": "A Town",
        "State": "A State",
        "Country": "XX",
        "Email": "who@example.org",
        "DomainComponents": ["example"],
        "AlternativeNames": ["localhost", "127.0.0.1"],
    }


def test_the_issuer_is_told() -> None:
    assert SAID["Issuer"] == {"CommonName": "an authority", "DisplayString": "CN=an authority"}


def test_what_it_may_be_used_for_is_told_in_the_words_of_the_schema() -> None:
    assert sorted(SAID["KeyUsage"]) == [
        "ClientAuthentication",
        "DigitalSignature",
        "EncipherOnly",
        "KeyAgreement",
        "ServerAuthentication",
    ]
    known = CATALOG.types["Certificate"].properties["KeyUsage"].items
    assert known is not None and set(SAID["KeyUsage"]) <= set(known.enum)


def test_numbers_and_fingerprints_are_pairs_of_digits() -> None:
    pairs = re.compile(r"([0-9A-F]{2}:)*[0-9A-F]{2}")
    assert pairs.fullmatch(SAID["SerialNumber"]) and pairs.fullmatch(SAID["Fingerprint"])
    assert int(SAID["SerialNumber"].replace(":", ""), 16) == LEAF.serial_number
    assert SAID["Fingerprint"].replace(":", "").lower() == LEAF.fingerprint(hashes.SHA256()).hex()
    assert SAID["FingerprintHashAlgorithm"] == "TPM_ALG_SHA256"


def test_times_are_redfish_times() -> None:
    assert SAID["ValidNotBefore"] == f"{LEAF.not_valid_before_utc:%Y-%m-%dT%H:%M:%SZ}"
    assert SAID["ValidNotAfter"] == f"{LEAF.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [(None, "ecdsa-with-SHA256"), (rsa_key(2048), "sha256WithRSAEncryption")],
)
def test_the_signature_is_named(key, algorithm: str) -> None:
    said = certificate_properties(made(key=key).certificate)
    assert said["SignatureAlgorithm"] == algorithm


def test_nothing_is_said_of_what_it_does_not_say() -> None:
    said = certificate_properties(made(x509.Name([]), alternatives=(), purposes=None).certificate)
    assert said["Subject"] == said["Issuer"] == {}
    assert "KeyUsage" not in said


def test_every_property_is_one_of_the_schema() -> None:
    info = CATALOG.types["Certificate"]
    assert set(SAID) <= set(info.properties)
    identifier = info.properties["Subject"].object
    assert identifier is not None and set(SAID["Subject"]) <= set(identifier.properties)
