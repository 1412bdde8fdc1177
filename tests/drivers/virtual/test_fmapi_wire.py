"""Bytes at the switch's end of the wire: headers, packets, frames, and whatever else arrives."""

import importlib.util
import random
import struct
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.drivers.cxl_fmapi import header
from redfish_fm.drivers.virtual.fmapi_wire import (
    CCI,
    FM_API,
    MESSAGE_BYTES_MAX,
    Dialect,
    Frames,
    Heard,
    Packets,
    WireBroken,
    read_message,
    write_message,
)
from tests.drivers.cxl_fmapi.test_mctp import ORACLE
from tests.drivers.virtual.fmapi_raw import cut

ASKED = Heard(0x5100, 7, b"", mctp_tag=5, manager_eid=8, own_eid=9)
BOTH = pytest.mark.parametrize("dialect", list(Dialect))


def request(payload: bytes = b"", opcode: int = 0x5100, tag: int = 7) -> bytes:
    return struct.pack("<BBBHHBHH", 0, tag, 0, opcode, len(payload), 0, 0, 0) + payload


def packets_of(message: bytes, first: int = 0, kind: int = FM_API, source: int = 8) -> list[bytes]:
    body = bytes((kind,)) + message
    return [
        bytes((1, 9, source, (at == 0) << 7 | (at + 64 >= len(body)) << 6 |
               (first + at // 64) % 4 << 4 | 0x0D)) + body[at : at + 64].ljust(64, b"\0")
        for at in range(0, len(body), 64)
    ]  # fmt: skip


def framed(message: bytes, port: int = 0) -> bytes:
    return struct.pack("<HBB", (len(message) + 4) << 4 | 4, port, 0) + message


# Headers


def test_the_standard_has_the_category_low_and_the_background_bit_high() -> None:
    message = write_message(Dialect.SPEC, opcode=0x5201, tag=3, code=1, background=True)
    assert message.hex() == "010300015200008001000000"


def test_the_other_dialect_has_the_category_high_and_the_background_bit_low() -> None:
    message = write_message(Dialect.JRL, opcode=0x5201, tag=3, code=1, background=True)
    assert message.hex() == "100300015200000101000000"


def test_a_notice_is_a_request_in_either_dialect() -> None:
    messages = {write_message(d, opcode=0xC001, tag=0, is_request=True) for d in Dialect}
    assert {message.hex() for message in messages} == {"000000" + "01c0" + "00" * 7}


@BOTH
@given(
    opcode=st.integers(0, 0xFFFF),
    tag=st.integers(0, 255),
    payload=st.binary(max_size=300),
    code=st.integers(0, 0xFFFF),
    background=st.booleans(),
)
def test_the_managers_codec_reads_what_a_switch_writes(
    dialect: Dialect, opcode: int, tag: int, payload: bytes, code: int, background: bool
) -> None:
    message = write_message(
        dialect, opcode=opcode, tag=tag, payload=payload, code=code, background=background
    )
    read = header.decode(message)
    assert (read.opcode, read.tag, read.payload) == (opcode, tag, payload)
    assert (read.return_code, read.background) == (code, background)


@BOTH
@given(opcode=st.integers(0, 0xFFFF), tag=st.integers(0, 255), payload=st.binary(max_size=300))
def test_a_switch_reads_what_the_managers_codec_writes(
    dialect: Dialect, opcode: int, tag: int, payload: bytes
) -> None:
    message = header.encode(header.Message(header.Category.REQUEST, tag, opcode, payload))
    assert read_message(message + b"\0" * 9, dialect) == Heard(opcode, tag, payload)


@BOTH
def test_long_lengths_are_read_from_both_parts_of_the_header(dialect: Dialect) -> None:
    high = 1 if dialect is Dialect.SPEC else 1 << 3
    message = struct.pack("<BBBHHBHH", 0, 0, 0, 0x5604, 2, high, 0, 0) + bytes(0x10002)
    heard = read_message(message, dialect)
    assert heard is not None and heard.whole and len(heard.payload) == 0x10002


def test_a_payload_that_is_cut_off_is_not_whole() -> None:
    heard = read_message(request(bytes(6))[:-1], Dialect.SPEC)
    assert heard is not None and not heard.whole


# Packets


@pytest.mark.parametrize("step", [1, 7, 68, 100, 1000])
def test_packets_may_arrive_in_any_pieces(step: int) -> None:
    data = b"".join(packets_of(request(bytes(range(200))))) + packets_of(request(tag=8))[0]
    wire = Packets(Dialect.SPEC)
    heard = [h for at in range(0, len(data), step) for h in wire.feed(data[at : at + step])]
    assert [(h.tag, h.payload) for h in heard] == [(7, bytes(range(200))), (8, b"")]


def test_an_answer_goes_back_to_where_the_request_came_from_with_its_mctp_tag() -> None:
    wire = Packets(Dialect.SPEC)
    (heard,) = wire.feed(packets_of(request(), kind=CCI)[0])
    (packet,) = wire.answer(write_message(Dialect.SPEC, opcode=1, tag=7), heard)
    version, destination, source, flags, kind = packet[:5]
    assert (version, destination, source, kind) == (1, 8, 9, CCI)
    assert flags & 0x0F == 5  # the tag, and the owner bit is the manager's
    assert flags & 0xC0 == 0xC0 and len(packet) == 68


def test_a_notice_goes_to_who_was_heard_last_and_its_tag_is_the_switchs_own() -> None:
    wire = Packets(Dialect.SPEC)
    wire.feed(packets_of(request(), source=0x21)[0])
    (packet,) = wire.notice(write_message(Dialect.SPEC, opcode=0x0106, tag=0, is_request=True))
    assert packet[:3] == bytes((1, 0x21, 9))
    assert packet[3] & 0xC8 == 0xC8


def test_a_long_answer_counts_its_packets_modulo_4() -> None:
    message = write_message(Dialect.SPEC, opcode=1, tag=7, payload=bytes(300))
    packets = Packets(Dialect.SPEC).answer(message, ASKED)
    assert [packet[3] >> 4 & 3 for packet in packets] == [0, 1, 2, 3, 0]
    assert [packet[3] >> 6 for packet in packets] == [2, 0, 0, 0, 1]


def test_packets_have_the_headers_that_a_third_partys_decoder_reads() -> None:
    if importlib.util.find_spec("pymctp") is None:
        pytest.skip("pymctp is not installed")
    message = write_message(Dialect.SPEC, opcode=1, tag=7, payload=bytes(60))
    packets = Packets(Dialect.SPEC).answer(message, ASKED)
    done = subprocess.run(
        [sys.executable, "-c", ORACLE],
        input="\n".join(packet.hex() for packet in packets),
        capture_output=True,
        text=True,
        check=True,
    )
    version, destination, source, tag = 1, 8, 9, 5
    assert [tuple(int(each) for each in line.split()) for line in done.stdout.splitlines()] == [
        (version, destination, source, 1, 0, 0, 0, tag),
        (version, destination, source, 0, 1, 1, 0, tag),
    ]


def test_a_message_with_a_missing_packet_is_lost_and_the_next_one_is_not() -> None:
    wire = Packets(Dialect.SPEC)
    packets = packets_of(request(bytes(200)))
    assert wire.feed(b"".join(packets[:1] + packets[2:])) == []
    assert len(wire.feed(packets_of(request())[0])) == 1


def test_messages_of_two_managers_may_be_interleaved() -> None:
    one, other = packets_of(request(bytes(90))), packets_of(request(bytes(90), tag=9), source=7)
    heard = Packets(Dialect.SPEC).feed(one[0] + other[0] + one[1] + other[1])
    assert [(h.tag, h.manager_eid) for h in heard] == [(7, 8), (9, 7)]


@pytest.mark.parametrize(
    "packet",
    [
        packets_of(request())[0].replace(b"\x01", b"\x02", 1),
        packets_of(request(), kind=0)[0],
        packets_of(request()[:8])[0][:4] + bytes((FM_API,)) + b"\xff" * 63,
    ],
    ids=["other version", "control message", "noise"],
)
def test_what_is_no_message_is_dropped(packet: bytes) -> None:
    wire = Packets(Dialect.SPEC)
    assert [h for h in wire.feed(packet) if h.whole and h.is_request] == []
    assert len(wire.feed(packets_of(request())[0])) == 1


def test_a_message_without_end_is_not_kept() -> None:
    wire = Packets(Dialect.SPEC)
    begin, middle = packets_of(request(bytes(150)))[:2]
    wire.feed(begin)
    for number in range(1, 2 * MESSAGE_BYTES_MAX // 64):
        flags = bytes((middle[3] & 0xCF | number % 4 << 4,))
        wire.feed(middle[:3] + flags + middle[4:])
    end = bytes((0x40 | 0x0D | (number + 1) % 4 << 4,))
    assert wire.feed(middle[:3] + end + middle[4:]) == []


def test_a_message_that_fills_its_packets_loses_a_byte_where_they_are_miscounted() -> None:
    message = write_message(Dialect.JRL, opcode=0x5101, tag=1, payload=bytes(115) + b"\x07")
    whole = b"".join(p[4:] for p in Packets(Dialect.JRL).answer(message, ASKED))
    short = b"".join(p[4:] for p in Packets(Dialect.JRL, truncates=True).answer(message, ASKED))
    assert (len(whole), len(short)) == (192, 128)
    assert cut(whole[1:]).payload[-1] == 7 and len(short) - 1 - 12 == 115


# Frames


@pytest.mark.parametrize("step", [1, 5, 1000])
def test_frames_may_arrive_in_any_pieces(step: int) -> None:
    data = framed(request(b"ab"), port=5) + framed(request(tag=8))
    wire = Frames(Dialect.SPEC)
    heard = [h for at in range(0, len(data), step) for h in wire.feed(data[at : at + step])]
    assert [(h.tag, h.payload, h.port) for h in heard] == [(7, b"ab", 5), (8, b"", 0)]


def test_a_frame_has_the_bytes_of_the_fact_sheet() -> None:
    message = write_message(Dialect.SPEC, opcode=0, tag=13, code=1, background=True)
    assert Frames(Dialect.SPEC).answer(message, ASKED)[0].hex() == (
        "04010000" + "010d00000000008001000000"
    )


@pytest.mark.parametrize("data", [b"\x05\x01\x00\x00", b"\x04\x00\x00\x00", b"\xff\xff\xff\xff"])
def test_what_begins_no_frame_breaks_the_wire(data: bytes) -> None:
    with pytest.raises(WireBroken):
        Frames(Dialect.SPEC).feed(data)


@pytest.mark.parametrize("count", [3000, pytest.param(500_000, marks=pytest.mark.soak)])
@BOTH
def test_hostile_bytes_do_no_more_than_break_the_wire(
    dialect: Dialect, count: int, seed_base: int
) -> None:
    chance = random.Random(seed_base)  # noqa: S311 - no secret
    wires = (Packets(dialect), Frames(dialect))
    for _ in range(count):
        data = bytearray(chance.choice((framed(request(bytes(9))), *packets_of(request()))))
        for _ in range(chance.randint(0, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        wires[0].feed(bytes(data))
        try:
            wires[1].feed(bytes(data))
        except WireBroken:
            wires = (wires[0], Frames(dialect))
