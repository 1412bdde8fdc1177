"""What a device is for as Redfish: a processor, a drive with its storage, a network adapter.

Pure. Redfish: Processor.v1_22_0, Drive.v1_22_0, Storage.v1_21_0, StorageController.v1_11_0,
NetworkAdapter.v1_14_0, NetworkDeviceFunction.v1_11_1. No driver says how a drive wears, so that
nothing is shown of it. Processors in a
chassis have neither metrics nor ports of their own (no URI in 2025.4); those of the switch port
and of the chassis tell of them. What is in a drive's namespaces only its host knows.
"""

from collections.abc import Sequence
from typing import Any

from redfish_fm.fabric.equipment import DeviceHardware
from redfish_fm.fabric.model import Device, DeviceKind, Function, FunctionType
from redfish_fm.mapping import uris
from redfish_fm.mapping.device_chassis import core_environment
from redfish_fm.mapping.device_modules import module_uris
from redfish_fm.mapping.device_names import OK, PROCESSOR_TYPES
from redfish_fm.mapping.device_ways import chassis_uri, device_uri, function_uri, own_uri
from redfish_fm.mapping.host_scene import located
from redfish_fm.mapping.read import BYTES_PER_MIB
from redfish_fm.mapping.rendering import GT_PER_LANE, Rendering, ref, refs

PCIE_GENERATIONS = range(1, 7)
"""What PCIeDevice.PCIeTypes can say: Gen1 to Gen6."""
CONTROLLER = "1"
NETWORK_PORT = "1"
"""Ids of what each device has one of."""


Shown = Sequence[tuple[str, Function]]
"""Id and function of every PCIeFunction of a device."""


def core_uri(device: Device) -> str:
    """Return the URI of what stands for the device: its processor, drive or adapter, or itself."""
    if device.kind in PROCESSOR_TYPES:
        return own_uri(uris.CHASSIS_PROCESSOR, device.id)
    if device.kind is DeviceKind.NVME:
        return own_uri(uris.DRIVE, device.id)
    if device.kind is DeviceKind.NIC and _is_adapter(device):
        return uris.NETWORK_ADAPTER.format(chassis=device.id, adapter=device.id)
    return device_uri(device)


def storage_uri(device: Device) -> str:
    """Return the URI of the Storage that a drive is."""
    return uris.STORAGE.format(storage=device.id)


def controller_uri(device: Device) -> str:
    """Return the URI of the controller of a drive."""
    return uris.STORAGE_CONTROLLER.format(storage=device.id, controller=CONTROLLER)


def network_function_uri(device: Device, function_id: str) -> str:
    """Return the URI of the network function that a PCIe function is."""
    return uris.NETWORK_FUNCTION.format(chassis=device.id, adapter=device.id, function=function_id)


def pcie_interface(device: Device) -> dict[str, Any]:
    """Return PCIeInterface as far as it is known without looking."""
    known = device.link.gen in PCIE_GENERATIONS
    most = {"MaxPCIeType": f"Gen{device.link.gen}"} if known else {}
    return {**most, "MaxLanes": device.link.lanes}


def function_links(device: Device, function_id: str, function: Function) -> dict[str, Any]:
    """Return the links of a PCIeFunction to what it is a function of."""
    if device.kind in PROCESSOR_TYPES:
        return {"Processor": ref(core_uri(device))}
    if device.kind is DeviceKind.NVME:
        # StorageControllers means the controllers inside a Storage, which it no longer has.
        return {"Drives": refs([core_uri(device)])}
    if _is_adapter(device) and function.type is FunctionType.PHYSICAL:
        return {"NetworkDeviceFunctions": refs([network_function_uri(device, function_id)])}
    return {}


def render_core(
    out: Rendering, device: Device, shown: Shown, first: Sequence[str], multipath: bool
) -> dict[str, Any]:
    """Add what the device is for; return the chassis' properties, its Links among them.

    `first` are the URIs of the functions by which each port shows it.
    """
    if device.kind in PROCESSOR_TYPES:
        return _render_processor(out, device, first)
    if device.kind is DeviceKind.NVME:
        _render_storage(out, device, first)
        return _render_drive(out, device, first, multipath)
    if _is_adapter(device):
        return _render_adapter(out, device, shown)
    return {}


def _is_adapter(device: Device) -> bool:
    return device.kind is DeviceKind.NIC and device.hardware is not None


def who(device: Device) -> dict[str, Any]:
    """Return the properties that say which device it is."""
    hardware = device.hardware
    known = {} if hardware is None else {"PartNumber": hardware.part_number}
    return {
        "Manufacturer": device.manufacturer,
        "Model": device.model,
        "SerialNumber": device.serial_number,
        **known,
    }


def firmware(hardware: DeviceHardware | None) -> dict[str, Any]:
    """Return FirmwareVersion where it is known."""
    return {} if hardware is None else {"FirmwareVersion": hardware.firmware_version}


def _render_processor(out: Rendering, device: Device, first: Sequence[str]) -> dict[str, Any]:
    uri = core_uri(device)
    out.put_later(uri, "Processor", device.name, _processor_properties, device, first)
    place = own_uri(uris.CHASSIS_PROCESSORS, device.id)
    return {
        "Processors": out.collection(place, "Processor", f"Processors of {device.name}"),
        "Links": {"Processors": refs([uri])},
    }


def _processor_properties(device: Device, first: Sequence[str]) -> dict[str, Any]:
    hardware, modules = device.hardware, module_uris(device)
    memory: dict[str, Any] = {}
    more: dict[str, Any] = {}
    if device.capacity_mib:
        memory["TotalMemorySizeMiB"] = device.capacity_mib
    if hardware is not None and modules:
        memory["ECCModeEnabled"] = True
        more["ProcessorMemory"] = [
            {
                "IntegratedMemory": True,
                "MemoryType": module.kind,
                "CapacityMiB": module.capacity_mib,
                "SpeedMHz": module.speed_mts,
            }
            for module in hardware.modules
        ]
    if hardware is not None and hardware.draw is not None:
        more |= {"TDPWatts": hardware.draw.max_w, "MaxTDPWatts": hardware.draw.max_w}
    if hardware is not None:
        more |= {
            "UUID": hardware.uuid,
            "Enabled": True,
            "LocationIndicatorActive": False,
            "Location": located(device.id, "Slot", 0),
            "Replaceable": True,
            "SystemInterface": {"InterfaceType": "PCIe", "PCIe": pcie_interface(device)},
        }
    links: dict[str, Any] = {"PCIeFunctions": refs(first)}
    links["Chassis"] = ref(chassis_uri(device))
    links["PCIeDevice"] = ref(device_uri(device))
    if modules:
        links["Memory"] = refs(modules)
    return {
        "ProcessorType": PROCESSOR_TYPES[device.kind],
        **who(device),
        **firmware(hardware),
        "MemorySummary": memory or None,
        "EnvironmentMetrics": core_environment(device),
        **more,
        "Status": OK,
        "Links": links,
    }


def _render_drive(
    out: Rendering, device: Device, first: Sequence[str], multipath: bool
) -> dict[str, Any]:
    hardware, uri = device.hardware, core_uri(device)
    chassis = uris.CHASSIS.format(chassis=device.id)
    rate = GT_PER_LANE.get(device.link.gen)
    more: dict[str, Any] = {}
    if hardware is not None:
        more = {
            "DriveFormFactor": "U2",
            "BlockSizeBytes": 512,
            "HotspareType": "None",
            "EncryptionAbility": "None",
            "LocationIndicatorActive": False,
            "PhysicalLocation": located(device.id, "Bay", 0),
            "Identifiers": eui64(hardware.eui64),
        }
    out.put(
        uri,
        "Drive",
        device.name,
        **who(device),
        **firmware(hardware),
        MediaType="SSD",
        Protocol="NVMe",
        CapacityBytes=device.capacity_mib * BYTES_PER_MIB or None,
        CapableSpeedGbs=None if rate is None else rate * device.link.lanes,
        Multipath=multipath,
        EnvironmentMetrics=core_environment(device),
        **more,
        Status=OK,
        Links={
            "PCIeFunctions": refs(first),
            "Chassis": ref(chassis),
            "Storage": ref(storage_uri(device)),
        },
    )
    place = uris.DRIVES.format(chassis=device.id)
    return {
        "Drives": out.collection(place, "Drive", f"Drives of {device.name}"),
        "Links": {"Drives": refs([uri]), "Storage": refs([storage_uri(device)])},
    }


def eui64(number: str | None) -> list[dict[str, str]] | None:
    """Return Identifiers of what has an EUI-64 of 16 hexadecimal digits."""
    if number is None:
        return None
    octets = "-".join(number[at : at + 2] for at in range(0, 16, 2))
    return [{"DurableName": octets, "DurableNameFormat": "EUI"}]


def _render_storage(out: Rendering, device: Device, first: Sequence[str]) -> None:
    hardware, storage = device.hardware, storage_uri(device)
    rate = GT_PER_LANE.get(device.link.gen)
    for part in (storage, controller_uri(device)):
        out.facts.parts_of[part] = device_uri(device)
    out.put(
        controller_uri(device),
        "StorageController",
        f"Controller of {device.name}",
        **who(device),
        **firmware(hardware),
        SpeedGbps=None if rate is None else rate * device.link.lanes,
        SupportedControllerProtocols=["PCIe"],
        SupportedDeviceProtocols=["NVMe"],
        PCIeInterface=pcie_interface(device),
        NVMeControllerProperties={"ControllerType": "IO", "NVMeVersion": "2.0"},
        Identifiers=None if hardware is None else eui64(hardware.eui64),
        Location=located(device.id, "Embedded", 0),
        Status=OK,
        Links={"PCIeFunctions": refs(first)},
    )
    out.put(
        storage,
        "Storage",
        f"Storage of {device.name}",
        Controllers=out.collection(
            uris.STORAGE_CONTROLLERS.format(storage=device.id),
            "StorageController",
            f"Controllers of {device.name}",
        ),
        Drives=refs([core_uri(device)]),
        Identifiers=None if hardware is None else eui64(hardware.eui64),
        Status=OK,
        Links={"Enclosures": refs([uris.CHASSIS.format(chassis=device.id)])},
    )


def _render_adapter(out: Rendering, device: Device, shown: Shown) -> dict[str, Any]:
    hardware = device.hardware
    if hardware is None:
        return {}
    physical = [(id_, each) for id_, each in shown if each.type is FunctionType.PHYSICAL]
    functions = [network_function_uri(device, function_id) for function_id, _ in physical]
    place = {"chassis": device.id, "adapter": device.id}
    port = uris.NETWORK_PORT.format(**place, port=NETWORK_PORT)
    for number, (function_id, _) in enumerate(physical):
        _put_network_function(out, device, hardware, function_id, number, port)
    _put_network_port(out, device, hardware, port)
    out.put(
        core_uri(device),
        "NetworkAdapter",
        device.name,
        **who(device),
        LLDPEnabled=False,
        Identifiers=[{"DurableName": hardware.uuid, "DurableNameFormat": "UUID"}],
        Location=located(device.id, "Slot", 0),
        Ports=out.collection(
            uris.NETWORK_PORTS.format(**place), "Port", f"Network ports of {device.name}"
        ),
        NetworkDeviceFunctions=out.collection(
            uris.NETWORK_FUNCTIONS.format(**place),
            "NetworkDeviceFunction",
            f"Network functions of {device.name}",
        ),
        EnvironmentMetrics=core_environment(device),
        Controllers=[_network_controller(device, hardware, port, functions, len(shown))],
        Status=OK,
    )
    collection = uris.NETWORK_ADAPTERS.format(chassis=device.id)
    name = f"Network adapters of {device.name}"
    return {"NetworkAdapters": out.collection(collection, "NetworkAdapter", name)}


def _network_controller(
    device: Device, hardware: DeviceHardware, port: str, functions: Sequence[str], shown: int
) -> dict[str, Any]:
    virtual = shown - len(functions)
    return {
        "FirmwarePackageVersion": hardware.firmware_version,
        "Location": located("NIC", "Embedded", 0),
        "PCIeInterface": pcie_interface(device),
        "ControllerCapabilities": {
            "NetworkPortCount": 1,
            "NetworkDeviceFunctionCount": len(functions),
            "DataCenterBridging": {"Capable": False},
            "NPAR": {"NparCapable": False, "NparEnabled": False},
            "VirtualizationOffload": {
                "SRIOV": {"SRIOVEnabled": virtual > 0, "SRIOVVEPACapable": False},
                "VirtualFunction": {"DeviceMaxCount": virtual},
            },
        },
        "Links": {
            "PCIeDevices": refs([device_uri(device)]),
            "Ports": refs([port]),
            "NetworkDeviceFunctions": refs(functions),
        },
    }


def _put_network_function(
    out: Rendering,
    device: Device,
    hardware: DeviceHardware,
    function_id: str,
    number: int,
    port: str,
) -> None:
    mac = hardware.macs[number] if number < len(hardware.macs) else None
    ethernet = {"MACAddress": mac, "PermanentMACAddress": mac} if mac else {}
    out.put(
        network_function_uri(device, function_id),
        "NetworkDeviceFunction",
        f"Network function {function_id} of {device.name}",
        NetDevFuncType="Ethernet",
        NetDevFuncCapabilities=["Ethernet"],
        DeviceEnabled=True,
        BootMode="Disabled",
        Ethernet={**ethernet, "MTUSize": 1500, "MTUSizeMaximum": 9000},
        AssignablePhysicalNetworkPorts=refs([port]),
        Status=OK,
        Links={
            "PCIeFunction": ref(function_uri(device, function_id)),
            "PhysicalNetworkPortAssignment": ref(port),
        },
    )


def _put_network_port(out: Rendering, device: Device, hardware: DeviceHardware, uri: str) -> None:
    out.put(
        uri,
        "Port",
        f"Network port of {device.name}",
        PortId=NETWORK_PORT,
        PortProtocol="Ethernet",
        PortType="BidirectionalPort",
        PortMedium="Optical",
        LinkNetworkTechnology="Ethernet",
        LinkState="Enabled",
        InterfaceEnabled=True,
        LocationIndicatorActive=False,
        MaxSpeedGbps=hardware.network_gbps,
        MaxFrameSize=9018,
        Ethernet={"AssociatedMACAddresses": list(hardware.macs)},
        Location=located("P1", "Connector", 0),
        Status=OK,
    )
