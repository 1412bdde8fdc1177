"""The rest of one connection as a flow: what an answer goes on with until somebody ends it.

Knows the socket's side: how much a client has read, that it is gone, that it never reads. What is
sent goes in chunks of its own (RFC 9112 "Chunked Transfer Coding"): clients that read by the block
hold back whatever does not fill one, where only the end of the connection ends the answer.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from redfish_fm.redfish.requests import Flow

UNANSWERED_MS = 60_000
"""How long a client may leave what was sent unacknowledged: one without power says no goodbye."""


class ConnectionSink:
    """The connection of one flow. `write_timeout_s`: how long a client may read nothing."""

    def __init__(
        self,
        protocol: web.RequestHandler,
        transport: asyncio.Transport | None,
        write_timeout_s: float,
        *,
        chunked: bool,
    ) -> None:
        self._chunked = chunked
        self._protocol = protocol
        self._transport = transport
        self._write_timeout_s = write_timeout_s
        self._told: list[Callable[[], None]] = []
        self.over = transport is None
        """Whether the client is gone, or the server stops."""

    @property
    def behind(self) -> bool:
        """Whether the client has still to read what was sent."""
        return self._protocol.writing_paused

    def on_over(self, told: Callable[[], None]) -> None:
        """Have `told` called once when it is over; at once where it is already."""
        if self.over:
            told()
        else:
            self._told.append(told)

    def end(self) -> None:
        """Send nothing more: the client is gone, or the server stops."""
        if not self.over:
            self.over = True
            told, self._told = self._told, []
            for each in told:
                each()

    def send(self, data: bytes) -> None:
        """Send more; nothing where it is over."""
        if data:
            self._write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    def finish(self) -> None:
        """Say that nothing more comes."""
        if self._chunked:
            self._write(b"0\r\n\r\n")

    def _write(self, data: bytes) -> None:
        if not self.over and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    async def drained(self) -> None:
        """Return once the client has read enough, or it is over; cut one that reads nothing."""
        if self.over or not self.behind:
            return
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def told() -> None:
            if not over.done():
                over.set_result(None)

        self.on_over(told)
        waits = {over, asyncio.ensure_future(_drain(self._protocol))}
        _, late = await asyncio.wait(
            waits, timeout=self._write_timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
        for each in late:
            each.cancel()
        if told in self._told:
            # A slow reader is waited for again and again.
            self._told.remove(told)
        if len(late) == len(waits):
            if self._transport is not None:
                self._transport.abort()
            self.end()


async def _drain(protocol: web.RequestHandler) -> None:
    with contextlib.suppress(ConnectionError):
        # aiohttp's own way to wait for a client; its method is protected by name only.
        await protocol._drain_helper()  # noqa: SLF001


class FlowAnswer(web.StreamResponse):
    """An answer that goes on: its head, then a flow, then the end of the connection."""

    def __init__(
        self, rendered: tuple[bytes, bytes], flow: Flow, write_timeout_s: float, *, chunked: bool
    ) -> None:
        # As for Answer: the parent's header map is read by nobody here.
        self._status = 200
        self._keep_alive = False
        self._rendered = rendered
        self._flow = flow
        self._write_timeout_s = write_timeout_s
        self._chunked = chunked
        self.sink: ConnectionSink | None = None
        """Where it goes, once it has begun."""

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Do nothing: the head goes out with the flow."""
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """Do nothing: the flow has ended by then."""

    async def run(self, protocol: web.RequestHandler) -> None:
        """Send the head and then the flow, until it ends or the client is gone."""
        transport = protocol.transport
        self.sink = sink = ConnectionSink(
            protocol, transport, self._write_timeout_s, chunked=self._chunked
        )
        head, body = self._rendered
        if transport is not None:
            _cut_where_unanswered(transport)
            transport.write(head)
        sink.send(body)
        # Also where the client is gone already: the flow has what is to be taken back.
        await self._flow.run(sink)
        sink.finish()


def _cut_where_unanswered(transport: asyncio.Transport) -> None:
    """Let the kernel end the connection to a client that acknowledges nothing any more."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    found = transport.get_extra_info("socket")
    if option is not None and found is not None and found.family != socket.AF_UNIX:
        found.setsockopt(socket.IPPROTO_TCP, option, UNANSWERED_MS)
