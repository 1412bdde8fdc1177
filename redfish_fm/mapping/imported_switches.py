"""Switches and devices of a mockup: the Inventory for a virtual driver.

Pure. Redfish: Switch, Port, PCIeDevice, CXLLogicalDevice.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from redfish_fm.fabric.index import FabricFacts, VcsFact
from redfish_fm.fabric.model import (
    Attachment,
    Device,
    DeviceKind,
    FabricKind,
    Inventory,
    Link,
    LogicalDevice,
    Port,
    PortId,
    PortRole,
    Switch,
)
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.imported_cabling import SwitchKey
from redfish_fm.mapping.imported_devices import LDS, is_mld, ld_numbers, logical_devices
from redfish_fm.mapping.imported_findings import Finding
from redfish_fm.mapping.imported_hosts import host_at
from redfish_fm.mapping.imported_tree import Tree
from redfish_fm.mapping.imported_vcss import complete, documented_vcss
from redfish_fm.mapping.imported_ways import has_heads
from redfish_fm.mapping.imported_wishes import Wishes, read_wishes
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.port_resets import RESET_BRIDGE
from redfish_fm.mapping.rendering import GT_PER_LANE
from redfish_fm.mapping.uris import FABRIC

ROLES = {"UpstreamPort": PortRole.UPSTREAM, "DownstreamPort": PortRole.DOWNSTREAM}


@dataclass(frozen=True, slots=True)
class _Layout:
    """What is on which switch: found once, however many switches there are."""

    switches: Mapping[str, list[str]]
    """Fabric -> its switches, in order."""
    ports: Mapping[SwitchKey, list[tuple[PortId, str]]]
    plugged: Mapping[str, str]
    """Switch port -> the device in it, which an LD means as well."""
    devices: Mapping[str, list[str]]
    """Fabric -> the devices in ports of its switches, in order."""


def derive_inventories(documents: Tree, facts: Facts, findings: list[Finding]) -> list[Inventory]:
    """Return what virtual drivers would have discovered, and note their virtual switches.

    Of every fabric that binds and has switches.
    """
    layout, wishes = _layout(facts), read_wishes(documents, facts)
    return [
        _inventory(documents, facts, fabric, layout, wishes, findings)
        for fabric in facts.fabrics
        if fabric.kind is FabricKind.BIND and fabric.id in layout.switches
    ]


def _layout(facts: Facts) -> _Layout:
    switches: dict[str, list[str]] = {}
    for fabric, switch in sorted(facts.switch_uris):
        switches.setdefault(fabric, []).append(switch)
    ports: dict[SwitchKey, list[tuple[PortId, str]]] = {}
    for (fabric, port), uri in facts.port_uris.items():
        ports.setdefault((fabric, port.switch), []).append((port, uri))
    for found in ports.values():
        found.sort()
    devices: dict[str, set[str]] = {}
    for unit, where in facts.resource_ports.items():
        place = facts.port_at(where)
        if place is not None:
            devices.setdefault(place[0], set()).add(unit.rsplit(LDS, 1)[0])
    in_order = {fabric: sorted(found) for fabric, found in devices.items()}
    return _Layout(switches, ports, _plugged(facts), in_order)


def _inventory(
    documents: Tree,
    facts: Facts,
    fabric: FabricFacts,
    layout: _Layout,
    wishes: Wishes,
    findings: list[Finding],
) -> Inventory:
    document = documents.get(FABRIC.format(fabric=fabric.id), {})
    switches = tuple(
        _switch(documents, facts, key, layout, wishes.at_switch.get(key, {}), findings)
        for key in ((fabric.id, switch) for switch in layout.switches[fabric.id])
    )
    return Inventory(
        fabric.id,
        str(document.get("Name") or fabric.id),
        FabricKind.BIND,
        str(document.get("FabricType") or "PCIe"),
        _joined(documents, fabric.id, _with_heads(switches, facts), facts),
        tuple(host_at(documents, host) for host in wishes.hosts.get(fabric.id, ())),
        tuple(
            _device(documents, uri, shared=has_heads(uri, facts))
            for uri in layout.devices.get(fabric.id, ())
        ),
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


def _joined(
    documents: Tree, fabric: str, switches: tuple[Switch, ...], facts: Facts
) -> tuple[Switch, ...]:
    """Let ports between switches that name each other be the two ends of one link."""
    named: dict[PortId, PortId] = {}
    for place, uri in facts.port_uris.items():
        document = documents.get(uri, {})
        if place[0] == fabric and document.get("PortType") == PortRole.INTERSWITCH.value:
            for there in uris_at(document.get("Links"), ("ConnectedSwitchPorts",)):
                far = facts.port_at(there)
                if far is not None and far[0] == fabric and far[1].switch != place[1].switch:
                    named[place[1]] = far[1]

    def joined(port: Port) -> Port:
        far = named.get(port.id)
        if far is None or named.get(far) != port.id or port.host or port.device:
            return port
        return replace(port, role=PortRole.INTERSWITCH, peer=far)

    return tuple(replace(each, ports=tuple(map(joined, each.ports))) for each in switches)


def _switch(
    documents: Tree,
    facts: Facts,
    key: SwitchKey,
    layout: _Layout,
    wants: Mapping[str, int],
    findings: list[Finding],
) -> Switch:
    fabric, switch = key
    uri = facts.switch_uris[key]
    document = documents[uri]
    kind = str(document.get("SwitchType"))
    kind = kind if kind in _PROTOCOLS else "PCIe"
    ports = [
        _port(documents[place], port_id, facts.port_hosts.get(place), layout.plugged.get(place))
        for port_id, place in layout.ports.get(key, ())
    ]
    vcss = documented_vcss(documents, facts, key, findings)
    documented = {vcs.id for vcs in vcss}
    complete(ports, vcss, wants, uri, key, kind, findings)
    for vcs in vcss:
        # What was added stands for what documents do not say, so it is by no port in particular.
        upstream = PortId(switch, vcs.upstream_port) if vcs.id in documented else None
        port = None if upstream is None else facts.port_uris.get((fabric, upstream))
        facts.vcss.append(VcsFact(fabric, switch, vcs.id, vcs.host, vcs.vppb_count, port=port))
    return Switch(
        switch,
        str(document.get("Name") or switch),
        kind,
        str(document.get("Model") or "imported"),
        str(document.get("SerialNumber") or ""),
        tuple(ports),
        tuple(vcss),
        resets_ports=any(resets_bridge(documents[place]) for _, place in layout.ports.get(key, ())),
    )


def resets_bridge(document: Mapping[str, Any]) -> bool:
    """Return whether the document is that of a port whose bridge could be reset there."""
    actions = document.get("Actions")
    return isinstance(actions, Mapping) and f"#{RESET_BRIDGE}" in actions


_PROTOCOLS = frozenset({"CXL", "PCIe"})


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
    for uri in documents.below_of_type(functions or "", "PCIeFunction"):
        return _KINDS.get(str(documents[uri].get("DeviceClass")), DeviceKind.GPU)
    return DeviceKind.GPU
