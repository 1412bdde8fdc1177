"""Event records: 128 bytes, of which the last 80 depend on the record's identifier. Pure.

Offsets within `data` are those of the record less 30h. CXL 3.2 §7.6.8 (switches and MLD ports).
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar
from uuid import UUID

from redfish_fm.drivers.cxl_fmapi.layouts import At, layout
from redfish_fm.drivers.cxl_fmapi.numbers import (
    BindingStatus,
    ConfigurationState,
    DeviceMode,
    DeviceType,
    DynamicCapacityEventType,
    LinkSpeed,
    Ltssm,
    MldPortEventType,
    PhysicalSwitchEventType,
    Severity,
    VirtualSwitchEventType,
)


@dataclass(frozen=True, slots=True)
class EventRecord:
    """One record of a log; `handle` names it until it is cleared."""

    SIZE: ClassVar = 0x80
    identifier: Annotated[UUID, At(0x00, 16)]
    length: Annotated[int, At(0x10, unit="byte")]
    severity: Annotated[int, At(0x11, bits=(0, 2), of=Severity)]
    handle: Annotated[int, At(0x14, 2)]
    related_handle: Annotated[int, At(0x16, 2)]
    timestamp_ns: Annotated[int, At(0x18, 8, unit="ns")]
    maintenance_class: Annotated[int, At(0x20)]
    maintenance_subclass: Annotated[int, At(0x21)]
    ld_id: Annotated[int, At(0x22, 2)]
    head_id: Annotated[int, At(0x24)]
    data: Annotated[bytes, At(0x30, 80)]


@dataclass(frozen=True, slots=True)
class PhysicalSwitchEvent:
    """A port changed; the port's state at that moment follows."""

    SIZE: ClassVar = 80
    port_id: Annotated[int, At(0x00)]
    event_type: Annotated[int, At(0x01, of=PhysicalSwitchEventType)]
    slot_status: Annotated[int, At(0x02, 2)]
    configuration_state: Annotated[int, At(0x05, bits=(0, 4), of=ConfigurationState)]
    device_mode: Annotated[int, At(0x06, bits=(0, 4), of=DeviceMode)]
    device_type: Annotated[int, At(0x08, of=DeviceType)]
    supported_modes: Annotated[int, At(0x09)]
    link_width_max: Annotated[int, At(0x0A, bits=(0, 6), unit="lane")]
    link_width: Annotated[int, At(0x0B, bits=(0, 6), unit="lane")]
    supported_speeds: Annotated[int, At(0x0C, bits=(0, 6))]
    link_speed_max: Annotated[int, At(0x0D, bits=(0, 6), of=LinkSpeed)]
    link_speed: Annotated[int, At(0x0E, bits=(0, 6), of=LinkSpeed)]
    ltssm: Annotated[int, At(0x0F, of=Ltssm)]
    first_lane: Annotated[int, At(0x10)]
    link_flags: Annotated[int, At(0x11, 2)]


@dataclass(frozen=True, slots=True)
class VirtualSwitchEvent:
    """A virtual switch or a vPPB changed."""

    SIZE: ClassVar = 80
    vcs_id: Annotated[int, At(0x00)]
    vppb_id: Annotated[int, At(0x01)]
    event_type: Annotated[int, At(0x02, of=VirtualSwitchEventType)]
    binding_status: Annotated[int, At(0x03, of=BindingStatus)]
    port_id: Annotated[int, At(0x04)]
    ld_id: Annotated[int, At(0x05)]
    link_control: Annotated[int, At(0x06, 2)]
    slot_control: Annotated[int, At(0x08, 2)]


@dataclass(frozen=True, slots=True)
class MldPortEvent:
    """An error message came from an MLD."""

    SIZE: ClassVar = 80
    event_type: Annotated[int, At(0x00, of=MldPortEventType)]
    port_id: Annotated[int, At(0x01)]
    error_message: Annotated[bytes, At(0x04, 8)]


@dataclass(frozen=True, slots=True)
class Extent:
    """A piece of dynamic capacity: device physical address and length in bytes."""

    SIZE: ClassVar = 40
    start: Annotated[int, At(0x00, 8, unit="byte")]
    length: Annotated[int, At(0x08, 8, unit="byte")]
    tag: Annotated[bytes, At(0x10, 16)]
    shared_sequence: Annotated[int, At(0x20, 2)]


@dataclass(frozen=True, slots=True)
class DynamicCapacityEvent:
    """Capacity is offered, asked back, taken or given back. `more`: the next record goes on."""

    SIZE: ClassVar = 80
    event_type: Annotated[int, At(0x00, of=DynamicCapacityEventType)]
    validity: Annotated[int, At(0x01)]
    host_id: Annotated[int, At(0x02, 2)]
    region: Annotated[int, At(0x04)]
    more: Annotated[bool, At(0x05, bits=(0, 1))]
    start: Annotated[int, At(0x08, 8, unit="byte")]
    extent_length: Annotated[int, At(0x10, 8, unit="byte")]
    tag: Annotated[bytes, At(0x18, 16)]
    shared_sequence: Annotated[int, At(0x28, 2)]
    available_extents: Annotated[int, At(0x48, 4)]
    available_tags: Annotated[int, At(0x4C, 4)]


PHYSICAL_SWITCH = UUID("77cf9271-9c02-470b-9fe4-bc7b75f2da97")
VIRTUAL_SWITCH = UUID("40d26425-3396-4c4d-a5da-3d47263af425")
MLD_PORT = UUID("8dc44363-0c96-4710-b7bf-04bb99534c3f")
DYNAMIC_CAPACITY = UUID("ca95afa7-f183-4018-8c2f-95268e101a2a")

DETAILS: dict[UUID, type[Any]] = {
    PHYSICAL_SWITCH: PhysicalSwitchEvent,
    VIRTUAL_SWITCH: VirtualSwitchEvent,
    MLD_PORT: MldPortEvent,
    DYNAMIC_CAPACITY: DynamicCapacityEvent,
}
"""What `data` is, by identifier. Records of memory devices (general media, DRAM) stay bytes."""

Detail = PhysicalSwitchEvent | VirtualSwitchEvent | MldPortEvent | DynamicCapacityEvent


def detail(record: EventRecord) -> Detail | None:
    """Return what a record says beyond the common fields, None where its kind is not known."""
    kind = DETAILS.get(record.identifier)
    if kind is None:
        return None
    found: Detail = layout(kind).decode(record.data)
    return found
