"""How systems of blocks are, by what they are made of: their own State and Conditions.

Pure and mutable; one for the service, because a system has devices of several fabrics. A system is
judged anew when it changes, or when something that it has does: that costs its own size. What an
outage means for it is decided in fabric.blast_radius, for what happened as for what might happen.
"""

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, replace

from redfish_fm.fabric.blast_radius import Harm, Outage, Suffering, parts_of, suffering
from redfish_fm.fabric.block_rules import OUT_OF_USE
from redfish_fm.fabric.composition import Composition
from redfish_fm.fabric.health import Condition, Health, HealthGraph
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.relation import Relation
from redfish_fm.fabric.values import Endpoint
from redfish_fm.mapping import conditions

CONDITIONS_MAX = 32
"""What is wrong with one thing that a system has: of more, the worst count."""

_OFFLINE = "UnavailableOffline"
_STATES = {Harm.LOST: _OFFLINE, Harm.DEGRADED: "Degraded"}
"""What a system shows for it; else it is as its host is."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a system of blocks shows now. `state` None: nothing but what its host shows."""

    uri: str
    state: str | None
    conditions: tuple[Condition, ...]
    there: bool = True


class CompositionHealth:
    """All systems of blocks, over one health graph; `states` tells the State that a URI shows.

    Call `touched` for every published edit of a system, `look` before each look, then `judge`.
    """

    def __init__(self, graph: HealthGraph, states: Callable[[str], str | None]) -> None:
        self._graph = graph
        self._states = states
        self._index = FabricIndex()
        self._parts: dict[str, frozenset[str]] = {}
        self._ways: dict[str, frozenset[str]] = {}
        """System -> the ports to other switches by which its host gets to what it has."""
        self._feeling: dict[str, tuple[str, ...]] = {}
        self._systems_of: Relation[str, str] = Relation()
        self._touched: set[str] = set()

    def touched(self, uri: str) -> None:
        """Note that the system at `uri`, or what is laid over it, was changed."""
        self._touched.add(uri)

    def look(self, index: FabricIndex) -> None:
        """Take over what there is; of another index nothing is known of what changed."""
        if index is not self._index:
            self._index = index
            self._touched |= {*self._parts, *index.compositions}

    def judge(self, changed: Set[str]) -> Iterator[Judged]:
        """Yield what each system shows for which something has changed: itself, or what it has."""
        touched, self._touched = self._touched, set()
        for uri in touched:
            self._learn(uri)
        concerned = touched.union(*map(self._systems_of.each, changed))
        for uri in sorted(concerned):
            composition = self._index.compositions.get(uri)
            if composition is not None:
                yield self._judged(composition)
            elif uri in touched:
                yield Judged(uri, None, (), there=False)

    def _learn(self, uri: str) -> None:
        """Note what the system has, and let it and its host have a HealthRollup of it."""
        composition = self._index.compositions.get(uri)
        before = self._parts.pop(uri, None)
        after = frozenset[str]()
        self._ways.pop(uri, None)
        if composition is not None:
            self._ways[uri] = frozenset(self._joints(composition))
            after = self._ways[uri].union(self._things(composition))
        self._systems_of.remove((before or frozenset()) - after, uri)
        self._systems_of.add(after, uri)
        node = blocks_of(uri)
        if composition is None and before is not None:
            self._graph.set_own(node)
        if composition is not None:
            self._parts[uri] = after
        wished = () if composition is None else dict.fromkeys((uri, composition.host or uri))
        linked = self._feeling.pop(uri, ())
        for each in linked:
            if each not in wished:
                self._graph.unlink(node, each)
        for each in wished:
            if each not in linked:
                self._graph.link(node, each)
        if wished:
            self._feeling[uri] = tuple(wished)

    def _things(self, composition: Composition) -> Iterator[str]:
        """Yield everything that says how the composition is."""
        yield from composition.holdings | parts_of(self._index, composition)
        for name in composition.blocks:
            block = self._index.blocks.get(name)
            if block is not None and not block.sharing:
                yield from (name, *block.units)
        yield from (each.id for each in self._initiators(composition))

    def _joints(self, composition: Composition) -> Iterator[str]:
        """Yield the ports by which its host comes from switch to switch to the blocks."""
        known = (self._index.blocks.get(name) for name in composition.blocks)
        switches = {at for block in known if block is not None for at in block.switches}
        for fabric, switch in switches if composition.host is not None else ():
            for vcs in self._index.vcs_of_host(fabric, composition.host or "", switch):
                for each in self._index.vcss_on_way((vcs.switch, vcs.vcs)):
                    if each.through is not None and each.port is not None:
                        yield each.port

    def _initiators(self, composition: Composition) -> Iterator[Endpoint]:
        for fabric in self._index.fabrics if composition.host is not None else ():
            for uri in self._index.endpoints_of_host(fabric, composition.host or ""):
                yield self._index.endpoints[uri]

    # -- one system ------------------------------------------------------------------------------

    def _judged(self, composition: Composition) -> Judged:
        offline = [each for each in self._initiators(composition)
                   if self._states(each.id) == _OFFLINE]  # fmt: skip
        cut = {each for each in self._ways[composition.id] if self._states(each) == _OFFLINE}
        ports = cut.union(*(each.ports for each in offline))
        found = suffering(self._index, composition, self._outage(composition, ports))
        # A link that is down is as bad as what is lost by it.
        told = {each for each in self._told(composition) if each.origin not in cut}
        if found is None:
            own, state = told, None
        else:
            harmed = Health.CRITICAL if found.lost else Health.WARNING
            told |= {replace(conditions.link_down(each), severity=harmed) for each in cut}
            told |= {conditions.link_down(each.id) for each in offline} if found.lost else set()
            own, state = {*_weighed(told, found, self._index)}, _STATES.get(found.harm)
        self._graph.set_own(blocks_of(composition.id), own)
        if composition.expands:
            # A physical host is what it is itself; what it has another copy of is not its own.
            own, state = own & told, None
        ordered = tuple(sorted(own, key=lambda each: (-each.severity.rank, each.origin, each.told)))
        return Judged(composition.id, state, ordered)

    def _outage(self, composition: Composition, ports: Set[str]) -> Outage:
        """Return what of the things of a composition can not be used now.

        Nobody gets in by `ports`.
        """
        units: set[str] = set()
        for name in composition.blocks:
            block = self._index.blocks.get(name)
            if block is not None and not block.sharing:
                units.update(block.units)
        index = self._index
        parts = parts_of(index, composition)
        return Outage(
            units=frozenset(each for each in units if self._states(each) in OUT_OF_USE),
            parts=frozenset(each for each in parts if self._states(each) in OUT_OF_USE),
            vcss=frozenset(
                (vcs.switch, vcs.vcs)
                for vcs in (index.vcss_of_host(composition.host or "") if ports else ())
                if vcs.port in ports
            ),
        )

    def _told(self, composition: Composition) -> Iterator[Condition]:
        """Yield what is wrong with anything that the composition has."""
        for each in self._parts.get(composition.id, ()):
            yield from self._graph.conditions(each, CONDITIONS_MAX)


def blocks_of(system: str) -> str:
    """Return the node that the blocks of a system are together, as that system feels them."""
    return f"blocks of {system}"


def _weighed(
    told: Iterable[Condition], found: Suffering, index: FabricIndex
) -> Iterator[Condition]:
    """Yield conditions as severe as what they cause is to the system."""
    lost, spared = _causes(found.lost, index), _causes(found.spared, index)
    for each in told:
        cause = _whole(each.origin, index)
        if cause in lost:
            yield replace(each, severity=Health.CRITICAL)
        elif cause in spared:
            yield replace(each, severity=Health.WARNING)
        else:
            yield each


def _causes(names: Iterable[str], index: FabricIndex) -> set[str]:
    """Return whose conditions tell that these blocks and parts are gone."""
    found: set[str] = set()
    for name in names:
        block = index.blocks.get(name)
        chunk, region = index.chunks.get(name), index.regions.get(name)
        volume = index.volumes.get(name)
        units = [name, *(() if block is None else block.units)]
        units += [] if chunk is None else [chunk.unit]
        units += [] if region is None else [region.ld]
        units += [] if volume is None else [volume.subsystem]
        found |= {_whole(unit, index) for unit in units} | index.connections_of_part(name)
    return found


def _whole(unit: str, index: FabricIndex) -> str:
    """Return the outermost unit around `unit`, or `unit` itself."""
    above = index.units_above(unit) if unit in index.units else ()
    return above[-1] if above else unit
