"""Tests of redfish_fm.server.answers."""

import pytest

from redfish_fm.redfish.requests import Response
from redfish_fm.server.answers import DateHeader, render


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
