"""Inventory that appears or vanishes while the service runs is told durably, a tree by its root."""

import asyncio

from redfish_fm.redfish.changes import Space
from redfish_fm.redfish.events import Event
from tests.control.builders import (
    CXL,
    CXL_FABRIC,
    PCIE,
    Rig,
    a_base,
    running_kernel,
)
from tests.control.test_event_stream import SOURCE
from tests.virtual_time import in_virtual_time


async def told(rig: Rig, after: int) -> list[Event]:
    """Return the events of what was discovered since a commit, as stored."""
    return [
        event
        async for record in rig.store.follow(after)
        if record.actor == "discovery"
        for event in SOURCE.events_of(record)
    ]


async def rebased(rig: Rig, *inventories: object) -> list[Event]:
    before = rig.published.seq
    async with rig.published.looking:
        rig.kernel.rebase(a_base(*inventories))  # type: ignore[arg-type]
    await asyncio.sleep(0.5)
    return await told(rig, before)


@in_virtual_time
async def test_a_fabric_that_vanishes_and_comes_back_is_told_by_its_root() -> None:
    async with running_kernel() as rig:
        gone = await rebased(rig, PCIE)
        keys = {each.origin: each.message.key for each in gone}
        assert keys[CXL_FABRIC] == "ResourceEvent.ResourceRemoved"
        assert all(each.gone for each in gone)
        # What lies in it has gone with it.
        assert not [uri for uri in keys if uri is not None and uri.startswith(f"{CXL_FABRIC}/")]
        back = await rebased(rig, PCIE, CXL)
        assert {each.origin for each in back} == set(keys)
        assert {each.message.key for each in back} == {"ResourceEvent.ResourceCreated"}
        assert not any(each.gone for each in back)


@in_virtual_time
async def test_the_same_inventory_again_is_no_news() -> None:
    async with running_kernel() as rig:
        assert await rebased(rig, PCIE, CXL) == []


@in_virtual_time
async def test_nothing_of_it_stays_in_the_state() -> None:
    async with running_kernel() as rig:
        before = dict(rig.durable.spaces.get(Space.ANNOUNCED, {}))
        assert await rebased(rig, PCIE)
        left = rig.durable.spaces.get(Space.ANNOUNCED, {})
        assert not [value for value in left.values() if b"Inventory" in value]
        assert {uri for uri in before if uri in rig.published.base.documents} <= set(left)
