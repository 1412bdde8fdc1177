"""What clients send as a certificate: every form of it, and everything that is none."""

import pytest
from cryptography.hazmat.primitives.asymmetric import x25519

from redfish_fm.server.certificate_parts import (
    PartsError,
    belongs,
    chain_of,
    chain_pem,
    key_pem,
    read_key,
    read_parts,
)
from tests.certificates_made import an_authority, container, key_text, made

ROOT = an_authority("root")
MIDDLE = an_authority("middle", ROOT)
LEAF = made("fm.example", MIDDLE)
CHAIN = (LEAF.certificate, MIDDLE.certificate, ROOT.certificate)


def test_pem_is_one_certificate() -> None:
    parts = read_parts(LEAF.pem, "PEM")
    assert (parts.chain, parts.key) == ((LEAF.certificate,), None)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_a_chain_is_put_in_order_from_the_leaf_up(order: tuple[int, ...]) -> None:
    text = "".join((LEAF, MIDDLE, ROOT)[each].pem for each in order)
    assert read_parts(text, "PEMchain").chain == CHAIN


def test_a_container_is_put_in_order_as_well() -> None:
    parts = read_parts(container(ROOT, LEAF, MIDDLE), "PKCS7")
    assert (parts.chain, parts.leaf) == (CHAIN, LEAF.certificate)


@pytest.mark.parametrize("order", ["key first", "key last"])
def test_the_key_may_come_with_it(order: str) -> None:
    both = [LEAF.key_pem, LEAF.pem] if order == "key first" else [LEAF.pem, LEAF.key_pem]
    parts = read_parts("\n".join(both), "PEM")
    assert belongs(parts.key, LEAF.certificate)
    assert "key" not in repr(parts)


def test_an_encrypted_key_is_opened_by_its_password() -> None:
    text = key_text(LEAF.key, b"an-invented-word") + LEAF.pem
    assert belongs(read_parts(text, "PEM", "an-invented-word").key, LEAF.certificate)


def test_a_password_for_an_open_key_is_not_minded() -> None:
    assert belongs(read_parts(LEAF.key_pem + LEAF.pem, "PEM", "x").key, LEAF.certificate)


def test_the_parameters_that_tools_write_beside_a_key_are_passed_over() -> None:
    parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
    assert read_parts(parameters + LEAF.key_pem + LEAF.pem, "PEM").key is not None


OTHER = made("other.example", an_authority("elsewhere"))
REQUEST = "-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n"
WRONG = {
    "nothing": ("", "PEM", "no certificate in PEM form"),
    "rubbish": ("rubbish", "PEM", "no certificate in PEM form"),
    "a broken one": (LEAF.pem.replace("M", "N", 3), "PEM", "can not be read"),
    "two as PEM": (LEAF.pem + MIDDLE.pem, "PEM", "more than one certificate"),
    "strangers": (LEAF.pem + OTHER.pem, "PEMchain", "not one chain"),
    "with a gap": (LEAF.pem + ROOT.pem, "PEMchain", "not one chain"),
    "twice the same": (LEAF.pem + LEAF.pem, "PEMchain", "the same certificate twice"),
    "two keys": (LEAF.key_pem + ROOT.key_pem + LEAF.pem, "PEM", "more than one private key"),
    "a locked key": (key_text(LEAF.key, b"x") + LEAF.pem, "PEM", "no password"),
    "a request": (REQUEST + LEAF.pem, "PEM", "neither certificate nor key"),
    "no container": (LEAF.pem, "PKCS7", "no PKCS #7 container"),
    "a key of no use": (
        key_text(x25519.X25519PrivateKey.generate()) + LEAF.pem,
        "PEM",
        "a kind that TLS does not use",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_certificate_is_told_without_quoting_it(name: str) -> None:
    text, kind, reason = WRONG[name]
    with pytest.raises(PartsError, match=reason) as told:
        read_parts(text, kind)
    assert not any(line and line in str(told.value) for line in text.splitlines())


def test_a_wrong_password_opens_nothing() -> None:
    with pytest.raises(PartsError, match="its password is wrong"):
        read_parts(key_text(LEAF.key, b"right") + LEAF.pem, "PEM", "wrong")


def test_a_chain_has_an_end() -> None:
    links = [an_authority("0")]
    for number in range(1, 11):
        links.append(an_authority(str(number), links[-1]))
    with pytest.raises(PartsError, match="more than 10"):
        read_parts("".join(each.pem for each in links), "PEMchain")


def test_names_alone_make_no_chain() -> None:
    namesake = an_authority("middle", ROOT)
    with pytest.raises(PartsError, match="not one chain"):
        read_parts(LEAF.pem + namesake.pem, "PEMchain")


def test_what_is_written_is_read_again() -> None:
    assert belongs(read_key(key_pem(LEAF.key)), LEAF.certificate)
    assert chain_of(f"notes\n{LEAF.key_pem}{chain_pem(CHAIN)}") == CHAIN
    with pytest.raises(PartsError):
        chain_of(LEAF.key_pem)


def test_a_key_of_another_belongs_to_nobody_here() -> None:
    assert not belongs(OTHER.key, LEAF.certificate)
    assert not belongs(None, LEAF.certificate)
