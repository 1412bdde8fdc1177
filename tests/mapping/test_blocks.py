"""Resource blocks of what is discovered: one for each thing that a system takes as a whole."""

from dataclasses import replace
from functools import cache

from redfish_fm.drivers.virtual.topology import load, read
from redfish_fm.fabric.composition import BlockType
from redfish_fm.mapping.inventory import RenderedInventory, render_inventories
from redfish_fm.mapping.read import members
from tests.cases.small_world import TOPOLOGY
from tests.drivers.fabrics import MOCKUPS

BLOCKS = "/redfish/v1/CompositionService/ResourceBlocks"
ZONES = "/redfish/v1/CompositionService/ResourceZones"


@cache
def small() -> RenderedInventory:
    """One device of every kind, and two hosts."""
    return render_inventories(list(read(TOPOLOGY, "small").inventories()))


def names() -> set[str]:
    return {uri.rpartition("/")[2] for uri in small().facts.blocks}


def test_everything_that_a_system_can_take_is_a_block() -> None:
    assert names() == {
        "host1", "host2", "gpu1", "drive1", "mem1", "fixed1", "pooled1", "dynamic1", "jbof1-pool",
        "nic1-f0", "nic1-f1", "mhnic1-h1", "mhnic1-h2",
    }  # fmt: skip


def test_every_block_is_served_as_what_it_is() -> None:
    for uri, block in small().facts.blocks.items():
        document = small().documents[uri]
        assert set(document["ResourceBlockType"]) == {kind.value for kind in block.types}
        assert document["CompositionStatus"]["SharingCapable"] is block.sharing


def test_a_device_on_two_ports_is_one_block_with_two_ways_to_it() -> None:
    assert len(small().facts.blocks[f"{BLOCKS}/drive1"].units) == 2


def test_what_is_bound_by_function_or_head_is_a_block_each() -> None:
    first, second = (small().facts.blocks[f"{BLOCKS}/{name}"] for name in ("nic1-f0", "nic1-f1"))
    assert not first.units & second.units


def test_parts_are_cut_from_what_is_shared_only() -> None:
    shared = {uri.rpartition("/")[2] for uri, each in small().facts.blocks.items() if each.pools}
    assert shared == {"fixed1", "pooled1", "dynamic1", "jbof1-pool"}
    for uri, block in small().facts.blocks.items():
        assert block.sharing is bool(block.pools), uri


def test_every_link_of_a_block_leads_somewhere() -> None:
    documents = small().documents
    for uri in small().facts.blocks:
        block = documents[uri]
        paths = ("Processors", "Memory", "Drives", "Storage", "Links/Chassis")
        found = [link for path in paths for link in members(block, path)]
        assert found or uri.endswith(("mem1", "nic1-f0", "nic1-f1")), uri
        assert all(link in documents for link in found), uri


def test_a_drive_brings_its_storage() -> None:
    rendered = render_inventories(load("ai-pod", MOCKUPS).inventories())
    block = rendered.documents[f"{BLOCKS}/nvme1"]
    assert members(block, "Storage") == ("/redfish/v1/Storage/nvme1",)


def test_a_host_says_that_it_can_be_expanded_and_how() -> None:
    for name in ("host1", "host2"):
        uri = f"/redfish/v1/Systems/{name}"
        document = small().documents[uri]
        assert "ExpandableSystem" in document["Composition"]["UseCases"]
        targets = {action["target"] for action in document["Actions"].values()}
        assert f"{uri}/Actions/ComputerSystem.AddResourceBlock" in targets


def test_hosts_that_reach_the_same_are_in_one_zone_with_all_of_it() -> None:
    (zone,) = (uri for uri in small().documents if uri.rpartition("/")[0] == ZONES)
    found = members(small().documents[zone], "Links/ResourceBlocks")
    assert {uri.rpartition("/")[2] for uri in found} == names()


def test_where_nothing_can_be_bound_there_is_no_composition_service() -> None:
    inventories = read(TOPOLOGY, "small").inventories()
    alone = [replace(each, hosts=(), switches=(), devices=()) for each in inventories]
    assert "/redfish/v1/CompositionService" not in render_inventories(alone).documents


def test_blocks_know_what_a_request_may_ask_for() -> None:
    block = small().facts.blocks[f"{BLOCKS}/gpu1"]
    assert (block.kind, block.capacity_mib, block.types) == (
        "GPU", 80 << 10, {BlockType.PROCESSOR}
    )  # fmt: skip
    host = small().facts.blocks[f"{BLOCKS}/host1"]
    assert (host.core_count, host.capacity_mib, host.host) == (
        8, 64 << 10, "/redfish/v1/Systems/host1"
    )  # fmt: skip
