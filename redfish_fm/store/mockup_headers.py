"""headers.json of a mockup: which recorded response headers are sent again, and which never.

Pure. A mockup's headers.json has {"GET": {name: value}}, as DMTF's mockup creator writes it. What
describes one message or one connection of long ago is left out without a word; what can not be
sent at all is a defect.
"""

import re
from collections.abc import Iterator
from typing import Any

from redfish_fm.store.mockup_parse import Defect, DefectKind, escaped, parse_document

HEADERS_FILE = "headers.json"
_METHOD = "GET"
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_VALUE_CHARS_MAX = 4096
_HEADERS_MAX = 64

_HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Of one connection (RFC 9110 "Connection", "Message Forwarding")."""
_OF_ONE_MESSAGE = frozenset(
    {
        "age",
        "content-encoding",
        "content-length",
        "content-range",
        "date",
        "etag",
        "expires",
        "last-modified",
        "location",
        "retry-after",
    }
)
"""Stale as soon as anything changes; ours are sent where there are any."""
_OF_ONE_CLIENT = frozenset(
    {
        "alt-svc",
        "authentication-info",
        "set-cookie",
        "strict-transport-security",
        "www-authenticate",
        "x-auth-token",
    }
)
"""Somebody's session, or promises about a host that is not this one."""
NEVER_SENT = _HOP_BY_HOP | _OF_ONE_MESSAGE | _OF_ONE_CLIENT


def read_headers(file: str, content: bytes) -> tuple[dict[str, str], list[Defect]]:
    """Return the headers to send with a GET of the resource beside `file`, and what is wrong."""
    parsed = parse_document(file, content)
    if parsed.document is None:
        return {}, parsed.defects
    recorded = parsed.document.get(_METHOD, {})
    if not isinstance(recorded, dict) or len(recorded) > _HEADERS_MAX:
        text = f"{_METHOD} is no object of at most {_HEADERS_MAX} headers"
        return {}, [*parsed.defects, _defect(file, f"/{_METHOD}", text)]
    wrong = dict(_wrong(recorded))
    kept = {
        name: value
        for name, value in recorded.items()
        if name not in wrong and name.lower() not in NEVER_SENT
    }
    defects = [_defect(file, f"/{_METHOD}/{escaped(name)}", text) for name, text in wrong.items()]
    return kept, [*parsed.defects, *defects]


def _wrong(recorded: dict[str, Any]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for name, value in recorded.items():
        if not _NAME.fullmatch(name):
            yield name, "no name of a header; not sent"
        elif name.lower() in seen:
            yield name, "a second header of this name; not sent"
        elif not isinstance(value, str) or len(value) > _VALUE_CHARS_MAX:
            yield name, f"no text of at most {_VALUE_CHARS_MAX} characters; not sent"
        elif not _VALUE.fullmatch(value):
            yield name, "characters that no header can have; not sent"
        seen.add(name.lower())


def _defect(file: str, pointer: str, text: str) -> Defect:
    return Defect(DefectKind.HEADER, file, pointer, None, None, text)
