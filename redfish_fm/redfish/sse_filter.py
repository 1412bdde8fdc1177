"""$filter of an event stream: which events its reader wants. Pure.

DSP0266 "Server-sent events", with the properties of EventService SSEFilterPropertiesSupported. The
grammar is that of every $filter. A property is compared by eq or ne with one value; the value may
stand without quotation marks, as clients write that of an enumeration. SubordinateResources says
how OriginResource is meant, wherever it stands, and restricts nothing itself.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from redfish_fm.redfish.event_filter import EventFilter, is_message_id, unversioned
from redfish_fm.redfish.events import Event
from redfish_fm.redfish.filter_syntax import (
    Comparison,
    Expression,
    FilterError,
    Junction,
    Literal,
    Negation,
    Path,
    Problem,
    parse_filter,
)

Predicate = Callable[[Event], bool]
Words = Mapping[str, frozenset[str]]
"""What the values of a property may be; a property that is absent takes any text."""

SUBORDINATE = "SubordinateResources"

PROPERTIES = {
    "EventFormatType": None,
    "EventType": "EventTypes",
    "MessageId": "MessageIds",
    "OriginResource": "OriginResources",
    "RegistryPrefix": "RegistryPrefixes",
    "ResourceType": "ResourceTypes",
    SUBORDINATE: SUBORDINATE,
}
"""What can be compared, and the property of EventDestination that says the same."""

FORMATS = frozenset({"Event"})
"""EventFormatType: there are no metric reports."""


@dataclass(frozen=True, slots=True)
class StreamFilter:
    """What a $filter means. `text` is what was asked; `shown` are the properties of an
    EventDestination that say the same, as far as they can."""

    text: str
    matches: Predicate
    shown: Mapping[str, Any]


EVERYTHING = StreamFilter("", lambda _: True, {})


def stream_filter(text: str, words: Words) -> StreamFilter:
    """Return what `text` asks for. Raises FilterError."""
    expression = parse_filter(text)
    comparisons = [_read(each, words) for each in _comparisons(expression)]
    subordinate = any(one.name == SUBORDINATE and one.value == "true" for one in comparisons)
    return StreamFilter(
        text, _predicate(expression, subordinate), _shown(expression, subordinate=subordinate)
    )


@dataclass(frozen=True, slots=True)
class _Compared:
    name: str
    value: str
    negated: bool


def _comparisons(expression: Expression) -> Iterator[Comparison]:
    """Yield all comparisons; whatever else there is tells nothing of an event."""
    match expression:
        case Comparison():
            yield expression
        case Junction():
            for each in expression.operands:
                yield from _comparisons(each)
        case Negation():
            yield from _comparisons(expression.operand)
        case _:
            raise FilterError(Problem.FORMAT, expression.at)


def _read(comparison: Comparison, words: Words) -> _Compared:
    """Return a comparison's meaning. Raises FilterError where it has none."""
    found = _compared(comparison)
    if found.name not in PROPERTIES:
        raise FilterError(Problem.RANGE, comparison.at, f"the properties {', '.join(PROPERTIES)}")
    if found.name == SUBORDINATE and found.value not in ("true", "false"):
        raise FilterError(Problem.TYPE, comparison.at)
    allowed = words.get(found.name)
    if allowed is not None and found.value not in allowed:
        raise FilterError(Problem.RANGE, comparison.right.at, ", ".join(sorted(allowed)))
    if found.name == "MessageId" and not _is_told(found.value, words):
        raise FilterError(Problem.RANGE, comparison.right.at, "MessageIds of registries in use")
    if found.name == "OriginResource" and not found.value.startswith("/"):
        raise FilterError(Problem.RANGE, comparison.right.at, "the URI of a resource")
    return found


def _is_told(message_id: str, words: Words) -> bool:
    """Return whether a text is a MessageId of a registry that events are told by."""
    prefixes = words.get("RegistryPrefix")
    return is_message_id(message_id) and (
        prefixes is None or message_id.partition(".")[0] in prefixes
    )


def _compared(comparison: Comparison) -> _Compared:
    left, right = comparison.left, comparison.right
    if not isinstance(left, Path) or not isinstance(right, Literal | Path):
        raise FilterError(Problem.FORMAT, comparison.at)
    if comparison.operator not in ("eq", "ne"):
        raise FilterError(Problem.UNSUPPORTED, comparison.at)
    return _Compared("/".join(left.names), _value(right), comparison.operator == "ne")


def _value(right: Literal | Path) -> str:
    match right:
        case Path((name,), _):
            return name
        case Path():
            raise FilterError(Problem.FORMAT, right.at)
        case Literal(bool(value), _):
            return "true" if value else "false"
        case Literal(str(value), _):
            return value
        case _:
            raise FilterError(Problem.TYPE, right.at)


def _predicate(expression: Expression, subordinate: bool) -> Predicate:
    match expression:
        case Junction(operator, operands, _):
            every = [_predicate(each, subordinate) for each in operands]
            if operator == "and":
                return lambda event: all(each(event) for each in every)
            return lambda event: any(each(event) for each in every)
        case Negation(operand, _):
            inner = _predicate(operand, subordinate)
            return lambda event: not inner(event)
        case Comparison():
            return _compares(_compared(expression), subordinate)
        case _:
            raise FilterError(Problem.FORMAT, expression.at)


def _compares(one: _Compared, subordinate: bool) -> Predicate:
    if PROPERTIES[one.name] in (None, SUBORDINATE):
        # There is one format, and it was the one named; how origins are meant excludes none.
        return lambda _: not one.negated or one.name == SUBORDINATE
    matches = EventFilter.of(_destination(one.name, [one.value], subordinate)).matches
    if one.negated:
        return lambda event: not matches(event)
    return matches


def _destination(name: str, values: Iterable[str], subordinate: bool) -> dict[str, Any]:
    """Return what an EventDestination says that wants these values of a property."""
    said = PROPERTIES[name]
    if name == "OriginResource":
        return {
            "OriginResources": [{"@odata.id": value} for value in values],
            SUBORDINATE: subordinate,
        }
    if name == "MessageId":
        return {"MessageIds": [unversioned(value) for value in values]}
    return {} if said in (None, SUBORDINATE) else {str(said): [*values]}


def _shown(expression: Expression, *, subordinate: bool) -> dict[str, Any]:
    """Return what an EventDestination can say of it: lists of values, one property each.

    What it can not say (other combinations) is left out: the stream itself has the whole filter.
    """
    joined = isinstance(expression, Junction) and expression.operator == "and"
    parts = expression.operands if isinstance(expression, Junction) and joined else (expression,)
    shown: dict[str, Any] = {}
    for part in parts:
        either = isinstance(part, Junction) and part.operator == "or"
        choices = part.operands if isinstance(part, Junction) and either else (part,)
        read = [_compared(each) for each in choices if isinstance(each, Comparison)]
        names = {each.name for each in read}
        if len(read) < len(choices) or len(names) > 1 or any(each.negated for each in read):
            continue
        said = _destination(read[0].name, [each.value for each in read], subordinate)
        if shown.keys().isdisjoint(said):
            shown |= said
    return shown
