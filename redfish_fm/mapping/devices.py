"""Devices behind switch ports as Redfish: one module chassis each, with what is inside.

Pure. Redfish: Chassis, PCIeDevice, PCIeFunction, Processor, Drive; and the ConnectedEntities of
the endpoints that stand for them. Memory is next door, and so is what can be bound (`ways`).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from redfish_fm.fabric.model import Device, DeviceKind, Function, FunctionType, PortId
from redfish_fm.fabric.values import Binder
from redfish_fm.mapping import uris
from redfish_fm.mapping.device_memory import cxl_properties, domain_id, render_memory
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
    device_uri,
    function_uri,
    functions,
    has_heads,
    head_function_id,
    ld_uri,
    logical_devices,
    pools_lds,
    shown_functions,
    ways,
    whole_unit,
)
from redfish_fm.mapping.rendering import Rendering, ref, refs

PCIE_GENERATIONS = range(1, 7)
"""What PCIeDevice.PCIeTypes can say: Gen1 to Gen6."""
BYTES_PER_MIB = 1 << 20


def render_device(
    out: Rendering, device: Device, fabric: str, binder: Binder, ports: Sequence[PortId]
) -> None:
    """Add one device with everything in it; `ports` are where it is plugged in, by head."""
    found = list(ways(device, ports, binder))
    _put_units(out, device, fabric, binder, ports, found)
    chassis = uris.CHASSIS.format(chassis=device.id)
    _render_pcie_device(out, device, fabric, ports)
    out.put(
        chassis,
        "Chassis",
        f"Module of {device.name}",
        ChassisType="Module",
        Manufacturer=device.manufacturer,
        Model=device.model,
        SerialNumber=device.serial_number,
        PowerState="On",
        Status=OK,
        PCIeDevices=out.collection(
            uris.DEVICES.format(chassis=device.id), "PCIeDevice", f"PCIe devices of {device.name}"
        ),
        **render_memory(out, device, fabric, ports),
        **_render_core(out, device, ports),
    )


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
    for place in (uri, uris.CHASSIS.format(chassis=device.id)):
        facts.entity_units[place] = frozenset({uri})
    for way in found:
        if way.unit != uri:
            facts.units.append(way.as_unit(fabric))
            facts.entity_units[way.unit] = frozenset({way.unit})
        target = way.target
        if target is not None:
            facts.target_units[fabric, target] = way.unit
        for function in _functions_of(device, way, ports):
            facts.entity_units[function] = frozenset({way.unit})
        if way.port is not None:
            port = uris.PORT.format(fabric=fabric, switch=way.port.switch, port=way.port.port)
            alone = way.head is None
            facts.port_units[port] = frozenset({uri if alone else way.unit})
            if not alone:
                facts.ways.setdefault(uri, {})[port] = way.unit


def _functions_of(device: Device, way: Way, ports: Sequence[PortId]) -> list[str]:
    """Return the functions that mean this way, where others mean another one."""
    if way.ld is not None and (device.lds or has_heads(device, ports)):
        return [function_uri(device, way.ld.id)]
    if way.head is None:
        return []
    return [function_uri(device, head_function_id(way.head, each.id)) for each in functions(device)]


def _render_pcie_device(
    out: Rendering, device: Device, fabric: str, ports: Sequence[PortId]
) -> None:
    collection = uris.FUNCTIONS.format(chassis=device.id, device=device.id)
    known = device.link.gen in PCIE_GENERATIONS
    links: dict[str, Any] = {"Chassis": refs([uris.CHASSIS.format(chassis=device.id)])}
    if ports:
        links["ConnectedPCIePorts"] = refs(
            uris.PORT.format(fabric=fabric, switch=port.switch, port=port.port) for port in ports
        )
    shown = shown_functions(device, ports)
    for function_id, function in shown:
        _render_function(out, device, function_id, function, ports)
    out.put(
        device_uri(device),
        "PCIeDevice",
        device.name,
        Manufacturer=device.manufacturer,
        Model=device.model,
        SerialNumber=device.serial_number,
        DeviceType="MultiFunction" if _is_multi(device) else "SingleFunction",
        Status=OK,
        PCIeInterface={
            **({"MaxPCIeType": f"Gen{device.link.gen}"} if known else {}),
            "MaxLanes": device.link.lanes,
        },
        PCIeFunctions=out.collection(collection, "PCIeFunction", f"Functions of {device.name}"),
        Links=links,
        **cxl_properties(out, device, ports),
    )


def _is_multi(device: Device) -> bool:
    return len(device.lds) > 1 or len(device.functions) > 1


def _render_function(
    out: Rendering,
    device: Device,
    function_id: str,
    function: Function,
    ports: Sequence[PortId],
) -> None:
    links: dict[str, Any] = {"PCIeDevice": ref(device_uri(device))}
    for ld in logical_devices(device, ports):
        if ld.id == function.id:
            links["CXLLogicalDevice"] = ref(ld_uri(device, ld.id))
            domain = domain_id(device, ld)
            if domain is not None:
                place = uris.DOMAIN.format(chassis=device.id, domain=domain)
                links["MemoryDomains"] = refs([place])
    virtual = function.type is FunctionType.VIRTUAL
    out.put(
        function_uri(device, function_id),
        "PCIeFunction",
        f"{'Virtual function' if virtual else 'Function'} {function_id} of {device.name}",
        FunctionId=function.id,
        FunctionType=function.type.value,
        FunctionProtocol="CXL" if speaks_cxl(device) else "PCIe",
        DeviceClass=DEVICE_CLASSES[device.kind],
        Status=OK,
        Links=links,
    )


def _render_core(out: Rendering, device: Device, ports: Sequence[PortId]) -> dict[str, Any]:
    """Add what the device is for (processor or drive); return the chassis' links to it."""
    links = {"PCIeFunctions": refs(_first_functions(device, ports))}
    if device.kind in PROCESSOR_TYPES:
        out.put(
            uris.CHASSIS_PROCESSOR.format(chassis=device.id, processor=device.id),
            "Processor",
            device.name,
            ProcessorType=PROCESSOR_TYPES[device.kind],
            Manufacturer=device.manufacturer,
            Model=device.model,
            SerialNumber=device.serial_number,
            MemorySummary={"TotalMemorySizeMiB": device.capacity_mib}
            if device.capacity_mib
            else None,
            Status=OK,
            Links=links,
        )
        place = uris.CHASSIS_PROCESSORS.format(chassis=device.id)
        return {"Processors": out.collection(place, "Processor", f"Processors of {device.name}")}
    if device.kind is DeviceKind.NVME:
        out.put(
            uris.DRIVE.format(chassis=device.id, drive=device.id),
            "Drive",
            device.name,
            Manufacturer=device.manufacturer,
            Model=device.model,
            SerialNumber=device.serial_number,
            MediaType="SSD",
            Protocol="NVMe",
            CapacityBytes=device.capacity_mib * BYTES_PER_MIB or None,
            Status=OK,
            Links=links,
        )
        place = uris.DRIVES.format(chassis=device.id)
        return {"Drives": out.collection(place, "Drive", f"Drives of {device.name}")}
    return {}


def _first_functions(device: Device, ports: Sequence[PortId]) -> list[str]:
    """Return the function by which each port shows what the device is for."""
    shown = shown_functions(device, ports)
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
    if way.ld is not None and (device.lds or part):
        # What serves the whole device would give the endpoint of a part all of it.
        return
    if part:
        own = function_uri(device, _own_function_id(device, way))
        yield _entity(ENTITY_TYPES[device.kind], own)
    elif device.kind in PROCESSOR_TYPES:
        place = uris.CHASSIS_PROCESSOR.format(chassis=device.id, processor=device.id)
        yield _entity("Processor", place)
    elif device.kind is DeviceKind.NVME:
        yield _entity("Drive", uris.DRIVE.format(chassis=device.id, drive=device.id))
    elif way.ld is None:
        own = function_uri(device, _own_function_id(device, way))
        yield _entity(ENTITY_TYPES[device.kind], own)


def _own_function_id(device: Device, way: Way) -> str:
    if way.function is not None:
        return str(way.function.id)
    first = functions(device)[0].id
    return str(first) if way.head is None else head_function_id(way.head, first)


def _entity(entity_type: str, link: str) -> dict[str, Any]:
    return {"EntityType": entity_type, "EntityRole": "Target", "EntityLink": ref(link)}
