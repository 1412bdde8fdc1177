"""Systems by what they need, out of every kind of pool; what can not be met or not be read."""

from functools import cache
from typing import Any

import pytest

from redfish_fm import worlds
from redfish_fm.config import Config
from redfish_fm.store.base import StoredState
from tests.cases.composing import (
    COMPOSE,
    RESERVATIONS,
    SERVICE,
    SYSTEMS,
    bindings,
    block,
    commits,
    everything,
    free,
    gpus,
    holdings,
    made_of,
    manifest,
    memory,
    of_blocks,
    responses,
    stanza,
    told,
    wish,
)
from tests.cases.stack import a_stack
from tests.cases.test_memory import mixed
from tests.redfish.builders import CATALOG
from tests.virtual_time import in_virtual_time

GIB = 1024
UNMET = "RedfishFM.1.0.RequirementUnmet"


@cache
def ai_pod() -> worlds.World:
    return worlds.source(Config(topology="ai-pod"), CATALOG)(StoredState(0, {}))


def ours(**wishes: Any) -> dict[str, Any]:
    return {"Oem": {"RedfishFM": wishes}}


# -- what is given ---------------------------------------------------------------------------


@in_virtual_time
async def test_eight_gpus_two_tebibytes_and_a_drive_are_one_request() -> None:
    async with a_stack(ai_pod()) as stack:
        before = await everything(stack)
        drive = {"Storage": wish(1)}
        system = await stack.made(
            SYSTEMS, {"Name": "train", **gpus(8), **memory(1 << 20, 2), **drive}
        )
        names = await made_of(stack, system)
        assert sum(name.startswith("gpu") for name in names) == 8
        assert sum(name.startswith("nvme") for name in names) == 1
        assert sum(name.startswith("appliance") for name in names) == 1
        assert bindings(stack) == 11
        found = await holdings(stack, system)
        assert [len(found[name]) for name in ("Zones", "Connections", "MemoryChunks")] == [2, 2, 2]
        assert (await stack.get(system))["Name"] == "train"
        assert (await stack.ask("DELETE", system)).status in (202, 204)
        await free(stack)
        assert await everything(stack) == before


@in_virtual_time
async def test_named_blocks_and_wishes_go_together() -> None:
    async with a_stack(ai_pod()) as stack:
        system = await stack.made(SYSTEMS, {**of_blocks("gpu7", "host3"), **gpus(1)})
        names = await made_of(stack, system)
        assert names[:2] == ["gpu7", "host3"]
        assert len(names) == 3
        assert names[2] != "gpu7"


@in_virtual_time
async def test_memory_may_come_out_of_dynamic_capacity() -> None:
    async with a_stack(mixed()) as stack:
        before = await everything(stack)
        # 512 MiB more than a pool of LDs can be cut into, and no fixed LD has it.
        named = of_blocks("dynamic1")
        system = await stack.made(SYSTEMS, {**named, **memory(512, 2)})
        found = await holdings(stack, system)
        assert len(found["MemoryRegions"]) + len(found["MemoryChunks"]) == 2
        assert found["MemoryRegions"]
        summary = (await stack.get(system))["MemorySummary"]["TotalSystemMemoryGiB"]
        host = (await stack.get(system))["Links"]["SupplyingComputerSystems"][0]["@odata.id"]
        own = (await stack.get(host))["MemorySummary"]["TotalSystemMemoryGiB"]
        assert summary == own + 1
        assert (await stack.ask("PATCH", system, memory(512))).status == 200
        assert (await stack.ask("DELETE", system)).status in (202, 204)
        await free(stack)
        assert await everything(stack) == before


@in_virtual_time
async def test_namespaces_are_cut_and_attached() -> None:
    async with a_stack(mixed()) as stack:
        before = await everything(stack)
        volumes = {"Volumes": wish(1, CapacityBytes=100 << 30)}
        system = await stack.made(SYSTEMS, {"Storage": wish(2, **volumes)})
        found = await holdings(stack, system)
        assert (len(found["Volumes"]), len(found["Connections"])) == (2, 2)
        assert bindings(stack) == 2
        assert (await stack.ask("DELETE", system)).status in (202, 204)
        await free(stack)
        assert await everything(stack) == before


@in_virtual_time
async def test_mirrored_memory_says_which_parts_are_copies() -> None:
    async with a_stack(ai_pod()) as stack:
        body = memory(1 << 20, 2, **ours(MemoryPolicy="Mirrored"))
        system = await stack.made(SYSTEMS, body)
        shown = (await stack.get(system))["Oem"]["RedfishFM"]["Composition"]
        chunks = [each["@odata.id"] for each in shown["MemoryChunks"]]
        assert len(chunks) == 4
        mirrors = [[each["@odata.id"] for each in row["Parts"]] for row in shown["Mirrors"]]
        assert sorted(uri for row in mirrors for uri in row) == sorted(chunks)
        for row in mirrors:
            assert len({uri.split("/MemoryDomains/")[0] for uri in row}) == 2


@in_virtual_time
async def test_a_zone_of_blocks_confines_the_choice() -> None:
    async with a_stack(ai_pod()) as stack:
        zones = (await stack.get(f"{SERVICE}/ResourceZones"))["Members"]
        zone = await stack.get(zones[-1]["@odata.id"])
        inside = {each["@odata.id"] for each in zone["Links"]["ResourceBlocks"]}
        body = {**gpus(2), "@Redfish.ZoneAffinity": zone["Id"]}
        system = await stack.made(SYSTEMS, body)
        assert {block(name) for name in await made_of(stack, system)} <= inside
        refused = await stack.ask("POST", SYSTEMS, {**body, "@Redfish.ZoneAffinity": "none"})
        assert refused.status == 400
        assert told(refused)[0]["RelatedProperties"] == ["#/@Redfish.ZoneAffinity"]


@in_virtual_time
async def test_more_than_asked_for_is_given_only_where_client_and_operator_allow_it() -> None:
    async with a_stack() as stack:
        asked = memory(GIB)
        more = {**asked, "@Redfish.AllowOverprovisioning": True}
        assert (await stack.ask("POST", SYSTEMS, asked)).status == 409
        operator = {"AllowOverprovisioning": False}
        assert (await stack.ask("PATCH", SERVICE, operator)).status == 200
        assert (await stack.ask("POST", SYSTEMS, more)).status == 409
        assert (await stack.ask("PATCH", SERVICE, {"AllowOverprovisioning": True})).status == 200
        await stack.made(SYSTEMS, more)


@in_virtual_time
async def test_systems_share_a_region_that_was_made_for_it_each_with_its_access() -> None:
    async with a_stack(mixed()) as stack:
        lds = "/redfish/v1/Chassis/dynamic1/PCIeDevices/dynamic1/CXLLogicalDevices"
        region = {"RegionType": "Dynamic", "RegionSizeMiB": 512}
        shared = await stack.made(f"{lds}/0/MemoryRegions", region | {"ShareableRegion": True})
        alone = await stack.made(f"{lds}/1/MemoryRegions", region)
        before = await everything(stack)

        def asking(uri: str, *access: str) -> dict[str, Any]:
            wishes: dict[str, Any] = {"MemoryRegion": {"@odata.id": uri}}
            if access:
                wishes["AccessCapabilities"] = list(access)
            return {"Memory": wish(1, **ours(**wishes))}

        writer = await stack.made(SYSTEMS, asking(shared))
        reader = await stack.made(SYSTEMS, asking(shared, "Read"))
        granted = []
        for system in (writer, reader):
            found = await holdings(stack, system)
            assert found["MemoryRegions"] == []
            (connection,) = found["Connections"]
            (row,) = (await stack.get(connection))["MemoryRegionInfo"]
            granted.append(row["AccessCapabilities"])
        assert granted == [["Read", "Write"], ["Read"]]
        assert len(stack.rig.bound("CXL")) == 2
        refused = await stack.ask("POST", SYSTEMS, asking(alone))
        assert refused.status == 400
        target = f"{writer}/Actions/ComputerSystem.RemoveResourceBlock"
        body = {"ResourceBlock": {"@odata.id": block("dynamic1")}}
        assert (await stack.ask("POST", target, body)).status == 204
        assert len(stack.rig.bound("CXL")) == 1
        assert (await stack.ask("PATCH", writer, asking(shared, "Read"))).status == 200
        assert len(stack.rig.bound("CXL")) == 2
        for system in (writer, reader):
            assert (await stack.ask("DELETE", system)).status in (202, 204)
        await free(stack)
        assert (await stack.ask("GET", shared)).status == 200
        assert await everything(stack) == before


SHALL_HAVE: dict[str, dict[str, Any]] = {
    "devices": gpus(3, Model="Virtual accelerator 80G"),
    "devices behind one switch": gpus(3, **ours(SameSwitch=True)),
    "drives far apart": {"Storage": wish(3, **ours(SpreadOverFailureDomains=True))},
    "fixed parts": memory(512 * GIB, 2),
    "parts of a pool": memory(96 * GIB, 2),
    "copies": memory(96 * GIB, 2, **ours(MemoryPolicy="Mirrored")),
    "parts far apart": memory(96 * GIB, 2, **ours(MemoryPolicy="Spread")),
    "blocks and wishes": {**of_blocks("host1", "gpu1"), **gpus(1), **memory(512 * GIB)},
    "all at once": {
        **gpus(4),
        **memory(512 * GIB, **ours(MemoryPolicy="Mirrored")),
        "Storage": wish(2),
        "EthernetInterfaces": wish(1),
    },
}


@pytest.mark.parametrize("name", SHALL_HAVE)
@pytest.mark.parametrize("before", ["gpu1", "nothing"])
@in_virtual_time
async def test_a_patch_says_what_a_system_shall_have_however_often_it_is_sent(
    name: str, before: str
) -> None:
    async with a_stack(ai_pod()) as stack:
        system = f"{SYSTEMS}/host1"
        if before == "gpu1":
            system = await stack.made(SYSTEMS, of_blocks("host1", "gpu1"))
        elif name == "blocks and wishes":
            system = await stack.made(SYSTEMS, of_blocks("host1"))
        assert (await stack.ask("PATCH", system, SHALL_HAVE[name])).status == 200
        once, numbers = await everything(stack), commits(stack)
        shown = await stack.get(system)
        for _ in range(2):
            again = await stack.ask("PATCH", system, SHALL_HAVE[name])
            assert again.status == 200, again.body
        assert await everything(stack) == once
        assert commits(stack) == numbers
        assert await stack.get(system) == shown


@in_virtual_time
async def test_a_patch_takes_nothing_away_that_it_does_not_speak_of() -> None:
    async with a_stack(ai_pod()) as stack:
        system = await stack.made(SYSTEMS, {**of_blocks("host1"), **gpus(3), **memory(512 * GIB)})
        before = await everything(stack)
        for body in (gpus(1), memory(512 * GIB), {**gpus(2), "Name": "other"}):
            assert (await stack.ask("PATCH", system, body)).status == 200
        assert await everything(stack) == before
        assert (await stack.get(system))["Name"] == "other"


@in_virtual_time
async def test_a_shared_region_is_granted_once_however_often_it_is_asked_for() -> None:
    async with a_stack(mixed()) as stack:
        lds = "/redfish/v1/Chassis/dynamic1/PCIeDevices/dynamic1/CXLLogicalDevices"
        region = {"RegionType": "Dynamic", "RegionSizeMiB": 512, "ShareableRegion": True}
        shared = await stack.made(f"{lds}/0/MemoryRegions", region)
        system = await stack.made(SYSTEMS, of_blocks("host1"))
        asked = {"Memory": wish(1, **ours(MemoryRegion={"@odata.id": shared}))}
        for _ in range(2):
            assert (await stack.ask("PATCH", system, asked)).status == 200
            assert len((await holdings(stack, system))["Connections"]) == 1


# -- what can not be met ---------------------------------------------------------------------


@in_virtual_time
@pytest.mark.parametrize("kind", ["Preview", "PreviewReserve", "Apply"])
async def test_co_05_each_unmet_requirement_is_told_with_its_stanza(kind: str) -> None:
    async with a_stack(ai_pod()) as stack:
        before = await everything(stack)
        good = stanza(name="good", **gpus(1))
        bad = stanza(name="s1", Name="n", **gpus(99), **memory(999_999_999))
        response = await stack.ask("POST", COMPOSE, manifest(kind, good, bad))
        assert response.status in (400, 409)
        unmet = [each for each in told(response) if each["MessageId"] == UNMET]
        assert [each["RelatedProperties"] for each in unmet] == [
            ["#/Manifest/Stanzas/1/Request/Processors/Members/0"],
            ["#/Manifest/Stanzas/1/Request/Memory/Members/0"],
        ]
        for message, requested in zip(unmet, ("99", "999999999 MiB"), strict=True):
            assert message["MessageArgs"][1] == requested
            assert message["MessageArgs"][2] not in ("", "not counted", requested)
            assert "stanza s1" in message["Message"]
        assert await everything(stack) == before
        assert (await stack.get(RESERVATIONS))["Members"] == []


@in_virtual_time
async def test_what_can_not_be_read_and_what_can_not_be_taken_is_told_together() -> None:
    async with a_stack(ai_pod()) as stack:
        system = await stack.made(SYSTEMS, of_blocks("host1", "gpu1"))
        other = await stack.made(SYSTEMS, of_blocks("host2", "gpu2"))
        wrong = {"Processors": wish(0, ProcessorType="GPU")}
        for method, uri, body, position in (
            ("POST", SYSTEMS, {**wrong, **of_blocks("host3", "gpu1")}, 1),
            ("PATCH", system, {**wrong, **of_blocks("host1", "gpu1", "gpu2")}, 2),
        ):
            response = await stack.ask(method, uri, body)
            assert response.status == 400
            places = [each.get("RelatedProperties") for each in told(response)]
            assert ["#/Processors/Members/0/@Redfish.RequestedCount"] in places
            assert [f"#/Links/ResourceBlocks/{position}"] in places
        assert other in response.body.decode()


@in_virtual_time
async def test_a_preview_and_an_apply_say_the_same() -> None:
    async with a_stack(ai_pod()) as stack:
        before = await everything(stack)
        body = manifest("Preview", stanza(Name="n", **gpus(4), **memory(1 << 20)))
        (seen,) = responses(await stack.ask("POST", COMPOSE, body))
        assert await everything(stack) == before
        (done,) = responses(await stack.ask("POST", COMPOSE, {**body, "RequestType": "Apply"}))
        assert done == seen
        assert (await stack.get(done["@odata.id"]))["Links"]["ResourceBlocks"] == (
            seen["Links"]["ResourceBlocks"]
        )


# -- what can not be read --------------------------------------------------------------------

UNREADABLE = {
    "count of nothing": ({"Processors": wish(0, ProcessorType="GPU")}, "@Redfish.RequestedCount"),
    "count of a half": ({"Processors": wish(1.5, ProcessorType="GPU")}, "@Redfish.RequestedCount"),  # type: ignore[arg-type]
    "no count": (
        {"Processors": {"Members": [{"ProcessorType": "GPU"}]}},
        "@Redfish.RequestedCount",
    ),
    "empty type": ({"Processors": wish(1, ProcessorType="")}, "ProcessorType"),
    "no type": ({"Processors": wish(1)}, "ProcessorType"),
    "unknown type": ({"Processors": wish(1, ProcessorType="DSP")}, "ProcessorType"),
    "no capacity": ({"Memory": wish(1)}, "CapacityMiB"),
    "negative": ({"Memory": wish(1, CapacityMiB=-1)}, "CapacityMiB"),
    "true": ({"Memory": wish(1, CapacityMiB=True)}, "CapacityMiB"),
    "unheeded": ({"Memory": wish(1, CapacityMiB=1024, RankCount=2)}, "RankCount"),
    "not ours": (
        {"Memory": wish(1, CapacityMiB=1024, **ours(SameSwitch=True))},
        "Oem/RedfishFM/SameSwitch",
    ),
    "no policy": (
        {"Memory": wish(1, CapacityMiB=1024, **ours(MemoryPolicy="Cheap"))},
        "Oem/RedfishFM/MemoryPolicy",
    ),
}


@in_virtual_time
@pytest.mark.parametrize("name", UNREADABLE)
async def test_what_is_no_wish_is_refused_and_takes_nothing_away(name: str) -> None:
    body, place = UNREADABLE[name]
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, of_blocks("host1", "gpu1"))
        before = await everything(stack)
        (collection,) = body
        for method, uri in (("POST", SYSTEMS), ("PATCH", system)):
            response = await stack.ask(method, uri, body)
            assert response.status == 400, response.body
            assert told(response)[0]["RelatedProperties"] == [f"#/{collection}/Members/0/{place}"]
        assert await everything(stack) == before


@in_virtual_time
@pytest.mark.parametrize("body", [{}, {"Processors": {"Members": []}}, {"Name": "n"}])
async def test_a_request_for_nothing_is_refused(body: dict[str, Any]) -> None:
    async with a_stack() as stack:
        assert (await stack.ask("POST", SYSTEMS, body)).status == 400


@in_virtual_time
async def test_a_host_is_chosen_by_its_cores() -> None:
    async with a_stack() as stack:
        cpu = {"Processors": wish(1, ProcessorType="CPU", TotalCores=16)}
        assert await made_of(stack, await stack.made(SYSTEMS, cpu)) == ["host1"]
        response = await stack.ask(
            "POST", SYSTEMS, {"Processors": wish(4, ProcessorType="CPU", TotalCores=16)}
        )
        assert response.status == 409
        (message,) = told(response)
        assert message["MessageArgs"][1:3] == ["64", "32"]


@in_virtual_time
async def test_our_wishes_do_not_stay_in_the_system() -> None:
    async with a_stack(ai_pod()) as stack:
        body = {**gpus(2), **ours(MaxLatencyNanoseconds=100_000, SameSwitch=True)}
        system = await stack.made(SYSTEMS, body)
        shown = (await stack.get(system))["Oem"]["RedfishFM"]
        assert set(shown) == {"@odata.type", "Composition"}


@in_virtual_time
async def test_what_is_too_far_is_refused_with_the_nearest() -> None:
    async with a_stack(ai_pod()) as stack:
        body = {**gpus(1), **ours(MaxLatencyNanoseconds=1)}
        response = await stack.ask("POST", SYSTEMS, body)
        assert response.status == 409
        (message,) = told(response)
        assert message["MessageArgs"][1] == "1 ns"
        assert message["MessageArgs"][2].endswith(" ns")
