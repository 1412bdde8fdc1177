"""Receivers of events for the bench: all in one process, told apart by their paths.

What is sent to /slow… is answered after two seconds, everything else at once. GET /count tells how
many events every path has got, as JSON.
"""

import asyncio
import json
from collections import Counter

_MARK = b'"EventId":'
SLOW_S = 2.0


class _Receiving(asyncio.Protocol):
    """Reads requests by their Content-Length and answers 204."""

    def __init__(self, counts: "Counter[str]") -> None:
        self._counts = counts
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._buffer[:end])
            start = head.lower().find(b"content-length:")
            length = 0 if start < 0 else int(head[start + 15 :].split(b"\r\n", 1)[0])
            if len(self._buffer) < end + 4 + length:
                return
            body = bytes(self._buffer[end + 4 : end + 4 + length])
            del self._buffer[: end + 4 + length]
            self._answer(head.split(b" ", 2)[1].decode(), body)

    def _answer(self, path: str, body: bytes) -> None:
        if path == "/count":
            told = json.dumps(self._counts).encode()
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(told))
            self._transport.write(told)
            return
        self._counts[path] += body.count(_MARK)
        loop = asyncio.get_running_loop()
        delay_s = SLOW_S if path.startswith("/slow") else 0.0
        loop.call_later(delay_s, self._transport.write, b"HTTP/1.1 204 No Content\r\n\r\n")


async def main() -> None:
    """Listen until the process is ended."""
    counts: Counter[str] = Counter()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Receiving(counts), "127.0.0.1", 0)
    print(f"sink ready URL=http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
