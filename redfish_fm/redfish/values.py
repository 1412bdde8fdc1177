"""Whether one JSON value fits one property or parameter, deep, everything wrong told at once.

Pure. Two voices tell the same faults, one in the words for properties, one for parameters.
"""

import json
import re
from collections.abc import Callable
from typing import Any, Protocol

from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.properties import Kind, ObjectInfo, PropertyInfo

_VALUE_CHARS_MAX = 200
"""A refused value is quoted up to here: enough to recognise it, too little to flood a log."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
"""What no text of a person or device has: C0 control characters but tab and line ends, and DEL."""

STRING_CHARS_MAX = 4_096
"""Of any string, and of what a link leads to: no schema says a length, and a page of text is more
than any property needs. What is in Oem is the client's own; only the size of a body limits it."""

CHARS_MAX = {"Name": 256, "CertificateString": 65_536}
"""Every list of resources shows a Name; a certificate may bring its whole chain."""

# Unreserved characters of RFC 3986: an Id is a URI segment and needs no escaping (PROTOCOL 7).
ID = re.compile(r"[A-Za-z0-9._~-]{1,128}")

RESERVED_IDS = frozenset({"Members"})
"""COLLECTION/Members means the collection itself (DSP0266, POST to a collection)."""

HIDDEN = "(not shown)"
"""What stands for the refused value of a secret."""

_SECRETS = frozenset({"CertificateString"})
"""Not write-only by their schema, yet nothing to repeat: people send their key along."""

_FORMATS = {
    "date-time": re.compile(
        r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})", re.ASCII
    ),
    "uri-reference": re.compile(r"([A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*"),
}
"""What DSP8010 names: times with seconds and a zone, and the characters of RFC 3986."""

_IS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
}


_ANNOTATIONS = frozenset({"@odata.id", "@odata.type", "@odata.etag", "@odata.context"})
"""What an object says about itself: always strings. Annotations of properties are not looked at."""


class Voice(Protocol):
    """How a fault is told. `told` is the list that grows."""

    def type_error(self, told: list[Message], value: Any, name: str, place: str) -> None:
        """Tell a wrong JSON type."""
        ...

    def format_error(self, told: list[Message], value: Any, name: str, place: str) -> None:
        """Tell a wrong notation."""
        ...

    def not_in_list(self, told: list[Message], value: Any, name: str, place: str) -> None:
        """Tell a value outside the enumeration."""
        ...

    def out_of_range(self, told: list[Message], value: Any, name: str, place: str) -> None:
        """Tell a number outside its range."""
        ...

    def bad_length(self, told: list[Message], value: str, name: str, place: str) -> None:
        """Tell a string that is too long, or empty where it must not be."""
        ...


class PropertyVoice:
    """Tells faults of properties."""

    def type_error(self, told: list[Message], value: Any, name: str, place: str) -> None:
        """Tell a wrong JSON type."""
        told.append(messages.property_value_type_error(quoted(value), name, place))

    def format_error(self, told: list[Message], value: Any, name: str, place: str) -> None:
        """Tell a wrong notation."""
        told.append(messages.property_value_format_error(quoted(value), name, place))

    def not_in_list(self, told: list[Message], value: Any, name: str, place: str) -> None:
        """Tell a value outside the enumeration."""
        told.append(messages.property_value_not_in_list(quoted(value), name, place))

    def out_of_range(self, told: list[Message], value: Any, name: str, place: str) -> None:
        """Tell a number outside its range."""
        told.append(messages.property_value_out_of_range(quoted(value), name, place))

    def bad_length(self, told: list[Message], value: str, name: str, place: str) -> None:
        """Tell a string that is too long, or empty where it must not be."""
        if value:
            told.append(messages.string_value_too_long(quoted(value), chars_max(name), place))
        else:
            told.append(messages.string_value_too_short(value, 1, place))


class ActionVoice:
    """Tells faults of the parameters of one action."""

    def __init__(self, action: str) -> None:
        self._action = action

    def type_error(self, told: list[Message], value: Any, name: str, place: str) -> None:
        """Tell a wrong JSON type."""
        said = messages.action_parameter_value_type_error(quoted(value), name, self._action, place)
        told.append(said)

    def format_error(self, told: list[Message], value: Any, name: str, place: str) -> None:
        """Tell a wrong notation."""
        said = messages.action_parameter_value_format_error
        told.append(said(quoted(value), name, self._action, place))

    def not_in_list(self, told: list[Message], value: Any, name: str, place: str) -> None:
        """Tell a value outside the enumeration."""
        said = messages.action_parameter_value_not_in_list(quoted(value), name, self._action, place)
        told.append(said)

    def out_of_range(self, told: list[Message], value: Any, name: str, place: str) -> None:
        """Tell a number outside its range."""
        said = messages.action_parameter_value_out_of_range
        told.append(said(quoted(value), name, self._action, place))

    def bad_length(self, told: list[Message], value: str, name: str, place: str) -> None:
        """Tell a string that is too long; there is no such message for parameters alone."""
        self.format_error(told, value, name, place)


class ValueCheck:
    """Checks values and collects what is wrong in `told`.

    `patching`: null removes and {} keeps (DSP0266 array rules). `bare_links`: a link may be given
    as a string.
    """

    def __init__(self, voice: Voice, *, patching: bool, bare_links: bool = False) -> None:
        self.voice = voice
        self.told: list[Message] = []
        self._patching = patching
        self._bare_links = bare_links

    def value(self, info: PropertyInfo, value: Any, name: str, place: str) -> None:
        """Check one value against what `info` says."""
        if value is None:
            if not info.nullable and not (self._patching and info.kind is Kind.LINK):
                self.voice.type_error(self.told, value, name, place)
            return
        if not isinstance(value, str) and _is_secret(info, name):
            # A mistyped password is still one: never quoted.
            self.voice.type_error(self.told, HIDDEN, name, place)
            return
        match info.kind:
            case Kind.STRING:
                self._string(info, value, name, place)
            case Kind.ENUM:
                self._enum(info, value, name, place)
            case Kind.INTEGER | Kind.NUMBER:
                self._number(info, value, name, place)
            case Kind.BOOLEAN:
                if not isinstance(value, bool):
                    self.voice.type_error(self.told, value, name, place)
            case Kind.MIXED:
                if not any(_IS[each](value) for each in info.types):
                    self.voice.type_error(self.told, value, name, place)
                elif isinstance(value, str):
                    self._string(info, value, name, place)
            case Kind.LINK:
                self._link_or_object(info, value, name, place)
            case Kind.ARRAY:
                self._array(info, value, name, place)
            case Kind.OBJECT:
                self._object(info.object, value, name, place)
            case Kind.OEM:
                self._oem(value, name, place)
            case Kind.ANY:
                pass

    def annotation(self, value: Any, name: str, above: str) -> None:
        """Check an annotation of the object at `above`; other names are let through."""
        if name in _ANNOTATIONS and not isinstance(value, str):
            self.voice.type_error(self.told, value, name, pointer_to(above, name))

    def members(self, value: dict[str, Any], name: str, place: str) -> None:
        """Check a collection whose members a client describes; what they mean is judged later."""
        for key in value:
            if key != "Members" and "@odata." not in key:
                self.told.append(messages.property_unknown(key, pointer_to(place, key)))
        found, place = value["Members"], pointer_to(place, "Members")
        if not isinstance(found, list):
            self.voice.type_error(self.told, found, "Members", place)
            return
        for position, each in enumerate(found):
            if not isinstance(each, dict):
                self.voice.type_error(self.told, each, name, f"{place}/{position}")

    def typed(self, json_type: str, value: Any, name: str, place: str) -> None:
        """Check that a value is of a JSON type."""
        if not _IS[json_type](value):
            self.voice.type_error(self.told, value, name, place)

    def _string(self, info: PropertyInfo, value: Any, name: str, place: str) -> None:
        if not isinstance(value, str):
            self.voice.type_error(self.told, value, name, place)
            return
        bad_length = len(value) > chars_max(name) or (name == "Name" and not value)
        if not bad_length and _CONTROL.search(value) is None and _well_formed(info, value):
            return
        shown = HIDDEN if _is_secret(info, name) else value
        if bad_length:
            self.voice.bad_length(self.told, shown if value else value, name, place)
        else:
            self.voice.format_error(self.told, shown, name, place)

    def _enum(self, info: PropertyInfo, value: Any, name: str, place: str) -> None:
        if not isinstance(value, str):
            self.voice.type_error(self.told, value, name, place)
        elif value not in info.enum:
            self.voice.not_in_list(self.told, value, name, place)

    def _number(self, info: PropertyInfo, value: Any, name: str, place: str) -> None:
        if not _IS[info.kind.value](value):
            self.voice.type_error(self.told, value, name, place)
        elif not _within(info, value):
            self.voice.out_of_range(self.told, value, name, place)

    def _link_or_object(self, info: PropertyInfo, value: Any, name: str, place: str) -> None:
        if info.object is not None and isinstance(value, dict) and "@odata.id" not in value:
            self._object(info.object, value, name, place)
        else:
            self._link(value, name, place)

    def _link(self, value: Any, name: str, place: str) -> None:
        if isinstance(value, dict):
            for key in value:
                if "@odata." not in key:
                    self.told.append(messages.property_unknown(key, pointer_to(place, key)))
                elif key != "@odata.id":
                    self.annotation(value[key], key, place)
            if "@odata.id" not in value:
                place = pointer_to(place, "@odata.id")
                self.told.append(messages.property_missing("@odata.id", place))
                return
            place, value = pointer_to(place, "@odata.id"), value["@odata.id"]
        elif not self._bare_links:
            self.voice.type_error(self.told, value, name, place)
            return
        if not isinstance(value, str):
            self.voice.type_error(self.told, value, name, place)
        elif len(value) > STRING_CHARS_MAX:
            self.voice.bad_length(self.told, value, "@odata.id", place)
        elif not value.startswith("/"):
            self.voice.format_error(self.told, value, name, place)

    def _array(self, info: PropertyInfo, value: Any, name: str, place: str) -> None:
        if info.items is None or not isinstance(value, list):
            self.voice.type_error(self.told, value, name, place)
            return
        for position, item in enumerate(value):
            if self._patching and (item is None or item == {}):
                continue
            self.value(info.items, item, name, f"{place}/{position}")

    def _object(self, info: ObjectInfo | None, value: Any, name: str, place: str) -> None:
        if info is None or not isinstance(value, dict):
            self.voice.type_error(self.told, value, name, place)
            return
        for key, below in value.items():
            if "@odata." in key:
                self.annotation(below, key, place)
                continue
            here, found = pointer_to(place, key), info.find(key)
            if found is not None:
                self.value(found, below, key, here)
            elif not info.open:
                self.told.append(messages.property_unknown(key, here))

    def _oem(self, value: Any, name: str, place: str) -> None:
        if not isinstance(value, dict):
            self.voice.type_error(self.told, value, name, place)
            return
        for key, below in value.items():
            known = "@odata." in key or isinstance(below, dict)
            if not known and not (self._patching and below is None):
                self.voice.type_error(self.told, below, key, pointer_to(place, key))
        self._free(value, place)

    def _free(self, value: Any, place: str) -> None:
        """Check what is the client's own: it is kept, so its annotations must be such."""
        if isinstance(value, list):
            for position, each in enumerate(value):
                self._free(each, f"{place}/{position}")
        elif isinstance(value, dict):
            for key, below in value.items():
                if not (self._patching and below is None):
                    self.annotation(below, key, place)
                if isinstance(below, dict | list):
                    self._free(below, pointer_to(place, key))


def is_secret_name(name: str) -> bool:
    """Return whether values of that name are never quoted, whatever a schema says of them."""
    return name.endswith("Password") or name in _SECRETS


def _is_secret(info: PropertyInfo, name: str) -> bool:
    return info.write_only or is_secret_name(name)


def chars_max(name: str) -> int:
    """Return how many characters a string property or parameter of that name may have."""
    return CHARS_MAX.get(name, STRING_CHARS_MAX)


def is_id(text: str) -> bool:
    """Return whether a resource can have the Id that a client wishes for."""
    return ID.fullmatch(text) is not None and set(text) != {"."} and text not in RESERVED_IDS


def quoted(value: Any) -> str:
    """Return a refused value as a message argument, shortened."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _VALUE_CHARS_MAX else f"{text[:_VALUE_CHARS_MAX]}…"


def pointer_to(above: str, name: str) -> str:
    """Return the JSON pointer of `name` in the object at `above` (RFC 6901)."""
    if "~" in name or "/" in name:
        name = name.replace("~", "~0").replace("/", "~1")
    return f"{above}/{name}"


def _well_formed(info: PropertyInfo, value: str) -> bool:
    if info.pattern is not None and info.pattern.search(value) is None:
        return False
    if info.format is None:
        return True
    form = _FORMATS.get(info.format)
    return form is None or form.fullmatch(value) is not None


def _within(info: PropertyInfo, value: float) -> bool:
    if info.minimum is not None and value < info.minimum:
        return False
    return info.maximum is None or value <= info.maximum
