"""Parts of pools through the loop: allocated, scrubbed, given back, whatever fails."""

import asyncio
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from redfish_fm.drivers.virtual.faults import Dropped, Late, Lost, Refuse, Restart, Slow
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.topology import load
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    BindTarget,
    Deallocate,
    Inventory,
    Media,
    Sanitize,
    Unbind,
)
from redfish_fm.redfish.writes import Outcome, OutcomeKind, Write, WriteKind
from tests.control.builders import CXL_FABRIC, Rig, cxl, links, refused, running_kernel
from tests.drivers.fabrics import MOCKUPS
from tests.virtual_time import VirtualClock, in_virtual_time

CHUNKS = "/redfish/v1/Chassis/pooled1/MemoryDomains/1/MemoryChunks"
CHUNK = f"{CHUNKS}/c"
REGIONS = "/redfish/v1/Chassis/dynamic1/PCIeDevices/dynamic1/CXLLogicalDevices/0/MemoryRegions"
REGION = f"{REGIONS}/r"
CONNECTIONS = f"{CXL_FABRIC}/Connections"


@cache
def mixed(fabric: str) -> Inventory:
    found = {each.fabric: each for each in load("mixed", MOCKUPS).inventories()}
    return found[fabric]


def pcie(name: str) -> str:
    return f"/redfish/v1/Fabrics/PCIe/Endpoints/{name}"


def running(**more: Any) -> Any:
    return running_kernel(inventories=(mixed("CXL"),), **more)


async def make(rig: Rig, type_name: str, collection: str, body: Mapping[str, Any]) -> Outcome:
    write = Write(WriteKind.CREATE, collection, type_name, "tester", body)
    return await rig.kernel.commits.commit(write)


async def a_chunk(rig: Rig, size_mib: int = 1024) -> Outcome:
    return await make(rig, "MemoryChunks", CHUNKS, {"Id": "c", "MemoryChunkSizeMiB": size_mib})


async def a_shareable_region(rig: Rig) -> Outcome:
    body = {"Id": "r", "RegionSizeMiB": 1024, "ShareableRegion": True}
    return await make(rig, "MemoryRegion", REGIONS, body)


def initiators(rig: Rig) -> list[str]:
    """Return an initiator endpoint of each host on the first switch."""
    index, hosts = rig.published.state.index, dict[str, str]()
    for each in index.endpoints.values():
        near = each.host and index.vcs_of_host("CXL", each.host, "cxl1")
        if near and any("/Switches/cxl1/" in port for port in each.ports):
            hosts.setdefault(str(each.host), each.id)
    return [hosts[host] for host in sorted(hosts)]


def connection(initiator: str, target: str, rows: str, name: str, part: str) -> dict[str, Any]:
    row = {"AccessCapabilities": ["Read", "Write"], name: {"@odata.id": part}}
    ends = {"InitiatorEndpoints": links(initiator), "TargetEndpoints": links(target)}
    return {"ConnectionType": "Memory", rows: [row], "Links": ends}


async def connect(rig: Rig, host: int, part: str = CHUNK) -> Outcome:
    """Zone the part's LD with a host (if it is not) and grant it the part."""
    initiator = initiators(rig)[host]
    target = cxl("pooled1-ld0" if part == CHUNK else "dynamic1-ld0")
    zone = f"{CXL_FABRIC}/Zones/z{host}"
    if not rig.published.exists(zone):
        await rig.zone(initiator, target, Id=f"z{host}")
    rows, name = ("MemoryChunkInfo", "MemoryChunk")
    if part == REGION:
        rows, name = ("MemoryRegionInfo", "MemoryRegion")
    body = connection(initiator, target, rows, name, part)
    return await rig.post(CONNECTIONS, {"Id": f"c{host}", **body})


async def disconnect(rig: Rig, host: int) -> Outcome:
    found = await rig.delete(f"{CONNECTIONS}/c{host}")
    await rig.until(lambda: not rig.kernel.operations.open_of("CXL"))
    zone = f"{CXL_FABRIC}/Zones/z{host}"
    await rig.delete(zone)
    return found


def parts(rig: Rig) -> dict[BindTarget, tuple[int, Media]]:
    """Return what hardware has allocated of the pools on the first switch."""
    states = rig.hardware["CXL"].part_states("cxl1")
    wanted = {each.target for each in rig.published.state.index.allocations.values()}
    pooled = rig.loop("CXL")._intent._physical().pooled  # noqa: SLF001 - the one that plans
    return {
        target: (state.size_mib, state.media)
        for target, state in states.items()
        if target in wanted or pooled(target)
    }


async def quiet(rig: Rig, within_s: float = 200.0) -> None:
    await rig.until(lambda: not rig.kernel.operations.open_of("CXL"), within_s)


def sanitized(rig: Rig, fabric: str = "CXL") -> bool:
    """Return whether the hardware was ever told to sanitize anything."""
    return any(each.what == "sanitize" for each in rig.oracle(fabric).actions(fabric))


@in_virtual_time
async def test_a_chunk_is_allocated_when_it_is_answered_and_gone_when_it_is_deleted() -> None:
    async with running() as rig:
        made = await a_chunk(rig)
        assert made.kind is OutcomeKind.CREATED
        ((target, found),) = parts(rig).items()
        assert (target.ld, found) == (0, (1024, Media.CLEAN))
        assert rig.status(CHUNK) == ("Enabled", "OK")
        assert (await rig.delete(CHUNK)).kind is OutcomeKind.DELETED
        assert parts(rig) == {}
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_an_allocation_that_hardware_refuses_leaves_no_chunk_behind() -> None:
    async with running() as rig:
        rig.faults("CXL").next_apply(None, Refuse("worn out"), only=(Allocate,))
        error = await refused(a_chunk(rig))
        (message,) = error.messages
        assert error.status == 409
        assert message.args[0] == "Allocate of ld 0 with 1024 MiB" and "worn out" in message.args[2]
        assert not rig.published.exists(CHUNK)
        await quiet(rig)
        assert parts(rig) == {} == rig.published.state.index.allocations
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_a_chunk_that_hardware_makes_after_it_was_taken_back_is_given_back() -> None:
    async with running(sync_budget_s=0.2) as rig:
        rig.faults("CXL").next_apply(None, Late(1.5), only=(Allocate,))
        made = await a_chunk(rig)
        assert made.kind is OutcomeKind.ACCEPTED
        await rig.delete(str(made.task))
        assert not rig.published.exists(CHUNK) and parts(rig) == {}
        await quiet(rig)
        await asyncio.sleep(10.0)
        assert parts(rig) == {}
        assert any(each.what == "allocate" for each in rig.oracle("CXL").actions("CXL"))
        assert rig.loop("CXL").foreign_parts == ()


@in_virtual_time
async def test_a_resource_under_allocation_takes_no_write_and_shows_starting() -> None:
    async with running(sync_budget_s=0.5) as rig:
        rig.faults("CXL").next_apply(None, Slow(3.0), only=(Allocate,))
        made = await a_chunk(rig)
        assert made.kind is OutcomeKind.ACCEPTED
        assert rig.status(CHUNK) == ("Starting", "OK")
        error = await refused(rig.patch(CHUNK, {"Name": "other"}))
        assert str(made.task) in str([each.args for each in error.messages])
        await quiet(rig)
        assert rig.status(CHUNK) == ("Enabled", "OK")


@in_virtual_time
async def test_what_one_host_had_is_scrubbed_before_another_gets_it() -> None:
    async with running() as rig:
        await a_chunk(rig)
        await connect(rig, 0)
        assert [media for _, media in parts(rig).values()] == [Media.DIRTY]
        await disconnect(rig, 0)
        assert [media for _, media in parts(rig).values()] == [Media.CLEAN]
        await connect(rig, 1)
        assert rig.oracle("CXL").exposures() == []
        (bound,) = rig.bound("CXL")
        assert bound.vcs == "2"


@in_virtual_time
async def test_a_release_is_not_over_before_the_scrub_is() -> None:
    async with running(sync_budget_s=1.0) as rig:
        await a_chunk(rig)
        await connect(rig, 0)
        rig.faults("CXL").next_apply(None, Slow(3.0), only=(Sanitize,))
        gone = await rig.delete(f"{CONNECTIONS}/c0")
        assert gone.kind is OutcomeKind.ACCEPTED and rig.bound("CXL") == {}
        assert rig.get(str(gone.task))["TaskState"] == "Running"
        await quiet(rig)
        assert [media for _, media in parts(rig).values()] == [Media.CLEAN]


@in_virtual_time
async def test_a_refused_scrub_is_retried_told_in_the_task_and_gives_nobody_the_memory() -> None:
    async with running(sync_budget_s=1.0) as rig:
        await a_chunk(rig)
        await connect(rig, 0)
        rig.faults("CXL").next_apply(None, Refuse("busy"), times=None, only=(Sanitize,))
        gone = await rig.delete(f"{CONNECTIONS}/c0")
        assert gone.kind is OutcomeKind.ACCEPTED
        await rig.until(lambda: rig.rejected("CXL") > 2)
        told = json.dumps(rig.get(str(gone.task))["Messages"])
        assert "Sanitize of ld 0" in told and "busy" in told
        assert rig.wanted("CXL") == {} == rig.bound("CXL")
        await rig.delete(f"{CXL_FABRIC}/Zones/z0")
        waiting = await connect(rig, 1)
        assert waiting.kind is OutcomeKind.ACCEPTED and rig.bound("CXL") == {}
        rig.faults("CXL").clear()
        await quiet(rig)
        assert rig.bound("CXL") == rig.wanted("CXL") != {}
        assert rig.oracle("CXL").exposures() == []


@in_virtual_time
async def test_a_refused_giving_back_is_retried_and_never_makes_the_chunk_again() -> None:
    async with running(sync_budget_s=1.0) as rig:
        await a_chunk(rig)
        rig.faults("CXL").next_apply(None, Refuse("locked"), times=None, only=(Deallocate,))
        gone = await rig.delete(CHUNK)
        assert gone.kind is OutcomeKind.ACCEPTED
        await rig.until(lambda: rig.rejected("CXL") > 2)
        assert "Deallocate of ld 0" in json.dumps(rig.get(str(gone.task))["Messages"])
        assert not rig.published.exists(CHUNK) and len(parts(rig)) == 1
        # Its number is not given to another chunk meanwhile.
        other = await make(rig, "MemoryChunks", CHUNKS, {"Id": "d", "MemoryChunkSizeMiB": 256})
        assert other.kind is OutcomeKind.ACCEPTED
        assert {each.target.ld for each in rig.published.state.index.allocations.values()} == {1}
        rig.faults("CXL").clear()
        await quiet(rig)
        assert {target.ld for target in parts(rig)} == {1}


@in_virtual_time
async def test_what_a_restarted_switch_lost_comes_back_with_its_contents() -> None:
    clock = VirtualClock()
    hardware = {"CXL": Hardware(mixed("CXL"), clock, keeps_bindings=False)}
    async with running(hardware=hardware) as rig:
        await a_chunk(rig)
        await connect(rig, 0)
        hardware["CXL"].restart("cxl1")
        await rig.until(lambda: rig.bound("CXL") == rig.wanted("CXL"))
        assert not sanitized(rig)


@in_virtual_time
async def test_a_shared_region_is_bound_for_each_host_and_scrubbed_after_the_last() -> None:
    async with running() as rig:
        await a_shareable_region(rig)
        for host in (0, 1):
            await connect(rig, host, REGION)
        bound = rig.bound("CXL")
        assert {vppb.vcs for vppb in bound} == {"1", "2"} and len(set(bound.values())) == 1
        assert rig.loop("CXL").violations == () == rig.loop("CXL").foreign
        await disconnect(rig, 0)
        assert [media for _, media in parts(rig).values()] == [Media.DIRTY]
        await disconnect(rig, 1)
        assert [media for _, media in parts(rig).values()] == [Media.CLEAN]
        assert rig.oracle("CXL").exposures() == []


@in_virtual_time
async def test_a_foreign_part_is_reported_kept_and_its_number_avoided() -> None:
    async with running() as rig:
        await a_chunk(rig)
        (mine,) = parts(rig)
        theirs = BindTarget(mine.switch, mine.port, 1)
        rig.hardware["CXL"].execute(Allocate(theirs, 256), "outside")
        await rig.until(lambda: rig.loop("CXL").foreign_parts == (theirs,))
        assert rig.status(CXL_FABRIC)[1] == "Warning"
        await make(rig, "MemoryChunks", CHUNKS, {"Id": "d", "MemoryChunkSizeMiB": 256})
        assert {target.ld for target in parts(rig)} == {0, 1, 2}


FAULTS = [Lost(), Lost(reset=True), Dropped(), Late(0.5), Restart(executed=True, down_s=0.3)]


@pytest.mark.parametrize("fault", [*FAULTS, Restart(executed=False, down_s=0.3)], ids=repr)
@pytest.mark.parametrize("step", [Allocate, Bind, Unbind, Sanitize, Deallocate])
@in_virtual_time
async def test_whatever_becomes_of_a_command_nobody_sees_anothers_memory(fault, step) -> None:
    async with running() as rig:
        rig.faults("CXL").next_apply(None, fault, only=(step,))
        await a_chunk(rig)
        await quiet(rig)
        for host in (0, 1):
            await connect(rig, host)
            await quiet(rig)
            assert rig.bound("CXL") == rig.wanted("CXL") != {}
            await disconnect(rig, host)
            await quiet(rig)
        await rig.delete(CHUNK)
        await quiet(rig)
        assert parts(rig) == {} and rig.bound("CXL") == {}
        assert rig.oracle("CXL").exposures() == []
        rig.assert_isolated()
        await rig.assert_equal_to_disk()


@pytest.mark.parametrize("step", [Allocate, Bind, Unbind, Sanitize, Deallocate])
@in_virtual_time
async def test_after_a_crash_in_any_step_what_was_begun_is_finished(step) -> None:
    clock = VirtualClock()
    hardware = {"CXL": Hardware(mixed("CXL"), clock)}

    async def life(rig: Rig) -> None:
        if not rig.published.exists(CHUNK):
            await a_chunk(rig)
        await connect(rig, 0)
        await disconnect(rig, 0)
        await rig.delete(CHUNK)

    async with running(hardware=hardware, crash=True) as rig:
        rig.faults("CXL").next_apply(None, Slow(2.0), only=(step,))
        living = rig.later(life(rig))
        await asyncio.sleep(1.0)
        assert not living.done()
        durable = rig.durable
    async with running(durable=durable, hardware=hardware) as rig:
        await quiet(rig)
        assert rig.bound("CXL") == rig.wanted("CXL")
        wanted = rig.published.state.index.allocations.keys()
        assert parts(rig).keys() == wanted
        if rig.published.exists(CHUNK) and not rig.wanted("CXL"):
            if rig.published.exists(f"{CXL_FABRIC}/Zones/z0"):
                await rig.delete(f"{CXL_FABRIC}/Zones/z0")
            await connect(rig, 1)
            assert rig.bound("CXL") == rig.wanted("CXL") != {}
        assert rig.oracle("CXL").exposures() == []
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_the_second_way_to_a_drive_in_use_is_given_and_taken_without_a_scrub() -> None:
    async with running_kernel(inventories=(mixed("PCIe"),)) as rig:
        index = rig.published.state.index
        ways = sorted(each.id for each in index.endpoints.values() if "dpnvme1" in each.id)
        host = min(each.host for each in index.endpoints.values() if each.host)
        mine = sorted(each.id for each in index.endpoints.values() if each.host == host)
        made = await rig.zone(*mine, ways[0])
        assert len(rig.bound()) == 1
        members = {"Links": {"Endpoints": links(*mine, *ways)}}
        assert (await rig.patch(made.uri, members)).kind is OutcomeKind.CHANGED
        assert len(rig.bound()) == len(ways)
        members = {"Links": {"Endpoints": links(*mine, ways[0])}}
        assert (await rig.patch(made.uri, members)).kind is OutcomeKind.CHANGED
        assert len(rig.bound()) == 1
        assert not sanitized(rig, "PCIe")
        await rig.delete(made.uri)
        await rig.until(lambda: not rig.kernel.operations.open_of("PCIe"), 4000)
        assert sanitized(rig, "PCIe")


@in_virtual_time
async def test_a_chunk_that_another_device_took_the_place_of_tells_what_is_in_its_way() -> None:
    async with running() as rig:
        await a_chunk(rig)
        await connect(rig, 0)
        await quiet(rig)
        hardware, serial = rig.hardware["CXL"], "another"
        known = hardware.devices["pooled1"].serial_number
        for plugged in (serial, known):
            hardware.remove_device("pooled1")
            await asyncio.sleep(5.0)
            hardware.return_device("pooled1", plugged)
            await asyncio.sleep(5.0)
        assert rig.status(CHUNK) == ("Starting", "Critical")
        told = [each["Message"] for each in rig.get(CHUNK)["Status"]["Conditions"]]
        assert any("still bound" in each for each in told)
        connection = rig.get(f"{CONNECTIONS}/c0")["Status"]
        assert connection["HealthRollup"] == "Critical"
        await disconnect(rig, 0)
        await rig.until(lambda: rig.status(CHUNK) == ("Enabled", "OK"))
        assert "Conditions" not in rig.get(CHUNK)["Status"]
        rig.assert_isolated()
