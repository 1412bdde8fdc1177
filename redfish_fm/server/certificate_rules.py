"""Whether a certificate can be used for what it is meant for, and how long it still can.

Pure but for `cryptography`: time is an argument. Refusals are texts of a few words, all of them at
once; who asks words the rest. RFC 5280 "Key Usage", "Extended Key Usage", "Basic Constraints".
"""

import datetime
from collections.abc import Iterator

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from redfish_fm.server.certificate_parts import Parts

RSA_BITS_MIN = 2048
"""Shorter ones are refused by OpenSSL's own level of this age, so nobody could be served."""
CURVES = frozenset({"secp256r1", "secp384r1", "secp521r1"})
"""The curves every TLS client knows."""

_WEAK_HASHES = frozenset({"md5", "sha1"})


def unfit_for_server(parts: Parts, now_s: float) -> list[str]:
    """Return why a TLS server can not be proved by this certificate; nothing where it can."""
    return [
        *(told for each in parts.chain for told in _invalid_now(each, now_s)),
        *_weak(parts.leaf),
        *(told for each in parts.chain[1:] for told in _weak(each)),
        *_not_usable(parts.leaf, ExtendedKeyUsageOID.SERVER_AUTH, "server"),
    ]


def unfit_for_authority(certificate: x509.Certificate, now_s: float) -> list[str]:
    """Return why clients' certificates can not be trusted by this one; nothing where they can."""
    return [
        *_invalid_now(certificate, now_s),
        *_weak(certificate),
        *_no_authority(certificate),
    ]


def _invalid_now(certificate: x509.Certificate, now_s: float) -> Iterator[str]:
    now = datetime.datetime.fromtimestamp(now_s, datetime.UTC)
    if now < certificate.not_valid_before_utc:
        yield "it is not valid yet"
    if now >= certificate.not_valid_after_utc:
        yield "it has expired"


def _weak(certificate: x509.Certificate) -> Iterator[str]:
    key = certificate.public_key()
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < RSA_BITS_MIN:
            yield f"its RSA key has {key.key_size} bits, fewer than {RSA_BITS_MIN}"
    elif isinstance(key, ec.EllipticCurvePublicKey):
        if key.curve.name not in CURVES:
            yield "its key is on a curve that TLS clients do not know"
    elif not isinstance(key, ed25519.Ed25519PublicKey | ed448.Ed448PublicKey):
        yield "its key is of a kind that TLS does not use"
    self_signed = certificate.issuer == certificate.subject
    if not self_signed and _hash_of(certificate) in _WEAK_HASHES:
        # Nobody looks at the signature of what is trusted by itself.
        yield "its signature rests on a hash that is broken"


def _hash_of(certificate: x509.Certificate) -> str:
    try:
        algorithm = certificate.signature_hash_algorithm
    except UnsupportedAlgorithm:
        return ""
    return "" if algorithm is None else algorithm.name


def _not_usable(leaf: x509.Certificate, purpose: x509.ObjectIdentifier, what: str) -> Iterator[str]:
    try:
        extensions = leaf.extensions
    except ValueError:
        yield "its extensions can not be read"
        return
    for extension in extensions:
        value = extension.value
        if isinstance(value, x509.ExtendedKeyUsage):
            if not {purpose, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE} & set(value):
                yield f"its extended key usage does not allow to prove a {what}"
        elif isinstance(value, x509.KeyUsage) and not value.digital_signature:
            yield "its key usage does not allow signatures"


def _no_authority(certificate: x509.Certificate) -> Iterator[str]:
    try:
        extensions = certificate.extensions
        constraints = extensions.get_extension_for_class(x509.BasicConstraints).value
    except (ValueError, x509.ExtensionNotFound):
        yield "it is not that of a certificate authority"
        return
    if not constraints.ca:
        yield "it is not that of a certificate authority"
    for extension in extensions:
        if isinstance(extension.value, x509.KeyUsage) and not extension.value.key_cert_sign:
            yield "its key usage does not allow to sign certificates"
