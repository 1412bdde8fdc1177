"""JSON bodies: strict, bounded, nothing silently lost."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.redfish.bodies import MESSAGES_MAX
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.parse import DEPTH_MAX, NAMES_MAX, parse_object
from redfish_fm.redfish.values import ActionVoice


@pytest.mark.parametrize(
    ("body", "key"),
    [
        (b"", "MalformedJSON"),
        (b"{", "MalformedJSON"),
        (b"{}x", "MalformedJSON"),
        (b"{}{}", "MalformedJSON"),
        (b"\xff{}", "MalformedJSON"),
        (b"\xef\xbb\xbf{}", "MalformedJSON"),
        ("{}".encode("utf-16"), "MalformedJSON"),
        (b'{"a":NaN}', "MalformedJSON"),
        (b'{"a":-Infinity}', "MalformedJSON"),
        (b'{"a":1e999}', "PropertyValueOutOfRange"),
        (b'{"a":18446744073709551616}', "PropertyValueOutOfRange"),
        (b'{"a":' + b"9" * 100_000 + b"}", "PropertyValueOutOfRange"),
        (b'{"a":"\\ud800"}', "PropertyValueFormatError"),
        (b'{"\\ud800":1}', "PropertyUnknown"),
        (b'{"a":[["\\ud800"]]}', "PropertyValueFormatError"),
        (b'{"a":' * 100_000, "MalformedJSON"),
        (b'{"a":' * DEPTH_MAX + b"{}" + b"}" * DEPTH_MAX, "MalformedJSON"),
        (b'{"a":1e999,"a":NaN}', "MalformedJSON"),
        (b'{"a":1e999,"b":' * DEPTH_MAX + b"{}" + b"}" * DEPTH_MAX, "MalformedJSON"),
        (b'{"a":1e999,"b":' + b"[" * DEPTH_MAX + b"]" * DEPTH_MAX + b"}", "MalformedJSON"),
        (b'{"a":1e999,' * 100_000, "MalformedJSON"),
        (json.dumps({f"a{n}": 1 << 70 for n in range(NAMES_MAX + 1)}).encode(), "MalformedJSON"),
        (b"[1e999]", "UnrecognizedRequestBody"),
        (b"[]", "UnrecognizedRequestBody"),
        (b"null", "UnrecognizedRequestBody"),
        (b'"text"', "UnrecognizedRequestBody"),
        (b'{"a":1,"b":{"c":1,"c":1}}', "PropertyDuplicate"),
    ],
)
def test_what_is_no_object_of_ours_is_refused(body: bytes, key: str) -> None:
    with pytest.raises(RedfishError) as caught:
        parse_object(body)
    assert caught.value.status == 400
    assert [each.key for each in caught.value.messages] == [f"Base.{key}"]


def test_limits_are_inclusive() -> None:
    depth = DEPTH_MAX - 1
    assert parse_object(b'{"a":' * depth + b"{}" + b"}" * depth)
    assert parse_object(b'{"a":18446744073709551615}') == {"a": (1 << 64) - 1}


@given(st.dictionaries(st.text(), st.text() | st.integers(-(1 << 63), (1 << 64) - 1)))
def test_good_objects_are_read_as_they_are(value: dict[str, Any]) -> None:
    assert parse_object(json.dumps(value).encode()) == value


def refused(body: bytes, *voice: ActionVoice) -> list[tuple[str, ...]]:
    with pytest.raises(RedfishError) as caught:
        parse_object(body, *voice)
    assert caught.value.status == 400
    found = caught.value.messages
    json.dumps([each.args for each in found], ensure_ascii=False).encode()
    return [(each.key.removeprefix("Base."), *each.args, *each.related) for each in found]


def test_all_that_can_not_be_held_is_told_by_property() -> None:
    body = b"""{"a": 1e999, "b": {"c/d": [1, 1180591620717411303424]}, "e": "x\\ud800", "a": 1,
                "b": {"c": 1, "c": [{"f": -1e400}]}, "\\udfff": 1}"""
    assert refused(body) == [
        ("PropertyValueOutOfRange", "1e999", "a", "#/a"),
        ("PropertyValueOutOfRange", "1180591620717411303424", "c/d", "#/b/c~1d/1"),
        ("PropertyValueFormatError", "(not shown)", "e", "#/e"),
        ("PropertyDuplicate", "a", "#/a"),
        ("PropertyDuplicate", "b", "#/b"),
        ("PropertyDuplicate", "c", "#/b/c"),
        ("PropertyValueOutOfRange", "-1e400", "f", "#/b/c/0/f"),
        ("PropertyUnknown", "\\udfff", "#/\\udfff"),
    ]


def test_a_huge_number_is_quoted_shortly_and_a_mistyped_password_never() -> None:
    ((_, quoted, *_),) = refused(b'{"a":1' + b"0" * 400 + b"}")
    assert len(quoted) < 300
    assert "123" not in str(refused(b'{"Password":1234567890123456789012345}'))


def test_what_a_parameter_can_not_hold_is_told_in_the_words_for_parameters() -> None:
    assert refused(b'{"a":1e999}', ActionVoice("Zone.X")) == [
        ("ActionParameterValueOutOfRange", "1e999", "a", "Zone.X", "#/a")
    ]


def test_a_body_of_nothing_else_gets_a_bounded_answer() -> None:
    found = refused(b'{"a":[' + b",".join([b"1e999"] * 10_000) + b"]}")
    assert len(found) == MESSAGES_MAX + 1
    assert found[-1][0] == "MaximumErrorsExceeded"
