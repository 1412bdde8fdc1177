"""What one host could take, and what is left of that while a request is tried.

Pure and mutable: what is taken and given back follows the branches of a search. Oversubscription
counts every device with the bandwidth of its link, in permille of the uplink that carries it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from redfish_fm.fabric.composition import Block
from redfish_fm.fabric.memory_policy import Parts, Room
from redfish_fm.fabric.paths import SwitchKey, Way, by_id
from redfish_fm.fabric.placement_market import Market
from redfish_fm.fabric.placement_values import MemoryWish, Wish
from redfish_fm.fabric.stock import Place, Sort
from redfish_fm.fabric.stocktaking import sort_of

Picks = tuple[tuple[Sort, int], ...]
"""So many of each sort."""


@dataclass(frozen=True, slots=True)
class Stand:
    """A host that is examined: `compute` is the block that brings it, None where it is there."""

    host: str
    place: Place
    compute: str | None = None
    core_count: int = 0
    memory_mib: int = 0


class Reach:
    """One host's possibilities."""

    def __init__(self, market: Market, stand: Stand) -> None:
        self.market = market
        self.stand = stand
        self.ways: dict[SwitchKey, Way] = {way.switch: way for way in stand.place.ways}
        self.vppbs = {switch: market.free_vppbs(stand.host, switch) for switch in self.ways}
        # What links between switches carry already; the host's own are its own.
        shelves = market.index.shelves
        self._load = {way.switch: shelves.load_mb_s(way.link) for way in stand.place.ways}
        self._taken: dict[Sort, int] = {}
        self._parts: dict[str, Parts] = {}
        self._own = self._whole_blocks(market.own_blocks())
        for sort in self._own:
            self._carry(sort, 1, counted=True)
        self._named = frozenset(market.request.blocks)

    def _whole_blocks(self, names: Iterable[str]) -> list[Sort]:
        index = self.market.index
        known = (index.blocks.get(name) for name in index.components(names))
        wholes = (each for each in known if each is not None and not each.sharing)
        return [sort_of(index, each) for each in wholes if not each.computes]

    # -- ways ----------------------------------------------------------------------------------

    def way(self, switches: Iterable[SwitchKey]) -> Way | None:
        """Return the host's way to a thing with ports on these switches: the first that it has."""
        return next((self.ways[each] for each in switches if each in self.ways), None)

    def latency_ns(self, sort: Sort) -> int:
        """Return how far a device that the host reaches is away."""
        way = self.way(sort.switches)
        return sort.latency_ns + (0 if way is None else way.latency_ns)

    def budget_ns(self, wish: Wish | MemoryWish) -> int | None:
        """Return how far the things of a wish may be away; None: as far as may be."""
        limits = (wish.latency_ns_max, self.market.request.latency_ns_max)
        return min((each for each in limits if each is not None), default=None)

    def has_kind_at(self, kind: str) -> frozenset[SwitchKey]:
        """Return the switches where the system has something of that kind already."""
        ways = (self.way(sort.switches) for sort in self._own if sort.kind == kind)
        return frozenset(way.switch for way in ways if way is not None)

    # -- candidates ----------------------------------------------------------------------------

    def sorts(self, wish: Wish, *, near: bool = True) -> dict[SwitchKey, list[Sort]]:
        """Return the sorts that would do at each switch, best fit first.

        `near`: within the latency budget only. Best fit: least capacity, then bandwidth, then what
        is innermost (a virtual function before the physical one, which would take all of its own),
        then the group of which least is left.
        """
        budget = self.budget_ns(wish) if near else None
        shelves = self.market.index.shelves
        found: dict[SwitchKey, list[Sort]] = {}
        for switch, way in self.ways.items():
            for sort in shelves.sorts(switch, wish.kind):
                self.market.index.work += 1
                if self.way(sort.switches) != way or not suits(sort, wish):
                    continue
                if wish.at not in (None, switch) or sort.domain in wish.apart:
                    continue
                if budget is None or self.latency_ns(sort) <= budget:
                    found.setdefault(switch, []).append(sort)
        for row in found.values():
            row.sort(key=lambda sort: (*_fit(sort, len(shelves.ids(sort))), sort.switches))
        return found

    def left(self, sort: Sort) -> int:
        """Return how many of a sort the request may still take."""
        return len(self.market.available(sort)) - self._taken.get(sort, 0)

    def free(self, sort: Sort) -> int:
        """Return how many of a sort are on the shelf, whatever state they are in."""
        return len(self.market.index.shelves.ids(sort)) - self._taken.get(sort, 0)

    def ids(self, picks: Picks) -> tuple[str, ...]:
        """Return the blocks that the picks would take next."""
        found: list[str] = []
        for sort, count in picks:
            first = self._taken.get(sort, 0)
            found += self.market.available(sort)[first : first + count]
        return tuple(sorted(found, key=by_id))

    def rooms(self, wish: MemoryWish, *, near: bool = True) -> list[Room]:
        """Return what is left of the appliances that the host reaches, by switch and id."""
        budget = self.budget_ns(wish) if near else None
        own = frozenset(self.market.own_blocks()) | self._named
        found: dict[str, Room] = {}
        for switch, way in self.ways.items():
            for each in self.market.appliances(switch, wish.kind):
                self.market.index.work += 1
                if self.way(each.switches) != way or each.domain in wish.apart:
                    continue
                if wish.at and each.block not in wish.at:
                    continue
                latency = way.latency_ns + each.latency_ns
                if budget is None or latency <= budget:
                    taken = self._parts.get(each.block, ())
                    found[each.block] = Room(each, switch, latency, each.block in own, taken)
        return [found[name] for name in sorted(found, key=by_id)]

    # -- taking --------------------------------------------------------------------------------

    def take_block(self, block: Block) -> bool:
        """Take a block that the client named; return whether the host can have it."""
        if block.sharing or block.computes:
            return block.computes or self.way(block.switches) is not None
        sort = sort_of(self.market.index, block)
        way = self.way(sort.switches)
        if way is None or not self.vppbs[way.switch]:
            return False
        self.vppbs[way.switch] -= 1
        self._carry(sort, 1)
        self._own.append(sort)
        return True

    def take(self, picks: Picks, weight: int = 1) -> None:
        """Take devices; a `weight` of -1 gives them back."""
        for sort, count in picks:
            way = self.way(sort.switches)
            self._taken[sort] = self._taken.get(sort, 0) + weight * count
            if way is not None:
                self.vppbs[way.switch] -= weight * count
            self._carry(sort, weight * count)

    def take_parts(self, parts: Parts) -> None:
        """Take parts of appliances."""
        for part in parts:
            self._parts[part.block] = (*self._parts.get(part.block, ()), part)
            self._shift_vppb(part.block, -1)

    def give_back_parts(self, parts: Parts) -> None:
        """Undo `take_parts`; the last taken first."""
        for part in reversed(parts):
            self._parts[part.block] = self._parts[part.block][:-1]
            self._shift_vppb(part.block, 1)

    def _shift_vppb(self, block: str, weight: int) -> None:
        way = self.way(self.market.index.blocks[block].switches)
        if way is not None:
            self.vppbs[way.switch] += weight

    def _carry(self, sort: Sort, count: int, *, counted: bool = False) -> None:
        """Load the uplinks; those that others share have it `counted` where it is in use now."""
        way = self.way(sort.switches)
        for link in () if way is None else way.uplinks:
            if not counted or self.ways[link].link is None:
                self._load[link] = self._load.get(link, 0) + count * sort.bandwidth_mb_s

    def oversubscription(self, more: dict[SwitchKey, int]) -> int:
        """Return the load of the busiest uplink that would carry `more` MB/s to switches.

        In permille of what it carries; one that carries no more than it can counts 1000.
        """
        load: dict[SwitchKey, int] = {}
        for switch, mb_s in more.items():
            for link in self.ways[switch].uplinks:
                load[link] = load.get(link, 0) + mb_s
        worst = 1000
        for link, mb_s in load.items():
            able = self.ways[link].bandwidth_mb_s
            if able:
                worst = max(worst, (self._load[link] + mb_s) * 1000 // able)
        return worst


def suits(sort: Sort, wish: Wish) -> bool:
    """Return whether devices of the sort are what the wish asks for, wherever they are."""
    return (
        sort.kind == wish.kind
        and wish.model in (None, sort.model)
        and wish.manufacturer in (None, sort.manufacturer)
        and sort.capacity_mib >= wish.capacity_mib_min
        and sort.bandwidth_mb_s >= wish.bandwidth_mb_s_min
        and sort.core_count >= wish.core_count_min
    )


def _fit(sort: Sort, left: int) -> tuple[int, int, int, int, int, str, str, str]:
    names = (sort.model, sort.manufacturer, sort.domain or "")
    sizes = (sort.capacity_mib, sort.bandwidth_mb_s, -sort.depth)
    return *sizes, left, sort.latency_ns, *names
