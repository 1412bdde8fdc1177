"""Wanted state with everything derived from it, kept up to date edit by edit.

Two of these live in a service: the writer's tip (committed and in flight) and the published one.
Applying an edit costs the size of the edit. No I/O, no clock, no asyncio.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from redfish_fm.control.base import Base, parent_of, type_name_of
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.mapping.bindings import decode_binding
from redfish_fm.mapping.domain import apply_document
from redfish_fm.mapping.links import forward_links
from redfish_fm.mapping.operations import Operation, decode_operation
from redfish_fm.redfish import etag
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.patch import merge
from redfish_fm.store.base import StoredState


class WantedState:
    """Documents, overlays and records by space, plus members, inverse links and the fabric index.

    Invariant: equal to a state built from the same spaces from nothing (`comparable`).
    """

    def __init__(self, base: Base) -> None:
        self.base = base
        self.seq = 0
        self.spaces: dict[Space, dict[str, bytes]] = {space: {} for space in Space}
        self.members: dict[str, set[str]] = {}
        self.links: dict[str, dict[str, set[str]]] = {}
        self.operations: dict[str, Operation] = {}
        self.held: dict[str, str] = {}
        self.index: FabricIndex = base.new_index()
        self._tags: dict[str, str] = {}

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
            "held": dict(self.held),
        }

    def apply_all(self, edits: Iterable[Edit]) -> set[str]:
        """Apply edits in order; return the URIs whose representation they touch."""
        touched: set[str] = set()
        for edit in edits:
            touched |= self.apply(edit)
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
        match edit.space:
            case Space.DOCUMENT:
                return self._derive_document(edit)
            case Space.OVERLAY:
                return {edit.key}
            case Space.BINDING:
                return self._derive_binding(edit)
            case Space.OPERATION:
                return self._derive_operation(edit)
            case _:
                return set()

    def _derive_document(self, edit: Edit) -> set[str]:
        uri = edit.key
        pre = None if edit.pre is None else msgspec.json.decode(edit.pre)
        post = None if edit.post is None else msgspec.json.decode(edit.post)
        touched = {uri, parent_of(uri)}
        if pre is not None:
            for target, pointer in forward_links(type_name_of(pre), pre):
                self._unlink(target, pointer, uri)
                touched.add(target)
        if post is not None:
            for target, pointer in forward_links(type_name_of(post), post):
                self.links.setdefault(target, {}).setdefault(pointer, set()).add(uri)
                touched.add(target)
        if post is None:
            self.members.get(parent_of(uri), set()).discard(uri)
        else:
            self.members.setdefault(parent_of(uri), set()).add(uri)
        apply_document(self.index, self.base.facts, uri, pre, post)
        return touched

    def _unlink(self, target: str, pointer: str, source: str) -> None:
        pointers = self.links.get(target)
        if pointers is None or pointer not in pointers:
            return
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
        return holders

    def _derive_operation(self, edit: Edit) -> set[str]:
        touched: set[str] = set()
        before = self.operations.pop(edit.key, None)
        if before is not None:
            touched |= {before.task, parent_of(before.task)}
            for uri in before.resources:
                if self.held.get(uri) == before.task:
                    del self.held[uri]
        if edit.post is not None:
            after = decode_operation(edit.post)
            self.operations[edit.key] = after
            touched |= {after.task, parent_of(after.task)}
            if after.open:
                self.held.update(dict.fromkeys(after.resources, after.task))
        return touched

    def document(self, uri: str) -> dict[str, Any] | None:
        """Return the wanted document, or inventory with its overlay; None for collections too."""
        raw = self.spaces[Space.DOCUMENT].get(uri)
        if raw is not None:
            return msgspec.json.decode(raw, type=dict[str, Any])
        if uri in self.base.collections:
            return None
        document = self.base.parsed(uri)
        overlay = self.spaces[Space.OVERLAY].get(uri)
        if document is None or overlay is None:
            return document
        return merge(document, msgspec.json.decode(overlay))

    def exists(self, uri: str) -> bool:
        """Return whether anything is served at `uri` from wanted state, inventory or tasks."""
        return (
            uri in self.spaces[Space.DOCUMENT]
            or uri in self.base.documents
            or self.task_operation(uri) is not None
        )

    def task_operation(self, uri: str) -> Operation | None:
        """Return the operation whose Task is served at `uri`."""
        operation = self.operations.get(uri.rsplit("/", 1)[-1])
        return operation if operation is not None and operation.task == uri else None

    def members_of(self, collection: str) -> list[str]:
        """Return the URIs of a collection's members, in the one order they are always served."""
        fixed: set[str] | Mapping[str, Any] = self.base.members.get(collection, set())
        return sorted({*fixed, *self.members.get(collection, ())}, key=member_order)

    def wanted_tag(self, uri: str) -> str | None:
        """Return W of the ETag: a hash of what clients wrote here and of what links here."""
        tag = self._tags.get(uri)
        if tag is None:
            if not self.exists(uri):
                return None
            tag = self._tags[uri] = self._new_tag(uri)
        return tag

    def _new_tag(self, uri: str) -> str:
        own = self.spaces[Space.DOCUMENT].get(uri) or self.spaces[Space.OVERLAY].get(uri) or b""
        inverse = {
            pointer: sorted(sources) for pointer, sources in self.links.get(uri, {}).items()
        }
        members = sorted(self.members.get(uri, ())) if uri in self.base.collections else []
        operation = self.task_operation(uri)
        return etag.content_tag(
            own,
            msgspec.json.encode([sorted(inverse.items()), members]),
            b"" if operation is None else operation.state.value.encode(),
        )


def member_order(uri: str) -> tuple[int, str]:
    """Return a sort key that puts "gpu2" before "gpu10": shorter ids first, then by text."""
    name = uri.rsplit("/", 1)[-1]
    return (len(name), name)
