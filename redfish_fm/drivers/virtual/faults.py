"""Faults on demand: which command or look goes wrong next, and how.

Declares and draws faults, the driver plays them. All chance comes from one seed, drawn in the
order in which commands reach the switches. Faults that anybody may order by name, of links and
devices too, are in `orders`.
"""

import random
from collections import deque
from dataclasses import dataclass, replace

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.refusals import switch_of
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    BindTarget,
    Deallocate,
    Media,
    PartState,
    Place,
    PortId,
    Qos,
    SetQos,
    Step,
    Unbind,
    VppbId,
)


@dataclass(frozen=True, slots=True)
class Refuse:
    """The switch says no: DriverRejected with `reason`."""

    reason: str = "refused on demand"


@dataclass(frozen=True, slots=True)
class Slow:
    """The switch needs `delay_s` longer (fabric clock); the deadline may pass meanwhile."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class Lost:
    """Executed, but the answer is lost: DriverUnavailable. `reset`: the link goes with it."""

    reset: bool = False


@dataclass(frozen=True, slots=True)
class Dropped:
    """Never executed, and no answer: DriverUnavailable. `reset`: the link goes with it."""

    reset: bool = False


@dataclass(frozen=True, slots=True)
class Late:
    """DriverUnavailable and link reset now; executed `delay_s` later (None: drawn)."""

    delay_s: float | None = None


@dataclass(frozen=True, slots=True)
class Restart:
    """The switch restarts while it has the command: DriverUnavailable, link reset.

    `executed`: before it went down. It answers again after `down_s` (service clock).
    """

    executed: bool = False
    down_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Pretend:
    """The switch says yes and does nothing; with `claim` it also reports that it had."""

    claim: bool = True


Fault = Refuse | Slow | Lost | Dropped | Late | Restart | Pretend


@dataclass(frozen=True, slots=True)
class Rates:
    """How often each fault strikes a command, as probabilities; their sum is at most 1."""

    refuse: float = 0.0
    slow: float = 0.0
    lost: float = 0.0
    dropped: float = 0.0
    late: float = 0.0
    restart: float = 0.0
    pretend: float = 0.0
    slow_s: float = 0.5
    """Longest extra time of a slow command (fabric clock)."""
    down_s: float = 0.2
    """Longest outage of a restarted switch (service clock)."""

    def __post_init__(self) -> None:
        tame = (self.refuse, self.slow, self.dropped)
        chances = (*tame, self.lost, self.late, self.restart, self.pretend)
        if min(chances) < 0 or sum(chances) > 1 + 1e-9:
            raise ValueError(f"{self} are no probabilities of one thing")


@dataclass(slots=True)
class _Planned:
    fault: Fault
    left: int | None
    """How many more commands it strikes; None means all of them."""
    only: tuple[type[Step], ...] | None
    """Which steps it strikes; None means any."""


class FaultPlan:
    """The faults of one fabric. Planned faults come first, then those of the rates.

    `rates` may be replaced at any time. `observe_s` is how much longer every look at a switch
    takes (fabric clock).
    """

    def __init__(self, seed: int | str = 0) -> None:
        self.chance = random.Random(f"virtual faults {seed}")  # noqa: S311 - not for secrets
        self.observe_s = 0.0
        self.rates = Rates()
        self._planned: dict[str | None, deque[_Planned]] = {}
        self._lies: dict[VppbId, BindTarget | None] = {}
        self._part_lies: dict[BindTarget, PartState | None] = {}
        self._qos_lies: dict[BindTarget, Qos] = {}

    def next_apply(
        self,
        switch: str | None,
        *faults: Fault,
        times: int | None = 1,
        only: tuple[type[Step], ...] | None = None,
    ) -> None:
        """Strike the next commands of `switch` (None: of any) with `faults`, one after another.

        Each strikes `times` commands, None for all that follow. `only`: commands of these types.
        """
        queue = self._planned.setdefault(switch, deque())
        queue.extend(_Planned(fault, times, only) for fault in faults)

    def lie(self, vppb: VppbId, target: BindTarget | None) -> None:
        """Report `vppb` as bound to `target` (None: free), whatever is true."""
        self._lies[vppb] = target

    def lie_part(self, target: BindTarget, state: PartState | None) -> None:
        """Report that of a part (None: that it is not allocated), whatever is true."""
        self._part_lies[target] = state

    def tell_truth(self, place: Place | None = None) -> None:
        """Stop lying about a vPPB or part (None: about all)."""
        if place is None:
            self._lies.clear()
            self._part_lies.clear()
            self._qos_lies.clear()
        elif isinstance(place, VppbId):
            self._lies.pop(place, None)
        else:
            self._part_lies.pop(place, None)
            self._qos_lies.pop(place, None)

    def clear(self) -> None:
        """Stop everything: plans, rates, slowness and lies."""
        self._planned.clear()
        self.tell_truth()
        self.rates = Rates()
        self.observe_s = 0.0

    def draw(self, step: Step) -> Fault | None:
        """Return the fault that strikes this command; called once per command sent."""
        for switch in (switch_of(step), None):
            fault = _take(self._planned.get(switch, deque()), step)
            if fault is not None:
                return fault
        return self._by_chance()

    def seen(self, bindings: dict[VppbId, BindTarget | None]) -> dict[VppbId, BindTarget | None]:
        """Return what a switch reports where `bindings` is true."""
        lies = {vppb: told for vppb, told in self._lies.items() if vppb in bindings}
        return bindings | lies

    def seen_parts(
        self, switch: str, parts: dict[BindTarget, PartState]
    ) -> dict[BindTarget, PartState]:
        """Return what a switch reports of parts where `parts` is true."""
        lies = {target: told for target, told in self._part_lies.items() if target.switch == switch}
        told = parts | lies
        return {target: state for target, state in told.items() if state is not None}

    def seen_qos(self, switch: str, qos: dict[BindTarget, Qos]) -> dict[BindTarget, Qos]:
        """Return what a switch reports of bandwidth where `qos` is true."""
        return qos | {t: told for t, told in self._qos_lies.items() if t.switch == switch}

    def claim(self, step: Step, before: PartState | None = None) -> None:
        """Report from now on that `step` was done; `before` is what is true of its part."""
        match step:
            case Bind(vppb, target):
                self.lie(vppb, target)
            case Unbind(vppb, _):
                self.lie(vppb, None)
            case Allocate(target, size_mib, shareable):
                self.lie_part(target, PartState(size_mib, Media.CLEAN, shareable))
            case Deallocate(target):
                self.lie_part(target, None)
            case SetQos(target, qos):
                self._qos_lies[target] = qos
            case _ if before is not None:
                self.lie_part(step.target, replace(before, media=Media.CLEAN))

    def _by_chance(self) -> Fault | None:
        rates, roll = self.rates, self.chance.random()
        share = self.chance.random()
        table: tuple[tuple[float, Fault], ...] = (
            (rates.refuse, Refuse()),
            (rates.slow, Slow(share * rates.slow_s)),
            (rates.lost, Lost(reset=share < 0.5)),
            (rates.dropped, Dropped(reset=share < 0.5)),
            (rates.late, Late()),
            (rates.restart, Restart(executed=share < 0.5, down_s=share * rates.down_s)),
            (rates.pretend, Pretend(claim=share < 0.5)),
        )
        for rate, fault in table:
            if roll < rate:
                return fault
            roll -= rate
        return None


async def flap(hardware: Hardware, port: PortId, clock: Clock, times: int, period_s: float) -> None:
    """Take the link of a port down and up `times` times, one period each on `clock`."""
    for _ in range(times):
        hardware.set_port(port, link_up=False)
        await clock.sleep(period_s / 2)
        hardware.set_port(port, link_up=True)
        await clock.sleep(period_s / 2)


def _take(queue: deque[_Planned], step: Step) -> Fault | None:
    """Return the first planned fault that strikes such a step, and count it."""
    for planned in queue:
        if planned.only is None or isinstance(step, planned.only):
            if planned.left is not None:
                planned.left -= 1
                if planned.left <= 0:
                    queue.remove(planned)
            return planned.fault
    return None
