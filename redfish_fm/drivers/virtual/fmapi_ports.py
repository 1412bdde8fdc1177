"""The 16 bytes that Get Physical Port State (5101h) tells of one port. Pure.

0  port                        6  most lanes          B  LTSSM
1  configuration state         7  lanes now           C  first lane
2  mode of the device          8  speeds, a mask      D  flags, 2 bytes
4  type of the device          9  most speed          F  LDs
5  modes, a mask               A  speed now
"""

import struct

from redfish_fm.drivers.virtual.device import SimulatedDevice
from redfish_fm.drivers.virtual.links import GT_S
from redfish_fm.fabric.model import Attachment, DeviceKind, Port, PortRole, PortState

BLOCK_BYTES = 16
INVALID_PORT = 0xF
"""Configuration state of a port that there is not."""

_BIND, _UNBIND = 0x5201, 0x5202
_BIND_IN_PROGRESS, _UNBIND_IN_PROGRESS, _DSP, _USP = 1, 2, 3, 4
_NOT_CXL, _VH_68B, _FLIT_256B = 0, 2, 3
_NO_DEVICE, _PCIE, _TYPE2, _TYPE3_SLD, _TYPE3_MLD = 0, 1, 3, 4, 5
_DETECT, _CONFIGURATION, _L0, _HOT_RESET = 0, 2, 4, 0xA
_PERST, _PRESENT = 0x02, 0x04
_FLIT_GEN = 6
"""From this PCIe generation on links carry flits of 256 bytes."""

_GENS = {rate: gen for gen, rate in GT_S.items()}
_BLOCK = struct.Struct("<BBBxBBBBBBBBBHB")


def device_type(device: SimulatedDevice | None) -> int:
    """Return the type of what is plugged in."""
    if device is None or not device.life.present:
        return _NO_DEVICE
    facts = device.facts
    if facts.attachment is Attachment.MLD:
        return _TYPE3_MLD
    if facts.attachment is Attachment.PCIE:
        return _PCIE
    return _TYPE3_SLD if facts.kind is DeviceKind.MEMORY else _TYPE2


def port_block(
    number: int,
    port: Port,
    state: PortState,
    device: SimulatedDevice | None,
    *,
    held: bool,
    busy_opcode: int | None = None,
) -> bytes:
    """Return the block of one port.

    `held`: PERST# is asserted. `busy_opcode`: the bind or unbind that is under way at the port.
    """
    downstream = port.role is PortRole.DOWNSTREAM
    up = state.link_up and not held
    gen = _gen_now(state) if up else 0
    mode = _FLIT_256B if gen >= _FLIT_GEN else _VH_68B
    modes = 0b110 if port.link.gen >= _FLIT_GEN else 0b010
    is_cxl = up and not (downstream and device_type(device) in (_NO_DEVICE, _PCIE))
    lds = device.facts.lds if downstream and device is not None and device.life.present else ()
    return _BLOCK.pack(
        number,
        _configuration(downstream=downstream, busy_opcode=busy_opcode),
        mode if is_cxl else _NOT_CXL,
        device_type(device) if downstream else _NO_DEVICE,
        modes,
        port.link.lanes,
        (state.width or 0) if up else 0,
        (1 << port.link.gen) - 1,
        port.link.gen,
        gen,
        _ltssm(state, held=held),
        0,
        _PERST * held | _PRESENT * state.device_present,
        len(lds),
    )


def unknown_block(number: int) -> bytes:
    """Return the block of a port that there is not."""
    return bytes((number, INVALID_PORT)).ljust(BLOCK_BYTES, b"\0")


def _configuration(*, downstream: bool, busy_opcode: int | None) -> int:
    if not downstream:
        return _USP
    return {_BIND: _BIND_IN_PROGRESS, _UNBIND: _UNBIND_IN_PROGRESS}.get(busy_opcode or 0, _DSP)


def _gen_now(state: PortState) -> int:
    if not state.speed_gbps or not state.width:
        return 0
    return _GENS.get(state.speed_gbps / state.width, 0)


def _ltssm(state: PortState, *, held: bool) -> int:
    if held:
        return _HOT_RESET
    if state.link_up:
        return _L0
    return _CONFIGURATION if state.training else _DETECT
