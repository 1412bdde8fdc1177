"""Compositions in the running kernel: what a failure means to each, and what composing costs."""

import asyncio
from typing import Any

import pytest

from redfish_fm.control.kernel import Kernel
from redfish_fm.drivers.virtual.faults import Refuse
from redfish_fm.drivers.virtual.topology import load
from redfish_fm.fabric.model import Bind
from redfish_fm.mapping.inventory import render_inventories
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.changes import Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import Outcome, Write, WriteKind
from tests.control.builders import CXL_FABRIC, Rig, links, running_kernel
from tests.drivers.fabrics import MOCKUPS
from tests.mapping.builders import MemoryTip, a_device, a_fabric
from tests.virtual_time import in_virtual_time

SYSTEMS = "/redfish/v1/Systems"
BLOCKS = "/redfish/v1/CompositionService/ResourceBlocks"
GPU1 = "/redfish/v1/Chassis/gpu1/PCIeDevices/gpu1"


async def compose(rig: Rig, *names: str, **more: Any) -> Outcome:
    blocks = links(*(f"{BLOCKS}/{name}" for name in names))
    body = {"Links": {"ResourceBlocks": blocks}, **more}
    return await ask(rig.kernel, WriteKind.CREATE, SYSTEMS, body)


async def ask(kernel: Kernel, kind: WriteKind, uri: str, body: dict[str, Any]) -> Outcome:
    return await kernel.commits.commit(Write(kind, uri, "ComputerSystem", "tester", body))


def with_memory(size_mib: int) -> dict[str, Any]:
    return {"Members": [{"@Redfish.RequestedCount": 1, "CapacityMiB": size_mib}]}


@in_virtual_time
async def test_a_device_that_dies_is_felt_by_its_system_and_by_no_other() -> None:
    async with running_kernel() as rig:
        await rig.kernel.first_observed(60)
        one, other = await compose(rig, "host1", "gpu1"), await compose(rig, "host2", "gpu2")
        rig.hardware["PCIe"].remove_device("gpu1")
        looks = rig.loop().cycles
        await rig.until(lambda: rig.status(one.uri) != ("Enabled", "OK"))
        assert rig.loop().cycles <= looks + 1
        assert rig.status(one.uri) == ("Degraded", "Critical")
        (told,) = rig.get(one.uri)["Status"]["Conditions"]
        assert told["OriginOfCondition"] == {"@odata.id": GPU1}
        assert rig.get(other.uri)["Status"] == {
            "State": "Enabled", "Health": "OK", "HealthRollup": "OK"
        }  # fmt: skip
        block = rig.get(f"{BLOCKS}/gpu1")
        assert block["CompositionStatus"]["CompositionState"] == "Unavailable"


@in_virtual_time
async def test_an_appliance_that_dies_is_felt_by_all_who_have_a_part_of_it() -> None:
    async with running_kernel() as rig:
        await rig.kernel.first_observed(60)
        made = [await compose(rig, name, Memory=with_memory(size(rig))) for name in HOSTS]
        third = await rig.post("/redfish/v1/Fabrics/PCIe/Zones", {"Links": {"Endpoints": []}})
        rig.hardware["CXL"].remove_device("mem1")
        await rig.until(lambda: rig.status(made[0].uri) != ("Enabled", "OK"))
        assert [rig.status(each.uri) for each in made] == [("UnavailableOffline", "Critical")] * 2
        assert rig.status(third.uri) == ("Enabled", "OK")


HOSTS = ("host1", "host2")


def size(rig: Rig) -> int:
    """Return what the fixed parts of mem1 have."""
    chunks = rig.published.state.index.chunks.values()
    return min(each.size_mib for each in chunks if "/mem1/" in each.id)


@in_virtual_time
async def test_of_mirrored_memory_one_appliance_may_die() -> None:
    async with running_kernel(inventories=tuple(load("ai-pod", MOCKUPS).inventories())) as rig:
        await rig.kernel.first_observed(60)
        hosts = sorted(name for name, each in rig.published.state.index.blocks.items() if each.host)
        memory = with_memory(8192)
        memory["Members"][0]["Oem"] = {"RedfishFM": {"MemoryPolicy": "Mirrored"}}
        made, plain = [
            await compose(rig, host.rpartition("/")[2], Memory=each)
            for host, each in zip(hosts, (memory, with_memory(8192)), strict=False)
        ]
        ours = rig.get(made.uri)["Oem"]["RedfishFM"]["Composition"]
        (mirror,) = ours["Mirrors"]
        assert mirror["Parts"] == ours["MemoryChunks"] and len(mirror["Parts"]) == 2
        (alone,) = rig.get(plain.uri)["Oem"]["RedfishFM"]["Composition"]["MemoryChunks"]
        device = alone["@odata.id"].split("/")[4]
        rig.hardware["CXL"].remove_device(device)
        await rig.until(lambda: rig.status(plain.uri) != ("Enabled", "OK"))
        assert rig.status(plain.uri) == ("UnavailableOffline", "Critical")
        assert any(f"/{device}/" in each["@odata.id"] for each in mirror["Parts"])
        assert rig.status(made.uri) == ("Enabled", "Warning")
        assert rig.get(made.uri)["Status"]["HealthRollup"] == "Warning"


@in_virtual_time
async def test_a_physical_host_that_was_given_a_device_feels_its_loss_too() -> None:
    async with running_kernel() as rig:
        await rig.kernel.first_observed(60)
        host = f"{SYSTEMS}/host1"
        await add(rig, host, "gpu1")
        before = rig.get(host)["Status"]["State"]
        rig.hardware["PCIe"].remove_device("gpu1")
        await rig.until(lambda: rig.status(host)[1] == "Critical")
        assert rig.status(host)[0] == before


@in_virtual_time
async def test_what_is_repaired_is_told_by_an_event_of_the_system_as_its_loss_was() -> None:
    async with running_kernel() as rig:
        await rig.kernel.first_observed(60)
        made = await compose(rig, "host1", "gpu1")
        rig.hardware["PCIe"].remove_device("gpu1")
        await asyncio.sleep(3)
        rig.hardware["PCIe"].return_device("gpu1")
        await rig.until(lambda: rig.status(made.uri) == ("Enabled", "OK"))
        await asyncio.sleep(3)
        told = [entry.post for _, record in rig.durable.feed for entry in record.entries
                if entry.uri == made.uri and entry.op.value == "observed"]  # fmt: skip
        assert len(told) == 2


# -- what is left ------------------------------------------------------------------------------


@pytest.mark.parametrize("physical", [False, True])
@in_virtual_time
async def test_a_block_that_hardware_refuses_leaves_nothing_listed(physical: bool) -> None:
    async with running_kernel() as rig:
        await rig.kernel.first_observed(60)
        system = f"{SYSTEMS}/host1" if physical else (await compose(rig, "host1")).uri
        # Until somebody has looked, it has no HealthRollup.
        await asyncio.sleep(3)
        before = rig.get(system)
        rig.faults().next_apply(None, Refuse(), only=(Bind,))
        with pytest.raises(RedfishError):
            await add(rig, system, "gpu1")
        await rig.converged()
        assert without_tag(rig.get(system)) == without_tag(before)
        assert system not in rig.published.state.spaces[Space.OVERLAY]
        await add(rig, system, "gpu1")
        (zone,) = rig.get(system)["Oem"]["RedfishFM"]["Composition"]["Zones"]
        assert rig.status(zone["@odata.id"]) == ("Enabled", "OK")


async def add(rig: Rig, system: str, name: str) -> None:
    body = {"ResourceBlock": links(f"{BLOCKS}/{name}")[0]}
    action = "ComputerSystem.AddResourceBlock"
    write = Write(WriteKind.ACTION, system, "ComputerSystem", "tester", body, action)
    await rig.kernel.commits.commit(write)


def without_tag(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "@odata.etag"}


@in_virtual_time
async def test_a_block_shows_at_once_that_somebody_bound_it_by_hand() -> None:
    async with running_kernel() as rig:
        await rig.kernel.first_observed(60)
        assert rig.get(f"{BLOCKS}/mem2")["Pool"] == "Free"
        switch = f"{CXL_FABRIC}/Switches/cxl1"
        port = {"Links": {"Port": {"@odata.id": f"{switch}/Ports/D2"}}}
        vppb = f"{switch}/VCSs/1/VPPBs/0"
        await rig.patch(vppb, port)
        assert rig.get(f"{BLOCKS}/mem2")["Pool"] == "Unassigned"
        await rig.patch(vppb, {"Links": {"Port": None}})
        assert rig.get(f"{BLOCKS}/mem2")["Pool"] == "Free"


# -- what it costs -----------------------------------------------------------------------------


class Counters:
    """What one compose costs: documents read, index entries touched, commits."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._before = self._now()

    def _now(self) -> tuple[int, int, int, int]:
        tip, shown = self._rig.kernel.writer.tip, self._rig.published
        return tip.parsed, tip.index.work, shown.state.index.work, self._rig.durable.seq

    def spent(self) -> tuple[int, ...]:
        return tuple(now - before for now, before in zip(self._now(), self._before, strict=True))


async def costs(gpus: int) -> tuple[int, ...]:
    """Compose a host and two named GPUs in a fabric of so many."""
    name = f"scale:hosts=4,gpus={gpus},switches=4,memory=4"
    inventories = tuple(load(name, MOCKUPS).inventories())
    async with running_kernel(inventories=inventories) as rig:
        await rig.kernel.first_observed(600)
        counters = Counters(rig)
        found = rig.published.state.index.blocks
        hosts = sorted(name for name, block in found.items() if block.host is not None)
        near = sorted(name for name, block in found.items() if block.kind == "GPU")
        names = [each.rpartition("/")[2] for each in (hosts[0], *near[:2])]
        made = await compose(rig, *names)
        await rig.until(lambda: not rig.kernel.operations.open_of("PCIe"))
        assert made.task is None
        return counters.spent()


@in_virtual_time
async def test_a_compose_is_two_commits() -> None:
    async with running_kernel() as rig:
        await rig.kernel.first_observed(60)
        counters = Counters(rig)
        await compose(rig, "host1", "gpu1", Memory=with_memory(size(rig)))
        assert counters.spent()[-1] == 2


@in_virtual_time
async def test_what_a_compose_costs_does_not_grow_with_the_fabric() -> None:
    assert await costs(100) == await costs(1000)


def judged(gpus: int) -> tuple[int, set[str]]:
    """Return what judging and laying costs in a fabric of so many plain GPUs, and what it edits."""
    devices = tuple(a_device(f"g{number}") for number in range(gpus))
    found = render_inventories([a_fabric(devices=devices)])
    tip = MemoryTip(found.documents, found.facts)
    blocks = links(*(f"{BLOCKS}/{each}" for each in ("h1", "g1", "g2")))
    body = {"Links": {"ResourceBlocks": blocks}}
    work = tip.index.work
    draft = prepare(Write(WriteKind.CREATE, SYSTEMS, "ComputerSystem", "tester", body), tip)
    return tip.index.work - work, {edit.key for edit in draft.edits}


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_what_a_compose_costs_is_the_same_at_a_hundred_thousand_endpoints() -> None:
    small, big = judged(1000), judged(100_000)
    assert small == big and small[0] > 0
