"""The contract of whoever turns hosts on and off, as DriverContract is that of fabrics.

A driver's test file hands over a PowerRig and runs every test of `names()` on a fresh one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import pytest

from redfish_fm.clocks import Clock
from redfish_fm.drivers.base import (
    DriverRejected,
    DriverUnavailable,
    DriverUnsupported,
    PowerControl,
)
from redfish_fm.fabric.power import HostState, PowerState, ResetType
from tests.drivers.contract.rig import Means, use

NOWHERE = "no such host"


@dataclass
class PowerRig:
    """One driver under test with two hosts that are on. What is left out is not tested."""

    driver: PowerControl
    clock: Clock
    host: str
    other: str
    patience_s: float = 60.0
    """Within this time (service clock) every host has done what was asked of it."""
    refuse_next: Means | None = None
    """The BMC of `host` refuses the next command."""
    lose_next_answer: Means | None = None
    """The next command to `host` is carried out, its answer never comes."""
    silence: Means | None = None
    """The BMC of `host` does not answer any more."""
    silence_all: Means | None = None
    """No BMC answers any more."""
    change_behind: Means | None = None
    """Somebody else turns `host` off."""
    successor: Callable[[], Awaitable[PowerControl]] | None = None
    """The service dies and another driver takes over the same hosts; the rig closes it too."""

    def deadline_s(self, seconds: float = 30.0) -> float:
        return self.clock.now_s() + seconds

    async def reset(self, asked: ResetType, host: str | None = None) -> None:
        await self.driver.reset(host or self.host, asked, self.deadline_s())

    async def state(self, host: str | None = None) -> HostState:
        return (await self.driver.observe())[host or self.host]

    async def becomes(self, power: PowerState, host: str | None = None) -> HostState:
        """Look until a host is in a state."""
        until_s = self.clock.now_s() + self.patience_s
        while self.clock.now_s() < until_s:
            state = await self.state(host)
            if state.power is power:
                return state
            await self.clock.sleep(0.1)
        raise AssertionError(f"never {power.value}")

    async def can(self, asked: ResetType) -> None:
        """Skip where the driver can not do that."""
        if asked not in (await self.driver.discover())[self.host]:
            pytest.skip(f"this driver can not do {asked.value}")

    async def does(self, asked: ResetType) -> None:
        await self.can(asked)
        await self.reset(asked)


MakePowerRig = Callable[[], AbstractAsyncContextManager[PowerRig]]


class PowerContract:
    """Every test, each a method that takes a rig."""

    async def test_it_knows_its_hosts_and_what_they_can(self, rig: PowerRig) -> None:
        found = await rig.driver.discover()
        assert {rig.host, rig.other} <= set(found)
        assert all(found.values())
        assert await rig.driver.discover() == found
        assert set(await rig.driver.observe()) == set(found)

    async def test_force_off_turns_one_host_off_and_on_turns_it_on(self, rig: PowerRig) -> None:
        before = await rig.state()
        await rig.does(ResetType.FORCE_OFF)
        off = await rig.becomes(PowerState.OFF)
        assert (await rig.state(rig.other)).power is PowerState.ON
        assert off.boots == before.boots
        await rig.does(ResetType.ON)
        assert (await rig.becomes(PowerState.ON)).boots == before.boots + 1

    async def test_a_graceful_shutdown_ends_in_off(self, rig: PowerRig) -> None:
        await rig.does(ResetType.GRACEFUL_SHUTDOWN)
        await rig.becomes(PowerState.OFF)

    @staticmethod
    async def _restarts(rig: PowerRig, asked: ResetType) -> None:
        before = (await rig.state()).boots
        await rig.does(asked)
        until_s = rig.clock.now_s() + rig.patience_s
        while (await rig.state()).boots == before and rig.clock.now_s() < until_s:
            await rig.clock.sleep(0.1)
        assert (await rig.becomes(PowerState.ON)).boots == before + 1

    async def test_a_graceful_restart_starts_it_once(self, rig: PowerRig) -> None:
        await self._restarts(rig, ResetType.GRACEFUL_RESTART)

    async def test_a_forced_restart_starts_it_once(self, rig: PowerRig) -> None:
        await self._restarts(rig, ResetType.FORCE_RESTART)

    async def test_a_power_cycle_starts_it_once(self, rig: PowerRig) -> None:
        await self._restarts(rig, ResetType.POWER_CYCLE)

    async def test_what_is_so_already_is_accepted_and_changes_nothing(self, rig: PowerRig) -> None:
        before = await rig.state()
        await rig.does(ResetType.ON)
        assert await rig.state() == before
        await rig.does(ResetType.FORCE_OFF)
        off = await rig.becomes(PowerState.OFF)
        await rig.reset(ResetType.FORCE_OFF)
        assert await rig.state() == off

    async def test_a_button_turns_it_on_where_it_is_off(self, rig: PowerRig) -> None:
        await rig.can(ResetType.PUSH_POWER_BUTTON)
        await rig.does(ResetType.FORCE_OFF)
        await rig.becomes(PowerState.OFF)
        await rig.reset(ResetType.PUSH_POWER_BUTTON)
        await rig.becomes(PowerState.ON)

    async def test_an_unknown_host_is_rejected(self, rig: PowerRig) -> None:
        with pytest.raises((DriverRejected, DriverUnsupported)):
            await rig.reset(ResetType.ON, NOWHERE)

    async def test_a_command_past_its_deadline_is_not_sent(self, rig: PowerRig) -> None:
        with pytest.raises(DriverUnavailable):
            await rig.driver.reset(rig.host, ResetType.FORCE_OFF, rig.deadline_s(0))
        await rig.clock.sleep(1.0)
        assert (await rig.state()).power is PowerState.ON

    async def test_a_refusal_changes_nothing(self, rig: PowerRig) -> None:
        await use(rig.refuse_next)
        before = await rig.state()
        with pytest.raises(DriverRejected):
            await rig.does(ResetType.FORCE_OFF)
        assert await rig.state() == before

    async def test_a_lost_answer_is_an_unknown_outcome_and_shows_later(self, rig: PowerRig) -> None:
        await use(rig.lose_next_answer)
        assert (await rig.state()).power is PowerState.ON
        with pytest.raises(DriverUnavailable):
            await rig.does(ResetType.FORCE_OFF)
        await rig.becomes(PowerState.OFF)

    async def test_a_silent_bmc_is_left_out_and_hides_nobody_else(self, rig: PowerRig) -> None:
        await use(rig.silence)
        seen = await rig.driver.observe()
        assert rig.host not in seen
        assert seen[rig.other].power is PowerState.ON
        with pytest.raises(DriverUnavailable):
            await rig.reset(ResetType.FORCE_OFF)

    async def test_a_look_fails_when_no_bmc_answers(self, rig: PowerRig) -> None:
        await use(rig.silence_all)
        with pytest.raises(DriverUnavailable):
            await rig.driver.observe()

    async def test_a_bmc_that_restarts_leaves_its_host_alone(self, rig: PowerRig) -> None:
        before = await rig.state()
        try:
            await rig.driver.reset_manager(rig.host, rig.deadline_s())
        except DriverUnsupported:
            pytest.skip("this driver restarts no BMC")
        until_s = rig.clock.now_s() + rig.patience_s
        while rig.clock.now_s() < until_s:
            seen = (await rig.driver.observe()).get(rig.host)
            if seen is not None and seen.manager_reset_s != before.manager_reset_s:
                break
            await rig.clock.sleep(0.1)
        after = await rig.state()
        assert after.manager_reset_s is not None
        assert (after.power, after.boots) == (before.power, before.boots)

    async def test_a_watch_hints_at_what_somebody_else_changed(self, rig: PowerRig) -> None:
        hints = rig.driver.watch()
        waiting = asyncio.ensure_future(anext(hints))
        await asyncio.sleep(0)
        try:
            await use(rig.change_behind)
            assert await asyncio.wait_for(waiting, rig.patience_s) == rig.host
        finally:
            waiting.cancel()

    async def test_hosts_run_on_without_their_driver(self, rig: PowerRig) -> None:
        if rig.successor is None:
            pytest.skip("this rig has no successor")
        await rig.does(ResetType.FORCE_OFF)
        before = await rig.becomes(PowerState.OFF)
        driver = await rig.successor()
        assert (await driver.observe())[rig.host] == before

    async def test_a_closed_driver_does_nothing_more(self, rig: PowerRig) -> None:
        await rig.driver.close()
        await rig.driver.close()
        with pytest.raises(DriverUnavailable):
            await rig.driver.observe()
        with pytest.raises(DriverUnavailable):
            await rig.reset(ResetType.FORCE_OFF)


def names() -> list[str]:
    """Return the names of all tests."""
    return sorted(name for name in dir(PowerContract) if name.startswith("test_"))


async def run_on(make: MakePowerRig, name: str) -> None:
    """Run one test of the contract on a fresh rig."""
    async with make() as rig:
        await getattr(PowerContract(), name)(rig)
