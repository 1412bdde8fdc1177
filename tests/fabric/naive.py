"""Second readings of the index, slow and by definition: what the fast ones must agree with."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import Binder, Connection, ZoneType


def rebuilt(index: FabricIndex) -> FabricIndex:
    """Feed everything to a new index, in the order in which a start reads it, ids descending."""
    fresh = FabricIndex()
    puts: list[tuple[Callable[..., None], Mapping[Any, object]]] = [
        (fresh.put_fabric, index.fabrics),
        (fresh.put_unit, _inventory_units(index)),
        (fresh.put_vcs, index.vcss),
        (fresh.put_chunk, index.chunks),
        (fresh.put_region, index.regions),
        (fresh.put_volume, index.volumes),
        (fresh.put_domain, index.domains),
        (fresh.put_pool, index.pools),
        (fresh.put_vppb_grant, index.vppb_grants),
        (fresh.put_endpoint, index.endpoints),
        (fresh.put_group, index.groups),
        (fresh.put_zone, index.zones),
        (fresh.put_connection, index.connections),
        (fresh.put_binding, index.bindings),
    ]
    for put, values in puts:
        for key in sorted(values, key=str, reverse=True):
            put(values[key])
    return fresh


def _inventory_units(index: FabricIndex) -> dict[str, object]:
    """Regions and volumes put their own units."""
    made = {*index.regions, *index.volumes}
    return {id_: unit for id_, unit in index.units.items() if id_ not in made}


Reach = tuple[str, str, str]
"""(unit, host, holder) as one zone, connection or vPPB grants it."""


def reaches(index: FabricIndex) -> Iterator[Reach]:
    """Yield everything that anybody is given, by reading every holder."""
    for zone in index.zones.values():
        routes = zone.zone_type is ZoneType.ENDPOINTS or (
            zone.zone_type is ZoneType.DEFAULT and zone.routing
        )
        if routes and index.facts(zone.fabric).kind is FabricKind.BIND:
            for unit in _units(index, zone.endpoints):
                yield from ((unit, host, zone.id) for host in _hosts(index, zone.endpoints))
    for item in index.connections.values():
        if index.facts(item.fabric).kind is not FabricKind.REACH:
            ends = (*item.initiators, *_members(index, item.initiator_groups))
            for unit in granted(index, item):
                yield from ((unit, host, item.id) for host in _hosts(index, ends))
    for grant in index.vppb_grants.values():
        yield grant.unit, grant.host, grant.id


def granted(index: FabricIndex, item: Connection) -> set[str]:
    """Return the units that a connection gives."""
    if not (item.chunks or item.regions or item.volumes):
        return _units(index, (*item.targets, *_members(index, item.target_groups)))
    units = {row.chunk for row in item.chunks} & index.chunks.keys()
    found = {index.chunks[chunk].unit for chunk in units}
    found |= {row.region for row in item.regions} & index.regions.keys()
    return found | ({row.volume for row in item.volumes} & index.volumes.keys())


def hosts_of(index: FabricIndex, unit: str) -> dict[str, frozenset[str]]:
    """Return host -> holders over the unit, what contains it and what lies in it."""
    found: dict[str, set[str]] = {}
    for other, host, holder in reaches(index):
        if other == unit or unit in above(index, other) or other in above(index, unit):
            found.setdefault(host, set()).add(holder)
    return {host: frozenset(holders) for host, holders in found.items()}


def above(index: FabricIndex, unit: str) -> list[str]:
    """Return what contains the unit."""
    chain: list[str] = []
    while unit in index.units and (outer := index.units[unit].within) is not None:
        chain.append(outer)
        unit = outer
    return chain


def exclusive(index: FabricIndex, unit: str) -> bool:
    """Return whether the unit, or anything in it, is for one host."""
    if unit not in index.units or index.units[unit].exclusive:
        return True
    return any(each.exclusive and unit in above(index, each.id) for each in index.units.values())


def shared(index: FabricIndex) -> set[tuple[str, str, str]]:
    """Return (unit, host, host): exclusive units given to one host that another one reaches."""
    given = set(reaches(index))
    found: set[tuple[str, str, str]] = set()
    for unit, host, _ in given:
        if exclusive(index, unit):
            for other, second, _ in given:
                touch = other == unit or unit in above(index, other) or other in above(index, unit)
                if second != host and touch:
                    found.add((unit, *sorted((host, second))))
    return found


def _members(index: FabricIndex, groups: tuple[str, ...]) -> tuple[str, ...]:
    known = [index.groups[group] for group in groups if group in index.groups]
    return tuple(member for group in known for member in group.endpoints)


def _units(index: FabricIndex, members: tuple[str, ...]) -> set[str]:
    known = [index.endpoints[member] for member in members if member in index.endpoints]
    return {unit for endpoint in known for unit in endpoint.units}


def _hosts(index: FabricIndex, members: tuple[str, ...]) -> set[str]:
    known = [index.endpoints[member] for member in members if member in index.endpoints]
    return {endpoint.host for endpoint in known if endpoint.host is not None}


Problem = tuple[str, ...]


def problems(index: FabricIndex) -> set[Problem]:
    """Return everything that is wrong by a second, slow reading of DESIGN section 5."""
    found: set[Problem] = {("shared", *each) for each in shared(index)}
    found.update(("twice", *each) for each in _zoned_twice(index))
    found.update(("apart", *each) for each in _apart(index))
    found.update(("chunk", *each) for each in _chunks_of_two(index))
    found.update(("default", *each) for each in _routed(index))
    found.update(("excluded", *each) for each in _excluded(index))
    return found


def _zoned_twice(index: FabricIndex) -> Iterator[Problem]:
    taken = [
        (unit, zone.id, zone.fabric)
        for zone in index.zones.values()
        if zone.zone_type is ZoneType.ENDPOINTS
        for unit in _units(index, zone.endpoints)
    ]
    taken += [(each.unit, each.id, each.fabric) for each in index.vppb_grants.values()]
    for unit, holder, fabric in taken:
        known = index.units.get(unit)
        bound = known is not None and known.binder is Binder.ZONE
        if not bound or index.facts(fabric).kind is not FabricKind.BIND:
            continue
        for other, second, _ in taken:
            touch = other == unit or unit in above(index, other) or other in above(index, unit)
            if touch and second != holder and exclusive(index, unit):
                yield (unit, *sorted((holder, second)))


def _apart(index: FabricIndex) -> Iterator[Problem]:
    for item in index.connections.values():
        kind = index.facts(item.fabric).kind
        if kind not in (FabricKind.BIND, FabricKind.CONNECTION_GRANTS):
            continue
        starts = (*item.initiators, *_members(index, item.initiator_groups))
        ends = (*item.targets, *_members(index, item.target_groups))
        ways = [(end, {end}) for end in ends if end in index.endpoints]
        if not ends:
            ways = [(row.volume, _ends(index, row.volume)) for row in item.volumes]
        for start in set(starts) & index.endpoints.keys():
            for name, these in ways:
                if not any(_meet(index, start, end, kind) for end in these or {""}):
                    yield item.id, start, name


def _ends(index: FabricIndex, volume: str) -> set[str]:
    units = {volume, *above(index, volume)}
    return {each.id for each in index.endpoints.values() if each.units & units}


def _meet(index: FabricIndex, one: str, other: str, kind: FabricKind) -> bool:
    mine, theirs = _zones(index, one), _zones(index, other)
    free = kind is FabricKind.CONNECTION_GRANTS and not mine and not theirs
    return free or bool(mine & theirs)


def _zones(index: FabricIndex, endpoint: str) -> set[str]:
    return {
        zone.id
        for zone in index.zones.values()
        if endpoint in zone.endpoints
        if zone.zone_type is ZoneType.ENDPOINTS
        or (zone.zone_type is ZoneType.DEFAULT and zone.routing)
    }


def _chunks_of_two(index: FabricIndex) -> Iterator[Problem]:
    given: dict[str, set[str]] = {}
    for item in index.connections.values():
        hosts = _hosts(index, (*item.initiators, *_members(index, item.initiator_groups)))
        for row in item.chunks:
            if row.chunk in index.chunks:
                given.setdefault(row.chunk, set()).update(hosts)
    for chunk, found in given.items():
        for one in found:
            yield from ((chunk, one, other) for other in found if one < other)


def _routed(index: FabricIndex) -> Iterator[Problem]:
    for zone in index.zones.values():
        routed = zone.zone_type is ZoneType.DEFAULT and zone.routing
        if routed and index.facts(zone.fabric).kind is FabricKind.BIND:
            for unit in _units(index, zone.endpoints):
                if exclusive(index, unit):
                    yield zone.id, unit


def _excluded(index: FabricIndex) -> Iterator[Problem]:
    for zone in index.zones.values():
        known = [index.endpoints[each] for each in zone.endpoints if each in index.endpoints]
        for one in known:
            for other in known:
                if other.id in one.excludes and other.id != one.id:
                    yield (zone.id, *sorted((one.id, other.id)))
