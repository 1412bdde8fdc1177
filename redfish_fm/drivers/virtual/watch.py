"""Hints for whoever watches a virtual fabric, and waiting with a limit on an injected clock.

A watch coalesces: however often a switch changes while nobody looks, one hint is waiting. While
somebody waits for hints, what is due (late commands on the service clock, physics on the fabric
clock) happens in time, not when somebody next looks.
"""

import asyncio
import weakref
from collections.abc import AsyncIterator
from typing import Any

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.fabric.model import Hint


async def wait_until(task: "asyncio.Future[Any]", clock: Clock, at_s: float) -> None:
    """Wait for `task`, but not past `at_s` on `clock`; the task is left running."""
    if at_s == float("inf"):
        await asyncio.wait({task})
        return
    timer = asyncio.create_task(clock.sleep(at_s - clock.now_s()))
    try:
        await asyncio.wait({task, timer}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        timer.cancel()


class Watch(AsyncIterator[Hint]):
    """One watcher's hints; hears everything from its making on. Ends when the driver closes."""

    def __init__(self, fabric: str, hardware: Hardware, clock: Clock, fabric_clock: Clock) -> None:
        self._fabric = fabric
        self._hardware = hardware
        self._clock = clock
        self._fabric_clock = fabric_clock
        self._waiting: dict[str, None] = {}
        self._news = asyncio.Event()
        self._closed = False

    def hint(self, switch: str) -> None:
        """Suggest to look at a switch."""
        self._waiting[switch] = None
        self._news.set()

    def wake(self) -> None:
        """Look again when something happens by itself next."""
        self._news.set()

    def close(self) -> None:
        """End the iteration once the waiting hints are read."""
        self._closed = True
        self._news.set()

    async def aclose(self) -> None:
        """End the iteration now."""
        self._waiting.clear()
        self.close()

    async def __anext__(self) -> Hint:
        while not self._waiting:
            if self._closed:
                raise StopAsyncIteration
            await self._next_news()
        switch = next(iter(self._waiting))
        del self._waiting[switch]
        return Hint(self._fabric, switch)

    async def _next_news(self) -> None:
        """Wait until there is a hint, or until something happens by itself, and let it happen."""
        self._news.clear()
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._news.wait())]
        for clock, next_s in (
            (self._clock, self._hardware.next_s()),
            (self._fabric_clock, self._hardware.next_fabric_s()),
        ):
            if next_s is not None:
                waits.append(asyncio.ensure_future(clock.sleep(next_s - clock.now_s())))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if not self._closed:
            self._hardware.advance()


class Watchers:
    """All watches of one driver, told in the order in which they began."""

    def __init__(self, fabric: str, hardware: Hardware, clock: Clock, fabric_clock: Clock) -> None:
        self._fabric = fabric
        self._hardware = hardware
        self._clock = clock
        self._fabric_clock = fabric_clock
        self._watches: list[weakref.ref[Watch]] = []

    def watch(self) -> Watch:
        """Begin a watch; one that nobody holds any more is forgotten."""
        made = Watch(self._fabric, self._hardware, self._clock, self._fabric_clock)
        self._watches.append(weakref.ref(made))
        return made

    def hint(self, switch: str) -> None:
        """Suggest to all watchers to look at a switch."""
        for watch in self._alive():
            watch.hint(switch)

    def wake(self) -> None:
        """Let all watchers look again when something happens by itself next."""
        for watch in self._alive():
            watch.wake()

    def close(self) -> None:
        """End all watches."""
        for watch in self._alive():
            watch.close()

    def _alive(self) -> list[Watch]:
        self._watches = [ref for ref in self._watches if ref() is not None]
        return [watch for ref in self._watches if (watch := ref()) is not None]
