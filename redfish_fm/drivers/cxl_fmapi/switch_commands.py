"""Physical switch (51h) and virtual switch (52h). Pure tables; offsets and sizes in bytes."""

import struct
from dataclasses import dataclass
from typing import Annotated, ClassVar

from redfish_fm.drivers.cxl_fmapi.command import Command, Nothing, command
from redfish_fm.drivers.cxl_fmapi.layouts import At, Counted, layout
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.numbers import (
    BindingStatus,
    ConfigurationState,
    DeviceMode,
    DeviceType,
    LinkSpeed,
    Ltssm,
    PortOperation,
    Transfer,
    UnbindOption,
    VcsState,
)

NO_LD = 0xFFFF
"""The LD id of Bind vPPB for a port that is no MLD."""

NO_LD_SEEN = 0xFF
"""The LD id of a vPPB that is bound to no LD, as 5200h tells it."""


@dataclass(frozen=True, slots=True)
class SwitchIdentity:
    """Size and use of a switch (5100h)."""

    SIZE: ClassVar = 0x49
    ingress_port: Annotated[int, At(0x00)]
    port_count: Annotated[int, At(0x02)]
    vcs_count: Annotated[int, At(0x03)]
    active_ports: Annotated[frozenset[int], At(0x04, 32)]
    active_vcss: Annotated[frozenset[int], At(0x24, 32)]
    vppb_count: Annotated[int, At(0x44, 2)]
    bound_vppb_count: Annotated[int, At(0x46, 2)]
    hdm_decoders: Annotated[int, At(0x48)]


@dataclass(frozen=True, slots=True)
class PortIds:
    """Ports by their ids."""

    SIZE: ClassVar = 1
    ports: Annotated[tuple[int, ...], Counted(0x01, 1, At(0x00))]


@dataclass(frozen=True, slots=True)
class PortState:
    """One port. Modes and speeds are masks: bit 0 is the first of DeviceMode.RCD, LinkSpeed."""

    SIZE: ClassVar = 16
    port_id: Annotated[int, At(0x0)]
    configuration_state: Annotated[int, At(0x1, bits=(0, 4), of=ConfigurationState)]
    device_mode: Annotated[int, At(0x2, bits=(0, 4), of=DeviceMode)]
    device_type: Annotated[int, At(0x4, of=DeviceType)]
    supported_modes: Annotated[int, At(0x5)]
    link_width_max: Annotated[int, At(0x6, bits=(0, 6), unit="lane")]
    link_width: Annotated[int, At(0x7, bits=(0, 6), unit="lane")]
    supported_speeds: Annotated[int, At(0x8)]
    link_speed_max: Annotated[int, At(0x9, bits=(0, 6), of=LinkSpeed)]
    link_speed: Annotated[int, At(0xA, bits=(0, 6), of=LinkSpeed)]
    ltssm: Annotated[int, At(0xB, of=Ltssm)]
    first_lane: Annotated[int, At(0xC)]
    lane_reversed: Annotated[bool, At(0xD, 2, bits=(0, 1))]
    perst_asserted: Annotated[bool, At(0xD, 2, bits=(1, 1))]
    present: Annotated[bool, At(0xD, 2, bits=(2, 1))]
    power_controlled: Annotated[bool, At(0xD, 2, bits=(3, 1))]
    ld_count: Annotated[int, At(0xF)]


@dataclass(frozen=True, slots=True)
class PortStates:
    """Ports in the order of the request; a switch may leave unknown ones out."""

    SIZE: ClassVar = 4
    ports: Annotated[tuple[PortState, ...], Counted(0x04, PortState, At(0x00))]


@dataclass(frozen=True, slots=True)
class PortControl:
    """What to do with a port (5102h)."""

    SIZE: ClassVar = 2
    port_id: Annotated[int, At(0x00)]
    operation: Annotated[int, At(0x01, of=PortOperation)]


@dataclass(frozen=True, slots=True)
class PortConfiguration:
    """A CXL.io configuration request to a PPB (5103h). The address is extended << 8 | register."""

    SIZE: ClassVar = 8
    port_id: Annotated[int, At(0x00)]
    register: Annotated[int, At(0x01)]
    extended_register: Annotated[int, At(0x02, bits=(0, 4))]
    byte_enables: Annotated[int, At(0x02, bits=(4, 4))]
    transfer: Annotated[int, At(0x03, bits=(7, 1), of=Transfer)]
    data: Annotated[int, At(0x04, 4)]


@dataclass(frozen=True, slots=True)
class ReadDword:
    """What was read of a configuration space."""

    SIZE: ClassVar = 4
    data: Annotated[int, At(0x00, 4)]


@dataclass(frozen=True, slots=True)
class VcsQuery:
    """Which virtual switches, and which of their vPPBs (5200h); the limit is 1 at least."""

    SIZE: ClassVar = 3
    start_vppb: Annotated[int, At(0x00)]
    vppb_limit: Annotated[int, At(0x01)]
    vcss: Annotated[tuple[int, ...], Counted(0x03, 1, At(0x02))]


@dataclass(frozen=True, slots=True)
class VppbState:
    """One vPPB. The LD id means something only where an LD is bound."""

    SIZE: ClassVar = 4
    status: Annotated[int, At(0x0, of=BindingStatus)]
    port_id: Annotated[int, At(0x1)]
    ld_id: Annotated[int, At(0x2)]


@dataclass(frozen=True, slots=True)
class _VcsHead:
    """The fixed part of a virtual switch's block."""

    SIZE: ClassVar = 4
    vcs_id: Annotated[int, At(0x0)]
    state: Annotated[int, At(0x1, of=VcsState)]
    usp_port: Annotated[int, At(0x2)]
    vppb_count: Annotated[int, At(0x3)]


@dataclass(frozen=True, slots=True)
class VcsInfo:
    """One virtual switch; `vppbs` are those asked for, the first being the start of the query."""

    vcs_id: int
    state: int
    usp_port: int
    vppb_count: int
    vppbs: tuple[VppbState, ...]


@dataclass(frozen=True, slots=True)
class VcsInfoForm:
    """Reads the answer to one query, for it does not say itself how many vPPBs follow.

    offset  size  field
    00      1     number of blocks
    04            per block: VCS id, state, USP port, vPPBs in all, then 4 bytes for each of
                  min(limit, all - start) vPPBs
    """

    query: VcsQuery

    def encode(self, value: tuple[VcsInfo, ...]) -> bytes:
        """Return the blocks."""
        if len(value) > _BYTE:
            raise Malformed(f"{len(value)} virtual switches do not fit one answer")
        parts = [struct.pack("<B3x", len(value))]
        for each in value:
            if len(each.vppbs) != self._shown(each.vppb_count):
                raise Malformed(f"VCS {each.vcs_id} shows another number of vPPBs than asked")
            head = _VcsHead(each.vcs_id, each.state, each.usp_port, each.vppb_count)
            parts.append(_HEAD.encode(head))
            parts += [_VPPB.encode(vppb) for vppb in each.vppbs]
        return b"".join(parts)

    def decode(self, data: bytes) -> tuple[VcsInfo, ...]:
        """Return the blocks. Raises Malformed when one of them is cut off."""
        if len(data) < _BLOCKS_AT:
            raise Malformed(f"virtual switch information has 4 bytes at least, got {len(data)}")
        found, at = [], _BLOCKS_AT
        for _ in range(data[0]):
            head = _HEAD.decode(data[at : at + _HEAD.size])
            at += _HEAD.size
            end = at + _VPPB.size * self._shown(head.vppb_count)
            if end > len(data):
                raise Malformed(f"the vPPBs of VCS {head.vcs_id} are cut off")
            vppbs = tuple(
                _VPPB.decode_block(data[each : each + _VPPB.size])
                for each in range(at, end, _VPPB.size)
            )
            at = end
            found.append(VcsInfo(head.vcs_id, head.state, head.usp_port, head.vppb_count, vppbs))
        return tuple(found)

    def _shown(self, vppb_count: int) -> int:
        return max(0, min(self.query.vppb_limit, vppb_count - self.query.start_vppb))


_BYTE = 0xFF
_BLOCKS_AT = 4
_HEAD = layout(_VcsHead)
_VPPB = layout(VppbState)


@dataclass(frozen=True, slots=True)
class Bind:
    """Which vPPB gets which port or LD (5201h); `ld_id` is NO_LD for a port that is no MLD."""

    SIZE: ClassVar = 6
    vcs_id: Annotated[int, At(0x00)]
    vppb_id: Annotated[int, At(0x01)]
    port_id: Annotated[int, At(0x02)]
    ld_id: Annotated[int, At(0x04, 2)]


@dataclass(frozen=True, slots=True)
class Unbind:
    """Which vPPB loses what it has, and how (5202h)."""

    SIZE: ClassVar = 3
    vcs_id: Annotated[int, At(0x00)]
    vppb_id: Annotated[int, At(0x01)]
    option: Annotated[int, At(0x02, bits=(0, 4), of=UnbindOption)]


@dataclass(frozen=True, slots=True)
class AerEvent:
    """An error to make up at a vPPB (5203h)."""

    SIZE: ClassVar = 40
    vcs_id: Annotated[int, At(0x00)]
    vppb_id: Annotated[int, At(0x01)]
    error: Annotated[int, At(0x04, 4)]
    header: Annotated[bytes, At(0x08, 32)]


IDENTIFY_SWITCH = command(0x5100, "Identify Switch Device", Nothing, SwitchIdentity)
GET_PORTS = command(0x5101, "Get Physical Port State", PortIds, PortStates)
CONTROL_PORT = command(0x5102, "Physical Port Control", PortControl, Nothing)
CONFIGURE_PORT = command(
    0x5103, "Send PPB CXL.io Configuration Request", PortConfiguration, ReadDword
)
GET_VCSS: Command[VcsQuery, tuple[VcsInfo, ...]] = Command(
    0x5200, "Get Virtual CXL Switch Info", layout(VcsQuery), VcsInfoForm
)
BIND = command(0x5201, "Bind vPPB", Bind, Nothing, background=True)
UNBIND = command(0x5202, "Unbind vPPB", Unbind, Nothing, background=True)
GENERATE_AER = command(0x5203, "Generate AER Event", AerEvent, Nothing)

ROWS = (
    IDENTIFY_SWITCH,
    GET_PORTS,
    CONTROL_PORT,
    CONFIGURE_PORT,
    GET_VCSS,
    BIND,
    UNBIND,
    GENERATE_AER,
)
