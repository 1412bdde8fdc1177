"""Tests of redfish_fm.server.targets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.server.targets import split_target


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/redfish/v1", "/redfish/v1"),
        ("/redfish/v1/Fabrics/a%20b", "/redfish/v1/Fabrics/a b"),
        ("/%C3%A9", "/é"),
        ("/a%2520b", "/a%20b"),
        ("http://fm:8443/redfish/v1?x=1", "/redfish/v1"),
        ("https://fm", "/"),
        ("/a?b#c", "/a"),
        ("/a#/b/0", "/a"),
        ("*", "*"),
        ("//redfish//v1", "//redfish//v1"),
        ("/a/../b/./c", "/a/../b/./c"),
    ],
)
def test_path_is_decoded_once_and_never_normalised(target: str, path: str) -> None:
    assert split_target(target)[0] == path


@pytest.mark.parametrize(
    "target", ["/a%2fb", "/a%2Fb", "/a%2F..%2fetc", "/%ff", "/a%00b", "/a%0d%0ab", "/%e2%82"]
)
def test_path_that_must_not_be_found_stays_raw(target: str) -> None:
    assert split_target(target)[0] == target


def test_raw_bytes_that_are_no_text_come_out_as_ascii() -> None:
    path, _ = split_target(b"/a\xff".decode("utf-8", "surrogateescape"))
    assert path == "/a%FF"


def test_query_keeps_order_duplicates_and_empty_values() -> None:
    _, query = split_target("/x?b=1&a=2&b=3&only&%24top=%20a+b&e=")
    assert query == (
        ("b", "1"),
        ("a", "2"),
        ("b", "3"),
        ("only", ""),
        ("$top", " a b"),
        ("e", ""),
    )


def test_question_mark_alone_gives_no_parameters() -> None:
    assert split_target("/x?") == ("/x", ())


@given(st.binary(max_size=60))
def test_any_target_gives_text_that_can_be_encoded(raw: bytes) -> None:
    path, query = split_target(raw.decode("utf-8", "surrogateescape"))
    path.encode()
    for name, value in query:
        (name + value).encode()
    assert "\r" not in path or "\r" in raw.decode("latin-1")
