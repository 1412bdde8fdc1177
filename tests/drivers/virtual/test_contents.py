"""What is in memory: who left it there, how it is overwritten, and what nobody protects."""

import asyncio

import pytest

from redfish_fm.clocks import ScaledClock
from redfish_fm.drivers.base import DriverRejected
from redfish_fm.drivers.virtual.contents import sanitize_s
from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.refusals import Forgets, Refusal, Refused
from redfish_fm.fabric.model import BindTarget, Media
from tests.drivers.virtual.physics import (
    FIRST,
    FIXED,
    GIB,
    LD,
    NAMESPACE,
    OTHER_LD,
    REGION,
    SECOND,
    TIB,
    WORLD,
    allocate,
    bind,
    deallocate,
    part,
    sanitize,
    session,
    unbind,
    world,
)
from tests.virtual_time import VirtualClock, in_virtual_time


def media(hardware: Hardware, target: BindTarget = LD) -> Media:
    return hardware.part_states(target.switch)[target].media


def used(target: BindTarget = LD, **how: object) -> Hardware:
    """Return hardware on which host1 had a target, and has no longer."""
    hardware = world(**how)
    if target not in (FIXED, part("D4"), part("D6")):
        hardware.execute(allocate(target))
    hardware.execute(bind(FIRST, target))
    hardware.execute(unbind(FIRST, target))
    return hardware


@in_virtual_time
@pytest.mark.parametrize("target", [LD, REGION, FIXED, part("D4"), part("D6")])
async def test_what_a_host_had_is_dirty_until_it_is_sanitized(target: BindTarget) -> None:
    hardware = used(target)
    assert media(hardware, target) is Media.DIRTY
    hardware.execute(sanitize(target))
    assert media(hardware, target) is Media.SANITIZING
    await asyncio.sleep(1)
    assert media(hardware, target) is Media.CLEAN


@in_virtual_time
async def test_sanitizing_takes_longer_the_more_there_is() -> None:
    assert sanitize_s(8 * TIB) == pytest.approx(0.05 + 8 / 64)
    hardware = used(part("D6"))
    hardware.execute(sanitize(part("D6")))
    await asyncio.sleep(0.05 + 1 / 64 - 0.001)
    assert media(hardware, part("D6")) is Media.SANITIZING
    await asyncio.sleep(0.001)
    assert media(hardware, part("D6")) is Media.CLEAN


@in_virtual_time
async def test_sanitizing_again_begins_nothing_anew() -> None:
    hardware = used()
    hardware.execute(sanitize())
    await asyncio.sleep(0.04)
    hardware.execute(sanitize())
    await asyncio.sleep(0.02)
    assert media(hardware) is Media.CLEAN
    hardware.execute(sanitize())
    assert media(hardware) is Media.CLEAN
    assert [d.what for d in hardware.oracle().actions()][-2:] == ["sanitize", "sanitized"]


@in_virtual_time
async def test_both_ports_of_a_device_tell_the_same() -> None:
    hardware = used(part("D6"))
    assert media(hardware, part("D1", "cxl2")) is Media.DIRTY
    hardware.execute(bind(SECOND, part("D6")))
    with pytest.raises(Refused, match="it is bound"):
        hardware.execute(sanitize(part("D1", "cxl2")))


@in_virtual_time
async def test_each_head_has_contents_of_its_own() -> None:
    hardware = used(part("D4"))
    assert media(hardware, part("D5")) is Media.CLEAN


@in_virtual_time
async def test_hardware_binds_what_is_dirty_and_remembers_who_saw_whose_data() -> None:
    hardware = used()
    hardware.execute(bind(FIRST))
    assert hardware.oracle().exposures() == [], "its own"
    hardware.execute(unbind(FIRST))
    hardware.execute(bind(SECOND))
    (exposure,) = hardware.oracle().exposures("World")
    assert (exposure.vppb, exposure.target, exposure.note) == (SECOND, LD, "host1")


@in_virtual_time
async def test_what_was_sanitized_shows_nothing() -> None:
    hardware = used()
    hardware.execute(sanitize())
    await asyncio.sleep(1)
    hardware.execute(bind(SECOND))
    assert hardware.oracle().exposures() == []


@in_virtual_time
async def test_a_bind_interrupts_sanitizing() -> None:
    hardware = used()
    hardware.execute(sanitize())
    hardware.execute(bind(SECOND))
    hardware.execute(unbind(SECOND))
    await asyncio.sleep(1)
    assert media(hardware) is Media.DIRTY
    assert len(hardware.oracle().exposures()) == 1


@in_virtual_time
@pytest.mark.parametrize("target", [LD, REGION])
async def test_what_is_dirty_is_not_given_back(target: BindTarget) -> None:
    hardware = used(target)
    with pytest.raises(Refused) as refused:
        hardware.execute(deallocate(target))
    assert refused.value.refusal is Refusal.NOT_CLEAN
    hardware.execute(sanitize(target))
    with pytest.raises(Refused) as refused:
        hardware.execute(deallocate(target))
    assert refused.value.refusal is Refusal.SANITIZING
    await asyncio.sleep(1)
    hardware.execute(deallocate(target))


@in_virtual_time
async def test_deleting_a_namespace_clears_it() -> None:
    hardware = used(NAMESPACE)
    hardware.execute(deallocate(NAMESPACE))
    hardware.execute(allocate(NAMESPACE))
    (medium,) = (m for m in hardware.oracle().media("World") if m.device == "sub")
    assert (medium.media, medium.hosts) == (Media.CLEAN, frozenset())


@in_virtual_time
async def test_sharing_is_no_exposure() -> None:
    hardware = world()
    hardware.execute(allocate(REGION, shareable=True))
    hardware.execute(bind(FIRST, REGION))
    hardware.execute(bind(SECOND, REGION))
    assert hardware.oracle().exposures() == []
    assert hardware.oracle().double_reach() == []
    (medium,) = hardware.oracle().media("World")
    assert medium.hosts == {"host1", "host2"}


@in_virtual_time
async def test_the_end_of_sanitizing_is_hinted() -> None:
    powered = session(used())
    hints = powered.driver.watch()
    waiting = asyncio.ensure_future(anext(hints))
    await asyncio.sleep(0.01)
    await powered.driver.apply(sanitize(), powered.in_s())
    await waiting
    assert powered.clock.now_s() == pytest.approx(0.062 + 4 * GIB / (64 * TIB))
    assert (await powered.driver.observe()).parts[LD].media is Media.CLEAN


@in_virtual_time
async def test_at_time_scale_0_sanitizing_takes_no_service_time() -> None:
    clock = VirtualClock()
    physics = ScaledClock(clock, 0)
    hardware = Hardware(WORLD, clock, fabric_clock=physics)
    driver = VirtualDriver(hardware, clock, physics)
    for step in (allocate(), bind(), unbind()):
        await driver.apply(step, 60.0)
    hints = driver.watch()
    await driver.apply(sanitize(), 60.0)
    await anext(hints)
    assert media(hardware) is Media.CLEAN
    assert clock.now_s() == 0.0
    assert physics.now_s() > 0.05


@in_virtual_time
async def test_physics_follows_the_fabric_clock_and_lateness_the_service_clock() -> None:
    clock = VirtualClock()
    hardware = used(fabric_clock=ScaledClock(clock, 0.1))
    hardware.execute(sanitize())
    hardware.postpone(bind(SECOND, FIXED), 1.0)
    await asyncio.sleep(0.4)
    assert media(hardware) is Media.SANITIZING
    await asyncio.sleep(0.2)
    assert media(hardware) is Media.CLEAN
    await asyncio.sleep(0.4)
    assert hardware.binding(SECOND) == FIXED


@in_virtual_time
async def test_what_a_host_has_is_not_sanitized() -> None:
    powered = session(used())
    await powered.driver.apply(bind(), powered.in_s())
    with pytest.raises(DriverRejected, match="it is bound"):
        await powered.driver.apply(sanitize(), powered.in_s())


# -- hardware that forgets ----------------------------------------------------------------------


@in_virtual_time
async def test_hardware_that_forgets_to_sanitize_is_found_by_what_a_host_sees() -> None:
    hardware = used(forgets=frozenset({Forgets.SANITIZE}))
    hardware.execute(sanitize())
    await asyncio.sleep(1)
    assert media(hardware) is Media.CLEAN, "so it says"
    hardware.execute(bind(SECOND))
    assert [done.note for done in hardware.oracle().exposures()] == ["host1"]


@in_virtual_time
async def test_contents_stay_in_addresses_that_are_given_back_dirty() -> None:
    hardware = used(forgets=frozenset({Forgets.DEALLOCATE_DIRTY}))
    hardware.execute(deallocate())
    hardware.execute(allocate(OTHER_LD, 2 * GIB))
    assert media(hardware, OTHER_LD) is Media.CLEAN, "so it says"
    hardware.execute(bind(SECOND, OTHER_LD))
    assert [done.note for done in hardware.oracle().exposures()] == ["host1"]
    hardware.execute(unbind(SECOND, OTHER_LD))
    hardware.execute(sanitize(OTHER_LD))
    await asyncio.sleep(1)
    hardware.execute(deallocate(OTHER_LD))
    hardware.execute(allocate(OTHER_LD, 4 * GIB))
    hardware.execute(bind(SECOND, OTHER_LD))
    assert len(hardware.oracle().exposures()) == 2, "half of it was never overwritten"


FORGOTTEN = {
    Forgets.SHAREABLE: bind(SECOND),
    Forgets.DEALLOCATE_BOUND: deallocate(),
    Forgets.SANITIZE_BOUND: sanitize(),
    Forgets.VPPB_BOUND: bind(FIRST, FIXED),
    Forgets.TARGET: bind(SECOND, part(ld=9)),
}


@in_virtual_time
@pytest.mark.parametrize(("forgets", "step"), FORGOTTEN.items(), ids=lambda each: str(each))
async def test_careless_hardware_does_what_careful_hardware_refuses(
    forgets: Forgets, step: object
) -> None:
    dirty = frozenset({Forgets.DEALLOCATE_DIRTY})
    careful = world(forgets=dirty)
    careless = world(forgets=frozenset({forgets}) | dirty)
    for hardware in (careful, careless):
        hardware.execute(allocate())
        hardware.execute(bind())
    with pytest.raises(Refused):
        careful.execute(step)  # type: ignore[arg-type]
    careless.execute(step)  # type: ignore[arg-type]


@in_virtual_time
async def test_hardware_that_binds_twice_is_found() -> None:
    hardware = world(forgets=frozenset({Forgets.DOUBLE_BIND}))
    hardware.execute(bind(FIRST, FIXED))
    hardware.execute(bind(SECOND, FIXED))
    assert len(hardware.oracle().double_reach()) == 1


@in_virtual_time
async def test_ignored_sharing_is_found() -> None:
    hardware = world(forgets=frozenset({Forgets.SHAREABLE}))
    hardware.execute(allocate())
    hardware.execute(bind(FIRST))
    hardware.execute(bind(SECOND))
    assert len(hardware.oracle().double_reach()) == 1


@in_virtual_time
async def test_permissive_hardware_still_keeps_what_is_dirty() -> None:
    hardware = used(permissive=True)
    with pytest.raises(Refused):
        hardware.execute(deallocate())
