"""Devices behind switch ports as Redfish: one module chassis each, with what is inside.

Pure. Redfish: Chassis, PCIeDevice, PCIeFunction, CXLLogicalDevice, MemoryDomain, MemoryChunks,
Processor, Drive. The unit a driver binds is the PCIeDevice, or each CXLLogicalDevice of an MLD;
its id is the URI of that resource.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

from redfish_fm.fabric.model import (
    Attachment,
    BindTarget,
    Device,
    DeviceKind,
    LogicalDevice,
    PortId,
)
from redfish_fm.fabric.values import Binder, Chunk, Unit
from redfish_fm.mapping import uris
from redfish_fm.mapping.rendering import Rendering, ref, refs

PROCESSOR_TYPES = {DeviceKind.GPU: "GPU", DeviceKind.FPGA: "FPGA"}
CXL_TYPES = {
    DeviceKind.MEMORY: "Type3",
    DeviceKind.GPU: "Type2",
    DeviceKind.FPGA: "Type2",
    DeviceKind.NIC: "Type1",
    DeviceKind.NVME: "Type3",
}
"""DeviceKind -> PCIeDevice.CXLDevice.DeviceType for devices that speak CXL."""
SEMANTICS = {
    "Type1": ["CXLio", "CXLcache"],
    "Type2": ["CXLio", "CXLcache", "CXLmem"],
    "Type3": ["CXLio", "CXLmem"],
}
DEVICE_CLASSES = {
    DeviceKind.GPU: "ProcessingAccelerators",
    DeviceKind.FPGA: "ProcessingAccelerators",
    DeviceKind.NVME: "MassStorageController",
    DeviceKind.MEMORY: "MemoryController",
    DeviceKind.NIC: "NetworkController",
}
_OK = {"State": "Enabled", "Health": "OK"}
PCIE_GENERATIONS = range(1, 7)
"""What PCIeDevice.PCIeTypes can say: Gen1 to Gen6."""
BYTES_PER_MIB = 1 << 20


def device_uri(device: Device) -> str:
    """Return the URI of the device's PCIeDevice."""
    return uris.DEVICE.format(chassis=device.id, device=device.id)


def ld_uri(device: Device, ld: int) -> str:
    """Return the URI of one CXLLogicalDevice."""
    return uris.LD.format(chassis=device.id, device=device.id, ld=ld)


def logical_devices(device: Device) -> tuple[LogicalDevice, ...]:
    """Return the device's LDs: an SLD is shown as its one LD 0, a PCIe device has none."""
    if device.attachment is Attachment.SLD:
        return (LogicalDevice(0, device.capacity_mib),)
    return device.lds if device.attachment is Attachment.MLD else ()


def gcxlid(device: Device, ld: int) -> str:
    """Return a GCXLID durable name made from the serial number: the same at every start."""
    digest = hashlib.blake2b(f"{device.id} {device.serial_number}".encode(), digest_size=8)
    return f"{digest.digest().hex('-').upper()}:{ld:04X}"


def render_device(
    out: Rendering, device: Device, fabric: str, binder: Binder, port: PortId | None
) -> None:
    """Add one device with everything in it; `port` is where it is plugged, None if nowhere."""
    _put_units(out, device, fabric, binder, port)
    chassis = uris.CHASSIS.format(chassis=device.id)
    lds = logical_devices(device)
    places: dict[str, Any] = {
        "PCIeDevices": out.collection(
            uris.DEVICES.format(chassis=device.id), "PCIeDevice", f"PCIe devices of {device.name}"
        )
    }
    _render_pcie_device(out, device, port, fabric)
    if _has_memory(device):
        places["MemoryDomains"] = out.collection(
            uris.DOMAINS.format(chassis=device.id), "MemoryDomain", f"Memory of {device.name}"
        )
        for ld in lds:
            _render_domain(out, device, ld)
    for ld in lds:
        _render_ld(out, device, ld)
    places.update(_render_core(out, device))
    out.put(
        chassis,
        "Chassis",
        f"Module of {device.name}",
        ChassisType="Module",
        Manufacturer=device.manufacturer,
        Model=device.model,
        SerialNumber=device.serial_number,
        PowerState="On",
        Status=_OK,
        **places,
    )


def _has_memory(device: Device) -> bool:
    return device.kind is DeviceKind.MEMORY and device.attachment is not Attachment.PCIE


def _put_units(
    out: Rendering, device: Device, fabric: str, binder: Binder, port: PortId | None
) -> None:
    facts, uri = out.facts, device_uri(device)
    mld = device.attachment is Attachment.MLD
    whole = None if port is None or mld else BindTarget(port.switch, port.port)
    # Nobody binds an MLD as a whole: it is a unit only because its LDs lie within it.
    own = Binder.NOTHING if mld else binder
    facts.units.append(Unit(uri, fabric, own, target=whole))
    facts.entity_units[uri] = facts.entity_units[uris.CHASSIS.format(chassis=device.id)] = (
        frozenset({uri})
    )
    if whole is not None:
        facts.target_units[fabric, whole] = uri
    for ld in device.lds if mld else ():
        _put_ld_unit(out, device, fabric, binder, port, ld)


def _put_ld_unit(
    out: Rendering,
    device: Device,
    fabric: str,
    binder: Binder,
    port: PortId | None,
    ld: LogicalDevice,
) -> None:
    facts, uri = out.facts, ld_uri(device, ld.id)
    target = None if port is None else BindTarget(port.switch, port.port, ld.id)
    own = Binder.CONNECTION if binder is Binder.ZONE else binder
    facts.units.append(Unit(uri, fabric, own, target=target, within=device_uri(device)))
    facts.durable_units[f"GCXLID:{gcxlid(device, ld.id)}".upper()] = frozenset({uri})
    domain = uris.DOMAIN.format(chassis=device.id, domain=ld.id)
    function = uris.FUNCTION.format(chassis=device.id, device=device.id, function=ld.id)
    for place in (uri, domain, function):
        facts.entity_units[place] = frozenset({uri})
    if target is not None:
        facts.target_units[fabric, target] = uri


def _render_pcie_device(out: Rendering, device: Device, port: PortId | None, fabric: str) -> None:
    functions = uris.FUNCTIONS.format(chassis=device.id, device=device.id)
    cxl = _cxl_properties(out, device)
    known = device.link.gen in PCIE_GENERATIONS
    links: dict[str, Any] = {"Chassis": refs([uris.CHASSIS.format(chassis=device.id)])}
    if port is not None:
        place = uris.PORT.format(fabric=fabric, switch=port.switch, port=port.port)
        links["ConnectedPCIePorts"] = refs([place])
    out.put(
        device_uri(device),
        "PCIeDevice",
        device.name,
        Manufacturer=device.manufacturer,
        Model=device.model,
        SerialNumber=device.serial_number,
        DeviceType="MultiFunction" if len(device.lds) > 1 else "SingleFunction",
        Status=_OK,
        PCIeInterface={
            **({"MaxPCIeType": f"Gen{device.link.gen}"} if known else {}),
            "MaxLanes": device.link.lanes,
        },
        PCIeFunctions=out.collection(functions, "PCIeFunction", f"Functions of {device.name}"),
        Links=links,
        **cxl,
    )
    for number in [ld.id for ld in logical_devices(device)] or [0]:
        _render_function(out, device, number)


def _cxl_properties(out: Rendering, device: Device) -> dict[str, Any]:
    if device.attachment is Attachment.PCIE:
        return {}
    lds = uris.LDS.format(chassis=device.id, device=device.id)
    return {
        "CXLDevice": {
            "DeviceType": CXL_TYPES[device.kind],
            "MaxNumberLogicalDevices": len(logical_devices(device)),
        },
        "CXLLogicalDevices": out.collection(
            lds, "CXLLogicalDevice", f"Logical devices of {device.name}"
        ),
    }


def _render_function(out: Rendering, device: Device, number: int) -> None:
    links: dict[str, Any] = {"PCIeDevice": ref(device_uri(device))}
    cxl = device.attachment is not Attachment.PCIE
    if cxl:
        links["CXLLogicalDevice"] = ref(ld_uri(device, number))
    if _has_memory(device):
        domain = uris.DOMAIN.format(chassis=device.id, domain=number)
        links["MemoryDomains"] = refs([domain])
    out.put(
        uris.FUNCTION.format(chassis=device.id, device=device.id, function=number),
        "PCIeFunction",
        f"Function {number} of {device.name}",
        FunctionId=number,
        FunctionType="Physical",
        FunctionProtocol="CXL" if cxl else "PCIe",
        DeviceClass=DEVICE_CLASSES[device.kind],
        Status=_OK,
        Links=links,
    )


def _render_ld(out: Rendering, device: Device, ld: LogicalDevice) -> None:
    place = {"chassis": device.id, "device": device.id}
    function = uris.FUNCTION.format(**place, function=ld.id)
    links: dict[str, Any] = {"PCIeFunctions": refs([function])}
    if _has_memory(device):
        inside = {"chassis": device.id, "domain": ld.id}
        links["MemoryDomains"] = refs([uris.DOMAIN.format(**inside)])
        links["MemoryChunks"] = refs([uris.CHUNK.format(**inside, chunk=1)])
    out.put(
        ld_uri(device, ld.id),
        "CXLLogicalDevice",
        f"LD {ld.id} of {device.name}",
        Identifiers=[{"DurableName": gcxlid(device, ld.id), "DurableNameFormat": "GCXLID"}],
        MemorySizeMiB=ld.capacity_mib or None,
        SemanticsSupported=SEMANTICS[CXL_TYPES[device.kind]],
        Status=_OK,
        Links=links,
    )


def _render_domain(out: Rendering, device: Device, ld: LogicalDevice) -> None:
    inside = {"chassis": device.id, "domain": ld.id}
    place, links = uris.DOMAIN.format(**inside), refs([ld_uri(device, ld.id)])
    chunk = uris.CHUNK.format(**inside, chunk=1)
    name = f"LD {ld.id} of {device.name}"
    out.put(
        place,
        "MemoryDomain",
        f"Memory of {name}",
        AllowsMemoryChunkCreation=False,
        MemorySizeMiB=ld.capacity_mib,
        MemoryChunks=out.collection(
            uris.CHUNKS.format(**inside), "MemoryChunks", f"Memory chunks of {name}"
        ),
        Status=_OK,
        Links={"CXLLogicalDevices": links},
    )
    out.put(
        chunk,
        "MemoryChunks",
        f"All memory of {name}",
        AddressRangeType="Volatile",
        AddressRangeOffsetMiB=0,
        MemoryChunkSizeMiB=ld.capacity_mib,
        MediaLocation="Local",
        Status=_OK,
        Links={"CXLLogicalDevices": refs([ld_uri(device, ld.id)])},
    )
    mld = device.attachment is Attachment.MLD
    unit = ld_uri(device, ld.id) if mld else device_uri(device)
    out.facts.chunks.append(Chunk(chunk, unit, 0, ld.capacity_mib))


def _render_core(out: Rendering, device: Device) -> dict[str, Any]:
    """Add what the device is for (processor or drive); return the chassis' links to it."""
    function = uris.FUNCTION.format(chassis=device.id, device=device.id, function=0)
    links = {"PCIeFunctions": refs([function])}
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
            Status=_OK,
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
            Status=_OK,
            Links=links,
        )
        place = uris.DRIVES.format(chassis=device.id)
        return {"Drives": out.collection(place, "Drive", f"Drives of {device.name}")}
    return {}


def entities(device: Device, ld: LogicalDevice | None) -> Iterator[dict[str, Any]]:
    """Yield Endpoint.ConnectedEntities of the device, or of one LD of it (role Target)."""
    if ld is not None:
        name = {"DurableName": gcxlid(device, ld.id), "DurableNameFormat": "GCXLID"}
        yield {**_entity("CXLDevice", ld_uri(device, ld.id)), "Identifiers": [name]}
        if _has_memory(device):
            chunk = uris.CHUNK.format(chassis=device.id, domain=ld.id, chunk=1)
            yield _entity("MemoryChunk", chunk)
        if device.attachment is Attachment.MLD:
            # What serves the whole device would give each LD's endpoint all of it.
            return
    if device.kind in PROCESSOR_TYPES:
        place = uris.CHASSIS_PROCESSOR.format(chassis=device.id, processor=device.id)
        yield _entity("Processor", place)
    elif device.kind is DeviceKind.NVME:
        yield _entity("Drive", uris.DRIVE.format(chassis=device.id, drive=device.id))
    elif ld is None:
        function = uris.FUNCTION.format(chassis=device.id, device=device.id, function=0)
        kind = "NetworkController" if device.kind is DeviceKind.NIC else "MediaController"
        yield _entity(kind, function)


def _entity(entity_type: str, link: str) -> dict[str, Any]:
    return {"EntityType": entity_type, "EntityRole": "Target", "EntityLink": ref(link)}
