"""What a property can hold, as facts read from the catalog.

Pure values. Objects may contain themselves, so an ObjectInfo is filled after it is made.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Kind(Enum):
    """The shapes a value can have; the strings are those of catalog.json."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ENUM = "enum"
    LINK = "link"
    ARRAY = "array"
    OBJECT = "object"
    OEM = "oem"
    ANY = "any"


@dataclass(slots=True)
class ObjectInfo:
    """A complex type: its properties; `open` if it takes any further ones."""

    name: str
    properties: Mapping[str, "PropertyInfo"] = field(default_factory=dict)
    open: bool = False


@dataclass(frozen=True, slots=True)
class PropertyInfo:
    """One property or action parameter. Which optional fields are set follows from `kind`."""

    kind: Kind
    nullable: bool = False
    read_only: bool = False
    write_only: bool = False
    required: bool = False
    """Of an action parameter: it must be given."""
    deprecated: bool = False
    enum: frozenset[str] = frozenset()
    link_to: str | None = None
    """Type a link leads to; None means any resource."""
    items: "PropertyInfo | None" = None
    object: ObjectInfo | None = None
    pattern: re.Pattern[str] | None = None
    format: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    length_min: int | None = None
    length_max: int | None = None


class PropertyReader:
    """Turns catalog.json's rows into PropertyInfo values; shares what they share."""

    def __init__(self, enums: Mapping[str, list[str]], objects: Mapping[str, Any]) -> None:
        self._enums = {name: frozenset(values) for name, values in enums.items()}
        self.objects = {name: ObjectInfo(name) for name in objects}
        for name, raw in objects.items():
            info = self.objects[name]
            info.properties = self.properties(raw["properties"])
            info.open = bool(raw.get("open"))

    def properties(self, raw: Mapping[str, Any]) -> dict[str, PropertyInfo]:
        """Return the properties of one object or type."""
        return {name: self._property(row) for name, row in raw.items()}

    def _property(self, row: Mapping[str, Any]) -> PropertyInfo:
        kind = Kind(row["type"])
        of = str(row.get("of", ""))
        pattern = row.get("pattern")
        return PropertyInfo(
            kind=kind,
            nullable=row.get("null", False),
            read_only=row.get("readonly", False),
            write_only=row.get("writeonly", False),
            required=row.get("required", False),
            deprecated=row.get("deprecated", False),
            enum=self._enums[of] if kind is Kind.ENUM else frozenset(),
            link_to=of or None if kind is Kind.LINK else None,
            items=self._property(row["items"]) if kind is Kind.ARRAY else None,
            object=self.objects[of] if kind is Kind.OBJECT else None,
            pattern=None if pattern is None else re.compile(pattern, re.ASCII),
            format=row.get("format"),
            minimum=row.get("minimum"),
            maximum=row.get("maximum"),
            length_min=row.get("minLength"),
            length_max=row.get("maxLength"),
        )
