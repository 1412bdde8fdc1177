"""Who reaches which unit: what one zone or connection grants, and the sum over all of them.

Pure. Taking a unit takes everything above and below it (an LD takes its MLD and the reverse, two
LDs of one MLD do not touch each other), so the sums are kept per unit together with what is taken
below it; a question about a unit then costs its depth, never the number of its parts.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from redfish_fm.fabric.model import LD_FM_OWNED
from redfish_fm.fabric.values import (
    Chunk,
    Connection,
    Endpoint,
    EndpointGroup,
    Region,
    Role,
    Unit,
    Volume,
    Zone,
    ZoneType,
)

TARGETS = frozenset({Role.TARGET, Role.BOTH})
INITIATORS = frozenset({Role.INITIATOR, Role.BOTH})

_Count = dict[str, dict[str, dict[str, int]]]


def routes(zone: Zone) -> bool:
    """Return whether members of this zone reach each other at all."""
    return zone.zone_type is ZoneType.ENDPOINTS or (
        zone.zone_type is ZoneType.DEFAULT and zone.routing
    )


def zone_hosts(zone: Zone, endpoints: Mapping[str, Endpoint]) -> dict[str, str]:
    """Return host -> its first initiator endpoint in the zone, in the client's order."""
    return _hosts(zone.endpoints, endpoints)


def zone_parts(zone: Zone, endpoints: Mapping[str, Endpoint]) -> Iterator[tuple[str, str]]:
    """Yield (unit, endpoint that brings it) for every target of the zone, in order."""
    return _parts(zone.endpoints, endpoints)


class Known(Protocol):
    """What the meaning of a connection depends on; the index is one."""

    endpoints: dict[str, Endpoint]
    groups: dict[str, EndpointGroup]
    chunks: dict[str, Chunk]
    regions: dict[str, Region]
    volumes: dict[str, Volume]


def initiators_of(connection: Connection, known: Known) -> tuple[str, ...]:
    """Return the initiator endpoints, those of groups included, in the client's order."""
    return (*connection.initiators, *_members(connection.initiator_groups, known))


def targets_of(connection: Connection, known: Known) -> tuple[str, ...]:
    """Return the target endpoints, those of groups included, in the client's order."""
    return (*connection.targets, *_members(connection.target_groups, known))


def _members(groups: tuple[str, ...], known: Known) -> Iterator[str]:
    for name in groups:
        group = known.groups.get(name)
        if group is not None:
            yield from group.endpoints


def connection_hosts(connection: Connection, known: Known) -> dict[str, str]:
    """Return host -> its first initiator endpoint in the connection, groups included."""
    return _hosts(initiators_of(connection, known), known.endpoints)


def connection_parts(connection: Connection, known: Known) -> Iterator[tuple[str, str]]:
    """Yield (unit, what brings it): the named chunks, regions and volumes, else whole targets."""
    named = connection.chunks or connection.regions or connection.volumes
    if not named and not connection.by_parts:
        yield from _parts(targets_of(connection, known), known.endpoints)
    for chunk_grant in connection.chunks:
        chunk = known.chunks.get(chunk_grant.chunk)
        if chunk is not None:
            yield chunk.unit, chunk.id
    for region_grant in connection.regions:
        if region_grant.region in known.regions:
            yield region_grant.region, region_grant.region
    for volume_grant in connection.volumes:
        if volume_grant.volume in known.volumes:
            yield volume_grant.volume, volume_grant.volume


def is_fm_owned(unit: Unit | None) -> bool:
    """Return whether the unit is the LD that the fabric manager itself owns."""
    return unit is not None and unit.target is not None and unit.target.ld == LD_FM_OWNED


def _hosts(members: tuple[str, ...], endpoints: Mapping[str, Endpoint]) -> dict[str, str]:
    hosts: dict[str, str] = {}
    for member in members:
        endpoint = endpoints.get(member)
        if endpoint is not None and endpoint.host is not None:
            hosts.setdefault(endpoint.host, member)
    return hosts


def _parts(
    members: tuple[str, ...], endpoints: Mapping[str, Endpoint]
) -> Iterator[tuple[str, str]]:
    for member in members:
        endpoint = endpoints.get(member)
        if endpoint is not None:
            for unit in sorted(endpoint.units):
                yield unit, member


class Containment:
    """Which unit lies within which, and whether a unit is exclusive, parts considered.

    A unit that nobody described is exclusive: sharing needs a reason (DESIGN section 5).
    """

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}
        self._shareable: set[str] = set()
        self._exclusive_below: dict[str, int] = {}

    def above(self, unit: str) -> tuple[str, ...]:
        """Return what contains `unit`, innermost first."""
        chain: list[str] = []
        parent = self._parent.get(unit)
        while parent is not None:
            chain.append(parent)
            parent = self._parent.get(parent)
        return tuple(chain)

    def exclusive(self, unit: str) -> bool:
        """Return whether one host at a time may reach `unit`: one exclusive part suffices."""
        return unit not in self._shareable or unit in self._exclusive_below

    def put(self, unit: Unit) -> None:
        """Describe `unit`, which must not be described now. Raises ValueError for a circle."""
        if unit.within is not None:
            if unit.id in (unit.within, *self.above(unit.within)):
                raise ValueError(f"unit {unit.id} would lie within itself")
            self._parent[unit.id] = unit.within
        if not unit.exclusive:
            self._shareable.add(unit.id)
        weight = self._exclusive_below.get(unit.id, 0) + unit.exclusive
        self._count(self.above(unit.id), weight)

    def remove(self, unit: Unit) -> None:
        """Forget `unit`, exactly as it was put."""
        weight = self._exclusive_below.get(unit.id, 0) + unit.exclusive
        self._count(self.above(unit.id), -weight)
        self._parent.pop(unit.id, None)
        self._shareable.discard(unit.id)

    def _count(self, units: tuple[str, ...], weight: int) -> None:
        for unit in units:
            left = self._exclusive_below.get(unit, 0) + weight
            if left:
                self._exclusive_below[unit] = left
            else:
                self._exclusive_below.pop(unit, None)

    def plain(self) -> dict[str, object]:
        """Return a copy that can be compared."""
        return {
            "parent": dict(self._parent),
            "shareable": set(self._shareable),
            "exclusive_below": dict(self._exclusive_below),
        }


class Takings:
    """Counted triples (unit, key, holder), summed up over containment.

    The index keeps one with key = host and holder = zone or connection, and one with key = zone
    and holder = endpoint.
    """

    def __init__(self, containment: Containment) -> None:
        self._containment = containment
        self._direct: _Count = {}
        self._below: _Count = {}

    def add(self, unit: str, key: str, holder: str, weight: int = 1) -> None:
        """Count one triple; a negative weight takes it back."""
        _count(self._direct, unit, key, holder, weight)
        for above in self._containment.above(unit):
            _count(self._below, above, key, holder, weight)

    def taken(self, unit: str) -> dict[str, frozenset[str]]:
        """Return key -> holders over the unit, everything above it and everything below it."""
        return self._merge(
            self._below.get(unit),
            self._direct.get(unit),
            *(self._direct.get(above) for above in self._containment.above(unit)),
        )

    def granted(self, unit: str) -> dict[str, frozenset[str]]:
        """Return key -> holders that give the whole unit: it, or what contains it."""
        return self._merge(
            self._direct.get(unit),
            *(self._direct.get(above) for above in self._containment.above(unit)),
        )

    def direct(self, unit: str) -> dict[str, frozenset[str]]:
        """Return key -> holders that name exactly this unit."""
        return self._merge(self._direct.get(unit))

    def move(self, unit: str, weight: int) -> int:
        """Count (or with -1 take back) the unit's sums in what contains it; return how many.

        Called around a change of what the unit lies within.
        """
        moved = 0
        for table in (self._direct, self._below):
            for key, holders in table.get(unit, {}).items():
                for holder, count in holders.items():
                    for above in self._containment.above(unit):
                        _count(self._below, above, key, holder, count * weight)
                        moved += 1
        return moved

    def plain(self) -> tuple[_Count, _Count]:
        """Return copies that can be compared."""
        return _copy(self._direct), _copy(self._below)

    @staticmethod
    def _merge(*rows: Mapping[str, Mapping[str, int]] | None) -> dict[str, frozenset[str]]:
        merged: dict[str, set[str]] = {}
        for row in rows:
            for key, holders in (row or {}).items():
                merged.setdefault(key, set()).update(holders)
        return {key: frozenset(holders) for key, holders in merged.items()}


def _count(table: _Count, unit: str, key: str, holder: str, weight: int) -> None:
    row = table.setdefault(unit, {})
    holders = row.setdefault(key, {})
    holders[holder] = holders.get(holder, 0) + weight
    if not holders[holder]:
        del holders[holder]
        if not holders:
            del row[key]
            if not row:
                del table[unit]


def _copy(table: _Count) -> _Count:
    return {
        unit: {key: dict(holders) for key, holders in row.items()} for unit, row in table.items()
    }
