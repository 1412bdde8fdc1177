"""Well-formed JSON that this service can not hold: which values, and under which names.

RFC 8259 sections 4, 6 and 8.2 leave to an implementation what it does with duplicate names, numbers
of any size and lone surrogates. Here they are found and told, each with a JSON pointer. Pure.
"""

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from redfish_fm.redfish import messages
from redfish_fm.redfish.bodies import MESSAGES_MAX, limited
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.values import HIDDEN, Voice, is_secret_name, pointer_to

_INTEGER_MIN, _INTEGER_MAX = -(1 << 63), (1 << 64) - 1


def integer(text: str) -> int | None:
    """Return an integer of 64 bits, signed or not; None for one beyond."""
    if len(text) > 21:
        return None
    value = int(text)
    return value if _INTEGER_MIN <= value <= _INTEGER_MAX else None


def number(text: str) -> float | None:
    """Return a number as a double; None for one beyond."""
    value = float(text)
    return value if math.isfinite(value) else None


def constant(text: str) -> NoReturn:
    """Refuse NaN and the infinities. Raises ValueError."""
    raise ValueError(f"{text} is not JSON")


def misfits(text: str, voice: Voice, names_max: int, depth_max: int) -> list[Message]:
    """Return what in the JSON `text` can not be held; nothing where it is no object.

    Raises ValueError for what is malformed, deeper than `depth_max` or has more than `names_max`
    names in one object, RecursionError for what is deeper than json goes.
    """

    def members(pairs: list[tuple[str, Any]]) -> _Members:
        if len(pairs) > names_max:
            raise ValueError("too many names in one object")
        return _Members(pairs)

    value = json.loads(
        text,
        object_pairs_hook=members,
        parse_int=lambda digits: _Beyond(digits) if integer(digits) is None else 0,
        parse_float=lambda digits: _Beyond(digits) if number(digits) is None else 0.0,
        parse_constant=constant,
    )
    if not isinstance(value, _Members):
        return [messages.unrecognized_request_body()]
    found = _Walk(voice, depth_max).members(value, "#", 1)
    return limited(list(itertools.islice(found, MESSAGES_MAX + 1)))


@dataclass(frozen=True, slots=True)
class _Members:
    """A JSON object with all its names."""

    pairs: list[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class _Beyond:
    """A number that does not fit, as it was written."""

    text: str


class _Walk:
    """Goes through a document in its order and tells one misfit after the other."""

    def __init__(self, voice: Voice, depth_max: int) -> None:
        self._voice = voice
        self._depth_max = depth_max

    def members(self, value: _Members, pointer: str, depth: int) -> Iterator[Message]:
        """Tell the misfits of one object."""
        if depth > self._depth_max:
            raise ValueError("too deep")
        seen: set[str] = set()
        for name, below in value.pairs:
            shown = _encodable(name)
            place = pointer_to(pointer, shown)
            if shown != name:
                # It can not be the name of anything.
                yield messages.property_unknown(shown, place)
            elif name in seen:
                yield messages.property_duplicate(name, place)
            seen.add(name)
            yield from self._value(below, shown, place, depth)

    def _value(self, value: Any, name: str, place: str, depth: int) -> Iterator[Message]:
        told: list[Message] = []
        match value:
            case _Members():
                yield from self.members(value, place, depth + 1)
            case list():
                if depth >= self._depth_max:
                    raise ValueError("too deep")
                for position, each in enumerate(value):
                    yield from self._value(each, name, f"{place}/{position}", depth + 1)
            case _Beyond():
                shown = HIDDEN if is_secret_name(name) else value.text
                self._voice.out_of_range(told, shown, name, place)
            case str() if _encodable(value) != value:
                # Half a character can not be shown, and the rest may be a secret.
                self._voice.format_error(told, HIDDEN, name, place)
        yield from told


def _encodable(text: str) -> str:
    """Return `text` with its lone surrogates spelled out, "\\ud800"."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
