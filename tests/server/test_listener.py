"""Tests of redfish_fm.server.listener."""

import socket
import sys

import pytest

from redfish_fm.errors import FmError
from redfish_fm.server.http import HttpServer
from redfish_fm.server.listener import ListenError, bind, listen
from redfish_fm.server.tls import TlsError

from .conftest import Serve
from .wire import echo, get, worded


async def test_port_zero_picks_a_free_one_and_tells_it(serve: Serve) -> None:
    served = await serve()
    assert served.listener.port > 0
    assert served.listener.url == f"http://127.0.0.1:{served.listener.port}"
    assert (await served.ask(get())).status == 200


async def test_port_in_use_is_one_clear_line(serve: Serve) -> None:
    port = (await serve()).listener.port
    with pytest.raises(ListenError) as caught:
        await bind("127.0.0.1", port, plain=True)
    assert str(caught.value) == f"cannot listen on 127.0.0.1:{port}: address already in use"


async def test_host_that_does_not_exist_is_one_clear_line() -> None:
    with pytest.raises(ListenError, match=r"^cannot listen on no\.such\.invalid: no such host$"):
        await bind("no.such.invalid", 0, plain=True)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])  # noqa: S104
async def test_plain_http_beyond_loopback_is_refused(host: str) -> None:
    with pytest.raises(ListenError, match="loopback only"):
        await bind(host, 0, plain=True)


async def test_address_of_another_machine_is_refused() -> None:
    with pytest.raises(ListenError, match="cannot assign requested address"):
        await bind("192.0.2.1", 0, plain=False)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a second loopback address")
async def test_name_with_two_addresses_gets_one_port(monkeypatch: pytest.MonkeyPatch) -> None:
    def two(host: str, port: int, *args: int, **how: int) -> list[object]:
        kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        return [(*kind, ("127.0.0.1", port)), (*kind, ("127.0.0.2", port))]

    monkeypatch.setattr(socket, "getaddrinfo", two)
    server = HttpServer(echo, worded)
    listener = await listen(server, await bind("fm.example", 0, plain=True), None)
    names = [sock.getsockname() for one in listener.servers for sock in one.sockets]
    assert names == [("127.0.0.1", listener.port), ("127.0.0.2", listener.port)]
    await listener.close()
    await server.stop(0)


async def test_ipv6_address_is_bracketed_in_the_url() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    server = HttpServer(echo, worded)
    try:
        listener = await listen(server, await bind("::1", 0, plain=True), None)
    except ListenError:
        pytest.skip("no IPv6 loopback here")
    assert listener.url == f"http://[::1]:{listener.port}"
    await listener.close()
    await server.stop(0)


async def test_of_two_that_have_bound_a_port_the_first_to_claim_has_it() -> None:
    first = await bind("127.0.0.1", 0, plain=True)
    second = await bind("127.0.0.1", first.port, plain=True)
    first.claim()
    with pytest.raises(ListenError, match=rf"127\.0\.0\.1:{first.port}: address already in use"):
        second.claim()
    second.close()
    first.close()


async def test_a_port_that_was_let_go_of_can_be_bound_again() -> None:
    bound = await bind("127.0.0.1", 0, plain=True)
    bound.claim()
    bound.close()
    again = await bind("127.0.0.1", bound.port, plain=True)
    again.claim()
    again.close()


def test_both_errors_are_ours() -> None:
    assert issubclass(ListenError, FmError)
    assert issubclass(TlsError, FmError)
