"""HttpHeaders of a subscription: what a client may have sent along with its events.

Pure. Redfish: EventDestination.v1_16_0 HttpHeaders, write-only. RFC 9110 section 5: names are
tokens, values visible characters with spaces and tabs inside. Names and values of these headers are
secrets: no message repeats a value.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.values import HIDDEN

NAME = "HttpHeaders"
HEADERS_MAX = 32
BYTES_MAX = 8192
"""Of all names and values: more than that many receivers refuse to read."""

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}")
_VALUE = re.compile(r"[\x21-\x7e]([\x20\x09\x21-\x7e]*[\x21-\x7e])?|")

_OURS = frozenset({"host", "content-type", "content-length", "content-encoding", "date", "expect"})
"""What the request itself says."""
_OF_THE_CONNECTION = frozenset(
    {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)
"""Of one connection only (RFC 9110 section 7.6.1); and everything that begins with proxy-."""

Headers = tuple[tuple[str, str], ...]


def patched_headers(before: Headers, wish: Sequence[Any] | None) -> Headers:
    """Return the headers after a POST or PATCH: null removes one, {} keeps the one in its place."""
    after: list[tuple[str, str]] = []
    for position, each in enumerate(wish or ()):
        if each == {} and position < len(before):
            after.append(before[position])
        elif each:
            after += [(name, str(value)) for name, value in each.items() if "@" not in name]
    return tuple(after)


def wrong_headers(headers: Headers) -> Iterator[Message]:
    """Yield everything that is wrong with headers, without repeating a value."""
    place = f"#/{NAME}"
    if len(headers) > HEADERS_MAX:
        yield messages.array_size_too_long(NAME, HEADERS_MAX, place)
    elif sum(len(name) + len(value) + 4 for name, value in headers) > BYTES_MAX:
        yield messages.string_value_too_long(HIDDEN, BYTES_MAX, place)
    seen: set[str] = set()
    for name, value in headers:
        lower = name.lower()
        if not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            yield messages.property_value_format_error(HIDDEN, NAME, place)
        elif _refused(lower):
            yield messages.property_value_not_in_list(name, NAME, place)
        elif lower in seen:
            yield messages.property_duplicate(name, place)
        seen.add(lower)


def _refused(name: str) -> bool:
    return name in _OURS or name in _OF_THE_CONNECTION or name.startswith("proxy-")
