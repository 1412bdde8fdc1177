"""Resource blocks of a mockup are known with what is in them."""

from redfish_fm.fabric.composition import BlockType
from redfish_fm.mapping.imported import analyse
from tests.mapping.builders import links

BLOCK = "/redfish/v1/CompositionService/ResourceBlocks/1"
DEVICE = "/redfish/v1/Chassis/1/PCIeDevices/1"
DRIVE = "/redfish/v1/Chassis/1/Drives/1"


def test_a_resource_block_has_the_units_that_its_links_lead_to() -> None:
    found = analyse(
        {
            BLOCK: {
                "@odata.type": "#ResourceBlock.v1_4_3.ResourceBlock",
                "ResourceBlockType": ["Storage"],
                "Drives": links(DRIVE),
            },
            DEVICE: {"@odata.type": "#PCIeDevice.v1_19_0.PCIeDevice"},
            DRIVE: {
                "@odata.type": "#Drive.v1_21_0.Drive",
                "Links": {"PCIeFunctions": links(f"{DEVICE}/PCIeFunctions/1")},
            },
        }
    )
    block = found.facts.blocks[BLOCK]
    assert (block.types, block.units) == ({BlockType.STORAGE}, {DEVICE})
