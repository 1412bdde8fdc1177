"""What is in resource blocks of a mockup, so that wishes find it."""

from typing import Any

import pytest

from redfish_fm.fabric.composition import Block
from redfish_fm.fabric.paths import BESIDE
from redfish_fm.mapping.imported import analyse
from tests.mapping.builders import links

BLOCKS = "/redfish/v1/CompositionService/ResourceBlocks"
ZONES = "/redfish/v1/CompositionService/ResourceZones"
BLOCK = f"{BLOCKS}/1"
GIB = 1024
_TYPES = {
    "Processors": "#Processor.v1_22_0.Processor",
    "Memory": "#Memory.v1_23_0.Memory",
    "Drives": "#Drive.v1_22_0.Drive",
    "Storage": "#Storage.v1_21_0.Storage",
    "SimpleStorage": "#SimpleStorage.v1_3_2.SimpleStorage",
    "EthernetInterfaces": "#EthernetInterface.v1_12_4.EthernetInterface",
    "ComputerSystems": "#ComputerSystem.v1_27_0.ComputerSystem",
}


def understood(kind: str, *, zones: Any = (), **devices: list[dict[str, Any]]) -> Block:
    """Return a block of these devices, which stand below it."""
    documents: dict[str, dict[str, Any]] = {}
    block: dict[str, Any] = {
        "@odata.type": "#ResourceBlock.v1_4_3.ResourceBlock",
        "ResourceBlockType": [kind],
    }
    for name, rows in devices.items():
        found = [f"{BLOCK}/{name}/{number}" for number in range(len(rows))]
        documents |= {
            uri: {"@odata.type": _TYPES[name], **row} for uri, row in zip(found, rows, strict=True)
        }
        block[name] = links(*found)
    for zone in zones:
        documents[f"{ZONES}/{zone}"] = {
            "@odata.type": "#Zone.v1_6_3.Zone",
            "ZoneType": "ZoneOfResourceBlocks",
            "Links": {"ResourceBlocks": links(BLOCK)},
        }
    return analyse({**documents, BLOCK: block}).facts.blocks[BLOCK]


def test_a_host_has_the_cores_and_memory_of_what_its_block_links() -> None:
    cpu = {"ProcessorType": "CPU", "TotalCores": 8, "Model": "X"}
    offload = {"ProcessorType": "GPU", "TotalCores": 1000}
    modules = [{"CapacityMiB": 4 * GIB}] * 3
    found = understood("Compute", Processors=[cpu, cpu, offload], Memory=modules)
    assert (found.kind, found.model) == ("Host", "X")
    assert (found.core_count, found.capacity_mib) == (16, 12 * GIB)


def test_a_host_of_which_only_sums_are_known_has_those() -> None:
    system = {
        "ProcessorSummary": {"CoreCount": 24, "Model": "Y"},
        "MemorySummary": {"TotalSystemMemoryGiB": 1.5},
    }
    found = understood("ComputerSystem", ComputerSystems=[system])
    assert (found.model, found.core_count, found.capacity_mib) == ("Y", 24, 1536)


@pytest.mark.parametrize("kind", ["GPU", "FPGA"])
def test_an_accelerator_is_what_its_processor_is(kind: str) -> None:
    memory = [{"CapacityMiB": 40 * GIB}, {"CapacityMiB": 40 * GIB}]
    processor = {
        "ProcessorType": kind, "Model": "A", "Manufacturer": "B", "TotalCores": 7,
        "ProcessorMemory": memory,
    }  # fmt: skip
    found = understood("Processor", Processors=[processor])
    assert (found.kind, found.model, found.manufacturer) == (kind, "A", "B")
    assert (found.capacity_mib, found.core_count) == (80 * GIB, 7)


@pytest.mark.parametrize(
    ("drive", "kind"),
    [
        ({"Protocol": "NVMe"}, "NVMe"),
        ({"Protocol": "SAS"}, "SAS"),
        ({}, "NVMe"),
        ({"Protocol": "strange"}, "NVMe"),
        ({"Protocol": ["NVMe"]}, "NVMe"),
    ],
)
def test_a_drive_is_of_the_kind_of_its_protocol(drive: dict[str, Any], kind: str) -> None:
    found = understood("Storage", Drives=[{**drive, "CapacityBytes": 3 << 30, "Model": "D"}])
    assert (found.kind, found.model, found.capacity_mib) == (kind, "D", 3 * GIB)


def test_a_block_of_drives_is_as_large_as_its_largest_drive() -> None:
    tray = {"Devices": [{"CapacityBytes": 1 << 30}, {"CapacityBytes": 2 << 30}]}
    assert understood("Storage", SimpleStorage=[tray]).capacity_mib == 2 * GIB


def test_drives_that_only_a_storage_links_count() -> None:
    drive = {"CapacityBytes": 1 << 30}
    storage = {"Drives": links(f"{BLOCK}/Drives/0")}
    assert understood("Storage", Drives=[drive], Storage=[storage]).capacity_mib == GIB


def test_a_card_is_as_fast_as_its_fastest_interface() -> None:
    found = understood("Network", EthernetInterfaces=[{"SpeedMbps": 100}, {"SpeedMbps": 25000}])
    assert (found.kind, found.bandwidth_mb_s) == ("NIC", 3125)


def test_a_memory_block_has_the_memory_of_its_modules() -> None:
    found = understood("Memory", Memory=[{"CapacityMiB": GIB}, {"CapacityMiB": GIB}])
    assert (found.kind, found.capacity_mib) == ("Memory", 2 * GIB)


@pytest.mark.parametrize("odd", ["8", -8, True, None, [], {}])
def test_what_is_no_number_is_as_if_it_were_not_there(odd: object) -> None:
    cpu, module = {"TotalCores": odd}, {"CapacityMiB": odd}
    found = understood("Compute", Processors=[cpu], Memory=[module])
    assert (found.core_count, found.capacity_mib) == (0, 0)
    drive, interface = {"CapacityBytes": odd}, {"SpeedMbps": odd}
    assert understood("Storage", Drives=[drive]).capacity_mib == 0
    assert understood("Network", EthernetInterfaces=[interface]).bandwidth_mb_s is None
    system = {"MemorySummary": {"TotalSystemMemoryGiB": odd}, "ProcessorSummary": odd}
    assert understood("ComputerSystem", ComputerSystems=[system]).core_count == 0


def test_blocks_reach_what_is_in_their_zones() -> None:
    found = understood("Network", zones=("1", "2"), EthernetInterfaces=[{}])
    assert found.switches == ((BESIDE, f"{ZONES}/1"), (BESIDE, f"{ZONES}/2"))


def test_without_zones_all_blocks_reach_each_other() -> None:
    assert understood("Network", EthernetInterfaces=[{}]).switches == ((BESIDE, BESIDE),)


def test_a_block_of_nothing_known_is_left_as_it_is() -> None:
    assert understood("Expansion").kind == ""
