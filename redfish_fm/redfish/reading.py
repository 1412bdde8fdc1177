"""Answers to GETs with a query, and pages of collections where the service limits their size.

The order is the standard's (DSP0266 "Query parameters"): $filter, $skip and $top, then the
service's own pages, then $expand, excerpt and $select. A filter is evaluated on what the client may
read: a member that it may not read is none of those that match, whatever the filter says.

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
from redfish_fm.redfish.catalog import Catalog, TypeInfo
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.excerpt import excerpt_of
from redfish_fm.redfish.expand import EXPANDED_MAX, Expansion
from redfish_fm.redfish.filter import Match, matcher
from redfish_fm.redfish.filter_syntax import FilterError
from redfish_fm.redfish.filter_types import checked
from redfish_fm.redfish.paging import after, members_of, page_of, turn
from redfish_fm.redfish.query import Expand, Filter, Query, filter_refusal, read_query
from redfish_fm.redfish.select import Selection, selected, selected_collection
from redfish_fm.redfish.targets import Target, TargetKind, normal
from redfish_fm.redfish.view import Representation, View

MayRead = Callable[[Representation], bool]
"""Whether the one who asks may GET that resource."""

Pairs = tuple[tuple[str, str], ...]

_PAUSE = 2_000_000
"""Work of a filter between two pauses, in bytes of members times characters of the filter:
at most a millisecond (25 small members, a short filter)."""

_READING = 50
"""What looking a member up and reading it costs, as characters of a filter."""

_HEAVY = 50 * _PAUSE
"""A member of so much work (a zone of thousands of endpoints, a long filter) is left to a thread:
it would hold up all others for tens of milliseconds, and there is no pause inside one member."""


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
        self._excerpts: dict[str, Selection | None] = {}

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
        if not resource or (query.of_collection and not collection):
            raise RedfishError(400, (messages.query_not_supported_on_resource(),))
        if query.only:
            return self._only(target, pairs, may_read)
        document = msgspec.json.decode(target.shown.body)
        if query.excerpt:
            document = self._excerpt(target.shown, document)
        if collection:
            await self._fill(document, target.info, query, pairs, may_read)
        elif query.expand is not None:
            await _in_turns(self._expansion(query, query.expand, may_read), document)
        body = msgspec.json.encode(_cut(document, query, collection))
        return _answering(target, target.shown, body)

    async def _fill(
        self, document: Any, info: TypeInfo | None, query: Query, pairs: Pairs, may_read: MayRead
    ) -> None:
        """Put into a collection the members that the query chooses, expanded where it says so."""
        members = members_of(document)
        if query.filter is not None:
            match = self._match(query.filter, info)
            chars = len(query.filter.text)
            members = await self._matching(members, match, chars, may_read)
        start = query.skip or 0
        if query.skiptoken is not None:
            start = after(members, document["@odata.id"], query.skiptoken)
        page = page_of(members, start, query.top)
        members = list(page.members[: self._page_size])
        if query.expand is not None:
            expansion = self._expansion(query, query.expand, may_read)
            document["Members"] = []
            await _in_turns(expansion, document)
            shown: list[Any] = []
            for _ in expansion.grow_members(members, shown):
                await asyncio.sleep(0)
            members = shown
        turn(document, members, page, pairs)

    def _match(self, asked: Filter, collection: TypeInfo | None) -> Match:
        """Return the filter as a function of a member. Raises RedfishError (400)."""
        member = None if collection is None else self._catalog.types.get(collection.member or "")
        try:
            return matcher(checked(asked.expression, member))
        except FilterError as error:
            raise filter_refusal(error, asked.text) from None

    async def _matching(
        self, members: list[Any], match: Match, chars: int, may_read: MayRead
    ) -> list[Any]:
        """Return the members that match a filter of so many characters; others run meanwhile."""
        matching, done = [], 0
        for member in members:
            found = self._resources.get(normal(member["@odata.id"]))
            work = (len(found.body) if found else _READING) * (_READING + chars)
            done += work
            if done > _PAUSE:
                done = 0
                await asyncio.sleep(0)
            if found is None or not may_read(found):
                continue
            document = msgspec.json.decode(found.body)
            heavy = work > _HEAVY
            if await asyncio.to_thread(match, document) if heavy else match(document):
                matching.append(member)
        return matching

    def _excerpt(self, found: Representation, document: Any) -> Any:
        """Return what belongs to the excerpt of a resource."""
        selection = self._excerpt_of(found.type_name)
        return document if selection is None else selected(document, selection)

    def _excerpt_of(self, type_name: str) -> Selection | None:
        if type_name not in self._excerpts:
            info = self._catalog.types.get(type_name)
            self._excerpts[type_name] = None if info is None else excerpt_of(info)
        return self._excerpts[type_name]

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
            below: Pairs = (("$expand", _spelled(expand, levels)),) if levels else ()
            if query.excerpt:
                below += (("excerpt", ""),)
            cut = query.excerpt and self._excerpt_of(found.type_name) is not None
            whole = query.select is None and not levels and not cut
            document = self._body(found, below, whole)
            return self._excerpt(found, document) if cut else document

        return Expansion(expand, find, body, self._expanded_max)

    def _body(self, found: Representation, pairs: Pairs, whole: bool = True) -> Any:
        """Return what a GET gives, its next link with `pairs`; unparsed where it stays `whole`."""
        if self._page_size is not None and is_collection(found):
            document = msgspec.json.decode(found.body)
            members = members_of(document)
            if len(members) > self._page_size:
                page = page_of(members, 0, None)
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
