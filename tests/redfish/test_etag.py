"""Entity tags: of content, joined, parsed and compared."""

import pytest

from redfish_fm.redfish import etag


def test_a_tag_depends_on_content_and_on_where_parts_end() -> None:
    assert etag.content_tag(b"a", b"b") == etag.content_tag(b"a", b"b")
    assert etag.content_tag(b"a", b"b") != etag.content_tag(b"ab", b"")
    assert len(etag.content_tag()) == 16


def test_join_and_split_are_inverse() -> None:
    assert etag.join("aa", "bb") == '"aa.bb"'
    assert etag.split('"aa.bb"') == etag.split('W/"aa.bb"') == ("aa", "bb")


@pytest.mark.parametrize(
    ("header", "tags"),
    [
        (None, None),
        ("*", ("*",)),
        (" * ", ("*",)),
        ('"a.b"', ("a.b",)),
        ('W/"a.b"', ("a.b",)),
        ('"a.b", W/"c.d" ,"e"', ("a.b", "c.d", "e")),
        ("a.b", ("a.b",)),
        ("", ()),
        ('"a.b"x', ()),
        ('x"a.b"', ()),
        ('"a.b" "c.d"', ()),
        ('"a.b"x, "c.d"', ("c.d",)),
    ],
)
def test_if_match_is_parsed(header: str | None, tags: tuple[str, ...] | None) -> None:
    assert etag.parse_if_match(header) == tags


@pytest.mark.parametrize(
    ("tags", "wanted", "fits"),
    [
        (None, "w", True),
        (("*",), "w", True),
        (("w.1",), "w", True),
        (("x.1", "w.2"), "w", True),
        (("x.1",), "w", False),
        (("w",), "w", False),
        ((), "w", False),
        (("",), "", False),
        ((".1",), "", True),
    ],
)
def test_if_match_compares_w_only(tags: tuple[str, ...] | None, wanted: str, fits: bool) -> None:
    assert etag.matches(tags, wanted) is fits
