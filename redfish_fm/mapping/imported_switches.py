"""Switches of a mockup: cabling, virtual switches, and the Inventory for a virtual driver.

Pure. What the switch's port says of its cable wins over what the far end says. Redfish: Port
ConnectedPorts and ConnectedSwitchPorts, VirtualCXLSwitch, VirtualPCI2PCIBridge.
"""

from collections.abc import Mapping
from dataclasses import replace
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
from redfish_fm.mapping.facts import Facts, enclosing
from redfish_fm.mapping.imported_units import (
    Documents,
    is_mld,
    ld_number,
    logical_devices,
    of_type,
)
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.read import members, read_endpoint
from redfish_fm.mapping.rendering import GT_PER_LANE
from redfish_fm.mapping.uris import FABRIC, SWITCHES, fabric_of

NIL_UUID = "00000000-0000-0000-0000-000000000000"
ROLES = {"UpstreamPort": PortRole.UPSTREAM, "DownstreamPort": PortRole.DOWNSTREAM}


def read_cabling(documents: Documents, facts: Facts, defects: list[str]) -> None:
    """Fill in switches, their ports, who is at the other end, and which host that is."""
    _name_switches(documents, facts)
    switch_ports = set(facts.port_uris.values())
    for uri in sorted(switch_ports):
        for far_end in members(documents[uri], "Links/ConnectedPorts"):
            if far_end not in switch_ports:
                _cable(far_end, uri, facts, defects)
    for uri, document in of_type(documents, "Port"):
        if uri not in switch_ports:
            for name in ("ConnectedSwitchPorts", "ConnectedPorts"):
                for port in members(document, f"Links/{name}"):
                    if port in switch_ports:
                        _cable(uri, port, facts, defects)
    for far_end, port in facts.port_aliases.items():
        for place in enclosing(far_end):
            if place in facts.entity_hosts:
                facts.port_hosts.setdefault(port, facts.entity_hosts[place])
                break


def _cable(far_end: str, port: str, facts: Facts, defects: list[str]) -> None:
    known = facts.port_aliases.get(far_end)
    if known is None and port in facts.port_aliases.values():
        other = next(each for each, place in facts.port_aliases.items() if place == port)
        defects.append(f"{far_end}: says it is cabled to {port}, where {other} is")
    elif known is None:
        facts.port_aliases[far_end] = port
    elif known != port:
        defects.append(f"{far_end}: cabled to {known} and to {port}; the first is taken")


def _name_switches(documents: Documents, facts: Facts) -> None:
    """Give switches ids that are unique over all fabrics, because vPPBs are named by them."""
    names: dict[str, int] = {}
    found = [uri for uri, _document in of_type(documents, "Switch") if fabric_of(uri)]
    for uri in found:
        name = uri.rsplit("/", 1)[-1]
        names[name] = names.get(name, 0) + 1
    for uri in found:
        name, fabric = uri.rsplit("/", 1)[-1], fabric_of(uri) or ""
        switch = name if names[name] == 1 else f"{fabric}.{name}"
        facts.switch_uris[fabric, switch] = uri
        prefix = f"{uri}/Ports/"
        for port in documents:
            if port.startswith(prefix) and "/" not in port[len(prefix) :]:
                facts.port_uris[fabric, PortId(switch, port[len(prefix) :])] = port


def derive_inventory(
    documents: Documents, facts: Facts, fabric: FabricFacts, defects: list[str]
) -> Inventory:
    """Return what a virtual driver would have discovered, and note its virtual switches."""
    uri = FABRIC.format(fabric=fabric.id)
    document = documents.get(uri, {})
    devices = _devices(documents, facts, fabric.id)
    hosts = _hosts_of(documents, facts, fabric.id)
    switches = tuple(
        _switch(documents, facts, fabric.id, switch, place, hosts, defects)
        for (owner, switch), place in sorted(facts.switch_uris.items())
        if owner == fabric.id
    )
    return Inventory(
        fabric.id,
        str(document.get("Name") or fabric.id),
        FabricKind.BIND,
        str(document.get("FabricType") or "PCIe"),
        _with_heads(switches),
        tuple(_host(documents, host) for host in sorted(hosts)),
        tuple(devices[each] for each in sorted(devices)),
        fabric.max_zones,
    )


def _with_heads(switches: tuple[Switch, ...]) -> tuple[Switch, ...]:
    """Number the ports of each device that is on several: they are ways to one device."""
    plugged: dict[str, list[PortId]] = {}
    for switch in switches:
        for port in switch.ports:
            if port.device is not None:
                plugged.setdefault(port.device, []).append(port.id)
    heads = {port: n for found in plugged.values() if len(found) > 1
             for n, port in enumerate(found, 1)}  # fmt: skip
    return tuple(
        replace(each, ports=tuple(replace(port, head=heads.get(port.id)) for port in each.ports))
        for each in switches
    )


def _hosts_of(documents: Documents, facts: Facts, fabric: str) -> dict[str, int]:
    """Return host -> how many units its zones and connections may want bound at once."""
    hosts = [
        read_endpoint(uri, document, facts).host
        for uri, document in of_type(documents, "Endpoint")
        if fabric_of(uri) == fabric
    ]
    for (owner, _port), uri in facts.port_uris.items():
        hosts.append(facts.port_hosts.get(uri) if owner == fabric else None)
    claims: dict[str, set[str]] = {host: set() for host in hosts if host is not None}
    for name in ("Zone", "Connection"):
        for uri, document in of_type(documents, name):
            if fabric_of(uri) == fabric:
                _add_claims(documents, document, facts, claims)
    return {host: len(units) for host, units in claims.items()}


def _add_claims(
    documents: Documents, holder: Mapping[str, Any], facts: Facts, claims: dict[str, set[str]]
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


def _host(documents: Documents, host: str) -> Host:
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
    )


def _switch(
    documents: Documents,
    facts: Facts,
    fabric: str,
    switch: str,
    uri: str,
    hosts: Mapping[str, int],
    defects: list[str],
) -> Switch:
    document = documents[uri]
    ports = [
        _port(documents[place], port_id, facts, place)
        for (owner, port_id), place in sorted(facts.port_uris.items())
        if owner == fabric and port_id.switch == switch
    ]
    vcss = _documented_vcss(documents, facts, fabric, switch, uri, defects)
    documented = {vcs.id for vcs in vcss}
    _complete(ports, vcss, hosts, switch, uri, defects)
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


def _port(document: Mapping[str, Any], port_id: PortId, facts: Facts, uri: str) -> Port:
    role = ROLES.get(str(document.get("PortType")))
    host = facts.port_hosts.get(uri)
    if role is None:
        role = PortRole.DOWNSTREAM if host is None else PortRole.UPSTREAM
    device = next(
        (
            unit.rsplit("/CXLLogicalDevices/", 1)[0]
            for unit, place in sorted(facts.resource_ports.items())
            if place == uri
        ),
        None,
    )
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
    documents: Documents,
    facts: Facts,
    fabric: str,
    switch: str,
    uri: str,
    defects: list[str],
) -> list[VirtualSwitch]:
    found = []
    for place, document in of_type(documents, "VirtualCXLSwitch"):
        if not place.startswith(f"{uri}/VCSs/"):
            continue
        vcs = place.rsplit("/", 1)[-1]
        port = next(iter(members(document, "Links/Port")), None)
        vppbs = [
            each
            for each, _document in of_type(documents, "VirtualPCI2PCIBridge")
            if each.startswith(f"{place}/VPPBs/")
        ]
        vppbs.sort(key=lambda each: (len(each), each))
        for number, each in enumerate(vppbs):
            facts.vppb_uris[fabric, VppbId(switch, vcs, number)] = each
        if port is None:
            defects.append(f"{place}: no Links.Port, so it serves no host")
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
    defects: list[str],
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
        vcs_id = next(f"added-{n}" for n in range(1, len(vcss) + 2) if f"added-{n}" not in taken)
        vcss.append(VirtualSwitch(vcs_id, switch, upstream.id.port, host, needed - there))
        defects.append(
            f"{uri}: virtual switch {vcs_id} with {needed - there} vPPBs added for {host}, "
            f"which has {there} and needs {needed}"
        )


def _added_port(ports: list[Port], switch: str, host: str) -> Port:
    taken = {port.id.port for port in ports}
    name = next(f"added-{n}" for n in range(1, len(ports) + 2) if f"added-{n}" not in taken)
    port = Port(PortId(switch, name), PortRole.UPSTREAM, Link(5, 16), host)
    ports.append(port)
    return port


def _devices(documents: Documents, facts: Facts, fabric: str) -> dict[str, Device]:
    plugged = {
        unit.rsplit("/CXLLogicalDevices/", 1)[0]
        for unit, port in facts.resource_ports.items()
        if fabric_of(port) == fabric and port.startswith(SWITCHES.format(fabric=fabric))
    }
    return {uri: _device(documents, uri) for uri in sorted(plugged)}


def _device(documents: Documents, uri: str) -> Device:
    document = documents.get(uri, {})
    mld, cxl = is_mld(document), isinstance(document.get("CXLDevice"), Mapping)
    lds = logical_devices(documents, uri)
    parts = [LogicalDevice(ld_number(each, lds), _mib(documents[each])) for each in lds]
    attachment = Attachment.SLD if cxl else Attachment.PCIE
    return Device(
        uri,
        str(document.get("Name") or uri),
        _kind(documents, document),
        Attachment.MLD if mld and parts else attachment,
        str(document.get("Model") or ""),
        str(document.get("Manufacturer") or ""),
        str(document.get("SerialNumber") or ""),
        _link(document),
        sum(part.capacity_mib for part in parts),
        tuple(parts) if mld else (),
    )


def _mib(document: Mapping[str, Any]) -> int:
    size = document.get("MemorySizeMiB")
    return size if isinstance(size, int) else 0


_KINDS = {
    "MemoryController": DeviceKind.MEMORY,
    "MassStorageController": DeviceKind.NVME,
    "NetworkController": DeviceKind.NIC,
    "ProcessingAccelerators": DeviceKind.FPGA,
}


def _kind(documents: Documents, device: Mapping[str, Any]) -> DeviceKind:
    """Say what a device is for, by its functions' DeviceClass; only descriptions depend on it."""
    functions = next(uris_at(device, ["PCIeFunctions"]), None)
    for uri, document in of_type(documents, "PCIeFunction"):
        if functions is not None and uri.startswith(f"{functions}/"):
            return _KINDS.get(str(document.get("DeviceClass")), DeviceKind.GPU)
    return DeviceKind.GPU
