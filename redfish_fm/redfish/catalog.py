"""What the standard's schemas say, as facts: types, properties, URIs, verbs, actions; and what
this service does with them (creatable, writable, deletable).

Reads schemas/catalog.json (facts of DSP8010) and schemas/service.json (ours). Knows no request
and no resource. Matching a URI costs one dict look-up per segment.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from redfish_fm.redfish.properties import ObjectInfo, PropertyInfo, PropertyReader


@dataclass(frozen=True, slots=True)
class ActionInfo:
    """One action as the schema describes it. `name` is "Zone.AddEndpoint" style."""

    name: str
    parameters: Mapping[str, PropertyInfo]
    supported: bool
    """Whether this service carries it out; others are answered ActionNotSupported."""


@dataclass(frozen=True, slots=True)
class CreateTable:
    """What a POST may name. Paths are dotted ("Links.Endpoints"); `refused` gives the reason.

    A required array must also not be empty.
    """

    required: frozenset[str]
    optional: frozenset[str]
    refused: Mapping[str, str]
    collections: frozenset[str]
    """URI templates of the collections where the type can be created."""


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """One resource type. For a collection type `member` names the type of its members."""

    name: str
    version: str | None
    odata_type: str
    schema_uri: str
    uris: tuple[str, ...]
    insertable: bool
    updatable: bool
    deletable: bool
    member: str | None = None
    properties: Mapping[str, PropertyInfo] = field(default_factory=dict)
    actions: Mapping[str, ActionInfo] = field(default_factory=dict)
    create: CreateTable | None = None
    writable_here: frozenset[str] = frozenset()
    """Dotted paths a client may PATCH in a resource of Origin.WANTED; nothing else."""
    overlay_here: frozenset[str] = frozenset()
    """Dotted paths a client may PATCH in a resource of another origin; nothing else."""
    deletable_here: bool = False
    derived: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """Inverse links: dotted path -> (type, dotted path) of the links it mirrors."""

    @property
    def collection(self) -> bool:
        """Return whether this is a resource collection."""
        return self.member is not None


class CatalogPart(Enum):
    """The two files a catalog is made of."""

    FACTS = "catalog.json"
    SERVICE = "service.json"


class _Node:
    """One URI segment: literal children, then the parameter child."""

    __slots__ = ("children", "found", "parameter")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.found: tuple[TypeInfo, str] | None = None


class Catalog:
    """All types this service knows, by name and by URI. Immutable once made."""

    def __init__(self, facts: Mapping[str, Any], service: Mapping[str, Any]) -> None:
        self.bundle = str(facts["bundle"])
        self.roles: Mapping[str, frozenset[str]] = {
            name: frozenset(privileges) for name, privileges in service["roles"].items()
        }
        self.role_privileges: Mapping[str, tuple[str, ...]] = {
            name: tuple(privileges) for name, privileges in service["roles"].items()
        }
        self.task_monitor = str(service["task_monitor"])
        reader = PropertyReader(facts["enums"], facts["objects"])
        self.objects: Mapping[str, ObjectInfo] = reader.objects
        self.types: Mapping[str, TypeInfo] = {
            name: _type_info(name, raw, service["types"].get(name, {}), reader)
            for name, raw in facts["types"].items()
        }
        unknown = service["types"].keys() - self.types.keys()
        if unknown:
            raise ValueError(f"service.json names unknown types: {sorted(unknown)}")
        self._tree = _Node()
        for info in self.types.values():
            for template in info.uris:
                self._plant(template.rstrip("/"), info)

    @classmethod
    def load(cls, directory: Path) -> "Catalog":
        """Read the two files in `directory`. Raises OSError, ValueError or KeyError."""
        facts, service = (
            json.loads((directory / part.value).read_text("utf-8")) for part in CatalogPart
        )
        return cls(facts, service)

    def type_of(self, uri: str) -> TypeInfo | None:
        """Return the type that the schemas place at `uri` (no trailing slash)."""
        found = self._match(uri)
        return None if found is None else found[0]

    def template_of(self, uri: str) -> str | None:
        """Return the URI template that `uri` fits, "/redfish/v1/Fabrics/{FabricId}" style."""
        found = self._match(uri)
        return None if found is None else found[1]

    def uri_of(self, type_name: str) -> str:
        """Return the one URI of a type that exists once, such as "SessionCollection".

        Raises KeyError for an unknown type, ValueError for one with a template.
        """
        uri = self.types[type_name].uris[0]
        if "{" in uri:
            raise ValueError(f"{type_name} has no fixed URI")
        return uri

    def ancestors(self, uri: str) -> tuple[str, ...]:
        """Return the types above `uri`, outermost first, those unknown left out."""
        parts = uri.split("/")
        above = ("/".join(parts[:end]) for end in range(3, len(parts)))
        return tuple(info.name for each in above if (info := self.type_of(each)) is not None)

    def monitor_of(self, task_uri: str) -> str:
        """Return the task monitor's URI of a Task."""
        return self.task_monitor.replace("{TaskId}", task_uri.rsplit("/", 1)[-1])

    def task_of(self, monitor_uri: str) -> str | None:
        """Return the Task's URI of a task monitor, or None where `monitor_uri` is not one."""
        prefix = self.task_monitor.removesuffix("{TaskId}")
        name = monitor_uri.removeprefix(prefix)
        if name == monitor_uri or not name or "/" in name:
            return None
        return f"{self.uri_of('TaskCollection')}/{name}"

    def _plant(self, template: str, info: TypeInfo) -> None:
        node = self._tree
        for segment in template.split("/"):
            if segment.startswith("{"):
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.children.setdefault(segment, _Node())
        node.found = node.found or (info, template)

    def _match(self, uri: str) -> tuple[TypeInfo, str] | None:
        nodes = [self._tree]
        for segment in uri.split("/"):
            below = [child for node in nodes if (child := node.children.get(segment))]
            if segment:
                below += [node.parameter for node in nodes if node.parameter is not None]
            if not below:
                return None
            nodes = below
        return next((node.found for node in nodes if node.found is not None), None)


def _type_info(
    name: str, raw: Mapping[str, Any], ours: Mapping[str, Any], reader: PropertyReader
) -> TypeInfo:
    version = raw.get("version")
    return TypeInfo(
        name=name,
        version=version,
        odata_type=f"#{name}.{version}.{name}" if version else f"#{name}.{name}",
        schema_uri=raw["schema"],
        uris=tuple(raw["uris"]),
        insertable=raw["insertable"],
        updatable=raw["updatable"],
        deletable=raw["deletable"],
        member=raw.get("member"),
        properties=reader.properties(raw.get("properties", {})),
        actions=_actions(raw.get("actions", {}), ours.get("actions", ()), reader),
        create=_create_table(ours),
        writable_here=frozenset(ours.get("writable", ())),
        overlay_here=frozenset(ours.get("overlay", ())),
        deletable_here=bool(ours.get("deletable")) and raw["deletable"],
        derived={
            path: tuple((source, link) for source, link in sources)
            for path, sources in ours.get("derived", {}).items()
        },
    )


def _actions(
    raw: Mapping[str, Any], supported: list[str], reader: PropertyReader
) -> dict[str, ActionInfo]:
    unknown = set(supported) - raw.keys()
    if unknown:
        raise ValueError(f"service.json names unknown actions: {sorted(unknown)}")
    return {
        name: ActionInfo(name, reader.properties(parameters), name in supported)
        for name, parameters in raw.items()
    }


def _create_table(ours: Mapping[str, Any]) -> CreateTable | None:
    if "create" not in ours:
        return None
    create = ours["create"]
    return CreateTable(
        frozenset(create["required"]),
        frozenset(create["optional"]),
        dict(create["refused"]),
        frozenset(ours["collections"]),
    )
