"""What a system of blocks shows because of its host and its blocks, and where."""

from collections.abc import Set
from typing import Any

import pytest

from redfish_fm.fabric.composition import Block, BlockType, Composition
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.values import (
    Access,
    Binder,
    Chunk,
    Connection,
    MemoryDomain,
    Region,
    RegionGrant,
    Unit,
    Volume,
)
from redfish_fm.mapping.systems_shown import (
    COLLECTIONS,
    collection_shown,
    document_shown,
    host_shown,
    is_shown,
    members_shown,
    parts_shown,
    system_shown,
    types_shown,
)
from tests.mapping.builders import links

SYSTEM, HOST = "/redfish/v1/Systems/made", "/redfish/v1/Systems/host1"
BLOCKS = "/redfish/v1/CompositionService/ResourceBlocks"
COMPUTE, GPU, DRIVE, BOX = (f"{BLOCKS}/{name}" for name in ("host1", "gpu1", "drive1", "box1"))
DOMAIN = "/redfish/v1/Chassis/box1/MemoryDomains/1"
CHUNK, VOLUME = f"{DOMAIN}/MemoryChunks/1", "/redfish/v1/Storage/jbof1/Volumes/1"
DEVICE = "/redfish/v1/Chassis/gpu1/PCIeDevices/gpu1"


class There:
    """Documents and fixed members, as control.state gives them."""

    members: dict[str, Set[str]] = {  # noqa: RUF012 - never changed
        f"{HOST}/Processors": {f"{HOST}/Processors/CPU1"},
        f"{HOST}/Storage": {f"{HOST}/Storage/1"},
    }

    def __init__(self) -> None:
        self.documents: dict[str, dict[str, Any]] = {
            COMPUTE: {"Processors": links(f"{HOST}/Processors/CPU1")},
            GPU: {
                "Processors": links("/redfish/v1/Chassis/gpu1/Processors/gpu1"),
                "Links": {"Chassis": links("/redfish/v1/Chassis/gpu1")},
            },
            DRIVE: {"Drives": links("/redfish/v1/Chassis/drive1/Drives/drive1")},
            BOX: {"Memory": links("/redfish/v1/Chassis/box1/Memory/1")},
            DEVICE: {},
        }

    def parsed(self, uri: str) -> dict[str, Any] | None:
        return self.documents.get(uri)


def an_index(*blocks: str, holdings: tuple[str, ...] = (), expands: bool = False) -> FabricIndex:
    index = FabricIndex()
    index.put_block(Block(COMPUTE, frozenset({BlockType.COMPUTE}), host=HOST))
    index.put_block(Block(GPU, frozenset({BlockType.PROCESSOR}), units=frozenset({DEVICE})))
    index.put_block(Block(DRIVE, frozenset({BlockType.STORAGE})))
    pools = frozenset({DOMAIN})
    index.put_block(Block(BOX, frozenset({BlockType.MEMORY}), pools=pools, sharing=True))
    index.put_domain(MemoryDomain(DOMAIN, "/redfish/v1/Chassis/box1", 4096, 256))
    index.put_chunk(Chunk(CHUNK, DOMAIN, 0, 2048, domain=DOMAIN))
    index.put_volume(Volume(VOLUME, "/redfish/v1/Storage/jbof1", None, 1024))
    uri = HOST if expands else SYSTEM
    index.put_composition(Composition(uri, HOST, blocks, frozenset(holdings), expands))
    return index


def test_a_composed_system_has_every_collection_however_empty() -> None:
    index = an_index(COMPUTE)
    for name in COLLECTIONS:
        assert collection_shown(index, There(), f"{SYSTEM}/{name}") is not None
    assert members_shown(index, There(), f"{SYSTEM}/EthernetInterfaces") == set()


def test_nothing_is_shown_below_a_system_of_no_blocks() -> None:
    index = an_index(COMPUTE)
    index.remove_composition(SYSTEM)
    assert not any(is_shown(index, There(), uri) for uri in parts_shown(SYSTEM))
    assert system_shown(index, There(), SYSTEM, {}) is None


def test_members_are_those_of_the_host_and_of_the_blocks() -> None:
    found = members_shown(an_index(COMPUTE, GPU), There(), f"{SYSTEM}/Processors")
    assert found == {f"{HOST}/Processors/CPU1", "/redfish/v1/Chassis/gpu1/Processors/gpu1"}


def test_an_expanded_host_adds_what_it_was_given_to_its_own_collections() -> None:
    index = an_index(GPU, expands=True)
    assert collection_shown(index, There(), f"{HOST}/Processors") is None
    found = members_shown(index, There(), f"{HOST}/Processors")
    assert found == {"/redfish/v1/Chassis/gpu1/Processors/gpu1"}


def test_modules_of_an_appliance_that_others_have_parts_of_are_nobodys() -> None:
    index = an_index(COMPUTE, BOX, holdings=(CHUNK,))
    assert members_shown(index, There(), f"{SYSTEM}/Memory") == set()
    assert members_shown(index, There(), f"{SYSTEM}/MemoryDomains") == {DOMAIN}


def test_memory_of_the_pool_counts_as_the_systems() -> None:
    host = {"MemorySummary": {"TotalSystemMemoryGiB": 256, "MemoryMirroring": "None"}}
    shown = system_shown(an_index(COMPUTE, BOX, holdings=(CHUNK,)), There(), SYSTEM, host)
    assert shown is not None
    assert shown["MemorySummary"] == {"TotalSystemMemoryGiB": 258, "MemoryMirroring": "None"}


def test_memory_that_is_there_twice_counts_once() -> None:
    index = an_index(COMPUTE, BOX)
    copy = CHUNK.replace("box1", "box2")
    index.put_chunk(Chunk(copy, "/elsewhere", 0, 2048))
    mirrored = frozenset({CHUNK, copy})
    index.put_composition(Composition(SYSTEM, HOST, (COMPUTE, BOX), mirrored, mirrors=(mirrored,)))
    shown = system_shown(index, There(), SYSTEM, {})
    assert shown is not None
    assert shown["MemorySummary"]["TotalSystemMemoryGiB"] == 2


@pytest.mark.parametrize("holdings", [("grant",), (CHUNK, "grant")])
def test_memory_that_a_system_shares_with_others_counts_as_its_own(
    holdings: tuple[str, ...],
) -> None:
    index = an_index(COMPUTE, BOX, holdings=holdings)
    index.put_unit(Unit("ld", "CXL", Binder.NOTHING, exclusive=False))
    index.put_region(Region("region", "ld", "ld", 0, 3072, shareable=True))
    rows = (RegionGrant("region", frozenset({Access.READ})),)
    index.put_connection(Connection("grant", "CXL", regions=rows))
    shown = system_shown(index, There(), SYSTEM, {"MemorySummary": {"TotalSystemMemoryGiB": 256}})
    assert shown is not None
    own_gib = 2 if CHUNK in holdings else 0
    assert shown["MemorySummary"]["TotalSystemMemoryGiB"] == 256 + 3 + own_gib


def test_drives_and_volumes_that_are_in_no_storage_get_one() -> None:
    index = an_index(COMPUTE, DRIVE, holdings=(VOLUME,))
    storage = f"{SYSTEM}/Storage/Composed"
    assert members_shown(index, There(), f"{SYSTEM}/Storage") == {f"{HOST}/Storage/1", storage}
    shown = document_shown(index, There(), storage)
    assert shown is not None
    assert shown["Drives"] == links("/redfish/v1/Chassis/drive1/Drives/drive1")
    volumes = shown["Volumes"]["@odata.id"]
    assert collection_shown(index, There(), volumes) == "VolumeCollection"
    assert members_shown(index, There(), volumes) == {VOLUME}


def test_without_drives_and_volumes_there_is_no_such_storage() -> None:
    index = an_index(COMPUTE, GPU)
    assert not is_shown(index, There(), f"{SYSTEM}/Storage/Composed")
    assert members_shown(index, There(), f"{SYSTEM}/Storage") == {f"{HOST}/Storage/1"}


def test_a_system_links_the_chassis_and_devices_of_its_blocks() -> None:
    host = {"Links": {"Chassis": links("/redfish/v1/Chassis/host1")}, "PCIeDevices": links("/x")}
    shown = system_shown(an_index(COMPUTE, GPU), There(), SYSTEM, host)
    assert shown is not None
    assert shown["Links"]["Chassis"] == links(
        "/redfish/v1/Chassis/host1", "/redfish/v1/Chassis/gpu1"
    )
    assert shown["PCIeDevices"] == links("/x", DEVICE)


def test_a_system_can_be_reset_only_where_its_host_can() -> None:
    index = an_index(COMPUTE)
    reset = {"#ComputerSystem.Reset": {"target": "elsewhere", "more": 1}}
    for host, known in (({}, False), ({"Actions": reset}, True)):
        shown = system_shown(index, There(), SYSTEM, host)
        assert shown is not None
        assert ("#ComputerSystem.Reset" in shown["Actions"]) is known
    target = shown["Actions"]["#ComputerSystem.Reset"]
    assert target == {"target": f"{SYSTEM}/Actions/ComputerSystem.Reset", "more": 1}


def test_a_host_names_the_systems_that_run_on_it_and_no_expansion() -> None:
    assert host_shown(an_index(COMPUTE), HOST) == {
        "Links": {"ConsumingComputerSystems": links(SYSTEM)}
    }
    assert host_shown(an_index(GPU, expands=True), HOST) is None


def test_rare_collections_are_types_only_where_blocks_can_bring_them() -> None:
    rare = "#SimpleStorageCollection.SimpleStorageCollection"
    assert rare not in types_shown({"#Storage.v1_21_0.Storage"})
    assert rare in types_shown({"#SimpleStorage.v1_3_2.SimpleStorage"})
