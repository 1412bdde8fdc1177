"""Blocks that clients make: of other blocks, taken as one, and of what is in none."""

from typing import Any

import pytest

from tests.cases.composing import (
    BLOCKS,
    COMPOSE,
    SERVICE,
    SYSTEMS,
    block,
    everything,
    free,
    gpus,
    made_of,
    manifest,
    memory,
    of_blocks,
    responses,
    stanza,
    state,
    told,
    undo,
)
from tests.cases.stack import Stack, a_stack
from tests.control.builders import links
from tests.mapping.schemas import SchemaPack
from tests.virtual_time import in_virtual_time


def of(*names: str, **more: Any) -> dict[str, Any]:
    return {"Links": {"SupplyingResourceBlocks": links(*map(block, names))}, **more}


async def composed(stack: Stack, *names: str) -> str:
    body = manifest("Apply", stanza("ComposeResource", **of(*names, Id="pair")))
    (found,) = responses(await stack.ask("POST", COMPOSE, body))
    uri: str = found["@odata.id"]
    return uri


@in_virtual_time
async def test_a_block_of_blocks_is_one_choice_with_all_that_they_bring() -> None:
    async with a_stack() as stack:
        before = await everything(stack)
        pair = await composed(stack, "gpu1", "nvme1")
        shown = await stack.get(pair)
        assert shown["ResourceBlockType"] == ["Processor", "Storage"]
        assert len(shown["Processors"]) == len(shown["Drives"]) == 1
        assert await state(stack, "pair") == ("Unused", 0, False)
        assert await state(stack, "gpu1") == ("Composed", 1, False)
        part = await stack.get(block("gpu1"))
        assert part["Pool"] == "Active"
        assert part["Links"]["ConsumingResourceBlocks"] == links(pair)
        system = await stack.made(SYSTEMS, of_blocks("host1", "pair"))
        assert len(stack.rig.bound()) == 2
        assert len((await stack.get(f"{system}/Processors"))["Members"]) == 2
        assert await state(stack, "pair") == ("Composed", 1, False)
        assert (await stack.ask("DELETE", system)).status in (202, 204)
        await free(stack)
        body = manifest("Apply", undo(pair, "DecomposeResource"))
        (gone,) = responses(await stack.ask("POST", COMPOSE, body))
        assert gone["@odata.id"] == pair
        assert await everything(stack) == before


@in_virtual_time
async def test_what_is_in_a_block_of_blocks_is_nobody_elses() -> None:
    async with a_stack() as stack:
        pair = await composed(stack, "gpu1", "nvme1")
        for response in (
            await stack.ask("POST", SYSTEMS, of_blocks("host1", "gpu1")),
            await stack.ask("POST", BLOCKS, of("gpu1", "gpu2")),
        ):
            assert response.status == 409, response.body
            assert pair in told(response)[0]["MessageArgs"]
        system = await stack.made(SYSTEMS, gpus(1))
        assert await made_of(stack, system) == ["host1", "gpu2"]
        assert (await stack.ask("POST", SYSTEMS, gpus(1))).status == 409


@in_virtual_time
async def test_a_composed_block_in_use_stays() -> None:
    async with a_stack() as stack:
        pair = await composed(stack, "gpu1", "gpu2")
        system = await stack.made(SYSTEMS, of_blocks("host1", "pair"))
        response = await stack.ask("DELETE", pair)
        assert response.status == 409
        assert system in told(response)[0]["MessageArgs"]
        body = manifest("Apply", undo(pair, "DecomposeResource"))
        assert (await stack.ask("POST", COMPOSE, body)).status == 409


@in_virtual_time
async def test_a_composed_block_comes_and_goes_in_a_running_system() -> None:
    async with a_stack() as stack:
        await composed(stack, "gpu1", "gpu2")
        system = await stack.made(SYSTEMS, of_blocks("host1", "nvme1"))
        target = f"{system}/Actions/ComputerSystem."
        body = {"ResourceBlock": {"@odata.id": block("pair")}}
        assert (await stack.ask("POST", f"{target}AddResourceBlock", body)).status == 204
        assert len(stack.rig.bound()) == 3
        assert (await stack.ask("POST", f"{target}RemoveResourceBlock", body)).status == 204
        assert len(stack.rig.bound()) == 1
        assert await state(stack, "pair") == ("Unused", 0, False)


@in_virtual_time
async def test_a_host_is_chosen_for_a_composed_block() -> None:
    async with a_stack() as stack:
        await composed(stack, "gpu1", "nvme1")
        body = {**of_blocks("pair"), **memory(64 * 1024)}
        system = await stack.made(SYSTEMS, body)
        assert await made_of(stack, system) == ["host1", "pair", "mem1"]
        assert len(stack.rig.bound("PCIe")) == 2


@in_virtual_time
@pytest.mark.parametrize("names", [("host1", "gpu1"), ("mem1",), ("none",), ("gpu1", "gpu1"), ()])
async def test_only_whole_devices_make_a_block(names: tuple[str, ...]) -> None:
    async with a_stack() as stack:
        before = await everything(stack)
        response = await stack.ask("POST", BLOCKS, of(*names))
        assert response.status == 400, response.body
        assert told(response)[0]["RelatedProperties"][0].startswith(
            "#/Links/SupplyingResourceBlocks"
        )
        assert await everything(stack) == before


@in_virtual_time
async def test_what_has_a_block_is_not_registered_again() -> None:
    async with a_stack() as stack:
        processor = (await stack.get(block("gpu1")))["Processors"]
        request = {"ResourceBlockType": ["Processor"], "Processors": processor}
        body = manifest("Apply", stanza("RegisterResourceBlock", **request))
        response = await stack.ask("POST", COMPOSE, body)
        assert response.status == 409
        assert block("gpu1") in told(response)[0]["MessageArgs"]


@in_virtual_time
async def test_what_a_host_computes_with_is_in_its_block() -> None:
    async with a_stack() as stack:
        processors = (await stack.get(block("host1")))["Processors"]
        request = {"ResourceBlockType": ["Processor"], "Processors": processors}
        response = await stack.ask("POST", BLOCKS, request)
        assert response.status == 409
        assert block("host1") in told(response)[0]["MessageArgs"]


@in_virtual_time
async def test_a_part_of_what_has_a_block_is_not_registered() -> None:
    async with a_stack() as stack:
        ld = "/redfish/v1/Chassis/mem1/PCIeDevices/mem1/CXLLogicalDevices/0"
        request = {"ResourceBlockType": ["Memory"], "Memory": links(ld)}
        response = await stack.ask("POST", BLOCKS, request)
        assert response.status == 409
        assert block("mem1") in told(response)[0]["MessageArgs"]


@in_virtual_time
async def test_a_block_brings_what_it_is_made_of_and_nothing_that_others_have() -> None:
    async with a_stack() as stack:
        other = await stack.made(SYSTEMS, of_blocks("host2", "nvme1"))
        before = await everything(stack)
        drives = (await stack.get(block("nvme1")))["Drives"]
        response = await stack.ask("POST", BLOCKS, of("gpu1", Drives=drives))
        assert response.status == 400
        assert told(response)[0]["RelatedProperties"] == ["#/Drives"]
        stolen = of("host2", ResourceBlockType=["Storage"], Processors=drives)
        response = await stack.ask(
            "POST", COMPOSE, manifest("Apply", stanza("RegisterResourceBlock", **stolen))
        )
        assert response.status == 400
        assert "SupplyingResourceBlocks" in told(response)[0]["MessageArgs"]
        assert await everything(stack) == before
        assert (await stack.ask("DELETE", other)).status == 204


@in_virtual_time
async def test_all_that_composing_makes_is_as_the_schemas_say(schemas: SchemaPack) -> None:
    async with a_stack() as stack:
        await composed(stack, "nvme1", "nvme2")
        await stack.made(SYSTEMS, {**of_blocks("host1", "pair"), **memory(64 * 1024)})
        asked = manifest("PreviewReserve", stanza(**gpus(1)), Expand="Relevant", Description="d")
        (seen,) = responses(await stack.ask("POST", COMPOSE, asked))
        assert schemas.errors(seen) == []
        assert len(seen["Processors"]["Members"]) == seen["Processors"]["Members@odata.count"] > 1
        assert all("ProcessorType" in each for each in seen["Processors"]["Members"])
        assert set(seen["Memory"]) == {"@odata.id"}
        found = await stack.crawl()
        ours = [each for uri, each in found.items() if uri.startswith((SYSTEMS, SERVICE))]
        assert [line for document in ours for line in schemas.errors(document)] == []
        kinds = {document["@odata.type"].split(".")[0] for document in found.values()}
        assert "#CompositionReservation" in kinds


@in_virtual_time
@pytest.mark.parametrize("expand", ["None", None, "Relevant", "All"])
async def test_a_manifest_says_how_much_of_the_answer_is_spelled_out(expand: str | None) -> None:
    async with a_stack() as stack:
        body = manifest("Preview", stanza(**gpus(1)), Expand=expand)
        (seen,) = responses(await stack.ask("POST", COMPOSE, body))
        below = {name for name, value in seen.items() if is_below(value, seen["@odata.id"])}
        spelled = {name for name in below if "Members" in seen[name]}
        assert len(below) > 5
        wanted: set[str] = {"Relevant": {"Processors"}, "All": below}.get(str(expand), set())
        assert spelled == wanted


def is_below(value: Any, uri: str) -> bool:
    """Return whether it is a collection of the system at `uri`, or a link to one."""
    return isinstance(value, dict) and str(value.get("@odata.id", "")).startswith(f"{uri}/")


@in_virtual_time
async def test_a_block_is_registered_of_what_its_properties_are_for() -> None:
    async with a_stack() as stack:
        before = await everything(stack)
        request = {"ResourceBlockType": ["Processor"], "Processors": links(SERVICE)}
        response = await stack.ask("POST", BLOCKS, request)
        assert response.status == 400
        assert told(response)[0]["RelatedProperties"] == ["#/Processors"]
        assert await everything(stack) == before


@in_virtual_time
async def test_a_block_of_blocks_is_in_the_zone_of_what_it_is_made_of() -> None:
    async with a_stack() as stack:
        (zone, *_) = (await stack.get(f"{SERVICE}/ResourceZones"))["Members"]
        affinity = {"@Redfish.ZoneAffinity": (await stack.get(zone["@odata.id"]))["Id"]}
        await composed(stack, "nvme1", "nvme2")
        for more in ({}, gpus(1)):
            body = {**of_blocks("host1", "pair"), **affinity, **more}
            system = await stack.made(SYSTEMS, body)
            assert "pair" in await made_of(stack, system)
            assert (await stack.ask("DELETE", system)).status == 204
