"""Meets all wishes of a request out of one host's reach, each as well as those before it allow.

Pure. Wishes are met in the client's order, devices before memory; a wish takes its next best way
only where a later one could not be met otherwise. What can not be met together is seen early by a
flow of the rest (fabric.flow), so that a refusal does not try every way.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from redfish_fm.fabric.flow import Supplier, can_supply
from redfish_fm.fabric.memory_policy import Parts, Room, legs_of, memory_options
from redfish_fm.fabric.paths import SwitchKey
from redfish_fm.fabric.placement_devices import device_options
from redfish_fm.fabric.placement_reach import Picks, Reach
from redfish_fm.fabric.placement_values import MemoryWish, Wish

TRIES_MAX = 2000
"""Ways that are tried for one host. Only wishes that want the same devices under conditions of
their own (one switch, failure domains) need more than one try each."""

AnyWish = Wish | MemoryWish
Score = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class Met:
    """How a wish is met: the devices, or the parts, and their score (less is better)."""

    wish: AnyWish
    score: Score
    blocks: tuple[str, ...] = ()
    picks: Picks = ()
    parts: Parts = ()


class _Tries:
    def __init__(self) -> None:
        self.left = TRIES_MAX

    def spent(self) -> bool:
        self.left -= 1
        return self.left < 0


def meet(reach: Reach, wishes: Sequence[AnyWish]) -> tuple[Met, ...] | None:
    """Return how all wishes are met together, best first; None: they are not. `reach` stays."""
    if not _possible(reach, wishes):
        return None
    return _meet(reach, wishes, _Tries())


def _meet(reach: Reach, wishes: Sequence[AnyWish], tries: _Tries) -> tuple[Met, ...] | None:
    if not wishes:
        return ()
    rest = wishes[1:]
    for met in options(reach, wishes[0]):
        if tries.spent():
            return None
        take(reach, met)
        others = _meet(reach, rest, tries) if _possible(reach, rest) else None
        give_back(reach, met)
        if others is not None:
            return (met, *others)
    return None


def options(reach: Reach, wish: AnyWish) -> Iterator[Met]:
    """Yield the ways in which one wish can be met, best first."""
    if isinstance(wish, Wish):
        for device_score, picks in device_options(reach, wish):
            yield Met(wish, device_score, reach.ids(picks), picks)
        return
    more = reach.market.request.allow_overprovisioning
    for memory_score, parts in memory_options(reach.rooms(wish), reach.vppbs, wish, more=more):
        yield Met(wish, memory_score, parts=parts)


def take(reach: Reach, met: Met) -> None:
    """Take what meets a wish."""
    reach.take(met.picks)
    reach.take_parts(met.parts)


def give_back(reach: Reach, met: Met) -> None:
    """Undo `take`."""
    reach.take(met.picks, -1)
    reach.give_back_parts(met.parts)


def _possible(reach: Reach, wishes: Sequence[AnyWish]) -> bool:
    """Return whether the wishes could be met together, but for their own conditions."""
    if not can_supply([_demand(reach, wish) for wish in wishes], reach.vppbs):
        return False
    sizes = [_demand_mib(reach, wish) for wish in wishes if isinstance(wish, MemoryWish)]
    return not sizes or can_supply(sizes, {_ANY: sum(amount for amount, _ in sizes)})


_ANY = ""
"""The gate of what is limited by capacity alone."""


def _demand_mib(reach: Reach, wish: MemoryWish) -> tuple[int, list[tuple[Supplier[str], int]]]:
    """Return what a wish takes of capacity: of the same appliances, but not by number."""
    legs, count = legs_of(wish)
    offers = []
    for room in reach.rooms(wish):
        left = Supplier(room.appliance.block, _ANY, room.left_mib)
        offers.append((left, _from_room(reach, room, wish)[1] * wish.capacity_mib))
    return legs * count * wish.capacity_mib, offers


def _demand(reach: Reach, wish: AnyWish) -> tuple[int, list[tuple[Supplier[SwitchKey], int]]]:
    if isinstance(wish, MemoryWish):
        legs, count = legs_of(wish)
        return legs * count, [_from_room(reach, room, wish) for room in reach.rooms(wish)]
    offers = []
    for switch, sorts in reach.sorts(wish).items():
        for sort in sorts:
            left = reach.left(sort)
            most = min(left, 1) if wish.spread else left
            offers.append((Supplier(sort, switch, left), most))
    return wish.count, offers


def _from_room(reach: Reach, room: Room, wish: MemoryWish) -> tuple[Supplier[SwitchKey], int]:
    legs, count = legs_of(wish)
    more = reach.market.request.allow_overprovisioning
    most = room.most(wish, count if legs > 1 else wish.count, more=more)
    # Whatever their sizes, all wishes together get no more parts of it than it has left.
    limit = min(reach.vppbs[room.switch], room.parts_left)
    return Supplier(room.appliance.block, room.switch, limit), most
