"""Resets of ports as the in-process driver asks the simulated switch for them.

Knows the hardware and how long PERST# is held; nothing of sessions. Over the wire the same is asked
of `fmapi_switching`, where PERST# is two commands and can be seen.
"""

from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.fabric.model import PortId, PortRole
from redfish_fm.fabric.port_control import PortReset

PERST_S = 0.1
"""How long PERST# is asserted at least, in fabric seconds."""


def reset_s(asked: PortReset) -> float:
    """Return how long a reset takes until links begin to train anew, in fabric seconds."""
    return PERST_S if asked is PortReset.FUNDAMENTAL else 0.0


def refusal(hardware: Hardware, port: PortId) -> str | None:
    """Return why a port is not reset, None where it is."""
    simulated = hardware.switches.get(port.switch)
    known = () if simulated is None else simulated.facts.ports
    facts = next((each for each in known if each.id == port), None)
    if simulated is None or facts is None:
        return f"switch {port.switch} has no port {port.port}"
    if not simulated.facts.resets_ports:
        return f"switch {port.switch} resets no ports"
    if facts.role is not PortRole.DOWNSTREAM:
        return f"port {port.port} is an upstream port"
    device = simulated.device_at(port.port)
    if device is None or not device.life.present:
        return f"there is no device at port {port.port}"
    return None
