"""The hardware of a run: it outlives every service process, and watches itself at each action.

What it did and to whom is kept here beside the switches' own memory, so that a failure can be
blamed: a foreign manager or a lie excuses, nothing else does.
"""

import asyncio
from collections.abc import Callable

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.drivers.virtual.faults import Fault, FaultPlan
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.refusals import Forgets
from redfish_fm.drivers.virtual.state import LateCommand
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    BindTarget,
    Deallocate,
    Inventory,
    Media,
    Observation,
    PartState,
    Sanitize,
    Step,
    Unbind,
    VppbId,
)
from tests.sim.truth import Double, collide, host_at
from tests.sim.weather import Weather

Watcher = Callable[["Plant", Step, str], None]
"""Told of every command that changed something, and what caused it."""


class CountingFaults(FaultPlan):
    """A fault plan that counts what struck, and remembers what was ever lied about.

    `sent` is set when a command is on its way to the switch.
    """

    def __init__(self, seed: int | str) -> None:
        super().__init__(seed)
        self.struck: dict[str, int] = {}
        self.sent = asyncio.Event()
        self.lied: set[VppbId | BindTarget] = set()
        self.misled: set[BindTarget] = set()
        """What some host was said to have, or to have no more, and it was not so."""
        self.imagined: set[BindTarget] = set()
        """Parts that were said to have been allocated or given back, and were not."""

    def draw(self, step: Step) -> Fault | None:
        self.sent.set()
        fault = super().draw(step)
        if fault is not None:
            for name in (type(fault).__name__, f"{type(fault).__name__} of {type(step).__name__}"):
                self.struck[name.lower()] = self.struck.get(name.lower(), 0) + 1
        return fault

    def claim(self, step: Step, before: PartState | None = None) -> None:
        self.lied.add(step.vppb if isinstance(step, Bind | Unbind) else step.target)
        if isinstance(step, Bind | Unbind):
            self.misled.add(step.target)
        if isinstance(step, Allocate | Deallocate):
            self.imagined.add(step.target)
        super().claim(step, before)


class Plant(Hardware):
    """The switches and devices of one fabric."""

    def __init__(self, inventory: Inventory, clock: Clock, weather: Weather) -> None:
        super().__init__(
            inventory,
            clock,
            late_max_s=weather.late_max_s,
            forgets=weather.forgets,
            keeps_bindings=weather.keeps_bindings,
        )
        self.fabric = inventory.fabric
        self.command_s = weather.command_s
        self.faults = CountingFaults(f"{weather.seed} {inventory.fabric}")
        self.faults.rates = weather.rates
        self.faults.observe_s = weather.look_s
        self.hosts = {(v.switch, v.id): host_at(inventory, v) for s in inventory.switches
                      for v in s.virtual_switches}  # fmt: skip
        self.chained = {(v.switch, v.id) for s in inventory.switches
                        for v in s.virtual_switches if v.through is not None}  # fmt: skip
        self.origin: dict[VppbId, str] = {}
        self.meddled: set[BindTarget] = set()
        """Targets that a stranger has bound, allocated, sanitized or given back."""
        self.guests: dict[tuple[str, str], set[str | None]] = {}
        """Port -> hosts that a stranger has bound to something behind it. Where the hardware lets
        a part go while it is bound, what they write goes with its addresses into other parts."""
        loose = {Forgets.DEALLOCATE_BOUND, Forgets.DEALLOCATE_DIRTY}
        self.loses_track = bool(weather.forgets & loose)
        self.harm: list[str] = []
        """What a command of ours has done that no sharing could excuse; read and cleared by who
        watches."""
        self.watchers: list[Watcher] = []

    # -- what is -----------------------------------------------------------------------------

    def bound(self) -> dict[VppbId, BindTarget]:
        """Return what is truly bound now."""
        self.advance()
        return self.held()

    def held(self) -> dict[VppbId, BindTarget]:
        """Return what is bound, without letting anything happen."""
        return {
            vppb: target
            for switch in self.switches.values()
            for vppb, target in switch.bindings.items()
        }

    def allocated(self) -> dict[BindTarget, tuple[int, bool]]:
        """Return size and shareability of every part of a pool that truly exists."""
        self.advance()
        return {
            part.target: (part.size_mib, part.shareable)
            for device in self.devices.values()
            for part in device.parts.values()
        }

    def doubles(self) -> list[Double]:
        """Return everything that two hosts reach at this moment."""
        held = sorted(self.held().items())
        return [
            Double(one, other, target, self._is_to_blame(one, other, target))
            for number, (one, target) in enumerate(held)
            for other, second in held[number + 1 :]
            if self.host(one) != self.host(other) and collide(self.devices, target, second)
        ]

    def host(self, vppb: VppbId) -> str | None:
        """Return whose virtual switch a vPPB is in."""
        return self.hosts[vppb.switch, vppb.vcs]

    def is_chained(self, vppb: VppbId) -> bool:
        """Return whether the host of a vPPB comes in by way of another switch."""
        return (vppb.switch, vppb.vcs) in self.chained

    def is_ours(self, vppb: VppbId) -> bool:
        """Whether only our commands, truthfully reported, made this vPPB what it is."""
        return self.origin.get(vppb) != "outside" and vppb not in self.faults.lied

    def _is_to_blame(self, one: VppbId, other: VppbId, target: BindTarget) -> bool:
        """Whether we alone let two hosts reach `target`.

        Not where a switch that binds anything claimed to have made the part they were to share.
        """
        return self.is_ours(one) and self.is_ours(other) and target not in self.faults.imagined

    def is_honest(self, target: BindTarget) -> bool:
        """Whether nobody else had a hand in a part, and nothing was ever claimed of it.

        By whichever port of its device: what is in it is the same.
        """
        doubtful = self.meddled | {
            each for each in self.faults.lied if isinstance(each, BindTarget)
        }
        device = self.devices.at(target)
        if device is None or target in doubtful:
            return target not in doubtful
        key = device.key(target)
        return not any(self.devices.at(each) is device and device.key(each) == key
                       for each in doubtful)  # fmt: skip

    # -- what happens --------------------------------------------------------------------------

    def _run(
        self, step: Step, cause: str, at_s: float, finished: LateCommand | None = None
    ) -> bool:
        if cause == "outside":
            self.meddled.add(step.target)
            if isinstance(step, Bind):
                port = step.target.switch, step.target.port
                self.guests.setdefault(port, set()).add(self.host(step.vppb))
        before = self._before(step)
        changed = super()._run(step, cause, at_s, finished)
        if not changed:
            return False
        if isinstance(step, Bind | Unbind):
            # Who removed a binding answers for what is there next only if he also put it there.
            self.origin[step.vppb] = cause if isinstance(step, Bind) else "nobody"
        if before is not None and cause != "outside" and self.is_honest(step.target):
            self.harm.append(f"{cause} {step}: {before}")
        for watcher in self.watchers:
            watcher(self, step, cause)
        return True

    def _before(self, step: Step) -> str | None:
        """Return what harm the step does if it changes anything, by what hardware truly holds."""
        device = self.devices.at(step.target)
        if device is None:
            return None
        key = device.key(step.target)
        content = device.contents.get(key)
        users = [vppb for vppb, target in sorted(self.held().items())
                 if self.is_ours(vppb) and self.devices.at(target) is device
                 and (device.key(target)[0], target.path[: len(key[1])]) == key]  # fmt: skip
        match step:
            case Bind(vppb, _):
                mine = str(self.host(vppb) or f"nobody behind {vppb.switch}/{vppb.vcs}")
                data = device.strangers(step.target, mine)
                if device.is_shareable(step.target) and step.target in self.faults.misled:
                    # Whom the service took for one of those who share it, it may take back.
                    data = frozenset() if content is None else content.residue
                guests = self.guests.get((step.target.switch, step.target.port), set())
                excused = guests if self.loses_track else set()
                others = sorted(data - {mine} - excused)
                exposes = others and device.facts.sanitizes
                return f"{mine} sees what {others} left in it" if exposes else None
            case Sanitize() | Deallocate() if users:
                return f"it is bound to {users}"
            case Deallocate() if (
                device.facts.sanitizes and content is not None and content.media is not Media.CLEAN
            ):
                return f"it is {content.media.value}"
        return None


class WatchedDriver(VirtualDriver):
    """A real driver session that shows each observation to the checker as the service gets it."""

    def __init__(self, plant: Plant, clock: Clock, seen: Callable[[Observation], None]) -> None:
        super().__init__(plant, clock, clock, plant.faults, command_s=plant.command_s)
        self._seen = seen

    async def observe(self) -> Observation:
        observation = await super().observe()
        self._seen(observation)
        return observation
