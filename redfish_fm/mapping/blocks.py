"""Resource blocks of a discovered inventory: one for each host, device and appliance.

Pure. Redfish: ResourceBlock.v1_4_3, Zone.v1_6_3 (ZoneOfResourceBlocks). A block is what one
composition takes as a whole: a host, a device, one function or head of a device that is bound by
those; a memory appliance or NVMe subsystem is shared, part by part. A device on two ports is one
block whose units are two ways to it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from redfish_fm.fabric.composition import Block, BlockType
from redfish_fm.fabric.model import Attachment, Device, DeviceKind, Host, Inventory, PortId
from redfish_fm.fabric.paths import link_mb_s
from redfish_fm.fabric.values import Binder
from redfish_fm.mapping import uris
from redfish_fm.mapping.blast_radius import advertised
from redfish_fm.mapping.capabilities import capabilities, render_capabilities
from redfish_fm.mapping.device_cores import core_uri
from redfish_fm.mapping.device_cores import storage_uri as drive_storage_uri
from redfish_fm.mapping.device_memory import POOL_DOMAIN
from redfish_fm.mapping.device_names import OK
from redfish_fm.mapping.device_ways import (
    chassis_uri,
    device_uri,
    has_heads,
    unit_by_port,
    ways,
)
from redfish_fm.mapping.host_scene import chassis_uri as host_chassis_uri
from redfish_fm.mapping.host_scene import system_uri
from redfish_fm.mapping.rendering import Rendering, refs
from redfish_fm.mapping.storage import storage_uri
from redfish_fm.mapping.systems_shown import block_actions, service_actions

TYPES = {
    DeviceKind.GPU: BlockType.PROCESSOR,
    DeviceKind.FPGA: BlockType.PROCESSOR,
    DeviceKind.NVME: BlockType.STORAGE,
    DeviceKind.MEMORY: BlockType.MEMORY,
    DeviceKind.NIC: BlockType.NETWORK,
}
"""What a device is for -> what its block brings to a system."""

_LINKED = {DeviceKind.GPU: "Processors", DeviceKind.FPGA: "Processors", DeviceKind.NVME: "Drives"}
"""What a device is for -> the property of a block that links what stands for it."""

RESERVATION_DURATION = "PT10M"
"""How long a reservation keeps its blocks, unless a client says otherwise."""

_USE_CASES = ["ResourceBlockCapable", "ExpandableSystem"]
"""What a physical host can be for: its block is taken whole, or it is given more itself."""

_UNUSED = {
    "CompositionState": "Unused",
    "Reserved": False,
    "NumberOfCompositions": 0,
    "SharingCapable": False,
    "MaxCompositions": 1,
}
_UNUSED_SHARED = {
    "CompositionState": "Unused",
    "Reserved": False,
    "NumberOfCompositions": 0,
    "SharingCapable": True,
    "SharingEnabled": True,
}


def render_blocks(out: Rendering, inventories: Sequence[Inventory]) -> None:
    """Add a block for everything that systems can be composed of, and the zones of them.

    Nothing where no fabric binds anything: then there is nothing to compose.
    """
    if not any(inventory.hosts for inventory in inventories):
        return
    _render_service(out)
    inside = _inside(out)
    for inventory in inventories:
        for host in inventory.hosts:
            _put_host(out, host, inside)
    for inventory in inventories:
        _render_devices(out, inventory, inside)
    _render_zones(out)


def _render_service(out: Rendering) -> None:
    """Add the service with its collections; what is in its pools follows from the blocks."""
    out.put(
        uris.COMPOSITION_SERVICE,
        "CompositionService",
        "Composition service",
        Status=OK,
        ServiceEnabled=True,
        AllowOverprovisioning=True,
        AllowZoneAffinity=True,
        Actions={**service_actions(), "Oem": advertised()},
        ReservationDuration=RESERVATION_DURATION,
        ResourceBlocks=out.collection(uris.RESOURCE_BLOCKS, "ResourceBlock", "Resource blocks"),
        ResourceZones=out.collection(uris.RESOURCE_ZONES, "Zone", "Zones of resource blocks"),
        FreePool=out.collection(uris.FREE_POOL, "ResourceBlock", "Free resource blocks"),
        ActivePool=out.collection(uris.ACTIVE_POOL, "ResourceBlock", "Composed resource blocks"),
        CompositionReservations=out.collection(
            uris.RESERVATIONS, "CompositionReservation", "Reservations of resource blocks"
        ),
    )


def _inside(out: Rendering) -> Mapping[str, list[str]]:
    """Return the members of every collection of memory modules and of host processors."""
    found: dict[str, list[str]] = {}
    for uri in out.documents:
        if "/Memory/" in uri or "/Processors/" in uri:
            parent = uri.rpartition("/")[0]
            if parent.endswith(("/Memory", "/Processors")):
                found.setdefault(parent, []).append(uri)
    return found


def _put_host(out: Rendering, host: Host, inside: Mapping[str, list[str]]) -> None:
    uri = uris.RESOURCE_BLOCK.format(block=host.id)
    if uri in out.facts.blocks:
        return
    system = system_uri(host.id)
    processors = inside.get(uris.PROCESSORS.format(system=host.id), ())
    modules = inside.get(uris.HOST_MEMORY.format(system=host.id), ())
    chassis = host_chassis_uri(host.id)
    block = Block(
        uri,
        frozenset({BlockType.COMPUTE}),
        host=system,
        kind="Host",
        model="" if host.part is None else host.part.model,
        capacity_mib=host.memory_mib,
        domain=host.domain,
        core_count=host.core_count,
    )
    out.facts.blocks[uri] = block
    out.put(
        uri,
        "ResourceBlock",
        f"Compute of {host.name}",
        ResourceBlockType=[BlockType.COMPUTE.value],
        Status=OK,
        CompositionStatus=_UNUSED,
        Pool="Free",
        Processors=refs(processors),
        Memory=refs(modules),
        Links={"Chassis": refs([chassis] if chassis in out.documents else [])},
    )
    document = out.documents[system]
    document["Composition"] = {"UseCases": _USE_CASES}
    document["Actions"] = {**document.get("Actions", {}), **block_actions(system)}
    out.documents[system] = document


def _render_devices(out: Rendering, inventory: Inventory, inside: Mapping[str, list[str]]) -> None:
    plugged: dict[str, list[tuple[int, PortId]]] = {}
    for switch in inventory.switches:
        for port in switch.ports:
            if port.device is not None:
                plugged.setdefault(port.device, []).append((port.head or 0, port.id))
    for device in inventory.devices:
        ports = [port for _, port in sorted(plugged.get(device.id, ()), key=lambda each: each[0])]
        if ports:
            _put_device(out, inventory, device, ports, inside)


def _put_device(
    out: Rendering,
    inventory: Inventory,
    device: Device,
    ports: Sequence[PortId],
    inside: Mapping[str, list[str]],
) -> None:
    switches = tuple(dict.fromkeys((inventory.fabric, port.switch) for port in ports))
    if device.attachment is Attachment.SUBSYSTEM:
        storage = storage_uri(ports[0].switch)
        pool = uris.STORAGE_POOL.format(storage=ports[0].switch, pool=device.id)
        _put_shared(out, device, storage, (pool,), switches, Storage=[storage])
        return
    if device.attachment is Attachment.MLD:
        modules = inside.get(uris.MODULES.format(chassis=device.id), ())
        names = (POOL_DOMAIN, *(ld.id for ld in device.lds))
        domains = (uris.DOMAIN.format(chassis=device.id, domain=name) for name in names)
        pools = (device_uri(device), *domains)
        _put_shared(out, device, device_uri(device), pools, switches, Memory=modules)
        return
    for block_id, name, units in _taken_whole(device, ports):
        _put_whole(out, device, block_id, name, units, switches)


def _taken_whole(
    device: Device, ports: Sequence[PortId]
) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield (Id, name, units) of each block of a device that is bound by zones."""
    if device.binds_functions or has_heads(device, ports):
        for way in ways(device, ports, Binder.ZONE):
            if way.binder is Binder.ZONE:
                yield way.endpoint, way.name, frozenset({way.unit})
    else:
        heads = range(1, len(ports) + 1)
        yield device.id, device.name, frozenset(unit_by_port(device, head) for head in heads)


def _put_whole(
    out: Rendering,
    device: Device,
    block_id: str,
    name: str,
    units: frozenset[str],
    switches: tuple[tuple[str, str], ...],
) -> None:
    uri = uris.RESOURCE_BLOCK.format(block=block_id)
    out.facts.blocks[uri] = Block(
        uri,
        frozenset({TYPES[device.kind]}),
        units=units,
        kind=device.kind.value,
        model=device.model,
        manufacturer=device.manufacturer,
        capacity_mib=device.capacity_mib,
        switches=switches,
        domain=device.domain,
        latency_ns=device.link.latency_ns or None,
        bandwidth_mb_s=link_mb_s(device.link.gen, device.link.lanes),
    )
    out.facts.parts_of[uri] = min(units)
    named = _LINKED.get(device.kind)
    linked = {named: [core_uri(device)]} if named else {}
    if device.kind is DeviceKind.NVME and drive_storage_uri(device) in out.documents:
        linked["Storage"] = [drive_storage_uri(device)]
    _put(out, uri, device, name, _UNUSED, linked)


def _put_shared(
    out: Rendering,
    device: Device,
    unit: str,
    pools: Iterable[str],
    switches: tuple[tuple[str, str], ...],
    **linked: Sequence[str],
) -> None:
    uri, facts = uris.RESOURCE_BLOCK.format(block=device.id), out.facts
    facts.blocks[uri] = Block(
        uri,
        frozenset({TYPES[device.kind]}),
        units=frozenset({unit}),
        pools=frozenset(pool for pool in pools if pool in facts.pools or pool in facts.domains),
        sharing=True,
        compositions_max=None,
        kind=device.kind.value,
        model=device.model,
        manufacturer=device.manufacturer,
        capacity_mib=device.capacity_mib,
        switches=switches,
        domain=device.domain,
        latency_ns=device.link.latency_ns or None,
        bandwidth_mb_s=link_mb_s(device.link.gen, device.link.lanes),
    )
    facts.parts_of[uri] = unit
    _put(out, uri, device, device.name, _UNUSED_SHARED, linked)


def _put(
    out: Rendering,
    uri: str,
    device: Device,
    name: str,
    status: Mapping[str, object],
    linked: Mapping[str, Sequence[str]],
) -> None:
    chassis = [chassis_uri(device)] if chassis_uri(device) in out.documents else []
    out.put_later(
        uri, "ResourceBlock", name, _properties, TYPES[device.kind], status, chassis, linked
    )


def _properties(
    brings: BlockType,
    status: Mapping[str, object],
    chassis: Sequence[str],
    linked: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    return {
        "ResourceBlockType": [brings.value],
        "Status": OK,
        "CompositionStatus": status,
        "Pool": "Free",
        "Links": {"Chassis": refs(chassis)},
        **{name: refs(found) for name, found in linked.items()},
    }


# -- zones of blocks ---------------------------------------------------------------------------


def _render_zones(out: Rendering) -> None:
    """Add a zone for each set of hosts that reach the same switches, with all that is there."""
    reach: dict[str, set[tuple[str, str]]] = {}
    for vcs in out.facts.vcss:
        if vcs.host is not None:
            reach.setdefault(vcs.host, set()).add((vcs.fabric, vcs.switch))
    hosts: dict[frozenset[tuple[str, str]], list[str]] = {}
    for host, switches in reach.items():
        hosts.setdefault(frozenset(switches), []).append(host)
    found = [uris.RESOURCE_ZONE.format(zone=number) for number in range(1, len(hosts) + 1)]
    render_capabilities(out, found)
    places = _places(out.facts.blocks.values())
    for uri, (reached, named) in zip(found, hosts.items(), strict=True):
        members = {each for place in (*reached, *named) for each in places.get(place, ())}
        blocks = [block for _, block in sorted(members)]
        out.put(
            uri,
            "Zone",
            f"Resource zone {uri.rpartition('/')[2]}",
            ZoneType="ZoneOfResourceBlocks",
            Status=OK,
            Links={"ResourceBlocks": refs(blocks)},
            **capabilities([uri]),
        )


def _places(blocks: Iterable[Block]) -> dict[object, list[tuple[int, str]]]:
    """Return (number, Id) of the blocks at each switch, and of each host, numbered in order."""
    places: dict[object, list[tuple[int, str]]] = {}
    for number, block in enumerate(blocks):
        for place in (*block.switches, block.host):
            places.setdefault(place, []).append((number, block.id))
    return places
