"""Rules about chunks, regions and volumes: sizes, places and who holds them. DESIGN section 5.

Pure; one function per rule, listed in fabric.zoning.RULES. The part stands in the index while it
is judged.
"""

from collections.abc import Iterator

from redfish_fm.fabric import reach
from redfish_fm.fabric.accounting import free_offset
from redfish_fm.fabric.cases import Case, Finding, Part, container_of, finding
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import (
    CapacityPool,
    Chunk,
    MemoryDomain,
    Region,
    Rule,
    Violation,
    Volume,
    ZoneType,
)


def not_carvable(case: Case) -> Iterator[Finding]:
    """Rule 4: a new part is cut out of something that the service can cut."""
    part = _part(case)
    if part is not None and case.creating and not _source(case, part):
        origin = part.domain if isinstance(part, Chunk) else part.pool
        yield finding(Rule.NOT_CARVABLE, part.id, origin or container_of(part))


def part_size(case: Case) -> Iterator[Finding]:
    """Rule 4: a size is a positive multiple of what the source can be cut into."""
    part = _part(case)
    source = None if part is None else _source(case, part)
    if part is None or source is None:
        return
    steps = [source.granularity_mib]
    if isinstance(part, Region):
        steps.append(part.block_mib)
    for step in sorted({max(step, 1) for step in steps}):
        if part.size_mib <= 0 or part.size_mib % step:
            violation = Violation(
                Rule.PART_SIZE, _size(part), source.id, _SIZES[type(part)], (str(step),)
            )
            yield Finding((Rule.PART_SIZE, part.size_mib), violation)
            return


def part_range(case: Case) -> Iterator[Finding]:
    """Rule 4: a part fits where it is to lie, and has a number that it may have."""
    part = _part(case)
    source = None if part is None else _source(case, part)
    if part is None or source is None:
        return
    if part.size_mib > source.capacity_mib:
        yield _out_of_range(part, _size(part), _SIZES[type(part)], source)
    elif isinstance(part, Chunk) and isinstance(source, MemoryDomain):
        offset = part.offset_mib
        step = max(source.granularity_mib, 1)
        if offset is not None and (
            offset < 0 or offset % step or offset + part.size_mib > source.capacity_mib
        ):
            yield _out_of_range(part, str(offset), "/AddressRangeOffsetMiB", source)
    elif isinstance(source, CapacityPool):
        number = _number(part)
        if number is not None and number not in source.parts:
            yield _out_of_range(part, str(number), _NUMBERS.get(type(part)), source)


def _out_of_range(
    part: Part, value: str, pointer: str | None, source: MemoryDomain | CapacityPool
) -> Finding:
    violation = Violation(Rule.PART_RANGE, value, source.id, pointer)
    return Finding((Rule.PART_RANGE, part.id, value, pointer), violation)


def part_overlap(case: Case) -> Iterator[Finding]:
    """Rule 4: parts never overlap: not in their addresses, not in their numbers."""
    part = _part(case)
    source = None if part is None else _source(case, part)
    if part is None or source is None:
        return
    value, pointer = _place(part, source)
    for other in sorted(_overlapping(case, part, source)):
        violation = Violation(Rule.PART_OVERLAP, value, other, pointer)
        yield Finding((Rule.PART_OVERLAP, part.id, other), violation)


def _place(part: Part, source: MemoryDomain | CapacityPool) -> tuple[str, str]:
    """Return where the part is to lie, as the client says it, and the property that says it."""
    if isinstance(part, Region):
        return str(part.number), _NUMBERS[Region]
    if isinstance(part, Volume):
        return str(_number(part)), "/NVMeNamespaceProperties/NamespaceId"
    if isinstance(source, MemoryDomain):
        return str(part.offset_mib), "/AddressRangeOffsetMiB"
    return part.unit, "/Links/CXLLogicalDevices"


def _overlapping(case: Case, part: Part, source: MemoryDomain | CapacityPool) -> Iterator[str]:
    if isinstance(part, Chunk) and isinstance(source, MemoryDomain):
        chunks = (case.index.chunks[each] for each in case.index.parts_of(source.id))
        yield from (each.id for each in chunks if each.id != part.id and _meet(part, each))
    elif part.allocation is not None:
        yield from case.index.claims_of(part.allocation.target) - {part.id}


def _meet(one: Chunk, other: Chunk) -> bool:
    if one.offset_mib is None or other.offset_mib is None:
        return False
    return (
        one.offset_mib < other.offset_mib + other.size_mib
        and other.offset_mib < one.offset_mib + one.size_mib
    )


def pool_exhausted(case: Case) -> Iterator[Finding]:
    """Rule 4: there is room for it, in one piece where addresses count, and a free number.

    What is still being scrubbed counts as free: the allocation waits for it.
    """
    part = _part(case)
    source = None if part is None else _source(case, part)
    if part is None or source is None or not 0 < part.size_mib <= source.capacity_mib:
        return
    if isinstance(source, MemoryDomain):
        placed = isinstance(part, Chunk) and part.offset_mib is not None
        full = not placed and free_offset(case.index, source.id, part.size_mib, part.id) is None
    else:
        full = part.allocation is None or case.index.cut_mib(source.id) > source.capacity_mib
    if full:
        yield Finding(
            (Rule.POOL_EXHAUSTED, part.id, part.size_mib),
            Violation(Rule.POOL_EXHAUSTED, part.id, source.id, _SIZES[type(part)]),
        )


def part_in_use(case: Case) -> Iterator[Finding]:
    """Rule 6: a part that a connection grants is neither deleted nor made another thing."""
    part = _part(case)
    if part is None:
        return
    before = case.before
    changed = isinstance(before, Chunk | Region | Volume) and _identity(before) != _identity(part)
    if not case.removal and not changed:
        return
    for holder in sorted(case.index.connections_of_part(part.id)):
        yield finding(Rule.PART_IN_USE, part.id, holder)


def _identity(part: Part) -> tuple[object, ...]:
    place = part.offset_mib if isinstance(part, Chunk) else part.shareable
    return container_of(part), place, part.size_mib, part.access


def shared_by_hosts(case: Case) -> Iterator[Finding]:
    """Rules 1 and 4: a part that becomes exclusive is, with all around it, reached by one host."""
    part = case.subject
    if not isinstance(part, Region | Volume) or not case.change or part.shareable:
        return
    for unit in (part.id, *case.index.units_above(part.id)):
        whole = case.index.hosts_naming(unit)
        hosts = {**case.index.hosts_of(unit)}
        if unit == part.id:
            whole = hosts
        if not whole or len(hosts) < 2:
            continue
        for host in sorted(hosts):
            others = sorted(hosts.keys() - {host})
            violation = Violation(
                Rule.HOST_SHARING,
                "false",
                min(hosts[host]),
                _SHAREABLE[type(part)],
                (host, *others),
            )
            yield Finding((Rule.HOST_SHARING, unit, host), violation)


def routed_by_default(case: Case) -> Iterator[Finding]:
    """Rule 6: no part becomes exclusive that a routing Default zone holds."""
    part = case.subject
    if not isinstance(part, Region | Volume) or not case.change or part.shareable:
        return
    index = case.index
    if case.kind is not FabricKind.BIND:
        return
    for unit in (part.id, *index.units_above(part.id)):
        for endpoint in sorted(index.endpoints_of_unit(unit)):
            for zone_id in sorted(index.zones_of(endpoint)):
                zone = index.zones[zone_id]
                if zone.zone_type is ZoneType.DEFAULT and reach.routes(zone):
                    pointer = _SHAREABLE[type(part)]
                    violation = Violation(Rule.DEFAULT_ROUTING, "false", zone_id, pointer)
                    yield Finding((Rule.DEFAULT_ROUTING, unit, zone_id), violation)


_SIZES: dict[type, str] = {
    Chunk: "/MemoryChunkSizeMiB",
    Region: "/RegionSizeMiB",
    Volume: "/CapacityBytes",
}


_NUMBERS: dict[type, str] = {Region: "/RegionNumber"}


_SHAREABLE: dict[type, str] = {
    Region: "/ShareableRegion",
    Volume: "/NVMeNamespaceProperties/IsShareable",
}
"""Where a client says whether hosts may share a part; what it says here is "false"."""


def _size(part: Part) -> str:
    """Return the size in the unit of the property that the client wrote."""
    return str(part.size_mib * 2**20 if isinstance(part, Volume) else part.size_mib)


def _part(case: Case) -> Part | None:
    return case.subject if isinstance(case.subject, Chunk | Region | Volume) else None


def _source(case: Case, part: Part) -> MemoryDomain | CapacityPool | None:
    """Return what the part is cut out of and limited by; None where nothing can be cut."""
    if not isinstance(part, Chunk):
        return _pool(case, part.pool)
    domain = case.index.domains.get(part.domain or "")
    if domain is None or not domain.carvable:
        return None
    return domain if domain.pool is None else _pool(case, domain.pool)


def _pool(case: Case, pool_id: str | None) -> CapacityPool | None:
    pool = case.index.pools.get(pool_id or "")
    return None if pool is None or pool.port is None else pool


def _number(part: Part) -> int | None:
    if part.allocation is None:
        return None  # no number was free, or no driver can allocate: told by other rules
    target = part.allocation.target
    if isinstance(part, Region):
        return target.region
    return target.ld if isinstance(part, Chunk) else target.namespace
