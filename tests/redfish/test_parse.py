"""JSON bodies: strict, bounded, nothing silently lost."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.parse import DEPTH_MAX, parse_object, without_annotations


@pytest.mark.parametrize(
    ("body", "key"),
    [
        (b"", "MalformedJSON"),
        (b"{", "MalformedJSON"),
        (b"{}x", "MalformedJSON"),
        (b"\xff{}", "MalformedJSON"),
        (b"\xef\xbb\xbf{}", "MalformedJSON"),
        ("{}".encode("utf-16"), "MalformedJSON"),
        (b'{"a":NaN}', "MalformedJSON"),
        (b'{"a":-Infinity}', "MalformedJSON"),
        (b'{"a":1e999}', "MalformedJSON"),
        (b'{"a":18446744073709551616}', "MalformedJSON"),
        (b'{"a":' + b"9" * 100_000 + b"}", "MalformedJSON"),
        (b'{"a":"\\ud800"}', "MalformedJSON"),
        (b'{"\\ud800":1}', "MalformedJSON"),
        (b'{"a":[["\\ud800"]]}', "MalformedJSON"),
        (b'{"a":' * 100_000, "MalformedJSON"),
        (b'{"a":' * DEPTH_MAX + b"{}" + b"}" * DEPTH_MAX, "MalformedJSON"),
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


def test_annotations_go_except_those_of_links_and_oem() -> None:
    body = {
        "@odata.id": "/x",
        "Links": {"E": [{"@odata.id": "/e", "@odata.type": "t"}], "E@odata.count": 1},
        "Oem": {"C": {"@odata.type": "#C.C"}},
    }
    assert without_annotations(body) == {
        "Links": {"E": [{"@odata.id": "/e"}]},
        "Oem": {"C": {"@odata.type": "#C.C"}},
    }
