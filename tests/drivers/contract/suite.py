"""What every driver must do. A driver's test file fills a Rig and runs every test on it.

The suite talks to the Driver protocol only; what it needs beyond that (making an answer go
missing, changing hardware behind the driver's back) a Rig offers, and a test whose means a rig
lacks is skipped with that reason. A rig for real hardware leaves the means of faults out.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import pytest

from redfish_fm.clocks import Clock
from redfish_fm.drivers.base import Driver, DriverRejected, DriverUnavailable
from redfish_fm.fabric.inventory import defects
from redfish_fm.fabric.model import Bind, BindTarget, Hint, Observation, Unbind, VppbId

Means = Callable[[], Awaitable[None]]


@dataclass
class Rig:
    """One driver under test, with two vPPBs of different hosts and two free targets."""

    driver: Driver
    clock: Clock
    first: VppbId
    second: VppbId
    target: BindTarget
    other: BindTarget
    lose_next_answer: Means | None = None
    """The next command is carried out (or not), its answer never comes."""
    run_next_late: Means | None = None
    """The next command gets no answer and runs up to late_max_s after its link was reset."""
    change_behind: Means | None = None
    """Something else changes the hardware."""
    hold_next: Means | None = None
    """The next command takes at least a second."""
    cut_all: Means | None = None
    """No switch answers from now on."""

    @property
    def bind(self) -> Bind:
        return Bind(self.first, self.target)

    @property
    def unbind(self) -> Unbind:
        return Unbind(self.first, self.target)

    def deadline_s(self, seconds: float = 30.0) -> float:
        return self.clock.now_s() + seconds

    async def apply(self, step: Bind | Unbind) -> None:
        await self.driver.apply(step, self.deadline_s())

    async def bound(self, vppb: VppbId | None = None) -> BindTarget | None:
        return (await self.driver.observe()).bindings[vppb or self.first]


MakeRig = Callable[[], AbstractAsyncContextManager[Rig]]
"""How a driver's test file makes a fresh rig for each test."""


async def use(means: Means | None) -> None:
    """Use a means, or skip the test where the rig lacks it."""
    if means is None:
        pytest.skip("this rig can not do that to its hardware")
    await means()


async def next_hint(driver: Driver, change: Callable[[], Awaitable[None]]) -> Hint:
    """Return the first hint of a watch that began before `change`."""
    hints = driver.watch()
    waiting = asyncio.ensure_future(anext(hints))
    await asyncio.sleep(0)
    await change()
    return await asyncio.wait_for(waiting, 30)


class DriverContract:
    """The suite; test_virtual shows how to run it."""

    async def test_a_discovered_inventory_has_no_defects(self, rig: Rig) -> None:
        assert defects(await rig.driver.discover()) == []

    async def test_an_observation_is_complete(self, rig: Rig) -> None:
        inventory = await rig.driver.discover()
        seen = await rig.driver.observe()
        assert seen.complete
        assert seen.fabric == inventory.fabric
        assert set(seen.ports) == {p.id for s in inventory.switches for p in s.ports}
        assert set(seen.bindings) == {
            VppbId(switch.id, vcs.id, n)
            for switch in inventory.switches
            for vcs in switch.virtual_switches
            for n in range(vcs.vppb_count)
        }

    async def test_a_look_proves_nothing_of_the_future(self, rig: Rig) -> None:
        seen = await rig.driver.observe()
        assert seen.barrier_s <= seen.started_s <= rig.clock.now_s()

    async def test_what_was_bound_is_observed(self, rig: Rig) -> None:
        await rig.apply(rig.bind)
        assert await rig.bound() == rig.target
        assert await rig.bound(rig.second) is None

    async def test_binding_twice_changes_nothing(self, rig: Rig) -> None:
        await rig.apply(rig.bind)
        await rig.apply(rig.bind)
        assert await rig.bound() == rig.target

    async def test_what_was_unbound_is_observed_free(self, rig: Rig) -> None:
        await rig.apply(rig.bind)
        await rig.apply(rig.unbind)
        assert await rig.bound() is None

    async def test_unbinding_twice_changes_nothing(self, rig: Rig) -> None:
        await rig.apply(rig.unbind)
        await rig.apply(rig.unbind)
        assert await rig.bound() is None

    async def test_unbinding_one_target_leaves_another_bound(self, rig: Rig) -> None:
        await rig.apply(Bind(rig.first, rig.other))
        await rig.apply(rig.unbind)
        assert await rig.bound() == rig.other

    async def test_a_taken_target_can_be_bound_elsewhere_after_its_release(self, rig: Rig) -> None:
        await rig.apply(rig.bind)
        await rig.apply(rig.unbind)
        await rig.apply(Bind(rig.second, rig.target))
        assert await rig.bound(rig.second) == rig.target

    async def test_a_refusal_names_its_reason_and_changes_nothing(self, rig: Rig) -> None:
        nowhere = VppbId(rig.first.switch, rig.first.vcs, 9_999)
        with pytest.raises(DriverRejected) as refusal:
            await rig.apply(Bind(nowhere, rig.target))
        assert len(str(refusal.value)) > 10
        assert set((await rig.driver.observe()).bindings.values()) == {None}

    async def test_an_unknown_switch_is_refused(self, rig: Rig) -> None:
        with pytest.raises(DriverRejected):
            await rig.apply(Bind(VppbId("no such switch", "1", 0), rig.target))

    async def test_a_step_past_its_deadline_is_not_sent(self, rig: Rig) -> None:
        with pytest.raises(DriverUnavailable):
            await rig.driver.apply(rig.bind, rig.clock.now_s() - 0.001)
        await rig.clock.sleep(rig.driver.late_max_s)
        assert await rig.bound() is None

    async def test_apply_returns_at_its_deadline(self, rig: Rig) -> None:
        await use(rig.hold_next)
        deadline_s = rig.deadline_s(0.5)
        with pytest.raises(DriverUnavailable):
            await rig.driver.apply(rig.bind, deadline_s)
        assert rig.clock.now_s() < deadline_s + 0.25

    async def test_a_look_does_not_wait_for_a_slow_command(self, rig: Rig) -> None:
        await use(rig.hold_next)
        slow = asyncio.ensure_future(rig.apply(rig.bind))
        await asyncio.sleep(0)
        seen = await rig.driver.observe()
        assert not slow.done()
        assert seen.bindings[rig.first] is None
        await slow

    async def test_steps_to_one_switch_may_be_given_at_once(self, rig: Rig) -> None:
        await asyncio.gather(rig.apply(rig.bind), rig.apply(Bind(rig.second, rig.other)))
        assert await rig.bound() == rig.target
        assert await rig.bound(rig.second) == rig.other

    async def test_a_later_look_on_the_same_link_settles_a_lost_answer(self, rig: Rig) -> None:
        await rig.clock.sleep(rig.driver.late_max_s)
        await use(rig.lose_next_answer)
        handed_s = rig.clock.now_s()
        with pytest.raises(DriverUnavailable):
            await rig.apply(rig.bind)
        settled = await self._settled(rig, handed_s)
        await rig.clock.sleep(2 * rig.driver.late_max_s)
        assert await rig.bound() == settled.bindings[rig.first]

    async def test_a_look_during_a_command_does_not_settle_it(self, rig: Rig) -> None:
        await rig.clock.sleep(rig.driver.late_max_s)
        await use(rig.hold_next)
        handed_s = rig.clock.now_s()
        slow = asyncio.ensure_future(rig.apply(rig.bind))
        await rig.clock.sleep(0.1)
        assert (await rig.driver.observe()).barrier_s < handed_s
        await slow
        assert (await rig.driver.observe()).barrier_s > handed_s

    async def test_nothing_runs_after_a_barrier_that_was_proved(self, rig: Rig) -> None:
        await rig.clock.sleep(rig.driver.late_max_s)
        await use(rig.run_next_late)
        handed_s = rig.clock.now_s()
        with pytest.raises(DriverUnavailable):
            await rig.apply(rig.bind)
        assert (await rig.driver.observe()).barrier_s < handed_s
        settled = await self._settled(rig, handed_s)
        await rig.clock.sleep(2 * rig.driver.late_max_s)
        assert await rig.bound() == settled.bindings[rig.first]

    async def test_a_change_behind_the_driver_gives_a_hint(self, rig: Rig) -> None:
        hint = await next_hint(rig.driver, lambda: use(rig.change_behind))
        assert hint.fabric == (await rig.driver.discover()).fabric
        assert hint.switch in (None, rig.first.switch)

    async def test_a_fabric_that_does_not_answer_is_unavailable(self, rig: Rig) -> None:
        await use(rig.cut_all)
        with pytest.raises(DriverUnavailable):
            await rig.driver.observe()
        with pytest.raises(DriverUnavailable):
            await rig.driver.discover()
        with pytest.raises(DriverUnavailable):
            await rig.apply(rig.bind)

    async def test_a_closed_driver_is_unavailable(self, rig: Rig) -> None:
        await rig.driver.close()
        await rig.driver.close()
        with pytest.raises(DriverUnavailable):
            await rig.driver.observe()
        with pytest.raises(DriverUnavailable):
            await rig.driver.discover()
        with pytest.raises(DriverUnavailable):
            await rig.apply(rig.bind)
        with pytest.raises(DriverUnavailable):
            await anext(rig.driver.watch())

    async def test_closing_ends_a_watch(self, rig: Rig) -> None:
        hints = rig.driver.watch()
        waiting = asyncio.ensure_future(anext(hints, None))
        await asyncio.sleep(0)
        await rig.driver.close()
        assert await asyncio.wait_for(waiting, 30) is None

    async def test_closing_ends_an_apply(self, rig: Rig) -> None:
        await use(rig.hold_next)
        slow = asyncio.ensure_future(rig.apply(rig.bind))
        await rig.clock.sleep(0.01)
        await rig.driver.close()
        with pytest.raises(DriverUnavailable):
            await slow

    async def _settled(self, rig: Rig, handed_s: float) -> Observation:
        """Look until an observation proves the command handed at `handed_s`."""
        for _ in range(100):
            seen = await rig.driver.observe()
            if seen.barrier_s > handed_s:
                return seen
            await rig.clock.sleep(rig.driver.late_max_s / 10)
        raise AssertionError("no observation ever settles the command")
