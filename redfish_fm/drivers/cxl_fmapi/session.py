"""One connection to a switch: commands out, answers and notices in.

Commands go one at a time, each frame or packet by one write: known switches read with a single
recv. Answers are matched by tag, and by opcode where they have one. What comes late, twice or
unasked is dropped and counted. Knows bytes of headers, not of payloads.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from redfish_fm.drivers.base import DriverNotSent, DriverUnavailable
from redfish_fm.drivers.cxl_fmapi.command import CCI
from redfish_fm.drivers.cxl_fmapi.commands import name_of
from redfish_fm.drivers.cxl_fmapi.header import Category, Dialect, Message
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.wires import Arrival, Sending, Wire

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


class Session(asyncio.Protocol):
    """One connection, from its first byte to its end.

    `heard_s` is when something last came; `answered` counts answers to commands; `notice` takes
    what the switch says unasked; `opened` is told once there is a connection. A protocol rather
    than streams: what comes is read where it arrives, without another turn of the event loop.
    """

    transport: asyncio.Transport

    def __init__(
        self,
        wire: Wire,
        notice: Callable[[Arrival], None],
        silent_max: int = 3,
        opened: "Callable[[Session], None] | None" = None,
    ) -> None:
        self._wire = wire
        self._opened = opened
        self.notice = notice
        self._silent_max = silent_max
        self._silent = 0
        self._turn = asyncio.Lock()
        self._tag = 0
        self._lost: set[int] = set()
        self._waiting: dict[int, tuple[int, asyncio.Future[Message]]] = {}
        self._ended = asyncio.Event()
        self._gone = asyncio.Event()
        self._full: asyncio.Future[None] | None = None
        """While the kernel takes no more bytes: done once it does."""
        self.reason = ""
        self.answered = 0
        self.heard_s = 0.0
        self.peer = ""
        self.dropped: Counter[str] = wire.dropped

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

    # -- what the event loop calls -----------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; bytes that the kernel does not take at once are waited for."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - of a stream it is
        self.transport = transport
        transport.set_write_buffer_limits(high=0)
        self.heard_s = asyncio.get_running_loop().time()
        self.peer = str(transport.get_extra_info("peername"))
        if self._opened is not None:
            self._opened(self)

    def data_received(self, data: bytes) -> None:
        """Take what came; a stream that can not be told apart any more ends the connection."""
        if self.ended:
            return
        self.heard_s = asyncio.get_running_loop().time()
        try:
            for arrival in self._wire.receive(data):
                self._take(arrival)
        except Malformed as error:
            self.close(f"the switch is out of step: {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        """End; whatever still waits fails."""
        self.close(f"the connection broke: {exc}" if exc else "the switch hung up")
        self._gone.set()

    def pause_writing(self) -> None:
        """Hear that the kernel takes no more bytes."""
        self._full = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        """Hear that it does again."""
        full, self._full = self._full, None
        if full is not None and not full.done():
            full.set_result(None)

    # -- what a link calls -------------------------------------------------------------------

    async def wait_closed(self) -> None:
        """Return when the socket is closed. Call it after `close`."""
        await self._gone.wait()

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
        self.transport.abort()
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
                # Whoever gave up at the moment of its failure asks for it no more.
                if not future.cancel() and not future.cancelled():
                    future.exception()

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
        # An asyncio.timeout costs as much as it costs to read the answer.
        late = asyncio.get_running_loop().call_later(order.timeout_s, _be_late, future)
        try:
            for piece in pieces:
                self.transport.write(piece)
                if self._full is not None and not await self._written(self._full, future):
                    break
            else:
                written = True
            return await future
        except TimeoutError as error:
            self._silence(written)
            raise NoAnswer(
                f"{self.peer}: no answer to {name_of(order.opcode)} in {order.timeout_s:g} s"
            ) from error
        finally:
            late.cancel()

    @staticmethod
    async def _written(full: "asyncio.Future[None]", future: "asyncio.Future[Message]") -> bool:
        """Return whether the kernel has taken all bytes before anything else came."""
        both: set[asyncio.Future[Any]] = {full, future}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        return full.done()

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


def _be_late(future: "asyncio.Future[Message]") -> None:
    if not future.done():
        future.set_exception(TimeoutError())
