"""Who suffers when something fails: which compositions, how badly, and by what they lose.

Pure. Asked before the fact (what if this switch failed?) and after it (this device is gone), so
that both answers are one. A composition loses a block or a part where all its ways to it are gone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from redfish_fm.fabric.composition import Block, Composition
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.paths import by_id
from redfish_fm.fabric.values import Binding


class Harm(Enum):
    """How a composition suffers, the worst first; values of our OEM schema."""

    LOST = "Lost"
    """It can not go on: its host is gone, or memory that it has no copy of."""
    DEGRADED = "Degraded"
    """It goes on without some of its devices or volumes."""
    REDUNDANCY_LOST = "RedundancyLost"
    """It has everything still, but something that it had twice only once."""


@dataclass(frozen=True, slots=True)
class Outage:
    """What fails together.

    `hosts` are who runs systems, `units` what is bound (and all that lies within), `parts` chunks,
    regions and volumes alone. `vcss` are virtual switches whose host does not come in any more,
    `switches` take everything along that is bound on them or by way of them. Both cut the host off
    from all switches farther down its way.
    """

    hosts: frozenset[str] = frozenset()
    units: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    vcss: frozenset[tuple[str, str]] = frozenset()
    switches: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Suffering:
    """What one composition loses. Blocks and parts of pools, in the order of ids.

    `lost` is gone, `spared` is what it has another copy of, or another way to.
    """

    composition: str
    harm: Harm
    lost: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()


def blast_radius(index: FabricIndex, outage: Outage) -> tuple[Suffering, ...]:
    """Return every composition that suffers, in the order of ids.

    Costs what fails and who is there.
    """
    names = sorted(_concerned(index, outage), key=by_id)
    found = (suffering(index, index.compositions[name], outage) for name in names)
    return tuple(each for each in found if each is not None)


def suffering(index: FabricIndex, composition: Composition, outage: Outage) -> Suffering | None:
    """Return what the composition loses in an outage; None where that is nothing."""
    return _Victim(index, composition, outage).suffering()


def parts_of(index: FabricIndex, composition: Composition) -> frozenset[str]:
    """Return the chunks, regions and volumes that it has, with regions that it shares."""
    held = composition.holdings
    shared = {
        grant.region
        for name in held
        if name in index.connections
        for grant in index.connections[name].regions
    }
    kinds = (index.chunks, index.regions, index.volumes)
    return frozenset(part for part in held | shared if any(part in kind for kind in kinds))


def _concerned(index: FabricIndex, outage: Outage) -> set[str]:
    """Return the compositions that may suffer: whoever has, or runs on, something of it."""
    cut = [index.vcss[key] for key in outage.vcss if key in index.vcss]
    cut += (vcs for switch in outage.switches for vcs in index.vcss_by_way_of(switch))
    index.work += len(cut)
    hosts = outage.hosts | {vcs.host for vcs in cut if vcs.host is not None}
    found = {
        name
        for part in outage.parts
        for each in (part, *index.connections_of_part(part))
        if (name := index.composition_holding(each))
    }
    for unit in outage.units:
        hosts |= index.hosts_of(unit).keys()
        for each in (unit, *index.units_around(unit)):
            for block in index.blocks_of_unit(each):
                found |= index.compositions_of_block(block)
    return found.union(*map(index.compositions_of_host, hosts))


class _Victim:
    """One composition in one outage."""

    def __init__(self, index: FabricIndex, composition: Composition, outage: Outage) -> None:
        self._index = index
        self._composition = composition
        self._outage = outage

    def suffering(self) -> Suffering | None:
        """Return what it loses, or None."""
        composition = self._composition
        if composition.host in self._outage.hosts:
            compute = (each for each in self._blocks() if each.computes)
            gone = next((each.id for each in compute), composition.host or composition.id)
            return Suffering(composition.id, Harm.LOST, (gone,))
        lost, spared = self._devices()
        memory, others, copied = self._parts()
        lost |= memory | others
        spared |= copied
        if not lost and not spared:
            return None
        harm = Harm.LOST if memory else Harm.DEGRADED if lost else Harm.REDUNDANCY_LOST
        ordered = (tuple(sorted(each, key=by_id)) for each in (lost, spared))
        return Suffering(composition.id, harm, *ordered)

    def _blocks(self) -> Iterator[Block]:
        for name in self._composition.blocks:
            block = self._index.blocks.get(name)
            if block is not None:
                yield block

    # -- what it has whole -------------------------------------------------------------------

    def _devices(self) -> tuple[set[str], set[str]]:
        """Return the blocks that it loses, and those that it loses a spare way to."""
        lost, spared = set(), set()
        for block in self._blocks():
            if block.sharing or not block.units:
                continue
            used = [each for unit in block.units for each in self._bindings(unit)]
            dead = [unit for unit in block.units if self._is_dead(unit)]
            gone = all(map(self._is_severed, used)) if used else len(dead) == len(block.units)
            if gone:
                lost.add(block.id)
            elif dead:
                spared.add(block.id)
        return lost, spared

    def _bindings(self, unit: str) -> Iterator[Binding]:
        """Yield the composition's bindings of a unit."""
        for binding in self._index.bindings_of_unit(unit):
            if binding.holders & self._composition.holdings:
                yield binding

    # -- what it has of pools ----------------------------------------------------------------

    def _parts(self) -> tuple[set[str], set[str], set[str]]:
        """Return the memory and the other parts that it loses, and those it has a copy of."""
        every = parts_of(self._index, self._composition)
        gone = {part for part in every if self._is_gone(part)}
        copied = {part for part in gone if self._has_copy(part, gone)}
        volumes = {part for part in gone - copied if part in self._index.volumes}
        return gone - copied - volumes, volumes, copied

    def _has_copy(self, part: str, gone: set[str]) -> bool:
        held = self._composition.holdings
        return any(part in group and (group & held) - gone for group in self._composition.mirrors)

    def _is_gone(self, part: str) -> bool:
        if part in self._outage.parts or self._is_dead(self._unit_of(part)):
            return True
        connections = self._index.connections_of_part(part) & self._composition.holdings
        used = [b for each in connections for b in self._index.bindings_of_holder(each)]
        return bool(used) and all(map(self._is_severed, used))

    def _unit_of(self, part: str) -> str:
        index = self._index
        if part in index.chunks:
            return index.chunks[part].unit
        region = index.regions.get(part)
        return region.ld if region is not None else index.volumes[part].subsystem

    # -- what is gone ------------------------------------------------------------------------

    def _is_dead(self, unit: str) -> bool:
        wholes = (unit, *self._index.units_above(unit))
        return not self._outage.units.isdisjoint(wholes)

    def _is_severed(self, binding: Binding) -> bool:
        """Whether the host does not reach any more what is bound."""
        outage, key = self._outage, (binding.vppb.switch, binding.vppb.vcs)
        if key in outage.vcss or self._is_dead(binding.unit):
            return True
        if not outage.switches and not outage.vcss:
            return False
        way = self._index.vcss_on_way(key)
        if any((vcs.switch, vcs.vcs) in outage.vcss for vcs in way):
            return True
        # What comes through a switch that its host has nothing on goes down with that as well.
        switches = {key[0], binding.target.switch}.union(*((v.switch, v.through) for v in way))
        return not outage.switches.isdisjoint(switches)
