"""Pages of a collection: which members an answer shows, and the link to the next ones. Pure.

$skip and $top choose members; what they choose may be more than one answer holds, and then the
answer ends with a next link that leads through the rest of it. An answer that shows all that was
asked for has none, even when the collection goes on after it (OData "Server-Driven Paging").

A next link names the last member that was shown, not a number of members to skip: whatever comes
and goes between two pages, a member that stays is shown once. Collections are always in the same
order (`_order`), so the place of a member that is gone can still be found.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

COUNT = "Members@odata.count"
NEXT = "Members@odata.nextLink"

_LEGAL = "$()*!',/;:@?"
"""Legal in a query as they are: a URI we hand out should need no percent-encoding."""

_REPLACED = frozenset({"$skip", "$skiptoken", "$top", "only"})
"""`only` has had its effect: the collection has more than one member."""


@dataclass(frozen=True, slots=True)
class Page:
    """The `members` that a client wants, out of `total`; an answer may hold fewer."""

    members: Sequence[Any]
    total: int
    topped: bool
    """Whether $top ended them; then the rest is counted down in the next link."""


def members_of(document: Mapping[str, Any]) -> list[Any]:
    """Return a collection's members; an imported document may lack them."""
    members = document.get("Members")
    return members if isinstance(members, list) else []


def page_of(members: Sequence[Any], start: int, top: int | None) -> Page:
    """Return what is chosen from `start` on; never out of bounds."""
    end = None if top is None else start + top
    return Page(members[start:end], len(members), top is not None)


def after(members: Iterable[Any], collection: str, token: str) -> int:
    """Return the index of the first member after the one that `token` names, there or gone."""
    uris = [str(member.get("@odata.id", "")) for member in members]
    for uri in (f"{collection}/{token}", token):
        if uri in uris:
            return uris.index(uri) + 1
    order = _order(token)
    return next((index for index, uri in enumerate(uris) if _order(uri) > order), len(uris))


def turn(document: dict[str, Any], shown: list[Any], page: Page, pairs: Iterable[Any]) -> None:
    """Put the `shown` members, which begin those of the page, into a collection's document."""
    document["Members"] = shown
    document[COUNT] = page.total
    document.pop(NEXT, None)
    left = len(page.members) - len(shown)
    if left > 0 and shown:
        collection = document["@odata.id"]
        last = str(page.members[len(shown) - 1].get("@odata.id", ""))
        token = last.removeprefix(f"{collection}/")
        document[NEXT] = next_link(collection, pairs, token, left if page.topped else None)


def next_link(
    uri: str, pairs: Iterable[tuple[str, str]], token: str, top: int | None = None
) -> str:
    """Return the URI of the page after `token`; all other parameters of the request stay."""
    kept = [(name, value) for name, value in pairs if name not in _REPLACED]
    parts = [f"{_raw(name)}={_value(name, value)}" for name, value in kept]
    parts.append(f"$skiptoken={_raw(token, '=')}")
    if top is not None:
        parts.append(f"$top={top}")
    return f"{uri}?{'&'.join(parts)}"


def _order(uri: str) -> tuple[int, str]:
    """Return a sort key by id: "gpu2" before "gpu10". Collections are served in this order."""
    name = uri.rsplit("/", 1)[-1]
    return len(name), name


def _value(name: str, value: str) -> str:
    # Blanks after commas mean nothing in a selection; inside a filter's strings they do.
    return _raw(value.replace(", ", ",") if name == "$select" else value, "=")


def _raw(text: str, further: str = "") -> str:
    return quote(text, safe=_LEGAL + further, errors="replace")
