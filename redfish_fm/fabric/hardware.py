"""What a host is built of, as far as its driver knows.

Pure values; nothing here decides who may reach what. None or an empty tuple means not known,
which is shown as absent. Made by drivers, read by mapping.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """Which part it is: who made it, what it is called, which one of its kind."""

    manufacturer: str
    model: str
    part_number: str
    serial_number: str


@dataclass(frozen=True, slots=True)
class PciIds:
    """What a function says of itself in its configuration space; numbers as there."""

    vendor: int
    device: int
    class_code: int
    """Base class, sub-class and programming interface, 24 bits."""
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Bmc:
    """The management controller of a host, with its own network port.

    `uuid` is lower-case RFC 4122 text; `mac` is six hexadecimal octets with colons, upper case,
    as everywhere here.
    """

    part: Part
    uuid: str
    mac: str
    firmware_version: str


@dataclass(frozen=True, slots=True)
class ProcessorSocket:
    """One CPU; sockets are counted from 1. Speeds in MHz, power in W."""

    socket: int
    part: Part
    core_count: int
    thread_count: int
    base_mhz: int
    max_mhz: int
    tdp_w: int


@dataclass(frozen=True, slots=True)
class MemoryModule:
    """One DIMM: `socket` is that of its CPU, `channel` and `slot` count from 0 within it."""

    socket: int
    channel: int
    slot: int
    part: Part
    capacity_mib: int
    speed_mts: int
    """Transfers per second, in millions."""
    rank_count: int

    @property
    def label(self) -> str:
        """Return what is written beside its slot: CPU, channel letter, slot."""
        return f"P{self.socket}{chr(ord('A') + self.channel)}{self.slot + 1}"


@dataclass(frozen=True, slots=True)
class BootDrive:
    """The NVMe drive that a host starts from. `eui64` is 16 hexadecimal digits."""

    part: Part
    capacity_bytes: int
    eui64: str
    firmware_version: str
    pci: PciIds


@dataclass(frozen=True, slots=True)
class NetworkCard:
    """An Ethernet adapter with one port for each MAC address."""

    part: Part
    macs: tuple[str, ...]
    speed_gbps: int
    firmware_version: str
    pci: PciIds
    """Of each function; there is one for each port."""


@dataclass(frozen=True, slots=True)
class FabricCard:
    """The card in a host into which the cables of one fabric are plugged."""

    fabric: str
    protocol: str
    """That of the fabric: "PCIe" or "CXL"."""
    part: Part
    firmware_version: str


@dataclass(frozen=True, slots=True)
class HostHardware:
    """Everything inside a host's chassis. Capacities of modules add up to the host's memory."""

    board: Part
    processors: tuple[ProcessorSocket, ...]
    memory: tuple[MemoryModule, ...]
    drive: BootDrive
    network: NetworkCard
    fabric_cards: tuple[FabricCard, ...]
    power_supplies: tuple[Part, ...]
    power_supply_w: int
    """Capacity of each power supply, in W."""
    fans: tuple[Part, ...]
    fan_rpm_max: int
    bios_version: str
    rack_units: int
