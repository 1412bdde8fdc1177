"""The @odata.type of every document that mapping makes: DSP8010 2025.4, one place.

Pure table; a test holds it to schemas/types, which stay the authority.
"""

from functools import cache

ODATA_TYPES: dict[str, str] = {
    "AddressPool": "#AddressPool.v1_3_0.AddressPool",
    "Assembly": "#Assembly.v1_6_1.Assembly",
    "Bios": "#Bios.v1_2_3.Bios",
    "BootOption": "#BootOption.v1_0_6.BootOption",
    "CXLLogicalDevice": "#CXLLogicalDevice.v1_3_0.CXLLogicalDevice",
    "Cable": "#Cable.v1_2_4.Cable",
    "Certificate": "#Certificate.v1_11_0.Certificate",
    "Chassis": "#Chassis.v1_28_0.Chassis",
    "CompositionReservation": "#CompositionReservation.v1_0_2.CompositionReservation",
    "CompositionService": "#CompositionService.v1_2_3.CompositionService",
    "ComputerSystem": "#ComputerSystem.v1_27_0.ComputerSystem",
    "Connection": "#Connection.v1_4_0.Connection",
    "Drive": "#Drive.v1_22_0.Drive",
    "DriveMetrics": "#DriveMetrics.v1_3_0.DriveMetrics",
    "Endpoint": "#Endpoint.v1_8_2.Endpoint",
    "EndpointGroup": "#EndpointGroup.v1_3_4.EndpointGroup",
    "EnvironmentMetrics": "#EnvironmentMetrics.v1_5_0.EnvironmentMetrics",
    "EthernetInterface": "#EthernetInterface.v1_12_4.EthernetInterface",
    "EventDestination": "#EventDestination.v1_16_0.EventDestination",
    "EventService": "#EventService.v1_12_0.EventService",
    "Fabric": "#Fabric.v1_4_0.Fabric",
    "FabricAdapter": "#FabricAdapter.v1_5_3.FabricAdapter",
    "Fan": "#Fan.v1_6_0.Fan",
    "LogService": "#LogService.v1_9_0.LogService",
    "Manager": "#Manager.v1_24_0.Manager",
    "ManagerAccount": "#ManagerAccount.v1_14_1.ManagerAccount",
    "ManagerNetworkProtocol": "#ManagerNetworkProtocol.v1_12_0.ManagerNetworkProtocol",
    "Memory": "#Memory.v1_23_0.Memory",
    "MemoryChunks": "#MemoryChunks.v1_6_2.MemoryChunks",
    "MemoryDomain": "#MemoryDomain.v1_5_1.MemoryDomain",
    "MemoryMetrics": "#MemoryMetrics.v1_8_0.MemoryMetrics",
    "MemoryRegion": "#MemoryRegion.v1_0_3.MemoryRegion",
    "NetworkAdapter": "#NetworkAdapter.v1_14_0.NetworkAdapter",
    "NetworkDeviceFunction": "#NetworkDeviceFunction.v1_11_1.NetworkDeviceFunction",
    "NetworkInterface": "#NetworkInterface.v1_2_3.NetworkInterface",
    "PCIeDevice": "#PCIeDevice.v1_21_0.PCIeDevice",
    "PCIeFunction": "#PCIeFunction.v1_7_0.PCIeFunction",
    "Port": "#Port.v1_18_0.Port",
    "PortMetrics": "#PortMetrics.v1_8_1.PortMetrics",
    "PowerSubsystem": "#PowerSubsystem.v1_1_3.PowerSubsystem",
    "PowerSupply": "#PowerSupply.v1_6_0.PowerSupply",
    "PowerSupplyMetrics": "#PowerSupplyMetrics.v1_2_0.PowerSupplyMetrics",
    "Processor": "#Processor.v1_22_0.Processor",
    "ProcessorMetrics": "#ProcessorMetrics.v1_7_0.ProcessorMetrics",
    "ResourceBlock": "#ResourceBlock.v1_4_3.ResourceBlock",
    "Role": "#Role.v1_3_3.Role",
    "SecureBoot": "#SecureBoot.v1_1_2.SecureBoot",
    "Sensor": "#Sensor.v1_12_0.Sensor",
    "Storage": "#Storage.v1_21_0.Storage",
    "StorageController": "#StorageController.v1_11_0.StorageController",
    "StoragePool": "#StoragePool.v1_9_1.StoragePool",
    "Switch": "#Switch.v1_11_0.Switch",
    "SwitchMetrics": "#SwitchMetrics.v1_1_0.SwitchMetrics",
    "Task": "#Task.v1_7_4.Task",
    "ThermalMetrics": "#ThermalMetrics.v1_3_2.ThermalMetrics",
    "ThermalSubsystem": "#ThermalSubsystem.v1_5_0.ThermalSubsystem",
    "VirtualCXLSwitch": "#VirtualCXLSwitch.v1_0_0.VirtualCXLSwitch",
    "VirtualPCI2PCIBridge": "#VirtualPCI2PCIBridge.v1_0_0.VirtualPCI2PCIBridge",
    "Volume": "#Volume.v1_10_2.Volume",
    "Zone": "#Zone.v1_6_3.Zone",
}


@cache
def collection_type(member: str) -> str:
    """Return the @odata.type of the collection of `member`: collections have no version."""
    name = f"{member}Collection"
    return f"#{name}.{name}"
