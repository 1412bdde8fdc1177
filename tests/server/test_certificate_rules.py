"""What a certificate has to be before a server is proved by it, or clients are trusted by it."""

import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from redfish_fm.server.certificate_parts import Parts
from redfish_fm.server.certificate_rules import unfit_for_authority, unfit_for_server
from redfish_fm.server.csr import signing_request
from tests.certificates_made import (
    CLIENT,
    SERVER,
    Made,
    an_authority,
    key_usage,
    made,
    now,
    rsa_key,
)

ROOT = an_authority()
NOW_S = now().timestamp()


def parts(*found: Made) -> Parts:
    return Parts(tuple(each.certificate for each in found))


@pytest.mark.parametrize(
    "fit",
    [
        made(by=ROOT),
        made(),
        made(by=ROOT, purposes=None),
        made(by=ROOT, purposes=[CLIENT, SERVER]),
        made(by=ROOT, purposes=[ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE]),
        made(by=ROOT, usage=key_usage(digital_signature=True)),
        made(by=ROOT, key=rsa_key(2048)),
        made(by=ROOT, key=ec.generate_private_key(ec.SECP521R1())),
    ],
)
def test_what_a_server_can_use_is_taken(fit: Made) -> None:
    assert unfit_for_server(parts(fit), NOW_S) == []


@pytest.mark.parametrize(
    ("unfit", "reason"),
    [
        (made(by=ROOT, days=(-2, -1)), "it has expired"),
        (made(by=ROOT, days=(1, 2)), "it is not valid yet"),
        (made(by=ROOT, purposes=[CLIENT]), "its extended key usage"),
        (made(by=ROOT, usage=key_usage(key_encipherment=True)), "its key usage"),
        (made(by=ROOT, key=rsa_key(1024)), "its RSA key has 1024 bits"),
        (made(by=ROOT, key=ec.generate_private_key(ec.SECP256K1())), "a curve that TLS"),
    ],
)
def test_what_no_server_can_use_is_told(unfit: Made, reason: str) -> None:
    (told,) = unfit_for_server(parts(unfit), NOW_S)
    assert reason in told


def test_a_broken_hash_proves_nothing(tmp_path: Path) -> None:
    weak = Parts((signed_with_sha1(tmp_path),))
    # Valid since it was made, which may be a second after NOW_S.
    assert unfit_for_server(weak, NOW_S + 3600) == ["its signature rests on a hash that is broken"]


def signed_with_sha1(place: Path) -> x509.Certificate:
    """Return what only the command line still makes: `cryptography` refuses to."""
    body = {"CommonName": "fm.example"}
    files = {"request": signing_request(body, made().key), "ca": ROOT.pem, "key": ROOT.key_pem}
    for name, text in files.items():
        (place / name).write_text(text)
    command = "openssl x509 -req -sha1 -days 9 -in request -CA ca -CAkey key -CAcreateserial"
    done = subprocess.run(command.split(), cwd=place, check=True, capture_output=True)
    return x509.load_pem_x509_certificate(done.stdout)


def test_everything_wrong_is_told_at_once() -> None:
    bad = made(by=ROOT, days=(-2, -1), purposes=[CLIENT], key=rsa_key(1024))
    assert len(unfit_for_server(parts(bad), NOW_S)) == 3


def test_the_whole_chain_has_to_be_valid() -> None:
    old = an_authority("old", days=(-9, -1))
    assert unfit_for_server(parts(made(by=old), old), NOW_S) == ["it has expired"]


def test_the_last_moment_counts_no_more() -> None:
    leaf = made(by=ROOT)
    end_s = leaf.certificate.not_valid_after_utc.timestamp()
    assert unfit_for_server(parts(leaf), end_s - 1) == []
    assert unfit_for_server(parts(leaf), end_s) == ["it has expired"]


@pytest.mark.parametrize("usage", [None, key_usage(key_cert_sign=True)])
def test_an_authority_can_be_trusted(usage) -> None:
    assert unfit_for_authority(an_authority(usage=usage).certificate, NOW_S) == []


@pytest.mark.parametrize(
    ("unfit", "reason"),
    [
        (made(), "it is not that of a certificate authority"),
        (an_authority(usage=key_usage(digital_signature=True)), "does not allow to sign"),
        (an_authority(days=(-2, -1)), "it has expired"),
        (an_authority(key=rsa_key(1024)), "its RSA key has 1024 bits"),
    ],
)
def test_what_is_no_authority_is_not_trusted(unfit: Made, reason: str) -> None:
    (told,) = unfit_for_authority(unfit.certificate, NOW_S)
    assert reason in told
