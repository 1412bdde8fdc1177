"""The CCI message: a header of 12 bytes and a payload, in two dialects. Pure.

    offset  size  field                    SPEC            JRL
    00      1     category                 bits 3:0        bits 7:4 (0 request, 1 response)
    01      1     tag, chosen by who asks
    03      2     opcode
    05      2     payload length, bits 15:0
    07      1     payload length, 20:16    bits 4:0        bits 7:3
                  background operation     bit 7           bit 0
    08      2     return code
    0A      2     vendor specific extended status

Requests of less than 64 KiB are the same bytes in both, so only an answer shows the dialect.
"""

import struct
from dataclasses import dataclass
from enum import Enum, IntEnum

from redfish_fm.drivers.cxl_fmapi.malformed import Malformed

SIZE = 12
"""Of a header, in bytes."""

PAYLOAD_MAX = (1 << 21) - 1
"""What the length field can say, in bytes."""

_HEADER = struct.Struct("<BBxHHBHH")


class Dialect(Enum):
    """Who lays the bits as above."""

    SPEC = "spec"
    JRL = "jrl"


class Category(IntEnum):
    """Direction of a message."""

    REQUEST = 0
    RESPONSE = 1


@dataclass(frozen=True, slots=True)
class Message:
    """One CCI message. `padded` counts bytes that the peer failed to send, read as zeros."""

    category: Category
    tag: int
    opcode: int
    payload: bytes = b""
    return_code: int = 0
    background: bool = False
    vendor_status: int = 0
    padded: int = 0


def encode(message: Message, dialect: Dialect = Dialect.SPEC) -> bytes:
    """Return the bytes of a message. Raises Malformed for what does not fit."""
    length = len(message.payload)
    if length > PAYLOAD_MAX:
        raise Malformed(f"a payload of {length} bytes, at most {PAYLOAD_MAX} fit")
    first, high = message.category.value, length >> 16
    if dialect is Dialect.JRL:
        first, eighth = first << 4, high << 3 | message.background
    else:
        eighth = high | message.background << 7
    try:
        head = _HEADER.pack(
            first,
            message.tag,
            message.opcode,
            length & 0xFFFF,
            eighth,
            message.return_code,
            message.vendor_status,
        )
    except struct.error as error:
        raise Malformed(f"a field of the CCI header does not fit: {error}") from error
    return head + message.payload


def dialect_of(first: int) -> Dialect | None:
    """Return whose message begins with that byte; None for a request, which is both's."""
    low, high = first & 0xF, first >> 4
    if low == Category.RESPONSE:
        return Dialect.SPEC
    if low != Category.REQUEST:
        raise Malformed(f"a message of category {low}")
    return Dialect.JRL if high == Category.RESPONSE else None


def length_of(data: bytes, dialect: Dialect | None = None) -> int:
    """Return how long a message says it is, header included. Raises Malformed without one."""
    if len(data) < SIZE:
        raise Malformed(f"a CCI header has {SIZE} bytes, got {len(data)}")
    spoken = dialect or dialect_of(data[0]) or Dialect.SPEC
    high = data[7] >> 3 if spoken is Dialect.JRL else data[7] & 0x1F
    return SIZE + (high << 16 | data[6] << 8 | data[5])


def decode(data: bytes, dialect: Dialect | None = None) -> Message:
    """Return the message at the beginning of `data`; what follows it is padding.

    Without a dialect the first byte tells it. Raises Malformed, and nothing else.
    """
    end = length_of(data, dialect)
    if len(data) < end:
        raise Malformed(f"a message of {end} bytes is cut off after {len(data)}")
    first, tag, opcode, _, eighth, code, status = _HEADER.unpack_from(data)
    spoken = dialect or dialect_of(first) or Dialect.SPEC
    jrl = spoken is Dialect.JRL
    category, other = (first >> 4, first & 0xF) if jrl else (first & 0xF, first >> 4)
    if category not in (Category.REQUEST, Category.RESPONSE):
        raise Malformed(f"a message of category {category}")
    if category == Category.REQUEST and other == Category.RESPONSE:
        raise Malformed("an answer of the other dialect")
    background = eighth & 1 if jrl else eighth >> 7
    return Message(
        Category(category), tag, opcode, bytes(data[SIZE:end]), code, bool(background), status
    )
