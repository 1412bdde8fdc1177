"""Identify in its three lengths, and in those that are none."""

from dataclasses import replace

import pytest

from redfish_fm.drivers.cxl_fmapi.command import NOTHING
from redfish_fm.drivers.cxl_fmapi.identify import FULL, IDENTIFY, SHORT, WITHOUT_TYPE, Identity
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.numbers import ComponentType

FORM = IDENTIFY.response_to(NOTHING)
SWITCH = Identity(1, 2, 3, 4, 0x0807060504030201, 13, ComponentType.SWITCH)


def test_fields_lie_where_the_table_says() -> None:
    assert FORM.encode(SWITCH).hex() == "010002000300040001020304050607080d00"


@pytest.mark.parametrize("length", [0, 13, 15, 16])
def test_other_lengths_are_malformed(length: int) -> None:
    with pytest.raises(Malformed, match="14, 17 or 18"):
        FORM.decode(bytes(length))


def test_what_follows_is_padding() -> None:
    assert FORM.decode(FORM.encode(SWITCH) + bytes(75)) == SWITCH


def test_without_a_type_there_is_none() -> None:
    found = FORM.decode(FORM.encode(SWITCH)[:WITHOUT_TYPE])
    assert found == replace(SWITCH, component_type=None, form=WITHOUT_TYPE)


def test_types_that_nobody_knows_are_kept() -> None:
    assert FORM.decode(bytes(17) + b"\x77").component_type == 0x77
    assert FORM.decode(bytes(17) + b"\x03").component_type is ComponentType.TYPE3


@pytest.mark.parametrize(("exponent", "most"), [(7, None), (8, 256), (20, 1 << 20), (21, None)])
def test_a_limit_that_makes_no_sense_is_none(exponent: int, most: int | None) -> None:
    assert replace(SWITCH, message_exponent=exponent).message_bytes_max == most


@pytest.mark.parametrize(
    "identity",
    [replace(SWITCH, form=SHORT), replace(SWITCH, form=9), replace(SWITCH, vendor_id=1 << 16)],
)
def test_what_does_not_fit_is_malformed(identity: Identity) -> None:
    with pytest.raises(Malformed, match="does not fit"):
        FORM.encode(identity)
    assert FULL == 18
