"""Why a host's reach does not meet the wishes: of every switch and appliance, asked and available.

Pure. Wishes are met one after the other as far as they can be; what is told of one that can not is
what is left for it then.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redfish_fm.fabric.memory_policy import Room, fits, legs_of
from redfish_fm.fabric.placement_devices import Counter, counters
from redfish_fm.fabric.placement_reach import Reach, suits
from redfish_fm.fabric.placement_search import AnyWish, options, take
from redfish_fm.fabric.placement_values import Group, MemoryWish, Reason, Rejection, Wish


@dataclass(frozen=True, slots=True)
class Refused:
    """Why one host will not do: a row for each wish that it can not meet, and for each group."""

    unmet: tuple[Rejection, ...]
    groups: tuple[Rejection, ...]


def reasons(reach: Reach, wishes: Sequence[AnyWish]) -> Refused:
    """Return why the wishes are not met; uses up `reach`."""
    unmet: list[Rejection] = []
    groups: list[Rejection] = []
    for wish in wishes:
        met = next(options(reach, wish), None)
        if met is not None:
            take(reach, met)
            continue
        found = [*_groups(reach, wish)]
        unmet.append(_whole(reach, wish, found))
        groups += found
    return Refused(tuple(unmet), tuple(groups))


def _groups(reach: Reach, wish: AnyWish) -> Iterator[Rejection]:
    if isinstance(wish, MemoryWish):
        near = {room.appliance.block for room in reach.rooms(wish)}
        for room in reach.rooms(wish, near=False):
            yield _of_room(reach, wish, room, near=room.appliance.block in near)
        return
    close = {each.switch: each for each in counters(reach, wish)}
    for each in counters(reach, wish, near=False):
        yield _of_switch(reach, wish, each, close.get(each.switch))


def _of_switch(reach: Reach, wish: Wish, all_of_it: Counter, near: Counter | None) -> Rejection:
    """Return why one switch alone will not do."""
    name = all_of_it.switch[1]
    if near is None:
        nearest = min(reach.latency_ns(sort) for sort, _ in all_of_it.rows)
        budget = reach.budget_ns(wish)
        return Rejection(Group.SWITCH, name, Reason.LATENCY, wish.name, budget, nearest)
    ready = sum(count for _, count in near.rows)
    domains = len({sort.domain for sort, _ in near.rows} - {None})
    reason, have = Reason.COUNT, ready
    if ready >= wish.count and wish.spread and domains < wish.count:
        reason, have = Reason.DOMAINS, domains
    elif ready >= wish.count:
        reason, have = Reason.NO_VPPB, reach.vppbs[near.switch]
    return Rejection(Group.SWITCH, name, reason, wish.name, wish.count, have)


def _of_room(reach: Reach, wish: MemoryWish, room: Room, *, near: bool) -> Rejection:
    """Return why one appliance alone will not do."""
    legs, count = legs_of(wish)
    name, more = room.appliance.block, reach.market.request.allow_overprovisioning
    if not near:
        budget = reach.budget_ns(wish)
        return Rejection(Group.APPLIANCE, name, Reason.LATENCY, wish.name, budget, room.latency_ns)
    asked = wish.capacity_mib * count
    if room.parts(wish, count, more=more) is not None:
        if reach.vppbs[room.switch] < count:
            have = reach.vppbs[room.switch]
            return Rejection(Group.APPLIANCE, name, Reason.NO_VPPB, wish.name, count, have)
        return Rejection(Group.APPLIANCE, name, Reason.DOMAINS, wish.name, legs, 1)
    if not more and room.parts(wish, count, more=True) is not None:
        size = _next_size(room, wish)
        return Rejection(
            Group.APPLIANCE, name, Reason.GRANULARITY, wish.name, wish.capacity_mib, size
        )
    if room.left_mib >= asked:
        have = room.most(wish, count, more=more)
        return Rejection(Group.APPLIANCE, name, Reason.PARTS, wish.name, count, have)
    return Rejection(Group.APPLIANCE, name, Reason.CAPACITY, wish.name, asked, room.left_mib)


def _next_size(room: Room, wish: MemoryWish) -> int | None:
    """Return the smallest part that the appliance could give for the wish."""
    sizes = [size for size, _ in room.appliance.fixed]
    for source in room.appliance.sources:
        step = source.granularity_mib
        sizes.append(-(-wish.capacity_mib // step) * step)
    return min((size for size in sizes if fits(size, wish.capacity_mib, more=True)), default=None)


def _whole(reach: Reach, wish: AnyWish, groups: Sequence[Rejection]) -> Rejection:
    """Return why all groups together will not do, and what could be had instead."""
    index = reach.market.index
    if isinstance(wish, Wish):
        if not index.blocks_like(wish.kind, wish.model):
            return _row(reach, wish, Reason.MODEL, wish.count, 0)
        if not groups:
            known = _anywhere(reach, wish)
            reason = Reason.NO_PATH if known else Reason.COUNT
            return _row(reach, wish, reason, wish.count, 0)
        return _devices_as_a_whole(reach, wish, groups)
    if not index.blocks_like(wish.kind, None):
        return _row(reach, wish, Reason.MODEL, wish.count, 0)
    if not groups:
        return _row(reach, wish, Reason.NO_PATH, wish.capacity_mib * wish.count, 0)
    return _parts_as_a_whole(reach, wish, groups)


def _devices_as_a_whole(reach: Reach, wish: Wish, groups: Sequence[Rejection]) -> Rejection:
    near = counters(reach, wish)
    if not near:
        return _best(reach, wish, groups, Reason.LATENCY, lowest=True)
    ready = [sum(count for _, count in each.rows) for each in near]
    bindable = [min(have, reach.vppbs[each.switch]) for have, each in zip(ready, near, strict=True)]
    domains = {sort.domain for each in near for sort, _ in each.rows} - {None}
    if wish.same_switch:
        reason = Reason.COUNT if max(ready) < wish.count else Reason.NO_VPPB
        have = max(each.most for each in near)
        if wish.spread and max(bindable) >= wish.count:
            reason = Reason.DOMAINS
        return _row(reach, wish, reason, wish.count, have)
    if sum(ready) < wish.count:
        return _row(reach, wish, Reason.COUNT, wish.count, sum(ready))
    if sum(bindable) < wish.count:
        return _row(reach, wish, Reason.NO_VPPB, wish.count, sum(bindable))
    return _row(reach, wish, Reason.DOMAINS, wish.count, len(domains))


def _parts_as_a_whole(reach: Reach, wish: MemoryWish, groups: Sequence[Rejection]) -> Rejection:
    legs, count = legs_of(wish)
    told = {each.reason for each in groups}
    if told == {Reason.LATENCY}:
        return _best(reach, wish, groups, Reason.LATENCY, lowest=True)
    if legs > 1 and Reason.DOMAINS in told:
        able = [each for each in groups if each.reason is Reason.DOMAINS]
        blocks = reach.market.index.blocks
        domains = {blocks[each.candidate].domain for each in able} - {None}
        if len(domains) >= legs:
            slots = sum(
                {room.switch: reach.vppbs[room.switch] for room in reach.rooms(wish)}.values()
            )
            return _row(reach, wish, Reason.NO_VPPB, legs * count, slots)
        return _row(reach, wish, Reason.DOMAINS, legs, len(domains))
    for reason in (Reason.NO_VPPB, Reason.GRANULARITY, Reason.PARTS):
        if reason in told:
            return _best(reach, wish, groups, reason, lowest=reason is Reason.GRANULARITY)
    return _best(reach, wish, groups, Reason.CAPACITY, lowest=False)


def _best(
    reach: Reach, wish: AnyWish, groups: Sequence[Rejection], reason: Reason, *, lowest: bool
) -> Rejection:
    """Return the row of the group that came nearest, for the whole wish."""
    rows = [each for each in groups if each.reason is reason]
    have = [each.available for each in rows if each.available is not None]
    best = (min if lowest else max)(have, default=None)
    return _row(reach, wish, reason, rows[0].requested, best)


def _row(
    reach: Reach,
    wish: AnyWish,
    reason: Reason,
    requested: int | None = None,
    available: int | None = None,
) -> Rejection:
    return Rejection(Group.HOST, reach.stand.host, reason, wish.name, requested, available)


def _anywhere(reach: Reach, wish: Wish) -> bool:
    """Return whether something that would do is free where the host does not reach it."""
    return any(suits(sort, wish) for sort in reach.market.index.shelves.sorts_of(wish.kind))
