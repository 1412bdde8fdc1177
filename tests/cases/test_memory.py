"""Memory over the whole stack: carved, granted, given back, scrubbed, and accounted for."""

import json
from functools import cache
from typing import Any

import pytest

from redfish_fm import worlds
from redfish_fm.config import Config
from redfish_fm.drivers.virtual.faults import Refuse, Slow
from redfish_fm.fabric.model import BindTarget, Media
from redfish_fm.redfish.requests import Response
from redfish_fm.store.base import StoredState
from tests.cases.stack import CATALOG, Stack, a_stack
from tests.control.builders import links, zone_body
from tests.redfish.builders import keys
from tests.virtual_time import in_virtual_time

FABRIC = "/redfish/v1/Fabrics/CXL"
ZONES, CONNECTIONS = f"{FABRIC}/Zones", f"{FABRIC}/Connections"
POOL = "/redfish/v1/Chassis/pooled1"
DOMAIN = f"{POOL}/MemoryDomains/1"
CHUNKS = f"{DOMAIN}/MemoryChunks"
LDS = f"{POOL}/PCIeDevices/pooled1/CXLLogicalDevices"
DYNAMIC = "/redfish/v1/Chassis/dynamic1/PCIeDevices/dynamic1"
REGIONS = f"{DYNAMIC}/CXLLogicalDevices/0/MemoryRegions"
POOL_MIB, DYNAMIC_MIB = 1024 * 1024, 512 * 1024


@cache
def mixed() -> worlds.World:
    return worlds.source(Config(topology="mixed"), CATALOG)(StoredState(0, {}))


def endpoint(name: str) -> str:
    return f"{FABRIC}/Endpoints/{name}"


async def initiators(stack: Stack) -> list[str]:
    """Return one initiator endpoint of each host on the switch of the devices above."""
    found: dict[str, str] = {}
    for member in (await stack.get(f"{FABRIC}/Endpoints"))["Members"]:
        document = await stack.get(member["@odata.id"])
        entity, *_ = document["ConnectedEntities"]
        ports = document["Links"]["ConnectedPorts"]
        if entity["EntityRole"] == "Initiator" and "/Switches/cxl1/" in str(ports):
            found.setdefault(entity["EntityLink"]["@odata.id"], member["@odata.id"])
    return [found[host] for host in sorted(found)]


def connection(initiator: str, target: str, kind: str, part: str) -> dict[str, Any]:
    row = {"AccessCapabilities": ["Read", "Write"], kind: {"@odata.id": part}}
    ends = {"InitiatorEndpoints": links(initiator), "TargetEndpoints": links(target)}
    return {"ConnectionType": "Memory", f"{kind}Info": [row], "Links": ends}


async def account(stack: Stack, uri: str) -> tuple[int, int, int]:
    """Return used, free and scrubbing of a domain or device, which add up to its total."""
    shown = (await stack.get(uri))["Oem"]["RedfishFM"]
    used, free, scrubbing = shown["UsedMiB"], shown["FreeMiB"], shown["ScrubbingMiB"]
    assert used + free + scrubbing == shown["TotalMiB"]
    return used, free, scrubbing


async def media(stack: Stack, ld: int) -> Media | None:
    """Return what the hardware says of the contents of one LD of the pool."""
    port = (await stack.get(f"{POOL}/PCIeDevices/pooled1"))["Links"]["ConnectedPCIePorts"][0]
    switch, _, number = port["@odata.id"].rsplit("/", 3)[1:]
    parts = (await stack.rig.drivers["CXL"].observe()).parts
    part = parts.get(BindTarget(switch, number, ld))
    return None if part is None else part.media


async def settled(stack: Stack) -> None:
    await stack.rig.until(lambda: not stack.kernel.operations.open_of("CXL"))


async def state(stack: Stack, uri: str) -> str:
    return str((await stack.get(uri))["Status"]["State"])


async def post(stack: Stack, collection: str, body: Any) -> str:
    """POST and wait until hardware has it, whether that takes a Task or not."""
    response = await stack.ask("POST", collection, body)
    assert response.status in (201, 202), response.body
    if response.status == 201:
        return response.headers["Location"]
    task = json.loads(response.body)["@odata.id"]
    await settled(stack)
    found = await stack.get(task)
    assert found["TaskState"] == "Completed", found
    return str(found["Links"]["CreatedResources"][0]["@odata.id"])


@pytest.mark.parametrize("suffix", ["", "/", "/Members"])
@in_virtual_time
async def test_cl_03_chunks_and_regions_answer_201_location_body_and_etag(suffix: str) -> None:
    async with a_stack(mixed()) as stack:
        for collection, body in (
            (CHUNKS, {"MemoryChunkSizeMiB": 1024}),
            (REGIONS, {"RegionType": "Dynamic", "RegionSizeMiB": 1024}),
        ):
            before = (await stack.get(collection))["Members@odata.count"]
            response = await stack.ask("POST", collection + suffix, body)
            assert response.status == 201, response.body
            location, made = response.headers["Location"], json.loads(response.body)
            assert location.startswith(f"{collection}/")
            assert made["@odata.id"] == location
            assert response.headers["ETag"] == made["@odata.etag"]
            read = await stack.ask("GET", location)
            assert (read.status, read.body) == (200, response.body)
            listed = await stack.get(collection)
            assert listed["Members@odata.count"] == before + 1
            assert {"@odata.id": location} in listed["Members"]


@in_virtual_time
async def test_a_chunk_is_allocated_granted_and_bound() -> None:
    async with a_stack(mixed()) as stack:
        host, *_ = await initiators(stack)
        chunk = await post(stack, CHUNKS, {"MemoryChunkSizeMiB": 65536})
        assert await state(stack, chunk) == "Enabled"
        shown = await stack.get(chunk)
        assert shown["Links"]["CXLLogicalDevices"] == links(f"{LDS}/0")
        ld = await stack.get(f"{LDS}/0")
        assert (ld["MemorySizeMiB"], ld["Status"]["State"]) == (65536, "Enabled")
        assert ld["Links"]["MemoryChunks"] == links(chunk)
        await post(stack, ZONES, zone_body(host, endpoint("pooled1-ld0")))
        body = connection(host, endpoint("pooled1-ld0"), "MemoryChunk", chunk)
        made = await post(stack, CONNECTIONS, body)
        assert await state(stack, made) == "Enabled"
        bindings = (await stack.get(made))["Oem"]["RedfishFM"]["Bindings"]
        assert bindings[0]["LogicalDeviceId"] == 0


@in_virtual_time
async def test_a_chunk_that_hardware_refuses_is_gone_and_its_place_is_free() -> None:
    async with a_stack(mixed()) as stack:
        stack.rig.faults("CXL").next_apply(None, Refuse("no power"))
        refused = await stack.ask("POST", CHUNKS, {"MemoryChunkSizeMiB": 256})
        await settled(stack)
        assert refused.status >= 400 and "no power" in str(json.loads(refused.body))
        assert (await stack.get(CHUNKS))["Members"] == []
        assert await account(stack, DOMAIN) == (0, POOL_MIB, 0)
        chunk = await post(stack, CHUNKS, {"MemoryChunkSizeMiB": 256})
        assert (await stack.get(chunk))["Links"]["CXLLogicalDevices"] == links(f"{LDS}/0")


@in_virtual_time
async def test_a_chunk_that_takes_long_is_a_task_and_starting() -> None:
    async with a_stack(mixed()) as stack:
        stack.rig.faults("CXL").next_apply(None, Slow(20.0))
        accepted = await stack.ask("POST", CHUNKS, {"MemoryChunkSizeMiB": 256})
        assert accepted.status == 202
        (chunk,) = (await stack.get(CHUNKS))["Members"]
        assert await state(stack, chunk["@odata.id"]) == "Starting"
        # What is wanted is used at once: nobody else can have it any more.
        assert await account(stack, DOMAIN) == (256, POOL_MIB - 256, 0)
        held = await stack.ask("PATCH", chunk["@odata.id"], {"Name": "x"})
        assert held.status == 409
        await settled(stack)
        assert await state(stack, chunk["@odata.id"]) == "Enabled"


@in_virtual_time
async def test_an_ld_without_memory_waits_for_a_chunk() -> None:
    async with a_stack(mixed()) as stack:
        ld = await stack.get(f"{LDS}/5")
        assert (ld["MemorySizeMiB"], ld["Status"]["State"]) == (0, "StandbyOffline")
        chunk = await post(stack, CHUNKS, {"MemoryChunkSizeMiB": 256})
        assert await state(stack, f"{LDS}/0") == "Enabled"
        assert (await stack.ask("DELETE", chunk)).status in (202, 204)
        await settled(stack)
        ld = await stack.get(f"{LDS}/0")
        assert (ld["MemorySizeMiB"], ld["Status"]["State"]) == (0, "StandbyOffline")
        assert ld["Links"].get("MemoryChunks", []) == []


@in_virtual_time
async def test_what_is_free_used_and_scrubbed_adds_up() -> None:
    async with a_stack(mixed()) as stack:
        assert await account(stack, DOMAIN) == (0, POOL_MIB, 0)
        chunk = await post(stack, CHUNKS, {"MemoryChunkSizeMiB": 1024})
        await post(stack, CHUNKS, {"MemoryChunkSizeMiB": 512})
        assert await account(stack, DOMAIN) == (1536, POOL_MIB - 1536, 0)
        await stack.ask("DELETE", chunk)
        await settled(stack)
        assert await account(stack, DOMAIN) == (512, POOL_MIB - 512, 0)
        await post(stack, REGIONS, {"RegionType": "Dynamic", "RegionSizeMiB": 512})
        assert await account(stack, DYNAMIC) == (512, DYNAMIC_MIB - 512, 0)


@in_virtual_time
async def test_what_hardware_still_has_is_not_free() -> None:
    async with a_stack(mixed()) as stack:
        chunk = await post(stack, CHUNKS, {"MemoryChunkSizeMiB": 256})
        stack.rig.faults("CXL").next_apply(None, Slow(20.0))
        assert (await stack.ask("DELETE", chunk)).status == 202
        assert await account(stack, DOMAIN) == (0, POOL_MIB - 256, 256)
        await settled(stack)
        assert await account(stack, DOMAIN) == (0, POOL_MIB, 0)


@in_virtual_time
async def test_another_host_is_refused_and_gets_scrubbed_memory_afterwards() -> None:
    async with a_stack(mixed()) as stack:
        first, second, *_ = await initiators(stack)
        ld = endpoint("pooled1-ld0")
        chunk = await post(stack, CHUNKS, {"MemoryChunkSizeMiB": 1024})
        zone = await post(stack, ZONES, zone_body(first, ld))
        held = await post(stack, CONNECTIONS, connection(first, ld, "MemoryChunk", chunk))
        other = await stack.ask("POST", ZONES, zone_body(second, ld))
        refused = await stack.ask("POST", CONNECTIONS, connection(second, ld, "MemoryChunk", chunk))
        assert (other.status, refused.status) == (409, 409)
        assert held in str(json.loads(other.body))
        assert held in str(json.loads(refused.body))
        assert (await media(stack, 0)) is Media.DIRTY
        kept = await stack.ask("DELETE", chunk)
        assert kept.status == 409 and "ResourceInUse" in keys(kept)
        assert held in str(json.loads(kept.body))
        for uri in (held, zone, chunk):
            assert (await stack.ask("DELETE", uri)).status in (202, 204)
            await settled(stack)
        again = await post(stack, CHUNKS, {"MemoryChunkSizeMiB": 1024})
        assert (await stack.get(again))["Links"]["CXLLogicalDevices"] == links(f"{LDS}/0")
        assert (await media(stack, 0)) is Media.CLEAN
        await post(stack, ZONES, zone_body(second, ld))
        await post(stack, CONNECTIONS, connection(second, ld, "MemoryChunk", again))


@in_virtual_time
async def test_more_than_there_is_is_refused_and_all_reasons_are_named() -> None:
    async with a_stack(mixed()) as stack:
        await post(stack, CHUNKS, {"MemoryChunkSizeMiB": POOL_MIB - 256})
        full = await stack.ask("POST", CHUNKS, {"MemoryChunkSizeMiB": 512})
        assert full.status == 409 and keys(full) == ["ResourceExhaustion"]
        body = {"MemoryChunkSizeMiB": 100, "IsSpare": True, "IsMirrorEnabled": True}
        wrong = await stack.ask("POST", CHUNKS, body)
        assert wrong.status == 400
        assert keys(wrong).count("PropertyValueIncorrect") == 3
        unknown = await stack.ask("POST", CHUNKS, body | {"RequestedOperationalState": "Online"})
        assert unknown.status == 400 and "PropertyNotWritable" in keys(unknown)


@in_virtual_time
async def test_a_chunk_changes_its_names_only() -> None:
    async with a_stack(mixed()) as stack:
        chunk = await post(stack, CHUNKS, {"MemoryChunkSizeMiB": 256, "Name": "a"})
        named = await stack.ask("PATCH", chunk, {"Name": "b", "DisplayName": "heap"})
        assert named.status == 200
        assert (await stack.get(chunk))["DisplayName"] == "heap"
        for body in ({"MemoryChunkSizeMiB": 512}, {"RequestedOperationalState": "Offline"}):
            refused = await stack.ask("PATCH", chunk, body)
            assert refused.status == 400 and keys(refused) == ["PropertyNotWritable"]


@in_virtual_time
async def test_bandwidth_that_no_driver_sets_is_not_taken() -> None:
    async with a_stack(mixed()) as stack:
        refused = await stack.ask("PATCH", f"{LDS}/0", {"QoS": {"LimitPercent": 50}})
        assert refused.status == 400 and keys(refused) == ["PropertyNotWritable"]
        assert "QoS" not in await stack.get(f"{LDS}/0")


@in_virtual_time
async def test_lds_share_the_bandwidth_of_their_device() -> None:
    async with a_stack(mixed()) as stack:
        lds = LDS.replace("pooled1", "fixed1")

        async def give(number: int, **qos: int) -> Response:
            return await stack.ask("PATCH", f"{lds}/{number}", {"QoS": qos})

        answer = await give(0, AllocatedBandwidth=60, LimitPercent=80)
        assert answer.status == 200
        shown = {"AllocatedBandwidth": 60, "LimitPercent": 80}
        assert json.loads(answer.body)["QoS"] == shown == (await stack.get(f"{lds}/0"))["QoS"]
        assert (await give(1, AllocatedBandwidth=20)).status == 200
        refused = await give(2, AllocatedBandwidth=21)
        assert refused.status == 409 and keys(refused).count("PropertyValueResourceConflict") == 2
        assert all(f"{lds}/{other}" in str(json.loads(refused.body)) for other in (0, 1))
        wrong = await give(2, AllocatedBandwidth=101, LimitPercent=-1)
        assert wrong.status == 400 and keys(wrong) == ["PropertyValueOutOfRange"] * 2
        stack.rig.faults("CXL").next_apply(None, Slow(20.0))
        accepted = await give(0, AllocatedBandwidth=10)
        assert accepted.status == 202
        assert (await stack.get(f"{lds}/0"))["QoS"] == shown
        assert (await give(0, AllocatedBandwidth=11)).status == 409
        await settled(stack)
        found = (await stack.get(f"{lds}/0"))["QoS"]
        assert found == {"AllocatedBandwidth": 10, "LimitPercent": 80}


@in_virtual_time
async def test_only_where_the_domain_allows_it_is_post_offered() -> None:
    async with a_stack(mixed()) as stack:
        fixed = "/redfish/v1/Chassis/fixed1/MemoryDomains/0"
        assert (await stack.get(fixed))["AllowsMemoryChunkCreation"] is False
        for domain, offered in ((fixed, False), (DOMAIN, True)):
            answer = await stack.ask("GET", f"{domain}/MemoryChunks")
            assert ("POST" in answer.headers["Allow"]) is offered
        refused = await stack.ask("POST", f"{fixed}/MemoryChunks", {"MemoryChunkSizeMiB": 256})
        assert refused.status == 405


@in_virtual_time
async def test_a_region_is_dynamic_capacity_of_its_ld() -> None:
    async with a_stack(mixed()) as stack:
        region = await post(stack, REGIONS, {"RegionType": "Dynamic", "RegionSizeMiB": 1024})
        shown = await stack.get(region)
        assert (shown["RegionNumber"], shown["Status"]["State"]) == (0, "Enabled")
        ld = REGIONS.rpartition("/")[0]
        assert (await stack.get(ld))["MemorySizeMiB"] == 1024
        assert (await stack.ask("DELETE", region)).status in (202, 204)
        await settled(stack)
        assert (await stack.get(ld))["MemorySizeMiB"] == 0
        assert (await stack.get(REGIONS))["Members@odata.count"] == 0


@in_virtual_time
async def test_hosts_share_a_region_that_was_made_for_it_and_no_other() -> None:
    async with a_stack(mixed()) as stack:
        first, second, *_ = await initiators(stack)
        ld, body = endpoint("dynamic1-ld0"), {"RegionType": "Dynamic", "RegionSizeMiB": 512}
        shared = await post(stack, REGIONS, body | {"ShareableRegion": True})
        await post(stack, ZONES, zone_body(first, ld, Name="one"))
        await post(stack, ZONES, zone_body(second, ld, Name="two"))
        for host in (first, second):
            await post(stack, CONNECTIONS, connection(host, ld, "MemoryRegion", shared))
        # It would make an LD exclusive that zones of two hosts hold; in the other LD it may be.
        alone = await stack.ask("POST", REGIONS, body)
        assert alone.status == 409
        await post(stack, REGIONS.replace("/0/", "/1/"), body)
        exclusive = await post(stack, REGIONS, body | {"ShareableRegion": True})
        assert (await stack.get(exclusive))["RegionNumber"] == 1


@in_virtual_time
async def test_a_region_shows_where_hardware_laid_it() -> None:
    async with a_stack(mixed()) as stack:

        async def region(size_mib: int) -> str:
            return await post(stack, REGIONS, {"RegionType": "Dynamic", "RegionSizeMiB": size_mib})

        await region(512)
        middle = await region(1024)
        await region(DYNAMIC_MIB - 2048)
        assert (await stack.get(middle))["RegionBaseOffsetMiB"] == 512
        extents = [{"ExtentOffsetMiB": 0, "ExtentSizeMiB": 1024}]
        assert (await stack.get(middle))["MemoryExtents"] == extents
        assert (await stack.get(middle))["ExtentsCount"] == 1
        await stack.ask("DELETE", middle)
        await settled(stack)
        stack.rig.faults("CXL").next_apply(None, Slow(20.0))
        # What was given back and what was never used: two runs of addresses.
        answer = await stack.ask("POST", REGIONS, {"RegionType": "Dynamic", "RegionSizeMiB": 1536})
        assert answer.status == 202
        members = (await stack.get(REGIONS))["Members"]
        (made,) = [each["@odata.id"] for each in members
                   if (await stack.get(each["@odata.id"]))["RegionSizeMiB"] == 1536]  # fmt: skip
        assert not {"MemoryExtents", "ExtentsCount"} & (await stack.get(made)).keys()
        await settled(stack)
        shown = await stack.get(made)
        assert shown["RegionBaseOffsetMiB"] == 512 and shown["ExtentsCount"] == 2
        assert shown["MemoryExtents"] == [
            {"ExtentOffsetMiB": 0, "ExtentSizeMiB": 1024},
            {"ExtentOffsetMiB": DYNAMIC_MIB - 1024, "ExtentSizeMiB": 512},
        ]


@in_virtual_time
async def test_the_schema_of_what_is_left_is_served() -> None:
    async with a_stack(mixed()) as stack:
        answer = await stack.ask("GET", "/redfish/v1/Schemas/RedfishFMCapacity_v1.xml")
        assert answer.status == 200
        shown = (await stack.get(DOMAIN))["Oem"]["RedfishFM"]["@odata.type"]
        namespace = shown.lstrip("#").rpartition(".")[0]
        assert f'Namespace="{namespace}"'.encode() in answer.body
        metadata = await stack.ask("GET", "/redfish/v1/$metadata")
        assert b"RedfishFMCapacity_v1.xml" in metadata.body
