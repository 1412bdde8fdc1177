"""Rules about what a connection grants: chunks, regions, volumes, access. DESIGN section 5, 3-4.

Pure; one function per rule, listed in fabric.zoning.RULES.
"""

from collections.abc import Callable, Iterator

from redfish_fm.fabric import reach
from redfish_fm.fabric.cases import Case, Finding, Part, PartGrant, around, container_of, finding
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import (
    Binder,
    Chunk,
    Connection,
    Region,
    Rule,
    Unit,
    Violation,
    Volume,
)


def _foreign(rule: Rule, kind: type[Part]) -> Callable[[Case], Iterator[Finding]]:
    """Return the rule that parts of one kind lie in a unit of one of the targets."""

    def judge(case: Case) -> Iterator[Finding]:
        units = {unit for _, endpoint in case.targets() for unit in endpoint.units}
        for grant in case.part_grants():
            part = case.part(grant.id)
            if not isinstance(part, kind) or _stands_alone(case, part):
                continue
            if units.isdisjoint(around(case.index, part)):
                targets = tuple(member.id for member, _ in case.targets())
                yield finding(rule, grant.id, container_of(part), grant.place, targets)

    return judge


def _stands_alone(case: Case, part: Part) -> bool:
    """Say whether the volume needs no target: none is named and it is of the same fabric."""
    connection = case.subject
    if not isinstance(part, Volume) or not isinstance(connection, Connection):
        return False
    if connection.targets or connection.target_groups:
        return False
    units = around(case.index, part)
    fabrics = {case.index.units[unit].fabric for unit in units if unit in case.index.units}
    ends = frozenset[str]().union(*map(case.index.endpoints_of_unit, units))
    fabrics |= {case.index.endpoints[end].fabric for end in ends}
    return connection.fabric in fabrics


chunk_foreign = _foreign(Rule.CONNECTION_CHUNK_FOREIGN, Chunk)
region_foreign = _foreign(Rule.CONNECTION_REGION_FOREIGN, Region)
volume_foreign = _foreign(Rule.CONNECTION_VOLUME_FOREIGN, Volume)


def chunk_missing(case: Case) -> Iterator[Finding]:
    """Rule 3: LDs and NVMe subsystems are granted by naming parts; a whole device needs none.

    Without rows a connection would hold all parts against other hosts and give none of them.
    """
    if not isinstance(case.subject, Connection) or case.kind not in _BOUND_BY_PARTS:
        return
    parts = [case.part(grant.id) for grant in case.part_grants()]
    if None in parts:
        return  # the unknown part may be the one that is meant; it is reported as unknown
    named = {unit for part in parts if part for unit in around(case.index, part)}
    for member, endpoint in case.targets():
        bound = sorted(unit for unit in endpoint.units if _BOUND_BY_PARTS[case.kind](case, unit))
        if bound and named.isdisjoint(bound):
            rows = _rows_for(case, bound[0])
            yield finding(Rule.CONNECTION_CHUNK_MISSING, member.id, rows, f"/{rows}", bound)


def _bound_by_parts(case: Case, unit_id: str) -> bool:
    """Say whether connections bind the unit or what lies in it, never it as a whole."""
    index = case.index
    if _is_ld(index.units.get(unit_id)):
        return True
    units = (unit_id, *index.units_within(unit_id))
    known = [index.units[unit] for unit in units if unit in index.units]
    return any(unit.binder is Binder.CONNECTION for unit in known)


def _attached_by_parts(case: Case, unit_id: str) -> bool:
    """Say whether only namespaces of the unit are attached: then it is not exclusive itself."""
    index = case.index
    unit = index.units.get(unit_id)
    if unit is None or unit_id in index.volumes:
        return False
    shares = unit.binder is Binder.NOTHING and unit.within is None and not unit.exclusive
    return shares or _holds_volumes(index, unit_id)


def _holds_volumes(index: FabricIndex, unit_id: str) -> bool:
    return not index.volumes.keys().isdisjoint(index.units_within(unit_id))


_BOUND_BY_PARTS: dict[FabricKind, Callable[[Case, str], bool]] = {
    FabricKind.BIND: _bound_by_parts,
    FabricKind.CONNECTION_GRANTS: _attached_by_parts,
}


def _rows_for(case: Case, unit_id: str) -> str:
    """Return the list in which a connection names parts of the unit."""
    if case.kind is FabricKind.CONNECTION_GRANTS or _holds_volumes(case.index, unit_id):
        return "VolumeInfo"
    unit = case.index.units.get(unit_id)
    dynamic = unit is not None and _is_ld(unit) and unit.binder is Binder.NOTHING
    return "MemoryRegionInfo" if dynamic else "MemoryChunkInfo"


def access(case: Case) -> Iterator[Finding]:
    """Rule 3: no more access than the part allows."""
    for grant in case.part_grants():
        part = case.part(grant.id)
        if part is None:
            continue
        for capability in sorted(grant.access - part.access, key=lambda item: item.value):
            pointer = f"{grant.pointer}/AccessCapabilities"
            yield finding(Rule.CONNECTION_ACCESS, grant.id, capability.value, pointer)


def lun_twice(case: Case) -> Iterator[Finding]:
    """Rule 3: a LUN means one volume of a connection."""
    if not isinstance(case.subject, Connection):
        return
    seen: dict[int, str] = {}
    for position, grant in enumerate(case.subject.volumes):
        if grant.lun is None:
            continue
        first = seen.setdefault(grant.lun, grant.volume)
        if first != grant.volume:
            violation = Violation(
                Rule.CONNECTION_LUN,
                grant.volume,
                first,
                f"/VolumeInfo/{position}/LUN",
                (str(grant.lun),),
            )
            yield Finding((Rule.CONNECTION_LUN, grant.lun, grant.volume), violation)


def ld_host(case: Case) -> Iterator[Finding]:
    """Rule 4: connections that name chunks of one LD have the same host."""
    if not isinstance(case.subject, Connection) or case.kind is not FabricKind.BIND:
        return
    pointers = case.pointers()
    hosts = case.hosts()
    for unit, cause in case.parts().items():
        if not _belongs_to_one_host(case.index, unit):
            continue
        for other in sorted(case.index.connections_of_unit(unit) - {case.subject.id}):
            held = reach.connection_hosts(case.index.connections[other], case.index)
            for host in hosts:
                if held.keys() - {host}:
                    violation = Violation(
                        Rule.LD_HOST, cause, other, pointers.get(cause), (host, *sorted(held))
                    )
                    yield Finding((Rule.LD_HOST, unit, other, host), violation)


def _is_ld(unit: Unit | None) -> bool:
    if unit is None or unit.target is None:
        return False
    return unit.target.ld is not None and unit.target.region is None


def _belongs_to_one_host(index: FabricIndex, unit_id: str) -> bool:
    """An LD never has several hosts, whatever it is said to be; its regions may (rule 1 judges)."""
    unit = index.units.get(unit_id)
    if unit is None or unit_id in index.regions or unit_id in index.volumes:
        return False
    return unit.binder is Binder.CONNECTION and (unit.exclusive or _is_ld(unit))


def sharing_needs_region(case: Case) -> Iterator[Finding]:
    """Rule 4: a chunk has one host; memory is shared by a shareable MemoryRegion."""
    if not isinstance(case.subject, Connection) or not case.grants():
        return
    hosts = case.hosts()
    for grant in case.part_grants():
        if grant.id in case.index.chunks:
            yield from _second_hosts(case, grant, list(hosts))


def _second_hosts(case: Case, grant: PartGrant, hosts: list[str]) -> Iterator[Finding]:
    index = case.index
    for position, host in enumerate(hosts if len(hosts) > 1 else ()):
        others = [each for each in hosts if each != host]
        violation = Violation(
            Rule.SHARING_NEEDS_REGION, grant.id, None, grant.place, (host, *others)
        )
        key = (Rule.SHARING_NEEDS_REGION, grant.id, None, host)
        yield Finding(key, violation, grant.id, position == 0)
    for other in sorted(index.connections_of_part(grant.id) - {case.subject.id}):
        held = reach.connection_hosts(index.connections[other], index)
        for host in hosts:
            others = sorted(held.keys() - {host})
            if others:
                violation = Violation(
                    Rule.SHARING_NEEDS_REGION, grant.id, other, grant.place, (host, *others)
                )
                yield Finding((Rule.SHARING_NEEDS_REGION, grant.id, other, host), violation)
