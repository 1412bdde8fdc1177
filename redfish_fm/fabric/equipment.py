"""What switches, devices and cables are built of, as far as their driver knows.

Pure values, the counterpart of `hardware` for all that is no host. None or an empty tuple means
not known, which is shown as absent. Made by drivers, read by mapping.
"""

from dataclasses import dataclass

from redfish_fm.fabric.hardware import Part, PciIds


@dataclass(frozen=True, slots=True)
class Draw:
    """What something takes from its power feed: in use as it is, and at most, in W."""

    typical_w: float
    max_w: int


@dataclass(frozen=True, slots=True)
class MediaModule:
    """One memory part of a device: a stack beside a processor, or a module in an appliance."""

    part: Part
    capacity_mib: int
    kind: str
    """Redfish Memory.MemoryDeviceType."""
    speed_mts: int
    """Transfers per second, in millions."""


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A chassis in a rack that feeds and cools what is in it. Capacities of each, in W and RPM."""

    rack_units: int
    power_supplies: tuple[Part, ...]
    power_supply_w: int
    fans: tuple[Part, ...]
    fan_rpm_max: int


@dataclass(frozen=True, slots=True)
class DriveBay:
    """A drive of a storage subsystem. `eui64` is 16 hexadecimal digits in upper case."""

    part: Part
    capacity_mib: int
    eui64: str
    firmware_version: str


@dataclass(frozen=True, slots=True)
class DeviceHardware:
    """What is known of a device beyond what binding it needs.

    `modules` add up to its capacity. `eui64` is 16 hexadecimal digits, each of `macs` six octets
    with colons, both in upper case; `network_gbps` is the speed of each network port.
    """

    part_number: str
    uuid: str
    firmware_version: str
    pci: PciIds
    slot_type: str
    """Redfish PCIeDevice.Slot.SlotType."""
    draw: Draw | None = None
    modules: tuple[MediaModule, ...] = ()
    eui64: str | None = None
    macs: tuple[str, ...] = ()
    network_gbps: int | None = None
    enclosure: Enclosure | None = None
    """Of a device that is an appliance of its own, not a card in a slot."""


@dataclass(frozen=True, slots=True)
class SwitchHardware:
    """What is known of a switch, or of a storage subsystem, beyond its ports.

    `draw` is that of its own electronics, without fans and without what is in its slots;
    `drives` add up to the capacity of a subsystem; `counts_errors` says whether each port counts
    the errors of its link.
    """

    part_number: str
    uuid: str
    firmware_version: str
    draw: Draw | None = None
    enclosure: Enclosure | None = None
    drives: tuple[DriveBay, ...] = ()
    counts_errors: bool = False


@dataclass(frozen=True, slots=True)
class Cable:
    """What leads from a port to its far end."""

    part: Part
    length_m: float
