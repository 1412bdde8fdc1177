"""Many event streams in one process, as cheaply as can be: each only counts and checks.

A soak has hundreds of streams of ten thousand events: of each event the id alone is looked at, and
of the ids a digest is kept, which is the same for all who heard the same in the same order.
"""

import asyncio
import contextlib
import hashlib
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Iterable
from urllib.parse import urlsplit

_ID = re.compile(rb"^id: ([0-9.]+)$", re.MULTILINE)


class CountedStream(asyncio.Protocol):
    """One stream. `told` counts events; `wrong` names the first that was out of order.

    `pause_s`: how long it rests after each lot that it has read, as a slow reader does.
    """

    def __init__(self, request: bytes, pause_s: float = 0.0) -> None:
        self.told = 0
        self.wrong: str | None = None
        self.ended = False
        self.begun = asyncio.Event()
        self._request = request
        self._pause_s = pause_s
        self._last = (0, 0)
        self._rest = b""
        self._heard = hashlib.sha256()
        self._transport: asyncio.Transport | None = None

    @property
    def digest(self) -> str:
        """Say which events were heard, in their order."""
        return self._heard.hexdigest()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        text = self._rest + data
        end = text.rfind(b"\n") + 1
        self._rest = text[end:]
        if not self.begun.is_set() and text.startswith(b"HTTP/1.1 200 "):
            self.begun.set()
        for found in _ID.finditer(text, 0, end):
            self._take(found[1])
        if self._pause_s and self._transport is not None:
            self._transport.pause_reading()
            asyncio.get_running_loop().call_later(self._pause_s, self._read_on)

    def _take(self, raw: bytes) -> None:
        seq, number = map(int, raw.split(b"."))
        if (seq, number) <= self._last and self.wrong is None:
            self.wrong = raw.decode()
        self._last = (seq, number)
        self._heard.update(raw + b"\n")
        self.told += 1

    def _read_on(self) -> None:
        if self._transport is not None and not self.ended:
            self._transport.resume_reading()

    def connection_lost(self, _: Exception | None) -> None:
        self.ended = True

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def digest_of(ids: Iterable[str]) -> str:
    """Return the digest of a stream that heard these events."""
    return hashlib.sha256("".join(f"{each}\n" for each in ids).encode()).hexdigest()


@contextlib.asynccontextmanager
async def streams(
    url: str, target: str, login: tuple[str, str], pauses_s: Iterable[float]
) -> AsyncIterator[list[CountedStream]]:
    """Open a stream for each of `pauses_s`; they are open when this begins."""
    at = urlsplit(url)
    basic = b64encode(":".join(login).encode()).decode()
    head = f"GET {target} HTTP/1.1\r\nHost: fm\r\nAuthorization: Basic {basic}\r\n\r\n".encode()
    loop = asyncio.get_running_loop()
    opened: list[CountedStream] = []
    try:
        for pause_s in pauses_s:
            stream = CountedStream(head, pause_s)
            await loop.create_connection(lambda made=stream: made, at.hostname, at.port)
            opened.append(stream)
            async with asyncio.timeout(30):
                await stream.begun.wait()
        yield opened
    finally:
        for stream in opened:
            stream.close()
