"""What a property can hold, read from the definitions in schemas/types.

Values, and the reader that makes them. Definitions refer to each other and to themselves, and a
service uses few of them, so an object's properties are read when they are first asked for.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

Definitions = Callable[[str], Mapping[str, Any]]
"""Give the `$defs` of the file of that name, "Zone"."""


class Kind(Enum):
    """The shapes a value can have."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    MIXED = "mixed"
    """Any one of `types`."""
    ENUM = "enum"
    LINK = "link"
    """A link; where `object` is given, the resource itself may stand in its place."""
    ARRAY = "array"
    OBJECT = "object"
    OEM = "oem"
    ANY = "any"


@dataclass(frozen=True, eq=False)
class ObjectInfo:
    """A complex type. Names it does not know are `dynamic` ones, or taken as they are if `open`."""

    name: str
    open: bool
    _read: Callable[[], Mapping[str, "PropertyInfo"]]
    _read_dynamic: Callable[[], tuple[tuple[re.Pattern[str], "PropertyInfo"], ...]]

    @cached_property
    def properties(self) -> Mapping[str, "PropertyInfo"]:
        """The properties by name, annotations left out."""
        return self._read()

    @cached_property
    def dynamic(self) -> tuple[tuple[re.Pattern[str], "PropertyInfo"], ...]:
        """Patterns of further names, and what stands under them."""
        return self._read_dynamic()

    def find(self, name: str) -> "PropertyInfo | None":
        """Return what may stand under `name`, or None."""
        found = self.properties.get(name)
        if found is None:
            found = next((each for pattern, each in self.dynamic if pattern.search(name)), None)
        return found


@dataclass(frozen=True, slots=True)
class PropertyInfo:
    """One property or action parameter. Which optional fields are set follows from `kind`."""

    kind: Kind
    nullable: bool = False
    read_only: bool = False
    writable: bool = False
    """The schema says so in as many words; neither flag: it leaves the question open."""
    write_only: bool = False
    required: bool = False
    """Of an action parameter: it must be given."""
    deprecated: bool = False
    excerpt: bool = False
    """It belongs to an excerpt of the resource."""
    enum: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    link_to: str | None = None
    """Type a link leads to; None means any resource."""
    items: "PropertyInfo | None" = None
    object: ObjectInfo | None = None
    pattern: re.Pattern[str] | None = None
    format: str | None = None
    minimum: float | None = None
    maximum: float | None = None


_NULL = {"type": "null"}
_ID_REF = "odata-v4.json#/$defs/idRef"
_OEM = ("Resource", "Oem")
_LINK = "-link"
_IN_PLACE = ("x-auto-expand", "x-excerpt-copy")
_TYPES = {
    "string": Kind.STRING,
    "integer": Kind.INTEGER,
    "number": Kind.NUMBER,
    "boolean": Kind.BOOLEAN,
}


class PropertyReader:
    """Turns definitions into values; a definition that is used twice is read once.

    `resources` are the names of all resource types: a link to anything else may be the thing
    itself, since it has no URI of its own.
    """

    def __init__(self, definitions: Definitions, resources: frozenset[str]) -> None:
        self._definitions = definitions
        self._resources = resources
        self._objects: dict[tuple[str, str], ObjectInfo] = {}
        self._enums: dict[tuple[str, ...], frozenset[str]] = {}

    def object(self, file: str, name: str) -> ObjectInfo:
        """Return the object that `file` defines under `name`. Raises KeyError."""
        found = self._objects.get((file, name))
        if found is None:
            found = self._object(file, name, self._definitions(file)[name])
            self._objects[file, name] = found
        return found

    def requests(self, file: str, actions: str) -> dict[str, Mapping[str, PropertyInfo]]:
        """Return the parameters of every action that `file` lists in `actions`, by its name."""
        definitions = self._definitions(file)
        found: dict[str, Mapping[str, PropertyInfo]] = {}
        for name in definitions[actions].get("properties", {}):
            action = name.removeprefix("#")
            row = definitions.get(action.rpartition(".")[2], {})
            if action != name and "x-request" in row:
                request = row["x-request"]["$ref"].removeprefix("#/$defs/")
                found[action] = self.object(file, request).properties
            elif action != name:
                found[action] = {}
        return found

    def answering(self, file: str) -> frozenset[str]:
        """Return the bare names of the actions of `file` that answer with a body of their own."""
        definitions = self._definitions(file)
        return frozenset(name for name, row in definitions.items() if "x-response" in row)

    def _object(self, file: str, name: str, definition: Mapping[str, Any]) -> ObjectInfo:
        required = frozenset(definition.get("required", ()))

        def read() -> dict[str, PropertyInfo]:
            return {
                each: self._property(file, schema, each in required)
                for each, schema in definition.get("properties", {}).items()
                if "@" not in each
            }

        def read_dynamic() -> tuple[tuple[re.Pattern[str], PropertyInfo], ...]:
            return tuple(
                (_compiled(pattern), self._property(file, schema))
                for pattern, schema in definition.get("patternProperties", {}).items()
                if schema is not True
            )

        opened = definition.get("additionalProperties", True) is True
        return ObjectInfo(name, opened, read, read_dynamic)

    def _property(self, file: str, row: Mapping[str, Any], required: bool = False) -> PropertyInfo:
        in_place = any(word in row for word in _IN_PLACE)
        declared = row.get("readOnly")
        return PropertyInfo(
            **self._shape(file, row, in_place),
            read_only=declared is True,
            writable=declared is False,
            write_only=row.get("writeOnly", False),
            required=required,
            deprecated="deprecated" in row or "x-deprecated" in row,
            excerpt="x-excerpt" in row,
        )

    def _shape(self, file: str, row: Mapping[str, Any], in_place: bool) -> dict[str, Any]:
        """Return the fields of a PropertyInfo that say what values there can be."""
        if "anyOf" in row:
            others = [each for each in row["anyOf"] if each != _NULL]
            nullable = len(others) < len(row["anyOf"])
            # Several alternatives: resources of different types, all of which have an @odata.id.
            shape = self._shape(file, others[0], in_place) if len(others) == 1 else _ANY_LINK
            return {**shape, "nullable": True} if nullable else shape
        if "$ref" in row:
            return self._referred(file, row["$ref"], in_place)
        types = row.get("type", [])
        types = [types] if isinstance(types, str) else types
        named = [each for each in types if each != "null"]
        return {"nullable": len(named) < len(types), **self._plain(file, row, named, in_place)}

    def _referred(self, file: str, reference: str, in_place: bool) -> dict[str, Any]:
        if reference == _ID_REF:
            return _ANY_LINK
        other, _, name = reference.partition("#/$defs/")
        file = other.removesuffix(".json") or file
        name = name or file
        if name.endswith(_LINK):
            to = name.removesuffix(_LINK)
            whole = in_place or to not in self._resources
            return {
                "kind": Kind.LINK,
                "link_to": to,
                "object": self.object(file, to) if whole else None,
            }
        if (file, name) == _OEM:
            return {"kind": Kind.OEM}
        definition = self._definitions(file).get(name, _OPEN_OBJECT)
        if definition.get("type") == "object":
            opaque = definition is _OPEN_OBJECT
            found = self._object(file, name, definition) if opaque else self.object(file, name)
            return {"kind": Kind.OBJECT, "object": found}
        return self._shape(file, definition, in_place)

    def _plain(
        self, file: str, row: Mapping[str, Any], types: list[str], in_place: bool
    ) -> dict[str, Any]:
        if "enum" in row:
            values = tuple(row["enum"])
            return {
                "kind": Kind.ENUM,
                "enum": self._enums.setdefault(values, frozenset(values)),
            }
        if len(types) != 1:
            return {"kind": Kind.MIXED if types else Kind.ANY, "types": frozenset(types)}
        if types == ["array"]:
            items = row.get("items", {})
            shape = self._shape(file, items, in_place or any(word in items for word in _IN_PLACE))
            return {"kind": Kind.ARRAY, "items": PropertyInfo(**shape)}
        if types == ["object"]:
            return {"kind": Kind.OBJECT, "object": self._object(file, "", row)}
        pattern = row.get("pattern")
        return {
            "kind": _TYPES[types[0]],
            "pattern": None if pattern is None else _compiled(pattern),
            "format": row.get("format"),
            "minimum": row.get("minimum"),
            "maximum": row.get("maximum"),
        }


_ANY_LINK: dict[str, Any] = {"kind": Kind.LINK}
_OPEN_OBJECT: Mapping[str, Any] = {"type": "object"}


def _compiled(pattern: str) -> re.Pattern[str]:
    # In JSON Schema "$" is the very end; in Python a newline may follow. "\\s" in a class is an
    # escape doubled by mistake in DSP8010 2025.4: it would forbid the letter s in header names.
    pattern = pattern.replace(r"\\s", r"\s")
    if pattern.endswith("$") and not pattern.endswith(r"\$"):
        pattern = pattern[:-1] + r"\Z"
    return re.compile(pattern, re.ASCII)
