"""The published state: what readers see, rendered when asked, invalidated when it changes.

Satisfies redfish.view.View. Holds only what is durable, plus what was last observed. Everything
here runs without await, so a reader never meets a half-published change.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from redfish_fm.control.announced import announced_since
from redfish_fm.control.base import Base, type_name_of
from redfish_fm.control.state import WantedState, member_order
from redfish_fm.fabric.composition import Composition
from redfish_fm.mapping.block_status import block_shown
from redfish_fm.mapping.default_zone import is_default
from redfish_fm.mapping.oem import bindings_shown
from redfish_fm.mapping.statuses import Statuses
from redfish_fm.mapping.systems_shown import host_shown, names_shown, system_shown
from redfish_fm.mapping.tasks import (
    NO_PROGRESS,
    TASKS,
    Progress,
    places_of,
    sub_task_document,
    task_document,
)
from redfish_fm.mapping.unseen import unseen_patch
from redfish_fm.mapping.uris import SYSTEM
from redfish_fm.redfish import etag, oem
from redfish_fm.redfish.changes import Change, Space
from redfish_fm.redfish.view import Description, Origin, Representation

EXPANDED = frozenset({"LogEntryCollection"})
"""Collections that hold their members whole, as DSP0266 wants of log entries."""

_encoder = msgspec.json.Encoder()


class Published:
    """The three layers laid over each other, one cached Representation per resource.

    `rendered` counts work done, for the tests that hold it to O(change). `observed` is what was
    seen already, by URI.
    """

    def __init__(
        self, state: WantedState, observed: dict[str, Mapping[str, Any]] | None = None
    ) -> None:
        self.state = state
        self.edition = 0
        """Higher whenever what can be asked for may be another: over another state, and once other
        actions were observed."""
        self.rendered = 0
        self.statuses = Statuses(lambda condition: announced_since(self.state, condition))
        """What the reconcile loops have seen; one for all, because hosts depend on several."""
        self.looking = asyncio.Lock()
        """Held during one look at a fabric: it goes in parts, and others see its statuses."""
        self.progress: dict[str, Progress] = {}
        """How far open operations have come, by id; changed by `progressed` alone."""
        self._observed = {} if observed is None else observed
        self._cache: dict[str, Representation] = {}

    @property
    def base(self) -> Base:
        """The inventory below."""
        return self.state.base

    @property
    def seq(self) -> int:
        """The sequence number of the newest published change."""
        return self.state.seq

    def over(self, state: WantedState) -> "Published":
        """Return a view of a state that is not durable yet, with all that is observed now."""
        return Published(state, self._observed)

    def composed(self, uri: str) -> dict[str, Any] | None:
        """Return the resource or collection at `uri` as a document, without its tag."""
        return self._compose(uri)

    def replace(self, state: WantedState) -> None:
        """Show another state from now on; after a reload, or over another inventory."""
        self.state = state
        self.edition += 1
        self._cache.clear()

    def apply(self, change: Change) -> None:
        """Publish one durable change."""
        for uri in self.state.apply_all(change.edits):
            self._show_anew(uri)
        for edit in change.edits:
            if edit.space is Space.OPERATION:
                self._forget_progress(edit.key)
            of_document = edit.space is Space.DOCUMENT
            if of_document and (edit.pre is None or edit.post is None):
                self._show_tasks_anew(edit.key)
            if not (of_document and edit.post is not None) and not self.state.exists(edit.key):
                # Whoever takes the Id next must not show what was seen of this one.
                self._observed.pop(edit.key, None)
        self.state.seq = change.seq

    def _show_anew(self, uri: str) -> None:
        """Render a resource when it is asked for next, and the systems that run on it."""
        self._cache.pop(uri, None)
        index = self.state.index
        if index.compositions:
            for system in index.compositions_of_host(uri):
                self._cache.pop(system, None)

    def _show_tasks_anew(self, uri: str) -> None:
        """Let Tasks link what they made only while it is there. Costs the Tasks there are, few."""
        for operation in self.state.operations.values():
            if operation.uri == uri:
                self._cache.pop(operation.task, None)

    def progressed(self, operation_id: str, progress: Progress) -> None:
        """Show how far an open operation has come."""
        operation = self.state.operations.get(operation_id)
        if operation is not None and operation.open:
            self.progress[operation_id] = progress
            for uri in places_of(operation):
                self._cache.pop(uri, None)

    def _forget_progress(self, operation_id: str) -> None:
        operation = self.state.operations.get(operation_id)
        if operation is None or not operation.open:
            self.progress.pop(operation_id, None)

    def observe(self, patches: Mapping[str, Mapping[str, Any] | None]) -> set[str]:
        """Lay new observed properties over resources (None: nothing observed); return changed."""
        changed = set()
        for uri, patch in patches.items():
            known = self._observed.get(uri)
            if known == patch:
                continue
            changed.add(uri)
            self.edition += (known or {}).get("Actions") != (patch or {}).get("Actions")
            self._show_anew(uri)
            if patch is None:
                self._observed.pop(uri, None)
            else:
                self._observed[uri] = patch
        return changed

    def observed(self, uri: str) -> Mapping[str, Any] | None:
        """Return the observed properties laid over `uri`, or None."""
        return self._observed.get(uri)

    def places(self) -> list[str]:
        """Return every URI that is served, and where systems of blocks would have what they show.

        Costs all there is.
        """
        places = [*self.base.documents, *self.state.spaces[Space.DOCUMENT]]
        if self.base.facts.blocks:
            system = SYSTEM.format(system="composed")
            places += (f"{system}/{name}" for name in names_shown(self.base.odata_types))
        return places

    def exists(self, uri: str) -> bool:
        """Return whether `get` would find something, without rendering it."""
        return self.state.exists(uri)

    def get(self, uri: str) -> Representation | None:
        """Return the resource at `uri`, from the cache where nothing it shows has changed."""
        found = self._cache.get(uri)
        if found is None:
            document = self._compose(uri)
            if document is None:
                return None
            found = self._cache[uri] = self._render(uri, document)
        return found

    def describe(self, uri: str) -> Description | None:
        """Return what a write must know of the resource; a collection is not rendered for it."""
        name = self.state.collection_type(uri)
        if name is None:
            return self.get(uri)
        return Description(uri, name, self._origin(uri))

    def _compose(self, uri: str) -> dict[str, Any] | None:
        state, index = self.state, self.state.index
        task = self._task(uri) if uri.startswith(TASKS) else None
        if task is not None:
            return task
        document = state.document(uri)
        if document is None:
            if state.collection_type(uri) is None:
                return None
            document = self._collection(uri)
        composition = index.compositions.get(uri)
        if composition is not None:
            self._put_blocks(document, uri, composition)
        document["@odata.id"] = f"{uri}/" if uri == "/redfish/v1" else uri
        observed = self._observed.get(uri) or unseen_patch(index, uri)
        if observed is not None:
            lay_over(document, observed)
        ours = bindings_shown(index, state.base.facts, uri)
        if ours is not None:
            lay_over(document, {"Oem": {oem.NAME: ours}})
        if uri in index.blocks:
            status = document.get("Status") or {}
            lay_over(document, block_shown(index, uri, status, state.busy) or {})
        if uri in state.base.links or uri in state.links:
            self._put_links(document, uri)
        running = host_shown(index, uri)
        if running is not None:
            lay_over(document, running)
        if composition is not None and not composition.expands and state.busy(uri):
            # A system of blocks that is not ready yet.
            lay_over(document, {"Status": {"State": "Starting"}})
        return document

    def _task(self, uri: str) -> dict[str, Any] | None:
        """Return the Task or sub-task at `uri`; None where there is none."""
        operation = self.state.task_operation(uri)
        if operation is not None:
            progress = self.progress.get(operation.id, NO_PROGRESS)
            return task_document(operation, self.state.exists, progress)
        part = self.state.part_of_task(uri)
        if part is None:
            return None
        return sub_task_document(*part, self.progress.get(part[0].id, NO_PROGRESS))

    def _put_blocks(self, document: dict[str, Any], uri: str, composition: Composition) -> None:
        """Show what a system has because of its blocks: a composed one its host's, a host more."""
        host = document if composition.expands else self._compose(composition.host or "")
        shown = system_shown(self.state.index, self.state.read_as, uri, host)
        if shown is not None:
            (lay_over if composition.expands else lay_under)(document, shown)

    def _put_links(self, document: dict[str, Any], uri: str) -> None:
        """Lay derived links over, in one order whatever came first: equal content, equal tags."""
        fixed, made = self.base.links.get(uri, {}), self.state.links.get(uri, {})
        for pointer in sorted(fixed.keys() | made.keys()):
            sources = fixed.get(pointer, _NONE) | made.get(pointer, _NONE)
            *path, last = pointer.strip("/").split("/")
            place = document
            for name in path:
                place = place.setdefault(name, {})
            place[last] = [{"@odata.id": source} for source in sorted(sources, key=member_order)]

    def _collection(self, uri: str) -> dict[str, Any]:
        document = self.state.collection(uri)
        members = self.state.members_of(uri)
        if type_name_of(document) in EXPANDED:
            document["Members"] = [self._compose(member) for member in members]
        else:
            document["Members"] = [{"@odata.id": member} for member in members]
        document["Members@odata.count"] = len(members)
        return document

    def _render(self, uri: str, document: dict[str, Any]) -> Representation:
        self.rendered += 1
        document.pop("@odata.etag", None)
        raw = _encoder.encode(document)
        wanted = self.state.wanted_tag(uri) or ""
        tag = etag.join(wanted, etag.content_tag(raw))
        body = b'{"@odata.etag":' + _encoder.encode(tag) + b"," + raw[1:]
        name, origin = type_name_of(document), self._origin(uri)
        if origin is Origin.WANTED and name == "Zone" and is_default(document):
            origin = Origin.KEPT
        return Representation(uri, name, origin, wanted, body, tag)

    def _origin(self, uri: str) -> Origin:
        base = self.state.base
        if self.state.is_wanted(uri):
            return Origin.WANTED
        if uri in base.collections or self.state.task_operation(uri) is not None:
            return Origin.SERVICE
        if uri in base.documents:
            return Origin.FIXED if uri in base.facts.beside else Origin.INVENTORY
        return Origin.FIXED


_NONE: frozenset[str] = frozenset()


_OBJECT = (dict, Mapping)
"""What is laid over object by object; dict first, which most are and which is told at once."""


def lay_over(document: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """Lay observed properties over a document, object by object; lists are replaced whole.

    None takes a property away.
    """
    for name, value in patch.items():
        if value is None:
            document.pop(name, None)
        elif isinstance(value, _OBJECT):
            below = document.get(name)
            document[name] = below if isinstance(below, dict) else {}
            lay_over(document[name], value)
        else:
            document[name] = value


def lay_under(document: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """Give a document what it does not say itself, object by object."""
    for name, value in patch.items():
        below = document.setdefault(name, value)
        if below is not value and isinstance(below, dict) and isinstance(value, Mapping):
            lay_under(below, value)
