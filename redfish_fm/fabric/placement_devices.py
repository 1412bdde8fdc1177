"""In which ways a wish for devices can be met by one host's reach, best first.

Pure. The declared order, of which each line decides only where those before it are equal:
  1. devices behind one switch, then behind chained switches, then behind several roots;
  2. fewest switches;
  3. where the system has devices of that kind already;
  4. least oversubscription of the busiest uplink;
  5. least latency of the farthest device that would do there;
  6. the switch that is left fullest (fewest free devices left that would have done);
  7. the ids of the switches; the sorts that fit best; the ids of the blocks.
Of several switches the one with the fewest candidates is emptied first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

from redfish_fm.fabric.paths import SwitchKey
from redfish_fm.fabric.placement_reach import Picks, Reach
from redfish_fm.fabric.placement_values import Wish
from redfish_fm.fabric.stock import Sort

ONE_SWITCH, CHAINED, SEVERAL_ROOTS = range(3)

SETS_MAX = 5000
"""Sets of switches of one size that are looked at for one wish. Where there are more, which takes
fifteen switches, it is the one set of those that have most."""

DeviceScore = tuple[int, int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Counter:
    """What one switch has for a wish: so many of each sort, at most `most` together.

    `most` is never more than the wish asks for; `free` counts all that would do, now or later.
    """

    switch: SwitchKey
    position: int
    rows: tuple[tuple[Sort, int], ...]
    most: int
    free: int
    latency_ns: int
    bandwidth_mb_s: int


def counters(reach: Reach, wish: Wish, *, near: bool = True) -> list[Counter]:
    """Return what each switch has for the wish, in the order of ids."""
    found = []
    for position, (switch, sorts) in enumerate(reach.sorts(wish, near=near).items()):
        rows = tuple((sort, reach.left(sort)) for sort in sorts if reach.left(sort) > 0)
        if not rows:
            continue
        ready = sum(count for _, count in rows)
        if wish.spread:
            ready = len({sort.domain for sort, _ in rows} - {None})
        found.append(
            Counter(
                switch,
                position,
                rows,
                min(ready, reach.vppbs[switch], wish.count),
                sum(reach.free(sort) for sort in sorts),
                max(reach.latency_ns(sort) for sort, _ in rows),
                max(sort.bandwidth_mb_s for sort, _ in rows),
            )
        )
    return found


def device_options(reach: Reach, wish: Wish) -> Iterator[tuple[DeviceScore, Picks]]:
    """Yield the ways in which the wish can be met, best first."""
    usable = [each for each in counters(reach, wish) if each.most > 0]
    have = reach.has_kind_at(wish.kind)
    for tier, size, sets in _levels(reach, wish, usable):
        rows = []
        for chosen in sets:
            reach.market.index.work += 1
            if sum(each.most for each in chosen) >= wish.count:
                score = (tier, size, *_set_score(reach, wish, chosen, have))
                rows.append((score, tuple(each.position for each in chosen), chosen))
        rows.sort(key=lambda row: row[:2])
        for score, _, chosen in rows:
            for picks in _fills(_emptiest_first(chosen), wish, wish.count, frozenset()):
                yield score, picks


def _levels(
    reach: Reach, wish: Wish, usable: Sequence[Counter]
) -> Iterator[tuple[int, int, Iterator[tuple[Counter, ...]]]]:
    """Yield (tier, size, sets of switches of that tier and size), best first."""
    yield ONE_SWITCH, 1, combinations(usable, 1)
    if wish.same_switch:
        return
    roots: dict[SwitchKey, list[Counter]] = {}
    for each in usable:
        roots.setdefault(reach.ways[each.switch].root, []).append(each)
    sizes = _sizes(usable, wish.count)
    for size in sizes:
        yield CHAINED, size, (sets for row in roots.values() for sets in _sets(row, size))
    for size in sizes:
        yield (
            SEVERAL_ROOTS,
            size,
            (
                sets
                for sets in _sets(usable, size)
                if len({reach.ways[each.switch].root for each in sets}) > 1
            ),
        )


def _sizes(usable: Sequence[Counter], count: int) -> list[int]:
    """Return of how many switches, more than one, the devices could come."""
    fullest = sorted((each.most for each in usable), reverse=True)
    most = min(count, len(usable))
    return [size for size in range(2, most + 1) if sum(fullest[:size]) >= count]


def _sets(usable: Sequence[Counter], size: int) -> Iterator[tuple[Counter, ...]]:
    if comb(len(usable), size) <= SETS_MAX:
        yield from combinations(usable, size)
        return
    fullest = sorted(usable, key=lambda each: (-each.most, each.position))[:size]
    yield tuple(sorted(fullest, key=lambda each: each.position))


def _set_score(
    reach: Reach, wish: Wish, chosen: Sequence[Counter], have: frozenset[SwitchKey]
) -> tuple[int, int, int, int]:
    away = sum(each.switch not in have for each in chosen) if have else 0
    more = {
        each.switch: count * each.bandwidth_mb_s
        for each, count in zip(_emptiest_first(chosen), dealt(chosen, wish.count), strict=True)
    }
    latency = max(each.latency_ns for each in chosen)
    left = sum(each.free for each in chosen) - wish.count
    return away, reach.oversubscription(more), latency, left


def _emptiest_first(chosen: Sequence[Counter]) -> list[Counter]:
    return sorted(chosen, key=lambda each: (each.most, each.position))


def dealt(chosen: Sequence[Counter], count: int) -> list[int]:
    """Return how many come from each of the switches, emptiest first: as many as it has.

    At least one from each.
    """
    found = []
    ordered = _emptiest_first(chosen)
    for behind, each in zip(range(len(ordered) - 1, -1, -1), ordered, strict=True):
        taken = min(each.most, count - behind)
        found.append(taken)
        count -= taken
    return found


def _fills(
    chosen: Sequence[Counter], wish: Wish, count: int, domains: frozenset[str]
) -> Iterator[Picks]:
    """Yield picks of `count` devices, some from each of the switches, most from the first."""
    if not chosen:
        if not count:
            yield ()
        return
    first, rest = chosen[0], chosen[1:]
    least = max(1, count - sum(each.most for each in rest))
    for here in range(min(first.most, count - len(rest)), least - 1, -1):
        for picks, taken in _picked(first.rows, here, domains, spread=wish.spread):
            for others in _fills(rest, wish, count - here, taken):
                yield picks + others


def _picked(
    rows: Sequence[tuple[Sort, int]], count: int, domains: frozenset[str], *, spread: bool
) -> Iterator[tuple[Picks, frozenset[str]]]:
    """Yield picks of `count` devices of one switch, most of the sort that fits best."""
    if not count:
        yield (), domains
        return
    if not rows or (not spread and sum(left for _, left in rows) < count):
        return
    (sort, left), rest = rows[0], rows[1:]
    taken = domains
    if spread:
        free = sort.domain is not None and sort.domain not in domains
        left = min(left, int(free))
        if free and sort.domain is not None:
            taken = domains | {sort.domain}
    for here in range(min(left, count), -1, -1):
        mine: Picks = ((sort, here),) if here else ()
        after = taken if here else domains
        for picks, all_taken in _picked(rest, count - here, after, spread=spread):
            yield mine + picks, all_taken
