"""Event records, written here byte by byte."""

import struct
from uuid import UUID

from redfish_fm.drivers.cxl_fmapi import events
from redfish_fm.drivers.cxl_fmapi.events import EventRecord, detail
from redfish_fm.drivers.cxl_fmapi.generic_commands import GET_EVENTS, LogChoice
from redfish_fm.drivers.cxl_fmapi.numbers import (
    BindingStatus,
    DynamicCapacityEventType,
    EventLog,
    Ltssm,
    MldPortEventType,
    PhysicalSwitchEventType,
    Severity,
    VirtualSwitchEventType,
)

VIRTUAL = "40d26425-3396-4c4d-a5da-3d47263af425"


def raw(identifier: str, data: bytes, handle: int = 7) -> bytes:
    """Return a record of 128 bytes."""
    head = UUID(identifier).bytes + bytes((0x80, 0x02, 0xFF, 0xFF))
    head += struct.pack("<HHQBBHB11x", handle, 6, 1_000_000_007, 1, 2, 0x0304, 5)
    return head + data.ljust(80, b"\0")


def read(*records: bytes, flags: int = 0) -> tuple[EventRecord, ...]:
    head = struct.pack("<BxHQQH10x", flags, 3, 11, 22, len(records))
    form = GET_EVENTS.response_to(LogChoice(EventLog.WARNING))
    return form.decode(head + b"".join(records)).records


def test_a_record_has_its_common_fields() -> None:
    (record,) = read(raw(VIRTUAL, b""))
    assert record.identifier == events.VIRTUAL_SWITCH
    assert (record.length, record.severity) == (128, Severity.FAILURE)
    assert (record.handle, record.related_handle, record.timestamp_ns) == (7, 6, 1_000_000_007)
    assert (record.maintenance_class, record.maintenance_subclass) == (1, 2)
    assert (record.ld_id, record.head_id) == (0x0304, 5)


def test_a_log_says_what_it_lost() -> None:
    head = struct.pack("<BxHQQH10x", 3, 3, 11, 22, 0)
    found = GET_EVENTS.response_to(LogChoice(EventLog.FATAL)).decode(head)
    assert found.overflow and found.more
    assert (found.overflow_count, found.first_overflow_ns, found.last_overflow_ns) == (3, 11, 22)


def test_a_virtual_switch_tells_of_a_binding() -> None:
    (record,) = read(raw(VIRTUAL, bytes((1, 4, 0, 3, 6, 2, 0x34, 0x12, 0x78, 0x56))))
    assert detail(record) == events.VirtualSwitchEvent(
        1, 4, VirtualSwitchEventType.BINDING_CHANGE, BindingStatus.BOUND_LD, 6, 2, 0x1234, 0x5678
    )


def test_a_physical_switch_tells_of_a_port() -> None:
    data = bytes((9, 0, 0x34, 0x12, 0, 0xF3, 0x02, 0, 5, 3, 16, 8, 0x30, 5, 4, 8, 1, 4, 0))
    (record,) = read(raw("77cf9271-9c02-470b-9fe4-bc7b75f2da97", data))
    found = detail(record)
    assert isinstance(found, events.PhysicalSwitchEvent)
    assert (found.port_id, found.slot_status) == (9, 0x1234)
    assert found.event_type is PhysicalSwitchEventType.LINK_STATE_CHANGE
    assert (found.configuration_state, found.device_mode, found.device_type) == (3, 2, 5)
    assert (found.link_width, found.link_speed, found.ltssm) == (8, 4, Ltssm.DISABLED)
    assert (found.first_lane, found.link_flags) == (1, 4)


def test_an_mld_port_tells_of_an_error() -> None:
    data = bytes((1, 6, 0xFF, 0xFF)) + b"ERRORMSG"
    (record,) = read(raw("8dc44363-0c96-4710-b7bf-04bb99534c3f", data))
    assert detail(record) == events.MldPortEvent(MldPortEventType.NON_FATAL, 6, b"ERRORMSG")


def test_dynamic_capacity_tells_of_an_extent() -> None:
    tag = bytes(range(16))
    data = bytes((1, 0x3, 2, 0, 4, 1, 0, 0)) + struct.pack("<QQ16sH6x", 1 << 30, 1 << 21, tag, 9)
    data += bytes(24) + struct.pack("<II", 12, 13)
    (record,) = read(raw("ca95afa7-f183-4018-8c2f-95268e101a2a", data))
    assert detail(record) == events.DynamicCapacityEvent(
        DynamicCapacityEventType.RELEASE, 3, 2, 4, True, 1 << 30, 1 << 21, tag, 9, 12, 13
    )


def test_a_record_of_another_kind_stays_bytes() -> None:
    (record,) = read(raw("fbcd0a77-c260-417f-85a9-088b1621eba6", b"dram"))
    assert detail(record) is None
    assert record.data.startswith(b"dram")
