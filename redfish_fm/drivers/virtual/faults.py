"""Faults on demand: which command or look goes wrong next, and how.

Declares and draws faults, the driver plays them. All chance comes from one seed, drawn in the
order in which commands reach the switches.
"""

import random
from collections import deque
from dataclasses import dataclass

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.fabric.model import Bind, BindTarget, PortId, Step, VppbId


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

    def next_apply(self, switch: str | None, *faults: Fault, times: int | None = 1) -> None:
        """Strike the next commands of `switch` (None: of any) with `faults`, one after another.

        Each strikes `times` commands, None for all that follow.
        """
        queue = self._planned.setdefault(switch, deque())
        queue.extend(_Planned(fault, times) for fault in faults)

    def lie(self, vppb: VppbId, target: BindTarget | None) -> None:
        """Report `vppb` as bound to `target` (None: free), whatever is true."""
        self._lies[vppb] = target

    def tell_truth(self, vppb: VppbId | None = None) -> None:
        """Stop lying about `vppb` (None: about all)."""
        if vppb is None:
            self._lies.clear()
        else:
            self._lies.pop(vppb, None)

    def clear(self) -> None:
        """Stop everything: plans, rates, slowness and lies."""
        self._planned.clear()
        self._lies.clear()
        self.rates = Rates()
        self.observe_s = 0.0

    def draw(self, step: Step) -> Fault | None:
        """Return the fault that strikes this command; called once per command sent."""
        for switch in (step.vppb.switch, None):
            queue = self._planned.get(switch)
            if queue:
                return _take(queue)
        return self._by_chance()

    def seen(self, bindings: dict[VppbId, BindTarget | None]) -> dict[VppbId, BindTarget | None]:
        """Return what a switch reports where `bindings` is true."""
        lies = {vppb: told for vppb, told in self._lies.items() if vppb in bindings}
        return bindings | lies

    def claim(self, step: Step) -> None:
        """Report from now on that `step` was done."""
        self.lie(step.vppb, step.target if isinstance(step, Bind) else None)

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


def _take(queue: deque[_Planned]) -> Fault:
    planned = queue[0]
    if planned.left is not None:
        planned.left -= 1
        if planned.left <= 0:
            queue.popleft()
    return planned.fault
