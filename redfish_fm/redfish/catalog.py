"""What the standard's schemas say, as facts: types, properties, URIs, verbs, actions; and what
this service does with them (creatable, writable, deletable).

Reads schemas/types (facts of DSP8010 and Swordfish) and schemas/service.json (ours). Knows no
request and no resource. All types are known at start; the properties of one are read when they
are first asked for.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from redfish_fm.redfish import oem
from redfish_fm.redfish.properties import Kind, ObjectInfo, PropertyInfo, PropertyReader
from redfish_fm.redfish.service_table import CreateTable, ServiceRow, service_row
from redfish_fm.redfish.uri_tree import UriTree

TYPES_FOLDER = "types"
SERVICE_FILE = "service.json"


@dataclass(frozen=True, slots=True)
class ActionInfo:
    """One action as the schema describes it. `name` is "Zone.AddEndpoint" style."""

    name: str
    parameters: Mapping[str, PropertyInfo]
    supported: bool
    """Whether this service carries it out; others are answered ActionNotSupported."""
    answers: bool = False
    """Whether it answers with a body of its own."""
    oem: bool = False
    """Whether it is our own: then it stands below Oem (DSP0266 "OEM actions")."""

    @property
    def path(self) -> str:
        """What stands behind /Actions/ in its URI."""
        return f"Oem/{self.name}" if self.oem else self.name


@dataclass(frozen=True, eq=False)
class TypeInfo:
    """One resource type. For a collection type `member` names the type of its members."""

    name: str
    version: str | None
    odata_type: str
    """"#Zone.v1_6_3.Zone": the newest version, which this service's own resources have."""
    schema_uri: str
    """The published JSON schema of all versions, which `Link: describedby` names."""
    publication_uri: str
    """The published JSON schema of `odata_type`."""
    csdl_uri: str
    """The published CSDL file, with all versions."""
    uris: tuple[str, ...]
    uris_deprecated: tuple[str, ...]
    insertable: bool
    updatable: bool
    deletable: bool
    member: str | None
    row: ServiceRow
    versions: frozenset[str]
    """All that were ever published, "v1_6_3" style."""
    _file: str
    _reader: PropertyReader
    _overlay: tuple[str, ...]

    @property
    def collection(self) -> bool:
        """Return whether this is a resource collection."""
        return self.member is not None

    @property
    def namespace(self) -> str:
        """The OData namespace of `odata_type`: "Zone.v1_6_3"."""
        return self.odata_type.lstrip("#").rpartition(".")[0]

    @property
    def create(self) -> CreateTable | None:
        """What a POST may name, or None where we make none of these."""
        return self.row.create

    @property
    def writable_here(self) -> frozenset[str]:
        """Dotted paths a client may PATCH in a resource of a changeable Origin; nothing else."""
        return self.row.writable

    @property
    def deletable_here(self) -> bool:
        """Whether a client may delete one where it is not fixed."""
        return self.row.deletable and self.deletable

    @property
    def derived(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """Inverse links: dotted path -> (type, dotted path) of the links it mirrors."""
        return self.row.derived

    @cached_property
    def object(self) -> ObjectInfo:
        """The type as an object."""
        return self._reader.object(self._file, self.name)

    @property
    def properties(self) -> Mapping[str, PropertyInfo]:
        """The properties by name, annotations left out."""
        return self.object.properties

    @cached_property
    def actions(self) -> Mapping[str, ActionInfo]:
        """The actions by path, "Zone.AddEndpoint" style; of makers' only our own."""
        listed = self.properties.get("Actions")
        if listed is None or listed.object is None:
            return {}
        ours = (
            ActionInfo(name, dict.fromkeys(parameters, _LINK), True, answers=True, oem=True)
            for name, parameters in self.row.oem_actions.items()
        )
        requests = self._reader.requests(self._file, listed.object.name)
        unknown = self.row.actions - requests.keys() - self.row.oem_actions.keys()
        if unknown:
            raise ValueError(f"{SERVICE_FILE} names unknown actions: {sorted(unknown)}")
        answering = self._reader.answering(self._file)
        standard = {
            name: ActionInfo(
                name,
                self._limited(name, request),
                name in self.row.actions,
                name.rpartition(".")[2] in answering,
            )
            for name, request in requests.items()
        }
        return {**standard, **{action.path: action for action in ours}}

    def _limited(
        self, action: str, request: Mapping[str, PropertyInfo]
    ) -> Mapping[str, PropertyInfo]:
        """Return the parameters with the values that they may have here, and then must have."""
        limited = {
            name: replace(request[name], enum=values, required=True)
            for name, values in self.row.values.get(action, {}).items()
        }
        return {**request, **limited}

    @cached_property
    def overlay_here(self) -> frozenset[str]:
        """Dotted paths a client may PATCH in a resource of another origin; nothing else."""
        declared = {path for path in self._overlay if declared_writable(self.find(path))}
        return frozenset(declared) | self.row.overlay

    def find(self, path: str) -> PropertyInfo | None:
        """Return the property at a dotted path, or None."""
        found, below = None, self.object
        for name in path.split("."):
            found = below.properties.get(name)
            if found is None:
                return None
            below = found.object or _NOTHING
        return found


_LINK = PropertyInfo(Kind.LINK, required=True)
_NOTHING = ObjectInfo("", False, dict, tuple)


def declared_writable(info: PropertyInfo | None) -> bool:
    """Return whether the schema lets a client set it: itself, or all that an object holds."""
    if info is None or info.read_only or (info.deprecated and info.object is not None):
        return False
    if info.writable:
        return True
    inner = info.items if info.items is not None else info
    if inner.object is None:
        return False
    return all(declared_writable(each) for each in inner.object.properties.values())


class _ResourceFacts(msgspec.Struct):
    """One row of x-resources."""

    odata_type: str
    insertable: bool
    updatable: bool
    deletable: bool
    uris: list[str]
    uris_deprecated: list[str] = []
    member: str | None = None


class _Version(msgspec.Struct):
    """One row of x-versions: "v1_6" and its errata."""

    errata: list[int]


class _File(msgspec.Struct):
    """The head of one type file; its definitions stay text until they are asked for."""

    published: str | None = msgspec.field(name="x-schema", default=None)
    csdl: str | None = msgspec.field(name="x-csdl", default=None)
    version: str | None = msgspec.field(name="x-version", default=None)
    versions: dict[str, _Version] = msgspec.field(name="x-versions", default_factory=dict)
    resources: dict[str, _ResourceFacts] = msgspec.field(name="x-resources", default_factory=dict)
    definitions: msgspec.Raw = msgspec.field(name="$defs", default=msgspec.Raw(b"{}"))


class Catalog:
    """All types this service knows, by name and by URI. Immutable once made."""

    def __init__(
        self,
        files: Mapping[str, bytes],
        service: Mapping[str, Any],
        oem_csdl: Mapping[str, bytes] | None = None,
    ) -> None:
        self.oem_csdl = oem_csdl or {}
        decoder = msgspec.json.Decoder(_File)
        self._files = {name: decoder.decode(text) for name, text in files.items()}
        self._definitions: dict[str, Mapping[str, Any]] = {}
        self.service = service
        self.roles: Mapping[str, frozenset[str]] = {
            name: frozenset(privileges) for name, privileges in service["roles"].items()
        }
        self.role_privileges: Mapping[str, tuple[str, ...]] = {
            name: tuple(privileges) for name, privileges in service["roles"].items()
        }
        self.task_monitor = str(service["task_monitor"])
        self.action_info = str(service["action_info"])
        self.account_privilege_map = str(service["privilege_map"])
        self.types: Mapping[str, TypeInfo] = dict(self._type_infos(service))
        unknown = service["types"].keys() - self.types.keys()
        if unknown:
            raise ValueError(f"{SERVICE_FILE} names unknown types: {sorted(unknown)}")
        self._tree: UriTree[TypeInfo] = UriTree()
        for info in self.types.values():
            for template in (*info.uris, *info.uris_deprecated):
                self._tree.plant(template, info)

    @classmethod
    def load(cls, directory: Path) -> "Catalog":
        """Read the files in `directory`. Raises OSError, ValueError or KeyError."""
        folder = directory / TYPES_FOLDER
        files = {path.stem: path.read_bytes() for path in sorted(folder.glob("*.json"))}
        service = msgspec.json.decode((directory / SERVICE_FILE).read_bytes())
        return cls(files, service, oem.load(directory))

    def type_of(self, uri: str) -> TypeInfo | None:
        """Return the type that the schemas place at `uri` (no trailing slash)."""
        found = self._tree.match(uri)
        return None if found is None else found[0]

    def template_of(self, uri: str) -> str | None:
        """Return the URI template that `uri` fits, "/redfish/v1/Fabrics/{FabricId}" style."""
        found = self._tree.match(uri)
        return None if found is None else found[1]

    def uri_of(self, type_name: str) -> str:
        """Return the one URI of a type that exists once, such as "SessionCollection".

        Raises KeyError for an unknown type, ValueError for one whose URIs are all templates.
        """
        fixed = [uri for uri in self.types[type_name].uris if "{" not in uri]
        if not fixed:
            raise ValueError(f"{type_name} has no fixed URI")
        return fixed[0]

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

    def definitions(self, file: str) -> Mapping[str, Any]:
        """Return the `$defs` of a type file, parsed once. Raises KeyError."""
        found = self._definitions.get(file)
        if found is None:
            found = self._definitions[file] = msgspec.json.decode(self._files[file].definitions)
        return found

    def _type_infos(self, service: Mapping[str, Any]) -> Iterator[tuple[str, TypeInfo]]:
        names = frozenset(name for file in self._files.values() for name in file.resources)
        reader = PropertyReader(self.definitions, names)
        overlay = tuple(service["overlay"]["paths"])
        for stem, file in self._files.items():
            published = file.published or ""
            versions = frozenset(
                f"{minor}_{errata}" for minor, row in file.versions.items() for errata in row.errata
            )
            for name, facts in file.resources.items():
                yield (
                    name,
                    TypeInfo(
                        name=name,
                        version=file.version,
                        odata_type=facts.odata_type,
                        schema_uri=f"{published.rpartition('/')[0]}/{stem}.json",
                        publication_uri=published,
                        csdl_uri=file.csdl or "",
                        uris=_templates(facts.uris),
                        uris_deprecated=_templates(facts.uris_deprecated),
                        insertable=facts.insertable,
                        updatable=facts.updatable,
                        deletable=facts.deletable,
                        member=facts.member,
                        row=service_row(service["types"].get(name, {})),
                        versions=versions,
                        _file=stem,
                        _reader=reader,
                        _overlay=overlay,
                    ),
                )


def _templates(uris: list[str]) -> tuple[str, ...]:
    # The service root stands there with and without its slash.
    return tuple(dict.fromkeys(uri.rstrip("/") for uri in uris))
