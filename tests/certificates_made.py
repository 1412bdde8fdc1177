"""Certificates that tests make: an authority, what it signs, and everything that is wrong."""

import datetime
import functools
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import pkcs7
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from redfish_fm.server.peers import PRINCIPAL_NAME

DAY = datetime.timedelta(days=1)
SERVER, CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
PEM = serialization.Encoding.PEM


@functools.cache
def rsa_key(bits: int) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


def ec_key(curve: type[ec.EllipticCurve] = ec.SECP256R1) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(curve())


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC).replace(microsecond=0)


def name(*common_names: str, **more: str) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, each) for each in common_names]
    attributes += [x509.NameAttribute(getattr(NameOID, key), text) for key, text in more.items()]
    return x509.Name(attributes)


@dataclass(frozen=True)
class Made:
    """A certificate with its key."""

    certificate: x509.Certificate
    key: Any

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(PEM).decode()

    @property
    def key_pem(self) -> str:
        return key_text(self.key)


def key_text(key: Any, password: bytes | None = None) -> str:
    locked: Any = serialization.NoEncryption()
    if password is not None:
        locked = serialization.BestAvailableEncryption(password)
    form = serialization.PrivateFormat.PKCS8
    text: bytes = key.private_bytes(PEM, form, locked)
    return text.decode()


def made(
    subject: x509.Name | str = "fm.example",
    by: Made | None = None,
    *,
    key: Any = None,
    public_key: Any = None,
    days: tuple[float, float] = (-1, 365),
    start: datetime.datetime | None = None,
    purposes: Sequence[x509.ObjectIdentifier] | None = (SERVER,),
    authority: bool = False,
    alternatives: Sequence[x509.GeneralName] | None = None,
    usage: x509.KeyUsage | None = None,
    algorithm: Any = None,
    further: Sequence[x509.ExtensionType] = (),
) -> Made:
    """Return a certificate signed by `by` (itself: None), valid from and until `days` from now."""
    key = key or ec_key()
    subject = name(subject) if isinstance(subject, str) else subject
    start = start or now()
    if alternatives is None:
        loopback = ipaddress.ip_address("127.0.0.1")
        alternatives = [x509.DNSName("localhost"), x509.IPAddress(loopback)]
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if by is None else by.certificate.subject)
        .public_key(public_key or key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start + days[0] * DAY)
        .not_valid_after(start + days[1] * DAY)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    )
    if purposes is not None and not authority:
        builder = builder.add_extension(x509.ExtendedKeyUsage(list(purposes)), critical=False)
    if alternatives and not authority:
        names = x509.SubjectAlternativeName(list(alternatives))
        builder = builder.add_extension(names, critical=False)
    if usage is not None:
        builder = builder.add_extension(usage, critical=True)
    for extension in further:
        builder = builder.add_extension(extension, critical=False)
    signer = key if by is None else by.key
    return Made(builder.sign(signer, algorithm or hashes.SHA256()), key)


def an_authority(subject: str = "tests' authority", by: Made | None = None, **how: Any) -> Made:
    return made(subject, by, authority=True, **how)


def signed_for(request_pem: str, by: Made, **how: Any) -> Made:
    """Return what an authority makes of a signing request; its key stays with who asked."""
    request = x509.load_pem_x509_csr(request_pem.encode())
    alternatives = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return made(
        request.subject,
        by,
        public_key=request.public_key(),
        alternatives=[*alternatives, x509.IPAddress(ipaddress.ip_address("127.0.0.1"))],
        **how,
    )


def principal(text: str) -> x509.OtherName:
    """Return a user principal name, as alternative names hold one."""
    raw = text.encode()
    length = bytes([len(raw)]) if len(raw) < 128 else bytes([0x81, len(raw)])
    return x509.OtherName(PRINCIPAL_NAME, b"\x0c" + length + raw)


def key_usage(**flags: bool) -> x509.KeyUsage:
    names = (
        "digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
        "key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
    )  # fmt: skip
    return x509.KeyUsage(**{each: flags.get(each, False) for each in names})


def container(*parts: Made) -> str:
    """Return certificates as PKCS #7 in PEM form."""
    return pkcs7.serialize_certificates([each.certificate for each in parts], PEM).decode()
