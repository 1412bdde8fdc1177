"""Answers to GETs with a query, and pages of collections where the service limits their size.

The order is the standard's (DSP0266 "Query parameters"): $skip and $top, then the service's own
pages, then $expand, then $select.

Entity tags: a query's answer has a tag of its own, `"W.Q"`, where Q depends on every byte of it.
Two answers never share a tag unless they are equal, so If-None-Match can not tell a client that
it has what it never saw; and since W is that of the resource, the tag is as good for If-Match as
the resource's own. "@odata.etag" in the body stays that of the resource, as the standard wants
under $select and as expanded members have it; without a query, header and body are the same.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from redfish_fm.redfish import etag, messages
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.expand import EXPANDED_MAX, Expansion
from redfish_fm.redfish.paging import members_of, page_of, turn
from redfish_fm.redfish.query import Expand, Query, read_query
from redfish_fm.redfish.select import selected, selected_collection
from redfish_fm.redfish.targets import Target, TargetKind, normal
from redfish_fm.redfish.view import Representation, View

MayRead = Callable[[Representation], bool]
"""Whether the one who asks may GET that resource."""

Pairs = tuple[tuple[str, str], ...]


class Reader:
    """Evaluates queries.

    `page_size` is the largest number of members in one answer, None for all of them;
    `expanded_max` the largest number of resources that $expand puts into one.
    """

    def __init__(
        self,
        catalog: Catalog,
        resources: View,
        page_size: int | None = None,
        expanded_max: int = EXPANDED_MAX,
    ) -> None:
        self._catalog = catalog
        self._resources = resources
        self._page_size = page_size
        self._expanded_max = expanded_max

    @property
    def pages(self) -> bool:
        """Return whether a GET without query may have to be cut into pages, too."""
        return self._page_size is not None

    async def read(self, target: Target, pairs: Pairs, may_read: MayRead) -> Target:
        """Return `target` with the answer in place of the resource.

        Raises RedfishError (400) for wrong values or what the resource does not take, 403 for
        the only member of a collection that the client may not read.
        """
        query = read_query(pairs)
        resource = target.kind is TargetKind.RESOURCE
        collection = resource and is_collection(target.shown)
        if query is None:
            if collection and self.pages:
                body = msgspec.json.encode(self._body(target.shown, pairs))
                return replace(target, found=replace(target.shown, body=body))
            return target
        if not resource or ((query.only or query.pages) and not collection):
            raise RedfishError(400, (messages.query_not_supported_on_resource(),))
        if query.only:
            return self._only(target, pairs, may_read)
        document = msgspec.json.decode(target.shown.body)
        if collection:
            await self._fill(document, query, pairs, may_read)
        elif query.expand is not None:
            await _in_turns(self._expansion(query, query.expand, may_read), document)
        body = msgspec.json.encode(_cut(document, query, collection))
        return _answering(target, target.shown, body)

    async def _fill(self, document: Any, query: Query, pairs: Pairs, may_read: MayRead) -> None:
        """Put into a collection the members that the query chooses, expanded where it says so."""
        members = members_of(document)
        page = page_of(len(members), query.skip, query.top)
        end = page.end if self._page_size is None else min(page.end, page.start + self._page_size)
        members = members[page.start : end]
        if query.expand is not None:
            expansion = self._expansion(query, query.expand, may_read)
            document["Members"] = []
            await _in_turns(expansion, document)
            shown: list[Any] = []
            for _ in expansion.grow_members(members, shown):
                await asyncio.sleep(0)
            members = shown
        turn(document, members, page, pairs)

    def _only(self, target: Target, pairs: Pairs, may_read: MayRead) -> Target:
        """Return the only member of a collection, or the collection if it has not just one."""
        members = members_of(msgspec.json.decode(target.shown.body))
        found = self._resources.get(members[0]["@odata.id"]) if len(members) == 1 else None
        if found is None:
            body = self._body(target.shown, pairs)
            return _answering(target, target.shown, msgspec.json.encode(body))
        if not may_read(found):
            raise RedfishError(403, (messages.insufficient_privilege(),))
        info = self._catalog.types.get(found.type_name)
        return _answering(replace(target, info=info), found, found.body)

    def _expansion(self, query: Query, expand: Expand, may_read: MayRead) -> Expansion:
        def find(uri: str) -> Representation | None:
            found = self._resources.get(normal(uri))
            return found if found is not None and may_read(found) else None

        def body(found: Representation, levels: int) -> Any:
            below = (("$expand", _spelled(expand, levels)),) if levels else ()
            return self._body(found, below, whole=query.select is None and not levels)

        return Expansion(expand, find, body, self._expanded_max)

    def _body(self, found: Representation, pairs: Pairs, whole: bool = True) -> Any:
        """Return what a GET gives, its next link with `pairs`; unparsed where it stays `whole`."""
        if self._page_size is not None and is_collection(found):
            document = msgspec.json.decode(found.body)
            members = members_of(document)
            if len(members) > self._page_size:
                page = page_of(len(members), None, None)
                turn(document, members[: self._page_size], page, pairs)
                return document
        return msgspec.Raw(found.body) if whole else msgspec.json.decode(found.body)


def is_collection(found: Representation) -> bool:
    """Return whether it is a resource collection; those of types we do not know included."""
    return found.type_name.endswith("Collection")


async def _in_turns(expansion: Expansion, document: Any) -> None:
    """Expand `document`, letting other requests run in between."""
    for _ in expansion.grow(document):
        await asyncio.sleep(0)


def _spelled(expand: Expand, levels: int) -> str:
    option = "*" if expand.subordinate and expand.links else "." if expand.subordinate else "~"
    return f"{option}($levels={levels})"


def _cut(document: Any, query: Query, collection: bool) -> Any:
    if query.select is None:
        return document
    if query.expand is not None and query.expand.subordinate and collection:
        return selected_collection(document, query.select)
    return selected(document, query.select)


def _answering(target: Target, found: Representation, body: bytes) -> Target:
    tag = etag.join(found.wanted_tag, etag.content_tag(body))
    return replace(target, found=replace(found, body=body, etag=tag))
