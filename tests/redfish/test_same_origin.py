"""Writes that a browser sends for another site's page (CSRF): no credential of its makes them."""

import pytest

from redfish_fm.redfish.service import LOGIN_BODY_BYTES_MAX
from tests.redfish.builders import SESSIONS, ZONE, ZONES, Bench, keys
from tests.redfish.test_logins import LOGIN, basic

ADMIN = basic("admin", "admin-password")


@pytest.fixture
def bench() -> Bench:
    return Bench()


FOREIGN = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "https://fm.example.evil.example"},
    {"origin": "https://evil.example/https://fm.example"},
    {"origin": "https://fm.example:8443"},
    {"sec_fetch_site": "cross-site"},
    {"sec_fetch_site": "same-site"},
    {"sec_fetch_site": "Cross-Site", "origin": "https://fm.example"},
    {"sec_fetch_site": ""},
]


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("POST", ZONES, {}), ("PATCH", ZONE, {"Name": "x"}), ("DELETE", ZONE, None)],
)
async def test_a_foreign_page_changes_nothing_with_the_browsers_credentials(
    bench: Bench, headers: dict[str, str], method: str, path: str, body: object
) -> None:
    response = await bench.send(
        method, path, body, user=None, authorization=ADMIN, host="fm.example", **headers
    )
    assert (response.status, keys(response)) == (403, ["HeaderInvalid"])
    assert bench.writes == []


@pytest.mark.parametrize("headers", FOREIGN)
async def test_a_foreign_page_neither_logs_in_nor_locks_anybody(
    bench: Bench, headers: dict[str, str]
) -> None:
    response = await bench.send("POST", SESSIONS, LOGIN, user=None, host="fm.example", **headers)
    assert response.status == 403
    assert bench.store.rows == {}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "https://fm.example"},
        {"origin": "HTTPS://FM.example"},
        {"sec_fetch_site": "same-origin", "origin": "https://behind.a.proxy.example"},
        {"sec_fetch_site": "none"},
    ],
)
async def test_own_pages_and_other_clients_write(bench: Bench, headers: dict[str, str]) -> None:
    response = await bench.send(
        "DELETE", ZONE, user=None, authorization=ADMIN, host="fm.example", **headers
    )
    assert response.status == 204


async def test_who_sends_a_token_is_no_browser_that_was_led_astray(bench: Bench) -> None:
    response = await bench.send("DELETE", ZONE, origin="https://tool.example", host="fm.example")
    assert response.status == 204


async def test_reading_is_not_asked_where_it_comes_from(bench: Bench) -> None:
    response = await bench.send(
        "GET", ZONE, user=None, authorization=ADMIN, sec_fetch_site="cross-site"
    )
    assert response.status == 200
    assert not any(name.lower().startswith("access-control") for name in response.headers)


async def test_a_stranger_sends_no_more_than_a_login_needs(bench: Bench) -> None:
    large = b'{"UserName": [' + b",".join([b"0"] * LOGIN_BODY_BYTES_MAX) + b"]}"
    response = await bench.send("POST", SESSIONS, large, user=None)
    assert (response.status, keys(response)) == (413, ["PayloadTooLarge"])
    response = await bench.send("POST", ZONES, large)
    assert response.status == 400
