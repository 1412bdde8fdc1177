"""Switches of a mockup: cabling, virtual switches, and the Inventory for a virtual driver.

Pure. What the switch's port says of its cable wins over what the far end says. Redfish: Port
ConnectedPorts and ConnectedSwitchPorts, VirtualCXLSwitch, VirtualPCI2PCIBridge.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from redfish_fm.fabric.index import FabricFacts, VcsFact
from redfish_fm.fabric.model import (
    Attachment,
    Device,
    DeviceKind,
    FabricKind,
    Host,
    Inventory,
    Link,
    LogicalDevice,
    Port,
    PortId,
    PortRole,
    Switch,
    VirtualSwitch,
    VppbId,
)
from redfish_fm.mapping.domain import type_name
from redfish_fm.mapping.facts import Facts, enclosing
from redfish_fm.mapping.imported_devices import LDS, is_mld, ld_numbers, logical_devices
from redfish_fm.mapping.imported_findings import Finding, FindingKind
from redfish_fm.mapping.imported_tree import Tree
from redfish_fm.mapping.imported_ways import has_heads
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.read import members, read_endpoint
from redfish_fm.mapping.rendering import GT_PER_LANE
from redfish_fm.mapping.uris import FABRIC, SWITCHES, SYSTEM, fabric_of

NIL_UUID = "00000000-0000-0000-0000-000000000000"
ROLES = {"UpstreamPort": PortRole.UPSTREAM, "DownstreamPort": PortRole.DOWNSTREAM}


def read_cabling(documents: Tree, facts: Facts, findings: list[Finding]) -> None:
    """Fill in switches, their ports, who is at the other end, and which host that is."""
    _name_switches(documents, facts)
    switch_ports = set(facts.port_uris.values())
    for uri in sorted(switch_ports):
        for far_end in members(documents[uri], "Links/ConnectedPorts"):
            if far_end not in switch_ports:
                _cable(far_end, uri, facts, findings)
    for uri, document in documents.of_type("Port"):
        if uri not in switch_ports:
            for name in ("ConnectedSwitchPorts", "ConnectedPorts"):
                for port in members(document, f"Links/{name}"):
                    if port in switch_ports:
                        _cable(uri, port, facts, findings)
    for far_end, port in facts.port_aliases.items():
        for place in enclosing(far_end):
            if place in facts.entity_hosts:
                facts.port_hosts.setdefault(port, facts.entity_hosts[place])
                break


def _cable(far_end: str, port: str, facts: Facts, findings: list[Finding]) -> None:
    known = facts.port_aliases.get(far_end)
    if known is None and port in facts.port_aliases.values():
        other = next(each for each, place in facts.port_aliases.items() if place == port)
        if _system_of(far_end) is not None and _system_of(far_end) == _system_of(other):
            return  # the root port, and the connector that the card of the same host has for it
        text = f"says it is cabled to {port}, where {other} is"
        findings.append(Finding(FindingKind.CONTRADICTION, far_end, text))
    elif known is None:
        facts.port_aliases[far_end] = port
    elif known != port:
        text = f"cabled to {known} and to {port}; the first is taken"
        findings.append(Finding(FindingKind.CONTRADICTION, far_end, text))


def _system_of(uri: str) -> str | None:
    """Return the system in which `uri` lies, or None outside of any."""
    prefix = SYSTEM.format(system="")
    return uri[len(prefix) :].split("/", 1)[0] if uri.startswith(prefix) else None


def _name_switches(documents: Tree, facts: Facts) -> None:
    """Give switches ids that are unique over all fabrics, because vPPBs are named by them."""
    names: dict[str, int] = {}
    taken: set[str] = set()
    found = [uri for uri, _document in documents.of_type("Switch") if fabric_of(uri)]
    for uri in found:
        name = uri.rsplit("/", 1)[-1]
        names[name] = names.get(name, 0) + 1
    for uri in found:
        name, fabric = uri.rsplit("/", 1)[-1], fabric_of(uri) or ""
        switch = name if names[name] == 1 else f"{fabric}.{name}"
        switch = next(each for each in _numbered(switch) if each not in taken)
        taken.add(switch)
        facts.switch_uris[fabric, switch] = uri
        for port in documents.below(f"{uri}/Ports"):
            facts.port_uris[fabric, PortId(switch, port.rsplit("/", 1)[-1])] = port


def _numbered(name: str) -> Iterator[str]:
    """Yield `name`, and then further names that begin with it, without end."""
    yield name
    for number in count(2):
        yield f"{name}.{number}"


def derive_inventory(
    documents: Tree, facts: Facts, fabric: FabricFacts, findings: list[Finding]
) -> Inventory:
    """Return what a virtual driver would have discovered, and note its virtual switches."""
    uri = FABRIC.format(fabric=fabric.id)
    document = documents.get(uri, {})
    devices = _devices(documents, facts, fabric.id)
    hosts = _hosts_of(documents, facts, fabric.id)
    plugged = _plugged(facts)
    switches = tuple(
        _switch(documents, facts, fabric.id, switch, place, hosts, plugged, findings)
        for (owner, switch), place in sorted(facts.switch_uris.items())
        if owner == fabric.id
    )
    return Inventory(
        fabric.id,
        str(document.get("Name") or fabric.id),
        FabricKind.BIND,
        str(document.get("FabricType") or "PCIe"),
        _with_heads(switches, facts),
        tuple(_host(documents, host) for host in sorted(hosts)),
        tuple(devices[each] for each in sorted(devices)),
        fabric.max_zones,
    )


def _with_heads(switches: tuple[Switch, ...], facts: Facts) -> tuple[Switch, ...]:
    """Number the ports of each device that is on several: as its ways are, else as they come."""
    plugged: dict[str, list[PortId]] = {}
    for device, ways in facts.ways.items():
        plugged[device] = [place[1] for port in ways if (place := facts.port_at(port))]
    for switch in switches:
        for port in switch.ports:
            if port.device is not None and port.id not in plugged.setdefault(port.device, []):
                plugged[port.device].append(port.id)
    heads = {port: n for found in plugged.values() if len(found) > 1
             for n, port in enumerate(found, 1)}  # fmt: skip
    return tuple(
        replace(each, ports=tuple(replace(port, head=heads.get(port.id)) for port in each.ports))
        for each in switches
    )


def _hosts_of(documents: Tree, facts: Facts, fabric: str) -> dict[str, int]:
    """Return host -> how many units its zones and connections may want bound at once."""
    hosts = [
        read_endpoint(uri, document, facts).host
        for uri, document in documents.of_type("Endpoint")
        if fabric_of(uri) == fabric
    ]
    for (owner, _port), uri in facts.port_uris.items():
        hosts.append(facts.port_hosts.get(uri) if owner == fabric else None)
    claims: dict[str, set[str]] = {host: set() for host in hosts if host is not None}
    for name in ("Zone", "Connection"):
        for uri, document in documents.of_type(name):
            if fabric_of(uri) == fabric:
                _add_claims(documents, document, facts, claims)
    return {host: len(units) for host, units in claims.items()}


def _add_claims(
    documents: Tree, holder: Mapping[str, Any], facts: Facts, claims: dict[str, set[str]]
) -> None:
    paths = ("Links/Endpoints", "Links/InitiatorEndpoints", "Links/TargetEndpoints")
    ends = [
        read_endpoint(uri, documents[uri], facts)
        for path in paths
        for uri in members(holder, path)
        if uri in documents
    ]
    units = {unit for end in ends for unit in end.units}
    for end in ends:
        if end.host is not None:
            claims.setdefault(end.host, set()).update(units)


def _host(documents: Tree, host: str) -> Host:
    document = documents.get(host, {})
    processors, memory = document.get("ProcessorSummary"), document.get("MemorySummary")
    count = processors.get("Count") if isinstance(processors, Mapping) else None
    gib = memory.get("TotalSystemMemoryGiB") if isinstance(memory, Mapping) else None
    return Host(
        host,
        str(document.get("Name") or host),
        str(document.get("UUID") or NIL_UUID).lower(),
        count if isinstance(count, int) else 1,
        count if isinstance(count, int) else 1,
        int(gib * 1024) if isinstance(gib, int | float) else 0,
        powered=document.get("PowerState") != "Off",
    )


def _switch(
    documents: Tree,
    facts: Facts,
    fabric: str,
    switch: str,
    uri: str,
    hosts: Mapping[str, int],
    plugged: Mapping[str, str],
    findings: list[Finding],
) -> Switch:
    document = documents[uri]
    ports = [
        _port(documents[place], port_id, facts.port_hosts.get(place), plugged.get(place))
        for (owner, port_id), place in sorted(facts.port_uris.items())
        if owner == fabric and port_id.switch == switch
    ]
    vcss = _documented_vcss(documents, facts, fabric, switch, uri, findings)
    documented = {vcs.id for vcs in vcss}
    _complete(ports, vcss, hosts, switch, uri, findings)
    for vcs in vcss:
        # What was added stands for what documents do not say, so it is by no port in particular.
        upstream = PortId(switch, vcs.upstream_port) if vcs.id in documented else None
        port = None if upstream is None else facts.port_uris.get((fabric, upstream))
        facts.vcss.append(VcsFact(fabric, switch, vcs.id, vcs.host, vcs.vppb_count, port=port))
    kind = document.get("SwitchType")
    return Switch(
        switch,
        str(document.get("Name") or switch),
        str(kind) if kind in ("CXL", "PCIe") else "PCIe",
        str(document.get("Model") or "imported"),
        str(document.get("SerialNumber") or ""),
        tuple(ports),
        tuple(vcss),
    )


def _plugged(facts: Facts) -> dict[str, str]:
    """Return switch port -> the device in it, which an LD means as well."""
    found = {port: device for device, ways in facts.ways.items() for port in ways}
    for unit, port in sorted(facts.resource_ports.items()):
        found.setdefault(port, unit.rsplit(LDS, 1)[0])
    return found


def _port(
    document: Mapping[str, Any], port_id: PortId, host: str | None, device: str | None
) -> Port:
    role = ROLES.get(str(document.get("PortType")))
    if role is None:
        role = PortRole.DOWNSTREAM if host is None else PortRole.UPSTREAM
    return Port(port_id, role, _link(document), host, None if host is not None else device)


def _link(document: Mapping[str, Any]) -> Link:
    lanes = next(
        (
            value
            for name in ("ActiveWidth", "Width")
            if isinstance(value := document.get(name), int) and value > 0
        ),
        1,
    )
    speed = document.get("CurrentSpeedGbps")
    rate = speed / lanes if isinstance(speed, int | float) else 0
    gens = [gen for gen, each in GT_PER_LANE.items() if each <= rate]
    return Link(max(gens, default=1), lanes)


def _documented_vcss(
    documents: Tree,
    facts: Facts,
    fabric: str,
    switch: str,
    uri: str,
    findings: list[Finding],
) -> list[VirtualSwitch]:
    found = []
    for place in _below(documents, f"{uri}/VCSs", "VirtualCXLSwitch"):
        document = documents[place]
        vcs = place.rsplit("/", 1)[-1]
        port = next(iter(members(document, "Links/Port")), None)
        vppbs = _below(documents, f"{place}/VPPBs", "VirtualPCI2PCIBridge")
        vppbs.sort(key=lambda each: (len(each), each))
        for number, each in enumerate(vppbs):
            facts.vppb_uris[fabric, VppbId(switch, vcs, number)] = each
        if port is None:
            text = "no Links.Port, so it serves no host"
            findings.append(Finding(FindingKind.COMPLETED, place, text))
            continue
        upstream, host = port.rsplit("/", 1)[-1], facts.port_hosts.get(port)
        found.append(VirtualSwitch(vcs, switch, upstream, host, len(vppbs)))
    return found


def _complete(
    ports: list[Port],
    vcss: list[VirtualSwitch],
    hosts: Mapping[str, int],
    switch: str,
    uri: str,
    findings: list[Finding],
) -> None:
    """Add virtual switches so that every host can have what its zones want; say so."""
    downstream = sum(port.role is PortRole.DOWNSTREAM for port in ports)
    for host, claims in sorted(hosts.items()):
        there = sum(vcs.vppb_count for vcs in vcss if vcs.host == host)
        cabled = [port for port in ports if port.host == host]
        needed = max(claims, downstream, 1) if not there else claims
        if there >= needed:
            continue
        upstream = cabled[0] if cabled else _added_port(ports, switch, host)
        taken = {vcs.id for vcs in vcss}
        vcs_id = next(str(n) for n in range(1, len(vcss) + 2) if str(n) not in taken)
        vcss.append(VirtualSwitch(vcs_id, switch, upstream.id.port, host, needed - there))
        text = (
            f"virtual switch {vcs_id} with {needed - there} vPPBs added for {host}, "
            f"which has {there} and needs {needed}"
        )
        findings.append(Finding(FindingKind.COMPLETED, uri, text))


def _added_port(ports: list[Port], switch: str, host: str) -> Port:
    taken = {port.id.port for port in ports}
    name = next(f"added-{n}" for n in range(1, len(ports) + 2) if f"added-{n}" not in taken)
    port = Port(PortId(switch, name), PortRole.UPSTREAM, Link(5, 16), host)
    ports.append(port)
    return port


def _devices(documents: Tree, facts: Facts, fabric: str) -> dict[str, Device]:
    plugged = {
        unit.rsplit(LDS, 1)[0]
        for unit, port in facts.resource_ports.items()
        if fabric_of(port) == fabric and port.startswith(SWITCHES.format(fabric=fabric))
    }
    return {uri: _device(documents, uri, shared=has_heads(uri, facts)) for uri in sorted(plugged)}


def _device(documents: Tree, uri: str, *, shared: bool) -> Device:
    document = documents.get(uri, {})
    mld = is_mld(document) and not shared
    cxl = isinstance(document.get("CXLDevice"), Mapping)
    lds = ld_numbers(logical_devices(documents, uri))
    parts = [LogicalDevice(number, _mib(documents[each])) for each, number in lds.items()]
    attachment = Attachment.SLD if cxl else Attachment.PCIE
    return Device(
        uri,
        str(document.get("Name") or uri),
        _kind(documents, document),
        Attachment.MLD if mld and parts else attachment,
        str(document.get("Model") or ""),
        str(document.get("Manufacturer") or ""),
        str(document.get("SerialNumber") or ""),
        _device_link(document),
        sum(part.capacity_mib for part in parts),
        tuple(parts) if mld else (),
        shared_heads=shared,
    )


def _device_link(document: Mapping[str, Any]) -> Link:
    """Return what a PCIeDevice is capable of; the most there is where it does not say."""
    interface = document.get("PCIeInterface")
    told = interface if isinstance(interface, Mapping) else {}
    lanes = [told[name] for name in ("MaxLanes", "LanesInUse") if isinstance(told.get(name), int)]
    named = [str(told[name]) for name in ("MaxPCIeType", "PCIeType") if name in told]
    gens = [gen for name in named for gen in GT_PER_LANE if name == f"Gen{gen}"]
    return Link(next(iter(gens), max(GT_PER_LANE)), next((n for n in lanes if n > 0), _LANES_MAX))


_LANES_MAX = 16


def _mib(document: Mapping[str, Any]) -> int:
    size = document.get("MemorySizeMiB")
    return size if isinstance(size, int) else 0


_KINDS = {
    "MemoryController": DeviceKind.MEMORY,
    "MassStorageController": DeviceKind.NVME,
    "NetworkController": DeviceKind.NIC,
    "ProcessingAccelerators": DeviceKind.FPGA,
}


def _kind(documents: Tree, device: Mapping[str, Any]) -> DeviceKind:
    """Say what a device is for, by its functions' DeviceClass; only descriptions depend on it."""
    functions = next(uris_at(device, ["PCIeFunctions"]), None)
    for uri in _below(documents, functions or "", "PCIeFunction"):
        return _KINDS.get(str(documents[uri].get("DeviceClass")), DeviceKind.GPU)
    return DeviceKind.GPU


def _below(documents: Tree, uri: str, name: str) -> list[str]:
    """Return the URIs of the resources of one type that lie one segment below `uri`."""
    return [each for each in documents.below(uri) if type_name(documents[each]) == name]
