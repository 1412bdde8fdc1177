"""What only the CSDL says: every version of a schema with its release, and what is contained.

Knows OData's XML and nothing of the JSON schemas. Prose annotations are never looked at.
"""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from redfish_fm.redfish.schema_build.errors import SchemaBuildError
from redfish_fm.redfish.schema_build.versions import Version, parse_version

_EDM = "{http://docs.oasis-open.org/odata/ns/edm}"
_NAMESPACE = re.compile(r"(?P<name>.+)\.(?P<version>v\d+_\d+_\d+)")
# Entities can make a small file huge; CSDL has no use for a document type.
_DOCTYPE = re.compile(r"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Csdl:
    """Facts of one CSDL file."""

    releases: Mapping[Version, str | None]
    """Every version of the schema; the bundle release ("2025.4") where the file names one."""
    contained: frozenset[tuple[str, str]]
    """(type, property) of navigation properties whose targets are subordinate resources."""


def read_csdl(name: str, text: str) -> Csdl:
    """Return the facts of the CSDL file of schema `name`. Raises SchemaBuildError."""
    if _DOCTYPE.search(text):
        raise SchemaBuildError(f"{name}_v1.xml has a document type; CSDL has none")
    try:
        # A str is parsed as UTF-8 whatever its declaration says, so _DOCTYPE has seen it all.
        root = ElementTree.fromstring(text)  # noqa: S314 - no document type, no entities
    except ElementTree.ParseError as error:
        raise SchemaBuildError(f"{name}_v1.xml is not XML: {error}") from error
    schemas = list(root.iter(f"{_EDM}Schema"))
    return Csdl(dict(_releases(name, schemas)), frozenset(_contained(schemas)))


def _releases(
    name: str, schemas: list[ElementTree.Element]
) -> Iterator[tuple[Version, str | None]]:
    for schema in schemas:
        found = _NAMESPACE.fullmatch(schema.get("Namespace", ""))
        if found and found["name"] == name:
            yield parse_version(found["version"]), _annotation(schema, "Redfish.Release")


def _annotation(element: ElementTree.Element, term: str) -> str | None:
    for annotation in element.iterfind(f"{_EDM}Annotation"):
        if annotation.get("Term") == term:
            return annotation.get("String")
    return None


def _contained(schemas: list[ElementTree.Element]) -> Iterator[tuple[str, str]]:
    for schema in schemas:
        for kind in ("EntityType", "ComplexType"):
            for each in schema.iterfind(f"{_EDM}{kind}"):
                for link in each.iterfind(f"{_EDM}NavigationProperty[@ContainsTarget='true']"):
                    yield each.get("Name", ""), link.get("Name", "")
