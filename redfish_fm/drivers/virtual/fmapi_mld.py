"""Commands of an MLD: its LDs, their memory and their bandwidth (54h); sanitizing of one LD.

LDs of a device with a pool are allocated and given back; those of others are fixed. Memory is
counted in multiples of the granularity, bandwidth in 1/256.
"""

import struct
from collections.abc import Iterable

from redfish_fm.drivers.virtual.device import SimulatedDevice
from redfish_fm.drivers.virtual.fmapi_asked import (
    BACKGROUND,
    CONFIGURATION,
    DATA,
    POLICY,
    Asked,
    Row,
    Table,
)
from redfish_fm.drivers.virtual.fmapi_generic import device_identity, logs_table
from redfish_fm.drivers.virtual.fmapi_switch import (
    ABORTED,
    BAD_LENGTH,
    HANG_UP,
    INVALID_INPUT,
    STARTED,
    SUCCESS,
    UNSUPPORTED,
    Answer,
    FmapiSwitch,
)
from redfish_fm.fabric.model import (
    Allocate,
    BindTarget,
    Deallocate,
    Media,
    PartKind,
    Qos,
    Sanitize,
    SetQos,
)

MIB = 1 << 20
_GRANULARITIES_MIB = (256, 512, 1024)
_CONGESTION, _THROUGHPUT = 1, 2
_QOS_USUAL = struct.pack("<BBBBHB", 0, 10, 25, 8, 0, 64)
_WHOLE = 256
_PERCENT = 100
_INTERVAL_MAX = 15
_SANITIZE = 0x4400


def _device(switch: FmapiSwitch, asked: Asked) -> SimulatedDevice | None:
    """Return the MLD that is asked."""
    found = None if asked.port is None else switch.device(asked.port)
    return found if found is not None and found.facts.lds else None


def _target(switch: FmapiSwitch, asked: Asked, ld: int) -> BindTarget:
    return BindTarget(switch.facts.id, switch.ports[asked.port or 0], ld)


def ld_info(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Get LD Info (5400h)."""
    device = _device(switch, asked)
    if device is None:
        return Answer(INVALID_INPUT)
    able = (_CONGESTION | _THROUGHPUT) if device.facts.qos else 0
    size, count = device.facts.capacity_mib * MIB, len(device.facts.lds)
    return Answer(payload=struct.pack("<QHB", size, count, able))


def ld_allocations(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Get LD Allocations (5401h)."""
    device = _device(switch, asked)
    if device is None:
        return Answer(INVALID_INPUT)
    start, limit = asked.payload[:2]
    some = range(start, min(start + limit, len(device.facts.lds)))
    code = _GRANULARITIES_MIB.index(_granularity_mib(device))
    head = bytes((len(device.facts.lds), code, start, len(some)))
    return Answer(payload=head + _allocations(switch, asked, device, some))


def set_ld_allocations(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Set LD Allocations (5402h): each LD as far as the device does it; all refused: why."""
    device, (count, start) = _device(switch, asked), asked.payload[:2]
    if switch.profile.set_breaks:
        return HANG_UP
    if device is None or start + count > len(device.facts.lds):
        return Answer(INVALID_INPUT)
    if len(asked.payload) < 4 + 16 * count:
        return Answer(BAD_LENGTH)
    some, codes = range(start, start + count), []
    for at, ld in enumerate(some):
        first, second = struct.unpack_from("<QQ", asked.payload, 4 + 16 * at)
        size_mib = (first + second) * _granularity_mib(device)
        codes.append(_resize(switch, device, _target(switch, asked, ld), size_mib))
    if codes and SUCCESS not in codes:
        return Answer(codes[0])
    head = asked.payload[:2] + switch.profile.set_filler
    return Answer(payload=head + _allocations(switch, asked, device, some))


def _resize(switch: FmapiSwitch, device: SimulatedDevice, target: BindTarget, size_mib: int) -> int:
    """Give an LD that much memory; returns the return code. It has to be clean and unbound."""
    size_now_mib = _ld_mib(device, target)
    if size_mib == size_now_mib:
        return SUCCESS
    code = SUCCESS
    if size_now_mib:
        code = switch.execute(Deallocate(target))
    if code == SUCCESS and size_mib:
        code = switch.execute(Allocate(target, size_mib))
        if code != SUCCESS and size_now_mib:
            # Of what it gives back it has at least as much: this can not be refused.
            switch.execute(Allocate(target, size_now_mib))
    return code


def _granularity_mib(device: SimulatedDevice) -> int:
    pool = device.facts.pool
    return pool.granularity_mib if pool is not None and pool.kind is PartKind.LD else 256


def _ld_mib(device: SimulatedDevice, target: BindTarget) -> int:
    part = device.part(target)
    if part is not None:
        return part.size_mib
    return next((ld.capacity_mib for ld in device.facts.lds if ld.id == target.ld), 0)


def _allocations(
    switch: FmapiSwitch, asked: Asked, device: SimulatedDevice, lds: Iterable[int]
) -> bytes:
    unit_mib = _granularity_mib(device)
    sizes = (_ld_mib(device, _target(switch, asked, ld)) for ld in lds)
    return b"".join(struct.pack("<QQ", size // unit_mib, 0) for size in sizes)


# -- bandwidth ----------------------------------------------------------------------------------


def qos_control(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Get QoS Control (5403h)."""
    return Answer(payload=switch.qos_controls.get(asked.port or 0, _QOS_USUAL))


def set_qos_control(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Set QoS Control (5404h)."""
    _, moderate, severe, interval = asked.payload[:4]
    if not 1 <= moderate <= severe <= _PERCENT or interval > _INTERVAL_MAX:
        return Answer(INVALID_INPUT)
    switch.qos_controls[asked.port or 0] = asked.payload[:7]
    return Answer(payload=asked.payload[:7])


def qos_status(switch: FmapiSwitch, _: Asked) -> Answer:
    """Get QoS Status (5405h): nothing flows here, so nothing is pressed back."""
    return Answer(payload=bytes((switch.profile.backpressure,)))


def bandwidth(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Get QoS Allocated BW and BW Limit (5406h, 5408h)."""
    device, (count, start) = _device(switch, asked), asked.payload[:2]
    if device is None or start + count > len(device.facts.lds):
        return Answer(INVALID_INPUT)
    if not device.facts.qos:
        return Answer(UNSUPPORTED)
    each = (device.qos.get(ld, Qos()) for ld in range(start, start + count))
    shares = (qos.allocated if asked.opcode == _GET_ALLOCATED else qos.limit for qos in each)
    fractions = bytes(fraction_of(share) for share in shares)
    return Answer(payload=bytes((count, start)) + fractions)


def set_bandwidth(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Set QoS Allocated BW and BW Limit (5407h, 5409h): all of them or none."""
    device, (count, start) = _device(switch, asked), asked.payload[:2]
    fractions = asked.payload[2 : 2 + count]
    if len(fractions) < count:
        return Answer(BAD_LENGTH)
    if device is None or start + count > len(device.facts.lds):
        return Answer(INVALID_INPUT)
    if not device.facts.qos:
        return Answer(UNSUPPORTED)
    wanted = {}
    for ld, fraction in enumerate(fractions, start):
        now, share = device.qos.get(ld, Qos()), percent_of(fraction)
        allocated = asked.opcode == _SET_ALLOCATED
        wanted[ld] = Qos(share, now.limit) if allocated else Qos(now.allocated, share)
    others = sum(qos.allocated for ld, qos in device.qos.items() if ld not in wanted)
    if others + sum(qos.allocated for qos in wanted.values()) > _PERCENT:
        return Answer(INVALID_INPUT)
    # Who gives up goes first: at no moment is more promised than there is.
    for ld in sorted(wanted, key=lambda ld: wanted[ld].allocated):
        switch.execute(SetQos(_target(switch, asked, ld), wanted[ld]))
    return Answer(payload=asked.payload[: 2 + count])


def fraction_of(percent: int) -> int:
    """Return a share in 1/256, of which all is 255 because 256 does not fit."""
    return min(_WHOLE - 1, round(percent * _WHOLE / _PERCENT))


def percent_of(fraction: int) -> int:
    """Return a share in percent."""
    return round(fraction * _PERCENT / _WHOLE)


_GET_ALLOCATED, _SET_ALLOCATED = 0x5406, 0x5407


# -- one LD -------------------------------------------------------------------------------------


def sanitize(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Sanitize (4400h), asked of an LD: all that it has, in the background."""
    device = _device(switch, asked)
    if device is None or asked.ld is None:
        return Answer(INVALID_INPUT)
    target = _target(switch, asked, asked.ld)
    for each in _of_ld(device, target):
        code = switch.execute(Sanitize(each))
        if code != SUCCESS:
            return Answer(code)
    switch.sanitized.add(target)
    return Answer(STARTED, background=True)


def ld_status(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Background Operation Status (0002h) of an LD."""
    device = _device(switch, asked)
    if device is None or asked.ld is None:
        return Answer(INVALID_INPUT)
    switch.hardware.advance()
    target, states = _target(switch, asked, asked.ld), device.states()
    media = {states[each].media for each in _of_ld(device, target) if each in states}
    if target not in switch.sanitized:
        return Answer(payload=bytes(8))
    if Media.SANITIZING in media:
        return Answer(payload=struct.pack("<BxHHH", 50 << 1 | 1, _SANITIZE, 0, 0))
    code = ABORTED if Media.DIRTY in media else SUCCESS
    return Answer(payload=struct.pack("<BxHHH", 100 << 1, _SANITIZE, code, 0))


def _of_ld(device: SimulatedDevice, target: BindTarget) -> list[BindTarget]:
    """Return an LD, or its regions where its capacity is dynamic."""
    if all(not ld.dynamic for ld in device.facts.lds if ld.id == target.ld):
        return [target]
    return [part.target for part in device.parts.values() if part.target.ld == target.ld]


MLD: Table = {
    0x0001: Row(device_identity),
    0x5400: Row(ld_info),
    0x5401: Row(ld_allocations, 2),
    0x5402: Row(set_ld_allocations, 4, more=True, effects=CONFIGURATION | DATA),
    0x5403: Row(qos_control),
    0x5404: Row(set_qos_control, 7, effects=POLICY),
    0x5405: Row(qos_status),
    0x5406: Row(bandwidth, 2),
    0x5407: Row(set_bandwidth, 2, more=True, effects=POLICY),
    0x5408: Row(bandwidth, 2),
    0x5409: Row(set_bandwidth, 2, more=True, effects=POLICY),
}

LD: Table = {
    0x0001: Row(device_identity),
    0x0002: Row(ld_status),
    0x4400: Row(sanitize, effects=DATA | BACKGROUND),
}


def _ld_knows(switch: FmapiSwitch, asked: Asked, opcode: int) -> bool:
    device = _device(switch, asked)
    able = opcode != _SANITIZE or (device is not None and device.facts.sanitizes)
    return able and switch.profile.has(opcode, behind_port=True)


LD |= logs_table(LD, _ld_knows)
