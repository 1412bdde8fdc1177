"""Everything the isolation rules look things up in, kept up to date change by change.

Pure and mutable: control owns one for what is committed and one for the tip. A put or remove costs
the size of the thing it changes (and of the zones and connections whose meaning changes with it),
never the size of the fabric; `work` counts touched entries, so a test can prove it. Order of puts
does not matter: an index fed in any order equals one rebuilt from disk.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass

from redfish_fm.fabric import reach
from redfish_fm.fabric.model import BindTarget, FabricKind, VppbId
from redfish_fm.fabric.relation import Relation
from redfish_fm.fabric.values import Binding, Chunk, Connection, Endpoint, Unit, Zone, ZoneType


@dataclass(frozen=True, slots=True)
class FabricFacts:
    """What the rules need to know of a fabric. `zoned`: it has a Zones collection.

    `max_zones` is Fabric.MaxZones; None means no limit is known.
    """

    id: str
    kind: FabricKind
    zoned: bool
    max_zones: int | None = None


@dataclass(frozen=True, slots=True)
class VcsFact:
    """A virtual switch that can bind: who owns it and how far the host is away, in switch hops."""

    fabric: str
    switch: str
    vcs: str
    host: str | None
    vppb_count: int
    hops: int = 1


@dataclass(frozen=True, slots=True)
class _Effects:
    """What one zone or connection contributes to the sums; kept so that it can be taken back.

    `reach` has (unit, host), `parts` (unit, endpoint) of a zone of endpoints, `granted` the units
    of a connection.
    """

    reach: frozenset[tuple[str, str]] = frozenset()
    parts: frozenset[tuple[str, str]] = frozenset()
    granted: frozenset[str] = frozenset()


_NOTHING = _Effects()


class FabricIndex:
    """Typed lookups over endpoints, zones, connections, chunks, units and wanted bindings.

    The public mappings are read-only by convention. A fabric that was not described counts as a
    zoned `bind` fabric, which has the strictest rules. Switch ids are unique over all fabrics
    (a vPPB is named by its switch alone): `put_vcs` raises ValueError where they are not.
    """

    def __init__(self) -> None:
        self.work = 0
        self.fabrics: dict[str, FabricFacts] = {}
        self.units: dict[str, Unit] = {}
        self.endpoints: dict[str, Endpoint] = {}
        self.zones: dict[str, Zone] = {}
        self.connections: dict[str, Connection] = {}
        self.chunks: dict[str, Chunk] = {}
        self.bindings: dict[VppbId, Binding] = {}
        self.vcss: dict[tuple[str, str], VcsFact] = {}
        self._switch_fabric: dict[str, str] = {}
        self._containment = reach.Containment()
        self._reach = reach.Takings(self._containment)
        self._zone_parts = reach.Takings(self._containment)
        self._effects: dict[str, _Effects] = {}
        self._unit_of_target: Relation[BindTarget, str] = Relation()
        self._endpoints_of_unit: Relation[str, str] = Relation()
        self._endpoints_of_port: Relation[str, str] = Relation()
        self._zones_of: Relation[str, str] = Relation()
        self._zones_in: Relation[str, str] = Relation()
        self._zones_above: Relation[str, str] = Relation()
        self._connections_of: Relation[str, str] = Relation()
        self._connections_in: Relation[str, str] = Relation()
        self._connections_of_chunk: Relation[str, str] = Relation()
        self._connections_of_unit: Relation[str, str] = Relation()
        self._vcs_of_host: Relation[tuple[str, str, str], tuple[str, str]] = Relation()
        self._bindings_of_unit: Relation[str, VppbId] = Relation()
        self._bindings_of_holder: Relation[str, VppbId] = Relation()

    # -- changes: inventory ----------------------------------------------------------------

    def put_fabric(self, fabric: FabricFacts) -> None:
        """Describe a fabric; a new kind re-reads all its zones and connections."""
        before = self.fabrics.get(fabric.id)
        self.fabrics[fabric.id] = fabric
        self.work += 1
        if before is None or before.kind is not fabric.kind:
            for zone in self._zones_in.get(fabric.id):
                self._refresh(zone)
            for connection in self._connections_in.get(fabric.id):
                self._refresh(connection)

    def put_unit(self, unit: Unit) -> None:
        """Describe a unit. Raises ValueError where units would contain each other in a circle."""
        before = self.units.get(unit.id)
        if before == unit:
            return
        self.remove_unit(unit.id)
        self._containment.put(unit)
        self.units[unit.id] = unit
        self._shift(unit.id, 1)
        if unit.target is not None:
            self._unit_of_target.add((unit.target,), unit.id)
        self.work += 1

    def remove_unit(self, unit_id: str) -> None:
        """Forget a unit; what reaches it is kept, and counts again when it comes back."""
        unit = self.units.pop(unit_id, None)
        if unit is None:
            return
        self._shift(unit_id, -1)
        self._containment.remove(unit)
        if unit.target is not None:
            self._unit_of_target.remove((unit.target,), unit_id)
        self.work += 1

    def put_vcs(self, vcs: VcsFact) -> None:
        """Describe a virtual switch. Raises ValueError if another fabric has that switch id."""
        owner = self._switch_fabric.setdefault(vcs.switch, vcs.fabric)
        if owner != vcs.fabric:
            raise ValueError(f"switch id {vcs.switch} is used by fabrics {owner} and {vcs.fabric}")
        self.remove_vcs(vcs.switch, vcs.vcs)
        self.vcss[vcs.switch, vcs.vcs] = vcs
        if vcs.host is not None:
            self._vcs_of_host.add(((vcs.fabric, vcs.host, vcs.switch),), (vcs.switch, vcs.vcs))
        self.work += 1

    def remove_vcs(self, switch: str, vcs: str) -> None:
        """Forget a virtual switch; unknown ones are ignored."""
        before = self.vcss.pop((switch, vcs), None)
        if before is not None and before.host is not None:
            self._vcs_of_host.remove(((before.fabric, before.host, switch),), (switch, vcs))

    def put_chunk(self, chunk: Chunk) -> None:
        """Describe a chunk; connections that name it follow when it lies in another unit."""
        before = self.chunks.get(chunk.id)
        self.chunks[chunk.id] = chunk
        self.work += 1
        if before is None or before.unit != chunk.unit:
            self._refresh_all(self._connections_of_chunk.get(chunk.id))

    def remove_chunk(self, chunk_id: str) -> None:
        """Forget a chunk; unknown ones are ignored."""
        if self.chunks.pop(chunk_id, None) is not None:
            self.work += 1
            self._refresh_all(self._connections_of_chunk.get(chunk_id))

    # -- changes: what clients make ----------------------------------------------------------

    def put_endpoint(self, endpoint: Endpoint) -> None:
        """Add or replace an endpoint; its zones and connections follow a new meaning."""
        before = self._drop_endpoint(endpoint.id)
        self.endpoints[endpoint.id] = endpoint
        self._endpoints_of_unit.add(endpoint.units, endpoint.id)
        self._endpoints_of_port.add(endpoint.ports, endpoint.id)
        self.work += 1 + len(endpoint.units) + len(endpoint.ports)
        self._follow(endpoint.id, before, endpoint)

    def remove_endpoint(self, endpoint_id: str) -> None:
        """Forget an endpoint; zones that name it keep the name. Unknown ones are ignored."""
        before = self._drop_endpoint(endpoint_id)
        self._follow(endpoint_id, before, None)

    def put_zone(self, zone: Zone) -> None:
        """Add or replace a zone."""
        self._drop_zone(zone.id)
        self.zones[zone.id] = zone
        self._zones_of.add(zone.endpoints, zone.id)
        self._zones_above.add(zone.zones, zone.id)
        self._zones_in.add((zone.fabric,), zone.id)
        self.work += 1 + len(zone.endpoints) + len(zone.zones)
        self._refresh(zone.id)

    def remove_zone(self, zone_id: str) -> None:
        """Forget a zone and what it grants; unknown ones are ignored."""
        self._drop_zone(zone_id)
        self._refresh(zone_id)

    def put_connection(self, connection: Connection) -> None:
        """Add or replace a connection."""
        self._drop_connection(connection.id)
        self.connections[connection.id] = connection
        self._connections_of.add(_ends(connection), connection.id)
        self._connections_of_chunk.add(_chunk_ids(connection), connection.id)
        self._connections_in.add((connection.fabric,), connection.id)
        self.work += 1 + len(_ends(connection)) + len(connection.chunks)
        self._refresh(connection.id)

    def remove_connection(self, connection_id: str) -> None:
        """Forget a connection and what it grants; unknown ones are ignored."""
        self._drop_connection(connection_id)
        self._refresh(connection_id)

    def put_binding(self, binding: Binding) -> None:
        """Record a wanted binding under its vPPB, in place of what was wanted there."""
        self.remove_binding(binding.vppb)
        self.bindings[binding.vppb] = binding
        self._bindings_of_unit.add((binding.unit,), binding.vppb)
        self._bindings_of_holder.add(binding.holders, binding.vppb)
        self.work += 1 + len(binding.holders)

    def remove_binding(self, vppb: VppbId) -> None:
        """Forget what is wanted on `vppb`; unknown ones are ignored."""
        binding = self.bindings.pop(vppb, None)
        if binding is not None:
            self._bindings_of_unit.remove((binding.unit,), vppb)
            self._bindings_of_holder.remove(binding.holders, vppb)
            self.work += 1 + len(binding.holders)

    # -- lookups -----------------------------------------------------------------------------

    def facts(self, fabric: str) -> FabricFacts:
        """Return what is known of a fabric, or the strictest assumption."""
        return self.fabrics.get(fabric) or FabricFacts(fabric, FabricKind.BIND, zoned=True)

    def zones_of(self, endpoint_id: str) -> frozenset[str]:
        """Return the zones that name the endpoint, of any type."""
        return self._zones_of.get(endpoint_id)

    def zones_above(self, zone_id: str) -> frozenset[str]:
        """Return the zones of zones that contain the zone."""
        return self._zones_above.get(zone_id)

    def connections_of(self, endpoint_id: str) -> frozenset[str]:
        """Return the connections that name the endpoint on either side."""
        return self._connections_of.get(endpoint_id)

    def zones_taking(self, unit_id: str) -> Mapping[str, frozenset[str]]:
        """Return zone of endpoints -> endpoints that take the unit, its whole or its parts."""
        return self._counted(self._zone_parts.taken(unit_id))

    def endpoints_of_unit(self, unit_id: str) -> frozenset[str]:
        """Return the endpoints that name exactly this unit."""
        return self._endpoints_of_unit.get(unit_id)

    def endpoints_of_port(self, port: str) -> frozenset[str]:
        """Return the endpoints that use the port."""
        return self._endpoints_of_port.get(port)

    def hosts_of(self, unit_id: str) -> Mapping[str, frozenset[str]]:
        """Return host -> zones and connections by which it reaches the unit, its whole or parts.

        Two LDs of one MLD do not count for each other; both count for the MLD.
        """
        return self._counted(self._reach.taken(unit_id))

    def hosts_granted(self, unit_id: str) -> Mapping[str, frozenset[str]]:
        """Return host -> holders that give it the whole unit, parts not counted."""
        return self._counted(self._reach.granted(unit_id))

    def rivals(self, unit_id: str, holder: str) -> dict[str, frozenset[str]]:
        """Return host -> holders other than `holder` that make the unit taken for other hosts.

        For a shareable unit only the exclusive units around it count.
        """
        if self.exclusive(unit_id):
            return self._without(self.hosts_of(unit_id), holder)
        rivals: dict[str, frozenset[str]] = {}
        for above in filter(self.exclusive, self.units_above(unit_id)):
            for host, holders in self._without(self._reach.direct(above), holder).items():
                rivals[host] = rivals.get(host, frozenset()) | holders
        return rivals

    def exclusive(self, unit_id: str) -> bool:
        """Return whether one host at a time may reach the unit; unknown units are exclusive."""
        return self._containment.exclusive(unit_id)

    def units_above(self, unit_id: str) -> tuple[str, ...]:
        """Return what contains the unit, innermost first."""
        return self._containment.above(unit_id)

    def units_of_target(self, target: BindTarget) -> frozenset[str]:
        """Return the units that are bound through `target`: one, unless the inventory is wrong."""
        return self._unit_of_target.get(target)

    def empty_takings(self) -> reach.Takings:
        """Return sums of nothing over this index's containment, for a caller's own counting."""
        return reach.Takings(self._containment)

    def connections_of_unit(self, unit_id: str) -> frozenset[str]:
        """Return the connections that grant the unit or a chunk in it."""
        return self._connections_of_unit.get(unit_id)

    def zone_count(self, fabric: str) -> int:
        """Return how many zones the fabric holds, of any type."""
        return self._zones_in.count(fabric)

    def bindings_of_unit(self, unit_id: str) -> tuple[Binding, ...]:
        """Return the wanted bindings of the unit, by vPPB."""
        return self._bindings(self._bindings_of_unit.get(unit_id))

    def bindings_of_holder(self, holder: str) -> tuple[Binding, ...]:
        """Return the wanted bindings that the zone or connection keeps alive, by vPPB."""
        return self._bindings(self._bindings_of_holder.get(holder))

    def vcs_of_host(self, fabric: str, host: str, switch: str) -> tuple[VcsFact, ...]:
        """Return the host's virtual switches on one switch: fewest hops first, then lowest id."""
        keys = self._vcs_of_host.get((fabric, host, switch))
        found = [self.vcss[key] for key in keys]
        return tuple(sorted(found, key=lambda vcs: (vcs.hops, vcs.vcs)))

    def free_vppb(
        self, fabric: str, host: str, switch: str, occupied: Container[VppbId]
    ) -> VppbId | None:
        """Return the vPPB that the host's next binding takes, or None if all are in use."""
        for vcs in self.vcs_of_host(fabric, host, switch):
            for number in range(vcs.vppb_count):
                vppb = VppbId(switch, vcs.vcs, number)
                self.work += 1
                if vppb not in self.bindings and vppb not in occupied:
                    return vppb
        return None

    def snapshot(self) -> dict[str, object]:
        """Return a plain structure, equal for two indexes that know the same."""
        relations = {
            name: value.plain()
            for name, value in vars(self).items()
            if isinstance(value, Relation | reach.Takings | reach.Containment)
        }
        tables = {
            name: dict(value)
            for name, value in vars(self).items()
            if isinstance(value, dict) and name != "_switch_fabric"
        }
        return {**relations, **tables}

    # -- keeping the sums --------------------------------------------------------------------

    def _drop_endpoint(self, endpoint_id: str) -> Endpoint | None:
        before = self.endpoints.pop(endpoint_id, None)
        if before is not None:
            self._endpoints_of_unit.remove(before.units, endpoint_id)
            self._endpoints_of_port.remove(before.ports, endpoint_id)
            self.work += 1 + len(before.units) + len(before.ports)
        return before

    def _drop_zone(self, zone_id: str) -> None:
        before = self.zones.pop(zone_id, None)
        if before is not None:
            self._zones_of.remove(before.endpoints, zone_id)
            self._zones_above.remove(before.zones, zone_id)
            self._zones_in.remove((before.fabric,), zone_id)
            self.work += 1 + len(before.endpoints) + len(before.zones)

    def _drop_connection(self, connection_id: str) -> None:
        before = self.connections.pop(connection_id, None)
        if before is not None:
            self._connections_of.remove(_ends(before), connection_id)
            self._connections_of_chunk.remove(_chunk_ids(before), connection_id)
            self._connections_in.remove((before.fabric,), connection_id)
            self.work += 1 + len(_ends(before)) + len(before.chunks)

    def _follow(self, endpoint_id: str, before: Endpoint | None, after: Endpoint | None) -> None:
        if _meaning(before) != _meaning(after):
            self._refresh_all(self.zones_of(endpoint_id) | self.connections_of(endpoint_id))

    def _refresh_all(self, holders: frozenset[str]) -> None:
        for holder in holders:
            self._refresh(holder)

    def _refresh(self, holder: str) -> None:
        before = self._effects.pop(holder, _NOTHING)
        after = self._read_effects(holder)
        for unit, host in before.reach - after.reach:
            self._reach.add(unit, host, holder, -1)
        for unit, host in after.reach - before.reach:
            self._reach.add(unit, host, holder)
        for unit, member in before.parts - after.parts:
            self._zone_parts.add(unit, holder, member, -1)
        for unit, member in after.parts - before.parts:
            self._zone_parts.add(unit, holder, member)
        self._connections_of_unit.remove(before.granted - after.granted, holder)
        self._connections_of_unit.add(after.granted - before.granted, holder)
        self.work += sum(len(x.reach) + len(x.parts) + len(x.granted) for x in (before, after))
        if after != _NOTHING:
            self._effects[holder] = after

    def _read_effects(self, holder: str) -> _Effects:
        zone = self.zones.get(holder)
        if zone is not None:
            return self._zone_effects(zone)
        connection = self.connections.get(holder)
        return _NOTHING if connection is None else self._connection_effects(connection)

    def _zone_effects(self, zone: Zone) -> _Effects:
        parts = frozenset(reach.zone_parts(zone, self.endpoints))
        hosts = reach.zone_hosts(zone, self.endpoints)
        grants = self.facts(zone.fabric).kind is FabricKind.BIND and reach.routes(zone)
        return _Effects(
            frozenset((unit, host) for unit, _ in parts for host in hosts if grants),
            parts if zone.zone_type is ZoneType.ENDPOINTS else frozenset(),
        )

    def _connection_effects(self, connection: Connection) -> _Effects:
        parts = reach.connection_parts(connection, self.endpoints, self.chunks)
        units = frozenset(unit for unit, _ in parts)
        hosts = reach.connection_hosts(connection, self.endpoints)
        grants = self.facts(connection.fabric).kind is not FabricKind.REACH
        return _Effects(
            frozenset((unit, host) for unit in units for host in hosts if grants), granted=units
        )

    def _shift(self, unit_id: str, weight: int) -> None:
        self.work += self._reach.move(unit_id, weight)
        self.work += self._zone_parts.move(unit_id, weight)

    def _counted(self, found: dict[str, frozenset[str]]) -> dict[str, frozenset[str]]:
        self.work += 1 + sum(map(len, found.values()))
        return found

    def _bindings(self, vppbs: frozenset[VppbId]) -> tuple[Binding, ...]:
        self.work += len(vppbs)
        return tuple(self.bindings[vppb] for vppb in sorted(vppbs))

    @staticmethod
    def _without(found: Mapping[str, frozenset[str]], holder: str) -> dict[str, frozenset[str]]:
        others = {host: holders - {holder} for host, holders in found.items()}
        return {host: holders for host, holders in others.items() if holders}


def _meaning(endpoint: Endpoint | None) -> tuple[str | None, frozenset[str]]:
    return (None, frozenset()) if endpoint is None else (endpoint.host, endpoint.units)


def _ends(connection: Connection) -> frozenset[str]:
    return frozenset(connection.initiators) | frozenset(connection.targets)


def _chunk_ids(connection: Connection) -> tuple[str, ...]:
    return tuple(grant.chunk for grant in connection.chunks)
