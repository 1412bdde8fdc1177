"""A manager made of raw bytes, for tests of the far end: no codec of the product is in it."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass

PACKET_BYTES = 68


@dataclass(frozen=True)
class Said:
    """One message of a switch, as the fact sheet's offsets cut it."""

    first: int
    tag: int
    opcode: int
    eighth: int
    code: int
    payload: bytes
    kind: int = 7

    @property
    def is_answer(self) -> bool:
        return self.first in (0x01, 0x10)


def cut(message: bytes, kind: int = 7) -> Said:
    """Return a CCI message of the length that its header says, a missing end as zeros."""
    first, tag, _, opcode, length, eighth, code, _ = struct.unpack_from("<BBBHHBHH", message)
    return Said(
        first, tag, opcode, eighth, code, message[12 : 12 + length].ljust(length, b"\0"), kind
    )


@dataclass
class RawManager:
    """A connection. `frames`: 2 + 1 + 1 bytes before each message, else packets of 68 bytes."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    frames: bool = False
    sequence: int = 0

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def next(self, wait_s: float = 5.0) -> Said:
        """Return the next message, whatever it is."""
        async with asyncio.timeout(wait_s):
            return await (self._frame() if self.frames else self._packets())

    async def answer(self, wait_s: float = 5.0) -> Said:
        """Return the next answer; what the switch says unasked is left out."""
        while True:
            said = await self.next(wait_s)
            if said.is_answer:
                return said

    async def ask(
        self, opcode: int, payload: bytes = b"", *, tag: int = 1, kind: int = 7, port: int = 0
    ) -> Said:
        """Send a command and return the next answer."""
        await self.send(self.request(opcode, payload, tag=tag, kind=kind, port=port))
        return await self.answer()

    def request(
        self, opcode: int, payload: bytes = b"", *, tag: int = 1, kind: int = 7, port: int = 0
    ) -> bytes:
        """Return a command as it goes over the wire."""
        head = struct.pack("<BBBHHBHH", 0, tag, 0, opcode, len(payload), 0, 0, 0)
        message = head + payload
        if self.frames:
            return struct.pack("<HBB", (len(message) + 4) << 4 | 4, port, 0) + message
        body, out = bytes((kind,)) + message, b""
        for at in range(0, len(body), 64):
            ends = (at == 0) << 7 | (at + 64 >= len(body)) << 6
            flags = ends | self.sequence << 4 | 0x08 | 5
            self.sequence = (self.sequence + 1) % 4
            out += bytes((1, 9, 8, flags)) + body[at : at + 64].ljust(64, b"\0")
        return out

    async def ended(self, wait_s: float = 5.0) -> bool:
        """Whether the switch ends the connection by then."""
        try:
            async with asyncio.timeout(wait_s):
                while await self.reader.read(4096):
                    pass
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        return True

    async def _packets(self) -> Said:
        body = b""
        while True:
            packet = await self.reader.readexactly(PACKET_BYTES)
            body += packet[4:]
            if packet[3] & 0x40:
                return cut(body[1:], body[0])

    async def _frame(self) -> Said:
        head = await self.reader.readexactly(2)
        length = (head[0] | head[1] << 8) >> 4
        return cut((await self.reader.readexactly(length - 2))[2:])


@contextlib.asynccontextmanager
async def raw_manager(host: str, port: int, *, frames: bool = False) -> AsyncIterator[RawManager]:
    """Yield a connection to a switch that listens."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        yield RawManager(reader, writer, frames)
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)
