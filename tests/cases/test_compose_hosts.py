"""Hosts that somebody's zone or vPPB has already: not composed, said so, free again afterwards."""

import json
from typing import Any

import pytest

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
from tests.control.builders import CXL_FABRIC, PCIE_ZONES, cxl, pcie, zone_body
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
