"""Faults of commands for parts: refused, slow, lost, dropped, late, restarted, lied about."""

import asyncio
from dataclasses import replace

import pytest

from redfish_fm.drivers.base import DriverRejected, DriverUnavailable
from redfish_fm.drivers.virtual.faults import (
    Dropped,
    Fault,
    Late,
    Lost,
    Pretend,
    Refuse,
    Restart,
    Slow,
)
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    Deallocate,
    Hint,
    Media,
    PartState,
    Sanitize,
    Step,
    Unbind,
)
from tests.drivers.fabrics import Powered
from tests.drivers.virtual.physics import (
    FIRST,
    GIB,
    LD,
    OTHER_LD,
    allocate,
    bind,
    deallocate,
    sanitize,
    session,
    unbind,
    world,
)
from tests.virtual_time import in_virtual_time

DIRTY = (allocate(OTHER_LD), bind(FIRST, OTHER_LD), unbind(FIRST, OTHER_LD))
BEFORE: dict[str, tuple[tuple[Step, ...], Step]] = {
    "allocate": ((), allocate()),
    "deallocate": ((allocate(),), deallocate()),
    "sanitize": (DIRTY, sanitize(OTHER_LD)),
}
"""What must be before each command, and the command."""

each_command = pytest.mark.parametrize(("before", "step"), BEFORE.values(), ids=BEFORE)


def prepared(before: tuple[Step, ...]) -> Powered:
    hardware = world()
    for step in before:
        hardware.execute(step)
    return session(hardware)


async def happened(powered: Powered, step: Step) -> bool:
    """Whether a command truly had its effect."""
    state = powered.hardware.part_states("cxl1").get(step.target)
    match step:
        case Allocate():
            return state is not None
        case Deallocate():
            return state is None
        case _:
            return state is not None and state.media is not Media.DIRTY


async def struck(powered: Powered, step: Step, fault: Fault, error: type[Exception] | None) -> None:
    """Apply a step that a fault strikes."""
    powered.faults.next_apply("cxl1", fault)
    if error is None:
        await powered.driver.apply(step, powered.in_s())
    else:
        with pytest.raises(error):
            await powered.driver.apply(step, powered.in_s())


@in_virtual_time
@each_command
async def test_a_refused_command_has_no_effect(before: tuple[Step, ...], step: Step) -> None:
    powered = prepared(before)
    await struck(powered, step, Refuse("media failed"), DriverRejected)
    assert not await happened(powered, step)
    await powered.driver.apply(step, powered.in_s())
    assert await happened(powered, step)


@in_virtual_time
@each_command
async def test_a_slow_command_takes_its_time(before: tuple[Step, ...], step: Step) -> None:
    powered = prepared(before)
    await struck(powered, step, Slow(7.0), None)
    assert powered.clock.now_s() == pytest.approx(7.002)
    assert await happened(powered, step)


@in_virtual_time
@each_command
@pytest.mark.parametrize("reset", [True, False])
async def test_a_lost_answer_has_its_effect(
    before: tuple[Step, ...], step: Step, reset: bool
) -> None:
    powered = prepared(before)
    hints = powered.driver.watch()
    await struck(powered, step, Lost(reset), DriverUnavailable)
    assert await happened(powered, step)
    assert await anext(hints) == Hint("World", "cxl1")


@in_virtual_time
@each_command
async def test_a_dropped_command_never_has_an_effect(before: tuple[Step, ...], step: Step) -> None:
    powered = prepared(before)
    await struck(powered, step, Dropped(reset=True), DriverUnavailable)
    await asyncio.sleep(5)
    assert not await happened(powered, step)


@in_virtual_time
@each_command
async def test_a_late_command_runs_in_time_and_gives_a_hint(
    before: tuple[Step, ...], step: Step
) -> None:
    powered = prepared(before)
    await struck(powered, step, Late(1.5), DriverUnavailable)
    hints = powered.driver.watch()
    assert not await happened(powered, step)
    await anext(hints)
    assert powered.clock.now_s() == pytest.approx(1.502)
    assert await happened(powered, step)


@in_virtual_time
@each_command
async def test_a_late_command_that_is_refused_by_then_is_journaled(
    before: tuple[Step, ...], step: Step
) -> None:
    powered = prepared(before)
    await struck(powered, step, Late(1.5), DriverUnavailable)
    powered.hardware.power_device("pool", on=False)
    await asyncio.sleep(2)
    powered.hardware.advance()
    last = powered.hardware.oracle().actions()[-1]
    assert (last.what, last.cause, last.note) == ("refused", "late", "NO_POWER")


@in_virtual_time
@each_command
@pytest.mark.parametrize("executed", [True, False])
async def test_a_switch_that_restarts_has_done_it_or_not(
    before: tuple[Step, ...], step: Step, executed: bool
) -> None:
    powered = prepared(before)
    await struck(powered, step, Restart(executed), DriverUnavailable)
    assert await happened(powered, step) is executed
    await asyncio.sleep(5)
    assert await happened(powered, step) is executed


@in_virtual_time
@each_command
async def test_a_pretended_command_has_no_effect_and_is_reported(
    before: tuple[Step, ...], step: Step
) -> None:
    powered = prepared(before)
    await struck(powered, step, Pretend(), None)
    assert not await happened(powered, step)
    told = (await powered.driver.observe()).parts.get(step.target)
    match step:
        case Allocate():
            assert told == PartState(4 * GIB)
        case Deallocate():
            assert told is None
        case _:
            assert told == replace(powered.hardware.part_states("cxl1")[step.target],
                                   media=Media.CLEAN)  # fmt: skip
    powered.faults.tell_truth(step.target)
    told = (await powered.driver.observe()).parts.get(step.target)
    assert told == powered.hardware.part_states("cxl1").get(step.target)


@in_virtual_time
async def test_a_lie_about_a_part_ends_with_everything_else() -> None:
    powered = prepared((allocate(),))
    powered.faults.lie_part(LD, None)
    assert LD not in (await powered.driver.observe()).parts
    powered.faults.clear()
    assert LD in (await powered.driver.observe()).parts


@in_virtual_time
async def test_a_fault_may_strike_one_kind_of_command_only() -> None:
    powered = prepared((allocate(),))
    powered.faults.next_apply(None, Refuse(), only=(Deallocate, Sanitize))
    await powered.driver.apply(bind(), powered.in_s())
    await powered.driver.apply(unbind(), powered.in_s())
    with pytest.raises(DriverRejected, match="on demand"):
        await powered.driver.apply(sanitize(), powered.in_s())
    await powered.driver.apply(sanitize(), powered.in_s())


@in_virtual_time
async def test_the_next_fault_waits_behind_one_of_another_kind() -> None:
    powered = prepared(())
    powered.faults.next_apply("cxl1", Refuse("one"), only=(Bind, Unbind))
    powered.faults.next_apply("cxl1", Refuse("two"))
    for step, reason in ((allocate(), "two"), (bind(), "one")):
        with pytest.raises(DriverRejected, match=reason):
            await powered.driver.apply(step, powered.in_s())


@in_virtual_time
@each_command
async def test_a_command_for_a_switch_that_is_not_there_is_refused(
    before: tuple[Step, ...], step: Step
) -> None:
    powered = prepared(before)
    nowhere = type(step.target)("nowhere", "D1", 0)
    moved = Allocate(nowhere, 256) if isinstance(step, Allocate) else type(step)(nowhere)  # type: ignore[call-arg,arg-type]
    with pytest.raises(DriverRejected, match="no such switch"):
        await powered.driver.apply(moved, powered.in_s())
