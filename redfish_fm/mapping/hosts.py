"""Hosts as Redfish: ComputerSystem, its chassis and BMC, the root ports cabled to a fabric.

Pure. Redfish: ComputerSystem.v1_27_0, Processor.v1_22_0, Port.v1_18_0. A host that several fabrics
know is rendered once; its ports add up. Of a host whose driver does not tell what is inside only
system and processors are shown; each kind of part has a module `host_*` of its own.
"""

from collections.abc import Iterable
from typing import Any

from redfish_fm.fabric.model import Host, Port
from redfish_fm.mapping import uris
from redfish_fm.mapping.host_boot import boot, render_boot
from redfish_fm.mapping.host_cards import pcie_devices, pcie_functions, render_cards
from redfish_fm.mapping.host_chassis import render_chassis
from redfish_fm.mapping.host_manager import render_manager
from redfish_fm.mapping.host_memory import render_memory
from redfish_fm.mapping.host_network import render_network
from redfish_fm.mapping.host_power import render_cooling, render_power
from redfish_fm.mapping.host_processors import render_processors, root_ports
from redfish_fm.mapping.host_readings import host_readings
from redfish_fm.mapping.host_scene import (
    HostScene,
    chassis_uri,
    identity,
    manager_uri,
    status,
    system_uri,
)
from redfish_fm.mapping.host_storage import render_storage
from redfish_fm.mapping.rendering import GT_PER_LANE, Rendering, ref, refs
from redfish_fm.mapping.uris import fabric_of

MIB_PER_GIB = 1024

__all__ = ["host_port_uri", "put_host", "render_host", "render_host_ports", "system_uri"]


def render_host(out: Rendering, host: Host) -> None:
    """Add a host with all that is in it; calling it again with the same host changes nothing."""
    uri = system_uri(host.id)
    if uri in out.documents:
        return
    out.facts.hosts[uri] = host
    out.facts.entity_hosts[uri] = uri
    if host.part is not None:
        # An initiator may name the adapter that it uses, which stands in the chassis.
        out.facts.entity_hosts[chassis_uri(host.id)] = uri
    out.facts.durable_hosts[f"UUID:{host.uuid}".upper()] = uri
    if host.bmc is not None:
        out.facts.bmcs[uri] = manager_uri(host.id)
    put_host(out, host, powered=True)


def put_host(out: Rendering, host: Host, powered: bool) -> None:
    """Add the documents of a host that has power, or has none."""
    scene = None
    if host.hardware is not None:
        readings = host_readings(host, host.hardware, powered)
        scene = HostScene(host, host.hardware, readings, powered)
    _render_system(out, host, powered, scene)
    render_chassis(out, host, powered, scene)
    if host.bmc is not None:
        render_manager(out, host, host.bmc)
    if scene is None:
        _render_plain_processors(out, host, powered)
        return
    render_processors(out, scene)
    render_memory(out, scene)
    render_storage(out, scene)
    render_network(out, scene)
    render_cards(out, scene)
    render_boot(out, scene)
    render_power(out, scene)
    render_cooling(out, scene)


def _render_system(out: Rendering, host: Host, powered: bool, scene: HostScene | None) -> None:
    processors = uris.PROCESSORS.format(system=host.id)
    links: dict[str, Any] = {}
    if host.part is not None:
        links["Chassis"] = refs([chassis_uri(host.id)])
    if host.bmc is not None:
        links["ManagedBy"] = refs([manager_uri(host.id)])
    inside: dict[str, Any] = {}
    processor_summary = _told(Count=host.cpu_count, CoreCount=host.core_count)
    memory_summary = _told(TotalSystemMemoryGiB=host.memory_mib / MIB_PER_GIB)
    if scene is not None:
        links |= {"PoweredBy": refs(scene.supplies), "CooledBy": refs(scene.fans)}
        inside = _inside(out, scene)
        processor_summary |= _processor_summary(scene)
        metrics = uris.HOST_MEMORY_METRICS.format(system=host.id)
        memory_summary |= {"MemoryMirroring": "None", "Metrics": ref(metrics)}
    out.put(
        system_uri(host.id),
        "ComputerSystem",
        host.name,
        SystemType="Physical",
        **({} if host.part is None else identity(host.part)),
        UUID=host.uuid,
        HostName=host.name,
        PowerState="On" if powered else "Off",
        Status=status(powered),
        ProcessorSummary=processor_summary or None,
        MemorySummary=memory_summary or None,
        Processors=out.collection(processors, "Processor", f"Processors of {host.name}"),
        **inside,
        Links=links or None,
    )


def _told(**counts: float) -> dict[str, Any]:
    """Return what is known of a host, which has none of nothing: 0 is that nobody tells."""
    return {name: count for name, count in counts.items() if count}


def _processor_summary(scene: HostScene) -> dict[str, Any]:
    sockets = scene.hardware.processors
    threads = sum(each.thread_count for each in sockets)
    return {
        "LogicalProcessorCount": threads,
        "ThreadingEnabled": True,
        **({"Model": sockets[0].part.model} if sockets else {}),
    }


def _inside(out: Rendering, scene: HostScene) -> dict[str, Any]:
    """Add the system's collections; return what it says and links of what is in it."""
    where, name = {"system": scene.id}, scene.name
    collections = {
        "Memory": (uris.HOST_MEMORY, "Memory", "Memory modules"),
        "MemoryDomains": (uris.HOST_DOMAINS, "MemoryDomain", "Memory domains"),
        "Storage": (uris.HOST_STORAGES, "Storage", "Storage"),
        "EthernetInterfaces": (uris.HOST_ETHERNETS, "EthernetInterface", "Ethernet interfaces"),
        "NetworkInterfaces": (uris.NETWORK_INTERFACES, "NetworkInterface", "Network interfaces"),
    }
    if scene.hardware.fabric_cards:
        collections["FabricAdapters"] = (uris.FABRIC_ADAPTERS, "FabricAdapter", "Fabric adapters")
    return {
        "BiosVersion": scene.hardware.bios_version,
        "Bios": ref(uris.BIOS.format(**where)),
        "SecureBoot": ref(uris.SECURE_BOOT.format(**where)),
        "Boot": boot(out, scene),
        "BootProgress": {"LastState": "OSRunning" if scene.powered else "None"},
        "PowerRestorePolicy": "LastState",
        "LocationIndicatorActive": False,
        "PCIeDevices": refs(pcie_devices(scene)),
        "PCIeFunctions": refs(pcie_functions(scene)),
        **{
            word: out.collection(template.format(**where), member, f"{text} of {name}")
            for word, (template, member, text) in collections.items()
        },
    }


def _render_plain_processors(out: Rendering, host: Host, powered: bool) -> None:
    """Add the CPUs of a host of which only their number and cores are known."""
    count = max(1, host.cpu_count)
    for number in range(1, count + 1):
        out.put(
            uris.PROCESSOR.format(system=host.id, processor=f"CPU{number}"),
            "Processor",
            f"CPU {number} of {host.name}",
            ProcessorType="CPU",
            TotalCores=host.core_count // count + (number <= host.core_count % count) or None,
            Status=status(powered),
            # All root ports are shown on the first processor: inventories do not say which it is.
            Ports=root_ports(out, host.id, host.name) if number == 1 else None,
        )


def host_port_uri(port: Port) -> str | None:
    """Return the URI of the host's root port at the other end of `port`'s cable."""
    if port.host is None or port.host_port is None:
        return None
    return uris.HOST_PORT.format(system=port.host, processor="CPU1", port=port.host_port)


def render_host_ports(
    out: Rendering, ports: Iterable[tuple[Port, str, str]], protocol: str
) -> None:
    """Add the root ports at the other ends of (switch port, its URI, its switch's URI).

    Where the host has a card for the fabric, the card shows the connector of each of them too.
    """
    for port, switch_port, switch in ports:
        uri = host_port_uri(port)
        if uri is None:
            continue
        out.facts.port_aliases[uri] = switch_port
        links = {
            "ConnectedSwitches": refs([switch]),
            "ConnectedSwitchPorts": refs([switch_port]),
        }
        _put_port(out, uri, f"Root port {port.host_port} of {port.host}", port, protocol, links)
        card = {"system": port.host, "adapter": fabric_of(switch_port)}
        if uris.FABRIC_ADAPTER.format(**card) in out.documents:
            connector = uris.FABRIC_ADAPTER_PORT.format(**card, port=port.host_port)
            name = f"Connector of root port {port.host_port} of {port.host}"
            _put_port(out, connector, name, port, protocol, links)


def _put_port(
    out: Rendering, uri: str, name: str, port: Port, protocol: str, links: dict[str, Any]
) -> None:
    rate = GT_PER_LANE.get(port.link.gen)
    out.put(
        uri,
        "Port",
        name,
        PortId=str(port.host_port),
        PortProtocol=protocol,
        PortType="DownstreamPort",
        LinkNetworkTechnology="PCIe",
        Width=port.link.lanes,
        MaxSpeedGbps=None if rate is None else rate * port.link.lanes,
        Links=dict(links),
    )
