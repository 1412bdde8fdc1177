"""Tests of redfish_fm.server.connection: framing, limits and time-outs, byte by byte."""

import asyncio
import logging

import pytest

from redfish_fm.redfish.requests import Request, Response
from redfish_fm.server.limits import Limits

from .conftest import Serve
from .wire import Client, Served, get, post, until


async def refused(client: Client, status: int) -> None:
    """Expect a Redfish error of `status` and then the end of the connection."""
    reply = await client.reply()
    assert reply.status == status
    assert reply.headers["Connection"] == "close"
    assert reply.headers["Content-Type"] == "application/json"
    assert reply.json()["error"]["@Message.ExtendedInfo"]
    assert await client.ended()


async def sent(served: Served, data: bytes) -> Client:
    client = await served.connect()
    await client.send(data)
    return client


# -- framing that is fine ------------------------------------------------------------------------


async def test_pipelined_requests_are_answered_in_order(serve: Serve) -> None:
    async def handler(request: Request) -> Response:
        if request.path == "/0":
            await asyncio.sleep(0.005)
        return Response(200, {}, request.path.encode())

    client = await sent(await serve(handler), b"".join(get(f"/{n}") for n in range(50)))
    assert [(await client.reply()).body for _ in range(50)] == [b"/%d" % n for n in range(50)]


async def test_request_in_single_bytes_is_understood(serve: Serve) -> None:
    served = await serve()
    client = await served.connect()
    for byte in post(b"abc"):
        await client.send(bytes([byte]))
        await asyncio.sleep(0)
    assert (await client.reply()).status == 200
    assert served.seen[0].body == b"abc"


async def test_chunked_body_is_joined(serve: Serve) -> None:
    served = await serve()
    head = get("/x", "Transfer-Encoding: chunked", method="POST")
    await served.ask(head + b"3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\n\r\n")
    assert served.seen[0].body == b"abcde"


async def test_expect_100_continue_is_answered_before_the_body(serve: Serve) -> None:
    served = await serve()
    client = await sent(
        served, get("/x", "Content-Length: 3", "Expect: 100-continue", method="POST")
    )
    assert (await client.reply()).status == 100
    assert served.seen == []
    await client.send(b"abc")
    assert (await client.reply()).status == 200
    assert served.seen[0].body == b"abc"


async def test_expect_100_continue_of_a_too_large_body_is_refused_at_once(serve: Serve) -> None:
    served = await serve(limits=Limits(linger_s=0.01))
    client = await sent(
        served, get("/x", "Content-Length: 99999999", "Expect: 100-continue", method="POST")
    )
    await refused(client, 413)


async def test_unknown_expectation_is_refused(serve: Serve) -> None:
    served = await serve()
    await refused(await sent(served, get("/x", "Expect: miracles")), 417)


async def test_http_1_0_is_answered_and_closed(serve: Serve) -> None:
    client = await sent(await serve(), b"GET /x HTTP/1.0\r\n\r\n")
    reply = await client.reply()
    assert (reply.version, reply.status) == ("HTTP/1.0", 200)
    assert reply.headers["Connection"] == "close"
    assert await client.ended()


async def test_http_1_0_may_ask_to_be_kept(serve: Serve) -> None:
    client = await (await serve()).connect()
    for _ in range(2):
        reply = await client.ask(b"GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        assert reply.headers["Connection"] == "keep-alive"


async def test_connection_close_is_honoured(serve: Serve) -> None:
    client = await sent(await serve(), get("/x", "Connection: close"))
    assert (await client.reply()).headers["Connection"] == "close"
    assert await client.ended()


async def test_declined_upgrade_is_answered_and_the_connection_goes_on(serve: Serve) -> None:
    client = await (await serve()).connect()
    await client.send(get("/x", "Connection: Upgrade", "Upgrade: websocket") + get("/y"))
    assert [(await client.reply()).status for _ in range(2)] == [200, 200]


async def test_connect_reaches_the_handler_and_closes(serve: Serve) -> None:
    served = await serve()
    client = await sent(served, get("fm:443", method="CONNECT"))
    assert (await client.reply()).status == 200
    assert await client.ended()
    assert served.seen[0].method == "CONNECT"


# -- framing that is not ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"nonsense\r\n\r\n",
        b"GET  HTTP/1.1\r\nHost: fm\r\n\r\n",
        b"GET /x HTTP/1.1\r\n\r\n",
        b"GET /x HTTP/1.1\r\nHost: fm\r\nHost: fm\r\n\r\n",
        b"GET /x HTTP/1.1\r\nHost: fm\r\nbad header\r\n\r\n",
        b"GET /x HTTP/1.1\r\nHost: fm\r\nX : 1\r\n\r\n",
        b"POST /x HTTP/1.1\r\nHost: fm\r\nContent-Length: -1\r\n\r\n",
        b"POST /x HTTP/1.1\r\nHost: fm\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"POST /x HTTP/1.1\r\nHost: fm\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST /x HTTP/1.1\r\nHost: fm\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
async def test_bad_request_is_answered_in_redfish_form_and_closed(
    serve: Serve, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    served = await serve()
    await refused(await sent(served, data), 400)
    assert served.seen == []
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []


async def test_chunk_that_breaks_while_the_handler_waits_for_it_is_refused(serve: Serve) -> None:
    served = await serve()
    client = await sent(served, get("/x", "Transfer-Encoding: chunked", method="POST") + b"1\r\na")
    await asyncio.sleep(0.005)
    await client.send(b"\r\nzz\r\n")
    await refused(client, 400)
    assert served.seen == []


async def test_method_unknown_to_http_is_not_implemented(serve: Serve) -> None:
    served = await serve()
    await refused(await sent(served, get(method="FAKEMETHODFORTEST")), 501)
    later = await served.connect()
    assert (await later.ask(get())).status == 200
    await later.send(get(method="GETS"))
    await refused(later, 501)


async def test_half_sent_request_then_close_is_forgotten(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    served = await serve()
    for data in (b"GET /x HT", post(b"abcdef")[:-3], b""):
        client = await sent(served, data)
        await client.close()
    await until(lambda: not served.server.connections)
    assert served.seen == []
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []


class Wire(asyncio.Transport):
    """A transport of which nothing arrives: the test is the event loop."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        raise AssertionError("written to a lost connection")

    def is_closing(self) -> bool:
        return True

    def get_write_buffer_size(self) -> int:
        return 0

    def close(self) -> None:
        return


async def test_connection_lost_between_head_and_body_is_forgotten(serve: Serve) -> None:
    served = await serve()
    protocol = served.server.protocol()
    protocol.connection_made(Wire())
    await asyncio.sleep(0)
    protocol.data_received(post(b"abc")[:-3])
    await asyncio.sleep(0)
    protocol.connection_lost(None)
    await until(lambda: served.server.requests_total > 0)
    await asyncio.sleep(0)
    assert served.seen == []


# -- limits -------------------------------------------------------------------------------------


async def test_declared_body_over_the_limit_is_refused_without_reading_it(serve: Serve) -> None:
    served = await serve(limits=Limits(body_bytes=1000, linger_bytes=1 << 16, linger_s=0.5))
    client = await sent(served, get("/x", f"Content-Length: {64 << 20}", method="POST"))
    answer = asyncio.create_task(client.reply())
    accepted = 0
    try:
        for _ in range(64):
            await client.send(bytes(1 << 20))
            accepted += 1
    except ConnectionError:
        pass
    reply = await answer
    assert reply.status == 413
    assert reply.json()["error"]
    # what the kernel's socket buffers hold on both sides is never read by the server
    assert accepted < 32
    assert served.seen == []


async def test_client_that_sends_its_whole_body_first_still_reads_the_refusal(
    serve: Serve,
) -> None:
    served = await serve(limits=Limits(body_bytes=1000))
    client = await served.connect()
    client.pause()
    await client.send(post(bytes(300_000)))
    await until(lambda: served.server.requests_total > 0)
    await asyncio.sleep(0.01)
    client.resume()
    assert (await client.reply()).status == 413
    # an end, not a reset
    assert await client.reader.read() == b""


async def test_undeclared_body_over_the_limit_is_refused(serve: Serve) -> None:
    served = await serve(limits=Limits(body_bytes=1000, linger_s=0.05))
    chunk = b"400\r\n" + bytes(1024) + b"\r\n"
    head = get("/x", "Transfer-Encoding: chunked", method="POST")
    await refused(await sent(served, head + chunk), 413)


async def test_undeclared_body_over_the_limit_is_refused_also_when_it_comes_at_once(
    serve: Serve,
) -> None:
    served = await serve(limits=Limits(body_bytes=4))
    head = b"POST /x HTTP/1.1\r\nHost: fm\r\nTransfer-Encoding: chunked\r\n\r\n"
    reply = await served.ask(head + b"5\r\nabcde\r\n0\r\n\r\n")
    assert reply.status == 413
    assert not served.seen


async def test_body_at_the_limit_is_taken(serve: Serve) -> None:
    served = await serve(limits=Limits(body_bytes=1000))
    assert (await served.ask(post(bytes(1000)))).body == b"1000"


async def test_compressed_body_is_not_unfolded(serve: Serve) -> None:
    served = await serve()
    await served.ask(post(b"\x1f\x8b", "Content-Encoding: gzip"))
    assert served.seen[0].body == b"\x1f\x8b"


async def test_too_long_uri_is_414(serve: Serve) -> None:
    served = await serve(limits=Limits(uri_bytes=100))
    assert (await served.ask(get("/" + "a" * 99))).status == 200
    await refused(await sent(served, get("/" + "a" * 100)), 414)


async def test_too_long_header_is_431(serve: Serve) -> None:
    served = await serve(limits=Limits(header_field_bytes=500))
    await refused(await sent(served, get("/x", "X-Long: " + "a" * 501)), 431)


async def test_too_many_headers_are_431(serve: Serve) -> None:
    served = await serve(limits=Limits(header_count=10))
    await refused(await sent(served, get("/x", *(f"X-{n}: 1" for n in range(10)))), 431)


async def test_head_that_is_too_large_as_a_whole_is_431(serve: Serve) -> None:
    """Each header is short enough, and so few of them that their number is no reason."""
    served = await serve(limits=Limits(head_bytes=4000))
    client = await served.connect()
    for number in range(5):
        await client.send(
            f"{'' if number else get()[:-2].decode()}X-{number}: {'y' * 900}\r\n".encode()
        )
        await asyncio.sleep(0.005)
    await refused(client, 431)


async def test_heads_of_one_connection_are_measured_one_by_one(serve: Serve) -> None:
    client = await (await serve(limits=Limits(head_bytes=100))).connect()
    for _ in range(8):
        await client.send(get()[:20])
        await asyncio.sleep(0.005)
        await client.send(get()[20:])
        assert (await client.reply()).status == 200


async def test_large_bodies_share_what_there_is_and_small_ones_always_fit(serve: Serve) -> None:
    limits = Limits(small_body_bytes=100, bodies_bytes=1000, linger_s=0.01)
    served = await serve(limits=limits)
    first = await sent(served, post(b"x" * 900)[:-1])
    second = await sent(served, post(b"x" * 900)[:-1])
    await refused(second, 503)
    assert (await served.ask(post(b"x" * 100))).status == 200
    await first.send(b"x")
    assert (await first.reply()).status == 200
    third = await sent(served, post(b"x" * 900)[:-1])
    # Else it may come as a whole, and take nothing of what is shared.
    await asyncio.sleep(0.01)
    await third.send(b"x")
    assert (await third.reply()).status == 200


async def test_connection_over_the_limit_is_turned_away(serve: Serve) -> None:
    served = await serve(limits=Limits(connections=2))
    first, second = await served.connect(), await served.connect()
    assert (await first.ask(get())).status == 200
    await refused(await served.connect(), 503)
    await second.close()
    await until(lambda: served.server.connections < 2)
    assert (await served.ask(get())).status == 200


# -- time-outs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [b"", get()])
async def test_head_that_does_not_end_is_cut(serve: Serve, before: bytes) -> None:
    served = await serve(limits=Limits(read_timeout_s=0.05))
    client = await served.connect()
    if before:
        await client.ask(before)
    await client.send(b"GET /x HT")
    await refused(client, 408)


async def test_body_that_does_not_end_is_cut(serve: Serve) -> None:
    served = await serve(limits=Limits(read_timeout_s=0.05, linger_s=0.01))
    client = await sent(served, post(b"abcdef")[:-1])
    await refused(client, 408)
    assert served.seen == []


async def test_connection_without_a_request_is_closed_in_silence(serve: Serve) -> None:
    served = await serve(limits=Limits(read_timeout_s=0.02))
    assert await (await served.connect()).ended()


async def test_idle_connection_is_closed_in_silence(serve: Serve) -> None:
    served = await serve(limits=Limits(idle_timeout_s=0.02))
    client = await served.connect()
    await client.ask(get())
    assert await client.ended()


async def test_time_for_a_head_ends_with_the_head(serve: Serve) -> None:
    client = await (await serve(limits=Limits(read_timeout_s=0.02))).connect()
    await client.ask(get())
    for _ in range(6):
        await asyncio.sleep(0.005)
    assert (await client.ask(get())).status == 200


async def test_request_time_out_does_not_cut_a_slow_handler(serve: Serve) -> None:
    async def handler(request: Request) -> Response:
        for _ in range(10):
            await asyncio.sleep(0.005)
        return Response(200)

    served = await serve(handler, Limits(read_timeout_s=0.02, idle_timeout_s=0.02))
    assert (await served.ask(get())).status == 200


def test_limits_that_could_not_be_told_apart_are_refused() -> None:
    with pytest.raises(ValueError, match="must differ"):
        Limits(uri_bytes=9000, header_field_bytes=9000)
