"""One host while it is rendered: where its parts stand, what they read, whether it has power.

Pure. Every `host_*` module renders one kind of part out of this; none knows another one's URIs
but through it.
"""

from dataclasses import dataclass
from typing import Any

from redfish_fm.fabric.hardware import HostHardware, MemoryModule, Part, PciIds
from redfish_fm.fabric.model import Host
from redfish_fm.mapping import uris
from redfish_fm.mapping.chassis_sensors import excerpt
from redfish_fm.mapping.device_names import OK
from redfish_fm.mapping.host_readings import HostReadings

OFF = {"State": "StandbyOffline", "Health": "OK"}
"""Status of what is sound and has no power."""

NETWORK_ADAPTER = "NIC1"
DRIVE = "Disk1"
STORAGE = "1"
CONTROLLER = "1"
VOLUME = "1"
"""Ids of what each host has one of."""


def status(powered: bool) -> dict[str, str]:
    """Return the Status of a sound part."""
    return OK if powered else OFF


def system_uri(host_id: str) -> str:
    """Return the URI of a host's ComputerSystem, which is the host's id everywhere in mapping."""
    return uris.SYSTEM.format(system=host_id)


def chassis_uri(host_id: str) -> str:
    """Return the URI of the chassis that a host is built into."""
    return uris.CHASSIS.format(chassis=host_id)


def manager_id(host_id: str) -> str:
    """Return the Id of a host's BMC among the managers."""
    return f"{host_id}-bmc"


def manager_uri(host_id: str) -> str:
    """Return the URI of a host's BMC."""
    return uris.MANAGER.format(manager=manager_id(host_id))


def identity(part: Part) -> dict[str, Any]:
    """Return the properties that say which part it is."""
    return {
        "Manufacturer": part.manufacturer,
        "Model": part.model,
        "PartNumber": part.part_number,
        "SerialNumber": part.serial_number,
    }


def pci_ids(pci: PciIds) -> dict[str, Any]:
    """Return the properties of a PCIeFunction that its configuration space says."""
    return {
        "VendorId": f"0x{pci.vendor:04X}",
        "DeviceId": f"0x{pci.device:04X}",
        "SubsystemVendorId": f"0x{pci.vendor:04X}",
        "SubsystemId": f"0x{pci.device:04X}",
        "ClassCode": f"0x{pci.class_code:06X}",
        "RevisionId": f"0x{pci.revision:02X}",
        "Enabled": True,
    }


def located(label: str, kind: str, ordinal: int, **more: str) -> dict[str, Any]:
    """Return a Location: what is written there, Resource.LocationType, which one, from 0."""
    return {
        "PartLocation": {
            "ServiceLabel": label,
            "LocationType": kind,
            "LocationOrdinalValue": ordinal,
            **more,
        }
    }


@dataclass(frozen=True, slots=True)
class HostScene:
    """A host of which everything is known, in one state."""

    host: Host
    hardware: HostHardware
    readings: HostReadings
    powered: bool

    @property
    def id(self) -> str:
        """Return the id of the host, its system and its chassis."""
        return self.host.id

    @property
    def name(self) -> str:
        """Return the name of the host."""
        return self.host.name

    @property
    def status(self) -> dict[str, str]:
        """Return the Status of a part that has power when the host has."""
        return status(self.powered)

    @property
    def system(self) -> str:
        """Return the URI of the ComputerSystem."""
        return system_uri(self.id)

    @property
    def chassis(self) -> str:
        """Return the URI of the chassis."""
        return chassis_uri(self.id)

    @property
    def processors(self) -> list[str]:
        """Return the URIs of all CPUs."""
        return [self.processor(each.socket) for each in self.hardware.processors]

    def processor(self, socket: int) -> str:
        """Return the URI of the CPU in a socket."""
        return uris.PROCESSOR.format(system=self.id, processor=f"CPU{socket}")

    def module(self, module: MemoryModule) -> str:
        """Return the URI of a DIMM."""
        return uris.HOST_MODULE.format(system=self.id, module=module.label)

    def modules(self, socket: int | None = None) -> list[str]:
        """Return the URIs of all DIMMs, or of those of one socket."""
        found = self.hardware.memory
        return [self.module(each) for each in found if socket in (None, each.socket)]

    @property
    def storage(self) -> str:
        """Return the URI of the boot storage."""
        return uris.HOST_STORAGE.format(system=self.id, storage=STORAGE)

    @property
    def controller(self) -> str:
        """Return the URI of the boot drive's controller."""
        return uris.HOST_CONTROLLER.format(system=self.id, storage=STORAGE, controller=CONTROLLER)

    @property
    def volume(self) -> str:
        """Return the URI of the boot volume."""
        return uris.HOST_VOLUME.format(system=self.id, storage=STORAGE, volume=VOLUME)

    @property
    def drive(self) -> str:
        """Return the URI of the boot drive."""
        return uris.DRIVE.format(chassis=self.id, drive=DRIVE)

    @property
    def adapter(self) -> str:
        """Return the URI of the Ethernet adapter."""
        return uris.NETWORK_ADAPTER.format(chassis=self.id, adapter=NETWORK_ADAPTER)

    @property
    def network_ports(self) -> range:
        """Return the numbers of the Ethernet ports."""
        return range(1, len(self.hardware.network.macs) + 1)

    def network_port(self, number: int) -> str:
        """Return the URI of an Ethernet port of the adapter."""
        return uris.NETWORK_PORT.format(chassis=self.id, adapter=NETWORK_ADAPTER, port=number)

    def network_function(self, number: int) -> str:
        """Return the URI of the network function on a port."""
        return uris.NETWORK_FUNCTION.format(
            chassis=self.id, adapter=NETWORK_ADAPTER, function=number
        )

    def ethernet(self, number: int) -> str:
        """Return the URI of the interface that the host has on a port."""
        interface = f"{NETWORK_ADAPTER}-{number}"
        return uris.HOST_ETHERNET.format(system=self.id, interface=interface)

    def pcie_device(self, device: str) -> str:
        """Return the URI of a PCIe device in the chassis."""
        return uris.DEVICE.format(chassis=self.id, device=device)

    def pcie_function(self, device: str, number: int = 0) -> str:
        """Return the URI of a function of a PCIe device in the chassis."""
        return uris.FUNCTION.format(chassis=self.id, device=device, function=number)

    @property
    def supplies(self) -> list[str]:
        """Return the URIs of the power supplies."""
        numbers = range(1, len(self.hardware.power_supplies) + 1)
        return [uris.POWER_SUPPLY.format(chassis=self.id, supply=f"PSU{n}") for n in numbers]

    @property
    def fans(self) -> list[str]:
        """Return the URIs of the fans."""
        numbers = range(1, len(self.hardware.fans) + 1)
        return [uris.FAN.format(chassis=self.id, fan=f"Fan{n}") for n in numbers]

    def sensor(self, sensor: str) -> str:
        """Return the URI of a sensor."""
        return uris.SENSOR.format(chassis=self.id, sensor=sensor)

    def excerpt(self, sensor: str, reading: float | None, **more: Any) -> dict[str, Any]:
        """Return what another resource shows of a sensor: no Reading where it reads nothing."""
        return excerpt(self.id, sensor, reading, **more)


def card_id(fabric: str) -> str:
    """Return the Id of the PCIe device that the card for a fabric is."""
    return f"Card-{fabric}"
