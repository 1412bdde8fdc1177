"""Every fault that a user can order: that it is checked, and that it strikes."""

import asyncio

import pytest

from redfish_fm.drivers.base import DriverRejected, DriverUnavailable
from redfish_fm.drivers.virtual.fault_kinds import Value
from redfish_fm.drivers.virtual.fault_table import FAULTS
from redfish_fm.drivers.virtual.objects import ObjectKind
from redfish_fm.drivers.virtual.orders import BadOrder, FaultDesk, UnknownFault
from redfish_fm.fabric.model import Media, PartState, PortId
from tests.drivers.fabrics import Powered, machines_of
from tests.drivers.virtual.physics import (
    FIRST,
    GIB,
    LD,
    allocate,
    bind,
    deallocate,
    part,
    session,
    world,
)
from tests.virtual_time import in_virtual_time

IDS = {
    ObjectKind.FABRIC: "World",
    ObjectKind.SWITCH: "cxl1",
    ObjectKind.PORT: "cxl1/D1",
    ObjectKind.DEVICE: "pool",
    ObjectKind.DOMAIN: "box",
    ObjectKind.VPPB: "cxl1/1/0",
    ObjectKind.PART: "cxl1/D1/ld=0",
    ObjectKind.HOST: "host1",
}
EXAMPLES: dict[type, Value] = {str: "some", int: 1, float: 1.0, bool: True}


def desk(powered: Powered) -> FaultDesk:
    return FaultDesk(powered.hardware, powered.faults, powered.clock, machines_of(powered.hardware))


ROWS = [(name, kind) for name, fault in FAULTS.items() for kind in fault.applies_to]


@in_virtual_time
@pytest.mark.parametrize(("name", "kind"), ROWS, ids=lambda each: getattr(each, "value", each))
async def test_every_fault_can_be_ordered_for_all_it_applies_to(
    name: str, kind: ObjectKind
) -> None:
    powered = session(world())
    powered.hardware.execute(allocate())
    parameters = FAULTS[name].parameters
    given = {n: p.one_of[0] if p.one_of else EXAMPLES[p.type] for n, p in parameters.items()}
    orders = desk(powered)
    orders.order(name, IDS[kind], given)
    orders.order(name, IDS[kind], {n: given[n] for n, p in parameters.items() if p.required})
    await orders.close()


@in_virtual_time
async def test_an_unknown_fault_lists_those_there_are() -> None:
    with pytest.raises(UnknownFault, match=r"no fault 'nope'.*link-down"):
        desk(session(world())).order("nope", "World")


@in_virtual_time
async def test_a_bad_order_says_all_that_is_wrong_and_does_nothing() -> None:
    powered = session(world())
    with pytest.raises(BadOrder) as bad:
        desk(powered).order("slow", "nowhere", {"step": "dance", "times": -1, "colour": "red"})
    assert bad.value.problems == (
        "there is no switch or fabric 'nowhere'",
        "there is no parameter 'colour'",
        "parameter 'delay_s' is missing",
        "parameter 'step' is none of bind, unbind, allocate, deallocate, sanitize,"
        " set-qos: 'dance'",
        "parameter 'times' is negative: -1",
    )
    await powered.driver.apply(allocate(), powered.in_s())


WRONG: dict[str, tuple[str, str, dict[str, Value]]] = {
    "a text for a number": ("link-degrade", "cxl1/D1", {"width": "4"}),
    "a flag for a number": ("link-degrade", "cxl1/D1", {"width": True}),
    "a number for a flag": ("answer-lost", "cxl1", {"reset": 1}),
    "no number": ("slow", "cxl1", {"delay_s": float("nan")}),
    "a port that is not there": ("link-down", "cxl1/D99", {}),
    "a switch that is not there": ("link-down", "cxl9/D1", {}),
    "a vPPB that is not there": ("lie", "cxl1/1/99", {}),
    "a path that means nothing": ("lie", "cxl1/D1/moon=1", {}),
    "a path without a number": ("lie", "cxl1/D1/ld=x", {}),
    "a switch for a device": ("lost", "cxl1", {}),
}


@in_virtual_time
@pytest.mark.parametrize(("name", "object_id", "given"), WRONG.values(), ids=WRONG)
async def test_an_order_is_refused(name: str, object_id: str, given: dict[str, Value]) -> None:
    with pytest.raises(BadOrder):
        desk(session(world())).order(name, object_id, given)


@in_virtual_time
async def test_ordered_link_faults_strike() -> None:
    powered = session(world())
    orders, port = desk(powered), PortId("cxl1", "D1")
    orders.order("link-down", "cxl1/D1")
    assert not powered.hardware.port_states("cxl1")[port].link_up
    orders.order("link-up", "cxl1/D1")
    await asyncio.sleep(1)
    orders.order("link-degrade", "cxl1/D1", {"width": 4, "gen": 3})
    assert powered.hardware.port_states("cxl1")[port].speed_gbps == 32.0
    orders.order("health", "cxl1/D1", {"health": "Critical"})
    orders.order("health", "cxl1", {"health": "Warning"})
    seen = await powered.driver.observe()
    assert (seen.ports[port].health, seen.switch_health["cxl1"]) == ("Critical", "Warning")
    orders.order("link-flap", "cxl1/D2", {"times": 2, "period_s": 1})
    await asyncio.sleep(5)
    actions = powered.hardware.oracle().actions()
    assert sum(1 for done in actions if done.note == "link_up=False") == 3
    orders.order("link-flap", "cxl1/D2", {"times": 100})
    await orders.close()


@in_virtual_time
async def test_nothing_befalls_once_the_desk_is_closed() -> None:
    powered = session(world())
    orders = desk(powered)
    orders.order("link-flap", "cxl1/D2", {"times": 1000, "period_s": 0})
    await orders.close()
    orders.order("link-down", "cxl1/D1")
    before = len(powered.hardware.oracle().actions())
    await asyncio.sleep(5)
    assert len(powered.hardware.oracle().actions()) == before
    assert powered.hardware.port_states("cxl1")[PortId("cxl1", "D1")].link_up


@in_virtual_time
async def test_an_appliance_goes_and_comes_with_all_its_ports() -> None:
    powered = session(world())
    orders = desk(powered)
    ports = [PortId("cxl1", name) for name in ("D1", "D2", "D3")]
    orders.order("lost", "box")
    states = powered.hardware.port_states("cxl1")
    assert [states[port].device_present for port in ports] == [False, False, True]
    orders.order("all-back", "box")
    orders.order("power-off", "box")
    states = powered.hardware.port_states("cxl1")
    assert [states[port].powered for port in ports] == [False, False, True]
    orders.order("power-on", "box")
    await asyncio.sleep(1)
    assert all(state.link_up for state in powered.hardware.port_states("cxl1").values())


@in_virtual_time
async def test_ordered_command_faults_strike_the_commands_they_name() -> None:
    powered = session(world())
    orders = desk(powered)
    orders.order("refused", "cxl1", {"step": "deallocate", "times": 2, "reason": "worn out"})
    await powered.driver.apply(allocate(), powered.in_s())
    for _ in range(2):
        with pytest.raises(DriverRejected, match="worn out"):
            await powered.driver.apply(deallocate(), powered.in_s())
    await powered.driver.apply(deallocate(), powered.in_s())
    orders.order("answer-lost", "World", {"times": 0})
    for step in (allocate(), bind()):
        with pytest.raises(DriverUnavailable):
            await powered.driver.apply(step, powered.in_s())
    orders.order("calm", "World")
    assert (await powered.driver.observe()).bindings[FIRST] == LD


@in_virtual_time
async def test_an_ordered_lateness_stays_within_the_bound() -> None:
    powered = session(world())
    desk(powered).order("late", "cxl1", {"delay_s": 3600.0})
    with pytest.raises(DriverUnavailable):
        await powered.driver.apply(allocate(), powered.in_s())
    await asyncio.sleep(powered.hardware.late_max_s)
    assert LD in powered.hardware.part_states("cxl1")


@in_virtual_time
async def test_ordered_lies_are_told_until_the_truth_is() -> None:
    powered = session(world())
    orders = desk(powered)
    orders.order("lie", "cxl1/1/0", {"target": "cxl1/D6"})
    orders.order("lie", "cxl1/D1/ld=0", {"size_mib": 256, "media": "dirty"})
    seen = await powered.driver.observe()
    assert seen.bindings[FIRST] == part("D6")
    assert seen.parts[LD] == PartState(256, Media.DIRTY)
    orders.order("truth", "cxl1/1/0")
    assert (await powered.driver.observe()).bindings[FIRST] is None
    orders.order("truth", "World")
    assert LD not in (await powered.driver.observe()).parts


@in_virtual_time
async def test_ordered_outages_of_a_switch() -> None:
    powered = session(world())
    for step in (allocate(size_mib=GIB), bind()):
        powered.hardware.execute(step)
    orders = desk(powered)
    orders.order("cut", "cxl1")
    assert (await powered.driver.observe()).unreachable == {"cxl1"}
    orders.order("healed", "cxl1")
    orders.order("restart", "cxl1", {"keeps_bindings": False, "down_s": 1.0})
    assert (await powered.driver.observe()).unreachable == {"cxl1"}
    await asyncio.sleep(2)
    assert (await powered.driver.observe()).bindings[FIRST] is None
