"""The next safe steps from what is observed towards what is wanted.

Pure. Knows vPPBs, targets and one observation; no zones, no clock, no driver. Acceptance by a
switch is not proof, so a plan is made from observations only and made again after each one.
DESIGN section 4: unbind before bind, grants wait for releases, unknown outcomes are left alone.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from redfish_fm.fabric.model import Bind, BindTarget, Observation, Step, Unbind, VppbId
from redfish_fm.fabric.values import Binding

LD_COUNT_MAX = 16
"""LDs of one MLD are numbered 0-15 (model.LogicalDevice)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do next, and what can not be done yet.

    `steps` are in order, unbinds first. `waiting` are vPPBs that need something which must not be
    done now; `unmet` wanted vPPBs that were not observed as wanted; `foreign` observed bindings
    that are neither wanted nor releasing.
    """

    steps: tuple[Step, ...] = ()
    waiting: frozenset[VppbId] = frozenset()
    foreign: tuple[tuple[VppbId, BindTarget], ...] = ()
    unmet: frozenset[VppbId] = frozenset()


def plan(
    wanted: Iterable[Binding],
    releasing: Iterable[Binding],
    observation: Observation,
    unsettled: Callable[[VppbId | BindTarget], bool],
    enforce: bool = False,
) -> Plan:
    """Return the steps that are safe now towards `wanted`, given one look at the fabric.

    Level-triggered and idempotent: call it after every observation. `unsettled` tells of vPPBs
    and targets with a command of unknown outcome behind them; they are left alone. A grant that
    is taken back belongs in `releasing` until a barrier proves that it is not bound.
    """
    planner = _Planner(observation, unsettled)
    claims = sorted({(binding.vppb, binding.target) for binding in wanted}, key=_order)
    leaving = sorted({(binding.vppb, binding.target) for binding in releasing}, key=_order)
    for vppb, target in leaving:
        planner.release(vppb, target)
    foreign = planner.foreign({*claims, *leaving})
    for vppb, target in foreign if enforce else ():
        planner.release(vppb, target)
    for vppb, target in claims:
        planner.grant(vppb, target)
    return Plan(
        (*planner.unbinds, *planner.binds),
        frozenset(planner.waiting),
        foreign,
        frozenset(planner.unmet),
    )


def _order(claim: tuple[VppbId, BindTarget]) -> tuple[VppbId, str, str, int]:
    vppb, target = claim
    return vppb, target.switch, target.port, -1 if target.ld is None else target.ld


def overlaps(one: BindTarget, other: BindTarget) -> bool:
    """Return whether binding one takes the other: the same, or a whole port and an LD of it."""
    if (one.switch, one.port) != (other.switch, other.port):
        return False
    return one.ld == other.ld or one.ld is None or other.ld is None


class _Planner:
    """One pass of `plan`: what is observed, what is already decided, what must wait."""

    def __init__(
        self, observation: Observation, unsettled: Callable[[VppbId | BindTarget], bool]
    ) -> None:
        self._observed = {
            vppb: target
            for vppb, target in observation.bindings.items()
            if vppb.switch not in observation.unreachable
        }
        self._unsettled = unsettled
        self._bound: dict[tuple[str, str], list[tuple[VppbId, BindTarget]]] = {}
        for vppb, target in self._observed.items():
            if target is not None:
                self._bound.setdefault((target.switch, target.port), []).append((vppb, target))
        self._unreachable = observation.unreachable
        self._used: set[VppbId] = set()
        self._used_targets: dict[tuple[str, str], list[BindTarget]] = {}
        self._held_back: dict[tuple[str, str], list[BindTarget]] = {}
        self.unbinds: list[Unbind] = []
        self.binds: list[Bind] = []
        self.waiting: set[VppbId] = set()
        self.unmet: set[VppbId] = set()

    def release(self, vppb: VppbId, target: BindTarget) -> None:
        """Unbind what is observed bound; hold its target back while that is not safe to know."""
        unknown = vppb.switch in self._unreachable or self._unsettled(vppb)
        if unknown or self._pending(target):
            self._held_back.setdefault((target.switch, target.port), []).append(target)
            self.waiting.add(vppb)
        elif self._observed.get(vppb) == target:
            if self._taken(vppb, target):
                self.waiting.add(vppb)
            else:
                self._use(vppb, target)
                self.unbinds.append(Unbind(vppb, target))

    def grant(self, vppb: VppbId, target: BindTarget) -> None:
        """Bind if the vPPB is seen free, the target is seen bound nowhere and nothing is open."""
        if self._observed.get(vppb) == target and vppb not in self._used:
            return
        self.unmet.add(vppb)
        if vppb not in self._used and self._free(vppb) and self._loose(target):
            self._use(vppb, target)
            self.binds.append(Bind(vppb, target))
        elif Unbind(vppb, target) not in self.unbinds:
            self.waiting.add(vppb)

    def foreign(
        self, ours: set[tuple[VppbId, BindTarget]]
    ) -> tuple[tuple[VppbId, BindTarget], ...]:
        """Return what is bound and not ours; what may be a late command of ours waits instead."""
        found: list[tuple[VppbId, BindTarget]] = []
        for vppb, target in self._observed.items():
            if target is None or (vppb, target) in ours:
                continue
            if self._unsettled(vppb) or self._pending(target):
                self.waiting.add(vppb)
            else:
                found.append((vppb, target))
        return tuple(sorted(found, key=_order))

    def _free(self, vppb: VppbId) -> bool:
        seen_free = vppb in self._observed and self._observed[vppb] is None
        return seen_free and not self._unsettled(vppb)

    def _loose(self, target: BindTarget) -> bool:
        place = (target.switch, target.port)
        held = [other for _, other in self._bound.get(place, ())]
        held += self._held_back.get(place, ())
        held += self._used_targets.get(place, ())
        return not self._pending(target) and not any(overlaps(target, other) for other in held)

    def _pending(self, target: BindTarget) -> bool:
        """Return whether a command of unknown outcome may concern the target or its overlap."""
        parts = range(LD_COUNT_MAX) if target.ld is None else (None,)
        around = (replace(target, ld=ld) for ld in parts)
        return self._unsettled(target) or any(map(self._unsettled, around))

    def _taken(self, vppb: VppbId, target: BindTarget) -> bool:
        used = self._used_targets.get((target.switch, target.port), ())
        return vppb in self._used or any(overlaps(target, other) for other in used)

    def _use(self, vppb: VppbId, target: BindTarget) -> None:
        self._used.add(vppb)
        self._used_targets.setdefault((target.switch, target.port), []).append(target)
