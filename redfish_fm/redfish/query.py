"""Query parameters: which are evaluated, and what their values mean. Pure.

The service root announces the same (ProtocolFeaturesSupported). Names without `$` that are not
evaluated are ignored; those with `$` are refused (DSP0266 "Query parameters").
"""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.filter_syntax import Expression, FilterError, Problem, parse_filter
from redfish_fm.redfish.select import Selection, parse_select

LEVELS_MAX = 6
"""The deepest $levels (ProtocolFeaturesSupported.ExpandQuery.MaxLevels). What an answer may hold
is bounded by its number of resources, so this only keeps a client from asking for nonsense."""

Pairs = Iterable[tuple[str, str]]

_OF_COLLECTIONS = frozenset({"$filter", "$skip", "$skiptoken", "$top", "only"})
_EVALUATED = _OF_COLLECTIONS | {"$expand", "$select", "excerpt"}
_CITED_CHARS = 40
"""How much of a wrong filter an answer repeats."""

_EXPAND = re.compile(r"([.*~])(?:\(\$levels=([0-9]+)\))?")
_WHOLE_NUMBER = re.compile(r"-?[0-9]+")
_DIGITS_MAX = 15
"""Longer numbers are out of range: no collection has that many members, and some JSON readers
would not keep them exactly."""
NUMBER_MAX = 10**_DIGITS_MAX - 1
"""The largest $top and $skip."""


@dataclass(frozen=True, slots=True)
class Expand:
    """What $expand asks for: which links, and how many levels of them."""

    subordinate: bool
    """Links outside the Links property."""
    links: bool
    """Links inside the Links property."""
    levels: int = 1


@dataclass(frozen=True, slots=True)
class Filter:
    """What $filter asks for, and how it was written."""

    expression: Expression
    text: str


@dataclass(frozen=True, slots=True)
class Query:
    """The evaluated parameters of one request; None where one is absent."""

    select: Selection | None = None
    expand: Expand | None = None
    skip: int | None = None
    top: int | None = None
    only: bool = False
    excerpt: bool = False
    filter: Filter | None = None
    skiptoken: str | None = None
    """After which member to go on; only our own next links have it."""

    @property
    def of_collection(self) -> bool:
        """Return whether it means the members of a collection."""
        return (
            self.only
            or self.filter is not None
            or (self.skip, self.top, self.skiptoken) != (None, None, None)
        )


def check_query(query: Pairs, reading: bool) -> None:
    """Refuse names: 501 those not evaluated, 400 all of them where it is not GET or HEAD."""
    named = [name for name, _ in query if name[:1] == "$" or name in _EVALUATED]
    if named and not reading:
        raise RedfishError(400, (messages.query_not_supported_on_operation(),))
    refused = dict.fromkeys(name for name in named if name not in _EVALUATED)
    if refused:
        found = tuple(messages.query_parameter_unsupported(name) for name in refused)
        raise RedfishError(501, found)


def read_query(query: Pairs) -> Query | None:
    """Return what is to be evaluated; None where that is nothing.

    Raises RedfishError (400) with everything that is wrong with the values; 501 for a filter in
    OData that DSP0266 does not take over.
    """
    given = [(name, value) for name, value in query if name in _EVALUATED]
    if not given:
        return None
    values = dict(given)
    wrong: list[Message] = []
    if len(values) < len(given) or _excludes(values.keys()):
        wrong.append(messages.query_combination_invalid())
    found = {name: _value(name, text, wrong) for name, text in values.items()}
    if wrong:
        raise RedfishError(400, tuple(wrong))
    return Query(**{name.removeprefix("$"): value for name, value in found.items()})  # type: ignore[arg-type]


def filter_refusal(error: FilterError, text: str) -> RedfishError:
    """Word what is wrong with the filter `text`, and where."""
    if error.problem is Problem.UNSUPPORTED:
        unsupported = f"$filter={_cited(error, text)}"
        return RedfishError(501, (messages.query_parameter_unsupported(unsupported),))
    return RedfishError(400, (_filter_message(error, text),))


def _filter_message(error: FilterError, text: str) -> Message:
    cited = _cited(error, text)
    match error.problem:
        case Problem.TYPE:
            return messages.query_parameter_value_type_error(cited, "$filter")
        case Problem.RANGE:
            return messages.query_parameter_out_of_range(cited, "$filter", error.allowed)
        case _:
            return messages.query_parameter_value_format_error(cited, "$filter")


def _cited(error: FilterError, text: str) -> str:
    rest = text[error.at :]
    cited = rest[:_CITED_CHARS] + ("…" if len(rest) > _CITED_CHARS else "")
    return f"{cited or 'end'} (at character {error.at + 1})"


def _excludes(names: Collection[str]) -> bool:
    """Return whether parameters exclude each other."""
    return ("only" in names and len(names) > 1) or {"$skip", "$skiptoken"} <= set(names)


def _value(name: str, text: str, wrong: list[Message]) -> object:
    """Return one value, or None after adding to `wrong` what is wrong with it."""
    try:
        return _PARSERS[name](name, text)
    except _Wrong as error:
        wrong.append(error.message)
        return None


class _Wrong(Exception):
    def __init__(self, message: Message) -> None:
        super().__init__(message.key)
        self.message = message


def _read_flag(name: str, text: str) -> bool:
    if text:
        raise _Wrong(messages.query_parameter_value_format_error(text, name))
    return True


def _read_select(name: str, text: str) -> Selection:
    selection = parse_select(text)
    if selection is None:
        raise _Wrong(messages.query_parameter_value_format_error(text, name))
    return selection


def _read_expand(name: str, text: str) -> Expand:
    found = _EXPAND.fullmatch(text)
    if found is None:
        raise _Wrong(messages.query_parameter_value_format_error(text, name))
    option, levels = found[1], found[2] or "1"
    if len(levels) > _DIGITS_MAX or not 1 <= int(levels) <= LEVELS_MAX:
        allowed = f"$levels=1 to $levels={LEVELS_MAX}"
        raise _Wrong(messages.query_parameter_out_of_range(text, name, allowed))
    return Expand(option in ".*", option in "~*", int(levels))


def _read_filter(_: str, text: str) -> Filter:
    try:
        return Filter(parse_filter(text), text)
    except FilterError as error:
        if error.problem is Problem.UNSUPPORTED:
            raise filter_refusal(error, text) from None
        raise _Wrong(_filter_message(error, text)) from None


def _read_token(_: str, text: str) -> str:
    return text


def _read_number(name: str, text: str) -> int:
    if _WHOLE_NUMBER.fullmatch(text) is None:
        raise _Wrong(messages.query_parameter_value_type_error(text, name))
    if text[0] == "-" or len(text) > _DIGITS_MAX:
        allowed = f"0 to {NUMBER_MAX}"
        raise _Wrong(messages.query_parameter_out_of_range(text, name, allowed))
    return int(text)


_PARSERS: dict[str, Callable[[str, str], object]] = {
    "$expand": _read_expand,
    "$filter": _read_filter,
    "$select": _read_select,
    "$skip": _read_number,
    "$skiptoken": _read_token,
    "$top": _read_number,
    "excerpt": _read_flag,
    "only": _read_flag,
}
