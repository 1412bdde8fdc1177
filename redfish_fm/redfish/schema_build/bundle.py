"""Sorts the files of the bundles: which schema, CSDL and registry is the newest of its name.

Knows how the bundles name their files and how a schema or registry is told from other JSON
(profiles and mockups have similar names). Knows nothing of what a schema says.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redfish_fm.redfish.schema_build.errors import SchemaBuildError
from redfish_fm.redfish.schema_build.sources import read_files
from redfish_fm.redfish.schema_build.versions import Version, parse_version, schema_version

JsonObject = dict[str, Any]

_WANTED = re.compile(r"(?!index\.json)[A-Za-z][\w.-]*\.(?:json|xml)")
_CSDL = re.compile(r"([A-Za-z]\w*)_v\d+\.xml")
_VERSIONED = re.compile(r"([A-Za-z][\w-]*)\.(v\d+_\d+_\d+)\.json")
_UNVERSIONED = re.compile(r"([A-Za-z][\w-]*)\.json")
_REGISTRY = re.compile(r"([A-Za-z]\w*)\.(\d+\.\d+\.\d+)\.json")
_PRIVILEGES = re.compile(r"Redfish_(\d+\.\d+\.\d+)_PrivilegeRegistry\.json")
_NONE: Version = (0, 0, 0)
_URI = b'"/redfish/v1/'
_LISTED = re.compile(r"\.(v\d+_\d+_\d+)\.json#")


@dataclass(frozen=True, slots=True)
class Bundle:
    """The newest file of each kind and name, parsed; CSDL as text."""

    versioned: Mapping[str, tuple[Version, JsonObject]]
    unversioned: Mapping[str, JsonObject]
    csdl: Mapping[str, str]
    registries: Mapping[str, JsonObject]
    """Message registries by prefix."""
    privileges: JsonObject


@dataclass(slots=True)
class _Candidates:
    """What was found so far. Among equals the first one found stays."""

    versioned: dict[str, tuple[Version, bytes]] = field(default_factory=dict)
    unversioned: dict[str, tuple[Version, bytes]] = field(default_factory=dict)
    csdl: dict[str, bytes] = field(default_factory=dict)
    registries: dict[str, tuple[Version, bytes]] = field(default_factory=dict)
    privileges: dict[str, tuple[Version, bytes]] = field(default_factory=dict)

    def take(self, file_name: str, content: bytes) -> None:
        """Keep the file if it is the newest of its name."""
        if found := _CSDL.fullmatch(file_name):
            self.csdl.setdefault(found[1], content)
        elif found := _VERSIONED.fullmatch(file_name):
            _keep_newest(self.versioned, found[1], parse_version(found[2]), content)
        elif found := _UNVERSIONED.fullmatch(file_name):
            self._take_unversioned(found[1], content)
        elif found := _REGISTRY.fullmatch(file_name):
            _keep_newest(self.registries, found[1], parse_version(found[2]), content)
        elif found := _PRIVILEGES.fullmatch(file_name):
            _keep_newest(self.privileges, "", parse_version(found[1]), content)

    def _take_unversioned(self, name: str, content: bytes) -> None:
        # Two bundles may hold a schema of one name. The one that lists the newer version is the
        # newer; collections list none, and there it is the one that knows more URIs.
        listed = _newest_listed(content)
        if name in self.unversioned:
            kept_version, kept = self.unversioned[name]
            if (listed, content.count(_URI)) <= (kept_version, kept.count(_URI)):
                return
        self.unversioned[name] = (listed, content)


def read_bundle(sources: Iterable[Path]) -> Bundle:
    """Return the newest of everything that `sources` hold. Raises SchemaBuildError."""
    found = _Candidates()
    for file_name, content in read_files(sources, _WANTED):
        found.take(file_name, content)
    _check_newest(found)
    bundle = Bundle(
        versioned={
            name: (version, schema)
            for name, (version, content) in found.versioned.items()
            if (schema := _schema(f"{name}.json", content)) is not None
        },
        unversioned={
            name: schema
            for name, (_, content) in found.unversioned.items()
            if (schema := _schema(f"{name}.json", content)) is not None
        },
        csdl={name: _text(name, content) for name, content in found.csdl.items()},
        registries={
            name: registry
            for name, (_, content) in found.registries.items()
            if "Messages" in (registry := _object(name, content))
        },
        privileges=_privileges(found.privileges),
    )
    _check_complete(bundle)
    return bundle


def _check_newest(found: _Candidates) -> None:
    missing = [
        f"{name} {schema_version(listed)}"
        for name, (listed, _) in sorted(found.unversioned.items())
        if listed > found.versioned.get(name, (_NONE, b""))[0]
    ]
    if missing:
        raise SchemaBuildError(f"named by the bundles but not in them: {', '.join(missing)}")


def _keep_newest(
    kept: dict[str, tuple[Version, bytes]], name: str, version: Version, content: bytes
) -> None:
    if name not in kept or kept[name][0] < version:
        kept[name] = (version, content)


def _newest_listed(content: bytes) -> Version:
    listed = _LISTED.findall(content.decode("utf-8", "replace"))
    return max(map(parse_version, listed), default=_NONE)


def _schema(name: str, content: bytes) -> JsonObject | None:
    """Return a schema of the standards, or None for any other JSON and for the meta-schemas."""
    parsed = _object(name, content)
    dialect = str(parsed.get("$schema", ""))
    return parsed if "/redfish-schema" in dialect and not name.startswith("redfish-sch") else None


def _privileges(found: Mapping[str, tuple[Version, bytes]]) -> JsonObject:
    if not found:
        raise SchemaBuildError("no Redfish_x.y.z_PrivilegeRegistry.json in the bundles")
    return _object("PrivilegeRegistry", found[""][1])


def _object(name: str, content: bytes) -> JsonObject:
    try:
        parsed = json.loads(content)
    except ValueError as error:
        raise SchemaBuildError(f"{name} is not JSON: {error}") from error
    return parsed if isinstance(parsed, dict) else {}


def _text(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SchemaBuildError(f"{name}_v1.xml is not UTF-8: {error}") from error


def _check_complete(bundle: Bundle) -> None:
    for kind, found in (
        ("JSON schemas", bundle.unversioned),
        ("CSDL", bundle.csdl),
        ("message registries", bundle.registries),
    ):
        if not found:
            raise SchemaBuildError(f"no {kind} in the bundles")
