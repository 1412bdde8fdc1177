"""Who holds which block, unit, zone, connection and part: rule 5's look-ups. A part of the index.

Pure. A put or remove costs the size of what it changes. Blocks are inventory or registered by
clients; compositions and reservations are what clients make. DESIGN section 5, rule 5.

What is free is on shelves (fabric.stock). A change only notes which blocks it concerns; they are
put where they belong when placement asks next (fabric.stocktaking).
"""

from collections.abc import Iterable

from redfish_fm.fabric.binding_index import BindingIndex, VcsFact
from redfish_fm.fabric.composition import Block, Composition, Reservation
from redfish_fm.fabric.part_index import Part, origin_of
from redfish_fm.fabric.relation import Relation
from redfish_fm.fabric.stock import Shelves
from redfish_fm.fabric.values import CapacityPool, MemoryDomain


class CompositionIndex(BindingIndex):
    """Compositions by block, unit, host and holding; reservations by block.

    The public mappings are read-only by convention.
    """

    def __init__(self) -> None:
        super().__init__()
        self.blocks: dict[str, Block] = {}
        self.compositions: dict[str, Composition] = {}
        self.reservations: dict[str, Reservation] = {}
        self._blocks_of_unit: Relation[str, str] = Relation()
        self._blocks_of_host: Relation[str, str] = Relation()
        self._compositions_of_block: Relation[str, str] = Relation()
        self._compositions_of_host: Relation[str, str] = Relation()
        self._composition_holding: Relation[str, str] = Relation()
        self._reservations_of_block: Relation[str, str] = Relation()
        self._consumers: Relation[str, str] = Relation()
        self._blocks_of_pool: Relation[str, str] = Relation()
        self._blocks_like: Relation[tuple[str, str | None], str] = Relation()
        self._vcss_of_host: Relation[str, tuple[str, str]] = Relation()
        self._holders_of_host: Relation[str, str] = Relation()
        self.shelves = Shelves()
        self.unshelved: set[str] = set()
        """Blocks whose place on the shelves is not known any more."""

    # -- changes -----------------------------------------------------------------------------

    def put_block(self, block: Block) -> None:
        """Add or replace a resource block."""
        self.remove_block(block.id)
        self.blocks[block.id] = block
        self._blocks_of_unit.add(block.units, block.id)
        self._blocks_of_host.add(_some(block.host), block.id)
        self._blocks_of_pool.add(block.pools, block.id)
        self._blocks_like.add(_likes(block), block.id)
        self._consumers.add(block.supplying, block.id)
        self.unshelved.update((block.id, *block.supplying))
        self.work += 1 + len(block.units)

    def remove_block(self, block_id: str) -> None:
        """Forget a block; compositions that name it keep the name. Unknown ones are ignored."""
        before = self.blocks.pop(block_id, None)
        if before is not None:
            self._blocks_of_unit.remove(before.units, block_id)
            self._blocks_of_host.remove(_some(before.host), block_id)
            self._blocks_of_pool.remove(before.pools, block_id)
            self._blocks_like.remove(_likes(before), block_id)
            self._consumers.remove(before.supplying, block_id)
            self.unshelved.update((block_id, *before.supplying))
            self.work += 1 + len(before.units)

    def put_composition(self, composition: Composition) -> None:
        """Add or replace a composition."""
        self.remove_composition(composition.id)
        self.compositions[composition.id] = composition
        self._compositions_of_block.add(composition.blocks, composition.id)
        self._compositions_of_host.add(_some(composition.host), composition.id)
        self._composition_holding.add(composition.holdings, composition.id)
        self._composition_moved(composition)
        self.work += 1 + len(composition.blocks) + len(composition.holdings)

    def remove_composition(self, composition_id: str) -> None:
        """Forget a composition; unknown ones are ignored."""
        before = self.compositions.pop(composition_id, None)
        if before is not None:
            self._compositions_of_block.remove(before.blocks, composition_id)
            self._compositions_of_host.remove(_some(before.host), composition_id)
            self._composition_holding.remove(before.holdings, composition_id)
            self._composition_moved(before)
            self.work += 1 + len(before.blocks) + len(before.holdings)

    def put_reservation(self, reservation: Reservation) -> None:
        """Add or replace a reservation."""
        self.remove_reservation(reservation.id)
        self.reservations[reservation.id] = reservation
        self._reservations_of_block.add(reservation.blocks, reservation.id)
        self.work += 1 + len(reservation.blocks)

    def remove_reservation(self, reservation_id: str) -> None:
        """Forget a reservation; unknown ones are ignored."""
        before = self.reservations.pop(reservation_id, None)
        if before is not None:
            self._reservations_of_block.remove(before.blocks, reservation_id)
            self.work += 1 + len(before.blocks)

    # -- lookups -----------------------------------------------------------------------------

    def compositions_of_block(self, block_id: str) -> frozenset[str]:
        """Return the compositions that the block is in."""
        return self._compositions_of_block.get(block_id)

    def blocks_of_pool(self, pool_id: str) -> frozenset[str]:
        """Return the blocks whose parts come from the pool."""
        return self._blocks_of_pool.get(pool_id)

    def consumers_of_block(self, block_id: str) -> frozenset[str]:
        """Return the composed blocks that the block is a component of."""
        return self._consumers.get(block_id)

    def components(self, blocks: Iterable[str]) -> list[str]:
        """Return the blocks with composed ones replaced by what they are made of, in order."""
        known = ((name, self.blocks.get(name)) for name in blocks)
        return [
            each
            for name, block in known
            for each in ((name,) if block is None or not block.supplying else block.supplying)
        ]

    def compositions_of_host(self, host: str) -> frozenset[str]:
        """Return the compositions that run on the host."""
        return self._compositions_of_host.get(host)

    def composition_holding(self, resource: str) -> str | None:
        """Return the composition that a zone, connection or part was made for, or None."""
        return min(self._composition_holding.each(resource), default=None)

    def composition_of_unit(self, unit_id: str) -> str | None:
        """Return the composition that has the whole unit by one of its blocks, or None.

        What a sharing block is made of is held part by part (`composition_holding`).
        """
        for block in self._blocks_of_unit.each(unit_id):
            if not self.blocks[block].sharing:
                found = min(self._compositions_of_block.each(block), default=None)
                if found is not None:
                    return found
        return None

    def composition_consuming(self, host: str) -> str | None:
        """Return the composed system that the host's compute block is used up in, or None."""
        for composition in sorted(self._compositions_of_host.each(host)):
            if not self.compositions[composition].expands:
                return composition
        return None

    def reservations_of_block(self, block_id: str, now_s: float) -> tuple[str, ...]:
        """Return the reservations of the block that have not expired, by id."""
        found = self._reservations_of_block.get(block_id)
        return tuple(sorted(r for r in found if self.reservations[r].expires_s > now_s))

    def reservation_of_unit(self, unit_id: str) -> str | None:
        """Return the reservation that keeps a block with the unit, or None.

        One that is over counts until it is deleted, which is soon.
        """
        blocks = self._blocks_of_unit.each(unit_id)
        found = (each for block in blocks for each in self._reservations_of_block.each(block))
        return min(found, default=None)

    def reservation_of_host(self, host: str) -> str | None:
        """Return the reservation that keeps the block of a host, or None."""
        blocks = self._blocks_of_host.each(host)
        found = (each for block in blocks for each in self._reservations_of_block.each(block))
        return min(found, default=None)

    def is_reserved(self, block_id: str) -> bool:
        """Return whether any reservation names the block; those that expired are deleted soon."""
        return self._reservations_of_block.count(block_id) > 0

    def blocks_of_unit(self, unit_id: str) -> frozenset[str]:
        """Return the blocks that the unit is in."""
        return self._blocks_of_unit.get(unit_id)

    def blocks_of_host(self, host: str) -> frozenset[str]:
        """Return the blocks that bring the host."""
        return self._blocks_of_host.get(host)

    def holders_of_units(self, units: Iterable[str]) -> set[str]:
        """Return the zones, connections and vPPBs that have the units, or parts of them."""
        holders: set[str] = set()
        for unit in units:
            holders |= self.zones_taking(unit).keys()
            holders = holders.union(*self.hosts_of(unit).values())
        return holders

    def holders_of_host(self, host: str) -> frozenset[str]:
        """Return the zones, connections and vPPBs that name the host, compositions' own too.

        Of Default zones only those that route count.
        """
        return self._holders_of_host.get(host)

    def blocks_like(self, kind: str, model: str | None) -> int:
        """Return how many blocks there are of that kind and model, free or not; None: any model."""
        return self._blocks_like.count((kind, model))

    def part_count(self, pool_id: str) -> int:
        """Return how many parts are cut out of a pool, without listing them."""
        domains = self._domains_of_pool.get(pool_id) - {pool_id}
        return sum(map(self._parts_of.count, (pool_id, *domains)))

    def count_within(self, unit_id: str) -> int:
        """Return how many units lie directly within the unit, without listing them."""
        return self._units_within.count(unit_id)

    def vcss_of_host(self, host: str) -> list[VcsFact]:
        """Return the virtual switches of a host, on all switches of all fabrics, in no order."""
        return [self.vcss[key] for key in self._vcss_of_host.each(host)]

    # -- what is not on its shelf any more ---------------------------------------------------

    def put_vcs(self, vcs: VcsFact) -> None:
        """Describe a virtual switch. Raises ValueError if another fabric has that switch id."""
        super().put_vcs(vcs)
        self._vcss_of_host.add(_some(vcs.host), (vcs.switch, vcs.vcs))
        self._ways_moved(vcs.host)

    def remove_vcs(self, switch: str, vcs: str) -> None:
        """Forget a virtual switch; unknown ones are ignored."""
        before = self.vcss.get((switch, vcs))
        super().remove_vcs(switch, vcs)
        if before is not None:
            self._vcss_of_host.remove(_some(before.host), (switch, vcs))
            self._ways_moved(before.host)

    def put_pool(self, pool: CapacityPool) -> None:
        """Describe a pool of capacity."""
        super().put_pool(pool)
        self.unshelved |= self._blocks_of_pool.get(pool.id)

    def remove_pool(self, pool_id: str) -> None:
        """Forget a pool; what was cut out of it stays. Unknown ones are ignored."""
        super().remove_pool(pool_id)
        self.unshelved |= self._blocks_of_pool.get(pool_id)

    def put_domain(self, domain: MemoryDomain) -> None:
        """Describe a memory domain."""
        super().put_domain(domain)
        self._origin_moved(domain.id)

    def remove_domain(self, domain_id: str) -> None:
        """Forget a memory domain; its chunks stay. Unknown ones are ignored."""
        self._origin_moved(domain_id)
        super().remove_domain(domain_id)

    def _ways_moved(self, host: str | None) -> None:
        """Follow a host that reaches other switches: itself, and what it uses over their links."""
        if host is None:
            return
        self.unshelved |= self.blocks_of_host(host)
        for composition in self._compositions_of_host.each(host):
            self.unshelved.update(self.compositions[composition].blocks)
        for holder in self._holders_of_host.each(host):
            self._units_moved(self._units_of_holder(holder))

    def _units_of_holder(self, holder: str) -> frozenset[str]:
        """Return the units that a zone, connection or vPPB gives; the whole index knows them."""
        return frozenset()

    def _composition_moved(self, composition: Composition) -> None:
        self.unshelved.update(composition.blocks)
        self.unshelved |= self.blocks_of_host(composition.host or "")

    def _hosts_moved(self, holder: str, gone: frozenset[str], come: frozenset[str]) -> None:
        """Follow the hosts that a zone, connection or vPPB names."""
        self._holders_of_host.remove(gone, holder)
        self._holders_of_host.add(come, holder)
        for host in gone | come:
            self.unshelved.update(self._blocks_of_host.each(host))

    def _units_moved(self, units: Iterable[str]) -> None:
        """Follow units that somebody took or gave back; what is around them goes with them."""
        for unit in units:
            for each in (unit, *self.units_around(unit)):
                self.unshelved.update(self._blocks_of_unit.each(each))

    def _shift(self, unit_id: str, weight: int) -> None:
        super()._shift(unit_id, weight)
        if self.blocks:
            self._units_moved((unit_id,))

    def _count(self, part: Part, weight: int) -> None:
        super()._count(part, weight)
        self._origin_moved(origin_of(part) or "")

    def _origin_moved(self, origin: str) -> None:
        domain = self.domains.get(origin)
        pools = (origin,) if domain is None or domain.pool is None else (origin, domain.pool)
        for pool in pools:
            self.unshelved.update(self._blocks_of_pool.each(pool))


def _some(host: str | None) -> tuple[str, ...]:
    return () if host is None else (host,)


def _likes(block: Block) -> tuple[tuple[str, str | None], ...]:
    return (block.kind, block.model), (block.kind, None)
