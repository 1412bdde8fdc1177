"""One simulated switch: what it holds, what it does when told, what it refuses.

Pure state machine: no time, no I/O, no session, and none of our isolation rules; it refuses only
what hardware refuses. A real unbind names the vPPB alone, so an old unbind that runs late frees
whatever is bound by then.
"""

from dataclasses import replace
from enum import Enum

from redfish_fm.drivers.virtual.state import PortCondition
from redfish_fm.errors import FmError
from redfish_fm.fabric.model import (
    LD_FM_OWNED,
    Attachment,
    Bind,
    BindTarget,
    Device,
    Port,
    PortId,
    PortRole,
    PortState,
    Step,
    Switch,
    VppbId,
)

_GT_S = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
"""Transfers per second and lane by PCIe generation, in GT/s."""


class Refusal(Enum):
    """Why a switch says no; the values are what it says."""

    UNKNOWN_VPPB = "no such vPPB"
    UNKNOWN_PORT = "no such physical port"
    NOT_DOWNSTREAM = "the port is not a downstream port"
    VPPB_BOUND = "the vPPB is already bound to something else"
    PORT_BOUND = "the port is already bound to another vPPB"
    LD_BOUND = "the LD is already bound to another vPPB"
    LD_NOT_ALLOCATED = "the LD is not allocated"
    LD_FM_OWNED = "LD FFFFh is owned by the fabric manager"
    NOT_MLD = "the device has no LDs"
    MLD_WHOLE = "an MLD is bound one LD at a time"
    DEVICE_ABSENT = "no device is present at the port"


class Refused(FmError):
    """The switch said no; `refusal` is the reason, the text what it was about."""

    def __init__(self, refusal: Refusal, about: str) -> None:
        self.refusal = refusal
        super().__init__(f"{about}: {refusal.value}")


class SimulatedSwitch:
    """The state of one switch. `bindings` holds bound vPPBs only.

    A `permissive` switch accepts whatever names an existing vPPB and port, as some real
    emulators do, and then binds one thing several times.
    """

    def __init__(
        self, facts: Switch, devices: dict[str, Device], *, permissive: bool = False
    ) -> None:
        self.facts = facts
        self.permissive = permissive
        self.bindings: dict[VppbId, BindTarget] = {}
        self.conditions: dict[str, PortCondition] = {}
        self._ports: dict[str, Port] = {port.id.port: port for port in facts.ports}
        self._devices = devices
        self._vppbs = {vcs.id: vcs.vppb_count for vcs in facts.virtual_switches}
        self._bound_to: dict[str, set[VppbId]] = {}

    def vppbs(self) -> list[VppbId]:
        """Return every vPPB, bound or not."""
        switch = self.facts.id
        return [VppbId(switch, vcs, n) for vcs, count in self._vppbs.items() for n in range(count)]

    def has(self, vppb: VppbId) -> bool:
        """Whether that vPPB exists."""
        count = self._vppbs.get(vppb.vcs, 0)
        return vppb.switch == self.facts.id and 0 <= vppb.vppb < count

    def refusal(self, step: Step) -> Refusal | None:
        """Return why this switch would refuse the command now, or None."""
        if not self.has(step.vppb):
            return Refusal.UNKNOWN_VPPB
        if not isinstance(step, Bind):
            return None
        port = self._ports.get(step.target.port)
        if port is None or step.target.switch != self.facts.id:
            return Refusal.UNKNOWN_PORT
        if self.permissive or self.bindings.get(step.vppb) == step.target:
            return None
        return self._target_refusal(port, step.target) or self._taken(step)

    def execute(self, step: Step) -> BindTarget | None:
        """Do it. Returns what the vPPB was bound to before. Raises Refused, changing nothing."""
        refusal = self.refusal(step)
        if refusal is not None:
            raise Refused(refusal, describe(step))
        return self.force(step.vppb, step.target if isinstance(step, Bind) else None)

    def force(self, vppb: VppbId, target: BindTarget | None) -> BindTarget | None:
        """Write a binding without asking (restored state); returns what was bound before."""
        before = self.bindings.pop(vppb, None)
        if before is not None:
            self._bound_to[before.port].discard(vppb)
        if target is not None:
            self.bindings[vppb] = target
            self._bound_to.setdefault(target.port, set()).add(vppb)
        return before

    def set_port(self, port: str, **changes: object) -> PortCondition:
        """Change the condition of a port and return it. Raises Refused for an unknown port."""
        if port not in self._ports:
            raise Refused(Refusal.UNKNOWN_PORT, f"{self.facts.id} port {port}")
        old = self.conditions.get(port, PortCondition())
        self.conditions[port] = replace(old, **changes)  # type: ignore[arg-type]
        return self.conditions[port]

    def port_states(self) -> dict[PortId, PortState]:
        """Return what the switch says of each of its ports."""
        return {port.id: self._port_state(port) for port in self.facts.ports}

    def _target_refusal(self, port: Port, target: BindTarget) -> Refusal | None:
        """Return what is wrong with the target itself, whoever asks for it."""
        device = self._devices.get(port.device or "")
        if port.role is not PortRole.DOWNSTREAM:
            return Refusal.NOT_DOWNSTREAM
        if device is None or not self._condition(port).present:
            return Refusal.DEVICE_ABSENT
        if device.attachment is not Attachment.MLD:
            return Refusal.NOT_MLD if target.ld is not None else None
        if target.ld is None:
            return Refusal.MLD_WHOLE
        if target.ld == LD_FM_OWNED:
            return Refusal.LD_FM_OWNED
        known = any(ld.id == target.ld for ld in device.lds)
        return None if known else Refusal.LD_NOT_ALLOCATED

    def _taken(self, step: Bind) -> Refusal | None:
        """Return whether the vPPB or the target is in use."""
        if step.vppb in self.bindings:
            return Refusal.VPPB_BOUND
        for vppb in self._bound_to.get(step.target.port, ()):
            other = self.bindings[vppb]
            if other.ld is None or step.target.ld is None:
                return Refusal.PORT_BOUND
            if other.ld == step.target.ld:
                return Refusal.LD_BOUND
        return None

    def _condition(self, port: Port) -> PortCondition:
        return self.conditions.get(port.id.port, PortCondition())

    def _port_state(self, port: Port) -> PortState:
        condition = self._condition(port)
        cabled = port.host is not None or port.device is not None
        present = cabled and condition.present
        if not (present and condition.link_up):
            return PortState(False, present, health=condition.health)
        width = condition.width or port.link.lanes
        rate = _GT_S.get(port.link.gen)  # an imported fabric may not know its generation
        speed_gbps = None if rate is None else rate * width
        return PortState(True, True, speed_gbps, width, condition.health)


def describe(step: Step) -> str:
    """Return a step in words, for errors."""
    vppb, target = step.vppb, step.target
    verb = "bind" if isinstance(step, Bind) else "unbind"
    ld = "" if target.ld is None else f" LD {target.ld}"
    way = "to" if verb == "bind" else "from"
    return f"{verb} {vppb.switch} VCS {vppb.vcs} vPPB {vppb.vppb} {way} port {target.port}{ld}"
