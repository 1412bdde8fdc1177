"""Compose on imported services: the published examples, as a client of their style sends them."""

import asyncio
import json
import tarfile
from pathlib import Path
from typing import Any

from tests.cases.composing import (
    COMPOSE,
    RESERVATIONS,
    SERVICE,
    block,
    made_of,
    manifest,
    responses,
    stanza,
    told,
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
