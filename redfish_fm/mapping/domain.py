"""Keeps the fabric index in step with documents, one document at a time.

The only bridge from stored documents to fabric.index. Costs the size of the document, whatever
the fabric holds.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from redfish_fm.fabric.composition import Block, Composition, Reservation
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.values import (
    Chunk,
    Connection,
    Endpoint,
    EndpointGroup,
    Region,
    Volume,
    VppbGrant,
    Zone,
)
from redfish_fm.mapping.bandwidth import read_wish
from redfish_fm.mapping.congestion import read_control
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
from redfish_fm.mapping.read_compositions import (
    read_block,
    read_composition,
    read_reservation,
    read_withdrawn,
)
from redfish_fm.mapping.uris import fabric_of

Document = Mapping[str, Any]

Value = (
    Endpoint
    | EndpointGroup
    | Zone
    | Connection
    | Chunk
    | Region
    | Volume
    | Block
    | Composition
    | Reservation
)
"""What a document means to isolation. The `id` of each is the document's URI."""


def type_name(document: Document) -> str:
    """Return the unversioned type: "Zone" for "#Zone.v1_6_3.Zone"."""
    return _unversioned(str(document.get("@odata.type", "")))


@lru_cache(maxsize=1024)
def _unversioned(odata_type: str) -> str:
    # Asked for whenever a document is read or rendered, and of the same few types.
    return odata_type.rsplit(".", 1)[-1].lstrip("#")


def read_value(uri: str, document: Document, facts: Facts) -> Value | None:
    """Return what the document at `uri` means to isolation; None where that is nothing.

    Types that isolation does not know, zones outside of fabrics (ResourceZones) and parts of no
    known unit mean nothing.
    """
    name = type_name(document)
    reader = _READERS.get(name)
    if reader is None or (name not in _OUTSIDE and fabric_of(uri) is None):
        return None
    return reader(uri, document, facts)


def apply_value(index: FabricIndex, before: Value | None, after: Value | None) -> None:
    """Make `index` reflect that one document meant `before` and means `after`; None is nothing.

    Applying (after, before) afterwards gives back the former index.
    """
    if after is not None:
        _PUT[type(after)](index, after)
    elif before is not None:
        _REMOVE[type(before)](index, before.id)


def apply_document(
    index: FabricIndex, facts: Facts, uri: str, pre: Document | None, post: Document | None
) -> None:
    """Make `index` reflect that the document at `uri` was `pre` and is `post`; None is absent."""
    before = None if pre is None else read_value(uri, pre, facts)
    after = None if post is None else read_value(uri, post, facts)
    apply_value(index, before, after)


def apply_overlay(index: FabricIndex, facts: Facts, uri: str, overlay: Document | None) -> None:
    """Make `index` reflect what is laid over the resource at `uri`: port of a vPPB, QoS of an LD,
    blocks given to a physical host, a block taken out of the pools.

    A port that names no unit grants nothing, as if it were not there.
    """
    if uri in facts.qos_targets:
        wish = read_wish(uri, overlay, facts) or read_control(uri, overlay, facts)
        index.bandwidth.remove(uri)
        if wish is not None:
            index.bandwidth.put(wish)
    block = facts.blocks.get(uri)
    if block is not None:
        index.put_block(read_withdrawn(block, overlay))
    if facts.is_host(uri):
        expansion = read_composition(uri, overlay or {}, facts)
        index.remove_composition(uri)
        if expansion is not None:
            index.put_composition(expansion)
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


_OUTSIDE = frozenset(
    {
        "CompositionReservation",
        "ComputerSystem",
        "MemoryChunks",
        "MemoryRegion",
        "ResourceBlock",
        "Volume",
    }
)
_READERS: dict[str, Callable[[str, Document, Facts], Value | None]] = {
    "Endpoint": read_endpoint,
    "EndpointGroup": lambda uri, document, _facts: read_group(uri, document),
    "Zone": lambda uri, document, _facts: read_zone(uri, document),
    "Connection": lambda uri, document, _facts: read_connection(uri, document),
    "MemoryChunks": read_chunk,
    "MemoryRegion": read_region,
    "Volume": read_volume,
    "ComputerSystem": read_composition,
    "CompositionReservation": lambda uri, document, _facts: read_reservation(uri, document),
    "ResourceBlock": read_block,
}
_PUT: dict[type, Callable[[FabricIndex, Any], None]] = {
    Endpoint: FabricIndex.put_endpoint,
    EndpointGroup: FabricIndex.put_group,
    Zone: FabricIndex.put_zone,
    Connection: FabricIndex.put_connection,
    Chunk: FabricIndex.put_chunk,
    Region: FabricIndex.put_region,
    Volume: FabricIndex.put_volume,
    Block: FabricIndex.put_block,
    Composition: FabricIndex.put_composition,
    Reservation: FabricIndex.put_reservation,
}
_REMOVE: dict[type, Callable[[FabricIndex, str], None]] = {
    Endpoint: FabricIndex.remove_endpoint,
    EndpointGroup: FabricIndex.remove_group,
    Zone: FabricIndex.remove_zone,
    Connection: FabricIndex.remove_connection,
    Chunk: FabricIndex.remove_chunk,
    Region: FabricIndex.remove_region,
    Volume: FabricIndex.remove_volume,
    Block: FabricIndex.remove_block,
    Composition: FabricIndex.remove_composition,
    Reservation: FabricIndex.remove_reservation,
}
