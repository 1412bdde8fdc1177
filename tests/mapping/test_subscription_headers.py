"""HTTP headers of subscriptions: which may be sent, and that no message repeats a value."""

import pytest

from redfish_fm.mapping.subscription_headers import (
    BYTES_MAX,
    HEADERS_MAX,
    patched_headers,
    wrong_headers,
)

SECRET = "invented-secret"


def keys(*headers: tuple[str, str]) -> list[str]:
    told = [*wrong_headers(headers)]
    assert all(SECRET not in str(each.args) for each in told)
    return [each.key for each in told]


@pytest.mark.parametrize(
    ("name", "value"),
    [("Authorization", f"Bearer {SECRET}"), ("X-A", ""), ("x_b", "a\tb c"), ("OData-Version", "4")],
)
def test_a_header_of_the_receivers_own_is_taken(name: str, value: str) -> None:
    assert keys((name, value)) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", f"{SECRET}\r\nX-B: injected"),
        ("X-A", f"{SECRET}\n"),
        ("X-A", f"{SECRET}\0"),
        ("X-A", f" {SECRET}"),
        ("X-A", f"{SECRET}é"),
        ("X A", SECRET),
        ("X-A:", SECRET),
        ("X-A\r\nX-B", SECRET),
        ("", SECRET),
    ],
)
def test_what_would_be_another_header_is_refused(name: str, value: str) -> None:
    assert keys((name, value)) == ["Base.PropertyValueFormatError"]


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "content-length",
        "Content-Type",
        "Transfer-Encoding",
        "Connection",
        "Keep-Alive",
        "TE",
        "Trailer",
        "Upgrade",
        "Expect",
        "Proxy-Authorization",
        "proxy-connection",
    ],
)
def test_what_the_request_or_the_connection_says_is_refused(name: str) -> None:
    assert keys((name, SECRET)) == ["Base.PropertyValueNotInList"]


def test_one_name_twice_is_refused() -> None:
    assert keys(("X-A", SECRET), ("x-a", SECRET)) == ["Base.PropertyDuplicate"]


def test_too_many_are_refused() -> None:
    many = [(f"X-{number}", "a") for number in range(HEADERS_MAX + 1)]
    assert keys(*many) == ["Base.ArraySizeTooLong"]


def test_too_long_ones_are_refused() -> None:
    assert keys(("X-A", SECRET * BYTES_MAX)) == ["Base.StringValueTooLong"]


def test_elements_of_a_patch_keep_remove_and_replace() -> None:
    before = (("A", "1"), ("B", "2"), ("C", "3"))
    wish = [{}, None, {"D": "4", "D@odata.type": "x"}, {}]
    assert patched_headers(before, wish) == (("A", "1"), ("D", "4"))


def test_an_empty_list_removes_all() -> None:
    assert patched_headers((("A", "1"),), []) == ()
