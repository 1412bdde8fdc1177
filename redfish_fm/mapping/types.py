"""The @odata.type of every document that mapping makes: DSP8010 2025.4, one place.

Pure table; a test holds it to schemas/types, which stay the authority.
"""

ODATA_TYPES: dict[str, str] = {
    "AddressPool": "#AddressPool.v1_3_0.AddressPool",
    "CXLLogicalDevice": "#CXLLogicalDevice.v1_3_0.CXLLogicalDevice",
    "Chassis": "#Chassis.v1_28_0.Chassis",
    "ComputerSystem": "#ComputerSystem.v1_27_0.ComputerSystem",
    "Connection": "#Connection.v1_4_0.Connection",
    "Drive": "#Drive.v1_22_0.Drive",
    "Endpoint": "#Endpoint.v1_8_2.Endpoint",
    "EndpointGroup": "#EndpointGroup.v1_3_4.EndpointGroup",
    "Fabric": "#Fabric.v1_4_0.Fabric",
    "Manager": "#Manager.v1_24_0.Manager",
    "ManagerAccount": "#ManagerAccount.v1_14_1.ManagerAccount",
    "MemoryChunks": "#MemoryChunks.v1_6_2.MemoryChunks",
    "MemoryDomain": "#MemoryDomain.v1_5_1.MemoryDomain",
    "MemoryRegion": "#MemoryRegion.v1_0_3.MemoryRegion",
    "PCIeDevice": "#PCIeDevice.v1_21_0.PCIeDevice",
    "PCIeFunction": "#PCIeFunction.v1_7_0.PCIeFunction",
    "Port": "#Port.v1_18_0.Port",
    "Processor": "#Processor.v1_22_0.Processor",
    "Role": "#Role.v1_3_3.Role",
    "Storage": "#Storage.v1_21_0.Storage",
    "StorageController": "#StorageController.v1_11_0.StorageController",
    "StoragePool": "#StoragePool.v1_9_1.StoragePool",
    "Switch": "#Switch.v1_11_0.Switch",
    "Task": "#Task.v1_7_4.Task",
    "VirtualCXLSwitch": "#VirtualCXLSwitch.v1_0_0.VirtualCXLSwitch",
    "VirtualPCI2PCIBridge": "#VirtualPCI2PCIBridge.v1_0_0.VirtualPCI2PCIBridge",
    "Volume": "#Volume.v1_10_2.Volume",
    "Zone": "#Zone.v1_6_3.Zone",
}


def collection_type(member: str) -> str:
    """Return the @odata.type of the collection of `member`: collections have no version."""
    name = f"{member}Collection"
    return f"#{name}.{name}"
