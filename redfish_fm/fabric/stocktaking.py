"""Puts blocks on the shelves that they belong on: what is free, and where.

Pure. Costs the blocks that anything happened to since the last time. Reservations and what hardware
says of health change without the index (time passes), so shelves do not know them: placement asks
again for each block that it takes.
"""

from collections.abc import Iterator

from redfish_fm.fabric import reach
from redfish_fm.fabric.composition import Block
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import PartKind
from redfish_fm.fabric.paths import SwitchKey, Way, by_id, switch_order, ways_of
from redfish_fm.fabric.stock import (
    Appliance,
    Entry,
    Kept,
    Load,
    Machine,
    MachineSort,
    Place,
    Sort,
    Source,
)
from redfish_fm.fabric.values import Binder, CapacityPool


def settle(index: FabricIndex) -> None:
    """Bring the shelves up to date with everything that happened to the index."""
    for name in sorted(index.unshelved):
        index.work += 1
        block = index.blocks.get(name)
        if block is None:
            index.shelves.put(name, None)
        else:
            index.shelves.put(name, *entry_of(index, block))
    index.unshelved.clear()


def entry_of(index: FabricIndex, block: Block) -> tuple[Entry | None, Load | None]:
    """Return what a block is to be shelved as, None where it is not free, and what it loads."""
    if block.withdrawn:
        return None, None
    if block.sharing and block.pools:
        return appliance_of(index, block), None
    taken = _is_taken(index, block)
    if block.host is not None:
        if taken or index.compositions_of_host(block.host):
            return None, None
        return (Kept() if index.holders_of_host(block.host) else machine_of(index, block)), None
    sort = sort_of(index, block)
    if not taken and (block.sharing or not index.holders_of_units(block.units)):
        return sort, None
    links = _links_used(index, block, sort)
    return None, (links, sort.bandwidth_mb_s) if links else None


def _links_used(index: FabricIndex, block: Block, sort: Sort) -> tuple[str, ...]:
    """Return the links between switches over which those who have the block reach it."""
    systems = (index.compositions[name].host for name in index.compositions_of_block(block.id))
    hosts = {host for host in systems if host is not None}
    hosts = hosts.union(*map(index.hosts_of, block.units))
    found: set[str] = set()
    for host in hosts:
        for fabric, switch in sort.switches:
            near = index.vcs_of_host(fabric, host, switch)
            if near and near[0].through is not None:
                ways = ways_of(index.vcss_of_host(host))
                on_way = (ways[each].link for each in ways[fabric, switch].uplinks)
                found.update(link for link in on_way if link is not None)
            if near:
                break
    return tuple(sorted(found))


def _is_taken(index: FabricIndex, block: Block) -> bool:
    """Return whether no further composition can have the block."""
    count = len(index.compositions_of_block(block.id))
    shared = block.sharing and (block.compositions_max is None or count < block.compositions_max)
    return bool(count and not shared) or bool(index.consumers_of_block(block.id))


def sort_of(index: FabricIndex, block: Block) -> Sort:
    """Return what a block of a whole device is to a wish."""
    return Sort(
        block.kind,
        block.model,
        block.manufacturer,
        block.capacity_mib,
        block.latency_ns or 0,
        block.bandwidth_mb_s or 0,
        block.domain,
        _switches(index, block),
        min((len(index.units_above(unit)) for unit in block.units), default=0),
        block.core_count,
    )


def _switches(index: FabricIndex, block: Block) -> tuple[SwitchKey, ...]:
    """Return where the block's units are bound, in the order in which they are tried."""
    units = (index.units.get(unit) for unit in sorted(block.units))
    targets = ((unit.fabric, unit.target) for unit in units if unit is not None)
    found = [(fabric, target.switch) for fabric, target in targets if target is not None]
    return tuple(dict.fromkeys(found or block.switches))


def machine_of(index: FabricIndex, block: Block) -> Machine:
    """Return what a block of a host is to a wish, and where the host stands."""
    sort = MachineSort(block.model, block.core_count, block.capacity_mib)
    return Machine(sort, place_of(index, block.host or ""))


def place_of(index: FabricIndex, host: str) -> Place:
    """Return where a host stands."""
    ways = ways_of(index.vcss_of_host(host))
    vppbs = [
        sum(vcs.vppb_count for vcs in index.vcs_of_host(fabric, host, switch))
        for fabric, switch in ways
    ]
    # What a block that brings a host is plugged into is what it reaches besides.
    beside = [at for name in index.blocks_of_host(host) for at in index.blocks[name].switches]
    more = sorted({at for at in beside if at not in ways}, key=switch_order)
    found = (*ways.values(), *(Way(at, at, 1, 0, (), None) for at in more))
    return Place(found, (*vppbs, *(BESIDE_VPPBS for _ in more)))


BESIDE_VPPBS = 4096
"""Where no switch is known nothing is bound: as many as a system can be asked to have."""


def appliance_of(index: FabricIndex, block: Block) -> Appliance:
    """Return what is left of a shared block."""
    sources: list[Source] = []
    fixed: list[tuple[int, str]] = []
    for name in sorted(block.pools, key=by_id):
        pool = index.pools.get(name)
        if pool is not None:
            sources += _sources(index, block, pool)
        elif name in index.domains:
            fixed += _fixed(index, name)
    return Appliance(
        block.id,
        block.kind,
        block.latency_ns or 0,
        block.domain,
        block.switches,
        tuple(sources),
        tuple(sorted(fixed, key=lambda each: (each[0], by_id(each[1])))),
    )


def _sources(index: FabricIndex, block: Block, pool: CapacityPool) -> Iterator[Source]:
    if pool.port is None:
        return
    free_mib = max(0, pool.capacity_mib - index.cut_mib(pool.id))
    step = max(1, pool.granularity_mib)
    if pool.kind is not PartKind.REGION:
        free_parts = max(0, len(pool.parts) - index.part_count(pool.id))
        yield Source(pool.id, None, free_mib, free_parts, step)
        return
    inside = {unit for whole in block.units for unit in index.units_within(whole)}
    for ld in sorted(inside, key=by_id):
        # An LD that holds regions is never bound itself.
        if index.units[ld].binder is Binder.NOTHING and index.units[ld].target is not None:
            free_parts = max(0, len(pool.parts) - index.count_within(ld))
            yield Source(pool.id, ld, free_mib, free_parts, step)


def _fixed(index: FabricIndex, domain: str) -> Iterator[tuple[int, str]]:
    """Yield the chunks of a domain that are there already and that nobody has, with their size."""
    for name in index.parts_of(domain):
        chunk = index.chunks[name]
        unit = index.units.get(chunk.unit)
        if chunk.allocation is not None or unit is None or unit.target is None:
            continue
        if unit.binder is not Binder.CONNECTION or reach.is_fm_owned(unit) or not chunk.size_mib:
            continue
        if not index.connections_of_part(name) and not index.holders_of_units((chunk.unit,)):
            yield chunk.size_mib, name
