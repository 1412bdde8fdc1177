"""What a client sends as a certificate, taken apart: the certificates in order, and their key.

Knows `cryptography` and the encodings of Redfish Certificate.CertificateType (Certificate.v1_11_0);
knows no URI and no rule of use. What can not be read is told in a few words that repeat nothing of
it, because it may hold a private key.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import pkcs7

SigningKey = (
    ec.EllipticCurvePrivateKey
    | rsa.RSAPrivateKey
    | ed25519.Ed25519PrivateKey
    | ed448.Ed448PrivateKey
)
"""Private keys that can prove a TLS server."""

CHAIN_MAX = 10
"""Certificates in one chain at most; real ones have up to four."""

# A block ends at the next five hyphens: a text of nothing but beginnings is read once.
_PEM = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(?:(?!-----).)*-----END \1-----", re.DOTALL)
_IGNORED = frozenset({"EC PARAMETERS"})
"""Blocks that tools write beside a key and that say nothing more than it."""


class PartsError(ValueError):
    """Why what was sent is no certificate; never quotes it."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A certificate and those that vouch for it, each issued by the next; with its key or not."""

    chain: tuple[x509.Certificate, ...]
    key: SigningKey | None = field(default=None, repr=False)

    @property
    def leaf(self) -> x509.Certificate:
        """The certificate itself."""
        return self.chain[0]


def read_parts(text: str, kind: str, password: str | None = None) -> Parts:
    """Return the parts of a CertificateString of CertificateType `kind`.

    "PEM" holds one certificate, "PEMchain" and "PKCS7" several in any order; with PEM forms the
    private key may stand in the same text, `password` opens it. Raises PartsError.
    """
    blocks = [(match[1], match[0]) for match in _PEM.finditer(text)]
    if kind == "PKCS7":
        certificates = _pkcs7(text)
        return Parts(_in_order(certificates))
    keys = [block for name, block in blocks if name.endswith("PRIVATE KEY")]
    found = [block for name, block in blocks if name == "CERTIFICATE"]
    strange = {name for name, _ in blocks} - _IGNORED - {"CERTIFICATE"}
    strange = {name for name in strange if not name.endswith("PRIVATE KEY")}
    if strange:
        raise PartsError(f"a block that is neither certificate nor key: {sorted(strange)[0][:40]}")
    if not found:
        raise PartsError("no certificate in PEM form")
    if kind == "PEM" and len(found) > 1:
        raise PartsError("more than one certificate; PEMchain is the type of several")
    if len(keys) > 1:
        raise PartsError("more than one private key")
    key = _key(keys[0], password) if keys else None
    return Parts(_in_order([_certificate(block) for block in found]), key)


def read_key(pem: bytes, password: str | None = None) -> SigningKey:
    """Return the private key in PEM form. Raises PartsError."""
    return _key(pem.decode("ascii", "replace"), password)


def key_pem(key: SigningKey) -> bytes:
    """Return a private key as PEM, not encrypted: for the secret space and files of mode 0600."""
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(pem, form, serialization.NoEncryption())


def chain_pem(chain: Sequence[x509.Certificate]) -> str:
    """Return certificates as one PEM text."""
    pem = serialization.Encoding.PEM
    return "".join(each.public_bytes(pem).decode("ascii") for each in chain)


def chain_of(text: str) -> tuple[x509.Certificate, ...]:
    """Return the certificates in a PEM text as they stand, whatever else is in it.

    Raises PartsError where there is none.
    """
    found = [_certificate(match[0]) for match in _PEM.finditer(text) if match[1] == "CERTIFICATE"]
    if not found:
        raise PartsError("no certificate in PEM form")
    return tuple(found)


def belongs(key: SigningKey | None, certificate: x509.Certificate) -> bool:
    """Return whether the key is that of the certificate."""
    return key is not None and key.public_key() == certificate.public_key()


def _certificate(block: str) -> x509.Certificate:
    try:
        certificate = x509.load_pem_x509_certificate(block.encode("ascii"))
        certificate.public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise PartsError("a certificate that can not be read") from error
    return certificate


def _pkcs7(text: str) -> list[x509.Certificate]:
    try:
        found = pkcs7.load_pem_pkcs7_certificates(text.strip().encode("ascii"))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise PartsError("no PKCS #7 container in PEM form") from error
    if not found:
        raise PartsError("a PKCS #7 container without a certificate")
    return found


def _key(block: str, password: str | None) -> SigningKey:
    secret = None if password is None else password.encode()
    if secret is not None and "ENCRYPTED" not in block:
        secret = None  # a password for what is not locked opens it all the same
    try:
        key = serialization.load_pem_private_key(block.encode("ascii"), secret)
    except TypeError as error:
        raise PartsError("the private key is encrypted, and there is no password") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise PartsError("the private key can not be read, or its password is wrong") from error
    if not isinstance(key, SigningKey):
        raise PartsError("a private key of a kind that TLS does not use")
    return key


def _in_order(certificates: list[x509.Certificate]) -> tuple[x509.Certificate, ...]:
    """Return the certificates from the leaf up. Raises PartsError where they are no one chain."""
    if len(certificates) > CHAIN_MAX:
        raise PartsError(f"more than {CHAIN_MAX} certificates")
    if len(set(certificates)) < len(certificates):
        raise PartsError("the same certificate twice")
    leaves = [one for one in certificates if not any(_issued(other, one) for other in certificates)]
    if len(leaves) != 1:
        raise PartsError("the certificates are not one chain")
    chain = leaves
    while len(chain) < len(certificates):
        above = [one for one in certificates if one not in chain and _issued(chain[-1], one)]
        if not above:
            raise PartsError("the certificates are not one chain")
        chain.append(above[0])
    return tuple(chain)


def _issued(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Return whether `issuer`, another one, has signed `certificate`."""
    if certificate == issuer or certificate.issuer != issuer.subject:
        return False
    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return True
