"""A simulated switch refuses what hardware refuses, and nothing else."""

from dataclasses import replace

import pytest

from redfish_fm.drivers.virtual.device import SimulatedDevice
from redfish_fm.drivers.virtual.refusals import PERMISSIVE, Forgets, Refusal, Refused
from redfish_fm.drivers.virtual.switch import SimulatedSwitch
from redfish_fm.fabric.model import (
    LD_FM_OWNED,
    Bind,
    BindTarget,
    Inventory,
    Link,
    PortId,
    Unbind,
    VppbId,
)
from tests.drivers.fabrics import CXL, FIRST, NEXT, PCIE, SECOND, SLD, bind, ld


def a_switch(permissive: bool = False) -> SimulatedSwitch:
    forgets = PERMISSIVE if permissive else frozenset[Forgets]()
    return SimulatedSwitch(CXL.switches[0], simulated(CXL), forgets=forgets)


def simulated(inventory: Inventory) -> dict[str, SimulatedDevice]:
    """Return the devices of an inventory, as if each were on one port."""
    switch = inventory.switches[0]
    ports = {port.device: (port.id,) for port in switch.ports if port.device is not None}
    return {d.id: SimulatedDevice(d, ports.get(d.id, ())) for d in inventory.devices}


REFUSED = {
    "a vPPB that is not there": (bind(VppbId("cxl1", "1", 5)), Refusal.UNKNOWN_VPPB),
    "a negative vPPB": (bind(VppbId("cxl1", "1", -1)), Refusal.UNKNOWN_VPPB),
    "a VCS that is not there": (bind(VppbId("cxl1", "3", 0)), Refusal.UNKNOWN_VPPB),
    "a vPPB of another switch": (bind(VppbId("cxl2", "1", 0)), Refusal.UNKNOWN_VPPB),
    "a port that is not there": (bind(FIRST, BindTarget("cxl1", "D9")), Refusal.UNKNOWN_PORT),
    "a port of another switch": (bind(FIRST, BindTarget("cxl2", "D1")), Refusal.UNKNOWN_PORT),
    "an upstream port": (bind(FIRST, BindTarget("cxl1", "U1")), Refusal.NOT_DOWNSTREAM),
    "an MLD as a whole": (bind(FIRST, BindTarget("cxl1", "D1")), Refusal.MLD_WHOLE),
    "an LD of an SLD": (bind(FIRST, BindTarget("cxl1", "D2", 0)), Refusal.NOT_MLD),
    "an LD that is not allocated": (bind(FIRST, ld(4)), Refusal.LD_NOT_ALLOCATED),
    "the FM-owned LD": (bind(FIRST, ld(LD_FM_OWNED)), Refusal.LD_FM_OWNED),
    "unbinding what is not there": (Unbind(VppbId("cxl1", "9", 0), SLD), Refusal.UNKNOWN_VPPB),
}


@pytest.mark.parametrize(("step", "refusal"), REFUSED.values(), ids=REFUSED)
def test_a_switch_refuses(step: Bind | Unbind, refusal: Refusal) -> None:
    switch = a_switch()
    with pytest.raises(Refused) as refused:
        switch.execute(step)
    assert refused.value.refusal is refusal
    assert switch.bindings == {}


TAKEN = {
    "a bound vPPB": (bind(FIRST, ld(0)), bind(FIRST, ld(1)), Refusal.VPPB_BOUND),
    "a bound LD": (bind(FIRST, ld(0)), bind(SECOND, ld(0)), Refusal.LD_BOUND),
    "a bound LD, same VCS": (bind(FIRST, ld(0)), bind(NEXT, ld(0)), Refusal.LD_BOUND),
    "a bound port": (bind(FIRST, SLD), bind(SECOND, SLD), Refusal.PORT_BOUND),
}


@pytest.mark.parametrize(("before", "step", "refusal"), TAKEN.values(), ids=TAKEN)
def test_a_switch_refuses_what_is_taken(before: Bind, step: Bind, refusal: Refusal) -> None:
    switch = a_switch()
    switch.execute(before)
    with pytest.raises(Refused) as refused:
        switch.execute(step)
    assert refused.value.refusal is refusal
    assert switch.bindings == {before.vppb: before.target}


def test_a_port_bound_whole_is_refused_for_its_lds() -> None:
    switch = a_switch()
    switch.force(FIRST, BindTarget("cxl1", "D1"))
    assert switch.refusal(bind(SECOND, ld(0))) is Refusal.PORT_BOUND


def test_a_port_without_its_device_is_refused() -> None:
    switch = a_switch()
    switch.set_port("D2", present=False)
    assert switch.refusal(bind(FIRST, SLD)) is Refusal.DEVICE_ABSENT


def test_different_lds_go_to_different_hosts() -> None:
    switch = a_switch()
    switch.execute(bind(FIRST, ld(0)))
    switch.execute(bind(SECOND, ld(1)))
    assert switch.bindings == {FIRST: ld(0), SECOND: ld(1)}


def test_repeating_a_bind_or_an_unbind_changes_nothing() -> None:
    switch = a_switch()
    assert switch.execute(bind())[0] is None
    assert switch.execute(bind())[0] == ld(0)
    assert switch.execute(Unbind(FIRST, ld(0)))[0] == ld(0)
    assert switch.execute(Unbind(FIRST, ld(0)))[0] is None


def test_an_unbind_frees_whatever_is_bound_as_hardware_does() -> None:
    switch = a_switch()
    switch.execute(bind(FIRST, ld(2)))
    assert switch.execute(Unbind(FIRST, ld(0)))[0] == ld(2)
    assert switch.bindings == {}


def test_a_freed_target_can_be_bound_again() -> None:
    switch = a_switch()
    switch.execute(bind(FIRST, SLD))
    switch.execute(Unbind(FIRST, SLD))
    switch.execute(bind(SECOND, SLD))
    assert switch.bindings == {SECOND: SLD}


def test_a_permissive_switch_binds_one_thing_twice() -> None:
    switch = a_switch(permissive=True)
    for step in (bind(FIRST, ld(0)), bind(SECOND, ld(0)), bind(NEXT, BindTarget("cxl1", "U1"))):
        switch.execute(step)
    assert switch.bindings[FIRST] == switch.bindings[SECOND] == ld(0)


def test_a_permissive_switch_still_needs_a_vppb_and_a_port() -> None:
    switch = a_switch(permissive=True)
    assert switch.refusal(bind(VppbId("cxl1", "1", 99))) is Refusal.UNKNOWN_VPPB
    assert switch.refusal(bind(FIRST, BindTarget("cxl1", "D9"))) is Refusal.UNKNOWN_PORT


def test_a_healthy_port_reports_its_trained_link() -> None:
    state = a_switch().port_states()[PortId("cxl1", "D2")]
    assert (state.link_up, state.device_present, state.health) == (True, True, "OK")
    assert (state.speed_gbps, state.width) == (256.0, 8)


def test_a_degraded_link_reports_fewer_lanes() -> None:
    switch = a_switch()
    switch.set_port("D2", width=2, health="Warning")
    state = switch.port_states()[PortId("cxl1", "D2")]
    assert (state.link_up, state.speed_gbps, state.width) == (True, 64.0, 2)
    assert state.health == "Warning"


def test_a_port_whose_link_is_down_has_no_speed() -> None:
    switch = a_switch()
    switch.set_port("U1", link_up=False)
    state = switch.port_states()[PortId("cxl1", "U1")]
    assert (state.link_up, state.device_present, state.speed_gbps) == (False, True, None)


def test_a_link_of_unknown_generation_has_no_speed() -> None:
    facts = CXL.switches[0]
    ports = tuple(replace(port, link=Link(0, 16)) for port in facts.ports)
    switch = SimulatedSwitch(replace(facts, ports=ports), {})
    state = switch.port_states()[PortId("cxl1", "D2")]
    assert (state.link_up, state.speed_gbps, state.width) == (True, None, 16)


def test_a_pcie_slot_binds_its_port_whole() -> None:
    switch = SimulatedSwitch(PCIE.switches[0], simulated(PCIE))
    switch.execute(Bind(VppbId("pcie1", "2", 3), BindTarget("pcie1", "D4")))
    assert switch.refusal(Bind(VppbId("pcie1", "1", 0), BindTarget("pcie1", "D4"))) is (
        Refusal.PORT_BOUND
    )
