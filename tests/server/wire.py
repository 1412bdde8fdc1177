"""A client that speaks bytes: nothing between a test and the wire."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from redfish_fm.redfish.requests import Request, Response
from redfish_fm.server.http import HttpServer
from redfish_fm.server.listener import Listener

PATIENCE_S = 5.0


def worded(status: int) -> Response:
    """Word a transport refusal the way redfish will."""
    body = {
        "error": {
            "code": "Base.1.22.GeneralError",
            "message": f"transport refused with {status}",
            "@Message.ExtendedInfo": [{"MessageId": "Base.1.22.GeneralError"}],
        }
    }
    return Response(status, {"Content-Type": "application/json"}, json.dumps(body).encode())


@dataclass
class Reply:
    """One response as it came."""

    version: str
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Client:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    patience_s: float = PATIENCE_S

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def reply(self, head_only: bool = False) -> Reply:
        """Read exactly one response."""
        async with asyncio.timeout(self.patience_s):
            head = await self.reader.readuntil(b"\r\n\r\n")
            lines = head.decode().split("\r\n")
            version, status, _ = lines[0].split(" ", 2)
            headers = {}
            for line in lines[1:-2]:
                name, value = line.split(": ", 1)
                assert name not in headers, f"{name} came twice"
                headers[name] = value
            length = 0 if head_only else int(headers.get("Content-Length", 0))
            return Reply(version, int(status), headers, await self.reader.readexactly(length))

    async def ask(self, data: bytes, head_only: bool = False) -> Reply:
        await self.send(data)
        return await self.reply(head_only)

    async def ended(self) -> bool:
        """Wait until the server closes; tell whether it sent nothing more."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                return await self.reader.read() == b""
            except ConnectionError:
                return True

    def pause(self) -> None:
        """Read nothing more."""
        transport = self.writer.transport
        assert isinstance(transport, asyncio.ReadTransport)
        transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        transport = self.writer.transport
        assert isinstance(transport, asyncio.ReadTransport)
        transport.resume_reading()

    async def close(self) -> None:
        self.writer.close()
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self.writer.wait_closed()
        except (ConnectionError, ssl.SSLError):
            return


@dataclass
class Served:
    """A server that runs, what it was asked, and how to reach it."""

    server: HttpServer
    listener: Listener
    seen: list[Request] = field(default_factory=list)
    clients: list[Client] = field(default_factory=list)

    async def connect(self, context: ssl.SSLContext | None = None) -> Client:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.listener.port, ssl=context, limit=1 << 24
        )
        self.clients.append(Client(reader, writer))
        return self.clients[-1]

    async def ask(self, data: bytes, head_only: bool = False) -> Reply:
        return await (await self.connect()).ask(data, head_only)

    async def stop(self) -> None:
        await self.listener.close()
        await self.server.stop(0.05)
        for client in self.clients:
            await client.close()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that no event tells: the server's own view of a connection."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


Handler = Callable[[Request], Awaitable[Response]]


async def echo(request: Request) -> Response:
    """Answer 200 with the length of the body."""
    return Response(200, {"Content-Type": "application/json"}, b"%d" % len(request.body))


def get(path: str = "/redfish/v1", *headers: str, method: str = "GET") -> bytes:
    """Return a request without body."""
    lines = [f"{method} {path} HTTP/1.1", "Host: fm", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def post(body: bytes, *headers: str) -> bytes:
    """Return a POST with its length."""
    return get("/x", f"Content-Length: {len(body)}", *headers, method="POST") + body
