"""What can be wrong with a Connection before anybody looks at endpoints or zones.

Pure. Redfish: Connection.v1_4_0. What it grants decides what must be named: rows name what they
grant, with some access; one connection grants memory or storage; each side is named.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from redfish_fm.mapping.judging import Document
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.read import members
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message

GRANTS = {
    "MemoryChunkInfo": ("MemoryChunk", "Memory"),
    "MemoryRegionInfo": ("MemoryRegion", "Memory"),
    "VolumeInfo": ("Volume", "Storage"),
}
"""List of rows -> what a row links to, and the ConnectionType that grants it."""

SIDES = (
    ("InitiatorEndpoints", "InitiatorEndpointGroups", frozenset({"Client", "Initiator"})),
    ("TargetEndpoints", "TargetEndpointGroups", frozenset({"Server", "Target"})),
)
"""The two ways to name each side, and the GroupTypes that may stand there."""


def complete(document: dict[str, Any]) -> None:
    """Say in a new connection what kind it is, where what it grants tells."""
    if document.get("ConnectionType") is None:
        document.pop("ConnectionType", None)
        kinds = _kinds(document)
        if len(kinds) == 1:
            document["ConnectionType"] = kinds.pop()


def wrong(document: Document, groups: Mapping[str, Document]) -> list[Message]:
    """Return everything wrong with the form; `groups` are the endpoint groups that it names."""
    return [
        *_rows(document),
        *_kind(document),
        *_sides(document),
        *_group_types(document, groups),
    ]


def rows(document: Document, name: str) -> list[Mapping[str, Any]]:
    """Return the rows of one list of GRANTS, what is no object left out."""
    found = document.get(name)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _kinds(document: Document) -> set[str]:
    return {kind for name, (_link, kind) in GRANTS.items() if document.get(name)}


def _rows(document: Document) -> Iterator[Message]:
    for name, (link, _kind) in GRANTS.items():
        found = document.get(name)
        for position, row in enumerate(found if isinstance(found, list) else ()):
            place = f"{name}/{position}"
            if not isinstance(row, Mapping) or not any(uris_at(row, [link])):
                # A null grants no less than a row that names nothing, and would hide as little.
                yield messages.property_missing(f"{place}/{link}", f"#/{place}/{link}")
            if not isinstance(row, Mapping):
                continue
            access = row.get("AccessCapabilities")
            if isinstance(access, list) and not any(access):
                # A grant of no access would hold the device for nobody's use.
                told = messages.property_value_incorrect
                yield told("AccessCapabilities", "[]", f"#/{place}/AccessCapabilities")
            lun = row.get("LUN")
            if isinstance(lun, int) and lun < 0:
                yield messages.property_value_out_of_range(str(lun), "LUN", f"#/{place}/LUN")


def _kind(document: Document) -> Iterator[Message]:
    """One connection grants memory or storage, and says so truly where it says anything."""
    stated = document.get("ConnectionType")
    given = [name for name in GRANTS if document.get(name)]
    for name in given:
        if stated is not None and GRANTS[name][1] != stated:
            told = messages.property_value_conflict
            yield told("ConnectionType", name, "#/ConnectionType", f"#/{name}")
    if stated is None and len(_kinds(document)) > 1:
        first, last = given[0], given[-1]
        yield messages.property_value_conflict(first, last, f"#/{first}", f"#/{last}")


def _sides(document: Document) -> Iterator[Message]:
    """Both sides are named, but that volumes may stand for their targets.

    A connection that says Storage and names neither would grant nothing, and hold its ends.
    """
    for ends, groups, _types in SIDES:
        if any(members(document, f"Links/{name}") for name in (ends, groups)):
            continue
        name, places = f"Links/{ends}", [f"#/Links/{ends}"]
        if ends == "TargetEndpoints":
            if document.get("VolumeInfo"):
                continue
            if document.get("ConnectionType") == "Storage":
                places.append("#/VolumeInfo")
        yield Message("Base.PropertyMissing", (name,), tuple(places))


def _group_types(document: Document, groups: Mapping[str, Document]) -> Iterator[Message]:
    """A group that says which side it is for stands on that side."""
    for _ends, name, fitting in SIDES:
        for position, uri in enumerate(members(document, f"Links/{name}")):
            stated = groups.get(uri, {}).get("GroupType")
            if stated is not None and stated not in fitting:
                place = f"#/Links/{name}/{position}"
                told = messages.property_value_resource_conflict
                yield told(f"Links/{name}/{position}", str(stated), uri, place)
