"""Keeps the fabric index in step with documents, one document at a time.

The only bridge from stored documents to fabric.index. Costs the size of the document, whatever
the fabric holds.
"""

from collections.abc import Callable, Mapping
from typing import Any

from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.values import VppbGrant
from redfish_fm.mapping.bandwidth import read_wish
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.read import (
    members,
    read_chunk,
    read_connection,
    read_endpoint,
    read_group,
    read_region,
    read_volume,
    read_zone,
    unit_behind,
)
from redfish_fm.mapping.uris import fabric_of

Document = Mapping[str, Any]


def type_name(document: Document) -> str:
    """Return the unversioned type: "Zone" for "#Zone.v1_6_3.Zone"."""
    return str(document.get("@odata.type", "")).rsplit(".", 1)[-1].lstrip("#")


def apply_document(
    index: FabricIndex, facts: Facts, uri: str, pre: Document | None, post: Document | None
) -> None:
    """Make `index` reflect that the document at `uri` was `pre` and is `post`; None is absent.

    Types that isolation does not know, and zones outside of fabrics (ResourceZones), change
    nothing. Applying (post, pre) afterwards gives back the former index.
    """
    known = post if post is not None else pre
    if known is None:
        return
    name = type_name(known)
    if name in _OUTSIDE or fabric_of(uri) is not None:
        handler = _REMOVE.get(name) if post is None else _PUT.get(name)
        if handler is not None:
            handler(index, facts, uri, known)


def apply_overlay(index: FabricIndex, facts: Facts, uri: str, overlay: Document | None) -> None:
    """Make `index` reflect what is laid over the resource at `uri`: port of a vPPB, QoS of an LD.

    A port that names no unit grants nothing, as if it were not there.
    """
    if uri in facts.qos_targets:
        wish = read_wish(uri, overlay, facts)
        index.bandwidth.remove(uri)
        if wish is not None:
            index.bandwidth.put(wish)
    place = facts.vppb_at(uri)
    if place is None:
        return
    fabric, vppb = place
    unit = unit_behind(next(iter(members(overlay or {}, "Links/Port")), ""), fabric, facts)
    vcs = index.vcss.get((vppb.switch, vppb.vcs))
    if unit is None or vcs is None or vcs.host is None:
        index.remove_vppb_grant(uri)
    else:
        index.put_vppb_grant(VppbGrant(uri, fabric, vppb, unit, vcs.host))


def _put_endpoint(index: FabricIndex, facts: Facts, uri: str, document: Document) -> None:
    index.put_endpoint(read_endpoint(uri, document, facts))


def _put_group(index: FabricIndex, _facts: Facts, uri: str, document: Document) -> None:
    index.put_group(read_group(uri, document))


def _put_zone(index: FabricIndex, _facts: Facts, uri: str, document: Document) -> None:
    index.put_zone(read_zone(uri, document))


def _put_connection(index: FabricIndex, _facts: Facts, uri: str, document: Document) -> None:
    index.put_connection(read_connection(uri, document))


def _put_chunk(index: FabricIndex, facts: Facts, uri: str, document: Document) -> None:
    chunk = read_chunk(uri, document, facts)
    if chunk is None:
        index.remove_chunk(uri)
    else:
        index.put_chunk(chunk)


def _put_region(index: FabricIndex, facts: Facts, uri: str, document: Document) -> None:
    region = read_region(uri, document, facts)
    if region is None:
        index.remove_region(uri)
    else:
        index.put_region(region)


def _put_volume(index: FabricIndex, facts: Facts, uri: str, document: Document) -> None:
    volume = read_volume(uri, document, facts)
    if volume is None:
        index.remove_volume(uri)
    else:
        index.put_volume(volume)


_Handler = Callable[[FabricIndex, Facts, str, Document], None]
_OUTSIDE = frozenset({"MemoryChunks", "MemoryRegion", "Volume"})
_PUT: dict[str, _Handler] = {
    "Endpoint": _put_endpoint,
    "EndpointGroup": _put_group,
    "Zone": _put_zone,
    "Connection": _put_connection,
    "MemoryChunks": _put_chunk,
    "MemoryRegion": _put_region,
    "Volume": _put_volume,
}
_REMOVE: dict[str, _Handler] = {
    "EndpointGroup": lambda index, _facts, uri, _document: index.remove_group(uri),
    "Endpoint": lambda index, _facts, uri, _document: index.remove_endpoint(uri),
    "Zone": lambda index, _facts, uri, _document: index.remove_zone(uri),
    "Connection": lambda index, _facts, uri, _document: index.remove_connection(uri),
    "MemoryChunks": lambda index, _facts, uri, _document: index.remove_chunk(uri),
    "MemoryRegion": lambda index, _facts, uri, _document: index.remove_region(uri),
    "Volume": lambda index, _facts, uri, _document: index.remove_volume(uri),
}
