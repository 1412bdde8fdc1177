"""The schemas folder as a whole: which files there are, writing them, comparing them.

Knows the file system of the target folder. Only the files it generates are touched: types/,
registries/ and privilege_map.json; the rest of the folder is written by hand.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from redfish_fm.redfish.schema_build.actions import ACTION_FILE, action_file, is_action
from redfish_fm.redfish.schema_build.bundle import Bundle, JsonObject, read_bundle
from redfish_fm.redfish.schema_build.csdl import read_csdl
from redfish_fm.redfish.schema_build.errors import SchemaBuildError
from redfish_fm.redfish.schema_build.layout import dumps, schema_order
from redfish_fm.redfish.schema_build.references import References, find_linkable
from redfish_fm.redfish.schema_build.registries import PREFIXES, privilege_file, registry_file
from redfish_fm.redfish.schema_build.resources import DIALECT, Published, type_file

PRIVILEGE_MAP = "privilege_map.json"

_FOLDERS = ("types", "registries")
# "odata" and "redfish-payload-annotations" are also published under the names refs use, "…-v4"
# and "…-v1"; the versioned names would only double them.
_DOUBLED = frozenset({"odata", "redfish-payload-annotations"})
# Not OData types, hence not in the CSDL.
_WITHOUT_CSDL = frozenset({"odata-v4", "redfish-error", "redfish-payload-annotations-v1"})


def build(sources: Iterable[Path]) -> dict[str, str]:
    """Return path in the folder -> text of every generated file, sorted by path.

    Raises SchemaBuildError if the bundles are broken, incomplete or say what is not understood.
    """
    bundle = read_bundle(sources)
    types = _type_files(bundle)
    _check_references(types)
    files = {f"types/{name}.json": dumps(schema_order(file)) for name, file in types.items()}
    for prefix in PREFIXES:
        if prefix not in bundle.registries:
            raise SchemaBuildError(f"no {prefix}.x.y.z.json in the bundles")
        files[f"registries/{prefix}.json"] = dumps(registry_file(bundle.registries[prefix]))
    files[PRIVILEGE_MAP] = dumps(privilege_file(bundle.privileges))
    return dict(sorted(files.items()))


def write(files: Mapping[str, str], folder: Path) -> None:
    """Make `folder` hold exactly `files`, as far as generated files go. Raises OSError."""
    for stale in _generated(folder) - files.keys():
        (folder / stale).unlink()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def differences(files: Mapping[str, str], folder: Path) -> list[str]:
    """Return the generated files of `folder` that are missing, superfluous or not as built."""
    there = _generated(folder)
    differing = {
        name
        for name in files.keys() & there
        if (folder / name).read_bytes() != files[name].encode()
    }
    return sorted((files.keys() ^ there) | differing)


def _generated(folder: Path) -> set[str]:
    found = {f"{part}/{path.name}" for part in _FOLDERS for path in (folder / part).glob("*.json")}
    return found | ({PRIVILEGE_MAP} if (folder / PRIVILEGE_MAP).exists() else set())


def _type_files(bundle: Bundle) -> dict[str, JsonObject]:
    linkable = find_linkable(bundle.unversioned)
    names = (bundle.unversioned.keys() | bundle.versioned.keys()) - _DOUBLED
    missing = sorted(names - bundle.csdl.keys() - _WITHOUT_CSDL)
    if missing:
        raise SchemaBuildError(f"no CSDL in the bundles for {', '.join(missing)}")
    files = {
        name: type_file(
            Published(
                name,
                bundle.unversioned.get(name, {}),
                bundle.versioned.get(name),
                read_csdl(name, bundle.csdl[name]) if name in bundle.csdl else None,
                linkable,
            )
        )
        for name in sorted(names)
    }
    return files | {ACTION_FILE: _shared_action(bundle)}


def _shared_action(bundle: Bundle) -> JsonObject:
    """Return the shape that every action has, after making sure that all have the same."""
    shapes = [
        action_file(definition, References(name, True, frozenset()))
        for name, (_, schema) in sorted(bundle.versioned.items())
        for definition in schema.get("definitions", {}).values()
        if is_action(definition)
    ]
    if not shapes or any(shape != shapes[0] for shape in shapes):
        raise SchemaBuildError("the actions of the bundles are not all of one shape")
    return {"$schema": DIALECT, "$id": f"{ACTION_FILE}.json", **shapes[0]}


def _check_references(types: Mapping[str, JsonObject]) -> None:
    broken = sorted(
        {
            f"{name}.json: {reference}"
            for name, file in types.items()
            for reference in _references(file)
            if not _resolves(types, name, reference)
        }
    )
    if broken:
        raise SchemaBuildError("references lead nowhere: " + "; ".join(broken))


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str):
            yield reference
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _references(each)


def _resolves(types: Mapping[str, JsonObject], name: str, reference: str) -> bool:
    file, _, definition = reference.partition("#/$defs/")
    target = types.get(file.removesuffix(".json") or name)
    return target is not None and (not definition or definition in target.get("$defs", {}))
