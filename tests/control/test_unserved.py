"""Work in a fabric that is taken out of the configuration ends, and nobody's isolation with it."""

from collections.abc import Mapping

import pytest

from redfish_fm.control.reconcile import Policy
from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.fabric.model import BindTarget, Inventory, PortId, VppbId
from redfish_fm.fabric.port_control import PortReset, PortResetWish
from redfish_fm.mapping.operations import Operation, encode_operation
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.store.memory import DurableState
from tests.control.builders import TASKS, Rig, a_base, always, pcie, running_kernel
from tests.control.test_parts import CHUNK, a_chunk, mixed, running
from tests.drivers.fabrics import CXL, PCIE
from tests.virtual_time import VirtualClock, in_virtual_time

PATIENT = Policy(operation_s=1e6)
HOST1 = VppbId("pcie1", "1", 0)
NOW = "2026-12-01T08:00:00Z"
GPU1 = BindTarget("pcie1", "D1")
LEFT = ("RedfishFM.FabricLeft", ["/redfish/v1/Fabrics/PCIe"])


def messages(rig: Rig, task: str) -> list[tuple[str, list[str]]]:
    return [(each["MessageId"], each["MessageArgs"]) for each in rig.get(task)["Messages"]]


async def taken_out(rig: Rig) -> None:
    await rig.kernel.remove_fabric("PCIe")
    async with rig.published.looking:
        rig.kernel.rebase(a_base(CXL))


async def ended(rig: Rig, task: str) -> str:
    await rig.until(lambda: "EndTime" in rig.get(task))
    return str(rig.get(task)["TaskState"])


@in_virtual_time
async def test_the_loop_of_a_fabric_that_is_taken_out_hears_of_nothing_any_more() -> None:
    async with running_kernel() as rig:
        loop, following = rig.loop("PCIe"), rig.kernel.writer.on_publish
        await taken_out(rig)
        for told in (loop.published, loop.commanded):
            with pytest.raises(ValueError, match="follows nothing"):
                following.remove(told)


@in_virtual_time
async def test_a_release_ends_with_the_fabric_it_waits_for() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        rig.hardware["PCIe"].cut("pcie1")
        task = str((await rig.delete(zone)).task)
        await taken_out(rig)
        assert await ended(rig, task) == "Completed"
        assert rig.get(task)["TaskStatus"] == "Warning"
        assert LEFT in messages(rig, task)
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_what_is_granted_there_is_taken_back_and_says_why() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        rig.hardware["PCIe"].cut("pcie1")
        made = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert made.kind is OutcomeKind.ACCEPTED
        await taken_out(rig)
        assert await ended(rig, str(made.task)) == "Exception"
        assert LEFT in messages(rig, str(made.task))
        assert not rig.published.exists(made.uri)
        assert rig.wanted() == {}
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_a_fabric_that_is_driven_anew_ends_nothing() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        rig.hardware["PCIe"].cut("pcie1")
        task = str((await rig.delete(zone)).task)
        await rig.kernel.remove_fabric("PCIe")
        async with rig.published.looking:
            rig.kernel.rebase(a_base())
        await rig.until(lambda: rig.clock_s() > 60.0, 120.0)
        assert rig.get(task)["TaskState"] == "Running"
        rig.hardware["PCIe"].heal("pcie1")
        clock = VirtualClock()
        rig.kernel.add_fabric("PCIe", VirtualDriver(rig.hardware["PCIe"], clock, clock), PATIENT)
        assert await ended(rig, task) == "Completed"
        assert rig.bound() == {}


@in_virtual_time
async def test_what_was_open_in_a_fabric_that_a_start_does_not_find_ends_then() -> None:
    durable = DurableState()
    async with running_kernel(durable=durable, policy=PATIENT, crash=True) as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        rig.hardware["PCIe"].cut("pcie1")
        task = str((await rig.delete(zone)).task)
    async with running_kernel(durable=durable, policy=PATIENT, inventories=(CXL,)) as rig:
        assert await ended(rig, task) == "Completed"
        assert messages(rig, task)[-1] == LEFT


async def left_behind(durable: DurableState) -> tuple[Mapping[str, Hardware], str]:
    """Let a release be under way when its fabric is taken out; return the hardware and its Task."""
    async with running_kernel(durable=durable, policy=PATIENT) as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        rig.hardware["PCIe"].cut("pcie1")
        task = str((await rig.delete(zone)).task)
        await taken_out(rig)
        await ended(rig, task)
        rig.hardware["PCIe"].heal("pcie1")
        assert rig.bound() == {HOST1: GPU1}
        return rig.hardware, task


@in_virtual_time
async def test_what_was_left_bound_is_released_when_the_fabric_is_back() -> None:
    durable = DurableState()
    hardware, task = await left_behind(durable)
    async with running_kernel(durable=durable, hardware=hardware, policy=PATIENT) as rig:
        await rig.until(lambda: rig.bound() == {})
        assert rig.loop().violations == () == rig.loop().foreign
        await rig.until(lambda: not rig.kernel.operations.left_of("PCIe"))
        assert rig.get(task)["TaskState"] == "Completed"
        made = await rig.zone(pcie("host2-1"), pcie("gpu1"))
        assert made.kind is OutcomeKind.CREATED
        await rig.assert_equal_to_disk()


@pytest.mark.expects_errors
@in_virtual_time
async def test_what_was_left_bound_is_nobody_elses_once_its_task_is_forgotten() -> None:
    durable = DurableState()
    hardware, task = await left_behind(durable)
    async with running_kernel(durable=durable, policy=PATIENT, inventories=(CXL,)) as rig:
        await rig.delete(task)
    async with running_kernel(durable=durable, hardware=hardware, policy=PATIENT) as rig:
        await rig.until(lambda: rig.loop().foreign == (HOST1,))
        made = await rig.zone(pcie("host2-1"), pcie("gpu1"), Id="mine")
        assert made.kind is OutcomeKind.ACCEPTED
        assert rig.bound() == {HOST1: GPU1}
        rig.assert_isolated()


@in_virtual_time
async def test_what_a_waiting_client_was_told_is_over_is_remembered_as_well() -> None:
    async with running_kernel(policy=PATIENT, sync_budget_s=600.0) as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        rig.hardware["PCIe"].cut("pcie1")
        deleting = rig.later(rig.delete(zone))
        await rig.until(lambda: bool(rig.kernel.operations.open_of("PCIe")))
        await taken_out(rig)
        assert (await deleting).kind is OutcomeKind.DELETED
        assert len(rig.kernel.operations.left_of("PCIe")) == 1


@in_virtual_time
async def test_a_command_to_a_port_there_ends_as_one_that_was_not_answered() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        await taken_out(rig)
        task = f"{TASKS}/zz"
        wish = PortResetWish(PortId("pcie1", "D1"), PortReset.BRIDGE)
        asked = Operation(
            "zz", task, OutcomeKind.CHANGED, "PCIe", "/p", frozenset(), "a", NOW, port_reset=wish
        )
        edit = Edit(Space.OPERATION, "zz", None, encode_operation(asked))
        await rig.kernel.writer.submit(always(edit), "tester")
        assert await ended(rig, task) == "Exception"
        assert messages(rig, task) == [LEFT]


@in_virtual_time
async def test_a_part_that_is_granted_there_is_taken_back_with_what_asks_for_it() -> None:
    async with running(policy=PATIENT, sync_budget_s=0.5) as rig:
        rig.hardware["CXL"].cut("cxl1")
        made = await a_chunk(rig)
        await rig.kernel.remove_fabric("CXL")
        async with rig.published.looking:
            rig.kernel.rebase(a_base(PCIE))
        assert await ended(rig, str(made.task)) == "Exception"
        assert not rig.published.exists(CHUNK)
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_what_is_not_discovered_yet_after_a_start_is_called_off_by_nobody() -> None:
    durable, inventory = DurableState(), mixed("CXL")
    async with running(durable=durable, policy=PATIENT, sync_budget_s=0.5, crash=True) as rig:
        rig.hardware["CXL"].cut("cxl1")
        task = str((await a_chunk(rig)).task)
        hardware = rig.hardware
    hardware["CXL"].cut("cxl2")
    unknown = a_base(Inventory("CXL", inventory.name, inventory.kind, inventory.protocol))
    async with running(durable=durable, hardware=hardware, base=unknown, policy=PATIENT) as rig:
        await rig.until(lambda: bool(messages(rig, task)))
        assert rig.get(task)["TaskState"] == "Running"
        async with rig.published.looking:
            rig.kernel.rebase(a_base(inventory))
        for switch in ("cxl1", "cxl2"):
            rig.hardware["CXL"].heal(switch)
        assert await ended(rig, task) == "Completed"
        assert rig.status(CHUNK) == ("Enabled", "OK")
