"""The record of one hardware-backed commit, as value, as bytes and as a Redfish Task.

Pure. control stores the record in the commit that opens it, moves it along and closes it; what
undoing its grants means is decided here. Grants are taken back, releases never re-created
(DESIGN section 4). Redfish: Task.v1_7_4.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import msgspec

from redfish_fm.fabric.model import VppbId
from redfish_fm.fabric.values import Binding
from redfish_fm.mapping.bindings import binding_edit
from redfish_fm.mapping.drafts import Draft, TakeBack, Tip
from redfish_fm.mapping.types import ODATA_TYPES
from redfish_fm.mapping.uris import TASK
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import Message
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
    left to do. Times are Redfish DateTime text; `ended` is None while open.
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

    @property
    def open(self) -> bool:
        """Whether hardware work is left."""
        return self.state in OPEN_STATES


def new_operation(operation_id: str, draft: Draft, actor: str, started: str) -> Operation:
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
    )


def encode_operation(operation: Operation) -> bytes:
    """Return the stored form: JSON, equal bytes for equal values."""
    return msgspec.json.encode(operation, order="deterministic")


def decode_operation(raw: bytes) -> Operation:
    """Return the operation that was stored; raises msgspec.ValidationError."""
    return msgspec.json.decode(raw, type=Operation)


def task_document(operation: Operation) -> dict[str, Any]:
    """Return the Task that shows `operation`; messages carry keys and arguments only.

    Whoever serves it words them by the registries (each has MessageId and MessageArgs here).
    """
    document: dict[str, Any] = {
        "@odata.id": operation.task,
        "@odata.type": ODATA_TYPES["Task"],
        "Id": operation.task.rsplit("/", 1)[-1],
        "Name": f"{_VERB.get(operation.kind, 'Change')} {operation.uri}",
        "TaskState": operation.state.value,
        "TaskStatus": _HEALTH.get(operation.state, "OK"),
        "PercentComplete": operation.percent,
        "StartTime": operation.started,
        "Messages": [
            {"MessageId": message.key, "MessageArgs": list(message.args)}
            for message in operation.messages
        ],
    }
    if operation.ended is not None:
        document["EndTime"] = operation.ended
    if operation.kind is OutcomeKind.CREATED and operation.state is OperationState.COMPLETED:
        document["Links"] = {"CreatedResources": [{"@odata.id": operation.uri}]}
    return document


_VERB = {OutcomeKind.CREATED: "Create", OutcomeKind.DELETED: "Delete"}
_HEALTH = {OperationState.EXCEPTION: "Critical", OperationState.CANCELLED: "Warning"}


def take_back(tip: Tip, operation: Operation, failed: frozenset[VppbId]) -> tuple[Edit, ...]:
    """Return the edits that undo every grant of `operation`, because `failed` vPPBs refused.

    All grants go, also those that worked: half a zone is not what was asked for. Nothing that
    the operation released comes back, and nothing is done to a resource that is gone meanwhile.
    The records it deletes are new releases, for control to drive (their `post` is None).
    """
    if not failed or operation.take_back is TakeBack.NOTHING:
        return ()
    edits = list(_documents_taken_back(tip, operation))
    holder = operation.uri
    for grant in (*operation.granted, *(after for _before, after in operation.changed)):
        current = tip.index.bindings.get(grant.vppb)
        if current is not None and holder in current.holders:
            left = current.holders - {holder}
            edits.append(binding_edit(current, replace(current, holders=left) if left else None))
    return tuple(edits)


def _documents_taken_back(tip: Tip, operation: Operation) -> Iterable[Edit]:
    raw = tip.wanted(operation.uri)
    if raw is None:
        return
    if operation.take_back is TakeBack.DELETE:
        yield Edit(Space.DOCUMENT, operation.uri, raw, None)
        return
    before = msgspec.json.decode(raw)
    after = without_members(before, frozenset(operation.added))
    if after != before:
        yield Edit(Space.DOCUMENT, operation.uri, raw, msgspec.json.encode(after))


_MEMBER_LISTS = ("Endpoints", "InitiatorEndpoints", "TargetEndpoints")


def without_members(document: Mapping[str, Any], uris: frozenset[str]) -> dict[str, Any]:
    """Return a copy of a Zone or Connection that no longer names any of `uris`."""
    result = dict(document)
    links = dict(result.get("Links") or {})
    for name in _MEMBER_LISTS:
        if name in links:
            links[name] = [each for each in links[name] if each.get("@odata.id") not in uris]
    if "Links" in result:
        result["Links"] = links
    if "MemoryChunkInfo" in result:
        result["MemoryChunkInfo"] = [
            row
            for row in result["MemoryChunkInfo"]
            if (row.get("MemoryChunk") or {}).get("@odata.id") not in uris
        ]
    return result
