"""A receiver of events as labs have them: counts, delays, fails, hangs, resets, answers oddly.

In this process (`Receiver`), or as one that can be killed: `python -m tests.event_receiver --file
F` writes each event to a file before it answers, one JSON line each, and prints its port.
"""

import argparse
import asyncio
import contextlib
import json
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ANSWER_204 = b"HTTP/1.1 204 No Content\r\n\r\n"
ANSWER_200 = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
ANSWER_503 = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"


@dataclass
class Received:
    """One request as it came. `connection` counts from 1; `first` is what came at once."""

    connection: int
    line: str
    headers: list[tuple[str, str]]
    body: bytes
    first: bytes

    @property
    def payload(self) -> Any:
        return json.loads(self.body)

    @property
    def ids(self) -> list[str]:
        return [event["EventId"] for event in self.payload["Events"]]

    def header(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]


Answer = Callable[[Received, asyncio.StreamWriter], Awaitable[bytes | None]]
"""What is answered; None closes the connection without a word."""


def answering(raw: bytes) -> Answer:
    async def answer(_: Received, __: asyncio.StreamWriter) -> bytes:
        return raw

    return answer


@dataclass
class Receiver:
    """Listens while `running`. `answer` may be exchanged at any time; `got` is what was taken."""

    answer: Answer = field(default_factory=lambda: answering(ANSWER_204))
    got: list[Received] = field(default_factory=list)
    told: int = 0
    """How many events have come."""
    connections: int = 0
    port: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for each in self.got for event in each.payload["Events"]]

    async def count(self, requests: int, timeout_s: float = 20.0) -> None:
        """Wait until so many requests have come."""
        async with asyncio.timeout(timeout_s):
            while len(self.got) < requests:
                self.news.clear()
                await self.news.wait()

    @contextlib.asynccontextmanager
    async def running(
        self, context: ssl.SSLContext | None = None, host: str = "127.0.0.1"
    ) -> AsyncIterator["Receiver"]:
        serving: set[asyncio.Task[None]] = set()

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await self._serve(reader, writer, self.connections)
            except (OSError, asyncio.IncompleteReadError):
                pass
            except asyncio.CancelledError:
                writer.transport.abort()
                raise
            finally:
                writer.close()

        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            task = asyncio.create_task(talk(reader, writer))
            serving.add(task)
            task.add_done_callback(serving.discard)

        server = await asyncio.start_server(serve, host, self.port, ssl=context)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            left = [*serving]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            await server.wait_closed()

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int
    ) -> None:
        while True:
            raw = first = await reader.read(1 << 20)
            while b"\r\n\r\n" not in raw:
                more = await reader.read(1 << 20)
                if not more:
                    return
                raw += more
            head, _, body = raw.partition(b"\r\n\r\n")
            line, *fields = head.decode("latin-1").split("\r\n")
            headers = [(each.split(":", 1)[0], each.split(":", 1)[1].strip()) for each in fields]
            length = int(dict(headers).get("Content-Length", 0))
            while len(body) < length:
                body += await reader.readexactly(length - len(body))
            received = Received(number, line, headers, body, first)
            self.got.append(received)
            self.told += body.count(b'"EventId":')
            self.news.set()
            answer = await self.answer(received, writer)
            if answer is None:
                return
            writer.write(answer)
            await writer.drain()
            if b"connection: close" in answer.lower():
                return


async def _to_file(file: Path, port: int, context: ssl.SSLContext | None) -> None:
    with file.open("a", encoding="utf-8", buffering=1) as kept:

        async def keep(received: Received, _: asyncio.StreamWriter) -> bytes:
            for event in received.payload["Events"]:
                kept.write(json.dumps(event) + "\n")
            return ANSWER_204

        receiver = Receiver(answer=keep, port=port)
        async with receiver.running(context):
            sys.stdout.write(f"{receiver.port}\n")
            sys.stdout.flush()
            await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--cert", type=Path)
    parser.add_argument("--key", type=Path)
    given = parser.parse_args()
    context = None
    if given.cert is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(given.cert, given.key)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_to_file(given.file, given.port, context))


if __name__ == "__main__":
    main()
