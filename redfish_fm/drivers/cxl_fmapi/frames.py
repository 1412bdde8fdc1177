"""Frames of 2 + 1 + 1 bytes and a CCI message, as one known switch speaks them over TCP. Pure.

offset  size  field
00      2     bits 3:0 type, 4; bits 15:4 length of the whole frame in bytes
02      1     port index: 0, or the port of the MLD that a 54xxh command is for
03      1     message class: 0 from a fabric manager
04            CCI message, without MCTP header and message type
"""

import struct
from dataclasses import dataclass

from redfish_fm.drivers.cxl_fmapi import header
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed

HEAD = 4
FRAME_BYTES_MAX = 0xFFF
_TYPE = 4
_HEADER = struct.Struct("<HBB")


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame with the bytes of its message."""

    port: int
    message_class: int
    data: bytes


def encode(frame: Frame) -> bytes:
    """Return the bytes. Raises Malformed when the message is too long for a frame."""
    length = HEAD + len(frame.data)
    if length > FRAME_BYTES_MAX:
        raise Malformed(f"a frame of {length} bytes, at most {FRAME_BYTES_MAX} fit")
    if not (0 <= frame.port <= 0xFF and 0 <= frame.message_class <= 0xFF):
        raise Malformed("port and class of a frame have one byte each")
    return _HEADER.pack(length << 4 | _TYPE, frame.port, frame.message_class) + frame.data


def length_of(data: bytes) -> int:
    """Return how long the frame is that begins with these two bytes or more.

    Raises Malformed for another type, and for a length that no CCI message fits into: what
    follows could not be told apart any more.
    """
    word = data[0] | data[1] << 8
    if word & 0xF != _TYPE:
        raise Malformed(f"a frame of type {word & 0xF}")
    length = word >> 4
    if length < HEAD + header.SIZE:
        raise Malformed(f"a frame of {length} bytes")
    return length


def decode(data: bytes) -> Frame:
    """Return the frame that these bytes are."""
    if len(data) < HEAD or length_of(data) != len(data):
        raise Malformed(f"{len(data)} bytes are no frame")
    _, port, message_class = _HEADER.unpack_from(data)
    return Frame(port, message_class, bytes(data[HEAD:]))
