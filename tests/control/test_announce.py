"""Announcing: what is worth telling is durable, told once, also across a restart."""

import asyncio
import itertools

from redfish_fm.control.announce import ACTOR, INTERVAL_S
from redfish_fm.drivers.virtual.faults import Refuse
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.fabric.model import PortId, Unbind
from redfish_fm.mapping.event_states import announced_state
from redfish_fm.mapping.events import FIRST_LOOK, FORGOTTEN
from redfish_fm.redfish.changes import FeedOp, Space
from redfish_fm.store.base import StoreFull
from tests.control.builders import PCIE_FABRIC, Rig, pcie, running_kernel
from tests.drivers.fabrics import PCIE
from tests.virtual_time import VirtualClock, in_virtual_time

PORT = PortId("pcie1", "D1")
PORT_URI = "/redfish/v1/Fabrics/PCIe/Switches/pcie1/Ports/D1"


async def told(rig: Rig) -> list[tuple[str, bytes | None, bytes | None]]:
    return [
        (entry.uri, entry.pre, entry.post)
        async for record in rig.store.follow(0)
        for entry in record.entries
        if entry.op is FeedOp.OBSERVED and entry.uri == PORT_URI
    ]


def test_only_what_is_worth_telling_and_not_normal_is_kept() -> None:
    patch = {
        "Status": {"State": "Enabled", "Health": "Warning", "Conditions": []},
        "LinkStatus": "LinkUp",
        "BindingStatus": "BoundLD",
        "CurrentSpeedGbps": 32,
    }
    kept = {"Health": "Warning", "BindingStatus": "BoundLD"}
    assert announced_state(PORT_URI, patch) == kept
    assert announced_state(PORT_URI, {}) == {}
    assert announced_state(PORT_URI, {"Status": {"State": "Enabled"}}) == {}


def test_a_resource_keeps_since_when_it_has_its_own_conditions_not_those_of_others() -> None:
    def condition(origin: str) -> dict[str, object]:
        at = {"@odata.id": origin}
        told = {"MessageId": "ResourceEvent.1.4.ResourceStatusChangedCritical"}
        return {**told, "Message": f"{origin} ails", "Timestamp": "T1", "OriginOfCondition": at}

    found = [condition(PORT_URI), condition("/other")]
    kept = announced_state(PORT_URI, {"Status": {"Health": "Critical", "Conditions": found}})
    assert kept == {"Health": "Critical", "Since": {f"{PORT_URI} ails": "T1"}}


@in_virtual_time
async def test_a_restart_does_not_make_an_old_trouble_new() -> None:
    hardware = {"PCIe": Hardware(PCIE, VirtualClock())}
    async with running_kernel(hardware=hardware, inventories=(PCIE,)) as rig:
        hardware["PCIe"].set_port(PORT, health="Critical")
        await asyncio.sleep(3.0)
        before, durable = rig.get(PCIE_FABRIC)["Status"], rig.durable
    await asyncio.sleep(3600.0)
    async with running_kernel(durable=durable, hardware=hardware, inventories=(PCIE,)) as rig:
        assert await rig.kernel.first_observed(5.0)
        assert rig.get(PCIE_FABRIC)["Status"] == before
        assert before["Conditions"][0]["Timestamp"]


@in_virtual_time
async def test_a_link_that_goes_down_and_up_is_told_both_times() -> None:
    async with running_kernel() as rig:
        hardware = rig.hardware["PCIe"]
        await asyncio.sleep(2.0)
        assert await told(rig) == []
        hardware.set_port(PORT, link_up=False)
        await asyncio.sleep(2 * INTERVAL_S)
        hardware.set_port(PORT, link_up=True)
        await asyncio.sleep(2 * INTERVAL_S)
        changes = await told(rig)
        (_, nothing, down), (_, _, nothing_too) = changes[0], changes[-1]
        assert nothing is None and nothing_too is None
        assert down is not None and b"LinkDown" in down
        # On its way up it may be seen training; each entry begins where the last one ended.
        assert all(one[2] == next_one[1] for one, next_one in itertools.pairwise(changes))
        assert len(changes) <= 3
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_what_changed_while_nobody_looked_is_told_once_after_the_start() -> None:
    hardware = {"PCIe": Hardware(PCIE, VirtualClock())}
    async with running_kernel(hardware=hardware, inventories=(PCIE,)) as rig:
        await asyncio.sleep(2.0)
        durable = rig.durable
    hardware["PCIe"].set_port(PORT, link_up=False)
    for _ in range(2):
        async with running_kernel(durable=durable, hardware=hardware, inventories=(PCIE,)) as rig:
            await asyncio.sleep(2.0)
            assert len(await told(rig)) == 1


@in_virtual_time
async def test_what_could_not_be_stored_is_told_later() -> None:
    fail = [False]

    def fault(_batch: int) -> StoreFull | None:
        return StoreFull("full") if fail[0] else None

    async with running_kernel(fault_before=fault) as rig:
        await asyncio.sleep(2.0)
        fail[0] = True
        rig.hardware["PCIe"].set_port(PORT, link_up=False)
        await asyncio.sleep(3.0)
        assert await told(rig) == []
        fail[0] = False
        await asyncio.sleep(3.0)
        assert len(await told(rig)) == 1


async def actors(rig: Rig, uri: str) -> list[str]:
    """Return under which names it was announced of a resource, in order."""
    return [
        record.actor
        async for record in rig.store.follow(0)
        for entry in record.entries
        if entry.op is FeedOp.OBSERVED and entry.uri == uri
    ]


@in_virtual_time
async def test_what_is_seen_before_anybody_wrote_is_no_transition() -> None:
    hardware = {"PCIe": Hardware(PCIE, VirtualClock())}
    hardware["PCIe"].set_port(PORT, link_up=False)
    async with running_kernel(hardware=hardware, inventories=(PCIE,)) as rig:
        await asyncio.sleep(2.0)
        assert await actors(rig, PORT_URI) == [FIRST_LOOK]
        hardware["PCIe"].set_port(PORT, link_up=True)
        await asyncio.sleep(4.0)
        assert set((await actors(rig, PORT_URI))[1:]) == {ACTOR}
        durable = rig.durable
    hardware["PCIe"].set_port(PORT, link_up=False)
    async with running_kernel(durable=durable, hardware=hardware, inventories=(PCIE,)) as rig:
        await asyncio.sleep(2.0)
        assert (await actors(rig, PORT_URI))[-1] == ACTOR


@in_virtual_time
async def test_what_is_seen_at_once_is_announced_at_once_and_by_nobody_before() -> None:
    async with running_kernel() as rig:
        await asyncio.sleep(2.0)
        rig.hardware["PCIe"].set_port(PORT, health="Critical")
        await asyncio.sleep(2.0)
        records = [record async for record in rig.store.follow(0)]
        assert len([each for each in records if each.entries]) == 1


@in_virtual_time
async def test_a_deleted_zone_leaves_no_announcement_behind() -> None:
    async with running_kernel() as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        rig.faults().observe_s = 0.0
        rig.hardware["PCIe"].restart("pcie1", 3.0)
        await asyncio.sleep(5.0)
        await rig.delete(zone)
        await asyncio.sleep(3.0)
        assert zone not in rig.durable.spaces.get(Space.ANNOUNCED, {})


@in_virtual_time
async def test_the_trouble_of_what_is_deleted_is_forgotten_and_is_not_over() -> None:
    async with running_kernel() as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        ((vppb, target),) = rig.bound().items()
        rig.faults().next_apply(None, Refuse("bay is locked"), times=None)
        rig.hardware["PCIe"].execute(Unbind(vppb, target), "outside")
        await asyncio.sleep(3.0)
        await rig.delete(zone)
        await asyncio.sleep(3.0)
        told = await actors(rig, zone)
        assert (told[-2:], told.count(FORGOTTEN)) == ([ACTOR, FORGOTTEN], 1)
        assert zone not in rig.durable.spaces.get(Space.ANNOUNCED, {})
