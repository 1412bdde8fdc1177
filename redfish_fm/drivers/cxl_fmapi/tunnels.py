"""Tunnel Management Command (5300h): a CCI message inside a payload, in two formats. Pure.

    offset  size  request               response
    00      1     port or LD id         length, 2 bytes
    01      1     target, bits 3:0
    02      2     size
    04            inner message         inner message

Size and length count what follows 04. TYPED (CXL 2.0) has the MCTP message type of the inner
message at 04 and counts it; PLAIN (CXL 3.x) has not. To reach an LD of an MLD behind a switch,
nest two: the port outside, the LD inside.
"""

import struct
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, ClassVar

from redfish_fm.drivers.cxl_fmapi.command import CCI, Command
from redfish_fm.drivers.cxl_fmapi.layouts import At, Rest, layout
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.numbers import TunnelTarget

_HEAD = 4
_SIZE_MAX = 0xFFFF


class TunnelFormat(Enum):
    """Whether the inner message is preceded by its MCTP message type."""

    PLAIN = "plain"
    TYPED = "typed"


@dataclass(frozen=True, slots=True)
class TunnelRequest:
    """Whom the inner message is for, and the bytes as they stand."""

    SIZE: ClassVar = 4
    target_id: Annotated[int, At(0x00)]
    target: Annotated[int, At(0x01, bits=(0, 4), of=TunnelTarget)]
    size: Annotated[int, At(0x02, 2, unit="byte")]
    inner: Annotated[bytes, Rest(0x04)]


@dataclass(frozen=True, slots=True)
class TunnelResponse:
    """The bytes of the answer as they stand."""

    SIZE: ClassVar = 4
    length: Annotated[int, At(0x00, 2, unit="byte")]
    inner: Annotated[bytes, Rest(0x04)]


TUNNEL: Command[TunnelRequest, TunnelResponse] = Command(
    0x5300,
    "Tunnel Management Command",
    layout(TunnelRequest),
    lambda _: layout(TunnelResponse),
)


def wrap(
    target_id: int,
    message: bytes,
    form: TunnelFormat,
    target: TunnelTarget = TunnelTarget.PORT_OR_LD,
    message_type: int = CCI,
) -> TunnelRequest:
    """Return the request that carries `message` to a port or an LD."""
    inner = struct.pack("<B", message_type) + message if form is TunnelFormat.TYPED else message
    if len(inner) > _SIZE_MAX:
        raise Malformed(f"{len(inner)} bytes do not fit a tunnel")
    return TunnelRequest(target_id, target, len(inner), inner)


def unwrap(response: TunnelResponse, form: TunnelFormat) -> bytes:
    """Return the inner message of an answer. Raises Malformed when its length is a lie."""
    if response.length != len(response.inner):
        raise Malformed(f"a tunnel says {response.length} bytes and carries {len(response.inner)}")
    if form is TunnelFormat.PLAIN:
        return response.inner
    if not response.inner:
        raise Malformed("a tunnel carries no message type")
    return response.inner[1:]
