"""Rules about connections: common zones, chunks and access. DESIGN section 5, rules 3 and 4.

Pure; one function per rule, listed in fabric.zoning.RULES.
"""

from collections.abc import Iterator

from redfish_fm.fabric import reach
from redfish_fm.fabric.cases import Case, Finding, chunk_pointer, finding
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import Binder, Chunk, Connection, Rule, Violation


def lacks_common_zone(
    index: FabricIndex,
    connection: Connection,
    changed: str | None = None,
    stays: frozenset[str] = frozenset(),
) -> Iterator[tuple[str, str]]:
    """Yield the (initiator, target) pairs that need a common zone and have none.

    `changed` is a zone judged as if `stays` were its members. Unknown endpoints are left out.
    """
    facts = index.facts(connection.fabric)
    needed = facts.zoned and facts.kind is FabricKind.BIND
    if not needed and facts.kind is not FabricKind.CONNECTION_GRANTS:
        return
    zones = {
        end: _routing_zones(index, end, changed, stays)
        for end in (*connection.initiators, *connection.targets)
        if end in index.endpoints
    }
    for target in connection.targets:
        for initiator in connection.initiators:
            if target in zones and initiator in zones:
                common = zones[target] & zones[initiator]
                limited = needed or zones[target] or zones[initiator]
                if limited and not common:
                    yield initiator, target


def _routing_zones(
    index: FabricIndex, endpoint: str, changed: str | None, stays: frozenset[str]
) -> frozenset[str]:
    zones = frozenset(
        zone
        for zone in index.zones_of(endpoint)
        if zone != changed and reach.routes(index.zones[zone])
    )
    return zones | {changed} if changed is not None and endpoint in stays else zones


def no_common_zone(case: Case) -> Iterator[Finding]:
    """Rule 3: both ends share a zone, where the kind of fabric makes zones limit them."""
    if not isinstance(case.subject, Connection):
        return
    pointers = case.pointers()
    for initiator, target in lacks_common_zone(case.index, case.subject):
        violation = Violation(
            Rule.CONNECTION_NO_COMMON_ZONE, target, None, pointers[target], (initiator,)
        )
        yield Finding((Rule.CONNECTION_NO_COMMON_ZONE, initiator, target), violation)


def chunk_foreign(case: Case) -> Iterator[Finding]:
    """Rule 3: a named chunk lies in a unit of one of the targets."""
    if not isinstance(case.subject, Connection):
        return
    units = {unit for _, endpoint in case.targets() for unit in endpoint.units}
    for position, grant in enumerate(case.subject.chunks):
        chunk = case.index.chunks.get(grant.chunk)
        if chunk is not None and units.isdisjoint(_around(case.index, chunk)):
            pointer = chunk_pointer(position)
            yield finding(
                Rule.CONNECTION_CHUNK_FOREIGN,
                grant.chunk,
                chunk.unit,
                pointer,
                case.subject.targets,
            )


def _around(index: FabricIndex, chunk: Chunk) -> tuple[str, ...]:
    return (chunk.unit, *index.units_above(chunk.unit))


def chunk_missing(case: Case) -> Iterator[Finding]:
    """Rule 3: an LD is granted by naming a chunk of it; a whole device may go without."""
    if not isinstance(case.subject, Connection) or case.kind is not FabricKind.BIND:
        return
    chunks = [case.index.chunks.get(grant.chunk) for grant in case.subject.chunks]
    if None in chunks:
        return  # the unknown chunk may be the one that is meant; it is reported as unknown
    named = {unit for chunk in chunks if chunk for unit in _around(case.index, chunk)}
    pointers = case.pointers()
    for member, endpoint in case.targets():
        bound = {unit for unit in endpoint.units if _binds_by_connection(case.index, unit)}
        if bound and named.isdisjoint(bound):
            yield finding(
                Rule.CONNECTION_CHUNK_MISSING, member.id, None, pointers[member.id], sorted(bound)
            )


def _binds_by_connection(index: FabricIndex, unit_id: str) -> bool:
    unit = index.units.get(unit_id)
    return unit is not None and unit.binder is Binder.CONNECTION


def access(case: Case) -> Iterator[Finding]:
    """Rule 3: no more access than the chunk allows."""
    if not isinstance(case.subject, Connection):
        return
    for position, grant in enumerate(case.subject.chunks):
        chunk = case.index.chunks.get(grant.chunk)
        if chunk is None:
            continue
        for capability in sorted(grant.access - chunk.access, key=lambda item: item.value):
            pointer = f"/MemoryChunkInfo/{position}/AccessCapabilities"
            yield finding(Rule.CONNECTION_ACCESS, grant.chunk, capability.value, pointer)


def ld_host(case: Case) -> Iterator[Finding]:
    """Rule 4: connections that name chunks of one LD have the same host."""
    if not isinstance(case.subject, Connection) or not case.grants():
        return
    pointers = case.pointers()
    hosts = case.hosts()
    for unit, cause in case.parts().items():
        if not _is_ld(case.index, unit):
            continue
        for other in sorted(case.index.connections_of_unit(unit) - {case.subject.id}):
            held = reach.connection_hosts(case.index.connections[other], case.index.endpoints)
            for host in hosts:
                if held.keys() - {host}:
                    violation = Violation(
                        Rule.LD_HOST, cause, other, pointers.get(cause), (host, *sorted(held))
                    )
                    yield Finding((Rule.LD_HOST, unit, other, host), violation)


def _is_ld(index: FabricIndex, unit_id: str) -> bool:
    """A shareable region may have several hosts; an LD never, whatever it is said to be."""
    unit = index.units.get(unit_id)
    if unit is None or unit.binder is not Binder.CONNECTION:
        return False
    return unit.exclusive or (unit.target is not None and unit.target.ld is not None)
