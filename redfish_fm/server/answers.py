"""A Response as bytes on the wire: status line, framing headers, body.

Knows HTTP/1.x framing and aiohttp's writing side; nothing of what the response means. Written
here rather than by aiohttp's Response, which costs 9 us of a 45 us GET for what is not used.
An answer that is given again and again has its head rendered once (`Heads`).
"""

import asyncio
from collections.abc import Mapping
from email.utils import formatdate
from http import HTTPStatus

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter

from redfish_fm.clocks import Clock
from redfish_fm.redfish.requests import Response

_JOIN_BELOW_BYTES = 64 << 10
"""Bodies below this are sent together with their head; above, a copy costs more than a call."""

_TLS_PIECE_BYTES = 256 << 10
"""asyncio's TLS hands on all it is given at once, and counts nothing of it as unsent: only what
is written while the socket is full makes it pause."""

_KEPT_MAX = 1024
"""Heads kept: some 400 bytes each, and the header map behind it."""

_REASONS = {status.value: status.phrase for status in HTTPStatus}


class DateHeader:
    """The Date header's value, formatted at most once a second."""

    def __init__(self, clock: Clock) -> None:
        self._wall_s = clock.wall_s
        self._second = -1
        self._text = ""
        self._line = b""

    def text(self) -> str:
        """Return the time of now in IMF-fixdate form."""
        self.line()
        return self._text

    def line(self) -> bytes:
        """Return the whole header of now with the blank line that ends a head."""
        second = int(self._wall_s())
        if second != self._second:
            self._second, self._text = second, formatdate(second, usegmt=True)
            self._line = f"Date: {self._text}\r\n\r\n".encode()
        return self._line


def render(
    response: Response,
    *,
    date: str,
    keep_alive: bool,
    head_only: bool = False,
    http10: bool = False,
) -> tuple[bytes, bytes]:
    """Return the head (with its blank line) and the body to send.

    `head_only` answers a HEAD: Content-Length tells what a GET would have sent. A response with a
    flow ends with its connection. Raises ValueError when a header would break out of its line.
    """
    lines = _lines(response, head_only, http10)
    lines.append(f"Date: {date}")
    if not keep_alive:
        lines.append("Connection: close")
    elif http10:
        lines.append("Connection: keep-alive")
    no_body = head_only or response.status in (204, 304)
    return f"{_joined(lines)}\r\n\r\n".encode(), b"" if no_body else response.body


def _lines(response: Response, head_only: bool, http10: bool) -> list[str]:
    """Return all of the head that does not depend on when and to whom it is sent."""
    status, body = response.status, response.body
    lines = [f"HTTP/1.{0 if http10 else 1} {status} {_REASONS.get(status, 'Unknown')}"]
    length = len(body)
    for name, value in response.headers.items():
        if name == "Content-Length":
            if head_only and not body:
                length = int(value)
        else:
            lines.append(f"{name}: {value}")
    if status not in (204, 304) and response.flow is None:
        lines.append(f"Content-Length: {length}")
    return lines


def _joined(lines: list[str]) -> str:
    """Return the lines as one text. Raises ValueError when one would break out of its line."""
    text, breaks = "\r\n".join(lines), len(lines) - 1
    if text.count("\n") != breaks or text.count("\r") != breaks or "\0" in text:
        raise ValueError("a response header holds a line break")
    return text


class Heads:
    """Heads of the answers to GETs that are given again and again, each rendered once.

    Known again by the identity of the header map, which whoever made the response keeps and
    never changes; a map that is made anew each time gains nothing here and loses nothing.
    """

    def __init__(self, date: DateHeader) -> None:
        self._date_line = date.line
        self._kept: dict[int, tuple[Mapping[str, str], int, bytes]] = {}

    def keep_alive(self, response: Response) -> bytes:
        """Return what `render` gives as the head of a 200 to an HTTP/1.1 GET, kept alive.

        Raises ValueError when a header would break out of its line.
        """
        headers, length = response.headers, len(response.body)
        # The map is held here, so no other one has its id.
        kept = self._kept.get(id(headers))
        if kept is None or kept[1] != length:
            text = _joined(_lines(response, head_only=False, http10=False))
            if len(self._kept) >= _KEPT_MAX:
                self._kept.clear()
            kept = self._kept[id(headers)] = (headers, length, f"{text}\r\n".encode())
        return kept[2] + self._date_line()


class Answer(web.StreamResponse):
    """A rendered response, written by aiohttp's request loop: prepare, then write_eof."""

    _request: web.BaseRequest

    def __init__(
        self,
        rendered: tuple[bytes, bytes],
        *,
        status: int,
        keep_alive: bool,
        write_timeout_s: float,
        linger: bool = False,
    ) -> None:
        # The parent's own constructor builds a header map that nothing here reads (2 us).
        self._status = status
        self._keep_alive = keep_alive
        self._rendered = rendered
        self._write_timeout_s = write_timeout_s
        self.linger = linger

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Remember whom to answer; everything is sent by write_eof."""
        self._request = request
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """Send head and body; return once the client has taken enough of them.

        Raises ConnectionResetError when the client is gone or reads nothing for too long.
        """
        if not self.sent_at_once(self._request.protocol):
            await self.send(self._request)

    def sent_at_once(self, protocol: web.RequestHandler) -> bool:
        """Send what can be sent without waiting; return False where `send` has to do it.

        Raises ConnectionResetError when the client is gone.
        """
        transport, (head, body) = _open(protocol), self._rendered
        if len(body) >= _JOIN_BELOW_BYTES:
            return False
        transport.write(head + body)
        self._rendered = (b"", b"")
        return not protocol.writing_paused

    async def send(self, request: web.BaseRequest) -> None:
        """Send what is left; return once the client has taken enough of it.

        Raises ConnectionResetError when the client is gone or reads nothing for too long.
        """
        transport, (head, body) = _open(request.protocol), self._rendered
        if body:
            transport.write(head)
            if request.protocol.ssl_context is None:
                transport.write(body)
                body = b""
        if body or request.protocol.writing_paused:
            await self._drain(request, transport, memoryview(body))

    async def _drain(
        self, request: web.BaseRequest, transport: asyncio.Transport, rest: memoryview
    ) -> None:
        """Write `rest` in pieces, each when the client has taken enough of those before."""
        protocol = request.protocol
        try:
            async with asyncio.timeout(self._write_timeout_s):
                for start in range(0, len(rest), _TLS_PIECE_BYTES):
                    transport.write(rest[start : start + _TLS_PIECE_BYTES])
                    if protocol.writing_paused:
                        await request.writer.drain()
                if protocol.writing_paused:
                    await request.writer.drain()
        except TimeoutError as error:
            transport.abort()
            raise ConnectionResetError("the client does not read its answer") from error


def _open(protocol: web.RequestHandler) -> asyncio.Transport:
    transport = protocol.transport
    if transport is None or transport.is_closing():
        raise ConnectionResetError("the client is gone")
    return transport
