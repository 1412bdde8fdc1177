"""Records that contradict themselves are found when they are made, not when they are read."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest

from redfish_fm.drivers.cxl_fmapi.layouts import At, Counted, fields_of, layout
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed


@dataclass(frozen=True)
class Overlapping:
    SIZE: ClassVar = 4
    one: Annotated[int, At(0, 2)]
    other: Annotated[int, At(1, 2)]


@dataclass(frozen=True)
class TooLong:
    SIZE: ClassVar = 1
    one: Annotated[int, At(0, 2)]


@dataclass(frozen=True)
class Placeless:
    SIZE: ClassVar = 1
    one: int


@dataclass(frozen=True)
class Sparse:
    SIZE: ClassVar = 8
    low: Annotated[int, At(1, bits=(0, 3))]
    high: Annotated[int, At(1, bits=(4, 4))]
    wide: Annotated[int, At(4, 2)]


@dataclass(frozen=True)
class Named:
    SIZE: ClassVar = 5
    name: Annotated[bytes, At(1, 4)]


@dataclass(frozen=True)
class Words:
    SIZE: ClassVar = 2
    words: Annotated[tuple[int, ...], Counted(2, 2, At(0, bits=(0, 4)))]


@pytest.mark.parametrize("record", [Overlapping, TooLong])
def test_fields_neither_overlap_nor_leave_the_record(record: type) -> None:
    with pytest.raises(TypeError, match="overlaps another, or leaves"):
        layout(record)


def test_a_field_without_a_place_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Placeless\.one has no place"):
        fields_of(Placeless)


def test_fields_lie_where_they_say_and_the_rest_is_zero() -> None:
    assert layout(Sparse).encode(Sparse(5, 0xA, 0x1234)) == bytes.fromhex("00a5000034120000")


def test_reserved_bits_are_ignored() -> None:
    assert layout(Sparse).decode(bytes.fromhex("ffadffff3412ffff")) == Sparse(5, 0xA, 0x1234)


def test_bytes_have_their_size() -> None:
    assert layout(Named).decode(b"\xffabcd") == Named(b"abcd")
    with pytest.raises(Malformed, match="name has 4 bytes, not 3"):
        layout(Named).encode(Named(b"abc"))


def test_a_count_in_bits_is_read_and_written_as_such() -> None:
    words = Words((0x1234, 0x5678))
    assert layout(Words).encode(words) == bytes.fromhex("020034127856")
    assert layout(Words).decode(bytes.fromhex("f2ff34127856")) == words
    with pytest.raises(Malformed, match="at most 15"):
        layout(Words).encode(Words((0,) * 16))
