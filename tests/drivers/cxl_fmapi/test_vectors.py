"""Captured pairs of two switches, both ways and in both dialects: the bytes decide."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.drivers.cxl_fmapi import header, tunnels
from redfish_fm.drivers.cxl_fmapi.command import FM_API
from redfish_fm.drivers.cxl_fmapi.commands import COMMANDS
from redfish_fm.drivers.cxl_fmapi.header import Category, Dialect, Message
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.mld_commands import (
    GET_LD_ALLOCATIONS,
    GET_LD_INFO,
    GET_QOS_CONTROL,
    LdAllocation,
    LdFractions,
    LdInfo,
    QosControl,
)
from redfish_fm.drivers.cxl_fmapi.numbers import (
    BindingStatus,
    ConfigurationState,
    DeviceType,
    Granularity,
    LinkSpeed,
    Ltssm,
)
from redfish_fm.drivers.cxl_fmapi.switch_commands import (
    BIND,
    GET_PORTS,
    GET_VCSS,
    UNBIND,
    Bind,
    PortIds,
    Unbind,
)
from redfish_fm.drivers.cxl_fmapi.tunnels import TUNNEL, TunnelFormat
from redfish_fm.drivers.cxl_fmapi.wires import Arrival, FrameWire, MctpWire, Sending, Wire
from tests.drivers.cxl_fmapi.vectors import FRAMES, PACKETS, Vector, read

CONNECTED_DEVICES = 0xC003
"""The one captured command that the table leaves out: a vendor's, in big-endian records."""

MALFORMED_REQUESTS = {8, 9}
"""Captured requests that are no example: byte enables in reserved bits, two bytes missing."""


@pytest.fixture
def vectors(shared: Path) -> tuple[Vector, ...]:
    found = read(shared)
    assert {each.transport for each in found} == {FRAMES, PACKETS}
    return found


def request_payload(vector: Vector) -> bytes:
    """Cut the payload of a captured request out by the offsets of the fact sheet."""
    if vector.transport == FRAMES:
        return vector.request[16:]
    length = vector.request[10] | vector.request[11] << 8
    parts = [vector.request[at + 4 : at + 68] for at in range(0, len(vector.request), 68)]
    return b"".join(parts)[13 : 13 + length]


def wire_for(vector: Vector) -> Wire:
    """Return a wire that has sent as many messages as the captured MCTP tag tells."""
    if vector.transport == FRAMES:
        return FrameWire()
    wire = MctpWire()
    for _ in range(vector.request[3] & 7):
        wire.send(Sending(Message(Category.REQUEST, 0, 1)))
    return wire


def answer(vector: Vector) -> Message:
    """Read a captured answer through a fresh wire."""
    wire: Wire = FrameWire() if vector.transport == FRAMES else MctpWire()
    (arrival,) = wire.receive(vector.response)
    assert not wire.dropped
    return arrival.message


def decoded(vector: Vector) -> Any:
    """Return the typed payload of a captured answer."""
    command = COMMANDS[vector.opcode]
    request = command.request.decode(request_payload(vector))
    return command.response_to(request).decode(answer(vector).payload)


def of(vectors: tuple[Vector, ...], opcode: int, transport: str) -> list[Vector]:
    found = [
        each
        for each in vectors
        if (each.opcode, each.transport, each.return_code) == (opcode, transport, 0)
    ]
    assert found
    return found


def test_every_request_is_sent_as_it_was_captured(vectors: tuple[Vector, ...]) -> None:
    for vector in vectors:
        payload = request_payload(vector)
        if vector.opcode != CONNECTED_DEVICES and vector.index not in MALFORMED_REQUESTS:
            form = COMMANDS[vector.opcode].request
            payload = form.encode(form.decode(payload))
        message = Message(Category.REQUEST, vector.tag, vector.opcode, payload)
        port = vector.request[2] if vector.transport == FRAMES else 0
        sent = wire_for(vector).send(Sending(message, FM_API, port))
        assert b"".join(sent) == vector.request, vector.name


def _bind(name: str) -> bytes:
    vcs, vppb, port, ld = re.findall(r"=(0x[0-9a-f]+|\d+)", name)
    return BIND.request.encode(Bind(int(vcs), int(vppb), int(port), int(ld, 16)))


def _unbind(name: str) -> bytes:
    vcs, vppb, option = (int(each) for each in re.findall(r"=(\d+)", name))
    return UNBIND.request.encode(Unbind(vcs, vppb, option))


def _ports(name: str) -> bytes:
    listed = re.findall(r"\d+", name.split("[")[1])
    return GET_PORTS.request.encode(PortIds(tuple(int(each) for each in listed)))


MADE_FROM_NAMES: dict[int, Callable[[str], bytes]] = {
    0x5201: _bind,
    0x5202: _unbind,
    0x5101: _ports,
}


def test_requests_made_from_their_description_are_those_captured(
    vectors: tuple[Vector, ...],
) -> None:
    made = 0
    for vector in vectors:
        make = MADE_FROM_NAMES.get(vector.opcode)
        if make is not None:
            assert make(vector.name) == request_payload(vector), vector.name
            made += 1
    assert made > 40


def test_every_answer_is_read_as_it_was_understood(vectors: tuple[Vector, ...]) -> None:
    for vector in vectors:
        message = answer(vector)
        # The capture is one byte short where header and payload fill whole packets.
        assert message.payload.startswith(vector.payload[: len(vector.payload) - 1])
        assert (
            message.category,
            message.tag,
            message.opcode,
            message.return_code,
            message.background,
        ) == (
            Category.RESPONSE,
            vector.tag,
            vector.response_opcode,
            vector.return_code,
            vector.background,
        ), vector.name


def test_every_good_answer_is_decoded(vectors: tuple[Vector, ...]) -> None:
    for vector in vectors:
        if vector.return_code == 0 and vector.opcode != CONNECTED_DEVICES:
            decoded(vector)


def test_answers_are_read_however_they_are_split(vectors: tuple[Vector, ...]) -> None:
    for transport, wire in ((FRAMES, FrameWire()), (PACKETS, MctpWire())):
        stream = b"".join(each.response for each in vectors if each.transport == transport)
        arrivals: list[Arrival] = []
        for at in range(0, len(stream), 7):
            arrivals += wire.receive(stream[at : at + 7])
        expected = [each.tag for each in vectors if each.transport == transport]
        assert [each.message.tag for each in arrivals] == expected
        assert wire.held_bytes == 0


def test_each_switch_shows_its_dialect(vectors: tuple[Vector, ...]) -> None:
    for vector in vectors:
        body = vector.response[5:] if vector.transport == PACKETS else vector.response[4:]
        dialect = Dialect.JRL if vector.transport == PACKETS else Dialect.SPEC
        assert header.dialect_of(body[0]) is dialect


def test_the_wrong_dialect_is_noticed(vectors: tuple[Vector, ...]) -> None:
    for vector in vectors:
        packets = vector.transport == PACKETS
        body = vector.response[5:68] if packets else vector.response[4:]
        with pytest.raises(Malformed):
            header.decode(body, Dialect.SPEC if packets else Dialect.JRL)


def test_identities_of_both_lengths(vectors: tuple[Vector, ...]) -> None:
    short = decoded(of(vectors, 0x0001, FRAMES)[0])
    assert (short.vendor_id, short.device_id, short.message_bytes_max) == (0x1DC5, 0xF000, 1024)
    assert (short.form, short.component_type) == (14, 0)
    longer = decoded(of(vectors, 0x0001, PACKETS)[0])
    assert (longer.vendor_id, longer.device_id) == (0xA1A2, 0xB1B2)
    assert (longer.serial, longer.message_bytes_max) == (0xA1A2A3A4A5A6A7A8, 8192)
    assert (longer.form, longer.component_type) == (17, None)


def test_a_switch_is_identified_in_both_lengths(vectors: tuple[Vector, ...]) -> None:
    plain = decoded(of(vectors, 0x5100, FRAMES)[0])
    assert (plain.port_count, plain.vcs_count, plain.vppb_count) == (7, 1, 10)
    assert (plain.active_ports, plain.active_vcss) == (frozenset(range(7)), {0})
    padded = decoded(of(vectors, 0x5100, PACKETS)[0])
    assert (padded.ingress_port, padded.port_count, padded.vcs_count) == (1, 32, 4)
    assert (padded.active_ports, padded.active_vcss) == (frozenset(range(32)), {0, 1, 2, 3})


def test_ports_are_read_field_by_field(vectors: tuple[Vector, ...]) -> None:
    for vector in [*of(vectors, 0x5101, FRAMES), *of(vectors, 0x5101, PACKETS)]:
        states = decoded(vector).ports
        for index, state in enumerate(states):
            block = answer(vector).payload[4 + 16 * index :][:16]
            assert (state.port_id, state.configuration_state) == (block[0], block[1])
            assert (state.device_mode, state.device_type) == (block[2], block[4])
            assert (state.link_width_max, state.link_width) == (block[6], block[7])
            assert (state.link_speed_max, state.link_speed) == (block[9], block[10])
            assert (state.ltssm, state.ld_count) == (block[11], block[15])
            flags = block[13] | block[14] << 8
            assert state.lane_reversed is bool(flags & 1)
            assert state.perst_asserted is bool(flags & 2)
            assert state.present is bool(flags & 4)


def test_a_port_has_names_for_its_numbers(vectors: tuple[Vector, ...]) -> None:
    (vector,) = (each for each in vectors if each.index == 108)
    (state,) = decoded(vector).ports
    assert state.configuration_state is ConfigurationState.DSP
    assert state.device_type is DeviceType.TYPE3_MLD
    assert (state.link_speed, state.ltssm) == (LinkSpeed.GT_32, Ltssm.L0)
    assert (state.link_width_max, state.link_width) == (16, 8)
    assert state.perst_asserted and state.present and state.ld_count == 4


def test_an_answer_that_lost_its_last_byte_is_completed_and_says_so(
    vectors: tuple[Vector, ...],
) -> None:
    padded = [each for each in vectors if answer(each).padded]
    assert [each.index for each in padded] == [69]
    assert len(answer(padded[0]).payload) == 116
    assert decoded(padded[0]).ports[-1].port_id == 9


def test_virtual_switches_are_read_with_what_was_asked(vectors: tuple[Vector, ...]) -> None:
    (vector,) = (each for each in vectors if each.index == 64)
    first, second = decoded(vector)
    assert (first.vcs_id, first.usp_port, second.usp_port) == (0, 0, 2)
    assert [(each.status, each.port_id, each.ld_id) for each in first.vppbs] == [
        (BindingStatus.BOUND_LD, 1, 0),
        (BindingStatus.BOUND_LD, 1, 1),
        (BindingStatus.BOUND_LD, 1, 2),
        (BindingStatus.UNBOUND, 0, 0),
    ]
    (window,) = (each for each in vectors if each.index == 53)
    (part,) = decoded(window)
    assert (part.vppb_count, len(part.vppbs)) == (10, 3)


def test_virtual_switches_asked_otherwise_are_not_misread(vectors: tuple[Vector, ...]) -> None:
    (vector,) = (each for each in vectors if each.index == 53)
    other = GET_VCSS.request.decode(bytes((0, 255, 1, 0)))
    with pytest.raises(Malformed, match="cut off"):
        GET_VCSS.response_to(other).decode(answer(vector).payload)


def test_notices_are_read(vectors: tuple[Vector, ...]) -> None:
    wire, seen = FrameWire(), set()
    for vector in vectors:
        for opcode, payload, frame in vector.events:
            (arrival,) = wire.receive(frame)
            assert arrival.message == Message(Category.REQUEST, 0, opcode, payload)
            COMMANDS[opcode].request.decode(payload)
            seen.add(opcode)
    assert seen == {0xC000, 0xC001, 0xC002}


def inner(vectors: tuple[Vector, ...], name: str) -> list[Message]:
    """Return inner answers of tunnels of a name."""
    found = [each for each in vectors if each.name == f"Tunnel {name}"]
    assert found
    return [header.decode(tunnels.unwrap(decoded(each), TunnelFormat.TYPED)) for each in found]


def test_tunnels_are_wrapped_as_captured(vectors: tuple[Vector, ...]) -> None:
    wrapped = 0
    for vector in vectors:
        if vector.opcode == TUNNEL.opcode and vector.transport == PACKETS:
            captured = TUNNEL.request.decode(request_payload(vector))
            message = header.decode(captured.inner[1:])
            again = tunnels.wrap(1, header.encode(message), TunnelFormat.TYPED)
            assert TUNNEL.request.encode(again) == request_payload(vector)
            wrapped += 1
    assert wrapped == 11


def test_lds_are_read_through_a_tunnel(vectors: tuple[Vector, ...]) -> None:
    (info,) = inner(vectors, "Get LD Info")
    assert GET_LD_INFO.response_to(GET_LD_INFO.request.decode(b"")).decode(info.payload) == LdInfo(
        1 << 32, 4, True, True
    )
    before, after = inner(vectors, "Get LD Allocations")
    form = GET_LD_ALLOCATIONS.response_to(GET_LD_ALLOCATIONS.request.decode(bytes(2)))
    allocations = form.decode(before.payload)
    assert (allocations.ld_count, allocations.granularity) == (4, Granularity.MIB_256)
    assert allocations.allocations[0] == LdAllocation(0, 3)
    assert form.decode(after.payload).allocations[0] == LdAllocation(2, 0)


def test_quality_of_service_is_read_through_a_tunnel(vectors: tuple[Vector, ...]) -> None:
    (control,) = inner(vectors, "Get QoS Control")
    form = GET_QOS_CONTROL.response_to(GET_QOS_CONTROL.request.decode(b""))
    assert form.decode(control.payload) == QosControl(True, True, 10, 25, 8, 0, 64)
    (limits,) = inner(vectors, "Set QoS BW Limit")
    command = COMMANDS[0x5409]
    assert command.request.decode(limits.payload) == LdFractions(0, (0xFF, 0x80, 0x40, 0x20))


def test_lds_of_the_other_switch_answer_without_a_tunnel(vectors: tuple[Vector, ...]) -> None:
    (info,) = of(vectors, 0x5400, FRAMES)
    assert decoded(info) == LdInfo(1 << 30, 4, False, False)
    (allocations,) = of(vectors, 0x5401, FRAMES)
    assert [each.range1 for each in decoded(allocations).allocations] == [1, 1, 1, 1]
    assert [frame.port for frame in FrameWire().receive(info.response)] == [0]
