"""Operations as Redfish Tasks: the documents, the sub-tasks by fabric, how far each has come.

Pure. Redfish: Task.v1_7_4, TaskService.v1_3_0. An operation with work in several fabrics shows a
sub-task for each: which of them is slow, or has refused, is what a client can not see otherwise.
A part of an operation ends with the whole, because until then it may have to be taken back.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from redfish_fm.mapping.operations import Operation, OperationState
from redfish_fm.mapping.types import ODATA_TYPES
from redfish_fm.mapping.uris import TASK
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.payloads import shown
from redfish_fm.redfish.tasks import TASK_KEPT_MINUTES
from redfish_fm.redfish.writes import OutcomeKind

TASKS = TASK.rpartition("/")[0]
"""The collection whose members are operations, not documents."""
AUTO_DELETE = "TaskAutoDeleteTimeoutMinutes"
DELETE_COMPLETED = "TaskService.DeleteAllCompletedTasks"
ALMOST = 99
"""What an open Task has come to at most: it is done when that is durable, not when it is seen."""
_SUB_TASKS = "/SubTasks"
_BELOW = f"{TASKS}/"
_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an open operation was seen to have come, 0 to 100; `parts` by fabric."""

    percent: int = 0
    parts: Mapping[str, int] = field(default_factory=dict)


NO_PROGRESS = Progress()


class TaskPlace(NamedTuple):
    """What a URI below the Tasks names: a Task, its collection of sub-tasks, or one of those."""

    operation: str
    sub_tasks: bool = False
    fabric: str | None = None


def task_place(uri: str) -> TaskPlace | None:
    """Return what `uri` would name if the operation existed; None outside of the Tasks."""
    if not uri.startswith(_BELOW):
        return None
    match uri[len(_BELOW) :].split("/"):
        case [operation]:
            return TaskPlace(operation)
        case [operation, "SubTasks"]:
            return TaskPlace(operation, True)
        case [operation, "SubTasks", fabric]:
            return TaskPlace(operation, True, fabric)
    return None


def sub_tasks(operation: Operation) -> dict[str, str]:
    """Return the sub-tasks of an operation: URI -> fabric; none where one fabric has it all."""
    fabrics = operation.fabrics
    if len(fabrics) < 2:
        return {}
    return {f"{operation.task}{_SUB_TASKS}/{fabric}": fabric for fabric in sorted(fabrics)}


def places_of(operation: Operation) -> set[str]:
    """Return every URI that shows an operation."""
    below = sub_tasks(operation)
    return {operation.task, *below, *([operation.task + _SUB_TASKS] if below else [])}


def told_state(operation: Operation) -> str:
    """Return Redfish Task.TaskState."""
    cancelling = operation.ended_state is OperationState.CANCELLED
    if operation.state is OperationState.STOPPING and cancelling:
        return "Cancelling"
    return operation.state.value


def told_status(operation: Operation) -> str | None:
    """Return Redfish Task.TaskStatus, which is not set before the end."""
    if operation.open:
        return None
    if operation.state is OperationState.COMPLETED:
        return "Warning" if operation.messages else "OK"
    return _HEALTH[operation.state]


def percent_of(operation: Operation, progress: Progress) -> int:
    """Return PercentComplete: 100 when nothing is left to do, whatever the end."""
    return min(progress.percent, ALMOST) if operation.open else 100


def task_document(
    operation: Operation, exists: Callable[[str], bool], progress: Progress = NO_PROGRESS
) -> dict[str, Any]:
    """Return the Task that shows `operation`; messages carry keys and arguments only.

    Whoever serves it words them by the registries (each has MessageId and MessageArgs here).
    `exists` tells which URIs are served: what was created and deleted since is not linked any
    more, only named.
    """
    document = {
        **_head(operation.task, f"{_VERB.get(operation.kind, 'Change')} {operation.uri}"),
        **_shown(operation, told_state(operation), told_status(operation), operation.messages),
        "PercentComplete": percent_of(operation, progress),
        **shown(operation.payload),
    }
    if operation.called_off:
        # Who deletes a monitor does not find it again, whatever is left to do (DSP0266).
        document["TaskMonitor"] = None
    if sub_tasks(operation):
        document["SubTasks"] = {"@odata.id": operation.task + _SUB_TASKS}
    made = operation.kind is OutcomeKind.CREATED and operation.state is OperationState.COMPLETED
    if made and exists(operation.uri):
        document["Links"] = {"CreatedResources": [{"@odata.id": operation.uri}]}
    return document


def sub_task_document(
    operation: Operation, fabric: str, progress: Progress = NO_PROGRESS
) -> dict[str, Any]:
    """Return the sub-task that shows what one fabric has to do of an operation.

    Of one that was taken back the fabrics that refused say so; the others were cancelled for it.
    """
    state, status = told_state(operation), told_status(operation)
    messages = operation.told.get(fabric, ())
    if operation.state is OperationState.EXCEPTION and operation.told and not messages:
        state, status = "Cancelled", _HEALTH[OperationState.CANCELLED]
    elif operation.state is OperationState.COMPLETED:
        status = "Warning" if messages else "OK"
    uri = f"{operation.task}{_SUB_TASKS}/{fabric}"
    return {
        **_head(uri, f"{_VERB.get(operation.kind, 'Change')} {operation.uri}: {fabric}"),
        **_shown(operation, state, status, messages),
        "PercentComplete": progress.parts.get(fabric, 0) if operation.open else 100,
    }


def sub_task_collection(operation: Operation) -> dict[str, Any]:
    """Return the collection of an operation's sub-tasks, without its members."""
    return {
        "@odata.id": operation.task + _SUB_TASKS,
        "@odata.type": "#TaskCollection.TaskCollection",
        "Name": f"Parts of task {operation.id} by fabric",
    }


def announced(operation: Operation, progress: Progress) -> dict[str, Any]:
    """Return what events tell of a Task, as it stands in the ANNOUNCED space."""
    told: dict[str, Any] = {"TaskState": told_state(operation)}
    status = told_status(operation)
    if status is not None:
        told["TaskStatus"] = status
    told["PercentComplete"] = percent_of(operation, progress)
    return told


def kept_s(settings: Mapping[str, Any]) -> float:
    """Return for how long ended Tasks are kept, by what was laid over the TaskService."""
    minutes = settings.get(AUTO_DELETE, TASK_KEPT_MINUTES)
    return float(minutes) * _MINUTE_S


def ended_s(operation: Operation) -> float | None:
    """Return when an operation ended, in seconds since 1970; None while it is open."""
    if operation.ended is None:
        return None
    return datetime.fromisoformat(operation.ended).timestamp()


def _head(uri: str, name: str) -> dict[str, Any]:
    return {
        "@odata.id": uri,
        "@odata.type": ODATA_TYPES["Task"],
        "Id": uri.rpartition("/")[2],
        "Name": name,
    }


def _shown(
    operation: Operation, state: str, status: str | None, messages: tuple[Message, ...]
) -> dict[str, Any]:
    shown_: dict[str, Any] = {
        "TaskState": state,
        "StartTime": operation.started,
        "Messages": [
            {"MessageId": message.key, "MessageArgs": list(message.args)} for message in messages
        ],
    }
    if status is not None:
        shown_["TaskStatus"] = status
    if operation.ended is not None:
        shown_["EndTime"] = operation.ended
    return shown_


_VERB = {OutcomeKind.CREATED: "Create", OutcomeKind.DELETED: "Delete"}
_HEALTH = {OperationState.EXCEPTION: "Critical", OperationState.CANCELLED: "Warning"}
