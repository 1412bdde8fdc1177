"""Certificates for the rest of the service: the right key for each, and the right reasons."""

from pathlib import Path

import pytest

from redfish_fm.redfish.certificates import Material
from redfish_fm.server.certificates import (
    NO_KEY,
    Sent,
    authority_material,
    requested,
    server_material,
    shown,
)
from redfish_fm.server.tls import TlsError
from tests.certificates_made import an_authority, made, now, signed_for

ROOT = an_authority()
NOW_S = now().timestamp()
LEAF, OTHER = made(by=ROOT), made(by=ROOT)
KEY, OTHERS = LEAF.key_pem.encode(), OTHER.key_pem.encode()


def read(
    text: str, place: Path, pending: bytes | None = None, in_use: bytes | None = None
) -> Material | list[str]:
    return server_material(Sent(text, "PEM"), pending, in_use, NOW_S, place)


@pytest.mark.parametrize(
    ("sent", "pending", "in_use", "pending_used"),
    [
        (LEAF.key_pem, None, OTHERS, None),
        (LEAF.key_pem, OTHERS, OTHERS, None),
        ("", KEY, OTHERS, KEY),
        ("", OTHERS, KEY, None),
        ("", b"damaged", KEY, None),
    ],
)
def test_the_key_that_belongs_to_it_is_found(
    tmp_path: Path, sent: str, pending: bytes | None, in_use: bytes, pending_used: bytes | None
) -> None:
    found = read(sent + LEAF.pem, tmp_path, pending, in_use)
    assert isinstance(found, Material)
    assert (found.key, found.pending) == (KEY, pending_used)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LEAF.pem, NO_KEY),
        (OTHER.key_pem + LEAF.pem, "the private key that is sent with it belongs to another one"),
        ("rubbish", "no certificate in PEM form"),
    ],
)
def test_why_it_can_not_be_served_is_told(tmp_path: Path, text: str, reason: str) -> None:
    # A key of another that comes along is a mistake, even where the right one is in use.
    in_use = KEY if "PRIVATE" in text else None
    assert read(text, tmp_path, None, in_use) == [reason]


def test_openssl_has_the_last_word(tmp_path: Path, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise TlsError("no")

    monkeypatch.setattr("redfish_fm.server.certificates.pair_context", refuse)
    assert read(LEAF.key_pem + LEAF.pem, tmp_path) == ["OpenSSL can not serve it"]


def test_an_authority_says_what_it_is() -> None:
    found = authority_material(Sent(ROOT.pem, "PEM"), NOW_S)
    assert isinstance(found, Material) and found.key is None
    assert found.properties["CertificateString"] == ROOT.pem


def test_a_request_comes_with_its_key_and_with_no_other(tmp_path: Path) -> None:
    request, material = requested({"CommonName": "fm.example"})
    found = read(signed_for(request, ROOT).pem, tmp_path, material.key)
    assert isinstance(found, Material) and found.pending == material.key


def test_a_file_is_shown_as_it_stands_whatever_its_faults() -> None:
    old = made(by=ROOT, days=(-9, -1))
    found = shown(f"notes\n{old.pem}{old.key_pem}{ROOT.pem}")
    assert found.properties["CertificateString"] == old.pem + ROOT.pem
    assert found.properties["CertificateType"] == "PEMchain"
    assert found.valid == (
        ROOT.certificate.not_valid_before_utc.timestamp(),
        old.certificate.not_valid_after_utc.timestamp(),
    )
    with pytest.raises(TlsError, match="can not be shown: no certificate"):
        shown("notes")
