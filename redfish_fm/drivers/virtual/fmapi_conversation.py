"""One connection of a manager to a simulated switch: reads, lets the switch answer, writes.

Knows streams and faults; what is answered is fmapi_commands' business. Requests of one connection
are answered in their order, unless a fault wants it otherwise.
"""

import asyncio

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.fmapi_commands import answer
from redfish_fm.drivers.virtual.fmapi_faults import WireFault, WireFaults
from redfish_fm.drivers.virtual.fmapi_switch import BUSY, HANG_UP, Answer, FmapiSwitch, Manager
from redfish_fm.drivers.virtual.fmapi_wire import (
    CCI,
    Dialect,
    Framing,
    Heard,
    WireBroken,
    write_message,
)

_READ_BYTES = 1 << 16
_UNREAD_BYTES_MAX = 1 << 20
"""A manager that leaves so much unread is gone for all we know."""


class Conversation:
    """One connection. Run it once."""

    def __init__(
        self,
        switch: FmapiSwitch,
        framing: Framing,
        dialect: Dialect,
        faults: WireFaults,
        clock: Clock,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._switch = switch
        self._framing = framing
        self._dialect = dialect
        self._faults = faults
        self._clock = clock
        self._reader = reader
        self._writer = writer
        most = framing.limit_max
        self._manager = Manager(self._tell, dialect, limit=most, limit_max=most)
        self._kept_back: bytes = b""
        self._late: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Converse until either side ends it."""
        switch = self._switch
        if not switch.reachable():
            self.abort()
            return
        stop = switch.on_cut(self.abort)
        switch.managers.append(self._manager)
        try:
            while data := await self._reader.read(_READ_BYTES):
                for heard in self._framing.feed(data):
                    self._hear(heard)
                await self._writer.drain()
        except (OSError, WireBroken):
            pass  # the manager is gone, or makes no sense: either way the connection ends
        finally:
            switch.managers.remove(self._manager)
            stop()
            for task in tuple(self._late):
                task.cancel()
            self.abort()

    def abort(self) -> None:
        """End the connection now."""
        self._writer.transport.abort()

    def _hear(self, heard: Heard) -> None:
        if self._writer.transport.is_closing() or not heard.is_request:
            return
        profile = self._switch.profile
        if profile.dies_of_cci and heard.message_type == CCI:
            self.abort()
            return
        fault = self._faults.draw(heard.opcode)
        if fault is WireFault.DROP_REQUEST:
            return
        if fault is WireFault.BUSY:
            found: Answer | None = Answer(BUSY)
        else:
            if fault is WireFault.STUCK:
                self._switch.stuck_next = True
            found = answer(self._switch, heard, self._manager)
            self._switch.stuck_next = False
        if found is HANG_UP:
            self.abort()
        elif found is not None and fault is not WireFault.DROP:
            self._say(self._bytes_of(heard, found, fault), fault)

    def _bytes_of(self, heard: Heard, found: Answer, fault: WireFault | None) -> bytes:
        profile = self._switch.profile
        behind = profile.routes_by_port and profile.has(heard.opcode, behind_port=True)
        message = write_message(
            self._dialect,
            opcode=0 if profile.zero_opcode and not behind else heard.opcode,
            tag=self._faults.other_tag(heard.tag) if fault is WireFault.WRONG_TAG else heard.tag,
            payload=found.payload,
            code=found.code,
            background=found.background,
        )
        return b"".join(self._framing.answer(message, heard))

    def _say(self, data: bytes, fault: WireFault | None) -> None:
        match fault:
            case WireFault.DELAY:
                self._say_later(data)
            case WireFault.REORDER:
                self._kept_back += data
            case WireFault.DISCONNECT:
                self._write(data[: len(data) // 2])
                self._writer.transport.close()
            case WireFault.CORRUPT:
                self._write(self._faults.corrupted(data))
            case _:
                twice = fault is WireFault.DUPLICATE
                self._write(data * (1 + twice) + self._kept_back)
                self._kept_back = b""

    def _say_later(self, data: bytes) -> None:
        async def later() -> None:
            await self._clock.sleep(self._faults.delay_s())
            self._write(data)

        task = asyncio.get_running_loop().create_task(later())
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    def _tell(self, opcode: int, payload: bytes) -> None:
        message = write_message(
            self._dialect, opcode=opcode, tag=0, payload=payload, is_request=True
        )
        self._write(b"".join(self._framing.notice(message)))

    def _write(self, data: bytes) -> None:
        transport = self._writer.transport
        if transport.is_closing():
            return
        if transport.get_write_buffer_size() > _UNREAD_BYTES_MAX:
            self.abort()
            return
        self._writer.write(data)
