"""Tests of redfish_fm.server.answers."""

import asyncio
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from redfish_fm.redfish.requests import Response
from redfish_fm.server import answers
from redfish_fm.server.answers import Answer, DateHeader, Heads, render


def rendered(response: Response, **how: bool) -> str:
    head, body = render(response, date="D", **{"keep_alive": True, **how})
    return (head + body).decode()


def test_head_has_status_headers_length_and_date() -> None:
    text = rendered(Response(200, {"ETag": '"1"'}, b"{}"))
    assert text == 'HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Length: 2\r\nDate: D\r\n\r\n{}'


def test_head_request_keeps_the_length_of_the_body_and_drops_it() -> None:
    assert rendered(Response(200, {}, b"abc"), head_only=True).endswith(
        "Length: 3\r\nDate: D\r\n\r\n"
    )


def test_head_request_takes_a_length_the_handler_gave() -> None:
    assert "Content-Length: 7\r\n" in rendered(
        Response(200, {"Content-Length": "7"}), head_only=True
    )


def test_length_given_by_the_handler_never_contradicts_the_body() -> None:
    text = rendered(Response(200, {"Content-Length": "7"}, b"abc"))
    assert "Content-Length: 3\r\n" in text
    assert text.count("Content-Length") == 1


@pytest.mark.parametrize("status", [204, 304])
def test_statuses_without_body_have_neither_length_nor_body(status: int) -> None:
    text = rendered(Response(status, {}, b"x"))
    assert "Content-Length" not in text
    assert text.endswith("\r\n\r\n")


@pytest.mark.parametrize("value", ["a\r\nSet-Cookie: b", "a\nb", "a\rb", "a\0b"])
def test_header_that_breaks_its_line_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="line break"):
        render(Response(200, {"Location": value}), date="D", keep_alive=True)


def test_unknown_status_has_some_reason() -> None:
    assert rendered(Response(299)).startswith("HTTP/1.1 299 Unknown\r\n")


class SteppedClock:
    """Wall time that is told."""

    wall = 0.0

    def now_s(self) -> float:
        return self.wall

    def wall_s(self) -> float:
        return self.wall

    async def sleep(self, delay_s: float) -> None:
        raise NotImplementedError


def test_date_follows_the_clock_in_http_form() -> None:
    clock = SteppedClock()
    date = DateHeader(clock)
    assert date.text() == "Thu, 01 Jan 1970 00:00:00 GMT"
    clock.wall = 61.5
    assert date.text() == "Thu, 01 Jan 1970 00:01:01 GMT"


class Counted(Mapping[str, str]):
    """A header map that counts how often it is gone through."""

    def __init__(self, **headers: str) -> None:
        self._headers = headers
        self.read = 0

    def __getitem__(self, name: str) -> str:
        return self._headers[name]

    def __iter__(self) -> Iterator[str]:
        self.read += 1
        return iter(self._headers)

    def __len__(self) -> int:
        return len(self._headers)


def test_a_kept_head_is_what_render_makes() -> None:
    date = DateHeader(SteppedClock())
    heads = Heads(date)
    response = Response(200, {"ETag": '"1"', "Content-Length": "9"}, b"{}")
    head, _ = render(response, date=date.text(), keep_alive=True)
    assert heads.keep_alive(response) == heads.keep_alive(response) == head


def test_a_head_is_rendered_once_for_one_map_of_headers() -> None:
    heads, headers = Heads(DateHeader(SteppedClock())), Counted(ETag='"1"')
    for _ in range(3):
        heads.keep_alive(Response(200, headers, b"{}"))
    assert headers.read == 1


def test_equal_headers_in_another_map_are_rendered_for_themselves() -> None:
    heads = Heads(DateHeader(SteppedClock()))
    maps = [Counted(ETag='"1"'), Counted(ETag='"1"')]
    for headers in maps:
        heads.keep_alive(Response(200, headers, b"{}"))
    assert [headers.read for headers in maps] == [1, 1]


def test_a_kept_head_tells_the_length_of_the_body_it_is_for() -> None:
    heads, headers = Heads(DateHeader(SteppedClock())), Counted()
    for body in (b"{}", b"[1]", b"{}"):
        length = f"Content-Length: {len(body)}\r\n".encode()
        assert length in heads.keep_alive(Response(200, headers, body))


def test_a_kept_head_has_the_date_of_now() -> None:
    clock = SteppedClock()
    heads, response = Heads(DateHeader(clock)), Response(200, Counted())
    assert b"Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n" in heads.keep_alive(response)
    clock.wall = 61.5
    assert b"Date: Thu, 01 Jan 1970 00:01:01 GMT\r\n\r\n" in heads.keep_alive(response)


def test_a_head_to_keep_whose_header_breaks_its_line_is_refused_every_time() -> None:
    heads, response = Heads(DateHeader(SteppedClock())), Response(200, {"Link": "a\r\nb"})
    for _ in range(2):
        with pytest.raises(ValueError, match="line break"):
            heads.keep_alive(response)


def test_heads_are_kept_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_KEPT_MAX", 2)
    heads, first = Heads(DateHeader(SteppedClock())), Counted()
    for headers in (first, Counted(), Counted(), first):
        heads.keep_alive(Response(200, headers))
    assert first.read == 2


class Socket:
    """A transport that notes what is written; its client takes nothing while `full`."""

    def __init__(self, *, full: bool = False, closing: bool = False) -> None:
        self.written: list[bytes] = []
        self.full, self.closing, self.taken = full, closing, asyncio.Event()
        self.protocol: Any = SimpleNamespace(transport=self, ssl_context=None)
        self.request: Any = SimpleNamespace(
            transport=self, protocol=self.protocol, writer=SimpleNamespace(drain=self.drain)
        )
        self._tell()

    def _tell(self) -> None:
        self.protocol.writing_paused = self.full

    def is_closing(self) -> bool:
        return self.closing

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def abort(self) -> None:
        self.closing = True

    async def drain(self) -> None:
        await self.taken.wait()


def an_answer(body: bytes = b"{}", write_timeout_s: float = 5.0) -> Answer:
    return Answer((b"HEAD", body), status=200, keep_alive=True, write_timeout_s=write_timeout_s)


async def test_a_small_answer_is_sent_at_once_in_one_piece() -> None:
    socket = Socket()
    assert an_answer().sent_at_once(socket.protocol)
    assert socket.written == [b"HEAD{}"]


async def test_a_small_answer_to_a_client_that_takes_nothing_waits_for_it() -> None:
    socket, answer = Socket(full=True), an_answer()
    assert not answer.sent_at_once(socket.protocol)
    sending = asyncio.create_task(answer.send(socket.request))
    await asyncio.sleep(0)
    assert not sending.done()
    socket.taken.set()
    await sending
    assert socket.written == [b"HEAD{}"]


async def test_a_client_that_never_takes_a_small_answer_is_dropped() -> None:
    socket, answer = Socket(full=True), an_answer(write_timeout_s=0.001)
    assert not answer.sent_at_once(socket.protocol)
    with pytest.raises(ConnectionResetError, match="does not read"):
        await answer.send(socket.request)
    assert socket.closing


async def test_a_big_answer_is_not_copied_to_be_sent() -> None:
    socket, body = Socket(), bytes(64 << 10)
    answer = an_answer(body)
    assert not answer.sent_at_once(socket.protocol)
    assert socket.written == []
    await answer.send(socket.request)
    assert [len(each) for each in socket.written] == [4, len(body)]
    assert socket.written[1] is body


async def test_nothing_is_sent_to_a_client_that_is_gone() -> None:
    socket = Socket(closing=True)
    with pytest.raises(ConnectionResetError, match="gone"):
        an_answer().sent_at_once(socket.protocol)
    assert socket.written == []
