"""Streams of bytes, good and hostile, whole and in pieces."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.drivers.cxl_fmapi import frames, header, mctp
from redfish_fm.drivers.cxl_fmapi.frames import Frame
from redfish_fm.drivers.cxl_fmapi.header import Category, Dialect, Message
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.wires import FrameWire, MctpWire, Sending, Wire

ANSWER = Message(Category.RESPONSE, 7, 0x5101, bytes(range(200)), 0, False, 0)


def packets(message: Message, dialect: Dialect, kind: int = 7) -> bytes:
    body = bytes((kind,)) + header.encode(message, dialect)
    return b"".join(mctp.packetize(body, mctp.Route(8, 0, 7, owner=False)))


@pytest.mark.parametrize("step", [1, 3, 67, 68, 69, 500])
@pytest.mark.parametrize("wire", [FrameWire(), MctpWire()], ids=["frames", "packets"])
def test_messages_come_whole_however_bytes_are_split(wire: Wire, step: int) -> None:
    one = (
        frames.encode(Frame(0, 0, header.encode(ANSWER)))
        if isinstance(wire, FrameWire)
        else packets(ANSWER, Dialect.SPEC)
    )
    stream, found = one * 3, []
    for at in range(0, len(stream), step):
        found += wire.receive(stream[at : at + step])
    assert [each.message for each in found] == [ANSWER] * 3
    assert wire.held_bytes == 0 and not wire.dropped


def test_the_dialect_of_the_first_answer_stays() -> None:
    wire = MctpWire()
    (first,) = wire.receive(packets(ANSWER, Dialect.JRL))
    assert (first.message, wire.dialect) == (ANSWER, Dialect.JRL)
    assert wire.receive(packets(ANSWER, Dialect.SPEC)) == []
    assert wire.dropped == {"malformed message": 1}


def test_a_request_of_the_peer_settles_no_dialect() -> None:
    wire = MctpWire()
    notice = Message(Category.REQUEST, 0, 0x0106, bytes(2))
    (found,) = wire.receive(packets(notice, Dialect.JRL, kind=8))
    assert (found.message, found.message_type, wire.dialect) == (notice, 8, None)


def test_other_message_types_are_dropped() -> None:
    wire = MctpWire()
    assert wire.receive(packets(ANSWER, Dialect.SPEC, kind=0)) == []
    assert wire.dropped == {"other message type": 1}


def test_a_bad_message_leaves_the_stream_in_step() -> None:
    wire = FrameWire()
    bad = frames.encode(Frame(0, 0, bytes((9,)) + bytes(11)))
    good = frames.encode(Frame(0, 0, header.encode(ANSWER)))
    assert [each.message for each in wire.receive(bad + good)] == [ANSWER]
    assert wire.dropped == {"malformed message": 1}


@pytest.mark.parametrize("data", ["0501", "0400", "f400", "0000"])
def test_frames_of_no_use_end_the_stream(data: str) -> None:
    with pytest.raises(Malformed):
        FrameWire().receive(bytes.fromhex(data) + bytes(14))


def test_a_packet_of_another_version_ends_the_stream() -> None:
    with pytest.raises(Malformed, match="version 3"):
        MctpWire().receive(bytes((3,)) + bytes(67))


def test_the_missing_last_byte_is_only_completed_where_packets_are_full() -> None:
    for length, padded in ((116, 1), (115, None)):
        message = Message(Category.RESPONSE, 7, 0x5101, b"\xff" * length)
        whole = bytes((7,)) + header.encode(message, Dialect.JRL)
        body = whole[:-1] if padded else whole[:-64]
        sent = b"".join(mctp.packetize(body, mctp.Route(8, 0, 7, owner=False)))
        found = MctpWire().receive(sent)
        assert [each.message.padded for each in found] == ([padded] if padded else [])
        if padded:
            assert found[0].message.payload == b"\xff" * 115 + b"\0"


def test_a_frame_too_long_for_its_length_field_is_malformed() -> None:
    longest = Message(Category.REQUEST, 0, 0x5101, bytes(4079))
    assert len(FrameWire().send(Sending(longest))[0]) == 4095
    with pytest.raises(Malformed, match="4096"):
        FrameWire().send(Sending(Message(Category.REQUEST, 0, 0x5101, bytes(4080))))


@pytest.mark.parametrize("frame", [Frame(256, 0, bytes(12)), Frame(0, 256, bytes(12))])
def test_a_frame_that_does_not_fit_is_malformed(frame: Frame) -> None:
    with pytest.raises(Malformed, match="one byte"):
        frames.encode(frame)


def test_packet_numbers_go_on_from_message_to_message() -> None:
    wire = MctpWire()
    message = Message(Category.REQUEST, 3, 0x5101, bytes(100))
    flags = [each[3] for _ in range(3) for each in wire.send(Sending(message))]
    assert [each >> 4 & 3 for each in flags] == [0, 1, 2, 3, 0, 1]


@given(st.lists(st.binary(max_size=300), max_size=8), st.booleans())
def test_any_bytes_are_messages_or_malformed(pieces: list[bytes], framed: bool) -> None:
    wire: Wire = FrameWire() if framed else MctpWire()
    try:
        for piece in pieces:
            wire.receive(piece)
    except Malformed as error:
        assert str(error)


def hostile(rng: random.Random, good: bytes) -> bytes:
    """Return bytes that are nearly right: most of what is wrong is one field."""
    data = bytearray(good)
    for _ in range(rng.randrange(4)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    if rng.random() < 0.1:
        del data[rng.randrange(len(data)) :]
    return bytes(data)


def feed(seed: int, count: int) -> None:
    """Feed hostile frames and packets; a stream that ends is begun anew, as a link would."""
    rng = random.Random(seed)  # noqa: S311 - repeats, and guards nothing
    good: list[tuple[type[FrameWire | MctpWire], bytes]] = [
        (FrameWire, frames.encode(Frame(0, 0, header.encode(ANSWER)))),
        (MctpWire, packets(ANSWER, Dialect.SPEC)),
        (MctpWire, packets(ANSWER, Dialect.JRL)),
        (MctpWire, packets(ANSWER, Dialect.JRL)[:68]),
    ]
    wires: dict[type[FrameWire | MctpWire], FrameWire | MctpWire] = {
        FrameWire: FrameWire(),
        MctpWire: MctpWire(message_bytes_max=4096),
    }
    arrived = 0
    for _ in range(count):
        kind, data = rng.choice(good)
        try:
            arrived += len(wires[kind].receive(hostile(rng, data)))
        except Malformed:
            wires[kind] = FrameWire() if kind is FrameWire else MctpWire(message_bytes_max=4096)
        assert wires[kind].held_bytes <= 8 * 5000
    assert arrived > count // 20


def test_hostile_frames_are_survived(seed_base: int) -> None:
    feed(seed_base, 10_000)


@pytest.mark.soak
def test_a_million_hostile_frames_are_survived(seed_base: int) -> None:
    feed(seed_base, 1_000_000)
