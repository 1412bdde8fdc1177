"""What is told of Tasks durably, when they are forgotten, and how far they have come."""

import asyncio

import msgspec

from redfish_fm.control.reconcile import Policy
from redfish_fm.control.task_progress import TaskProgress
from redfish_fm.drivers.virtual.faults import Refuse, Slow
from redfish_fm.mapping.operations import OperationState
from redfish_fm.mapping.tasks import Progress
from redfish_fm.mapping.uris import TASK_SERVICE
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.store.base import StoreFull
from tests.control.builders import PCIE_ZONES, TASKS, Rig, always, pcie, running_kernel, zone_body
from tests.virtual_time import in_virtual_time

PATIENT = Policy(apply_timeout_s=60.0)


def told(rig: Rig, task: object) -> dict[str, object] | None:
    raw = rig.durable.spaces.get(Space.ANNOUNCED, {}).get(str(task))
    return None if raw is None else msgspec.json.decode(raw)


@in_virtual_time
async def test_a_task_is_told_of_once_its_client_has_stopped_waiting() -> None:
    async with running_kernel(policy=PATIENT, sync_budget_s=3.0) as rig:
        rig.faults().next_apply(None, Slow(20.0))
        making = rig.later(rig.zone(pcie("host1-1"), pcie("gpu1")))
        await asyncio.sleep(2.0)
        (record,) = rig.published.state.operations.values()
        assert told(rig, record.task) is None
        assert (await making).task == record.task
        await asyncio.sleep(0.5)
        assert told(rig, record.task) == {"TaskState": "Running", "PercentComplete": 0}
        await rig.converged()
        ended = {"TaskState": "Completed", "TaskStatus": "OK", "PercentComplete": 100}
        assert told(rig, record.task) == ended


@in_virtual_time
async def test_trouble_on_the_way_to_an_answer_in_time_makes_no_task_of_it() -> None:
    async with running_kernel(sync_budget_s=30.0) as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        rig.faults().next_apply(None, Refuse("not now"), times=2)
        before = rig.kernel.writer.tip.seq
        assert (await rig.delete(zone)).kind is OutcomeKind.DELETED
        await asyncio.sleep(5.0)
        records = [record async for record in rig.store.follow(before)]
        assert not [each for record in records for each in record.entries if TASKS in each.uri]
        # It was noted, and thereby more than a beginning and an end was stored.
        assert len(records) > 2


@in_virtual_time
async def test_progress_is_told_once_a_second_at_most() -> None:
    gpus = [pcie(f"gpu{n}") for n in (1, 2)]
    async with running_kernel(policy=PATIENT, sync_budget_s=0.0) as rig:
        rig.faults().next_apply(None, Slow(0.3), times=None)
        before = rig.kernel.writer.tip.seq
        await rig.post(PCIE_ZONES, zone_body(pcie("host1-1"), *gpus, pcie("nvme1")))
        await rig.converged()
        # The write, its start with what was done by then, its end.
        assert rig.durable.seq - before <= 4


@in_virtual_time
async def test_a_store_that_refuses_is_told_later() -> None:
    full = [False]

    def fault(_batch: int) -> StoreFull | None:
        return StoreFull("full") if full[0] else None

    async with running_kernel(policy=PATIENT, sync_budget_s=0.0, fault_before=fault) as rig:
        rig.faults().next_apply(None, Slow(30.0))
        task = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).task
        full[0] = True
        await asyncio.sleep(3.0)
        assert told(rig, task) is None
        full[0] = False
        await rig.until(lambda: told(rig, task) is not None)


def kept_minutes(minutes: int) -> Edit:
    return Edit(Space.OVERLAY, TASK_SERVICE, None, b'{"TaskAutoDeleteTimeoutMinutes":%d}' % minutes)


@in_virtual_time
async def test_ended_tasks_are_forgotten_in_time_also_by_a_later_life() -> None:
    async with running_kernel(sync_budget_s=0.0) as rig:
        await rig.kernel.writer.submit(always(kept_minutes(2)), "tester")
        task = str((await rig.zone(pcie("host1-1"), pcie("gpu1"))).task)
        await rig.converged()
        await asyncio.sleep(60.0)
        assert rig.published.exists(task)
        durable, hardware = rig.durable, rig.hardware
    async with running_kernel(durable=durable, hardware=hardware) as rig:
        assert rig.published.exists(task)
        await asyncio.sleep(100.0)
        assert not rig.published.exists(task)
        assert told(rig, task) is None


@in_virtual_time
async def test_what_is_open_is_not_forgotten_however_old() -> None:
    async with running_kernel(policy=Policy(apply_timeout_s=600.0), sync_budget_s=0.0) as rig:
        await rig.kernel.writer.submit(always(kept_minutes(1)), "tester")
        rig.faults().next_apply(None, Slow(300.0))
        task = str((await rig.zone(pcie("host1-1"), pcie("gpu1"))).task)
        await asyncio.sleep(200.0)
        assert rig.get(task)["TaskState"] == "Running"


@in_virtual_time
async def test_progress_goes_on_where_it_was_told_to_be_before_a_crash() -> None:
    async with running_kernel(policy=PATIENT, sync_budget_s=0.0, crash=True) as rig:
        rig.faults().next_apply(None, Slow(2.0), Slow(50.0))
        members = zone_body(pcie("host1-1"), pcie("gpu1"), pcie("gpu2"))
        task = str((await rig.post(PCIE_ZONES, members)).task)
        await rig.until(lambda: (told(rig, task) or {}).get("PercentComplete") == 50)
        durable, hardware = rig.durable, rig.hardware
    async with running_kernel(durable=durable, hardware=hardware, policy=PATIENT) as rig:
        # Nobody has looked yet.
        assert rig.get(task)["PercentComplete"] == 50
        await rig.kernel.first_observed(60.0)
        assert rig.get(task)["PercentComplete"] >= 50


@in_virtual_time
async def test_a_figure_never_falls_and_stands_still_while_all_is_taken_back() -> None:
    async with running_kernel(policy=PATIENT, sync_budget_s=0.0) as rig:
        rig.faults().next_apply(None, Slow(50.0))
        members = zone_body(pcie("host1-1"), pcie("gpu1"), pcie("gpu2"))
        await rig.post(PCIE_ZONES, members)
        (record,) = rig.published.state.operations.values()
        progress = TaskProgress(rig.published)
        assert progress.seen(record, "PCIe", 1)
        assert not progress.seen(record, "PCIe", 0)
        assert rig.published.progress[record.id] == Progress(50, {"PCIe": 50})
        await rig.kernel.operations.cancel(record.task, "tester")
        now = rig.published.state.operations[record.id]
        assert now.state is OperationState.STOPPING
        assert not progress.seen(now, "PCIe", 2)
        assert rig.get(record.task)["PercentComplete"] == 50


@in_virtual_time
async def test_a_sub_task_belongs_to_whom_its_task_belongs_to() -> None:
    async with running_kernel(sync_budget_s=0.0) as rig:
        task = str((await rig.zone(pcie("host1-1"), pcie("gpu1"))).task)
        owner_of = rig.kernel.operations.owner_of
        assert owner_of(task) == owner_of(f"{task}/SubTasks/PCIe") == "tester"
        assert owner_of(TASKS) is None
