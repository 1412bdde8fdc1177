"""All simulated switches of one fabric, powered: they keep state and run commands late.

Knows the switches, what is kept of them and the service clock (late commands and outages of the
management link are bounded in service time, like the driver's `late_max_s`). Knows nothing of
sessions or deadlines: that is the driver's. It outlives drivers, as powered hardware outlives
the service; everything in it happens synchronously.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.oracle import Oracle
from redfish_fm.drivers.virtual.state import Action, LateCommand, PortCondition, VirtualState
from redfish_fm.drivers.virtual.switch import Refusal, Refused, SimulatedSwitch
from redfish_fm.fabric.model import (
    Bind,
    BindTarget,
    Inventory,
    PortId,
    PortState,
    Step,
    Unbind,
    VppbId,
)


class Event(Enum):
    """What a listener is told about a switch."""

    CHANGED = "a binding or port changed"
    CUT = "the management link went down; what was sent may still run"
    RESTARTED = "the switch restarted; what was sent will not run"
    BACK = "the switch answers again"


Listener = Callable[[str, Event], None]
"""Called with the switch's id; must not raise."""


@dataclass(slots=True)
class _Waiting:
    """A late command with its due time on the service clock."""

    due_s: float
    command: LateCommand


class Hardware:
    """The switches of one fabric. Made once per powered fabric; drivers come and go."""

    def __init__(
        self,
        inventory: Inventory,
        clock: Clock,
        state: Path | None = None,
        *,
        late_max_s: float = 2.0,
        permissive: bool = False,
        keeps_bindings: bool = True,
        journal_max: int = 100_000,
    ) -> None:
        """Power up: `state` is the file kept by an earlier run, None keeps nothing.

        `keeps_bindings` tells whether a restarted switch still has its bindings. Commands that
        an earlier run left behind run within `late_max_s` from now. Raises StateError.
        """
        self.inventory = inventory
        self.late_max_s = late_max_s
        self.keeps_bindings = keeps_bindings
        devices = {device.id: device for device in inventory.devices}
        self.switches = {
            switch.id: SimulatedSwitch(switch, devices, permissive=permissive)
            for switch in inventory.switches
        }
        self._clock = clock
        self._state = VirtualState(state, inventory.fabric, journal_max)
        self._late: list[_Waiting] = []
        self._down_until_s: dict[str, float] = {}
        self._listeners: list[Listener] = []
        self.had_manager = self._state.described()
        """Whether a manager may have sent commands before; the first driver sets it."""
        self._state.describe(v for s in inventory.switches for v in s.virtual_switches)
        self._restore()

    def oracle(self) -> Oracle:
        """Return a reader of this hardware's own memory."""
        return Oracle(self._state.connection)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Tell `listener` of every event until the returned function is called."""
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    def reachable(self, switch: str) -> bool:
        """Whether the switch answers on its management link."""
        self.advance()
        return switch not in self._down_until_s

    def bindings(self, switch: str) -> dict[VppbId, BindTarget | None]:
        """Return the true binding of every vPPB of a switch, now."""
        self.advance()
        simulated = self.switches[switch]
        return {vppb: simulated.bindings.get(vppb) for vppb in simulated.vppbs()}

    def binding(self, vppb: VppbId) -> BindTarget | None:
        """Return the true binding of one vPPB now. Raises Refused for an unknown one."""
        self.advance()
        simulated = self.switches[vppb.switch]
        if not simulated.has(vppb):
            raise Refused(Refusal.UNKNOWN_VPPB, f"{vppb.switch} VCS {vppb.vcs} vPPB {vppb.vppb}")
        return simulated.bindings.get(vppb)

    def port_states(self, switch: str) -> dict[PortId, PortState]:
        """Return the state of every port of a switch."""
        return self.switches[switch].port_states()

    def execute(self, step: Step, cause: str = "command") -> None:
        """Run a command now. Raises Refused. With cause "outside", listeners are told."""
        self.advance()
        self._run(step, cause, self._clock.wall_s())
        if cause == "outside":
            self._tell(step.vppb.switch, Event.CHANGED)

    def postpone(self, step: Step, delay_s: float) -> None:
        """Run a command `delay_s` from now (service clock; at most `late_max_s`)."""
        if not 0 <= delay_s <= self.late_max_s:
            raise ValueError(f"a command runs late by 0 to {self.late_max_s} s, not {delay_s}")
        command = self._state.postpone(step, self._clock.wall_s() + delay_s)
        self._wait_for(_Waiting(self._clock.now_s() + delay_s, command))

    def advance(self) -> None:
        """Run what is due. Everything else here does so first; a driver's watch does in time."""
        now_s = self._clock.now_s()
        while self._late and self._late[0].due_s <= now_s:
            waiting = self._late.pop(0)
            step = waiting.command.step
            if self._run(step, "late", waiting.command.due_s, waiting.command):
                self._tell(step.vppb.switch, Event.CHANGED)
        for switch in [s for s, until_s in self._down_until_s.items() if until_s <= now_s]:
            del self._down_until_s[switch]
            self._tell(switch, Event.BACK)

    def next_s(self) -> float | None:
        """Return when something happens by itself next (service clock), None if nothing will."""
        times = [waiting.due_s for waiting in self._late[:1]]
        times += [until_s for until_s in self._down_until_s.values() if until_s != float("inf")]
        return min(times, default=None)

    def set_port(
        self,
        port: PortId,
        *,
        link_up: bool | None = None,
        present: bool | None = None,
        health: str | None = None,
        width: int | None = None,
    ) -> None:
        """Change a port: link, device presence, health, trained lanes. None leaves it as it is.

        Raises Refused for an unknown port.
        """
        self.advance()
        given = {"link_up": link_up, "present": present, "health": health, "width": width}
        changes = {name: value for name, value in given.items() if value is not None}
        before = self.switches[port.switch].conditions.get(port.port, PortCondition())
        condition = self.switches[port.switch].set_port(port.port, **changes)
        if condition == before:
            return
        note = ", ".join(f"{name}={value}" for name, value in changes.items())
        action = Action(
            self._clock.wall_s(), "port", "outside", port.switch, port=port.port, note=note
        )
        self._state.record_port(port, condition, action)
        self._tell(port.switch, Event.CHANGED)

    def cut(self, switch: str, down_s: float = float("inf")) -> None:
        """Cut the management link for `down_s` seconds (0: reset it, it is back at once)."""
        self.advance()
        self._take_down(switch, down_s, Event.CUT)

    def heal(self, switch: str) -> None:
        """Bring a cut management link back."""
        if self._down_until_s.pop(switch, None) is not None:
            self._tell(switch, Event.BACK)

    def restart(self, switch: str, down_s: float = 0.0) -> None:
        """Restart a switch: its commands are gone, and its bindings unless it keeps them."""
        self.advance()
        now_s, simulated = self._clock.wall_s(), self.switches[switch]
        self._late = [w for w in self._late if w.command.step.vppb.switch != switch]
        self._state.forget_late(switch)
        actions = [Action(now_s, "restart", "restart", switch)]
        for vppb, target in () if self.keeps_bindings else list(simulated.bindings.items()):
            simulated.force(vppb, None)
            actions.append(Action(now_s, "unbind", "restart", switch, vppb, target))
        self._state.record(actions)
        self._take_down(switch, down_s, Event.RESTARTED)

    def close(self) -> None:
        """Power off: close the file. Safe to repeat."""
        self._listeners.clear()
        self._state.close()

    def _restore(self) -> None:
        kept = self._state.load()
        for vppb, target in kept.bindings.items():
            switch = self.switches.get(vppb.switch)
            # The topology may have lost this vPPB since: there is nothing to hold its binding.
            if switch is not None and switch.has(vppb):
                switch.force(vppb, target)
        for port, condition in kept.ports.items():
            if port.switch in self.switches:
                self.switches[port.switch].conditions[port.port] = condition
        now_s, wall_s = self._clock.now_s(), self._clock.wall_s()
        for command in kept.late:
            # The wall clock may have been set meanwhile: the bound holds, whatever it says.
            delay_s = min(max(command.due_s - wall_s, 0.0), self.late_max_s)
            self._wait_for(_Waiting(now_s + delay_s, command))

    def _wait_for(self, waiting: _Waiting) -> None:
        self._late.append(waiting)
        self._late.sort(key=lambda w: (w.due_s, w.command.n))

    def _run(
        self, step: Step, cause: str, at_s: float, finished: LateCommand | None = None
    ) -> bool:
        """Run and journal a command; returns whether it changed a binding.

        Raises Refused, but not for a late command: nobody is there to hear it.
        """
        switch, vppb = step.vppb.switch, step.vppb
        simulated = self.switches.get(switch)
        try:
            if simulated is None:
                raise Refused(Refusal.UNKNOWN_VPPB, f"switch {switch}")
            before = simulated.execute(step)
        except Refused as refused:
            note = refused.refusal.name
            action = Action(at_s, "refused", cause, switch, vppb, step.target, note=note)
            self._state.record((action,), finished)
            if finished is None:
                raise
            return False
        self._state.record(_changes(step, before, cause, at_s), finished)
        after = simulated.bindings.get(vppb)
        return after != before

    def _take_down(self, switch: str, down_s: float, event: Event) -> None:
        if down_s > 0:
            self._down_until_s[switch] = self._clock.now_s() + down_s
        self._tell(switch, event)

    def _tell(self, switch: str, event: Event) -> None:
        for listener in tuple(self._listeners):
            listener(switch, event)


def _changes(step: Step, before: BindTarget | None, cause: str, at_s: float) -> list[Action]:
    """Return what to journal of a command that was accepted: nothing where nothing changed."""
    switch, vppb = step.vppb.switch, step.vppb
    if isinstance(step, Unbind):
        return [] if before is None else [Action(at_s, "unbind", cause, switch, vppb, before)]
    assert isinstance(step, Bind)  # noqa: S101 - Step has two members
    return [] if before == step.target else [Action(at_s, "bind", cause, switch, vppb, step.target)]
