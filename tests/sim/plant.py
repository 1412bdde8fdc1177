"""The hardware of a run: it outlives every service process, and watches itself at each action.

The oracle is the switches' own memory. A unit bound for two hosts at once fails the run unless a
foreign manager or a lie had a part in it.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.drivers.virtual.faults import Fault, FaultPlan
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.state import LateCommand
from redfish_fm.fabric.model import (
    Bind,
    BindTarget,
    Inventory,
    Observation,
    PartState,
    Step,
    Unbind,
    VppbId,
)
from tests.sim.weather import Weather

Watcher = Callable[["Plant", VppbId, str], None]
"""Told of every binding that changed: where, and what caused it."""


@dataclass(frozen=True)
class Double:
    """Two hosts reach one thing. `ours` means that nobody else can be blamed."""

    first: VppbId
    second: VppbId
    target: BindTarget
    ours: bool


class CountingFaults(FaultPlan):
    """A fault plan that counts what struck, and remembers which vPPBs were ever lied about.

    `sent` is set when a command is on its way to the switch.
    """

    def __init__(self, seed: int | str) -> None:
        super().__init__(seed)
        self.struck: dict[str, int] = {}
        self.sent = asyncio.Event()
        self.lied: set[VppbId] = set()

    def draw(self, step: Step) -> Fault | None:
        self.sent.set()
        fault = super().draw(step)
        if fault is not None:
            name = type(fault).__name__.lower()
            self.struck[name] = self.struck.get(name, 0) + 1
        return fault

    def claim(self, step: Step, before: PartState | None = None) -> None:
        if isinstance(step, Bind | Unbind):
            self.lied.add(step.vppb)
        super().claim(step, before)


class Plant(Hardware):
    """The switches of one fabric."""

    def __init__(self, inventory: Inventory, clock: Clock, weather: Weather) -> None:
        super().__init__(
            inventory,
            clock,
            late_max_s=weather.late_max_s,
            permissive=weather.permissive,
            keeps_bindings=weather.keeps_bindings,
        )
        self.fabric = inventory.fabric
        self.command_s = weather.command_s
        self.faults = CountingFaults(f"{weather.seed} {inventory.fabric}")
        self.faults.rates = weather.rates
        self.faults.observe_s = weather.look_s
        self.hosts = {(v.switch, v.id): v.host for s in inventory.switches
                      for v in s.virtual_switches}  # fmt: skip
        self.origin: dict[VppbId, str] = {}
        self.watchers: list[Watcher] = []

    def bound(self) -> dict[VppbId, BindTarget]:
        """Return what is truly bound now."""
        self.advance()
        return {
            vppb: target
            for switch in self.switches.values()
            for vppb, target in switch.bindings.items()
        }

    def doubles(self) -> list[Double]:
        """Return everything that two hosts reach at this moment."""
        held = [(vppb, t) for switch in self.switches.values() for vppb, t in
                sorted(switch.bindings.items())]  # fmt: skip
        return [
            Double(one, other, target, self.is_ours(one) and self.is_ours(other))
            for number, (one, target) in enumerate(held)
            for other, second in held[number + 1 :]
            if self.host(one) != self.host(other) and collide(target, second)
        ]

    def host(self, vppb: VppbId) -> str | None:
        """Return whose virtual switch a vPPB is in."""
        return self.hosts[vppb.switch, vppb.vcs]

    def is_ours(self, vppb: VppbId) -> bool:
        """Whether only our commands, truthfully reported, made this vPPB what it is."""
        return self.origin.get(vppb) != "outside" and vppb not in self.faults.lied

    def _run(
        self, step: Step, cause: str, at_s: float, finished: LateCommand | None = None
    ) -> bool:
        changed = super()._run(step, cause, at_s, finished)
        if changed and isinstance(step, Bind | Unbind):
            # Who removed a binding answers for what is there next only if he also put it there.
            self.origin[step.vppb] = cause if isinstance(step, Bind) else "nobody"
            for watcher in self.watchers:
                watcher(self, step.vppb, cause)
        return changed


def collide(one: BindTarget, other: BindTarget) -> bool:
    """Whether two targets share anything; written apart from the rules it checks."""
    same_port = (one.switch, one.port) == (other.switch, other.port)
    return same_port and (one.ld is None or other.ld is None or one.ld == other.ld)


class WatchedDriver(VirtualDriver):
    """A real driver session that shows each observation to the checker as the service gets it."""

    def __init__(self, plant: Plant, clock: Clock, seen: Callable[[Observation], None]) -> None:
        super().__init__(plant, clock, clock, plant.faults, command_s=plant.command_s)
        self._seen = seen

    async def observe(self) -> Observation:
        observation = await super().observe()
        self._seen(observation)
        return observation
