"""Signing requests: what was asked for is in them, and what can not be is refused by name."""

import ipaddress
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import AttributeOID, ExtendedKeyUsageOID, NameOID

from redfish_fm.server.csr import new_key, signing_request, wrong_parameters
from tests.redfish.builders import CATALOG

BODY = {"CommonName": "fm.example"}


def asked(**body: Any) -> x509.CertificateSigningRequest:
    body = {**BODY, **body}
    assert list(wrong_parameters(body)) == []
    request = x509.load_pem_x509_csr(signing_request(body, new_key(body)).encode())
    assert request.is_signature_valid
    return request


def test_the_request_carries_every_part_of_the_subject() -> None:
    given = {
        "Organization": (NameOID.ORGANIZATION_NAME, "An Organisation"),
        "OrganizationalUnit": (NameOID.ORGANIZATIONAL_UNIT_NAME, "A Unit"),
        "City": (NameOID.LOCALITY_NAME, "A Town"),
        "State": (NameOID.STATE_OR_PROVINCE_NAME, "A State"),
        "Country": (NameOID.COUNTRY_NAME, "XX"),
        "Email": (NameOID.EMAIL_ADDRESS, "who@example.org"),
        "GivenName": (NameOID.GIVEN_NAME, "Anne"),
        "Surname": (NameOID.SURNAME, "Onymous"),
        "Initials": (NameOID.INITIALS, "A.O."),
        "ContactPerson": (x509.ObjectIdentifier("2.5.4.41"), "Anne Onymous"),
    }
    request = asked(**{name: text for name, (_, text) in given.items()})
    for oid, text in [*given.values(), (NameOID.COMMON_NAME, "fm.example")]:
        assert [each.value for each in request.subject.get_attributes_for_oid(oid)] == [text]


def test_a_country_is_written_large() -> None:
    assert "C=XX" in asked(Country="xx").subject.rfc4514_string()


def test_alternative_names_are_hosts_or_addresses() -> None:
    names = extension(asked(AlternativeNames=["a.example", "10.0.0.1", "::1"]))
    assert list(names) == [
        x509.DNSName("a.example"),
        x509.IPAddress(ipaddress.ip_address("10.0.0.1")),
        x509.IPAddress(ipaddress.ip_address("::1")),
    ]


def test_without_them_the_common_name_is_one() -> None:
    assert list(extension(asked())) == [x509.DNSName("fm.example")]


def test_a_common_name_that_is_no_host_is_none() -> None:
    with pytest.raises(x509.ExtensionNotFound):
        extension(asked(CommonName="A service with a näme"))


def extension(request: x509.CertificateSigningRequest) -> x509.SubjectAlternativeName:
    return request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value


def test_a_server_is_what_it_asks_for_unless_told_otherwise() -> None:
    extensions = asked().extensions
    purposes = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [ExtendedKeyUsageOID.SERVER_AUTH]
    usage = extensions.get_extension_for_class(x509.KeyUsage).value
    assert usage.digital_signature and not usage.key_encipherment


def test_the_usages_asked_for_are_in_it() -> None:
    info = CATALOG.types["CertificateService"].actions["CertificateService.GenerateCSR"]
    items = info.parameters["KeyUsage"].items
    assert items is not None
    request = asked(KeyUsage=sorted(items.enum))
    usage = request.extensions.get_extension_for_class(x509.KeyUsage).value
    assert usage.crl_sign and usage.key_agreement and usage.encipher_only and usage.decipher_only
    purposes = request.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert len(list(purposes)) == 6


def test_passwords_for_the_authority_go_into_the_request() -> None:
    request = asked(ChallengePassword="an-invented-word", UnstructuredName="a name")
    value = request.attributes.get_attribute_for_oid(AttributeOID.CHALLENGE_PASSWORD).value
    assert value == b"an-invented-word"
    unstructured = x509.ObjectIdentifier("1.2.840.113549.1.9.2")
    assert request.attributes.get_attribute_for_oid(unstructured).value == b"a name"


@pytest.mark.parametrize(
    ("curve", "name"),
    [(None, "secp256r1"), ("TPM_ECC_NIST_P384", "secp384r1"), ("TPM_ECC_NIST_P521", "secp521r1")],
)
def test_keys_are_on_the_curve_asked_for(curve: str | None, name: str) -> None:
    more = {} if curve is None else {"KeyPairAlgorithm": "TPM_ALG_ECDSA", "KeyCurveId": curve}
    key = asked(**more).public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name == name


def test_rsa_keys_have_the_length_asked_for() -> None:
    key = asked(KeyPairAlgorithm="TPM_ALG_RSA", KeyBitLength=3072).public_key()
    assert isinstance(key, rsa.RSAPublicKey) and key.key_size == 3072


def test_every_key_is_another_one() -> None:
    assert asked().public_key() != asked().public_key()


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"CommonName": ""}, "CommonName"),
        ({"CommonName": "x" * 65}, "CommonName"),
        ({"Country": "Utopia"}, "Country"),
        ({"Country": "U1"}, "Country"),
        ({"Email": "nä@example.org"}, "Email"),
        ({"AlternativeNames": ["two words"]}, "AlternativeNames"),
        ({"AlternativeNames": ["näme"]}, "AlternativeNames"),
        ({"AlternativeNames": [""]}, "AlternativeNames"),
        ({"AlternativeNames": ["a.example"] * 101}, "AlternativeNames"),
        ({"KeyPairAlgorithm": "TPM_ALG_SM2"}, "KeyPairAlgorithm"),
        ({"KeyPairAlgorithm": "TPM_ALG_RSA", "KeyBitLength": 1024}, "KeyBitLength"),
        ({"KeyPairAlgorithm": "TPM_ALG_RSA", "KeyBitLength": 65536}, "KeyBitLength"),
        ({"KeyBitLength": 2048}, "KeyBitLength"),
        ({"KeyCurveId": "TPM_ECC_NIST_P192"}, "KeyCurveId"),
        ({"KeyPairAlgorithm": "TPM_ALG_RSA", "KeyCurveId": "TPM_ECC_NIST_P256"}, "KeyCurveId"),
    ],
)
def test_what_can_not_be_asked_for_is_named(wrong: dict[str, Any], named: str) -> None:
    assert {name for name, _ in wrong_parameters({**BODY, **wrong})} == {named}


def test_all_of_it_is_named_at_once() -> None:
    wrong = {"CommonName": "", "Country": "x", "KeyPairAlgorithm": "none"}
    assert [name for name, _ in wrong_parameters(wrong)] == list(wrong)
