"""Readers of the event stream for the bench: many connections of one process, told apart by place.

    python -m tests.bench.listeners URL TOKEN COUNT FILTER

GET /count tells how many events each has got; GET /arrived?WORD when each got the first chunk with
that word in it, in seconds of the clock that all processes share (CLOCK_MONOTONIC). Both as JSON.
"""

import asyncio
import json
import ssl
import sys
import time
from urllib.parse import urlsplit

_MARK = b'"EventId":'
SSE = "/redfish/v1/EventService/SSE"
AT_ONCE = 50
"""Connections that are being made at a time."""


class _Reading(asyncio.Protocol):
    """One stream. `opened` is done when its first bytes after the head have come."""

    def __init__(self, request: bytes, watched: "dict[bytes, list[float]]") -> None:
        self.events = 0
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._request = request
        self._watched = watched
        self._rest = b""
        self._seen: set[bytes] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.opened.done() and b"retry:" in data:
            self.opened.set_result(None)
        # What is cut in two counts with its second half.
        text = self._rest + data
        self.events += text.count(_MARK)
        self._rest = text[-(len(_MARK) - 1) :]
        for word, times in self._watched.items():
            if word not in self._seen and word in text:
                self._seen.add(word)
                times.append(time.monotonic())

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.opened.done():
            self.opened.set_exception(exc or ConnectionError("closed before it began"))


async def _answer(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    readers: list[_Reading],
    watched: dict[bytes, list[float]],
) -> None:
    target = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)[1].decode()
    path, _, word = target.partition("?")
    told: object = [each.events for each in readers]
    if path == "/arrived":
        told = watched.setdefault(word.encode(), [])
    body = json.dumps(told).encode()
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body))
    writer.write(body)
    await writer.drain()
    writer.close()


async def main(url: str, token: str, count: int, wanted: str) -> None:
    """Open the streams, say so, and read until the process is ended."""
    at = urlsplit(url)
    context = None
    if at.scheme == "https":
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    target = f"{SSE}?$filter={wanted}" if wanted else SSE
    request = f"GET {target} HTTP/1.1\r\nHost: bench\r\nX-Auth-Token: {token}\r\n\r\n".encode()
    watched: dict[bytes, list[float]] = {}
    loop = asyncio.get_running_loop()
    readers: list[_Reading] = []

    async def one() -> None:
        _, reading = await loop.create_connection(
            lambda: _Reading(request, watched), str(at.hostname), at.port or 443, ssl=context
        )
        await reading.opened
        readers.append(reading)

    while len(readers) < count:
        await asyncio.gather(*(one() for _ in range(min(AT_ONCE, count - len(readers)))))
    server = await asyncio.start_server(
        lambda reader, writer: _answer(reader, writer, readers, watched), "127.0.0.1", 0
    )
    print(f"listening ready URL=http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]))
