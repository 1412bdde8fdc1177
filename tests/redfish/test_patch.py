"""PATCH semantics of objects and arrays, and that a merge never touches what it was given."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.redfish.patch import merge

A, B, C = ({"@odata.id": f"/{name}"} for name in "abc")


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, {"a": 1, "b": 3, "c": 4}),
        ({"a": 1, "b": 2}, {"b": None, "z": None}, {"a": 1}),
        ({"L": {"x": 1, "y": 2}}, {"L": {"y": None, "z": 3}}, {"L": {"x": 1, "z": 3}}),
        ({"L": 5}, {"L": {"y": 1, "n": None}}, {"L": {"y": 1}}),
        ({"E": [A, B, C]}, {"E": [{}, None, {}]}, {"E": [A, C]}),
        ({"E": [A, B, C]}, {"E": [{}]}, {"E": [A]}),
        ({"E": [A, B]}, {"E": [B, A, C]}, {"E": [B, A, C]}),
        ({"E": [A]}, {"E": []}, {"E": []}),
        ({"E": [A]}, {"E": [{}, {}, B]}, {"E": [A, B]}),
        ({"E": [{"x": 1, "y": 2}]}, {"E": [{"x": 5}]}, {"E": [{"x": 5, "y": 2}]}),
        ({"N": ["p", "q"]}, {"N": [{}, None, "r"]}, {"N": ["p", "r"]}),
        ({}, {"E": [A, None, {}]}, {"E": [A]}),
    ],
)
def test_merge(document: dict[str, Any], patch: dict[str, Any], expected: dict[str, Any]) -> None:
    assert merge(document, patch) == expected


VALUES = st.recursive(
    st.none() | st.integers(),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abc"), below, max_size=3)
    ),
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


@given(OBJECTS, OBJECTS)
def test_both_sides_stay_as_they_are(document: dict[str, Any], patch: dict[str, Any]) -> None:
    before = copy.deepcopy((document, patch))
    merge(document, patch)
    assert (document, patch) == before


@given(OBJECTS)
def test_an_empty_patch_changes_nothing(document: dict[str, Any]) -> None:
    assert merge(document, {}) == document
