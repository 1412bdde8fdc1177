"""Chooses the host, devices and memory of a system that a client describes by wishes.

Pure and deterministic: the same index gives the same answer, so a preview tells what will be. Hosts
are examined by where they stand (fabric.stock): one place for each look, and of the hosts there the
one that fits best. The declared order between hosts: the wishes' scores in the client's order
(placement_devices, memory_policy), then the host with the fewest cores and the least memory that
will do, then the ids of the switches it reaches, then its own. docs/placement.md says it in words.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

from redfish_fm.fabric.cases import TargetStatus
from redfish_fm.fabric.composition import Block
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import BindTarget
from redfish_fm.fabric.model import Place as BindPlace
from redfish_fm.fabric.paths import by_id
from redfish_fm.fabric.placement_held import Left, left_of
from redfish_fm.fabric.placement_market import Market
from redfish_fm.fabric.placement_reach import Reach, Stand
from redfish_fm.fabric.placement_reasons import Refused, reasons
from redfish_fm.fabric.placement_search import AnyWish, Met, meet
from redfish_fm.fabric.placement_values import (
    ComputeWish,
    Cut,
    Found,
    Group,
    Placement,
    Reason,
    Rejection,
    Rejections,
    Request,
    Wish,
)
from redfish_fm.fabric.stock import MachineSort, place_order
from redfish_fm.fabric.stock import Place as Standing
from redfish_fm.fabric.stocktaking import place_of, settle


def place(
    index: FabricIndex,
    request: Request,
    *,
    now_s: float,
    status: TargetStatus,
    occupied: Container[BindPlace] = (),
    elsewhere: Container[BindTarget] = (),
) -> Placement | Rejections:
    """Return where the wishes are met best, or why no candidate meets them.

    `now_s` is wall time (reservations run out); `status` tells the last observed state of an
    endpoint; `occupied` are vPPBs that must not be taken although nothing is wanted there;
    `elsewhere` is what another manager has bound. Changes nothing in `index` but what it keeps for
    itself.
    """
    settle(index)
    market = Market(index, request, now_s, status, occupied, elsewhere)
    refused = _named(market)
    if refused:
        return Rejections(tuple(refused))
    left = Left(request.devices, request.memory)
    if request.held is not None:
        left = left_of(Reach(market, _stand_of_system(market)))
    wishes: tuple[AnyWish, ...] = (*left.devices, *left.memory)
    found = _Found()
    for stands in _stands(market, found):
        _examine(market, stands, wishes, found)
    if found.best is None:
        return found.rejections()
    return replace(_answer(market, found.best), kept=left.kept)


# -- examining hosts ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Candidate:
    stand: Stand
    met: tuple[Met, ...]
    latency_ns: int

    @property
    def order(self) -> tuple[object, ...]:
        return (
            tuple(met.score for met in self.met),
            (self.stand.core_count, self.stand.memory_mib),
            place_order(self.stand.place),
            by_id(self.stand.compute or self.stand.host),
        )


class _Found:
    """The best candidate so far, and why the others will not do."""

    def __init__(self) -> None:
        self.best: _Candidate | None = None
        self.hosts: list[Rejection] = []
        self._refused: list[tuple[Refused, int]] = []

    @property
    def examined(self) -> bool:
        """Whether any host was looked at more closely."""
        return self.best is not None or bool(self._refused)

    def add(self, candidate: _Candidate) -> None:
        if self.best is None or candidate.order < self.best.order:
            self.best = candidate

    def refuse(self, refused: Refused, alike: int) -> None:
        self._refused.append((refused, alike))

    def rejections(self) -> Rejections:
        """Return what the host that came nearest could not meet, with the best there is."""
        rows = list(self.hosts)
        for refused, alike in self._refused:
            rows += (replace(row, alike=alike) for row in (*refused.unmet, *refused.groups))
        if not self._refused:
            return Rejections(tuple(self.hosts[:1]), tuple(rows))
        nearest = min(self._refused, key=lambda each: len(each[0].unmet))[0]
        return Rejections(tuple(map(self._whole, nearest.unmet)), tuple(rows))

    def _whole(self, row: Rejection) -> Rejection:
        """Return the row with the most (of latencies and sizes: the least) that any host has."""
        same = [
            each.available
            for refused, _ in self._refused
            for each in refused.unmet
            if (each.wish, each.reason) == (row.wish, row.reason) and each.available is not None
        ]
        better = min if row.reason in (Reason.LATENCY, Reason.GRANULARITY) else max
        return replace(
            row, group=Group.REQUEST, candidate="", available=better(same, default=row.available)
        )


@dataclass(frozen=True, slots=True)
class _Alike:
    """Hosts that are examined together: the first that gives a clean answer speaks for all."""

    stands: Iterator[Stand]
    count: int


def _examine(market: Market, alike: _Alike, wishes: Sequence[AnyWish], found: _Found) -> None:
    """Examine hosts that differ in nothing that shelves know, until one differs in nothing else.

    What shelves do not know (reservations, health, vPPBs in use) may refuse a host, or a device
    that only it reaches; then the next is asked.
    """
    for number, stand in enumerate(alike.stands):
        market.index.work += 1
        before = market.refused
        reach = Reach(market, stand)
        wholes = (min(vppbs, market.binds_max) for vppbs in stand.place.vppbs)
        whole = tuple(reach.vppbs.values()) == tuple(wholes)
        strange = [block for block in _named_things(market) if not reach.take_block(block)]
        met = None if strange else meet(reach, wishes)
        if met is not None:
            found.add(_Candidate(stand, met, _latency(reach, met)))
        clean = whole and market.refused == before and not strange
        if strange:
            rows = (Rejection(Group.BLOCK, block.id, Reason.NO_PATH) for block in strange)
            found.refuse(Refused(tuple(rows), ()), 0)
        elif met is None:
            others = max(0, alike.count - number - 1) if clean else 0
            found.refuse(reasons(reach, wishes), others)
        if clean:
            return


def _latency(reach: Reach, met: Sequence[Met]) -> int:
    rooms = {
        part.block: way.latency_ns + (reach.market.index.blocks[part.block].latency_ns or 0)
        for each in met
        for part in each.parts
        if (way := reach.way(reach.market.index.blocks[part.block].switches)) is not None
    }
    devices = [reach.latency_ns(sort) for each in met for sort, _ in each.picks]
    return max((*devices, *rooms.values()), default=0)


# -- which hosts -------------------------------------------------------------------------------


def _stands(market: Market, found: _Found) -> Iterator[_Alike]:
    """Yield the hosts to examine; those that will not do at once are refused in `found`."""
    request, index = market.request, market.index
    if request.system is not None:
        stand = _stand_of_system(market)
        brings = min(index.blocks_of_host(stand.host), key=by_id, default=None)
        lack = _lack(request.compute, _machine(index, brings))
        if lack is not None:
            found.hosts.append(replace(lack, candidate=stand.host))
            return
        yield _Alike(iter([stand]), 1)
        return
    named = [block for block in _named_blocks(market) if block.computes]
    if request.compute.host is not None and not named:
        blocks = sorted(index.blocks_of_host(request.compute.host), key=by_id)
        named = [index.blocks[block] for block in blocks][:1]
        if not named:
            found.hosts.append(_host_row(request.compute, request.compute.host, Reason.NO_HOST))
            return
    if named:
        yield from _one_host(market, named[0], found)
        return
    yield from _any_host(market, found)


def _stand_of_system(market: Market) -> Stand:
    """Return where the system stands that is changed or expanded."""
    index, name = market.index, market.request.system or ""
    system = index.compositions.get(name)
    host = name if system is None or system.host is None else system.host
    return Stand(host, place_of(index, host))


def _machine(index: FabricIndex, brings: str | None) -> MachineSort:
    """Return what the host is that a block brings; of one without a block nothing is known."""
    if brings is None:
        return MachineSort("", 0, 0)
    block = index.blocks[brings]
    return MachineSort(block.model, block.core_count, block.capacity_mib)


def _one_host(market: Market, block: Block, found: _Found) -> Iterator[_Alike]:
    wish, host = market.request.compute, block.host or ""
    if not market.takable(block):
        found.hosts.append(_host_row(wish, host, Reason.HOST_TAKEN))
        return
    sort = _machine(market.index, block.id)
    lack = _lack(wish, sort)
    if lack is not None:
        found.hosts.append(replace(lack, candidate=host))
        return
    stand = Stand(
        host, place_of(market.index, host), block.id, block.core_count, block.capacity_mib
    )
    yield _Alike(iter([stand]), 1)


def _any_host(market: Market, found: _Found) -> Iterator[_Alike]:
    wish, shelves = market.request.compute, market.index.shelves
    lacking: dict[Reason, Rejection] = {}
    looks = list(shelves.looks())
    for alike in looks:
        market.index.work += 1
        places = _near_named(market, alike)
        if not places:
            continue
        sorts = sorted(shelves.machine_sorts(places[0]), key=_size)
        fitting = [sort for sort in sorts if _lack(wish, sort) is None]
        for lack in (_lack(wish, sort) for sort in sorts):
            if lack is not None:
                best = lacking.setdefault(lack.reason, lack)
                if (lack.available or 0) > (best.available or 0):
                    lacking[lack.reason] = lack
        for sort in fitting:
            yield _Alike(_machines(market, places, sort, found), len(places))
    found.hosts += lacking.values()
    kept = shelves.kept()
    if not found.hosts and not found.examined:
        unreached = bool(looks) and bool(_named_blocks(market))
        taken = Reason.HOST_IN_USE if kept else Reason.HOST_TAKEN
        found.hosts.append(_host_row(wish, "", Reason.NO_PATH if unreached else taken, 1, 0))
    if kept:
        row = _host_row(wish, market.index.blocks[kept[0]].host or "", Reason.HOST_IN_USE)
        found.hosts.append(replace(row, alike=len(kept) - 1))


def _near_named(market: Market, places: Sequence[Standing]) -> Sequence[Standing]:
    """Return the places from which all that the client named can be reached."""
    named = [frozenset(block.switches) for block in _named_things(market)]
    if not named:
        return places
    reached = [(place, {way.switch for way in place.ways}) for place in places]
    return [place for place, switches in reached if all(switches & each for each in named)]


def _size(sort: MachineSort) -> tuple[int, int, str]:
    return sort.core_count, sort.memory_mib, sort.model


def _machines(
    market: Market, places: Sequence[Standing], sort: MachineSort, found: _Found
) -> Iterator[Stand]:
    """Yield the free hosts of a sort at places that look alike, by place and id."""
    for each in places:
        for name in market.index.shelves.machines(each, sort):
            block = market.index.blocks[name]
            if market.request.among is not None and name not in market.request.among:
                continue
            if market.takable(block):
                yield Stand(block.host or "", each, name, sort.core_count, sort.memory_mib)
            else:
                row = _host_row(market.request.compute, block.host or "", Reason.HOST_TAKEN)
                found.hosts.append(row)


def _lack(wish: ComputeWish, sort: MachineSort) -> Rejection | None:
    """Return what a sort of hosts has too little of."""
    if wish.model not in (None, sort.model):
        return _host_row(wish, "", Reason.MODEL)
    if sort.core_count < wish.core_count_min:
        return _host_row(wish, "", Reason.CORES, wish.core_count_min, sort.core_count)
    if sort.memory_mib < wish.memory_mib_min:
        return _host_row(wish, "", Reason.HOST_MEMORY, wish.memory_mib_min, sort.memory_mib)
    return None


def _host_row(
    wish: ComputeWish,
    host: str,
    reason: Reason,
    requested: int | None = None,
    available: int | None = None,
) -> Rejection:
    return Rejection(Group.HOST, host, reason, wish.name, requested, available)


# -- what the client named ---------------------------------------------------------------------


def _named_blocks(market: Market) -> list[Block]:
    """Return the blocks that the client named and the system has not already."""
    own = frozenset(market.own_blocks())
    names = dict.fromkeys(market.request.blocks)
    return [market.index.blocks[name] for name in names if name not in own]


def _named_things(market: Market) -> list[Block]:
    """Return what stands somewhere and takes vPPBs: of a block made of others, its components."""
    known = market.index.blocks
    names = market.index.components(block.id for block in _named_blocks(market))
    return [known[name] for name in names if name in known]


def _named(market: Market) -> list[Rejection]:
    """Return why named blocks can not be taken, whatever host it will be."""
    request = market.request
    # A system that is there has its host, and no system has two.
    host = request.system or request.compute.host
    found = []
    for name in dict.fromkeys(request.blocks):
        block = market.index.blocks.get(name)
        second = block is not None and block.computes and host not in (None, block.host)
        if block is None or second or not market.takable(block):
            found.append(Rejection(Group.BLOCK, name, Reason.BLOCK))
        elif block.computes:
            host = block.host
    return found


# -- the answer --------------------------------------------------------------------------------


def _answer(market: Market, best: _Candidate) -> Placement:
    cuts: list[Cut] = []
    chunks: list[Found] = []
    for met in best.met:
        for part in met.parts:
            if part.source is not None:
                source = part.source
                cuts.append(
                    Cut(
                        part.block,
                        source.pool,
                        part.size_mib,
                        source.ld,
                        met.wish.name,
                        part.copy,
                    )
                )
            elif part.chunk is not None:
                chunks.append(
                    Found(part.block, part.chunk, part.size_mib, met.wish.name, part.copy)
                )
    wholes = [met for met in best.met if isinstance(met.wish, Wish)]
    devices = tuple(met.blocks for met in wholes)
    named = [block.id for block in _named_blocks(market) if not block.computes]
    chosen = [block for blocks in devices for block in blocks]
    homes = [part.block for met in best.met for part in met.parts]
    own = market.own_blocks()
    blocks = dict.fromkeys((*named, *chosen, *homes))
    return Placement(
        best.stand.host,
        best.stand.compute,
        tuple(block for block in blocks if block not in own),
        devices,
        tuple(cuts),
        tuple(chunks),
        best.latency_ns,
        tuple(met.wish.name for met in wholes),
    )
