"""Records on the wire: frozen dataclasses whose annotations say where each field lies.

Pure: bytes to values and back. Knows no command. All integers are little-endian. Bytes that no
field covers are reserved: written as 0, ignored when read. A payload may be longer than its
record (peers pad); a shorter one is Malformed. Numbers that an enumeration lacks stay numbers.

    class PortIds:
        SIZE: ClassVar = 1
        ports: Annotated[tuple[int, ...], Counted(offset=1, item=1, count=At(0))]
"""

import dataclasses
import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Annotated, Any, Generic, Protocol, TypeVar, get_args, get_origin, get_type_hints
from uuid import UUID

from redfish_fm.drivers.cxl_fmapi.malformed import Malformed

T = TypeVar("T")

_BLOCKS_KEPT = 1024
"""Decoded blocks of arrays that each layout remembers."""

_REQUESTS_KEPT = 64
"""Encoded records that each layout remembers: a poll asks the same again and again."""

_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""What struct calls an unsigned integer of so many bytes."""


@dataclass(frozen=True, slots=True)
class At:
    """Where a field lies: `size` bytes at `offset`, or `bits` (lowest, count) of them."""

    offset: int
    size: int = 1
    bits: tuple[int, int] | None = None
    of: type[IntEnum] | None = None
    unit: str = ""

    @property
    def shift(self) -> int:
        """Return the number of the lowest bit."""
        return self.bits[0] if self.bits else 0

    @property
    def largest(self) -> int:
        """Return the largest number that fits, which is also the mask of its bits."""
        return int((1 << (self.bits[1] if self.bits else 8 * self.size)) - 1)


@dataclass(frozen=True, slots=True)
class Counted:
    """An array from `offset` on, as long as the number at `count` says.

    `item` is a record, or the size in bytes of plain integers.
    """

    offset: int
    item: type[Any] | int
    count: At
    unit: str = ""


@dataclass(frozen=True, slots=True)
class After:
    """A record that begins where the array before it ends."""

    record: type[Any]


@dataclass(frozen=True, slots=True)
class Rest:
    """Everything from `offset` on, without further form."""

    offset: int


Tail = Counted | After | Rest
Place = At | Tail


class Form(Protocol[T]):
    """How a value of one type is written and read."""

    def encode(self, value: T) -> bytes:
        """Return the bytes. Raises Malformed for what does not fit."""
        ...

    def decode(self, data: bytes) -> T:
        """Return the value. Raises Malformed, and nothing else, whatever the bytes are."""
        ...


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record with its place and its Python type (int, bool, bytes, UUID, …)."""

    name: str
    kind: Any
    place: Place


def fields_of(record: type[Any]) -> tuple[Field, ...]:
    """Return the fields of a record in their order; a field without a place is a TypeError."""
    hints = get_type_hints(record, include_extras=True)
    found = []
    for each in dataclasses.fields(record):
        hint = hints[each.name]
        if get_origin(hint) is not Annotated:
            raise TypeError(f"{record.__name__}.{each.name} has no place")
        kind, place = get_args(hint)[:2]
        found.append(Field(each.name, kind, place))
    return tuple(found)


class Layout(Generic[T]):
    """The form of one record. `size` counts its fixed part, in bytes."""

    def __init__(self, record: type[T]) -> None:
        self.record = record
        self.size: int = record.SIZE  # type: ignore[attr-defined]
        self.fields = fields_of(record)
        slots = _slots(self.fields)
        self._struct = struct.Struct(_format(slots, self.size))
        number = {place: index for index, place in enumerate(slots)}
        self._fixed = tuple(
            _Fixed(each, each.place, number[each.place.offset, each.place.size])
            for each in self.fields
            if isinstance(each.place, At)
        )
        self._readers = tuple(
            (each.slot, each.shift, each.mask, each.convert) for each in self._fixed
        )
        self._tails = tuple(
            _tail(each.place, number) for each in self.fields if not isinstance(each.place, At)
        )
        # Values are immutable, and most blocks of a poll are those of the poll before.
        self.decode_block = lru_cache(_BLOCKS_KEPT)(self.decode)
        self.encode = lru_cache(_REQUESTS_KEPT)(self._encode)
        self._blank = tuple(b"" if code[0].isdigit() else 0 for code in slots.values())

    def _encode(self, value: T) -> bytes:
        """Return the bytes of a record. Raises Malformed when a field does not fit."""
        raw: list[Any] = list(self._blank)
        for fixed in self._fixed:
            fixed.write(raw, getattr(value, fixed.name))
        tails = b""
        names = [each.name for each in self.fields[len(self._fixed) :]]
        for name, tail in zip(names, self._tails, strict=True):
            tails += tail.write(raw, getattr(value, name))
        return self._struct.pack(*raw) + tails

    def decode(self, data: bytes) -> T:
        """Return the record at the beginning of `data`. Raises Malformed when it is too short."""
        if len(data) < self.size:
            raise Malformed(
                f"{self.record.__name__} has {self.size} bytes at least, got {len(data)}"
            )
        raw = self._struct.unpack_from(data)
        values = []
        for slot, shift, mask, convert in self._readers:
            value = raw[slot]
            if mask:
                value = value >> shift & mask
            values.append(convert(value) if convert else value)
        end = self.size
        for tail in self._tails:
            found, end = tail.read(raw, data, end)
            values.append(found)
        return self.record(*values)


def _is_raw(kind: Any) -> bool:
    """Return whether a field is kept in bytes rather than in an integer."""
    return (get_origin(kind) or kind) in (bytes, UUID, frozenset)


def _slots(fields: tuple[Field, ...]) -> dict[tuple[int, int], str]:
    """Return what struct calls each (offset, size) of the fixed part, once each, in order."""
    found: dict[tuple[int, int], str] = {}
    for each in fields:
        if isinstance(each.place, At):
            key = each.place.offset, each.place.size
            found[key] = f"{key[1]}s" if _is_raw(each.kind) else _CODES[key[1]]
        elif isinstance(each.place, Counted):
            count = each.place.count
            found[count.offset, count.size] = _CODES[count.size]
    return dict(sorted(found.items()))


def _format(slots: dict[tuple[int, int], str], size: int) -> str:
    """Return the struct format of the slots, with reserved bytes between them."""
    parts, end = ["<"], 0
    for (offset, length), code in slots.items():
        if offset < end or offset + length > size:
            raise TypeError(f"a field at {offset:#x} overlaps another, or leaves the record")
        parts.append(f"{offset - end}x{code}")
        end = offset + length
    return "".join([*parts, f"{size - end}x"])


class _Fixed:
    """Reads and writes one field of the fixed part."""

    def __init__(self, field: Field, place: At, slot: int) -> None:
        self.name = field.name
        self.slot = slot
        self.shift = place.shift
        self._largest = place.largest
        self._kind = get_origin(field.kind) or field.kind
        self._raw = _is_raw(field.kind)
        self._size = place.size
        self.mask = place.largest if place.bits else 0
        self.convert: Callable[[Any], Any] | None = None
        if self._kind is bool:
            self.convert = bool
        elif self._kind is UUID:
            self.convert = _uuid
        elif self._kind is frozenset:
            self.convert = _numbers
        elif place.of is not None:
            members = {int(member): member for member in place.of}
            self.convert = lambda value: members.get(value, value)

    def write(self, raw: list[Any], value: Any) -> None:
        """Put `value` into its slot."""
        if self._raw:
            raw[self.slot] = self._bytes(value)
            return
        if not 0 <= value <= self._largest:
            raise Malformed(f"{self.name} is {value}, not within 0 to {self._largest}")
        raw[self.slot] |= int(value) << self.shift

    def _bytes(self, value: Any) -> bytes:
        if self._kind is frozenset:
            return _mask(self.name, value, self._size)
        data = bytes(value.bytes if self._kind is UUID else value)
        if len(data) != self._size:
            raise Malformed(f"{self.name} has {self._size} bytes, not {len(data)}")
        return data


def _uuid(data: bytes) -> UUID:
    return UUID(bytes=data)


def _numbers(mask: bytes) -> frozenset[int]:
    """Return the numbers of the bits that are set: bit n % 8 of byte n / 8 is n."""
    number = int.from_bytes(mask, "little")
    return frozenset(bit for bit in range(number.bit_length()) if number >> bit & 1)


def _mask(name: str, numbers: frozenset[int], size: int) -> bytes:
    if any(not 0 <= each < 8 * size for each in numbers):
        raise Malformed(f"{name} has a number beyond 0 to {8 * size - 1}")
    return sum(1 << each for each in numbers).to_bytes(size, "little")


class _TailForm(Protocol):
    """Reads and writes what follows the fixed part."""

    def write(self, raw: list[Any], value: Any) -> bytes: ...

    def read(self, raw: tuple[Any, ...], data: bytes, end: int) -> tuple[Any, int]: ...


class _CountedTail:
    def __init__(self, place: Counted, slot: int) -> None:
        self._place = place
        self._slot = slot
        item = place.item
        self._layout = None if isinstance(item, int) else layout(item)
        self._size = item if isinstance(item, int) else layout(item).size

    def write(self, raw: list[Any], value: Any) -> bytes:
        count = self._place.count
        if len(value) > count.largest:
            raise Malformed(f"{len(value)} items, at most {count.largest} can be counted")
        raw[self._slot] |= len(value) << count.shift
        if self._layout is not None:
            return b"".join(self._layout.encode(each) for each in value)
        return b"".join(_integer(each, self._size) for each in value)

    def read(self, raw: tuple[Any, ...], data: bytes, end: int) -> tuple[Any, int]:
        count, begin = self._place.count, self._place.offset
        number = raw[self._slot] >> count.shift & count.largest
        end = begin + number * self._size
        if end > len(data):
            raise Malformed(f"{number} items need {end} bytes, got {len(data)}")
        if self._layout is None:
            return struct.unpack_from(f"<{number}{_CODES[self._size]}", data, begin), end
        decode, size = self._layout.decode_block, self._size
        return tuple(decode(data[at : at + size]) for at in range(begin, end, size)), end


def _integer(value: int, size: int) -> bytes:
    try:
        return value.to_bytes(size, "little")
    except OverflowError as error:
        raise Malformed(f"{value} does not fit into {size} bytes") from error


class _AfterTail:
    def __init__(self, place: After) -> None:
        self._layout = layout(place.record)

    def write(self, raw: list[Any], value: Any) -> bytes:
        return self._layout.encode(value)

    def read(self, raw: tuple[Any, ...], data: bytes, end: int) -> tuple[Any, int]:
        return self._layout.decode(data[end:]), end + self._layout.size


class _RestTail:
    def __init__(self, place: Rest) -> None:
        self._offset = place.offset

    def write(self, raw: list[Any], value: Any) -> bytes:
        return bytes(value)

    def read(self, raw: tuple[Any, ...], data: bytes, end: int) -> tuple[Any, int]:
        return bytes(data[self._offset :]), len(data)


def _tail(place: Tail, number: dict[tuple[int, int], int]) -> _TailForm:
    if isinstance(place, Counted):
        return _CountedTail(place, number[place.count.offset, place.count.size])
    if isinstance(place, After):
        return _AfterTail(place)
    return _RestTail(place)


_LAYOUTS: dict[type[Any], Layout[Any]] = {}


def layout(record: type[T]) -> Layout[T]:
    """Return the form of a record, made once. A record that contradicts itself is a TypeError."""
    known = _LAYOUTS.get(record)
    if known is None:
        known = _LAYOUTS[record] = Layout(record)
    return known
