"""Everything the isolation rules look things up in, kept up to date change by change.

Pure and mutable: control owns one for what is committed and one for the tip. A put or remove costs
the size of the thing it changes (and of the zones and connections whose meaning changes with it),
never the size of the fabric; `work` counts touched entries, so a test can prove it. Order of puts
does not matter: an index fed in any order equals one rebuilt from disk.

What it is made of, innermost first: unit_index (units, sums over them), part_index (domains,
pools, chunks, regions, volumes), binding_index (virtual switches, bindings), composition_index
(blocks, compositions, reservations), and here what clients make: endpoints, groups, zones,
connections and vPPBs bound by hand.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from redfish_fm.fabric import reach
from redfish_fm.fabric.bandwidth import BandwidthIndex
from redfish_fm.fabric.binding_index import VcsFact
from redfish_fm.fabric.composition_index import CompositionIndex
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.relation import Relation
from redfish_fm.fabric.values import (
    Connection,
    Endpoint,
    EndpointGroup,
    VppbGrant,
    Zone,
    ZoneType,
)

__all__ = ["FabricFacts", "FabricIndex", "VcsFact"]


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
class _Effects:
    """What one holder contributes to the sums; kept so that it can be taken back.

    `reach` has (unit, host), `parts` (unit, endpoint) of a zone of endpoints, `granted` the units
    of a connection; `hosts` are those that are named, whether they get anything or not.
    """

    reach: frozenset[tuple[str, str]] = frozenset()
    parts: frozenset[tuple[str, str]] = frozenset()
    granted: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()


_NOTHING = _Effects()


class FabricIndex(CompositionIndex):
    """Typed lookups over endpoints, zones, connections, parts, units and wanted bindings.

    The public mappings are read-only by convention. A fabric that was not described counts as a
    zoned `bind` fabric, which has the strictest rules.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fabrics: dict[str, FabricFacts] = {}
        self.bandwidth = BandwidthIndex()
        self.endpoints: dict[str, Endpoint] = {}
        self.groups: dict[str, EndpointGroup] = {}
        self.zones: dict[str, Zone] = {}
        self.connections: dict[str, Connection] = {}
        self.vppb_grants: dict[str, VppbGrant] = {}
        self._effects: dict[str, _Effects] = {}
        self._endpoints_of_unit: Relation[str, str] = Relation()
        self._endpoints_of_port: Relation[str, str] = Relation()
        self._endpoints_of_host: Relation[tuple[str, str], str] = Relation()
        self._groups_of: Relation[str, str] = Relation()
        self._zones_of: Relation[str, str] = Relation()
        self._zones_in: Relation[str, str] = Relation()
        self._defaults_in: Relation[str, str] = Relation()
        self._zones_above: Relation[str, str] = Relation()
        self._connections_naming: Relation[str, str] = Relation()
        self._connections_aimed_at: Relation[str, str] = Relation()
        self._connections_in: Relation[str, str] = Relation()
        self._connections_of_unit: Relation[str, str] = Relation()

    # -- changes: inventory ----------------------------------------------------------------

    def put_fabric(self, fabric: FabricFacts) -> None:
        """Describe a fabric; a new kind re-reads all its zones and connections."""
        before = self.fabrics.get(fabric.id)
        self.fabrics[fabric.id] = fabric
        self.work += 1
        if before is None or before.kind is not fabric.kind:
            self._refresh_all(self._zones_in.get(fabric.id) | self._connections_in.get(fabric.id))

    # -- changes: what clients make ----------------------------------------------------------

    def put_endpoint(self, endpoint: Endpoint) -> None:
        """Add or replace an endpoint; its zones and connections follow a new meaning."""
        before = self._drop_endpoint(endpoint.id)
        self.endpoints[endpoint.id] = endpoint
        self._endpoints_of_unit.add(endpoint.units, endpoint.id)
        self._endpoints_of_port.add(endpoint.ports, endpoint.id)
        self._endpoints_of_host.add(_host_key(endpoint), endpoint.id)
        self.work += 1 + len(endpoint.units) + len(endpoint.ports)
        self._follow(endpoint.id, before, endpoint)

    def remove_endpoint(self, endpoint_id: str) -> None:
        """Forget an endpoint; zones that name it keep the name. Unknown ones are ignored."""
        before = self._drop_endpoint(endpoint_id)
        self._follow(endpoint_id, before, None)

    def put_group(self, group: EndpointGroup) -> None:
        """Add or replace an endpoint group; connections that name it follow."""
        self._drop_group(group.id)
        self.groups[group.id] = group
        self._groups_of.add(group.endpoints, group.id)
        self.work += 1 + len(group.endpoints)
        self._refresh_all(self.connections_of_group(group.id))

    def remove_group(self, group_id: str) -> None:
        """Forget an endpoint group; connections that name it keep the name."""
        self._drop_group(group_id)
        self._refresh_all(self.connections_of_group(group_id))

    def put_zone(self, zone: Zone) -> None:
        """Add or replace a zone."""
        self._drop_zone(zone.id)
        self.zones[zone.id] = zone
        if zone.endpoints:
            self._zones_of.add(zone.endpoints, zone.id)
        if zone.zones:
            self._zones_above.add(zone.zones, zone.id)
        self._zones_in.add((zone.fabric,), zone.id)
        if zone.zone_type is ZoneType.DEFAULT:
            self._defaults_in.add((zone.fabric,), zone.id)
        self.work += 1 + len(zone.endpoints) + len(zone.zones)
        # Many zones are made empty and filled later: those have no effect, and had none.
        if zone.endpoints or zone.id in self._effects:
            self._refresh(zone.id)

    def remove_zone(self, zone_id: str) -> None:
        """Forget a zone and what it grants; unknown ones are ignored."""
        self._drop_zone(zone_id)
        self._refresh(zone_id)

    def put_connection(self, connection: Connection) -> None:
        """Add or replace a connection."""
        self._drop_connection(connection.id)
        self.connections[connection.id] = connection
        named = _named(connection)
        self._connections_naming.add(named, connection.id)
        self._connections_aimed_at.add(_aimed_at(connection), connection.id)
        self._connections_in.add((connection.fabric,), connection.id)
        self.work += 1 + len(named)
        self._refresh(connection.id)

    def remove_connection(self, connection_id: str) -> None:
        """Forget a connection and what it grants; unknown ones are ignored."""
        self._drop_connection(connection_id)
        self._refresh(connection_id)

    def put_vppb_grant(self, grant: VppbGrant) -> None:
        """Record that a client bound a unit to one vPPB itself; it reaches like a zone's."""
        self.vppb_grants[grant.id] = grant
        self.work += 1
        self._refresh(grant.id)

    def remove_vppb_grant(self, grant_id: str) -> None:
        """Forget what a client bound to a vPPB itself; unknown ones are ignored."""
        if self.vppb_grants.pop(grant_id, None) is not None:
            self.work += 1
            self._refresh(grant_id)

    # -- lookups -----------------------------------------------------------------------------

    def facts(self, fabric: str) -> FabricFacts:
        """Return what is known of a fabric, or the strictest assumption."""
        return self.fabrics.get(fabric) or FabricFacts(fabric, FabricKind.BIND, zoned=True)

    def zones_of(self, endpoint_id: str) -> frozenset[str]:
        """Return the zones that name the endpoint, of any type."""
        return self._zones_of.get(endpoint_id)

    def common_zones(self, one: str, other: str) -> Iterator[str]:
        """Yield the zones in which two endpoints reach each other; costs the one in fewer zones."""
        few, many = sorted((one, other), key=self._zones_of.count)
        for zone in self._zones_of.each(few):
            self.work += 1
            if self._zones_of.has(many, zone) and reach.routes(self.zones[zone]):
                yield zone

    def reaching_zones(self, endpoint_id: str) -> Iterator[str]:
        """Yield the zones in which the endpoint reaches others; take as many as are needed."""
        for zone in self._zones_of.each(endpoint_id):
            self.work += 1
            if reach.routes(self.zones[zone]):
                yield zone

    def zones_above(self, zone_id: str) -> frozenset[str]:
        """Return the zones of zones that contain the zone."""
        return self._zones_above.get(zone_id)

    def groups_of(self, endpoint_id: str) -> frozenset[str]:
        """Return the endpoint groups that name the endpoint."""
        return self._groups_of.get(endpoint_id)

    def connections_of(self, endpoint_id: str) -> frozenset[str]:
        """Return the connections that have the endpoint on either side, groups included."""
        names = (endpoint_id, *self.groups_of(endpoint_id))
        found = frozenset[str]().union(*map(self._connections_naming.get, names))
        self.work += len(found)
        return found

    def connections_aimed_at(self, endpoint_id: str) -> frozenset[str]:
        """Return the connections that have the endpoint as a target, groups included."""
        names = (endpoint_id, *self.groups_of(endpoint_id))
        found = frozenset[str]().union(*map(self._connections_aimed_at.get, names))
        self.work += len(found)
        return found

    def connections_of_group(self, group_id: str) -> frozenset[str]:
        """Return the connections that name the endpoint group on either side."""
        return self._connections_naming.get(group_id)

    def connections_of_part(self, part_id: str) -> frozenset[str]:
        """Return the connections that grant exactly this chunk, region or volume."""
        return self._connections_naming.get(part_id)

    def connections_of_unit(self, unit_id: str) -> frozenset[str]:
        """Return the connections that grant the unit or a chunk in it."""
        return self._connections_of_unit.get(unit_id)

    def endpoints_of_unit(self, unit_id: str) -> frozenset[str]:
        """Return the endpoints that name exactly this unit."""
        return self._endpoints_of_unit.get(unit_id)

    def endpoints_of_port(self, port: str) -> frozenset[str]:
        """Return the endpoints that use the port."""
        return self._endpoints_of_port.get(port)

    def endpoints_of_host(self, fabric: str, host: str) -> frozenset[str]:
        """Return the endpoints of one fabric by which the host initiates."""
        return self._endpoints_of_host.get((fabric, host))

    def zone_count(self, fabric: str) -> int:
        """Return how many zones the fabric holds that Fabric.MaxZones counts.

        Default zones are the service's, nobody had to make them.
        """
        return self._zones_in.count(fabric) - self._defaults_in.count(fabric)

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
            if isinstance(value, dict) and name not in ("_switch_fabric", "_claims")
        }
        claims = {target: dict(rows) for target, rows in self._claims.items()}
        wishes = dict(self.bandwidth.wishes)
        return {**relations, **tables, "_claims": claims, "bandwidth": wishes}

    # -- keeping the sums --------------------------------------------------------------------

    def _units_of_holder(self, holder: str) -> frozenset[str]:
        return frozenset(unit for unit, _ in self._effects.get(holder, _NOTHING).reach)

    def _part_moved(self, part_id: str) -> None:
        self._refresh_all(self.connections_of_part(part_id))

    def _drop_endpoint(self, endpoint_id: str) -> Endpoint | None:
        before = self.endpoints.pop(endpoint_id, None)
        if before is not None:
            self._endpoints_of_unit.remove(before.units, endpoint_id)
            self._endpoints_of_port.remove(before.ports, endpoint_id)
            self._endpoints_of_host.remove(_host_key(before), endpoint_id)
            self.work += 1 + len(before.units) + len(before.ports)
        return before

    def _drop_group(self, group_id: str) -> None:
        before = self.groups.pop(group_id, None)
        if before is not None:
            self._groups_of.remove(before.endpoints, group_id)
            self.work += 1 + len(before.endpoints)

    def _drop_zone(self, zone_id: str) -> None:
        before = self.zones.pop(zone_id, None)
        if before is not None:
            self._zones_of.remove(before.endpoints, zone_id)
            self._zones_above.remove(before.zones, zone_id)
            self._zones_in.remove((before.fabric,), zone_id)
            self._defaults_in.remove((before.fabric,), zone_id)
            self.work += 1 + len(before.endpoints) + len(before.zones)

    def _drop_connection(self, connection_id: str) -> None:
        before = self.connections.pop(connection_id, None)
        if before is not None:
            named = _named(before)
            self._connections_naming.remove(named, connection_id)
            self._connections_aimed_at.remove(_aimed_at(before), connection_id)
            self._connections_in.remove((before.fabric,), connection_id)
            self.work += 1 + len(named)

    def _follow(self, endpoint_id: str, before: Endpoint | None, after: Endpoint | None) -> None:
        named = self.zones or self.connections
        if named and _meaning(before) != _meaning(after):
            self._refresh_all(self.zones_of(endpoint_id) | self.connections_of(endpoint_id))

    def _refresh_all(self, holders: frozenset[str]) -> None:
        for holder in holders:
            self._refresh(holder)

    def _refresh(self, holder: str) -> None:
        before = self._effects.get(holder, _NOTHING)
        after = self._read_effects(holder)
        if before is after or before == after:
            self.work += 1
            return
        self._effects.pop(holder, None)
        moved = (before.reach ^ after.reach) | (before.parts ^ after.parts)
        self._units_moved({unit for unit, _ in moved} | (before.granted ^ after.granted))
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
        self._hosts_moved(holder, before.hosts - after.hosts, after.hosts - before.hosts)
        self.work += sum(len(x.reach) + len(x.parts) + len(x.granted) for x in (before, after))
        if after != _NOTHING:
            self._effects[holder] = after

    def _read_effects(self, holder: str) -> _Effects:
        zone = self.zones.get(holder)
        if zone is not None:
            return self._zone_effects(zone)
        connection = self.connections.get(holder)
        if connection is not None:
            return self._connection_effects(connection)
        grant = self.vppb_grants.get(holder)
        if grant is None:
            return _NOTHING
        return _Effects(
            frozenset({(grant.unit, grant.host)}),
            frozenset({(grant.unit, grant.id)}),
            hosts=frozenset({grant.host}),
        )

    def _zone_effects(self, zone: Zone) -> _Effects:
        if not zone.endpoints:
            return _NOTHING
        parts = frozenset(reach.zone_parts(zone, self.endpoints))
        hosts = reach.zone_hosts(zone, self.endpoints)
        grants = self.facts(zone.fabric).kind is FabricKind.BIND and reach.routes(zone)
        return _Effects(
            frozenset((unit, host) for unit, _ in parts for host in hosts if grants),
            parts if zone.zone_type is ZoneType.ENDPOINTS else frozenset(),
            hosts=frozenset(hosts) if reach.routes(zone) else frozenset(),
        )

    def _connection_effects(self, connection: Connection) -> _Effects:
        units = frozenset(unit for unit, _ in reach.connection_parts(connection, self))
        hosts = reach.connection_hosts(connection, self)
        grants = self.facts(connection.fabric).kind is not FabricKind.REACH
        return _Effects(
            frozenset((unit, host) for unit in units for host in hosts if grants),
            granted=units,
            hosts=frozenset(hosts),
        )


def _meaning(endpoint: Endpoint | None) -> tuple[str | None, frozenset[str]]:
    return (None, frozenset()) if endpoint is None else (endpoint.host, endpoint.units)


def _aimed_at(connection: Connection) -> frozenset[str]:
    return frozenset((*connection.targets, *connection.target_groups))


def _named(connection: Connection) -> frozenset[str]:
    """Return every endpoint, group, chunk, region and volume that the connection names."""
    return frozenset(
        (
            *connection.initiators,
            *connection.targets,
            *connection.initiator_groups,
            *connection.target_groups,
            *(grant.chunk for grant in connection.chunks),
            *(grant.region for grant in connection.regions),
            *(grant.volume for grant in connection.volumes),
        )
    )


def _host_key(endpoint: Endpoint) -> tuple[tuple[str, str], ...]:
    return () if endpoint.host is None else ((endpoint.fabric, endpoint.host),)
