"""The whole command table, walked: no two rows of one opcode, and every record both ways."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redfish_fm.drivers.cxl_fmapi import generic_commands, switch_commands
from redfish_fm.drivers.cxl_fmapi.command import CCI, FM_API, Command, table
from redfish_fm.drivers.cxl_fmapi.commands import COMMANDS, name_of
from redfish_fm.drivers.cxl_fmapi.layouts import Layout
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from tests.drivers.cxl_fmapi.strategies import exchanges, requests

ROWS = sorted(COMMANDS.values(), key=lambda row: row.opcode)
IDS = [f"{row.opcode:04X}" for row in ROWS]

SETS = {
    0x00: range(0x01, 0x06),
    0x01: range(0x00, 0x07),
    0x03: range(0x00, 0x02),
    0x04: range(0x00, 0x02),
    0x51: range(0x00, 0x04),
    0x52: range(0x00, 0x04),
    0x53: range(0x00, 0x03),
    0x54: range(0x00, 0x0A),
    0x55: range(0x00, 0x02),
    0x56: range(0x00, 0x09),
}
"""The sets of the fact sheet and the commands of each that a switch driver needs."""


def test_the_table_has_every_command_of_the_sets() -> None:
    wanted = {high << 8 | low for high, commands in SETS.items() for low in commands}
    assert wanted - set(COMMANDS) == set()


def test_two_rows_with_one_opcode_are_refused() -> None:
    with pytest.raises(ValueError, match="one opcode"):
        table((switch_commands.BIND, switch_commands.UNBIND, switch_commands.BIND))


def test_names_are_unique() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_an_unknown_opcode_has_a_name_too() -> None:
    assert name_of(0x5201) == "Bind vPPB (5201h)"
    assert name_of(0x7777) == "opcode 7777h"


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_a_row_is_well_formed(row: Command[Any, Any]) -> None:
    assert 0 < row.opcode <= 0xFFFF and row.name.strip() == row.name != ""
    fm_api = 0x51 <= row.opcode >> 8 <= 0x56
    assert row.message_type == (FM_API if fm_api else CCI)
    if isinstance(row.request, Layout):
        assert row.request.size <= 0x100


@pytest.mark.parametrize("row", ROWS, ids=IDS)
@settings(max_examples=15)
@given(data=st.data())
def test_what_is_encoded_is_decoded(row: Command[Any, Any], data: st.DataObject) -> None:
    request, response = data.draw(exchanges(row))
    assert row.request.decode(row.request.encode(request)) == request
    form = row.response_to(request)
    assert form.decode(form.encode(response)) == response


@pytest.mark.parametrize("row", ROWS, ids=IDS)
@settings(max_examples=15)
@given(data=st.data(), payload=st.binary(max_size=400))
def test_any_bytes_are_a_value_or_malformed(
    row: Command[Any, Any], data: st.DataObject, payload: bytes
) -> None:
    for form in (row.request, row.response_to(data.draw(requests(row)))):
        try:
            form.decode(payload)
        except Malformed as error:
            assert str(error)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
@settings(max_examples=10)
@given(data=st.data())
def test_a_cut_payload_is_malformed_and_never_misread(
    row: Command[Any, Any], data: st.DataObject
) -> None:
    request, response = data.draw(exchanges(row))
    form = row.response_to(request)
    whole = form.encode(response)
    cut = whole[: data.draw(st.integers(0, max(0, len(whole) - 1)))]
    try:
        found = form.decode(cut)
    except Malformed:
        return
    # Records that end in plain bytes, and Identify, have several lengths.
    assert form.encode(found)[: len(cut)].strip(b"\0") == cut.strip(b"\0") or row.opcode == 1


def test_padding_after_a_payload_is_ignored() -> None:
    form = switch_commands.GET_PORTS.request
    assert form.decode(bytes((2, 7, 9)) + bytes(60)).ports == (7, 9)


def test_the_number_of_ports_is_counted_from_the_list() -> None:
    request = switch_commands.PortIds((0, 3, 7))
    assert switch_commands.GET_PORTS.request.encode(request) == bytes((3, 0, 3, 7))


def test_a_short_answer_about_ports_names_what_is_missing() -> None:
    form = switch_commands.GET_PORTS.response_to(switch_commands.PortIds((0, 1)))
    with pytest.raises(Malformed, match="2 items need 36 bytes, got 20"):
        form.decode(bytes((2, 0, 0, 0)) + bytes(16))


def test_a_number_that_no_enumeration_has_is_kept() -> None:
    form = switch_commands.GET_VCSS.response_to(switch_commands.VcsQuery(0, 255, (1,)))
    (found,) = form.decode(bytes((1, 0, 0, 0, 1, 0x77, 2, 1, 0x99, 5, 6, 0)))
    assert (found.state, found.vppbs[0].status) == (0x77, 0x99)


def test_a_value_that_does_not_fit_is_malformed() -> None:
    with pytest.raises(Malformed, match="vppb_id is 256"):
        switch_commands.BIND.request.encode(switch_commands.Bind(0, 256, 0, 0))
    with pytest.raises(Malformed, match="at most 255"):
        switch_commands.GET_PORTS.request.encode(switch_commands.PortIds((0,) * 256))
    with pytest.raises(Malformed, match="256 does not fit"):
        switch_commands.GET_PORTS.request.encode(switch_commands.PortIds((256,)))
    with pytest.raises(Malformed, match="option is 16"):
        switch_commands.UNBIND.request.encode(switch_commands.Unbind(0, 0, 16))
    with pytest.raises(Malformed, match="beyond 0 to 15"):
        generic_commands.SET_EVENT_MASK.request.encode(generic_commands.EventMask(frozenset({16})))
