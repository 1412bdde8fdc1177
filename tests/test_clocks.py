"""The fabric clock: as fast as its scale says, and at scale 0 from timer to timer."""

import asyncio

import pytest

from redfish_fm.clocks import ScaledClock
from tests.virtual_time import VirtualClock, in_virtual_time


@in_virtual_time
@pytest.mark.parametrize(("scale", "service_s"), [(1.0, 6.0), (10.0, 0.6), (0.5, 12.0)])
async def test_a_scaled_clock_runs_as_fast_as_it_says(scale: float, service_s: float) -> None:
    below = VirtualClock()
    clock = ScaledClock(below, scale)
    await clock.sleep(6.0)
    assert below.now_s() == pytest.approx(service_s)
    assert clock.now_s() == pytest.approx(6.0)


@in_virtual_time
async def test_at_scale_0_a_sleep_takes_no_service_time() -> None:
    below = VirtualClock()
    clock = ScaledClock(below, 0)
    await clock.sleep(3600.0)
    assert (clock.now_s(), below.now_s()) == (3600.0, 0.0)


@in_virtual_time
async def test_at_scale_0_timers_go_off_in_the_order_of_their_times() -> None:
    clock = ScaledClock(VirtualClock(), 0)
    heard: list[tuple[float, float]] = []

    async def sleep(*delays_s: float) -> None:
        for delay_s in delays_s:
            await clock.sleep(delay_s)
            heard.append((delay_s, clock.now_s()))

    await asyncio.gather(sleep(10.0), sleep(1.0, 2.0, 8.0), sleep(4.0))
    assert heard == [(1.0, 1.0), (2.0, 3.0), (4.0, 4.0), (10.0, 10.0), (8.0, 11.0)]


@in_virtual_time
async def test_at_scale_0_a_cancelled_timer_keeps_nobody_waiting() -> None:
    clock = ScaledClock(VirtualClock(), 0)
    short = asyncio.ensure_future(clock.sleep(1.0))
    long = asyncio.ensure_future(clock.sleep(10.0))
    await asyncio.sleep(0)
    short.cancel()
    await asyncio.wait_for(long, 1.0)
    assert clock.now_s() == 10.0


def test_time_does_not_run_backwards() -> None:
    with pytest.raises(ValueError, match="negative"):
        ScaledClock(VirtualClock(), -1.0)
