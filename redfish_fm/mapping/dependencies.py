"""Who depends on whom in a fabric: the links of the health graph that wanted state makes.

Pure. A zone and a connection depend on their members, the fabric on its zones and connections, a
host on the targets it was granted (by a composition: on that one), not on who else was. All links
lead from part to whole; only an import whose zones contain each other makes circles of them.
"""

from collections.abc import Iterable, Iterator

from redfish_fm.fabric import reach
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.values import Allocation, Binding, Connection, Endpoint, Role, Zone
from redfish_fm.mapping.plugged import Plugged
from redfish_fm.mapping.uris import FABRIC

Links = frozenset[tuple[str, str]]
"""(who is depended on, who depends on it)."""


def holder_links(index: FabricIndex, uri: str, fabric: str) -> Links:
    """Return the links that the zone or connection at `uri` makes; none of one that is gone."""
    zone, connection = index.zones.get(uri), index.connections.get(uri)
    if zone is not None and zone.fabric == fabric:
        return frozenset(_zone_links(index, zone))
    if connection is not None and connection.fabric == fabric:
        return frozenset(_connection_links(index, connection))
    return frozenset()


def _zone_links(index: FabricIndex, zone: Zone) -> Iterator[tuple[str, str]]:
    if not (zone.zones or zone.endpoints or index.bindings_of_holder(zone.id)):
        # Many zones are made empty and filled later: nothing can be wrong with one.
        return
    yield zone.id, FABRIC.format(fabric=zone.fabric)
    for member in zone.zones:
        yield member, zone.id
    if zone.endpoints and reach.routes(zone):
        yield from _holding(index, zone.id, zone.endpoints, ())


def _connection_links(index: FabricIndex, connection: Connection) -> Iterator[tuple[str, str]]:
    yield connection.id, FABRIC.format(fabric=connection.fabric)
    groups = (*connection.initiator_groups, *connection.target_groups)
    members = (member for each in groups if each in index.groups
               for member in index.groups[each].endpoints)  # fmt: skip
    ends = tuple(dict.fromkeys((*connection.initiators, *connection.targets, *members)))
    yield from _holding(index, connection.id, ends, granted(connection))


def _holding(
    index: FabricIndex, holder: str, members: Iterable[str], parts: Iterable[str]
) -> Iterator[tuple[str, str]]:
    known = [index.endpoints[member] for member in members if member in index.endpoints]
    hosts = sorted({each.host for each in known if each.host is not None})
    targets = [each.id for each in known if each.role in reach.TARGETS]
    for each in known:
        yield each.id, holder
    for part in parts:
        yield part, holder
    peers = {each.id for each in known if each.role is Role.BOTH}
    # What a composition has is weighed before its host feels it (composition_health).
    for host in hosts if index.composition_holding(holder) is None else ():
        for target in (*targets, *parts):
            # Endpoints that are hosts themselves use each other; none of them is part of another.
            if not (host in peers and target in peers):
                yield target, host


def binding_links(index: FabricIndex, node: str, binding: Binding) -> Iterator[tuple[str, str]]:
    """Yield the links of what is bound, as a node: its host suffers when it is not.

    So it does, with who bound it, when a link between switches on the way is down; what it is to a
    composition is weighed there.
    """
    yield node, binding.host
    if any(map(index.composition_holding, binding.holders)):
        return
    for vcs in index.vcss_on_way((binding.vppb.switch, binding.vppb.vcs)):
        if vcs.through is not None and vcs.port is not None:
            for each in (binding.host, *sorted(binding.holders)):
                yield vcs.port, each


def holders_of(index: FabricIndex, uri: str) -> frozenset[str]:
    """Return the zones and connections whose links follow when an endpoint or group changes."""
    return index.zones_of(uri) | index.connections_of(uri) | index.connections_of_group(uri)


def allocations(index: FabricIndex, uri: str) -> tuple[Allocation, ...]:
    """Return what hardware has to provide for the chunk, region or volume at `uri`: one or none."""
    part = index.chunks.get(uri) or index.regions.get(uri) or index.volumes.get(uri)
    return () if part is None or part.allocation is None else (part.allocation,)


def granted(connection: Connection) -> tuple[str, ...]:
    """Return the chunks, regions and volumes that the connection names."""
    return (
        *(grant.chunk for grant in connection.chunks),
        *(grant.region for grant in connection.regions),
        *(grant.volume for grant in connection.volumes),
    )


def inventory_links(plugged: Plugged, fabric: str) -> Iterator[tuple[str, str]]:
    """Yield the links of what is discovered; `fabric` is its URI."""
    switches = plugged.switch_uris
    for uri in switches.values():
        yield uri, fabric
    for port, uri in plugged.port_uris.items():
        if port.switch in switches:
            yield uri, switches[port.switch]
    yield from plugged.chassis_links()
    yield from plugged.storage_links()


def inventory_shown(plugged: Plugged, fabric: str) -> Iterator[str]:
    """Yield what is discovered of a fabric and may show what is seen of it."""
    yield from plugged.switch_ids
    yield from plugged.port_ids
    yield from plugged.ports_of
    yield from plugged.of_link
    yield from plugged.metrics_of
    yield from (uri for (name, _), uri in plugged.facts.vppb_uris.items() if name == fabric)


def endpoint_links(plugged: Plugged, endpoint: Endpoint) -> Iterator[tuple[str, str]]:
    """Yield the links of an endpoint: it suffers when its switch says nothing, its host with it."""
    for port in endpoint.ports:
        place = plugged.port_ids.get(port)
        if place is not None and place.switch in plugged.switch_uris:
            yield silence(plugged.switch_uris[place.switch]), endpoint.id
    if endpoint.host is not None and endpoint.host != endpoint.id:
        yield endpoint.id, endpoint.host


def silence(switch: str) -> str:
    """Return the node that a switch's not answering is, apart from the switch and its ports."""
    return f"silence of {switch}"


def all_wanted(index: FabricIndex, fabric: str) -> Iterator[str]:
    """Yield everything of a fabric that clients can have made and that shows what is seen."""
    for table in (index.endpoints, index.zones, index.connections):
        yield from (uri for uri, each in table.items() if each.fabric == fabric)
    yield from (each.holder for each in index.allocations_in(fabric))
