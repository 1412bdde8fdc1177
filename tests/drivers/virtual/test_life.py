"""Links that train, devices that go and come back, switches that restart."""

import asyncio
from dataclasses import replace

import pytest

from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.refusals import Refusal, Refused
from redfish_fm.fabric.model import FabricKind, Link, Media, PortId, PortState
from tests.drivers.virtual.physics import (
    FIRST,
    GIB,
    LD,
    WORLD,
    allocate,
    bind,
    part,
    sanitize,
    session,
    unbind,
    world,
)
from tests.virtual_time import VirtualClock, in_virtual_time

POOL = PortId("cxl1", "D1")
DUAL = (PortId("cxl1", "D6"), PortId("cxl2", "D1"))
HOST = PortId("cxl1", "U1")


def at(hardware: Hardware, port: PortId = POOL) -> PortState:
    return hardware.port_states(port.switch)[port]


@in_virtual_time
async def test_at_first_all_links_are_trained() -> None:
    hardware = world()
    states = hardware.port_states("cxl1").values()
    assert all(state.link_up and not state.training for state in states)
    assert hardware.next_fabric_s() is None


@in_virtual_time
async def test_a_network_port_is_cabled_although_no_host_is_behind_it() -> None:
    ports = tuple(replace(port, host=None) for port in WORLD.switches[1].ports[:2])
    switch = replace(WORLD.switches[1], ports=(*ports, *WORLD.switches[1].ports[2:]))
    for kind, up in ((FabricKind.BIND, False), (FabricKind.CONNECTION_GRANTS, True)):
        hardware = Hardware(replace(WORLD, kind=kind, switches=(switch,)), VirtualClock())
        state = at(hardware, PortId("cxl2", "U1"))
        assert (state.link_up, state.device_present) == (up, up)


@in_virtual_time
async def test_a_link_that_comes_up_trains_first_and_gives_a_hint() -> None:
    powered = session(world())
    powered.hardware.set_port(POOL, link_up=False)
    assert (at(powered.hardware).link_up, at(powered.hardware).training) == (False, False)
    powered.hardware.set_port(POOL, link_up=True)
    hints = powered.driver.watch()
    assert (at(powered.hardware).link_up, at(powered.hardware).training) == (False, True)
    assert at(powered.hardware).speed_gbps is None
    await anext(hints)
    assert powered.clock.now_s() == pytest.approx(0.05)
    assert (at(powered.hardware).link_up, at(powered.hardware).training) == (True, False)


@in_virtual_time
async def test_a_link_that_goes_down_while_it_trains_stays_down() -> None:
    hardware = world()
    hardware.reset_link(POOL)
    hardware.set_port(POOL, link_up=False)
    await asyncio.sleep(1)
    assert (at(hardware).link_up, at(hardware).training) == (False, False)


@in_virtual_time
async def test_training_takes_as_long_as_the_hardware_was_made_for() -> None:
    hardware = world(training_s=2.0)
    hardware.reset_link(HOST)
    await asyncio.sleep(1.9)
    assert at(hardware, HOST).training
    await asyncio.sleep(0.2)
    assert at(hardware, HOST).link_up
    at_once = world(training_s=0.0)
    at_once.reset_link(HOST)
    assert at(at_once, HOST).link_up


@in_virtual_time
async def test_a_link_runs_at_what_both_ends_can() -> None:
    hardware = world()
    assert (at(hardware, DUAL[0]).width, at(hardware, DUAL[0]).speed_gbps) == (4, 64.0)
    slow = replace(WORLD.switches[0].ports[2], link=Link(3, 8))
    switch = replace(WORLD.switches[0], ports=(*WORLD.switches[0].ports[:2], slow))
    other = Hardware(replace(WORLD, switches=(switch,)), VirtualClock())
    assert (at(other).width, at(other).speed_gbps) == (8, 64.0)


@in_virtual_time
async def test_a_degraded_link_is_narrower_and_slower_until_that_ends() -> None:
    hardware = world()
    hardware.set_port(POOL, width=2, gen=4)
    assert (at(hardware).width, at(hardware).speed_gbps) == (2, 32.0)
    hardware.set_port(POOL, width=0, gen=0)
    assert (at(hardware).width, at(hardware).speed_gbps) == (16, 512.0)


@in_virtual_time
async def test_a_lost_device_is_gone_from_all_its_ports_and_stays_bound() -> None:
    hardware = world()
    hardware.execute(bind(FIRST, part("D6")))
    assert part("D6") in hardware.part_states("cxl1")
    hardware.remove_device("dual")
    for port in DUAL:
        state = at(hardware, port)
        assert (state.device_present, state.link_up, state.serial_number) == (False, False, None)
    assert hardware.binding(FIRST) == part("D6")
    assert part("D6") not in hardware.part_states("cxl1"), "who is not there tells nothing"
    hardware.execute(unbind(FIRST, part("D6")))
    with pytest.raises(Refused) as refused:
        hardware.execute(bind(FIRST, part("D6")))
    assert refused.value.refusal is Refusal.DEVICE_ABSENT


@in_virtual_time
async def test_the_same_device_comes_back_with_what_it_had() -> None:
    hardware = world()
    hardware.execute(allocate())
    hardware.execute(bind())
    hardware.remove_device("pool")
    with pytest.raises(Refused):
        hardware.execute(allocate(part(ld=1)))
    hardware.return_device("pool")
    assert at(hardware).training
    await asyncio.sleep(1)
    assert (at(hardware).link_up, at(hardware).serial_number) == (True, "SN-pool")
    assert hardware.part_states("cxl1")[LD].media is Media.DIRTY
    assert hardware.binding(FIRST) == LD


@in_virtual_time
async def test_another_device_is_blank_and_tells_its_own_serial_number() -> None:
    hardware = world()
    hardware.execute(allocate())
    hardware.execute(bind())
    hardware.remove_device("pool")
    hardware.return_device("pool", "SN-another")
    assert at(hardware).serial_number == "SN-another"
    assert LD not in hardware.part_states("cxl1")
    assert hardware.binding(FIRST) == LD, "the switch knows nothing of that"
    (account,) = (a for a in hardware.oracle().accounts("World") if a.device == "pool")
    assert account.free_mib == account.total_mib


@in_virtual_time
async def test_without_power_the_links_are_down_and_the_bindings_stay() -> None:
    hardware = world()
    hardware.execute(bind(FIRST, part("D6")))
    hardware.power_device("dual", on=False)
    await asyncio.sleep(1)
    for port in DUAL:
        state = at(hardware, port)
        assert (state.device_present, state.powered, state.link_up) == (True, False, False)
    hardware.power_device("dual", on=True)
    assert all(at(hardware, port).training for port in DUAL)
    await asyncio.sleep(1)
    assert all(at(hardware, port).link_up for port in DUAL)
    assert hardware.binding(FIRST) == part("D6")


@in_virtual_time
async def test_lost_power_refuses_commands_and_interrupts_sanitizing() -> None:
    hardware = world()
    for step in (allocate(), bind(), unbind(), sanitize()):
        hardware.execute(step)
    hardware.power_device("pool", on=False)
    with pytest.raises(Refused) as refused:
        hardware.execute(sanitize())
    assert refused.value.refusal is Refusal.NO_POWER
    await asyncio.sleep(1)
    hardware.power_device("pool", on=True)
    assert hardware.part_states("cxl1")[LD].media is Media.DIRTY


@in_virtual_time
async def test_a_link_that_is_down_does_not_keep_a_switch_from_binding() -> None:
    hardware = world()
    hardware.set_port(DUAL[0], link_up=False)
    hardware.execute(bind(FIRST, part("D6")))
    assert hardware.binding(FIRST) == part("D6")


@in_virtual_time
async def test_a_port_is_as_well_as_the_worse_of_it_and_its_device() -> None:
    hardware = world()
    assert [at(hardware, port).health for port in DUAL] == ["OK", "OK"]
    hardware.set_device_health("dual", "Warning")
    assert [at(hardware, port).health for port in DUAL] == ["Warning", "Warning"]
    hardware.set_port(DUAL[0], health="Critical")
    assert [at(hardware, port).health for port in DUAL] == ["Critical", "Warning"]


@in_virtual_time
async def test_every_change_of_a_device_is_hinted_on_each_of_its_switches() -> None:
    powered = session(world())
    hints = powered.driver.watch()
    powered.hardware.remove_device("dual")
    assert {(await anext(hints)).switch, (await anext(hints)).switch} == {"cxl1", "cxl2"}


@in_virtual_time
@pytest.mark.parametrize("keeps", [True, False])
async def test_a_restarted_switch_trains_its_links_and_may_forget_its_bindings(keeps: bool) -> None:
    hardware = world()
    hardware.execute(allocate())
    hardware.execute(bind())
    hardware.restart("cxl1", keeps_bindings=keeps)
    assert at(hardware).training
    assert not at(hardware, DUAL[1]).training
    assert hardware.binding(FIRST) == (LD if keeps else None)
    assert hardware.part_states("cxl1")[LD].size_mib == 4 * GIB, "parts are the device's"
    if not keeps:
        hardware.execute(sanitize())


@in_virtual_time
async def test_an_unknown_device_or_switch_can_not_change() -> None:
    hardware = world()
    for change in (
        lambda: hardware.remove_device("nothing"),
        lambda: hardware.set_switch_health("nothing", "OK"),
        lambda: hardware.restart("nothing"),
        lambda: hardware.reset_link(PortId("cxl1", "nothing")),
    ):
        with pytest.raises(Refused):
            change()


@in_virtual_time
async def test_a_restarted_switch_runs_nothing_that_it_was_sent_before() -> None:
    hardware = world()
    hardware.postpone(allocate(), 1.0)
    hardware.restart("cxl1")
    await asyncio.sleep(2)
    assert LD not in hardware.part_states("cxl1")
