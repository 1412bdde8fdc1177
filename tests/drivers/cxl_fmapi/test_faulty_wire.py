"""Binding and unbinding over a wire on which everything goes wrong now and then.

Whatever an apply said, once a look proves that it is over, the switch has what that look showed,
and keeps it; what was answered with yes has been done. Long runs are those marked soak.
"""

import pytest

from redfish_fm.drivers.base import DriverRejected, DriverUnavailable
from redfish_fm.drivers.cxl_fmapi.caller import REMEMBERED_S
from redfish_fm.drivers.cxl_fmapi.driver import CxlFmApiDriver
from redfish_fm.drivers.virtual.fmapi_faults import WireFault
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    BindTarget,
    Deallocate,
    Media,
    Observation,
    PortId,
    Qos,
    Sanitize,
    SetQos,
    Step,
    Unbind,
    VppbId,
)
from redfish_fm.fabric.qos_control import QosControl
from tests.drivers.cxl_fmapi.test_applying import DYNAMIC, FIXED, MEMORY, POOLED, at
from tests.drivers.cxl_fmapi.test_virtual_wire import driven
from tests.drivers.fabrics import CXL
from tests.drivers.fmapi_world import FmapiWorld
from tests.virtual_time import run

ROUNDS, SOAK_ROUNDS = 8, 200
PROFILES = ("standard", "strict", "jrl", "short-identity")
RATE = 0.08
PROOF_S, STUCK_S = 120.0, 20.0


@pytest.mark.parametrize("fault", list(WireFault), ids=lambda fault: fault.value)
@pytest.mark.parametrize("profile", PROFILES)
def test_wanted_and_observed_converge(profile: str, fault: WireFault, seed_base: int) -> None:
    run(converge(profile, fault, seed_base, ROUNDS))


@pytest.mark.soak
@pytest.mark.parametrize("fault", list(WireFault), ids=lambda fault: fault.value)
@pytest.mark.parametrize("profile", PROFILES)
def test_wanted_and_observed_converge_200_times(
    profile: str, fault: WireFault, seed_base: int
) -> None:
    run(converge(profile, fault, seed_base, SOAK_ROUNDS))


async def converge(profile: str, fault: WireFault, seed: int, rounds: int) -> None:
    numbers = [port.id.port for port in CXL.switches[0].ports]
    here = (VppbId("sw0", "0", 0), VppbId(CXL.switches[0].id, "1", 0))
    target = BindTarget("sw0", str(numbers.index("D1")), 2)
    chance = f"{seed} {profile} {fault.value}"
    async with driven(profile, rates={fault: RATE}, seed=chance) as (driver, world):
        await proved(driver, world, world.clock.now_s())
        for number in range(rounds):
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


MEMORY_STEPS: tuple[tuple[Step, ...], ...] = (
    (Allocate(at(POOLED, 1), 512), Sanitize(at(POOLED, 1)), Deallocate(at(POOLED, 1))),
    (Allocate(at(DYNAMIC, 1, 0), 1024), Deallocate(at(DYNAMIC, 1, 0))),
    (SetQos(at(FIXED, 2), Qos(30, 60)), SetQos(at(FIXED, 2), Qos())),
    (
        SetQos(at(FIXED), Qos(), QosControl(congestion=True)),
        SetQos(at(FIXED), Qos(), QosControl(congestion=False)),
    ),
)


@pytest.mark.parametrize("fault", list(WireFault), ids=lambda fault: fault.value)
@pytest.mark.parametrize("profile", ["standard", "strict"])
def test_memory_and_bandwidth_converge(profile: str, fault: WireFault, seed_base: int) -> None:
    run(converge_memory(profile, fault, seed_base))


async def converge_memory(profile: str, fault: WireFault, seed: int) -> None:
    chance = f"{seed} memory {profile} {fault.value}"
    async with driven(profile, MEMORY, rates={fault: RATE}, seed=chance) as (driver, world):
        while not knows_all(driver, await proved(driver, world, world.clock.now_s())):
            # Two answers in a row were lost: that is taken for silence, but not for ever.
            await world.clock.sleep(REMEMBERED_S)
        for _ in range(max(1, ROUNDS // 4)):
            for steps in MEMORY_STEPS:
                for step in steps:
                    await until_done(driver, world, step)


def knows_all(driver: CxlFmApiDriver, seen: Observation) -> bool:
    """Whether every question to the devices was answered at least once."""
    known = {each.id.split("-")[1]: each for each in driver.inventory.devices}
    pooled, dynamic = known[f"P{POOLED}"], known[f"P{DYNAMIC}"]
    if pooled.pool is None or dynamic.pool is None or not pooled.sanitizes:
        return False
    switch = driver.switches["sw0"].survey
    if switch is None or len(switch.devices[int(DYNAMIC)].extents) < len(dynamic.lds):
        return False
    return at(FIXED, 0) in seen.parts and at(FIXED, 0) in seen.qos and control_of(seen) is not None


def control_of(seen: Observation) -> QosControl | None:
    return seen.ports[PortId("sw0", FIXED)].control


async def until_done(driver: CxlFmApiDriver, world: FmapiWorld, step: Step) -> None:
    """Try a step until a look that proves its end shows it; hardware has what looks show."""
    # A survey asks some dozens of questions, and where each may end the connection, few end well.
    for _ in range(60):
        seen, done = await tried(driver, world, step)
        number = {f"D{port - 1}": str(port) for port in range(2, 7)}
        really = {
            (number[part.port], part.path): state.size_mib
            for part, state in world.hardware.part_states("s").items()
            if part.path and part.port not in ("D4", "D5")
        }
        assert {
            (part.port, part.path): state.size_mib for part, state in seen.parts.items()
        } == really
        shown = is_so(seen, step)
        # Sanitizing is begun by a step, and its end is nobody's answer.
        assert not done or shown or isinstance(step, Sanitize)
        if shown:
            return
    raise AssertionError(f"{step} is never done")


def is_so(seen: Observation, step: Step) -> bool:
    match step:
        case Allocate(target, size_mib):
            return target in seen.parts and seen.parts[target].size_mib == size_mib
        case Deallocate(target):
            return target not in seen.parts
        case Sanitize(target):
            return seen.parts[target].media is Media.CLEAN
        case SetQos(target, qos, None):
            return seen.qos[target] == qos
        case SetQos(target, _, control):
            return target == at(FIXED) and control.met_by(control_of(seen))
    raise AssertionError(step)
