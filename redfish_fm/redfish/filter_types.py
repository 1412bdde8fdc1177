"""$filter: does an expression make sense for a type of resource? Pure.

DSP0266 wants a literal refused that does not have the property's data type. What the schema does
not tell (Oem, annotations, types it does not know) may be compared with anything, and a name that
the schema does not have is a mistake that would silently find nothing.
"""

from dataclasses import replace
from datetime import datetime
from enum import Enum

from redfish_fm.redfish.catalog import TypeInfo
from redfish_fm.redfish.filter_syntax import (
    Comparison,
    Expression,
    FilterError,
    Junction,
    Literal,
    Negation,
    Path,
    Problem,
    instant,
)
from redfish_fm.redfish.properties import Kind, PropertyInfo


class Type(Enum):
    """What a part of an expression can be."""

    TEXT = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE_TIME = "date-time"
    NULL = "null"
    OBJECT = "object"
    ANY = "any"


_KINDS = {
    Kind.STRING: Type.TEXT,
    Kind.ENUM: Type.TEXT,
    Kind.INTEGER: Type.NUMBER,
    Kind.NUMBER: Type.NUMBER,
    Kind.BOOLEAN: Type.BOOLEAN,
    Kind.OBJECT: Type.OBJECT,
    Kind.LINK: Type.OBJECT,
}
_ANNOTATIONS = {
    "odata.count": Type.NUMBER,
    "odata.etag": Type.TEXT,
    "odata.id": Type.TEXT,
    "odata.type": Type.TEXT,
}
_UNORDERED = frozenset({Type.BOOLEAN, Type.OBJECT})
_EITHER = frozenset({Type.NULL, Type.ANY})


def checked(expression: Expression, member: TypeInfo | None) -> Expression:
    """Return an expression that fits resources of that type; None: any type.

    A string that is compared with a date-time has become one. Raises FilterError.
    """
    found, kind = _checked(expression, member)
    _want_boolean(expression, kind)
    return found


def _checked(expression: Expression, member: TypeInfo | None) -> tuple[Expression, Type]:
    match expression:
        case Literal():
            return expression, _type_of(expression)
        case Path():
            return expression, Type.ANY if member is None else _declared(expression, member)
        case Negation():
            operand, kind = _checked(expression.operand, member)
            _want_boolean(operand, kind)
            return replace(expression, operand=operand), Type.BOOLEAN
        case Junction():
            found = [_checked(each, member) for each in expression.operands]
            for operand, kind in found:
                _want_boolean(operand, kind)
            return replace(expression, operands=tuple(each for each, _ in found)), Type.BOOLEAN
        case Comparison():
            return _compared(expression, member), Type.BOOLEAN


def _compared(expression: Comparison, member: TypeInfo | None) -> Comparison:
    left, left_type = _checked(expression.left, member)
    right, right_type = _checked(expression.right, member)
    if left_type is Type.DATE_TIME:
        right, right_type = _dated(right, right_type)
    if right_type is Type.DATE_TIME:
        left, left_type = _dated(left, left_type)
    known = {left_type, right_type} - _EITHER
    if len(known) > 1:
        raise FilterError(Problem.TYPE, expression.at)
    if known & _UNORDERED and expression.operator not in ("eq", "ne"):
        raise FilterError(Problem.TYPE, expression.at)
    instants = Type.DATE_TIME in (left_type, right_type)
    return replace(expression, left=left, right=right, instants=instants)


def _dated(part: Expression, kind: Type) -> tuple[Expression, Type]:
    if not isinstance(part, Literal) or not isinstance(part.value, str):
        return part, kind
    value = instant(part.value)
    if value is None:
        raise FilterError(Problem.TYPE, part.at)
    return replace(part, value=value), Type.DATE_TIME


def _want_boolean(part: Expression, kind: Type) -> None:
    if kind is not Type.BOOLEAN and kind not in _EITHER:
        raise FilterError(Problem.TYPE, part.at)


def _type_of(literal: Literal) -> Type:
    match literal.value:
        case None:
            return Type.NULL
        case bool():
            return Type.BOOLEAN
        case str():
            return Type.TEXT
        case datetime():
            return Type.DATE_TIME
        case _:
            return Type.NUMBER


def _declared(path: Path, member: TypeInfo) -> Type:
    """Return the type that the schema gives to a path; through arrays, that of their elements."""
    holder = member.object
    info: PropertyInfo | None = None
    for index, name in enumerate(path.names):
        last = index == len(path.names) - 1
        if "@" in name:
            return _ANNOTATIONS.get(name.rpartition("@")[2], Type.ANY) if last else Type.ANY
        info = holder.find(name)
        if info is None:
            return _unknown(path, index, holder.open, member)
        while info.kind is Kind.ARRAY and info.items is not None:
            info = info.items
        if last:
            break
        if info.object is None:
            if info.kind in (Kind.OEM, Kind.ANY, Kind.MIXED, Kind.OBJECT):
                return Type.ANY
            following = path.names[index + 1]
            if info.kind is Kind.LINK and following.startswith("@"):
                continue
            return _unknown(path, index + 1, False, member)
        holder = info.object
    return Type.ANY if info is None else _of(info)


def _of(info: PropertyInfo) -> Type:
    if info.kind is Kind.STRING and info.format == "date-time":
        return Type.DATE_TIME
    return _KINDS.get(info.kind, Type.ANY)


def _unknown(path: Path, index: int, is_open: bool, member: TypeInfo) -> Type:
    if is_open:
        return Type.ANY
    at = path.at + sum(len(each) + 1 for each in path.names[:index])
    raise FilterError(Problem.RANGE, at, f"the properties of {member.name}")
