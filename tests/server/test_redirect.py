"""Plain HTTP that only leads to HTTPS."""

import asyncio
import socket

import pytest

from redfish_fm.clocks import SystemClock
from redfish_fm.redfish.requests import Request, Response
from redfish_fm.server.listener import ListenError
from redfish_fm.server.redirect import Redirect

SECRET = {"authorization": "Basic c2VjcmV0", "x-auth-token": "secret"}


def refusal(status: int) -> Response:
    return Response(status, {"Content-Type": "application/json"}, b"{}")


def a_redirect(port: int = 0) -> Redirect:
    return Redirect("127.0.0.1", port, 8443, refusal, SystemClock())


async def answered(method: str = "GET", path: str = "/redfish/v1/", **more: object) -> Response:
    headers = {"host": str(more.pop("host", "rack7.example.org:8080")), **SECRET}
    return await a_redirect().answer(Request(method, path, headers=headers, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_reader_is_led_to_https(method: str) -> None:
    response = await answered(method)
    assert response.status == 308
    assert response.headers["Location"] == "https://rack7.example.org:8443/redfish/v1/"


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE", "OPTIONS", "FAKE"])
async def test_everybody_else_is_refused_and_led_nowhere(method: str) -> None:
    response = await answered(method, body=b'{"Password": "secret"}')
    assert response.status == 403
    assert "Location" not in response.headers
    assert b"secret" not in response.body


async def test_a_query_goes_along() -> None:
    response = await answered(query=(("$filter", "Id eq 'a b'"), ("only", "")))
    assert response.headers["Location"].endswith("/redfish/v1/?%24filter=Id+eq+%27a+b%27&only=")


async def test_an_address_in_brackets_stays_one() -> None:
    response = await answered(host="[2001:db8::7]:80")
    assert response.headers["Location"] == "https://[2001:db8::7]:8443/redfish/v1/"


@pytest.mark.parametrize("host", ["", "a b", "evil@rack7", "a/b", "x:y", "[::1", "a\r\nb", "ü"])
async def test_a_host_that_can_not_stand_in_a_url_is_refused(host: str) -> None:
    response = await answered(host=host)
    assert response.status == 400
    assert "Location" not in response.headers


@pytest.mark.parametrize("path", ["//evil.example", "/a\r\nX: y", "/\ud800", "/ü"])
async def test_a_path_leads_nowhere_else(path: str) -> None:
    location = (await answered(path=path)).headers["Location"]
    assert location.startswith("https://rack7.example.org:8443/")
    assert location.isascii()
    assert location.isprintable()


async def status_at(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    line = await reader.readline()
    writer.close()
    await writer.wait_closed()
    return line


async def test_it_goes_on_and_off_and_keeps_its_port() -> None:
    redirect = a_redirect()
    assert not redirect.listens
    await redirect.switch(True)
    port = redirect.port
    assert redirect.listens
    assert b" 308 " in await status_at(port)
    await redirect.switch(True)
    await redirect.switch(False)
    with pytest.raises(ConnectionRefusedError):
        await status_at(port)
    await redirect.switch(True)
    assert redirect.port == port
    assert b" 308 " in await status_at(port)
    await redirect.close()
    await redirect.close()
    assert not redirect.listens


async def test_a_port_that_is_taken_is_said_and_it_stays_off() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        redirect = a_redirect(taken.getsockname()[1])
        with pytest.raises(ListenError, match="in use"):
            await redirect.switch(True)
        assert not redirect.listens
