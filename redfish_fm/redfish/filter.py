"""$filter: which documents does an expression hold of? Pure.

A property that is absent is null. Null equals null and nothing else, is neither greater nor less
than anything, and as a condition it is neither true nor false (OData "Logical operators"); what
comes out null in the end does not match.

DSP0266 leaves open what a comparison with an array means. Here it holds when it holds of any
element, except that `ne` is always the contrary of `eq`: it holds when no element is equal. A path
leads through arrays into their elements.
"""

import operator
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from redfish_fm.redfish.filter_syntax import (
    Comparison,
    Expression,
    Junction,
    Literal,
    Negation,
    Path,
    instant,
)

Match = Callable[[Mapping[str, Any]], bool]
"""Whether a filter holds of a document."""

_Value = Callable[[Any], Any]
"""What a part of an expression is in a document; a list where it is in an array."""

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}


def matcher(expression: Expression) -> Match:
    """Return the expression as a function of a document. It raises nothing on any document."""
    value = _compiled(expression)
    return lambda document: _truth(value(document)) is True


def _compiled(expression: Expression) -> _Value:
    match expression:
        case Literal():
            return _literal(expression.value)
        case Path():
            return _path(expression.names)
        case Negation():
            return _negation(_compiled(expression.operand))
        case Junction():
            operands = tuple(_compiled(each) for each in expression.operands)
            return _junction(operands, expression.operator == "or")
        case Comparison():
            return _comparison(expression)


def _literal(value: Any) -> _Value:
    return lambda _: value


def _path(names: tuple[str, ...]) -> _Value:
    if len(names) == 1:
        [name] = names
        return lambda document: document.get(name)
    return lambda document: _found(document, names)


def _found(value: Any, names: tuple[str, ...]) -> Any:
    for index, name in enumerate(names):
        if isinstance(value, list):
            rest = names[index:]
            return [found for each in value for found in _flat(_found(each, rest))]
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _flat(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _truth(value: Any) -> bool | None:
    """Return what a value is as a condition; None is neither."""
    if isinstance(value, list):
        return any(each is True for each in value)
    return value if isinstance(value, bool) else None


def _negation(operand: _Value) -> _Value:
    def value(document: Any) -> bool | None:
        found = _truth(operand(document))
        return None if found is None else not found

    return value


def _junction(operands: tuple[_Value, ...], decides: bool) -> _Value:
    """Return `or` where True decides, `and` where False does."""

    def value(document: Any) -> bool | None:
        result: bool | None = not decides
        for operand in operands:
            found = _truth(operand(document))
            if found is decides:
                return decides
            if found is None:
                result = None
        return result

    return value


def _comparison(expression: Comparison) -> _Value:
    left, right = _compiled(expression.left), _compiled(expression.right)
    if expression.instants:
        left, right = _dated(left), _dated(right)
    if expression.operator == "eq":
        return lambda document: _equal(left(document), right(document))
    if expression.operator == "ne":
        return lambda document: not _equal(left(document), right(document))
    order = _ORDERS[expression.operator]
    upwards = expression.operator in ("lt", "le")
    return lambda document: _ordered(order, upwards, left(document), right(document))


def _equal(left: Any, right: Any) -> bool:
    """Return whether any of one side equals any of the other; objects equal nothing."""
    if isinstance(left, list) or isinstance(right, list):
        keys = {_key(each) for each in _flat(left)} - {_NO_SCALAR}
        return any(_key(each) in keys for each in _flat(right))
    if left == right:
        return _key(left) == _key(right) != _NO_SCALAR
    return False


def _ordered(order: Callable[[Any, Any], bool], upwards: bool, left: Any, right: Any) -> bool:
    """Return whether any of one side comes before, or after, any of the other.

    Of arrays the outermost elements decide, so that two of them do not cost their product.
    """
    for kind in _KINDS:
        ones = [each for each in _flat(left) if _is(kind, each)]
        others = [each for each in _flat(right) if _is(kind, each)]
        if not ones or not others:
            continue
        if upwards and order(min(ones), max(others)):
            return True
        if not upwards and order(max(ones), min(others)):
            return True
    return False


_KINDS: tuple[Any, ...] = (str, int | float, datetime)
_NO_SCALAR = ("object", None)


def _is(kind: Any, value: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _key(value: Any) -> tuple[str, Any]:
    """Return what makes a value equal to another. In Python True is 1, in JSON it is not."""
    if isinstance(value, dict | list):
        return _NO_SCALAR
    return ("condition" if isinstance(value, bool) else "scalar", value)


def _dated(value: _Value) -> _Value:
    def dated(document: Any) -> Any:
        found = value(document)
        if isinstance(found, list):
            return [_instant(each) for each in found]
        return _instant(found)

    return dated


def _instant(value: Any) -> Any:
    return instant(value) if isinstance(value, str) else value
