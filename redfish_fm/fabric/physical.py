"""What inventory says of targets: which have to be allocated, which take each other.

Pure. Made of one index; discovered volumes, which nobody made, are not asked for.
"""

from collections.abc import Iterator
from typing import Protocol

from redfish_fm.fabric.accounting import pool_has
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import BindTarget
from redfish_fm.fabric.relation import Relation
from redfish_fm.fabric.targets import order, overlaps
from redfish_fm.fabric.values import Allocation, CapacityPool


class Physical(Protocol):
    """What a plan has to know of hardware beyond its observation."""

    def pooled(self, target: BindTarget) -> bool:
        """Return whether `target` is a part of a pool, to be allocated before it is there."""
        ...

    def ways(self, target: BindTarget) -> tuple[BindTarget, ...]:
        """Return the target and those that are taken with it although they do not overlap.

        The other port of a dual-ported device; the physical function of a virtual one.
        """
        ...


class Plain:
    """Hardware without pools whose targets take each other only where they overlap."""

    def pooled(self, _target: BindTarget) -> bool:
        """Return False."""
        return False

    def ways(self, target: BindTarget) -> tuple[BindTarget, ...]:
        """Return the target alone."""
        return (target,)


class Inventoried:
    """Answers for one fabric by its index, whatever has become of that since.

    Parts, and the units they are, come and go: what lies within what is remembered until then.
    Pools come with inventory, before anybody asks; they are kept by port.
    """

    def __init__(self, index: FabricIndex, fabric: str) -> None:
        self.index = index
        self._fabric = fabric
        self._shape = index.shape
        self._ways: dict[BindTarget, tuple[BindTarget, ...]] = {}
        self._pools: Relation[tuple[str, str], CapacityPool] = Relation()
        for pool in index.pools.values():
            if pool.fabric == fabric and pool.port is not None:
                self._pools.add(((pool.port.switch, pool.port.port),), pool)

    def pooled(self, target: BindTarget) -> bool:
        """Return whether `target` is a part of a pool, to be allocated before it is there."""
        pools = self._pools.get((target.switch, target.port))
        if not any(pool_has(pool, target) for pool in pools):
            return False
        volumes = self.index.volumes
        units = self.index.units_of_target(target) & volumes.keys()
        return all(volumes[unit].allocation is not None for unit in units)

    def is_in_place(self, part: Allocation) -> bool:
        """Return whether what a part was cut out of is still in that place, as far as is known.

        Another device there has nothing of it, whatever its parts are called.
        """
        if part.target.namespace is not None:
            # Not one of the resources above it, which would tell: the subsystem is the switch.
            return True
        pools = self._pools.get((part.target.switch, part.target.port))
        return any(
            pool_has(pool, part.target) and part.holder.startswith(f"{pool.id}/") for pool in pools
        )

    def ways(self, target: BindTarget) -> tuple[BindTarget, ...]:
        """Return the target and those that are taken with it although they do not overlap."""
        if self._shape != self.index.shape:
            self._shape = self.index.shape
            self._ways.clear()
        known = self._ways.get(target)
        if known is None:
            known = self._ways[target] = self._looked_up(target)
        return known

    def _looked_up(self, target: BindTarget) -> tuple[BindTarget, ...]:
        found: set[BindTarget] = set()
        for unit in self.index.units_of_target(target):
            found.update(self._around(unit))
        kin = (each for each in found if not overlaps(target, each))
        return (target, *sorted(kin, key=order))

    def _around(self, unit_id: str) -> Iterator[BindTarget]:
        """Yield the targets of what contains a unit of the fabric, and of what lies within it."""
        units = self.index.units
        if units[unit_id].fabric == self._fabric:
            for above in self.index.units_above(unit_id):
                unit = units.get(above)
                if unit is not None and unit.target is not None:
                    yield unit.target
        todo = [*self.index.units_within(unit_id)]
        while todo:
            unit = units[todo.pop()]
            todo += self.index.units_within(unit.id)
            if unit.fabric == self._fabric and unit.target is not None:
                yield unit.target
