"""Where capacity is: wanted, being given back, or free. Sizes in MiB.

Pure. Free + used + scrubbing = total, always, whatever the hardware says.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import BindTarget, PartKind, PartState
from redfish_fm.fabric.values import CapacityPool


@dataclass(frozen=True, slots=True)
class Account:
    """What becomes of a pool's `total`.

    `used` is what resources were made for, `scrubbing` what hardware still has for others: parts
    being sanitized or given back, and parts that somebody else allocated.
    """

    total: int
    free: int
    used: int
    scrubbing: int


def account(index: FabricIndex, pool_id: str, parts: Mapping[BindTarget, PartState]) -> Account:
    """Return the account of a pool. `parts` are observed (`Observation.parts`).

    Costs the number of `parts`. A pool that is not known is empty.
    """
    pool = index.pools.get(pool_id)
    if pool is None:
        return Account(0, 0, 0, 0)
    used = min(index.cut_mib(pool_id), pool.capacity_mib)
    seen = sum(
        _surplus(index, target, state) for target, state in parts.items() if pool_has(pool, target)
    )
    scrubbing = min(seen, pool.capacity_mib - used)
    return Account(pool.capacity_mib, pool.capacity_mib - used - scrubbing, used, scrubbing)


def _surplus(index: FabricIndex, target: BindTarget, state: PartState) -> int:
    """Return what the hardware gives the part beyond what is wanted."""
    wanted = index.allocations.get(target)
    return max(0, state.size_mib - (0 if wanted is None else wanted.size_mib))


def pool_has(pool: CapacityPool, target: BindTarget) -> bool:
    """Return whether `target` is a part of the pool."""
    if pool.port is None or (target.switch, target.port) != (pool.port.switch, pool.port.port):
        return False
    if pool.kind is PartKind.NAMESPACE:
        return target.namespace is not None
    if pool.kind is PartKind.REGION:
        return target.region is not None
    return target.ld in pool.parts and target.region is None


def lowest_gap(
    taken: Iterable[tuple[int, int]], size_mib: int, capacity_mib: int, granularity_mib: int = 1
) -> int | None:
    """Return the lowest offset at which `size_mib` fit in one piece, or None.

    `taken` are (offset, size) pairs in any order, which may overlap (imports); the answer is a
    multiple of the granularity.
    """
    step = max(granularity_mib, 1)
    offset = 0
    for start, size in sorted(each for each in taken if each[1] > 0):
        if offset + size_mib <= start:
            return offset
        offset = max(offset, -(-(start + size) // step) * step)
    return offset if offset + size_mib <= capacity_mib else None


def free_offset(
    index: FabricIndex, domain_id: str, size_mib: int, without: str | None = None
) -> int | None:
    """Return where a new chunk of the domain is to lie, or None if it fits nowhere in one piece.

    For domains without a pool, whose chunks are cut out by address. `without` is a chunk that is
    not counted. Costs the number of chunks in the domain.
    """
    domain = index.domains.get(domain_id)
    if domain is None:
        return None
    found = [index.chunks[part] for part in index.parts_of(domain_id) if part != without]
    taken = [(each.offset_mib, each.size_mib) for each in found if each.offset_mib is not None]
    return lowest_gap(taken, size_mib, domain.capacity_mib, domain.granularity_mib)
