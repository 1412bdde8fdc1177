"""Who may reach what in the small world, read from the JSON that clients have durably written.

Knows the words of documents and which endpoint is which device; nothing of the rules, the index,
the bindings or the planner. What comes out is compared with what hardware lets hosts reach
(drivers.virtual.oracle), so a rule that is wrong, and all that follows it, is seen by its effect.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.cases.small_world import CXL, ENDS, NVME, PCIE, fabric_of

Path = tuple[tuple[str, int], ...]
Thing = tuple[tuple[str, str], Path]
"""A unit as the oracle names it, and the path of a part in it."""
Documents = Mapping[str, Mapping[str, Any]]

_PCIE: dict[str, Thing] = {
    "gpu1": (("pcie1", "D1"), ()),
    "nic1-f0": (("pcie1", "D2"), (("function", 0),)),
    "nic1-f1": (("pcie1", "D2"), (("function", 1),)),
    "mhnic1-h1": (("mhnic1", "pcie1 D3"), ()),
    "mhnic1-h2": (("mhnic1", "pcie1 D4"), ()),
    "drive1-p1": (("drive1", ""), ()),
    "drive1-p2": (("drive1", ""), ()),
}
_CXL: dict[str, Thing] = {
    "mem1": (("mem1", ""), ()),
    **{f"{name}-ld{n}": ((name, ""), (("ld", n),))
       for name, n in (("fixed1", 0), ("fixed1", 1), ("pooled1", 0), ("pooled1", 1),
                       ("dynamic1", 0))},
}  # fmt: skip
THINGS: dict[str, Thing] = {
    **{f"{PCIE}/Endpoints/{name}": thing for name, thing in _PCIE.items()},
    **{f"{CXL}/Endpoints/{name}": thing for name, thing in _CXL.items()},
    f"{NVME}/Endpoints/jbof1": (("jbof1-pool", ""), ()),
}
HOSTS = {end: f"host{n + 1}" for known in ENDS.values() for n, end in enumerate(known["hosts"])}
_BY_ZONE = {end for end, (unit, _) in THINGS.items() if fabric_of(end) == PCIE or unit[0] == "mem1"}
"""What being in one zone gives; everything else takes a connection as well."""
_SIDES = ("Initiator", "Target")


def may_reach(documents: Documents, overlays: Documents, fabric: str) -> dict[str, set[Thing]]:
    """Return what each host may reach in a fabric; hosts that may reach nothing are left out."""
    found: dict[str, set[Thing]] = defaultdict(set)
    zones = [ends for _, ends in _zones(documents, fabric)]
    for ends in zones:
        for host in ends & HOSTS.keys():
            found[HOSTS[host]] |= {THINGS[end] for end in ends & _BY_ZONE}
    for uri, document in documents.items():
        if uri.startswith(f"{fabric}/Connections/"):
            for end, thing in _connected(documents, document, zones):
                found[HOSTS[end]].add(thing)
    for uri, document in overlays.items():
        port = (document.get("Links") or {}).get("Port")
        if port and uri.startswith(f"{fabric}/Switches/") and port["@odata.id"].endswith("/D1"):
            found[f"host{uri.split('/VCSs/')[1].split('/')[0]}"].add(
                THINGS[f"{CXL}/Endpoints/mem1"]
            )
    return {host: things for host, things in found.items() if things}


def _zones(documents: Documents, fabric: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the zones that let their members reach each other."""
    for uri, document in documents.items():
        if uri.startswith(f"{fabric}/Zones/"):
            routes = document["ZoneType"] != "Default" or document.get("DefaultRoutingEnabled")
            if routes:
                yield uri, _refs(document, "Endpoints")


def _connected(
    documents: Documents, document: Mapping[str, Any], zones: list[set[str]]
) -> Iterator[tuple[str, Thing]]:
    """Yield each initiator with each thing that a connection lets it reach.

    Memory and devices take a common zone. Storage does where one of the two is in any zone.
    """
    initiators, targets = (_side(documents, document, side) for side in _SIDES)
    storage = bool(document.get("VolumeInfo"))
    zoned = set[str]().union(*zones)
    parts = list(_parts(documents, document))
    for end in initiators & HOSTS.keys():
        met = {each for each in targets if any({end, each} <= ends for ends in zones)}
        if storage:
            met |= {each for each in targets if not {end, each} & zoned}
            met |= set() if targets else {f"{NVME}/Endpoints/jbof1"}
        for target in met:
            unit, path = THINGS[target]
            for part in parts:
                if part[0] == unit and part[1][: len(path)] == path:
                    yield end, part
            if target in _BY_ZONE:
                yield end, THINGS[target]


def _parts(documents: Documents, connection: Mapping[str, Any]) -> Iterator[Thing]:
    """Yield the parts that the rows of a connection name and that there are."""
    for row in connection.get("MemoryChunkInfo") or ():
        uri = row["MemoryChunk"]["@odata.id"]
        if "/fixed1/" in uri:
            yield ("fixed1", ""), (("ld", int(uri.split("/")[6])),)
        for ld in _refs(documents.get(uri, {}), "CXLLogicalDevices"):
            yield ("pooled1", ""), (("ld", int(ld.rsplit("/", 1)[1])),)
    for row in connection.get("MemoryRegionInfo") or ():
        region = documents.get(row["MemoryRegion"]["@odata.id"])
        if region is not None:
            yield ("dynamic1", ""), (("ld", 0), ("region", region["RegionNumber"]))
    for row in connection.get("VolumeInfo") or ():
        volume = documents.get(row["Volume"]["@odata.id"])
        if volume is not None:
            number = int(volume["NVMeNamespaceProperties"]["NamespaceId"], 16)
            yield ("jbof1-pool", ""), (("namespace", number),)


def _side(documents: Documents, connection: Mapping[str, Any], side: str) -> set[str]:
    """Return the endpoints on one side, those of groups among them."""
    groups = _refs(connection, f"{side}EndpointGroups")
    inside = (_refs(documents.get(group, {}), "Endpoints") for group in groups)
    return _refs(connection, f"{side}Endpoints").union(*inside)


def _refs(document: Mapping[str, Any], name: str) -> set[str]:
    links = (document.get("Links") or {}).get(name) or ()
    return {each["@odata.id"] for each in links}


def decoded(stored: Iterable[tuple[str, bytes]]) -> dict[str, dict[str, Any]]:
    """Return stored documents as JSON."""
    return {uri: json.loads(value) for uri, value in stored}
