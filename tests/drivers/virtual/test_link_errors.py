"""What the ports of virtual hardware count on their links, and what becomes of their cables."""

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from redfish_fm.drivers.virtual.faults import FaultPlan
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.links import changed, negotiate
from redfish_fm.drivers.virtual.orders import FaultDesk
from redfish_fm.drivers.virtual.state import virtual_db
from redfish_fm.fabric.equipment import Cable, SwitchHardware
from redfish_fm.fabric.hardware import Part
from redfish_fm.fabric.link_errors import NO_ERRORS, LinkErrors
from redfish_fm.fabric.model import (
    CableState,
    Inventory,
    Link,
    PortId,
    PortState,
)
from tests.drivers.fabrics import machines_of
from tests.drivers.virtual.fault_page import LINK_FAULTS, LinkFault
from tests.drivers.virtual.physics import FIRST, NEXT, OTHER_LD, WORLD, allocate, bind
from tests.virtual_time import VirtualClock, in_virtual_time

POOL, HOST = PortId("cxl1", "D1"), PortId("cxl1", "U1")
CABLE = Cable(Part("redfish_fm", "cable", "C1", "S1"), 1.0)
LOST = LinkErrors(correctable=1, recoveries=1, fatal=1)


def cabled(*, counts: bool = True) -> Inventory:
    """Return the small fabric with a cable at every port of its switches."""
    hardware = SwitchHardware("P1", "uuid", "1.0", counts_errors=counts)
    switches = (
        replace(each, hardware=hardware, ports=tuple(replace(p, cable=CABLE) for p in each.ports))
        for each in WORLD.switches
    )
    return replace(WORLD, switches=tuple(switches))


def power_up(state: Path | None = None, *, counts: bool = True) -> Hardware:
    return Hardware(cabled(counts=counts), VirtualClock(), state)


def seen(hardware: Hardware, port: PortId = POOL) -> PortState:
    return hardware.port_states(port.switch)[port]


def ids(fault: LinkFault) -> str:
    return " ".join((fault.name, *(f"{name}={value}" for name, value in fault.given.items())))


@in_virtual_time
@pytest.mark.parametrize("fault", LINK_FAULTS, ids=ids)
async def test_a_fault_is_counted_and_shown_as_the_guide_says(fault: LinkFault) -> None:
    hardware, clock = power_up(), VirtualClock()
    hardware.execute(allocate())
    hardware.execute(bind())
    desk = FaultDesk(hardware, FaultPlan(), clock, machines_of(hardware))
    desk.order(fault.name, fault.object, fault.given)
    await asyncio.sleep(10)
    assert seen(hardware).errors == fault.errors
    assert seen(hardware).cable is fault.cable
    await desk.close()


@in_virtual_time
async def test_a_fabric_that_nothing_befell_has_counted_nothing() -> None:
    hardware = power_up()
    hardware.execute(allocate())
    hardware.execute(bind())
    for switch in hardware.switches:
        for state in hardware.port_states(switch).values():
            assert (state.errors, state.cable) == (NO_ERRORS, CableState.NORMAL)


@in_virtual_time
async def test_a_switch_that_does_not_count_tells_no_errors_and_not_zero() -> None:
    hardware = power_up(counts=False)
    hardware.set_port(POOL, link_up=False)
    assert seen(hardware).errors is None
    assert hardware.switches["cxl1"].errors == {}


@in_virtual_time
async def test_what_is_down_already_is_not_lost_again() -> None:
    hardware = power_up()
    hardware.power_device("pool", on=False)
    hardware.remove_device("pool")
    hardware.set_port(POOL, link_up=False)
    hardware.set_port(POOL, width=4)
    assert seen(hardware).errors == LOST


@in_virtual_time
async def test_a_link_that_is_lost_in_training_was_never_up() -> None:
    hardware = power_up()
    hardware.set_port(POOL, link_up=False)
    hardware.set_port(POOL, link_up=True)
    assert seen(hardware).training
    hardware.set_port(POOL, link_up=False)
    assert seen(hardware).errors == LOST
    hardware.set_port(POOL, link_up=True)
    await asyncio.sleep(1)
    hardware.port_states("cxl1")
    hardware.set_port(POOL, link_up=False)
    assert seen(hardware).errors == LOST + LOST


@in_virtual_time
async def test_the_request_of_every_bound_host_that_runs_is_refused_when_a_link_is_lost() -> None:
    hardware = power_up()
    for target, vppb in ((allocate().target, FIRST), (OTHER_LD, NEXT)):
        hardware.execute(allocate(target))
        hardware.execute(bind(vppb, target))
    hardware.set_port(POOL, link_up=False)
    assert seen(hardware).errors == replace(LOST, non_fatal=2, unsupported_requests=2)
    hardware.set_port(POOL, link_up=True)
    hardware.power_host("host1", on=False)
    await asyncio.sleep(1)
    hardware.advance()
    hardware.set_port(POOL, link_up=False)
    told = seen(hardware).errors
    assert told is not None
    assert (told.fatal, told.non_fatal) == (2, 2), "nobody asks whose host is off"


@in_virtual_time
async def test_the_port_of_a_host_reports_no_surprise_and_its_power_is_no_error() -> None:
    hardware = power_up()
    hardware.power_host("host1", on=False)
    assert seen(hardware, HOST).errors == NO_ERRORS
    hardware.power_host("host1", on=True)
    await asyncio.sleep(1)
    hardware.advance()
    hardware.set_port(HOST, present=False)
    assert seen(hardware, HOST).errors == LinkErrors(correctable=1, recoveries=1)


@in_virtual_time
async def test_all_ports_of_a_device_lose_it_and_others_count_nothing() -> None:
    hardware = power_up()
    hardware.remove_device("dual")
    told = {
        port: state.errors
        for switch in hardware.switches
        for port, state in hardware.port_states(switch).items()
        if state.errors != NO_ERRORS
    }
    assert told == {PortId("cxl1", "D6"): LOST, PortId("cxl2", "D1"): LOST}


@in_virtual_time
async def test_counts_and_cables_outlive_the_service_and_counts_no_restart_of_the_switch(
    tmp_path: Path,
) -> None:
    file = virtual_db(tmp_path)
    first = power_up(file)
    first.set_port(POOL, link_up=False)
    first.reset_link(HOST)
    first.remove_device("dual")
    before = {port: state.errors for port, state in first.port_states("cxl1").items()}
    first.close()
    again = power_up(file)
    assert {p: state.errors for p, state in again.port_states("cxl1").items()} == before
    assert seen(again).cable is CableState.FAILED
    again.set_port(POOL, link_up=True)
    await asyncio.sleep(1)
    again.advance()
    again.set_port(POOL, link_up=False)
    assert seen(again).errors == LOST + LOST
    again.restart("cxl1")
    again.close()
    third = power_up(file)
    assert {state.errors for state in third.port_states("cxl1").values()} == {NO_ERRORS}
    dual = PortId("cxl2", "D1")
    assert seen(third, dual).errors == LOST, "the other switch kept its power"
    third.close()


@in_virtual_time
async def test_a_service_that_starts_while_hosts_are_off_counts_nothing(tmp_path: Path) -> None:
    file = virtual_db(tmp_path)
    for _ in range(2):
        hardware = power_up(file)
        hardware.power_host("host1", on=False)
        assert seen(hardware, HOST).errors == NO_ERRORS
        hardware.close()


@in_virtual_time
async def test_a_file_from_before_errors_were_counted_begins_at_zero(tmp_path: Path) -> None:
    file = virtual_db(tmp_path)
    first = power_up(file)
    first.set_port(POOL, link_up=False)
    first.close()
    with sqlite3.connect(file) as db:
        db.execute("DROP TABLE link")
        db.execute("PRAGMA user_version = 5")
    db.close()
    again = power_up(file)
    assert (seen(again).errors, seen(again).cable) == (NO_ERRORS, CableState.FAILED)
    again.remove_device("dual")
    again.close()
    third = power_up(file)
    assert seen(third, PortId("cxl1", "D6")).errors == LOST
    third.close()


@in_virtual_time
async def test_a_limit_that_the_ends_do_not_reach_degrades_no_cable() -> None:
    hardware = power_up()
    hardware.set_port(PortId("cxl1", "D6"), width=8)  # of a device with four lanes
    told = seen(hardware, PortId("cxl1", "D6"))
    assert (told.cable, told.errors) == (CableState.NORMAL, NO_ERRORS)


def test_lanes_and_generations_that_come_back_cost_a_retraining_and_no_error() -> None:
    whole = negotiate((Link(5, 16),), None, None)
    for gen, width in ((None, 4), (3, None), (3, 4)):
        worse = negotiate((Link(5, 16),), gen, width)
        assert changed(worse, whole) == LinkErrors(recoveries=1)
        down = changed(whole, worse)
        assert down.recoveries == 1
        assert down.bad_tlps == (16 - worse.width) + (5 - worse.gen)
        assert down.correctable == down.bad_tlps + down.bad_dllps + down.replay_rollovers
