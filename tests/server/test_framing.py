"""HTTP/1.1 to the letter (RFC 9112), byte by byte, over plain connections and over TLS.

What is refused is refused in Redfish form, closes, and never reaches the service.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.redfish.requests import Request, Response
from redfish_fm.server.limits import Limits
from redfish_fm.server.tls import ensure_certificate, server_context

from .conftest import Serve
from .wire import Client, Served, echo, get, post, until

HOST = b"Host: fm\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"

Open = Callable[[], Awaitable[Client]]
Start = Callable[..., Awaitable[tuple[Served, Open]]]


@pytest.fixture(params=["plain", "tls"])
def start(request: pytest.FixtureRequest, serve: Serve, tmp_path: Path) -> Start:
    """Start a server, plain or with TLS; give it and a way to connect to it."""
    ours: ssl.SSLContext | None = None
    theirs: ssl.SSLContext | None = None
    if request.param == "tls":
        files = ensure_certificate(tmp_path / "tls", "127.0.0.1", 1_790_000_000.0)
        ours = server_context(files)
        theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        theirs.check_hostname, theirs.verify_mode = False, ssl.CERT_NONE

    async def started(handler: Any = echo, limits: Limits | None = None) -> tuple[Served, Open]:
        served = await serve(handler, limits, ours)
        return served, lambda: served.connect(theirs)

    return started


async def refused(client: Client, status: int) -> None:
    reply = await client.reply()
    assert (reply.version, reply.status) == ("HTTP/1.1", status)
    assert reply.headers["Connection"] == "close"
    assert reply.json()["error"]["@Message.ExtendedInfo"]
    assert await client.ended()


def chunked(*lines: bytes) -> bytes:
    return b"POST /x HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\n" + b"".join(lines)


def with_length(value: bytes, body: bytes = b"a") -> bytes:
    return b"POST /x HTTP/1.1\r\n" + HOST + b"Content-Length: " + value + b"\r\n\r\n" + body


BAD = {
    "host with a space": b"GET /x HTTP/1.1\r\nHost: a b\r\n\r\n",
    "host with a path": b"GET /x HTTP/1.1\r\nHost: a/b\r\n\r\n",
    "host with a user": b"GET /x HTTP/1.1\r\nHost: a@b\r\n\r\n",
    "host twice": b"GET /x HTTP/1.1\r\nHost: fm\r\nHost: fm\r\n\r\n",
    "no host": b"GET /x HTTP/1.1\r\n\r\n",
    "length twice": with_length(b"1\r\nContent-Length: 1"),
    "length twice and different": with_length(b"1\r\nContent-Length: 2"),
    "a list of lengths": with_length(b"1, 1"),
    "length with a sign": with_length(b"+1"),
    "length below zero": with_length(b"-1"),
    "length with an underscore": with_length(b"1_0", b"a" * 10),
    "length in hexadecimal": with_length(b"0x1"),
    "no length in the header": with_length(b""),
    "length beyond 64 bits": with_length(b"9" * 24),
    "length and chunks": with_length(b"3\r\n" + CHUNKED.rstrip(), b"0\r\n\r\n"),
    "chunks in HTTP/1.0": b"POST /x HTTP/1.0\r\n" + HOST + CHUNKED + b"\r\n0\r\n\r\n",
    "chunked twice": b"POST /x HTTP/1.1\r\n" + HOST + CHUNKED + CHUNKED + b"\r\n0\r\n\r\n",
    "not quite chunked": b"POST /x HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: xchunked\r\n\r\n",
    "chunk below zero": chunked(b"-3\r\nabc\r\n0\r\n\r\n"),
    "chunk with a sign": chunked(b"+3\r\nabc\r\n0\r\n\r\n"),
    "chunk with an underscore": chunked(b"0_3\r\nabc\r\n0\r\n\r\n"),
    "chunk with a prefix": chunked(b"0x3\r\nabc\r\n0\r\n\r\n"),
    "chunk with a space": chunked(b" 3\r\nabc\r\n0\r\n\r\n"),
    "chunk without a size": chunked(b"\r\nabc\r\n0\r\n\r\n"),
    "chunk beyond 64 bits": chunked(b"F" * 17 + b"\r\nabc"),
    "chunk longer than told": chunked(b"3\r\nabcd\r\n0\r\n\r\n"),
    "chunks ended by line feeds": chunked(b"3\nabc\n0\n\n"),
    "header with NUL": b"GET /x HTTP/1.1\r\nHost: fm\r\nX: a\0b\r\n\r\n",
    "header with a bare return": b"GET /x HTTP/1.1\r\nHost: fm\r\nX: a\rb\r\n\r\n",
    "header folded": b"GET /x HTTP/1.1\r\nHost: fm\r\nX: a\r\n b\r\n\r\n",
    "header without a name": b"GET /x HTTP/1.1\r\nHost: fm\r\n: a\r\n\r\n",
    "target with a space": b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n",
    "target with NUL": b"GET /a\0b HTTP/1.1\r\n" + HOST + b"\r\n",
    "target with bytes beyond ASCII": b"GET /a\xffb HTTP/1.1\r\n" + HOST + b"\r\n",
    "target without a slash": b"GET redfish/v1 HTTP/1.1\r\n" + HOST + b"\r\n",
    "asterisk of a GET": b"GET * HTTP/1.1\r\n" + HOST + b"\r\n",
    "tabs": b"GET\t/x\tHTTP/1.1\r\n" + HOST + b"\r\n",
    "HTTP in small letters": b"GET /x http/1.1\r\n" + HOST + b"\r\n",
    "HTTP/2 from the start": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    **{
        f"{name} twice": b"GET /x HTTP/1.1\r\nHost: fm\r\n"
        + f"{name}: a\r\n".encode() * 2
        + b"\r\n"
        for name in (
            "X-Auth-Token",
            "Authorization",
            "Content-Type",
            "OData-Version",
            "Idempotency-Key",
        )
    },
}


@pytest.mark.parametrize("data", BAD.values(), ids=list(BAD))
async def test_what_can_be_read_in_two_ways_is_400(start: Start, data: bytes) -> None:
    served, connect = await start()
    client = await connect()
    await client.send(data)
    await refused(client, 400)
    assert served.seen == []


async def test_nothing_after_a_refused_request_is_answered(start: Start) -> None:
    served, connect = await start()
    client = await connect()
    await client.send(BAD["X-Auth-Token twice"] + get("/smuggled"))
    await refused(client, 400)
    assert served.seen == []


GOOD = {
    "empty lines before": (b"\r\n\r\n" + get(), b"0"),
    "an empty host": (b"GET /x HTTP/1.1\r\nHost:\r\n\r\n", b"0"),
    "a host with a port": (b"GET /x HTTP/1.1\r\nHost: fm.example:8443\r\n\r\n", b"0"),
    "an IPv6 host": (b"GET /x HTTP/1.1\r\nHost: [fe80::1]:8443\r\n\r\n", b"0"),
    "no host in HTTP/1.0": (b"GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", b"0"),
    "a GET with a body": (get("/x", "Content-Length: 3") + b"abc", b"3"),
    "a GET with chunks": (get("/x", "Transfer-Encoding: chunked") + b"1\r\na\r\n0\r\n\r\n", b"1"),
    "a chunk extension": (chunked(b'3;a="b";c\r\nabc\r\n0\r\n\r\n'), b"3"),
    "a trailer": (chunked(b"3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n"), b"3"),
    "leading zeros": (chunked(b"0003\r\nabc\r\n000\r\n\r\n"), b"3"),
    "Chunked in capitals": (
        get("/x", "Transfer-Encoding: Chunked", method="POST") + b"0\r\n\r\n",
        b"0",
    ),
    "a header twice": (get("/x", "Accept: a/b", "Accept: */*"), b"0"),
}


@pytest.mark.parametrize(("data", "body"), GOOD.values(), ids=list(GOOD))
async def test_what_the_standard_allows_is_answered_and_the_connection_goes_on(
    start: Start, data: bytes, body: bytes
) -> None:
    _, connect = await start()
    client = await connect()
    reply = await client.ask(data)
    assert (reply.status, reply.body) == (200, body)
    assert (await client.ask(get())).status == 200


@pytest.mark.parametrize("version", ["HTTP/1.2", "HTTP/9.9", "HTTP/2.0"])
async def test_another_version_is_505(start: Start, version: str) -> None:
    served, connect = await start()
    client = await connect()
    await client.send(b"GET /x " + version.encode() + b"\r\nHost: fm\r\n\r\n")
    await refused(client, 505)
    assert served.seen == []


@pytest.mark.parametrize("coding", ["gzip, chunked", "deflate, chunked", "gzip,chunked"])
async def test_a_transfer_coding_we_do_not_know_is_501(start: Start, coding: str) -> None:
    served, connect = await start()
    client = await connect()
    await client.send(get("/x", f"Transfer-Encoding: {coding}", method="POST") + b"0\r\n\r\n")
    await refused(client, 501)
    assert served.seen == []


# -- Expect ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("framing", ["Content-Length: 3", "Transfer-Encoding: chunked"])
async def test_100_continue_comes_before_a_body_of_either_kind(start: Start, framing: str) -> None:
    served, connect = await start()
    client = await connect()
    await client.send(get("/x", framing, "Expect: 100-Continue", method="POST"))
    assert (await client.reply()).status == 100
    assert served.seen == []
    await client.send(b"abc" if "Length" in framing else b"3\r\nabc\r\n0\r\n\r\n")
    assert (await client.reply()).status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ((f"Content-Length: {64 << 20}",), 413),
        (("Transfer-Encoding: gzip, chunked",), 501),
        (("Content-Length: 3", "X-Auth-Token: a", "X-Auth-Token: b"), 400),
    ],
)
async def test_who_waits_for_100_with_a_body_that_is_refused_is_told_at_once(
    start: Start, headers: tuple[str, ...], status: int
) -> None:
    served, connect = await start(limits=Limits(linger_s=0.01))
    client = await connect()
    await client.send(get("/x", *headers, "Expect: 100-continue", method="POST"))
    await refused(client, status)
    assert served.seen == []


async def test_pipelined_expectations_are_answered_in_their_turn(start: Start) -> None:
    _, connect = await start()
    client = await connect()
    await client.send(get("/1") + post(b"abc", "Expect: 100-continue") + get("/2"))
    assert [(await client.reply()).status for _ in range(4)] == [200, 100, 200, 200]


# -- pipelining -----------------------------------------------------------------------------------


async def test_reads_and_writes_in_one_pipeline_are_answered_in_order(start: Start) -> None:
    async def handler(request: Request) -> Response:
        if request.method == "POST":
            await asyncio.sleep(0.002)
        return Response(200, {}, request.method.encode() + request.body)

    _, connect = await start(handler)
    client = await connect()
    await client.send(b"".join(post(b"%d" % n) + get() for n in range(30)))
    expected = [each for n in range(30) for each in (b"POST%d" % n, b"GET")]
    assert [(await client.reply()).body for _ in range(60)] == expected


async def test_a_client_that_pipelines_without_reading_is_not_read_for_ever(start: Start) -> None:
    go = asyncio.Event()

    async def handler(request: Request) -> Response:
        await go.wait()
        return Response(200, {}, b"x")

    served, connect = await start(handler)
    client = await connect()
    client.writer.transport.set_write_buffer_limits(0)
    one, sent = get("/x", "X-Filler: " + "a" * 1000) * 64, 0
    try:
        async with asyncio.timeout(1.0):
            for _ in range(1000):
                await client.send(one)
                sent += len(one)
    except TimeoutError:
        pass
    # what the sockets of both sides hold, and a bounded number of parsed requests
    assert sent < 32 << 20
    assert len(served.seen) == 1
    go.set()
    assert (await client.reply()).status == 200


# -- limits over either transport -----------------------------------------------------------------


@pytest.mark.parametrize("declared", [True, False])
async def test_64_mib_are_413_without_reading_them_all(start: Start, declared: bool) -> None:
    served, connect = await start(limits=Limits(linger_bytes=1 << 16, linger_s=0.5))
    client = await connect()
    framing = f"Content-Length: {64 << 20}" if declared else "Transfer-Encoding: chunked"
    await client.send(get("/x", framing, method="POST"))
    answer = asyncio.create_task(client.reply())
    block = bytes(1 << 20) if declared else b"100000\r\n" + bytes(1 << 20) + b"\r\n"
    accepted = 0
    try:
        for _ in range(64):
            await client.send(block)
            accepted += 1
    except ConnectionError:
        pass
    assert (await answer).status == 413
    assert accepted < 32
    assert served.seen == []


async def test_too_long_uris_and_headers_are_told_apart(start: Start) -> None:
    served, connect = await start()
    limits = served.server.limits
    for data, status in (
        (get("/" + "a" * limits.uri_bytes), 414),
        (get("/x", "X-Long: " + "a" * (limits.header_field_bytes + 1)), 431),
        (get("/x", *(f"X-{n}: 1" for n in range(limits.header_count + 1))), 431),
    ):
        client = await connect()
        await client.send(data)
        await refused(client, status)
    assert served.seen == []


async def test_half_a_request_and_half_a_body_hang_nobody(start: Start) -> None:
    _, connect = await start(limits=Limits(read_timeout_s=0.3, linger_s=0.01))
    halves = [await connect() for _ in range(8)]
    for client, data in zip(halves, [b"GET /x HT", post(b"abcdef")[:-3]] * 4, strict=True):
        await client.send(data)
    assert (await (await connect()).ask(get())).status == 200
    for client in halves:
        await refused(client, 408)


async def test_a_client_that_reads_nothing_hangs_nobody_and_is_dropped(start: Start) -> None:
    async def handler(request: Request) -> Response:
        return Response(200, {}, bytes(32 << 20 if request.path == "/big" else 1))

    served, connect = await start(handler, Limits(write_timeout_s=0.2))
    slow, quick = await connect(), await connect()
    slow.pause()
    await slow.send(get("/big"))
    for _ in range(3):
        assert (await quick.ask(get("/small"))).status == 200
    await until(lambda: served.server.connections == 1)


@pytest.mark.parametrize("limits", [Limits(connections=2), Limits(connections_per_peer=2)])
async def test_a_connection_too_many_is_told_so_and_room_is_found_again(
    start: Start, limits: Limits
) -> None:
    served, connect = await start(limits=limits)
    kept, gone = await connect(), await connect()
    assert (await kept.ask(get())).status == 200
    await until(lambda: served.server.connections == 2)
    await refused(await connect(), 503)
    await refused(await connect(), 503)
    await gone.close()
    await until(lambda: served.server.connections < 2)
    assert (await (await connect()).ask(get())).status == 200
    assert (await kept.ask(get())).status == 200


async def test_another_peer_is_served_while_one_has_all_it_may(serve: Serve) -> None:
    served = await serve(limits=Limits(connections_per_peer=1))
    assert (await (await served.connect()).ask(get())).status == 200
    assert not served.server.admits("127.0.0.1")
    assert served.server.admits("192.0.2.7")
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", served.listener.port, local_addr=("127.0.0.2", 0)
    )
    client = Client(reader, writer)
    served.clients.append(client)
    assert (await client.ask(get())).status == 200


# -- targets --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("http://elsewhere/redfish/v1", "/redfish/v1"),
        ("HTTPS://[::1]:8443/redfish/v1/", "/redfish/v1/"),
        ("http://elsewhere", "/"),
        ("http://elsewhere?x=1", "/"),
        ("/%72edfish/v1", "/redfish/v1"),
        ("/redfish/v1/%2e%2e/x", "/redfish/v1/../x"),
        ("/redfish%2fv1", "/redfish%2fv1"),
        ("/a%5c..%5cb", "/a\\..\\b"),
        ("/%c0%ae%c0%ae/x", "/%c0%ae%c0%ae/x"),
        ("/%00", "/%00"),
        ("/%2500", "/%00"),
        ("/%", "/%"),
        ("/%zz", "/%zz"),
    ],
)
async def test_the_handler_gets_a_path_decoded_once(serve: Serve, target: str, path: str) -> None:
    served = await serve()
    assert (await served.ask(get(target))).status == 200
    assert served.seen[0].path == path


async def test_options_may_ask_about_the_server(serve: Serve) -> None:
    served = await serve()
    await served.ask(get("*", method="OPTIONS"))
    assert (served.seen[0].method, served.seen[0].path) == ("OPTIONS", "*")


async def test_head_is_answered_without_a_body_in_a_pipeline_too(start: Start) -> None:
    _, connect = await start()
    client = await connect()
    await client.send(get(method="HEAD") + get())
    head = await client.reply(head_only=True)
    full = await client.reply()
    # A second may end between the two.
    assert {**head.headers, "Date": ""} == {**full.headers, "Date": ""}
    assert full.body == b"0"
