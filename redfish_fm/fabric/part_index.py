"""Domains, pools and what is cut out of them: chunks, regions, volumes. A part of the fabric index.

Pure. A region or a volume is a unit of its own and is put as one. What hardware has to provide
(`allocations`) is derived from the parts, never put by itself; where two parts claim one target
(an import), the one with the lower id has it, whichever came first.
"""

from collections.abc import Container
from dataclasses import replace

from redfish_fm.fabric.model import BindTarget, PartKind
from redfish_fm.fabric.relation import Relation
from redfish_fm.fabric.unit_index import UnitIndex
from redfish_fm.fabric.values import (
    Allocation,
    Binder,
    CapacityPool,
    Chunk,
    MemoryDomain,
    Region,
    Unit,
    Volume,
)

Part = Chunk | Region | Volume


class PartIndex(UnitIndex):
    """Parts by id, by where they were cut out of, and by the target they are allocated as."""

    def __init__(self) -> None:
        super().__init__()
        self.domains: dict[str, MemoryDomain] = {}
        self.pools: dict[str, CapacityPool] = {}
        self.chunks: dict[str, Chunk] = {}
        self.regions: dict[str, Region] = {}
        self.volumes: dict[str, Volume] = {}
        self.allocations: dict[BindTarget, Allocation] = {}
        self._claims: dict[BindTarget, dict[str, Allocation]] = {}
        self._targets_in: Relation[str, BindTarget] = Relation()
        self._domains_of_pool: Relation[str, str] = Relation()
        self._parts_of: Relation[str, str] = Relation()
        self._cut_mib: dict[str, int] = {}

    # -- changes -----------------------------------------------------------------------------

    def put_domain(self, domain: MemoryDomain) -> None:
        """Describe a memory domain."""
        self.remove_domain(domain.id)
        self.domains[domain.id] = domain
        if domain.pool is not None:
            self._domains_of_pool.add((domain.pool,), domain.id)
        self.work += 1

    def remove_domain(self, domain_id: str) -> None:
        """Forget a memory domain; its chunks stay. Unknown ones are ignored."""
        before = self.domains.pop(domain_id, None)
        if before is not None and before.pool is not None:
            self._domains_of_pool.remove((before.pool,), domain_id)

    def put_pool(self, pool: CapacityPool) -> None:
        """Describe a pool of capacity."""
        self.pools[pool.id] = pool
        self.work += 1

    def remove_pool(self, pool_id: str) -> None:
        """Forget a pool; what was cut out of it stays. Unknown ones are ignored."""
        self.pools.pop(pool_id, None)

    def put_chunk(self, chunk: Chunk) -> None:
        """Describe a chunk; connections that name it follow when it lies in another unit."""
        before = self.chunks.get(chunk.id)
        self._cut(before, chunk)
        self.chunks[chunk.id] = chunk
        if before is None or before.unit != chunk.unit:
            self._part_moved(chunk.id)

    def remove_chunk(self, chunk_id: str) -> None:
        """Forget a chunk; unknown ones are ignored."""
        before = self.chunks.pop(chunk_id, None)
        if before is not None:
            self._cut(before, None)
            self._part_moved(chunk_id)

    def put_region(self, region: Region) -> None:
        """Describe a region and the unit it is. Raises ValueError where it lies within itself."""
        before = self.regions.get(region.id)
        self.put_unit(unit_of_region(region))
        self._cut(before, region)
        self.regions[region.id] = region
        if before is None:
            self._part_moved(region.id)

    def remove_region(self, region_id: str) -> None:
        """Forget a region and its unit; unknown ones are ignored."""
        before = self.regions.pop(region_id, None)
        if before is not None:
            self._cut(before, None)
            self._part_moved(region_id)
            self.remove_unit(region_id)

    def put_volume(self, volume: Volume) -> None:
        """Describe a volume and the unit it is. Raises ValueError where it lies within itself."""
        before = self.volumes.get(volume.id)
        self.put_unit(unit_of_volume(volume))
        self._cut(before, volume)
        self.volumes[volume.id] = volume
        if before is None:
            self._part_moved(volume.id)

    def remove_volume(self, volume_id: str) -> None:
        """Forget a volume and its unit; unknown ones are ignored."""
        before = self.volumes.pop(volume_id, None)
        if before is not None:
            self._cut(before, None)
            self._part_moved(volume_id)
            self.remove_unit(volume_id)

    # -- lookups -----------------------------------------------------------------------------

    def parts_of(self, origin: str) -> frozenset[str]:
        """Return the chunks of a domain, or the regions or volumes cut out of a pool."""
        found = self._parts_of.get(origin)
        self.work += len(found)
        return found

    def cut_mib(self, origin: str) -> int:
        """Return how much is cut out of a domain or a pool, in MiB."""
        domains = self._domains_of_pool.get(origin) - {origin}
        return self._cut_mib.get(origin, 0) + sum(self._cut_mib.get(each, 0) for each in domains)

    def claims_of(self, target: BindTarget) -> frozenset[str]:
        """Return the parts that want to be allocated as `target`: one, but for imports."""
        return frozenset(self._claims.get(target, ()))

    def allocations_in(self, fabric: str) -> tuple[Allocation, ...]:
        """Return what hardware has to provide in one fabric, by target."""
        targets = sorted(self._targets_in.get(fabric), key=_order)
        found = (self.allocations[target] for target in targets)
        return tuple(each for each in found if each.fabric == fabric)

    def free_part(
        self, pool_id: str, occupied: Container[object], ld: str | None = None
    ) -> int | None:
        """Return the lowest number that a new part of the pool may have, or None.

        `occupied` are targets that must not be taken although nothing is wanted there (freed,
        foreign or unsettled); `ld` is the unit of the LD that a region is to lie in.
        """
        pool = self.pools.get(pool_id)
        for number in () if pool is None else pool.parts:
            target = self.part_target(pool_id, number, ld)
            self.work += 1
            if target is not None and target not in self.allocations and target not in occupied:
                return number
        return None

    def part_target(self, pool_id: str, number: int, ld: str | None = None) -> BindTarget | None:
        """Return what a part of the pool is allocated and bound as; None: no driver can."""
        pool = self.pools.get(pool_id)
        if pool is None or pool.port is None:
            return None
        whole = BindTarget(pool.port.switch, pool.port.port)
        if pool.kind is PartKind.LD:
            return replace(whole, ld=number)
        if pool.kind is PartKind.NAMESPACE:
            return replace(whole, namespace=number)
        unit = self.units.get(ld or "")
        if unit is None or unit.target is None or unit.target.ld is None:
            return None
        return replace(unit.target, region=number)

    # -- keeping the sums --------------------------------------------------------------------

    def _part_moved(self, part_id: str) -> None:
        """Follow a part that now means another unit; the whole index knows who names it."""

    def _cut(self, before: Part | None, after: Part | None) -> None:
        for part, weight in ((before, -1), (after, 1)):
            if part is not None:
                self._count(part, weight)
                self._claim(part, weight)
                self.work += 1

    def _count(self, part: Part, weight: int) -> None:
        origin = origin_of(part)
        if origin is None:
            return
        change = self._parts_of.add if weight > 0 else self._parts_of.remove
        change((origin,), part.id)
        total = self._cut_mib.get(origin, 0) + weight * part.size_mib
        self._cut_mib[origin] = total
        if not total:
            del self._cut_mib[origin]

    def _claim(self, part: Part, weight: int) -> None:
        if part.allocation is None:
            return
        target = part.allocation.target
        claims = self._claims.setdefault(target, {})
        if weight > 0:
            claims[part.id] = part.allocation
        else:
            claims.pop(part.id, None)
        fabrics = {each.fabric for each in claims.values()} | {part.allocation.fabric}
        self._targets_in.remove(fabrics, target)
        self.allocations.pop(target, None)
        if claims:
            self.allocations[target] = claims[min(claims)]
            self._targets_in.add((self.allocations[target].fabric,), target)
        else:
            del self._claims[target]


def origin_of(part: Part) -> str | None:
    """Return the domain or pool that a part is cut out of."""
    return part.domain if isinstance(part, Chunk) else part.pool


def unit_of_region(region: Region) -> Unit:
    """Return the unit that a region is: granted by connections, within its LD."""
    fabric, target = _place(region.allocation)
    return Unit(region.id, fabric, Binder.CONNECTION, not region.shareable, target, region.ld)


def unit_of_volume(volume: Volume) -> Unit:
    """Return the unit that a volume is: granted by connections, within its subsystem."""
    fabric, target = _place(volume.allocation)
    return Unit(
        volume.id,
        fabric or volume.fabric,
        Binder.CONNECTION,
        not volume.shareable,
        target or volume.target,
        volume.subsystem,
    )


def _place(allocation: Allocation | None) -> tuple[str, BindTarget | None]:
    return ("", None) if allocation is None else (allocation.fabric, allocation.target)


def _order(target: BindTarget) -> tuple[object, ...]:
    return target.switch, target.port, target.path
