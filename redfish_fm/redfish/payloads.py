"""What a Task says of the request that began it (Task.v1_7_4 Payload), without its secrets.

Pure. Anybody who may log in may read a Task, so headers are named one by one: none that is missing
from the list is kept, whatever it is called. A body that names a secret is hidden as a whole.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from redfish_fm.redfish.requests import Request

BODY_BYTES_MAX = 64 << 10
"""Larger bodies are hidden: each is stored with its Task, and read with each look at it."""

_HEADER_CHARS_MAX = 512
_HEADERS = (
    "Accept",
    "Content-Type",
    "Host",
    "If-Match",
    "OData-Version",
    "Prefer",
    "User-Agent",
)
_SECRETS = (
    "community",
    "credential",
    "encryptionkey",
    "httpheaders",
    "passphrase",
    "password",
    "privatekey",
    "secret",
    "token",
)
"""A property whose name has one of these in it holds a secret."""
_SUSPECT = (b"\\", *(each.encode() for each in _SECRETS))
"""Bytes without which a body names no secret; a name may be written with escapes."""


@dataclass(frozen=True, slots=True)
class Payload:
    """One request as a Task shows it. `hidden`: the Task shows nothing of it."""

    method: str
    uri: str
    headers: tuple[str, ...] = ()
    body: str = ""
    hidden: bool = False


def payload_of(request: Request) -> Payload:
    """Return what is kept of a request whose body has been found to be JSON, or empty."""
    uri = request.path.rstrip("/")
    if len(request.body) > BODY_BYTES_MAX or _names_secret(request.body):
        return Payload(request.method, uri, hidden=True)
    headers = request.headers
    kept = ((name, headers.get(name.lower())) for name in _HEADERS)
    told = tuple(f"{name}: {text[:_HEADER_CHARS_MAX]}" for name, text in kept if text)
    return Payload(request.method, uri, told, request.body.decode())


def shown(payload: Payload | None) -> dict[str, Any]:
    """Return HidePayload and, where it is false, Payload; None: nothing was kept."""
    if payload is None or payload.hidden:
        return {"HidePayload": True}
    described: dict[str, Any] = {
        "HttpOperation": payload.method,
        "TargetUri": payload.uri,
        "HttpHeaders": list(payload.headers),
    }
    if payload.body:
        described["JsonBody"] = payload.body
    return {"HidePayload": False, "Payload": described}


def _names_secret(body: bytes) -> bool:
    plain = body.lower()
    if not any(each in plain for each in _SUSPECT):
        return False
    return _found(msgspec.json.decode(body))


def _found(value: object) -> bool:
    if isinstance(value, dict):
        return any(_is_secret(name) or _found(inner) for name, inner in value.items())
    return isinstance(value, list) and any(map(_found, value))


def _is_secret(name: str) -> bool:
    plain = name.lower()
    return any(each in plain for each in _SECRETS)
