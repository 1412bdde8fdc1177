"""Devices behind switch ports as Redfish: one module chassis each, with what is inside.

Pure. Redfish: PCIeDevice, PCIeFunction, and the ConnectedEntities of the endpoints that stand for
them. Next door are what a device is for (`device_cores`), its chassis, its memory, and what can
be bound (`ways`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redfish_fm.fabric.model import Device, DeviceKind, Function, FunctionType, PortId
from redfish_fm.fabric.values import Binder
from redfish_fm.mapping import uris
from redfish_fm.mapping.device_chassis import (
    Socket,
    core_environment,
    render_chassis,
)
from redfish_fm.mapping.device_cores import (
    PCIE_GENERATIONS,
    Shown,
    core_uri,
    eui64,
    firmware,
    function_links,
    pcie_interface,
    render_core,
    who,
)
from redfish_fm.mapping.device_memory import cxl_properties, domain_id, render_memory
from redfish_fm.mapping.device_modules import render_modules
from redfish_fm.mapping.device_names import (
    DEVICE_CLASSES,
    ENTITY_TYPES,
    OK,
    PROCESSOR_TYPES,
    gcxlid,
    speaks_cxl,
)
from redfish_fm.mapping.device_ways import (
    Way,
    chassis_uri,
    device_uri,
    function_uri,
    functions,
    has_heads,
    head_function_id,
    ld_uri,
    logical_devices,
    own_uri,
    pools_lds,
    port_uri,
    shown_functions,
    ways,
    whole_unit,
)
from redfish_fm.mapping.host_scene import pci_ids
from redfish_fm.mapping.rendering import Rendering, ref, refs


def render_device(
    out: Rendering,
    device: Device,
    fabric: str,
    binder: Binder,
    ports: Sequence[PortId],
    socket: Socket | None = None,
) -> list[Way]:
    """Add one device with everything in it; `ports` are where it is plugged in, by head.

    `socket` is the slot it is in; None where a cable leads to it, or nobody knows. Returns every
    way to have it, whose endpoints are the fabric's.
    """
    found = list(ways(device, ports, binder))
    _put_units(out, device, fabric, binder, ports, found)
    shown = shown_functions(device, ports)
    _render_pcie_device(out, device, fabric, ports, socket, shown)
    first = _first_functions(device, shown)
    core = render_core(out, device, shown, first, len(ports) > 1)
    render_chassis(
        out,
        device,
        socket,
        core_uri(device),
        PCIeDevices=out.collection(
            own_uri(uris.DEVICES, device.id), "PCIeDevice", f"PCIe devices of {device.name}"
        ),
        **render_modules(out, device),
        **render_memory(out, device, fabric, ports),
        **core,
    )
    return found


def _put_units(
    out: Rendering,
    device: Device,
    fabric: str,
    binder: Binder,
    ports: Sequence[PortId],
    found: Sequence[Way],
) -> None:
    facts, uri = out.facts, device_uri(device)
    facts.units.append(whole_unit(device, ports, fabric, binder, uri))
    alone = frozenset({uri})
    facts.entity_units[uri] = facts.entity_units[chassis_uri(device)] = alone
    for name in _identifiers(device).get("Identifiers", ()):
        key = f"{name['DurableNameFormat']}:{name['DurableName']}".upper()
        facts.durable_units[key] = alone
    for way in found:
        own = alone if way.unit == uri else frozenset({way.unit})
        if way.unit != uri:
            facts.units.append(way.as_unit(fabric))
            facts.entity_units[way.unit] = own
        target = way.target
        if target is not None:
            facts.target_units[fabric, target] = way.unit
        for function in _functions_of(device, way, ports):
            facts.entity_units[function] = own
        if way.port is not None:
            port = port_uri(fabric, way.port)
            facts.port_units[port] = alone if way.head is None else own
            if way.head is not None:
                facts.ways.setdefault(uri, {})[port] = way.unit


def _functions_of(device: Device, way: Way, ports: Sequence[PortId]) -> list[str]:
    """Return the functions that mean this way, where others mean another one."""
    if way.ld is not None and (device.lds or has_heads(device, ports)):
        return [function_uri(device, way.ld.id)]
    if way.head is None:
        return []
    return [function_uri(device, head_function_id(way.head, each.id)) for each in functions(device)]


def _render_pcie_device(
    out: Rendering,
    device: Device,
    fabric: str,
    ports: Sequence[PortId],
    socket: Socket | None,
    shown: Shown,
) -> None:
    for function_id, function in shown:
        _render_function(out, device, function_id, function, ports)
    collection, name = own_uri(uris.FUNCTIONS, device.id), f"Functions of {device.name}"
    out.collection(collection, "PCIeFunction", name)
    cxl = cxl_properties(out, device, ports)
    uri, args = device_uri(device), (device, fabric, ports, socket, cxl)
    out.put_later(uri, "PCIeDevice", device.name, _device_properties, *args)


def _device_properties(
    device: Device,
    fabric: str,
    ports: Sequence[PortId],
    socket: Socket | None,
    cxl: Mapping[str, Any],
) -> dict[str, Any]:
    links: dict[str, Any] = {"Chassis": refs([chassis_uri(device)])}
    if ports:
        links["ConnectedPCIePorts"] = refs(port_uri(fabric, port) for port in ports)
    if device.kind in PROCESSOR_TYPES:
        links["Processors"] = refs([core_uri(device)])
    environment = core_environment(device)
    if environment != ref(own_uri(uris.DEVICE_ENVIRONMENT, device.id)):
        environment = None
    return {
        **who(device),
        **firmware(device.hardware),
        "UUID": None if device.hardware is None else device.hardware.uuid,
        "DeviceType": "MultiFunction" if _is_multi(device) else "SingleFunction",
        "Status": OK,
        "PCIeInterface": pcie_interface(device),
        "Slot": _slot(device, socket),
        "LocationIndicatorActive": None if device.hardware is None else False,
        "EnvironmentMetrics": environment,
        "PCIeFunctions": ref(own_uri(uris.FUNCTIONS, device.id)),
        "Links": links,
        **cxl,
    }


def _slot(device: Device, socket: Socket | None) -> dict[str, Any] | None:
    if device.hardware is None or socket is None:
        return None
    known = device.link.gen in PCIE_GENERATIONS
    return {
        "SlotType": device.hardware.slot_type,
        "Lanes": device.link.lanes,
        "LaneSplitting": "None",
        "HotPluggable": True,
        **({"PCIeType": f"Gen{device.link.gen}"} if known else {}),
        "Location": {
            "PartLocation": {"ServiceLabel": socket.label, "LocationType": "Slot"},
        },
    }


def _is_multi(device: Device) -> bool:
    return len(device.lds) > 1 or len(device.functions) > 1


def _render_function(
    out: Rendering,
    device: Device,
    function_id: str,
    function: Function,
    ports: Sequence[PortId],
) -> None:
    virtual = function.type is FunctionType.VIRTUAL
    out.put_later(
        function_uri(device, function_id),
        "PCIeFunction",
        f"{'Virtual function' if virtual else 'Function'} {function_id} of {device.name}",
        _function_properties,
        device,
        function_id,
        function,
        ports,
    )


def _function_properties(
    device: Device, function_id: str, function: Function, ports: Sequence[PortId]
) -> dict[str, Any]:
    links: dict[str, Any] = {"PCIeDevice": ref(device_uri(device))}
    links |= function_links(device, function_id, function)
    for ld in logical_devices(device, ports):
        if ld.id == function.id:
            links["CXLLogicalDevice"] = ref(ld_uri(device, ld.id))
            domain = domain_id(device, ld)
            if domain is not None:
                place = uris.DOMAIN.format(chassis=device.id, domain=domain)
                links["MemoryDomains"] = refs([place])
    return {
        "FunctionId": function.id,
        "FunctionType": function.type.value,
        "FunctionProtocol": "CXL" if speaks_cxl(device) else "PCIe",
        "DeviceClass": DEVICE_CLASSES[device.kind],
        **_pci_ids(device),
        "Status": OK,
        "Links": links,
    }


def _pci_ids(device: Device) -> dict[str, Any]:
    if device.hardware is None:
        return {}
    return pci_ids(device.hardware.pci)


def _first_functions(device: Device, shown: Shown) -> list[str]:
    """Return the function by which each port shows what the device is for."""
    if speaks_cxl(device):
        return [function_uri(device, shown[0][0])]
    first = shown[0][1]
    return [function_uri(device, function_id) for function_id, each in shown if each == first]


def entities(device: Device, way: Way, ports: Sequence[PortId]) -> Iterator[dict[str, Any]]:
    """Yield Endpoint.ConnectedEntities (role Target) of one way to have (a part of) the device."""
    if way.ld is not None:
        name = {"DurableName": gcxlid(device, way.ld.id), "DurableNameFormat": "GCXLID"}
        yield {**_entity("CXLDevice", ld_uri(device, way.ld.id)), "Identifiers": [name]}
        domain = domain_id(device, way.ld)
        if domain is not None and not pools_lds(device):
            chunk = uris.CHUNK.format(chassis=device.id, domain=domain, chunk=1)
            yield _entity("MemoryChunk", chunk)
    part = way.function is not None or has_heads(device, ports)
    # A name means one unit: only the first way to a device has that of the device.
    names = {} if part or way.within is not None else _identifiers(device)
    if way.ld is not None and (device.lds or part):
        # What serves the whole device would give the endpoint of a part all of it.
        return
    if part:
        own = function_uri(device, _own_function_id(device, way))
        yield _entity(ENTITY_TYPES[device.kind], own)
    elif device.kind in PROCESSOR_TYPES:
        yield {**_entity("Processor", core_uri(device)), **names}
    elif device.kind is DeviceKind.NVME:
        yield {**_entity("Drive", core_uri(device)), **names}
    elif way.ld is None:
        own = function_uri(device, _own_function_id(device, way))
        yield {**_entity(ENTITY_TYPES[device.kind], own), **names}


def _identifiers(device: Device) -> dict[str, Any]:
    """Return by which durable names a device is known, as ConnectedEntities have them."""
    if device.hardware is None:
        return {}
    uuid = {"DurableName": device.hardware.uuid, "DurableNameFormat": "UUID"}
    return {"Identifiers": [*(eui64(device.hardware.eui64) or ()), uuid]}


def _own_function_id(device: Device, way: Way) -> str:
    if way.function is not None:
        return str(way.function.id)
    first = functions(device)[0].id
    return str(first) if way.head is None else head_function_id(way.head, first)


def _entity(entity_type: str, link: str) -> dict[str, Any]:
    return {"EntityType": entity_type, "EntityRole": "Target", "EntityLink": ref(link)}
