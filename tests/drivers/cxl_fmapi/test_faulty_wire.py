"""Binding and unbinding over a wire on which everything goes wrong now and then.

Whatever an apply said, once a look proves that it is over, the switch has what that look showed,
and keeps it; what was answered with yes has been done. Long runs: REDFISH_FM_TEST_WIRE_ROUNDS.
"""

import os

import pytest

from redfish_fm.drivers.base import DriverRejected, DriverUnavailable
from redfish_fm.drivers.cxl_fmapi.driver import CxlFmApiDriver
from redfish_fm.drivers.virtual.fmapi_faults import WireFault
from redfish_fm.fabric.model import Bind, BindTarget, Observation, Step, Unbind, VppbId
from tests.drivers.cxl_fmapi.test_virtual_wire import driven
from tests.drivers.fabrics import CXL
from tests.drivers.fmapi_world import FmapiWorld
from tests.virtual_time import run

ROUNDS = int(os.environ.get("REDFISH_FM_TEST_WIRE_ROUNDS", "8"))
PROFILES = ("standard", "strict", "jrl", "short-identity")
RATE = 0.08
PROOF_S, STUCK_S = 120.0, 20.0


@pytest.mark.parametrize("fault", list(WireFault), ids=lambda fault: fault.value)
@pytest.mark.parametrize("profile", PROFILES)
def test_wanted_and_observed_converge(profile: str, fault: WireFault, seed_base: int) -> None:
    run(converge(profile, fault, seed_base))


async def converge(profile: str, fault: WireFault, seed: int) -> None:
    numbers = [port.id.port for port in CXL.switches[0].ports]
    here = (VppbId("sw0", "0", 0), VppbId(CXL.switches[0].id, "1", 0))
    target = BindTarget("sw0", str(numbers.index("D1")), 2)
    chance = f"{seed} {profile} {fault.value}"
    async with driven(profile, rates={fault: RATE}, seed=chance) as (driver, world):
        await proved(driver, world, world.clock.now_s())
        for number in range(ROUNDS):
            step: Step = Unbind(here[0], target) if number % 2 else Bind(here[0], target)
            for _ in range(20):
                seen, done = await tried(driver, world, step)
                wanted = None if isinstance(step, Unbind) else target
                really = world.hardware.bindings(here[1].switch)[here[1]]
                assert (really is None) == (seen.bindings[here[0]] is None)
                assert not done or seen.bindings[here[0]] == wanted
                if seen.bindings[here[0]] == wanted:
                    break
            else:
                raise AssertionError(f"{step} is never done")


async def tried(driver: CxlFmApiDriver, world: FmapiWorld, step: Step) -> tuple[Observation, bool]:
    """Try a step; return a look that proves its end, and whether yes was said."""
    handed_s, done = world.clock.now_s(), False
    try:
        await driver.apply(step, handed_s + 5.0)
        done = True
    except (DriverUnavailable, DriverRejected):
        pass
    return await proved(driver, world, handed_s), done


async def proved(driver: CxlFmApiDriver, world: FmapiWorld, handed_s: float) -> Observation:
    until_s, why = world.clock.now_s() + PROOF_S, ""
    while world.clock.now_s() < until_s:
        try:
            seen = await driver.observe()
            if seen.complete and seen.barrier_s > handed_s:
                return seen
            if world.clock.now_s() > handed_s + STUCK_S:
                # What never ends is ended by somebody who stands beside the switch.
                world.switch.abort()
            why = f"barrier {seen.barrier_s} before {handed_s}"
        except DriverUnavailable as error:
            why = str(error)
        await world.clock.sleep(0.1)
    raise AssertionError(why)
