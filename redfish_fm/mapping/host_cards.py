"""What is plugged into a host's own PCIe slots: boot drive, Ethernet adapter, fabric cards.

Pure. Redfish: PCIeDevice.v1_21_0, PCIeFunction.v1_7_0, FabricAdapter.v1_5_3. A fabric card only
passes on the lanes of root ports (a retimer): it has no function of its own. What a fabric lends
to the host stands in other chassis.
"""

from typing import Any

from redfish_fm.fabric.hardware import FabricCard, Part, PciIds
from redfish_fm.mapping import uris
from redfish_fm.mapping.host_network import GEN, LANES
from redfish_fm.mapping.host_scene import (
    DRIVE,
    NETWORK_ADAPTER,
    HostScene,
    card_id,
    identity,
    located,
    pci_ids,
)
from redfish_fm.mapping.host_storage import pcie_interface
from redfish_fm.mapping.rendering import Rendering, ref, refs


def render_cards(out: Rendering, scene: HostScene) -> None:
    """Add every PCIe device of the host with its functions, and the adapters of its fabrics."""
    _render_drive(out, scene)
    _render_network(out, scene)
    for number, card in enumerate(scene.hardware.fabric_cards, start=1):
        _render_fabric_card(out, scene, number, card)
        _render_adapter(out, scene, number, card)


def pcie_devices(scene: HostScene) -> list[str]:
    """Return the URIs of the host's own PCIe devices."""
    cards = [card_id(card.fabric) for card in scene.hardware.fabric_cards]
    return [scene.pcie_device(each) for each in (DRIVE, NETWORK_ADAPTER, *cards)]


def pcie_functions(scene: HostScene) -> list[str]:
    """Return the URIs of the functions of the host's own PCIe devices."""
    ports = [scene.pcie_function(NETWORK_ADAPTER, n - 1) for n in scene.network_ports]
    return [scene.pcie_function(DRIVE), *ports]


def _render_drive(out: Rendering, scene: HostScene) -> None:
    drive = scene.hardware.drive
    interface = pcie_interface(4, 4, scene.powered)
    slot = _slot("M.2 slot 1", 0, "M2", 4, 4)
    _put_device(out, scene, DRIVE, drive.part, drive.firmware_version, interface, slot, 1)
    # StorageControllers means the controllers inside a Storage, which it no longer has.
    links = {"Drives": refs([scene.drive])}
    _put_function(out, scene, DRIVE, 0, "MassStorageController", drive.pci, links)


def _render_network(out: Rendering, scene: HostScene) -> None:
    card = scene.hardware.network
    interface = pcie_interface(GEN, LANES, scene.powered)
    slot = _slot("OCP slot", 0, "OCP3Small", GEN, LANES)
    count = len(card.macs)
    _put_device(
        out, scene, NETWORK_ADAPTER, card.part, card.firmware_version, interface, slot, count
    )
    for number in scene.network_ports:
        links = {
            "NetworkDeviceFunctions": refs([scene.network_function(number)]),
            "EthernetInterfaces": refs([scene.ethernet(number)]),
        }
        _put_function(out, scene, NETWORK_ADAPTER, number - 1, "NetworkController", card.pci, links)


def _render_fabric_card(out: Rendering, scene: HostScene, number: int, card: FabricCard) -> None:
    interface = pcie_interface(5, 16, scene.powered)
    slot = _slot(f"Slot {number}", number, "FullLength", 5, 16)
    device = card_id(card.fabric)
    _put_device(out, scene, device, card.part, card.firmware_version, interface, slot, 0)


def _put_device(
    out: Rendering,
    scene: HostScene,
    device: str,
    part: Part,
    firmware: str,
    interface: dict[str, Any],
    slot: dict[str, Any],
    function_count: int,
) -> None:
    collection = uris.FUNCTIONS.format(chassis=scene.id, device=device)
    kinds = {0: "Retimer", 1: "SingleFunction"}
    name = f"{part.model} of {scene.name}"
    out.put(
        scene.pcie_device(device),
        "PCIeDevice",
        name,
        **identity(part),
        FirmwareVersion=firmware,
        DeviceType=kinds.get(function_count, "MultiFunction"),
        PCIeInterface=interface,
        Slot=slot,
        Status=scene.status,
        PCIeFunctions=out.collection(collection, "PCIeFunction", f"Functions of {name}")
        if function_count
        else None,
        Links={
            "Chassis": refs([scene.chassis]),
            "Processors": refs([scene.processor(1)]),
        },
    )


def _put_function(
    out: Rendering,
    scene: HostScene,
    device: str,
    number: int,
    device_class: str,
    pci: PciIds,
    links: dict[str, Any],
) -> None:
    out.put(
        scene.pcie_function(device, number),
        "PCIeFunction",
        f"Function {number} of {device} of {scene.name}",
        FunctionId=number,
        FunctionType="Physical",
        FunctionProtocol="PCIe",
        DeviceClass=device_class,
        **pci_ids(pci),
        Status=scene.status,
        Links={"PCIeDevice": ref(scene.pcie_device(device)), **links},
    )


def _slot(label: str, ordinal: int, kind: str, gen: int, lanes: int) -> dict[str, Any]:
    return {
        "SlotType": kind,
        "PCIeType": f"Gen{gen}",
        "Lanes": lanes,
        "HotPluggable": False,
        "Location": located(label, "Slot", ordinal),
    }


def _render_adapter(out: Rendering, scene: HostScene, number: int, card: FabricCard) -> None:
    place = {"system": scene.id, "adapter": card.fabric}
    name = f"Card of {scene.name} for {card.fabric}"
    out.put(
        uris.FABRIC_ADAPTER.format(**place),
        "FabricAdapter",
        name,
        **identity(card.part),
        FirmwareVersion=card.firmware_version,
        FabricType=card.protocol,
        FabricTypeCapabilities=[card.protocol],
        PCIeInterface=pcie_interface(5, 16, scene.powered),
        Ports=out.collection(uris.FABRIC_ADAPTER_PORTS.format(**place), "Port", f"Ports: {name}"),
        Location=located(f"Slot {number}", "Slot", number),
        Status=scene.status,
        Links={
            "PCIeDevices": refs([scene.pcie_device(card_id(card.fabric))]),
            "Processors": refs([scene.processor(1)]),
        },
    )
