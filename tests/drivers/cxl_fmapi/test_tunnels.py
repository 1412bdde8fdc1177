"""Messages inside messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.drivers.cxl_fmapi import header, tunnels
from redfish_fm.drivers.cxl_fmapi.header import Category, Message
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.tunnels import TUNNEL, TunnelFormat, TunnelResponse


@given(st.binary(max_size=200), st.sampled_from(TunnelFormat))
def test_what_is_wrapped_is_unwrapped(inner: bytes, form: TunnelFormat) -> None:
    request = tunnels.wrap(3, inner, form)
    assert tunnels.unwrap(TunnelResponse(request.size, request.inner), form) == inner


def test_the_size_counts_the_message_type_where_there_is_one() -> None:
    inner = header.encode(Message(Category.REQUEST, 0x55, 0x5400))
    plain = TUNNEL.request.encode(tunnels.wrap(5, inner, TunnelFormat.PLAIN))
    typed = TUNNEL.request.encode(tunnels.wrap(5, inner, TunnelFormat.TYPED))
    assert plain.hex() == "05000c00" + "005500005400000000000000"
    assert typed.hex() == "05000d00" + "08" + "005500005400000000000000"


def test_tunnels_nest() -> None:
    inner = header.encode(Message(Category.REQUEST, 1, 0x5400))
    ld = TUNNEL.request.encode(tunnels.wrap(2, inner, TunnelFormat.PLAIN))
    outer = tunnels.wrap(
        6, header.encode(Message(Category.REQUEST, 2, TUNNEL.opcode, ld)), TunnelFormat.PLAIN
    )
    assert outer.size == 12 + 4 + 12
    through = header.decode(outer.inner)
    assert TUNNEL.request.decode(through.payload).inner == inner


@pytest.mark.parametrize("length", [0, 11, 13, 0xFFFF])
def test_a_length_that_is_a_lie_is_malformed(length: int) -> None:
    with pytest.raises(Malformed, match="says"):
        tunnels.unwrap(TunnelResponse(length, bytes(12)), TunnelFormat.PLAIN)


def test_an_empty_tunnel_has_no_message_type() -> None:
    with pytest.raises(Malformed, match="no message type"):
        tunnels.unwrap(TunnelResponse(0, b""), TunnelFormat.TYPED)


def test_too_long_a_message_is_malformed() -> None:
    with pytest.raises(Malformed, match="do not fit"):
        tunnels.wrap(1, bytes(0x10000), TunnelFormat.PLAIN)
