"""CCI messages in both dialects."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.drivers.cxl_fmapi import header
from redfish_fm.drivers.cxl_fmapi.header import Category, Dialect, Message
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed

MESSAGES = st.builds(
    Message,
    st.sampled_from(Category),
    st.integers(0, 255),
    st.integers(0, 0xFFFF),
    st.binary(max_size=100),
    st.integers(0, 0xFFFF),
    st.booleans(),
    st.integers(0, 0xFFFF),
)
LONG = Message(Category.RESPONSE, 9, 0x5300, bytes(0x12345), 1, True, 0xABCD)


@given(MESSAGES, st.sampled_from(Dialect), st.binary(max_size=20))
def test_a_message_is_read_as_written_whatever_follows(
    message: Message, dialect: Dialect, padding: bytes
) -> None:
    assert header.decode(header.encode(message, dialect) + padding, dialect) == message


@given(MESSAGES, st.sampled_from(Dialect))
def test_an_answer_shows_its_dialect(message: Message, dialect: Dialect) -> None:
    answer = Message(Category.RESPONSE, *list(_fields(message))[1:])
    assert header.decode(header.encode(answer, dialect)) == answer


def _fields(message: Message) -> tuple[object, ...]:
    return tuple(getattr(message, name) for name in Message.__slots__)


def test_the_dialects_lay_the_bits_of_a_long_background_answer_differently() -> None:
    spec, jrl = (header.encode(LONG, dialect)[:12] for dialect in Dialect)
    assert spec.hex() == "01" + "0900005345" + "23" + "81" + "0100cdab"
    assert jrl.hex() == "10" + "0900005345" + "23" + "09" + "0100cdab"


def test_short_requests_are_the_same_in_both_dialects() -> None:
    request = Message(Category.REQUEST, 3, 0x5201, bytes(6))
    assert header.encode(request, Dialect.SPEC) == header.encode(request, Dialect.JRL)


def test_reserved_bits_of_the_first_byte_are_ignored() -> None:
    assert header.decode(bytes((0xA1, 7)) + bytes(10)).category is Category.RESPONSE
    assert header.decode(bytes((0xA0, 7)) + bytes(10)).category is Category.REQUEST


@pytest.mark.parametrize(
    ("data", "dialect"),
    [
        (bytes((2,)) + bytes(11), None),
        (bytes((2,)) + bytes(11), Dialect.SPEC),
        (bytes((0x20,)) + bytes(11), Dialect.JRL),
        (bytes(11), None),
        (b"", None),
        (bytes((1, 0, 0, 0, 0, 1)) + bytes(6), None),
    ],
    ids=["category", "category spec", "category jrl", "short", "empty", "payload cut off"],
)
def test_what_is_no_message_is_malformed(data: bytes, dialect: Dialect | None) -> None:
    with pytest.raises(Malformed):
        header.decode(data, dialect)


@given(st.binary(max_size=64), st.sampled_from([None, *Dialect]))
def test_any_bytes_are_a_message_or_malformed(data: bytes, dialect: Dialect | None) -> None:
    try:
        header.decode(data, dialect)
    except Malformed as error:
        assert str(error)


def test_a_message_that_does_not_fit_is_malformed() -> None:
    with pytest.raises(Malformed, match="does not fit"):
        header.encode(Message(Category.REQUEST, 256, 1))
    with pytest.raises(Malformed, match="at most"):
        header.encode(Message(Category.REQUEST, 1, 1, bytes(header.PAYLOAD_MAX + 1)))
