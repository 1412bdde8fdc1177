"""Rules about zones and the endpoints in them. DESIGN section 5, rules 2, 5 and 6.

Pure; one function per rule, listed in fabric.zoning.RULES.
"""

from collections.abc import Iterator

from redfish_fm.fabric import reach
from redfish_fm.fabric.cases import Case, Finding, finding
from redfish_fm.fabric.connection_rules import lacks_common_zone
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.part_rules import routed_by_default
from redfish_fm.fabric.values import (
    Binder,
    Endpoint,
    Rule,
    Violation,
    VppbGrant,
    Zone,
    ZoneType,
)


def zone_many_hosts(case: Case) -> Iterator[Finding]:
    """Rule 2: on bind fabrics a zone with exclusive units has initiators of one host only."""
    if not isinstance(case.subject, Zone) or not case.grants():
        return
    hosts = case.hosts()
    if len(hosts) < 2 or not any(map(case.index.exclusive, case.parts())):
        return
    pointers = case.pointers()
    for position, (host, endpoint) in enumerate(hosts.items()):
        others = tuple(other for other in hosts.values() if other != endpoint)
        violation = Violation(
            Rule.ZONE_MANY_HOSTS, endpoint, case.subject.id, pointers[endpoint], others
        )
        yield Finding((Rule.ZONE_MANY_HOSTS, host), violation, "zone", position == 0)


def zone_unit_twice(case: Case) -> Iterator[Finding]:
    """Rule 2: an exclusive unit that binds by zone is in at most one ZoneOfEndpoints.

    A vPPB that a client bound itself counts as one.
    """
    zone = case.subject
    if not isinstance(zone, Zone | VppbGrant):
        return
    if isinstance(zone, Zone) and zone.zone_type is not ZoneType.ENDPOINTS:
        return
    if case.kind is not FabricKind.BIND:
        return
    pointers = case.pointers()
    for unit, cause in case.parts().items():
        if _binds_by_zone(case.index, unit) and case.index.exclusive(unit):
            for other in sorted(case.index.zones_taking(unit).keys() - {zone.id}):
                violation = Violation(Rule.ZONE_UNIT_TWICE, cause, other, pointers.get(cause))
                yield Finding((Rule.ZONE_UNIT_TWICE, unit, other), violation)


def _binds_by_zone(index: FabricIndex, unit_id: str) -> bool:
    unit = index.units.get(unit_id)
    return unit is not None and unit.binder is Binder.ZONE


def zone_type(case: Case) -> Iterator[Finding]:
    """Rule 6: neither Default nor resource-block zones are made by hand."""
    zone = case.subject
    if not isinstance(zone, Zone):
        return
    held = case.index.zones.get(zone.id)
    kept = held is not None and held.zone_type is ZoneType.DEFAULT
    if zone.zone_type is ZoneType.RESOURCE_BLOCKS or (
        zone.zone_type is ZoneType.DEFAULT and not kept
    ):
        yield finding(Rule.ZONE_TYPE, zone.id, zone.zone_type.value, "/ZoneType")


def default_routing(case: Case) -> Iterator[Finding]:
    """Rule 6: on bind fabrics a routing Default zone holds no exclusive units.

    Switching it on while it holds some, and adding one while it is on, are the same mistake.
    """
    yield from routed_by_default(case)
    zone = case.subject
    if not isinstance(zone, Zone) or zone.zone_type is not ZoneType.DEFAULT or not zone.routing:
        return
    if case.kind is not FabricKind.BIND:
        return
    held = case.index.zones.get(zone.id)
    pointers = case.pointers() if held is not None and held.routing else {}
    for unit, cause in case.parts().items():
        if case.index.exclusive(unit):
            pointer = pointers.get(cause, "/DefaultRoutingEnabled")
            violation = Violation(Rule.DEFAULT_ROUTING, cause, zone.id, pointer)
            yield Finding((Rule.DEFAULT_ROUTING, unit), violation)


def zone_nesting(case: Case) -> Iterator[Finding]:
    """Rule 6: a zone of zones holds zones of endpoints, nothing else, and only it holds zones."""
    zone = case.subject
    if not isinstance(zone, Zone):
        return
    for position, inner_id in enumerate(zone.zones):
        inner = case.index.zones.get(inner_id)
        wrong = inner is not None and inner.zone_type is not ZoneType.ENDPOINTS
        if wrong or zone.zone_type is not ZoneType.ZONES or inner_id == zone.id:
            pointer = f"/Links/ContainsZones/{position}"
            yield finding(Rule.ZONE_NESTING, inner_id, zone.id, pointer)
    if zone.zone_type is ZoneType.ZONES:
        for member in case.members():
            yield finding(Rule.ZONE_NESTING, member.id, zone.id, member.pointer)
    if zone.zone_type is not ZoneType.ENDPOINTS:
        for outer in sorted(case.index.zones_above(zone.id)):
            yield finding(Rule.ZONE_NESTING, zone.id, outer, "/ZoneType")


def max_zones(case: Case) -> Iterator[Finding]:
    """Rule 6: the fabric holds no more zones than Fabric.MaxZones."""
    if not isinstance(case.subject, Zone) or case.subject.zone_type is ZoneType.DEFAULT:
        return
    limit = case.index.facts(case.subject.fabric).max_zones
    if limit is None:
        return
    others = case.index.zone_count(case.subject.fabric) - (case.subject.id in case.index.zones)
    if others >= limit:
        yield finding(Rule.MAX_ZONES, case.subject.fabric, others=(str(limit),))


def zone_in_use(case: Case) -> Iterator[Finding]:
    """Rule 6: no connection is left without a common zone by what becomes of a zone.

    On connection-grants fabrics members that come count like those that go: whoever is zoned is
    limited to its zones.
    """
    zone = case.subject
    if not isinstance(zone, Zone):
        return
    held = case.index.zones.get(zone.id)
    was = frozenset(held.endpoints) if held is not None and reach.routes(held) else frozenset()
    stays = frozenset(zone.endpoints) if reach.routes(zone) and not case.removal else frozenset()
    if was == stays:
        return
    pointer = None if case.removal else "/Links/Endpoints"
    for connection_id in sorted(_parted(case, was, stays)):
        connection = case.index.connections[connection_id]
        lacked = set(lacks_common_zone(case.index, connection))
        for pair in lacks_common_zone(case.index, connection, zone.id, stays):
            if pair not in lacked:
                end = next((end for end in reversed(pair) if end in was ^ stays), pair[0])
                violation = Violation(Rule.ZONE_IN_USE, end, connection_id, pointer, pair)
                yield Finding((Rule.ZONE_IN_USE, connection_id, pair), violation)


def _parted(case: Case, was: frozenset[str], stays: frozenset[str]) -> set[str]:
    """Return the connections that a change of members may part.

    What goes parts only connections with both ends in the zone, found by their targets: a host may
    have very many. What comes parts only those of ends that no zone has limited so far.
    """
    index = case.index
    gone = was - stays
    known = [index.endpoints[end] for end in gone if end in index.endpoints]
    hosts_go = any(endpoint.role in reach.INITIATORS for endpoint in known)
    found = {holder for end in (was if hosts_go else gone) for holder in _aimed_at(index, end)}
    if case.kind is FabricKind.CONNECTION_GRANTS:
        for end in stays - was:
            if not any(index.reaching_zones(end)):
                found |= index.connections_of(end) | _aimed_at(index, end)
    return found


def _aimed_at(index: FabricIndex, endpoint_id: str) -> set[str]:
    """Return the connections to the endpoint, or to a volume behind it without naming it."""
    endpoint = index.endpoints.get(endpoint_id)
    found = set(index.connections_aimed_at(endpoint_id))
    for unit in () if endpoint is None else endpoint.units:
        holders = frozenset[str]().union(*index.hosts_of(unit).values())
        found.update(holders & index.connections.keys())
    return found


def port_has_initiator(case: Case) -> Iterator[Finding]:
    """Rule 5: on bind fabrics a port has one initiator endpoint (imports keep theirs)."""
    endpoint = case.subject
    if not isinstance(endpoint, Endpoint) or case.kind is not FabricKind.BIND:
        return
    if endpoint.role not in reach.INITIATORS:
        return
    for port in sorted(endpoint.ports):
        for other in sorted(case.index.endpoints_of_port(port) - {endpoint.id}):
            if case.index.endpoints[other].role in reach.INITIATORS:
                yield finding(Rule.PORT_HAS_INITIATOR, port, other)


def endpoint_in_use(case: Case) -> Iterator[Finding]:
    """Rule 6: an endpoint in a zone or connection is neither deleted nor made another thing.

    Nor is one made whose name stands in a zone or connection already (an import's dangling link):
    it would reach what nobody judged.
    """
    endpoint = case.subject
    if not isinstance(endpoint, Endpoint):
        return
    held = case.index.endpoints.get(endpoint.id)
    if not case.removal and held is not None and _identity(held) == _identity(endpoint):
        return
    if held is None and endpoint.host is None and not endpoint.units:
        return
    zones = case.index.zones_of(endpoint.id)
    counted = {zone for zone in zones if _holds(case.index.zones[zone], case.removal)}
    for holder in sorted(counted | case.index.connections_of(endpoint.id)):
        yield finding(Rule.ENDPOINT_IN_USE, endpoint.id, holder)


def _holds(zone: Zone, removal: bool) -> bool:
    """A Default zone does not keep an endpoint from going, but one that routes gives it reach."""
    return zone.zone_type is not ZoneType.DEFAULT or (zone.routing and not removal)


def _identity(endpoint: Endpoint) -> tuple[object, ...]:
    return endpoint.fabric, endpoint.role, endpoint.host, endpoint.units
