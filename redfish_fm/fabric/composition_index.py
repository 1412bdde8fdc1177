"""Who holds which block, unit, zone, connection and part: rule 5's look-ups. A part of the index.

Pure. A put or remove costs the size of what it changes. Blocks are inventory or registered by
clients; compositions and reservations are what clients make. DESIGN section 5, rule 5.
"""

from redfish_fm.fabric.binding_index import BindingIndex
from redfish_fm.fabric.composition import Block, Composition, Reservation
from redfish_fm.fabric.relation import Relation


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

    # -- changes -----------------------------------------------------------------------------

    def put_block(self, block: Block) -> None:
        """Add or replace a resource block."""
        self.remove_block(block.id)
        self.blocks[block.id] = block
        self._blocks_of_unit.add(block.units, block.id)
        self._blocks_of_host.add(_some(block.host), block.id)
        self.work += 1 + len(block.units)

    def remove_block(self, block_id: str) -> None:
        """Forget a block; compositions that name it keep the name. Unknown ones are ignored."""
        before = self.blocks.pop(block_id, None)
        if before is not None:
            self._blocks_of_unit.remove(before.units, block_id)
            self._blocks_of_host.remove(_some(before.host), block_id)
            self.work += 1 + len(before.units)

    def put_composition(self, composition: Composition) -> None:
        """Add or replace a composition."""
        self.remove_composition(composition.id)
        self.compositions[composition.id] = composition
        self._compositions_of_block.add(composition.blocks, composition.id)
        self._compositions_of_host.add(_some(composition.host), composition.id)
        self._composition_holding.add(composition.holdings, composition.id)
        self.work += 1 + len(composition.blocks) + len(composition.holdings)

    def remove_composition(self, composition_id: str) -> None:
        """Forget a composition; unknown ones are ignored."""
        before = self.compositions.pop(composition_id, None)
        if before is not None:
            self._compositions_of_block.remove(before.blocks, composition_id)
            self._compositions_of_host.remove(_some(before.host), composition_id)
            self._composition_holding.remove(before.holdings, composition_id)
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

    def is_reserved(self, block_id: str) -> bool:
        """Return whether any reservation names the block; those that expired are deleted soon."""
        return self._reservations_of_block.count(block_id) > 0

    def blocks_of_unit(self, unit_id: str) -> frozenset[str]:
        """Return the blocks that the unit is in."""
        return self._blocks_of_unit.get(unit_id)

    def blocks_of_host(self, host: str) -> frozenset[str]:
        """Return the blocks that bring the host."""
        return self._blocks_of_host.get(host)


def _some(host: str | None) -> tuple[str, ...]:
    return () if host is None else (host,)
