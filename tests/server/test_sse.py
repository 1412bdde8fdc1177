"""An answer that goes on, over a real socket."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import cast

import pytest
from aiohttp import web

from redfish_fm.redfish.requests import Request, Response, Sink
from redfish_fm.server import sse
from redfish_fm.server.limits import Limits
from redfish_fm.server.sse import ConnectionSink

from .conftest import Serve
from .wire import Client, get, until

HEADERS = {"Content-Type": "text/event-stream"}


class Flow:
    """Does what a test says; remembers its sink and whether it came to its end."""

    def __init__(self, body: Callable[[Sink], Awaitable[None]] | None = None) -> None:
        self.sink: Sink | None = None
        self.ended = False
        self._body = body

    async def run(self, sink: Sink) -> None:
        self.sink = sink
        if self._body is not None:
            await self._body(sink)
        else:
            over = asyncio.Event()
            sink.on_over(over.set)
            await over.wait()
        self.ended = True


def answering(flow: Flow) -> Callable[[Request], Awaitable[Response]]:
    async def handler(_: Request) -> Response:
        return Response(200, HEADERS, b"first\n", flow)

    return handler


async def opened(client: Client, request: bytes | None = None) -> str:
    """Send a GET; return the head of the answer."""
    await client.send(request or get())
    async with asyncio.timeout(5):
        return (await client.reader.readuntil(b"\r\n\r\n")).decode()


async def test_the_head_says_no_length_and_that_the_connection_ends_with_it(serve: Serve) -> None:
    async def body(sink: Sink) -> None:
        sink.send(b"more\n")

    flow = Flow(body)
    served = await serve(answering(flow))
    client = await served.connect()
    head = await opened(client)
    assert head.startswith("HTTP/1.1 200 ")
    assert "Content-Length" not in head and "Connection: close" in head
    assert "Transfer-Encoding: chunked" in head
    async with asyncio.timeout(5):
        assert await client.reader.read() == b"6\r\nfirst\n\r\n5\r\nmore\n\r\n0\r\n\r\n"
    assert flow.ended


async def test_a_client_of_http_1_0_gets_it_without_chunks(serve: Serve) -> None:
    async def body(sink: Sink) -> None:
        sink.send(b"more\n")
        sink.send(b"")

    served = await serve(answering(Flow(body)))
    client = await served.connect()
    head = await opened(client, get().replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert head.startswith("HTTP/1.0 200 ") and "Transfer-Encoding" not in head
    async with asyncio.timeout(5):
        assert await client.reader.read() == b"first\nmore\n"


async def test_a_client_that_goes_away_ends_the_flow(serve: Serve) -> None:
    flow = Flow()
    served = await serve(answering(flow))
    client = await served.connect()
    await opened(client)
    await client.close()
    await until(lambda: flow.ended)
    assert flow.sink is not None and flow.sink.over


async def test_a_client_that_is_gone_before_the_answer_still_runs_the_flow(serve: Serve) -> None:
    """What was made for it can then be taken back."""
    flow, go = Flow(), asyncio.Event()

    async def slow(_: Request) -> Response:
        await go.wait()
        return Response(200, HEADERS, b"", flow)

    served = await serve(slow)
    client = await served.connect()
    await client.send(get())
    await until(lambda: len(served.seen) == 1)
    await client.close()
    await until(lambda: served.server.connections == 0)
    go.set()
    await until(lambda: flow.ended)


async def test_a_server_that_stops_ends_all_flows_at_once(serve: Serve) -> None:
    flow = Flow()
    served = await serve(answering(flow))
    client = await served.connect()
    await opened(client)
    began = asyncio.get_running_loop().time()
    await served.server.stop(2.0)
    assert flow.ended
    assert asyncio.get_running_loop().time() - began < 1.0


async def test_a_client_that_reads_nothing_is_behind_and_then_cut(serve: Serve) -> None:
    drained: list[bool] = []

    async def body(sink: Sink) -> None:
        while not sink.behind:
            sink.send(b"x" * 65536)
            await asyncio.sleep(0)
        await sink.drained()
        drained.append(sink.over)

    flow = Flow(body)
    served = await serve(answering(flow), Limits(write_timeout_s=0.2))
    client = await served.connect()
    await opened(client)
    client.pause()
    await until(lambda: flow.ended)
    assert drained == [True]
    await until(lambda: served.server.connections == 0)


async def test_a_client_that_reads_again_is_no_longer_behind(serve: Serve) -> None:
    resumed = asyncio.Event()

    async def body(sink: Sink) -> None:
        while not sink.behind:
            sink.send(b"x" * 65536)
            await asyncio.sleep(0)
        resumed.set()
        await sink.drained()
        assert not sink.behind and not sink.over
        sink.send(b"last")

    flow = Flow(body)
    served = await serve(answering(flow))
    client = await served.connect()
    await opened(client)
    client.pause()
    await resumed.wait()
    client.resume()
    async with asyncio.timeout(5):
        assert (await client.reader.read()).endswith(b"x\r\n4\r\nlast\r\n0\r\n\r\n")


class _Slow:
    """A connection whose client reads a little each time it is waited for."""

    writing_paused = True

    async def _drain_helper(self) -> None:
        await asyncio.sleep(0)


async def test_waiting_for_a_slow_client_again_and_again_leaves_nothing_behind() -> None:
    protocol, transport = cast(web.RequestHandler, _Slow()), cast(asyncio.Transport, object())
    sink = ConnectionSink(protocol, transport, 60.0, chunked=True)
    sink.on_over(lambda: None)
    for _ in range(5):
        await sink.drained()
    assert len(vars(sink)["_told"]) == 1


async def test_what_is_sent_when_it_is_over_goes_nowhere(serve: Serve) -> None:
    flow = Flow()
    served = await serve(answering(flow))
    client = await served.connect()
    await opened(client)
    await client.close()
    await until(lambda: flow.ended)
    assert flow.sink is not None
    flow.sink.send(b"late")
    called: list[int] = []
    flow.sink.on_over(lambda: called.append(1))
    assert called == [1]


@pytest.mark.skipif(
    not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this system has no such option"
)
async def test_a_client_without_power_is_noticed_by_the_kernel(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    flow = Flow()
    served = await serve(answering(flow))
    real = sse._cut_where_unanswered  # noqa: SLF001 - what is there is what is looked at

    def noted(transport: asyncio.Transport) -> None:
        real(transport)
        found = transport.get_extra_info("socket")
        seen.append(found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT))

    monkeypatch.setattr(sse, "_cut_where_unanswered", noted)
    client = await served.connect()
    await opened(client)
    assert seen == [sse.UNANSWERED_MS]
