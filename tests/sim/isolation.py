"""The isolation rules once more, naively: written apart from fabric.zoning, to hold it to them.

Looks at everything each time and shares no code with the rules, so that one switched off is seen.
"""

from collections import defaultdict
from collections.abc import Iterator

from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import Binder, Chunk, Connection, Region, Volume, Zone, ZoneType

Held = dict[str, set[tuple[str, str]]]
"""Unit -> (host, who gives it to that host)."""


def broken(index: FabricIndex) -> str | None:
    """Return what is wrong with what is wanted, or None."""
    return next(_everything(index), None)


def _everything(index: FabricIndex) -> Iterator[str]:
    view = _View(index)
    yield from view.shared()
    yield from view.zones_wrong()
    yield from view.connections_wrong()
    yield from view.parts_wrong()
    yield from view.names_lead_nowhere()


class _View:
    """One look at an index: who is given what, and which units are for one host only."""

    def __init__(self, index: FabricIndex) -> None:
        self.index = index
        self.chain = {unit: list(_up(index, unit)) for unit in index.units}
        self.exclusive = {
            above
            for unit, known in index.units.items()
            if known.exclusive
            for above in self.chain[unit]
        }
        self.held: Held = defaultdict(set)
        for zone in index.zones.values():
            if routes(zone) and self._binds(zone.fabric):
                for unit in self._units(zone.endpoints):
                    self.held[unit] |= {(host, zone.id) for host in self._hosts(zone.endpoints)}
        for connection in index.connections.values():
            for unit in self._granted(connection):
                hosts = self._hosts(self._ends(connection)[0])
                self.held[unit] |= {(host, connection.id) for host in hosts}
        for grant in index.vppb_grants.values():
            self.held[grant.unit].add((grant.host, grant.id))

    def _binds(self, fabric: str) -> bool:
        return self.index.facts(fabric).kind is FabricKind.BIND

    def _hosts(self, ends: tuple[str, ...]) -> set[str]:
        known = (self.index.endpoints.get(end) for end in ends)
        return {end.host for end in known if end is not None and end.host is not None}

    def _units(self, ends: tuple[str, ...]) -> set[str]:
        known = (self.index.endpoints.get(end) for end in ends)
        return {unit for end in known if end is not None for unit in end.units}

    def _ends(self, connection: Connection) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return who initiates and what is aimed at, groups resolved."""
        sides = []
        for ends, groups in (
            (connection.initiators, connection.initiator_groups),
            (connection.targets, connection.target_groups),
        ):
            known = [self.index.groups[group] for group in groups if group in self.index.groups]
            sides.append((*ends, *(end for group in known for end in group.endpoints)))
        return sides[0], sides[1]

    def _granted(self, connection: Connection) -> set[str]:
        index = self.index
        if not (connection.chunks or connection.regions or connection.volumes):
            return self._units(self._ends(connection)[1])
        units = {index.chunks[row.chunk].unit for row in connection.chunks
                 if row.chunk in index.chunks}  # fmt: skip
        units |= {row.region for row in connection.regions} & index.regions.keys()
        return units | ({row.volume for row in connection.volumes} & index.volumes.keys())

    def shared(self) -> Iterator[str]:
        """What is for one host is given to two: itself, what it is in, or what is in it."""
        reach: dict[str, set[str]] = defaultdict(set)
        for unit, given in self.held.items():
            for host, _ in given:
                for above in self.chain.get(unit, [unit]):
                    reach[above].add(host)
        for unit, given in sorted(self.held.items()):
            # All below it (reach) and all above it (held) meet in the unit itself.
            hosts = reach[unit] | {
                host for above in self.chain.get(unit, []) for host, _ in self.held.get(above, ())
            }
            if given and unit in self.exclusive and len(hosts) > 1:
                yield f"{unit} is reached by {sorted(hosts)}"
        for chunk in self.index.chunks.values():
            hosts = {host for host, _ in self.held.get(chunk.unit, ())}
            if len(hosts) > 1:
                yield f"chunk {chunk.id} has {sorted(hosts)}"

    def zones_wrong(self) -> Iterator[str]:
        index = self.index
        taken: dict[str, set[str]] = defaultdict(set)
        for grant in index.vppb_grants.values():
            taken[grant.unit].add(grant.id)
        for zone in index.zones.values():
            yield from self._zone_wrong(zone)
            if zone.zone_type is ZoneType.ENDPOINTS:
                for unit in self._units(zone.endpoints):
                    taken[unit].add(zone.id)
        for unit, takers in sorted(taken.items()):
            known = index.units[unit]
            near = takers.union(*(taken.get(above, ()) for above in self.chain[unit]))
            zoned = known.binder is Binder.ZONE and self._binds(known.fabric)
            if zoned and unit in self.exclusive and len(near) > 1:
                yield f"{unit} binds by zone and is in {sorted(near)}"
        for fabric, facts in index.fabrics.items():
            count = sum(zone.fabric == fabric and zone.zone_type is not ZoneType.DEFAULT
                        for zone in index.zones.values())  # fmt: skip
            if facts.max_zones is not None and count > facts.max_zones:
                yield f"{fabric} has {count} zones"
        for fabric in index.fabrics:
            kinds = [zone for zone in index.zones.values()
                     if zone.fabric == fabric and zone.zone_type is ZoneType.DEFAULT]  # fmt: skip
            if len(kinds) > 1:
                yield f"{fabric} has several Default zones"

    def _zone_wrong(self, zone: Zone) -> Iterator[str]:
        index = self.index
        if len(set(zone.endpoints)) < len(zone.endpoints):
            yield f"{zone.id} names an endpoint twice"
        units, hosts = self._units(zone.endpoints), self._hosts(zone.endpoints)
        only = sorted(units & self.exclusive)
        if self._binds(zone.fabric) and only:
            if routes(zone) and len(hosts) > 1:
                yield f"{zone.id} has {sorted(hosts)} together with {only}"
            if zone.zone_type is ZoneType.DEFAULT and zone.routing:
                yield f"Default zone {zone.id} routes and holds {only}"
        if zone.zone_type is ZoneType.RESOURCE_BLOCKS:
            yield f"{zone.id} is a zone of resource blocks"
        if zone.zone_type is ZoneType.ZONES and zone.endpoints:
            yield f"{zone.id} holds zones and endpoints"
        for inner in zone.zones:
            known = index.zones.get(inner)
            nested = known is not None and known.zone_type is not ZoneType.ENDPOINTS
            if nested or zone.zone_type is not ZoneType.ZONES:
                yield f"{zone.id} contains {inner}"
        for end in zone.endpoints:
            endpoint = index.endpoints.get(end)
            if endpoint is not None and endpoint.fabric != zone.fabric:
                yield f"{zone.id} holds {end} of {endpoint.fabric}"

    def connections_wrong(self) -> Iterator[str]:
        index = self.index
        for connection in index.connections.values():
            for ends, groups in (
                (connection.initiators, connection.initiator_groups),
                (connection.targets, connection.target_groups),
            ):
                if ends and groups:
                    yield f"{connection.id} has a side of endpoints and of groups"
            names = [*connection.initiators, *connection.targets, *connection.initiator_groups,
                     *connection.target_groups, *(row.chunk for row in connection.chunks),
                     *(row.region for row in connection.regions),
                     *(row.volume for row in connection.volumes)]  # fmt: skip
            if len(set(names)) < len(names):
                yield f"{connection.id} names something twice"
            luns = [row.lun for row in connection.volumes if row.lun is not None]
            if len(set(luns)) < len(luns):
                yield f"{connection.id} gives a LUN twice"
            if self._binds(connection.fabric):
                yield from self._bound_wrong(connection)
            elif index.facts(connection.fabric).kind is FabricKind.CONNECTION_GRANTS:
                yield from self._attached_wrong(connection)

    def _attached_wrong(self, connection: Connection) -> Iterator[str]:
        """Zones grant nothing here, but who is in one keeps to it."""
        index = self.index
        initiators, targets = self._ends(connection)
        units = self._units(targets)
        volumes = [index.volumes[r.volume] for r in connection.volumes if r.volume in index.volumes]
        for volume in volumes:
            if targets and volume.subsystem not in units and volume.id not in units:
                yield f"{connection.id} grants {volume.id} of another target"
        zones = [set(zone.endpoints) for zone in index.zones.values() if routes(zone)]
        zoned = set[str]().union(*zones)
        for one in initiators:
            for other in targets:
                together = any({one, other} <= members for members in zones)
                if not together and (one in zoned or other in zoned):
                    yield f"{connection.id}: {one} and {other} are kept apart by zones"

    def _bound_wrong(self, connection: Connection) -> Iterator[str]:
        index = self.index
        initiators, targets = self._ends(connection)
        zones = [set(zone.endpoints) for zone in index.zones.values() if routes(zone)]
        for one in set(initiators) & index.endpoints.keys():
            for other in set(targets) & index.endpoints.keys():
                if not any({one, other} <= members for members in zones):
                    yield f"{connection.id}: {one} and {other} share no zone"
        units = self._units(targets)
        for chunk in (index.chunks.get(row.chunk) for row in connection.chunks):
            if chunk is not None and chunk.unit not in units:
                yield f"{connection.id} grants {chunk.id} of another target"
        for region in (index.regions.get(row.region) for row in connection.regions):
            if region is not None and region.ld not in units:
                yield f"{connection.id} grants {region.id} of another target"
        named = connection.chunks or connection.regions
        lds = [unit for unit in units if index.units[unit].target is not None
               and index.units[unit].target.ld is not None]  # type: ignore[union-attr]  # fmt: skip
        if lds and not named:
            yield f"{connection.id} grants {lds} as a whole"
        for ends in (initiators, targets):
            for end in ends:
                endpoint = index.endpoints.get(end)
                if endpoint is None:
                    continue
                if endpoint.fabric != connection.fabric:
                    yield f"{connection.id} names {end} of {endpoint.fabric}"
                if (endpoint.host is None) is (ends is initiators):
                    yield f"{connection.id} has {end} on the wrong side"

    def parts_wrong(self) -> Iterator[str]:
        index = self.index
        places: dict[object, str] = {}
        sums: dict[str, int] = defaultdict(int)
        parts: list[Chunk | Region | Volume] = [
            *index.chunks.values(), *index.regions.values(), *index.volumes.values()
        ]  # fmt: skip
        for part in parts:
            if part.allocation is None:
                continue
            domain = None if isinstance(part, Region | Volume) else index.domains[part.domain or ""]
            pool = index.pools.get((domain.pool if domain else part.pool) or "")  # type: ignore[union-attr]
            if pool is None:
                yield f"{part.id} is cut out of nothing"
                continue
            other = places.setdefault(part.allocation.target, part.id)
            if other != part.id:
                yield f"{part.id} and {other} are one part"
            sums[pool.id] += part.size_mib
            if part.size_mib <= 0 or part.size_mib % pool.granularity_mib:
                yield f"{part.id} has {part.size_mib} MiB"
            if part.allocation.target.path[-1][1] not in pool.parts:
                yield f"{part.id} has a number that {pool.id} does not know"
        for name, size_mib in sums.items():
            if size_mib > index.pools[name].capacity_mib:
                yield f"{size_mib} MiB are cut out of {name}"

    def names_lead_nowhere(self) -> Iterator[str]:
        index = self.index
        for zone in index.zones.values():
            for name in (*zone.endpoints, *zone.zones):
                if name not in index.endpoints and name not in index.zones:
                    yield f"{zone.id} names {name}, which is not there"
        for group in index.groups.values():
            for name in group.endpoints:
                if name not in index.endpoints:
                    yield f"{group.id} names {name}, which is not there"
        for connection in index.connections.values():
            known = [(row.chunk, index.chunks) for row in connection.chunks]
            missing = [name for name, table in known if name not in table]
            missing += [r.region for r in connection.regions if r.region not in index.regions]
            missing += [v.volume for v in connection.volumes if v.volume not in index.volumes]
            groups = (*connection.initiator_groups, *connection.target_groups)
            missing += [name for name in groups if name not in index.groups]
            ends = (*connection.initiators, *connection.targets)
            missing += [name for name in ends if name not in index.endpoints]
            if missing:
                yield f"{connection.id} names {missing}, which are not there"
        for grant in index.vppb_grants.values():
            binding = index.bindings.get(grant.vppb)
            others = set() if binding is None else binding.holders - {grant.id}
            unit = index.units.get(grant.unit)
            if others:
                yield f"{grant.id} is set by hand and held by {sorted(others)}"
            if unit is None or unit.binder is not Binder.ZONE:
                yield f"{grant.id} holds {grant.unit}, which binds otherwise"


def routes(zone: Zone) -> bool:
    """Whether members of the zone reach each other by it."""
    default = zone.zone_type is ZoneType.DEFAULT and zone.routing
    return zone.zone_type is ZoneType.ENDPOINTS or default


def _up(index: FabricIndex, unit: str) -> Iterator[str]:
    """Yield the unit and what contains it."""
    at: str | None = unit
    while at is not None:
        yield at
        at = index.units[at].within if at in index.units else None
