"""Where Zones, Connections and EndpointGroups name their members, and documents with fewer of them.

Pure. Redfish: Zone.v1_6_3, Connection.v1_4_0, EndpointGroup.v1_3_4.
"""

from collections.abc import Mapping
from typing import Any

_MEMBER_LISTS = (
    "Endpoints",
    "InitiatorEndpoints",
    "TargetEndpoints",
    "InitiatorEndpointGroups",
    "TargetEndpointGroups",
    "ResourceBlocks",
)
_GRANT_LISTS = (
    ("MemoryChunkInfo", "MemoryChunk"),
    ("MemoryRegionInfo", "MemoryRegion"),
    ("VolumeInfo", "Volume"),
)
"""Lists of a Connection whose rows each grant the resource that a link in the row names."""


def without_members(document: Mapping[str, Any], uris: frozenset[str]) -> dict[str, Any]:
    """Return a copy of a Zone, Connection or group that no longer names any of `uris`."""
    result = dict(document)
    links = dict(result.get("Links") or {})
    for name in _MEMBER_LISTS:
        if name in links:
            links[name] = [each for each in links[name] or () if _uri(each) not in uris]
    if "Links" in result:
        result["Links"] = links
    for rows, name in _GRANT_LISTS:
        if rows in result:
            result[rows] = [row for row in result[rows] or () if _granted_by(row, name) not in uris]
    return result


def with_members_left(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of `before` with only those members that `now` names in the same place.

    What it no longer names was let go of, and somebody else may have it by now.
    """
    result = dict(before)
    links, now_links = dict(result.get("Links") or {}), now.get("Links") or {}
    for name in _MEMBER_LISTS:
        if name in links:
            left = {each.get("@odata.id") for each in now_links.get(name) or ()}
            links[name] = [each for each in links[name] or () if each.get("@odata.id") in left]
    if "Links" in result:
        result["Links"] = links
    for rows, name in _GRANT_LISTS:
        if rows in result:
            left = {_granted_by(row, name) for row in now.get(rows) or ()}
            result[rows] = [row for row in result[rows] or () if _granted_by(row, name) in left]
    return result


def _granted_by(row: object, name: str) -> str | None:
    return _uri(row.get(name)) if isinstance(row, Mapping) else None


def _uri(link: object) -> str | None:
    """Return what a link names; imports may have null where a link should be."""
    uri: str | None = link.get("@odata.id") if isinstance(link, Mapping) else None
    return uri


def pointers(document: Mapping[str, Any]) -> dict[str, str]:
    """Return member URI -> JSON pointer to where a Zone, Connection or group names it first."""
    links = document.get("Links") or {}
    named = [
        (each.get("@odata.id"), f"#/Links/{name}/{position}")
        for name in _MEMBER_LISTS
        for position, each in enumerate(links.get(name) or ())
    ]
    named += [
        (_granted_by(row, name), f"#/{rows}/{position}/{name}")
        for rows, name in _GRANT_LISTS
        for position, row in enumerate(document.get(rows) or ())
    ]
    return {uri: pointer for uri, pointer in reversed(named) if uri is not None}
