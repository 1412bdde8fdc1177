"""The first look at a big fabric goes in parts: requests are answered and writes made meanwhile."""

import asyncio
from itertools import groupby
from typing import Any

from redfish_fm.control.published import Published
from redfish_fm.drivers.virtual.topology import load
from redfish_fm.mapping import observed
from redfish_fm.mapping.observed import PART
from tests.control.builders import Rig, running_kernel
from tests.drivers.fabrics import MOCKUPS
from tests.virtual_time import in_virtual_time

BIG = load("scale:hosts=8,gpus=400,switches=8,memory=8", MOCKUPS).inventories()
POD = "/redfish/v1/Fabrics/PCIe"
GPU = f"{POD}/Endpoints/gpu400"


def turns(published: Published) -> list[int]:
    """Return what `observe` is going to be told: how many resources in each turn of the loop."""
    sizes: list[int] = []
    observe = published.observe

    def counting(patches: Any) -> set[str]:
        sizes.append(len(patches))
        return observe(patches)

    published.observe = counting  # type: ignore[method-assign]
    return sizes


async def looked(rig: Rig) -> None:
    assert await rig.kernel.first_observed(60.0)


@in_virtual_time
async def test_a_big_fabric_is_shown_in_parts_none_larger_than_a_part() -> None:
    async with running_kernel(inventories=BIG) as rig:
        sizes = turns(rig.published)
        await looked(rig)
        assert max(sizes) == PART
        # To find out what to show is done in parts as well.
        assert sizes.count(0) > 6
        assert sum(sizes) > 6 * PART
        assert rig.status(GPU) == ("Enabled", "OK")


@in_virtual_time
async def test_requests_are_answered_between_the_parts() -> None:
    async with running_kernel(inventories=BIG) as rig:
        sizes, seen = turns(rig.published), set[int]()

        async def ask() -> None:
            while not all(loop.first_observed.is_set() for loop in rig.kernel.loops.values()):
                assert rig.get(GPU)["Id"] == "gpu400"
                seen.add(len(sizes))
                await asyncio.sleep(0 if sizes else 0.001)

        asking = rig.later(ask())
        await looked(rig)
        await asking
        # A request finds every state in between: none of them had to wait for the end.
        assert len(seen) > len(sizes) / 2 > 3


@in_virtual_time
async def test_a_zone_made_during_the_first_look_is_starting_until_it_is_bound(
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr(observed, "PART", 20)
    monkeypatch.setattr(observed, "LEARNED", 20)
    async with running_kernel(inventories=BIG) as rig:
        zone, states = f"{POD}/Zones/z", set[tuple[bool, bool, str]]()
        sizes, begun = turns(rig.published), asyncio.Event()
        observe = rig.published.observe

        def beginning(patches: Any) -> set[str]:
            begun.set()
            if rig.published.exists(zone):
                looking = not rig.loop("PCIe").first_observed.is_set()
                states.add((looking, bool(rig.bound("PCIe")), rig.get(zone)["Status"]["State"]))
            return observe(patches)

        rig.published.observe = beginning  # type: ignore[method-assign]
        await begun.wait()
        await rig.zone(f"{POD}/Endpoints/host8-1", GPU, Id="z")
        assert rig.status(zone) == ("Enabled", "OK")
        assert rig.bound("PCIe") == rig.wanted("PCIe") != {}
        assert (True, False, "Starting") in states
        assert (True, False, "Enabled") not in states
        assert len(sizes) > 100


@in_virtual_time
async def test_only_one_fabric_is_looked_at_at_a_time() -> None:
    async with running_kernel(inventories=BIG) as rig:
        observe, said = rig.published.observe, list[str]()

        def noting(patches: Any) -> set[str]:
            said.extend(dict.fromkeys(uri.split("/")[4] for uri in patches if "/Fabrics/" in uri))
            return observe(patches)

        rig.published.observe = noting  # type: ignore[method-assign]
        await looked(rig)
        assert [name for name, _ in groupby(said)] in (["PCIe", "CXL"], ["CXL", "PCIe"])


@in_virtual_time
async def test_a_small_fabric_is_shown_in_one_go() -> None:
    async with running_kernel() as rig:
        sizes = turns(rig.published)
        await looked(rig)
        assert len(sizes) == len(rig.kernel.loops)


@in_virtual_time
async def test_what_is_shown_does_not_depend_on_the_size_of_a_part(monkeypatch: Any) -> None:
    shown = []
    small = load("scale:hosts=4,gpus=20,switches=2,memory=2", MOCKUPS).inventories()
    for size in (1, 7, 10_000):
        monkeypatch.setattr(observed, "PART", size)
        monkeypatch.setattr(observed, "LEARNED", size)
        async with running_kernel(inventories=small) as rig:
            await looked(rig)
            shown.append({uri: rig.published.observed(uri) for uri in rig.published.base.documents})
    assert shown[0] == shown[1] == shown[2]
    assert any(shown[0].values())
