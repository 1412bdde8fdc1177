"""An event loop whose time jumps to the next timer when nothing else is left to do.

`asyncio.sleep(3600)` is then instant and exact, and the order of everything that one thread does
is the same in every run. Work in threads is waited for where the loop knows of it: by
run_in_executor and to_thread always, by a thread of one's own inside `loop.hold()`.

    run(coroutine)              like asyncio.run
    @in_virtual_time            makes a plain test of an `async def` one; fixtures still work
    VirtualClock()              a redfish_fm.clocks.Clock on this loop's time
"""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

EPOCH_S = 1_760_000_000.0
"""What VirtualClock.wall_s says at loop time 0: an instant in October 2025."""

STUCK_REAL_S = 5.0
"""Real time to wait for an unannounced thread before the loop is declared stuck."""


JUMPS_MAX = 100_000
"""Jumps of one loop, many times what any test takes. Where a test waits for what never comes, tasks
that look at something each second would run on at full speed, and what they log fills the memory.
"""


class Stuck(Exception):
    """Nothing can ever wake the loop again: no timer, no ready task, no announced thread.

    Or timers alone do, again and again, and nothing comes of it.
    """


class _JumpingSelector(selectors.BaseSelector):
    """A selector that, instead of waiting, moves the loop's time on."""

    def __init__(self, loop: "VirtualTimeLoop") -> None:
        self._real = selectors.DefaultSelector()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is not None and timeout <= 0:
            return self._real.select(0)
        if self._loop.held:
            return self._real.select(None)
        events = self._real.select(0)
        if events:
            return events
        if timeout is None:
            events = self._real.select(STUCK_REAL_S)
            if not events:
                raise Stuck("no timer, no task and no thread can wake this loop")
            return events
        self._loop.jump(timeout)
        return []

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.get_key(fileobj)

    def get_map(self) -> Any:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """The loop. Its time begins at 0; `held` counts threads that it waits for in real time."""

    def __init__(self) -> None:
        self._virtual_s = 0.0
        self._jumps = 0
        self.held = 0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self._virtual_s

    def jump(self, by_s: float) -> None:
        """Move time on."""
        self._virtual_s += by_s
        self._jumps += 1
        if self._jumps > JUMPS_MAX:
            # What is cancelled now may take its time to end.
            self._jumps = 0
            raise Stuck(f"after {self._virtual_s:.0f} s what is waited for has not come")

    def came(self) -> None:
        """Note that something has come of the jumps so far; what is long and gets on calls it."""
        self._jumps = 0

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep time still while a thread works that will call back into the loop."""
        self.held += 1
        try:
            yield
        finally:
            self.held -= 1

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> "asyncio.Future[T]":
        future = super().run_in_executor(executor, func, *args)
        self.held += 1
        future.add_done_callback(self._let_go)
        return future

    def _let_go(self, _: object) -> None:
        self.held -= 1


class VirtualClock:
    """A clock on the running loop's time; in a VirtualTimeLoop the wall clock is virtual too."""

    def now_s(self) -> float:
        return asyncio.get_running_loop().time()

    def wall_s(self) -> float:
        return EPOCH_S + self.now_s()

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(max(0.0, delay_s))


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run to the end in a new loop of virtual time, as asyncio.run does in real time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(coroutine)


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make a plain test function that runs `test` in virtual time."""

    @functools.wraps(test)
    def plain(*args: P.args, **kwargs: P.kwargs) -> T:
        return run(test(*args, **kwargs))

    return plain


async def settle(rounds: int = 10) -> None:
    """Let everything that is ready run, without moving time."""
    for _ in range(rounds):
        await asyncio.sleep(0)
