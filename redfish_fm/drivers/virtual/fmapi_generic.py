"""Commands that every component has: identity, background operation, limits, events, time, logs."""

import struct
from collections.abc import Callable
from uuid import UUID

from redfish_fm.drivers.virtual.fmapi_asked import (
    LOG,
    POLICY,
    Asked,
    Row,
    Table,
)
from redfish_fm.drivers.virtual.fmapi_switch import (
    BAD_LENGTH,
    INVALID_HANDLE,
    INVALID_INPUT,
    INVALID_LOG,
    Answer,
    FmapiSwitch,
    serial_of,
)

EFFECTS_LOG = UUID("0da9c0b5-bf41-4b78-8f79-96b1623b3f17")

LIMIT_MIN, LIMIT_MAX = 8, 13
"""Messages have 2^8 to 2^13 bytes."""

_SWITCH_TYPE, _MEMORY_TYPE = 0x00, 0x03
_MASK_BITS = 0x801F
"""Event logs 0 to 4, and the end of background operations."""

_EFFECT = struct.Struct("<HH")


def identify(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Identify (0001h), in one of three lengths."""
    profile, serial = switch.profile, switch.serial
    head = struct.pack("<HHHH", profile.vendor_id, profile.device_id, 0, 0)
    if profile.identity_bytes == 14:
        return Answer(payload=head + struct.pack("<IBB", serial & 0xFFFF, 10, _SWITCH_TYPE))
    whole = head + struct.pack("<QBB", serial, asked.manager.limit_max, _SWITCH_TYPE)
    return Answer(payload=whole[: profile.identity_bytes])


def device_identity(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Identify (0001h) of a device behind a port, or of one of its LDs."""
    device = switch.device(asked.port or 0)
    if device is None:
        return Answer(INVALID_INPUT)
    profile, serial = switch.profile, serial_of(device.serial_number)
    head = struct.pack("<HHHH", profile.vendor_id, profile.device_id + 1, 0, 0)
    return Answer(payload=head + struct.pack("<QBB", serial, LIMIT_MAX, _MEMORY_TYPE))


def background_status(switch: FmapiSwitch, _: Asked) -> Answer:
    """Background Operation Status (0002h)."""
    operation = switch.operation
    if operation is None:
        return Answer(payload=bytes((switch.profile.running_at_first,)).ljust(8, b"\0"))
    first = operation.running | switch.percent(operation) << 1
    status = struct.pack("<BxHHH", first, operation.opcode, operation.code or 0, 0)
    return Answer(payload=status)


def get_limit(_: FmapiSwitch, asked: Asked) -> Answer:
    """Get Response Message Limit (0003h)."""
    return Answer(payload=bytes((asked.manager.limit,)))


def set_limit(_: FmapiSwitch, asked: Asked) -> Answer:
    """Set Response Message Limit (0004h): the nearest that is possible."""
    asked.manager.limit = max(LIMIT_MIN, min(asked.manager.limit_max, asked.payload[0]))
    return Answer(payload=bytes((asked.manager.limit,)))


def abort(switch: FmapiSwitch, _: Asked) -> Answer:
    """Request Abort Background Operation (0005h)."""
    return Answer() if switch.abort() else Answer(INVALID_INPUT)


def get_events(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Get Event Records (0100h)."""
    found = switch.logs.read(asked.payload[0], 1 << asked.manager.limit)
    return Answer(INVALID_INPUT) if found is None else Answer(payload=found)


def clear_events(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Clear Event Records (0101h): by handles, or all."""
    log, flags, count = asked.payload[:3]
    if not switch.logs.has(log):
        return Answer(INVALID_INPUT)
    if len(asked.payload) < 6 + 2 * count:
        return Answer(BAD_LENGTH)
    handles = None if flags & 1 else struct.unpack_from(f"<{count}H", asked.payload, 6)
    return Answer() if switch.logs.clear(log, handles) else Answer(INVALID_HANDLE)


def get_interrupts(_: FmapiSwitch, asked: Asked) -> Answer:
    """Get Event Interrupt Policy (0102h)."""
    return Answer(payload=asked.manager.interrupts)


def set_interrupts(_: FmapiSwitch, asked: Asked) -> Answer:
    """Set Event Interrupt Policy (0103h); kept, for there is nothing to interrupt here."""
    asked.manager.interrupts = asked.payload[:5]
    return Answer(payload=asked.manager.interrupts)


def get_mask(_: FmapiSwitch, asked: Asked) -> Answer:
    """Get MCTP Event Interrupt Policy (0104h)."""
    return Answer(payload=struct.pack("<H", asked.manager.mask))


def set_mask(_: FmapiSwitch, asked: Asked) -> Answer:
    """Set MCTP Event Interrupt Policy (0105h): of what this manager is told."""
    asked.manager.mask = struct.unpack_from("<H", asked.payload)[0] & _MASK_BITS
    return Answer(payload=struct.pack("<H", asked.manager.mask))


def get_timestamp(switch: FmapiSwitch, _: Asked) -> Answer:
    """Get Timestamp (0300h)."""
    return Answer(payload=struct.pack("<Q", switch.now_ns()))


def set_timestamp(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Set Timestamp (0301h)."""
    (moment_ns,) = struct.unpack_from("<Q", asked.payload)
    switch.clock_offset_ns += moment_ns - switch.now_ns()
    return Answer()


Knows = Callable[[FmapiSwitch, Asked, int], bool]
"""Whether who is asked implements a command."""


def _switch_knows(switch: FmapiSwitch, _: Asked, opcode: int) -> bool:
    return switch.profile.has(opcode)


def logs_table(effects: Table, knows: Knows = _switch_knows) -> Table:
    """Return Get Supported Logs (0400h) and Get Log (0401h), which tell of `effects` by reference.

    There is one log, the Command Effects Log.
    """

    def log(switch: FmapiSwitch, asked: Asked) -> bytes:
        known = (each for each in sorted(effects) if knows(switch, asked, each))
        rows = ((opcode, effects[opcode].effects) for opcode in known)
        return b"".join(_EFFECT.pack(opcode, effect) for opcode, effect in rows)

    def get_logs(switch: FmapiSwitch, asked: Asked) -> Answer:
        entry = EFFECTS_LOG.bytes + struct.pack("<I", len(log(switch, asked)))
        return Answer(payload=struct.pack("<H6x", 1) + entry)

    def get_log(switch: FmapiSwitch, asked: Asked) -> Answer:
        offset, length = struct.unpack_from("<II", asked.payload, 16)
        if asked.payload[:16] != EFFECTS_LOG.bytes:
            return Answer(INVALID_LOG)
        whole = log(switch, asked)
        if offset + length > len(whole) or length > 1 << asked.manager.limit:
            return Answer(INVALID_INPUT)
        return Answer(payload=whole[offset : offset + length])

    return {0x0400: Row(get_logs), 0x0401: Row(get_log, 24)}


GENERIC: Table = {
    0x0001: Row(identify),
    0x0002: Row(background_status),
    0x0003: Row(get_limit),
    0x0004: Row(set_limit, 1, effects=POLICY),
    0x0005: Row(abort),
    0x0100: Row(get_events, 1),
    0x0101: Row(clear_events, 6, more=True, effects=LOG),
    0x0102: Row(get_interrupts),
    0x0103: Row(set_interrupts, 5, effects=POLICY),
    0x0104: Row(get_mask),
    0x0105: Row(set_mask, 2, effects=POLICY),
    0x0300: Row(get_timestamp),
    0x0301: Row(set_timestamp, 8, effects=POLICY),
}
