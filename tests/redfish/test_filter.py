"""$filter: what it means for documents, and which types go together."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.redfish.filter import matcher
from redfish_fm.redfish.filter_syntax import FilterError, Problem, parse_filter
from redfish_fm.redfish.filter_types import checked
from tests.redfish.builders import CATALOG

DOCUMENT = {
    "@odata.id": "/d",
    "Text": "b",
    "Count": 2,
    "Ratio": 2.0,
    "On": True,
    "Off": False,
    "Null": None,
    "Time": "2026-01-02T03:04:05+02:00",
    "Status": {"State": "Enabled", "Health": "OK"},
    "Empty": [],
    "Tags": ["x", "y"],
    "Tags@odata.count": 2,
    "Flags": [False, True],
    "Links": {"Ports": [{"@odata.id": "/p", "N": 1}, {"@odata.id": "/q", "N": 3, "Sub": [4, 5]}]},
}


def holds(text: str, document: Any = DOCUMENT) -> bool:
    return matcher(checked(parse_filter(text), None))(document)


@pytest.mark.parametrize(
    "text",
    [
        "Text eq 'b'",
        "Text ne 'a'",
        "Text gt 'a' and Text lt 'c' and Text ge 'b' and Text le 'b'",
        "Count eq 2 and Count eq 2.0 and Ratio eq 2",
        "Count gt -1 and Count ge 2 and Count lt 2.5",
        "On",
        "On eq true and Off eq false",
        "not Off",
        "not (Count eq 3)",
        "not Count eq 3",
        "Status/State eq 'Enabled' and Status/Health ne 'Critical'",
        "(Count eq 3 or On) and Text eq 'b'",
        "Count eq 2 or Count eq 3 and Text eq 'z'",
        "Count gt 1 eq On",
        "Count eq Ratio",
        "'b' eq Text",
        "true",
        "Tags@odata.count eq 2",
        "@odata.id eq '/d'",
    ],
)
def test_a_filter_that_holds(text: str) -> None:
    assert holds(text)


@pytest.mark.parametrize(
    "text",
    [
        "Text eq 'B'",
        "Count eq 1",
        "Off",
        "not On",
        "On ne true",
        "Status/State eq 'Disabled'",
        "Count eq 2 and Count eq 3",
        "false or Off",
        "On gt Off",
    ],
)
def test_a_filter_that_does_not_hold(text: str) -> None:
    assert not holds(text)


@pytest.mark.parametrize("name", ["Null", "Gone", "Status/Gone", "Gone/State", "Text/State"])
def test_what_is_absent_is_null(name: str) -> None:
    assert holds(f"{name} eq null")
    assert holds(f"{name} ne 'x' and {name} ne 0 and {name} ne false")
    for text in ("{} ne null", "{} eq ''", "{} gt 0", "{} le 'z'", "{}", "not {}", "{} ge null"):
        assert not holds(text.format(name)), text


def test_null_decides_nothing() -> None:
    assert holds("Null or On")
    assert not holds("Null or Off")
    assert not holds("Null and On")
    assert holds("not (Null and Off)")
    assert not holds("not (Null or Off)")


def test_a_comparison_holds_of_an_array_where_it_does_of_an_element() -> None:
    assert holds("Tags eq 'x' and Tags eq 'y'")
    assert holds("Links/Ports/N gt 2 and Links/Ports/N lt 2")
    assert holds("Links/Ports/@odata.id eq '/q'")
    assert holds("Links/Ports/Sub eq 5")
    assert holds("Links/Ports/Sub eq null"), "one port has none"
    assert holds("Flags")
    assert not holds("Tags eq 'z'")
    assert not holds("not Flags")


def test_ne_is_the_contrary_of_eq_in_arrays_too() -> None:
    assert not holds("Tags ne 'x'")
    assert holds("Tags ne 'z'")
    for text in ("Empty eq 'x'", "Empty eq null", "Empty gt 1"):
        assert not holds(text)
    assert holds("Empty ne 'x'")


def test_true_is_no_number_and_a_number_no_text() -> None:
    for text in ("One eq Yes", "Yes eq One", "One eq Text", "One lt Text", "Text gt One"):
        assert not holds(text, {"One": 1, "Yes": True, "Text": "1"}), text
    assert not holds("Yes eq 1", {"Yes": True})


@pytest.mark.parametrize("quote", ["", "'"])
def test_date_times_are_compared_as_instants(quote: str) -> None:
    def at(text: str) -> str:
        return f"{quote}{text}{quote}"

    if quote:
        member = CATALOG.types["Task"]
        match = matcher(checked(parse_filter(f"StartTime gt {at('2026-01-02T01:00:00Z')}"), member))
        assert match({"StartTime": "2026-01-02T03:04:05+02:00"})
        assert not match({"StartTime": "2026-01-02T02:04:05+02:00"})
        return
    assert holds(f"Time eq {at('2026-01-02T01:04:05Z')}")
    assert holds(f"Time gt {at('2026-01-02T02:04:05+02:00')}")
    assert not holds(f"Time gt {at('2026-01-02T01:04:05Z')}")
    assert not holds(f"Text gt {at('2026-01-02T01:04:05Z')}")


def test_two_date_times_of_a_resource_are_compared_as_instants() -> None:
    match = matcher(checked(parse_filter("EndTime gt StartTime"), CATALOG.types["Task"]))
    assert match({"StartTime": "2026-01-02T03:00:00+02:00", "EndTime": "2026-01-02T02:00:00Z"})
    assert not match({"StartTime": "2026-01-02T03:00:00Z", "EndTime": "2026-01-02T04:00:00+02:00"})
    assert not match({"StartTime": "2026-01-02T03:00:00Z"})


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_the_first_and_the_last_instant_are_compared_like_others(time: str) -> None:
    assert holds("Time ne 2026-01-02T01:04:05Z", {"Time": time})
    assert not holds("Time eq 2026-01-02T01:04:05Z", {"Time": time})
    assert holds(f"Time eq {time}", {"Time": time})


# -- types, from the schema ----------------------------------------------------------------------

WRONG = [
    ("ComputerSystem", "ProcessorSummary/Count eq '2'", Problem.TYPE, 0),
    ("ComputerSystem", "SystemType eq 'Physical' or SystemType eq 1", Problem.TYPE, 28),
    ("ComputerSystem", "Name eq true", Problem.TYPE, 0),
    ("ComputerSystem", "Status eq 'OK'", Problem.TYPE, 0),
    ("ComputerSystem", "Name", Problem.TYPE, 0),
    ("ComputerSystem", "not Name", Problem.TYPE, 4),
    ("ComputerSystem", "true and 1", Problem.TYPE, 9),
    ("ComputerSystem", "'x'", Problem.TYPE, 0),
    ("ComputerSystem", "1 eq 'x'", Problem.TYPE, 0),
    ("ComputerSystem", "(Name eq 'x') gt false", Problem.TYPE, 1),
    ("ComputerSystem", "Links/Chassis@odata.count eq 'x'", Problem.TYPE, 0),
    ("Task", "StartTime gt 'yesterday'", Problem.TYPE, 13),
    ("Task", "StartTime gt 2026", Problem.TYPE, 0),
    ("Task", "TaskState eq 2026-01-02T00:00:00Z", Problem.TYPE, 0),
    ("Zone", "Colour eq 'x'", Problem.RANGE, 0),
    ("Zone", "Id eq '1' and Status/Colour eq 'x'", Problem.RANGE, 21),
    ("Zone", "Links/Endpoints/Name eq 'x'", Problem.RANGE, 16),
    ("Zone", "Name/Length eq 1", Problem.RANGE, 5),
]
RIGHT = [
    ("ComputerSystem", "ProcessorSummary/Count eq 2 and MemorySummary/TotalSystemMemoryGiB gt 64"),
    ("ComputerSystem", "(Status/State eq 'Enabled') or SystemType eq 'Physical'"),
    ("ComputerSystem", "Links/Chassis@odata.count gt 1"),
    ("ComputerSystem", "Status eq null"),
    ("ComputerSystem", "Boot/BootOrder eq 'x'"),
    ("Zone", "Links/Endpoints/@odata.id eq '/e'"),
    ("Zone", "Oem/RedfishFM/Anything gt 1 and Oem/Other"),
    ("Zone", "Zone@Redfish.Anything/Deep eq 1"),
    ("Zone", "@odata.type eq '#Zone.v1_0_0.Zone'"),
    ("Zone", "Status/Conditions/Severity eq 'OK'"),
    ("Task", "StartTime gt 2026-01-02T00:00:00Z"),
    ("Role", "IsPredefined and Id ne 'x'"),
]


@pytest.mark.parametrize(("name", "text", "problem", "at"), WRONG)
def test_what_has_no_meaning_for_the_type_is_refused(
    name: str, text: str, problem: Problem, at: int
) -> None:
    with pytest.raises(FilterError) as refused:
        checked(parse_filter(text), CATALOG.types[name])
    assert (refused.value.problem, refused.value.at) == (problem, at)


@pytest.mark.parametrize(("name", "text"), RIGHT)
def test_what_the_schema_allows_or_leaves_open_is_taken(name: str, text: str) -> None:
    assert matcher(checked(parse_filter(text), CATALOG.types[name]))({}) in (True, False)


# -- any filter on any document, against a naive reading -----------------------------------------

SCALARS = st.sampled_from([None, True, False, 0, 1, 2.5, "", "a", "it's", "2026-01-01T00:00:00Z"])
KEYS = st.sampled_from(["A", "B", "C"])
TREES = st.dictionaries(
    KEYS,
    st.recursive(
        SCALARS,
        lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=3),
        max_leaves=8,
    ),
    max_size=3,
)
PATHS = st.lists(KEYS, min_size=1, max_size=3).map(lambda names: ("path", *names))
TIMES = st.sampled_from(
    [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=1)]
)
LITERALS = (SCALARS | TIMES).map(lambda value: ("value", value))
COMPARED = st.tuples(st.sampled_from(["eq", "ne"]), PATHS, LITERALS | PATHS) | st.tuples(
    st.sampled_from(["gt", "ge", "lt", "le"]),
    PATHS,
    LITERALS.filter(lambda each: not isinstance(each[1], bool)) | PATHS,
)
FILTERS: Any = st.recursive(
    COMPARED | PATHS,
    lambda below: (
        st.tuples(st.just("not"), below)
        | st.tuples(st.sampled_from(["and", "or"]), below, below)
        | st.tuples(
            st.just("eq"), below, st.sampled_from([True, False]).map(lambda v: ("value", v))
        )
    ),
    max_leaves=6,
)
BINDING = {"or": 0, "and": 1, "not": 2, "eq": 3, "ne": 3, "gt": 4, "ge": 4, "lt": 4, "le": 4}


def written(tree: Any, around: int = 0) -> str:
    """Write a filter with no more parentheses than it needs."""
    match tree:
        case ("path", *names):
            return "/".join(names)
        case ("value", None):
            return "null"
        case ("value", bool() as value):
            return "true" if value else "false"
        case ("value", datetime() as value):
            return value.isoformat()
        case ("value", str() as value):
            return "'" + value.replace("'", "''") + "'"
        case ("value", value):
            return str(value)
        case ("not", operand):
            text = f"not {written(operand, BINDING['not'])}"
        case (operator, left, right):
            own = BINDING[operator]
            text = f"{written(left, own)} {operator} {written(right, own + 1)}"
    return text if BINDING[tree[0]] >= around else f"({text})"


def naive(tree: Any, document: Any) -> Any:
    """Return what a filter is in a document: True, False or None, or a scalar, or a list."""
    match tree:
        case ("path", *names):
            return followed(document, names)
        case ("value", value):
            return value
        case ("not", operand):
            return {True: False, False: True, None: None}[condition(naive(operand, document))]
        case ("and", left, right):
            found = [condition(naive(each, document)) for each in (left, right)]
            return False if False in found else None if None in found else True
        case ("or", left, right):
            found = [condition(naive(each, document)) for each in (left, right)]
            return True if True in found else None if None in found else False
        case (operator, left, right):
            return compared(operator, naive(left, document), naive(right, document))
    raise AssertionError(tree)


def followed(value: Any, names: list[str]) -> Any:
    if not names:
        return value
    if isinstance(value, list):
        found = []
        for each in value:
            below = followed(each, names)
            found += below if isinstance(below, list) else [below]
        return found
    if not isinstance(value, dict) or names[0] not in value:
        return None
    return followed(value[names[0]], names[1:])


def condition(value: Any) -> bool | None:
    if isinstance(value, list):
        return any(each is True for each in value)
    return value if value is True or value is False else None


def compared(operator: str, left: Any, right: Any) -> bool:
    lefts = left if isinstance(left, list) else [left]
    rights = right if isinstance(right, list) else [right]
    if isinstance(left, datetime) or isinstance(right, datetime):
        lefts, rights = map(dated, lefts), list(map(dated, rights))
    if operator == "ne":
        return not compared("eq", left, right)
    return any(one(operator, a, b) for a in lefts for b in rights)


def dated(value: Any) -> Any:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return None


def one(operator: str, a: Any, b: Any) -> bool:
    if operator == "eq":
        return kind(a) == kind(b) not in ("dict", "list") and a == b
    if kind(a) != kind(b) or kind(a) not in ("number", "str", "datetime"):
        return False
    return {"gt": a > b, "ge": a >= b, "lt": a < b, "le": a <= b}[operator]


def kind(value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return "number" if number else type(value).__name__


@given(FILTERS, st.lists(TREES, min_size=1, max_size=5))
def test_any_filter_holds_where_a_naive_reading_says_so(tree: Any, documents: list[Any]) -> None:
    match = matcher(checked(parse_filter(written(tree)), None))
    for document in documents:
        assert match(document) == (condition(naive(tree, document)) is True), written(tree)
