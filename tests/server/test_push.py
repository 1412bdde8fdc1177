"""Delivery over real sockets: the form of requests, odd answers, TLS, where nothing is sent."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from redfish_fm.control.delivery import TOO_LONG, Parcel
from redfish_fm.server.outgoing import Destinations
from redfish_fm.server.push import AuthoritiesUnreadable, Push
from tests.certificates_made import Made, an_authority, made
from tests.event_receiver import (
    ANSWER_200,
    ANSWER_204,
    ANSWER_503,
    Received,
    Receiver,
    answering,
)

LOOPBACK = Destinations.of(["127.0.0.0/8", "::1"])
BODY = b'{"Events":[]}'


@contextlib.asynccontextmanager
async def pushing(allowed: Destinations = LOOPBACK, **more: object) -> AsyncIterator[Push]:
    push = Push(allowed, **more)  # type: ignore[arg-type]
    try:
        yield push
    finally:
        await push.close()


def parcel(url: str, body: bytes = BODY, verify: bool = False, **headers: str) -> Parcel:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Parcel("/redfish/v1/EventService/Subscriptions/1", url, named, body, verify)


async def sent(receiver: Receiver, raw: bytes, **more: object) -> str | None:
    receiver.answer = answering(raw)
    async with receiver.running(), pushing(**more) as push:  # type: ignore[arg-type]
        return await push.send(parcel(f"http://127.0.0.1:{receiver.port}/events"))


async def test_a_delivery_is_one_plain_post_in_one_piece() -> None:
    receiver = Receiver()
    async with receiver.running(), pushing() as push:
        url = f"http://127.0.0.1:{receiver.port}/events?a=b"
        assert await push.send(parcel(url, X_Key="k")) is None
    (got,) = receiver.got
    assert got.line == "POST /events?a=b HTTP/1.1"
    assert got.body == BODY
    assert got.header("Content-Length") == [str(len(BODY))]
    assert got.header("Content-Type") == ["application/json"]
    assert got.header("Host") == [f"127.0.0.1:{receiver.port}"]
    assert got.header("Transfer-Encoding") == []
    assert got.header("Expect") == []
    assert got.header("X-Key") == ["k"]
    assert got.first.endswith(BODY)


@pytest.mark.parametrize("status", [b"200 OK", b"201 Created", b"202 Accepted", b"299 Whatever"])
async def test_every_2xx_is_a_delivery(status: bytes) -> None:
    assert await sent(Receiver(), b"HTTP/1.1 %b\r\nContent-Length: 0\r\n\r\n" % status) is None


@pytest.mark.parametrize(
    "raw",
    [
        ANSWER_200,
        b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + ANSWER_204,
        b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nuntil the end",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n" + b"x" * 200_000,
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
    ],
)
async def test_an_odd_answer_with_2xx_is_a_delivery(raw: bytes) -> None:
    assert await sent(Receiver(), raw) is None


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (ANSWER_503, "the answer was 503 Service Unavailable"),
        (b"HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n", "the answer was 404 Not Found"),
        (b"HTTP/1.1 413 x\r\nContent-Length: 0\r\n\r\n", TOO_LONG),
        (b"HTTP/1.1 799 x\r\nContent-Length: 0\r\n\r\n", "the answer was 799"),
        (b"HTTP/1.1 304 x\r\n\r\n", "the answer was 304 Not Modified"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", "the answer is not HTTP"),
    ],
)
async def test_everything_else_is_none_and_says_why(raw: bytes, reason: str) -> None:
    assert await sent(Receiver(), raw) == reason


async def test_a_redirect_is_no_delivery_and_not_followed() -> None:
    elsewhere = Receiver()
    async with elsewhere.running():
        location = b"http://127.0.0.1:%d/" % elsewhere.port
        raw = b"HTTP/1.1 307 x\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % location
        assert await sent(Receiver(), raw) == "the answer was 307 Temporary Redirect"
    assert elsewhere.got == []


async def test_a_receiver_that_says_nothing_is_given_up_in_time() -> None:
    async def hang(_: Received, __: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    receiver = Receiver(answer=hang)  # type: ignore[arg-type]
    async with receiver.running(), pushing(total_s=0.05) as push:
        url = f"http://127.0.0.1:{receiver.port}/"
        assert await push.send(parcel(url)) == "no answer in time"


async def test_an_answer_that_drips_for_ever_is_given_up_in_time() -> None:
    async def drip(_: Received, writer: asyncio.StreamWriter) -> None:
        for each in b"HTTP/1.1 200 OK\r\nX: " + b"a" * 10_000:
            writer.write(bytes([each]))
            await asyncio.sleep(0.005)

    receiver = Receiver(answer=drip)  # type: ignore[arg-type]
    async with receiver.running(), pushing(total_s=0.05) as push:
        url = f"http://127.0.0.1:{receiver.port}/"
        assert await push.send(parcel(url)) == "no answer in time"


async def test_a_receiver_that_hangs_up_has_not_taken_it() -> None:
    async def hang_up(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    receiver = Receiver(answer=hang_up)  # type: ignore[arg-type]
    async with receiver.running(), pushing() as push:
        reason = await push.send(parcel(f"http://127.0.0.1:{receiver.port}/"))
    assert reason == "the connection was closed without an answer"


async def test_nobody_there_is_said_so() -> None:
    receiver = Receiver()
    async with receiver.running():
        pass
    async with pushing() as push:
        reason = await push.send(parcel(f"http://127.0.0.1:{receiver.port}/"))
    assert reason == "the connection was refused"


async def test_a_connection_is_used_again_and_made_anew_when_it_was_closed() -> None:
    receiver = Receiver()
    async with receiver.running(), pushing() as push:
        url = f"http://127.0.0.1:{receiver.port}/"
        assert [await push.send(parcel(url)) for _ in range(3)] == [None, None, None]
        assert receiver.connections == 1

        async def last(_: Received, __: asyncio.StreamWriter) -> bytes:
            return b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"

        receiver.answer = last
        assert [await push.send(parcel(url)) for _ in range(2)] == [None, None]
        assert receiver.connections == 2


async def test_a_receiver_that_was_restarted_gets_the_next_one_at_once() -> None:
    receiver = Receiver()
    async with pushing() as push:
        async with receiver.running():
            url = f"http://127.0.0.1:{receiver.port}/"
            assert await push.send(parcel(url)) is None
        async with receiver.running():
            assert await push.send(parcel(url)) is None
    assert len(receiver.got) == 2


async def test_what_we_say_of_the_body_wins_over_the_subscribers_headers() -> None:
    receiver = Receiver()
    async with receiver.running(), pushing() as push:
        await push.send(parcel(f"http://127.0.0.1:{receiver.port}/", Accept="text/plain"))
    (got,) = receiver.got
    assert got.header("Accept") == ["text/plain"]
    assert got.header("Content-Type") == ["application/json"]


@pytest.mark.parametrize("host", ["evil.example", "metadata.example"])
async def test_a_name_that_leads_to_a_refused_address_is_never_connected_to(host: str) -> None:
    asked: list[str] = []

    async def resolve(name: str, _: int) -> list[str]:
        asked.append(name)
        return ["127.0.0.1"] if name == "evil.example" else ["192.0.2.1", "169.254.169.254"]

    receiver = Receiver()
    async with receiver.running(), pushing(Destinations(), resolve=resolve) as push:
        reason = await push.send(parcel(f"http://{host}:{receiver.port}/"))
    assert reason is not None
    assert "address" in reason
    assert (receiver.connections, asked) == (0, [host])


async def test_each_new_connection_asks_for_the_name_again() -> None:
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])

    async def resolve(_: str, __: int) -> list[str]:
        return next(answers)

    receiver = Receiver(answer=answering(b"HTTP/1.1 204 x\r\nConnection: close\r\n\r\n"))
    async with receiver.running(), pushing(resolve=resolve) as push:
        url = f"http://turning.example:{receiver.port}/"
        assert await push.send(parcel(url)) is None
        assert await push.send(parcel(url)) == "169.254.169.254 is in none of the allowed networks"
    assert receiver.connections == 1


async def test_a_name_that_nobody_knows_is_said_so() -> None:
    async def resolve(_: str, __: int) -> list[str]:
        raise OSError("no such name")

    async with pushing(resolve=resolve) as push:
        assert await push.send(parcel("http://none.example/")) == "none.example can not be resolved"


@pytest.mark.parametrize("url", ["http://127.0.0.1/", "http://[::1]/", "http://localhost/"])
async def test_an_address_that_is_refused_is_refused_at_once(url: str) -> None:
    async with pushing(Destinations()) as push:
        assert push.refuses(url)
        assert await push.send(parcel(url)) == push.refuses(url)


async def test_this_machine_by_name_is_allowed_where_its_address_is() -> None:
    async with pushing() as push:
        assert push.refuses("http://localhost:8000/") is None


@pytest.fixture
def authority(tmp_path: Path) -> tuple[Made, Path]:
    made_one = an_authority()
    file = tmp_path / "authority.pem"
    file.write_text(made_one.pem)
    return made_one, file


def serving(leaf: Made, place: Path) -> ssl.SSLContext:
    file = place / "leaf.pem"
    file.write_text(leaf.pem + leaf.key_pem)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    return context


async def over_tls(context: ssl.SSLContext, *, verify: bool, **more: object) -> str | None:
    receiver = Receiver()
    async with receiver.running(context), pushing(**more) as push:  # type: ignore[arg-type]
        url = f"https://127.0.0.1:{receiver.port}/"
        reason = await push.send(parcel(url, verify=verify))
    assert len(receiver.got) == (reason is None)
    return reason


async def test_a_certificate_of_a_trusted_authority_is_enough(
    authority: tuple[Made, Path], tmp_path: Path
) -> None:
    by, file = authority
    context = serving(made(by=by), tmp_path)
    assert await over_tls(context, verify=True, authorities=file) is None


async def test_a_certificate_of_nobody_is_refused_where_it_is_verified(tmp_path: Path) -> None:
    context = serving(made(), tmp_path)
    assert await over_tls(context, verify=True) == "its certificate is not trusted"


async def test_a_certificate_of_another_host_is_refused_where_it_is_verified(
    authority: tuple[Made, Path], tmp_path: Path
) -> None:
    by, file = authority
    context = serving(made(by=by, alternatives=[]), tmp_path)
    reason = await over_tls(context, verify=True, authorities=file)
    assert reason == "its certificate is not trusted"


async def test_nothing_is_verified_unless_somebody_says_so(tmp_path: Path) -> None:
    context = serving(made(), tmp_path)
    assert await over_tls(context, verify=False) is None
    reason = await over_tls(context, verify=False, verify_all=True)
    assert reason == "its certificate is not trusted"


def test_authorities_that_can_not_be_read_are_one_clear_line(tmp_path: Path) -> None:
    file = tmp_path / "none.pem"
    file.write_text("no certificate")
    with pytest.raises(AuthoritiesUnreadable, match=r"none\.pem"):
        Push(LOOPBACK, authorities=file)
