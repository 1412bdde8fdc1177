"""Whether a body has the form its type allows: names, types, enumerations, writability.

Says everything that is wrong at once, each message naming the property and a JSON pointer to it.
Folded tables decide; jsonschema is only the oracle in tests. What a body means is not judged here.
"""

import functools
from collections.abc import Mapping
from typing import Any

from redfish_fm.redfish import messages
from redfish_fm.redfish.catalog import ActionInfo, TypeInfo
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.properties import PropertyInfo
from redfish_fm.redfish.service_table import CreateTable
from redfish_fm.redfish.values import ActionVoice, PropertyVoice, ValueCheck, is_id, pointer_to

MESSAGES_MAX = 64
"""Messages in one answer; a hostile body could cause as many as it has names."""


def check_create(info: TypeInfo, body: Mapping[str, Any]) -> list[Message]:
    """Return what is wrong with a POST body for a resource of type `info`.

    Annotations have to be strings where they are any; they are ignored otherwise (see cleaning).
    Read-only is not refused here; the type's create table lists required, optional and refused
    properties. An empty array where one is required counts as missing.
    """
    table = info.create
    if table is None:
        raise ValueError(f"{info.name} can not be created")
    walk = _Walk(table.allowed, patching=False, table=table)
    walk.body(info.properties, body)
    if "Id" in body:
        _check_id(walk.check, body)
    if table.required:
        for path in sorted(table.required):
            if _absent(body, path):
                name, place = path.rsplit(".", 1)[-1], "#/" + path.replace(".", "/")
                walk.check.told.append(messages.property_missing(name, place))
    return limited(walk.check.told)


def check_patch(info: TypeInfo, body: Mapping[str, Any], wanted: bool) -> list[Message]:
    """Return what is wrong with a PATCH body for a resource of type `info`.

    `wanted`: its Origin is a changeable one. Exactly the paths of the table for its origin can
    be written; everything else of the type is PropertyNotWritable. A body that names no property
    is NoOperation.
    """
    writable = info.writable_here if wanted else info.overlay_here
    walk = _Walk(writable, patching=True, table=info.create)
    walk.body(info.properties, body)
    if not walk.named and not walk.check.told:
        return [messages.no_operation()]
    return limited(walk.check.told)


def check_action(info: ActionInfo, body: Mapping[str, Any]) -> list[Message]:
    """Return what is wrong with the parameters of an action.

    A link parameter may be {"@odata.id": uri} or the URI as a string.
    """
    check = ValueCheck(ActionVoice(info.name), patching=False, bare_links=True)
    for name, value in body.items():
        parameter = info.parameters.get(name)
        if "@odata." in name:
            check.annotation(value, name, "#")
            continue
        if parameter is None:
            check.told.append(
                messages.action_parameter_unknown(info.name, name, pointer_to("#", name))
            )
        else:
            check.value(parameter, value, name, pointer_to("#", name))
    for name, parameter in info.parameters.items():
        if parameter.required and name not in body:
            check.told.append(
                messages.action_parameter_missing(info.name, name, pointer_to("#", name))
            )
    return limited(check.told)


def _check_id(check: ValueCheck, body: Mapping[str, Any]) -> None:
    """Tell an Id that can not be the last segment of a URI, if nothing else is told of it."""
    wished = body.get("Id")
    told = any("#/Id" in message.related for message in check.told)
    if isinstance(wished, str) and not is_id(wished) and not told:
        check.voice.format_error(check.told, wished, "Id", "#/Id")


def limited(found: list[Message]) -> list[Message]:
    """Return `found`, cut after MESSAGES_MAX with a message that says so."""
    if len(found) <= MESSAGES_MAX:
        return found
    return [*found[:MESSAGES_MAX], messages.maximum_errors_exceeded()]


class _Walk:
    """Walks a body down to the paths that may be written, and checks the values there."""

    def __init__(
        self, paths: frozenset[str], *, patching: bool, table: CreateTable | None = None
    ) -> None:
        self._paths = paths
        self._above = _above(paths)
        self._described = frozenset() if table is None else table.described
        self._annotations = {} if table is None else table.annotations
        self.check = ValueCheck(PropertyVoice(), patching=patching)
        self.named = False

    def body(
        self,
        properties: Mapping[str, PropertyInfo],
        body: Mapping[str, Any],
        path: str = "",
        pointer: str = "#",
    ) -> None:
        """Check one object whose properties lie at `path`."""
        for name, value in body.items():
            if "@odata." in name:
                self.check.annotation(value, name, pointer)
                continue
            self.named = True
            here, info = f"{path}{name}" if path else name, properties.get(name)
            place = pointer_to(pointer, name)
            if here in self._described and isinstance(value, dict) and "Members" in value:
                self.check.members(value, name, place)
            elif here in self._annotations:
                self.check.typed(self._annotations[here], value, name, place)
            elif info is None:
                self.check.told.append(messages.property_unknown(name, place))
            elif here in self._paths:
                self.check.value(info, value, name, place)
            elif here not in self._above:
                self.check.told.append(messages.property_not_writable(name, place))
            elif info.object is None or not isinstance(value, dict):
                self.check.voice.type_error(self.check.told, value, name, place)
            else:
                self.body(info.object.properties, value, f"{here}.", place)


@functools.lru_cache(maxsize=1024)
def _above(paths: frozenset[str]) -> frozenset[str]:
    """Return the paths of all objects that hold something of `paths`; the tables are few."""
    split = [path.split(".") for path in paths]
    return frozenset(".".join(parts[:end]) for parts in split for end in range(1, len(parts)))


def _absent(body: Mapping[str, Any], path: str) -> bool:
    value: Any = body
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value is None or value == []
