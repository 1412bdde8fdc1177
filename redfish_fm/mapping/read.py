"""Documents read into fabric values: endpoints and their groups, zones, connections, parts.

Pure. Every link is taken as it stands; whether it leads anywhere is for fabric.zoning to judge.
Nothing here raises on a malformed document: what can not be read is as if it were not there,
because imports may hold anything (requests are checked against the catalog before).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from redfish_fm.fabric.model import BindTarget
from redfish_fm.fabric.values import (
    Access,
    Allocation,
    Chunk,
    ChunkGrant,
    Connection,
    Endpoint,
    EndpointGroup,
    Region,
    RegionGrant,
    Role,
    Volume,
    VolumeGrant,
    Zone,
    ZoneType,
)
from redfish_fm.mapping.facts import Facts, enclosing
from redfish_fm.mapping.links import linked_in, uris_at
from redfish_fm.mapping.uris import fabric_of, storage_of

BYTES_PER_MIB = 1 << 20

EXEMPT_ENTITIES = frozenset({"Switch", "Bridge", "StorageExpander", "Manager"})
"""EntityTypes that isolation does not look at (DESIGN section 5)."""
_EXEMPT_WITHOUT_CHUNK = EXEMPT_ENTITIES | {"FabricBridge"}
_PORT_LINKS = ("ConnectedPorts", "LocalPorts", "Ports")
_EXCLUDES = ("Links", "MutuallyExclusiveEndpoints")


def members(document: Mapping[str, Any], path: str) -> tuple[str, ...]:
    """Return the URIs linked at `path` ("Links/Endpoints"), in order, duplicates kept."""
    return tuple(uris_at(document, path.split("/")))


def entities_of(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return ConnectedEntities without what is not an object."""
    found = document.get("ConnectedEntities")
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def durable_names(holder: Mapping[str, Any]) -> tuple[str, ...]:
    """Return Identifiers as "FORMAT:NAME", upper case, so that equal names compare equal."""
    found = holder.get("Identifiers")
    return tuple(
        f"{each.get('DurableNameFormat') or ''}:{each['DurableName']}".upper()
        for each in (found if isinstance(found, list) else ())
        if isinstance(each, Mapping) and isinstance(each.get("DurableName"), str)
    )


def read_endpoint(uri: str, document: Mapping[str, Any], facts: Facts) -> Endpoint:
    """Return the endpoint at `uri`. Role is EXEMPT where no entity takes part in isolation."""
    entities = _bound_entities(entities_of(document))
    initiating = [each for each in entities if each.get("EntityRole") in ("Initiator", "Both")]
    aimed_at = [each for each in entities if each.get("EntityRole") not in ("Initiator",)]
    ports = endpoint_ports(document, facts)
    return Endpoint(
        uri,
        fabric_of(uri) or "",
        _role(bool(initiating), bool(aimed_at)),
        _host(uri, document, initiating, ports, facts) if initiating else None,
        _units(document, aimed_at, ports, facts) if aimed_at else frozenset(),
        frozenset(ports),
        frozenset(uris_at(document, _EXCLUDES)),
    )


def _bound_entities(entities: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    kinds = [each.get("EntityType") for each in entities]
    if _EXEMPT_WITHOUT_CHUNK.isdisjoint(kinds):
        return entities
    exempt = EXEMPT_ENTITIES if "MemoryChunk" in kinds else _EXEMPT_WITHOUT_CHUNK
    return [each for each, kind in zip(entities, kinds, strict=True) if kind not in exempt]


def _role(initiates: bool, is_target: bool) -> Role:
    if initiates:
        return Role.BOTH if is_target else Role.INITIATOR
    return Role.TARGET if is_target else Role.EXEMPT


def endpoint_ports(document: Mapping[str, Any], facts: Facts) -> tuple[str, ...]:
    """Return the switch ports an endpoint uses; a port that is cabled to none stays itself."""
    links = document.get("Links")
    named = [uri for name in _PORT_LINKS for uri in linked_in(links, name)]
    return tuple(dict.fromkeys(facts.switch_port(uri) for uri in named))


def _links_of(entities: Iterable[Mapping[str, Any]]) -> list[str]:
    return [uri for each in entities for uri in uris_at(each, ("EntityLink",))]


def target_links(entities: Iterable[Mapping[str, Any]], facts: Facts) -> list[str]:
    """Return the EntityLinks that say what an endpoint reaches.

    A bridge is the way to a memory chunk: where a chunk says which unit it lies in, the bridge,
    which may lead to many, is not asked.
    """
    entities = list(entities)
    further = [each for each in entities if each.get("EntityType") != "FabricBridge"]
    links = _links_of(further)
    if len(further) == len(entities) or any(units_of(link, facts) for link in links):
        return links
    return _links_of(entities)


def _host(
    uri: str,
    document: Mapping[str, Any],
    entities: list[Mapping[str, Any]],
    ports: Iterable[str],
    facts: Facts,
) -> str:
    """Say whose root complex it is: by EntityLink, cable, durable name, else the endpoint.

    The cable stands before the durable name because a client may write any name it likes, but
    the switch binds for whoever is cabled to the port.
    """
    for link in _links_of(entities):
        for place in enclosing(link):
            if place in facts.entity_hosts:
                return facts.entity_hosts[place]
    for port in ports:
        if port in facts.port_hosts:
            return facts.port_hosts[port]
    names = [name for each in entities for name in durable_names(each)]
    names.extend(durable_names(document))
    for name in names:
        if name in facts.durable_hosts:
            return facts.durable_hosts[name]
    return names[0] if names else uri


def _units(
    document: Mapping[str, Any],
    entities: list[Mapping[str, Any]],
    ports: Iterable[str],
    facts: Facts,
) -> frozenset[str]:
    links = target_links(entities, facts)
    found = units_linked(links, ports, facts)
    if found:
        return found
    plugged = frozenset[str]().union(*(facts.port_units.get(port, ()) for port in ports))
    if plugged:
        return plugged
    names = [name for each in entities for name in durable_names(each)]
    names.extend(durable_names(document))
    known = [facts.durable_units[name] for name in names if name in facts.durable_units]
    if known:
        return frozenset().union(*known)
    return frozenset(links or names[:1])


def units_linked(links: Iterable[str], ports: Iterable[str], facts: Facts) -> frozenset[str]:
    """Return the units that the EntityLinks of an endpoint with these ports mean."""
    found = frozenset[str]().union(*(units_of(link, facts) for link in links))
    if facts.ways.keys().isdisjoint(found):
        return found
    return frozenset().union(*(_by_way(unit, ports, facts) for unit in found))


def _by_way(unit: str, ports: Iterable[str], facts: Facts) -> frozenset[str]:
    """Return what an endpoint means by a device on several ports: what is at its own ports."""
    ways = facts.ways.get(unit, {})
    return frozenset(ways[port] for port in ports if port in ways) or frozenset({unit})


def units_of(link: str, facts: Facts) -> frozenset[str]:
    """Return the units that an EntityLink means: of the innermost place inventory knows.

    A switch port means what is plugged into it.
    """
    entities, ports = facts.entity_units, facts.port_units
    for place in enclosing(link):
        found = entities.get(place)
        if found is None:
            found = ports.get(place)
        if found is not None:
            return found
    return frozenset()


def unit_behind(port: str, fabric: str, facts: Facts) -> str | None:
    """Return the unit that is bound as a whole behind a switch port: no LD, no function."""
    place = facts.port_at(port)
    if place is None or place[0] != fabric:
        return None
    target = BindTarget(place[1].switch, place[1].port)
    return facts.target_units.get((fabric, target))


_ZONE_TYPES = {each.value: each for each in ZoneType}


def read_zone(uri: str, document: Mapping[str, Any]) -> Zone:
    """Return the zone at `uri`; a missing or unknown ZoneType means ZoneOfEndpoints."""
    named, links = document.get("ZoneType"), document.get("Links")
    known = _ZONE_TYPES.get(named) if isinstance(named, str) else None
    return Zone(
        uri,
        fabric_of(uri) or "",
        known or ZoneType.ENDPOINTS,
        linked_in(links, "Endpoints"),
        linked_in(links, "ContainsZones"),
        document.get("DefaultRoutingEnabled") is True,
    )


def read_group(uri: str, document: Mapping[str, Any]) -> EndpointGroup:
    """Return the endpoint group at `uri`; older imports name its members outside of Links."""
    named = members(document, "Links/Endpoints") or members(document, "Endpoints")
    return EndpointGroup(uri, fabric_of(uri) or "", named)


def read_connection(uri: str, document: Mapping[str, Any]) -> Connection:
    """Return the connection at `uri`; rows without AccessCapabilities ask for both."""
    chunks = _granted(document, "MemoryChunkInfo", "MemoryChunk")
    regions = _granted(document, "MemoryRegionInfo", "MemoryRegion")
    volumes = _granted(document, "VolumeInfo", "Volume")
    return Connection(
        uri,
        fabric_of(uri) or "",
        members(document, "Links/InitiatorEndpoints"),
        members(document, "Links/TargetEndpoints"),
        tuple(ChunkGrant(chunk, _access(row)) for chunk, row in chunks),
        tuple(RegionGrant(region, _access(row)) for region, row in regions),
        tuple(VolumeGrant(volume, _access(row), _lun(row)) for volume, row in volumes),
        members(document, "Links/InitiatorEndpointGroups"),
        members(document, "Links/TargetEndpointGroups"),
        any(document.get(rows) == [] for rows in _ROWS),
    )


_ROWS = ("MemoryChunkInfo", "MemoryRegionInfo", "VolumeInfo")
"""An empty list of these is what a refused change may leave: nothing is granted by it."""


def _granted(
    document: Mapping[str, Any], name: str, link: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (what is granted, its row) of one list of rows."""
    rows = document.get(name)
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping):
            for uri in uris_at(row, [link]):
                yield uri, row


def _lun(row: Mapping[str, Any]) -> int | None:
    lun = row.get("LUN")
    return lun if isinstance(lun, int) else None


def _access(row: Mapping[str, Any]) -> frozenset[Access]:
    named = row.get("AccessCapabilities")
    known = {each.value: each for each in Access}
    if not isinstance(named, list):
        return frozenset(known.values())
    return frozenset(known[each] for each in named if each in known)


def read_chunk(uri: str, document: Mapping[str, Any], facts: Facts) -> Chunk | None:
    """Return the chunk at `uri`, or None where no unit is known that it lies in."""
    lds = members(document, "Links/CXLLogicalDevices")
    owners = frozenset[str]().union(*(units_of(ld, facts) for ld in lds)) or units_of(uri, facts)
    size, offset = document.get("MemoryChunkSizeMiB"), document.get("AddressRangeOffsetMiB")
    if len(owners) != 1:
        return None
    unit, domain = next(iter(owners)), enclosing_resource(uri)
    size_mib = size if isinstance(size, int) else 0
    return Chunk(
        uri,
        unit,
        offset if isinstance(offset, int) else None,
        size_mib,
        domain=domain,
        allocation=_chunk_allocation(uri, unit, size_mib, facts),
    )


def enclosing_resource(uri: str) -> str:
    """Return the resource whose collection the one at `uri` is in."""
    return uri.rsplit("/", 2)[0]


def _chunk_allocation(uri: str, unit: str, size_mib: int, facts: Facts) -> Allocation | None:
    """Return what hardware has to do for a chunk: nothing, but where it makes an LD of a pool."""
    domain = facts.domains.get(enclosing_resource(uri))
    pool = None if domain is None else facts.pools.get(domain.pool or "")
    ld, _, number = unit.rpartition("/")
    if pool is None or pool.port is None or not ld.endswith("/CXLLogicalDevices"):
        return None
    target = BindTarget(pool.port.switch, pool.port.port, int(number))
    return Allocation(pool.fabric, target, size_mib, uri)


def read_region(uri: str, document: Mapping[str, Any], facts: Facts) -> Region | None:
    """Return the dynamic-capacity region at `uri`, or None where its LD is no unit."""
    ld = enclosing_resource(uri)
    device = enclosing_resource(ld)
    number, size = document.get("RegionNumber"), document.get("RegionSizeMiB")
    if facts.entity_units.get(ld) != frozenset({ld}):
        return None
    number = number if isinstance(number, int) else 0
    size_mib = size if isinstance(size, int) else 0
    block, shareable = document.get("BlockSizeMiB"), document.get("ShareableRegion") is True
    pool = facts.pools.get(device)
    allocation = None
    if pool is not None and pool.port is not None:
        place = BindTarget(pool.port.switch, pool.port.port, int(ld.rsplit("/", 1)[-1]))
        target = replace(place, region=number)
        allocation = Allocation(pool.fabric, target, size_mib, uri, shareable)
    return Region(
        uri,
        ld,
        device,
        number,
        size_mib,
        block if isinstance(block, int) else 1,
        shareable,
        allocation=allocation,
    )


def read_volume(uri: str, document: Mapping[str, Any], facts: Facts) -> Volume | None:
    """Return the volume at `uri`, or None where it lies in no storage.

    Only one that comes out of a known pool asks hardware for anything, by its NamespaceId.
    """
    storage = storage_of(uri)
    if storage is None:
        return None
    namespace = document.get("NVMeNamespaceProperties")
    namespace = namespace if isinstance(namespace, Mapping) else {}
    size, number = document.get("CapacityBytes"), _namespace_id(namespace)
    # Rounded up: what does not fit must not look as if it did.
    size_mib = -(-size // BYTES_PER_MIB) if isinstance(size, int) else 0
    shareable = namespace.get("IsShareable") is True
    pool = facts.pools.get(next(iter(members(document, "Links/ProvidingStoragePool")), ""))
    allocation = None
    if pool is not None and pool.port is not None and number is not None:
        target = BindTarget(pool.port.switch, pool.port.port, namespace=number)
        allocation = Allocation(pool.fabric, target, size_mib, uri, shareable)
    return Volume(
        uri,
        storage,
        None if pool is None else pool.id,
        size_mib,
        shareable,
        None if allocation is None else number,
        _access(document),
        allocation,
    )


def _namespace_id(namespace: Mapping[str, Any]) -> int | None:
    text = namespace.get("NamespaceId")
    try:
        return int(text, 16) if isinstance(text, str) else None
    except ValueError:
        return None
