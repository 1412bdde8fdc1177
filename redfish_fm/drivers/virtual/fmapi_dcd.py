"""Dynamic capacity of a device behind a port (56h): regions, extents, tags.

An LD is a host of the device: host ids are LD ids. Every region of an LD lies in a range of
addresses of its own, as long as the device's pool, and holds what was added to it at once: the
simulated device lays it out, and gives it back as a whole. Simulated hosts take what is offered.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from redfish_fm.drivers.virtual import fmapi_events as events
from redfish_fm.drivers.virtual.capacity import gaps
from redfish_fm.drivers.virtual.device import SimulatedDevice
from redfish_fm.drivers.virtual.fmapi_asked import CONFIGURATION, DATA, Asked, Row, Table
from redfish_fm.drivers.virtual.fmapi_switch import (
    BAD_LENGTH,
    EXHAUSTED,
    INVALID_INPUT,
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
    Pool,
    Sanitize,
    Unbind,
)

MIB = 1 << 20
UNIT_MIB = 256
"""Total and decode length are counted in 256 MiB."""

_FREE, _CONTIGUOUS, _PRESCRIPTIVE, _SHARED = range(4)
_ADD_POLICIES = 1 << _FREE | 1 << _CONTIGUOUS | 1 << _SHARED
_BY_TAG, _BY_EXTENTS = range(2)
_REMOVAL_POLICIES = 1 << _BY_TAG | 1 << _BY_EXTENTS
_FORCED = 1 << 4
_SHAREABLE = 1 << 3
_NO_TAG = bytes(16)
_REGIONS = 8
_EXTENT = struct.Struct("<QQ16sH6x")
_CHANGE = struct.Struct("<HBBQ16sI")
_EXTENTS_MAX = 200
"""Extents in one answer; so many fit a message of 8 KiB."""

_TAGS_MAX = 90


@dataclass(frozen=True, slots=True)
class _Dcd:
    """The device that is asked."""

    switch: FmapiSwitch
    port: int
    device: SimulatedDevice
    pool: Pool

    def hosts(self) -> list[int]:
        """Return the LDs that have dynamic capacity."""
        return [ld.id for ld in self.device.facts.lds if ld.dynamic]

    def target(self, host: int, region: int) -> BindTarget:
        """Return what the hardware calls a region."""
        return BindTarget(self.switch.facts.id, self.switch.ports[self.port], host, region=region)

    def regions(self, host: int) -> list[BindTarget]:
        """Return the regions of a host that have capacity."""
        held = (part.target for part in self.device.parts.values())
        found = [each for each in held if each.ld == host]
        return sorted(found, key=lambda each: each.region or 0)

    def tag(self, region: BindTarget) -> bytes:
        """Return the tag of what is in a region."""
        return self.switch.tags.get(region, _NO_TAG)

    def extents(self, region: BindTarget) -> list[bytes]:
        """Return what a region is made of, in addresses of the device."""
        base_mib = (region.region or 0) * self.pool.capacity_mib
        return [
            _EXTENT.pack(
                (base_mib + each.start_mib) * MIB, each.size_mib * MIB, self.tag(region), 0
            )
            for each in self.switch.hardware.extents(region)
        ]

    @property
    def block(self) -> int:
        """Return the block size in bytes: the largest power of two in the granularity."""
        step = self.pool.granularity_mib * MIB
        return step & -step

    def limits(self) -> tuple[int, int]:
        """Return how many extents there can be, and how many more."""
        most = self.pool.capacity_mib // self.pool.granularity_mib
        used = sum(len(part.extents) for part in self.device.parts.values())
        return most, most - used


def _dcd(switch: FmapiSwitch, asked: Asked) -> _Dcd | None:
    device = None if asked.port is None else switch.device(asked.port)
    pool = None if device is None else device.facts.pool
    if device is None or pool is None or pool.kind is not PartKind.REGION or asked.port is None:
        return None
    switch.hardware.advance()
    return _Dcd(switch, asked.port, device, pool)


def info(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Get DCD Info (5600h)."""
    dcd = _dcd(switch, asked)
    if dcd is None:
        return Answer(UNSUPPORTED)
    count = dcd.pool.part_count_max
    sanitizes = (1 << count) - 1 if dcd.device.facts.sanitizes else 0
    total = dcd.pool.capacity_mib // UNIT_MIB
    masks = [dcd.block if region < count else 0 for region in range(_REGIONS)]
    head = struct.pack("<BB2xH2xHBxQ", len(dcd.hosts()), count, _ADD_POLICIES,
                       _REMOVAL_POLICIES, sanitizes, total)  # fmt: skip
    return Answer(payload=head + struct.pack("<8Q", *masks))


def regions(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Get Host DC Region Config (5601h)."""
    dcd, (host, count, start) = _dcd(switch, asked), struct.unpack_from("<HBB", asked.payload)
    if dcd is None:
        return Answer(UNSUPPORTED)
    most = dcd.pool.part_count_max
    if host not in dcd.hosts() or start >= most:
        return Answer(INVALID_INPUT)
    some = range(start, min(start + count, most))
    capacity_mib, sanitizes = dcd.pool.capacity_mib, dcd.device.facts.sanitizes
    blocks = b"".join(
        struct.pack("<QQQQB3xB3x", region * capacity_mib * MIB, capacity_mib // UNIT_MIB,
                    capacity_mib * MIB, dcd.block, _SHAREABLE, sanitizes)
        for region in some
    )  # fmt: skip
    limits = struct.pack("<IIII", *dcd.limits(), *dcd.limits())
    return Answer(payload=struct.pack("<HBB", host, most, len(some)) + blocks + limits)


def set_region(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Set DC Region Config (5602h): there is one configuration, and nothing else is taken."""
    dcd = _dcd(switch, asked)
    if dcd is None:
        return Answer(UNSUPPORTED)
    region, block, sanitizes = struct.unpack_from("<B3xQB", asked.payload)
    known = region < dcd.pool.part_count_max
    same = (block, bool(sanitizes & 1)) == (dcd.block, dcd.device.facts.sanitizes)
    return Answer() if known and same else Answer(INVALID_INPUT)


def extents(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Get DC Region Extent Lists (5603h)."""
    dcd, (host, count, start) = _dcd(switch, asked), struct.unpack_from("<H2xII", asked.payload)
    if dcd is None:
        return Answer(UNSUPPORTED)
    if host not in dcd.hosts():
        return Answer(INVALID_INPUT)
    found = [extent for region in dcd.regions(host) for extent in dcd.extents(region)]
    some = found[start : start + min(count, _EXTENTS_MAX)]
    generation = switch.generation((dcd.port, host), tuple(found))
    head = struct.pack("<H2xIIII4x", host, start, len(some), len(found), generation)
    return Answer(payload=head + b"".join(some))


def add(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Initiate Dynamic Capacity Add (5604h): the simulated host takes it at once."""
    dcd = _dcd(switch, asked)
    if dcd is None:
        return Answer(UNSUPPORTED)
    host, policy, region, length, tag, count = _CHANGE.unpack_from(asked.payload)
    policy &= 0xF
    if host not in dcd.hosts() or region >= dcd.pool.part_count_max or count:
        return Answer(INVALID_INPUT)
    if not 1 << policy & _ADD_POLICIES or not length or length % dcd.block:
        return Answer(INVALID_INPUT)
    target, size_mib = dcd.target(host, region), length // MIB
    others = (dcd.tag(each.target) for each in dcd.device.parts.values())
    if tag != _NO_TAG and tag in others:
        return Answer(INVALID_INPUT)
    if dcd.device.part(target) is not None or not _contiguous(dcd, policy, size_mib):
        return Answer(EXHAUSTED)
    code = switch.execute(Allocate(target, size_mib, policy == _SHARED))
    if code == SUCCESS:
        if tag != _NO_TAG:
            switch.tags[target] = tag
        switch.record_capacity(list(_told(dcd, events.ADDED, target, dcd.extents(target))), host)
    return Answer(code)


def _contiguous(dcd: _Dcd, policy: int, size_mib: int) -> bool:
    """Whether there is room in one piece, where that is asked for."""
    if policy != _CONTIGUOUS:
        return True
    used = (extent for part in dcd.device.parts.values() for extent in part.extents)
    free = gaps(dcd.pool.capacity_mib, used)
    return any(gap.size_mib >= size_mib for gap in free)


def release(switch: FmapiSwitch, asked: Asked) -> Answer:
    """Initiate Dynamic Capacity Release (5605h): of whole regions, once nothing is left in them.

    What is bound is not given back, unless forced: then the hosts lose it.
    """
    dcd = _dcd(switch, asked)
    if dcd is None:
        return Answer(UNSUPPORTED)
    host, flags, _, length, tag, count = _CHANGE.unpack_from(asked.payload)
    if len(asked.payload) < _CHANGE.size + count * _EXTENT.size:
        return Answer(BAD_LENGTH)
    given = [
        asked.payload[at : at + _EXTENT.size]
        for at in range(_CHANGE.size, _CHANGE.size + count * _EXTENT.size, _EXTENT.size)
    ]
    chosen = _chosen(dcd, host, flags & 0xF, length, tag, given)
    if not chosen:
        return Answer(INVALID_INPUT)
    bound = {v: t for v, t in switch.simulated.bindings.items() if t in chosen}
    if bound and not flags & _FORCED:
        return Answer(INVALID_INPUT)
    for vppb, target in bound.items():
        switch.execute(Unbind(vppb, target))
    codes = [_give_back(dcd, region) for region in chosen]
    return Answer(next((code for code in codes if code != SUCCESS), SUCCESS))


def _chosen(
    dcd: _Dcd, host: int, policy: int, length: int, tag: bytes, given: list[bytes]
) -> list[BindTarget]:
    """Return the regions that are meant: whole ones, together of that length; else none."""
    if policy == _BY_EXTENTS:
        # Where it lies is enough to know an extent by.
        wanted = {extent[:16] for extent in given}
        places = {r: {e[:16] for e in dcd.extents(r)} for r in dcd.regions(host)}
        found = [region for region, places in places.items() if places <= wanted]
        return found if wanted == {place for r in found for place in places[r]} else []
    if policy != _BY_TAG:
        return []
    left_mib, found = length // MIB, []
    for region in dcd.regions(host):
        part = dcd.device.part(region)
        if part is not None and dcd.tag(region) == tag and part.size_mib <= left_mib:
            found.append(region)
            left_mib -= part.size_mib
    return found if left_mib == 0 else []


def _give_back(dcd: _Dcd, region: BindTarget) -> int:
    """Give a region back now, or once it is sanitized."""
    switch = dcd.switch
    state = dcd.device.states().get(region)
    if state is None or state.media is Media.CLEAN:
        return _given_back(dcd, region)
    code = SUCCESS
    if state.media is Media.DIRTY:
        code = switch.execute(Sanitize(region))
    if code == SUCCESS:
        switch.spawn(_give_back_later(dcd, region))
    return code


async def _give_back_later(dcd: _Dcd, region: BindTarget) -> None:
    """Wait for the sanitizing; a device that loses power meanwhile keeps the region."""
    switch = dcd.switch
    while (done_s := dcd.device.next_s()) is not None:
        await switch.fabric_clock.sleep(max(_STEP_S, done_s - switch.fabric_clock.now_s()))
        switch.hardware.advance()
        state = dcd.device.states().get(region)
        if state is None or state.media is not Media.SANITIZING:
            break
    _given_back(dcd, region)


_STEP_S = 0.001


def _given_back(dcd: _Dcd, region: BindTarget) -> int:
    pieces = dcd.extents(region)
    code = dcd.switch.execute(Deallocate(region))
    if code == SUCCESS and pieces:
        dcd.switch.tags.pop(region, None)
        told = list(_told(dcd, events.RELEASED, region, pieces))
        dcd.switch.record_capacity(told, region.ld or 0)
    return code


def _told(dcd: _Dcd, kind: int, region: BindTarget, pieces: list[bytes]) -> Iterator[bytes]:
    """Yield the data of one record for each extent."""
    _, left = dcd.limits()
    for number, extent in enumerate(pieces, start=1):
        more = number < len(pieces)
        yield events.capacity_data(
            kind, region.ld or 0, region.region or 0, extent, more=more, extents=left, tags=left
        )


def tags(switch: FmapiSwitch, asked: Asked) -> Answer:
    """List Dynamic Capacity Tags (5608h)."""
    dcd, (start, count) = _dcd(switch, asked), struct.unpack_from("<II", asked.payload)
    if dcd is None:
        return Answer(UNSUPPORTED)
    held = [part.target for part in dcd.device.parts.values()]
    tagged = sorted(
        (dcd.tag(region), region.ld or 0) for region in held if dcd.tag(region) != _NO_TAG
    )
    some = tagged[start : start + min(count, _TAGS_MAX)]
    generation = switch.generation((dcd.port, None), tuple(tagged))
    head = struct.pack("<IIIB3x", generation, len(tagged), len(some), 0)
    rows = (tag + bytes(4) + (1 << host).to_bytes(32, "little") + bytes(32) for tag, host in some)
    return Answer(payload=head + b"".join(rows))


DCD: Table = {
    0x5600: Row(info),
    0x5601: Row(regions, 4),
    0x5602: Row(set_region, 16, effects=CONFIGURATION),
    0x5603: Row(extents, 12),
    0x5604: Row(add, _CHANGE.size, more=True, effects=CONFIGURATION),
    0x5605: Row(release, _CHANGE.size, more=True, effects=CONFIGURATION | DATA),
    0x5608: Row(tags, 8),
}
