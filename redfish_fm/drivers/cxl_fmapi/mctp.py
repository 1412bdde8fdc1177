"""MCTP packets: messages cut to packets of 68 bytes, and put together again. Pure.

    offset  size  field
    00      1     bits 3:0 header version, 1
    01      1     destination endpoint id
    02      1     source endpoint id
    03      1     bit 7 start, bit 6 end of message, bits 5:4 sequence number modulo 4,
                  bit 3 tag owner (1 in requests), bits 2:0 tag
    04      64    payload

The first payload byte of a message is its type (bit 7: integrity check, which no CXL message has).
"""

from collections import Counter, OrderedDict
from dataclasses import dataclass

from redfish_fm.drivers.cxl_fmapi.malformed import Malformed

PACKET_BYTES = 68
"""Of every packet over TCP; the last of a message is filled up."""

PAYLOAD_BYTES = 64
"""Of a packet: the baseline transmission unit."""

_HEAD = 4
_VERSION = 1
_START, _END, _OWNER = 0x80, 0x40, 0x08


@dataclass(frozen=True, slots=True)
class Packet:
    """One packet as it stands, filling included."""

    destination: int
    source: int
    start: bool
    end: bool
    sequence: int
    owner: bool
    tag: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Route:
    """From whom, to whom, under which tag; `owner` where the tag is the sender's."""

    destination: int
    source: int
    tag: int
    owner: bool = True


def packetize(body: bytes, route: Route, sequence: int = 0) -> list[bytes]:
    """Return the packets of one message; the first has number `sequence`, of 0 to 3."""
    if not body:
        raise Malformed("a message has its type at least")
    pieces = [body[at : at + PAYLOAD_BYTES] for at in range(0, len(body), PAYLOAD_BYTES)]
    last = len(pieces) - 1
    return [
        encode(
            Packet(
                route.destination,
                route.source,
                index == 0,
                index == last,
                (sequence + index) % 4,
                route.owner,
                route.tag,
                piece,
            )
        )
        for index, piece in enumerate(pieces)
    ]


def encode(packet: Packet) -> bytes:
    """Return a packet's 68 bytes. Raises Malformed for what does not fit."""
    flags = packet.sequence << 4 | packet.tag
    if not (0 <= packet.sequence < 4 and 0 <= packet.tag < 8):
        raise Malformed(f"sequence {packet.sequence} or tag {packet.tag} does not fit")
    if not (0 <= packet.destination <= 0xFF and 0 <= packet.source <= 0xFF):
        raise Malformed("an endpoint id has one byte")
    if len(packet.payload) > PAYLOAD_BYTES:
        raise Malformed(f"a packet carries {PAYLOAD_BYTES} bytes, not {len(packet.payload)}")
    flags |= packet.start * _START | packet.end * _END | packet.owner * _OWNER
    head = bytes((_VERSION, packet.destination, packet.source, flags))
    return head + packet.payload.ljust(PAYLOAD_BYTES, b"\0")


def decode(data: bytes) -> Packet:
    """Return the packet. Raises Malformed for another length or header version."""
    if len(data) != PACKET_BYTES:
        raise Malformed(f"a packet has {PACKET_BYTES} bytes, got {len(data)}")
    if data[0] & 0xF != _VERSION:
        raise Malformed(f"MCTP header version {data[0] & 0xF}")
    flags = data[3]
    return Packet(
        data[1],
        data[2],
        bool(flags & _START),
        bool(flags & _END),
        flags >> 4 & 3,
        bool(flags & _OWNER),
        flags & 7,
        bytes(data[_HEAD:]),
    )


@dataclass(frozen=True, slots=True)
class Body:
    """A message put together: its type, and everything after it, filling included."""

    message_type: int
    data: bytes
    source: int
    owner: bool
    tag: int


class _Partial:
    """The beginning of a message."""

    def __init__(self, packet: Packet) -> None:
        self.data = bytearray(packet.payload)
        self.next = (packet.sequence + 1) % 4


_Key = tuple[int, int, bool, int]


class Reassembler:
    """Puts messages of all senders together; holds a bounded number of beginnings.

    `dropped` counts by reason what came to nothing.
    """

    def __init__(self, body_bytes_max: int, partials_max: int = 8) -> None:
        self._body_bytes_max = body_bytes_max
        self._partials_max = partials_max
        self._partials: OrderedDict[_Key, _Partial] = OrderedDict()
        self.dropped: Counter[str] = Counter()

    @property
    def held_bytes(self) -> int:
        """Return the size of all beginnings that wait for their end."""
        return sum(len(each.data) for each in self._partials.values())

    def add(self, packet: Packet) -> Body | None:
        """Return the message that this packet completes, if it does."""
        key = (packet.source, packet.destination, packet.owner, packet.tag)
        partial = self._begin(key, packet) if packet.start else self._go_on(key, packet)
        if partial is None or not packet.end:
            return None
        del self._partials[key]
        kind = partial.data[0]
        if kind & 0x80:
            self.dropped["integrity check"] += 1
            return None
        return Body(kind, bytes(partial.data[1:]), packet.source, packet.owner, packet.tag)

    def _begin(self, key: _Key, packet: Packet) -> _Partial:
        if self._partials.pop(key, None) is not None:
            self.dropped["begun anew"] += 1
        while len(self._partials) >= self._partials_max:
            self._partials.popitem(last=False)
            self.dropped["too many at once"] += 1
        partial = self._partials[key] = _Partial(packet)
        return partial

    def _go_on(self, key: _Key, packet: Packet) -> _Partial | None:
        partial = self._partials.get(key)
        if partial is None:
            self.dropped["without a beginning"] += 1
            return None
        reason = ""
        if packet.sequence != partial.next:
            reason = "out of sequence"
        elif len(partial.data) + PAYLOAD_BYTES > self._body_bytes_max:
            reason = "too long"
        if reason:
            del self._partials[key]
            self.dropped[reason] += 1
            return None
        partial.data += packet.payload
        partial.next = (partial.next + 1) % 4
        return partial
