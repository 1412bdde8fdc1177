"""Systems over switches that are joined: placed, bound and kept apart there, and told of a cut."""

import asyncio
import json
from typing import Any

import pytest

from redfish_fm import worlds
from redfish_fm.drivers.virtual.topology import read
from redfish_fm.fabric.model import PortId
from redfish_fm.mapping.inventory import render_inventories
from tests.cases.composing import SERVICE, SYSTEMS, block, gpus, made_of, of_blocks, told
from tests.cases.stack import Stack, a_stack
from tests.cases.test_events import SUBSCRIPTIONS, Operator, about
from tests.cases.test_health import LOOK_S, rollup, status
from tests.control.builders import PCIE_FABRIC, PCIE_ZONES, pcie, zone_body
from tests.drivers.chains import CHAIN
from tests.virtual_time import in_virtual_time

LOWER, UPPER = PortId("leaf1", "F1"), PortId("top", "F1")
"""The link by which host1 comes to leaf1 and deep."""
LOWER_URI = f"{PCIE_FABRIC}/Switches/leaf1/Ports/F1"
UPPER_URI = f"{PCIE_FABRIC}/Switches/top/Ports/F1"
BLAST = f"{SERVICE}/Actions/Oem/RedfishFMComposition.BlastRadius"
HOST1, HOST2 = f"{SYSTEMS}/host1", f"{SYSTEMS}/host2"


def chain() -> worlds.World:
    inventories = read(CHAIN, "chain").inventories()
    rendered = render_inventories(inventories)
    fabrics = [each.fabric for each in inventories]
    return worlds.World(rendered.documents, rendered.facts, inventories, default_zones=fabrics)


async def bound(stack: Stack) -> dict[str, str]:
    """Return "switch/port" -> the host that reaches it, by the hardware's own memory."""
    oracle = stack.rig.oracle("PCIe")
    owners = {
        (vcs.switch, vcs.id): vcs.host or ""
        for switch in stack.rig.hardware["PCIe"].inventory.switches
        for vcs in switch.virtual_switches
    }
    return {
        f"{target.switch}/{target.port}": owners[vppb.switch, vppb.vcs]
        for vppb, target in oracle.bindings("PCIe").items()
    }


async def affected(stack: Stack, uri: str) -> dict[str, tuple[str, list[str]]]:
    answer = await stack.ask("POST", BLAST, {"Resource": {"@odata.id": uri}})
    assert answer.status == 200, answer.body
    return {
        row["System"]["@odata.id"]: (
            row["Harm"],
            [each["@odata.id"].rsplit("/", 1)[-1] for each in row["Lost"]],
        )
        for row in json.loads(answer.body)["Affected"]
    }


@in_virtual_time
async def test_a_system_is_bound_over_every_link_to_what_it_has() -> None:
    async with a_stack(chain()) as stack:
        await stack.made(SYSTEMS, of_blocks("host1", "near1", "far1", "drive1"))
        assert await bound(stack) == {"top/D1": "host1", "leaf1/D1": "host1", "deep/D1": "host1"}


@in_virtual_time
async def test_systems_of_one_chain_never_meet() -> None:
    async with a_stack(chain()) as stack:
        first = await stack.made(SYSTEMS, of_blocks("host1", "far1", "drive1"))
        answer = await stack.ask("POST", SYSTEMS, of_blocks("host2", "far1"))
        assert answer.status == 409
        assert first in told(answer)[0]["MessageArgs"]
        await stack.made(SYSTEMS, of_blocks("host2", "far2", "drive2"))
        found = await bound(stack)
        assert found == {
            "leaf1/D1": "host1", "deep/D1": "host1", "leaf1/D2": "host2", "deep/D2": "host2",
        }  # fmt: skip
        await stack.ask("DELETE", first)
        assert set((await bound(stack)).values()) == {"host2"}
        assert stack.rig.oracle("PCIe").double_reach() == []


@in_virtual_time
async def test_devices_behind_one_switch_come_before_those_of_a_chain() -> None:
    async with a_stack(chain()) as stack:
        two = await stack.made(SYSTEMS, gpus(2))
        assert (await made_of(stack, two))[1:] == ["near1", "near2"]
        three = await stack.made(SYSTEMS, gpus(3))
        assert len(await made_of(stack, three)) == 4


@pytest.mark.parametrize(("budget", "met"), [(280, True), (279, False)])
@in_virtual_time
async def test_a_latency_budget_counts_every_link(budget: int, met: bool) -> None:
    # 110 to top, 120 from there to a leaf, 50 to the device.
    async with a_stack(chain()) as stack:
        oem = {"Oem": {"RedfishFM": {"MaxLatencyNanoseconds": budget}}}
        await stack.made(SYSTEMS, of_blocks("host2", "near1", "near2"))
        answer = await stack.ask("POST", SYSTEMS, gpus(1, **oem))
        assert (answer.status == 201) is met


@pytest.mark.parametrize("uri", [LOWER_URI, UPPER_URI, "/redfish/v1/Cables/leaf1-F1"])
@in_virtual_time
async def test_what_a_link_would_cut_is_told_before_it_does(uri: str) -> None:
    async with a_stack(chain()) as stack:
        first = await stack.made(SYSTEMS, of_blocks("host1", "near1", "far1", "drive1"))
        await stack.made(SYSTEMS, of_blocks("host2", "far2"))
        assert await affected(stack, uri) == {first: ("Degraded", ["far1", "drive1"])}


@in_virtual_time
async def test_what_a_switch_above_would_cut_is_told_before_it_does() -> None:
    async with a_stack(chain()) as stack:
        first = await stack.made(SYSTEMS, of_blocks("host1", "drive1"))
        second = await stack.made(SYSTEMS, of_blocks("host2", "near1", "far3"))
        leaf = await affected(stack, f"{PCIE_FABRIC}/Switches/leaf1")
        assert leaf == {first: ("Degraded", ["drive1"])}
        top = await affected(stack, f"{PCIE_FABRIC}/Switches/top")
        assert top.keys() == {first, second}


@pytest.mark.parametrize("end", [LOWER, UPPER])
@in_virtual_time
async def test_a_link_that_is_cut_degrades_who_has_something_behind_it_and_nobody_else(
    end: PortId,
) -> None:
    async with a_stack(chain()) as stack:
        first = await stack.made(SYSTEMS, of_blocks("host1", "near1", "drive1"))
        second = await stack.made(SYSTEMS, of_blocks("host2", "far1"))
        await asyncio.sleep(LOOK_S)
        before = await bound(stack)
        stack.rig.hardware["PCIe"].set_port(end, link_up=False)
        await asyncio.sleep(LOOK_S)
        assert (await status(stack, first))["State"] == "Degraded"
        assert await rollup(stack, first) == ("Critical", [("Critical", LOWER_URI)])
        assert await rollup(stack, second) == ("OK", [])
        for uri in (LOWER_URI, UPPER_URI):
            port = await stack.get(uri)
            assert (port["LinkStatus"], port["Status"]["State"]) == (
                "LinkDown", "UnavailableOffline",
            )  # fmt: skip
        assert await bound(stack) == before
        stack.rig.hardware["PCIe"].set_port(end, link_up=True)
        await asyncio.sleep(LOOK_S)
        assert (await status(stack, first))["State"] == "Enabled"
        for uri in (first, HOST1, PCIE_FABRIC):
            assert await rollup(stack, uri) == ("OK", []), uri


@in_virtual_time
async def test_a_link_that_is_cut_is_an_event_of_both_ends_and_of_who_suffers() -> None:
    async with a_stack(chain()) as stack:
        everything = {"Destination": "http://192.0.2.50/all", "Protocol": "Redfish"}
        operator = Operator(stack, await stack.made(SUBSCRIPTIONS, everything))
        system = await stack.made(SYSTEMS, of_blocks("host1", "drive1"))
        assert await operator.news()
        stack.rig.hardware["PCIe"].set_port(UPPER, link_up=False)
        down = await operator.news()
        for uri in (LOWER_URI, UPPER_URI):
            assert "Fabric.InterswitchLinkDropped" in about(down, uri)
        assert "ResourceEvent.ResourceStatusChangedCritical" in about(down, system)
        stack.rig.hardware["PCIe"].set_port(UPPER, link_up=True)
        up = await operator.news() + await operator.news()
        for uri in (LOWER_URI, UPPER_URI):
            assert "Fabric.InterswitchLinkEstablished" in about(up, uri)
        assert "ResourceEvent.ResourceStatusChangedOK" in about(up, system)


@in_virtual_time
async def test_a_zone_by_hand_and_its_host_suffer_from_a_link_that_is_cut() -> None:
    async with a_stack(chain()) as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(pcie("host1-1"), pcie("drive1")))
        other = await stack.made(PCIE_ZONES, zone_body(pcie("host2-1"), pcie("far3")))
        await asyncio.sleep(LOOK_S)
        stack.rig.hardware["PCIe"].set_port(LOWER, link_up=False)
        await asyncio.sleep(LOOK_S)
        for uri in (zone, HOST1):
            assert await rollup(stack, uri) == ("Critical", [("Critical", LOWER_URI)]), uri
        for uri in (other, HOST2):
            assert await rollup(stack, uri) == ("OK", []), uri
        await stack.ask("DELETE", zone)
        await asyncio.sleep(LOOK_S)
        assert await rollup(stack, HOST1) == ("OK", [])


@in_virtual_time
async def test_a_system_with_nothing_behind_it_does_not_mind_a_cut() -> None:
    async with a_stack(chain()) as stack:
        first = await stack.made(SYSTEMS, of_blocks("host1", "near1"))
        stack.rig.hardware["PCIe"].set_port(LOWER, present=False, link_up=False)
        await asyncio.sleep(LOOK_S)
        assert await rollup(stack, first) == ("OK", [])
        assert (await stack.get(LOWER_URI))["Status"]["Health"] == "Critical"
        found: dict[str, Any] = await stack.get(block("drive1"))
        assert found["Status"]["State"] == "Enabled", "whoever gets there can have it"
