"""All simulated switches and devices of one fabric, powered: they keep state and run on.

Knows switches, devices, what is kept of them, and two clocks: everything physical (links train,
contents are sanitized) takes time of the fabric clock; late commands and outages of the management
link are bounded in service time, like the driver's `late_max_s`. Knows nothing of sessions or
deadlines: that is the driver's. It outlives drivers, as powered hardware outlives the service;
everything in it happens synchronously.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from redfish_fm.clocks import Clock
from redfish_fm.drivers.virtual.cabling import Cabling
from redfish_fm.drivers.virtual.capacity import Extent
from redfish_fm.drivers.virtual.contents import Life
from redfish_fm.drivers.virtual.device import SimulatedDevice
from redfish_fm.drivers.virtual.devices import Devices
from redfish_fm.drivers.virtual.events import Event, Listener
from redfish_fm.drivers.virtual.late import LateCommands
from redfish_fm.drivers.virtual.links import TRAINING_S
from redfish_fm.drivers.virtual.oracle import Oracle
from redfish_fm.drivers.virtual.refusals import (
    PERMISSIVE,
    Forgets,
    Refusal,
    Refused,
    describe,
    switch_of,
)
from redfish_fm.drivers.virtual.state import Action, LateCommand, PortCondition, VirtualState
from redfish_fm.drivers.virtual.switch import SimulatedSwitch
from redfish_fm.fabric.link_errors import LinkErrors
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    BindTarget,
    Deallocate,
    FabricKind,
    Inventory,
    PartState,
    PortId,
    PortState,
    Qos,
    Sanitize,
    SetQos,
    Step,
    Unbind,
    VppbId,
)


class Hardware:
    """The switches and devices of one fabric. Made once per powered fabric; drivers come and go."""

    def __init__(
        self,
        inventory: Inventory,
        clock: Clock,
        state: Path | None = None,
        *,
        fabric_clock: Clock | None = None,
        late_max_s: float = 2.0,
        training_s: float = TRAINING_S,
        permissive: bool = False,
        forgets: frozenset[Forgets] = frozenset(),
        keeps_bindings: bool = True,
        journal_max: int = 100_000,
    ) -> None:
        """Power up: `state` is the file kept by an earlier run, None keeps nothing.

        `clock` is the service clock, `fabric_clock` that of physics (None: the same). `forgets`
        are checks that this hardware leaves out, `permissive` stands for PERMISSIVE.
        `keeps_bindings` tells whether a restarted switch still has its bindings. Commands that an
        earlier run left behind run within `late_max_s` from now. Raises StateError.
        """
        self.inventory = inventory
        self.late_max_s = late_max_s
        self.keeps_bindings = keeps_bindings
        careless = forgets | PERMISSIVE if permissive else forgets
        self._clock = clock
        self._fabric_clock = fabric_clock or clock
        self.devices = Devices(inventory, self._fabric_clock, careless)
        self.switches: dict[str, SimulatedSwitch] = {}
        for switch in inventory.switches:
            self.switches[switch.id] = SimulatedSwitch(
                switch,
                self.devices,
                self.switches,
                forgets=careless,
                training_s=training_s,
                networked=inventory.kind is FabricKind.CONNECTION_GRANTS,
            )
        self._cabling = Cabling(
            self.switches, self._fabric_clock, lambda switch: self._tell(switch, Event.TIMER)
        )
        self._state = VirtualState(state, inventory.fabric, journal_max)
        self._late = LateCommands(self._state, clock, late_max_s)
        self._down_until_s: dict[str, float] = {}
        self._listeners: list[Listener] = []
        self.had_manager = self._state.described()
        """Whether a manager may have sent commands before; the first driver sets it."""
        virtual_switches = (v for s in inventory.switches for v in s.virtual_switches)
        self._state.describe(virtual_switches, self.devices.values())
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

    # -- what a manager sees --------------------------------------------------------------------

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
        self.advance()
        return self.switches[switch].port_states()

    def part_states(self, switch: str) -> dict[BindTarget, PartState]:
        """Return what is allocated behind a switch, and what contents are kept track of."""
        self.advance()
        return self.devices.states(switch)

    def bandwidths(self, switch: str) -> dict[BindTarget, Qos]:
        """Return the bandwidth of every LD behind a switch whose device tells it."""
        self.advance()
        return self.devices.bandwidths(switch)

    def extents(self, target: BindTarget) -> tuple[Extent, ...]:
        """Return what an allocated part is made of, by address; empty for any other target."""
        device = self.devices.at(target)
        part = None if device is None else device.part(target)
        return () if part is None else part.extents

    # -- commands -------------------------------------------------------------------------------

    def execute(self, step: Step, cause: str = "command") -> None:
        """Run a command now. Raises Refused. Listeners are told unless the cause is "command"."""
        self.advance()
        self._run(step, cause, self._clock.wall_s())
        if cause != "command":
            self._tell_all(step)

    def postpone(self, step: Step, delay_s: float) -> None:
        """Run a command `delay_s` from now (service clock; at most `late_max_s`)."""
        self._late.postpone(step, delay_s)
        self._tell(switch_of(step), Event.TIMER)

    # -- time -----------------------------------------------------------------------------------

    def advance(self) -> None:
        """Run what is due. Everything else here does so first; a driver's watch does in time."""
        while (command := self._late.pop_due()) is not None:
            if self._run(command.step, "late", command.due_s, command):
                self._tell_all(command.step)
        now_s = self._clock.now_s()
        for switch in [s for s, until_s in self._down_until_s.items() if until_s <= now_s]:
            del self._down_until_s[switch]
            self._tell(switch, Event.BACK)
        for switch in self._cabling.advance():
            # A switch that does not answer tells nothing; it is looked at when it is back.
            if switch not in self._down_until_s:
                self._tell(switch, Event.CHANGED)
        for device, targets in self.devices.advance():
            at_s = self._clock.wall_s()
            actions = [Action(at_s, "sanitized", "time", t.switch, target=t) for t in targets]
            self._keep((device,), actions)
            self._tell_device(device)

    def next_s(self) -> float | None:
        """Return when something happens by itself next (service clock), None if nothing will."""
        late_s = self._late.next_s()
        times = [] if late_s is None else [late_s]
        times += [until_s for until_s in self._down_until_s.values() if until_s != float("inf")]
        return min(times, default=None)

    def next_fabric_s(self) -> float | None:
        """Return when physics changes something next (fabric clock), None if nothing will."""
        times = (self._cabling.next_s(), self.devices.next_s())
        return min((time_s for time_s in times if time_s is not None), default=None)

    # -- ports and links ------------------------------------------------------------------------

    def set_port(
        self,
        port: PortId,
        *,
        link_up: bool | None = None,
        present: bool | None = None,
        health: str | None = None,
        width: int | None = None,
        gen: int | None = None,
    ) -> None:
        """Change a port: link, cable, health, the lanes and generation it trains to.

        None leaves it as it is. A link that comes up trains first. Raises Refused for an unknown
        port.
        """
        self.advance()
        switch = self._switch(port.switch)
        given = {
            "link_up": link_up, "present": present, "health": health, "width": width, "gen": gen
        }  # fmt: skip
        changes = {name: value for name, value in given.items() if value is not None}
        before = switch.conditions.get(port.port, PortCondition())
        switch.set_port(port.port)
        could = switch.can_link(port.port)
        condition = switch.set_port(port.port, **changes)
        if condition == before:
            return
        if switch.can_link(port.port) != could:
            self._cabling.train((port,))
        note = ", ".join(f"{name}={value}" for name, value in changes.items())
        at_s = self._clock.wall_s()
        action = Action(at_s, "port", "outside", port.switch, port=port.port, note=note)
        ends = self._cabling.ends((port,))
        counted = {end: self.switches[end.switch].counted(end.port) for end in ends}
        self._state.record_port(port, condition, action, counted)
        self._tell_ends(counted)

    def reset_link(self, port: PortId) -> None:
        """Train the link of a port anew. Raises Refused for an unknown port."""
        self.advance()
        self._switch(port.switch).set_port(port.port)
        counted = self._cabling.train((port,))
        self._state.record((), links=counted)
        self._tell_ends(counted)

    # -- devices --------------------------------------------------------------------------------

    def remove_device(self, device: str) -> None:
        """Pull a device out, all its ports at once; what is bound stays bound."""
        self._live(device, present=False)

    def return_device(self, device: str, serial_number: str | None = None) -> None:
        """Plug a device in again; with another serial number it is another one, and blank."""
        changes: dict[str, object] = {"present": True}
        if serial_number is not None:
            changes["serial_number"] = serial_number
        self._live(device, **changes)

    def power_device(self, device: str, on: bool) -> None:
        """Give a device power or take it away; its links follow, bindings stay in the switch."""
        self._live(device, powered=on)

    def set_device_health(self, device: str, health: str) -> None:
        """Change a device's health, a Redfish Status.Health string."""
        self._live(device, health=health)

    def set_switch_health(self, switch: str, health: str) -> None:
        """Change a switch's health, a Redfish Status.Health string."""
        self.advance()
        simulated = self._switch(switch)
        if simulated.health == health:
            return
        simulated.health = health
        note = f"health={health}"
        action = Action(self._clock.wall_s(), "switch", "outside", switch, note=note)
        self._state.record_switch(switch, health, action)
        self._tell(switch, Event.CHANGED)

    def domain(self, domain: str) -> tuple[str, ...]:
        """Return the devices of one failure domain (a memory appliance, a drive box)."""
        return tuple(d.id for d in self.inventory.devices if d.domain == domain)

    def power_host(self, host: str, on: bool) -> None:
        """Give a host power or take it away: the links of its ports follow, bindings stay."""
        self.advance()
        for id_, switch in self.switches.items():
            self._cabling.train(ports := switch.power_host(host, on), announced=True)
            if ports:
                self._tell(id_, Event.CHANGED)

    # -- switches -------------------------------------------------------------------------------

    def cut(self, switch: str, down_s: float = float("inf")) -> None:
        """Cut the management link for `down_s` seconds (0: reset it, it is back at once)."""
        self.advance()
        self._take_down(switch, down_s, Event.CUT)

    def heal(self, switch: str) -> None:
        """Bring a cut management link back."""
        if self._down_until_s.pop(switch, None) is not None:
            self._tell(switch, Event.BACK)

    def restart(
        self, switch: str, down_s: float = 0.0, *, keeps_bindings: bool | None = None
    ) -> None:
        """Restart a switch: its commands are gone, what its ports counted too; its links train
        anew; its bindings are gone unless it keeps them (None: as the hardware was made)."""
        self.advance()
        keeps = self.keeps_bindings if keeps_bindings is None else keeps_bindings
        now_s, simulated = self._clock.wall_s(), self._switch(switch)
        self._late.forget(switch)
        actions = [Action(now_s, "restart", "restart", switch)]
        for vppb, target in () if keeps else list(simulated.bindings.items()):
            simulated.force(vppb, None)
            actions.append(Action(now_s, "unbind", "restart", switch, vppb, target))
        simulated.errors.clear()
        counted = self._cabling.train((p.id for p in simulated.facts.ports), announced=True)
        self._state.record(actions, links=counted)
        self._tell_ends(port for port in counted if port.switch != switch)
        self._take_down(switch, down_s, Event.RESTARTED)

    def close(self) -> None:
        """Power off: close the file. Safe to repeat."""
        self._listeners.clear()
        self._state.close()

    # -- the rest -------------------------------------------------------------------------------

    def _restore(self) -> None:
        kept = self._state.load()
        self._state.restore(self.devices, -self._shift_s())
        self.devices.resume()
        for vppb, target in kept.bindings.items():
            switch = self.switches.get(vppb.switch)
            # The topology may have lost this vPPB since: there is nothing to hold its binding.
            if switch is not None and switch.has(vppb):
                switch.force(vppb, target)
        for port, condition in kept.ports.items():
            if port.switch in self.switches:
                self.switches[port.switch].conditions[port.port] = condition
        for port, errors in kept.errors.items():
            if port.switch in self.switches:
                self.switches[port.switch].errors[port.port] = errors
        for id_, health in kept.switch_health.items():
            if id_ in self.switches:
                self.switches[id_].health = health
        for switch in self.switches.values():
            switch.wake()
        self._late.restore(kept.late)

    def _shift_s(self) -> float:
        """Return what leads from the fabric clock to seconds since 1970."""
        return self._clock.wall_s() - self._fabric_clock.now_s()

    def _run(
        self, step: Step, cause: str, at_s: float, finished: LateCommand | None = None
    ) -> bool:
        """Run and journal a command; returns whether it changed anything.

        Raises Refused, but not for a late command: nobody is there to hear it.
        """
        touched = [step.target]
        try:
            if switch_of(step) not in self.switches:
                raise Refused(Refusal.UNKNOWN_VPPB, f"switch {switch_of(step)}")
            if isinstance(step, Bind | Unbind):
                bound = self.switches[switch_of(step)].bindings.get(step.vppb)
                touched += [] if bound is None else [bound]
                actions = self._run_binding(step, cause, at_s)
            else:
                actions = self._run_part(step, cause, at_s)
        except Refused as refused:
            vppb = step.vppb if isinstance(step, Bind | Unbind) else None
            action = Action(at_s, "refused", cause, switch_of(step), vppb, step.target,
                            note=refused.refusal.name)  # fmt: skip
            self._state.record((action,), finished)
            if finished is None:
                raise
            return False
        self._keep(filter(None, map(self.devices.at, touched)), actions, finished)
        return bool(actions)

    def _run_binding(self, step: Bind | Unbind, cause: str, at_s: float) -> list[Action]:
        """Bind or unbind; returns what to journal of it: nothing where nothing changed."""
        switch, vppb = step.vppb.switch, step.vppb
        before, exposed = self.switches[switch].execute(step, given_up=cause != "outside")
        if isinstance(step, Unbind):
            return [] if before is None else [Action(at_s, "unbind", cause, switch, vppb, before)]
        if before == step.target:
            return []
        device = self.devices.at(step.target)
        shared = device is not None and device.is_shareable(step.target)
        actions = [Action(at_s, "bind", cause, switch, vppb, step.target, shared=shared)]
        if exposed:
            note = ", ".join(sorted(exposed))
            actions.append(Action(at_s, "exposed", cause, switch, vppb, step.target, note=note))
        return actions

    def _run_part(
        self, step: Allocate | Deallocate | Sanitize | SetQos, cause: str, at_s: float
    ) -> list[Action]:
        """Change a part, its contents or its bandwidth; returns what to journal of it."""
        switch = self.switches[step.target.switch]
        if switch.device_at(step.target.port) is None:
            raise Refused(Refusal.UNKNOWN_PORT, describe(step))
        if not self.devices.execute(step):
            return []
        if isinstance(step, Sanitize):
            self._tell(step.target.switch, Event.TIMER)
        note = f"{step.size_mib} MiB" if isinstance(step, Allocate) else None
        if isinstance(step, SetQos):
            note = f"{step.qos.allocated} %, at most {step.qos.limit} %"
        what = type(step).__name__.lower()
        return [Action(at_s, what, cause, step.target.switch, target=step.target, note=note)]

    def _live(self, device: str, **changes: object) -> None:
        """Change how a device is. Raises Refused for an unknown one."""
        self.advance()
        simulated = self.devices.get(device)
        if simulated is None:
            raise Refused(Refusal.DEVICE_ABSENT, f"device {device}")
        before: Life = simulated.life
        simulated.live(replace(before, **changes))  # type: ignore[arg-type]
        if simulated.life == before:
            return
        note = ", ".join(f"{name}={value}" for name, value in changes.items())
        at_s, first = self._clock.wall_s(), simulated.ports[0]
        action = Action(at_s, "device", "outside", first.switch, port=first.port,
                        note=f"{device}: {note}")  # fmt: skip
        for port in simulated.ports:
            self.switches[port.switch].look_again(port.port)
        now = simulated.life
        relinked = (before.present, before.powered) != (now.present, now.powered)
        links = self._cabling.train(simulated.ports) if relinked else None
        self._keep((simulated,), [action], links=links)
        self._tell_device(simulated)

    def _keep(
        self,
        devices: Iterable[SimulatedDevice],
        actions: list[Action],
        finished: LateCommand | None = None,
        links: Mapping[PortId, LinkErrors] | None = None,
    ) -> None:
        aged, shift_s = any(a.what in ("device", "setqos") for a in actions), self._shift_s()
        changed = [(device, shift_s) for device in devices if device.changed or aged]
        if actions or finished is not None:
            self._state.record(actions, finished, changed, links)

    def _switch(self, switch: str) -> SimulatedSwitch:
        found = self.switches.get(switch)
        if found is None:
            raise Refused(Refusal.UNKNOWN_PORT, f"switch {switch}")
        return found

    def _take_down(self, switch: str, down_s: float, event: Event) -> None:
        if down_s > 0:
            self._down_until_s[switch] = self._clock.now_s() + down_s
        self._tell(switch, event)

    def _tell_all(self, step: Step) -> None:
        """Tell of a command's effect: on its switch, and wherever else its device is plugged."""
        device = None if isinstance(step, Bind | Unbind) else self.devices.at(step.target)
        if device is None:
            self._tell(switch_of(step), Event.CHANGED)
        else:
            self._tell_device(device)

    def _tell_device(self, device: SimulatedDevice) -> None:
        self._tell_ends(device.ports)

    def _tell_ends(self, ports: Iterable[PortId]) -> None:
        for switch in dict.fromkeys(port.switch for port in ports):
            self._tell(switch, Event.CHANGED)

    def _tell(self, switch: str, event: Event) -> None:
        for listener in tuple(self._listeners):
            listener(switch, event)
