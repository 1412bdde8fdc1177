"""Links between switches: two ends, one link, and what its failure cuts."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.drivers.virtual.events import Event
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.links import RETRAINED
from redfish_fm.drivers.virtual.refusals import Refusal, Refused
from redfish_fm.drivers.virtual.state import virtual_db
from redfish_fm.fabric.link_errors import NO_ERRORS
from redfish_fm.fabric.model import (
    Bind,
    BindTarget,
    CableState,
    Inventory,
    Link,
    PortId,
    PortState,
    VppbId,
)
from tests.drivers.chains import cables, gets_through, inventory, joined_fabrics
from tests.virtual_time import VirtualClock, in_virtual_time

UP, DOWN = PortId("top", "F1"), PortId("leaf1", "F1")
"""Both ends of the link by which host1 comes to leaf1, and farther to deep."""
TWIN = PortId("leaf1", "F2")
"""The lower end of the one beside it."""


def power_up(fabric: Inventory | None = None, state: Path | None = None) -> Hardware:
    return Hardware(fabric or inventory(), VirtualClock(), state)


def at(hardware: Hardware, port: PortId) -> PortState:
    return hardware.port_states(port.switch)[port]


def cut_off(hardware: Hardware) -> set[tuple[str, str | None]]:
    """Return (switch, host) of every virtual switch that its host does not get through to."""
    return {
        (vcs.switch, vcs.host)
        for switch in hardware.inventory.switches
        for vcs in switch.virtual_switches
        if not gets_through(hardware, vcs)
    }


@in_virtual_time
async def test_everybody_gets_through_everywhere_where_nothing_befell() -> None:
    assert cut_off(power_up()) == set()


@pytest.mark.parametrize("end", [UP, DOWN])
@pytest.mark.parametrize("change", [{"link_up": False}, {"present": False}])
@in_virtual_time
async def test_a_link_that_fails_at_one_end_is_down_at_both(
    end: PortId, change: dict[str, bool]
) -> None:
    hardware = power_up()
    hardware.set_port(end, **change)
    for port in (UP, DOWN):
        state = at(hardware, port)
        assert (state.link_up, state.training) == (False, False)
        assert state.device_present is change.get("present", True)


@in_virtual_time
async def test_a_link_that_fails_cuts_its_hosts_off_from_all_below_and_nobody_else() -> None:
    hardware = power_up()
    hardware.set_port(DOWN, link_up=False)
    # host2 comes in by the link beside it, but from leaf1 to deep there is one link for both.
    assert cut_off(hardware) == {("leaf1", "host1"), ("deep", "host1")}
    hardware.set_port(DOWN, link_up=True)
    await asyncio.sleep(1)
    assert cut_off(hardware) == set()


@in_virtual_time
async def test_what_is_bound_below_a_link_that_fails_stays_bound() -> None:
    hardware = power_up()
    vppb, target = VppbId("deep", "1", 0), BindTarget("deep", "D1")
    hardware.execute(Bind(vppb, target))
    hardware.set_port(DOWN, link_up=False)
    assert hardware.binding(vppb) == target
    assert at(hardware, PortId("deep", "D1")).link_up


@in_virtual_time
async def test_what_is_below_can_be_bound_while_the_link_is_down() -> None:
    hardware = power_up()
    hardware.set_port(DOWN, link_up=False)
    hardware.execute(Bind(VppbId("deep", "1", 0), BindTarget("deep", "D1")))
    assert hardware.binding(VppbId("deep", "1", 0)) is not None


@in_virtual_time
async def test_a_port_to_another_switch_is_nothing_to_bind() -> None:
    hardware = power_up()
    for vppb in (VppbId("top", "1", 0), VppbId("leaf1", "1", 0)):
        with pytest.raises(Refused) as refused:
            hardware.execute(Bind(vppb, BindTarget(vppb.switch, "F1")))
        assert refused.value.refusal is Refusal.NOT_DOWNSTREAM


@in_virtual_time
async def test_one_device_is_bound_for_one_host_however_they_come_in() -> None:
    hardware = power_up()
    hardware.execute(Bind(VppbId("deep", "1", 0), BindTarget("deep", "D1")))
    with pytest.raises(Refused) as refused:
        hardware.execute(Bind(VppbId("deep", "2", 0), BindTarget("deep", "D1")))
    assert refused.value.refusal is Refusal.PORT_BOUND


@in_virtual_time
async def test_both_ends_of_a_link_train_together() -> None:
    hardware = power_up()
    hardware.reset_link(UP)
    assert [at(hardware, port).training for port in (UP, DOWN, TWIN)] == [True, True, False]
    await asyncio.sleep(1)
    assert [at(hardware, port).link_up for port in (UP, DOWN)] == [True, True]


@in_virtual_time
async def test_a_link_runs_at_what_both_ends_can() -> None:
    top, *others = inventory().switches
    ports = tuple(replace(p, link=Link(4, 4)) if p.id == UP else p for p in top.ports)
    hardware = power_up(replace(inventory(), switches=(replace(top, ports=ports), *others)))
    assert {(at(hardware, port).width, at(hardware, port).speed_gbps) for port in (UP, DOWN)} == {
        (4, 64.0)
    }


@in_virtual_time
async def test_a_link_that_degrades_at_one_end_is_slower_at_both_until_that_ends() -> None:
    hardware = power_up()
    assert {at(hardware, port).width for port in (UP, DOWN)} == {8}
    hardware.set_port(UP, width=2)
    assert {at(hardware, port).width for port in (UP, DOWN)} == {2}
    hardware.set_port(DOWN, gen=4)
    assert {(at(hardware, port).width, at(hardware, port).speed_gbps) for port in (UP, DOWN)} == {
        (2, 32.0)
    }
    assert at(hardware, DOWN).cable is CableState.DEGRADED
    hardware.set_port(UP, width=0)
    hardware.set_port(DOWN, gen=0)
    assert (at(hardware, UP).width, at(hardware, UP).speed_gbps) == (8, 256.0)
    assert at(hardware, DOWN).cable is CableState.NORMAL


@pytest.mark.parametrize("end", [UP, DOWN])
@in_virtual_time
async def test_both_ends_count_what_becomes_of_their_link(end: PortId) -> None:
    hardware = power_up()
    hardware.set_port(end, width=4)
    slower = at(hardware, UP).errors
    assert slower is not None
    assert slower == at(hardware, DOWN).errors != NO_ERRORS
    hardware.set_port(end, link_up=False)
    hardware.set_port(end, link_up=True)
    await asyncio.sleep(1)
    hardware.reset_link(end)
    assert at(hardware, UP).errors == at(hardware, DOWN).errors
    told = at(hardware, UP).errors
    assert told is not None and told.recoveries == slower.recoveries + 1 + RETRAINED.recoveries
    assert at(hardware, TWIN).errors == NO_ERRORS


@pytest.mark.parametrize(
    ("change", "cable"),
    [({"present": False}, CableState.UNPLUGGED), ({"link_up": False}, CableState.FAILED)],
)
@in_virtual_time
async def test_the_cable_tells_what_is_wrong_at_either_end(
    change: dict[str, bool], cable: CableState
) -> None:
    hardware = power_up()
    hardware.set_port(UP, **change)
    assert at(hardware, DOWN).cable is cable
    assert at(hardware, UP).cable is None, "the lower end has the cable"


@pytest.mark.parametrize("end", [UP, DOWN])
@in_virtual_time
async def test_both_switches_are_told_to_be_looked_at(end: PortId) -> None:
    hardware, told = power_up(), set[tuple[str, Event]]()
    hardware.listen(lambda switch, event: told.add((switch, event)))
    hardware.set_port(end, link_up=False)
    assert {("top", Event.CHANGED), ("leaf1", Event.CHANGED)} <= told
    told.clear()
    hardware.set_port(end, link_up=True)
    await asyncio.sleep(1)
    told.clear()
    hardware.advance()
    assert told == {("top", Event.CHANGED), ("leaf1", Event.CHANGED)}


@in_virtual_time
async def test_a_switch_that_restarts_trains_its_links_at_both_ends_and_is_no_error() -> None:
    hardware, told = power_up(), set[tuple[str, Event]]()
    hardware.listen(lambda switch, event: told.add((switch, event)))
    hardware.restart("leaf1")
    assert at(hardware, UP).training
    assert ("top", Event.CHANGED) in told
    assert at(hardware, UP).errors == NO_ERRORS
    assert ("deep", "host2") in cut_off(hardware)
    await asyncio.sleep(1)
    assert cut_off(hardware) == set()


@in_virtual_time
async def test_a_host_without_power_darkens_no_link_between_switches() -> None:
    hardware = power_up()
    hardware.power_host("host1", on=False)
    assert at(hardware, UP).link_up
    assert cut_off(hardware) == {(name, "host1") for name in ("top", "leaf1", "leaf2", "deep")}


@in_virtual_time
async def test_a_link_that_is_down_is_down_after_all_lost_power(tmp_path: Path) -> None:
    hardware = power_up(state=virtual_db(tmp_path))
    hardware.set_port(UP, link_up=False)
    before = at(hardware, DOWN)
    hardware.close()
    again = power_up(state=virtual_db(tmp_path))
    assert at(again, DOWN) == before
    assert cut_off(again) == {("leaf1", "host1"), ("deep", "host1")}
    again.close()


@in_virtual_time
async def test_a_port_whose_far_end_is_not_there_has_no_link() -> None:
    fabric = inventory()
    hardware = power_up(replace(fabric, switches=fabric.switches[1:]))
    assert not at(hardware, DOWN).link_up


@given(data=st.data())
@in_virtual_time
async def test_any_port_of_a_drawn_chain_cuts_who_comes_in_by_it(data: st.DataObject) -> None:
    hardware = power_up(inventory(data.draw(joined_fabrics())))
    switches = hardware.inventory.switches
    ports = [port.id for switch in switches for port in switch.ports]
    failed = data.draw(st.sampled_from(ports))
    hardware.set_port(failed, link_up=False)
    vcss = [vcs for switch in switches for vcs in switch.virtual_switches]
    for vcs in vcss:
        passed = [port.id for port in cables(hardware.inventory, vcs)]
        assert gets_through(hardware, vcs) is (failed not in passed)
