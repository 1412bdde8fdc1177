"""Whose a Task is: the account that started the operation may delete it (DESIGN section 9)."""

from redfish_fm.redfish.writes import OutcomeKind
from tests.control.builders import PCIE_ZONES, TASKS, pcie, running_kernel
from tests.virtual_time import in_virtual_time


@in_virtual_time
async def test_a_task_belongs_to_who_started_it_while_it_runs_and_afterwards() -> None:
    async with running_kernel(sync_budget_s=0.0) as rig:
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert outcome.kind is OutcomeKind.ACCEPTED
        assert outcome.task is not None
        owner_of = rig.kernel.operations.owner_of
        assert owner_of(outcome.task) == "tester"
        await rig.converged()
        assert owner_of(outcome.task) == "tester"
        assert owner_of(outcome.uri) is owner_of(PCIE_ZONES) is owner_of(f"{TASKS}/none") is None
