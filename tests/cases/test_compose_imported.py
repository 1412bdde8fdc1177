"""Compose on imported services: the published examples, as a client of their style sends them."""

import asyncio
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.cases.composing import (
    COMPOSE,
    RESERVATIONS,
    SERVICE,
    SYSTEMS,
    block,
    gpus,
    made_of,
    manifest,
    responses,
    stanza,
    told,
    wish,
)
from tests.cases.stack import a_stack, imported
from tests.control.builders import links
from tests.unpacking import unpack
from tests.virtual_time import run


def unpacked(shared: Path, place: Path, name: str) -> Path:
    """Unpack one of the public mockups as published; return its folder."""
    with tarfile.open(shared / "data" / "mockups-dmtf-2025.4.tar.gz") as pack:
        members = [each for each in pack.getmembers() if f"/{name}/" in f"/{each.name}"]
        unpack(pack, place, members)
    (folder,) = [path for path in place.rglob(name) if path.is_dir()]
    return folder


def test_the_published_compose_example_is_carried_out_on_free_blocks(
    shared: Path, tmp_path: Path
) -> None:
    world = imported(unpacked(shared, tmp_path, "public-compose-action"))
    example = "CompositionService-v1-Compose-request-example.json"
    body = json.loads((shared / "fixtures" / "wild" / "dmtf" / example).read_text())

    async def compose() -> None:
        async with a_stack(world) as stack:
            service = await stack.get(SERVICE)
            target = service["Actions"]["#CompositionService.Compose"]["target"]
            assert target == COMPOSE
            # As published its blocks are composed already; the answer names who has them.
            refused = await stack.ask("POST", target, body)
            assert refused.status in (400, 409)
            assert "Compute1" in json.dumps(told(refused))
            free = [
                each["@odata.id"] for each in (await stack.get(f"{SERVICE}/FreePool"))["Members"]
            ]
            host = next(each for each in free if "Server" in each)
            request: dict[str, Any] = body["Manifest"]["Stanzas"][0]["Request"]
            request["Links"]["ResourceBlocks"] = links(host)
            (made,) = responses(await stack.ask("POST", target, body))
            assert await made_of(stack, made["@odata.id"]) == [host.rsplit("/", 1)[-1]]

    run(compose())


def test_a_reservation_that_was_imported_stays_and_keeps_its_form(
    shared: Path, tmp_path: Path
) -> None:
    world = imported(unpacked(shared, tmp_path, "public-compose-action"))

    async def look() -> None:
        async with a_stack(world) as stack:
            await asyncio.sleep(5)
            assert (await stack.get(f"{RESERVATIONS}/1"))["Manifest"]["Stanzas"]
            asked = manifest("Preview", stanza(Links={"ResourceBlocks": links(block("none"))}))
            assert (await stack.ask("POST", COMPOSE, asked)).status == 400

    run(look())


WISHED: dict[str, dict[str, Any]] = {
    "cores": {"Processors": wish(2, ProcessorType="CPU", TotalCores=8)},
    "host memory": {"Memory": wish(4, CapacityMiB=8192, MemoryType="DRAM")},
    "a GPU": gpus(1, TotalCores=1024, Model="Contoso Workstation VID2000"),
    "drives": {"Storage": wish(2, Drives=[{"CapacityBytes": 200 << 30, "Protocol": "NVMe"}])},
    "a tray": {"SimpleStorage": wish(1, Devices={"CapacityBytes": 100 << 30})},
    "a network": {"EthernetInterfaces": wish(1, SpeedMbps=100, FullDuplex=True)},
}


@pytest.mark.parametrize("name", ["public-constrained-composition", "public-composability"])
def test_wishes_find_what_a_published_service_has(shared: Path, tmp_path: Path, name: str) -> None:
    world = imported(unpacked(shared, tmp_path, name))

    async def compose() -> None:
        async with a_stack(world) as stack:
            for old in (await stack.get(SYSTEMS))["Members"]:
                if (await stack.get(old["@odata.id"]))["SystemType"] == "Composed":
                    assert (await stack.ask("DELETE", old["@odata.id"])).status == 204
            everywhere: dict[str, Any] = {"Name": "everything"}
            for what, body in WISHED.items():
                response = await stack.ask("POST", SYSTEMS, {"Name": what, **body})
                assert response.status == 201, (what, response.body)
                found = await made_of(stack, response.headers["Location"])
                assert found[0].startswith("ComputeBlock"), what
                assert (await stack.ask("DELETE", response.headers["Location"])).status == 204
                for collection, asked in body.items():
                    rows = everywhere.setdefault(collection, {"Members": []})["Members"]
                    rows += asked["Members"]
            system = await stack.made(SYSTEMS, everywhere)
            found = await made_of(stack, system)
            drives = [each for each in found if each.startswith("DriveBlock")]
            assert ("OffloadBlock9" in found, "NetworkBlock8" in found) == (True, True)
            assert len(drives) == len(set(drives)) == 3
            shown = await stack.get(f"{system}/Processors")
            names = {each["@odata.id"].rpartition("/")[2] for each in shown["Members"]}
            assert "Block9GPU" in names
            assert (await stack.ask("PATCH", system, gpus(1))).status == 200
            assert await made_of(stack, system) == found

    run(compose())


@pytest.mark.parametrize(
    ("body", "told_of"),
    [
        (
            {"Processors": wish(2, ProcessorType="CPU", TotalCores=4096)},
            "not enough processor cores",
        ),
        ({"Memory": wish(4, CapacityMiB=1 << 30)}, "not enough memory in the host"),
        (gpus(1, Model="nobody's"), "no device of that kind and model is known"),
        (gpus(2), "not enough free devices"),
        (gpus(1, TotalCores=99999), "not enough free devices"),
        ({"Storage": wish(1, Drives=[{"Protocol": "SATA"}])}, "no device of that kind"),
    ],
)
def test_what_a_published_service_has_not_is_refused_with_the_reason(
    shared: Path, tmp_path: Path, body: dict[str, Any], told_of: str
) -> None:
    world = imported(unpacked(shared, tmp_path, "public-constrained-composition"))

    async def compose() -> None:
        async with a_stack(world) as stack:
            for old in (await stack.get(SYSTEMS))["Members"]:
                await stack.ask("DELETE", old["@odata.id"])
            refused = await stack.ask("POST", SYSTEMS, body)
            assert refused.status == 409, refused.body
            assert told_of in json.dumps(told(refused))

    run(compose())
