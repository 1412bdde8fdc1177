"""Certificates as the rest of the service sees them: texts in, properties and reasons out.

The one door to the modules that know `cryptography`. What can not be used comes back as reasons, a
few words each and all of them at once, never as an exception.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redfish_fm.redfish.certificates import Material
from redfish_fm.server import csr
from redfish_fm.server.certificate_facts import certificate_properties
from redfish_fm.server.certificate_parts import (
    PartsError,
    SigningKey,
    belongs,
    chain_of,
    chain_pem,
    key_pem,
    read_key,
    read_parts,
)
from redfish_fm.server.certificate_rules import unfit_for_authority, unfit_for_server
from redfish_fm.server.tls import TlsError, pair_context

NO_KEY = (
    "its private key is neither sent with it, nor waiting from a GenerateCSR, nor the one in use"
)


@dataclass(frozen=True, slots=True)
class Sent:
    """A certificate as a client sent it: CertificateString, CertificateType and Password."""

    text: str
    kind: str
    password: str | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """A certificate that is served: its properties, and from when until when it is valid.

    Times in seconds since 1970; of a chain, those of the part that ends first.
    """

    properties: Mapping[str, Any]
    valid: tuple[float, float]


def server_material(
    sent: Sent, pending: bytes | None, in_use: bytes | None, now_s: float, directory: Path
) -> Material | list[str]:
    """Return what a server can be proved with, or why it can not.

    The key is the one sent, else that of the last GenerateCSR (`pending`), else the one `in_use`,
    whichever belongs to the certificate. OpenSSL has the last word: it reads the pair once, through
    files in `directory`. Blocks for milliseconds: call it in a thread.
    """
    try:
        parts = read_parts(sent.text, sent.kind, sent.password)
    except PartsError as error:
        return [str(error)]
    reasons = unfit_for_server(parts, now_s)
    if parts.key is not None:
        key = key_pem(parts.key) if belongs(parts.key, parts.leaf) else None
        if key is None:
            reasons.append("the private key that is sent with it belongs to another one")
    else:
        waiting = (raw for raw in (pending, in_use) if raw is not None)
        key = next((raw for raw in waiting if belongs(_usable(raw), parts.leaf)), None)
        if key is None:
            reasons.append(NO_KEY)
    if reasons or key is None:
        return reasons
    chain = chain_pem(parts.chain)
    try:
        pair_context(chain, key, directory)
    except TlsError:
        return ["OpenSSL can not serve it"]
    kind = "PEM" if len(parts.chain) == 1 else "PEMchain"
    properties = {
        "CertificateString": chain,
        "CertificateType": kind,
        **certificate_properties(parts.leaf),
    }
    return Material(properties, key, pending if key == pending else None)


def authority_material(sent: Sent, now_s: float) -> Material | list[str]:
    """Return an authority that clients' certificates can be trusted by, or why it can not be."""
    try:
        parts = read_parts(sent.text, sent.kind)
    except PartsError as error:
        return [str(error)]
    if parts.key is not None:
        return ["a private key came with it, which an authority keeps for itself"]
    if len(parts.chain) > 1:
        return ["more than one certificate; each authority is a resource of its own"]
    reasons = unfit_for_authority(parts.leaf, now_s)
    if reasons:
        return reasons
    properties = certificate_properties(parts.leaf)
    text = chain_pem(parts.chain)
    return Material({"CertificateString": text, "CertificateType": "PEM", **properties})


def requested(body: Mapping[str, Any]) -> tuple[str, Material]:
    """Return a signing request in PEM form and its new key. Takes up to seconds: use a thread."""
    key = csr.new_key(body)
    return csr.signing_request(body, key), Material(key=key_pem(key))


def wrong_request(body: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """Return (parameter, why) for everything in a GenerateCSR that can not be."""
    return list(csr.wrong_parameters(body))


def shown(pem: str) -> Shown:
    """Return what the certificate says that a server shows, with its chain, whatever its faults.

    Raises TlsError where there is none.
    """
    try:
        chain = chain_of(pem)
    except PartsError as error:
        raise TlsError(f"a TLS certificate can not be shown: {error}") from error
    properties = {
        "CertificateString": chain_pem(chain),
        "CertificateType": "PEM" if len(chain) == 1 else "PEMchain",
        **certificate_properties(chain[0]),
    }
    valid = (
        max(each.not_valid_before_utc.timestamp() for each in chain),
        min(each.not_valid_after_utc.timestamp() for each in chain),
    )
    return Shown(properties, valid)


def _usable(raw: bytes) -> SigningKey | None:
    """Return a key of ours, or None where it is none that can be read."""
    try:
        return read_key(raw)
    except PartsError:
        return None
