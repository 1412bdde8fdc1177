"""The record of one hardware-backed commit, as value and as bytes.

Pure. control stores the record in the commit that opens it, moves it along and closes it; what
undoing its grants means is decided here. Grants are taken back, releases never re-created
(DESIGN section 4). mapping.tasks shows it as a Redfish Task.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import msgspec

from redfish_fm.fabric.binding import wanted_by_zone
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.port_control import PortResetWish
from redfish_fm.fabric.power import ResetWish
from redfish_fm.fabric.values import Allocation, Binding, QosWish
from redfish_fm.mapping.bandwidth import restored
from redfish_fm.mapping.bindings import binding_edit
from redfish_fm.mapping.drafts import Draft, TakeBack, Tip
from redfish_fm.mapping.membership import with_members_left, without_members
from redfish_fm.mapping.read import read_zone
from redfish_fm.mapping.read_compositions import expansion, without_holdings
from redfish_fm.mapping.uris import TASK
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.payloads import Payload
from redfish_fm.redfish.writes import OutcomeKind


class OperationState(Enum):
    """Redfish Task.TaskState, the values used here."""

    RUNNING = "Running"
    STOPPING = "Stopping"
    COMPLETED = "Completed"
    EXCEPTION = "Exception"
    CANCELLED = "Cancelled"


OPEN_STATES = frozenset({OperationState.RUNNING, OperationState.STOPPING})
"""States with hardware work left: something granted or released is not observed yet."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. Made by `new_operation`, changed by control with `dataclasses.replace`.

    `id` is the id of the change that opened it, `task` the URI of its Task; `kind` is what the
    write did once everything is observed, `uri` the resource meant, `resources` all URIs under
    change, which take only GET and DELETE. `ended_state` is the state it goes to when nothing is
    left to do. Times are Redfish DateTime text; `ended` is None while open. `joined` (before,
    after) are those of `granted` that were in use for other holders already; `holders` keep alive
    what was granted (none recorded: `uri` does). `document_before` is what `uri` was when it
    changed members ("": not recorded, as in operations stored by earlier versions);
    `places` is unit (or part that is made) -> JSON pointer to what brings it. `answer` is the JSON
    that the action of it answers with once all is done ("": nothing of its own). `payload` is the
    request that began it (None: not recorded). `told` are, where several fabrics have work in it,
    the `messages` of each. `port_reset` is a command to a port: then there is nothing else in it.
    `called_off`: somebody deleted its Task, or the monitor of that. `left` are fabrics that were
    taken out of the configuration before its work there was done.
    """

    id: str
    task: str
    kind: OutcomeKind
    fabric: str
    uri: str
    resources: frozenset[str]
    actor: str
    started: str
    state: OperationState = OperationState.RUNNING
    ended_state: OperationState = OperationState.COMPLETED
    percent: int = 0
    granted: tuple[Binding, ...] = ()
    changed: tuple[tuple[Binding, Binding], ...] = ()
    released: tuple[Binding, ...] = ()
    take_back: TakeBack = TakeBack.NOTHING
    added: dict[str, tuple[str, ...]] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()
    ended: str | None = None
    allocated: tuple[Allocation, ...] = ()
    freed: tuple[Allocation, ...] = ()
    joined: tuple[tuple[Binding, Binding], ...] = ()
    holders: frozenset[str] = frozenset()
    bandwidth: tuple[tuple[QosWish, QosWish], ...] = ()
    restoring: tuple[QosWish, ...] = ()
    overlay_before: str = ""
    document_before: str = ""
    places: dict[str, str] = field(default_factory=dict)
    reset: ResetWish | None = None
    made: frozenset[str] = frozenset()
    answer: str = ""
    payload: Payload | None = None
    told: dict[str, tuple[Message, ...]] = field(default_factory=dict)
    port_reset: PortResetWish | None = None
    called_off: bool = False
    left: frozenset[str] = frozenset()

    @property
    def fabrics(self) -> frozenset[str]:
        """The fabrics whose hardware has work in it; its own where there is none."""
        wishes = (*(wish for _before, wish in self.bandwidth), *self.restoring)
        found = {binding.fabric for binding in (*self.granted, *self.released)}
        found |= {part.fabric for part in (*self.allocated, *self.freed)}
        found |= {wish.fabric for wish in wishes}
        return frozenset(found or {self.fabric})

    def part(self, fabric: str) -> "Operation":
        """Return the operation with the work of one fabric only, for whoever looks after that."""
        if self.fabrics <= {fabric}:
            return self
        return replace(
            self,
            granted=tuple(each for each in self.granted if each.fabric == fabric),
            changed=tuple(pair for pair in self.changed if pair[1].fabric == fabric),
            released=tuple(each for each in self.released if each.fabric == fabric),
            allocated=tuple(each for each in self.allocated if each.fabric == fabric),
            freed=tuple(each for each in self.freed if each.fabric == fabric),
            joined=tuple(pair for pair in self.joined if pair[1].fabric == fabric),
            bandwidth=tuple(pair for pair in self.bandwidth if pair[1].fabric == fabric),
            restoring=tuple(each for each in self.restoring if each.fabric == fabric),
        )

    @property
    def grants(self) -> bool:
        """Whether it asks hardware for something, which can be taken back."""
        return bool(self.granted or self.allocated or self.bandwidth)

    @property
    def fresh(self) -> tuple[Binding, ...]:
        """What it binds for the first time: the contents behind it are still somebody else's."""
        joined = {after for _before, after in self.joined}
        return tuple(each for each in self.granted if each not in joined)

    def holders_added(self, granted: Binding) -> frozenset[str]:
        """Return which holders of one of `granted` have it by this operation."""
        before = {after: old.holders for old, after in self.joined}.get(granted, frozenset())
        return (granted.holders & (self.holders or frozenset({self.uri}))) - before

    @property
    def open(self) -> bool:
        """Whether hardware work is left."""
        return self.state in OPEN_STATES


def new_operation(
    operation_id: str, draft: Draft, actor: str, started: str, payload: Payload | None = None
) -> Operation:
    """Return the operation that a draft with hardware work opens."""
    plan = draft.operation
    if plan is None:
        raise ValueError("a draft without hardware work opens no operation")
    return Operation(
        operation_id,
        TASK.format(task=operation_id),
        draft.kind,
        plan.fabric,
        plan.resource,
        plan.resources,
        actor,
        started,
        granted=plan.granted,
        changed=plan.changed,
        released=plan.released,
        take_back=plan.take_back,
        added=dict(plan.added),
        allocated=plan.allocated,
        freed=plan.freed,
        joined=plan.joined,
        holders=plan.holders,
        bandwidth=plan.bandwidth,
        overlay_before=plan.overlay_before,
        document_before=plan.document_before,
        places=dict(plan.places),
        reset=plan.reset,
        made=plan.made,
        answer="" if draft.body is None else msgspec.json.encode(draft.body).decode(),
        payload=payload,
        port_reset=plan.port_reset,
    )


def with_messages(operation: Operation, told: tuple[Message, ...], fabric: str) -> Operation:
    """Return the operation with what a fabric told of it added, in order; each is told once."""
    after = replace(operation, messages=_with_new(operation.messages, told))
    if not fabric or len(operation.fabrics) < 2:
        return after
    before = operation.told.get(fabric, ())
    return replace(after, told={**operation.told, fabric: _with_new(before, told)})


def _with_new(before: tuple[Message, ...], told: tuple[Message, ...]) -> tuple[Message, ...]:
    return (*before, *(each for each in dict.fromkeys(told) if each not in before))


def encode_operation(operation: Operation) -> bytes:
    """Return the stored form: JSON, equal bytes for equal values."""
    return msgspec.json.encode(operation, order="deterministic")


def decode_operation(raw: bytes) -> Operation:
    """Return the operation that was stored; raises msgspec.ValidationError."""
    return msgspec.json.decode(raw, type=Operation)


def answer_of(operation: Operation) -> dict[str, Any] | None:
    """Return what the action that opened it answers with, or None."""
    if not operation.answer:
        return None
    return msgspec.json.decode(operation.answer, type=dict[str, Any])


def still_wanted(index: FabricIndex, operation: Operation, written: Callable[[str], bool]) -> bool:
    """Return whether anything that `operation` granted or allocated is still held by it.

    `written` tells whether there is a document or an overlay at a URI. What inventory does not know
    (its fabric is not served any more, or not discovered yet) is in no index: it is wanted for as
    long as what asks for it is there.
    """
    for granted in operation.granted:
        record = index.bindings.get(granted.vppb)
        if record is not None and record.holders & operation.holders_added(granted):
            return True
    wishes = index.bandwidth.wishes
    if any(
        wishes[wish.holder] == wish if wish.holder in wishes else written(wish.holder)
        for _before, wish in operation.bandwidth
    ):
        return True
    if any(index.allocations.get(part.target) == part for part in operation.allocated):
        return True
    known = {each.holder for each in index.allocations.values()} if operation.allocated else set()
    return any(written(part.holder) for part in operation.allocated if part.holder not in known)


def take_back(tip: Tip, operation: Operation) -> tuple[Edit, ...]:
    """Return the edits that undo every grant of `operation`, because some of it was refused.

    All grants go, also those that worked: half a zone is not what was asked for; and what else the
    write changed of the document is as it was. Nothing that the operation released or freed comes
    back, so members that it let go of stay gone, and nothing is done where somebody else has undone
    it meanwhile. The records it deletes are new releases, for control to drive (their `post` is
    None); what it allocated goes with the document that asked for it, and is to be freed.
    """
    if operation.take_back is TakeBack.NOTHING:
        return ()

    def written(uri: str) -> bool:
        return tip.wanted(uri) is not None or tip.overlay(uri) is not None

    if not still_wanted(tip.index, operation, written):
        # The connections of a group may be gone while the group still names who was to join them.
        if operation.take_back not in (TakeBack.REMOVE_MEMBERS, TakeBack.COMPOSITION):
            return ()
        return tuple(_documents_taken_back(tip, operation))
    edits = list(_documents_taken_back(tip, operation))
    edits.extend(_no_longer_meant(tip, operation, edits))
    for granted in operation.granted:
        current = tip.index.bindings.get(granted.vppb)
        lost = operation.holders_added(granted)
        if current is not None and current.holders & lost:
            left = current.holders - lost
            edits.append(binding_edit(current, replace(current, holders=left) if left else None))
    return tuple(edits)


def _no_longer_meant(tip: Tip, operation: Operation, edits: Iterable[Edit]) -> Iterator[Edit]:
    """Yield the end of what a zone held before, but not without the initiator that goes."""
    granted = {each.vppb for each in operation.granted}
    for edit in edits:
        if edit.key == operation.uri and edit.post is not None and edit.key in tip.index.zones:
            zone = read_zone(edit.key, msgspec.json.decode(edit.post))
            meant = wanted_by_zone(tip.index, zone)
            for held in tip.index.bindings_of_holder(edit.key):
                if (held.unit, held.host) not in meant and held.vppb not in granted:
                    left = held.holders - {edit.key}
                    yield binding_edit(held, replace(held, holders=left) if left else None)


def _documents_taken_back(tip: Tip, operation: Operation) -> Iterator[Edit]:
    if operation.take_back is TakeBack.CLEAR_PORT:
        yield from _port_cleared(tip, operation.uri)
        return
    if operation.take_back is TakeBack.RESTORE_OVERLAY:
        edit = restored(tip, operation.uri, operation.overlay_before)
        yield from () if edit is None else (edit,)
        return
    if operation.take_back is TakeBack.COMPOSITION:
        yield from _all_taken_back(tip, operation)
        return
    raw = tip.wanted(operation.uri)
    if raw is not None and operation.take_back is TakeBack.REMOVE_MEMBERS:
        after = _members_taken_back(operation, raw)
        if after != raw:
            yield Edit(Space.DOCUMENT, operation.uri, raw, after)
    elif operation.take_back is TakeBack.DELETE:
        for uri in dict.fromkeys((operation.uri, *(part.holder for part in operation.allocated))):
            made = tip.wanted(uri)
            if made is not None:
                yield Edit(Space.DOCUMENT, uri, made, None)


def _members_taken_back(operation: Operation, raw: bytes) -> bytes:
    """Return the document without what was added, and else as before; equal bytes where equal."""
    now = msgspec.json.decode(raw)
    pre = operation.document_before.encode() or raw
    before = msgspec.json.decode(pre)
    after = with_members_left(before, without_members(now, frozenset(operation.added)))
    return pre if after == before else msgspec.json.encode(after)


def _all_taken_back(tip: Tip, operation: Operation) -> Iterator[Edit]:
    """Yield the end of all that several writes in one made, and of what they added elsewhere."""
    added = frozenset(operation.added) | operation.made
    for uri in sorted(operation.resources | operation.made):
        for space, raw in ((Space.DOCUMENT, tip.wanted(uri)), (Space.OVERLAY, tip.overlay(uri))):
            if raw is None:
                continue
            if space is Space.DOCUMENT and uri in operation.made:
                yield Edit(space, uri, raw, None)
                continue
            now = msgspec.json.decode(raw)
            after = without_holdings(without_members(now, added), added)
            if space is Space.OVERLAY and uri in tip.index.compositions:
                # A physical host that has none of its blocks left is as it was.
                after = expansion(after, after)
            if space is Space.DOCUMENT and uri == operation.uri and operation.document_before:
                # What else the write changed of a system goes with what it was to get.
                after = expansion(msgspec.json.decode(operation.document_before), after)
            if after != now:
                post = msgspec.json.encode(after) if after else None
                yield Edit(space, uri, raw, post)


def _port_cleared(tip: Tip, uri: str) -> Iterator[Edit]:
    """Yield the edit after which a vPPB's overlay names no port; the rest of it stays."""
    raw = tip.overlay(uri)
    overlay = {} if raw is None else msgspec.json.decode(raw, type=dict[str, Any])
    links = dict(overlay.get("Links") or {})
    if links.pop("Port", None) is not None:
        after = {**overlay, "Links": links}
        if not links:
            del after["Links"]
        yield Edit(Space.OVERLAY, uri, raw, msgspec.json.encode(after) if after else None)
