"""Cases HEALTH: who suffers when a device fails, who does not, and that it is over when it is."""

import asyncio
import json
from typing import Any

import msgspec
import pytest

from redfish_fm.fabric.model import PortId
from redfish_fm.redfish.changes import FeedOp
from redfish_fm.resources import schemas_dir
from tests.cases.composing import SYSTEMS, gpus, made_of, memory, of_blocks, state
from tests.cases.life import CXL_CONNECTIONS, CXL_HOST1, GPU1, GPU2, HOST1, LD0, connection_body
from tests.cases.stack import ROOT, Stack, a_stack
from tests.cases.test_compose_wishes import ai_pod, ours
from tests.control.builders import CXL_FABRIC, CXL_ZONES, PCIE_FABRIC, PCIE_ZONES, cxl, zone_body
from tests.redfish.builders import keys
from tests.virtual_time import in_virtual_time

MEM1, MEM2 = PortId("cxl1", "D1"), PortId("cxl1", "D2")
GPU2_PORT = PortId("pcie1", "D2")
SYSTEM1, SYSTEM2 = f"{ROOT}/Systems/host1", f"{ROOT}/Systems/host2"
CHASSIS, DEVICE = f"{ROOT}/Chassis/mem1", f"{ROOT}/Chassis/mem1/PCIeDevices/mem1"
LOOK_S = 2.0
"""Longer than one observe interval."""


async def status(stack: Stack, uri: str) -> dict[str, Any]:
    found: dict[str, Any] = (await stack.get(uri)).get("Status", {})
    return found


async def rollup(stack: Stack, uri: str) -> tuple[str, list[tuple[str, str]]]:
    """Return HealthRollup, and severity and origin of every condition."""
    found = await status(stack, uri)
    told = [
        (each["Severity"], each["OriginOfCondition"]["@odata.id"])
        for each in found.get("Conditions", [])
    ]
    return found["HealthRollup"], told


async def granted(stack: Stack) -> None:
    """Give LD 0 of mem1 to host1, and mem2 to host2."""
    await stack.made(CXL_ZONES, zone_body(CXL_HOST1, LD0))
    await stack.made(CXL_CONNECTIONS, connection_body())
    await stack.made(CXL_ZONES, zone_body(cxl("host2-2"), cxl("mem2")))
    await asyncio.sleep(LOOK_S)


@in_virtual_time
async def test_he_01_who_depends_on_a_failed_memory_node_is_critical_and_nobody_else() -> None:
    async with a_stack() as stack:
        await granted(stack)
        for uri in (f"{CXL_FABRIC}", CHASSIS, SYSTEM1, SYSTEM2):
            assert await rollup(stack, uri) == ("OK", [])
        stack.rig.hardware["CXL"].set_port(MEM1, health="Critical")
        await asyncio.sleep(LOOK_S)
        for uri in (CXL_FABRIC, CHASSIS, SYSTEM1):
            assert await rollup(stack, uri) == ("Critical", [("Critical", DEVICE)]), uri
        assert (await status(stack, LD0))["Health"] == "Critical"
        for uri in (SYSTEM2, PCIE_FABRIC, f"{ROOT}/Chassis/mem2"):
            assert await rollup(stack, uri) == ("OK", []), uri


@in_virtual_time
async def test_he_01_a_memory_box_that_is_gone_hurts_its_host_only() -> None:
    async with a_stack() as stack:
        await granted(stack)
        stack.rig.hardware["CXL"].set_port(MEM2, present=False, link_up=False)
        await asyncio.sleep(LOOK_S)
        assert (await rollup(stack, SYSTEM2))[0] == "Critical"
        assert await rollup(stack, SYSTEM1) == ("OK", [])


@in_virtual_time
async def test_he_01_a_composed_system_is_critical_with_what_it_has_and_no_other_is() -> None:
    async with a_stack() as stack:
        mine = await stack.made(SYSTEMS, {**of_blocks("host1"), **memory(64 * 1024)})
        other = await stack.made(SYSTEMS, of_blocks("host2", "gpu1"))
        await asyncio.sleep(LOOK_S)
        for uri in (mine, other):
            assert await rollup(stack, uri) == ("OK", [])
        stack.rig.hardware["CXL"].set_port(MEM1, health="Critical")
        await asyncio.sleep(LOOK_S)
        for uri in (mine, SYSTEM1):
            assert await rollup(stack, uri) == ("Critical", [("Critical", DEVICE)]), uri
        for uri in (other, SYSTEM2):
            assert await rollup(stack, uri) == ("OK", []), uri
        stack.rig.hardware["CXL"].set_port(MEM1, health="OK")
        await asyncio.sleep(LOOK_S)
        assert await rollup(stack, mine) == ("OK", [])
        assert (await stack.ask("DELETE", mine)).status == 204
        await asyncio.sleep(LOOK_S)
        assert await rollup(stack, SYSTEM1) == ("OK", [])


@pytest.mark.parametrize("expanded", [True, False])
@in_virtual_time
async def test_a_host_with_another_copy_left_is_warned(expanded: bool) -> None:
    async with a_stack(ai_pod()) as stack:
        mirrored = memory(96 * 1024, **ours(MemoryPolicy="Mirrored"))
        if expanded:
            assert (await stack.ask("PATCH", SYSTEM1, mirrored)).status == 200
        else:
            await stack.made(SYSTEMS, {**of_blocks("host1"), **mirrored})
        stack.rig.hardware["CXL"].remove_device("appliance4")
        await asyncio.sleep(LOOK_S)
        assert (await rollup(stack, SYSTEM1))[0] == "Warning"
        assert (await status(stack, SYSTEM1))["State"] == "Enabled"
        stack.rig.hardware["CXL"].remove_device("appliance2")
        await asyncio.sleep(LOOK_S)
        assert (await rollup(stack, SYSTEM1))[0] == "Critical"
        for name in ("appliance2", "appliance4"):
            stack.rig.hardware["CXL"].return_device(name)
        await asyncio.sleep(LOOK_S)
        assert (await rollup(stack, SYSTEM1))[0] == "OK"


@in_virtual_time
async def test_a_block_whose_device_has_no_power_can_not_be_composed_until_it_has() -> None:
    async with a_stack(ai_pod()) as stack:
        hardware = stack.rig.hardware
        for name, fabric in (("gpu1", "PCIe"), ("appliance2", "CXL"), ("appliance4", "CXL")):
            hardware[fabric].power_device(name, on=False)
        await asyncio.sleep(LOOK_S)
        for name in ("gpu1", "appliance2"):
            assert (await state(stack, name))[0] == "Unavailable"
        refused = await stack.ask("POST", SYSTEMS, of_blocks("host1", "gpu1"))
        assert (refused.status, keys(refused)) == (409, ["PropertyValueResourceConflict"])
        # Only appliances without power are cut on demand: nothing else has parts of that size.
        refused = await stack.ask("POST", SYSTEMS, memory(96 * 1024))
        assert (refused.status, keys(refused)) == (409, ["RequirementUnmet"])
        system = await stack.made(SYSTEMS, gpus(1))
        assert "gpu1" not in await made_of(stack, system)
        for name, fabric in (("gpu1", "PCIe"), ("appliance2", "CXL")):
            hardware[fabric].power_device(name, on=True)
        await asyncio.sleep(LOOK_S)
        assert (await state(stack, "gpu1"))[0] == "Unused"
        await stack.made(SYSTEMS, {**of_blocks("host2", "gpu1"), **memory(96 * 1024)})


@in_virtual_time
async def test_another_device_in_the_slot_of_a_system_is_not_taken_for_its_own() -> None:
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, {**of_blocks("host1", "gpu1"), **memory(64 * 1024)})
        places = (("gpu1", "PCIe"), ("mem1", "CXL"))
        serials = {}
        for name, fabric in places:
            device = f"{ROOT}/Chassis/{name}/PCIeDevices/{name}"
            serials[name] = (await stack.get(device))["SerialNumber"]
            stack.rig.hardware[fabric].remove_device(name)
        await asyncio.sleep(LOOK_S)
        for name, fabric in places:
            stack.rig.hardware[fabric].return_device(name, f"ANOTHER-{name}")
        await asyncio.sleep(20)
        for name, _ in places:
            assert (await state(stack, name))[:2] == ("Unavailable", 1)
            assert (await status(stack, f"{ROOT}/Chassis/{name}"))["State"] == "Absent"
        shown = await status(stack, system)
        assert (shown["State"], shown["Health"]) == ("UnavailableOffline", "Critical")
        told = json.dumps(shown["Conditions"])
        assert "ANOTHER-gpu1" in told and "ANOTHER-mem1" in told
        taken = await stack.ask("POST", SYSTEMS, of_blocks("host2", "gpu1"))
        assert taken.status == 409
        for name, fabric in places:
            stack.rig.hardware[fabric].remove_device(name)
        await asyncio.sleep(LOOK_S)
        for name, fabric in places:
            stack.rig.hardware[fabric].return_device(name, serials[name])
        await asyncio.sleep(20)
        shown = await status(stack, system)
        assert (shown["State"], shown["Health"], "Conditions" in shown) == ("Enabled", "OK", False)
        assert (await state(stack, "gpu1"))[:2] == ("Composed", 1)


@in_virtual_time
async def test_a_system_with_another_device_in_its_slot_is_given_back() -> None:
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, of_blocks("host1", "gpu1"))
        stack.rig.hardware["PCIe"].remove_device("gpu1")
        await asyncio.sleep(LOOK_S)
        stack.rig.hardware["PCIe"].return_device("gpu1", "ANOTHER")
        await asyncio.sleep(LOOK_S)
        assert (await stack.ask("DELETE", system)).status == 204
        await asyncio.sleep(LOOK_S)
        assert stack.rig.bound("PCIe") == {}
        assert (await state(stack, "gpu1"))[:2] == ("Unavailable", 0)
        assert (await stack.ask("POST", SYSTEMS, of_blocks("host1", "gpu1"))).status == 409


@in_virtual_time
async def test_a_block_of_a_host_that_is_off_can_be_composed() -> None:
    async with a_stack() as stack:
        off = {"ResetType": "ForceOff"}
        await stack.ask("POST", f"{SYSTEM1}/Actions/ComputerSystem.Reset", off)
        await asyncio.sleep(LOOK_S)
        assert (await state(stack, "host1"))[0] == "Unused"
        await stack.made(SYSTEMS, of_blocks("host1"))


@in_virtual_time
async def test_he_01_an_absent_device_has_no_health_and_all_values_are_the_schemas() -> None:
    async with a_stack() as stack:
        await granted(stack)
        stack.rig.hardware["CXL"].set_port(MEM1, health="Critical")
        stack.rig.hardware["PCIe"].set_port(GPU2_PORT, present=False, link_up=False)
        await asyncio.sleep(LOOK_S)
        chassis = f"{ROOT}/Chassis/gpu2"
        for uri in (GPU2, chassis, f"{chassis}/PCIeDevices/gpu2", f"{chassis}/Processors/gpu2"):
            shown = await status(stack, uri)
            assert shown["State"] == "Absent"
            assert not shown.keys() & {"Health", "HealthRollup"}
        # Nobody was granted it: an empty slot is no fault of the fabric.
        assert (await rollup(stack, PCIE_FABRIC))[0] == "OK"
        schema = json.loads((schemas_dir() / "types" / "Resource.json").read_text())["$defs"]
        allowed = {name: set(schema[name]["enum"]) for name in ("State", "Health")}
        tree = await stack.crawl()
        statuses = [
            each["Status"] for each in tree.values() if isinstance(each.get("Status"), dict)
        ]
        assert len(statuses) > 30
        for each in statuses:
            assert each.get("State", "Enabled") in allowed["State"]
            for name in {"Health", "HealthRollup"} & each.keys():
                assert each[name] in allowed["Health"]
            for condition in each.get("Conditions", []):
                assert condition["OriginOfCondition"]["@odata.id"] in tree
                assert condition["MessageId"] and condition["Timestamp"]


async def told(stack: Stack, uri: str) -> list[str | None]:
    """Return the health that was announced of a resource, one per change; None is OK."""
    return [
        None if entry.post is None else msgspec.json.decode(entry.post).get("Health")
        async for record in stack.store.follow(0)
        for entry in record.entries
        if entry.op is FeedOp.OBSERVED and entry.uri == uri
    ]


@in_virtual_time
async def test_he_03_health_comes_back_within_one_look_and_is_told_once_each_way() -> None:
    async with a_stack() as stack:
        await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        await asyncio.sleep(LOOK_S)
        uris = (GPU1, PCIE_FABRIC, SYSTEM1, f"{ROOT}/Chassis/gpu1")
        before = [await status(stack, uri) for uri in uris]
        port = PortId("pcie1", "D1")
        stack.rig.hardware["PCIe"].set_port(port, health="Critical")
        await asyncio.sleep(LOOK_S)
        for uri in uris:
            assert (await rollup(stack, uri))[0] == "Critical"
        stack.rig.hardware["PCIe"].set_port(port, health="OK")
        await asyncio.sleep(LOOK_S)
        assert [await status(stack, uri) for uri in uris] == before
        assert await told(stack, GPU1) == ["Critical", None]


@in_virtual_time
async def test_he_03_a_failed_poll_lowers_no_severity_and_warns() -> None:
    async with a_stack() as stack:
        hardware = stack.rig.hardware["PCIe"]
        hardware.set_port(PortId("pcie1", "D1"), health="Critical")
        await asyncio.sleep(LOOK_S)
        hardware.cut("pcie1")
        await asyncio.sleep(3 * LOOK_S)
        shown = await status(stack, GPU1)
        assert (shown["State"], shown["Health"]) == ("Enabled", "Critical")
        assert "Warning" in {each["Severity"] for each in shown["Conditions"]}
        healthy = await status(stack, GPU2)
        assert (healthy["State"], healthy["Health"]) == ("Enabled", "OK")
        assert await rollup(stack, GPU2) == (
            "Warning",
            [("Warning", f"{PCIE_FABRIC}/Switches/pcie1")],
        )
        hardware.heal("pcie1")
        await asyncio.sleep(40.0)
        assert await rollup(stack, GPU2) == ("OK", [])
