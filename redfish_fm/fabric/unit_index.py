"""Units: what contains what, what is exclusive, and who takes what. A part of the fabric index.

Pure. Knows units and sums over them; not which zones and connections the sums come from.
"""

from collections.abc import Iterator, Mapping

from redfish_fm.fabric import reach
from redfish_fm.fabric.model import BindTarget
from redfish_fm.fabric.relation import Relation
from redfish_fm.fabric.values import Unit


class UnitIndex:
    """Units by id and by target, their containment and the sums of takings over it.

    `work` counts touched entries of the whole index, so a test can prove what a change costs.
    """

    def __init__(self) -> None:
        self.work = 0
        self.shape = 0
        """Another number each time a unit was put or removed: what was derived of them is stale."""
        self.units: dict[str, Unit] = {}
        self._containment = reach.Containment()
        self._reach = reach.Takings(self._containment)
        self._zone_parts = reach.Takings(self._containment)
        self._unit_of_target: Relation[BindTarget, str] = Relation()
        self._units_within: Relation[str, str] = Relation()

    def put_unit(self, unit: Unit) -> None:
        """Describe a unit. Raises ValueError where units would contain each other in a circle."""
        before = self.units.get(unit.id)
        if before == unit:
            return
        self.remove_unit(unit.id)
        self._containment.put(unit)
        self.units[unit.id] = unit
        self.shape += 1
        self._shift(unit.id, 1)
        if unit.target is not None:
            self._unit_of_target.add((unit.target,), unit.id)
        if unit.within is not None:
            self._units_within.add((unit.within,), unit.id)
        self.work += 1

    def remove_unit(self, unit_id: str) -> None:
        """Forget a unit; what reaches it is kept, and counts again when it comes back."""
        unit = self.units.pop(unit_id, None)
        if unit is None:
            return
        self.shape += 1
        self._shift(unit_id, -1)
        self._containment.remove(unit)
        if unit.target is not None:
            self._unit_of_target.remove((unit.target,), unit_id)
        if unit.within is not None:
            self._units_within.remove((unit.within,), unit_id)
        self.work += 1

    def exclusive(self, unit_id: str) -> bool:
        """Return whether one host at a time may reach the unit; unknown units are exclusive."""
        return self._containment.exclusive(unit_id)

    def units_above(self, unit_id: str) -> tuple[str, ...]:
        """Return what contains the unit, innermost first."""
        return self._containment.above(unit_id)

    def units_within(self, unit_id: str) -> frozenset[str]:
        """Return the units that lie directly within the unit."""
        return self._units_within.get(unit_id)

    def units_around(self, unit_id: str) -> Iterator[str]:
        """Yield what contains the unit, and all that lies within it: what is taken with it."""
        yield from self.units_above(unit_id)
        todo = [*self.units_within(unit_id)]
        while todo:
            inner = todo.pop()
            todo += self.units_within(inner)
            yield inner

    def units_of_target(self, target: BindTarget) -> frozenset[str]:
        """Return the units that are bound through `target`: one, unless the inventory is wrong."""
        return self._unit_of_target.get(target)

    def empty_takings(self) -> reach.Takings:
        """Return sums of nothing over this index's containment, for a caller's own counting."""
        return reach.Takings(self._containment)

    def zones_taking(self, unit_id: str) -> Mapping[str, frozenset[str]]:
        """Return zone of endpoints -> endpoints that take the unit, its whole or its parts.

        A vPPB that a client bound itself counts as a zone of its own.
        """
        return self._counted(self._zone_parts.taken(unit_id))

    def hosts_of(self, unit_id: str) -> Mapping[str, frozenset[str]]:
        """Return host -> holders by which it reaches the unit, its whole or parts.

        Two LDs of one MLD do not count for each other; both count for the MLD.
        """
        return self._counted(self._reach.taken(unit_id))

    def hosts_granted(self, unit_id: str) -> Mapping[str, frozenset[str]]:
        """Return host -> holders that give it the whole unit, parts not counted."""
        return self._counted(self._reach.granted(unit_id))

    def hosts_naming(self, unit_id: str) -> Mapping[str, frozenset[str]]:
        """Return host -> holders that give it exactly this unit, neither more nor less."""
        return self._counted(self._reach.direct(unit_id))

    def rivals(self, unit_id: str, holder: str) -> dict[str, frozenset[str]]:
        """Return host -> holders other than `holder` that make the unit taken for other hosts.

        For a shareable unit only the exclusive units around it count.
        """
        if self.exclusive(unit_id):
            return _without(self.hosts_of(unit_id), holder)
        rivals: dict[str, frozenset[str]] = {}
        for above in filter(self.exclusive, self.units_above(unit_id)):
            for host, holders in _without(self.hosts_naming(above), holder).items():
                rivals[host] = rivals.get(host, frozenset()) | holders
        return rivals

    def _shift(self, unit_id: str, weight: int) -> None:
        self.work += self._reach.move(unit_id, weight)
        self.work += self._zone_parts.move(unit_id, weight)

    def _counted(self, found: dict[str, frozenset[str]]) -> dict[str, frozenset[str]]:
        self.work += 1 + sum(map(len, found.values()))
        return found


def _without(found: Mapping[str, frozenset[str]], holder: str) -> dict[str, frozenset[str]]:
    others = {host: holders - {holder} for host, holders in found.items()}
    return {host: holders for host, holders in others.items() if holders}
