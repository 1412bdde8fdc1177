"""A request body as a JSON object: strict, bounded, nothing silently lost.

Refuses what other parts could not keep or would keep wrongly: duplicate names (PropertyDuplicate),
NaN, numbers beyond 64 bits or a double, lone surrogates, nesting deeper than DEPTH_MAX, objects of
more than NAMES_MAX names.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import RedfishError

DEPTH_MAX = 32
"""Levels of nesting. The deepest property of any schema served needs 9."""

NAMES_MAX = 1024
"""Names in one object. No schema has half as many; each unknown one would cost a message."""

_INTEGER_MIN, _INTEGER_MAX = -(1 << 63), (1 << 64) - 1


class _Duplicate(ValueError):
    """A name twice in one object."""


def parse_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in `body`. Raises RedfishError (400) for anything else."""
    try:
        value = _DECODER.decode(body.decode("utf-8"))
    except _Duplicate as error:
        raise RedfishError(400, (messages.property_duplicate(str(error)),)) from error
    except (ValueError, RecursionError) as error:
        raise RedfishError(400, (messages.malformed_json(),)) from error
    if not isinstance(value, dict):
        raise RedfishError(400, (messages.unrecognized_request_body(),))
    if _too_deep(value):
        raise RedfishError(400, (messages.malformed_json(),))
    return value


def without_annotations(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return `body` without @odata annotations, except the @odata.id of links.

    Oem objects stay as they are. Annotations in a body carry nothing (DESIGN section 8).
    """
    cleaned: dict[str, Any] = _clean(body)
    cleaned.pop("@odata.id", None)
    return cleaned


def _clean(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            name: below if name == "Oem" else _clean(below)
            for name, below in value.items()
            if "@odata." not in name or name == "@odata.id"
        }
    if isinstance(value, list):
        return [_clean(each) for each in value]
    return value


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEPTH_MAX):
        level = [
            below
            for each in level
            for below in (each.values() if isinstance(each, dict) else each)
            if isinstance(below, dict | list)
        ]
        if not level:
            return False
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > NAMES_MAX:
        raise ValueError("too many names in one object")
    found: dict[str, Any] = {}
    for name, value in pairs:
        _encodable(name)
        if name in found:
            raise _Duplicate(name)
        if isinstance(value, str):
            _encodable(value)
        elif isinstance(value, list):
            _encodable_list(value)
        found[name] = value
    return found


def _encodable_list(values: list[Any]) -> None:
    for value in values:
        if isinstance(value, str):
            _encodable(value)
        elif isinstance(value, list):
            _encodable_list(value)


def _encodable(text: str) -> None:
    if not text.isascii():
        text.encode("utf-8")


def _integer(text: str) -> int:
    if len(text) > 21:
        raise ValueError("integer out of range")
    value = int(text)
    if not _INTEGER_MIN <= value <= _INTEGER_MAX:
        raise ValueError("integer out of range")
    return value


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("number out of range")
    return value


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_number, parse_constant=_constant
)
