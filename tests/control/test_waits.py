"""A Task that waits for what is not ours to end says so, and none of them has no way out."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from redfish_fm.control.reconcile import Policy
from redfish_fm.control.verdicts import Look
from redfish_fm.control.waits import LASTING_S, Waits, awaited
from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.drivers.virtual.faults import Pretend, Refuse, Slow
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    BindTarget,
    Deallocate,
    Inventory,
    Media,
    Observation,
    PartState,
    PortState,
    Qos,
    Unbind,
    VppbId,
)
from redfish_fm.fabric.values import QosWish
from redfish_fm.mapping.awaited import Awaited
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.operations import Operation
from redfish_fm.redfish.writes import OutcomeKind
from tests.control.builders import PCIE_FABRIC, Rig, a_base, keys, pcie, refused, running_kernel
from tests.control.test_parts import (
    CHUNK,
    CONNECTIONS,
    CXL_FABRIC,
    a_chunk,
    connect,
    mixed,
    parts,
    running,
)
from tests.control.test_verdicts import BINDING, LD, OPERATION, PART, VPPB, look
from tests.drivers.fabrics import CXL, PCIE
from tests.virtual_time import VirtualClock, in_virtual_time

PATIENT = Policy(operation_s=1e6)
SWITCH = f"{PCIE_FABRIC}/Switches/pcie1"
GPU1, GPU1_PORT = BindTarget("pcie1", "D1"), f"{SWITCH}/Ports/D1"
HOST1, HOST2 = VppbId("pcie1", "1", 0), VppbId("pcie1", "2", 0)
THEIRS = VppbId("cxl1", "2", 1)


def told(rig: Rig, task: str | None) -> list[tuple[str, list[str]]]:
    return [
        (each["MessageId"].rpartition(".")[2], each["MessageArgs"])
        for each in rig.get(str(task))["Messages"]
    ]


def pooled_port(target: BindTarget) -> str:
    return f"{CXL_FABRIC}/Switches/{target.switch}/Ports/{target.port}"


async def lasting() -> None:
    """Wait for long enough that whatever lasts is told, many looks later."""
    await asyncio.sleep(LASTING_S + 20.0)


async def ended(rig: Rig, task: str | None) -> tuple[str, str]:
    await rig.until(lambda: "EndTime" in rig.get(str(task)))
    document = rig.get(str(task))
    return document["TaskState"], document["TaskStatus"]


def reasons(operation: Operation, seen: Look) -> list[tuple[str, tuple[str, ...]]]:
    found = awaited(operation, seen, Awaited(Facts(), "F"))
    return [(each.key.rpartition(".")[2], each.args) for each in found]


def test_each_kind_of_work_says_what_keeps_it() -> None:
    dirty = PartState(1024, Media.DIRTY)
    released, freed = replace(OPERATION, released=(BINDING,)), replace(OPERATION, freed=(PART,))
    granted = replace(OPERATION, granted=(BINDING,))
    scrub, switch = ("ScrubAwaited", ("ld 3", "SW/M1")), ("SwitchAwaited", ("SW",))
    for operation in (released, freed, granted):
        assert reasons(operation, look(part=dirty)) == [scrub]
        assert reasons(operation, look(part=dirty, dark=True)) == [switch]
        unplugged = look(part=dirty, port=PortState(link_up=False, device_present=False))
        assert reasons(operation, unplugged) == [("DeviceAwaited", ("SW/M1",))]
        unsettled = look(part=dirty, open_=(LD,))
        assert reasons(operation, unsettled) == [("OperationAwaited", ("SW",))]
        assert reasons(operation, replace(unsettled, under_way=frozenset({LD}))) == []
    allocated = replace(OPERATION, allocated=(PART,))
    wish = QosWish("F", LD, Qos(10, 50), "ld")
    for operation in (allocated, replace(OPERATION, restoring=(wish,))):
        assert reasons(operation, look(dark=True)) == [switch]
        # Contents are in nobody's way here.
        assert reasons(operation, look(part=PartState(512, Media.DIRTY))) == []


def test_a_grant_names_who_has_its_vppb_before_who_has_its_target() -> None:
    granted = replace(OPERATION, granted=(BINDING,))
    other = BindTarget("SW", "M9")
    both = replace(look(), foreign=((VppbId("SW", "2", 7), LD), (VPPB, other)))
    assert reasons(granted, both) == [("UnbindAwaited", ("ld 3", "SW/M1", "SW/1/0"))]


@in_virtual_time
async def test_a_wait_lasts_from_when_it_began_until_its_operation_is_over() -> None:
    published: Any = SimpleNamespace(base=SimpleNamespace(facts=Facts()))
    waits = Waits("F", published, VirtualClock())
    released = replace(OPERATION, released=(BINDING,))
    assert waits.lasting(released, released, look(dark=True)) == ()
    await asyncio.sleep(LASTING_S)
    (told_,) = waits.lasting(released, released, look(dark=True))
    assert waits.told(OPERATION.id) == (told_,)
    waits.keep({OPERATION.id})
    assert waits.told(OPERATION.id) == (told_,)
    waits.keep(set())
    assert waits.told(OPERATION.id) == ()
    assert waits.lasting(released, released, look(dark=True)) == ()


@pytest.mark.expects_errors
@in_virtual_time
async def test_a_grant_of_what_another_manager_holds_names_where_it_is_bound_once() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        rig.hardware["PCIe"].execute(Bind(HOST2, GPU1), "outside")
        await rig.until(lambda: rig.loop().foreign == (HOST2,))
        made = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        await lasting()
        what = ["the whole device", GPU1_PORT, "pcie1/2/0"]
        assert told(rig, made.task) == [("UnbindAwaited", what)]
        rig.hardware["PCIe"].execute(Unbind(HOST2, GPU1), "outside")
        assert await ended(rig, made.task) == ("Completed", "Warning")
        assert len(told(rig, made.task)) == 1
        assert rig.bound() == {HOST1: GPU1}


@in_virtual_time
async def test_a_wait_that_is_soon_over_is_not_told() -> None:
    async with running_kernel(policy=PATIENT, sync_budget_s=0.1) as rig:
        rig.hardware["PCIe"].cut("pcie1", LASTING_S / 2)
        made = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert await ended(rig, made.task) == ("Completed", "OK")


@in_virtual_time
async def test_what_the_driver_is_carrying_out_is_no_wait_for_anybody_else() -> None:
    async with running_kernel(policy=replace(PATIENT, apply_timeout_s=60.0)) as rig:
        rig.faults().next_apply(None, Slow(30.0))
        made = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert await ended(rig, made.task) == ("Completed", "OK")


@in_virtual_time
async def test_a_release_at_a_silent_switch_says_so_and_can_not_be_called_off() -> None:
    async with running_kernel(policy=PATIENT) as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        rig.hardware["PCIe"].cut("pcie1")
        gone = await rig.delete(zone)
        await lasting()
        assert told(rig, gone.task) == [("SwitchAwaited", [SWITCH])]
        error = await refused(rig.delete(str(gone.task)))
        assert (error.status, keys(error)) == (409, ["Base.OperationNotAllowed"])
        rig.hardware["PCIe"].heal("pcie1")
        assert await ended(rig, gone.task) == ("Completed", "Warning")
        assert rig.bound() == {}


@in_virtual_time
async def test_a_grant_in_a_fabric_that_answers_nothing_is_taken_back_in_the_end() -> None:
    async with running_kernel(policy=Policy(operation_s=20.0)) as rig:
        rig.hardware["PCIe"].cut("pcie1")
        made = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        await rig.until(lambda: not rig.published.exists(made.uri))
        assert rig.get(str(made.task))["TaskState"] == "Stopping"
        assert [key for key, _ in told(rig, made.task)] == [
            "SwitchAwaited",
            "OperationTimeout",
            "HardwareRefused",
        ]
        rig.hardware["PCIe"].heal("pcie1")
        assert await ended(rig, made.task) == ("Exception", "Critical")
        assert rig.bound() == {} == rig.wanted()


@pytest.mark.expects_errors
@in_virtual_time
async def test_a_chunk_whose_ld_another_manager_has_bound_is_left_to_it_and_reported() -> None:
    async with running(policy=PATIENT, sync_budget_s=0.0) as rig:
        await rig.until(lambda: rig.loop("CXL").cycles > 0)
        await ended(rig, (await a_chunk(rig)).task)
        (mine,) = parts(rig)
        rig.hardware["CXL"].execute(Bind(THEIRS, mine), "outside")
        await rig.until(lambda: rig.loop("CXL").foreign == (THEIRS,))
        gone = await rig.delete(CHUNK)
        assert await ended(rig, gone.task) == ("Completed", "Warning")
        vppb = f"{CXL_FABRIC}/Switches/cxl1/VCSs/2/VPPBs/1"
        assert told(rig, gone.task) == [("CapacityLeft", ["ld 0", pooled_port(mine), vppb])]
        await rig.until(lambda: rig.loop("CXL").foreign_parts == (mine,))
        conditions = [each["Message"] for each in rig.get(CXL_FABRIC)["Status"]["Conditions"]]
        assert any("capacity allocated by somebody else" in each for each in conditions)
        # It is theirs from now on: that they move it must not take it away from them.
        rig.hardware["CXL"].execute(Unbind(THEIRS, mine), "outside")
        await lasting()
        assert parts(rig)[mine][0] == 1024
        again = await a_chunk(rig)
        await ended(rig, again.task)
        assert mine not in {each.target for each in rig.published.state.index.allocations.values()}


@pytest.mark.expects_errors
@in_virtual_time
async def test_a_chunk_is_given_back_where_bindings_of_others_are_undone() -> None:
    async with running(policy=replace(PATIENT, enforce=True)) as rig:
        await a_chunk(rig)
        (mine,) = parts(rig)
        rig.hardware["CXL"].execute(Bind(THEIRS, mine), "outside")
        rig.faults("CXL").next_apply(None, Refuse("locked"), times=None, only=(Unbind,))
        gone = await rig.delete(CHUNK)
        await lasting()
        assert rig.get(str(gone.task))["TaskState"] == "Running"
        assert [key for key, _ in told(rig, gone.task)] == ["UnbindAwaited"]
        rig.faults("CXL").clear()
        assert await ended(rig, gone.task) == ("Completed", "Warning")
        assert parts(rig) == {} == rig.bound("CXL")


@in_virtual_time
async def test_what_a_device_that_is_gone_is_to_give_back_can_be_called_off() -> None:
    async with running(policy=PATIENT, sync_budget_s=0.0) as rig:
        await ended(rig, (await a_chunk(rig)).task)
        (mine,) = parts(rig)
        rig.hardware["CXL"].remove_device("pooled1")
        gone = await rig.delete(CHUNK)
        error = await refused(rig.delete(str(gone.task)))
        assert error.status == 409
        await lasting()
        assert told(rig, gone.task) == [("DeviceAwaited", [pooled_port(mine)])]
        assert (await rig.delete(str(gone.task))).kind is OutcomeKind.DELETED
        assert await ended(rig, gone.task) == ("Cancelled", "Warning")
        assert [key for key, _ in told(rig, gone.task)] == ["DeviceAwaited", "TaskCancelled"]
        rig.hardware["CXL"].return_device("pooled1")
        await rig.until(lambda: rig.loop("CXL").foreign_parts == (mine,))


@in_virtual_time
async def test_what_comes_back_before_that_is_given_back_as_ever() -> None:
    async with running(policy=PATIENT) as rig:
        await a_chunk(rig)
        rig.hardware["CXL"].remove_device("pooled1")
        gone = await rig.delete(CHUNK)
        await lasting()
        rig.hardware["CXL"].return_device("pooled1")
        assert await ended(rig, gone.task) == ("Completed", "Warning")
        assert parts(rig) == {}


def exchanged(inventory: Inventory) -> Inventory:
    """Return an inventory with another device of the same kind in the place of one."""
    devices = [
        replace(each, id="new") if each.id == "pooled1" else each for each in inventory.devices
    ]
    switches = [
        replace(
            switch,
            ports=tuple(
                replace(port, device="new") if port.device == "pooled1" else port
                for port in switch.ports
            ),
        )
        for switch in inventory.switches
    ]
    return replace(inventory, devices=tuple(devices), switches=tuple(switches))


async def found(rig: Rig, inventory: Inventory) -> None:
    async with rig.published.looking:
        rig.kernel.rebase(a_base(inventory))


@in_virtual_time
async def test_what_one_device_is_to_give_back_is_not_taken_from_another_in_its_place() -> None:
    async with running(policy=PATIENT, sync_budget_s=0.0) as rig:
        await ended(rig, (await a_chunk(rig)).task)
        (mine,) = parts(rig)
        rig.hardware["CXL"].remove_device("pooled1")
        gone = await rig.delete(CHUNK)
        await found(rig, exchanged(mixed("CXL")))
        rig.hardware["CXL"].return_device("pooled1")
        await lasting()
        assert parts(rig)[mine][0] == 1024
        assert [key for key, _ in told(rig, gone.task)] == ["DeviceAwaited"]
        rig.hardware["CXL"].remove_device("pooled1")
        await found(rig, mixed("CXL"))
        rig.hardware["CXL"].return_device("pooled1")
        assert await ended(rig, gone.task) == ("Completed", "Warning")
        assert parts(rig) == {}


@in_virtual_time
async def test_who_gives_up_waiting_for_a_scrub_lets_nobody_see_what_was_not_scrubbed() -> None:
    async with running(policy=PATIENT) as rig:
        await a_chunk(rig)
        await connect(rig, 0)
        (mine,) = parts(rig)
        rig.hardware["CXL"].remove_device("pooled1")
        gone = await rig.delete(f"{CONNECTIONS}/c0")
        await lasting()
        assert told(rig, gone.task) == [("DeviceAwaited", [pooled_port(mine)])]
        assert rig.bound("CXL") == {}
        assert (await rig.delete(str(gone.task))).kind is OutcomeKind.DELETED
        # Nobody else gets it before it is clean, whoever gave up waiting for that.
        await rig.delete(f"{CXL_FABRIC}/Zones/z0")
        rig.hardware["CXL"].return_device("pooled1")
        await lasting()
        await connect(rig, 1)
        await rig.until(lambda: not rig.kernel.operations.open_of("CXL"), 400.0)
        assert rig.bound("CXL") == rig.wanted("CXL") != {}
        assert rig.oracle("CXL").exposures() == []


class Busy(VirtualDriver):
    """Tells that a vPPB is being changed, and nobody knows what it was."""

    busy = frozenset({HOST2})

    async def observe(self) -> Observation:
        return replace(await super().observe(), busy=self.busy)


@in_virtual_time
async def test_nothing_is_granted_beside_a_vppb_that_nobody_knows_anything_of() -> None:
    clock = VirtualClock()
    hardware = {"PCIe": Hardware(PCIE, clock)}
    driver = Busy(hardware["PCIe"], clock, clock)
    drivers: Any = {"PCIe": driver}
    async with running_kernel(
        hardware=hardware, drivers=drivers, inventories=(PCIE,), policy=PATIENT
    ) as rig:
        await rig.until(lambda: rig.loop().cycles > 0)
        assert HOST2 in rig.kernel.writer.tip_view.occupied
        made = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        await lasting()
        assert rig.bound() == {}
        assert told(rig, made.task) == [("OperationAwaited", [SWITCH])]
        driver.busy = frozenset()
        assert await ended(rig, made.task) == ("Completed", "Warning")
        assert rig.bound() == {HOST1: GPU1}
        assert HOST2 not in rig.kernel.writer.tip_view.occupied


@in_virtual_time
async def test_a_vppb_that_nobody_knows_anything_of_is_shown_busy_among_the_others() -> None:
    clock = VirtualClock()
    hardware = {"CXL": Hardware(CXL, clock)}
    driver = Busy(hardware["CXL"], clock, clock)
    driver.busy = frozenset({VppbId("cxl1", "2", 0)})
    drivers: Any = {"CXL": driver}
    async with running_kernel(hardware=hardware, drivers=drivers, inventories=(CXL,)) as rig:
        vppbs = f"{CXL_FABRIC}/Switches/cxl1/VCSs/{{}}/VPPBs/0"

        def shown(vcs: int) -> str:
            return str(rig.get(vppbs.format(vcs)).get("BindingStatus"))

        await rig.until(lambda: (shown(1), shown(2)) == ("Unbound", "Busy"))
        assert rig.status(CXL_FABRIC) == ("Enabled", "OK")
        driver.busy = frozenset()
        await rig.until(lambda: shown(2) == "Unbound")


@in_virtual_time
async def test_a_release_that_hardware_takes_and_never_does_says_so_after_its_time() -> None:
    async with running_kernel(sync_budget_s=0.5) as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        rig.faults().next_apply(None, Pretend(claim=False), times=None, only=(Unbind,))
        gone = await rig.delete(zone)
        await asyncio.sleep(290.0)
        assert told(rig, gone.task) == []
        await asyncio.sleep(100.0)
        step = "Unbind of vPPB pcie1/1/0"
        reason = ("HardwareRefused", [step, GPU1_PORT, "not observed within 300 s"])
        assert told(rig, gone.task) == [reason]
        # It is still bound: only who takes the fabric out of the configuration ends that.
        assert (await refused(rig.delete(str(gone.task)))).status == 409
        assert rig.loop().waits(str(gone.task).rpartition("/")[2])
        rig.faults().clear()
        assert await ended(rig, gone.task) == ("Completed", "Warning")
        assert told(rig, gone.task) == [reason]


@in_virtual_time
async def test_a_part_that_a_device_never_gives_back_can_be_called_off_after_its_time() -> None:
    async with running(sync_budget_s=0.5) as rig:
        await a_chunk(rig)
        (mine,) = parts(rig)
        rig.faults("CXL").next_apply(None, Pretend(claim=False), times=None, only=(Deallocate,))
        gone = await rig.delete(CHUNK)
        await asyncio.sleep(320.0)
        step = ["Deallocate of ld 0", pooled_port(mine), "not observed within 300 s"]
        assert told(rig, gone.task) == [("HardwareRefused", step)]
        assert (await rig.delete(str(gone.task))).kind is OutcomeKind.DELETED
        assert await ended(rig, gone.task) == ("Cancelled", "Warning")


@in_virtual_time
async def test_what_is_called_off_twice_says_so_once() -> None:
    async with running(policy=PATIENT, sync_budget_s=0.5) as rig:
        rig.faults("CXL").next_apply(None, Slow(30.0), only=(Allocate,))
        made = await a_chunk(rig)
        await rig.delete(str(made.task))
        rig.hardware["CXL"].remove_device("pooled1")
        await asyncio.sleep(60.0)
        await rig.delete(str(made.task))
        assert await ended(rig, made.task) == ("Cancelled", "Warning")
        assert [key for key, _ in told(rig, made.task)].count("TaskCancelled") == 1
