"""Commands to the switch itself: its ports (51h) and its virtual switches (52h)."""

import struct

from redfish_fm.drivers.virtual.fmapi_asked import (
    ABORTABLE,
    BACKGROUND,
    CONFIGURATION,
    Asked,
    Row,
    Table,
)
from redfish_fm.drivers.virtual.fmapi_ports import device_type, unknown_block
from redfish_fm.drivers.virtual.fmapi_switch import (
    BAD_LENGTH,
    IN_PROGRESS,
    INTERNAL_ERROR,
    INVALID_INPUT,
    NOTICE_VPPB,
    STARTED,
    SUCCESS,
    UNBOUND,
    Answer,
    FmapiSwitch,
    code_of,
    serial_of,
)
from redfish_fm.fabric.model import Bind, BindTarget, PortRole, Unbind, VppbId

HDM_DECODERS = 32

_ASSERT, _DEASSERT, _RESET = range(3)
_UNBIND_OPTION_MAX = 2
_ENABLED, _NO_SUCH_VCS = 0x01, 0xFF
_DOWNSTREAM_CLASS = 0x060400
"""Class code of a PCI-to-PCI bridge."""


# -- 51h ----------------------------------------------------------------------------------------


def identify_switch(switch: FmapiSwitch, _: Asked) -> Answer:
    """Identify Switch Device (5100h)."""
    ports, vcss = len(switch.ports), len(switch.vcss)
    vppbs = sum(vcs.vppb_count for vcs in switch.vcss)
    masks = b"".join(((1 << count) - 1).to_bytes(32, "little") for count in (ports, vcss))
    head = bytes((0, 0, ports, vcss))
    tail = struct.pack("<HHB", vppbs, len(switch.simulated.bindings), HDM_DECODERS)
    return Answer(payload=(head + masks + tail).ljust(switch.profile.identify_bytes, b"\0"))


def port_states(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Get Physical Port State (5101h)."""
    count = asked.payload[0]
    wanted = asked.payload[1 : 1 + count]
    if len(wanted) < count:
        return Answer(BAD_LENGTH)
    switch.hardware.advance()
    profile, blocks, upstream = switch.profile, [], 0
    states = switch.simulated.port_states()
    for number in wanted:
        if number < len(switch.ports):
            block = switch.port_block(number, states)
            upstream += block[1] == _USP
            if profile.types_by_position and block[4]:
                moved = _type_by_position(switch, number - upstream)
                if moved is None:
                    return Answer(INTERNAL_ERROR)
                block = block[:4] + bytes((moved or block[4],)) + block[5:]
            blocks.append(block if profile.link_numbers else _bare(block, profile.absent_ltssm))
        elif profile.unknown_port_code is not None:
            return Answer(profile.unknown_port_code)
        elif not profile.drops_unknown:
            blocks.append(unknown_block(number))
    return Answer(payload=bytes((len(blocks), 0, 0, 0)) + b"".join(blocks))


def control_port(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Physical Port Control (5102h): PERST#, and reset of the bridge; links train anew."""
    number, operation = asked.payload[:2]
    port, held = switch.port_id(number), switch.held.get(number)
    if port is None or operation > _RESET:
        return Answer(INVALID_INPUT)
    if switch.facts.ports[number].role is not PortRole.DOWNSTREAM:
        return Answer(INVALID_INPUT)
    if operation == _DEASSERT:
        if held is None or not held.long_enough:
            return Answer(INTERNAL_ERROR)
        del switch.held[number]
        switch.hardware.reset_link(port)
    elif held is not None:
        return Answer(INTERNAL_ERROR)
    elif operation == _ASSERT:
        switch.hold(number)
    else:
        switch.hardware.reset_link(port)
    return Answer()


def configure_port(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Send PPB CXL.io Configuration Request (5103h); what is written is not kept."""
    number, register, extended = asked.payload[:3]
    if number >= len(switch.ports):
        return Answer(INVALID_INPUT)
    return Answer(payload=configuration_dword(switch, (extended & 0xF) << 8 | register))


def configuration_dword(
    switch: FmapiSwitch, address: int, class_code: int = _DOWNSTREAM_CLASS
) -> bytes:
    """Return 4 bytes of a configuration space that has identity and class, and zeros."""
    profile = switch.profile
    space = {0: profile.vendor_id | profile.device_id << 16, 8: class_code << 8}
    return struct.pack("<I", space.get(address & ~3, 0))


def _type_by_position(switch: FmapiSwitch, place: int) -> int | None:
    """Return the type of the device at the downstream port of that place, None for no such one.

    So says a switch that takes a port's number less the upstream ports asked for before it.
    """
    downstream = [p for p in switch.facts.ports if p.role is PortRole.DOWNSTREAM]
    if place >= len(downstream):
        return None
    return device_type(switch.simulated.device_at(downstream[place].id.port))


def _bare(block: bytes, absent_ltssm: int) -> bytes:
    """Return a block without anything told of the link but whether it is up."""
    ltssm = _L0 if block[11] == _L0 else absent_ltssm
    head = (block[0], block[1], _VH_68B, 0, block[4], _VH_MASK, 0, 0, 0, 0, 0, ltssm)
    return bytes(head).ljust(len(block), b"\0")


_USP, _VH_68B, _VH_MASK, _L0 = 4, 2, 2, 4


# -- 52h ----------------------------------------------------------------------------------------


def vcs_info(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Get Virtual CXL Switch Info (5200h)."""
    start, limit, count = asked.payload[:3]
    wanted = asked.payload[3 : 3 + count]
    if len(wanted) < count:
        return Answer(BAD_LENGTH)
    if limit == 0:
        return Answer(INVALID_INPUT)
    switch.hardware.advance()
    blocks = []
    for number in wanted:
        if number < len(switch.vcss):
            blocks.append(_vcs_block(switch, number, start, limit))
        elif switch.profile.unknown_port_code is not None:
            return Answer(switch.profile.unknown_port_code)
        elif not switch.profile.drops_unknown:
            blocks.append(bytes((number, _NO_SUCH_VCS, 0, 0)))
    return Answer(payload=bytes((len(blocks), 0, 0, 0)) + b"".join(blocks))


def _vcs_block(switch: FmapiSwitch, number: int, start: int, limit: int) -> bytes:
    vcs, profile = switch.vcss[number], switch.profile
    usp = switch.port_numbers[vcs.upstream_port]
    head = bytes((number, _ENABLED, usp, vcs.vppb_count))
    count = max(0, min(vcs.vppb_count - start, limit))
    if start and profile.vppbs_from_start_only:
        return head + bytes(4 * count)
    # Most are free: those that are not are filled in.
    entries = [bytes((UNBOUND, 0, profile.no_ld, profile.filler))] * count
    for vppb in switch.engaged():
        if vppb.vcs == vcs.id and start <= vppb.vppb < start + count:
            entries[vppb.vppb - start] = bytes((*switch.entry(vppb), profile.filler))
    return head + b"".join(entries)


def bind(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Bind vPPB (5201h)."""
    if len(asked.payload) < 6:
        return _late(switch, asked.opcode, INTERNAL_ERROR)
    vcs, number, port, _, ld = struct.unpack_from("<BBBBH", asked.payload)
    vppb, target = switch.vppb_id(vcs, number), switch.bind_target(port, ld)
    if vppb is None or target is None:
        return _late(switch, asked.opcode, INVALID_INPUT)
    refused = _bind_refusal(switch, vppb, target, ld)
    if refused != SUCCESS:
        return _late(switch, asked.opcode, refused)
    return _begun(switch, asked.opcode, Bind(vppb, target))


def _bind_refusal(switch: FmapiSwitch, vppb: VppbId, target: BindTarget, ld: int) -> int:
    """Return why a bind would be refused now, SUCCESS where it would not."""
    profile, simulated = switch.profile, switch.simulated
    if profile.device_as_ld and not _as_ld(switch, target, ld):
        return INTERNAL_ERROR
    if vppb in simulated.bindings:
        return INVALID_INPUT
    on_port = any(each.port == target.port for each in simulated.bindings.values())
    if profile.one_ld_a_port and on_port:
        return INVALID_INPUT
    refusal = simulated.refusal(Bind(vppb, target))
    return SUCCESS if refusal is None else code_of(refusal)


def _as_ld(switch: FmapiSwitch, target: BindTarget, ld: int) -> bool:
    """Whether an LD id is one that a switch knows to which every device has LDs, at least LD 0."""
    device = switch.simulated.device_at(target.port)
    count = len(device.facts.lds) if device is not None else 0
    return ld < max(1, count)


def unbind(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Unbind vPPB (5202h). Simulated hosts let go of everything, so all options are alike."""
    if len(asked.payload) < 3:
        return _late(switch, asked.opcode, INTERNAL_ERROR)
    vcs, number, option = asked.payload[:3]
    vppb = switch.vppb_id(vcs, number)
    bound = None if vppb is None else switch.simulated.bindings.get(vppb)
    if vppb is None or bound is None or option & 0xF > _UNBIND_OPTION_MAX:
        return _late(switch, asked.opcode, INVALID_INPUT)
    return _begun(switch, asked.opcode, Unbind(vppb, bound))


def _begun(switch: FmapiSwitch, opcode: int, step: Bind | Unbind) -> Answer:
    """Begin a bind or unbind that the hardware would do now; at the end it is asked again."""
    target = step.target if isinstance(step, Bind) else None
    answer = switch.start(opcode, lambda: switch.execute(step), step.vppb, target)
    if answer.code == STARTED:
        vcs, number = switch.numbers(step.vppb)
        switch.notify(NOTICE_VPPB, bytes((vcs, number, IN_PROGRESS)))
    return answer


def _late(switch: FmapiSwitch, opcode: int, code: int) -> Answer:
    """Refuse at once, or at the end of an operation that does nothing."""
    if not switch.profile.checks_late:
        return Answer(code)
    return switch.start(opcode, lambda: code)


def freeze(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Freeze and Unfreeze vPPB (5215h, 5216h) of one vendor: noted, for no host is simulated."""
    vppb = switch.vppb_id(*asked.payload[:2])
    if vppb is None:
        return _late(switch, asked.opcode, INVALID_INPUT)
    change = switch.frozen.add if asked.opcode == _FREEZE else switch.frozen.discard

    def work() -> int:
        change(vppb)
        return SUCCESS

    return switch.start(asked.opcode, work)


_FREEZE = 0x5215


def connected_devices(switch: FmapiSwitch, _: Asked) -> Answer:
    """Get Connected Devices (C003h) of one vendor: big-endian, vendor and device the other way."""
    profile, rows = switch.profile, []
    for number, port in enumerate(switch.facts.ports):
        device = switch.device(number) if port.role is PortRole.DOWNSTREAM else None
        if device is not None:
            capacity = device.facts.capacity_mib // _UNIT_MIB
            rows.append(
                _CONNECTED.pack(
                    profile.device_id + 1,
                    profile.vendor_id,
                    0,
                    0,
                    serial_of(device.serial_number),
                    number,
                    capacity,
                )
            )
    return Answer(payload=bytes((len(rows),)) + b"".join(rows))


_CONNECTED = struct.Struct(">HHHHQBI")
_UNIT_MIB = 256


def generate_aer(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Generate AER Event (5203h): for the host, which is not simulated; a bound vPPB takes it."""
    vppb = switch.vppb_id(*asked.payload[:2])
    bound = vppb is not None and vppb in switch.simulated.bindings
    return Answer() if bound or switch.profile.one_ld_a_port else Answer(INVALID_INPUT)


SWITCHING: Table = {
    0x5100: Row(identify_switch),
    0x5101: Row(port_states, 1, more=True),
    0x5102: Row(control_port, 2, effects=CONFIGURATION),
    0x5103: Row(configure_port, 8, effects=CONFIGURATION),
    0x5200: Row(vcs_info, 3, more=True),
    0x5201: Row(bind, 6, effects=CONFIGURATION | BACKGROUND | ABORTABLE),
    0x5202: Row(unbind, 3, effects=CONFIGURATION | BACKGROUND | ABORTABLE),
    0x5203: Row(generate_aer, 40),
    0x5215: Row(freeze, 2, effects=CONFIGURATION | BACKGROUND),
    0x5216: Row(freeze, 2, effects=CONFIGURATION | BACKGROUND),
    0xC003: Row(connected_devices),
}
