"""Bytes of the FM API as a switch reads and writes them: CCI headers, MCTP packets, frames.

Pure. Written apart from the manager's codec in drivers/cxl_fmapi, and shares nothing with it: two
ends that share one table prove nothing about each other. All numbers are little-endian.

    CCI header, 12 bytes        spec                      jrl
    00  category                bits 3:0                  bits 7:4
    01  tag
    03  opcode, 2 bytes
    05  payload length 15:0
    07  payload length 20:16    bits 4:0                  bits 7:3
        background operation    bit 7                     bit 0
    08  return code, 2 bytes
    0A  vendor status, 2 bytes

    packet, 68 bytes: header version 1; destination; source; SOM, EOM, sequence, TO, tag; 64 bytes
    of the message, whose first byte is the MCTP message type
    frame: 2 bytes 4 | length << 4, port, class; CCI message
"""

import itertools
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from redfish_fm.errors import FmError

FM_API, CCI = 0x07, 0x08
"""MCTP message types."""

_LIMIT_OF_PACKETS, _LIMIT_OF_FRAMES = 13, 11
"""Longest messages, as powers of two. A frame counts its bytes with 12 bits."""

MESSAGE_BYTES_MAX = 1 << _LIMIT_OF_PACKETS
"""Longest message that a switch takes; Identify says it as 13."""

_HEADER = struct.Struct("<BBBHHBHH")
_PACKET_BYTES, _PACKET_BODY = 68, 64
_SOM, _EOM, _OWNER = 0x80, 0x40, 0x08
_FRAME_KIND = 4
_FRAME_HEAD = 4
_FRAME_BYTES_MAX = 0xFFF
_ASSEMBLIES_MAX = 32
"""Messages that one manager may have begun and not ended."""


class Dialect(Enum):
    """How the CCI header is packed."""

    SPEC = "spec"
    JRL = "jrl"


class WireBroken(FmError):
    """What came can not be told apart any more; the connection is of no use."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One message of a manager. `whole` tells whether its payload has the length it says."""

    opcode: int
    tag: int
    payload: bytes
    is_request: bool = True
    whole: bool = True
    message_type: int = FM_API
    port: int = 0
    """Of a frame: which port's device is meant."""
    mctp_tag: int = 0
    manager_eid: int = 0
    own_eid: int = 0


def read_message(data: bytes, dialect: Dialect) -> Heard | None:
    """Return the CCI message at the beginning of `data`, padding left out; None for too little."""
    if len(data) < _HEADER.size:
        return None
    first, tag, _, opcode, low, eighth, _, _ = _HEADER.unpack_from(data)
    spec = dialect is Dialect.SPEC
    category = first & 0xF if spec else first >> 4
    length = low | (eighth & 0x1F if spec else eighth >> 3) << 16
    payload = data[_HEADER.size : _HEADER.size + length]
    return Heard(opcode, tag, payload, category == 0, len(payload) == length)


def write_message(
    dialect: Dialect,
    *,
    opcode: int,
    tag: int,
    payload: bytes = b"",
    code: int = 0,
    background: bool = False,
    is_request: bool = False,
) -> bytes:
    """Return a CCI message of a switch: an answer, or a request of its own."""
    category, high = int(not is_request), len(payload) >> 16 & 0x1F
    first, eighth = category, high | background << 7
    if dialect is Dialect.JRL:
        first, eighth = category << 4, high << 3 | background
    head = _HEADER.pack(first, tag, 0, opcode, len(payload) & 0xFFFF, eighth, code, 0)
    return head + payload


class Framing(Protocol):
    """How messages go over one connection; made anew for each.

    `limit_max`: messages of 2^n bytes fit, and no longer ones.
    """

    limit_max: int

    def feed(self, data: bytes) -> list[Heard]:
        """Return the messages that are complete now. Raises WireBroken."""
        ...

    def answer(self, message: bytes, to: Heard) -> list[bytes]:
        """Return the pieces that carry an answer, each to be written at once."""
        ...

    def notice(self, message: bytes) -> list[bytes]:
        """Return the pieces that carry a request of the switch's own."""
        ...


@dataclass(slots=True)
class _Assembly:
    """A message of which packets are missing."""

    sequence: int
    data: bytearray


class Packets:
    """MCTP packets of 68 bytes each.

    What is out of order, of another version or too long is dropped, as MCTP wants it; only the
    manager can know that its message is lost. `truncates`: the packets are counted without the
    byte of the message type, so that a message that fills them to the last byte loses it.
    """

    def __init__(self, dialect: Dialect, *, truncates: bool = False) -> None:
        self.limit_max = _LIMIT_OF_PACKETS
        self._dialect = dialect
        self._truncates = truncates
        self._waiting = bytearray()
        self._open: dict[tuple[int, int], _Assembly] = {}
        self._sequence = itertools.cycle(range(4))
        self._notice_tags = itertools.cycle(range(8))
        self._manager_eid, self._own_eid = 0, 0

    def feed(self, data: bytes) -> list[Heard]:
        """Return the messages that are complete now."""
        self._waiting += data
        found = []
        while len(self._waiting) >= _PACKET_BYTES:
            packet = bytes(self._waiting[:_PACKET_BYTES])
            del self._waiting[:_PACKET_BYTES]
            heard = self._take(packet)
            if heard is not None:
                found.append(heard)
        return found

    def answer(self, message: bytes, to: Heard) -> list[bytes]:
        """Return the packets of an answer; the tag is the manager's."""
        addresses = bytes((1, to.manager_eid, to.own_eid))
        return list(self._cut(addresses, to.mctp_tag, bytes((to.message_type,)) + message))

    def notice(self, message: bytes) -> list[bytes]:
        """Return the packets of a request to whoever was heard last."""
        addresses = bytes((1, self._manager_eid, self._own_eid))
        tag = _OWNER | next(self._notice_tags)
        return list(self._cut(addresses, tag, bytes((CCI,)) + message))

    def _cut(self, addresses: bytes, flags: int, body: bytes) -> Iterable[bytes]:
        if self._truncates and len(body) % _PACKET_BODY == 1:
            body = body[:-1]
        for at in range(0, len(body), _PACKET_BODY):
            ends = _SOM * (at == 0) | _EOM * (at + _PACKET_BODY >= len(body))
            fourth = ends | next(self._sequence) << 4 | flags
            yield addresses + bytes((fourth,)) + body[at : at + _PACKET_BODY].ljust(64, b"\0")

    def _take(self, packet: bytes) -> Heard | None:
        version, own, manager, flags = packet[:4]
        if version & 0xF != 1:
            return None
        key, sequence = (manager, flags & 0xF), flags >> 4 & 3
        assembly = self._open.pop(key, None)
        if flags & _SOM:
            assembly = _Assembly(sequence, bytearray(packet[4:]))
        elif assembly is None or sequence != (assembly.sequence + 1) % 4:
            return None
        else:
            assembly.sequence = sequence
            assembly.data += packet[4:]
        if not flags & _EOM:
            if len(assembly.data) <= MESSAGE_BYTES_MAX and len(self._open) < _ASSEMBLIES_MAX:
                self._open[key] = assembly
            return None
        return self._message(bytes(assembly.data), own, manager, flags)

    def _message(self, body: bytes, own: int, manager: int, flags: int) -> Heard | None:
        heard = read_message(body[1:], self._dialect)
        if heard is None or body[0] not in (FM_API, CCI):
            return None
        self._manager_eid, self._own_eid = manager, own
        return Heard(
            heard.opcode,
            heard.tag,
            heard.payload,
            heard.is_request,
            heard.whole,
            body[0],
            mctp_tag=flags & 7,
            manager_eid=manager,
            own_eid=own,
        )


@dataclass(slots=True)
class Frames:
    """Frames of 2 + 1 + 1 bytes before the CCI message."""

    dialect: Dialect
    limit_max: int = _LIMIT_OF_FRAMES
    _waiting: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> list[Heard]:
        """Return the messages that are complete now. Raises WireBroken: frames have no marks."""
        self._waiting += data
        found = []
        while len(self._waiting) >= _FRAME_HEAD:
            word = self._waiting[0] | self._waiting[1] << 8
            length = word >> 4
            if word & 0xF != _FRAME_KIND or length < _FRAME_HEAD + _HEADER.size:
                raise WireBroken(f"{word:#06x} begins no frame")
            if len(self._waiting) < length:
                break
            port, message = self._waiting[2], bytes(self._waiting[_FRAME_HEAD:length])
            del self._waiting[:length]
            heard = read_message(message, self.dialect)
            if heard is not None:
                found.append(Heard(heard.opcode, heard.tag, heard.payload, heard.is_request,
                                   heard.whole, port=port))  # fmt: skip
        return found

    def answer(self, message: bytes, to: Heard) -> list[bytes]:
        """Return the frame of an answer."""
        return self._framed(message, to.port)

    def notice(self, message: bytes) -> list[bytes]:
        """Return the frame of a request of the switch's own."""
        return self._framed(message, 0)

    @staticmethod
    def _framed(message: bytes, port: int) -> list[bytes]:
        length = _FRAME_HEAD + len(message)
        if length > _FRAME_BYTES_MAX:
            raise WireBroken(f"an answer of {len(message)} bytes fits no frame")
        return [struct.pack("<HBB", length << 4 | _FRAME_KIND, port, 0) + message]
