"""Virtual hosts: what a BMC takes and refuses, what it costs, and what survives the service."""

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from redfish_fm.clocks import ScaledClock
from redfish_fm.drivers.base import DriverRejected, DriverUnavailable
from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.drivers.virtual.faults import FaultPlan, Lost, Refuse, Slow
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.machines import BOOT_S, SHUTDOWN_S, Machines, NotNow
from redfish_fm.drivers.virtual.orders import FaultDesk
from redfish_fm.drivers.virtual.power import VirtualPower, create
from redfish_fm.drivers.virtual.state import virtual_db
from redfish_fm.fabric.model import PortId
from redfish_fm.fabric.power import PowerState, ResetType
from tests.drivers.fabrics import CXL, FIRST, PCIE, bind, ld, machines_of
from tests.virtual_time import VirtualClock, in_virtual_time

HOST, OTHER = "host1", "host2"
UP = {fabric.fabric: [p.id for s in fabric.switches for p in s.ports if p.host == HOST]
      for fabric in (PCIE, CXL)}  # fmt: skip

ON, OFF = PowerState.ON, PowerState.OFF
STARTS, STOPS = PowerState.POWERING_ON, PowerState.POWERING_OFF
NO = None
TABLE: dict[ResetType, dict[PowerState, PowerState | None]] = {
    ResetType.ON: {ON: ON, OFF: STARTS, STARTS: STARTS, STOPS: NO},
    ResetType.FORCE_ON: {ON: ON, OFF: STARTS, STARTS: STARTS, STOPS: NO},
    ResetType.FORCE_OFF: {ON: OFF, OFF: OFF, STARTS: OFF, STOPS: OFF},
    ResetType.GRACEFUL_SHUTDOWN: {ON: STOPS, OFF: OFF, STARTS: NO, STOPS: STOPS},
    ResetType.GRACEFUL_RESTART: {ON: STOPS, OFF: NO, STARTS: NO, STOPS: NO},
    ResetType.FORCE_RESTART: {ON: STARTS, OFF: STARTS, STARTS: STARTS, STOPS: STARTS},
    ResetType.POWER_CYCLE: {ON: STARTS, OFF: STARTS, STARTS: STARTS, STOPS: STARTS},
    ResetType.PUSH_POWER_BUTTON: {ON: STOPS, OFF: STARTS, STARTS: NO, STOPS: NO},
}
"""Reset type -> state before -> state at once after it; NO: the BMC refuses."""
ROWS = [(asked, before, after) for asked, row in TABLE.items() for before, after in row.items()]
LEADS_TO = {
    ON: None, OFF: ResetType.FORCE_OFF, STARTS: ResetType.FORCE_RESTART,
    STOPS: ResetType.GRACEFUL_SHUTDOWN,
}  # fmt: skip


def hosts() -> Machines:
    return machines_of(Hardware(CXL, VirtualClock()))


def test_the_table_is_complete() -> None:
    assert set(TABLE) == set(ResetType)
    assert all(set(row) == set(PowerState) for row in TABLE.values())


@in_virtual_time
@pytest.mark.parametrize(
    ("asked", "before", "after"), ROWS, ids=lambda each: getattr(each, "value", "no")
)
async def test_what_a_bmc_does_follows_from_the_state_of_its_host(
    asked: ResetType, before: PowerState, after: PowerState | None
) -> None:
    machines = hosts()
    way = LEADS_TO[before]
    if way is not None:
        machines.execute(HOST, way)
    known = machines.state(HOST)
    assert known.power is before
    if after is None:
        with pytest.raises(NotNow):
            machines.execute(HOST, asked)
        assert machines.state(HOST) == known
    else:
        machines.execute(HOST, asked)
        assert machines.state(HOST).power is after
    assert machines.state(OTHER).power is ON


@in_virtual_time
async def test_starting_and_shutting_down_take_their_time() -> None:
    machines = hosts()
    machines.execute(HOST, ResetType.GRACEFUL_RESTART)
    await asyncio.sleep(SHUTDOWN_S - 0.1)
    assert machines.state(HOST).power is STOPS
    await asyncio.sleep(0.2)
    assert machines.state(HOST).power is STARTS
    assert machines.state(HOST).boots == 1
    await asyncio.sleep(BOOT_S)
    assert machines.state(HOST).power is ON
    assert machines.next_s() is None


@in_virtual_time
async def test_a_host_without_power_has_no_links_in_any_fabric_and_its_bindings_stay() -> None:
    clock = VirtualClock()
    fabrics = [Hardware(each, clock) for each in (PCIE, CXL)]
    machines = machines_of(*fabrics)
    fabrics[1].execute(bind())
    machines.execute(HOST, ResetType.FORCE_OFF)
    for hardware in fabrics:
        states = hardware.port_states(hardware.inventory.switches[0].id)
        for port in UP[hardware.inventory.fabric]:
            assert (states[port].link_up, states[port].powered) == (False, False)
            assert states[port].device_present
        others = [state for port, state in states.items() if port not in UP[port_fabric(port)]]
        assert others and all(state.link_up for state in others)
    assert fabrics[1].binding(FIRST) == ld(0)
    machines.execute(HOST, ResetType.ON)
    states = fabrics[1].port_states("cxl1")
    assert all(states[port].training for port in UP["CXL"])
    await asyncio.sleep(1.0)
    for hardware in fabrics:
        states = hardware.port_states(hardware.inventory.switches[0].id)
        assert all(state.link_up for state in states.values())


def port_fabric(port: PortId) -> str:
    return "CXL" if port.switch == "cxl1" else "PCIe"


@in_virtual_time
async def test_a_link_that_was_down_stays_down_when_its_host_starts() -> None:
    hardware = Hardware(CXL, VirtualClock())
    machines = machines_of(hardware)
    port = UP["CXL"][0]
    hardware.set_port(port, link_up=False)
    machines.execute(HOST, ResetType.POWER_CYCLE)
    await asyncio.sleep(10.0)
    assert not hardware.port_states(port.switch)[port].link_up
    hardware.set_port(port, link_up=True)
    await asyncio.sleep(1.0)
    assert hardware.port_states(port.switch)[port].link_up


@in_virtual_time
async def test_hosts_keep_their_state_when_the_service_is_killed(tmp_path: Path) -> None:
    clock, path = VirtualClock(), virtual_db(tmp_path)
    fabric = Hardware(CXL, clock, path)
    machines = Machines([HOST, OTHER], [fabric], clock, state=path)
    machines.execute(HOST, ResetType.FORCE_OFF)
    machines.execute(OTHER, ResetType.GRACEFUL_RESTART)
    before = machines.state(HOST)
    # kill -9: nothing is closed.
    again = Hardware(CXL, clock, path)
    successor = Machines([HOST, OTHER], [again], clock, state=path)
    assert successor.state(HOST) == before
    assert not any(again.port_states("cxl1")[port].link_up for port in UP["CXL"])
    assert successor.state(OTHER).power is STOPS
    await asyncio.sleep(SHUTDOWN_S + BOOT_S + 0.1)
    assert (successor.state(OTHER).power, successor.state(OTHER).boots) == (ON, 1)
    # Whoever comes after all that time sees what it came to.
    last = Machines([HOST, OTHER], [], clock, state=path)
    assert (last.state(OTHER).power, last.state(HOST).power) == (ON, OFF)
    told = sqlite3.connect(path).execute(
        "SELECT note FROM action WHERE what = 'power' ORDER BY n LIMIT 2"
    )
    assert [note for (note,) in told] == [f"{HOST}: Off", f"{OTHER}: PoweringOff"]


@in_virtual_time
async def test_a_host_that_a_topology_has_lost_is_forgotten(tmp_path: Path) -> None:
    clock, path = VirtualClock(), virtual_db(tmp_path)
    Machines([HOST], [], clock, state=path).execute(HOST, ResetType.FORCE_OFF)
    assert [*Machines([OTHER], [], clock, state=path).hosts] == [OTHER]


@in_virtual_time
async def test_at_scale_zero_a_watched_host_starts_at_once() -> None:
    clock = VirtualClock()
    fabric_clock = ScaledClock(clock, 0)
    hardware = Hardware(CXL, clock, fabric_clock=fabric_clock)
    driver = create([hardware], clock, fabric_clock)
    hints = driver.watch()
    await driver.reset(HOST, ResetType.FORCE_RESTART, clock.now_s() + 1)
    seen = None
    while seen is not ON:
        await anext(hints)
        seen = (await driver.observe())[HOST].power
    assert clock.now_s() == 0.0
    await driver.close()


def a_driver() -> tuple[VirtualPower, Machines, VirtualClock]:
    clock = VirtualClock()
    machines = machines_of(Hardware(CXL, clock))
    return VirtualPower(machines, clock, clock), machines, clock


@in_virtual_time
async def test_a_slow_bmc_carries_out_what_nobody_waits_for_any_more() -> None:
    driver, machines, clock = a_driver()
    machines.next_fault[HOST] = Slow(10.0)
    with pytest.raises(DriverUnavailable, match="no answer before the deadline"):
        await driver.reset(HOST, ResetType.FORCE_OFF, clock.now_s() + 5)
    assert machines.state(HOST).power is ON
    await asyncio.sleep(6.0)
    assert machines.state(HOST).power is OFF
    await driver.close()


@in_virtual_time
async def test_commands_to_one_host_wait_for_each_other_and_for_no_other_host() -> None:
    driver, machines, clock = a_driver()
    machines.next_fault[HOST] = Slow(3.0)
    slow = asyncio.create_task(driver.reset(HOST, ResetType.FORCE_OFF, clock.now_s() + 10))
    await asyncio.sleep(0.1)
    next_one = asyncio.create_task(driver.reset(HOST, ResetType.ON, clock.now_s() + 10))
    await driver.reset(OTHER, ResetType.FORCE_OFF, clock.now_s() + 1)
    assert machines.state(HOST).power is ON
    await slow
    await next_one
    assert machines.state(HOST).boots == 1
    await driver.close()


@in_virtual_time
async def test_ordered_faults_of_hosts_strike() -> None:
    driver, machines, clock = a_driver()
    hardware = Hardware(CXL, clock)
    desk = FaultDesk(hardware, FaultPlan(), clock, machines)

    async def ask(asked: ResetType) -> None:
        await driver.reset(HOST, asked, clock.now_s() + 30)

    desk.order("reset-refused", HOST, {"reason": "panel locked"})
    desk.order("reset-refused", HOST, {"reason": "panel locked"})  # by another fabric
    with pytest.raises(DriverRejected, match="panel locked"):
        await ask(ResetType.FORCE_OFF)
    desk.order("reset-answer-lost", HOST, {"executed": False})
    with pytest.raises(DriverUnavailable):
        await ask(ResetType.FORCE_OFF)
    assert machines.state(HOST).power is ON
    desk.order("reset-answer-lost", HOST)
    with pytest.raises(DriverUnavailable):
        await ask(ResetType.FORCE_OFF)
    assert machines.state(HOST).power is OFF
    await ask(ResetType.ON)
    await asyncio.sleep(BOOT_S)
    desk.order("shutdown-hangs", HOST)
    await ask(ResetType.GRACEFUL_SHUTDOWN)
    await asyncio.sleep(3600.0)
    assert machines.state(HOST).power is STOPS
    await ask(ResetType.FORCE_OFF)
    assert machines.state(HOST).power is OFF
    desk.order("bmc-lost", HOST, {"down_s": 5})
    assert not machines.reachable(HOST)
    await asyncio.sleep(5.1)
    assert machines.reachable(HOST)
    desk.order("mains-lost", OTHER)
    assert machines.state(OTHER).power is OFF
    await desk.close()
    await driver.close()


@in_virtual_time
async def test_a_fault_of_a_command_strikes_one_host_once() -> None:
    driver, machines, clock = a_driver()
    machines.next_fault[HOST] = Refuse()
    await driver.reset(OTHER, ResetType.FORCE_OFF, clock.now_s() + 1)
    with pytest.raises(DriverRejected):
        await driver.reset(HOST, ResetType.FORCE_OFF, clock.now_s() + 1)
    await driver.reset(HOST, ResetType.FORCE_OFF, clock.now_s() + 1)
    machines.next_fault[HOST] = Lost()
    await driver.close()


@in_virtual_time
async def test_a_fabric_hears_of_a_host_by_a_hint() -> None:
    clock = VirtualClock()
    hardware = Hardware(CXL, clock)
    machines, driver = machines_of(hardware), VirtualDriver(hardware, clock, clock)
    hints = driver.watch()
    waiting = asyncio.ensure_future(anext(hints))
    await asyncio.sleep(0)
    machines.execute(HOST, ResetType.FORCE_OFF)
    assert (await waiting).switch == "cxl1"
    await driver.close()


@in_virtual_time
async def test_a_host_that_was_discovered_off_is_off_until_it_is_started(tmp_path: Path) -> None:
    clock = VirtualClock()
    hosts = tuple(replace(host, powered=host.id != HOST) for host in CXL.hosts)
    inventory = replace(CXL, hosts=hosts)
    hardware = Hardware(inventory, clock)
    driver = create([hardware], clock, clock, tmp_path)
    assert {host: s.power for host, s in (await driver.observe()).items()} == {HOST: OFF, OTHER: ON}
    assert not any(hardware.port_states("cxl1")[port].link_up for port in UP["CXL"])
    await driver.reset(HOST, ResetType.ON, clock.now_s() + 1)
    await driver.close()
    again = create([Hardware(inventory, clock)], clock, clock, tmp_path)
    assert again.machines.state(HOST).power is STARTS
    await again.close()


class Counting(Machines):
    """Counts how often time passes."""

    advances = 0

    def advance(self) -> None:
        self.advances += 1
        super().advance()


@in_virtual_time
@pytest.mark.parametrize("count", [2, 300])
async def test_a_look_goes_through_all_hosts_once_however_many_there_are(count: int) -> None:
    clock = VirtualClock()
    machines = Counting([f"host{n}" for n in range(count)], (), clock)
    machines.silence("host1")
    driver = VirtualPower(machines, clock, clock)
    machines.advances = 0
    assert len(await driver.observe()) == count - 1
    assert machines.advances == 1
    await driver.close()
