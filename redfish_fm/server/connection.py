"""One client connection: aiohttp's request loop with our limits, errors and time-outs.

Knows aiohttp's RequestHandler inside out (it is subclassed, and its documented and protected
parts are used); knows nothing of requests' meaning. All wording comes from `Hub.refuse`.
"""

import asyncio
import logging
import re
from typing import Any, Protocol, cast

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMessage, BadHttpMethod, LineTooLong
from aiohttp.http_parser import RawRequestMessage

from redfish_fm.redfish.client_certificates import ClientCertificate
from redfish_fm.server.answers import Answer
from redfish_fm.server.limits import Limits
from redfish_fm.server.peers import client_certificate
from redfish_fm.server.sse import FlowAnswer

_log = logging.getLogger(__name__)

_READ_BUFFER_BYTES = 32 << 10
"""aiohttp stops reading at twice this; what a client may make us hold before a handler reads."""

_REQUEST_LINE = re.compile(r"b(['\"])[!#$%&'*+.^_`|~0-9A-Za-z-]+ [^ ]+ HTTP/1\.[01]\1")
"""A well-formed request line as aiohttp quotes it in its complaint about a method."""


_OTHER_VERSION = "Invalid HTTP version"
"""How aiohttp complains about a request line of another version than 1.0 and 1.1."""


def unsent_bytes(transport: asyncio.Transport) -> int:
    """Return how much a client has still to take."""
    try:
        return transport.get_write_buffer_size()
    except AttributeError:
        # asyncio's TLS transport forgets its other half when it is closed twice
        return 0


def peer_of(transport: asyncio.Transport) -> str:
    """Return the address of the other side, empty where it has none."""
    name = transport.get_extra_info("peername")
    return str(name[0]) if isinstance(name, tuple) else ""


class Hub(Protocol):
    """What a connection needs of its server."""

    limits: Limits

    def shaken(self, transport: asyncio.Transport) -> None:
        """Note that a connection's handshake is over."""
        ...

    def admits(self, peer: str) -> bool:
        """Return whether one more connection from that address is served."""
        ...

    def opened(self, connection: "Connection", transport: asyncio.Transport) -> None:
        """Note a connection that is served."""
        ...

    def closed(self, connection: "Connection") -> None:
        """Forget a connection."""
        ...

    def refusal(self, status: int) -> bytes:
        """Return a whole closing response with `status`, for a client without a request."""
        ...

    def refuse(self, request: web.BaseRequest, status: int) -> web.StreamResponse:
        """Return the answer that refuses `request` with `status` and closes."""
        ...


class Connection(web.RequestHandler):
    """aiohttp's protocol object, one per connection."""

    __slots__ = (
        "_abort_timer",
        "_flowing",
        "_head_bytes",
        "_head_timer",
        "_heard",
        "_hub",
        "certificate",
        "peer",
        "writing",
    )

    def __init__(self, manager: web.Server, hub: Hub, *, loop: asyncio.AbstractEventLoop) -> None:
        self._hub = hub
        self._head_timer: asyncio.TimerHandle | None = None
        self._abort_timer: asyncio.TimerHandle | None = None
        self._flowing: FlowAnswer | None = None
        self._heard = False
        self._head_bytes = 0
        self.peer = ""
        self.certificate: ClientCertificate | None = None
        self.writing: asyncio.Task[Any] | None = None
        """The task of the request that is answered, while it carries out a write."""
        super().__init__(
            manager,
            loop=loop,
            keepalive_timeout=hub.limits.idle_timeout_s,
            lingering_time=0,
            access_log=None,  # type: ignore[arg-type]  # documented way to switch it off
            read_bufsize=_READ_BUFFER_BYTES,
            logger=_log,
            max_line_size=hub.limits.uri_bytes,
            max_field_size=hub.limits.header_field_bytes,
            max_headers=hub.limits.header_count,
            # A compressed body could unfold to anything; the service refuses Content-Encoding.
            auto_decompress=False,
        )

    # -- life ------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Serve the connection, or turn it away with 503 when there are too many."""
        stream = cast(asyncio.Transport, transport)
        self.peer = peer_of(stream)
        self._hub.shaken(stream)
        if not self._hub.admits(self.peer):
            self._turn_away(stream)
            return
        self.certificate = client_certificate(stream)
        super().connection_made(stream)
        self._hub.opened(self, stream)
        self._start_head_timer()

    def _turn_away(self, transport: asyncio.Transport) -> None:
        # Without a manager and forced to close, the parent ignores whatever still arrives.
        self._manager = None
        self._force_close = True
        transport.write(self._hub.refusal(503))
        transport.close()
        self._abort_timer = self._loop.call_later(self._hub.limits.linger_s, transport.abort)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Forget the connection; a running handler is not cancelled."""
        self._stop_head_timer()
        super().connection_lost(exc)
        if self._abort_timer is not None:
            self._abort_timer.cancel()
        self.end_flow()
        self._hub.closed(self)

    def end_flow(self) -> None:
        """Let an answer that goes on come to its end."""
        if self._flowing is not None and self._flowing.sink is not None:
            self._flowing.sink.end()

    async def shutdown(self, timeout: float | None = 15.0) -> None:  # noqa: ASYNC109 - aiohttp's
        """Let the request that runs end, for `timeout`; then its body breaks off and it has that
        long again. After that it is cancelled, but for a write: the server sees to its end.
        """
        self._force_close = True
        if self._keepalive_handle is not None:
            self._keepalive_handle.cancel()
        running = self._task_handler or self.writing
        if running is not None:
            await asyncio.wait({running}, timeout=timeout)
            if not running.done():
                if self._current_request is not None:
                    self._current_request._cancel(asyncio.CancelledError())  # noqa: SLF001
                await asyncio.wait({running}, timeout=timeout)
            if self.writing is None:
                running.cancel()
        self.force_close()

    def force_close(self) -> None:
        """Close now; what the client has not read after linger_s is dropped with the socket."""
        transport = self.transport
        super().force_close()
        if transport is not None:
            self._abort_later(transport)

    def _abort_later(self, transport: asyncio.Transport) -> None:
        if self._abort_timer is None and unsent_bytes(transport):
            self._abort_timer = self._loop.call_later(self._hub.limits.linger_s, transport.abort)

    # -- reading ---------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Parse what arrived; time the head of a request; pass on a broken body."""
        waiter = self._waiter
        self._heard = True
        super().data_received(data)
        if self._messages:
            self._head_bytes = 0
            if self._head_timer is not None:
                self._stop_head_timer()
            if not isinstance(self._messages[-1][0], RawRequestMessage):
                self._break_body()
        elif waiter is not None and not waiter.done():
            if self._head_timer is None:
                self._start_head_timer()
            self._head_bytes += len(data)
            if self._head_bytes > self._hub.limits.head_bytes:
                self._refuse_head(431)

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Read on where reading had paused; where it had not, nothing waits to be parsed.

        aiohttp calls it for each body that is taken, and would run the parser over nothing.
        """
        if self._reading_paused:
            super().resume_reading(resume_parser)

    def _break_body(self) -> None:
        """Wake a handler that waits for a body whose framing turned out broken."""
        request = self._current_request
        if request is not None and not request.content.is_eof():
            request.content.set_exception(web.RequestPayloadError("broken framing"))

    def _start_head_timer(self) -> None:
        self._head_timer = self._loop.call_later(
            self._hub.limits.read_timeout_s, self._cut_slow_head
        )

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _cut_slow_head(self) -> None:
        self._head_timer = None
        if self._waiter is None or self._waiter.done():
            return
        if self._heard:
            self._refuse_head(408)
        else:
            self.force_close()

    def _refuse_head(self, status: int) -> None:
        """Refuse a request whose head has not come to its end."""
        if self.transport is not None:
            self.transport.write(self._hub.refusal(status))
        self.force_close()

    # -- answering -------------------------------------------------------------------------

    def answering(self) -> asyncio.Task[Any]:
        """Return the task that answers a request; called in it."""
        task = asyncio.current_task(self._loop)
        assert task is not None  # noqa: S101 - aiohttp answers each request in a task
        return task

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send the answer; then let a refused client finish reading it."""
        if isinstance(resp, Answer) and not self._upgraded:
            # The parent also ends forms, which nobody reads here, and has three coroutines for it.
            lost = False
            try:
                if not resp.sent_at_once(self):
                    await resp.send(request)
            except ConnectionError:
                lost = True
        elif isinstance(resp, FlowAnswer):
            self._flowing, lost = resp, False
            await resp.run(self)
        else:
            resp, lost = await super().finish_response(request, resp, start_time)
        if isinstance(resp, Answer) and resp.linger and not lost:
            await self._linger(request)
        if not resp.keep_alive and self.transport is not None:
            self._abort_later(self.transport)
        return resp, lost

    async def _linger(self, request: web.BaseRequest) -> None:
        """Throw away a bounded rest of the body: closing at once would reset the connection."""
        limits, left = self._hub.limits, self._hub.limits.linger_bytes
        try:
            async with asyncio.timeout(limits.linger_s):
                while left > 0 and not request.content.at_eof():
                    chunk, _ = await request.content.readchunk()
                    left -= len(chunk)
        except (TimeoutError, ConnectionError, RuntimeError, web.RequestPayloadError):
            return

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what aiohttp refuses below us in Redfish form; always closes."""
        if isinstance(exc, BadHttpMessage):
            _log.debug("bad request from %s: %s", request.remote, exc)
            return self._hub.refuse(request, self._status_of(exc))
        _log.error("request loop failed", exc_info=exc)
        return self._hub.refuse(request, status)

    def _status_of(self, exc: BadHttpMessage) -> int:
        if isinstance(exc, LineTooLong):
            # args: the line, the limit it broke, its size
            return 414 if exc.args[1] == self._hub.limits.uri_bytes else 431
        if isinstance(exc, BadHttpMethod):
            # A method outside aiohttp's list, or no HTTP at all.
            return 501 if _REQUEST_LINE.search(exc.message) else 400
        if _OTHER_VERSION in exc.message:
            return 505
        return 431 if exc.message.startswith("Too many headers") else 400
