"""Idempotency-Key: which request a key stands for, so that a repeat is not done again.

Pure. Reads the header, makes the fingerprint; what was answered is remembered by control, in the
transaction of the change. draft-ietf-httpapi-idempotency-key-header §2 to §2.7.
"""

import hashlib
import re
from dataclasses import dataclass

from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.requests import Request

HEADER = "idempotency-key"
RETRIED = frozenset({"POST", "PATCH", "DELETE"})
"""Methods that the header is evaluated for."""

_KEY = re.compile(r"[\x21-\x7e]{1,255}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Retry:
    """A key and the request it came with.

    `key` is the account's URI, a space and the header's value: keys of two accounts never meet.
    `digest` is the SHA-256 (hex) of method, URI and body; it stays in memory where the body holds
    a password. `stored` is what may be stored to recognise the request: the digest itself, or a
    slow, salted hash of it.
    """

    key: str
    digest: str
    stored: str


def retry_of(request: Request, uri: str, account_uri: str) -> Retry | None:
    """Return what the request's Idempotency-Key stands for, None where it has none.

    Raises RedfishError (400) for a value that is not 1 to 255 visible ASCII characters.
    """
    value = request.headers.get(HEADER)
    if value is None:
        return None
    if not _KEY.fullmatch(value.strip()):
        raise RedfishError(400, (messages.header_invalid("Idempotency-Key"),))
    digest = _digest(request.method.encode(), uri.encode("utf-8", "surrogatepass"), request.body)
    return Retry(f"{account_uri} {value.strip()}", digest, digest)


def key_reused() -> RedfishError:
    """422: the key stands for another request."""
    return RedfishError(422, (messages.header_invalid("Idempotency-Key"),))


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()
