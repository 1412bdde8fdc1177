"""Who depends on whom in a fabric: the links of the health graph that wanted state makes.

Pure. A zone and a connection depend on their members, the fabric on its zones and connections, a
host on the targets it was granted, not on who else was. All links lead from part to whole.
"""

from collections.abc import Iterable, Iterator

from redfish_fm.fabric import reach
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.values import Allocation, Connection, Zone
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
    yield zone.id, FABRIC.format(fabric=zone.fabric)
    for member in zone.zones:
        yield member, zone.id
    if reach.routes(zone):
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
    for host in hosts:
        for target in (*targets, *parts):
            yield target, host


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
