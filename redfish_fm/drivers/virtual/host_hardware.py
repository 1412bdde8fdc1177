"""What is inside a virtual host: modules that add up to what the topology says of it.

Pure and deterministic. Sizes and speeds are those of a common server of two sockets, so that a
client sees a plausible one; they are no maker's. Which parts there are is decided by the numbers
of the host, who they are by `Identities`.
"""

from collections.abc import Iterator, Sequence

from redfish_fm.drivers.virtual.equipment import FIRMWARE, PCI_VENDOR
from redfish_fm.drivers.virtual.identities import Identities
from redfish_fm.drivers.virtual.spec import FabricSpec, HostSpec
from redfish_fm.fabric.hardware import (
    Bmc,
    BootDrive,
    FabricCard,
    HostHardware,
    MemoryModule,
    NetworkCard,
    Part,
    PciIds,
    ProcessorSocket,
)

_MODULE_GIB = frozenset({8, 16, 24, 32, 48, 64, 96, 128, 256})
"""Sizes in which DDR5 modules are sold."""
_MODULES_PER_CPU = (8, 4, 12, 2, 6, 1, 16, 24)
"""Populations to try, best first: eight channels with one module each."""
_CHANNELS = 12
_MIB_PER_GIB = 1024
_CORE_W = 3.25
"""Power of one core at its limit; with what all cores share it makes the TDP."""
_UNCORE_W = 75
_BOOT_BYTES = 960 * 10**9
_SUPPLIES_W = (1100, 1600, 2000, 2400, 3200)
_DRIVE_IDS = PciIds(PCI_VENDOR, 0x2002, 0x010802, revision=1)
_NETWORK_IDS = PciIds(PCI_VENDOR, 0x3002, 0x020000, revision=1)
"""Class codes as the PCI Code and ID Assignment lists them: NVM Express, Ethernet."""


def machine(identities: Identities, group: HostSpec, host: str) -> Part:
    """Return which machine a host is."""
    model = group.model or f"Virtual server, {group.cpus} sockets"
    return _part(identities, group.manufacturer, model, host, "host")


def bmc(identities: Identities, group: HostSpec, host: str) -> Bmc:
    """Return the management controller of a host."""
    return Bmc(
        part=_part(identities, group.manufacturer, "Virtual BMC", host, "bmc"),
        uuid=identities.derived_uuid("bmc", host),
        mac=identities.mac("bmc", host),
        firmware_version=FIRMWARE,
    )


def hardware(
    identities: Identities,
    group: HostSpec,
    host: str,
    memory_mib: int,
    fabrics: Sequence[FabricSpec],
) -> HostHardware:
    """Return everything inside a host that is cabled to `fabrics`."""
    maker = group.manufacturer
    processors = tuple(_processors(identities, group, host))
    modules = tuple(_modules(identities, group, host, memory_mib))
    need_w = sum(each.tdp_w for each in processors) + 10 * len(modules) + 60 * len(fabrics) + 250
    rack_units = 1 if group.cpus == 1 else 2
    return HostHardware(
        board=_part(identities, maker, "Virtual system board", host, "board"),
        processors=processors,
        memory=modules,
        drive=BootDrive(
            part=_part(identities, maker, "Virtual boot drive 960G", host, "boot drive"),
            capacity_bytes=_BOOT_BYTES,
            eui64=identities.eui64("boot drive", host),
            firmware_version=FIRMWARE,
            pci=_DRIVE_IDS,
        ),
        network=NetworkCard(
            part=_part(identities, maker, "Virtual Ethernet adapter 2x25G", host, "nic"),
            macs=tuple(identities.mac("nic", f"{host}/{n}") for n in (1, 2)),
            speed_gbps=25,
            firmware_version=FIRMWARE,
            pci=_NETWORK_IDS,
        ),
        fabric_cards=tuple(_fabric_card(identities, maker, host, each) for each in fabrics),
        power_supplies=tuple(
            _part(identities, maker, "Virtual power supply", f"{host}/{n}", "psu") for n in (1, 2)
        ),
        power_supply_w=next((each for each in _SUPPLIES_W if each >= need_w), need_w),
        fans=tuple(
            _part(identities, maker, "Virtual fan module", f"{host}/{n}", "fan")
            for n in range(1, 7)
        ),
        fan_rpm_max=24_000 if rack_units == 1 else 16_000,
        bios_version="2.7.1",
        rack_units=rack_units,
    )


def _part(identities: Identities, maker: str, model: str, name: str, what: str) -> Part:
    return Part(maker, model, identities.part_number(model), identities.serial(what, name))


def _processors(identities: Identities, group: HostSpec, host: str) -> Iterator[ProcessorSocket]:
    """Yield the CPUs; where cores do not share out evenly, the first ones have one more."""
    for socket in range(1, group.cpus + 1):
        cores = group.cores // group.cpus + (socket <= group.cores % group.cpus)
        name = f"Virtual CPU {cores}C"
        yield ProcessorSocket(
            socket=socket,
            part=_part(identities, group.manufacturer, name, f"{host}/{socket}", "cpu"),
            core_count=cores,
            thread_count=2 * cores,
            base_mhz=2400,
            max_mhz=3800,
            tdp_w=round(_UNCORE_W + _CORE_W * cores),
        )


def _modules(
    identities: Identities, group: HostSpec, host: str, memory_mib: int
) -> Iterator[MemoryModule]:
    """Yield modules that add up to the memory, spread over CPUs and channels."""
    for number, size_mib in enumerate(module_sizes(memory_mib, group.cpus)):
        socket, place = number % group.cpus + 1, number // group.cpus
        gib = size_mib / _MIB_PER_GIB
        model = f"Virtual DDR5 RDIMM {gib:g}G"
        name = f"{host}/{number}"
        yield MemoryModule(
            socket=socket,
            channel=place % _CHANNELS,
            slot=place // _CHANNELS,
            part=_part(identities, group.manufacturer, model, name, "dimm"),
            capacity_mib=size_mib,
            speed_mts=5600,
            rank_count=1 if gib < 32 else 2,
        )


def module_sizes(memory_mib: int, cpu_count: int) -> list[int]:
    """Return sizes in MiB of the modules: as sold where that adds up, else one for each CPU."""
    for per_cpu in _MODULES_PER_CPU:
        size_mib, rest = divmod(memory_mib, cpu_count * per_cpu)
        gib, odd = divmod(size_mib, _MIB_PER_GIB)
        if rest == odd == 0 and gib in _MODULE_GIB:
            return [size_mib] * (cpu_count * per_cpu)
    each, rest = divmod(memory_mib, cpu_count)
    return [size for size in (each + rest, *[each] * (cpu_count - 1)) if size]


def _fabric_card(identities: Identities, maker: str, host: str, fabric: FabricSpec) -> FabricCard:
    model = f"Virtual {fabric.protocol} cable card"
    part = _part(identities, maker, model, f"{host}/{fabric.id}", "fabric card")
    return FabricCard(fabric.id, fabric.protocol, part, FIRMWARE)
