"""MLD port (53h), MLD component (54h) and multi-headed devices (55h). Pure tables.

Offsets and sizes in bytes. Commands of 54h and 55h are for a device: they travel inside a Tunnel
Management Command, whose payload is in tunnels.py.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from redfish_fm.drivers.cxl_fmapi.command import Nothing, command
from redfish_fm.drivers.cxl_fmapi.layouts import At, Counted, Rest
from redfish_fm.drivers.cxl_fmapi.numbers import Granularity, LinkSpeed, Ltssm, Transfer
from redfish_fm.drivers.cxl_fmapi.switch_commands import ReadDword
from redfish_fm.drivers.cxl_fmapi.tunnels import TUNNEL


@dataclass(frozen=True, slots=True)
class LdConfiguration:
    """A CXL.io configuration request to an LD (5301h)."""

    SIZE: ClassVar = 12
    port_id: Annotated[int, At(0x00)]
    register: Annotated[int, At(0x01)]
    extended_register: Annotated[int, At(0x02, bits=(0, 4))]
    byte_enables: Annotated[int, At(0x02, bits=(4, 4))]
    transfer: Annotated[int, At(0x03, bits=(7, 1), of=Transfer)]
    ld_id: Annotated[int, At(0x04, 2)]
    data: Annotated[int, At(0x08, 4)]


@dataclass(frozen=True, slots=True)
class LdMemoryRequest:
    """A CXL.io memory request to an LD (5302h), of up to 4096 bytes; `data` only to write."""

    SIZE: ClassVar = 16
    port_id: Annotated[int, At(0x00)]
    first_byte_enables: Annotated[int, At(0x02, bits=(4, 4))]
    last_byte_enables: Annotated[int, At(0x03, bits=(0, 4))]
    transfer: Annotated[int, At(0x03, bits=(7, 1), of=Transfer)]
    ld_id: Annotated[int, At(0x04, 2)]
    length: Annotated[int, At(0x06, 2, unit="byte")]
    offset: Annotated[int, At(0x08, 8, unit="byte")]
    data: Annotated[bytes, Rest(0x10)]


@dataclass(frozen=True, slots=True)
class LdMemory:
    """What was read of an LD's memory."""

    SIZE: ClassVar = 4
    data: Annotated[tuple[int, ...], Counted(0x04, 1, At(0x00, 2))]


@dataclass(frozen=True, slots=True)
class LdInfo:
    """Memory and LDs of a device (5400h)."""

    SIZE: ClassVar = 11
    memory_size: Annotated[int, At(0x00, 8, unit="byte")]
    ld_count: Annotated[int, At(0x08, 2)]
    congestion_telemetry: Annotated[bool, At(0x0A, bits=(0, 1))]
    throughput_telemetry: Annotated[bool, At(0x0A, bits=(1, 1))]


@dataclass(frozen=True, slots=True)
class LdRange:
    """LDs from `start` on, `limit` of them at most."""

    SIZE: ClassVar = 2
    start: Annotated[int, At(0x00)]
    limit: Annotated[int, At(0x01)]


@dataclass(frozen=True, slots=True)
class LdAllocation:
    """Memory of one LD in units of the granularity; `range2` is for a second piece."""

    SIZE: ClassVar = 16
    range1: Annotated[int, At(0x00, 8)]
    range2: Annotated[int, At(0x08, 8)]


@dataclass(frozen=True, slots=True)
class LdAllocations:
    """Allocations as they are (5401h)."""

    SIZE: ClassVar = 4
    ld_count: Annotated[int, At(0x00)]
    granularity: Annotated[int, At(0x01, of=Granularity)]
    start: Annotated[int, At(0x02)]
    allocations: Annotated[tuple[LdAllocation, ...], Counted(0x04, LdAllocation, At(0x03))]


@dataclass(frozen=True, slots=True)
class NewLdAllocations:
    """Allocations to set, and the answer with what was set (5402h)."""

    SIZE: ClassVar = 4
    start: Annotated[int, At(0x01)]
    allocations: Annotated[tuple[LdAllocation, ...], Counted(0x04, LdAllocation, At(0x00))]


@dataclass(frozen=True, slots=True)
class QosControl:
    """Telemetry and thresholds of a device (5403h, 5404h)."""

    SIZE: ClassVar = 7
    congestion_enabled: Annotated[bool, At(0x00, bits=(0, 1))]
    throughput_enabled: Annotated[bool, At(0x00, bits=(1, 1))]
    moderate_percent: Annotated[int, At(0x01, unit="%")]
    severe_percent: Annotated[int, At(0x02, unit="%")]
    sample_interval: Annotated[int, At(0x03)]
    completion_basis: Annotated[int, At(0x04, 2)]
    completion_interval: Annotated[int, At(0x06)]


@dataclass(frozen=True, slots=True)
class QosStatus:
    """Backpressure of a device (5405h)."""

    SIZE: ClassVar = 1
    backpressure_percent: Annotated[int, At(0x00, unit="%")]


@dataclass(frozen=True, slots=True)
class LdCountRange:
    """How many LDs, from which on."""

    SIZE: ClassVar = 2
    number: Annotated[int, At(0x00)]
    start: Annotated[int, At(0x01)]


@dataclass(frozen=True, slots=True)
class LdFractions:
    """Bandwidth of LDs in 1/256 of the device's (5406h to 5409h)."""

    SIZE: ClassVar = 2
    start: Annotated[int, At(0x01)]
    fractions: Annotated[tuple[int, ...], Counted(0x02, 1, At(0x00), unit="1/256")]


@dataclass(frozen=True, slots=True)
class HeadMap:
    """Which LD belongs to which head (5500h)."""

    SIZE: ClassVar = 8
    ld_count: Annotated[int, At(0x00)]
    head_count: Annotated[int, At(0x01)]
    start: Annotated[int, At(0x04)]
    heads: Annotated[tuple[int, ...], Counted(0x08, 1, At(0x05))]


@dataclass(frozen=True, slots=True)
class HeadRange:
    """How many heads, from which on."""

    SIZE: ClassVar = 2
    start: Annotated[int, At(0x00)]
    number: Annotated[int, At(0x01)]


@dataclass(frozen=True, slots=True)
class HeadState:
    """The link of one head."""

    SIZE: ClassVar = 9
    port_id: Annotated[int, At(0x0)]
    link_width_max: Annotated[int, At(0x1, bits=(0, 6), unit="lane")]
    link_width: Annotated[int, At(0x2, bits=(0, 6), unit="lane")]
    supported_speeds: Annotated[int, At(0x3, bits=(0, 6))]
    link_speed_max: Annotated[int, At(0x4, bits=(0, 6), of=LinkSpeed)]
    link_speed: Annotated[int, At(0x5, bits=(0, 6), of=LinkSpeed)]
    ltssm: Annotated[int, At(0x6, of=Ltssm)]
    first_lane: Annotated[int, At(0x7)]
    link_flags: Annotated[int, At(0x8)]


@dataclass(frozen=True, slots=True)
class HeadStates:
    """Heads in order (5501h)."""

    SIZE: ClassVar = 4
    heads: Annotated[tuple[HeadState, ...], Counted(0x04, HeadState, At(0x00))]


CONFIGURE_LD = command(0x5301, "Send LD CXL.io Configuration Request", LdConfiguration, ReadDword)
ACCESS_LD_MEMORY = command(0x5302, "Send LD CXL.io Memory Request", LdMemoryRequest, LdMemory)
GET_LD_INFO = command(0x5400, "Get LD Info", Nothing, LdInfo)
GET_LD_ALLOCATIONS = command(0x5401, "Get LD Allocations", LdRange, LdAllocations)
SET_LD_ALLOCATIONS = command(0x5402, "Set LD Allocations", NewLdAllocations, NewLdAllocations)
GET_QOS_CONTROL = command(0x5403, "Get QoS Control", Nothing, QosControl)
SET_QOS_CONTROL = command(0x5404, "Set QoS Control", QosControl, QosControl)
GET_QOS_STATUS = command(0x5405, "Get QoS Status", Nothing, QosStatus)
GET_QOS_ALLOCATED = command(0x5406, "Get QoS Allocated BW", LdCountRange, LdFractions)
SET_QOS_ALLOCATED = command(0x5407, "Set QoS Allocated BW", LdFractions, LdFractions)
GET_QOS_LIMIT = command(0x5408, "Get QoS BW Limit", LdCountRange, LdFractions)
SET_QOS_LIMIT = command(0x5409, "Set QoS BW Limit", LdFractions, LdFractions)
GET_HEAD_MAP = command(0x5500, "Get Multi-Headed Info", LdRange, HeadMap)
GET_HEADS = command(0x5501, "Get Head Info", HeadRange, HeadStates)

ROWS = (
    TUNNEL,
    CONFIGURE_LD,
    ACCESS_LD_MEMORY,
    GET_LD_INFO,
    GET_LD_ALLOCATIONS,
    SET_LD_ALLOCATIONS,
    GET_QOS_CONTROL,
    SET_QOS_CONTROL,
    GET_QOS_STATUS,
    GET_QOS_ALLOCATED,
    SET_QOS_ALLOCATED,
    GET_QOS_LIMIT,
    SET_QOS_LIMIT,
    GET_HEAD_MAP,
    GET_HEADS,
)
