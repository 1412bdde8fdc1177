"""Packets and what they make up."""

import importlib.util
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.drivers.cxl_fmapi import mctp
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.mctp import Packet, Reassembler, Route

ROUTE = Route(destination=9, source=8, tag=5)
PACKETS = st.builds(
    Packet,
    st.integers(0, 255),
    st.integers(0, 255),
    st.booleans(),
    st.booleans(),
    st.integers(0, 3),
    st.booleans(),
    st.integers(0, 7),
    st.binary(min_size=64, max_size=64),
)


def packets(length: int, sequence: int = 0, route: Route = ROUTE) -> list[Packet]:
    body = bytes((7,)) + bytes(index % 251 for index in range(length - 1))
    return [mctp.decode(each) for each in mctp.packetize(body, route, sequence)]


def put_together(some: list[Packet], into: Reassembler | None = None) -> list[mctp.Body]:
    bodies = into or Reassembler(1 << 16)
    return [body for packet in some if (body := bodies.add(packet)) is not None]


@given(PACKETS)
def test_a_packet_is_read_as_written(packet: Packet) -> None:
    assert mctp.decode(mctp.encode(packet)) == packet


@given(st.integers(1, 700), st.integers(0, 3))
def test_a_message_is_put_together_from_its_packets(length: int, sequence: int) -> None:
    (body,) = put_together(packets(length, sequence))
    assert (body.message_type, body.source, body.tag) == (7, 8, 5)
    assert body.data[: length - 1] == bytes(index % 251 for index in range(length - 1))
    assert not any(body.data[length - 1 :])


def test_every_packet_has_68_bytes_and_the_next_number() -> None:
    pieces = mctp.packetize(bytes(200), ROUTE, 2)
    assert [len(each) for each in pieces] == [68] * 4
    assert [each[:4].hex() for each in pieces] == ["010908ad", "0109083d", "0109080d", "0109085d"]


def test_a_lost_packet_loses_its_message_and_no_other() -> None:
    first, second, third = packets(150), packets(150, 3), packets(150, 2)
    bodies = Reassembler(1 << 16)
    assert len(put_together([*first, second[0], second[2], *third], bodies)) == 2
    assert bodies.dropped == {"out of sequence": 1}


def test_a_repeated_packet_loses_its_message() -> None:
    some = packets(150)
    assert put_together([some[0], some[1], some[1], some[2]]) == []


def test_messages_of_different_tags_may_come_mixed() -> None:
    one, other = packets(150), packets(150, 1, Route(9, 8, 6))
    mixed = [packet for pair in zip(one, other, strict=True) for packet in pair]
    assert [body.tag for body in put_together(mixed)] == [5, 6]


def test_a_new_beginning_replaces_the_old() -> None:
    some, bodies = packets(150), Reassembler(1 << 16)
    assert len(put_together([some[0], *some], bodies)) == 1
    assert bodies.dropped == {"begun anew": 1}


def test_an_end_without_a_beginning_is_dropped() -> None:
    bodies = Reassembler(1 << 16)
    assert put_together(packets(150)[1:], bodies) == []
    assert bodies.dropped == {"without a beginning": 2}


def test_a_message_that_never_ends_is_dropped() -> None:
    bodies = Reassembler(640)
    begin = Packet(8, 9, True, False, 0, False, 1, bytes(64))
    bodies.add(begin)
    for number in range(1, 1000):
        bodies.add(Packet(8, 9, False, False, number % 4, False, 1, bytes(64)))
        assert bodies.held_bytes <= 640
    assert bodies.dropped["too long"] == 1


def test_beginnings_without_end_are_bounded_in_number() -> None:
    bodies = Reassembler(1 << 16, partials_max=3)
    for source in range(200):
        bodies.add(Packet(8, source, True, False, 0, False, 1, bytes(64)))
    assert bodies.held_bytes == 3 * 64


def test_a_message_with_an_integrity_check_is_dropped() -> None:
    bodies = Reassembler(1 << 16)
    assert bodies.add(Packet(8, 9, True, True, 0, False, 1, b"\x87" + bytes(63))) is None
    assert bodies.dropped == {"integrity check": 1}


@pytest.mark.parametrize("data", [b"", bytes(67), bytes(68), bytes((2,)) + bytes(67)])
def test_what_is_no_packet_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        mctp.decode(data)


@pytest.mark.parametrize(
    "packet",
    [
        Packet(256, 0, True, True, 0, True, 0, b""),
        Packet(0, 0, True, True, 4, True, 0, b""),
        Packet(0, 0, True, True, 0, True, 8, b""),
        Packet(0, 0, True, True, 0, True, 0, bytes(65)),
    ],
)
def test_a_packet_that_does_not_fit_is_malformed(packet: Packet) -> None:
    with pytest.raises(Malformed):
        mctp.encode(packet)


ORACLE = """
import sys
from pymctp.layers.mctp import TransportHdrPacket
for line in sys.stdin:
    read = TransportHdrPacket(bytes.fromhex(line))
    fields = (read.version, read.dst, read.src, read.som, read.eom, read.pkt_seq, read.to, read.tag)
    print(*(int(each) for each in fields))
"""


def test_another_implementation_reads_the_same_headers() -> None:
    if importlib.util.find_spec("pymctp") is None:
        pytest.skip("pymctp is not installed")
    some = [
        Packet(9, 8, bool(flags & 1), bool(flags & 2), flags >> 2 & 3, bool(flags & 16), tag, b"\7")
        for flags in range(32)
        for tag in (0, 3, 7)
    ]
    # In a process of its own: it imports scapy, which warns and takes its time.
    done = subprocess.run(
        [sys.executable, "-c", ORACLE],
        input="\n".join(mctp.encode(each).hex() for each in some),
        capture_output=True,
        text=True,
        check=True,
    )
    read = [tuple(int(each) for each in line.split()) for line in done.stdout.splitlines()]
    assert read == [
        (1, p.destination, p.source, p.start, p.end, p.sequence, p.owner, p.tag) for p in some
    ]
