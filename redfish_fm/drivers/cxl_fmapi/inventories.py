"""From what switches say of themselves to one inventory. Pure and deterministic.

A switch has the id it has in the configuration; a port and a VCS their numbers. A device has the
id of its port together with its own serial number, or its switch's where it tells none: another
device in the same place, or the same place of another switch, is another one.
"""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from redfish_fm.drivers.cxl_fmapi.capacity import MANAGED_REGION
from redfish_fm.drivers.cxl_fmapi.discovering import (
    LD_COUNT_MAX,
    DeviceSurvey,
    Survey,
    is_upstream,
)
from redfish_fm.drivers.cxl_fmapi.mld_commands import LdAllocations
from redfish_fm.drivers.cxl_fmapi.numbers import DeviceType, Granularity
from redfish_fm.drivers.cxl_fmapi.places import LdMemory, SwitchPlace
from redfish_fm.drivers.cxl_fmapi.switch_commands import PortState
from redfish_fm.fabric.model import (
    Attachment,
    Device,
    DeviceKind,
    FabricKind,
    Host,
    Inventory,
    Link,
    LogicalDevice,
    PartKind,
    Pool,
    Port,
    PortId,
    PortRole,
    Switch,
    VirtualSwitch,
)
from redfish_fm.fabric.qos_control import QosTelemetry

PROTOCOL = "CXL"
BYTES_PER_MIB = 1 << 20
CAPACITY_UNIT_MIB = 256
"""What dynamic capacity is counted in."""

DECIDED_MAX = 64
"""Devices of one port of which is kept what was decided: some day a switch may make them up."""

_NOTHING_DECIDED: Mapping[str, bool] = {}

_GRANULARITY_MIB = {
    Granularity.MIB_256: 256,
    Granularity.MIB_512: 512,
    Granularity.MIB_1024: 1024,
}
_ATTACHMENTS = {
    DeviceType.PCIE: Attachment.PCIE,
    DeviceType.TYPE1: Attachment.SLD,
    DeviceType.TYPE2: Attachment.SLD,
    DeviceType.TYPE3_SLD: Attachment.SLD,
    DeviceType.TYPE3_MLD: Attachment.MLD,
}
_KINDS = {
    DeviceType.TYPE1: DeviceKind.NIC,
    DeviceType.TYPE2: DeviceKind.FPGA,
    DeviceType.TYPE3_SLD: DeviceKind.MEMORY,
    DeviceType.TYPE3_MLD: DeviceKind.MEMORY,
}
"""What a device of a type usually is; of a PCIe device nobody can say."""

_NAMES = {
    DeviceType.PCIE: "PCIe device",
    DeviceType.TYPE1: "Type 1 device",
    DeviceType.TYPE2: "Type 2 device",
    DeviceType.TYPE3_SLD: "Type 3 SLD",
    DeviceType.TYPE3_MLD: "Type 3 MLD",
}


@dataclass(slots=True)
class SwitchPart:
    """One switch's part of an inventory.

    `devices` are by port and stay when they are pulled: what is bound to them still is. `pools` are
    the devices of which it was decided whether the memory of their LDs is a pool, by id.
    """

    switch: Switch
    hosts: tuple[Host, ...] = ()
    devices: Mapping[int, Device] = field(default_factory=dict)
    pools: Mapping[str, bool] = field(default_factory=dict)


def unknown(place: SwitchPlace) -> SwitchPart:
    """Return what is known of a switch that has not answered yet."""
    return SwitchPart(Switch(place.id, _name(place), PROTOCOL, "", "", (), ()))


def inventory(fabric: str, parts: Iterable[SwitchPart]) -> Inventory:
    """Return the inventory of a fabric; a host at several switches is one host."""
    found = list(parts)
    hosts = {host.id: host for part in found for host in part.hosts}
    return Inventory(
        fabric,
        f"CXL fabric {fabric}",
        FabricKind.BIND,
        PROTOCOL,
        tuple(part.switch for part in found),
        tuple(hosts.values()),
        tuple(device for part in found for device in part.devices.values()),
    )


def part_of(
    place: SwitchPlace,
    seen: Survey,
    before: SwitchPart | None,
    can_allocate: Mapping[int, bool],
    *,
    resets_ports: bool = True,
    pools: Mapping[str, bool] = _NOTHING_DECIDED,
) -> SwitchPart:
    """Return what a survey says; `before` is what was known of the same switch, if anything.

    `can_allocate`: by port, whether memory can be given to the LDs there. `pools`: what was decided
    of devices before; it stays.
    """
    decided = dict(pools)
    known = {} if before is None else before.devices
    devices = dict(known)
    for number, state in seen.ports.items():
        if number in seen.devices:
            device = _device(place, seen, number, can_allocate, decided)
            if device is None:
                devices.pop(number, None)
            else:
                devices[number] = device
        elif is_upstream(state):
            devices.pop(number, None)
    vcss = tuple(
        VirtualSwitch(
            str(each.vcs_id),
            place.id,
            str(each.usp_port),
            host_at(place, each.usp_port).id,
            each.vppb_count,
        )
        for each in seen.vcss.values()
        if each.usp_port in seen.ports
    )
    ups = {int(each.upstream_port) for each in vcss}
    ports = tuple(
        _port(place, number, state, number in ups, devices.get(number))
        for number, state in seen.ports.items()
    )
    hosts = {port.host: host_at(place, int(port.id.port)) for port in ports if port.host}
    identity = seen.identity
    switch = Switch(
        place.id,
        _name(place),
        PROTOCOL,
        f"{identity.vendor_id:04X}:{identity.device_id:04X}",
        f"{identity.serial:016X}",
        ports,
        vcss,
        resets_ports=resets_ports,
    )
    used = {int(port.id.port) for port in ports if port.device}
    return SwitchPart(
        switch,
        tuple(hosts.values()),
        {n: each for n, each in devices.items() if n in used},
        decided,
    )


def host_at(place: SwitchPlace, port: int) -> Host:
    """Return the host at an upstream port: the one that is configured, or one without a name.

    A switch tells nothing of its hosts, so nothing is known of what is in that one.
    """
    known = place.hosts.get(port)
    return known if known is not None else named_host(f"{place.id}-U{port}")


def named_host(name: str) -> Host:
    """Return a host of which only its name is known."""
    return Host(name, name, str(uuid.uuid5(uuid.NAMESPACE_DNS, name)), 0, 0, 0)


def granularity_mib(allocations: LdAllocations) -> int | None:
    """Return the unit of allocations, None where it is none of the standard's."""
    return (
        _GRANULARITY_MIB.get(Granularity(allocations.granularity))
        if (allocations.granularity in set(Granularity))
        else None
    )


def sizes_mib(allocations: LdAllocations) -> dict[int, int]:
    """Return the memory of each LD that is told of."""
    unit = granularity_mib(allocations) or 0
    return {
        allocations.start + index: (each.range1 + each.range2) * unit
        for index, each in enumerate(allocations.allocations)
    }


def _name(place: SwitchPlace) -> str:
    return f"CXL switch {place.id}"


def _port(
    place: SwitchPlace, number: int, state: PortState, upstream: bool, device: Device | None
) -> Port:
    up = upstream or is_upstream(state)
    return Port(
        PortId(place.id, str(number)),
        PortRole.UPSTREAM if up else PortRole.DOWNSTREAM,
        Link(_generation(state), state.link_width_max),
        host=host_at(place, number).id if up else None,
        device=device.id if device is not None and not up else None,
        ld_count=None if up else _ld_count_told(state),
    )


def _ld_count_told(state: PortState) -> int | None:
    """Return the LDs that a port supports, None where an MLD is said to have none."""
    silent = state.device_type == DeviceType.TYPE3_MLD and not state.ld_count
    return None if silent else state.ld_count


def _generation(state: PortState) -> int:
    """Return the PCIe generation of the fastest speed, 0 where the switch does not tell."""
    return int(state.link_speed_max) or state.supported_speeds.bit_length()


def _device(
    place: SwitchPlace,
    seen: Survey,
    port: int,
    can_allocate: Mapping[int, bool],
    decided: dict[str, bool],
) -> Device | None:
    """Return the device at a port; what is decided of it anew is added to `decided`."""
    state, told = seen.ports[port], seen.devices[port]
    attachment = (
        _ATTACHMENTS.get(DeviceType(state.device_type))
        if (state.device_type in set(DeviceType))
        else None
    )
    kind = place.kinds.get(port)
    if attachment is not None and kind is None:
        kind = _KINDS.get(DeviceType(state.device_type))
    if attachment is None or kind is None:
        return None
    serial = told.serial or seen.identity.serial
    id_ = f"{place.id}-P{port}" + (f"-{serial:X}" if serial else "")
    capacity_mib = told.info.memory_size // BYTES_PER_MIB if told.info is not None else 0
    pool: Pool | None = None
    lds: tuple[LogicalDevice, ...] = ()
    if attachment is Attachment.MLD:
        if can_allocate.get(port, False) or told.dynamic is not None:
            pool = _pool(place, port, told, id_, capacity_mib, decided)
        lds = _lds(told, state, pool)
    return Device(
        id_,
        f"{_NAMES[DeviceType(state.device_type)]} at port {port} of {place.id}",
        kind,
        attachment,
        "",
        "",
        "" if told.serial is None else f"{told.serial:016X}",
        Link(_generation(state), state.link_width_max),
        max(capacity_mib, 0 if pool is None else pool.capacity_mib),
        lds,
        pool=pool,
        telemetry=_telemetry(told) if attachment is Attachment.MLD else None,
        # Of dynamic capacity, what is released is overwritten by the device itself, or not at all.
        sanitizes=told.sanitizes and bool(lds) and not any(ld.dynamic for ld in lds),
        qos=attachment is Attachment.MLD
        and told.bandwidth is not None
        and len(told.bandwidth) == len(lds),
    )


def _telemetry(told: DeviceSurvey) -> QosTelemetry | None:
    if told.control is None or told.info is None:
        return None
    return QosTelemetry(told.info.congestion_telemetry, told.info.throughput_telemetry)


def _ld_count(told: DeviceSurvey, state: PortState) -> int:
    count = told.info.ld_count if told.info is not None else state.ld_count
    return max(1, min(LD_COUNT_MAX, count))


def _pool(
    place: SwitchPlace,
    port: int,
    told: DeviceSurvey,
    device: str,
    capacity_mib: int,
    decided: dict[str, bool],
) -> Pool | None:
    """Return what memory is taken out of on demand; once that was decided, it stays so."""
    if told.dynamic is not None and told.regions:
        return _dynamic_pool(told)
    unit = None if told.allocations is None else granularity_mib(told.allocations)
    if told.allocations is None or unit is None or capacity_mib < unit:
        return None
    pooled = place.ld_memory is LdMemory.POOL
    if place.ld_memory is LdMemory.AUTO:
        some_empty = 0 in sizes_mib(told.allocations).values()
        pooled = decided.get(device, some_empty)
        here = sum(each.startswith(f"{place.id}-P{port}-") for each in decided)
        if here < DECIDED_MAX:
            decided[device] = pooled
    count = told.info.ld_count if told.info is not None else 0
    return (
        Pool(PartKind.LD, capacity_mib, unit, max(1, min(LD_COUNT_MAX, count))) if pooled else None
    )


def _dynamic_pool(told: DeviceSurvey) -> Pool | None:
    regions = [region for each in told.regions.values() for region in each]
    if told.dynamic is None or not regions:
        return None
    block_mib = max(region.block_size for region in regions) // BYTES_PER_MIB
    capacity_mib = told.dynamic.capacity_units * CAPACITY_UNIT_MIB
    sanitizes = all(each[MANAGED_REGION].sanitize for each in told.regions.values() if each)
    return Pool(
        PartKind.REGION,
        capacity_mib,
        max(1, block_mib),
        part_count_max=MANAGED_REGION + 1,
        shareable=False,
        sanitizes=sanitizes,
    )


def _lds(told: DeviceSurvey, state: PortState, pool: Pool | None) -> tuple[LogicalDevice, ...]:
    dynamic = pool is not None and pool.kind is PartKind.REGION
    sizes = {} if told.allocations is None or pool is not None else sizes_mib(told.allocations)
    return tuple(
        LogicalDevice(number, sizes.get(number, 0), dynamic)
        for number in range(_ld_count(told, state))
    )
