"""What is kept of a checked body: no annotations of the client, nothing twice in a set. Pure.

@odata annotations of a client carry nothing (DESIGN section 8). They stay in three places only: the
@odata.id of what the schema declares as a reference, Oem objects, which are the client's own, and
objects of which a schema says nothing at all (the request of a manifest's stanza).
A served object that is a link therefore is one by its schema, never because a client says so.
"""

from collections.abc import Callable, Mapping
from typing import Any

from redfish_fm.redfish.properties import Kind, PropertyInfo

_Find = Callable[[str], PropertyInfo | None]


def cleaned(
    properties: Mapping[str, PropertyInfo], body: Mapping[str, Any], *, patching: bool = False
) -> dict[str, Any]:
    """Return of `body`, which bodies has found good, what is to be stored.

    An array of enumeration values is a set, although the schemas do not say uniqueItems: what
    stands there a second time is left out. `patching`: null takes its place, which removes it
    and leaves the elements after it where they are (DSP0266 array rules).
    """
    return _object(properties.get, body, patching)


def _object(find: _Find, value: Mapping[str, Any], patching: bool) -> dict[str, Any]:
    return {
        name: _value(find(name), below, patching) if isinstance(below, dict | list) else below
        for name, below in value.items()
        if "@odata." not in name
    }


def _value(info: PropertyInfo | None, value: Any, patching: bool) -> Any:
    if isinstance(value, dict):
        if info is not None and info.kind is Kind.OEM:
            return value
        if info is not None and info.kind is Kind.LINK and "@odata.id" in value:
            return {"@odata.id": value["@odata.id"]}
        if info is not None and info.kind is Kind.LINK and isinstance(value.get("Members"), list):
            return {"Members": [_described(each, patching) for each in value["Members"]]}
        inner = None if info is None else info.object
        if inner is not None and inner.open and not inner.properties:
            # No schema says what stands there (a stanza's request): who reads it knows.
            return value
        return _object(_nothing if inner is None else inner.find, value, patching)
    if isinstance(value, list):
        items = None if info is None else info.items
        if items is not None and items.kind is Kind.ENUM:
            return _folded(value, patching)
        return [_value(items, each, patching) for each in value]
    return value


def _described(member: Any, patching: bool) -> Any:
    """Return a member that a client describes in the place of a link: its Oem is the client's."""
    if not isinstance(member, dict):
        return member
    kept = _object(_nothing, member, patching)
    return {**kept, "Oem": member["Oem"]} if isinstance(member.get("Oem"), dict) else kept


def _folded(values: list[Any], patching: bool) -> list[Any]:
    """Return a set of texts with each at its first place; null and {} are no members."""
    seen: set[str] = set()
    kept: list[Any] = []
    for each in values:
        if not isinstance(each, str):
            kept.append(each)
        elif each not in seen:
            seen.add(each)
            kept.append(each)
        elif patching:
            kept.append(None)
    return kept


def _nothing(_: str) -> None:
    return None
