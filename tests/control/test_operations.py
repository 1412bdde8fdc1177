"""Operations: each ends once, durably, and its client is told exactly what was stored."""

import asyncio

import pytest

from redfish_fm.control.operations import FINISHED_KEPT
from redfish_fm.control.reconcile import Policy
from redfish_fm.drivers.virtual.faults import Pretend, Refuse, Slow
from redfish_fm.fabric.model import BindTarget, VppbId
from redfish_fm.mapping.operations import OperationState
from redfish_fm.redfish import messages
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import Outcome, OutcomeKind, WriteKind
from redfish_fm.store.base import StoreFull
from tests.control.builders import (
    PCIE_ZONES,
    TASKS,
    Rig,
    always,
    keys,
    links,
    pcie,
    refused,
    running_kernel,
    zone_body,
)
from tests.control.test_state import operation
from tests.virtual_time import in_virtual_time, settle

PATIENT = Policy(apply_timeout_s=60.0)
LATENCY_S = 1.0


async def a_zone(rig: Rig, gpu: str = "gpu1", host: str = "host1-1", **more: object) -> object:
    return await rig.zone(pcie(host), pcie(gpu), **more)


@in_virtual_time
async def test_a_record_is_dropped_with_its_end_when_the_client_was_answered_in_time() -> None:
    async with running_kernel() as rig:
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert outcome.kind is OutcomeKind.CREATED and outcome.task is None
        assert rig.durable.spaces.get(Space.OPERATION, {}) == {}


@in_virtual_time
async def test_a_record_is_kept_when_the_client_was_given_a_task() -> None:
    async with running_kernel(sync_budget_s=0.0) as rig:
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert outcome.kind is OutcomeKind.ACCEPTED and outcome.task is not None
        await rig.converged()
        assert rig.get(outcome.task)["TaskState"] == "Completed"
        assert rig.durable.spaces[Space.OPERATION].keys() == {outcome.task.rsplit("/", 1)[-1]}


@in_virtual_time
async def test_a_budget_that_runs_out_while_the_end_is_stored_waits_for_the_truth() -> None:
    async with running_kernel(sync_budget_s=0.5, latency_s=LATENCY_S) as rig:
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert outcome.kind is OutcomeKind.CREATED
        assert rig.clock_s() > LATENCY_S + 0.5
        assert rig.published.state.operations == {}


@in_virtual_time
async def test_an_end_that_could_not_be_stored_leaves_a_task_to_look_at() -> None:
    def fault(batch: int) -> StoreFull | None:
        return StoreFull("full") if batch == 1 else None

    async with running_kernel(sync_budget_s=0.5, latency_s=LATENCY_S, fault_before=fault) as rig:
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert outcome.kind is OutcomeKind.ACCEPTED and outcome.task is not None
        assert rig.get(outcome.task)["TaskState"] == "Running"
        await rig.converged()
        assert rig.get(outcome.task)["TaskState"] == "Completed"
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_a_refusal_by_hardware_is_told_only_once_it_is_taken_back_durably() -> None:
    async with running_kernel(latency_s=LATENCY_S) as rig:
        rig.faults().next_apply(None, Refuse())
        error = await refused(rig.zone(pcie("host1-1"), pcie("gpu1"), Id="z"))
        assert error.status == 409
        assert f"{PCIE_ZONES}/z" not in rig.durable.spaces[Space.DOCUMENT]
        assert rig.clock_s() > 2 * LATENCY_S


@in_virtual_time
async def test_what_has_ended_meanwhile_is_not_taken_back() -> None:
    async with running_kernel(sync_budget_s=0.0) as rig:
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        (running,) = rig.published.state.operations.values()
        await rig.converged()
        before = rig.published.seq
        await rig.kernel.operations.take_back(running, (messages.operation_failed(),), "PCIe")
        assert rig.published.seq == before
        assert rig.published.exists(outcome.uri)
        (ended,) = rig.published.state.operations.values()
        assert ended.state is OperationState.COMPLETED


@in_virtual_time
async def test_a_client_that_went_away_leaves_its_operation_to_end_by_itself() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        rig.faults().next_apply(None, Slow(2.0))
        making = rig.later(rig.zone(pcie("host1-1"), pcie("gpu1"), Id="z"))
        await asyncio.sleep(0.5)
        making.cancel()
        await rig.converged()
        assert rig.published.exists(f"{PCIE_ZONES}/z")
        (record,) = rig.published.state.operations.values()
        assert record.state is OperationState.COMPLETED


@in_virtual_time
async def test_a_client_that_went_away_before_the_commit_does_not_hold_up_the_end() -> None:
    async with running_kernel(latency_s=LATENCY_S) as rig:
        making = rig.later(rig.zone(pcie("host1-1"), pcie("gpu1"), Id="z"))
        await asyncio.sleep(0.5)
        making.cancel()
        await rig.until(lambda: rig.published.exists(f"{PCIE_ZONES}/z"))
        await rig.converged()
        (record,) = rig.published.state.operations.values()
        assert record.state is OperationState.COMPLETED


@in_virtual_time
async def test_an_id_used_again_after_a_failed_batch_belongs_to_its_new_operation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fault(batch: int) -> StoreFull | None:
        return StoreFull("full") if batch == 0 else None

    async with running_kernel(fault_before=fault) as rig:
        writer, late = rig.kernel.writer, []
        fail = writer._fail  # noqa: SLF001

        def failing(*arguments: object) -> None:
            fail(*arguments)  # type: ignore[arg-type]
            late.append(rig.later(rig.zone(pcie("host2-1"), pcie("gpu2"))))

        monkeypatch.setattr(writer, "_fail", failing)
        error = await refused(rig.zone(pcie("host1-1"), pcie("gpu1")))
        assert error.status == 507
        assert (await late[0]).kind is OutcomeKind.CREATED
        assert rig.bound() == {VppbId("pcie1", "2", 0): BindTarget("pcie1", "D2")}


@in_virtual_time
async def test_closing_answers_who_waits_for_hardware_with_a_task() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        rig.faults().next_apply(None, Slow(50.0))
        making = rig.later(rig.zone(pcie("host1-1"), pcie("gpu1")))
        await asyncio.sleep(0.5)
        before_s = rig.clock_s()
        rig.kernel.operations.close()
        outcome = await making
        assert outcome.kind is OutcomeKind.ACCEPTED and outcome.task is not None
        assert rig.clock_s() == before_s
        late = await rig.zone(pcie("host2-1"), pcie("gpu2"))
        assert late.kind in (OutcomeKind.ACCEPTED, OutcomeKind.CREATED)


@in_virtual_time
async def test_a_kernel_closes_in_time_while_an_operation_runs() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        rig.faults().next_apply(None, Slow(50.0))
        rig.later(rig.zone(pcie("host1-1"), pcie("gpu1")))
        await asyncio.sleep(0.5)
        before_s = rig.clock_s()
        await rig.kernel.close()
        await rig.running
        assert rig.clock_s() - before_s < 1.0


@in_virtual_time
async def test_a_task_is_deleted_only_in_the_state_that_the_client_saw() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        rig.faults().next_apply(None, Slow(20.0))
        task = str((await rig.zone(pcie("host1-1"), pcie("gpu1"))).task)
        seen = rig.etag(task).strip('"')
        await rig.converged()
        found = await refused(_delete_if(rig, task, seen))
        assert found.status == 412
        await _delete_if(rig, task, rig.etag(task).strip('"'))
        assert not rig.published.exists(task)


async def _delete_if(rig: Rig, task: str, tag: str) -> object:
    return await rig.commit(WriteKind.DELETE, task, if_match=(tag,))


@in_virtual_time
async def test_a_release_can_not_be_called_off() -> None:
    async with running_kernel() as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        rig.faults().next_apply(None, Refuse(), times=None)
        task = str((await rig.delete(zone)).task)
        assert (await refused(rig.delete(task))).status == 409
        rig.faults().clear()
        await rig.converged()


@in_virtual_time
async def test_cancelling_a_patch_takes_back_what_it_granted_and_nothing_else() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        rig.faults().next_apply(None, Slow(20.0))
        members = (pcie("host1-1"), pcie("gpu1"), pcie("gpu2"))
        outcome = await rig.patch(zone, zone_body(*members))
        assert outcome.kind is OutcomeKind.ACCEPTED
        await rig.delete(str(outcome.task))
        await rig.converged()
        assert rig.get(zone)["Links"]["Endpoints"] == links(*members[:2])
        assert rig.bound() == {VppbId("pcie1", "1", 0): BindTarget("pcie1", "D1")}


@in_virtual_time
async def test_a_lost_answer_to_the_client_is_found_again_among_the_newest_tasks() -> None:
    async with running_kernel() as rig:
        finished = [
            _ended(operation(f"{number:04}")) for number in range(1000, 1000 + FINISHED_KEPT + 5)
        ]
        await rig.kernel.writer.submit(always(*finished), "tester")
        rig.faults().next_apply(None, Pretend(claim=False))
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        await rig.converged()
        kept = rig.published.state.operations
        assert len(kept) <= FINISHED_KEPT + 1
        assert "1000" not in kept and f"{1000 + FINISHED_KEPT + 4}" in kept
        assert outcome.uri in rig.published.state.spaces[Space.DOCUMENT]


def _ended(edit: Edit) -> Edit:
    assert edit.post is not None
    return Edit(edit.space, edit.key, None, edit.post.replace(b'"Running"', b'"Completed"'))


@in_virtual_time
async def test_open_operations_come_oldest_first() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        rig.faults().next_apply(None, Slow(30.0), times=None)
        for number in range(3):
            rig.later(a_zone(rig, ("gpu1", "gpu2", "nvme1")[number]))
            await settle()
        await asyncio.sleep(0.1)
        ids = [each.id for each in rig.kernel.operations.open_of("PCIe")]
        assert ids == sorted(ids) and len(ids) == 3
        assert rig.kernel.operations.open_of("CXL") == []
        assert rig.kernel.operations.task_of(ids[0]) == f"{TASKS}/{ids[0]}"


@in_virtual_time
async def test_who_waits_is_told_a_refusal_only_by_what_takes_the_change_back() -> None:
    """A Task was cancelled while hardware refused, and who cancelled it is gone."""
    async with running_kernel(policy=PATIENT, latency_s=LATENCY_S, sync_budget_s=60.0) as rig:
        rig.faults().next_apply(None, Slow(LATENCY_S * 8))
        making = rig.later(rig.zone(pcie("host1-1"), pcie("gpu1")))
        await rig.until(lambda: bool(rig.kernel.operations.open_of("PCIe")))
        (operation,) = rig.kernel.operations.open_of("PCIe")
        cancelling = rig.later(rig.kernel.operations.cancel(operation.task, "tester"))
        await asyncio.sleep(LATENCY_S / 2)
        cancelling.cancel()
        reason = messages.hardware_refused("Bind", "port", "no")
        await rig.kernel.operations.take_back(operation, (reason,))
        assert keys(await refused(making)) == ["TaskEvent.TaskCancelled"]


@in_virtual_time
async def test_a_task_that_made_something_answers_so_whatever_has_become_of_it_since() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        rig.faults().next_apply(None, Slow(20.0))
        made = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        result, task = rig.kernel.operations.result, str(made.task)
        assert result(task) is None
        await rig.converged()
        assert result(task) == Outcome(OutcomeKind.CREATED, made.uri)
        assert rig.get(task)["Links"] == {"CreatedResources": links(made.uri)}
        gone = await rig.delete(made.uri)
        assert gone.kind is OutcomeKind.DELETED
        assert result(task) == Outcome(OutcomeKind.CREATED, made.uri)
        assert "Links" not in rig.get(task)
        assert rig.get(task)["Name"] == f"Create {made.uri}"


@in_virtual_time
async def test_a_task_that_failed_answers_with_its_reasons_and_a_release_with_nothing() -> None:
    async with running_kernel() as rig:
        rig.hardware["PCIe"].cut("pcie1", 10.0)
        await asyncio.sleep(0.1)
        task = str((await rig.zone(pcie("host1-1"), pcie("gpu1"))).task)
        rig.faults().next_apply(None, Refuse("late no"))
        await rig.until(lambda: rig.get(task)["TaskState"] == "Exception")
        told = rig.kernel.operations.result(task)
        assert isinstance(told, RedfishError) and told.status == 409
        assert "late no" in str(told.messages)
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        rig.faults().next_apply(None, Slow(20.0))
        task = str((await rig.delete(zone)).task)
        await rig.converged()
        assert rig.kernel.operations.result(task) == Outcome(OutcomeKind.DELETED, zone)
