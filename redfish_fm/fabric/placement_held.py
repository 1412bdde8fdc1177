"""What a system that is changed has already of what is wished for, and what is left to find.

Pure. Wishes about a system that is there say what it shall have, so that one who sends them twice
gets nothing twice. Each device, part or group of copies counts for one wish, for as many wishes as
can be. What is left of a wish keeps its conditions: behind the switch or in the appliance where the
system has the most of it, in failure domains where it has none.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from redfish_fm.fabric.composition import Block
from redfish_fm.fabric.memory_policy import fits
from redfish_fm.fabric.part_index import Part, origin_of
from redfish_fm.fabric.paths import SwitchKey, by_id
from redfish_fm.fabric.placement_reach import Reach, suits
from redfish_fm.fabric.placement_values import MemoryPolicy, MemoryWish, Wish
from redfish_fm.fabric.stock import Sort
from redfish_fm.fabric.stocktaking import sort_of
from redfish_fm.fabric.values import Volume


@dataclass(frozen=True, slots=True)
class Left:
    """The wishes that are not met yet, and the blocks that meet the others or a part of them."""

    devices: tuple[Wish, ...]
    memory: tuple[MemoryWish, ...]
    kept: tuple[str, ...] = ()


def left_of(reach: Reach) -> Left:
    """Return what is left of the wishes of the request, by what its system has."""
    request = reach.market.request
    things = [*_devices(reach)]
    devices, kept = _net(request.devices, things, _suits(reach), _narrowed)
    parts = [*_parts(reach)]
    memory, homes = _net(request.memory, parts, _holds(reach), _narrowed_parts)
    return Left(tuple(devices), tuple(memory), tuple(dict.fromkeys((*kept, *homes))))


# -- what the system has -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Thing:
    """A device, or a part of a pool with its copies. `spot` is where same-place wishes look."""

    id: str
    blocks: tuple[str, ...]
    spot: Hashable
    domains: frozenset[str | None]
    latency_ns: int
    sort: Sort | None = None
    kind: str = ""
    sizes_mib: tuple[int, ...] = ()
    copied: bool = False


def _devices(reach: Reach) -> Iterator[_Thing]:
    index = reach.market.index
    for name in sorted(reach.market.request.held or (), key=by_id):
        # Of a block made of others each device counts, and keeps all of it.
        for part in index.components((name,)):
            block = index.blocks.get(part)
            if block is None or block.sharing or block.computes:
                continue
            sort = sort_of(index, block)
            way = reach.way(sort.switches)
            spot = None if way is None else way.switch
            domains = frozenset({sort.domain})
            yield _Thing(part, (name,), spot, domains, reach.latency_ns(sort), sort)


def _parts(reach: Reach) -> Iterator[_Thing]:
    """Yield the parts that exist for the system alone, copies of each other as one."""
    system = reach.market.index.compositions.get(reach.market.request.system or "")
    if system is None:
        return
    groups = [group & system.holdings for group in system.mirrors]
    single = system.holdings.difference(*groups)
    for group in (*groups, *(frozenset({part}) for part in sorted(single, key=by_id))):
        thing = _part(reach, sorted(group, key=by_id), copied=len(group) > 1)
        if thing is not None:
            yield thing


def _part(reach: Reach, group: Sequence[str], *, copied: bool) -> _Thing | None:
    index, own = reach.market.index, reach.market.own_blocks()
    known = [(part, _home(reach, part)) for part in map(reach.market.part, group) if part]
    homes = [index.blocks[home] for _, home in known if home in own]
    if not known or len(homes) < len(known):
        return None
    names = tuple(sorted((block.id for block in homes), key=by_id))
    kind = "NVMe" if isinstance(known[0][0], Volume) else "Memory"
    far = max(_latency(reach, block) for block in homes)
    sizes = tuple(part.size_mib for part, _ in known)
    domains = frozenset(block.domain for block in homes)
    return _Thing(group[0], names, names, domains, far, None, kind, sizes, copied)


def _home(reach: Reach, part: Part) -> str:
    """Return the shared block that a part comes out of; empty: nobody knows."""
    index, origin = reach.market.index, origin_of(part) or ""
    domain = index.domains.get(origin)
    pools = (origin,) if domain is None or domain.pool is None else (origin, domain.pool)
    return min((name for pool in pools for name in index.blocks_of_pool(pool)), default="")


def _latency(reach: Reach, block: Block) -> int:
    way = reach.way(block.switches)
    return (block.latency_ns or 0) + (0 if way is None else way.latency_ns)


# -- which of it meets which wish --------------------------------------------------------------

W = TypeVar("W", Wish, MemoryWish)


def _suits(reach: Reach) -> Callable[[_Thing, Wish], bool]:
    def fit(thing: _Thing, wish: Wish) -> bool:
        budget = reach.budget_ns(wish)
        near = budget is None or thing.latency_ns <= budget
        return thing.sort is not None and near and suits(thing.sort, wish)

    return fit


def _holds(reach: Reach) -> Callable[[_Thing, MemoryWish], bool]:
    more = reach.market.request.allow_overprovisioning

    def fit(thing: _Thing, wish: MemoryWish) -> bool:
        budget = reach.budget_ns(wish)
        if thing.kind != wish.kind or (budget is not None and thing.latency_ns > budget):
            return False
        if thing.copied != (wish.policy is MemoryPolicy.MIRRORED):
            return False
        return all(fits(size, wish.capacity_mib, more=more) for size in thing.sizes_mib)

    return fit


def _net(
    wishes: Sequence[W],
    things: Sequence[_Thing],
    fit: Callable[[_Thing, W], bool],
    narrowed: Callable[[W, Sequence[_Thing]], W],
) -> tuple[list[W], list[str]]:
    """Return what is left of the wishes, and the blocks of what meets them."""
    if not things:
        return list(wishes), []
    able = [_together(wish, [each for each in things if fit(each, wish)]) for wish in wishes]
    rows = matched(things, able, [wish.count for wish in wishes])
    left = [
        narrowed(replace(wish, count=wish.count - len(row)), row)
        for wish, row in zip(wishes, rows, strict=True)
        if len(row) < wish.count
    ]
    return left, [block for row in rows for thing in row for block in thing.blocks]


def matched(
    things: Sequence[_Thing], able: Sequence[Sequence[_Thing]], counts: Sequence[int]
) -> list[list[_Thing]]:
    """Return for each wish the things that meet it: together as many as can be.

    `able` are the things that would do for each wish; it takes up to its count of them.
    """
    rows: list[list[_Thing]] = [[] for _ in counts]
    wanting = {thing.id: [n for n, row in enumerate(able) if thing in row] for thing in things}

    def seat(thing: _Thing, seen: set[int]) -> bool:
        for number in wanting[thing.id]:
            if number in seen:
                continue
            seen.add(number)
            row = rows[number]
            if len(row) < counts[number]:
                row.append(thing)
                return True
            for other in row:
                if seat(other, seen):
                    row[row.index(other)] = thing
                    return True
        return False

    for thing in things:
        seat(thing, set())
    return rows


def _together(wish: Wish | MemoryWish, things: Sequence[_Thing]) -> Sequence[_Thing]:
    """Return those of the things that meet the wish side by side, by its own conditions."""
    if _is_spread(wish):
        return [*_apart(things)]
    if not _in_one_place(wish) or not things:
        return things
    counts = Counter(thing.spot for thing in things)
    most = max(counts.values())
    spot = next(thing.spot for thing in things if counts[thing.spot] == most)
    return [thing for thing in things if thing.spot == spot]


def _apart(things: Iterable[_Thing]) -> Iterator[_Thing]:
    """Yield things of which no two are in one failure domain."""
    taken: set[str | None] = {None}
    for thing in things:
        if taken.isdisjoint(thing.domains):
            taken |= thing.domains
            yield thing


def _is_spread(wish: Wish | MemoryWish) -> bool:
    if isinstance(wish, Wish):
        return wish.spread and not wish.same_switch
    return wish.policy is MemoryPolicy.SPREAD


def _in_one_place(wish: Wish | MemoryWish) -> bool:
    return wish.same_switch if isinstance(wish, Wish) else wish.policy is not MemoryPolicy.SPREAD


# -- what is left ------------------------------------------------------------------------------


def _domains(row: Sequence[_Thing]) -> frozenset[str]:
    return frozenset(name for thing in row for name in thing.domains if name is not None)


def _narrowed(wish: Wish, row: Sequence[_Thing]) -> Wish:
    if not row:
        return wish
    spot = row[0].spot
    at: SwitchKey | None = spot if isinstance(spot, tuple) and wish.same_switch else None
    return replace(wish, at=at, apart=_domains(row) if wish.spread else frozenset())


def _narrowed_parts(wish: MemoryWish, row: Sequence[_Thing]) -> MemoryWish:
    if not row:
        return wish
    if _is_spread(wish):
        return replace(wish, apart=_domains(row))
    return replace(wish, at=frozenset(row[0].blocks))
