"""Operations as Tasks: documents, sub-tasks by fabric, progress, and what events tell of them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.fabric.model import BindTarget, VppbId
from redfish_fm.fabric.values import Binding
from redfish_fm.mapping.operations import Operation, OperationState, new_operation, with_messages
from redfish_fm.mapping.tasks import (
    Progress,
    TaskPlace,
    announced,
    ended_s,
    kept_s,
    places_of,
    sub_task_collection,
    sub_task_document,
    sub_tasks,
    task_document,
    task_place,
)
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.payloads import Payload
from redfish_fm.redfish.writes import OutcomeKind
from tests.mapping.builders import a_tip, zone_body
from tests.mapping.schemas import SchemaPack

POD = "/redfish/v1/Fabrics/pod"
ZONES = f"{POD}/Zones"
H1, GPU = (f"{POD}/Endpoints/{name}" for name in ("h1-1", "gpu1"))
NOW, LATER = "2026-12-01T03:04:05Z", "2026-12-01T03:04:25Z"
TASK = "/redfish/v1/TaskService/Tasks/7"
REFUSED = Message("RedfishFM.HardwareRefused", ("Bind", "port", "locked"))
PAYLOAD = Payload("POST", ZONES, ("Content-Type: application/json",), '{"Name":"z"}')


def everything_exists(_uri: str) -> bool:
    return True


def a_task(**more: Any) -> Operation:
    draft = a_tip().post(ZONES, zone_body(H1, GPU))
    return replace(new_operation("7", draft, "alice", NOW, PAYLOAD), **more)


def of_two_fabrics(**more: Any) -> Operation:
    other = Binding(
        "mem", "/u", "/h", VppbId("s", "1", 2), BindTarget("s", "33", 4), frozenset("a")
    )
    task = a_task()
    return replace(task, granted=(*task.granted, other), **more)


def in_state(state: OperationState) -> dict[str, Any]:
    over = state not in (OperationState.RUNNING, OperationState.STOPPING)
    return {"state": state, "ended": LATER if over else None}


def schemas(shared: Path) -> SchemaPack:
    return SchemaPack(shared / "data" / "dmtf-2025.4-json-schema-latest.tar.gz")


@pytest.mark.parametrize("state", list(OperationState))
def test_a_task_is_valid_and_tells_the_state(shared: Path, state: OperationState) -> None:
    operation = a_task(**in_state(state), messages=(Message("Base.OperationFailed"),))
    document = task_document(operation, everything_exists)
    assert schemas(shared).errors(document) == []
    assert (document["@odata.id"], document["TaskState"]) == (TASK, state.value)


def test_a_task_links_what_it_made_only_while_that_is_there() -> None:
    made = a_task(**in_state(OperationState.COMPLETED))
    links = task_document(made, everything_exists)["Links"]
    assert links == {"CreatedResources": [{"@odata.id": f"{ZONES}/1"}]}
    gone = task_document(made, lambda _uri: False)
    assert "Links" not in gone
    assert gone["Name"] == f"Create {ZONES}/1"


def test_what_was_not_made_yet_is_not_linked() -> None:
    assert "Links" not in task_document(a_task(), everything_exists)


def test_a_task_being_called_off_says_so() -> None:
    stopping = a_task(state=OperationState.STOPPING, ended_state=OperationState.CANCELLED)
    assert task_document(stopping, everything_exists)["TaskState"] == "Cancelling"


@pytest.mark.parametrize(
    ("state", "messages", "status"),
    [
        (OperationState.RUNNING, (), None),
        (OperationState.STOPPING, (REFUSED,), None),
        (OperationState.COMPLETED, (), "OK"),
        (OperationState.COMPLETED, (REFUSED,), "Warning"),
        (OperationState.EXCEPTION, (REFUSED,), "Critical"),
        (OperationState.CANCELLED, (), "Warning"),
    ],
)
def test_the_status_of_a_task_is_set_when_it_ends(
    state: OperationState, messages: tuple[Message, ...], status: str | None
) -> None:
    operation = a_task(**in_state(state), messages=messages)
    assert task_document(operation, everything_exists).get("TaskStatus") == status


@pytest.mark.parametrize(
    ("state", "seen", "told"),
    [
        (OperationState.RUNNING, 0, 0),
        (OperationState.RUNNING, 40, 40),
        (OperationState.RUNNING, 100, 99),
        (OperationState.STOPPING, 40, 40),
        (OperationState.COMPLETED, 0, 100),
        (OperationState.EXCEPTION, 40, 100),
        (OperationState.CANCELLED, 40, 100),
    ],
)
def test_a_task_is_at_100_percent_when_nothing_is_left_to_do(
    state: OperationState, seen: int, told: int
) -> None:
    document = task_document(a_task(**in_state(state)), everything_exists, Progress(seen))
    assert document["PercentComplete"] == told


def test_the_end_has_a_time_only_once_there_is_one() -> None:
    assert "EndTime" not in task_document(a_task(), everything_exists)
    ended = task_document(a_task(**in_state(OperationState.EXCEPTION)), everything_exists)
    assert (ended["StartTime"], ended["EndTime"]) == (NOW, LATER)


def test_a_task_shows_the_request_that_began_it() -> None:
    document = task_document(a_task(), everything_exists)
    assert document["HidePayload"] is False
    assert document["Payload"] == {
        "HttpOperation": "POST",
        "TargetUri": ZONES,
        "HttpHeaders": ["Content-Type: application/json"],
        "JsonBody": '{"Name":"z"}',
    }


@pytest.mark.parametrize("payload", [None, Payload("POST", ZONES, hidden=True)])
def test_a_request_that_is_hidden_or_was_not_kept_is_not_shown(payload: Payload | None) -> None:
    document = task_document(a_task(payload=payload), everything_exists)
    assert document["HidePayload"] is True
    assert "Payload" not in document


def test_an_operation_in_one_fabric_has_no_sub_tasks() -> None:
    assert sub_tasks(a_task()) == {}
    assert "SubTasks" not in task_document(a_task(), everything_exists)
    assert places_of(a_task()) == {TASK}


def test_an_operation_in_two_fabrics_has_a_sub_task_for_each(shared: Path) -> None:
    task = of_two_fabrics()
    uris = {f"{TASK}/SubTasks/mem": "mem", f"{TASK}/SubTasks/pod": "pod"}
    assert sub_tasks(task) == uris
    assert places_of(task) == {TASK, f"{TASK}/SubTasks", *uris}
    link = task_document(task, everything_exists)["SubTasks"]
    assert (
        link
        == {"@odata.id": f"{TASK}/SubTasks"}
        == {"@odata.id": sub_task_collection(task)["@odata.id"]}
    )
    for uri, fabric in uris.items():
        document = sub_task_document(task, fabric, Progress(50, {"mem": 100}))
        assert schemas(shared).errors(document) == []
        assert document["@odata.id"] == uri
        assert "SubTasks" not in document
        assert document["PercentComplete"] == (100 if fabric == "mem" else 0)
        assert document["TaskState"] == "Running"


def test_of_what_was_taken_back_the_fabric_that_refused_says_so() -> None:
    task = with_messages(of_two_fabrics(), (REFUSED,), "mem")
    task = replace(task, **in_state(OperationState.EXCEPTION))
    failed, other = (sub_task_document(task, fabric) for fabric in ("mem", "pod"))
    assert (failed["TaskState"], failed["TaskStatus"]) == ("Exception", "Critical")
    assert [each["MessageId"] for each in failed["Messages"]] == [REFUSED.key]
    assert (other["TaskState"], other["TaskStatus"]) == ("Cancelled", "Warning")
    assert other["Messages"] == []


def test_messages_stand_in_the_order_they_were_told_in() -> None:
    other, late = replace(REFUSED, args=("B", "P2", "no")), Message("Base.OperationTimeout")
    task = with_messages(with_messages(of_two_fabrics(), (REFUSED,), "mem"), (other,), "pod")
    task = with_messages(task, (late,), "mem")
    assert task.messages == (REFUSED, other, late)
    assert task.told["mem"] == (REFUSED, late)


def test_what_was_told_already_is_not_told_again() -> None:
    task = with_messages(of_two_fabrics(), (REFUSED, REFUSED), "mem")
    task = with_messages(with_messages(task, (REFUSED,), "mem"), (REFUSED,), "pod")
    assert task.messages == (REFUSED,) == task.told["mem"] == task.told["pod"]


def test_in_one_fabric_messages_are_kept_once() -> None:
    assert with_messages(a_task(), (REFUSED,), "pod").told == {}


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        (TASK, TaskPlace("7")),
        (f"{TASK}/SubTasks", TaskPlace("7", True)),
        (f"{TASK}/SubTasks/pod", TaskPlace("7", True, "pod")),
        (f"{TASK}/SubTasks/pod/x", None),
        (f"{TASK}/Other", None),
        ("/redfish/v1/TaskService/Tasks", None),
        (f"{ZONES}/7", None),
    ],
)
def test_a_uri_is_read_back(uri: str, place: TaskPlace | None) -> None:
    assert task_place(uri) == place


def test_events_are_told_state_status_and_progress() -> None:
    assert announced(a_task(), Progress(40)) == {"TaskState": "Running", "PercentComplete": 40}
    ended = a_task(**in_state(OperationState.EXCEPTION))
    told = {"TaskState": "Exception", "TaskStatus": "Critical", "PercentComplete": 100}
    assert announced(ended, Progress(40)) == told


def test_how_long_tasks_are_kept_is_a_setting() -> None:
    assert kept_s({}) == 86400.0
    assert kept_s({"TaskAutoDeleteTimeoutMinutes": 2}) == 120.0


def test_when_a_task_ended_is_known_once_it_has() -> None:
    assert ended_s(a_task()) is None
    assert ended_s(a_task(ended="1970-01-01T00:01:00Z")) == 60.0


def test_a_deletion_is_named_so() -> None:
    document = task_document(a_task(kind=OutcomeKind.DELETED), everything_exists)
    assert document["Name"].startswith("Delete ")
