"""Load, in a process of its own: keep-alive connections that ask, read and ask again.

Run as a module it takes one JSON line (a Load) on stdin, connects, asks once per connection,
says "ready", waits for a line, runs, and prints its Outcome as JSON.
"""

import asyncio
import json
import ssl
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from .children import ROOT, Child

NUMBER = b"@N@"
"""In a body: replaced by the number of the request."""


@dataclass
class Load:
    """What to ask, how often, over how many connections."""

    port: int
    tls: bool
    requests: int
    connections: int
    method: str = "GET"
    path: str = "/"
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""
    host: str = "127.0.0.1"


@dataclass
class Outcome:
    """What came back. Latencies are of single requests under this load."""

    statuses: dict[str, int]
    p50_ms: float
    p99_ms: float

    @property
    def errors(self) -> int:
        return sum(count for status, count in self.statuses.items() if status >= "400")


def measure(child: Child, load: Load) -> tuple[float, Outcome]:
    """Run `load` in its own process; return the server's CPU seconds per request, and all else."""
    return run_load(load, child.cpu_s)


def run_load(load: Load, now_s: Callable[[], float]) -> tuple[float, Outcome]:
    """Run `load` in its own process; return what `now_s` moved on per request, and all else."""
    with subprocess.Popen(
        [sys.executable, "-m", __name__],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        print(json.dumps(asdict(load)), file=process.stdin, flush=True)
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("the load process could not connect")
        before_s = now_s()
        print("go", file=process.stdin, flush=True)
        outcome = Outcome(**json.loads(process.stdout.readline()))
        return (now_s() - before_s) / load.requests, outcome


class Connection(asyncio.Protocol):
    """Asks, reads one answer by its Content-Length or its last chunk, asks again."""

    def __init__(self, next_request: Callable[[], bytes | None]) -> None:
        self._next = next_request
        self._buffer = bytearray()
        self._need = 0
        self._chunked = False
        self._sent_s = 0.0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.statuses: Counter[str] = Counter()
        self.seconds: list[float] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def ask(self) -> None:
        request = self._next()
        if request is None:
            self.done.set_result(None)
            return
        self._sent_s = time.perf_counter()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._need:
            self._need = self._measure()
        if self._need and len(self._buffer) >= self._need and self._ended():
            self.seconds.append(time.perf_counter() - self._sent_s)
            self.statuses[self._buffer[9:12].decode()] += 1
            self._buffer.clear()
            self._need = 0
            self.ask()

    def _measure(self) -> int:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return 0
        head = bytes(self._buffer[:end]).lower()
        self._chunked = b"\r\ntransfer-encoding: chunked" in head
        start = head.find(b"\r\ncontent-length: ")
        length = 0 if start < 0 else int(head[start + 18 :].split(b"\r\n", 1)[0])
        return end + 4 + length

    def _ended(self) -> bool:
        # Nothing is asked before the answer is there, so its last chunk ends what has arrived.
        return not self._chunked or self._buffer.endswith(b"\r\n0\r\n\r\n")

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.statuses["999"] += 1
            self.done.set_result(None)


def _request(load: Load) -> tuple[bytes, bytes]:
    """Return head and body of the request; the body still has its @N@."""
    body = load.body.encode()
    lines = [f"{load.method} {load.path} HTTP/1.1", "Host: bench"]
    lines += [f"{name}: {value}" for name, value in load.headers.items()]
    return "\r\n".join(lines).encode(), body


def _complete(head: bytes, body: bytes, number: int) -> bytes:
    if not body:
        return head + b"\r\n\r\n"
    numbered = body.replace(NUMBER, b"%08d" % number)
    return head + b"\r\nContent-Length: %d\r\n\r\n" % len(numbered) + numbered


def _context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _run(load: Load) -> Outcome:
    head, body = _request(load)
    numbers = iter(range(load.requests))
    warm = iter(range(10**7, 10**7 + load.connections))
    phase = [warm]

    def next_request() -> bytes | None:
        number = next(phase[0], None)
        return None if number is None else _complete(head, body, number)

    loop = asyncio.get_running_loop()
    context = _context() if load.tls else None
    connections = []
    for _ in range(load.connections):
        _, connection = await loop.create_connection(
            lambda: Connection(next_request), load.host, load.port, ssl=context
        )
        connections.append(connection)
    await _phase(connections)
    print("ready", flush=True)
    await loop.run_in_executor(None, sys.stdin.readline)
    phase[0] = numbers
    await _phase(connections)
    statuses = sum((connection.statuses for connection in connections), Counter[str]())
    times = sorted(second for one in connections for second in one.seconds)
    for connection in connections:
        connection.transport.close()
    return Outcome(dict(statuses), quantile_ms(times, 0.5), quantile_ms(times, 0.99))


async def _phase(connections: list[Connection]) -> None:
    loop = asyncio.get_running_loop()
    for connection in connections:
        connection.done = loop.create_future()
        connection.statuses.clear()
        connection.seconds.clear()
    for connection in connections:
        connection.ask()
    await asyncio.gather(*(connection.done for connection in connections))


def quantile_ms(times: list[float], share: float) -> float:
    """Return the time, of sorted ones in seconds, that so large a share does not exceed."""
    return round(times[int(share * (len(times) - 1))] * 1e3, 3) if times else 0.0


if __name__ == "__main__":
    wanted = Load(**json.loads(sys.stdin.readline()))
    print(json.dumps(asdict(asyncio.run(_run(wanted)))), flush=True)
