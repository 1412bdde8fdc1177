"""Pages of a collection: which members an answer shows, and the link to the next ones. Pure.

$skip and $top choose members; what they choose may be more than one answer holds, and then the
answer ends with a next link that leads through the rest of it. An answer that shows all that was
asked for has none, even when the collection goes on after it (OData "Server-Driven Paging").
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

COUNT = "Members@odata.count"
NEXT = "Members@odata.nextLink"

_LEGAL = "$()*!',/;:@?"
"""Legal in a query as they are: a URI we hand out should need no percent-encoding."""

_REPLACED = frozenset({"$skip", "$top", "only"})
"""`only` has had its effect: the collection has more than one member."""


@dataclass(frozen=True, slots=True)
class Page:
    """The members from `start` up to `end` that a client wants, out of `total`."""

    start: int
    end: int
    total: int
    topped: bool
    """Whether `end` is the client's; then the rest is counted down in the next link."""


def members_of(document: Mapping[str, Any]) -> list[Any]:
    """Return a collection's members; an imported document may lack them."""
    members = document.get("Members")
    return members if isinstance(members, list) else []


def page_of(total: int, skip: int | None, top: int | None) -> Page:
    """Return what $skip and $top choose from `total` members; never out of bounds."""
    start = min(skip or 0, total)
    end = total if top is None else min(start + top, total)
    return Page(start, end, total, top is not None)


def turn(document: dict[str, Any], shown: list[Any], page: Page, pairs: Iterable[Any]) -> None:
    """Put the `shown` members, which begin at page.start, into a collection's document."""
    document["Members"] = shown
    document[COUNT] = page.total
    document.pop(NEXT, None)
    following = page.start + len(shown)
    if following < page.end:
        top = page.end - following if page.topped else None
        document[NEXT] = next_link(document["@odata.id"], pairs, following, top)


def next_link(uri: str, pairs: Iterable[tuple[str, str]], skip: int, top: int | None = None) -> str:
    """Return the URI of the page at `skip`; all other parameters of the request stay."""
    kept = [(name, value) for name, value in pairs if name not in _REPLACED]
    parts = [f"{_raw(name)}={_raw(value, '=')}" for name, value in kept]
    parts.append(f"$skip={skip}")
    if top is not None:
        parts.append(f"$top={top}")
    return f"{uri}?{'&'.join(parts)}"


def _raw(text: str, further: str = "") -> str:
    return quote(text.replace(", ", ","), safe=_LEGAL + further, errors="replace")
