"""Hosts that somebody's zone or vPPB has already: not composed, said so, free again afterwards."""

import json
from typing import Any

import pytest

from redfish_fm import worlds
from redfish_fm.drivers.virtual.topology import read
from redfish_fm.mapping.inventory import render_inventories
from tests.cases.composing import (
    COMPOSE,
    SERVICE,
    SYSTEMS,
    block,
    everything,
    gpus,
    made_of,
    manifest,
    of_blocks,
    stanza,
    told,
)
from tests.cases.stack import Stack, a_stack
from tests.cases.test_memory import mixed
from tests.control.builders import CXL_FABRIC, PCIE_ZONES, cxl, links, pcie, zone_body
from tests.drivers.fabrics import MOCKUPS as TOPOLOGIES
from tests.virtual_time import in_virtual_time

ADD, REMOVE = "ComputerSystem.AddResourceBlock", "ComputerSystem.RemoveResourceBlock"
VPPB = f"{CXL_FABRIC}/Switches/cxl1/VCSs/1/VPPBs/2"


async def pool(stack: Stack, name: str) -> tuple[str, str, bool]:
    """Return a block's pool and state, and whether FreePool has it."""
    found = await stack.get(block(name))
    listed = (await stack.get(f"{SERVICE}/FreePool"))["Members"]
    free = {"@odata.id": block(name)} in listed
    return found["Pool"], found["CompositionStatus"]["CompositionState"], free


async def zoned(stack: Stack) -> str:
    return await stack.made(PCIE_ZONES, zone_body(pcie("host1-1"), pcie("gpu1")))


async def bound_by_hand(stack: Stack) -> str:
    port = (await stack.get(cxl("mem2")))["Links"]["ConnectedPorts"][0]
    answer = await stack.ask("PATCH", VPPB, {"Links": {"Port": port}})
    assert answer.status == 200, answer.body
    return VPPB


@pytest.mark.parametrize("taking", [zoned, bound_by_hand])
@in_virtual_time
async def test_a_host_that_somebody_has_is_refused_with_whoever_has_it(taking: Any) -> None:
    async with a_stack() as stack:
        holder = await taking(stack)
        before = await everything(stack)
        asked = of_blocks("host1", "gpu2")
        for response, place in (
            (await stack.ask("POST", SYSTEMS, asked), "#/Links/ResourceBlocks/0"),
            (
                await stack.ask("POST", SYSTEMS, {**of_blocks("host1"), **gpus(1)}),
                "#/Links/ResourceBlocks/0",
            ),
            (
                await stack.ask("POST", COMPOSE, manifest("PreviewReserve", stanza(**asked))),
                "#/Manifest/Stanzas/0/Request/Links/ResourceBlocks/0",
            ),
        ):
            assert response.status == 409, response.body
            first = told(response)[0]
            assert first["MessageArgs"][1:] == [block("host1"), holder]
            assert first["RelatedProperties"] == [place]
        assert await everything(stack) == before


@pytest.mark.parametrize("taking", [zoned, bound_by_hand])
@in_virtual_time
async def test_its_block_is_in_no_pool_until_it_is_let_go(taking: Any) -> None:
    async with a_stack() as stack:
        assert await pool(stack, "host1") == ("Free", "Unused", True)
        holder = await taking(stack)
        assert await pool(stack, "host1") == ("Unassigned", "Unavailable", False)
        if holder == VPPB:
            await stack.ask("PATCH", VPPB, {"Links": {"Port": None}})
        else:
            await stack.ask("DELETE", holder)
        assert await pool(stack, "host1") == ("Free", "Unused", True)
        await stack.made(SYSTEMS, of_blocks("host1", "gpu1"))


@in_virtual_time
async def test_a_host_in_a_default_zone_is_kept_while_that_routes() -> None:
    async with a_stack() as stack:
        zones = (await stack.get(PCIE_ZONES))["Members"]
        (default,) = [each["@odata.id"] for each in zones]
        links_ = {"Links": {"Endpoints": [{"@odata.id": pcie("host1-1")}]}}
        assert (await stack.ask("PATCH", default, links_)).status == 200
        for routes, shown in ((True, "Unassigned"), (False, "Free"), (True, "Unassigned")):
            assert await pool(stack, "host2") == ("Free", "Unused", True)
            answer = await stack.ask("PATCH", default, {"DefaultRoutingEnabled": routes})
            assert answer.status == 200, answer.body
            assert (await pool(stack, "host1"))[0] == shown
        refused = await stack.ask("POST", SYSTEMS, of_blocks("host1"))
        assert told(refused)[0]["MessageArgs"][2] == default


@in_virtual_time
async def test_a_host_that_a_connection_names_by_a_group_is_kept() -> None:
    async with a_stack(mixed()) as stack:
        network = "/redfish/v1/Fabrics/NVMeoF"
        group = {
            "GroupType": "Initiator",
            "Links": {"Endpoints": links(f"{network}/Endpoints/host1")},
        }
        named = await stack.made(f"{network}/EndpointGroups", group)
        size = {"CapacityBytes": 8 << 30}
        volume = await stack.made("/redfish/v1/Storage/jbof1/Volumes", size)
        assert (await pool(stack, "host1"))[0] == "Free"
        row = {"AccessCapabilities": ["Read", "Write"], "Volume": {"@odata.id": volume}}
        ends = {
            "InitiatorEndpointGroups": links(named),
            "TargetEndpoints": links(f"{network}/Endpoints/jbof1"),
        }
        body = {"ConnectionType": "Storage", "VolumeInfo": [row], "Links": ends}
        connection = await stack.made(f"{network}/Connections", body)
        assert (await pool(stack, "host1"))[0] == "Unassigned"
        refused = await stack.ask("POST", SYSTEMS, of_blocks("host1"))
        assert told(refused)[0]["MessageArgs"][2] == connection
        assert (await stack.ask("DELETE", connection)).status in (202, 204)
        assert (await pool(stack, "host1"))[0] == "Free"


@in_virtual_time
async def test_another_host_is_chosen_and_without_one_the_refusal_says_why() -> None:
    async with a_stack() as stack:
        await zoned(stack)
        system = await stack.made(SYSTEMS, gpus(1))
        assert await made_of(stack, system) == ["host2", "gpu2"]
        await stack.ask("DELETE", system)
        await stack.made(PCIE_ZONES, zone_body(pcie("host2-1")))
        response = await stack.ask("POST", SYSTEMS, gpus(1))
        assert response.status == 409
        text = json.dumps(told(response))
        assert "zone, Connection or vPPB" in text
        assert f"{SYSTEMS}/host1 and 1 alike" in text


@in_virtual_time
async def test_a_host_in_a_zone_is_expanded_in_place_beside_it() -> None:
    async with a_stack() as stack:
        zone = await zoned(stack)
        action = f"{SYSTEMS}/host1/Actions/{ADD}"
        given = {"ResourceBlock": {"@odata.id": block("gpu2")}}
        assert (await stack.ask("POST", action, given)).status == 204
        assert (await stack.ask("GET", zone)).status == 200
        assert len(stack.rig.bound("PCIe")) == 2


@in_virtual_time
async def test_an_expanded_host_is_not_free_to_be_taken_whole() -> None:
    async with a_stack() as stack:
        given = {"ResourceBlock": {"@odata.id": block("gpu1")}}
        assert (await pool(stack, "host1"))[0] == "Free"
        for action, shown in (
            (ADD, ("Unassigned", "Unavailable", False)),
            (REMOVE, ("Free", "Unused", True)),
        ):
            target = f"{SYSTEMS}/host1/Actions/{action}"
            assert (await stack.ask("POST", target, given)).status == 204
            assert await pool(stack, "host1") == shown


def apart() -> worlds.World:
    """Return the world of two-hosts in which host1 has no port in the CXL fabric."""
    text = (TOPOLOGIES / "two-hosts.yaml").read_text("utf-8")
    text = text.replace("        vppbs: 5\n", "        vppbs: 5\n        hosts: [host2]\n", 1)
    inventories = read(text, "two-hosts").inventories()
    rendered = render_inventories(list(inventories))
    fabrics = tuple(inventory.fabric for inventory in inventories)
    return worlds.World(rendered.documents, rendered.facts, inventories, default_zones=fabrics)


@in_virtual_time
async def test_what_is_in_a_fabric_that_the_host_has_no_port_in_is_refused() -> None:
    async with a_stack(apart()) as stack:
        before = await everything(stack)
        for method, uri, names, position in (
            ("POST", SYSTEMS, ("host1", "gpu1", "mem2"), 2),
            ("PATCH", f"{SYSTEMS}/host1", ("mem2",), 0),
        ):
            refused = await stack.ask(method, uri, of_blocks(*names))
            assert refused.status == 409
            (message, *_) = told(refused)
            assert message["RelatedProperties"] == [f"#/Links/ResourceBlocks/{position}"]
            assert message["MessageArgs"][1:] == [cxl("mem2"), f"{SYSTEMS}/host1"]
            assert await everything(stack) == before
        await stack.made(SYSTEMS, of_blocks("host2", "mem2"))


@in_virtual_time
async def test_a_default_zone_does_not_begin_to_route_a_host_that_is_composed() -> None:
    """Who was in it before had nobody there; routing would give the host to the zone's others."""
    async with a_stack() as stack:
        default = "/redfish/v1/Fabrics/CXL/Zones/Default"
        member = {"@odata.id": "/redfish/v1/Fabrics/CXL/Endpoints/host2-2"}
        named = await stack.ask("PATCH", default, {"Links": {"Endpoints": [member]}})
        assert named.status == 200, named.body
        block = {"@odata.id": "/redfish/v1/CompositionService/ResourceBlocks/host2"}
        body = {"Name": "mine", "Links": {"ResourceBlocks": [block]}}
        system = await stack.made("/redfish/v1/Systems", body)
        routed = await stack.ask("PATCH", default, {"DefaultRoutingEnabled": True})
        assert routed.status == 409, routed.body
        assert system.encode() in routed.body
        assert (await stack.ask("DELETE", system)).status in (200, 204)
        routed = await stack.ask("PATCH", default, {"DefaultRoutingEnabled": True})
        assert routed.status == 200, routed.body
