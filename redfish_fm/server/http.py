"""The HTTP server: an HTTP request becomes a Request, a Response becomes an HTTP response.

Knows transport rules (framing, limits, time-outs, shutdown) and the paths that need no service,
/healthz, /readyz and /metrics. Everything else goes to the handler; every refusal is worded by
`transport_error`, so no Redfish text stands here.
"""

import asyncio
import functools
import logging
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from aiohttp import web
from aiohttp.http import HttpVersion10, HttpVersion11

from redfish_fm.clocks import Clock, SystemClock
from redfish_fm.redfish.requests import Flow, Request, Response
from redfish_fm.server.answers import Answer, DateHeader, Heads, render
from redfish_fm.server.connection import Connection, unsent_bytes
from redfish_fm.server.handshakes import Handshakes
from redfish_fm.server.limits import Limits
from redfish_fm.server.request_counts import RequestCounts
from redfish_fm.server.sse import FlowAnswer
from redfish_fm.server.targets import split_target

_log = logging.getLogger(__name__)

Handler = Callable[[Request], Awaitable[Response]]
"""Answers one request. Must refuse by returning; raising is a defect and becomes a 500."""

TransportError = Callable[[int], Response]
"""Words a refusal that is decided before the service sees the request, by HTTP status:
400 broken framing, 405 other than GET or HEAD on a probe, 408 too slow, 413 body too large,
414 URI too long, 417 unknown Expect, 431 headers too large, 500 defect, 501 method or transfer
coding unknown to HTTP, 503 too many connections, 505 another HTTP version than 1.x."""

_LAST_MOMENT_S = 0.2
"""stop() may take twice this beyond its grace; SIGTERM has 3 s in all."""

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_ALONE = frozenset(
    {"authorization", "content-type", "idempotency-key", "odata-version", "x-auth-token"}
)
"""Headers that may stand once; aiohttp sees to Host and Content-Length."""
_HOST = re.compile(r"([A-Za-z0-9._~!$&'()*+,;=%-]*|\[[0-9A-Za-z:.%~-]+\])(:[0-9]*)?")
_ALIVE = Response(200, {"Content-Type": "application/json"}, b'{"status":"alive"}')


class _Refused(Exception):
    """A request that ends before the service sees it; the connection closes."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class _Server(web.Server):
    """aiohttp's low-level server making our connections."""

    def __init__(self, hub: "HttpServer") -> None:
        super().__init__(hub.answer)
        self._hub = hub

    def __call__(self) -> Connection:
        return Connection(self, self._hub, loop=self._loop)


class HttpServer:
    """Serves connections that a listener accepts. Make it and use it inside one event loop.

    `metrics` and `ready`, where given, answer GET /metrics and /readyz; otherwise the handler does.
    `counts` takes note of every request that is answered.
    """

    def __init__(
        self,
        handler: Handler,
        transport_error: TransportError,
        *,
        limits: Limits | None = None,
        metrics: Callable[[], Response] | None = None,
        ready: Callable[[], Response] | None = None,
        counts: RequestCounts | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._handler = handler
        self._transport_error = transport_error
        self._probes = {"/healthz": lambda: _ALIVE}
        if metrics is not None:
            self._probes["/metrics"] = metrics
        if ready is not None:
            self._probes["/readyz"] = ready
        self.counts = counts or RequestCounts(lambda _path: None)
        self._date = DateHeader(clock or SystemClock())
        self._heads = Heads(self._date)
        self._open: dict[Connection, asyncio.Transport] = {}
        self._peers: dict[str, int] = {}
        self.handshakes = Handshakes()
        self._bodies_bytes = 0
        self._writes: set[asyncio.Task[Any]] = set()
        self._stopping = False
        self._web = _Server(self)
        self.requests_total = 0
        self.failures_total = 0

    # -- connections (the Hub of server.connection) ------------------------------------------

    @property
    def connections(self) -> int:
        """Return the number of connections being served."""
        return len(self._open)

    def admits(self, peer: str) -> bool:
        """Return whether one more connection from that address is served."""
        return (
            not self._stopping
            and len(self._open) < self.limits.connections
            and self._peers.get(peer, 0) < self.limits.connections_per_peer
        )

    def shaken(self, transport: asyncio.Transport) -> None:
        """Note that a connection's handshake is over."""
        sock = transport.get_extra_info("socket")
        if sock is not None:
            self.handshakes.over(sock.fileno())

    def protocol(self) -> asyncio.Protocol:
        """Return the protocol of a new connection: the factory asyncio's create_server wants."""
        return self._web()

    def opened(self, connection: Connection, transport: asyncio.Transport) -> None:
        """Note a connection that is served."""
        self._open[connection] = transport
        self._peers[connection.peer] = self._peers.get(connection.peer, 0) + 1

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        if self._open.pop(connection, None) is None:
            return
        left = self._peers.pop(connection.peer) - 1
        if left:
            self._peers[connection.peer] = left

    async def stop(self, grace_s: float = 2.0) -> None:
        """Close idle connections, let running requests finish for `grace_s`, then close all.

        The listener must have stopped accepting. Returns within grace_s and about half a second.
        """
        self._stopping = True
        for connection in self._open:
            connection.end_flow()
        self._web.pre_shutdown()
        await asyncio.sleep(0)
        # aiohttp waits twice that long: for the handler, then for the connection's task.
        await self._web.shutdown(grace_s / 2)
        for transport in self._open.values():
            if unsent_bytes(transport):
                transport.abort()
        await self._end_writes()

    async def _end_writes(self) -> None:
        """Give writes whose connections are gone a last moment, then cancel them."""
        if self._writes:
            await asyncio.wait(set(self._writes), timeout=_LAST_MOMENT_S)
        cut = set(self._writes)
        for task in cut:
            task.cancel()
        if cut:
            _log.warning("%d writes were cut off by the shutdown", len(cut))
            await asyncio.wait(cut, timeout=_LAST_MOMENT_S)

    # -- one request -----------------------------------------------------------------------

    async def answer(self, raw: web.BaseRequest) -> web.StreamResponse:
        """Answer one HTTP request, and count it. The supervisor of request handling: never raises
        on purpose.
        """
        self.requests_total += 1
        begun_s = time.perf_counter()
        try:
            headers = _headers(raw)
            has_body = self._announces_body(raw, headers)
            body = await self._body(raw) if has_body else b""
            request = _request(raw, headers, body)
        except _Refused as refused:
            answer = self.refuse(raw, refused.status)
        else:
            if request.method in _SAFE_METHODS:
                response = await self._supervised(request)
            else:
                response = await self._uncancelled(raw.protocol, request)
            answer = self._sendable(raw, request, response)
        took_s = time.perf_counter() - begun_s
        self.counts.note(raw.method, raw.raw_path.partition("?")[0], answer.status, took_s)
        return answer

    def _sendable(
        self, raw: web.BaseRequest, request: Request, response: Response
    ) -> web.StreamResponse:
        try:
            return self._answer(raw, response, close=request.method == "CONNECT")
        except ValueError:
            _log.exception("%s %s gave an unsendable response", request.method, request.path)
            return self.refuse(raw, 500)

    def _announces_body(self, raw: web.BaseRequest, headers: dict[str, str]) -> bool:
        """Return whether a body follows the head, which is refused here where it is wrong."""
        if raw.version > HttpVersion11:
            raise _Refused(505)
        if not _is_host(headers.get("host", "")):
            raise _Refused(400)
        announced = "content-length" in headers or "transfer-encoding" in headers
        if announced and raw.method != "CONNECT":
            _check_coding(raw, headers.get("transfer-encoding"))
            self._meet_expectation(raw, headers)
            return True
        if "expect" in headers:
            self._meet_expectation(raw, headers)
        return False

    def _meet_expectation(self, raw: web.BaseRequest, headers: dict[str, str]) -> None:
        """Refuse what will be refused anyway, then tell a waiting client to send its body."""
        if (raw.content_length or 0) > self.limits.body_bytes:
            raise _Refused(413)
        expected = headers.get("expect")
        if expected is None or raw.version == HttpVersion10:
            return
        if expected.lower() != "100-continue":
            raise _Refused(417)
        if raw.transport is not None:
            raw.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    async def _body(self, raw: web.BaseRequest) -> bytes:
        """Return the whole body, within the limits of size and time."""
        if raw.content.is_eof() and raw.content.exception() is None:
            # All of it came with the head, as small bodies do: nothing to wait for.
            whole = raw.content.read_nowait()
            if len(whole) > self.limits.body_bytes:
                raise _Refused(413)
            return whole
        body, more, shared = bytearray(), True, 0
        try:
            async with asyncio.timeout(self.limits.read_timeout_s):
                while more:
                    # readany() would sleep through an exception set while it is being woken.
                    chunk, chunk_ends = await raw.content.readchunk()
                    body += chunk
                    more = bool(chunk) or chunk_ends
                    shared = self._share(len(body), shared)
        except TimeoutError as error:
            raise _Refused(408) from error
        except (web.RequestPayloadError, ConnectionError, RuntimeError) as error:
            # RuntimeError: the connection was lost before this read began
            raise _Refused(400) from error
        finally:
            self._bodies_bytes -= shared
        return bytes(body)

    def _share(self, size: int, before: int) -> int:
        """Return how much of the memory of large bodies one takes that has grown to `size`.

        `before` is what it took until now. Refuses what is too large, or has no room.
        """
        if size > self.limits.body_bytes:
            raise _Refused(413)
        if size <= self.limits.small_body_bytes:
            return 0
        if self._bodies_bytes + size - before > self.limits.bodies_bytes:
            raise _Refused(503)
        self._bodies_bytes += size - before
        return size

    async def _uncancelled(self, protocol: web.RequestHandler, request: Request) -> Response:
        """Run a write, which no disconnect and no time-out cancels: `_end_writes` alone does."""
        # In the request's own task. One for each write would cost more than all it is told here.
        assert isinstance(protocol, Connection)  # noqa: S101 - this server makes no others
        task = protocol.answering()
        self._writes.add(task)
        protocol.writing = task
        try:
            return await self._supervised(request)
        finally:
            protocol.writing = None
            self._writes.discard(task)

    async def _supervised(self, request: Request) -> Response:
        try:
            probe = self._probes.get(request.path)
            if probe is not None:
                return self._probe(request, probe)
            return await self._handler(request)
        except Exception:  # noqa: BLE001 - the supervisor of requests (STYLE section 8)
            self.failures_total += 1
            _log.exception("%s %s failed", request.method, request.path)
            return self._transport_error(500)

    def _probe(self, request: Request, get: Callable[[], Response]) -> Response:
        if request.method in ("GET", "HEAD"):
            return get()
        refusal = self._transport_error(405)
        return Response(405, {**refusal.headers, "Allow": "GET, HEAD"}, refusal.body)

    # -- answers ---------------------------------------------------------------------------

    def refuse(self, request: web.BaseRequest, status: int) -> web.StreamResponse:
        """Return the answer that refuses `request` with `status` and closes the connection."""
        return self._answer(request, self._transport_error(status), close=True)

    def refusal(self, status: int) -> bytes:
        """Return a whole closing response with `status`, for a client without a request."""
        head, body = render(self._transport_error(status), date=self._date.text(), keep_alive=False)
        return head + body

    def _answer(
        self, raw: web.BaseRequest, response: Response, *, close: bool
    ) -> web.StreamResponse:
        keep_alive = raw.keep_alive and not close and not self._stopping
        method, version = raw.method, raw.version
        if response.flow is not None:
            return self._flowing(response, response.flow, chunked=version == HttpVersion11)
        if keep_alive and response.status == 200 and method == "GET" and version == HttpVersion11:
            rendered = self._heads.keep_alive(response), response.body
        else:
            rendered = render(
                response,
                date=self._date.text(),
                keep_alive=keep_alive,
                head_only=method == "HEAD",
                # What can not be parsed has no version; a closing 1.1 answer suits everybody.
                http10=version == HttpVersion10 and not close,
            )
        return Answer(
            rendered,
            status=response.status,
            keep_alive=keep_alive,
            write_timeout_s=self.limits.write_timeout_s,
            linger=close,
        )

    def _flowing(self, response: Response, flow: Flow, *, chunked: bool) -> FlowAnswer:
        """Return the answer that goes on with a flow, until the connection ends."""
        coding = {"Transfer-Encoding": "chunked"} if chunked else {}
        response = replace(response, headers={**response.headers, **coding})
        rendered = render(response, date=self._date.text(), keep_alive=False, http10=not chunked)
        return FlowAnswer(rendered, flow, self.limits.write_timeout_s, chunked=chunked)


@functools.lru_cache(maxsize=256)
def _is_host(value: str) -> bool:
    """Return whether `value` is a Host that may be (RFC 9112 "Request Target"), or empty."""
    return _HOST.fullmatch(value) is not None


def _request(raw: web.BaseRequest, headers: dict[str, str], body: bytes) -> Request:
    path, query = split_target(raw.raw_path)
    protocol = raw.protocol
    if isinstance(protocol, Connection):
        certificate, peer = protocol.certificate, protocol.peer
    else:
        certificate, peer = None, raw.remote or ""
    tls = protocol.ssl_context is not None
    return Request(raw.method, path, query, headers, body, peer, tls, certificate)


def _check_coding(raw: web.BaseRequest, coding: str | None) -> None:
    """Refuse a transfer coding that would leave the body's end or its meaning in doubt."""
    if coding is None:
        return
    if raw.version == HttpVersion10:
        raise _Refused(400)
    if coding.strip().lower() != "chunked":
        raise _Refused(501)


def _headers(raw: web.BaseRequest) -> dict[str, str]:
    """Return the headers by lower-case name; fields given several times are joined in order.

    Raises _Refused (400) where one that must be alone stands twice: which of two credentials
    counts is a question that a proxy before us may answer otherwise.
    """
    headers: dict[str, str] = {}
    for name, value in raw.headers.items():
        key = name.lower()
        if not value.isascii():
            value = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        if key in headers:
            if key in _ALONE:
                raise _Refused(400)
            value = f"{headers[key]}{'; ' if key == 'cookie' else ', '}{value}"
        headers[key] = value
    return headers
