"""Commands that go through the switch to a device behind a port (53h), and on to one of its LDs.

A message inside a message: 00 port or LD, 01 target type, 02 size, 04 the inner CCI message. In the
older form the inner message has its MCTP message type before it, and size counts that byte.
"""

import struct

from redfish_fm.drivers.virtual.fmapi_asked import CONFIGURATION, Asked, Row, Table, carry_out
from redfish_fm.drivers.virtual.fmapi_dcd import DCD
from redfish_fm.drivers.virtual.fmapi_mld import LD, MLD
from redfish_fm.drivers.virtual.fmapi_switch import (
    BAD_LENGTH,
    INVALID_INPUT,
    Answer,
    FmapiSwitch,
)
from redfish_fm.drivers.virtual.fmapi_switching import configuration_dword
from redfish_fm.drivers.virtual.fmapi_wire import CCI, read_message, write_message

_HEAD_BYTES = 4
_PORT_OR_LD = 0
_MEMORY_CLASS = 0x050210
"""Class code of CXL memory."""


def to_device(switch: FmapiSwitch, asked: Asked) -> Answer | None:
    """Tunnel Management Command (5300h) to the MLD behind a port."""
    number = asked.payload[0]
    device = switch.device(number)
    if device is None or not device.facts.lds:
        return Answer(INVALID_INPUT)
    return _passed_on(switch, asked, DEVICE, number, None)


def to_ld(switch: FmapiSwitch, asked: Asked) -> Answer | None:
    """Tunnel Management Command (5300h) that an MLD passes on to one of its LDs."""
    device = None if asked.port is None else switch.device(asked.port)
    ld = asked.payload[0]
    if device is None or all(each.id != ld for each in device.facts.lds):
        return Answer(INVALID_INPUT)
    return _passed_on(switch, asked, LD, asked.port, ld)


def _passed_on(
    switch: FmapiSwitch, asked: Asked, table: Table, port: int | None, ld: int | None
) -> Answer | None:
    """Unwrap, let `table` answer, and wrap in the same form."""
    _, kind, size = struct.unpack_from("<BBH", asked.payload)
    inner = asked.payload[_HEAD_BYTES : _HEAD_BYTES + size]
    if len(inner) < size:
        return Answer(BAD_LENGTH)
    typed = switch.profile.typed_tunnel
    if typed is None:
        typed = inner[:1] == bytes((CCI,))
    dialect = asked.manager.dialect
    message = read_message(inner[typed:], dialect)
    if message is None or not message.is_request or kind & 0xF != _PORT_OR_LD:
        return Answer(INVALID_INPUT)
    found: Answer | None = Answer(BAD_LENGTH)
    if message.whole:
        question = Asked(message.opcode, message.payload, asked.manager, port, ld)
        found = carry_out(switch, table, question)
    if found is None:
        return None
    reply = bytes((CCI,)) * typed + write_message(
        dialect,
        opcode=message.opcode,
        tag=message.tag,
        payload=found.payload,
        code=found.code,
        background=found.background,
    )
    return Answer(payload=struct.pack("<HH", len(reply), 0) + reply)


def configure_ld(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Send LD CXL.io Configuration Request (5301h); what is written is not kept."""
    number, register, extended, _, ld = struct.unpack_from("<BBBBH", asked.payload)
    device = switch.device(number)
    if device is None or all(each.id != ld for each in device.facts.lds):
        return Answer(INVALID_INPUT)
    address = (extended & 0xF) << 8 | register
    return Answer(payload=configuration_dword(switch, address, _MEMORY_CLASS))


def read_ld_memory(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Send LD CXL.io Memory Request (5302h): a simulated LD has no registers, so all are 0.

    A write is refused, for there is nothing that would take it.
    """
    number, _, _, last, ld, length = struct.unpack_from("<BBBBHH", asked.payload)
    device = switch.device(number)
    known = device is not None and any(each.id == ld for each in device.facts.lds)
    fits = _MEMORY_HEAD + length <= 1 << asked.manager.limit and length <= _MEMORY_BYTES_MAX
    if not known or last & _WRITE or not fits:
        return Answer(INVALID_INPUT)
    return Answer(payload=struct.pack("<HH", length, 0) + bytes(length))


_WRITE = 0x80
_MEMORY_BYTES_MAX = 4096
_MEMORY_HEAD = 16
"""CCI header, and what stands before the data of an answer."""

DEVICE: Table = {**MLD, **DCD, 0x5300: Row(to_ld, _HEAD_BYTES, more=True)}
"""What an MLD behind a port understands."""

TUNNELS: Table = {
    0x5300: Row(to_device, _HEAD_BYTES, more=True),
    0x5301: Row(configure_ld, 12, effects=CONFIGURATION),
    0x5302: Row(read_ld_memory, 16, more=True),
}
