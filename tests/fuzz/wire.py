"""The same cases over real sockets, and bytes that are no HTTP: the server must outlive them.

Runs in real time: `Wire` serves a stack on loopback. Every request has a connection of its own,
for what is malformed ends one.
"""

import asyncio
import json
import random
from collections import Counter
from dataclasses import dataclass, field

from redfish_fm.server.http import HttpServer
from redfish_fm.server.limits import Limits
from redfish_fm.server.listener import bind, listen
from tests.cases.stack import Stack
from tests.fuzz.plan import Case, Plan
from tests.fuzz.run import WATCHED, surface_of
from tests.redfish.house import PASSWORD

ANSWER_S = 10.0
"""Real time in which an answer must come or the connection end."""
LIMITS = Limits(read_timeout_s=0.1, idle_timeout_s=0.1, linger_s=0.1)
"""Short: much of what is sent here is never finished."""
STATUSES = frozenset(
    {200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 406, 408, 409, 412, 413, 414, 415, 417, 422,
     428, 431, 501, 503, 505}
)  # fmt: skip


@dataclass
class WireReport:
    """What was seen of raw requests."""

    requests: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    """Status, or "closed" where the connection ended without an answer."""
    problems: list[str] = field(default_factory=list)


def encoded(case: Case, token: str | None) -> bytes:
    """Return a case as a client would send it."""
    target = case.target.encode("utf-8", "surrogatepass")
    lines = [b"%s %s HTTP/1.1" % (case.method.encode(), target), b"Host: fm", b"Connection: close"]
    headers = dict(case.headers)
    if token is not None:
        headers["x-auth-token"] = token
    for name, value in headers.items():
        lines.append(name.encode() + b": " + value.encode("utf-8", "surrogatepass"))
    if case.body or case.method in ("POST", "PATCH"):
        lines.append(b"Content-Length: %d" % len(case.body))
    return b"\r\n".join([*lines, b"", b""]) + case.body


def malformed(rng: random.Random, raw: bytes) -> bytes:
    """Return a request whose framing is broken, odd or hostile."""
    head, _, body = raw.partition(b"\r\n\r\n")
    line, _, rest = head.partition(b"\r\n")
    method, target, version = (*line.split(b" ", 2), b"", b"")[:3]
    chunked = b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    bare = b"\r\n".join(each for each in head.split(b"\r\n") if b"ontent-" not in each)
    at = rng.randrange(len(raw))
    return rng.choice(
        (
            raw[:at],
            raw[:at] + bytes([rng.randrange(256)]) + raw[at + 1 :],
            raw[:at] + rng.randbytes(8) + raw[at:],
            rng.randbytes(200),
            raw.replace(b"\r\n", b"\n"),
            raw.replace(b"\r\n", b"\r"),
            raw.replace(
                b"HTTP/1.1", rng.choice((b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/9", b""))
            ),
            raw.replace(
                b"Host: fm", rng.choice((b"", b"Host: a\r\nHost: b", b"Host: [", b"Host: a b"))
            ),
            head + b"\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n" + body,
            head + b"\r\nContent-Length: -1\r\n\r\n" + body,
            head + b"\r\nContent-Length: 99999999999999999999\r\n\r\n" + body,
            head + b"\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            bare + chunked + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
            bare + chunked + b"zz\r\n" + body,
            bare + chunked + b"5\r\nab\r\n0\r\n\r\n",
            bare + chunked + b"ffffffffffffffff\r\n",
            bare + b"\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            bare + b"\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
            head + b"\r\n: x\r\n\r\n" + body,
            head + b"\r\nBad Name: x\r\n\r\n" + body,
            head + b"\r\n folded\r\n\r\n" + body,
            head + b"\r\nX: \x00\r\n\r\n" + body,
            head + b"\r\nX: " + b"a" * 40_000 + b"\r\n\r\n" + body,
            head + b"\r\nX: a" * 200 + b"\r\n\r\n" + body,
            head + b"\r\nExpect: 100-continue\r\n\r\n" + body,
            head + b"\r\nExpect: the-unexpected\r\n\r\n" + body,
            head + b"\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\n" + body,
            b"%s %s %s\r\n%s\r\n\r\n%s"
            % (method, b"http://elsewhere" + target, version, rest, body),
            b"%s %s %s\r\n%s\r\n\r\n" % (method, b"/" + b"a" * 20_000, version, rest),
            b"%s %s\r\n\r\n" % (method, target),
            b"%s  %s  %s\r\n%s\r\n\r\n" % (method, target, version, rest),
            b"OPTIONS * HTTP/1.1\r\nHost: fm\r\n\r\n",
            b"CONNECT fm:443 HTTP/1.1\r\nHost: fm\r\n\r\n" + raw,
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + rng.randbytes(40),
            b"\r\n\r\n" + raw,
            raw + raw,
            raw + b"garbage after the end",
        )
    )


class Wire:
    """A server on loopback before a stack, and a client that sends it bytes."""

    def __init__(self, stack: Stack, seed: int) -> None:
        self.stack = stack
        self.report = WireReport()
        self._seed = seed
        self._rng = random.Random(seed)  # noqa: S311 - chance, not secrets

    async def run(self, requests: int) -> WireReport:
        """Send `requests` requests, half of them malformed; return what came of them."""
        plan = Plan(self._seed, await surface_of(self.stack), PASSWORD, streams=False)
        server = HttpServer(
            self.stack.service.handle, self.stack.service.transport_error, limits=LIMITS
        )
        listener = await listen(server, await bind("127.0.0.1", 0, plain=True), None)
        self._port = listener.port
        try:
            for _ in range(requests):
                await self._send(plan.next())
            await self._lives()
            if server.failures_total:
                self.report.problems.append(f"{server.failures_total} requests failed inside")
        finally:
            await listener.close()
            await server.stop(0.1)
        return self.report

    async def _send(self, case: Case) -> None:
        token = None
        if case.user not in (None, "stranger"):
            token = await self.stack.token(str(case.user))
        raw = encoded(case, token)
        spoils = self._rng.random() < 0.5
        sent = malformed(self._rng, raw) if spoils else raw
        before = self._wanted()
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await self._exchange(sent)
        except TimeoutError:
            self._problem(sent, "no answer and no end")
            return
        self.report.requests += 1
        self._judge(sent, answer, before)
        await self._clean()

    async def _exchange(self, sent: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        answer = bytearray()
        try:
            # No write_eof: to this server a client that has closed half has gone.
            writer.write(sent)
            await writer.drain()
            while chunk := await reader.read(1 << 16):
                answer += chunk
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()
        return bytes(answer)

    def _judge(self, sent: bytes, answer: bytes, before: list[dict[str, bytes]]) -> None:
        if not answer:
            self.report.statuses["closed"] += 1
            statuses = []
        else:
            statuses = self._statuses(sent, answer)
        done = any(each < 300 for each in statuses)
        if (
            not done
            and not self._busy()
            and self._wanted() != before
            and b"HTTP/1.1 100" not in answer
        ):
            self._problem(sent, f"nothing was done ({statuses}), and something has changed")

    def _statuses(self, sent: bytes, answer: bytes) -> list[int]:
        """Return the status of every answer there is, after looking at each."""
        found = []
        rest = answer
        while rest:
            head, ends, rest = rest.partition(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            words = lines[0].split(" ", 2)
            if not ends or words[0] not in ("HTTP/1.1", "HTTP/1.0") or not words[1].isdigit():
                self._problem(sent, f"no HTTP: {head[:200]!r}")
                return found
            headers = {
                name.lower(): value
                for name, _, value in (each.partition(": ") for each in lines[1:])
            }
            status = int(words[1])
            if status == 100:
                continue
            found.append(status)
            self.report.statuses[words[1]] += 1
            if status not in STATUSES:
                self._problem(sent, f"status {status}: {rest[:300]!r}")
            length = int(headers.get("content-length", 0))
            # After a HEAD nothing follows; what does follow begins a new answer.
            has_body = not rest.startswith(b"HTTP/1.") and bool(rest)
            body, rest = (rest[:length], rest[length:]) if has_body else (b"", rest)
            if status >= 400 and body:
                self._error(sent, body)
        return found

    def _error(self, sent: bytes, body: bytes) -> None:
        try:
            entries = json.loads(body)["error"]["@Message.ExtendedInfo"]
        except (ValueError, KeyError, TypeError):
            entries = []
        if not entries:
            self._problem(sent, f"a refusal in another shape: {body[:300]!r}")

    def _problem(self, sent: bytes, what: str) -> None:
        self.report.problems.append(f"wire {self.report.requests}: {what}: {sent[:600]!r}")

    def _wanted(self) -> list[dict[str, bytes]]:
        spaces = self.stack.kernel.published.state.spaces
        return [
            {key: value for key, value in spaces[space].items() if "/TaskService/" not in key}
            for space in WATCHED
        ]

    def _busy(self) -> bool:
        operations = self.stack.kernel.published.state.operations.values()
        return any(each.open for each in operations)

    async def _clean(self) -> None:
        if len(self.stack.durable.sessions) > 50:
            await self.stack.identity.sessions.end_all()
            self.stack.tokens.clear()

    async def _lives(self) -> None:
        """Ask something simple once more."""
        answer = await self._exchange(
            b"GET /redfish HTTP/1.1\r\nHost: fm\r\nConnection: close\r\n\r\n"
        )
        if not answer.startswith(b"HTTP/1.1 200"):
            self.report.problems.append(f"the server does not answer any more: {answer[:200]!r}")
