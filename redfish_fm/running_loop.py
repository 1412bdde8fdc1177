"""The running event loop, remembered. A leaf module."""

import asyncio


class RunningLoop:
    """Gives the running event loop, also where one loop ends and another begins.

    asyncio asks the system which process this is whenever it is asked for its loop: a system call,
    which a small write would pay several times.
    """

    __slots__ = ("_loop",)

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def get(self) -> asyncio.AbstractEventLoop:
        """Return the running loop. Raises RuntimeError where none runs in this thread."""
        loop = self._loop
        if loop is None or not loop.is_running():
            loop = self._loop = asyncio.get_running_loop()
        return loop
