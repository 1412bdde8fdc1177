"""Wanted state with everything derived from it, kept up to date edit by edit.

Two of these live in a service: the writer's tip (committed and in flight) and the published one.
Applying an edit costs the size of the edit. No I/O, no clock, no asyncio.
"""

from collections.abc import Callable, Iterable, Mapping, Set
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from redfish_fm.control.base import NOTHING, Base, Link, Reading, decode_document
from redfish_fm.control.ids import id_order
from redfish_fm.fabric.composition import Block, Composition, Reservation
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.mapping.bindings import decode_binding
from redfish_fm.mapping.block_status import (
    POOLS,
    blocks_by_hand,
    blocks_concerned,
    blocks_of_endpoints,
    endpoints_meant,
    pool_members,
)
from redfish_fm.mapping.domain import apply_overlay, apply_value
from redfish_fm.mapping.links import forward_links
from redfish_fm.mapping.operations import Operation, decode_operation
from redfish_fm.mapping.systems_shown import (
    collection_document,
    collection_shown,
    document_shown,
    is_shown,
    members_shown,
    parts_shown,
)
from redfish_fm.mapping.tasks import TASKS, places_of, sub_task_collection, sub_tasks, task_place
from redfish_fm.redfish import etag
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.patch import merge
from redfish_fm.store.base import StoredState

_COMPOSING = (Block, Composition, Reservation)
"""What documents mean that resource blocks and systems show; most mean something else."""


class WantedState:
    """Documents, overlays and records by space, plus members, inverse links and the fabric index.

    Invariant: equal to a state built from the same spaces from nothing (`comparable`). `held` has
    the ids of the open operations of each URI; `parsed` counts documents read while deriving.
    """

    def __init__(self, base: Base) -> None:
        self.base = base
        self.seq = 0
        self.spaces: dict[Space, dict[str, bytes]] = {space: {} for space in Space}
        # Every request asks these two several times; an Enum's hash is made in Python each time.
        self._documents = self.spaces[Space.DOCUMENT]
        self._overlays = self.spaces[Space.OVERLAY]
        self.members: dict[str, set[str]] = {}
        self.links: dict[str, dict[str, set[str]]] = {}
        self.operations: dict[str, Operation] = {}
        self.held: dict[str, set[str]] = {}
        self.parsed = 0
        self.index: FabricIndex = base.new_index()
        self.read_as = _ReadAs(base.members, self.document)
        self._tags: dict[str, str] = {}
        self._member_sums: dict[str, int] = {}

    def load(self, stored: StoredState) -> None:
        """Take over a stored state; call once, on a fresh instance."""
        for space, keys in stored.spaces.items():
            for key, value in keys.items():
                self.apply(Edit(space, key, None, value))
        self.seq = stored.seq

    def holds(self, stored: StoredState) -> bool:
        """Return whether this is exactly the stored state."""
        return self.seq == stored.seq and all(
            self.spaces[space] == dict(stored.spaces.get(space, {})) for space in Space
        )

    def comparable(self) -> dict[str, Any]:
        """Return everything derived, as plain values to compare with another instance."""
        return {
            "index": self.index.snapshot(),
            "members": {uri: sorted(found) for uri, found in self.members.items() if found},
            "links": {
                target: {pointer: sorted(sources) for pointer, sources in pointers.items()}
                for target, pointers in self.links.items()
            },
            "held": {uri: sorted(ids) for uri, ids in self.held.items()},
            "operations": dict(self.operations),
        }

    def apply_all(self, edits: Iterable[Edit]) -> set[str]:
        """Apply edits in order; return the URIs whose representation they touch."""
        touched: set[str] = set()
        for edit in edits:
            touched.update(self.apply(edit))
        return touched

    def apply(self, edit: Edit) -> set[str]:
        """Apply one edit; return the URIs whose representation it touches."""
        keys = self.spaces[edit.space]
        if edit.post is None:
            keys.pop(edit.key, None)
        else:
            keys[edit.key] = edit.post
        touched = self._derive(edit)
        for uri in touched:
            self._tags.pop(uri, None)
        return touched

    def _derive(self, edit: Edit) -> set[str]:
        if edit.space is Space.DOCUMENT:
            return self._derive_document(edit)
        match edit.space:
            case Space.OVERLAY:
                return {edit.key, *self._derive_overlay(edit)}
            case Space.BINDING:
                return self._derive_binding(edit)
            case Space.OPERATION:
                return self._derive_operation(edit)
            case _:
                return set()

    def _derive_overlay(self, edit: Edit) -> set[str]:
        facts = self.base.facts
        expands = facts.is_host(edit.key)
        if edit.key in facts.blocks:
            apply_overlay(self.index, facts, edit.key, _overlay(edit.post))
            return set(POOLS)
        if not expands and facts.vppb_at(edit.key) is None and edit.key not in facts.qos_targets:
            return set()
        pre, post = (_overlay(raw) for raw in (edit.pre, edit.post))
        by_hand = self._by_hand(edit.key)
        apply_overlay(self.index, facts, edit.key, post)
        if not expands:
            found = by_hand | self._by_hand(edit.key)
            return found | POOLS if found else set()
        before, after = (set(forward_links("ComputerSystem", each)) for each in (pre, post))
        blocks = self._relink(edit.key, before, after)
        if not blocks:
            return set()
        own = self.index.blocks_of_host(edit.key)
        return {*blocks, *own, *parts_shown(edit.key), *POOLS}

    def _by_hand(self, uri: str) -> set[str]:
        """Return the blocks of what a client bound to a vPPB itself."""
        return blocks_by_hand(self.index, self.index.vppb_grants.get(uri))

    def _blocks(self, relinked: Set[str], *values: object) -> set[str]:
        """Return the resource blocks, and their pools, that show something else from now on."""
        found = blocks_of_endpoints(self.index, relinked)
        for value in values:
            found |= blocks_concerned(value)
        return found | (POOLS if found else frozenset())

    @staticmethod
    def _of_systems(*values: object) -> set[str]:
        """Return the hosts, and what is below a system of blocks, that show something else now."""
        found: set[str] = set()
        for value in values:
            if isinstance(value, Composition):
                found.update(parts_shown(value.id), (value.host,) if value.host else ())
        return found

    def _relink(self, uri: str, before: Set[Link], after: Set[Link]) -> set[str]:
        """Follow what `uri` links; return what is linked to otherwise than before."""
        for target, pointer in before - after:
            self._unlink(target, pointer, uri)
        for target, pointer in after - before:
            self.links.setdefault(target, {}).setdefault(pointer, set()).add(uri)
        return {target for target, _ in before ^ after}

    def _derive_document(self, edit: Edit) -> set[str]:
        uri = edit.key
        pre = NOTHING if edit.pre is None else self._read(uri, edit.pre)
        post = NOTHING if edit.post is None else self._read(uri, edit.post)
        touched = {uri}
        if pre.alone and post.alone:
            apply_value(self.index, pre.value, post.value)
        else:
            touched |= self._apply_meaning(uri, pre, post)
        if (edit.pre is None) != (edit.post is None):
            for collection in (*pre.collections, *post.collections):
                self._join(collection, uri, edit.post is not None)
                touched.add(collection)
        return touched

    def _apply_meaning(self, uri: str, pre: Reading, post: Reading) -> set[str]:
        """Follow what a document means to others; return who shows something else by that."""
        relinked = self._relink(uri, pre.links, post.links)
        apply_value(self.index, pre.value, post.value)
        values = (pre.value, post.value)
        meant = endpoints_meant(self.index, *values)
        touched = relinked | meant
        if touched or isinstance(pre.value, _COMPOSING) or isinstance(post.value, _COMPOSING):
            touched = relinked | self._blocks(touched, *values)
            touched |= self._of_systems(*values)
        return touched

    def _read(self, uri: str, raw: bytes) -> Reading:
        self.parsed += 1
        return self.base.read(uri, raw)

    def _join(self, collection: str, uri: str, joins: bool) -> None:
        members = self.members.setdefault(collection, set())
        (members.add if joins else members.discard)(uri)
        # A sum of hashes, because hashing all members anew would cost the size of the collection.
        self._member_sums[collection] = self._member_sums.get(collection, 0) ^ _number(uri)

    def _unlink(self, target: str, pointer: str, source: str) -> None:
        pointers = self.links[target]
        pointers[pointer].discard(source)
        if not pointers[pointer]:
            del pointers[pointer]
        if not pointers:
            del self.links[target]

    def _derive_binding(self, edit: Edit) -> set[str]:
        holders: set[str] = set()
        if edit.pre is not None:
            before = decode_binding(edit.pre)
            self.index.remove_binding(before.vppb)
            holders |= before.holders
        if edit.post is not None:
            after = decode_binding(edit.post)
            self.index.put_binding(after)
            holders |= after.holders
        # What waits for hardware is shown as Starting.
        return holders

    def _derive_operation(self, edit: Edit) -> set[str]:
        before = self.operations.pop(edit.key, None)
        after = None if edit.post is None else decode_operation(edit.post)
        if before is not None and before.open:
            for uri in before.resources:
                self.held[uri].discard(before.id)
                if not self.held[uri]:
                    del self.held[uri]
        if after is not None:
            self.operations[edit.key] = after
            for uri in after.resources if after.open else ():
                self.held.setdefault(uri, set()).add(after.id)
        touched = {uri for each in (before, after) if each is not None for uri in places_of(each)}
        if (before is None) != (after is None):
            touched.add(TASKS)
        for each in (before, after):
            touched |= self._under_change(each.resources if each is not None else ())
        return touched

    def _under_change(self, resources: Iterable[str]) -> set[str]:
        """Return the systems of blocks among them with their blocks: they show what goes on."""
        known = (self.index.compositions.get(uri) for uri in resources)
        return {shown for each in known if each is not None for shown in (each.id, *each.blocks)}

    def busy(self, uri: str) -> str | None:
        """Return the Task of the newest open operation that holds `uri`."""
        holding = self.held.get(uri)
        newest = max(holding, key=id_order) if holding else None
        return None if newest is None else self.operations[newest].task

    def document(self, uri: str) -> dict[str, Any] | None:
        """Return the wanted document, or inventory with its overlay; None for collections too."""
        raw = self._documents.get(uri)
        if raw is not None:
            return decode_document(raw)
        if uri in self.base.collections:
            return None
        document = self.base.parsed(uri)
        if document is None:
            return document_shown(self.index, self.read_as, uri)
        overlay = self._overlays.get(uri)
        if overlay is None:
            return document
        return merge(document, msgspec.json.decode(overlay))

    def is_written(self, uri: str) -> bool:
        """Return whether clients wrote a document or an overlay at `uri`, whoever serves that."""
        return any(uri in self.spaces[each] for each in (Space.DOCUMENT, Space.OVERLAY))

    def is_wanted(self, uri: str) -> bool:
        """Return whether `uri` lives in DOCUMENT space."""
        return uri in self._documents

    def collection_type(self, uri: str) -> str | None:
        """Return the type of the collection at `uri`, or None where there is none."""
        found = self.base.collections.get(uri)
        if found is not None:
            return found
        if self._sub_tasks(uri) is not None:
            return "TaskCollection"
        return collection_shown(self.index, self.read_as, uri)

    def collection(self, uri: str) -> dict[str, Any]:
        """Return the collection at `uri` without its members."""
        document = self.base.parsed(uri)
        if document is not None:
            return document
        operation = self._sub_tasks(uri)
        if operation is not None:
            return sub_task_collection(operation)
        return collection_document(self.collection_type(uri) or "", uri)

    def exists(self, uri: str) -> bool:
        """Return whether anything is served at `uri` from wanted state, inventory or tasks."""
        return (
            uri in self._documents
            or uri in self.base.documents
            or self._is_task(uri)
            or (bool(self.index.compositions) and is_shown(self.index, self.read_as, uri))
        )

    def task_operation(self, uri: str) -> Operation | None:
        """Return the operation whose Task is served at `uri`."""
        place = task_place(uri)
        if place is None or place.sub_tasks:
            return None
        return self.operations.get(place.operation)

    def part_of_task(self, uri: str) -> tuple[Operation, str] | None:
        """Return the operation and the fabric whose sub-task is served at `uri`."""
        place = task_place(uri)
        operation = None if place is None else self.operations.get(place.operation)
        if operation is None or place is None or place.fabric is None:
            return None
        return (operation, place.fabric) if uri in sub_tasks(operation) else None

    def _sub_tasks(self, uri: str) -> Operation | None:
        """Return the operation whose collection of sub-tasks is served at `uri`."""
        place = task_place(uri)
        if place is None or not place.sub_tasks or place.fabric is not None:
            return None
        operation = self.operations.get(place.operation)
        return operation if operation is not None and sub_tasks(operation) else None

    def _is_task(self, uri: str) -> bool:
        """Return whether a Task, a sub-task or a collection of those is served at `uri`."""
        place = task_place(uri)
        operation = None if place is None else self.operations.get(place.operation)
        return operation is not None and uri in places_of(operation)

    def members_of(self, collection: str) -> list[str]:
        """Return the URIs of a collection's members, in the one order they are always served."""
        made = self.members.get(collection, set())
        if collection in POOLS and collection in self.base.collections:
            return sorted(pool_members(self.index, collection), key=member_order)
        if collection == TASKS:
            made = {operation.task for operation in self.operations.values()}
        elif (operation := self._sub_tasks(collection)) is not None:
            made = {*sub_tasks(operation)}
        made = made | members_shown(self.index, self.read_as, collection)
        return sorted(made | self.base.members.get(collection, set()), key=member_order)

    def wanted_tag(self, uri: str) -> str | None:
        """Return W of the ETag: a hash of what clients wrote here and of what links here."""
        tag = self._tags.get(uri)
        if tag is None:
            if not self.exists(uri):
                return None
            tag = self._tags[uri] = self._new_tag(uri)
        return tag

    def _new_tag(self, uri: str) -> str:
        own = self._documents.get(uri) or self._overlays.get(uri) or b""
        links = self.links.get(uri)
        inverse = b"[]"
        if links:
            rows = sorted((pointer, sorted(sources)) for pointer, sources in links.items())
            inverse = msgspec.json.encode(rows)
        place = task_place(uri) if self.operations else None
        operation = None if place is None else self.operations.get(place.operation)
        composed = bool(self.index.compositions)
        follows = uri in POOLS or (composed and bool(members_shown(self.index, self.read_as, uri)))
        return etag.content_tag(
            own,
            inverse,
            b"%x" % self._member_sums.get(uri, 0),
            ",".join(self.members_of(uri)).encode() if follows else b"",
            b"" if operation is None else operation.state.value.encode(),
        )


class _ReadAs(NamedTuple):
    """The state as mapping.systems_shown reads it."""

    members: Mapping[str, Set[str]]
    parsed: Callable[[str], dict[str, Any] | None]


def _overlay(raw: bytes | None) -> dict[str, Any]:
    found: dict[str, Any] = {} if raw is None else msgspec.json.decode(raw)
    return found


@lru_cache(maxsize=256)
def _number(uri: str) -> int:
    """Return a hash of the URI; asked for by the tip and soon after by the published state."""
    return etag.content_number(uri.encode())


def member_order(uri: str) -> tuple[int, str]:
    """Return a sort key that puts "gpu2" before "gpu10": shorter ids first, then by text."""
    return id_order(uri.rsplit("/", 1)[-1])
