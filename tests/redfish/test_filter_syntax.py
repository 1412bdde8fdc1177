"""$filter as text: what is an expression, and where it is wrong."""

import warnings
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.redfish.filter_syntax import (
    CHARS_MAX,
    DEPTH_MAX,
    Comparison,
    Expression,
    FilterError,
    Junction,
    Literal,
    Negation,
    Path,
    Problem,
    instant,
    parse_filter,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from odata_query import ast
    from odata_query.exceptions import ODataException
    from odata_query.grammar import ODataLexer, ODataParser


def shape(expression: Expression) -> Any:
    """Return an expression as nested tuples, without positions."""
    match expression:
        case Literal():
            return expression.value
        case Path():
            return "/".join(expression.names)
        case Negation():
            return ("not", shape(expression.operand))
        case Junction():
            return (expression.operator, *map(shape, expression.operands))
        case Comparison():
            return (expression.operator, shape(expression.left), shape(expression.right))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A eq 'b'", ("eq", "A", "b")),
        ("A eq 'it''s'", ("eq", "A", "it's")),
        ("A eq ''", ("eq", "A", "")),
        ("A/B/C ne -1.5e3", ("ne", "A/B/C", -1500.0)),
        ("A eq null", ("eq", "A", None)),
        (" A\t eq  true ", ("eq", "A", True)),
        ("@odata.id eq 'x'", ("eq", "@odata.id", "x")),
        ("Links/Ports@odata.count gt 2", ("gt", "Links/Ports@odata.count", 2)),
        ("A or B and C", ("or", "A", ("and", "B", "C"))),
        ("A and B or C", ("or", ("and", "A", "B"), "C")),
        ("(A or B) and C", ("and", ("or", "A", "B"), "C")),
        ("A or B or C", ("or", "A", "B", "C")),
        ("A eq B gt C", ("eq", "A", ("gt", "B", "C"))),
        ("A gt B eq C", ("eq", ("gt", "A", "B"), "C")),
        ("A eq B ne C", ("ne", ("eq", "A", "B"), "C")),
        ("not (A eq 1) and B", ("and", ("not", ("eq", "A", 1)), "B")),
        ("not A eq 1 and B", ("and", ("not", ("eq", "A", 1)), "B")),
        ("not not A", ("not", ("not", "A"))),
        ("true eq not A", ("eq", True, ("not", "A"))),
        ("not(A)and(B)", ("and", ("not", "A"), "B")),
        ("notA eq andB", ("eq", "notA", "andB")),
        (
            "A lt 2026-01-02T03:04:05.5Z",
            ("lt", "A", datetime(2026, 1, 2, 3, 4, 5, 500000, tzinfo=UTC)),
        ),
    ],
)
def test_an_expression_is_read_by_precedence(text: str, expected: Any) -> None:
    assert shape(parse_filter(text)) == expected


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("", 0),
        ("   ", 3),
        ("A eq", 4),
        ("A eq 'b", 5),
        ("A eq 'b'c'", 5),
        ("A eq 'b' 'c'", 9),
        ("A eq'b'", 2),
        ("eq 1", 0),
        ("A B", 2),
        ("A EQ 1", 2),
        ("A = 1", 2),
        ("A eq 1x", 5),
        ("A eq 1.", 5),
        ("A eq 2026-01-02", 5),
        ("A eq 2026-13-02T00:00:00Z", 5),
        ("(A eq 1", 7),
        ("A eq 1)", 6),
        ("()", 1),
        ("A and", 5),
        ("A and or B", 6),
        ("A/ eq 1", 1),
        ("A /B eq 1", 2),
        ("/A eq 1", 0),
        ("A//B eq 1", 1),
        ("not", 3),
        ("A\n eq 1", 1),
        ("\u0661 eq 1", 0),
    ],
)
def test_what_is_no_expression_is_refused_where_it_goes_wrong(text: str, at: int) -> None:
    with pytest.raises(FilterError) as refused:
        parse_filter(text)
    assert (refused.value.problem, refused.value.at) == (Problem.FORMAT, at)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("contains(Name,'x')", 0),
        ("A eq 1 or startswith(Name, 'x')", 10),
        ("Links/Ports/any(p:p/Id eq 'x')", 0),
        ("A add 1 eq 2", 2),
        ("A eq 1 mul 2", 7),
        ("A in ('x','y')", 2),
        ("A eq duration'PT1S'", 5),
        ("$it/A eq 1", 0),
    ],
)
def test_other_odata_is_told_from_mistakes(text: str, at: int) -> None:
    with pytest.raises(FilterError) as refused:
        parse_filter(text)
    assert (refused.value.problem, refused.value.at) == (Problem.UNSUPPORTED, at)


NESTS = [
    ("(", "A", ")"),
    ("not ", "A", ""),
    ("true eq not ", "A", ""),
    ("A eq ", "A", ""),
    ("A gt ", "B", ""),
    ("not (", "A", ")"),
]


@pytest.mark.parametrize(("before", "inside", "behind"), NESTS)
def test_nesting_has_a_limit(before: str, inside: str, behind: str) -> None:
    times = DEPTH_MAX // (2 if before == "not (" else 1)
    parse_filter(before * times + inside + behind * times)
    with pytest.raises(FilterError) as refused:
        parse_filter(before * (times + 1) + inside + behind * (times + 1))
    assert refused.value.problem is Problem.RANGE
    with pytest.raises(FilterError):
        parse_filter((before * 2000 + inside)[:CHARS_MAX])


def test_length_and_size_have_limits() -> None:
    parse_filter("A eq '" + "x" * (CHARS_MAX - 7) + "'")
    for text in ("A eq '" + "x" * (CHARS_MAX - 6) + "'", "A eq 1e999"):
        with pytest.raises(FilterError) as refused:
            parse_filter(text)
        assert (refused.value.problem, bool(refused.value.allowed)) == (Problem.RANGE, True)


def test_many_conditions_side_by_side_are_not_deep() -> None:
    found = parse_filter(" or ".join(["A"] * 400))
    assert len(shape(found)) == 401


@pytest.mark.parametrize("text", ["2026-01-02", "2026-01-02T03:04:05", "x", "2026-W01-1T00:00Z"])
def test_a_date_time_has_an_offset(text: str) -> None:
    assert instant(text) is None


def test_date_times_of_different_offsets_are_one_instant() -> None:
    assert instant("2026-01-02T03:04:05+02:00") == instant("2026-01-02t01:04:05.000z")


# -- odata-query as oracle, where its grammar and ours overlap -----------------------------------

KEYWORDS = ("and", "or", "not", "eq", "ne", "gt", "ge", "lt", "le")
"""Names to odata-query where no operator can stand; reserved in ours."""
OPERANDS = ("A", "B", "A/B", "C", "true", "null", "1", "-2", "1.5", "'x'", "'it''s'", "''")
WORDS = st.sampled_from([*KEYWORDS, *OPERANDS, "(", ")"])


def oracle(text: str) -> Any:
    """Return what odata-query reads, as nested tuples; None where that is nothing."""
    try:
        return (converted(ODataParser().parse(ODataLexer().tokenize(text))),)
    except ODataException:
        return None


def converted(node: Any) -> Any:
    match node:
        case ast.Identifier():
            if node.name in KEYWORDS:
                raise ODataException(node.name)
            return node.name
        case ast.Attribute():
            return f"{converted(node.owner)}/{node.attr}"
        case ast.Null():
            return None
        case ast.Boolean() | ast.Integer() | ast.Float() | ast.String():
            return node.py_val
        case ast.Compare():
            name = type(node.comparator).__name__.lower()
            operator = {"noteq": "ne", "gte": "ge", "lte": "le"}.get(name, name)
            return (operator, converted(node.left), converted(node.right))
        case ast.UnaryOp():
            return ("not", converted(node.operand))
        case ast.BoolOp():
            name = type(node.op).__name__.lower()
            return joined(name, converted(node.left), converted(node.right))
    raise AssertionError(node)


def joined(operator: str, left: Any, right: Any) -> Any:
    """Join like ours: `A or B or C` is one junction of three."""
    before = left[1:] if isinstance(left, tuple) and left[0] == operator else (left,)
    return (operator, *before, right)


def flat(found: Any) -> Any:
    """Join junctions in parentheses with those around them, as odata-query's tree can not tell."""
    if not isinstance(found, tuple):
        return found
    operator, first, *rest = (found[0], *map(flat, found[1:]))
    if operator in ("and", "or") and isinstance(first, tuple) and first[0] == operator:
        return (*first, *rest)
    return (operator, first, *rest)


def ours(text: str) -> Any:
    try:
        return (flat(shape(parse_filter(text))),)
    except FilterError:
        return None


def same(one: Any, other: Any) -> bool:
    return repr(one) == repr(other)


CONDITIONS = st.recursive(
    st.builds(
        "{} {} {}".format,
        st.sampled_from(["A", "B/C", "1", "'x'"]),
        st.sampled_from(["eq", "ne", "gt", "ge", "lt", "le"]),
        st.sampled_from(["A", "B/C/D", "-1", "1.5", "'it''s'", "true", "null"]),
    )
    | st.sampled_from(["A", "A/B", "true"]),
    lambda below: (
        st.builds("({})".format, below)
        | st.builds("not ({})".format, below)
        | st.builds("{} and {}".format, below, below)
        | st.builds("{} or {}".format, below, below)
        | st.builds("({}) eq ({})".format, below, below)
    ),
    max_leaves=8,
)


@given(CONDITIONS)
def test_any_expression_is_read_like_the_oracle(text: str) -> None:
    expected = oracle(text)
    assert expected is not None
    assert same(ours(text), (flat(expected[0]),)), text


@given(st.lists(WORDS, max_size=12).map(" ".join))
def test_any_words_are_an_expression_where_the_oracle_has_one(text: str) -> None:
    expected = oracle(text)
    assert (ours(text) is None) == (expected is None), text
    if expected is not None and "not" not in text:
        assert same(ours(text), (flat(expected[0]),)), text


@given(st.text() | st.text("ab'()/ eqnotr1.-@$", max_size=60))
def test_any_text_is_an_expression_or_refused_in_its_bounds(text: str) -> None:
    try:
        parse_filter(text)
    except FilterError as error:
        assert 0 <= error.at <= len(text)
