"""The driver of the virtual fabric: sessions, deadlines, ordering and faults over Hardware.

Satisfies drivers.base.Driver. It behaves as a driver of a real switch must: one command at a
time per switch, nothing known of a command whose answer did not come, a barrier that proves
only what the link proves. It enforces none of our isolation rules.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from redfish_fm.clocks import Clock
from redfish_fm.drivers.base import (
    DriverError,
    DriverNotSent,
    DriverRejected,
    DriverUnavailable,
)
from redfish_fm.drivers.virtual import port_resets
from redfish_fm.drivers.virtual.events import Event
from redfish_fm.drivers.virtual.faults import (
    Dropped,
    Fault,
    FaultPlan,
    Late,
    Lost,
    Pretend,
    Refuse,
    Restart,
    Slow,
)
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.refusals import Forgets, Refused, describe, switch_of
from redfish_fm.drivers.virtual.session import Command, LinkSession
from redfish_fm.drivers.virtual.state import virtual_db
from redfish_fm.drivers.virtual.watch import Watchers, wait_until
from redfish_fm.fabric.model import (
    BindTarget,
    Hint,
    Inventory,
    Observation,
    PartState,
    PortId,
    PortState,
    Qos,
    Step,
    Unbind,
    VppbId,
)
from redfish_fm.fabric.port_control import PortReset

COMMAND_S = 0.002
"""Usual time of one command in fabric seconds; emulators measured take 0.2 to 40 ms."""

LATE_MAX_S = 2.0
"""Usual bound on late execution in service seconds."""


def create(
    inventory: Inventory,
    clock: Clock,
    fabric_clock: Clock,
    state: Path | None = None,
    seed: int = 0,
    *,
    command_s: float = COMMAND_S,
    late_max_s: float = LATE_MAX_S,
    permissive: bool = False,
    forgets: frozenset[Forgets] = frozenset(),
    keeps_bindings: bool = True,
) -> "VirtualDriver":
    """Power up the hardware of `inventory` and return a driver that owns it.

    `state` is the service's state directory (None keeps nothing): one file in it serves all
    virtual fabrics. `clock` is the service clock, `fabric_clock` that of physics; all chance
    comes from `seed`. Call it where an event loop runs. Raises state.StateError.
    """
    hardware = Hardware(
        inventory,
        clock,
        None if state is None else virtual_db(state),
        fabric_clock=fabric_clock,
        late_max_s=late_max_s,
        permissive=permissive,
        forgets=forgets,
        keeps_bindings=keeps_bindings,
    )
    faults = FaultPlan(f"{seed} {inventory.fabric}")
    return VirtualDriver(
        hardware, clock, fabric_clock, faults, command_s=command_s, owns_hardware=True
    )


@dataclass(slots=True)
class _InFlight:
    """A command whose bytes were written and which the switch has not finished."""

    command: Command
    step: Step
    fault: Fault | None
    heard: bool = True
    """Whether somebody still waits for the answer."""


@dataclass(slots=True)
class _Link:
    """The management link to one switch: in order, one command at a time."""

    session: LinkSession
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    in_flight: _InFlight | None = None


class VirtualDriver:
    """One session with powered hardware; a new one after a crash is a new session.

    `hardware` and `faults` are open to tests and scenarios.
    """

    def __init__(
        self,
        hardware: Hardware,
        clock: Clock,
        fabric_clock: Clock,
        faults: FaultPlan | None = None,
        *,
        command_s: float = COMMAND_S,
        owns_hardware: bool = False,
    ) -> None:
        self.hardware = hardware
        self.faults = faults or FaultPlan()
        self.late_max_s = hardware.late_max_s
        self._fabric = hardware.inventory.fabric
        self._clock = clock
        self._fabric_clock = fabric_clock
        self._command_s = command_s
        self._owns_hardware = owns_hardware
        self._closed = False
        self._running: set[asyncio.Task[DriverError | None]] = set()
        self._watchers = Watchers(self._fabric, hardware, clock, fabric_clock)
        now_s = clock.now_s()
        self._links = {
            switch: _Link(LinkSession(now_s, self.late_max_s, hardware.had_manager))
            for switch in hardware.switches
        }
        hardware.had_manager = True
        self._stop_listening = hardware.listen(self._on_event)

    async def discover(self) -> Inventory:
        """Return the inventory. Raises DriverUnavailable when no switch answers."""
        self._check_open()
        await self._fabric_clock.sleep(self._command_s)
        if self._links and not any(self.hardware.reachable(switch) for switch in self._links):
            raise DriverUnavailable(f"no switch of fabric {self._fabric} answers")
        return self.hardware.inventory

    async def observe(self) -> Observation:
        """Ask all switches at once. Raises DriverUnavailable when none answers."""
        self._check_open()
        self.hardware.advance()
        started_s = self._clock.now_s()
        questions = {name: link.session.ask(started_s) for name, link in self._links.items()}
        await self._fabric_clock.sleep(self._command_s + self.faults.observe_s)
        self._check_open()
        bindings: dict[VppbId, BindTarget | None] = {}
        ports: dict[PortId, PortState] = {}
        parts: dict[BindTarget, PartState] = {}
        health: dict[str, str] = {}
        qos: dict[BindTarget, Qos] = {}
        barriers_s, silent = [], set()
        for name, link in self._links.items():
            if self.hardware.reachable(name):
                bindings |= self.faults.seen(self.hardware.bindings(name))
                ports |= self.hardware.port_states(name)
                parts |= self.faults.seen_parts(name, self.hardware.part_states(name))
                qos |= self.faults.seen_qos(name, self.hardware.bandwidths(name))
                health[name] = self.hardware.switches[name].health
                link.session.reply(questions[name])
            else:
                silent.add(name)
            barriers_s.append(link.session.barrier_s(started_s))
        if silent and len(silent) == len(self._links):
            raise DriverUnavailable(f"no switch of fabric {self._fabric} answers")
        return Observation(
            fabric=self._fabric,
            started_s=started_s,
            barrier_s=min(barriers_s, default=started_s),
            bindings=bindings,
            ports=ports,
            unreachable=frozenset(silent),
            parts=parts,
            switch_health=health,
            qos=qos,
        )

    async def apply(self, step: Step, deadline_s: float) -> None:
        """Carry out one step, as drivers.base.Driver.apply says.

        Giving up (deadline, cancellation) takes back a command that still waits for its turn;
        one that was sent goes on in the switch.
        """
        self._check_open()
        link = self._links.get(switch_of(step))
        if link is None:
            raise DriverRejected(f"{describe(step)}: fabric {self._fabric} has no such switch")
        command = link.session.hand(self._clock.now_s())
        task = asyncio.create_task(self._carry_out(link, command, step, deadline_s))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            await wait_until(task, self._clock, deadline_s)
        finally:
            if not task.done():
                _give_up(link, command, task)
        if not task.done():
            raise DriverUnavailable(f"{describe(step)}: no answer before the deadline")
        if task.cancelled():
            raise DriverUnavailable(f"{describe(step)}: the driver was closed")
        error = task.result()
        if error is not None:
            raise error

    async def reset_port(self, port: PortId, asked: PortReset, deadline_s: float) -> None:
        """Reset a downstream port, as drivers.base.PortControl says."""
        self._check_open()
        link, what = self._links.get(port.switch), f"reset of port {port.port} of {port.switch}"
        if link is None:
            raise DriverRejected(f"{what}: fabric {self._fabric} has no such switch")
        try:
            async with asyncio.timeout(deadline_s - self._clock.now_s()):
                await link.turn.acquire()
        except TimeoutError as error:
            raise DriverNotSent(f"{what}: not sent, its deadline has passed") from error
        try:
            await self._reset_port(port, asked, what)
        finally:
            link.turn.release()

    async def _reset_port(self, port: PortId, asked: PortReset, what: str) -> None:
        self._check_open()
        if not self.hardware.reachable(port.switch):
            raise DriverNotSent(f"{what}: not sent, the switch does not answer")
        refused = port_resets.refusal(self.hardware, port)
        await self._fabric_clock.sleep(self._command_s)
        if refused is not None:
            raise DriverRejected(f"{what}: {refused}")
        await self._fabric_clock.sleep(port_resets.reset_s(asked))
        self._check_open()
        self.hardware.reset_link(port)
        if not self.hardware.reachable(port.switch):
            raise DriverUnavailable(f"{what}: outcome unknown, the link was reset")

    def watch(self) -> AsyncIterator[Hint]:
        """Yield a hint for every switch that changed without an answered apply saying so."""
        self._check_open()
        return self._watchers.watch()

    async def close(self) -> None:
        """End the session; commands under way stay with the switches. Safe to repeat."""
        if self._closed:
            return
        self._closed = True
        self._stop_listening()
        for link in self._links.values():
            self._reset(link)
        self._watchers.close()
        running = tuple(self._running)
        for task in running:
            task.cancel()
        try:
            await asyncio.gather(*running, return_exceptions=True)
        finally:
            if self._owns_hardware:
                self.hardware.close()

    async def _carry_out(
        self, link: _Link, command: Command, step: Step, deadline_s: float
    ) -> DriverError | None:
        """Wait for the turn of a command, send it, and return how it ended."""
        async with link.turn:
            error = self._not_sent(step, deadline_s)
            if error is not None or self._is_free_already(step):
                link.session.settle(command)
                return error
            link.session.send(command)
            flight = _InFlight(command, step, self.faults.draw(step))
            link.in_flight = flight
            slow_s = flight.fault.delay_s if isinstance(flight.fault, Slow) else 0.0
            await self._fabric_clock.sleep(self._command_s + slow_s)
            if link.in_flight is None:
                return _no_answer(step, "the link was reset")
            link.in_flight = None
            return self._finish(link, flight)

    def _not_sent(self, step: Step, deadline_s: float) -> DriverError | None:
        """Return why the bytes are not written. Nothing awaits between this and the sending."""
        if self._clock.now_s() >= deadline_s:
            return DriverUnavailable(f"{describe(step)}: not sent, its deadline has passed")
        if not self.hardware.reachable(switch_of(step)):
            return DriverUnavailable(f"{describe(step)}: not sent, the switch does not answer")
        return None

    def _is_free_already(self, step: Step) -> bool:
        """Whether an Unbind has nothing to do; the command itself could not name its target."""
        if not isinstance(step, Unbind):
            return False
        try:
            bound = self.hardware.binding(step.vppb)
        except Refused:
            return False
        return self.faults.seen({step.vppb: bound})[step.vppb] != step.target

    def _finish(self, link: _Link, flight: _InFlight) -> DriverError | None:
        """Let the switch do what it was sent, or what the fault makes of it."""
        command, step = flight.command, flight.step
        switch = switch_of(step)
        match flight.fault:
            case Late(delay_s):
                self.hardware.postpone(step, self._late_s() if delay_s is None else delay_s)
                self.hardware.cut(switch, 0.0)
                return _no_answer(step, "the link was reset")
            case Restart(executed, down_s):
                if executed:
                    self._execute(step)
                self.hardware.restart(switch, down_s)
                return _no_answer(step, "the switch restarted")
            case Dropped(reset) | Lost(reset):
                if isinstance(flight.fault, Lost):
                    self._execute(step)
                    self._watchers.hint(switch)
                link.session.lose(command)
                if reset:
                    self.hardware.cut(switch, 0.0)
                return _no_answer(step, "the link was reset" if reset else "no answer came")
        link.session.settle(command)
        if not flight.heard:
            self._watchers.hint(switch)
        match flight.fault:
            case Refuse(reason):
                return DriverRejected(f"{describe(step)}: {reason}")
            case Pretend(claim):
                if claim:
                    parts = self.hardware.part_states(switch)
                    self.faults.claim(step, parts.get(step.target))
                return None
        return self._execute(step)

    def _execute(self, step: Step) -> DriverError | None:
        try:
            self.hardware.execute(step)
        except Refused as refused:
            return DriverRejected(str(refused))
        return None

    def _on_event(self, switch: str, event: Event) -> None:
        """Hear from the hardware; a restart forgets what a cut link leaves running."""
        link = self._links[switch]
        if event is Event.TIMER:
            self._watchers.wake()
            return
        if event is Event.CUT:
            self._reset(link)
        elif event is Event.RESTARTED:
            link.in_flight = None
            link.session.reset(self._clock.now_s(), runs_late=False)
        self._watchers.hint(switch)

    def _reset(self, link: _Link) -> None:
        """The link is gone: what the switch was sent runs late, what it would not run never."""
        flight, link.in_flight = link.in_flight, None
        if flight is not None and not isinstance(flight.fault, Refuse | Dropped | Pretend):
            self.hardware.postpone(flight.step, self._late_s())
        link.session.reset(self._clock.now_s())

    def _late_s(self) -> float:
        return self.faults.chance.uniform(0.0, self.late_max_s)

    def _check_open(self) -> None:
        if self._closed:
            raise DriverUnavailable(f"the driver of fabric {self._fabric} is closed")


def _give_up(link: _Link, command: Command, task: "asyncio.Task[DriverError | None]") -> None:
    """Nobody waits for `command` any more: take it back unless it was sent."""
    if command.link is None:
        task.cancel()
        link.session.settle(command)
    elif link.in_flight is not None and link.in_flight.command is command:
        link.in_flight.heard = False


def _no_answer(step: Step, why: str) -> DriverUnavailable:
    return DriverUnavailable(f"{describe(step)}: outcome unknown, {why}")
