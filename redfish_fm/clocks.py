"""The clock protocol that every waiting part is given; real and scaled implementations.

Knows of the package only the running loop. Nothing else calls time.time or loop.time directly.
"""

import asyncio
import heapq
import itertools
import time
from typing import Protocol

from redfish_fm.running_loop import RunningLoop


class Clock(Protocol):
    """A source of time and of waiting. Seconds everywhere."""

    def now_s(self) -> float:
        """Return monotonic seconds; only differences mean anything."""
        ...

    def wall_s(self) -> float:
        """Return seconds since 1970, for timestamps only."""
        ...

    async def sleep(self, delay_s: float) -> None:
        """Wait `delay_s` on this clock (0 or less yields once)."""
        ...


class SystemClock:
    """The machine's time, through the running event loop where there is one to wait on."""

    def __init__(self) -> None:
        self._loop = RunningLoop()

    def now_s(self) -> float:
        """Return the event loop's time, which tests may replace."""
        return self._loop.get().time()

    def wall_s(self) -> float:
        """Return time.time()."""
        return time.time()

    async def sleep(self, delay_s: float) -> None:
        """Wait on the event loop."""
        await asyncio.sleep(max(0.0, delay_s))


class ScaledClock:
    """The fabric clock: runs `scale` times as fast as the clock below it.

    At scale 0 it stands still between events and jumps to its next timer: a sleep costs no
    service time, timers go off in the order of their times, and `now_s` advances by exactly what
    was slept.
    """

    def __init__(self, below: Clock, scale: float) -> None:
        if scale < 0:
            raise ValueError(f"time scale {scale} is negative")
        self._below = below
        self._scale = scale
        self._jumped_s = 0.0
        self._timers: list[tuple[float, int]] = []
        self._numbers = itertools.count()

    def now_s(self) -> float:
        """Return fabric seconds."""
        return self._jumped_s if self._scale == 0 else self._below.now_s() * self._scale

    def wall_s(self) -> float:
        """Return the wall clock below: timestamps are never scaled."""
        return self._below.wall_s()

    async def sleep(self, delay_s: float) -> None:
        """Wait `delay_s` fabric seconds."""
        if self._scale == 0:
            await self._jump(self._jumped_s + max(0.0, delay_s))
        else:
            await self._below.sleep(delay_s / self._scale)

    async def _jump(self, wake_s: float) -> None:
        """Wait until no earlier timer is left, then move time on."""
        timer = (wake_s, next(self._numbers))
        heapq.heappush(self._timers, timer)
        try:
            await self._below.sleep(0)
            while self._timers[0] != timer:
                await self._below.sleep(0)
            self._jumped_s = max(self._jumped_s, wake_s)
        finally:
            self._timers.remove(timer)
            heapq.heapify(self._timers)
