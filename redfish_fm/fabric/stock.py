"""What is free to be composed, in shelves: the indexed candidates of placement.

Pure containers; fabric.stocktaking fills them. A shelf holds the free blocks that are alike to a
wish and plugged into the same switches. Hosts that reach the same switches in the same way stand
together; places (sets of such switches) that are alike in every respect share a look. Placement
examines one place of each look, so that its work does not grow with the fabric.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from redfish_fm.fabric.paths import SwitchKey, Way, by_id, switch_order
from redfish_fm.fabric.relation import Relation


@dataclass(frozen=True, slots=True)
class Sort:
    """All that distinguishes whole devices to a wish; blocks of one sort differ in their id only.

    `switches` are where they are plugged, in the order in which their units are tried. `depth`: so
    many things contain it, which go with nobody else then (a virtual function).
    """

    kind: str
    model: str
    manufacturer: str
    capacity_mib: int
    latency_ns: int
    bandwidth_mb_s: int
    domain: str | None
    switches: tuple[SwitchKey, ...]
    depth: int = 0
    core_count: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A pool of an appliance that parts are cut out of; `ld` for regions, which lie in one."""

    pool: str
    ld: str | None
    free_mib: int
    free_parts: int
    granularity_mib: int


@dataclass(frozen=True, slots=True)
class Appliance:
    """A shared block as it is now: its pools, and its free fixed parts as (size, chunk id)."""

    block: str
    kind: str
    latency_ns: int
    domain: str | None
    switches: tuple[SwitchKey, ...]
    sources: tuple[Source, ...]
    fixed: tuple[tuple[int, str], ...]

    @property
    def look(self) -> Hashable:
        """Everything about it but ids."""
        sources = tuple(
            (each.ld is None, each.free_mib, each.free_parts, each.granularity_mib)
            for each in self.sources
        )
        sizes = tuple(size for size, _ in self.fixed)
        shape = (self.kind, self.latency_ns, self.domain, len(self.switches))
        return shape, sources, sizes

    @property
    def free_mib(self) -> int:
        """What could still be had of it, in parts of any size."""
        pools = {source.pool: source.free_mib for source in self.sources}
        return sum(pools.values()) + sum(size for size, _ in self.fixed)


@dataclass(frozen=True, slots=True)
class MachineSort:
    """All that distinguishes free hosts of one place to a wish."""

    model: str
    core_count: int
    memory_mib: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where hosts stand: the switches they reach, in order of ids, and their vPPBs on each."""

    ways: tuple[Way, ...]
    vppbs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """A free host's compute block."""

    sort: MachineSort
    place: Place


@dataclass(frozen=True, slots=True)
class Kept:
    """The compute block of a host that somebody's zone, connection or vPPB names: no candidate."""


Entry = Sort | Appliance | Machine | Kept
Load = tuple[tuple[str, ...], int]
"""What a block that is in use may put on links between switches, in MB/s on each of them."""


def place_order(place: Place) -> tuple[object, ...]:
    """Return a sort key of places: by the ids of their switches."""
    shape = tuple((way.hops, way.latency_ns, way.bandwidth_mb_s or 0) for way in place.ways)
    return tuple(switch_order(way.switch) for way in place.ways), shape, place.vppbs


class Shelves:
    """Free blocks by what they are, each shelf in the order of ids."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._ids: dict[Sort, list[str]] = {}
        self._sorts: Relation[tuple[SwitchKey, str], Sort] = Relation()
        self._appliances: Relation[tuple[SwitchKey, str], str] = Relation()
        self._at: Relation[SwitchKey, Sort | str] = Relation()
        self._machines: dict[tuple[Place, MachineSort], list[str]] = {}
        self._machine_sorts: Relation[Place, MachineSort] = Relation()
        self._places_at: Relation[SwitchKey, Place] = Relation()
        self._places_over: Relation[str, Place] = Relation()
        self._kept: list[str] = []
        self._loads: dict[str, Load] = {}
        self._load_mb_s: dict[str, int] = {}
        self._looks = _Looks()

    # -- changes -----------------------------------------------------------------------------

    def put(self, block_id: str, entry: Entry | None, load: Load | None = None) -> None:
        """Shelve a block as `entry`, in place of what it was; None: it is not free."""
        before = self._entries.pop(block_id, None)
        if before is not None:
            self._drop(block_id, before)
        if entry is not None:
            self._entries[block_id] = entry
            self._add(block_id, entry)
        for weight, each in ((-1, self._loads.pop(block_id, None)), (1, load)):
            links, mb_s = each or ((), 0)
            for link in links:
                self._load_mb_s[link] = self._load_mb_s.get(link, 0) + weight * mb_s
                self._looks.changed(self._places_over.each(link))
        if load is not None:
            self._loads[block_id] = load

    def _add(self, block_id: str, entry: Entry) -> None:
        if isinstance(entry, Machine):
            key = (entry.place, entry.sort)
            insort(self._machines.setdefault(key, []), block_id, key=by_id)
            self._machine_sorts.add((entry.place,), entry.sort)
            self._places_at.add((way.switch for way in entry.place.ways), entry.place)
            self._places_over.add(_shared(entry.place), entry.place)
            self._looks.changed((entry.place,))
            return
        if isinstance(entry, Kept):
            insort(self._kept, block_id, key=by_id)
            return
        if isinstance(entry, Sort):
            insort(self._ids.setdefault(entry, []), block_id, key=by_id)
            self._sorts.add(((at, entry.kind) for at in entry.switches), entry)
            self._at.add(entry.switches, entry)
        else:
            self._appliances.add(((at, entry.kind) for at in entry.switches), block_id)
            self._at.add(entry.switches, block_id)
        self._switches_changed(entry.switches)

    def _drop(self, block_id: str, entry: Entry) -> None:
        if isinstance(entry, Machine):
            self._looks.changed((entry.place,))
            if not _leave(self._machines, (entry.place, entry.sort), block_id, by_id):
                self._machine_sorts.remove((entry.place,), entry.sort)
            if not self._machine_sorts.count(entry.place):
                self._places_at.remove((way.switch for way in entry.place.ways), entry.place)
                self._places_over.remove(_shared(entry.place), entry.place)
            return
        if isinstance(entry, Kept):
            del self._kept[bisect_left(self._kept, by_id(block_id), key=by_id)]
            return
        if isinstance(entry, Appliance):
            self._appliances.remove(((at, entry.kind) for at in entry.switches), block_id)
            self._at.remove(entry.switches, block_id)
        elif not _leave(self._ids, entry, block_id, by_id):
            self._sorts.remove(((at, entry.kind) for at in entry.switches), entry)
            self._at.remove(entry.switches, entry)
        self._switches_changed(entry.switches)

    def _switches_changed(self, switches: tuple[SwitchKey, ...]) -> None:
        for switch in switches:
            self._looks.switch_changed(switch)
            self._looks.changed(self._places_at.each(switch))

    # -- look-ups ----------------------------------------------------------------------------

    def entry(self, block_id: str) -> Entry | None:
        """Return what the block is shelved as; None where it is not free."""
        return self._entries.get(block_id)

    def ids(self, sort: Sort) -> Sequence[str]:
        """Return the free blocks of a sort, by id; not to be kept over a change."""
        return self._ids.get(sort, ())

    def sorts(self, switch: SwitchKey, kind: str) -> frozenset[Sort]:
        """Return the sorts of that kind of which something is free at the switch."""
        return self._sorts.get((switch, kind))

    def sorts_of(self, kind: str) -> Iterator[Sort]:
        """Yield the sorts of that kind of which something is free anywhere; costs all sorts."""
        return (sort for sort in self._ids if sort.kind == kind)

    def appliances(self, switch: SwitchKey, kind: str) -> list[Appliance]:
        """Return the appliances of that kind at the switch, by id."""
        found = (self._entries[each] for each in self._appliances.each((switch, kind)))
        known = (each for each in found if isinstance(each, Appliance))
        return sorted(known, key=lambda each: by_id(each.block))

    def load_mb_s(self, link: str | None) -> int:
        """Return what a link between switches carries, for all hosts together; of None nothing."""
        return 0 if link is None else self._load_mb_s.get(link, 0)

    def machine_sorts(self, place: Place) -> frozenset[MachineSort]:
        """Return the sorts of free hosts at a place."""
        return self._machine_sorts.get(place)

    def machines(self, place: Place, sort: MachineSort) -> Sequence[str]:
        """Return the compute blocks of the free hosts of a place, by id."""
        return self._machines.get((place, sort), ())

    def kept(self) -> Sequence[str]:
        """Return the compute blocks of hosts that only a zone, connection or vPPB has, by id."""
        return self._kept

    def looks(self) -> Iterator[Sequence[Place]]:
        """Yield the places where hosts are free, those that look alike together, by id."""
        self._looks.settle(self._look, self._machine_sorts)
        return self._looks.each()

    # -- looks -------------------------------------------------------------------------------

    def _look(self, place: Place) -> Hashable:
        """Return all that placement could make of a place, but for the ids."""
        order = [way.switch for way in place.ways]
        rows = []
        for way, vppbs in zip(place.ways, place.vppbs, strict=True):
            before = (order.index(way.root), *map(order.index, way.uplinks[1:]))
            load = self.load_mb_s(way.link)
            shape = (before, way.hops, way.latency_ns, way.bandwidth_mb_s, way.link is None, load)
            rows.append((shape, vppbs, self._looks.of_switch(way.switch, self._switch_look)))
        return tuple(rows), self._machine_sorts.get(place)

    def _switch_look(self, switch: SwitchKey) -> Hashable:
        sorts = []
        appliances = []
        for each in self._at.each(switch):
            if isinstance(each, Sort):
                alone = replace(each, switches=()) if len(each.switches) == 1 else each
                sorts.append((alone, len(self._ids[each])))
            else:
                appliances.append(each)
        ordered = (self._entries[each] for each in sorted(appliances, key=by_id))
        return frozenset(sorts), tuple(each.look for each in ordered if isinstance(each, Appliance))


def _shared(place: Place) -> Iterator[str]:
    """Yield the links that hosts at the place share with others."""
    return (way.link for way in place.ways if way.link is not None)


class _Looks:
    """Places by how they look; worked out again only for those that changed."""

    def __init__(self) -> None:
        self._look_of: dict[Place, Hashable] = {}
        self._places: dict[Hashable, list[Place]] = {}
        self._switches: dict[SwitchKey, Hashable] = {}
        self._stale: set[Place] = set()

    def changed(self, places: Iterable[Place]) -> None:
        self._stale.update(places)

    def switch_changed(self, switch: SwitchKey) -> None:
        self._switches.pop(switch, None)

    def of_switch(self, switch: SwitchKey, read: Callable[[SwitchKey], Hashable]) -> Hashable:
        if switch not in self._switches:
            self._switches[switch] = read(switch)
        return self._switches[switch]

    def settle(
        self, read: Callable[[Place], Hashable], known: Relation[Place, MachineSort]
    ) -> None:
        for place in self._stale:
            before = self._look_of.pop(place, None)
            if before is not None:
                _leave(self._places, before, place, place_order)
            if known.count(place):
                look = self._look_of[place] = read(place)
                insort(self._places.setdefault(look, []), place, key=place_order)
        self._stale.clear()

    def each(self) -> Iterator[Sequence[Place]]:
        yield from sorted(self._places.values(), key=lambda places: place_order(places[0]))


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def _leave(table: dict[K, list[V]], key: K, value: V, order: Callable[[V], Any]) -> bool:
    """Take a value out of an ordered row; return whether anything is left in it."""
    row = table[key]
    del row[bisect_left(row, order(value), key=order)]
    if not row:
        del table[key]
    return bool(row)
