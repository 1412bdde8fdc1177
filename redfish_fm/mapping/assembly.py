"""A composition put together and taken apart: its zones, connections, parts and system as one.

Pure. Every choice is made before (which host, which blocks, which parts of which pools); here they
become the ordinary writes of a transaction, each judged by the rules of its type. Redfish:
ComputerSystem.v1_27_0 Links.ResourceBlocks. DESIGN section 6.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from redfish_fm.fabric.composition import Block
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import Rule, Violation
from redfish_fm.mapping import chunks, connections, regions, uris, volumes, zones
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.read import members
from redfish_fm.mapping.read_compositions import COMPOSITION, HOLDINGS, MIRRORS, read_mirrors
from redfish_fm.mapping.rendering import ref, refs
from redfish_fm.mapping.resources import document_edit, new_document, stored
from redfish_fm.mapping.transactions import Transaction
from redfish_fm.mapping.violations import to_error
from redfish_fm.mapping.wishes import SharedWish
from redfish_fm.redfish import oem
from redfish_fm.redfish.writes import Write, WriteKind


@dataclass(frozen=True, slots=True)
class Carving:
    """A part of a block's pool that a composition is to get; size in MiB.

    `collection` is where it is made: the MemoryChunks of a domain, the MemoryRegions of a logical
    device, the Volumes of a storage or of a pool of it.
    """

    block: str
    collection: str
    size_mib: int


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a composition is made of, or gets in addition: every choice is made.

    `parts` are chunks that are there already (fixed logical devices) and are granted as they are.
    `mirrors` are groups of positions among the parts and then the carvings: copies of each other.
    `shared` are regions that others may have too: they are not held, and stay when the composition
    goes. `places` is block -> JSON pointer to where the
    request names it, or asks for what it brings; `asked` the same of each part and then carving.
    """

    host: str
    blocks: tuple[str, ...] = ()
    carvings: tuple[Carving, ...] = ()
    parts: tuple[str, ...] = ()
    mirrors: tuple[tuple[int, ...], ...] = ()
    shared: tuple[SharedWish, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[str, ...] = ()


@dataclass
class Holdings:
    """What exists for one composition alone, by kind, as its system's document lists it.

    `mirrors` are groups of parts that are copies of each other.
    """

    uris: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in HOLDINGS})
    mirrors: list[list[str]] = field(default_factory=list)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Holdings":
        """Return what the document of a composed or expanded system lists."""
        uris = {name: [*members(document, f"{COMPOSITION}/{name}")] for name in HOLDINGS}
        return cls(uris, read_mirrors(document))

    def shown(self) -> dict[str, Any]:
        """Return the Oem part of the system's document."""
        found: dict[str, Any] = {name: refs(self.uris[name]) for name in HOLDINGS}
        if self.mirrors:
            found[MIRRORS] = [{"Parts": refs(each)} for each in self.mirrors]
        return {oem.NAME: {"Composition": found}}

    def all(self) -> frozenset[str]:
        """Return every URI in it."""
        return frozenset(uri for found in self.uris.values() for uri in found)

    def drop(self, uri: str) -> None:
        """Take one out, whatever it is."""
        for found in (*self.uris.values(), *self.mirrors):
            if uri in found:
                found.remove(uri)
        self.mirrors = [each for each in self.mirrors if len(each) > 1]

    def mirror(self, parts: Sequence[str], groups: Iterable[Iterable[int]]) -> None:
        """Note which of the parts, by position, are copies of each other."""
        self.mirrors += ([parts[position] for position in group] for group in groups)


class Assembly:
    """One composition under change, inside a transaction. `system` is the URI of its system."""

    def __init__(self, laid: Transaction, tip: Tip, system: str, actor: str) -> None:
        self._laid = laid
        self._tip = tip
        self._system = system
        self._actor = actor
        self.named: list[str] = []
        """The endpoints that the zone judged last names, in order: refusals count them."""

    # -- putting together ----------------------------------------------------------------------

    def carve(self, carvings: Sequence[Carving]) -> dict[str, str]:
        """Make the parts; return the URI of each with the unit that leads to it, in order."""
        made: dict[str, str] = {}
        for carving in carvings:
            draft = self._carved(carving)
            self._laid.add(draft)
            made[draft.uri] = home_of(draft.uri, self._tip)
        return made

    def _carved(self, carving: Carving) -> Draft:
        body: dict[str, Any]
        match carving.collection.rsplit("/", 1)[-1]:
            case "MemoryChunks":
                body = {"MemoryChunkSizeMiB": carving.size_mib}
                write = self._create("MemoryChunks", carving.collection, body)
                return chunks.create(write, self._tip)
            case "MemoryRegions":
                body = {"RegionType": "Dynamic", "RegionSizeMiB": carving.size_mib}
                write = self._create("MemoryRegion", carving.collection, body)
                return regions.create(write, self._tip)
            case _:
                body = {"CapacityBytes": carving.size_mib << 20}
                write = self._create("Volume", carving.collection, body)
                return volumes.create(write, self._tip)

    def zone_in(self, fabric: str, holdings: Holdings) -> str:
        """Return the composition's zone in a fabric; a free URI for one where it has none yet."""
        collection = uris.ZONES.format(fabric=fabric)
        for zone in holdings.uris["Zones"]:
            if zone.rsplit("/", 1)[0] == collection:
                return zone
        zone = new_document("Zone", collection, {}, self._tip)[0]
        holdings.uris["Zones"].append(zone)
        return zone

    def join(self, zone: str, fabric: str, host: str, units: Iterable[str]) -> None:
        """Put the host and what brings the units into the zone; make it where it is not there."""
        targets = [self.endpoint_of(unit, fabric) for unit in units]
        ends = [*self._initiators(fabric, host, targets), *targets]
        before = self._tip.document(zone)
        present = () if before is None else members(before, "Links/Endpoints")
        self.named = [*dict.fromkeys((*present, *ends))]
        if before is None:
            collection, _, zone_id = zone.rpartition("/")
            body = {
                "Id": zone_id,
                "Name": f"Composition {self._system.rsplit('/', 1)[-1]}",
                "Links": {"Endpoints": refs(self.named)},
            }
            self._laid.add(zones.RULES.create(self._create("Zone", collection, body), self._tip))
            return
        links = {**(before.get("Links") or {}), "Endpoints": refs(self.named)}
        after = {**before, "Links": links}
        self._laid.add(zones.RULES.replace(zone, before, after, self._tip))

    def endpoint_of(self, unit: str, fabric: str) -> str:
        """Return the endpoint by which a unit is named in its fabric: the first of several."""
        known = self._tip.index.endpoints
        found = (
            uri
            for uri in sorted(self._tip.index.endpoints_of_unit(unit))
            if known[uri].fabric == fabric
        )
        return next(found, unit)

    def _initiators(self, fabric: str, host: str, things: Sequence[str]) -> list[str]:
        """Return the host's endpoints there; raises RedfishError where it has no way to things."""
        found = sorted(self._tip.index.endpoints_of_host(fabric, host))
        if not found:
            # Nothing would refuse a zone of things alone, and nothing would be bound by it.
            raise to_error([Violation(Rule.NO_PATH, each, host) for each in things])
        return found

    def connect(
        self, connection: str, host: str, part: str, unit: str, access: Sequence[str]
    ) -> None:
        """Grant a part to the host by a connection of its own."""
        collection, _, connection_id = connection.rpartition("/")
        fabric, kind = uris.fabric_of(connection) or "", kind_of(part, self._tip)
        initiators = self._initiators(fabric, host, (part,))[:1]
        links: dict[str, Any] = {"InitiatorEndpoints": refs(initiators)}
        body: dict[str, Any] = {
            "Id": connection_id,
            "Name": f"Composition {self._system.rsplit('/', 1)[-1]}",
            "Links": links,
        }
        if kind == "Volumes":
            storage = uris.storage_of(part) or part
            ends = [self.endpoint_of(storage, fabric)]
            links["TargetEndpoints"] = refs(each for each in ends if each != storage)
        else:
            links["TargetEndpoints"] = refs([self.endpoint_of(unit, fabric)])
        rows, name, connection_type = _GRANTED[kind]
        body["ConnectionType"] = connection_type
        body[rows] = [{"AccessCapabilities": list(access), name: ref(part)}]
        self._laid.add(
            connections.RULES.create(self._create("Connection", collection, body), self._tip)
        )

    # -- taking apart --------------------------------------------------------------------------

    def delete(self, uri: str) -> None:
        """Delete one of the composition's zones, connections or parts, if it is still there."""
        if not self._tip.is_wanted(uri):
            # Gone already, or inventory that was only granted.
            return
        index = self._tip.index
        if uri in index.connections:
            self._laid.add(connections.RULES.delete(self._gone("Connection", uri), self._tip))
        elif uri in index.zones:
            self._laid.add(zones.RULES.delete(self._gone("Zone", uri), self._tip))
        elif uri in index.chunks:
            self._laid.add(chunks.delete(self._gone("MemoryChunks", uri), self._tip))
        elif uri in index.regions:
            self._laid.add(regions.delete(self._gone("MemoryRegion", uri), self._tip))
        else:
            self._laid.add(volumes.delete(self._gone("Volume", uri), self._tip))

    def leave(self, zone: str, gone: frozenset[str]) -> bool:
        """Take endpoints out of a zone; return whether any target is left in it."""
        before = stored(self._tip, zone)
        stay = [uri for uri in members(before, "Links/Endpoints") if uri not in gone]
        after = {**before, "Links": {**(before.get("Links") or {}), "Endpoints": refs(stay)}}
        self._laid.add(zones.RULES.replace(zone, before, after, self._tip))
        known = self._tip.index.endpoints
        return any(known[uri].host is None for uri in stay if uri in known)

    def store(self, document: Mapping[str, Any] | None) -> None:
        """Lay the system's own document on the tip; None deletes it."""
        self._laid.edit(document_edit(self._tip, self._system, document))

    def _create(self, type_name: str, collection: str, body: Mapping[str, Any]) -> Write:
        return Write(WriteKind.CREATE, collection, type_name, self._actor, body)

    def _gone(self, type_name: str, uri: str) -> Write:
        return Write(WriteKind.DELETE, uri, type_name, self._actor)


_GRANTED = {
    "MemoryChunks": ("MemoryChunkInfo", "MemoryChunk", "Memory"),
    "MemoryRegions": ("MemoryRegionInfo", "MemoryRegion", "Memory"),
    "Volumes": ("VolumeInfo", "Volume", "Storage"),
}
"""Name among the holdings -> rows of the connection, the link in a row, ConnectionType."""


def kind_of(part: str, tip: Tip) -> str:
    """Return under which name the holdings list a part."""
    if part in tip.index.chunks:
        return "MemoryChunks"
    return "MemoryRegions" if part in tip.index.regions else "Volumes"


def home_of(part: str, tip: Tip) -> str:
    """Return the unit whose endpoint leads to a part: a logical device, or the volume itself."""
    index = tip.index
    if part in index.chunks:
        return index.chunks[part].unit
    return index.regions[part].ld if part in index.regions else part


def fabrics_of(units: Iterable[str], tip: Tip) -> dict[str, list[str]]:
    """Return fabric -> the units of `units` that are bound there, in order."""
    found: dict[str, list[str]] = {}
    for unit in units:
        known = tip.index.units.get(unit)
        if known is not None:
            found.setdefault(known.fabric, []).append(unit)
    return found


def binds(fabric: str, tip: Tip) -> bool:
    """Return whether a composition needs a zone of its own there before it can connect."""
    facts = tip.index.facts(fabric)
    return facts.zoned and facts.kind is FabricKind.BIND


def whole_units(blocks: Iterable[Block], host: str, tip: Tip) -> Iterator[str]:
    """Yield what the blocks bind whole, in order: of several ways one that the host has."""
    for block in blocks:
        if not block.sharing and block.units:
            ways = sorted(block.units)
            yield next((unit for unit in ways if _reaches(host, unit, tip)), ways[0])


def _reaches(host: str, unit: str, tip: Tip) -> bool:
    known = tip.index.units.get(unit)
    if known is None or known.target is None:
        return False
    return bool(tip.index.vcs_of_host(known.fabric, host, known.target.switch))
