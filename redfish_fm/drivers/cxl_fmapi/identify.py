"""Identify (0001h) in the three lengths that are met. Pure.

    offset  size  field
    00      2     PCIe vendor id
    02      2     PCIe device id
    04      2     subsystem vendor id
    06      2     subsystem id
    08      8     serial number
    10      1     n: messages of up to 2^n bytes
    11      1     component type

CXL 2.0 ends before the component type (17 bytes). One known switch sends 14 bytes: the serial
number has 2, n stands at 0C and the component type at 0D.
"""

import struct
from dataclasses import dataclass

from redfish_fm.drivers.cxl_fmapi.command import Command, Nothing
from redfish_fm.drivers.cxl_fmapi.layouts import layout
from redfish_fm.drivers.cxl_fmapi.malformed import Malformed
from redfish_fm.drivers.cxl_fmapi.numbers import ComponentType

SHORT, WITHOUT_TYPE, FULL = 14, 17, 18
"""The lengths, in bytes."""

_SHORT = struct.Struct("<5H2xBB")
_WITHOUT_TYPE = struct.Struct("<4HQB")
_FULL = struct.Struct("<4HQBB")

_EXPONENTS = (8, 20)
"""What n may be; other values say nothing."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a component is. `component_type` is None where it does not say; `form` in bytes."""

    vendor_id: int
    device_id: int
    subsystem_vendor_id: int
    subsystem_id: int
    serial: int
    message_exponent: int
    component_type: int | None
    form: int = FULL

    @property
    def message_bytes_max(self) -> int | None:
        """Return the largest message it takes, None where what it says makes no sense."""
        low, high = _EXPONENTS
        return 1 << self.message_exponent if low <= self.message_exponent <= high else None


class IdentityForm:
    """Writes and reads the three lengths."""

    def encode(self, value: Identity) -> bytes:
        """Return the bytes in the length that `value.form` names."""
        head = (
            value.vendor_id,
            value.device_id,
            value.subsystem_vendor_id,
            value.subsystem_id,
            value.serial,
            value.message_exponent,
        )
        kind = value.component_type or 0
        try:
            if value.form == WITHOUT_TYPE:
                return _WITHOUT_TYPE.pack(*head)
            return {FULL: _FULL, SHORT: _SHORT}[value.form].pack(*head, kind)
        except (struct.error, KeyError) as error:
            raise Malformed(f"an identity does not fit {value.form} bytes: {error}") from error

    def decode(self, data: bytes) -> Identity:
        """Return the identity; a longer payload is padding."""
        if len(data) >= FULL:
            vid, did, svid, sid, serial, exponent, kind = _FULL.unpack_from(data)
            return Identity(vid, did, svid, sid, serial, exponent, _known(kind))
        if len(data) == WITHOUT_TYPE:
            vid, did, svid, sid, serial, exponent = _WITHOUT_TYPE.unpack(data)
            return Identity(vid, did, svid, sid, serial, exponent, None, WITHOUT_TYPE)
        if len(data) == SHORT:
            vid, did, svid, sid, serial, exponent, kind = _SHORT.unpack(data)
            return Identity(vid, did, svid, sid, serial, exponent, _known(kind), SHORT)
        raise Malformed(f"Identify has 14, 17 or 18 bytes, got {len(data)}")


def _known(kind: int) -> int:
    return ComponentType(kind) if kind in set(ComponentType) else kind


_FORM = IdentityForm()
IDENTIFY: Command[Nothing, Identity] = Command(0x0001, "Identify", layout(Nothing), lambda _: _FORM)
