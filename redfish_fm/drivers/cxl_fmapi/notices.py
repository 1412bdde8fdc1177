"""What one known switch says and offers beyond the standard (opcodes C0xxh, 5215h, 5216h).

Pure tables. Notices are requests of the switch that want no answer; they come twice, or not at all.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from redfish_fm.drivers.cxl_fmapi.command import Nothing, command
from redfish_fm.drivers.cxl_fmapi.layouts import At
from redfish_fm.drivers.cxl_fmapi.numbers import BindingStatus


@dataclass(frozen=True, slots=True)
class PortNotice:
    """A device came to a port, or went."""

    SIZE: ClassVar = 2
    port_id: Annotated[int, At(0x00)]
    connected: Annotated[bool, At(0x01, bits=(0, 1))]


@dataclass(frozen=True, slots=True)
class VppbNotice:
    """The binding of a vPPB changed."""

    SIZE: ClassVar = 3
    vcs_id: Annotated[int, At(0x00)]
    vppb_id: Annotated[int, At(0x01)]
    status: Annotated[int, At(0x02, of=BindingStatus)]


@dataclass(frozen=True, slots=True)
class Vppb:
    """A vPPB by itself."""

    SIZE: ClassVar = 2
    vcs_id: Annotated[int, At(0x00)]
    vppb_id: Annotated[int, At(0x01)]


PORT_NOTICE = command(0xC000, "Port notice", PortNotice, Nothing)
VPPB_NOTICE = command(0xC001, "vPPB notice", VppbNotice, Nothing)
DEVICES_NOTICE = command(0xC002, "Devices notice", Nothing, Nothing)
FREEZE_VPPB = command(0x5215, "Freeze vPPB", Vppb, Nothing, background=True)
UNFREEZE_VPPB = command(0x5216, "Unfreeze vPPB", Vppb, Nothing, background=True)

ROWS = (PORT_NOTICE, VPPB_NOTICE, DEVICES_NOTICE, FREEZE_VPPB, UNFREEZE_VPPB)
