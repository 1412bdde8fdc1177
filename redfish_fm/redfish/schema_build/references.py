"""Turns references between published schemas into references between our files.

Knows file naming on both sides. Published: a versioned and an unversioned file per type, absolute
URLs. Ours: one file per type, relative references, the newest version only.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from redfish_fm.redfish.schema_build.bundle import JsonObject
from redfish_fm.redfish.schema_build.errors import SchemaBuildError

ID_REF = "odata-v4.json#/$defs/idRef"

_REFERENCE = re.compile(
    r"(?:https?://[^#]+/)?(?P<file>[\w-]*)(?P<version>\.v\d+_\d+_\d+)?(?:\.json)?"
    r"#/definitions/(?P<name>[\w-]+)"
)
_VERSIONED = re.compile(r"\.v\d+_\d+_\d+\.json#/definitions/")


@dataclass(frozen=True, slots=True)
class References:
    """Converts the references of one published file.

    `linkable` are (file, definition) that stand for a link or the resource itself; inside an
    unversioned file that holds for its own definitions too, inside a versioned one it does not.
    """

    file: str
    versioned: bool
    linkable: frozenset[tuple[str, str]]

    def convert(self, reference: str) -> str:
        """Return our form of "http://…/Zone.json#/definitions/Zone". Raises SchemaBuildError."""
        found = _REFERENCE.fullmatch(reference)
        if found is None:
            raise SchemaBuildError(f"{self.file}: reference {reference} is not understood")
        name, other = found["name"], found["file"] or self.file
        exact = found["version"] if found["file"] else self.versioned
        if not exact and (other, name) in self.linkable:
            name = link_name(name)
        return f"{'' if other == self.file else f'{other}.json'}#/$defs/{name}"


def link_name(definition: str) -> str:
    """Return the name in $defs of "a link to this, or this itself"."""
    return f"{definition}-link"


def is_link(definition: Mapping[str, Any]) -> bool:
    """Whether an unversioned definition allows a bare link beside the resource."""
    return any("idRef" in each.get("$ref", "") for each in definition.get("anyOf", ()))


def versions_only(definition: Mapping[str, Any]) -> bool:
    """Whether an unversioned definition does no more than list versions of a type."""
    kinds = [each.get("$ref", "") for each in definition.get("anyOf", ())]
    return bool(kinds) and all("idRef" in each or _VERSIONED.search(each) for each in kinds)


def find_linkable(unversioned: Mapping[str, JsonObject]) -> frozenset[tuple[str, str]]:
    """Return every (file, definition) that is_link."""
    return frozenset(
        (file, name)
        for file, schema in unversioned.items()
        for name, definition in schema.get("definitions", {}).items()
        if is_link(definition)
    )
