"""What one plan stands on: what is observed, what may change under it, what it has taken itself.

Pure. Knows one observation and which commands are of unknown outcome; decides nothing. What is
seen of a switch that does not answer is not believed.
"""

from collections.abc import Callable, Iterable

from redfish_fm.fabric.model import (
    BindTarget,
    Media,
    Observation,
    PartState,
    Place,
    PortId,
    Sanitize,
    VppbId,
)
from redfish_fm.fabric.physical import Physical
from redfish_fm.fabric.targets import overlaps

_Where = tuple[str, str]


def silent(seen: Observation, target: BindTarget) -> bool:
    """Return whether nothing can be said of the parts of the device that the target is in.

    Its switch does not answer, or the device is not there or without power: what was in it may
    come back with it.
    """
    if target.switch in seen.unreachable:
        return True
    port = seen.ports.get(PortId(target.switch, target.port))
    return port is not None and not (port.device_present and port.powered)


def doubted(seen: Observation, unsettled: Callable[[Place], bool]) -> Callable[[Place], bool]:
    """Return `unsettled` as it is while vPPBs are `busy`: they may reach whatever is behind there.

    And a switch that binds something for somebody else binds nothing for us.
    """
    doubtful = {vppb.switch for vppb in seen.busy}
    if not doubtful:
        return unsettled
    return lambda place: place.switch in doubtful or unsettled(place)


class Targets:
    """A set of targets that is asked about overlaps; costs what lies behind one port."""

    def __init__(self, targets: Iterable[BindTarget] = ()) -> None:
        self._at: dict[_Where, list[BindTarget]] = {}
        for target in targets:
            self.add(target)

    def add(self, target: BindTarget) -> None:
        """Add one."""
        self._at.setdefault((target.switch, target.port), []).append(target)

    def touch(self, target: BindTarget) -> bool:
        """Return whether any of them is the target, a part of it or what it is a part of."""
        return any(
            overlaps(target, each) for each in self._at.get((target.switch, target.port), ())
        )

    def behind(self, target: BindTarget) -> bool:
        """Return whether any of them is behind the same port."""
        return (target.switch, target.port) in self._at


class Ground:
    """The state of one pass of `plan`, shared by who plans bindings and who plans parts.

    `bindings` and `parts` are what answering switches say; `taken` are targets that this plan
    has a step for, `held_back` those whose release is not safe to know; `leaving` are the bindings
    that are to go.
    """

    def __init__(
        self,
        observation: Observation,
        unsettled: Callable[[Place], bool],
        physical: Physical,
    ) -> None:
        dark = observation.unreachable
        self.physical = physical
        self._seen = observation
        self.unsettled = unsettled
        self.bindings: dict[VppbId, BindTarget | None] = {
            vppb: target for vppb, target in observation.bindings.items() if vppb.switch not in dark
        }
        self.parts: dict[BindTarget, PartState] = {
            target: state
            for target, state in observation.parts.items()
            if target.switch not in dark
        }
        self._dark = dark
        self._bound: dict[_Where, list[tuple[VppbId, BindTarget]]] = {}
        for vppb, target in self.bindings.items():
            if target is not None:
                self._bound.setdefault((target.switch, target.port), []).append((vppb, target))
        self.taken = Targets()
        self.held_back = Targets()
        self.leaving: set[tuple[VppbId, BindTarget]] = set()
        self.sanitizes: list[Sanitize] = []

    def dark(self, place: Place) -> bool:
        """Return whether the switch of the place does not answer."""
        return place.switch in self._dark

    def silent(self, target: BindTarget) -> bool:
        """Return whether nothing can be said of the parts of the device that the target is in."""
        return silent(self._seen, target)

    def bound(self, target: BindTarget) -> list[tuple[VppbId, BindTarget]]:
        """Return what is seen bound to the target, its overlap or what is taken with it."""
        return [
            (vppb, other)
            for way in self.physical.ways(target)
            for vppb, other in self._bound.get((way.switch, way.port), ())
            if overlaps(way, other)
        ]

    def pending(self, target: BindTarget) -> bool:
        """Return whether a command of unknown outcome may concern the target or its overlap."""
        return self.unsettled(target)

    def open_to(self, target: BindTarget) -> bool:
        """Return whether a step may concern the target, as far as other commands go."""
        return not any(
            self.dark(way)
            or self.pending(way)
            or self.taken.touch(way)
            or self.held_back.touch(way)
            for way in self.physical.ways(target)
        )

    def idle(self, target: BindTarget) -> bool:
        """Return whether nothing is bound to the target and no command concerns it."""
        return self.open_to(target) and not self.bound(target)

    def clean(self, target: BindTarget) -> bool:
        """Return whether nothing of any host is in the target, as far as anybody reports."""
        state = self.parts.get(target)
        return state is None or state.media is Media.CLEAN

    def scrub(self, target: BindTarget) -> bool:
        """Return whether the target is clean; if it is not, plan to sanitize it once it is idle."""
        if self.clean(target):
            return True
        if self.parts[target].media is Media.DIRTY and self.idle(target):
            self.taken.add(target)
            self.sanitizes.append(Sanitize(target))
        return False
