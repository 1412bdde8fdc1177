"""Placement by definition: every host, every set of devices, every choice of appliances.

Slow, for small pods only. It reads what the pod was made of, not the shelves, and tries everything
in the declared order (docs/placement.md), so the first answer that is complete is the best.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from redfish_fm.fabric.composition import Block
from redfish_fm.fabric.model import VppbId
from redfish_fm.fabric.placement_values import MemoryPolicy, MemoryWish, Request, Wish
from tests.fabric.pods import Pod

Chosen = tuple[str, ...]


def by_id(text: str) -> tuple[int, str]:
    return len(text), text


@dataclass
class Naive:
    """One host's view of a pod, and what is left of it."""

    pod: Pod
    request: Request
    host: str
    now_s: float
    vppbs: dict[str, int] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    load: dict[str, int] = field(default_factory=dict)
    cut: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        index = self.pod.index
        self.facts = {v.switch: v for v in index.vcss.values() if v.host == self.host}
        for name, vcs in self.facts.items():
            places = (VppbId(name, vcs.vcs, number) for number in range(vcs.vppb_count))
            self.vppbs[name] = sum(place not in index.bindings for place in places)
            self.load[name] = 0 if vcs.through is None else self._in_use({name, vcs.through})

    def _in_use(self, ends: set[str]) -> int:
        """Return what crosses the link between two switches, whoever uses it."""
        index = self.pod.index
        blocks = [block for block in index.blocks.values() if block.units and not block.sharing]
        return sum(
            block.bandwidth_mb_s or 0
            for block in blocks
            if any(ends in self._crossed(host, block.switches[0][1]) for host in self._users(block))
        )

    def _users(self, block: Block) -> set[str]:
        index = self.pod.index
        ends = {f"T-{unit}" for unit in block.units}
        systems = {each.host for each in index.compositions.values() if block.id in each.blocks}
        zones = [zone.endpoints for zone in index.zones.values() if ends & {*zone.endpoints}]
        named = {index.endpoints[end].host for members in zones for end in members}
        return {host for host in systems | named if host is not None}

    def _crossed(self, host: str, switch: str) -> list[set[str]]:
        ways = {v.switch: v.through for v in self.pod.index.vcss.values() if v.host == host}
        found = []
        while (through := ways.get(switch)) is not None:
            found.append({switch, through})
            switch = through
        return found

    # -- facts -----------------------------------------------------------------------------------

    def held(self, block: Block) -> bool:
        index = self.pod.index
        composed = any(block.id in each.blocks for each in index.compositions.values())
        ends = {f"T-{unit}" for unit in block.units}
        return composed or any(ends & {*zone.endpoints} for zone in index.zones.values())

    def free(self, block: Block) -> bool:
        return self.untouched(block) and not self.held(block)

    def untouched(self, block: Block) -> bool:
        """Not reserved, there, and in the zone of blocks."""
        reserved = any(
            block.id in each.blocks and each.expires_s > self.now_s and each.id != own
            for own in (self.request.reservation,)
            for each in self.pod.index.reservations.values()
        )
        lost = any(self.pod.status(f"T-{unit}")[0] == "Absent" for unit in block.units)
        outside = self.request.among is not None and block.id not in self.request.among
        return not (reserved or lost or outside)

    def chain(self, switch: str) -> list[str]:
        through = self.facts[switch].through
        return [switch] if through is None else [*self.chain(through), switch]

    def way_ns(self, switch: str) -> int:
        return sum(self.facts[each].latency_ns or 0 for each in self.chain(switch))

    def far_ns(self, block: Block) -> int:
        return self.way_ns(block.switches[0][1]) + (block.latency_ns or 0)

    def near(self, block: Block, wish: Wish | MemoryWish) -> bool:
        if block.switches[0][1] not in self.facts or block.kind != wish.kind:
            return False
        limits = [wish.latency_ns_max, self.request.latency_ns_max]
        return all(limit is None or self.far_ns(block) <= limit for limit in limits)

    def shape(self) -> tuple[Any, ...]:
        """How the host reaches its switches, in the order of their ids."""
        facts = [self.facts[switch] for switch in sorted(self.facts, key=by_id)]
        ways = tuple((v.hops, self.way_ns(v.switch), v.bandwidth_mb_s or 0) for v in facts)
        return ways, tuple(v.vppb_count for v in facts)

    # -- devices ---------------------------------------------------------------------------------

    def suiting(self, wish: Wish) -> list[Block]:
        """Everything nobody holds that would do, in whatever state it is."""
        return [
            block
            for block in self.pod.index.blocks.values()
            if not block.sharing and not block.computes and self.near(block, wish)
            if wish.model in (None, block.model) and block.capacity_mib >= wish.capacity_mib_min
            if not self.held(block) and block.id not in self.used
        ]

    def devices(self, wish: Wish) -> Iterator[tuple[Any, Chosen]]:
        on_shelf = self.suiting(wish)
        ready = sorted((b for b in on_shelf if self.untouched(b)), key=lambda b: by_id(b.id))
        found = []
        for blocks in combinations(ready, wish.count):
            counts: dict[str, int] = {}
            for block in blocks:
                switch = block.switches[0][1]
                counts[switch] = counts.get(switch, 0) + 1
            domains = [block.domain for block in blocks]
            if wish.same_switch and len(counts) > 1:
                continue
            if wish.spread and (None in domains or len(set(domains)) < len(domains)):
                continue
            if all(count <= self.vppbs[switch] for switch, count in counts.items()):
                found.append(self._scored(wish, blocks, counts, on_shelf, ready))
        found.sort(key=lambda each: each[0])
        for order, blocks in found:
            yield order[0], blocks

    def _scored(
        self,
        wish: Wish,
        blocks: Sequence[Block],
        counts: dict[str, int],
        on_shelf: list[Block],
        ready: list[Block],
    ) -> tuple[Any, Chosen]:
        most = {}
        for switch in counts:
            here = [block for block in ready if block.switches[0][1] == switch]
            amount = len({b.domain for b in here} - {None}) if wish.spread else len(here)
            most[switch] = min(amount, self.vppbs[switch], wish.count)
        emptiest = sorted(counts, key=lambda switch: (most[switch], by_id(switch)))
        dealt, rest = {}, wish.count
        for number, switch in enumerate(emptiest):
            dealt[switch] = min(most[switch], rest - (len(emptiest) - 1 - number))
            rest -= dealt[switch]
        roots = {self.chain(switch)[0] for switch in counts}
        tier = 0 if len(counts) == 1 else 1 if len(roots) == 1 else 2
        at = {s: [b for b in on_shelf if b.switches[0][1] == s] for s in counts}
        able = {s: [b for b in ready if b.switches[0][1] == s] for s in counts}
        extra: dict[str, int] = {}
        for switch, count in dealt.items():
            fastest = max(block.bandwidth_mb_s or 0 for block in able[switch])
            for link in self.chain(switch):
                extra[link] = extra.get(link, 0) + count * fastest
        over = 1000
        for link, mb_s in extra.items():
            carries = self.facts[link].bandwidth_mb_s or 0
            over = max(over, (self.load[link] + mb_s) * 1000 // carries)
        farthest = max(self.far_ns(block) for switch in counts for block in able[switch])
        left = sum(map(len, at.values())) - wish.count
        score = (tier, len(counts), 0, over, farthest, left)
        order = sorted(counts, key=by_id)
        positions = tuple(sorted({*self.facts}, key=by_id).index(switch) for switch in order)
        fill: list[Any] = []
        for switch in emptiest:
            fill.append(-counts[switch])
            groups: dict[tuple[Any, ...], int] = {}
            for block in at[switch]:
                groups.setdefault(_alike(block), 0)
                groups[_alike(block)] += 1
            ranked = sorted(groups, key=lambda g: (g[0], g[1], groups[g], *g[2:]))
            mine = [_alike(block) for block in blocks if block.switches[0][1] == switch]
            fill.append(tuple(-mine.count(group) for group in ranked))
        ids = tuple(by_id(block.id) for block in blocks)
        return (score, positions, fill, ids), tuple(block.id for block in blocks)

    # -- memory ----------------------------------------------------------------------------------

    def memory(self, wish: MemoryWish) -> Iterator[tuple[Any, tuple[tuple[str, int], ...]]]:
        """Yield (score, (appliance, size) of each part); pools only."""
        legs, count = {
            MemoryPolicy.ONE_APPLIANCE: (1, wish.count),
            MemoryPolicy.SPREAD: (wish.count, 1),
            MemoryPolicy.MIRRORED: (2, wish.count),
        }[wish.policy]
        rows = []
        for block in self.pod.index.blocks.values():
            if not block.sharing or not self.near(block, wish) or not self.untouched(block):
                continue
            pool = self.pod.index.pools[min(block.pools)]
            step = pool.granularity_mib
            size = -(-wish.capacity_mib // step) * step
            if size != wish.capacity_mib and not self.request.allow_overprovisioning:
                continue
            cut = [s for _, s in self.cut.get(block.id, [])]
            made = [c.size_mib for c in self.pod.index.chunks.values() if c.domain == pool.id]
            left = pool.capacity_mib - sum(made) - sum(cut)
            numbers = len(pool.parts) - len(made) - len(cut)
            if left < size * count or numbers < count:
                continue
            beyond = (size - wish.capacity_mib) * count
            known = block.id in self.request.blocks
            score = (beyond, int(not known), self.far_ns(block), left - size * count)
            rows.append((score, by_id(block.id), block, size))
        rows.sort(key=lambda each: each[:2])
        for chosen in combinations(rows, legs):
            domains = [block.domain for _, _, block, _ in chosen]
            if legs > 1 and (None in domains or len(set(domains)) < legs):
                continue
            slots = [block.switches[0][1] for _, _, block, _ in chosen for _ in range(count)]
            if all(slots.count(switch) <= self.vppbs[switch] for switch in slots):
                parts = tuple((b.id, size) for _, _, b, size in chosen for _ in range(count))
                yield tuple(score for score, *_ in chosen), parts

    # -- all together ----------------------------------------------------------------------------

    def meet(self, wishes: Sequence[Wish | MemoryWish]) -> list[tuple[Any, Any]] | None:
        if not wishes:
            return []
        wish, rest = wishes[0], wishes[1:]
        options = self.devices(wish) if isinstance(wish, Wish) else self.memory(wish)
        for score, what in options:
            self._take(what, 1)
            others = self.meet(rest)
            self._take(what, -1)
            if others is not None:
                return [(score, what), *others]
        return None

    def _take(self, what: Any, weight: int) -> None:
        blocks = self.pod.index.blocks
        for each in what:
            name, size = each if isinstance(each, tuple) else (each, 0)
            switch = blocks[name].switches[0][1]
            self.vppbs[switch] -= weight
            if size:
                row = self.cut.setdefault(name, [])
                row.append((name, size)) if weight > 0 else row.pop()
                continue
            (self.used.add if weight > 0 else self.used.discard)(name)
            for link in self.chain(switch):
                self.load[link] += weight * (blocks[name].bandwidth_mb_s or 0)


def _alike(block: Block) -> tuple[Any, ...]:
    """Everything by which blocks of one switch differ to a wish, in the order of the fit."""
    return (
        block.capacity_mib,
        block.bandwidth_mb_s or 0,
        block.latency_ns or 0,
        block.model,
        block.manufacturer,
        block.domain or "",
    )


def naive_place(pod: Pod, request: Request, now_s: float) -> tuple[str, list[Any]] | None:
    """Return the best host and what each wish gets there; None where no host will do."""
    index = pod.index
    best: Any = None
    for block in index.blocks.values():
        if block.host is None:
            continue
        view = Naive(pod, request, block.host, now_s)
        used = any(each.host == block.host for each in index.compositions.values())
        if used or not view.free(block) or block.core_count < request.compute.core_count_min:
            continue
        met = view.meet((*request.devices, *request.memory))
        if met is None:
            continue
        switches = tuple(by_id(switch) for switch in sorted(view.facts, key=by_id))
        order = (
            tuple(score for score, _ in met),
            (block.core_count, block.capacity_mib),
            switches,
            view.shape(),
            by_id(block.id),
        )
        if best is None or order < best[0]:
            best = (order, block.host, [what for _, what in met])
    return None if best is None else (best[1], best[2])
