"""One connection to a switch: commands out, answers and notices in.

Commands go one at a time, each frame or packet by one write: known switches read with a single
recv. Answers are matched by tag, and by opcode where they have one. What comes late, twice or
unasked is dropped and counted. Knows bytes of headers, not of payloads.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from redfish_fm.drivers.base import DriverNotSent, DriverUnavailable
from redfish_fm.drivers.cxl_fmapi.command import CCI
from redfish_fm.drivers.cxl_fmapi.commands import name_of
from redfish_fm.drivers.cxl_fmapi.header import Category, Dialect, Message
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.wires import Arrival, Sending, Wire

_READ_BYTES = 1 << 16
_TAGS = 256


class NoAnswer(DriverUnavailable):
    """The command was sent; nothing came back in time."""


@dataclass(frozen=True, slots=True)
class Order:
    """A command on its way: `port` for wires that route by it.

    `deadline_s` is on the event loop's clock: an order that is not sent by then never is.
    """

    opcode: int
    payload: bytes = b""
    message_type: int = CCI
    port: int = 0
    timeout_s: float = 2.0
    deadline_s: float | None = None


class Session:
    """One connection, from its first byte to its end.

    `heard_s` is when something last came; `answered` counts answers to commands; `notice` takes
    what the switch says unasked.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        wire: Wire,
        notice: Callable[[Arrival], None],
        silent_max: int = 3,
    ) -> None:
        self._reader = reader
        self.writer = writer
        self._wire = wire
        self.notice = notice
        self._silent_max = silent_max
        self._silent = 0
        self._turn = asyncio.Lock()
        self._tag = 0
        self._lost: set[int] = set()
        self._waiting: dict[int, tuple[int, asyncio.Future[Message]]] = {}
        self._ended = asyncio.Event()
        self.reason = ""
        self.answered = 0
        self.heard_s = asyncio.get_running_loop().time()
        self.peer = str(writer.get_extra_info("peername"))
        self.dropped: Counter[str] = wire.dropped
        # Without room in the buffer, drain() returns only once the bytes are the kernel's.
        writer.transport.set_write_buffer_limits(high=0)

    @property
    def ended(self) -> bool:
        """Return whether the connection is over."""
        return self._ended.is_set()

    @property
    def dialect(self) -> Dialect | None:
        """Return the dialect of the answers so far, None before the first."""
        return self._wire.dialect

    @property
    def held_bytes(self) -> int:
        """Return the size of what came and waits for its end."""
        return self._wire.held_bytes

    async def run(self) -> None:
        """Read until the connection ends; fail whatever still waits then."""
        try:
            while data := await self._reader.read(_READ_BYTES):
                self.heard_s = asyncio.get_running_loop().time()
                for arrival in self._wire.receive(data):
                    self._take(arrival)
            self.close("the switch hung up")
        except Malformed as error:
            self.close(f"the switch is out of step: {error}")
        except OSError as error:
            self.close(f"the connection broke: {error}")
        finally:
            self.close("closed")

    async def wait_ended(self) -> None:
        """Return when the connection is over."""
        await self._ended.wait()

    def close(self, reason: str) -> None:
        """End the connection; the first reason stays. Safe to repeat."""
        if self.ended:
            return
        self.reason = reason
        self._ended.set()
        # Nothing that waits to be written is worth waiting for.
        self.writer.transport.abort()
        for _, future in self._waiting.values():
            if not future.done():
                future.set_exception(DriverUnavailable(f"{self.peer}: {reason}"))

    async def exchange(self, order: Order) -> Message:
        """Send a command and return its answer, whatever its return code.

        Raises DriverNotSent when no byte was written, NoAnswer or another DriverUnavailable when
        the outcome is unknown, and Malformed for a command that does not fit the wire.
        """
        async with self._turn:
            self._check(order)
            tag = self._next_tag()
            request = Message(Category.REQUEST, tag, order.opcode, order.payload)
            pieces = self._wire.send(Sending(request, order.message_type, order.port))
            future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
            self._waiting[tag] = order.opcode, future
            # Until it is answered, an answer may still come for this tag.
            self._lost.add(tag)
            try:
                return await self._answer(order, pieces, future)
            finally:
                del self._waiting[tag]
                future.cancel()

    def _check(self, order: Order) -> None:
        """Raise DriverNotSent when it is too late to send."""
        if self.ended:
            raise DriverNotSent(f"{self.peer}: {self.reason}")
        now_s = asyncio.get_running_loop().time()
        if order.deadline_s is not None and now_s >= order.deadline_s:
            raise DriverNotSent(f"{self.peer}: the deadline of {name_of(order.opcode)} has passed")

    async def _answer(
        self, order: Order, pieces: list[bytes], future: "asyncio.Future[Message]"
    ) -> Message:
        written = False
        try:
            async with asyncio.timeout(order.timeout_s):
                for piece in pieces:
                    self.writer.write(piece)
                    await self.writer.drain()
                written = True
                return await future
        except TimeoutError as error:
            self._silence(written)
            raise NoAnswer(
                f"{self.peer}: no answer to {name_of(order.opcode)} in {order.timeout_s:g} s"
            ) from error
        except OSError as error:
            self.close(f"the connection broke: {error}")
            raise DriverUnavailable(f"{self.peer}: {self.reason}") from error

    def _silence(self, written: bool) -> None:
        """Count an unanswered command; give up a switch that answers none, or reads nothing."""
        self._silent += 1
        if not written:
            self.close("the switch reads nothing")
        elif self._silent >= self._silent_max:
            self.close(f"no answer to {self._silent} commands in a row")

    def _next_tag(self) -> int:
        """Return the next tag that no answer can still come for; all being lost, start anew."""
        if len(self._lost) >= _TAGS:
            self._lost.clear()
        while self._tag in self._lost:
            self._tag = (self._tag + 1) % _TAGS
        tag, self._tag = self._tag, (self._tag + 1) % _TAGS
        return tag

    def _take(self, arrival: Arrival) -> None:
        message = arrival.message
        if message.category is Category.REQUEST:
            self.notice(arrival)
            return
        opcode, future = self._waiting.get(message.tag, (0, None))
        if future is None or future.done():
            self.dropped["late answer"] += 1
            self._lost.discard(message.tag)
        elif message.opcode not in (0, opcode):
            # One known switch answers with opcode 0; any other has to be the one asked.
            self.dropped["answer to another command"] += 1
        else:
            self._silent = 0
            self.answered += 1
            self._lost.discard(message.tag)
            future.set_result(message)
