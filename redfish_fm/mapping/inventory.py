"""A discovered fabric as Redfish documents, and the facts that go with them.

Pure and deterministic: the same Inventory gives the same documents. Redfish: Fabric, Switch,
Port, VirtualCXLSwitch, VirtualPCI2PCIBridge, Endpoint, Manager; hosts, devices, chassis and cables
are next door.
PCIe partitions have no resource type: they show only in endpoints, zones and ports.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redfish_fm.fabric.index import FabricFacts, VcsFact
from redfish_fm.fabric.model import (
    Attachment,
    BindTarget,
    Device,
    FabricKind,
    Host,
    Inventory,
    Port,
    PortId,
    PortRole,
    Switch,
    VirtualSwitch,
    VppbId,
)
from redfish_fm.fabric.paths import link_mb_s
from redfish_fm.fabric.values import Binder, Endpoint, Role
from redfish_fm.mapping import uris
from redfish_fm.mapping.blocks import render_blocks
from redfish_fm.mapping.cables import render_cables
from redfish_fm.mapping.chains import hops_of, link_name, peer_links, upstream_port
from redfish_fm.mapping.chassis_racks import render_racks
from redfish_fm.mapping.chassis_switches import (
    render_switch_chassis,
    switch_chassis_uri,
    switch_properties,
)
from redfish_fm.mapping.congestion import abilities
from redfish_fm.mapping.device_chassis import Socket
from redfish_fm.mapping.device_names import CXL_TYPES
from redfish_fm.mapping.device_ways import Way, device_uri, ld_uri, port_uri
from redfish_fm.mapping.devices import entities, render_device
from redfish_fm.mapping.documents import Documents
from redfish_fm.mapping.facts import Facts, KnownEndpoint
from redfish_fm.mapping.hosts import (
    host_port_uri,
    render_host,
    render_host_ports,
    system_uri,
)
from redfish_fm.mapping.links import links_of_endpoint
from redfish_fm.mapping.metering import Metering
from redfish_fm.mapping.metrics_ports import put_port_metrics
from redfish_fm.mapping.plugged import state_sources
from redfish_fm.mapping.port_resets import offered
from redfish_fm.mapping.read import units_linked
from redfish_fm.mapping.rendering import FINISHED, GT_PER_LANE, LINKED_BACK, Rendering, ref, refs
from redfish_fm.mapping.service_manager import put_manager
from redfish_fm.mapping.storage import render_network_host, render_subsystem
from redfish_fm.redfish.patch import merge

_FM = uris.MANAGER.format(manager=uris.FABRIC_MANAGER)
_OK = {"State": "Enabled", "Health": "OK"}


@dataclass(frozen=True, slots=True)
class RenderedInventory:
    """Documents by URI (collections without Members) and what they mean."""

    documents: Documents
    facts: Facts


def render_inventory(inventory: Inventory) -> RenderedInventory:
    """Return the documents and facts of one fabric. Raises ValueError where ids collide."""
    return render_inventories([inventory])


def render_inventories(
    inventories: Iterable[Inventory], *, linked_back: bool = True
) -> RenderedInventory:
    """Return all fabrics of one topology together; a host that several know is one system.

    Whoever derives the inverse links of endpoints anyway (control.base) does not want them
    `linked_back`: of a big fabric that takes a while. Raises ValueError where two different
    things would stand at one URI.
    """
    found = list(inventories)
    out = Rendering(FINISHED if linked_back or _has_cables(found) else FINISHED | LINKED_BACK)
    for inventory in found:
        _render_fabric(out, inventory)
    _render_service_collections(out, found)
    render_cables(out, found)
    if linked_back:
        out.link_back()
    render_racks(out)
    put_manager(out)
    render_blocks(out, found)
    _read_meters(out)
    out.facts.state_sources = state_sources(out.with_status, out.facts)
    return RenderedInventory(out.documents, out.facts)


def _has_cables(inventories: Iterable[Inventory]) -> bool:
    switches = (switch for inventory in inventories for switch in inventory.switches)
    return any(port.cable is not None for switch in switches for port in switch.ports)


def _render_service_collections(out: Rendering, inventories: list[Inventory]) -> None:
    out.collection(uris.FABRIC_COLLECTION, "Fabric", "Fabrics")
    out.collection(uris.SYSTEM_COLLECTION, "ComputerSystem", "Systems")
    out.collection(uris.CHASSIS_COLLECTION, "Chassis", "Chassis")
    out.collection(uris.MANAGER_COLLECTION, "Manager", "Managers")
    if out.facts.parts_of or any(_is_network(inventory) for inventory in inventories):
        out.collection(uris.STORAGE_COLLECTION, "Storage", "Storage")


def _read_meters(out: Rendering) -> None:
    """Say what every chassis draws while all that is in it has power."""
    metering = Metering(out.facts.meters, out.facts.containers)
    for uri, patch in metering.all_patches():
        out.documents[uri].update(merge(out.documents[uri], patch))


def _render_fabric(out: Rendering, inventory: Inventory) -> None:
    place = {"fabric": inventory.fabric}
    name = inventory.name
    out.facts.fabrics.append(
        FabricFacts(inventory.fabric, inventory.kind, zoned=True, max_zones=inventory.max_zones)
    )
    out.put(
        uris.FABRIC.format(**place),
        "Fabric",
        name,
        FabricType=inventory.protocol,
        MaxZones=inventory.max_zones,
        Status=_OK,
        Switches=None
        if _is_network(inventory)
        else out.collection(uris.SWITCHES.format(**place), "Switch", f"Switches of {name}"),
        Endpoints=out.collection(
            uris.ENDPOINTS.format(**place), "Endpoint", f"Endpoints of {name}"
        ),
        Zones=out.collection(uris.ZONES.format(**place), "Zone", f"Zones of {name}"),
        Connections=out.collection(
            uris.CONNECTIONS.format(**place), "Connection", f"Connections of {name}"
        ),
        EndpointGroups=out.collection(
            uris.ENDPOINT_GROUPS.format(**place), "EndpointGroup", f"Endpoint groups of {name}"
        ),
        AddressPools=out.collection(
            uris.ADDRESS_POOLS.format(**place), "AddressPool", f"Address pools of {name}"
        ),
        Links={"ManagedBy": refs([_FM])},
    )
    for host in inventory.hosts:
        render_host(out, host)
    if _is_network(inventory):
        _render_subsystems(out, inventory)
        return
    devices = {device.id: device for device in inventory.devices}
    hops = hops_of(inventory)
    for switch in inventory.switches:
        _render_switch(out, inventory, switch, devices, hops)
    _render_devices(out, inventory)
    hosts = {host.id: host for host in inventory.hosts}
    for switch in inventory.switches:
        for port in switch.ports:
            if port.host is not None:
                _render_initiator(out, inventory, port, hosts[port.host])


def _is_network(inventory: Inventory) -> bool:
    """Say whether its switches are NVMe subsystems, with the network between them not known."""
    return inventory.kind is FabricKind.CONNECTION_GRANTS


def _render_subsystems(out: Rendering, inventory: Inventory) -> None:
    for host in inventory.hosts:
        render_network_host(out, inventory.fabric, host)
    for switch in inventory.switches:
        render_subsystem(out, inventory, switch)
        _put_vcss(out, inventory.fabric, switch, {})


def _render_devices(out: Rendering, inventory: Inventory) -> None:
    switches = {switch.id: switch for switch in inventory.switches}
    binder = Binder.ZONE if inventory.kind is FabricKind.BIND else Binder.NOTHING
    plugged: dict[str, list[Port]] = {}
    for switch in inventory.switches:
        for port in switch.ports:
            if port.device is not None:
                plugged.setdefault(port.device, []).append(port)
    for device in inventory.devices:
        # Heads are counted by the driver where it knows them, else in the order of the switches.
        places = sorted(plugged.get(device.id, ()), key=lambda port: port.head or 0)
        ports = [port.id for port in places]
        socket = _socket(switches[ports[0].switch], device, places) if ports else None
        found = render_device(out, device, inventory.fabric, binder, ports, socket)
        _render_targets(out, inventory, device, ports, found)


def _socket(switch: Switch, device: Device, ports: list[Port]) -> Socket | None:
    """Return the slot of the switch that a device is in, if no cable leads to it."""
    chassis, elsewhere = switch_chassis_uri(switch), device.domain not in (None, switch.domain)
    box = device.hardware is not None and device.hardware.enclosure is not None
    if chassis is None or elsewhere or box or len(ports) != 1 or ports[0].cable is not None:
        return None
    return Socket(chassis, f"Slot {ports[0].id.port}")


def _render_switch(
    out: Rendering,
    inventory: Inventory,
    switch: Switch,
    devices: Mapping[str, Device],
    hops: Mapping[tuple[str, str], int],
) -> None:
    place = {"fabric": inventory.fabric, "switch": switch.id}
    uri = uris.SWITCH.format(**place)
    out.facts.switch_uris[inventory.fabric, switch.id] = uri
    out.put(
        uri,
        "Switch",
        switch.name,
        SwitchType=switch.protocol,
        SupportedProtocols=[switch.protocol],
        Model=switch.model,
        SerialNumber=switch.serial_number,
        MaxBandwidthGbps=_bandwidth_gbps(switch),
        Enabled=True,
        IsManaged=True,
        PowerState="On",
        Status=_OK,
        Ports=out.collection(uris.PORTS.format(**place), "Port", f"Ports of {switch.name}"),
        CXL=_switch_cxl(out, inventory, switch),
        **switch_properties(out, switch, inventory.fabric),
    )
    for port in switch.ports:
        _render_port(out, inventory.fabric, switch, port, devices.get(port.device or ""))
    plugged = [devices[port.device] for port in switch.ports if port.device and not port.cable]
    draws = [device.hardware.draw for device in plugged if device.hardware is not None]
    slots_w = sum(draw.max_w for draw in draws if draw is not None)
    render_switch_chassis(out, switch, uri, {"Switches": refs([uri])}, slots_w=slots_w)
    cabled = [(port, port_uri(inventory.fabric, port.id), uri) for port in switch.ports]
    render_host_ports(out, cabled, switch.protocol)
    _put_vcss(out, inventory.fabric, switch, hops)


def _bandwidth_gbps(switch: Switch) -> float | None:
    """Return what all ports together carry each way, where all their speeds are known."""
    links = [(GT_PER_LANE.get(port.link.gen), port.link.lanes) for port in switch.ports]
    rates = [rate * lanes for rate, lanes in links if rate is not None]
    return sum(rates) if rates and len(rates) == len(links) else None


def _switch_cxl(out: Rendering, inventory: Inventory, switch: Switch) -> dict[str, Any] | None:
    if switch.protocol != "CXL":
        return None
    vcss = uris.VCSS.format(fabric=inventory.fabric, switch=switch.id)
    return {
        "MaxVCSsSupported": len(switch.virtual_switches),
        "TotalNumbervPPBs": sum(vcs.vppb_count for vcs in switch.virtual_switches),
        "VirtualCXLSwitches": out.collection(
            vcss, "VirtualCXLSwitch", f"Virtual CXL switches of {switch.name}"
        ),
    }


def _render_port(
    out: Rendering, fabric: str, switch: Switch, port: Port, device: Device | None
) -> None:
    uri = port_uri(fabric, port.id)
    out.facts.port_uris[fabric, port.id] = uri
    if port.host is not None:
        out.facts.port_hosts[uri] = system_uri(port.host)
    if port.peer is not None:
        out.facts.peer_ports[uri] = port_uri(fabric, port.peer)
    if device is not None and device.serial_number:
        out.facts.port_serials[uri] = device.serial_number
    name = f"Port {port.id.port} of {switch.name}"
    counts = switch.hardware is not None and switch.hardware.counts_errors
    if device is not None and device.telemetry is not None:
        out.facts.qos_targets[uri] = (fabric, BindTarget(port.id.switch, port.id.port))
        counts = True
    metrics = put_port_metrics(out, fabric, port.id, name) if counts else None
    args = (fabric, switch, port, device, metrics)
    out.put_later(uri, "Port", name, _port_properties, *args, status=False)


def _port_properties(
    fabric: str,
    switch: Switch,
    port: Port,
    device: Device | None,
    metrics: dict[str, str] | None,
) -> dict[str, Any]:
    rate, far_end = GT_PER_LANE.get(port.link.gen), host_port_uri(port)
    return {
        "PortId": port.id.port,
        "PortProtocol": switch.protocol,
        "PortType": port.role.value,
        "LinkNetworkTechnology": "PCIe",
        "LinkState": "Enabled",
        "InterfaceEnabled": True,
        "Width": port.link.lanes,
        "MaxSpeedGbps": None if rate is None else rate * port.link.lanes,
        "CXL": _port_cxl(port, device) if switch.protocol == "CXL" else None,
        **_port_details(switch, port, metrics),
        "Links": peer_links(fabric, port)
        if far_end is None
        else {"ConnectedPorts": refs([far_end])},
        "Actions": offered(port_uri(fabric, port.id)) if _resets(switch, port) else None,
    }


def _resets(switch: Switch, port: Port) -> bool:
    """Return whether a port can be reset: one that hosts have is theirs."""
    return switch.resets_ports and port.role is PortRole.DOWNSTREAM


def _port_details(switch: Switch, port: Port, metrics: dict[str, str] | None) -> dict[str, Any]:
    """Return what a driver that knows the switch's chassis knows of its ports."""
    if switch.hardware is None:
        return {"Metrics": metrics}
    location = {"ServiceLabel": port.id.port, "LocationType": "Connector"}
    return {
        "PortMedium": "Electrical",
        "CapableProtocolVersions": [f"{gen}.0" for gen in range(1, port.link.gen + 1)],
        "ConfiguredWidth": port.link.lanes,
        "LocationIndicatorActive": False,
        "Location": {"PartLocation": location},
        "Metrics": metrics,
    }


def _port_cxl(port: Port, device: Device | None) -> dict[str, Any]:
    # Flits of 256 bytes came with CXL 3.0, which PCIe generation 6 carries.
    modes = ["CXL68BFlitAndVH", *(["Standard256BFlit"] if port.link.gen > 5 else [])]
    if port.role is PortRole.UPSTREAM:
        return {"CurrentPortConfigurationState": "USP", "SupportedCXLModes": modes}
    # Of a device that is no MLD a switch tells 0 (Supported LD Count).
    told = len(device.lds) if port.ld_count is None and device is not None else port.ld_count
    return {
        "SupportedCXLModes": modes,
        **({} if told is None else {"MaxLogicalDeviceCount": told}),
        "CurrentPortConfigurationState": "DSP",
        "ConnectedDeviceType": "None" if device is None else _connected_type(device),
        **abilities(device),
    }


def _connected_type(device: Device) -> str:
    if device.attachment is Attachment.PCIE:
        return "PCIeDevice"
    if device.attachment is Attachment.MLD:
        return "Type3MLD"
    kind = CXL_TYPES[device.kind]
    return "Type3SLD" if kind == "Type3" else kind


def _put_vcss(
    out: Rendering, fabric: str, switch: Switch, hops: Mapping[tuple[str, str], int]
) -> None:
    for vcs in switch.virtual_switches:
        _put_vcs(out, fabric, switch, vcs, hops.get((switch.id, vcs.id), 1))


def _put_vcs(out: Rendering, fabric: str, switch: Switch, vcs: VirtualSwitch, hops: int) -> None:
    host = None if vcs.host is None else system_uri(vcs.host)
    upstream = out.facts.port_uris.get((fabric, PortId(switch.id, vcs.upstream_port)))
    port = upstream_port(switch, vcs)
    link = None if port is None else port.link
    fact = VcsFact(
        fabric,
        switch.id,
        vcs.id,
        host,
        vcs.vppb_count,
        hops,
        port=upstream,
        latency_ns=None if link is None else link.latency_ns or None,
        bandwidth_mb_s=None if link is None else link_mb_s(link.gen, link.lanes),
        through=vcs.through,
        link=link_name(fabric, port),
    )
    out.facts.vcss.append(fact)
    if switch.protocol != "CXL":
        return
    place = {"fabric": fabric, "switch": switch.id, "vcs": vcs.id}
    name = f"VCS {vcs.id} of {switch.name}"
    out.put(
        uris.VCS.format(**place),
        "VirtualCXLSwitch",
        name,
        VCSId=vcs.id,
        Status=_OK,
        VPPBs=out.collection(
            uris.VPPBS.format(**place), "VirtualPCI2PCIBridge", f"vPPBs of {name}"
        ),
        Links={"Port": ref(port_uri(fabric, PortId(switch.id, vcs.upstream_port)))},
    )
    for number in range(vcs.vppb_count):
        uri = uris.VPPB.format(**place, vppb=number)
        out.facts.vppb_uris[fabric, VppbId(switch.id, vcs.id, number)] = uri
        out.put(uri, "VirtualPCI2PCIBridge", f"vPPB {number} of {name}", VPPBId=str(number))


def _render_initiator(out: Rendering, inventory: Inventory, port: Port, host: Host) -> None:
    far_end, own = host_port_uri(port), port_uri(inventory.fabric, port.id)
    number = port.host_port if port.host_port is not None else f"{port.id.switch}-{port.id.port}"
    uri = uris.ENDPOINT.format(fabric=inventory.fabric, endpoint=f"{host.id}-{number}")
    system, ports = system_uri(host.id), [own] if far_end is None else [own, far_end]
    out.facts.resource_ports[uri] = own
    out.facts.endpoints.append(
        KnownEndpoint(
            Endpoint(uri, inventory.fabric, Role.INITIATOR, system, ports=frozenset({own})),
            links_of_endpoint([system], ports),
        )
    )
    args = (inventory.protocol, host, own, far_end)
    name = f"{host.name} port {number}"
    out.put_later(uri, "Endpoint", name, _initiator_properties, *args, status=False)


def _initiator_properties(
    protocol: str, host: Host, own: str, far_end: str | None
) -> dict[str, Any]:
    links = {"ConnectedPorts": refs([own])}
    if far_end is not None:
        links["LocalPorts"] = refs([far_end])
    return {
        "EndpointProtocol": protocol,
        "ConnectedEntities": [
            {
                "EntityType": "RootComplex",
                "EntityRole": "Initiator",
                "EntityLink": ref(system_uri(host.id)),
                "Identifiers": [{"DurableName": host.uuid, "DurableNameFormat": "UUID"}],
            }
        ],
        "Links": links,
    }


def _render_targets(
    out: Rendering,
    inventory: Inventory,
    device: Device,
    ports: list[PortId],
    found: Iterable[Way],
) -> None:
    """Add an endpoint for each way to have the device; one that is plugged in nowhere has none."""
    facts = out.facts
    if ports:
        facts.resource_ports[device_uri(device)] = port_uri(inventory.fabric, ports[0])
    for way in found:
        if way.port is None:
            continue
        own = port_uri(inventory.fabric, way.port)
        uri = uris.ENDPOINT.format(fabric=inventory.fabric, endpoint=way.endpoint)
        facts.resource_ports[uri] = own
        if way.ld is not None:
            facts.resource_ports.setdefault(ld_uri(device, way.ld.id), own)
        links = [each["EntityLink"]["@odata.id"] for each in entities(device, way, ports)]
        units = units_linked(links, [own], facts)
        facts.endpoints.append(
            KnownEndpoint(
                Endpoint(uri, inventory.fabric, Role.TARGET, units=units, ports=frozenset({own})),
                links_of_endpoint(links, [own]),
            )
        )
        args = (device, way, ports, own)
        out.put_later(uri, "Endpoint", way.name, _target_properties, *args, status=False)


def _target_properties(
    device: Device, way: Way, ports: Sequence[PortId], own: str
) -> dict[str, Any]:
    return {
        "EndpointProtocol": "PCIe" if device.attachment is Attachment.PCIE else "CXL",
        "ConnectedEntities": list(entities(device, way, ports)),
        "Links": {"ConnectedPorts": refs([own])},
    }
