"""TASK: what clients who follow long work see, from 202 to the end and after it (docs/tasks.md)."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from redfish_fm.control.operations import FINISHED_KEPT
from redfish_fm.drivers.virtual.faults import Refuse, Slow
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.events import Event
from redfish_fm.redfish.requests import Response
from tests.cases.life import (
    GPU1,
    HOST1,
    NVME1,
    PCIE_ZONES,
    SYSTEMS,
    TASKS,
    system_body,
    zone_body,
)
from tests.cases.stack import Stack, a_stack
from tests.control.builders import always
from tests.control.test_state import operation
from tests.virtual_time import in_virtual_time

SERVICE = "/redfish/v1/TaskService"
DELETE_ALL = f"{SERVICE}/Actions/TaskService.DeleteAllCompletedTasks"
ASYNC = "respond-async"


def shown(response: Response) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(response.body)
    return document


async def begun(stack: Stack, method: str, uri: str, body: Any = None) -> dict[str, str]:
    """Ask for something that nobody waits for; return its task and monitor."""
    response = await stack.ask(method, uri, body, prefer=ASYNC)
    assert response.status == 202, response.body
    return {"monitor": response.headers["Location"], "task": shown(response)["@odata.id"]}


async def over(stack: Stack, monitor: str) -> Response:
    """Poll a monitor as it asks to be polled, until it is no longer 202."""
    for _ in range(1000):
        response = await stack.ask("GET", monitor)
        if response.status != 202:
            return response
        await stack.clock.sleep(float(response.headers["Retry-After"]))
    raise AssertionError(f"{monitor} does not end")


@in_virtual_time
async def test_tk_01_a_task_and_its_monitor_live_as_the_standard_says() -> None:
    async with a_stack() as stack:
        stack.rig.faults().next_apply(None, Slow(1.5), times=2)
        blocks = system_body("host2", "gpu2", "nvme2", Name="a")
        accepted = await stack.ask("POST", SYSTEMS, blocks, prefer=ASYNC)
        assert accepted.status == 202
        assert accepted.headers["Preference-Applied"] == ASYNC
        assert accepted.headers["Retry-After"].isdecimal()
        task, monitor = shown(accepted), accepted.headers["Location"]
        assert task["TaskMonitor"] == monitor
        uri, percents = task["@odata.id"], []
        while (polled := await stack.ask("GET", monitor)).status == 202:
            assert polled.headers["Location"] == monitor
            assert polled.headers["Retry-After"].isdecimal()
            assert shown(polled)["@odata.id"] == uri
            assert "DELETE" in polled.headers["Allow"]
            seen = await stack.ask("GET", uri)
            assert seen.status == 200
            assert shown(seen)["TaskState"] == "Running"
            assert "EndTime" not in shown(seen)
            assert "TaskStatus" not in shown(seen)
            percents.append(shown(seen)["PercentComplete"])
            await stack.clock.sleep(0.1)
        assert percents == sorted(percents)
        assert len({*percents}) > 1
        assert {each for each in percents if 0 <= each < 100} == {*percents}
        made = await stack.get(polled.headers["Location"])
        assert polled.status == 201
        assert shown(polled) == made
        assert polled.headers["ETag"] == made["@odata.etag"]
        done = await stack.get(uri)
        assert (done["TaskState"], done["PercentComplete"]) == ("Completed", 100)
        assert done["Links"]["CreatedResources"] == [{"@odata.id": made["@odata.id"]}]
        again = await stack.ask("GET", monitor)
        assert (again.status, again.headers, again.body) == (201, polled.headers, polled.body)
        assert (await stack.ask("DELETE", uri)).status == 204
        assert (await stack.ask("GET", monitor)).status == 404
        assert (await stack.ask("GET", uri)).status == 404


@in_virtual_time
async def test_a_patch_ends_as_its_monitor_says_in_the_resource() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        going = await begun(stack, "PATCH", zone, zone_body(HOST1, GPU1, NVME1))
        ended = await over(stack, going["monitor"])
        assert ended.status == 200
        assert shown(ended) == await stack.get(zone)


@in_virtual_time
async def test_an_action_and_a_deletion_end_in_204() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1))
        action = f"{zone}/Actions/Zone.AddEndpoint"
        going = await begun(stack, "POST", action, {"Endpoint": {"@odata.id": GPU1}})
        assert (await over(stack, going["monitor"])).status == 204
        going = await begun(stack, "DELETE", zone)
        assert (await over(stack, going["monitor"])).status == 204


@in_virtual_time
async def test_what_hardware_refuses_ends_in_the_error_that_a_waiting_client_gets() -> None:
    async with a_stack() as stack:
        stack.rig.faults().next_apply(None, Refuse("bay is locked"))
        going = await begun(stack, "POST", PCIE_ZONES, zone_body(HOST1, GPU1))
        ended = await over(stack, going["monitor"])
        assert ended.status == 409
        assert b"bay is locked" in ended.body
        assert (await stack.ask("GET", going["monitor"])).body == ended.body
        task = await stack.get(going["task"])
        assert (task["TaskState"], task["TaskStatus"]) == ("Exception", "Critical")
        assert "bay is locked" in task["Messages"][0]["Message"]


@pytest.mark.parametrize("by", ["task", "monitor"])
@in_virtual_time
async def test_a_task_that_is_called_off_has_no_monitor_from_then_on(by: str) -> None:
    async with a_stack() as stack:
        stack.rig.faults().next_apply(None, Slow(20.0))
        going = await begun(stack, "POST", PCIE_ZONES, zone_body(HOST1, GPU1))
        assert (await stack.ask("DELETE", going[by])).status == 204
        assert (await stack.ask("GET", going["monitor"])).status == 404
        task = await stack.get(going["task"])
        assert task["TaskState"] == "Cancelling"
        assert "TaskMonitor" not in task
        await stack.rig.converged()
        task = await stack.get(going["task"])
        assert (task["TaskState"], task["TaskStatus"]) == ("Cancelled", "Warning")
        assert [each["MessageId"] for each in task["Messages"]] == ["TaskEvent.1.0.TaskCancelled"]
        assert stack.rig.bound() == {}
        assert (await stack.ask("DELETE", going["task"])).status == 204
        assert (await stack.ask("GET", going["task"])).status == 404


@in_virtual_time
async def test_a_creation_that_a_deletion_calls_off_has_a_monitor_until_that_is_over() -> None:
    async with a_stack() as stack:
        stack.rig.faults().next_apply(None, Slow(20.0))
        going = await begun(stack, "POST", PCIE_ZONES, zone_body(HOST1, GPU1, Id="made"))
        await stack.clock.sleep(1.0)
        deleting = await begun(stack, "DELETE", f"{PCIE_ZONES}/made")
        await stack.clock.sleep(1.0)
        task = await stack.get(going["task"])
        assert (task["TaskState"], task["TaskMonitor"]) == ("Cancelling", going["monitor"])
        assert (await stack.ask("GET", going["monitor"])).status == 202
        await stack.rig.converged()
        assert (await over(stack, going["monitor"])).status == 404
        task = await stack.get(going["task"])
        assert task["TaskState"] == "Cancelled" and "TaskMonitor" not in task
        assert (await over(stack, deleting["monitor"])).status == 204


@in_virtual_time
async def test_what_only_gives_back_can_not_be_called_off() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        stack.rig.faults().next_apply(None, Slow(3.0))
        going = await begun(stack, "DELETE", zone)
        assert (await stack.ask("DELETE", going["monitor"])).status == 409
        assert (await over(stack, going["monitor"])).status == 204


REQUESTS: Mapping[str, tuple[str, str, Any]] = {
    "zone": ("POST", PCIE_ZONES, zone_body(HOST1, GPU1)),
    "composition": ("POST", SYSTEMS, system_body("host2", "gpu2")),
    "reset": (
        "POST",
        f"{SYSTEMS}/host1/Actions/ComputerSystem.Reset",
        {"ResetType": "ForceRestart"},
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
@in_virtual_time
async def test_all_work_at_hardware_has_a_task_for_whom_does_not_want_to_wait(name: str) -> None:
    async with a_stack() as stack:
        method, uri, body = REQUESTS[name]
        going = await begun(stack, method, uri, body)
        payload = (await stack.get(going["task"]))["Payload"]
        assert (payload["HttpOperation"], payload["TargetUri"]) == (method, uri)
        assert json.loads(payload["JsonBody"]) == body
        assert not any("token" in each.lower() for each in payload["HttpHeaders"])
        assert (await over(stack, going["monitor"])).status in (201, 204)


@in_virtual_time
async def test_decomposing_has_a_task_until_everything_is_given_back() -> None:
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, system_body("host2", "gpu2"))
        going = await begun(stack, "DELETE", system)
        assert (await over(stack, going["monitor"])).status == 204
        assert stack.rig.bound() == {}


@in_virtual_time
async def test_what_needs_no_hardware_is_answered_at_once_whatever_is_preferred() -> None:
    async with a_stack() as stack:
        answer = await stack.ask("POST", PCIE_ZONES, {"Name": "empty"}, prefer=ASYNC)
        assert answer.status == 201
        assert "Preference-Applied" not in answer.headers


@in_virtual_time
async def test_a_composition_over_two_fabrics_shows_how_far_each_is() -> None:
    async with a_stack() as stack:
        stack.rig.faults("CXL").next_apply(None, Slow(4.0))
        body = system_body("host2", "gpu2", "mem2")
        going = await begun(stack, "POST", SYSTEMS, body)
        await stack.clock.sleep(2.0)
        link = (await stack.get(going["task"]))["SubTasks"]["@odata.id"]
        members = (await stack.get(link))["Members"]
        parts = {
            part["Id"]: part for part in [await stack.get(each["@odata.id"]) for each in members]
        }
        assert parts.keys() == {"CXL", "PCIe"}
        assert parts["PCIe"]["PercentComplete"] == 100
        assert parts["CXL"]["PercentComplete"] < 100
        assert {part["TaskState"] for part in parts.values()} == {"Running"}
        assert not any("TaskMonitor" in part or "SubTasks" in part for part in parts.values())
        uri = parts["CXL"]["@odata.id"]
        assert (await stack.ask("DELETE", uri)).status == 405
        assert (await over(stack, going["monitor"])).status == 201
        assert (await stack.get(uri))["TaskState"] == "Completed"
        assert (await stack.ask("DELETE", going["task"])).status == 204
        assert (await stack.ask("GET", uri)).status == 404
        assert (await stack.ask("GET", link)).status == 404


@in_virtual_time
async def test_an_operator_deletes_the_own_task_and_nobody_elses() -> None:
    async with a_stack() as stack:
        mine, others = [
            await stack.ask("POST", PCIE_ZONES, body, user=user, prefer=ASYNC)
            for user, body in (
                ("op", zone_body(HOST1, GPU1)),
                ("admin", zone_body(HOST1, NVME1)),
            )
        ]
        for response in (mine, others):
            await over(stack, response.headers["Location"])
        uris = [shown(each)["@odata.id"] for each in (mine, others)]
        answers = [await stack.ask("DELETE", uri, user="op") for uri in uris]
        assert [each.status for each in answers] == [204, 403]
        assert (await stack.ask("DELETE", mine.headers["Location"], user="ro")).status in (403, 404)
        assert (await stack.ask("GET", uris[1], user="ro")).status == 200


@in_virtual_time
async def test_a_finished_task_goes_when_its_time_is_over() -> None:
    async with a_stack() as stack:
        patch = {"TaskAutoDeleteTimeoutMinutes": 2}
        assert (await stack.ask("PATCH", SERVICE, patch)).status == 200
        going = await begun(stack, "POST", PCIE_ZONES, zone_body(HOST1, GPU1))
        await over(stack, going["monitor"])
        await stack.clock.sleep(110.0)
        assert (await stack.ask("GET", going["monitor"])).status == 201
        await stack.clock.sleep(45.0)
        for uri in going.values():
            assert (await stack.ask("GET", uri)).status == 404
        assert (await stack.get(TASKS))["Members"] == []


@in_virtual_time
async def test_the_oldest_finished_tasks_make_room_as_the_policy_says() -> None:
    async with a_stack() as stack:
        assert (await stack.get(SERVICE))["CompletedTaskOverWritePolicy"] == "Oldest"
        ended = [_ended(operation(f"{n:04}")) for n in range(1000, 1000 + FINISHED_KEPT)]
        await stack.kernel.writer.submit(always(*ended), "tester")
        for gpu in (GPU1, NVME1):
            going = await begun(stack, "POST", PCIE_ZONES, zone_body(HOST1, gpu))
            await over(stack, going["monitor"])
        members = [each["@odata.id"] for each in (await stack.get(TASKS))["Members"]]
        assert len(members) <= FINISHED_KEPT + 1
        assert f"{TASKS}/1000" not in members
        assert going["task"] in members


def _ended(edit: Edit) -> Edit:
    assert edit.post is not None
    return replace(edit, pre=None, post=edit.post.replace(b'"Running"', b'"Completed"'))


@in_virtual_time
async def test_all_finished_tasks_can_be_deleted_together_and_running_ones_stay() -> None:
    async with a_stack() as stack:
        first = await begun(stack, "POST", PCIE_ZONES, zone_body(HOST1, GPU1))
        await over(stack, first["monitor"])
        stack.rig.faults().next_apply(None, Slow(30.0))
        second = await begun(stack, "POST", PCIE_ZONES, zone_body(HOST1, NVME1))
        assert (await stack.ask("POST", DELETE_ALL, user="op")).status == 403
        assert (await stack.ask("POST", DELETE_ALL)).status == 204
        members = (await stack.get(TASKS))["Members"]
        assert members == [{"@odata.id": second["task"]}]
        assert (await stack.ask("POST", DELETE_ALL)).status == 204


@in_virtual_time
async def test_the_task_service_tells_the_time_and_that_it_tells_of_tasks() -> None:
    async with a_stack() as stack:
        before = await stack.get(SERVICE)
        await stack.clock.sleep(2.0)
        after = await stack.get(SERVICE)
        assert before["DateTime"] < after["DateTime"]
        assert before["@odata.etag"] == after["@odata.etag"]
        assert after["LifeCycleEventOnTaskStateChange"] is True


@in_virtual_time
async def test_the_life_of_a_task_is_told_in_order() -> None:
    async with a_stack() as stack:
        seq = stack.durable.seq
        stack.rig.faults().next_apply(None, Slow(1.5), times=2)
        body = system_body("host2", "gpu2", "nvme2")
        going = await begun(stack, "POST", SYSTEMS, body)
        await over(stack, going["monitor"])
        assert (await stack.ask("DELETE", going["task"])).status == 204
        assert await _told(stack, going["task"], seq) == [
            "TaskStarted",
            "TaskProgressChanged",
            "TaskCompletedOK",
            "TaskRemoved",
        ]


@in_virtual_time
async def test_work_that_a_client_waited_for_is_no_task_to_anybody() -> None:
    async with a_stack() as stack:
        seq = stack.durable.seq
        await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        await stack.clock.sleep(5.0)
        assert not [
            entry
            async for record in stack.store.follow(seq)
            for entry in record.entries
            if entry.uri.startswith(TASKS)
        ]


@in_virtual_time
async def test_what_ended_after_a_crash_is_told_once() -> None:
    async with a_stack(crash=True) as stack:
        stack.rig.faults().next_apply(None, Slow(3.0))
        going = await begun(stack, "POST", PCIE_ZONES, zone_body(HOST1, GPU1, Name="slow"))
        await stack.clock.sleep(0.5)
        durable, hardware, seq = stack.durable, stack.rig.hardware, 0
    async with a_stack(durable=durable, hardware=hardware) as stack:
        assert (await over(stack, going["monitor"])).status == 201
        await stack.clock.sleep(5.0)
        told = await _told(stack, going["task"], seq)
        assert [each for each in told if each != "TaskProgressChanged"] == [
            "TaskStarted",
            "TaskCompletedOK",
        ]
        assert stack.durable.spaces[Space.ANNOUNCED].keys() >= {going["task"]}


async def _told(stack: Stack, task: str, seq: int) -> list[str]:
    """Return the keys of all events about a Task, in order."""
    stream, after, events = stack.events.stream, (seq, 0), list[Event]()
    while after < stream.newest:
        batch = await stream.read(after, 100)
        events += batch.events
        after = batch.through
    mine = [event.message for event in events if event.origin == task]
    assert all(each.key.startswith("TaskEvent.") for each in mine), mine
    return [each.key.partition(".")[2] for each in mine]


@in_virtual_time
async def test_a_wait_is_cut_short_where_the_client_says_so() -> None:
    async with a_stack() as stack:
        stack.rig.faults().next_apply(None, Slow(4.0))
        begun_s = stack.clock.now_s()
        answer = await stack.ask("POST", PCIE_ZONES, zone_body(HOST1, GPU1), prefer="wait=1")
        assert answer.status == 202
        assert 1.0 <= stack.clock.now_s() - begun_s < 2.0
