"""Turns at something scarce, taken by everybody alike: who comes often waits behind itself.

Use from one event loop.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator


class Turns:
    """So many at once; of those who wait, each `who` gets one turn before any gets a second."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @contextlib.asynccontextmanager
    async def turn(self, who: str) -> AsyncIterator[None]:
        """Wait for a turn, and have it meanwhile."""
        if self._free > 0:
            self._free -= 1
        else:
            await self._called(who)
        try:
            yield
        finally:
            self._pass_on()

    async def _called(self, who: str) -> None:
        called: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(who, deque()).append(called)
        try:
            await called
        except asyncio.CancelledError:
            if called.done() and not called.cancelled():
                # The turn had come, and nobody is here to take it.
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        """Call the next one; those who went away while waiting are passed over."""
        while self._waiting:
            who = next(iter(self._waiting))
            queue = self._waiting.pop(who)
            called = queue.popleft()
            if queue:
                # To the end: all others come first.
                self._waiting[who] = queue
            if not called.done():
                called.set_result(None)
                return
        self._free += 1
