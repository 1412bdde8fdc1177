"""What virtual switches, devices and cables are built of: plausible, and no maker's.

Pure and deterministic. Which parts there are is decided by kind and capacity, so that they add
up to what the topology says; who they are by `Identities`; what they draw by both.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from redfish_fm.drivers.virtual.identities import Identities
from redfish_fm.drivers.virtual.spec import LinkSpec, PluggedSpec, SubsystemSpec, SwitchSpec
from redfish_fm.fabric.equipment import (
    Cable,
    DeviceHardware,
    Draw,
    DriveBay,
    Enclosure,
    MediaModule,
    SwitchHardware,
)
from redfish_fm.fabric.hardware import Part, PciIds
from redfish_fm.fabric.model import DeviceKind

PCI_VENDOR = 0xFAB1
"""An id that no member of PCI-SIG has, by the public list of ids (pci.ids, April 2023)."""

FULL = "full"
FIRMWARE = "1.4.2"
_MIB_PER_GIB = 1024
_APPLIANCE_MIB = 1024 * _MIB_PER_GIB
"""Memory of this size and more is a box in a rack; what is smaller is a module."""
_BAY_MIB_MIN = 800 * _MIB_PER_GIB
"""Drives of a subsystem are not smaller than this, where it has so much."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """What all devices of a kind have in common; power in W."""

    device: int
    class_code: int
    slot_type: str
    max_w: int
    least_w: int
    """What it draws while it has nothing to do."""


_KINDS = {
    DeviceKind.GPU: _Kind(0x1001, 0x120000, "FullLength", 400, 62),
    DeviceKind.FPGA: _Kind(0x1002, 0x120000, "FullLength", 75, 28),
    DeviceKind.NVME: _Kind(0x2001, 0x010802, "U2", 25, 8),
    DeviceKind.NIC: _Kind(0x3001, 0x020000, "FullLength", 30, 16),
    DeviceKind.MEMORY: _Kind(0x4001, 0x050210, "EDSFF", 40, 14),
}
"""Class codes as the PCI Code and ID Assignment lists them: processing accelerator, NVM Express,
Ethernet, CXL memory device."""

_APPLIANCE = _Kind(0x4002, 0x050210, "OEM", 420, 190)
"""The controller of a memory appliance, without its modules."""

_MODULE_COUNTS = (16, 12, 8, 6, 5, 4, 3, 2)
_STACK_MIB = 16 * _MIB_PER_GIB
_BAY_COUNTS = (24, 16, 12, 10, 8, 6, 4, 2)
_SUPPLIES_W = (550, 800, 1100, 1600, 2000, 2400, 3200)


def device_hardware(
    identities: Identities,
    spec: PluggedSpec,
    device: str,
    model: str,
    capacity_mib: int,
    head_count: int,
) -> DeviceHardware:
    """Return what is inside one device; of `core` ones only who they are.

    An adapter has a MAC address for each physical function on each of its heads.
    """
    full = spec.detail == FULL
    box = spec.kind is DeviceKind.MEMORY and capacity_mib >= _APPLIANCE_MIB
    kind = _APPLIANCE if box else _KINDS[spec.kind]
    maker = spec.manufacturer
    modules = tuple(_modules(identities, spec, device, capacity_mib)) if full else ()
    need_w = kind.max_w + 12 * len(modules)
    return DeviceHardware(
        part_number=identities.part_number(model),
        uuid=identities.derived_uuid("device", device),
        firmware_version=FIRMWARE,
        pci=PciIds(PCI_VENDOR, kind.device, kind.class_code, revision=1),
        slot_type=kind.slot_type,
        draw=_draw(identities, device, kind.least_w, kind.max_w) if full else None,
        modules=modules,
        eui64=identities.eui64("drive", device) if spec.kind is DeviceKind.NVME else None,
        macs=tuple(
            identities.mac("adapter", f"{device}/{n}") for n in range(head_count * spec.functions)
        )
        if spec.kind is DeviceKind.NIC
        else (),
        network_gbps=_network_gbps(spec.link) if spec.kind is DeviceKind.NIC else None,
        enclosure=_enclosure(identities, maker, device, 2, need_w, 4) if full and box else None,
    )


def switch_hardware(
    identities: Identities, spec: SwitchSpec, switch: str, model: str, lanes: int, slots_w: int
) -> SwitchHardware:
    """Return the chassis of one switch that has `lanes`, and slots for devices of `slots_w`."""
    full = spec.detail == FULL
    own_w = 60 + lanes // 2
    units = 4 if slots_w > 2000 else 2 if slots_w else 1
    return SwitchHardware(
        part_number=identities.part_number(model),
        uuid=identities.derived_uuid("switch", switch),
        firmware_version=FIRMWARE,
        draw=_draw(identities, switch, own_w * 3 // 4, own_w) if full else None,
        enclosure=_enclosure(identities, spec.manufacturer, switch, units, own_w + slots_w + 120, 6)
        if full
        else None,
        counts_errors=full,
    )


def subsystem_hardware(
    identities: Identities, spec: SubsystemSpec, subsystem: str, model: str, capacity_mib: int
) -> SwitchHardware:
    """Return the chassis of one NVMe subsystem, with the drives that make its capacity."""
    full = spec.detail == FULL
    drives = tuple(_bays(identities, spec, subsystem, capacity_mib)) if full else ()
    need_w = 260 + 25 * len(drives)
    return SwitchHardware(
        part_number=identities.part_number(model),
        uuid=identities.derived_uuid("enclosure", subsystem),
        firmware_version=FIRMWARE,
        draw=_draw(identities, subsystem, 120, 180) if full else None,
        enclosure=_enclosure(identities, spec.manufacturer, subsystem, 2, need_w, 6)
        if full
        else None,
        drives=drives,
    )


def slot_w(kind: DeviceKind) -> int:
    """Return what a device of this kind draws at most."""
    return _KINDS[kind].max_w


def cable(identities: Identities, spec: LinkSpec, port: str, *, near: bool) -> Cable:
    """Return the cable of one port; what is in the same failure domain is `near`."""
    length_m = 1.0 if near else 2.0
    model = f"Virtual copper cable, x{spec.lanes}, {length_m:.0f} m"
    return Cable(_part(identities, "redfish_fm", model, port, "cable"), length_m)


def _part(identities: Identities, maker: str, model: str, name: str, what: str) -> Part:
    return Part(maker, model, identities.part_number(model), identities.serial(what, name))


def _share(identities: Identities, name: str) -> float:
    """Return a number of 0 to 1 that is the name's: how busy it is, for good."""
    seed = identities.serial("load", name)
    return hashlib.blake2s(seed.encode(), digest_size=1).digest()[0] / 255


def _draw(identities: Identities, name: str, least_w: int, max_w: int) -> Draw:
    # Devices that wait for a host draw little: up to a fifth of what lies between.
    typical_w = least_w + (max_w - least_w) * 0.2 * _share(identities, name)
    return Draw(round(typical_w, 1), max_w)


def _enclosure(
    identities: Identities, maker: str, name: str, units: int, need_w: int, fan_count: int
) -> Enclosure:
    """Return a chassis that runs on each of two power supplies alone, where there are such."""
    each_w = next((watts for watts in _SUPPLIES_W if watts >= need_w), _SUPPLIES_W[-1])
    count = 2 if each_w >= need_w else -(-need_w // each_w) + 1
    model = f"Virtual power supply {each_w} W"
    return Enclosure(
        rack_units=units,
        power_supplies=tuple(
            _part(identities, maker, model, f"{name}/{n}", "psu") for n in range(1, count + 1)
        ),
        power_supply_w=each_w,
        fans=tuple(
            _part(identities, maker, "Virtual fan module", f"{name}/{n}", "fan")
            for n in range(1, fan_count + 1)
        ),
        fan_rpm_max=16000,
    )


def _modules(
    identities: Identities, spec: PluggedSpec, device: str, capacity_mib: int
) -> Sequence[MediaModule]:
    if spec.kind not in (DeviceKind.GPU, DeviceKind.FPGA, DeviceKind.MEMORY) or not capacity_mib:
        return ()
    memory = spec.kind is DeviceKind.MEMORY
    counts = _module_counts(capacity_mib) if memory else _stacks(capacity_mib)
    count = _split(capacity_mib, counts)
    each_mib = capacity_mib // count
    kind, speed_mts = ("DDR5", 5600) if memory else ("HBM3", 5200)
    model = f"Virtual {kind} {'module' if memory else 'stack'} {each_mib // _MIB_PER_GIB}G"
    return [
        MediaModule(
            _part(identities, spec.manufacturer, model, f"{device}/{n}", "module"),
            each_mib,
            kind,
            speed_mts,
        )
        for n in range(1, count + 1)
    ]


def _module_counts(capacity_mib: int) -> tuple[int, ...]:
    """Return how many modules to try, most first: a card has room for eight."""
    if capacity_mib >= _APPLIANCE_MIB:
        return _MODULE_COUNTS
    card = (count for count in _MODULE_COUNTS if count <= 8)
    return tuple(count for count in card if capacity_mib // count >= 8 * _MIB_PER_GIB)


def _stacks(capacity_mib: int) -> tuple[int, ...]:
    """Return how many stacks of memory to try, fewest first: none is larger than it can be."""
    return tuple(n for n in range(1, 17) if capacity_mib <= n * _STACK_MIB)


def _split(capacity: int, counts: Sequence[int]) -> int:
    """Return the first count that divides the capacity; 1 where none does."""
    return next((count for count in counts if capacity % count == 0), 1)


def _bays(
    identities: Identities, spec: SubsystemSpec, subsystem: str, capacity_mib: int
) -> Sequence[DriveBay]:
    counts = [count for count in _BAY_COUNTS if capacity_mib // count >= _BAY_MIB_MIN]
    count = _split(capacity_mib, counts)
    each_mib = capacity_mib // count
    model = f"Virtual drive {each_mib * 2**20 / 10**12:.2f}T"
    return [
        DriveBay(
            _part(identities, spec.manufacturer, model, f"{subsystem}/{n}", "bay"),
            each_mib,
            identities.eui64("bay", f"{subsystem}/{n}"),
            FIRMWARE,
        )
        for n in range(1, count + 1)
    ]


def _network_gbps(link: LinkSpec) -> int:
    """Return the fastest usual Ethernet that a link of a NIC can feed."""
    raw_gbps = {1: 2, 2: 4, 3: 8, 4: 16, 5: 32, 6: 64}[link.gen] * link.lanes
    return next((speed for speed in (400, 200, 100, 50, 25, 10) if speed <= raw_gbps), 1)
