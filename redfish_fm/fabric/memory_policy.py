"""Which appliances the parts of a memory wish come out of: by policy, then as little as will do.

Pure. Rooms are what is left of each appliance that a host reaches. All policies are one question:
so many legs, each of so many parts in one appliance, no two legs in one failure domain. Sizes in
MiB. Redfish: MemoryChunks.v1_6_2, MemoryRegion.v1_0_3, Volume.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from redfish_fm.fabric.paths import SwitchKey, by_id
from redfish_fm.fabric.placement_values import MemoryPolicy, MemoryWish
from redfish_fm.fabric.stock import Appliance, Source


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an appliance: cut out of `source`, or the fixed `chunk`; `size_mib` is given."""

    block: str
    size_mib: int
    source: Source | None = None
    chunk: str | None = None
    copy: int = 0


Parts = tuple[Part, ...]
Score = tuple[tuple[int, int, int, int], ...]
"""One row for each leg, best first: MiB given beyond what was asked for, whether the appliance is
a new one to the system, its latency, what it has left afterwards. Less is better."""


@dataclass(frozen=True, slots=True)
class Room:
    """What is left of an appliance for one host; `switch` is where the host binds its parts.

    `known`: the client named it, or the system has something of it already.
    """

    appliance: Appliance
    switch: SwitchKey
    latency_ns: int
    known: bool
    taken: Parts = ()

    def parts(self, wish: MemoryWish, count: int, *, more: bool) -> Parts | None:
        """Return `count` parts for the wish, the smallest that will do; None: it has not so many.

        `more`: parts may be larger than asked for.
        """
        found = self._fitting(wish, count, more=more)
        return tuple(found[:count]) if len(found) >= count else None

    def most(self, wish: MemoryWish, limit: int, *, more: bool) -> int:
        """Return how many parts for the wish it has, but no more than `limit`."""
        return min(limit, len(self._fitting(wish, limit, more=more)))

    def _fitting(self, wish: MemoryWish, count: int, *, more: bool) -> list[Part]:
        """Return the parts that would do, smallest first: all fixed ones, `count` of each pool."""
        block, asked = self.appliance.block, wish.capacity_mib
        gone = {part.chunk for part in self.taken if part.chunk is not None}
        found = [
            Part(block, size, chunk=chunk)
            for size, chunk in self.appliance.fixed
            if chunk not in gone and fits(size, asked, more=more)
        ]
        cuts = [(part.source, part.size_mib) for part in self.taken if part.source is not None]
        cut_mib: dict[str, int] = {}
        for source, given in cuts:
            cut_mib[source.pool] = cut_mib.get(source.pool, 0) + given
        for source in self.appliance.sources:
            size = max(1, -(-asked // source.granularity_mib)) * source.granularity_mib
            if not fits(size, asked, more=more):
                continue
            numbers = source.free_parts - sum(each == source for each, _ in cuts)
            left_mib = source.free_mib - cut_mib.get(source.pool, 0)
            able = max(0, min(count, numbers, left_mib // size))
            # What one LD has of a pool, the next one has not any more.
            cut_mib[source.pool] = cut_mib.get(source.pool, 0) + able * size
            found += [Part(block, size, source)] * able
        found.sort(key=lambda part: part.size_mib)
        return found

    @property
    def parts_left(self) -> int:
        """How many parts it has left at the most, of whatever sizes."""
        numbers = sum(source.free_parts for source in self.appliance.sources)
        return max(0, numbers + len(self.appliance.fixed) - len(self.taken))

    @property
    def left_mib(self) -> int:
        """What is left of it after what was taken."""
        return self.appliance.free_mib - sum(part.size_mib for part in self.taken)


def fits(size_mib: int, asked_mib: int, *, more: bool) -> bool:
    """Return whether a part of that size will do: exactly what was asked for, or `more`."""
    return size_mib >= asked_mib if more else size_mib == asked_mib


def legs_of(wish: MemoryWish) -> tuple[int, int]:
    """Return how many legs the wish stands on, and how many parts each has."""
    match wish.policy:
        case MemoryPolicy.ONE_APPLIANCE:
            return 1, wish.count
        case MemoryPolicy.SPREAD:
            return wish.count, 1
        case MemoryPolicy.MIRRORED:
            return 2, wish.count


def memory_options(
    rooms: Sequence[Room], slots: Mapping[SwitchKey, int], wish: MemoryWish, *, more: bool
) -> Iterator[tuple[Score, Parts]]:
    """Yield the ways in which the wish can be met, best first.

    `slots` are the host's free vPPBs on each switch: every part takes one.
    """
    legs, count = legs_of(wish)
    rows = []
    for room in rooms:
        parts = room.parts(wish, count, more=more)
        if parts is not None and slots.get(room.switch, 0) >= count:
            rows.append((_score(room, parts, wish), by_id(room.appliance.block), room, parts))
    rows.sort(key=lambda row: row[:2])
    domains = {room.appliance.domain for _, _, room, _ in rows} - {None}
    if legs > 1 and len(domains) < legs:
        return
    choices = [(score, room, parts) for score, _, room, parts in rows]
    for chosen in _chosen(choices, legs, dict(slots), frozenset()):
        scores = tuple(score for score, _, _ in chosen)
        yield (
            scores,
            tuple(
                Part(part.block, part.size_mib, part.source, part.chunk, _copy(wish, number))
                for number, (_, _, parts) in enumerate(chosen)
                for part in parts
            ),
        )


_Choice = tuple[tuple[int, int, int, int], Room, Parts]


def _chosen(
    choices: Sequence[_Choice], legs: int, slots: dict[SwitchKey, int], domains: frozenset[str]
) -> Iterator[tuple[_Choice, ...]]:
    """Yield so many of the choices, in their order, each in a failure domain of its own."""
    if not legs:
        yield ()
        return
    for position, choice in enumerate(choices):
        _, room, parts = choice
        domain = room.appliance.domain
        if domain in domains or slots[room.switch] < len(parts):
            continue
        if domain is None and (legs > 1 or domains):
            # Nobody knows what it fails with.
            continue
        slots[room.switch] -= len(parts)
        taken = domains if domain is None else domains | {domain}
        for rest in _chosen(choices[position + 1 :], legs - 1, slots, taken):
            yield (choice, *rest)
        slots[room.switch] += len(parts)


def _score(room: Room, parts: Parts, wish: MemoryWish) -> tuple[int, int, int, int]:
    given = sum(part.size_mib for part in parts)
    beyond = given - wish.capacity_mib * len(parts)
    return beyond, int(not room.known), room.latency_ns, room.left_mib - given


def _copy(wish: MemoryWish, leg: int) -> int:
    return leg if wish.policy is MemoryPolicy.MIRRORED else 0
