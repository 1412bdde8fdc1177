"""Hosts as Redfish: ComputerSystem, its processors and the root ports cabled to a fabric.

Pure. Redfish: ComputerSystem.v1_27_0, Processor.v1_22_0. A host that several fabrics know is
rendered once; its ports add up.
"""

from collections.abc import Iterable

from redfish_fm.fabric.model import Host, Port
from redfish_fm.mapping import uris
from redfish_fm.mapping.rendering import GT_PER_LANE, Rendering, refs

MIB_PER_GIB = 1024


def system_uri(host_id: str) -> str:
    """Return the URI of a host's ComputerSystem, which is the host's id everywhere in mapping."""
    return uris.SYSTEM.format(system=host_id)


def render_host(out: Rendering, host: Host) -> None:
    """Add a host with its processors; calling it again with the same host changes nothing."""
    uri = system_uri(host.id)
    if uri in out.documents:
        return
    out.facts.entity_hosts[uri] = uri
    out.facts.durable_hosts[f"UUID:{host.uuid}".upper()] = uri
    processors = uris.PROCESSORS.format(system=host.id)
    out.put(
        uri,
        "ComputerSystem",
        host.name,
        SystemType="Physical",
        UUID=host.uuid,
        HostName=host.name,
        PowerState="On",
        Status={"State": "Enabled", "Health": "OK"},
        ProcessorSummary={"Count": host.cpu_count, "CoreCount": host.core_count},
        MemorySummary={"TotalSystemMemoryGiB": host.memory_mib / MIB_PER_GIB},
        Processors=out.collection(processors, "Processor", f"Processors of {host.name}"),
    )
    for number in range(1, max(1, host.cpu_count) + 1):
        _render_processor(out, host, number)


def _render_processor(out: Rendering, host: Host, number: int) -> None:
    uri = uris.PROCESSOR.format(system=host.id, processor=f"CPU{number}")
    ports = uris.HOST_PORTS.format(system=host.id, processor=f"CPU{number}")
    out.put(
        uri,
        "Processor",
        f"CPU {number} of {host.name}",
        ProcessorType="CPU",
        TotalCores=host.core_count // max(1, host.cpu_count) or None,
        Status={"State": "Enabled", "Health": "OK"},
        # All root ports are shown on the first processor: inventories do not say which it is.
        Ports=out.collection(ports, "Port", f"Root ports of {host.name}") if number == 1 else None,
    )


def host_port_uri(port: Port) -> str | None:
    """Return the URI of the host's root port at the other end of `port`'s cable."""
    if port.host is None or port.host_port is None:
        return None
    return uris.HOST_PORT.format(system=port.host, processor="CPU1", port=port.host_port)


def render_host_ports(
    out: Rendering, ports: Iterable[tuple[Port, str, str]], protocol: str
) -> None:
    """Add the root ports at the other ends of (switch port, its URI, its switch's URI)."""
    for port, switch_port, switch in ports:
        uri = host_port_uri(port)
        if uri is None:
            continue
        rate = GT_PER_LANE.get(port.link.gen)
        out.facts.port_aliases[uri] = switch_port
        out.put(
            uri,
            "Port",
            f"Root port {port.host_port} of {port.host}",
            PortId=str(port.host_port),
            PortProtocol=protocol,
            PortType="DownstreamPort",
            LinkNetworkTechnology="PCIe",
            Width=port.link.lanes,
            MaxSpeedGbps=None if rate is None else rate * port.link.lanes,
            Links={
                "ConnectedSwitches": refs([switch]),
                "ConnectedSwitchPorts": refs([switch_port]),
            },
        )
