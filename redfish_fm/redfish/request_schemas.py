"""Request bodies as JSON Schema (2020-12), made from the tables that check them. Pure.

A schema says no more than `bodies` does: which names, of which types. What a body means is not
described, so not every body that fits is accepted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from redfish_fm.redfish.catalog import ActionInfo, TypeInfo
from redfish_fm.redfish.properties import Kind, ObjectInfo, PropertyInfo
from redfish_fm.redfish.service_table import CreateTable
from redfish_fm.redfish.values import ID, RESERVED_IDS, STRING_CHARS_MAX, chars_max

Schema = dict[str, Any]

_DEPTH_MAX = 4
"""Objects within objects that are spelled out; definitions may hold themselves."""

_ANNOTATIONS = {r"@odata\.": True}
_URI: Schema = {"type": "string", "pattern": "^/", "maxLength": STRING_CHARS_MAX}
_LINK: Schema = {
    "type": "object",
    "properties": {"@odata.id": _URI},
    "required": ["@odata.id"],
    "patternProperties": _ANNOTATIONS,
    "additionalProperties": False,
}
_ID: Schema = {
    "pattern": f"^{ID.pattern}$",
    "not": {"anyOf": [{"pattern": r"^\.+$"}, {"enum": sorted(RESERVED_IDS)}]},
}
"""What `values.is_id` takes: a segment of a URI, not only dots, no name that is taken."""
_MEMBERS: Schema = {
    "type": "object",
    "properties": {"Members": {"type": "array", "items": {"type": "object"}}},
    "required": ["Members"],
    "patternProperties": _ANNOTATIONS,
    "additionalProperties": False,
}
"""Members of a collection that a client wishes for."""
_OEM: Schema = {
    "type": "object",
    "patternProperties": _ANNOTATIONS,
    "additionalProperties": {"type": "object"},
}


def create_schema(info: TypeInfo) -> Schema:
    """Return the body of a POST that creates a resource. Raises ValueError where none can be."""
    if info.create is None:
        raise ValueError(f"{info.name} can not be created")
    schema = _at_paths(info, info.create.allowed, info.create.required)
    if "Id" in schema["properties"]:
        schema["properties"]["Id"] |= _ID
    return _described(schema, info.create)


def patch_schema(info: TypeInfo) -> Schema:
    """Return the body of a PATCH, whatever the origin: one resource may take less than another."""
    schema: Schema = _patched(_at_paths(info, info.writable_here | info.overlay_here, ()))
    return schema if info.create is None else _described(schema, info.create)


def _patched(schema: Any) -> Any:
    """Let null remove an element, or what a client keeps under a name of Oem; {} keeps an element
    (DSP0266 "PATCH on array properties")."""
    if schema == _OEM:
        return {**_OEM, "additionalProperties": {"type": ["object", "null"]}}
    if isinstance(schema, list):
        return [_patched(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _patched(below) for name, below in schema.items()}
    if "array" in schema.get("type", ()):
        found["items"] = {"anyOf": [found["items"], *_IN_PLACE]}
    return found


_IN_PLACE: tuple[Schema, ...] = ({"type": "null"}, {"type": "object", "maxProperties": 0})


def _described(schema: Schema, table: CreateTable) -> Schema:
    """Let members be described in the place of a link to their collection; add annotations."""
    shown = schema["properties"]
    for name in sorted(table.described):
        link = [shown[name]] if name in shown else []
        shown[name] = {"anyOf": [*link, _MEMBERS]} if link else dict(_MEMBERS)
    shown.update({name: {"type": kind} for name, kind in sorted(table.annotations.items())})
    return schema


def action_schema(action: ActionInfo) -> Schema:
    """Return the parameters of an action."""
    required = [name for name, info in action.parameters.items() if info.required]
    shown = {name: _bare(_value(info, 0, name), info) for name, info in action.parameters.items()}
    return _closed(dict(sorted(shown.items())), required)


def _bare(schema: Schema, info: PropertyInfo) -> Schema:
    """Let a link parameter also be the URI alone."""
    if info.kind is Kind.LINK:
        return {"anyOf": [schema, dict(_URI)]}
    if info.kind is Kind.ARRAY and info.items is not None:
        return {**schema, "items": _bare(schema["items"], info.items)}
    return schema


def _at_paths(info: TypeInfo, paths: Iterable[str], required: Iterable[str]) -> Schema:
    """Return an object in which exactly these dotted paths can stand."""
    root: dict[str, Any] = {}
    for path in sorted(paths):
        found = info.find(path)
        if found is None:
            continue
        *above, name = path.split(".")
        level = root
        for each in above:
            level = level.setdefault(each, {})
        level[name] = found
    return _tree(root, tuple(required))


def _tree(level: Mapping[str, Any], required: tuple[str, ...]) -> Schema:
    """Return the schema of nested names; a path that is required makes its objects so, too."""
    shown: dict[str, Any] = {}
    for name, below in level.items():
        if isinstance(below, PropertyInfo):
            needs = name in required
            # What must be there is missing where it is null.
            schema = _value(replace(below, nullable=False) if needs else below, 0, name)
            if needs and below.kind is Kind.ARRAY:
                schema["minItems"] = 1
            shown[name] = schema
        else:
            inner = tuple(
                path.removeprefix(f"{name}.") for path in required if path.startswith(f"{name}.")
            )
            shown[name] = _tree(below, inner)
    needed = sorted({path.partition(".")[0] for path in required} & shown.keys())
    return _closed(shown, needed)


def _closed(properties: Schema, required: list[str]) -> Schema:
    schema: Schema = {
        "type": "object",
        "properties": properties,
        "patternProperties": _ANNOTATIONS,
        "additionalProperties": False,
    }
    return {**schema, "required": sorted(required)} if required else schema


def _lengths(name: str) -> Schema:
    """Return how long strings of a property or parameter of that name may be, in lists too."""
    return {"maxLength": chars_max(name), **({"minLength": 1} if name == "Name" else {})}


def _value(info: PropertyInfo, depth: int, name: str) -> Schema:
    schema = _shape(info, depth, name)
    if not info.nullable or not schema:
        return schema
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _shape(info: PropertyInfo, depth: int, name: str) -> Schema:
    match info.kind:
        case Kind.STRING:
            return {"type": "string", **_limits(info), **_lengths(name)}
        case Kind.INTEGER | Kind.NUMBER | Kind.BOOLEAN:
            return {"type": info.kind.value, **_limits(info)}
        case Kind.ENUM:
            return {"type": "string", "enum": sorted(info.enum)}
        case Kind.MIXED:
            lengths = _lengths(name) if "string" in info.types else {}
            return {"type": sorted(info.types), **lengths}
        case Kind.ARRAY:
            items = {} if info.items is None else _value(info.items, depth, name)
            return {"type": "array", "items": items}
        case Kind.LINK if info.object is None:
            return dict(_LINK)
        case Kind.LINK | Kind.OBJECT:
            return _object(info.object, depth)
        case Kind.OEM:
            return dict(_OEM)
        case Kind.ANY:
            return {}


def _object(info: ObjectInfo | None, depth: int) -> Schema:
    if info is None or depth >= _DEPTH_MAX:
        return {"type": "object"}
    shown = {
        name: _value(each, depth + 1, name)
        for name, each in sorted(info.properties.items())
        if not each.deprecated
    }
    schema = _closed(shown, [])
    if info.open or info.dynamic or any(each.deprecated for each in info.properties.values()):
        del schema["additionalProperties"]
    return schema


def _limits(info: PropertyInfo) -> Schema:
    found: Schema = {}
    if info.pattern is not None:
        found["pattern"] = info.pattern.pattern.replace(r"\Z", "$")
    if info.format is not None:
        found["format"] = info.format
    if info.minimum is not None:
        found["minimum"] = info.minimum
    if info.maximum is not None:
        found["maximum"] = info.maximum
    return found
