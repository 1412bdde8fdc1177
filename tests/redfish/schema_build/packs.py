"""The reference packs, read without the code under test, and the judge made from them."""

import json
import re
import tarfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.jsonschema import DRAFT7, DRAFT202012

DMTF = "http://redfish.dmtf.org/schemas/v1/"
SCHEMA_PACKS = ("dmtf-2025.4-json-schema-latest", "snia-swordfish-1.2.7-schemas")
CSDL_PACKS = ("dmtf-2025.4-csdl", "snia-swordfish-1.2.7-schemas")
REGISTRY_PACK = "dmtf-2025.4-registries-latest"
PACKS = (*CSDL_PACKS, "dmtf-2025.4-json-schema-latest", REGISTRY_PACK)
_PROSE = frozenset({"description", "longdescription", "deprecated", "copyright", "resolution"})
_PROSE_TABLES = frozenset(
    {"enumDescriptions", "enumLongDescriptions", "enumDeprecated", "ArgDescriptions"}
    | {"ArgLongDescriptions"}
)
_PROSE_TERMS = ("OData.Description", "OData.LongDescription", "Redfish.Deprecated")
_VERSION = re.compile(r"(.+)\.v(\d+)_(\d+)_(\d+)\.json")


def files(shared: Path, pack: str, suffix: str) -> Iterator[tuple[str, bytes]]:
    """Yield (path in the pack, content)."""
    with tarfile.open(shared / "data" / f"{pack}.tar.gz") as archive:
        for entry in archive:
            if entry.isreg() and entry.name.endswith(suffix):
                yield entry.name, archive.extractfile(entry).read()


def schemas(shared: Path) -> dict[str, Any]:
    """Return file name -> published schema; of two with one name the first pack's."""
    found: dict[str, Any] = {}
    for pack in SCHEMA_PACKS:
        for path, content in files(shared, pack, ".json"):
            found.setdefault(path.rpartition("/")[2], json.loads(content))
    return found


def registries(shared: Path) -> dict[str, Any]:
    found = (json.loads(content) for _, content in files(shared, REGISTRY_PACK, ".json"))
    return {each["RegistryPrefix"]: each for each in found if "RegistryPrefix" in each}


def mockup(shared: Path, name: str) -> dict[str, Any]:
    """Return URI -> document of a DMTF mockup (those that are JSON objects with a type)."""
    found: dict[str, Any] = {}
    for path, content in files(shared, "mockups-dmtf-2025.4", "/index.json"):
        if f"/{name}/" in path:
            document = json.loads(content)
            if "@odata.type" in document:
                found[path] = document
    return found


def prose(shared: Path) -> set[str]:
    """Return every text of the packs that is a sentence of the standards."""
    texts: set[str] = set()
    for pack in (*SCHEMA_PACKS, REGISTRY_PACK):
        for _, content in files(shared, pack, ".json"):
            texts.update(_prose_of(json.loads(content)))
    for pack in CSDL_PACKS:
        for _, content in files(shared, pack, ".xml"):
            for element in ElementTree.fromstring(content).iter():  # noqa: S314 - a known file
                if element.get("Term") in _PROSE_TERMS or element.get("Property") == "Description":
                    texts.add(element.get("String", ""))
    return texts


def _prose_of(value: Any, key: str = "", inside: bool = False) -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _prose_of(each, name, key in _PROSE_TABLES)
    elif isinstance(value, list):
        for each in value:
            yield from _prose_of(each, key, inside)
    elif isinstance(value, str) and (
        inside or key in _PROSE_TABLES or key.lower() in _PROSE or key in ("Message", "Name")
    ):
        yield value


class Judge:
    """Validates documents against the published schemas, cut to the newest versions."""

    def __init__(self, published: dict[str, Any]) -> None:
        self.newest: dict[str, str] = {}
        for name in sorted(published, key=_version_of):
            if found := _VERSION.fullmatch(name):
                self.newest[found[1]] = name
        self._registry: Registry = Registry().with_resources(
            (f"{DMTF}{name}", DRAFT7.create_resource(self._cut(schema)))
            for name, schema in published.items()
            if "redfish-schema" not in name
        )

    def validator(self, file: str, definition: str) -> Draft7Validator:
        reference = {
            "$ref": f"{DMTF}{self.newest.get(file, f'{file}.json')}#/definitions/{definition}"
        }
        return Draft7Validator(reference, registry=self._registry, format_checker=FormatChecker())

    def _cut(self, value: Any) -> Any:
        """Drop ids (so that places decide) and lead every reference to the newest version."""
        if isinstance(value, list):
            return [self._cut(each) for each in value]
        if not isinstance(value, dict):
            return value
        cut = {key: self._cut(each) for key, each in value.items() if key not in ("$id", "$schema")}
        if isinstance(reference := cut.get("$ref"), str) and not reference.startswith("#"):
            cut["$ref"] = self._newest(reference)
        if cut.get("anyOf") == []:
            # Swordfish FileSystem.ImportedShare: an abstract type published without alternatives,
            # which no value could fit.
            del cut["anyOf"]
        if "anyOf" in cut:
            cut["anyOf"] = [
                each for index, each in enumerate(cut["anyOf"]) if each not in cut["anyOf"][:index]
            ]
        return cut

    def _newest(self, reference: str) -> str:
        place, _, pointer = reference.partition("#")
        name = place.rpartition("/")[2]
        if found := _VERSION.fullmatch(name):
            name = self.newest.get(found[1], name)
        return f"{DMTF}{name}#{pointer}"


def _version_of(name: str) -> tuple[int, ...]:
    found = _VERSION.fullmatch(name)
    return tuple(map(int, found.groups()[1:])) if found else ()


def our_registry(built: dict[str, Any]) -> Registry:
    """Return our files, so that they can refer to each other by file name."""
    return Registry().with_resources(
        (file["$id"], DRAFT202012.create_resource(file)) for file in built.values()
    )


def findings(errors: Iterator[ValidationError]) -> set[tuple[str, str, str]]:
    """Return what is wrong where: (pointer, keyword, names), alternatives resolved."""
    found: set[tuple[str, str, str]] = set()
    for error in errors:
        if error.context:
            found |= findings(iter(error.context))
        else:
            place = "/".join(map(str, error.absolute_path))
            names = error.message if error.validator in ("required", "additionalProperties") else ""
            found.add((place, str(error.validator), names))
    return found
