"""Tests of redfish_fm.server.http: what a request becomes, and what comes back."""

import asyncio
import logging

import pytest

from redfish_fm.redfish.requests import Request, Response
from redfish_fm.server.limits import Limits
from redfish_fm.server.request_counts import RequestCounts

from .conftest import Serve
from .wire import get, post, until


async def test_request_carries_method_path_query_headers_and_peer(serve: Serve) -> None:
    served = await serve()
    await served.ask(get("/redfish/v1/%41?b=1&a=2&b=3", "X-One: 1", "x-one: 2", method="PROPFIND"))
    request = served.seen[0]
    assert request == Request(
        "PROPFIND",
        "/redfish/v1/A",
        (("b", "1"), ("a", "2"), ("b", "3")),
        {"host": "fm", "x-one": "1, 2"},
        b"",
        "127.0.0.1",
        tls=False,
    )


async def test_response_carries_status_headers_and_body(serve: Serve) -> None:
    async def handler(request: Request) -> Response:
        return Response(201, {"Location": "/redfish/v1/x", "OData-Version": "4.0"}, b"{}")

    reply = await (await serve(handler)).ask(post(b"{}"))
    assert (reply.version, reply.status, reply.body) == ("HTTP/1.1", 201, b"{}")
    assert reply.headers["Location"] == "/redfish/v1/x"
    assert reply.headers["OData-Version"] == "4.0"
    assert reply.headers["Date"].endswith("GMT")
    assert "Server" not in reply.headers


async def test_head_gets_the_headers_of_a_get_and_no_body(serve: Serve) -> None:
    async def handler(request: Request) -> Response:
        return Response(200, {"ETag": '"1"'}, b"0123456789")

    client = await (await serve(handler)).connect()
    head = await client.ask(get(method="HEAD"), head_only=True)
    full = await client.ask(get())
    # A second may end between the two.
    assert {**head.headers, "Date": ""} == {**full.headers, "Date": ""}
    assert head.headers["Date"]
    assert head.headers["Content-Length"] == "10"
    assert full.body == b"0123456789"


@pytest.mark.parametrize(
    "path",
    ["/%2e%2e/%2e%2e/etc/passwd", "/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%ff", "/%00"],
)
async def test_paths_that_climb_reach_the_handler_and_nothing_else(serve: Serve, path: str) -> None:
    async def handler(request: Request) -> Response:
        return Response(404)

    served = await serve(handler)
    assert (await served.ask(get(path))).status == 404
    assert len(served.seen) == 1


async def test_absolute_form_is_reduced_to_its_path(serve: Serve) -> None:
    served = await serve()
    assert (await served.ask(get("http://elsewhere:1/redfish/v1?x"))).status == 200
    assert (served.seen[0].path, served.seen[0].query) == ("/redfish/v1", (("x", ""),))


async def test_header_bytes_that_are_no_text_reach_the_handler_as_text(serve: Serve) -> None:
    served = await serve()
    assert (await served.ask(get("/x", "X-Raw: a\xff"))).status == 200
    served.seen[0].headers["x-raw"].encode()


async def test_healthz_is_answered_without_the_handler(serve: Serve) -> None:
    served = await serve()
    reply = await served.ask(get("/healthz"))
    assert (reply.status, reply.json()) == (200, {"status": "alive"})
    assert served.seen == []


async def test_healthz_takes_only_get_and_head(serve: Serve) -> None:
    reply = await (await serve()).ask(get("/healthz", method="DELETE"))
    assert (reply.status, reply.headers["Allow"]) == (405, "GET, HEAD")
    assert "error" in reply.json()


async def test_metrics_come_from_their_callable(serve: Serve) -> None:
    served = await serve(metrics=lambda: Response(200, {"Content-Type": "text/plain"}, b"a 1\n"))
    assert (await served.ask(get("/metrics"))).body == b"a 1\n"
    assert served.seen == []


async def test_whether_it_is_ready_is_told_by_its_callable(serve: Serve) -> None:
    answers = [Response(503, {"Retry-After": "1"}, b"{}"), Response(200, {}, b"{}")]
    served = await serve(ready=lambda: answers.pop(0))
    first = await served.ask(get("/readyz"))
    assert (first.status, first.headers["Retry-After"]) == (503, "1")
    assert (await served.ask(get("/readyz"))).status == 200
    assert served.seen == []


async def test_every_answer_is_counted_with_its_path_without_the_query(serve: Serve) -> None:
    counts = RequestCounts(lambda path: path)
    served = await serve(counts=counts)
    for path in ("/x?a=1", "/x?b=2", "/healthz"):
        await served.ask(get(path))
    await served.ask(get("/healthz", method="DELETE"))
    assert {(each.route, each.method, each.status): each.count for each in counts.cells()} == {
        ("/x", "GET", "2xx"): 2,
        ("/healthz", "GET", "2xx"): 1,
        ("/healthz", "DELETE", "4xx"): 1,
    }
    assert all(each.seconds > 0 for each in counts.cells())


async def test_metrics_without_callable_reach_the_handler(serve: Serve) -> None:
    served = await serve()
    await served.ask(get("/metrics"))
    assert served.seen[0].path == "/metrics"


@pytest.mark.expects_errors
async def test_handler_exception_becomes_a_500_without_traceback(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async def handler(request: Request) -> Response:
        raise LookupError("secret detail")

    served = await serve(handler)
    client = await served.connect()
    with caplog.at_level(logging.ERROR):
        for request in (get(), post(b"{}")):
            reply = await client.ask(request)
            assert reply.status == 500
            assert "error" in reply.json()
            assert b"secret" not in reply.body
            assert b"Traceback" not in reply.body
    assert "LookupError: secret detail" in caplog.text
    assert served.server.failures_total == 2


@pytest.mark.expects_errors
async def test_unsendable_header_becomes_a_500(serve: Serve) -> None:
    async def handler(request: Request) -> Response:
        return Response(200, {"Location": "/a\r\nSet-Cookie: b"})

    reply = await (await serve(handler)).ask(get())
    assert reply.status == 500
    assert "Set-Cookie" not in reply.headers


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_disconnect_does_not_cancel_a_running_handler(serve: Serve, method: str) -> None:
    started, go, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response:
        started.set()
        await go.wait()
        done.set()
        return Response(200)

    served = await serve(handler)
    client = await served.connect()
    await client.send(get(method=method))
    await started.wait()
    client.writer.transport.abort()
    await until(lambda: not served.server.connections)
    go.set()
    async with asyncio.timeout(5):
        await done.wait()


async def test_other_clients_are_served_while_a_handler_waits(serve: Serve) -> None:
    go = asyncio.Event()

    async def handler(request: Request) -> Response:
        if request.path == "/slow":
            await go.wait()
        return Response(200, {}, request.path.encode())

    served = await serve(handler)
    slow = await served.connect()
    await slow.send(get("/slow"))
    assert (await served.ask(get("/fast"))).body == b"/fast"
    go.set()
    assert (await slow.reply()).body == b"/slow"


async def test_big_answers_arrive_whole(serve: Serve) -> None:
    big = bytes(range(256)) * 20_000

    async def handler(request: Request) -> Response:
        return Response(200, {}, big)

    client = await (await serve(handler)).connect()
    assert (await client.ask(get())).body == big
    assert (await client.ask(get())).body == big


async def test_client_that_reads_nothing_is_dropped(serve: Serve) -> None:
    async def handler(request: Request) -> Response:
        return Response(200, {}, bytes(32 << 20))

    served = await serve(handler, Limits(write_timeout_s=0.02))
    client = await served.connect()
    client.pause()
    await client.send(get())
    await until(lambda: bool(served.seen) and not served.server.connections)


# -- stopping ----------------------------------------------------------------------------------


async def test_stop_lets_a_running_request_finish_and_then_closes(serve: Serve) -> None:
    started, go = asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response:
        started.set()
        await go.wait()
        return Response(200, {}, b"done")

    served = await serve(handler)
    client = await served.connect()
    await client.send(post(b"{}"))
    await started.wait()
    await served.listener.close()
    stopping = asyncio.create_task(served.server.stop(5.0))
    await asyncio.sleep(0.005)
    go.set()
    reply = await client.reply()
    assert (reply.status, reply.body) == (200, b"done")
    assert reply.headers["Connection"] == "close"
    await stopping
    assert await client.ended()


async def test_write_that_ends_just_after_its_connection_is_not_cancelled(serve: Serve) -> None:
    go, done = asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response:
        await go.wait()
        done.set()
        return Response(200)

    served = await serve(handler)
    client = await served.connect()
    await client.send(post(b"{}"))
    await until(lambda: bool(served.seen))
    await served.listener.close()
    stopping = asyncio.create_task(served.server.stop(0.02))
    assert await client.ended()
    go.set()
    await stopping
    assert done.is_set()


async def test_stop_does_not_wait_for_idle_connections(serve: Serve) -> None:
    served = await serve()
    client = await served.connect()
    await client.ask(get())
    await served.listener.close()
    async with asyncio.timeout(5):
        await served.server.stop(grace_s=600)
    assert await client.ended()


async def test_stop_closes_idle_connections_and_half_sent_requests(serve: Serve) -> None:
    served = await serve()
    idle, half, body = [await served.connect() for _ in range(3)]
    await idle.ask(get())
    await half.send(b"GET /x HT")
    await body.send(b"POST /x HTTP/1.1\r\nHost: fm\r\nContent-Length: 9\r\n\r\nabc")
    await asyncio.sleep(0.005)
    await served.listener.close()
    await served.server.stop(0.05)
    for client in (idle, half, body):
        assert await client.ended()


async def test_stop_ends_although_a_handler_never_does(serve: Serve) -> None:
    cancelled = asyncio.Event()

    async def handler(request: Request) -> Response:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return Response(200)

    served = await serve(handler)
    client = await served.connect()
    await client.send(post(b"{}"))
    await until(lambda: bool(served.seen))
    await served.listener.close()
    async with asyncio.timeout(5):
        await served.server.stop(0.02)
    assert await client.ended()
    assert cancelled.is_set()


async def test_stopped_listener_refuses_connections(serve: Serve) -> None:
    served = await serve()
    await served.listener.close()
    with pytest.raises(ConnectionError):
        await served.connect()


async def test_the_same_resource_is_answered_to_every_client_in_its_own_way(serve: Serve) -> None:
    headers = {"ETag": '"1"'}

    async def handler(request: Request) -> Response:
        return Response(200, headers, b"{}")

    served = await serve(handler)
    requests = [get(), get("/x", "Connection: close"), get(method="HEAD"), get(), get("/y")]
    requests.insert(1, b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    replies = [await served.ask(each, head_only=b"HEAD" in each) for each in requests]
    for reply in replies:
        del reply.headers["Date"]
    plain = {"ETag": '"1"', "Content-Length": "2"}
    told = [{"Connection": "keep-alive"}, {"Connection": "close"}, {}, {}, {}]
    assert [reply.headers for reply in replies] == [plain, *({**plain, **each} for each in told)]
    assert [reply.body for reply in replies] == [b"{}", b"{}", b"{}", b"", b"{}", b"{}"]


async def test_nothing_follows_the_head_that_answers_a_head_request(serve: Serve) -> None:
    async def handler(request: Request) -> Response:
        return Response(200, {}, b"{}")

    client = await (await serve(handler)).connect()
    assert (await client.ask(get(method="HEAD"), head_only=True)).headers["Content-Length"] == "2"
    reply = await client.ask(get())
    assert (reply.version, reply.body) == ("HTTP/1.1", b"{}")


async def test_answers_of_two_statuses_may_share_their_headers(serve: Serve) -> None:
    headers = {"Cache-Control": "no-cache"}

    async def handler(request: Request) -> Response:
        return Response(int(request.path[1:]), headers, b"{}")

    client = await (await serve(handler)).connect()
    statuses = (200, 404, 200, 503)
    assert [(await client.ask(get(f"/{each}"))).status for each in statuses] == [*statuses]
