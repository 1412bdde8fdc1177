"""TLS: the certificate the service makes for itself, and the contexts it is served with.

Knows `cryptography` and `ssl`, files and nothing else. The made authority signs exactly one
leaf; its private key is thrown away at once, so a client that trusts ca.pem trusts nothing but
this service. A context is never changed once it serves: who wants another certificate, or other
authorities of clients, makes another one, and the LiveContext hands it to the next handshake.
"""

import asyncio.sslproto
import datetime
import hashlib
import logging
import os
import socket
import ssl
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from redfish_fm.errors import FmError
from redfish_fm.server.csr import general_name

_log = logging.getLogger(__name__)

LEAF_DAYS = 825
"""The longest validity that common clients accept of a privately issued leaf."""

RENEW_BEFORE_DAYS = 30
"""A made certificate with less left is made anew, at start and while the service runs."""

_BUFFER_BYTES = 16 << 10
"""One TLS record. asyncio's default of 256 KiB is held by every idle connection."""

_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
_BACKDATE = datetime.timedelta(minutes=5)
_SAN = x509.SubjectAlternativeName


class TlsError(FmError):
    """A certificate or key that can not be used; one line for the operator."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Where certificate and key lie, and the authority's certificate a client may trust.

    An operator's certificate comes without one: `ca` is then the certificate itself.
    """

    cert: Path
    key: Path
    ca: Path


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom the service believes about clients: PEM certificates of authorities.

    `tag` names this set: a client's certificate counts only while the set it was checked against
    is the one in force. Without authorities no client is asked for a certificate.
    """

    authorities: tuple[str, ...] = ()

    @property
    def tag(self) -> str:
        """Equal for equal sets; "" of none."""
        if not self.authorities:
            return ""
        return hashlib.sha256("".join(sorted(self.authorities)).encode()).hexdigest()


NOBODY = Trust()
"""Clients are asked for no certificate."""


class _Peer(ssl.SSLObject):
    """One end of a TLS connection."""

    def getpeercert(self, binary_form: bool = False) -> Any:
        """Return what the client has proved; asyncio asks for the readable form, unused here.

        Names that are no UTF-8 make that fail, and a client must not be cut off for it: who it
        is, is read from the binary form.
        """
        try:
            return super().getpeercert(binary_form)
        except UnicodeDecodeError:
            return {}


class ServingContext(ssl.SSLContext):
    """What handshakes are done with. Made by `server_context`, then left as it is."""

    sslobject_class = _Peer
    trust = NOBODY


class LiveContext(ssl.SSLContext):
    """What a listener is given: each handshake is done with the newest context.

    What is connected stays as it is. Session tickets belong to the context that gave them, so
    nobody resumes what was agreed under another certificate or another trust.
    """

    newest: ServingContext

    def __new__(cls, newest: ServingContext) -> "LiveContext":
        """Make one that starts with `newest`."""
        made = super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)
        made.newest = newest
        return made

    def wrap_bio(self, *arguments: Any, **named: Any) -> ssl.SSLObject:
        """Begin a handshake; what asyncio calls for each connection."""
        return self.newest.wrap_bio(*arguments, **named)


def host_names(host: str) -> tuple[str, ...]:
    """Return the names a certificate for a service on `host` has to carry."""
    wildcard = host in ("", "0.0.0.0", "::")  # noqa: S104 - recognised here, not bound
    wanted = ["localhost", "127.0.0.1", "::1", socket.gethostname(), "" if wildcard else host]
    return tuple(dict.fromkeys(name for name in wanted if name))


def ensure_certificate(
    directory: Path, host: str, now_s: float, addresses: Iterable[str] = ()
) -> TlsFiles:
    """Return the files of a valid self-made certificate for `host`, made where needed.

    `now_s` is wall time in seconds since 1970. One that is made carries `addresses` too, under
    which the service is announced. What is there is kept while it is consistent, valid for
    RENEW_BEFORE_DAYS more and carries all names; that it lacks an address is no reason,
    for addresses change, and a new one has to be trusted anew by everybody (see `say_lacking`).
    Raises TlsError when the directory can not be written.
    """
    files = TlsFiles(directory / "cert.pem", directory / "key.pem", directory / "ca.pem")
    now = datetime.datetime.fromtimestamp(now_s, datetime.UTC)
    names = host_names(host)
    reason = _unusable(files, names, now)
    if reason is not None:
        _log.info("making a TLS certificate: %s", reason)
        try:
            _make(directory, files, tuple(dict.fromkeys((*names, *addresses))), now)
        except OSError as error:
            raise TlsError(f"cannot write TLS files in {directory}: {error.strerror}") from error
    return files


def say_lacking(files: TlsFiles, addresses: Iterable[str]) -> None:
    """Log which of `addresses` a self-made certificate does not carry, if any."""
    carried = set(_names_of(x509.load_pem_x509_certificate(files.cert.read_bytes())))
    lacking = [address for address in addresses if address not in carried]
    if lacking:
        _log.warning(
            "the TLS certificate lacks %s; without the files in %s the next start makes another",
            ", ".join(lacking),
            files.cert.parent,
        )


def operator_certificate(cert: Path, key: Path) -> TlsFiles:
    """Return the operator's files after a first look; server_context does the real check."""
    for what, path in (("certificate", cert), ("key", key)):
        if not os.access(path, os.R_OK):
            raise TlsError(f"TLS {what} {path} can not be read")
    return TlsFiles(cert, key, cert)


def server_context(files: TlsFiles, trust: Trust = NOBODY) -> ServingContext:
    """Return a server context: TLS 1.2 or later, forward secrecy, http/1.1.

    Clients may prove who they are to `trust`, and need not; who tries and can not is cut off.
    Raises TlsError when certificate and key do not belong together or can not be read.
    """
    context = ServingContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    try:
        # An empty password: an encrypted key must fail, not ask on the terminal.
        context.load_cert_chain(files.cert, files.key, password="")
    except (ssl.SSLError, OSError, ValueError) as error:
        raise TlsError(_pair_defect(files, error)) from error
    _ask_clients(context, trust)
    return context


def pair_context(chain: str, key: bytes, directory: Path, trust: Trust = NOBODY) -> ServingContext:
    """Return a server context for a chain and an unencrypted key, both in PEM form.

    They lie in `directory` only as long as OpenSSL reads them, the key for its owner only. Raises
    TlsError.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory) as place:
            files = TlsFiles(*(Path(place, name) for name in ("cert.pem", "key.pem", "cert.pem")))
            _write(files.key, key, 0o600)
            _write(files.cert, chain.encode("ascii"), 0o600)
            return server_context(files, trust)
    except OSError as error:
        raise TlsError(f"cannot write TLS files in {directory}: {error.strerror}") from error


def _ask_clients(context: ServingContext, trust: Trust) -> None:
    """Ask clients for a certificate of one of these authorities, if there are any."""
    if not trust.authorities:
        return
    context.trust = trust
    try:
        context.load_verify_locations(cadata="\n".join(trust.authorities))
    except (ssl.SSLError, ValueError) as error:
        raise TlsError("an authority of clients' certificates can not be read") from error
    # What an operator trusts is trusted, also where another authority vouches for it.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_mode = ssl.CERT_OPTIONAL


def cut_tls_buffers() -> None:
    """Let asyncio's TLS connections hold one record instead of 256 KiB.

    Process-wide and before the handshake, so connections that never finish one cost as little.
    Changes buffer sizes only. An event loop with its own TLS (uvloop) is not affected.
    """
    asyncio.sslproto.SSLProtocol.max_size = _BUFFER_BYTES


def _pair_defect(files: TlsFiles, error: Exception) -> str:
    if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
        return f"TLS key {files.key} does not belong to certificate {files.cert}"
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
        return f"TLS files {files.cert}, {files.key} can not be read: {error.strerror}"
    return f"TLS certificate {files.cert} with key {files.key} is no usable unencrypted PEM pair"


# -- what is there -----------------------------------------------------------------------------


def _unusable(files: TlsFiles, names: tuple[str, ...], now: datetime.datetime) -> str | None:
    """Return why the files can not serve, or None."""
    try:
        leaf = x509.load_pem_x509_certificate(files.cert.read_bytes())
        authority = x509.load_pem_x509_certificate(files.ca.read_bytes())
        key = serialization.load_pem_private_key(files.key.read_bytes(), password=None)
        leaf.verify_directly_issued_by(authority)
        carried = set(_names_of(leaf))
    except FileNotFoundError:
        return "there is none"
    except (OSError, ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return "the one there is damaged"
    if key.public_key() != leaf.public_key():
        return "its key is another one"
    if not leaf.not_valid_before_utc <= now < _renewal(leaf, authority):
        return "the one there is expired or about to"
    missing = [name for name in names if name not in carried]
    return f"the one there lacks {', '.join(missing)}" if missing else None


def _renewal(*certificates: x509.Certificate) -> datetime.datetime:
    ends = min(certificate.not_valid_after_utc for certificate in certificates)
    return ends - datetime.timedelta(days=RENEW_BEFORE_DAYS)


def _names_of(leaf: x509.Certificate) -> Iterable[str]:
    names = leaf.extensions.get_extension_for_class(_SAN).value
    yield from names.get_values_for_type(x509.DNSName)
    yield from (str(address) for address in names.get_values_for_type(x509.IPAddress))


# -- making one --------------------------------------------------------------------------------


def _make(directory: Path, files: TlsFiles, names: tuple[str, ...], now: datetime.datetime) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)
    authority_key, leaf_key = _new_key(), _new_key()
    authority = _authority(authority_key, now)
    leaf = _leaf(leaf_key, names, authority, authority_key, now)
    pem = serialization.Encoding.PEM
    private = leaf_key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    # The key first and the leaf last: a crash between leaves a set that _unusable refuses.
    _write(files.key, private, 0o600)
    _write(files.ca, authority.public_bytes(pem), 0o644)
    _write(files.cert, leaf.public_bytes(pem), 0o644)


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _authority(key: ec.EllipticCurvePrivateKey, now: datetime.datetime) -> x509.Certificate:
    # Clients look an issuer up by name: two services' authorities must not share one.
    serial = x509.random_serial_number()
    name = _name(f"redfish_fm self-made authority {serial:x}"[:64])
    return (
        _builder(name, name, key, now, serial)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )


def _leaf(
    key: ec.EllipticCurvePrivateKey,
    names: tuple[str, ...],
    authority: x509.Certificate,
    authority_key: ec.EllipticCurvePrivateKey,
    now: datetime.datetime,
) -> x509.Certificate:
    serial = x509.random_serial_number()
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    return (
        _builder(_name("redfish_fm"), authority.subject, key, now, serial)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(issuer, critical=False)
        .add_extension(_SAN([general_name(name) for name in names]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime.datetime,
    serial: int,
) -> x509.CertificateBuilder:
    public = key.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(serial)
        .not_valid_before(now - _BACKDATE)
        .not_valid_after(now - _BACKDATE + datetime.timedelta(days=LEAF_DAYS))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write(path: Path, content: bytes, mode: int) -> None:
    """Replace a file whole, created with its final mode."""
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
