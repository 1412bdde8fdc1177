"""What no driver may take for proved: commands that were given up, looks that took their time.

Talks to the Driver protocol only; nearly everything here needs means that a Rig offers.
"""

import asyncio
import time
from collections.abc import Awaitable
from contextlib import suppress

import pytest

from redfish_fm.drivers.base import DriverRejected, DriverUnavailable
from redfish_fm.fabric.model import Unbind
from tests.drivers.contract.rig import Rig, next_hint, use

BLOCKED_S = 0.5
"""Real seconds for which a loop may stand still; far more than a busy machine needs to turn it."""
TRIES = 3
"""A driver that blocks does so each time; a machine that was asleep for once does not."""


class ProofContract:
    """Giving up, taking over from a predecessor, unreadable answers, staying out of the way."""

    async def test_a_cancelled_apply_is_not_settled_by_that(self, rig: Rig) -> None:
        await rig.clock.sleep(rig.driver.late_max_s)
        await use(rig.hold_next)
        slow = asyncio.ensure_future(rig.apply(rig.bind))
        await rig.clock.sleep(0.1)
        slow.cancel()
        with pytest.raises((asyncio.CancelledError, DriverUnavailable)):
            await slow
        await rig.stays_settled(rig.clock.now_s())

    async def test_an_apply_at_its_deadline_is_not_settled_by_that(self, rig: Rig) -> None:
        await rig.clock.sleep(rig.driver.late_max_s)
        await use(rig.hold_next)
        with pytest.raises(DriverUnavailable):
            await rig.driver.apply(rig.bind, rig.deadline_s(rig.hold_s / 4))
        await rig.stays_settled(rig.clock.now_s())

    async def test_what_a_predecessor_sent_is_open_at_first(self, rig: Rig) -> None:
        if rig.successor is None:
            pytest.skip("this rig can not do that to its hardware")
        rig.driver = await rig.successor()
        await rig.stays_settled(rig.clock.now_s())

    async def test_a_look_proves_nothing_of_what_is_handed_over_meanwhile(self, rig: Rig) -> None:
        await rig.clock.sleep(rig.driver.late_max_s)
        await use(rig.hold_next_look)
        looking = asyncio.ensure_future(rig.driver.observe())
        await rig.clock.sleep(rig.hold_s / 4)
        handed_s = rig.clock.now_s()
        await rig.apply(rig.bind)
        assert (await looking).barrier_s < handed_s

    async def test_an_unreadable_answer_is_no_answer(self, rig: Rig) -> None:
        if not rig.garble_next:
            pytest.skip("this rig can not do that to its hardware")
        for garble in rig.garble_next:
            for ask in (rig.driver.discover, rig.driver.observe):
                await garble()
                with pytest.raises(DriverUnavailable):
                    await ask()
            await garble()
            with pytest.raises(DriverUnavailable):
                await rig.apply(rig.bind)
            await rig.settled(rig.clock.now_s())

    async def test_an_unreadable_hint_is_none(self, rig: Rig) -> None:
        for garble in rig.garble_next:
            await garble()
            with suppress(DriverUnavailable):
                await next_hint(rig.driver, lambda: use(rig.change_behind))
        if not rig.garble_next:
            pytest.skip("this rig can not do that to its hardware")

    async def test_nothing_blocks_the_event_loop(self, rig: Rig) -> None:
        for _ in range(TRIES):
            if rig.hold_next_look is not None:
                await rig.hold_next_look()
            longest_s = [await stood_still(rig.driver.observe())]
            if rig.hold_next is not None:
                await rig.hold_next()
            longest_s += [
                await stood_still(rig.apply(rig.bind)),
                await stood_still(rig.driver.discover()),
                await stood_still(rig.apply(rig.unbind)),
            ]
            if max(longest_s) < BLOCKED_S:
                return
        raise AssertionError(f"the event loop stood still for {longest_s} s")

    async def test_a_watch_ends_only_with_its_driver(self, rig: Rig) -> None:
        async def watch() -> None:
            async for _ in rig.driver.watch():
                pass

        watching = asyncio.ensure_future(watch())
        try:
            await rig.clock.sleep(0.1)
            await use(rig.cut_all)
            await asyncio.wait({watching}, timeout=1.0)
            if watching.done():
                with pytest.raises(DriverUnavailable):
                    watching.result()
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def test_closing_ends_a_look(self, rig: Rig) -> None:
        await use(rig.hold_next_look)
        looking = asyncio.ensure_future(rig.driver.observe())
        await rig.clock.sleep(0.01)
        await rig.driver.close()
        with pytest.raises(DriverUnavailable):
            await asyncio.wait_for(looking, 30)

    async def test_unbinding_what_does_not_exist_is_refused(self, rig: Rig) -> None:
        for vppb in await rig.not_there():
            with pytest.raises(DriverRejected):
                await rig.apply(Unbind(vppb, rig.target))


async def stood_still(call: Awaitable[object]) -> float:
    """Await `call`; return the longest real time in which the loop did nothing else meanwhile."""
    gaps_s = [0.0]

    async def beat() -> None:
        while True:
            before_s = time.monotonic()
            await asyncio.sleep(0.02)
            gaps_s.append(time.monotonic() - before_s)

    beating = asyncio.ensure_future(beat())
    await asyncio.sleep(0)
    try:
        await call
        await asyncio.sleep(0.03)
    finally:
        beating.cancel()
    return max(gaps_s)
