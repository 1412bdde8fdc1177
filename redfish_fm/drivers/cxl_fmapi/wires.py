"""The two ways in which CCI messages go over a stream of bytes. No I/O: bytes in, messages out.

A wire belongs to one connection. It takes bytes however they were split, and returns each
message once it is whole. A message that is bad by itself is dropped and counted; a stream that
can not be told apart any more raises Malformed, and the connection is of no use.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Protocol

from redfish_fm.drivers.cxl_fmapi import frames, header, mctp
from redfish_fm.drivers.cxl_fmapi.command import CCI, FM_API
from redfish_fm.drivers.cxl_fmapi.header import Dialect, Message
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed

MESSAGE_BYTES_MAX = 1 << 20
"""The largest payload that a component may announce (Identify: 2^20)."""


@dataclass(frozen=True, slots=True)
class Sending:
    """A message on its way out. `port` is for wires that route by it."""

    message: Message
    message_type: int = CCI
    port: int = 0


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message that came, and how."""

    message: Message
    message_type: int | None = None
    port: int = 0


class Wire(Protocol):
    """One connection's way of speaking."""

    dropped: Counter[str]
    dialect: Dialect | None

    @property
    def held_bytes(self) -> int:
        """Return the size of what waits for its end."""
        ...

    def send(self, sending: Sending) -> list[bytes]:
        """Return what to write, each piece by one call. Raises Malformed for what does not fit."""
        ...

    def receive(self, data: bytes) -> list[Arrival]:
        """Return the messages that these bytes complete. Raises Malformed when out of step."""
        ...


class FrameWire:
    """Frames of 2 + 1 + 1 bytes; the dialect is always that of the standard."""

    def __init__(self) -> None:
        self.dialect: Dialect | None = Dialect.SPEC
        self._buffer = bytearray()
        self.dropped: Counter[str] = Counter()

    @property
    def held_bytes(self) -> int:
        """Return the size of what waits for its end."""
        return len(self._buffer)

    def send(self, sending: Sending) -> list[bytes]:
        """Return the one frame."""
        return [frames.encode(frames.Frame(sending.port, 0, header.encode(sending.message)))]

    def receive(self, data: bytes) -> list[Arrival]:
        """Return the messages of all frames that are whole by now."""
        self._buffer += data
        arrivals, at = [], 0
        while len(self._buffer) - at >= frames.HEAD:
            length = frames.length_of(bytes(self._buffer[at : at + 2]))
            if len(self._buffer) - at < length:
                break
            frame = frames.decode(bytes(self._buffer[at : at + length]))
            at += length
            try:
                message = header.decode(frame.data, Dialect.SPEC)
            except Malformed:
                self.dropped["malformed message"] += 1
                continue
            arrivals.append(Arrival(message, None, frame.port))
        del self._buffer[:at]
        return arrivals


class MctpWire:
    """Packets of 68 bytes. `dialect` is None until an answer shows it.

    The MCTP tag of a message is the next of eight; answers are told apart by their CCI tags.
    """

    def __init__(
        self,
        dialect: Dialect | None = None,
        own_eid: int = 8,
        peer_eid: int = 9,
        message_bytes_max: int = MESSAGE_BYTES_MAX,
    ) -> None:
        self.dialect = dialect
        self._own_eid = own_eid
        self._peer_eid = peer_eid
        self._sequence = 0
        self._tag = 0
        self._buffer = bytearray()
        body_max = 1 + header.SIZE + message_bytes_max + mctp.PAYLOAD_BYTES
        self._bodies = mctp.Reassembler(body_max)
        self.dropped: Counter[str] = self._bodies.dropped

    @property
    def held_bytes(self) -> int:
        """Return the size of what waits for its end."""
        return len(self._buffer) + self._bodies.held_bytes

    def send(self, sending: Sending) -> list[bytes]:
        """Return the packets of one message."""
        message = sending.message
        data = header.encode(message, self.dialect or Dialect.SPEC)
        owner = message.category is header.Category.REQUEST
        route = mctp.Route(self._peer_eid, self._own_eid, self._tag, owner)
        packets = mctp.packetize(bytes((sending.message_type,)) + data, route, self._sequence)
        self._tag = (self._tag + 1) % 8
        self._sequence = (self._sequence + len(packets)) % 4
        return packets

    def receive(self, data: bytes) -> list[Arrival]:
        """Return the messages of all packets that are whole by now."""
        self._buffer += data
        whole = len(self._buffer) // mctp.PACKET_BYTES * mctp.PACKET_BYTES
        arrivals = []
        for at in range(0, whole, mctp.PACKET_BYTES):
            packet = mctp.decode(bytes(self._buffer[at : at + mctp.PACKET_BYTES]))
            body = self._bodies.add(packet)
            arrival = self._arrival(body) if body is not None else None
            if arrival is not None:
                arrivals.append(arrival)
        del self._buffer[:whole]
        return arrivals

    def _arrival(self, body: mctp.Body) -> Arrival | None:
        if body.message_type not in (FM_API, CCI):
            self.dropped["other message type"] += 1
            return None
        try:
            message = self._message(body.data)
        except Malformed:
            self.dropped["malformed message"] += 1
            return None
        return Arrival(message, body.message_type)

    def _message(self, data: bytes) -> Message:
        spoken = self.dialect or header.dialect_of(data[0])
        length = header.length_of(data, spoken)
        # One known switch counts packets without the message type: where header and payload fill
        # packets to the brim, the last byte is not sent.
        short = length - len(data) == 1
        message = header.decode(data + b"\0" if short else data, spoken)
        if self.dialect is None and message.category is header.Category.RESPONSE:
            self.dialect = spoken
        return replace(message, padded=1) if short else message
