"""A request body as a JSON object: strict, bounded, nothing silently lost.

Refuses what other parts could not keep or would keep wrongly. Well-formed JSON is told by
property: duplicate names, numbers beyond 64 bits or a double, lone surrogates (see misfits).
MalformedJSON is for the rest: NaN, nesting deeper than DEPTH_MAX, objects of more than NAMES_MAX
names.
"""

import json
from typing import Any

from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.misfits import constant, integer, misfits, number
from redfish_fm.redfish.values import PropertyVoice, Voice

DEPTH_MAX = 32
"""Levels of nesting. The deepest property of any schema served needs 9."""

NAMES_MAX = 1024
"""Names in one object. No schema has half as many; each unknown one would cost a message."""


def parse_object(body: bytes, voice: Voice | None = None) -> dict[str, Any]:
    """Return the JSON object in `body`. Raises RedfishError (400) for anything else.

    `voice` words what is wrong with a value; properties are meant without it.
    """
    try:
        value = _decoded(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RedfishError(400, _reasons(body, voice or PropertyVoice())) from error
    if not isinstance(value, dict):
        raise RedfishError(400, (messages.unrecognized_request_body(),))
    # Most bodies have fewer brackets than levels are allowed: nothing to walk through.
    if body.count(b"{") + body.count(b"[") > DEPTH_MAX and _too_deep(value):
        raise RedfishError(400, (messages.malformed_json(),))
    return value


_SPACE = " \t\n\r"
"""White space of JSON."""


def _decoded(text: str) -> Any:
    """Return the JSON value that `text` is. Raises ValueError, RecursionError."""
    if not text.startswith("{"):
        return _DECODER.decode(text)
    # Most bodies are an object and nothing around it: two searches for white space less.
    value, end = _DECODER.raw_decode(text)
    if text[end:].strip(_SPACE):
        raise ValueError("more than one value")
    return value


def _reasons(body: bytes, voice: Voice) -> tuple[Message, ...]:
    """Return why the decoder refused `body`: read again, so that good bodies pay nothing."""
    try:
        found = misfits(body.decode("utf-8"), voice, NAMES_MAX, DEPTH_MAX)
    except (ValueError, RecursionError):
        found = []
    return tuple(found) or (messages.malformed_json(),)


_NESTED = (dict, list)


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEPTH_MAX):
        level = [
            below
            for each in level
            for below in (each.values() if isinstance(each, dict) else each)
            if isinstance(below, _NESTED)
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
            raise ValueError("a name twice in one object")
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
    value = integer(text)
    if value is None:
        raise ValueError("integer out of range")
    return value


def _number(text: str) -> float:
    value = number(text)
    if value is None:
        raise ValueError("number out of range")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_number, parse_constant=constant
)
