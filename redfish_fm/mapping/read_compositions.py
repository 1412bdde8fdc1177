"""Documents read into compositions, resource blocks and reservations.

Pure. Nothing here raises on a malformed document: what can not be read is as if it were not there.
Redfish: ComputerSystem.v1_27_0 Links.ResourceBlocks, ResourceBlock.v1_4_3,
CompositionReservation.v1_0_2.
"""

import datetime
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from redfish_fm.fabric.composition import Block, BlockType, Composition, Reservation
from redfish_fm.mapping.facts import Facts, enclosing
from redfish_fm.mapping.read import members
from redfish_fm.mapping.rendering import refs
from redfish_fm.redfish import oem

COMPOSITION = f"Oem/{oem.NAME}/Composition"
"""Where a system's document lists what exists for it alone."""
HOLDINGS = ("Zones", "Connections", "MemoryChunks", "MemoryRegions", "Volumes")
"""The names under it."""
MIRRORS = "Mirrors"
"""The name under it of the groups of parts that are copies of each other."""
UNASSIGNED = "Unassigned"
"""The Pool of a block that is in none."""
EXPIRES = f"Oem/{oem.NAME}/ExpirationTime"

_TYPES = {each.value: each for each in BlockType}
DEVICES = ("Processors", "Memory", "Drives", "Storage", "NetworkInterfaces", "EthernetInterfaces")
"""Properties of a ResourceBlock that link what is in it."""


def read_composition(uri: str, document: Mapping[str, Any], facts: Facts) -> Composition | None:
    """Return what a system's document, or what is laid over it, says of its blocks, or None."""
    blocks = members(document, "Links/ResourceBlocks")
    expands = facts.is_host(uri)
    if expands:
        blocks = tuple(name for name in blocks if not _is_own(facts.blocks.get(name), uri))
    if not blocks:
        return None
    known = (facts.blocks.get(block) for block in blocks)
    host = uri if expands else next((each.host for each in known if each and each.host), None)
    holdings = (members(document, f"{COMPOSITION}/{name}") for name in HOLDINGS)
    mirrors = tuple(map(frozenset, read_mirrors(document)))
    return Composition(uri, host, blocks, frozenset().union(*holdings), expands, mirrors)


def _is_own(block: Block | None, system: str) -> bool:
    """Return whether the block is what a physical system itself computes with."""
    return block is not None and block.host == system


def expansion(overlay: Mapping[str, Any], document: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what lies over a physical host once it was given what `document` says, or nothing."""
    links = dict(overlay.get("Links") or {})
    ours = dict((overlay.get("Oem") or {}).get(oem.NAME) or {})
    links.pop("ResourceBlocks", None)
    ours.pop("Composition", None)
    if document is not None and members(document, "Links/ResourceBlocks"):
        links["ResourceBlocks"] = document["Links"]["ResourceBlocks"]
        ours["Composition"] = document["Oem"][oem.NAME]["Composition"]
    after = {name: value for name, value in overlay.items() if name not in ("Links", "Oem")}
    if links:
        after["Links"] = links
    others = {key: each for key, each in (overlay.get("Oem") or {}).items() if key != oem.NAME}
    if ours or others:
        after["Oem"] = {**others, **({oem.NAME: ours} if ours else {})}
    return after


def without_holdings(document: Mapping[str, Any], uris: frozenset[str]) -> dict[str, Any]:
    """Return a copy of a system's document that no longer lists any of `uris` as its own."""
    ours = (document.get("Oem") or {}).get(oem.NAME) or {}
    listed = ours.get("Composition")
    if not isinstance(listed, Mapping):
        return dict(document)
    kept = {name: refs(each for each in members(document, f"{COMPOSITION}/{name}")
                       if each not in uris) for name in HOLDINGS}  # fmt: skip
    mirrors = [[each for each in group if each not in uris] for group in read_mirrors(document)]
    after = {**{name: listed[name] for name in listed if name != MIRRORS}, **kept}
    if shown := [{"Parts": refs(each)} for each in mirrors if len(each) > 1]:
        after[MIRRORS] = shown
    return {**document, "Oem": {**document["Oem"], oem.NAME: {**ours, "Composition": after}}}


def read_mirrors(document: Mapping[str, Any]) -> list[list[str]]:
    """Return the groups of parts that a system's document says are copies of each other."""
    found: Any = document
    for name in (*COMPOSITION.split("/"), MIRRORS):
        found = found.get(name) if isinstance(found, Mapping) else None
    rows = found if isinstance(found, list) else ()
    return [[*members(row, "Parts")] for row in rows if isinstance(row, Mapping)]


def read_block(uri: str, document: Mapping[str, Any], facts: Facts) -> Block:
    """Return a resource block of a client or an import, as far as its links tell what is in it."""
    types = document.get("ResourceBlockType")
    named = types if isinstance(types, list) else ()
    linked = [link for name in DEVICES for link in members(document, name)]
    units = frozenset[str]().union(*(_units(link, facts) for link in linked))
    hosts = (facts.entity_hosts.get(link) for link in members(document, "ComputerSystems"))
    status = document.get("CompositionStatus")
    status = status if isinstance(status, Mapping) else {}
    sharing = status.get("SharingCapable") is True and status.get("SharingEnabled") is not False
    most = status.get("MaxCompositions")
    supplying = members(document, "Links/SupplyingResourceBlocks")
    parts = [facts.blocks[each] for each in supplying if each in facts.blocks]
    units = units.union(*(each.units for each in parts))
    return Block(
        uri,
        frozenset(_TYPES[each] for each in named if each in _TYPES),
        next((host for host in hosts if host is not None), None),
        units,
        sharing=sharing,
        compositions_max=most if isinstance(most, int) else None if sharing else 1,
        switches=tuple(dict.fromkeys(switch for each in parts for switch in each.switches)),
        supplying=supplying,
        withdrawn=document.get("Pool") == UNASSIGNED,
    )


def read_withdrawn(block: Block, overlay: Mapping[str, Any] | None) -> Block:
    """Return a block of inventory as what a client laid over it says: in the pools, or not."""
    pool = (overlay or {}).get("Pool")
    return block if pool is None else replace(block, withdrawn=pool == UNASSIGNED)


def _units(link: str, facts: Facts) -> frozenset[str]:
    for each in enclosing(link):
        found = facts.entity_units.get(each)
        if found is not None:
            return found
    return frozenset()


def read_reservation(uri: str, document: Mapping[str, Any]) -> Reservation:
    """Return a reservation; one that does not say when it ends has ended."""
    value: Any = document
    for name in EXPIRES.split("/"):
        value = value.get(name) if isinstance(value, Mapping) else None
    try:
        expires_s = datetime.datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        expires_s = 0.0
    return Reservation(uri, members(document, "ReservedResourceBlocks"), expires_s)
