"""One simulated switch: what it binds when told, what it refuses, what its links do.

Pure state machine: the time is given (fabric clock), no I/O, no session, and none of our isolation
rules; it refuses only what hardware refuses. A real unbind names the vPPB alone, so an old unbind
that runs late frees whatever is bound by then. A link that is down or training does not keep a
switch from binding what is behind it (the vPPB is bound, the host sees it once the link is up), nor
does lost power; a missing device does.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from redfish_fm.drivers.virtual.device import SimulatedDevice
from redfish_fm.drivers.virtual.links import (
    RETRAINED,
    TRAINING_S,
    Negotiated,
    Training,
    changed,
    lost,
    negotiate,
)
from redfish_fm.drivers.virtual.refusals import Forgets, Refusal, Refused, describe
from redfish_fm.drivers.virtual.state import PortCondition
from redfish_fm.fabric.link_errors import NO_ERRORS, LinkErrors
from redfish_fm.fabric.model import (
    LD_FM_OWNED,
    Bind,
    BindTarget,
    CableState,
    FunctionType,
    Port,
    PortId,
    PortRole,
    PortState,
    Switch,
    Unbind,
    VppbId,
)

_BY_HEALTH = ("OK", "Warning", "Critical")


_USUAL = PortCondition()


class SimulatedSwitch:
    """The state of one switch. `bindings` holds bound vPPBs only, `errors` ports that had some.

    `forgets` names checks that this hardware leaves out, as some real emulators do; it still needs
    an existing vPPB and port. `networked`: upstream ports lead to a network instead of one host.
    """

    def __init__(
        self,
        facts: Switch,
        devices: Mapping[str, SimulatedDevice],
        others: Mapping[str, "SimulatedSwitch"] = MappingProxyType({}),
        *,
        forgets: frozenset[Forgets] = frozenset(),
        training_s: float = TRAINING_S,
        networked: bool = False,
    ) -> None:
        self.facts = facts
        self.health = "OK"
        self.bindings: dict[VppbId, BindTarget] = {}
        self.conditions: dict[str, PortCondition] = {}
        self.errors: dict[str, LinkErrors] = {}
        self._counts = facts.hardware is not None and facts.hardware.counts_errors
        self._training = Training(training_s)
        self._said: dict[str, PortState] = {}
        self._forgets = forgets
        self._networked = networked
        self._ports: dict[str, Port] = {port.id.port: port for port in facts.ports}
        self._ports_of: dict[str, list[PortId]] = {}
        for port in facts.ports:
            if port.host is not None:
                self._ports_of.setdefault(port.host, []).append(port.id)
        self._devices = devices
        self._others = others
        self._vppbs = {vcs.id: vcs.vppb_count for vcs in facts.virtual_switches}
        self._hosts = {
            vcs.id: vcs.host or f"nobody behind {facts.id}/{vcs.id}"
            for vcs in facts.virtual_switches
        }
        self._bound_to: dict[str, set[VppbId]] = {}
        self._dark: set[str] = set()
        self._down: set[str] = set()

    def vppbs(self) -> list[VppbId]:
        """Return every vPPB, bound or not."""
        switch = self.facts.id
        return [VppbId(switch, vcs, n) for vcs, count in self._vppbs.items() for n in range(count)]

    def has(self, vppb: VppbId) -> bool:
        """Whether that vPPB exists."""
        count = self._vppbs.get(vppb.vcs, 0)
        return vppb.switch == self.facts.id and 0 <= vppb.vppb < count

    def device_at(self, port: str) -> SimulatedDevice | None:
        """Return the device plugged in at a port, present or not."""
        found = self._ports.get(port)
        return None if found is None else self._devices.get(found.device or "")

    def port(self, port: str) -> Port | None:
        """Return a port as it is known from the beginning; None: there is none."""
        return self._ports.get(port)

    def peer(self, port: str) -> PortId | None:
        """Return the port of another switch at the far end of a port's link."""
        found = self._ports.get(port)
        return None if found is None else found.peer

    def refusal(self, step: Bind | Unbind) -> Refusal | None:
        """Return why this switch would refuse the command now, or None."""
        if not self.has(step.vppb):
            return Refusal.UNKNOWN_VPPB
        if not isinstance(step, Bind):
            return None
        port = self._ports.get(step.target.port)
        if port is None or step.target.switch != self.facts.id:
            return Refusal.UNKNOWN_PORT
        if self.bindings.get(step.vppb) == step.target:
            return None
        wrong = None if Forgets.TARGET in self._forgets else self._target_refusal(port, step.target)
        if wrong is not None:
            return wrong
        if step.vppb in self.bindings and Forgets.VPPB_BOUND not in self._forgets:
            return Refusal.VPPB_BOUND
        return self._taken(step)

    def execute(
        self, step: Bind | Unbind, *, given_up: bool = True
    ) -> tuple[BindTarget | None, frozenset[str]]:
        """Do it. Returns what the vPPB was bound to before, and whose data its host now sees.

        `given_up`: who loses a binding by it does not own that any more. Raises Refused, changing
        nothing.
        """
        refusal = self.refusal(step)
        if refusal is not None:
            raise Refused(refusal, describe(step))
        target = step.target if isinstance(step, Bind) else None
        before = self.force(step.vppb, target, given_up=given_up)
        device = None if target is None else self.device_at(target.port)
        if device is None or target is None or target == before:
            return before, frozenset()
        return before, device.attach(step.vppb, target, self._hosts[step.vppb.vcs])

    def force(
        self, vppb: VppbId, target: BindTarget | None, *, given_up: bool = False
    ) -> BindTarget | None:
        """Write a binding without asking (restored state); returns what was bound before."""
        before = self.bindings.pop(vppb, None)
        if before is not None:
            self._bound_to[before.port].discard(vppb)
            device = self.device_at(before.port)
            if device is not None:
                device.detach(vppb, given_up=given_up and before != target)
        if target is not None:
            self.bindings[vppb] = target
            self._bound_to.setdefault(target.port, set()).add(vppb)
            device = self.device_at(target.port)
            if device is not None:
                device.reattach(vppb, target, self._hosts[vppb.vcs])
        return before

    def set_port(self, port: str, **changes: object) -> PortCondition:
        """Change the condition of a port and return it. Raises Refused for an unknown port."""
        if port not in self._ports:
            raise Refused(Refusal.UNKNOWN_PORT, f"{self.facts.id} port {port}")
        before = self._link(port)
        self.conditions[port] = replace(self.condition(port), **changes)  # type: ignore[arg-type]
        after = self._link(port)
        far = self._far_end(port)
        if before is not None and after is not None and before != after:
            self.count(port, changed(before, after))
            if far is not None:
                far.switch.count(far.port, changed(before, after))
        self.look_again(port)
        if far is not None:
            far.switch.look_again(far.port)
        return self.conditions[port]

    def condition(self, port: str) -> PortCondition:
        """Return what was done to a port."""
        return self.conditions.get(port, _USUAL)

    def can_link(self, port: str) -> bool:
        """Whether both ends of a port's link are there and powered, and the link is not down."""
        facts, device = self._ports[port], self.device_at(port)
        conditions = self._at_both_ends(port)
        if not all(each.link_up and each.present for each in conditions):
            return False
        if facts.host in self._dark or (facts.peer is not None and len(conditions) < 2):
            return False
        return device.answers if device is not None else self._cabled(facts)

    def power_host(self, host: str, on: bool) -> list[PortId]:
        """Note that a host has power or not; return its ports, whose links follow if trained."""
        (self._dark.discard if on else self._dark.add)(host)
        ports = self._ports_of.get(host, [])
        for port in ports:
            self.look_again(port.port)
        return ports

    def wake(self) -> None:
        """Take the links that can be up for trained; conditions of ports and devices are known."""
        self._down = {port for port in self._ports if not self.can_link(port)}

    def train(self, port: str, now_s: float, *, announced: bool = False) -> None:
        """Train the link of a port anew where it can come up, else give it up.

        `announced`: both ends knew, so that neither counts an error.
        """
        self.look_again(port)
        can = self.can_link(port)
        if port not in self._down and not announced:
            self.count(port, RETRAINED if can else self._lost(port))
        if can:
            self._training.begin(port, now_s)
        else:
            self._training.stop(port)
        up = can and port not in self._training
        (self._down.discard if up else self._down.add)(port)

    def trained(self, now_s: float) -> bool:
        """End the training that has ended by now; returns whether any has."""
        done = self._training.advance(now_s)
        for port in done:
            self._down.discard(port)
            self.look_again(port)
        return bool(done)

    def next_trained_s(self) -> float | None:
        """Return when the next link is trained, None if none is training."""
        return self._training.next_s()

    def port_states(self) -> dict[PortId, PortState]:
        """Return what the switch says of each of its ports."""
        for port in self.facts.ports if len(self._said) < len(self._ports) else ():
            if port.id.port not in self._said:
                self._said[port.id.port] = self._port_state(port)
        return {port.id: self._said[port.id.port] for port in self.facts.ports}

    def counted(self, port: str) -> LinkErrors:
        """Return the errors that a port has counted."""
        return self.errors.get(port, NO_ERRORS)

    def count(self, port: str, more: LinkErrors) -> None:
        """Let a port count errors, if it counts any."""
        if self._counts:
            self.errors[port] = self.counted(port) + more

    def look_again(self, port: str) -> None:
        """Note that something at a port, or its device, has changed."""
        self._said.pop(port, None)

    def _target_refusal(self, port: Port, target: BindTarget) -> Refusal | None:
        """Return what is wrong with the target itself, whoever asks for it."""
        device = self._devices.get(port.device or "")
        if port.role is not PortRole.DOWNSTREAM:
            return Refusal.NOT_DOWNSTREAM
        if device is None or not self.condition(port.id.port).present:
            return Refusal.DEVICE_ABSENT
        if target.ld == LD_FM_OWNED and device.facts.lds:
            return Refusal.LD_FM_OWNED
        return device.target_refusal(target)

    def _taken(self, step: Bind) -> Refusal | None:
        """Return whether the target is in use through this port.

        What is bound through another port of the same device is not this switch's business.
        """
        device = self.device_at(step.target.port)
        shareable = device is not None and device.is_shareable(step.target)
        for vppb in self._bound_to.get(step.target.port, ()):
            refusal = None if vppb == step.vppb else _clash(
                self.bindings[vppb], step.target, device)  # fmt: skip
            if refusal is None or (shareable and self.bindings[vppb] == step.target):
                continue
            part = refusal is Refusal.PART_BOUND or (
                device is not None and bool(device.part(step.target))
            )
            forgotten = Forgets.SHAREABLE if part else Forgets.DOUBLE_BIND
            if forgotten not in self._forgets:
                return refusal
        return None

    def _far_end(self, port: str) -> "_FarEnd | None":
        """Return the other end of a link between switches; None of any other link."""
        peer = self._ports[port].peer
        other = None if peer is None else self._others.get(peer.switch)
        return None if peer is None or other is None else _FarEnd(other, peer.port)

    def _at_both_ends(self, port: str) -> tuple[PortCondition, ...]:
        """Return what was done to the port, and to that of another switch at the far end."""
        far = self._far_end(port)
        own = self.condition(port)
        return (own,) if far is None else (own, far.switch.condition(far.port))

    def _link(self, port: str) -> Negotiated | None:
        """Return what the link of a port runs at, None while it is not up."""
        return None if port in self._down or not self.can_link(port) else self._best(port)

    def _best(self, port: str, *, degraded: bool = True) -> Negotiated:
        """Return what the link of a port trains to: as it is, or as if it were not `degraded`."""
        device, far = self.device_at(port), self._far_end(port)
        there = None if far is None else far.switch.port(far.port)
        ends = [self._ports[port].link, *(() if device is None else (device.facts.link,))]
        ends += [] if there is None else [there.link]
        conditions = self._at_both_ends(port) if degraded else ()
        gens = [each.gen for each in conditions if each.gen]
        widths = [each.width for each in conditions if each.width]
        return negotiate(tuple(ends), min(gens, default=None), min(widths, default=None))

    def _lost(self, port: str) -> LinkErrors:
        bound = self._bound_to.get(port, ())
        waiting = sum(self._hosts[vppb.vcs] not in self._dark for vppb in bound)
        return lost(downstream=self._ports[port].role is PortRole.DOWNSTREAM, waiting=waiting)

    def _cable(self, port: Port) -> CableState | None:
        if port.cable is None:
            return None
        conditions = self._at_both_ends(port.id.port)
        if not all(each.present for each in conditions):
            return CableState.UNPLUGGED
        if not all(each.link_up for each in conditions):
            return CableState.FAILED
        if not any(each.width or each.gen for each in conditions):
            return CableState.NORMAL
        whole = self._best(port.id.port) == self._best(port.id.port, degraded=False)
        return CableState.NORMAL if whole else CableState.DEGRADED

    def _cabled(self, port: Port) -> bool:
        network = self._networked and port.role is PortRole.UPSTREAM
        ends = (port.host, port.device, port.peer)
        return network or any(each is not None for each in ends)

    def _port_state(self, port: Port) -> PortState:
        name = port.id.port
        condition, device = self.condition(name), self._devices.get(port.device or "")
        plugged = all(each.present for each in self._at_both_ends(name))
        present = self._cabled(port) and plugged and (device is None or device.life.present)
        health = worst(condition.health, "OK" if device is None else device.life.health)
        serial = device.serial_number if device is not None and present else None
        powered = port.host not in self._dark and (device is None or device.life.powered)
        down = not present or not self.can_link(name) or name in self._training
        trained = None if down else self._best(name)
        return PortState(
            link_up=trained is not None,
            device_present=present,
            speed_gbps=None if trained is None else trained.speed_gbps,
            width=None if trained is None else trained.width,
            health=health,
            training=present and name in self._training,
            serial_number=serial,
            powered=powered,
            errors=self.counted(name) if self._counts else None,
            cable=self._cable(port),
        )


class _FarEnd(NamedTuple):
    """The port of another switch at the far end of a link."""

    switch: SimulatedSwitch
    port: str


def _clash(bound: BindTarget, wanted: BindTarget, device: SimulatedDevice | None) -> Refusal | None:
    """Return why `wanted` can not be bound beside `bound`, which is at the same port."""
    shorter, longer = sorted((bound.path, wanted.path), key=len)
    if longer[: len(shorter)] == shorter:
        if not shorter:
            return Refusal.PORT_BOUND
        kinds = {"ld": Refusal.LD_BOUND, "function": Refusal.FUNCTION_BOUND}
        return kinds.get(longer[-1][0], Refusal.PART_BOUND)
    if device is not None and _related(bound.function, wanted.function, device):
        return Refusal.FUNCTION_BOUND
    return None


def _related(one: int | None, other: int | None, device: SimulatedDevice) -> bool:
    """Whether one function is a virtual function of the other: who has that controls both."""
    parents = {
        function.id: function.parent
        for function in device.facts.functions
        if function.type is FunctionType.VIRTUAL
    }
    if one is None or other is None:
        return False
    return parents.get(one) == other or parents.get(other) == one


def worst(*healths: str) -> str:
    """Return the worst of some Redfish Status.Health values."""
    return max(healths, key=_BY_HEALTH.index)
