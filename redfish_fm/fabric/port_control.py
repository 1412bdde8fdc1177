"""What can be asked of a switch port beside binding what is behind it. Pure values.

Redfish: Port.v1_18_0 ResetPPB and Reset. CXL: Physical Port Control (5102h). A reset is a command
and no state that is wanted: nothing plans one.
"""

from dataclasses import dataclass
from enum import Enum

from redfish_fm.fabric.model import PortId


class PortReset(Enum):
    """How a downstream port is reset; the values are Redfish's words for it."""

    BRIDGE = "ResetPPB"
    """Its PCI-to-PCI bridge: what is behind it is reset with it."""
    FUNDAMENTAL = "ForceRestart"
    """PERST# is asserted for a while: the device begins as after power-on."""


@dataclass(frozen=True, slots=True)
class PortResetWish:
    """What was asked of a port."""

    port: PortId
    asked: PortReset
