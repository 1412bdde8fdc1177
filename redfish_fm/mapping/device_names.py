"""Words and durable names that Redfish has for a device of each kind.

Pure tables. Redfish: PCIeDevice.CXLDevice.DeviceType, CXLLogicalDevice.SemanticsSupported,
PCIeFunction.DeviceClass, Processor.ProcessorType.
"""

import hashlib

from redfish_fm.fabric.model import Attachment, Device, DeviceKind

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
ENTITY_TYPES = {
    DeviceKind.GPU: "Processor",
    DeviceKind.FPGA: "Processor",
    DeviceKind.NVME: "Drive",
    DeviceKind.MEMORY: "MediaController",
    DeviceKind.NIC: "NetworkController",
}
"""DeviceKind -> EntityType of an endpoint that stands for a function of the device."""

OK = {"State": "Enabled", "Health": "OK"}
AWAITS_CHUNK = {"State": "StandbyOffline", "Health": "OK"}
"""Status of an LD that has no memory: it is there, and a chunk puts it to use."""


def speaks_cxl(device: Device) -> bool:
    """Return whether it has logical devices at all."""
    return device.attachment in (Attachment.SLD, Attachment.MLD)


def gcxlid(device: Device, ld: int) -> str:
    """Return a GCXLID durable name made from the serial number: the same at every start."""
    digest = hashlib.blake2b(f"{device.id} {device.serial_number}".encode(), digest_size=8)
    return f"{digest.digest().hex('-').upper()}:{ld:04X}"
