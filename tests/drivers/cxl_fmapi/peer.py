"""A switch on a real loopback socket, written against raw bytes: no code of the product is in it.

`Peer` answers requests from a table of opcode to a function of the payload. What it does wrong is
ordered through its fields. Two ways of speaking: packets of 68 bytes, frames of 2 + 1 + 1 bytes.
"""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

PACKETS, FRAMES = "packets", "frames"


@dataclass
class Asked:
    """A request as the peer saw it."""

    opcode: int
    payload: bytes
    tag: int
    message_type: int | None
    port: int


@dataclass
class Reply:
    """What to answer: return code, payload, the background bit, an opcode other than asked."""

    code: int = 0
    payload: bytes = b""
    background: bool = False
    opcode: int | None = None
    times: int = 1


Answer = Callable[[Asked], "Reply | Awaitable[Reply | None] | None"]


@dataclass
class Peer:
    """The switch. `jrl` swaps the header's bits; `zero_opcode` answers with opcode 0.

    `split`: bytes a write; `receive_bytes`: what the kernel keeps of what is not read yet.
    """

    speak: str = PACKETS
    jrl: bool = False
    zero_opcode: bool = False
    split: int = 0
    receive_bytes: int = 0
    answers: dict[int, Answer] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    host: str = "127.0.0.1"
    port: int = 0
    writer: asyncio.StreamWriter | None = None
    server: asyncio.Server | None = None
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def listen(self, port: int = 0) -> int:
        """Listen as a switch does that managers dial."""
        self.server = await asyncio.start_server(self._taken, self.host, port)
        if self.receive_bytes:
            listening = self.server.sockets[0]
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receive_bytes)
        self.port = self.server.sockets[0].getsockname()[1]
        return self.port

    async def dial(self, port: int) -> None:
        """Dial a manager that listens."""
        self._taken(*await asyncio.open_connection(self.host, port))

    def hang_up(self) -> None:
        """Cut the connection at once."""
        if self.writer is not None:
            self.writer.transport.abort()

    async def close(self) -> None:
        """Stop; cut what is connected."""
        if self.server is not None:
            self.server.close()
        self.hang_up()
        for task in self.tasks:
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks)

    def _taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writer = writer
        task = asyncio.ensure_future(self._serve(reader, writer))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                asked, flags = await (
                    self._packet(reader) if self.speak == PACKETS else self._frame(reader)
                )
                self.asked.append(asked)
                answer = self.answers.get(asked.opcode)
                reply = answer(asked) if answer is not None else None
                if asyncio.iscoroutine(reply):
                    reply = await reply
                if isinstance(reply, Reply):
                    for _ in range(reply.times):
                        await self.say(self.bytes_of(asked, reply, flags), writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    async def say(self, data: bytes, writer: asyncio.StreamWriter | None = None) -> None:
        """Write bytes, in pieces of `split` where that is not 0."""
        to = writer or self.writer
        assert to is not None
        step = self.split or len(data)
        for at in range(0, len(data), step):
            to.write(data[at : at + step])
            await to.drain()
            if self.split:
                await asyncio.sleep(0)

    async def _packet(self, reader: asyncio.StreamReader) -> tuple[Asked, int]:
        body = b""
        while True:
            packet = await reader.readexactly(68)
            body += packet[4:]
            if packet[3] & 0x40:
                break
        length = body[6] | body[7] << 8 | (body[8] & 0x1F) << 16
        opcode = body[4] | body[5] << 8
        return Asked(opcode, body[13 : 13 + length], body[2], body[0], 0), packet[3] & 7

    async def _frame(self, reader: asyncio.StreamReader) -> tuple[Asked, int]:
        head = await reader.readexactly(2)
        length = (head[0] | head[1] << 8) >> 4
        rest = await reader.readexactly(length - 2)
        opcode = rest[5] | rest[6] << 8
        return Asked(opcode, rest[14:], rest[3], None, rest[0]), 0

    def bytes_of(self, asked: Asked, reply: Reply, mctp_tag: int = 0) -> bytes:
        """Return an answer as it goes over the wire."""
        opcode = asked.opcode if reply.opcode is None else reply.opcode
        if self.zero_opcode:
            opcode = 0
        message = self.message(1, asked.tag, opcode, reply)
        return self.framed(message, asked.message_type or 7, mctp_tag)

    def message(self, category: int, tag: int, opcode: int, reply: Reply) -> bytes:
        """Return a CCI message."""
        size = len(reply.payload)
        first, eighth = category, size >> 16 | reply.background << 7
        if self.jrl:
            first, eighth = category << 4, (size >> 16) << 3
        head = struct.pack("<BBBHHBHH", first, tag, 0, opcode, size & 0xFFFF, eighth, reply.code, 0)
        return head + reply.payload

    def framed(self, message: bytes, kind: int = 7, mctp_tag: int = 0) -> bytes:
        """Return a message in packets or in a frame."""
        if self.speak == FRAMES:
            return struct.pack("<HBB", (len(message) + 4) << 4 | 4, 0, 0) + message
        body, out = bytes((kind,)) + message, b""
        for number, at in enumerate(range(0, len(body), 64)):
            flags = (at == 0) << 7 | (at + 64 >= len(body)) << 6 | (number & 3) << 4 | mctp_tag
            out += bytes((1, 8, 0, flags)) + body[at : at + 64].ljust(64, b"\0")
        return out

    def notice(self, opcode: int, payload: bytes = b"") -> bytes:
        """Return a request of the switch's own."""
        return self.framed(self.message(0, 0, opcode, Reply(payload=payload)), kind=8)


def always(code: int = 0, payload: bytes = b"") -> Answer:
    """Return an answer that is the same every time."""
    return lambda _: Reply(code, payload)


IDENTITY = struct.pack("<4HQBB", 0x1AED, 0x2003, 0, 0, 0x1122334455667788, 12, 0)
"""A switch of 18 bytes, as the standard has it."""


def identified(peer: Peer) -> Peer:
    """Let a peer answer Identify."""
    peer.answers.setdefault(0x0001, always(payload=IDENTITY))
    return peer
