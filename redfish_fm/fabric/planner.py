"""The next safe steps from what is observed towards what is wanted.

Pure. Knows vPPBs, targets and one observation; no zones, no clock, no driver. Acceptance by a
switch is not proof, so a plan is made from observations only and made again after each one.
DESIGN section 4: unbind before bind, grants wait for releases, unknown outcomes are left alone,
what one owner had is scrubbed before another has it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from redfish_fm.fabric.bandwidth_planner import plan_bandwidth, plan_controls
from redfish_fm.fabric.ground import Ground, Targets
from redfish_fm.fabric.model import Bind, BindTarget, Observation, Place, Qos, Step, Unbind, VppbId
from redfish_fm.fabric.parts_planner import PartsPlanner
from redfish_fm.fabric.physical import Physical, Plain
from redfish_fm.fabric.qos_control import QosControl
from redfish_fm.fabric.targets import order, overlaps
from redfish_fm.fabric.values import Allocation, Binding

_Claim = tuple[VppbId, BindTarget]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do next, and what can not be done yet.

    `steps` are in order: unbinds, sanitizes, deallocates, allocates, binds, bandwidth. `waiting`
    are vPPBs that need something which must not be done now; `unmet` wanted vPPBs and `unmet_parts`
    wanted parts that were not observed as wanted, `blocked_parts` those among them that will not be
    unless something else happens than what is planned: another part, or a binding, is in their
    place and stays; `foreign` observed bindings that are neither wanted nor releasing,
    `foreign_parts` observed parts of pools that are neither wanted nor being freed.
    """

    steps: tuple[Step, ...] = ()
    waiting: frozenset[VppbId] = frozenset()
    foreign: tuple[_Claim, ...] = ()
    unmet: frozenset[VppbId] = frozenset()
    unmet_parts: frozenset[BindTarget] = frozenset()
    foreign_parts: tuple[BindTarget, ...] = ()
    blocked_parts: frozenset[BindTarget] = frozenset()


_PLAIN: Physical = Plain()
_NO_WISHES: Mapping[BindTarget, Qos] = {}
_NO_CONTROLS: Mapping[BindTarget, QosControl] = {}


def plan(
    wanted: Iterable[Binding],
    releasing: Iterable[Binding],
    observation: Observation,
    unsettled: Callable[[Place], bool],
    enforce: bool = False,
    allocations: Iterable[Allocation] = (),
    freeing: Iterable[Allocation] = (),
    fresh: frozenset[VppbId] = frozenset(),
    physical: Physical = _PLAIN,
    bandwidth: Mapping[BindTarget, Qos] = _NO_WISHES,
    controls: Mapping[BindTarget, QosControl] = _NO_CONTROLS,
) -> Plan:
    """Return the steps that are safe now towards `wanted`, given one look at the fabric.

    Level-triggered and idempotent: call it after every observation. `unsettled` tells of vPPBs
    and targets (or any overlap of theirs) with a command of unknown outcome behind them; they are
    left alone. A grant that
    is taken back belongs in `releasing` until a barrier proves that it is not bound, a part that
    nobody wants any more in `freeing` until one proves that it is gone.

    `fresh` are wanted vPPBs whose binding was never observed: what is dirty is sanitized before
    it is bound there. All others are bound again as they are: the contents are their owner's.
    `physical` knows which targets exist only while allocated, and which take each other.
    `bandwidth` is what LDs are to have, `controls` what whole devices are to do; what is asked of
    none stays as it is.
    """
    ground = Ground(observation, unsettled, physical)
    claims = sorted(wanted, key=lambda each: (each.vppb, order(each.target)))
    leaving = sorted({(each.vppb, each.target) for each in releasing}, key=_order)
    freed = sorted({each.target for each in freeing}, key=order)
    planner = _Planner(ground, claims, fresh)
    parts = PartsPlanner(
        ground,
        allocations,
        Targets(each.target for each in claims),
        Targets(
            way for each in claims if planner.in_use(each) for way in physical.ways(each.target)
        ),
    )
    foreign = planner.release_all(leaving, claims, enforce)
    for _vppb, target in leaving:
        parts.scrub_released(target)
    foreign_parts = parts.foreign(freed)
    for target in (*freed, *(foreign_parts if enforce else ())):
        parts.free(target)
    parts.allocate()
    for claim in claims:
        planner.grant(claim, parts)
    steps: tuple[Step, ...] = (
        *planner.unbinds,
        *ground.sanitizes,
        *parts.deallocates,
        *parts.allocates,
        *planner.binds,
        *plan_bandwidth(ground, bandwidth, observation.qos),
        *plan_controls(ground, controls, observation.ports),
    )
    return Plan(
        steps,
        frozenset(planner.waiting),
        foreign,
        frozenset(planner.unmet),
        frozenset(parts.unmet),
        foreign_parts,
        frozenset(parts.blocked),
    )


def _order(claim: _Claim) -> tuple[VppbId, tuple[str, str, tuple[tuple[str, int], ...]]]:
    vppb, target = claim
    return vppb, order(target)


class _Planner:
    """The pass over the bindings: what is released, what is granted, what must wait."""

    def __init__(self, ground: Ground, claims: Iterable[Binding], fresh: frozenset[VppbId]) -> None:
        self._ground = ground
        self._fresh = fresh
        self._claims = {(each.vppb, each.target): each for each in claims}
        self._used: set[VppbId] = set()
        self.unbinds: dict[Unbind, None] = {}
        self.binds: list[Bind] = []
        self.waiting: set[VppbId] = set()
        self.unmet: set[VppbId] = set()

    def in_use(self, claim: Binding) -> bool:
        """Return whether who is to have this has been given it already."""
        return claim.vppb not in self._fresh or self._seen(claim.vppb) == claim.target

    def release_all(
        self, leaving: Iterable[_Claim], claims: Iterable[Binding], enforce: bool
    ) -> tuple[_Claim, ...]:
        """Release what is leaving, and with `enforce` what is foreign; return the foreign."""
        for vppb, target in leaving:
            self._release(vppb, target)
        foreign = self._foreign({*((each.vppb, each.target) for each in claims), *leaving})
        for vppb, target in foreign if enforce else ():
            self._release(vppb, target)
        return foreign

    def _release(self, vppb: VppbId, target: BindTarget) -> None:
        """Unbind what is observed bound; hold its target back while that is not safe to know."""
        ground = self._ground
        ground.leaving.add((vppb, target))
        unknown = ground.dark(vppb) or ground.unsettled(vppb)
        if unknown or self._pending(target):
            ground.held_back.add(target)
            self.waiting.add(vppb)
        elif self._seen(vppb) == target:
            if vppb in self._used or ground.taken.touch(target):
                self.waiting.add(vppb)
            else:
                self._use(vppb, target)
                self.unbinds[Unbind(vppb, target)] = None

    def grant(self, claim: Binding, parts: PartsPlanner) -> None:
        """Bind if the vPPB is seen free, the target is seen bound nowhere and nothing is open."""
        vppb, target = claim.vppb, claim.target
        if self._seen(vppb) == target and vppb not in self._used:
            return
        self.unmet.add(vppb)
        possible = vppb not in self._used and self._free(vppb) and self._loose(claim)
        if possible and parts.ready(target, vppb in self._fresh):
            self._use(vppb, target)
            self.binds.append(Bind(vppb, target))
        elif Unbind(vppb, target) not in self.unbinds:
            self.waiting.add(vppb)

    def _foreign(self, ours: set[_Claim]) -> tuple[_Claim, ...]:
        """Return what is bound and not ours; what may be a late command of ours waits instead."""
        found: list[_Claim] = []
        for vppb, target in self._ground.bindings.items():
            if target is None or (vppb, target) in ours:
                continue
            if self._ground.unsettled(vppb) or self._pending(target):
                self.waiting.add(vppb)
            else:
                found.append((vppb, target))
        return tuple(sorted(found, key=_order))

    def _seen(self, vppb: VppbId) -> BindTarget | None:
        return self._ground.bindings.get(vppb)

    def _free(self, vppb: VppbId) -> bool:
        seen_free = vppb in self._ground.bindings and self._seen(vppb) is None
        return seen_free and not self._ground.unsettled(vppb)

    def _loose(self, claim: Binding) -> bool:
        """Return whether nobody has the target, or only those with whom it is to be shared."""
        bound = self._ground.bound(claim.target)
        return all(self._fellow(claim, each) for each in bound) and self._ground.open_to(
            claim.target
        )

    def _fellow(self, claim: Binding, bound: _Claim) -> bool:
        """Return whether a binding is wanted beside the claim: shared, or the host's other way."""
        other = self._claims.get(bound)
        if other is None:
            return False
        if not overlaps(claim.target, other.target):
            return other.host == claim.host
        state = self._ground.parts.get(claim.target)
        shareable = state is None or state.shareable
        return claim.target == other.target and claim.shared and other.shared and shareable

    def _pending(self, target: BindTarget) -> bool:
        return self._ground.pending(target)

    def _use(self, vppb: VppbId, target: BindTarget) -> None:
        self._used.add(vppb)
        self._ground.taken.add(target)
