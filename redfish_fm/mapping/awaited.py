"""Messages of Tasks that wait for something which is not this service's to end.

Pure. What they are about is named by URI where it has one, else as its driver calls it. Why an
operation waits is found out in control.
"""

from redfish_fm.fabric.model import BindTarget, VppbId
from redfish_fm.fabric.targets import part_name
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.uris import FABRIC
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message


class Awaited:
    """Makes the messages of one fabric."""

    def __init__(self, facts: Facts, fabric: str) -> None:
        self._facts = facts
        self._fabric = fabric

    def switch(self, switch: str) -> Message:
        """Say that a switch does not answer."""
        return Message("RedfishFM.SwitchAwaited", (self._switch(switch),))

    def operation(self, switch: str) -> Message:
        """Say that a switch has something else to end first."""
        return Message("RedfishFM.OperationAwaited", (self._switch(switch),))

    def device(self, target: BindTarget) -> Message:
        """Say that a device is not there, or has no power."""
        return Message("RedfishFM.DeviceAwaited", (self._port(target),))

    def scrub(self, target: BindTarget) -> Message:
        """Say that contents are not overwritten yet."""
        return Message("RedfishFM.ScrubAwaited", (_name(target), self._port(target)))

    def unbind(self, target: BindTarget, vppb: VppbId) -> Message:
        """Say that another manager has what is needed, as seen at `vppb`."""
        args = (_name(target), self._port(target), self._vppb(vppb))
        return Message("RedfishFM.UnbindAwaited", args)

    def unheeded(self, step: str, target: BindTarget, within_s: float) -> Message:
        """Say that hardware does not do what it was told to; `step` is that in words."""
        return messages.hardware_refused(step, self._port(target), not_observed(within_s))

    def left(self, target: BindTarget, vppb: VppbId) -> Message:
        """Say that a part which nobody here wants any more stays: another manager has it."""
        args = (_name(target), self._port(target), self._vppb(vppb))
        return Message("RedfishFM.CapacityLeft", args)

    def _switch(self, switch: str) -> str:
        return self._facts.switch_uris.get((self._fabric, switch), switch)

    def _port(self, target: BindTarget) -> str:
        known = self._facts.target_uri(self._fabric, target)
        return known or f"{target.switch}/{target.port}"

    def _vppb(self, vppb: VppbId) -> str:
        known = self._facts.vppb_uris.get((self._fabric, vppb))
        return known or f"{vppb.switch}/{vppb.vcs}/{vppb.vppb}"


def fabric_left(fabric: str) -> Message:
    """Say that nobody looks after a fabric any more."""
    return Message("RedfishFM.FabricLeft", (FABRIC.format(fabric=fabric),))


def not_observed(within_s: float) -> str:
    """Return why a step counts as refused although nobody refused it."""
    return f"not observed within {within_s:g} s"


def _name(target: BindTarget) -> str:
    return part_name(target) or "the whole device"
