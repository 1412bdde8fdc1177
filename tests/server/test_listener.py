"""Tests of redfish_fm.server.listener."""

import socket
import ssl
import sys

import pytest

from redfish_fm.errors import FmError
from redfish_fm.server.http import HttpServer
from redfish_fm.server.listener import ListenError, listen
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
        await listen(HttpServer(echo, worded), "127.0.0.1", port, None)
    assert str(caught.value) == f"cannot listen on 127.0.0.1:{port}: address already in use"


async def test_host_that_does_not_exist_is_one_clear_line() -> None:
    with pytest.raises(ListenError, match=r"^cannot listen on no\.such\.invalid: no such host$"):
        await listen(HttpServer(echo, worded), "no.such.invalid", 0, None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])  # noqa: S104
async def test_plain_http_beyond_loopback_is_refused(host: str) -> None:
    with pytest.raises(ListenError, match="loopback only"):
        await listen(HttpServer(echo, worded), host, 0, None)


async def test_address_of_another_machine_is_refused() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with pytest.raises(ListenError, match="cannot assign requested address"):
        await listen(HttpServer(echo, worded), "192.0.2.1", 0, context)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a second loopback address")
async def test_name_with_two_addresses_gets_one_port(monkeypatch: pytest.MonkeyPatch) -> None:
    def two(host: str, port: int, *args: int, **how: int) -> list[object]:
        kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        return [(*kind, ("127.0.0.1", port)), (*kind, ("127.0.0.2", port))]

    monkeypatch.setattr(socket, "getaddrinfo", two)
    server = HttpServer(echo, worded)
    listener = await listen(server, "fm.example", 0, None)
    names = [sock.getsockname() for one in listener.servers for sock in one.sockets]
    assert names == [("127.0.0.1", listener.port), ("127.0.0.2", listener.port)]
    await listener.close()
    await server.stop(0)


async def test_ipv6_address_is_bracketed_in_the_url() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    server = HttpServer(echo, worded)
    try:
        listener = await listen(server, "::1", 0, None)
    except ListenError:
        pytest.skip("no IPv6 loopback here")
    assert listener.url == f"http://[::1]:{listener.port}"
    await listener.close()
    await server.stop(0)


def test_both_errors_are_ours() -> None:
    assert issubclass(ListenError, FmError)
    assert issubclass(TlsError, FmError)
