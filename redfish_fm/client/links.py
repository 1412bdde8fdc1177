"""The links in a resource's JSON: where they lead, and that they stay in the service. Pure."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

ROOT = "/redfish/v1"
"""The URI of the service root without its slash (DSP0266 "Resource path")."""

_LINK = "@odata.id"
_SUBTYPE = re.compile(r"#(\w+)\.")


def resource_uri(link: str, origin: str) -> str | None:
    """Return the URI of the resource a link leads to, or None where it leads out of the service.

    Without fragment and trailing slash; a link may name the service's own `origin`, such as
    https://host:port.
    """
    if link.startswith(f"{origin}/"):
        link = link.removeprefix(origin)
    try:
        at = urlsplit(link)
    except ValueError:
        return None
    if at.scheme or at.netloc:
        return None
    uri = at.path.rstrip("/")
    inside = uri == ROOT or uri.startswith(f"{ROOT}/")
    return (f"{uri}?{at.query}" if at.query else uri) if inside else None


def links(value: object) -> Iterator[str]:
    """Yield every @odata.id in a document, at whatever depth, in its order."""
    todo = [value]
    while todo:
        inner = todo.pop()
        if isinstance(inner, dict):
            link = inner.get(_LINK)
            if isinstance(link, str):
                yield link
            todo.extend(reversed(inner.values()))
        elif isinstance(inner, list):
            todo.extend(reversed(inner))


def type_name(document: dict[str, Any]) -> str:
    """Return the type without namespace and version: "Chassis" of #Chassis.v1_25_0.Chassis."""
    found = _SUBTYPE.match(str(document.get("@odata.type", "")))
    return found[1] if found else ""
