"""A simulated CXL switch as an FM-API endpoint: managers dial it, or it dials a manager.

Knows sockets. Who listens gets MCTP packets of 68 bytes, a manager that is dialled gets frames, as
the two known kinds of switches do it; either can be told otherwise. Several managers at once are
served unless the profile says no.
"""

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.fmapi_conversation import Conversation
from redfish_fm.drivers.virtual.fmapi_faults import WireFaults
from redfish_fm.drivers.virtual.fmapi_switch import FmapiSwitch
from redfish_fm.drivers.virtual.fmapi_wire import Dialect, Frames, Framing, Packets

MANAGERS_MAX = 32
"""Connections at once; who comes then is cut."""

LOOK_S = 0.1
"""How often a switch with managers looks for what nobody told it, in service seconds."""

_REDIAL_S, _REDIAL_S_MAX = 0.1, 5.0


class _End:
    """What both ends have in common: conversations, and the look at what changes meanwhile."""

    def __init__(
        self,
        switch: FmapiSwitch,
        clock: Clock,
        *,
        frames: bool,
        dialect: Dialect | None = None,
        faults: WireFaults | None = None,
    ) -> None:
        self.switch = switch
        self.dialect = dialect or switch.profile.dialect
        self.faults = faults or WireFaults()
        self._clock = clock
        self._frames = frames
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """End all conversations. Safe to repeat."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # An aborted transport closes its socket in the loop's next round.
        await asyncio.sleep(0)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look(self) -> None:
        while True:
            await self._clock.sleep(LOOK_S)
            if self.switch.managers:
                self.switch.look()

    def _framing(self) -> Framing:
        if self._frames:
            return Frames(self.dialect)
        return Packets(self.dialect, truncates=self.switch.profile.truncates)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = Conversation(
            self.switch, self._framing(), self.dialect, self.faults, self._clock, reader, writer
        )
        turn = self._turn if self.switch.profile.one_manager else contextlib.nullcontext()
        try:
            async with turn:
                await talk.run()
        finally:
            talk.abort()


class FmapiListener(_End):
    """A switch that managers dial."""

    def __init__(
        self,
        switch: FmapiSwitch,
        clock: Clock,
        *,
        frames: bool = False,
        dialect: Dialect | None = None,
        faults: WireFaults | None = None,
    ) -> None:
        super().__init__(switch, clock, frames=frames, dialect=dialect, faults=faults)
        self._server: asyncio.Server | None = None
        self.host, self.port = "", 0

    async def listen(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Take managers from now on; returns the port (0 picks one). Raises OSError."""
        self._server = await asyncio.start_server(self._taken, host, port)
        self.host, self.port = self._server.sockets[0].getsockname()[:2]
        self._start(self._look())
        return self.port

    async def close(self) -> None:
        """Take nobody any more, and end all conversations. Safe to repeat."""
        if self._server is not None:
            self._server.close()
        await super().close()

    def _taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) > MANAGERS_MAX:
            writer.transport.abort()
            return
        self._start(self._converse(reader, writer))


class FmapiDialer(_End):
    """A switch that dials its manager, again and again."""

    def __init__(
        self,
        switch: FmapiSwitch,
        clock: Clock,
        *,
        frames: bool = True,
        dialect: Dialect | None = None,
        faults: WireFaults | None = None,
    ) -> None:
        super().__init__(switch, clock, frames=frames, dialect=dialect, faults=faults)
        self.connections = 0

    def dial(self, host: str, port: int) -> None:
        """Dial from now on, until closed."""
        self._start(self._dial(host, port))
        self._start(self._look())

    async def _dial(self, host: str, port: int) -> None:
        wait_s = _REDIAL_S
        while True:
            if self.switch.reachable() and await self._dialled(host, port):
                wait_s = _REDIAL_S
            else:
                wait_s = min(2 * wait_s, _REDIAL_S_MAX)
            await self._clock.sleep(wait_s)

    async def _dialled(self, host: str, port: int) -> bool:
        try:
            reader, writer = await asyncio.open_connection(host, port)
        except OSError:
            return False
        self.connections += 1
        await self._converse(reader, writer)
        return True
