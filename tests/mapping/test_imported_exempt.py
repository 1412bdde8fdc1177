"""Endpoints of a mockup that call a device a switch are told."""

from typing import Any

import pytest

from redfish_fm.mapping.imported import analyse
from redfish_fm.mapping.imported_findings import FindingKind
from tests.mapping.builders import CXL, links

DEVICE = "/redfish/v1/Chassis/1/PCIeDevices/1"
FUNCTIONS = f"{DEVICE}/PCIeFunctions"
GPU = "/redfish/v1/Chassis/1/Processors/1"
DRIVE = "/redfish/v1/Chassis/1/Drives/1"
SWITCH = f"{CXL}/Switches/1"


def told(entity_type: str, entity_link: str, device_class: str = "DisplayController") -> list[str]:
    """Return what is told of one endpoint as a contradiction."""
    entity = {
        "EntityType": entity_type,
        "EntityRole": "Target",
        "EntityLink": links(entity_link)[0],
    }
    documents: dict[str, dict[str, Any]] = {
        CXL: {"@odata.type": "#Fabric.v1_3_2.Fabric", "FabricType": "CXL"},
        SWITCH: {"@odata.type": "#Switch.v1_10_0.Switch"},
        GPU: {"@odata.type": "#Processor.v1_21_0.Processor"},
        DRIVE: {"@odata.type": "#Drive.v1_21_0.Drive"},
        DEVICE: {
            "@odata.type": "#PCIeDevice.v1_19_0.PCIeDevice",
            "PCIeFunctions": links(FUNCTIONS)[0],
        },
        f"{FUNCTIONS}/0": {
            "@odata.type": "#PCIeFunction.v1_6_1.PCIeFunction",
            "DeviceClass": device_class,
        },
        f"{CXL}/Endpoints/1": {
            "@odata.type": "#Endpoint.v1_8_2.Endpoint",
            "ConnectedEntities": [entity],
        },
    }
    found = analyse(documents).findings
    return [str(each) for each in found if each.kind is FindingKind.CONTRADICTION]


@pytest.mark.parametrize("entity_type", ["Switch", "Bridge", "Manager", "StorageExpander"])
@pytest.mark.parametrize("device", [GPU, DRIVE, DEVICE, f"{FUNCTIONS}/0"])
def test_a_device_that_is_called_exempt_is_told_with_both(entity_type: str, device: str) -> None:
    (line,) = told(entity_type, device)
    assert line.startswith(f"{CXL}/Endpoints/1#/ConnectedEntities: EntityType {entity_type}, but")
    assert device in line


@pytest.mark.parametrize("device", [DEVICE, f"{FUNCTIONS}/0"])
def test_a_bridge_that_is_one_is_not_told(device: str) -> None:
    assert told("Bridge", device, "Bridge") == []


@pytest.mark.parametrize(
    ("entity_type", "entity_link"),
    [("Switch", SWITCH), ("Processor", GPU), ("Drive", DRIVE), ("Switch", f"{SWITCH}/gone")],
)
def test_an_entity_that_is_what_it_is_called_is_not_told(
    entity_type: str, entity_link: str
) -> None:
    assert told(entity_type, entity_link) == []
