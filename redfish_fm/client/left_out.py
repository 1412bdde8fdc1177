"""What a recording does not have, by rule: secrets, what is of one moment, what is of one client.

Pure. The rules are also why recording, serving and recording again gives equal trees.
docs/mockups.md lists them.
"""

import re
from collections.abc import Mapping
from typing import Any

from redfish_fm.client.links import type_name

MEMBERS_LEFT_OUT = frozenset(
    {
        "EventDestinationCollection",
        "ManagerAccountCollection",
        "SessionCollection",
        "TaskCollection",
    }
)
"""Collections recorded without members: those are arrangements of people with that service."""
LOG_COLLECTION = "LogEntryCollection"
"""Recorded without the entries that tell who did what: what the recorder does is among them."""
SCHEMA_COLLECTION = "JsonSchemaFileCollection"
"""Recorded without members unless wanted: hundreds of files that the standard has anyway."""

VOLATILE = frozenset({"@odata.etag", "DateTime"})
"""Properties of one moment: a tag of what was, and what a clock showed."""
_OF_A_CONDITION = frozenset({"Timestamp"})
"""Of an entry in Status.Conditions: when it was noticed."""

_SECRET = re.compile(
    r"(password|passphrase|secret|token|credentials?|communitystring"
    r"|(private|preshared|authentication|encryption)_?key)$",
    re.IGNORECASE,
)

HEADERS_LEFT_OUT = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization"),
        *("proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
        *("age", "content-encoding", "content-length", "content-range", "date", "etag"),
        *("expires", "last-modified", "location", "retry-after"),
        *("allow", "alt-svc", "authentication-info", "set-cookie", "strict-transport-security"),
        *("www-authenticate", "x-auth-token"),
    }
)
"""Of one connection, of one message, of one client and what it may do: small letters."""


def kept(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document as it is recorded, in its own order: secrets null, no volatile parts."""
    result = {name: _kept(name, value) for name, value in document.items() if name not in VOLATILE}
    # It names one service for good; whoever serves the recording is another one.
    if type_name(result) == "ServiceRoot":
        result.pop("UUID", None)
    elif type_name(result) == "Manager":
        service = result.pop("ServiceEntryPointUUID", None)
        if result.get("UUID") == service:
            result.pop("UUID", None)
    return result


def is_of_a_client(entry: Any) -> bool:
    """Return whether a log entry, if it stands whole in its collection, tells of a client."""
    return isinstance(entry, Mapping) and entry.get("OriginatorType") == "Client"


def without_members(collection: Mapping[str, Any]) -> dict[str, Any]:
    """Return the collection, empty."""
    return {
        **collection,
        "Members": [],
        "Members@odata.count": 0,
    }


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers to record, sorted by name."""
    return {
        name: value
        for name, value in sorted(headers.items())
        if name.lower() not in HEADERS_LEFT_OUT and not _SECRET.search(name.replace("-", ""))
    }


def _kept(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        volatile = VOLATILE | _OF_A_CONDITION if name == "Conditions" else VOLATILE
        return {inner: _kept(inner, each) for inner, each in value.items() if inner not in volatile}
    if isinstance(value, list):
        return [_kept(name, each) for each in value]
    if isinstance(value, str) and _SECRET.search(name):
        return None
    return value
