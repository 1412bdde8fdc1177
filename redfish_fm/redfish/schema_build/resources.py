"""One of our type files from the published files of one type.

Pure. Merges the newest version's definitions with the unversioned ones (enumerations, links,
collections, URIs, capabilities) and adds what only the CSDL knows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from redfish_fm.redfish.schema_build.actions import action_facts, is_action
from redfish_fm.redfish.schema_build.bundle import JsonObject
from redfish_fm.redfish.schema_build.csdl import Csdl
from redfish_fm.redfish.schema_build.errors import SchemaBuildError
from redfish_fm.redfish.schema_build.facts import facts
from redfish_fm.redfish.schema_build.references import (
    ID_REF,
    References,
    is_link,
    link_name,
    versions_only,
)
from redfish_fm.redfish.schema_build.versions import Version, minor_version, schema_version

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_CAPABILITIES = ("insertable", "updatable", "deletable")


@dataclass(frozen=True, slots=True)
class Published:
    """What the bundles hold of one type. A type without versions has no `newest`."""

    name: str
    unversioned: JsonObject
    newest: tuple[Version, JsonObject] | None
    csdl: Csdl | None
    linkable: frozenset[tuple[str, str]]

    @property
    def current(self) -> JsonObject:
        """The file that defines the type: the newest version, or the only one there is."""
        return self.unversioned if self.newest is None else self.newest[1]


def type_file(published: Published) -> JsonObject:
    """Return our file of one type, in the order in which it is to be read."""
    name = published.name
    definitions = _definitions(published)
    result: JsonObject = {"$schema": DIALECT, "$id": f"{name}.json"}
    if name in definitions:
        result["$ref"] = f"#/$defs/{name}"
    result |= _deprecated(published.unversioned.get("definitions", {}).get(name, {}))
    result |= _origin(published)
    resources = dict(_resources(published, definitions))
    if resources:
        result["x-resources"] = resources
    # The annotations' own file has no definitions but members of any object.
    for keyword in ("properties", "patternProperties"):
        if keyword in published.current:
            of = References(name, True, published.linkable)
            result |= facts({keyword: published.current[keyword]}, of)
    if definitions:
        result["$defs"] = dict(sorted(definitions.items()))
    return result


def _definitions(published: Published) -> dict[str, JsonObject]:
    unversioned = References(published.name, False, published.linkable)
    result: dict[str, JsonObject] = {}
    for name, definition in published.unversioned.get("definitions", {}).items():
        if is_link(definition):
            result[link_name(name)] = {"anyOf": [{"$ref": ID_REF}, {"$ref": f"#/$defs/{name}"}]}
        if not versions_only(definition):
            result |= _definition(name, _without_link(definition), unversioned)
    if published.newest is not None:
        versioned = References(published.name, True, published.linkable)
        for name, definition in published.newest[1].get("definitions", {}).items():
            result |= _definition(name, definition, versioned)
    _mark_contained(published.csdl, result)
    return result


def _definition(
    name: str, definition: Mapping[str, Any], references: References
) -> dict[str, JsonObject]:
    if is_action(definition):
        return action_facts(name, definition, references)
    return {name: facts(definition, references)}


def _without_link(definition: JsonObject) -> Mapping[str, Any]:
    """Return the inline alternative of a collection, or the definition as it is."""
    others = [each for each in definition.get("anyOf", ()) if "idRef" not in each.get("$ref", "")]
    if is_link(definition) and len(others) == 1:
        return dict(others[0])
    return definition


def _mark_contained(csdl: Csdl | None, definitions: Mapping[str, JsonObject]) -> None:
    for owner, name in csdl.contained if csdl else ():
        link = definitions.get(owner, {}).get("properties", {}).get(name)
        if isinstance(link, dict):
            link["x-contained"] = True


def _deprecated(definition: Mapping[str, Any]) -> JsonObject:
    if "versionDeprecated" not in definition:
        return {}
    return {"deprecated": True, "x-deprecated": definition["versionDeprecated"]}


def _origin(published: Published) -> JsonObject:
    current = published.current
    result: JsonObject = {}
    if published.newest is not None:
        result["x-version"] = schema_version(published.newest[0])
    if "release" in current:
        result["x-release"] = current["release"]
    if "owningEntity" in current:
        result["x-owner"] = current["owningEntity"]
    place = str(current["$id"])
    result["x-schema"] = place
    if published.csdl is not None:
        result["x-csdl"] = f"{place.rpartition('/')[0]}/{published.name}_v1.xml"
        if published.csdl.releases:
            result["x-versions"] = _versions(published.csdl)
    return result


def _versions(csdl: Csdl) -> JsonObject:
    result: JsonObject = {}
    for version in sorted(csdl.releases):
        row = result.setdefault(minor_version(version), {"errata": []})
        row["errata"].append(version[2])
        if (release := csdl.releases[version]) is not None:
            row.setdefault("release", release)
    return result


def _resources(
    published: Published, definitions: Mapping[str, JsonObject]
) -> Iterator[tuple[str, JsonObject]]:
    version = "" if published.newest is None else f".{schema_version(published.newest[0])}"
    for name, definition in sorted(published.unversioned.get("definitions", {}).items()):
        if "insertable" not in definition:
            continue
        deprecated = definition.get("urisDeprecated", [])
        row: JsonObject = {"odata_type": f"#{published.name}{version}.{name}"}
        members = definitions[name].get("properties", {}).get("Members")
        if members is not None:
            row["member"] = _member(published.name, members)
        row |= {capability: definition[capability] for capability in _CAPABILITIES}
        row["uris"] = [uri for uri in definition.get("uris", ()) if uri not in deprecated]
        if deprecated:
            row["uris_deprecated"] = deprecated
        yield name, row


def _member(name: str, members: Mapping[str, Any]) -> str:
    file, _, definition = members["items"]["$ref"].removesuffix("-link").partition("#/$defs/")
    if not definition:
        raise SchemaBuildError(f"{name}: what its members are is not understood")
    stem = file.removesuffix(".json")
    return definition if definition == stem else f"{stem}.{definition}"
