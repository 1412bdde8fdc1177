"""Anything in any order: every kind of write and of hardware event, on one device of each kind.

`machine` says what must hold after each; at the end all that broke is mended, all that was made is
deleted, and nothing may be left.
"""

import asyncio
import contextlib
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, consumes, rule

from redfish_fm.drivers.virtual.faults import Dropped, Fault, Late, Lost, Refuse, Restart, Slow
from redfish_fm.drivers.virtual.refusals import Refused
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    BindTarget,
    Deallocate,
    PortId,
    Sanitize,
    Step,
    Unbind,
    VppbId,
)
from tests.cases.machine import Run
from tests.cases.machine_clients import FABRIC, HOSTS, UNITS, Clients
from tests.cases.small_world import PCIE, ends, small_world
from tests.control.builders import links

DEVICES = {each.id: each for inv in small_world().inventories for each in inv.devices}
FABRIC_OF = {each.id: inv.fabric for inv in small_world().inventories for each in inv.devices}
SWITCHES = {each.id: inv.fabric for inv in small_world().inventories for each in inv.switches}
BINDABLE = {
    name: sorted((t for f, t in small_world().facts.target_units if f == name), key=repr)
    for name in ("PCIe", "CXL", "NVMeoF")
}
BINDABLE["NVMeoF"] = [BindTarget("jbof1", "D1", namespace=number) for number in (1, 2)]
STEPS, SOAK = 40, 40
FAULTS = st.sampled_from(
    [Refuse("bay is locked"), Slow(1.0), Slow(20.0), Lost(), Dropped(), Late(), Restart()]
)


def _strike(plant: Any, step: Step) -> None:
    with contextlib.suppress(Refused):
        plant.execute(step, "outside")


class Everything(Clients):
    """Clients, hardware, strangers and crashes, one at a time."""

    pulled = Bundle("pulled")

    def plant(self, name: str) -> Any:
        self.run_.strange = True
        return self.run_.plants[FABRIC_OF.get(name) or SWITCHES[name]]

    @rule(target=pulled, device=st.sampled_from(sorted(DEVICES)))
    def pull_device(self, device: str) -> str:
        self._happens(lambda plant: plant.remove_device(device), device)
        return device

    @rule(device=consumes(pulled), another=st.booleans())
    def return_device(self, device: str, another: bool) -> None:
        number = "SN-another" if another else None
        self._happens(lambda plant: plant.return_device(device, number), device)

    @rule(device=st.sampled_from(sorted(DEVICES)), on=st.booleans())
    def power_device(self, device: str, on: bool) -> None:
        self._happens(lambda plant: plant.power_device(device, on), device)

    @rule(device=st.sampled_from(sorted(DEVICES)), health=st.sampled_from(["OK", "Critical"]))
    def change_health(self, device: str, health: str) -> None:
        self._happens(lambda plant: plant.set_device_health(device, health), device)

    @rule(
        switch=st.sampled_from(sorted(SWITCHES)), port=st.integers(0, 7),
        link_up=st.booleans(), present=st.booleans(),
    )  # fmt: skip
    def change_link(self, switch: str, port: int, link_up: bool, present: bool) -> None:
        def change(plant: Any) -> None:
            ports: list[PortId] = [each.id for each in plant.switches[switch].facts.ports]
            plant.set_port(ports[port % len(ports)], link_up=link_up, present=present)

        self._happens(change, switch)

    @rule(switch=st.sampled_from(sorted(SWITCHES)), keeps=st.booleans(),
          down_s=st.sampled_from([0.0, 4.0]))  # fmt: skip
    def restart_switch(self, switch: str, keeps: bool, down_s: float) -> None:
        self._happens(lambda plant: plant.restart(switch, down_s, keeps_bindings=keeps), switch)

    @rule(switch=st.sampled_from(sorted(SWITCHES)), down_s=st.sampled_from([0.0, 4.0, 60.0]))
    def cut_switch(self, switch: str, down_s: float) -> None:
        self._happens(lambda plant: plant.cut(switch, down_s), switch)

    @rule(switch=st.sampled_from(sorted(SWITCHES)), fault=FAULTS)
    def strike_next_command(self, switch: str, fault: Fault) -> None:
        self.run_.strange = True
        self.run_.stack.rig.faults(SWITCHES[switch]).next_apply(switch, fault)

    @rule(switch=st.sampled_from(sorted(SWITCHES)), vppb=st.integers(0, 7),
          unit=st.integers(0, 7))  # fmt: skip
    def bind_behind_our_back(self, switch: str, vppb: int, unit: int) -> None:
        def change(plant: Any) -> None:
            self.run_.meddled = True
            place: VppbId = sorted(plant.switches[switch].vppbs())[vppb % 8]
            known = BINDABLE[SWITCHES[switch]]
            _strike(plant, Bind(place, known[unit % len(known)]))

        self._happens(change, switch)

    @rule(switch=st.sampled_from(sorted(SWITCHES)), number=st.integers(0, 7))
    def unbind_behind_our_back(self, switch: str, number: int) -> None:
        def change(plant: Any) -> None:
            bound = sorted(plant.bound().items())
            for vppb, target in bound[number % len(bound) :][:1] if bound else ():
                _strike(plant, Unbind(vppb, target))

        self._happens(change, switch)

    @rule(step=st.sampled_from([Allocate, Sanitize, Deallocate]), number=st.integers(0, 1))
    def carve_behind_our_back(self, step: Any, number: int) -> None:
        def change(plant: Any) -> None:
            at = plant.devices["pooled1"].ports[0]
            part = BindTarget(at.switch, at.port, ld=number)
            _strike(plant, Allocate(part, 256, False) if step is Allocate else step(part))

        self._happens(change, "pooled1")

    def _happens(self, what: Any, name: str) -> None:
        plant = self.plant(name)

        async def happen() -> None:
            what(plant)

        self.run_.do(happen())

    @rule()
    def wait_until_operations_have_expired(self) -> None:
        self.run_.do(asyncio.sleep(400.0))

    @rule()
    def mend(self) -> None:
        """Bring everything in order and wait; then hardware is as wanted again."""
        self.run_.do(self.run_.mend())

    # -- crashes -----------------------------------------------------------------------------

    @rule()
    def crash(self) -> None:
        self.run_.do(self.run_.crash())

    @rule(fabric=FABRIC, hosts=HOSTS, units=UNITS,
          after_s=st.sampled_from([0.0, 0.001, 0.003, 0.1]))  # fmt: skip
    def crash_while_zoning(self, fabric: str, hosts: Any, units: Any, after_s: float) -> None:
        body = {"Links": {"Endpoints": links(*ends(fabric, hosts, units))}}
        self.run_.do(self.run_.crash_within("POST", f"{fabric}/Zones", body, after_s))


def _often(examples: int, steps: int) -> settings:
    return settings(
        settings.get_profile("redfish_fm"),
        max_examples=examples,
        stateful_step_count=steps,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


ERRORS = pytest.mark.expects_errors
"""A violation that a stranger causes is logged as an ERROR; `Run` looks at all others itself."""

TestClients = Clients.TestCase
TestClients.settings = _often(20, STEPS)
TestEverything = ERRORS(Everything.TestCase)
TestEverything.settings = _often(10, STEPS)


@pytest.mark.soak
@pytest.mark.timeout(7200)
class TestClientsForLong(Clients.TestCase):
    settings = _often(20 * SOAK, STEPS)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.expects_errors
class TestEverythingForLong(Everything.TestCase):
    settings = _often(10 * SOAK, STEPS)


@pytest.mark.expects_errors
def test_two_hosts_at_one_device_do_not_stay_unseen() -> None:
    run = Run()

    async def bind_twice() -> None:
        plant = run.plants["PCIe"]
        for vcs in ("1", "2"):
            plant.execute(Bind(VppbId("pcie1", vcs, 0), BindTarget("pcie1", "D1")))

    try:
        run.do(run.check())
        run.do(bind_twice())
        with pytest.raises(AssertionError, match="Double"):
            run.do(run.check())
    finally:
        run.close()


def test_what_nobody_gave_a_host_does_not_stay_unseen() -> None:
    run = Run()

    async def give() -> None:
        run.plants["PCIe"].execute(Bind(VppbId("pcie1", "1", 0), BindTarget("pcie1", "D1")))

    try:
        run.do(give())
        with pytest.raises(AssertionError, match="which nobody gave it"):
            run.do(run.check())
    finally:
        run.close()


def test_what_a_host_lacks_does_not_stay_unseen() -> None:
    run = Run()
    body = {"Links": {"Endpoints": links(*ends(PCIE, (0,), (0,)))}}

    async def take() -> None:
        plant = run.plants["PCIe"]
        for vppb, target in plant.bound().items():
            plant.execute(Unbind(vppb, target))

    try:
        run.do(run.write("POST", f"{PCIE}/Zones", body))
        run.do(run.check())
        run.do(take())
        with pytest.raises(AssertionError, match="does not reach its"):
            run.do(run.check())
    finally:
        run.close()
