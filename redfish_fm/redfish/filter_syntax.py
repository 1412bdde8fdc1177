"""$filter: from the text to an expression. Pure; knows no resource and no schema.

The grammar is the part of OData's that DSP0266 takes over ("$filter"), loosest first:

    or          = and *( "or" and )
    and         = negation *( "and" negation )
    negation    = "not" negation / equality
    equality    = relation *( ("eq" / "ne") relation )
    relation    = operand *( ("gt" / "ge" / "lt" / "le") operand )
    operand     = "not" operand / "(" or ")" / literal / path
    path        = name *( "/" name )
    literal     = 'text' / number / date-time / "true" / "false" / "null"

The standard lets `not` bind more tightly than a comparison. Here it covers the comparison after
it, as clients mean who leave out the parentheses: `not (A eq 1)`. The tighter reading has a
meaning for booleans only, and there the two agree unless the property is null.

Every pattern below is possessive, so reading costs the length of the text, whatever it is.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import NoReturn, TypeAlias

CHARS_MAX = 2048
"""A longer text is refused: each of its comparisons is made with every member."""

DEPTH_MAX = 32
"""Parentheses, negations and comparisons of comparisons within each other: each of them costs
some frames of Python's stack while it is read and while it is evaluated."""


class Problem(Enum):
    """What can be wrong with a filter."""

    FORMAT = "not in the notation of filters"
    TYPE = "compares things of different types"
    RANGE = "too long, too deep, too large, or no such property"
    UNSUPPORTED = "OData that DSP0266 does not take over"


class FilterError(Exception):
    """What is wrong, and where: `at` is an index into the text; `allowed` goes with RANGE."""

    def __init__(self, problem: Problem, at: int, allowed: str = "") -> None:
        super().__init__(f"{problem.value}, at {at}")
        self.problem = problem
        self.at = at
        self.allowed = allowed


@dataclass(frozen=True, slots=True)
class Literal:
    """A value as it was written. `at` is where, here and below."""

    value: str | int | float | bool | datetime | None
    at: int


@dataclass(frozen=True, slots=True)
class Path:
    """A property, by the names that lead to it."""

    names: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Negation:
    """`not` something."""

    operand: "Expression"
    at: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """`operator` is one of eq, ne, gt, ge, lt, le; `instants`: both sides are date-times."""

    operator: str
    left: "Expression"
    right: "Expression"
    at: int
    instants: bool = False


@dataclass(frozen=True, slots=True)
class Junction:
    """Two or more operands, all joined by `operator`: "and" or "or"."""

    operator: str
    operands: tuple["Expression", ...]
    at: int


Expression: TypeAlias = Literal | Path | Negation | Comparison | Junction


def parse_filter(text: str) -> Expression:
    """Return the expression that a $filter value describes. Raises FilterError."""
    if len(text) > CHARS_MAX:
        raise FilterError(Problem.RANGE, CHARS_MAX, f"at most {CHARS_MAX} characters")
    return _Parser(text).whole()


def instant(text: str) -> datetime | None:
    """Return the date-time that a text is, or None; one without offset is none (DSP0266)."""
    if _DATE_TIME.fullmatch(text) is None:
        return None
    try:
        return datetime.fromisoformat(text.upper())
    except ValueError:
        return None


_DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]++)?)?"
    r"(?:[Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_NAME = "[A-Za-z_@#$][A-Za-z0-9_.:@#$-]*+"
_TOKEN = re.compile(
    rf"(?P<date>{_DATE_TIME.pattern})"
    r"|(?P<number>[+-]?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)"
    r"|(?P<text>'(?:[^']++|'')*+')"
    rf"|(?P<name>{_NAME}(?:/{_NAME})*+)"
    r"|(?P<mark>[()])"
)
_BLANKS = re.compile(r"[ \t]*+")
_WORD_NEXT = re.compile(r"[A-Za-z0-9_@#$.'-]")
"""What can not stand right behind a literal: "1x", "'a''b" and the like are one broken token."""

_CONSTANTS = {"true": True, "false": False, "null": None}
_EQUALITY = ("eq", "ne")
_RELATION = ("gt", "ge", "lt", "le")
_WORDS = frozenset({*_CONSTANTS, *_EQUALITY, *_RELATION, "and", "or", "not"})
_FURTHER = frozenset({"add", "sub", "mul", "div", "divby", "mod", "has", "in"})
"""Operators of OData that DSP0266 does not name."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while True:
        at = _skip_blanks(text, at)
        if at == len(text):
            yield _Token("end", "", at)
            return
        found = _TOKEN.match(text, at)
        if found is None:
            raise FilterError(Problem.FORMAT, at)
        kind, end = str(found.lastgroup), found.end()
        if kind not in ("mark", "name") and _WORD_NEXT.match(text, end):
            raise FilterError(Problem.FORMAT, at)
        if kind == "name" and text[end : end + 1] == "'":
            # duration'PT1S', an enumeration's type in front of its value; or a blank is missing
            raise FilterError(Problem.FORMAT if found[0] in _WORDS else Problem.UNSUPPORTED, at)
        yield _Token(kind, found[0], at)
        at = end


def _skip_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return at if found is None else found.end()


class _Parser:
    """One text, read from left to right. `_deep` counts what the reader is inside of."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._token = next(self._tokens)
        self._deep = 0

    def whole(self) -> Expression:
        found = self._or()
        if self._token.kind != "end":
            self._refuse()
        return found

    def _or(self) -> Expression:
        operands = [self._and()]
        while self._take("or"):
            operands.append(self._and())
        return _joined("or", operands)

    def _and(self) -> Expression:
        operands = [self._negation()]
        while self._take("and"):
            operands.append(self._negation())
        return _joined("and", operands)

    def _negation(self) -> Expression:
        at = self._token.at
        if not self._take("not"):
            return self._equality()
        self._enter(at)
        found = Negation(self._negation(), at)
        self._deep -= 1
        return found

    def _equality(self) -> Expression:
        before, left = self._deep, self._relation()
        while operator := self._taken(_EQUALITY):
            left = Comparison(operator, left, self._relation(), left.at)
            self._enter(left.at)
        self._deep = before
        return left

    def _relation(self) -> Expression:
        before, left = self._deep, self._operand()
        while operator := self._taken(_RELATION):
            left = Comparison(operator, left, self._operand(), left.at)
            self._enter(left.at)
        self._deep = before
        return left

    def _operand(self) -> Expression:
        token = self._token
        if self._take("not"):
            self._enter(token.at)
            found: Expression = Negation(self._operand(), token.at)
            self._deep -= 1
            return found
        if self._take("("):
            self._enter(token.at)
            found = self._or()
            if not self._take(")"):
                self._refuse()
            self._deep -= 1
            return found
        return self._leaf()

    def _leaf(self) -> Expression:
        token = self._token
        if token.kind == "name" and token.text not in _WORDS:
            return self._path()
        if token.kind in ("end", "mark"):
            self._refuse()
        self._next()
        match token.kind:
            case "text":
                return Literal(token.text[1:-1].replace("''", "'"), token.at)
            case "number":
                return Literal(_number(token), token.at)
            case "date":
                return Literal(_date_time(token), token.at)
            case "name" if token.text in _CONSTANTS:
                return Literal(_CONSTANTS[token.text], token.at)
        raise FilterError(Problem.FORMAT, token.at)

    def _path(self) -> Path:
        token = self._token
        self._next()
        names = tuple(token.text.split("/"))
        if self._token.text == "(" or any(name.startswith("$") for name in names):
            # contains(…), any(…), $it, $count
            raise FilterError(Problem.UNSUPPORTED, token.at)
        return Path(names, token.at)

    def _take(self, text: str) -> bool:
        return self._taken((text,)) != ""

    def _taken(self, texts: tuple[str, ...]) -> str:
        """Step over the token if it is one of `texts`, and return it."""
        token = self._token
        if token.kind not in ("name", "mark") or token.text not in texts:
            return ""
        self._next()
        return token.text

    def _next(self) -> None:
        self._token = next(self._tokens)

    def _enter(self, at: int) -> None:
        self._deep += 1
        if self._deep > DEPTH_MAX:
            raise FilterError(Problem.RANGE, at, f"nested {DEPTH_MAX} deep at most")

    def _refuse(self) -> NoReturn:
        token = self._token
        further = token.kind == "name" and token.text in _FURTHER
        raise FilterError(Problem.UNSUPPORTED if further else Problem.FORMAT, token.at)


def _joined(operator: str, operands: list[Expression]) -> Expression:
    if len(operands) == 1:
        return operands[0]
    return Junction(operator, tuple(operands), operands[0].at)


def _number(token: _Token) -> int | float:
    if token.text.lstrip("+-").isdecimal():
        return int(token.text)
    value = float(token.text)
    if math.isinf(value):
        raise FilterError(Problem.RANGE, token.at, "numbers of 64 bits")
    return value


def _date_time(token: _Token) -> datetime:
    value = instant(token.text)
    if value is None:
        raise FilterError(Problem.FORMAT, token.at)
    return value
