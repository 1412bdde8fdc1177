"""The contract finds careless drivers: each forgets one promise, and one of its tests goes red."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import replace

import pytest

from redfish_fm.drivers.base import Driver, DriverRejected, DriverUnavailable
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    Deallocate,
    Hint,
    Inventory,
    Observation,
    PartState,
    Sanitize,
    Step,
    Unbind,
)
from tests.drivers.contract.proving import BLOCKED_S
from tests.drivers.contract.rig import MakeRig, Rig
from tests.drivers.contract.suite import names, run_on
from tests.drivers.contract.test_tutorial import printed, tutorial_rig
from tests.drivers.contract.test_virtual import RIGS
from tests.virtual_time import run


class Sound:
    """A driver that leaves everything to the one below it."""

    def __init__(self, below: Driver, rig: Rig) -> None:
        self.below = below
        self.rig = rig
        self.late_max_s = below.late_max_s

    async def discover(self) -> Inventory:
        return await self.below.discover()

    async def observe(self) -> Observation:
        return await self.below.observe()

    async def apply(self, step: Step, deadline_s: float) -> None:
        await self.below.apply(step, deadline_s)

    def watch(self) -> AsyncIterator[Hint]:
        return self.below.watch()

    async def close(self) -> None:
        await self.below.close()


class ProvesTooMuch(Sound):
    async def observe(self) -> Observation:
        seen = await self.below.observe()
        return replace(seen, barrier_s=seen.started_s)


class ProvesTheFuture(Sound):
    async def observe(self) -> Observation:
        return replace(await self.below.observe(), barrier_s=math.inf)


class ProvesNothing(Sound):
    async def observe(self) -> Observation:
        return replace(await self.below.observe(), barrier_s=-math.inf)


class RejectsTheUnknown(Sound):
    async def apply(self, step: Step, deadline_s: float) -> None:
        try:
            await self.below.apply(step, deadline_s)
        except DriverUnavailable as error:
            raise DriverRejected(str(error)) from error


class SwallowsRefusals(Sound):
    async def apply(self, step: Step, deadline_s: float) -> None:
        try:
            await self.below.apply(step, deadline_s)
        except DriverRejected:
            return


class WaitsForever(Sound):
    async def apply(self, step: Step, deadline_s: float) -> None:
        await self.below.apply(step, deadline_s + 600)


class UnbindsWhateverIsThere(Sound):
    async def apply(self, step: Step, deadline_s: float) -> None:
        if isinstance(step, Unbind):
            bound = (await self.below.observe()).bindings[step.vppb]
            step = step if bound is None else Unbind(step.vppb, bound)
        await self.below.apply(step, deadline_s)


class SaysNoSecondTime(Sound):
    async def apply(self, step: Step, deadline_s: float) -> None:
        if isinstance(step, Bind) and step.target == await self.rig.bound(step.vppb):
            raise DriverRejected("it is already bound like that")
        await self.below.apply(step, deadline_s)


class NeverGivesBack(Sound):
    async def apply(self, step: Step, deadline_s: float) -> None:
        if not isinstance(step, Deallocate):
            await self.below.apply(step, deadline_s)


class SanitizesNothing(Sound):
    async def apply(self, step: Step, deadline_s: float) -> None:
        if not isinstance(step, Sanitize):
            await self.below.apply(step, deadline_s)


class SharesNothing(Sound):
    async def apply(self, step: Step, deadline_s: float) -> None:
        if isinstance(step, Allocate):
            step = replace(step, shareable=False)
        await self.below.apply(step, deadline_s)


class ForgetsParts(Sound):
    async def observe(self) -> Observation:
        return replace(await self.below.observe(), parts={})


class ReportsEveryPart(Sound):
    async def observe(self) -> Observation:
        seen = await self.below.observe()
        assert self.rig.part is not None
        return replace(seen, parts={self.rig.part: PartState(0)} | dict(seen.parts))


class LosesHalfOfThePorts(Sound):
    async def observe(self) -> Observation:
        seen = await self.below.observe()
        return replace(seen, ports=dict([*seen.ports.items()][::2]))


class SettlesWhatItGaveUp(Sound):
    """Knows of commands under way only; forgets one as soon as nobody waits for it."""

    def __init__(self, below: Driver, rig: Rig) -> None:
        super().__init__(below, rig)
        self.handed_s: list[float] = []

    async def observe(self) -> Observation:
        seen = await self.below.observe()
        oldest_s = min([seen.started_s, *self.handed_s])
        return replace(seen, barrier_s=math.nextafter(oldest_s, -math.inf))

    async def apply(self, step: Step, deadline_s: float) -> None:
        handed_s = self.rig.clock.now_s()
        self.handed_s.append(handed_s)
        try:
            await self.below.apply(step, deadline_s)
        finally:
            self.handed_s.remove(handed_s)


class CountsWithoutAReset(SettlesWhatItGaveUp):
    """Waits late_max_s after giving up, but the link is as it was."""

    async def apply(self, step: Step, deadline_s: float) -> None:
        handed_s = self.rig.clock.now_s()
        self.handed_s.append(handed_s)
        try:
            await self.below.apply(step, deadline_s)
        except (DriverUnavailable, asyncio.CancelledError):
            loop = asyncio.get_running_loop()
            loop.call_later(self.late_max_s, self.handed_s.remove, handed_s)
            raise
        self.handed_s.remove(handed_s)


class BeginsWithNothingOpen(Sound):
    async def observe(self) -> Observation:
        seen = await self.below.observe()
        ours = seen.barrier_s > -math.inf
        return seen if ours else replace(seen, barrier_s=math.nextafter(seen.started_s, -math.inf))


class TakesTheTimeAfterTheLook(Sound):
    async def observe(self) -> Observation:
        seen = await self.below.observe()
        now_s = self.rig.clock.now_s()
        return replace(seen, started_s=now_s, barrier_s=math.nextafter(now_s, -math.inf))


class Blocks(Sound):
    async def observe(self) -> Observation:
        time.sleep(1.2 * BLOCKED_S)  # noqa: ASYNC251 - that is what is wrong with it
        return await self.below.observe()


class EndsItsWatch(Sound):
    async def watch(self) -> AsyncIterator[Hint]:
        async for hint in self.below.watch():
            yield hint
            return


class HintsAtOnce(Sound):
    """Within the contract: a hint too many."""

    async def watch(self) -> AsyncIterator[Hint]:
        hints = self.below.watch()
        yield Hint((await self.below.discover()).fabric)
        async for hint in hints:
            yield hint


class HintsAtOnceOnly(Sound):
    async def watch(self) -> AsyncIterator[Hint]:
        fabric = (await self.below.discover()).fabric
        yield Hint(fabric)
        await asyncio.Event().wait()


class UnbindsNothingQuietly(Sound):
    async def apply(self, step: Step, deadline_s: float) -> None:
        with suppress(DriverRejected) if isinstance(step, Unbind) else nullcontext():
            await self.below.apply(step, deadline_s)


class NeverEnds(Sound):
    async def close(self) -> None:
        return


Careless = Callable[[Driver, Rig], Driver]
FOUND: list[tuple[Careless, str]] = [
    (ProvesTooMuch, "test_nothing_runs_after_a_barrier_that_was_proved"),
    (ProvesTooMuch, "test_no_allocation_runs_after_a_barrier_that_was_proved"),
    (ProvesTooMuch, "test_a_look_during_a_command_does_not_settle_it"),
    (ProvesTheFuture, "test_a_look_proves_nothing_of_the_future"),
    (ProvesNothing, "test_a_later_look_on_the_same_link_settles_a_lost_answer"),
    (ProvesNothing, "test_a_later_look_settles_a_lost_allocation"),
    (RejectsTheUnknown, "test_a_later_look_on_the_same_link_settles_a_lost_answer"),
    (RejectsTheUnknown, "test_a_closed_driver_is_unavailable"),
    (SwallowsRefusals, "test_a_refusal_names_its_reason_and_changes_nothing"),
    (SwallowsRefusals, "test_only_an_allocated_part_can_be_bound"),
    (SwallowsRefusals, "test_a_size_that_is_no_multiple_is_refused"),
    (SwallowsRefusals, "test_no_more_than_the_pool_can_be_allocated"),
    (SwallowsRefusals, "test_what_is_bound_is_not_sanitized"),
    (SwallowsRefusals, "test_a_bound_part_is_not_given_back"),
    (SwallowsRefusals, "test_a_part_keeps_its_size"),
    (SwallowsRefusals, "test_a_part_goes_to_one_vppb_unless_it_is_shareable"),
    (WaitsForever, "test_apply_returns_at_its_deadline"),
    (WaitsForever, "test_a_step_past_its_deadline_is_not_sent"),
    (WaitsForever, "test_an_allocation_past_its_deadline_is_not_sent"),
    (UnbindsWhateverIsThere, "test_unbinding_one_target_leaves_another_bound"),
    (SaysNoSecondTime, "test_binding_twice_changes_nothing"),
    (NeverGivesBack, "test_a_part_that_was_given_back_is_gone"),
    (NeverGivesBack, "test_a_part_can_be_allocated_anew_at_another_size"),
    (SanitizesNothing, "test_what_a_host_had_is_dirty_until_it_is_sanitized"),
    (SharesNothing, "test_a_shareable_part_goes_to_several"),
    (ForgetsParts, "test_an_allocated_part_is_observed_at_its_size"),
    (ReportsEveryPart, "test_a_part_that_is_not_allocated_is_not_observed"),
    (ReportsEveryPart, "test_every_observed_part_is_one_of_the_inventory"),
    (LosesHalfOfThePorts, "test_an_observation_is_complete"),
    (NeverEnds, "test_a_closed_driver_is_unavailable"),
    (NeverEnds, "test_a_closed_driver_allocates_nothing"),
    (NeverEnds, "test_closing_ends_a_look"),
    (SettlesWhatItGaveUp, "test_a_cancelled_apply_is_not_settled_by_that"),
    (SettlesWhatItGaveUp, "test_an_apply_at_its_deadline_is_not_settled_by_that"),
    (CountsWithoutAReset, "test_a_cancelled_apply_is_not_settled_by_that"),
    (CountsWithoutAReset, "test_an_apply_at_its_deadline_is_not_settled_by_that"),
    (BeginsWithNothingOpen, "test_what_a_predecessor_sent_is_open_at_first"),
    (TakesTheTimeAfterTheLook, "test_a_look_proves_nothing_of_what_is_handed_over_meanwhile"),
    (Blocks, "test_nothing_blocks_the_event_loop"),
    (NeverEnds, "test_closing_ends_a_watch"),
    (HintsAtOnceOnly, "test_a_change_behind_the_driver_gives_a_hint"),
    (HintsAtOnceOnly, "test_closing_ends_a_watch"),
    (EndsItsWatch, "test_a_watch_ends_only_with_its_driver"),
    (UnbindsNothingQuietly, "test_unbinding_what_does_not_exist_is_refused"),
]

IN_THE_GUIDE: dict[str, tuple[str, str, str]] = {
    "gives up and forgets": (
        "self._clock.now_s() + self.late_max_s)\n        if not",
        "self._clock.now_s())\n        if not",
        "test_a_cancelled_apply_is_not_settled_by_that",
    ),
    "gives up at the deadline and forgets": (
        "self._clock.now_s() + self.late_max_s)\n        if not",
        "self._clock.now_s())\n        if not",
        "test_an_apply_at_its_deadline_is_not_settled_by_that",
    ),
    "never resets its link": (
        "                self._lines.discard(writer)\n"
        "                writer.transport.abort()  # close() would first send what still waits\n"
        "                with suppress(OSError):\n"
        "                    await writer.wait_closed()\n",
        "                pass\n",
        "test_an_apply_at_its_deadline_is_not_settled_by_that",
    ),
    "had no predecessor": (
        "[Command(-math.inf, clock.now_s() + self.late_max_s)]",
        "[]",
        "test_what_a_predecessor_sent_is_open_at_first",
    ),
    "takes the time after the look": (
        "        started_s = self._clock.now_s()",
        '        await self._ask("look")\n        started_s = self._clock.now_s()',
        "test_a_look_proves_nothing_of_what_is_handed_over_meanwhile",
    ),
    "translates OSError only": (
        "except (AttributeError, LookupError, RecursionError, TypeError, ValueError)",
        "except EOFError",
        "test_an_unreadable_answer_is_no_answer",
    ),
    "translates nothing that its watch is told": (
        "            with understood():\n                while line",
        "            if True:\n                while line",
        "test_an_unreadable_hint_is_none",
    ),
    "takes what it can not read for a no": (
        '{"yes": True, "no": False}[word]',
        'word == "yes"',
        "test_an_unreadable_answer_is_no_answer",
    ),
    "ends a watch that was cut": (
        'raise DriverUnavailable("the watch was cut")',
        "return",
        "test_a_watch_ends_only_with_its_driver",
    ),
}
"""The driver of the guide with one promise left out: what stands there, and what instead."""


def rig_of(careless: Careless) -> MakeRig:
    """Return a maker of rigs whose driver is careless; pooled LDs, which have every promise."""

    @asynccontextmanager
    async def make() -> AsyncIterator[Rig]:
        async with RIGS["pooled LD"]() as rig:
            sound, succeed = rig.driver, rig.successor
            rig.driver = careless(sound, rig)

            async def successor() -> Driver:
                assert succeed is not None
                return careless(await succeed(), rig)

            rig.successor = successor
            try:
                yield rig
            finally:
                await sound.close()

    return make


@pytest.mark.parametrize(("careless", "name"), FOUND)
def test_a_careless_driver_is_found(careless: Careless, name: str) -> None:
    assert name in names()
    with pytest.raises((AssertionError, pytest.fail.Exception, DriverRejected, TimeoutError)):
        run(run_on(rig_of(careless), name))


@pytest.mark.parametrize("name", sorted({name for _, name in FOUND}))
def test_the_sound_driver_passes_the_same_tests(name: str) -> None:
    run(run_on(rig_of(Sound), name))


@pytest.mark.parametrize("name", [name for name in names() if "watch" in name or "hint" in name])
def test_a_driver_may_give_a_hint_at_once(name: str) -> None:
    run(run_on(rig_of(HintsAtOnce), name))


@pytest.mark.parametrize("left_out", IN_THE_GUIDE)
async def test_the_driver_of_the_guide_needs_each_of_its_promises(left_out: str) -> None:
    there, instead, name = IN_THE_GUIDE[left_out]
    careless = printed(but=(there, instead))
    with pytest.raises((AssertionError, pytest.fail.Exception, DriverRejected, ValueError)):
        await run_on(lambda: tutorial_rig(careless), name)
