"""Compositions end to end: hardware behind it, two fabrics at once, refusals, tasks, crashes."""

import asyncio
import json
from typing import Any

import pytest

from redfish_fm.drivers.virtual.faults import Lost, Refuse, Slow
from redfish_fm.fabric.model import Allocate, Bind
from redfish_fm.redfish.changes import Space
from redfish_fm.store.memory import DurableState
from tests.cases.composing import (
    COMPOSE,
    SYSTEMS,
    acted,
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
    newest,
    of_blocks,
    stanza,
    state,
    tasks,
    told,
    undo,
    wish,
)
from tests.cases.stack import Stack, a_stack
from tests.cases.test_memory import mixed
from tests.control.builders import links
from tests.virtual_time import in_virtual_time

GIB = 1024
OF_BOTH = {**gpus(2), **memory(64 * GIB)}
"""Needs the PCIe and the CXL fabric of two-hosts; its LDs have 64 GiB each."""
ADD, REMOVE = "ComputerSystem.AddResourceBlock", "ComputerSystem.RemoveResourceBlock"


async def act(stack: Stack, system: str, action: str, name: str) -> Any:
    body = {"ResourceBlock": {"@odata.id": block(name)}}
    return await stack.ask("POST", f"{system}/Actions/{action}", body)


@in_virtual_time
async def test_one_operation_binds_on_two_fabrics_in_at_most_two_commits() -> None:
    async with a_stack() as stack:
        before = commits(stack)
        system = await stack.made(SYSTEMS, OF_BOTH)
        assert commits(stack) - before <= 2
        assert len(stack.rig.bound("PCIe")) == 2
        assert len(stack.rig.bound("CXL")) == 1
        assert await made_of(stack, system) == ["host1", "gpu1", "gpu2", "mem1"]
        assert await state(stack, "gpu1") == ("Composed", 1, False)
        assert await state(stack, "mem1") == ("ComposedAndAvailable", 1, False)
        await stack.rig.assert_equal_to_disk()
        assert await tasks(stack) == []


@in_virtual_time
@pytest.mark.parametrize("fabric", ["PCIe", "CXL"])
async def test_co_06_what_one_fabric_refuses_is_taken_back_on_both(fabric: str) -> None:
    async with a_stack() as stack:
        before = await everything(stack)
        stack.rig.faults(fabric).next_apply(None, Refuse("bay is locked"))
        response = await stack.ask("POST", SYSTEMS, OF_BOTH)
        assert response.status == 409
        assert "bay is locked" in json.dumps(told(response))
        await free(stack)
        assert await everything(stack) == before
        stack.rig.assert_isolated()
        # Nothing is left behind: the same goes through now.
        await stack.made(SYSTEMS, OF_BOTH)


@in_virtual_time
async def test_a_slow_fabric_makes_a_task_of_it() -> None:
    async with a_stack() as stack:
        stack.rig.faults("CXL").next_apply(None, Slow(20.0))
        response = await stack.ask("POST", SYSTEMS, OF_BOTH)
        assert response.status == 202
        monitor = response.headers["Location"]
        (system,) = [
            each["@odata.id"]
            for each in (await stack.get(SYSTEMS))["Members"]
            if not each["@odata.id"].endswith(("host1", "host2"))
        ]
        assert (await stack.get(system))["Status"]["State"] == "Starting"
        assert (await state(stack, "gpu1"))[0] == "Composing"
        await asyncio.sleep(40)
        after = await stack.ask("GET", monitor)
        assert (after.status, after.headers["Location"]) == (201, system)
        assert (await stack.get(system))["Status"]["State"] == "Enabled"
        assert (await state(stack, "gpu1"))[0] == "Composed"


@in_virtual_time
async def test_a_manifest_that_goes_on_as_a_task_tells_its_answer_there() -> None:
    async with a_stack() as stack:
        stack.rig.faults("CXL").next_apply(None, Slow(20.0))
        response = await stack.ask("POST", COMPOSE, manifest("Apply", stanza(**OF_BOTH)))
        assert response.status == 202
        monitor = response.headers["Location"]
        assert (await stack.ask("GET", monitor)).status == 202
        await asyncio.sleep(40)
        after = await stack.ask("GET", monitor)
        assert after.status == 200
        (found,) = json.loads(after.body)["Manifest"]["Stanzas"]
        assert (await stack.get(found["Response"]["@odata.id"]))["SystemType"] == "Composed"


@in_virtual_time
@pytest.mark.parametrize("way", ["system", "task"])
async def test_what_is_composed_slowly_can_be_given_up(way: str) -> None:
    async with a_stack() as stack:
        before = await everything(stack)
        stack.rig.faults("PCIe").next_apply(None, Slow(20.0))
        response = await stack.ask("POST", SYSTEMS, OF_BOTH)
        (task,) = await tasks(stack)
        system = (await stack.get(task))["Name"].rpartition(" ")[2]
        assert response.status == 202
        gone = await stack.ask("DELETE", system if way == "system" else task)
        assert gone.status in (202, 204)
        await free(stack)
        assert await everything(stack) == before


@in_virtual_time
async def test_a_system_under_change_takes_no_other_change() -> None:
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, of_blocks("host1", "gpu1"))
        stack.rig.faults("PCIe").next_apply(None, Slow(20.0))
        assert (await act(stack, system, ADD, "gpu2")).status == 202
        (task,) = await tasks(stack)
        for response in (
            await act(stack, system, REMOVE, "gpu1"),
            await stack.ask("PATCH", system, of_blocks("host1")),
            await stack.ask("PATCH", system, memory(64 * GIB)),
        ):
            assert response.status == 409
            assert task in json.dumps(told(response))


@in_virtual_time
async def test_one_device_more_or_less_leaves_the_others_alone() -> None:
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, {**of_blocks("host1", "gpu1"), **memory(64 * GIB)})
        pcie, cxl = newest(stack, "PCIe"), newest(stack, "CXL")
        assert (await act(stack, system, ADD, "gpu2")).status == 204
        assert [what for what, _ in acted(stack, "PCIe", pcie)] == ["bind"]
        pcie = newest(stack, "PCIe")
        assert (await act(stack, system, REMOVE, "gpu1")).status == 204
        assert [what for what, _ in acted(stack, "PCIe", pcie)] == ["unbind"]
        pcie = newest(stack, "PCIe")
        assert (await stack.ask("PATCH", system, memory(64 * GIB, 2))).status == 200
        assert [what for what, _ in acted(stack, "CXL", cxl)] == ["bind"]
        assert acted(stack, "PCIe", pcie) == []
        assert len((await holdings(stack, system))["MemoryChunks"]) == 2


@in_virtual_time
async def test_a_patch_of_blocks_and_name_does_both() -> None:
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, of_blocks("host1", "gpu1", Name="old"))
        pcie = newest(stack, "PCIe")
        body = of_blocks("host1", "gpu1", "nvme1", Name="new")
        assert (await stack.ask("PATCH", system, body)).status == 200
        assert (await stack.get(system))["Name"] == "new"
        assert await made_of(stack, system) == ["host1", "gpu1", "nvme1"]
        assert [what for what, _ in acted(stack, "PCIe", pcie)] == ["bind"]


@in_virtual_time
async def test_a_physical_host_is_given_what_it_needs_and_gives_it_back() -> None:
    async with a_stack() as stack:
        before = await everything(stack)
        host = f"{SYSTEMS}/host2"
        assert (await stack.ask("PATCH", host, OF_BOTH)).status == 200
        assert await made_of(stack, host) == ["gpu1", "gpu2", "mem1"]
        assert bindings(stack) == 3
        assert (await act(stack, host, REMOVE, "mem1")).status == 204
        assert stack.rig.bound("CXL") == {}
        assert (await stack.ask("PATCH", host, of_blocks())).status == 200
        await free(stack)
        assert await everything(stack) == before


@in_virtual_time
async def test_a_removed_appliance_takes_its_parts_along_and_nothing_else() -> None:
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, {**of_blocks("host1", "mem2"), **memory(64 * GIB)})
        assert len(stack.rig.bound("CXL")) == 2
        assert (await act(stack, system, REMOVE, "mem1")).status == 204
        assert len(stack.rig.bound("CXL")) == 1
        found = await holdings(stack, system)
        assert (found["MemoryChunks"], found["Connections"]) == ([], [])
        # What was given back is another system's now.
        await stack.made(SYSTEMS, {**of_blocks("host2"), **memory(64 * GIB, 4)})


@in_virtual_time
@pytest.mark.parametrize("fault", [Lost(), Slow(3.0)])
@pytest.mark.parametrize("fabric", ["PCIe", "CXL"])
async def test_after_a_crash_a_composition_is_whole(fabric: str, fault: Any) -> None:
    durable = DurableState()
    async with a_stack(durable=durable, crash=True) as stack:
        stack.rig.faults(fabric).next_apply(None, fault, only=(Bind,))
        asked = asyncio.create_task(stack.ask("POST", SYSTEMS, OF_BOTH))
        await asyncio.sleep(0.3)
        hardware = stack.rig.hardware
        asked.cancel()
    durable.sessions.clear()
    async with a_stack(durable=durable, hardware=hardware) as stack:
        for name in hardware:
            await stack.rig.converged(name)
        assert [len(stack.rig.bound(name)) for name in ("PCIe", "CXL")] == [2, 1]
        stack.rig.assert_isolated()
        system = f"{SYSTEMS}/{_made(durable)}"
        assert await made_of(stack, system) == ["host1", "gpu1", "gpu2", "mem1"]
        assert (await stack.ask("DELETE", system)).status in (202, 204)
        await free(stack)


def _made(durable: DurableState) -> str:
    found = [uri for uri in durable.spaces[Space.DOCUMENT] if uri.startswith(f"{SYSTEMS}/")]
    return found[0].rsplit("/", 1)[-1]


@in_virtual_time
async def test_a_manifest_moves_devices_from_one_system_to_another() -> None:
    async with a_stack() as stack:
        first = await stack.made(SYSTEMS, of_blocks("host1", "gpu1", "gpu2"))
        before = commits(stack)
        body = manifest(
            "Apply",
            undo(first, name="old"),
            stanza(name="new", **of_blocks("host2", "gpu1")),
        )
        response = await stack.ask("POST", COMPOSE, body)
        assert response.status == 200, response.body
        assert commits(stack) - before <= 2
        await stack.rig.converged()
        (vppb,) = stack.rig.bound()
        assert vppb.vcs == "2"
        assert (await state(stack, "gpu2"))[0] == "Unused"
        stack.rig.assert_isolated()


@in_virtual_time
async def test_a_manifest_composes_the_same_host_anew() -> None:
    async with a_stack() as stack:
        first = await stack.made(SYSTEMS, of_blocks("host1", "gpu1"))
        again = stanza(name="b", **of_blocks("host1", "gpu1"))
        body = manifest("Apply", undo(first, name="a"), again)
        assert (await stack.ask("POST", COMPOSE, body)).status == 200
        await stack.rig.converged()
        assert len(stack.rig.bound()) == 1
        await stack.rig.assert_equal_to_disk()


@in_virtual_time
@pytest.mark.parametrize("name", ["same", "other"])
async def test_nothing_is_left_in_the_place_of_what_a_refused_manifest_took_apart(
    name: str,
) -> None:
    async with a_stack() as stack:
        before = await everything(stack)
        first = await stack.made(SYSTEMS, of_blocks("host1", "gpu1", Id="same"))
        again = stanza(name="b", **of_blocks("host1", "gpu2", Id=name), **memory(64 * GIB))
        stack.rig.faults("CXL").next_apply(None, Refuse("bay is locked"))
        body = manifest("Apply", undo(first, name="a"), again)
        assert (await stack.ask("POST", COMPOSE, body)).status == 409
        await free(stack)
        # What was released stays so; a system of devices that it has not would be no system.
        assert (await stack.ask("GET", first)).status == 404
        assert await everything(stack) == before


@in_virtual_time
@pytest.mark.parametrize("gone", [(), ("gpu1",)])
async def test_a_refused_patch_has_changed_nothing_else_of_the_system(
    gone: tuple[str, ...],
) -> None:
    async with a_stack() as stack:
        names = ["host1", "gpu1", "nvme1"]
        system = await stack.made(SYSTEMS, of_blocks(*names, Name="old", HostName="h"))
        before = await stack.get(system)
        left = [name for name in names if name not in gone]
        stack.rig.faults("PCIe").next_apply(None, Refuse("bay is locked"), only=(Bind,))
        body = of_blocks(*left, "gpu2", Name="new", AssetTag="mine", HostName="other")
        refused = await stack.ask("PATCH", system, body)
        assert refused.status == 409
        await stack.rig.converged("PCIe")
        after = await stack.get(system)
        for name in ("Name", "AssetTag", "HostName"):
            assert after.get(name) == before.get(name), name
        # What was released stays so.
        assert await made_of(stack, system) == left
        await stack.rig.assert_equal_to_disk()


@in_virtual_time
async def test_a_composed_system_stays_on_its_host() -> None:
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, of_blocks("host1", "gpu1"))
        before = await everything(stack)
        refused = await stack.ask("PATCH", system, of_blocks("host2", "gpu1"))
        assert refused.status == 400
        assert told(refused)[0]["RelatedProperties"] == ["#/Links/ResourceBlocks/0"]
        assert await everything(stack) == before
        # Else gpu1 would stay bound to host1, which the next system may have.
        other = await stack.ask("POST", SYSTEMS, of_blocks("host1", "gpu2"))
        assert other.status == 409


@in_virtual_time
@pytest.mark.parametrize(
    ("listed", "left"),
    [
        ([{}], ["gpu1"]),
        ([{}, {}, block("nvme1")], ["gpu1", "gpu2", "nvme1"]),
        ([None, {}], ["gpu2"]),
        ([None, block("nvme1")], ["nvme1"]),
        ([{}, {}, {}], ["gpu1", "gpu2"]),
    ],
)
async def test_a_patch_of_blocks_keeps_and_removes_elements_as_any_array(
    listed: list[Any], left: list[str]
) -> None:
    async with a_stack() as stack:
        host = f"{SYSTEMS}/host1"
        await stack.ask("PATCH", host, of_blocks("gpu1", "gpu2"))
        rows = [{"@odata.id": each} if isinstance(each, str) else each for each in listed]
        answer = await stack.ask("PATCH", host, {"Links": {"ResourceBlocks": rows}})
        assert answer.status == 200, answer.body
        assert await made_of(stack, host) == left


@in_virtual_time
async def test_a_block_is_refused_where_the_request_names_it_also_after_one_that_goes() -> None:
    async with a_stack() as stack:
        host = f"{SYSTEMS}/host1"
        await stack.made(SYSTEMS, of_blocks("host2", "gpu2"))
        await stack.ask("PATCH", host, of_blocks("gpu1"))
        rows = [None, *links(block("gpu2"))]
        refused = await stack.ask("PATCH", host, {"Links": {"ResourceBlocks": rows}})
        assert told(refused)[0]["RelatedProperties"] == ["#/Links/ResourceBlocks/1"]


@in_virtual_time
async def test_nobody_else_grants_a_part_of_an_expanded_host() -> None:
    async with a_stack() as stack:
        host = f"{SYSTEMS}/host1"
        await stack.ask("PATCH", host, memory(64 * GIB))
        found = await holdings(stack, host)
        own = await stack.get(found["Connections"][0])
        ends = {name: own["Links"][name] for name in ("InitiatorEndpoints", "TargetEndpoints")}
        row = {"AccessCapabilities": ["Read"], "MemoryChunk": links(*found["MemoryChunks"])[0]}
        body = {"ConnectionType": "Memory", "MemoryChunkInfo": [row], "Links": ends}
        refused = await stack.ask("POST", found["Connections"][0].rpartition("/")[0], body)
        assert refused.status == 409
        assert host in refused.body.decode()
        # It would be held back by that.
        gone = await stack.ask("PATCH", host, {"Links": {"ResourceBlocks": []}})
        assert gone.status == 200, gone.body


@in_virtual_time
async def test_a_drive_and_a_card_of_their_own() -> None:
    async with a_stack() as stack:
        body = {"Storage": wish(2, Drives=[{"CapacityBytes": 3_000_000_000_000}])}
        system = await stack.made(SYSTEMS, body)
        assert await made_of(stack, system) == ["host1", "nvme1", "nvme2"]
        assert len(stack.rig.bound()) == 2


@in_virtual_time
@pytest.mark.parametrize("kind", ["Preview", "PreviewReserve", "Apply"])
async def test_a_repeated_request_is_answered_as_the_first_one(kind: str) -> None:
    async with a_stack() as stack:
        body = manifest(kind, stanza(**OF_BOTH))
        sent = [await stack.ask("POST", COMPOSE, body, idempotency_key="k1") for _ in range(2)]
        assert sent[0].status == 200
        assert sent[0].body == sent[1].body
        assert len(stack.rig.published.state.index.compositions) == (kind == "Apply")
        assert len(stack.rig.published.state.index.reservations) == (kind == "PreviewReserve")


BOTH = of_blocks("host2", "gpu2")
REQUESTS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "blocks": ("PCIe", "", of_blocks("gpu2", "host2"), "#/Links/ResourceBlocks/0"),
    "a wish": ("PCIe", "", gpus(1), "#/Processors/Members/0"),
    "memory": ("CXL", "", memory(64 * GIB), "#/Memory/Members/0"),
    "a block beside a wish": (
        "PCIe",
        "",
        {**BOTH, **memory(64 * GIB)},
        "#/Links/ResourceBlocks/1",
    ),
    "one block more": (
        "PCIe",
        f"/Actions/{ADD}",
        {"ResourceBlock": {"@odata.id": block("gpu2")}},
        "#/ResourceBlock",
    ),
    "a longer list": (
        "PCIe",
        "",
        of_blocks("host1", "gpu1", "gpu2"),
        "#/Links/ResourceBlocks/2",
    ),
    "a stanza": (
        "PCIe",
        COMPOSE,
        manifest("Apply", stanza(**of_blocks("host1")), stanza(name="2", **gpus(1))),
        "#/Manifest/Stanzas/1/Request/Processors/Members/0",
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
@in_virtual_time
async def test_what_hardware_refuses_is_told_where_the_client_asked_for_it(name: str) -> None:
    fabric, path, body, place = REQUESTS[name]
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, of_blocks("host1", "gpu1"))
        if name == "a stanza":
            await stack.ask("DELETE", system)
        changes = name in ("one block more", "a longer list")
        uri = path if path.startswith("/redfish") else f"{system if changes else SYSTEMS}{path}"
        stack.rig.faults(fabric).next_apply(None, Refuse("bay is locked"), only=(Bind,))
        response = await stack.ask("PATCH" if name == "a longer list" else "POST", uri, body)
        assert response.status == 409
        assert [each["RelatedProperties"] for each in told(response)] == [[place]]


PARTS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "memory of a stanza": (
        "CXL",
        COMPOSE,
        manifest("Apply", stanza(**gpus(1)), stanza(name="2", **memory(GIB, 2))),
        "#/Manifest/Stanzas/1/Request/Memory/Members/0",
    ),
    "memory of a request": ("CXL", SYSTEMS, memory(GIB), "#/Memory/Members/0"),
    "a namespace": (
        "NVMeoF",
        SYSTEMS,
        {**gpus(1), "Storage": wish(1, **{"Volumes": wish(1, CapacityBytes=8 << 30)})},
        "#/Storage/Members/0/Volumes/Members/0",
    ),
}


@pytest.mark.parametrize("name", PARTS)
@in_virtual_time
async def test_a_part_that_hardware_does_not_allocate_is_told_where_it_was_asked_for(
    name: str,
) -> None:
    fabric, uri, body, place = PARTS[name]
    async with a_stack(mixed()) as stack:
        for switch in stack.rig.hardware[fabric].switches:
            fault = Refuse("no room")
            stack.rig.faults(fabric).next_apply(switch, fault, only=(Allocate,))
        response = await stack.ask("POST", uri, body)
        assert response.status == 409
        assert [each["RelatedProperties"] for each in told(response)] == [[place]]


@in_virtual_time
async def test_a_block_that_can_not_be_added_is_told_as_the_parameter() -> None:
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, of_blocks("host1", "gpu1"))
        await stack.made(SYSTEMS, of_blocks("host2", "gpu2"))
        refused = await act(stack, system, ADD, "gpu2")
        assert told(refused)[0]["RelatedProperties"] == ["#/ResourceBlock"]


@in_virtual_time
async def test_a_zone_confines_also_what_a_running_system_gets() -> None:
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, of_blocks("host1"))
        body = {**of_blocks("host1", "gpu1"), "@Redfish.ZoneAffinity": "nonsense"}
        refused = await stack.ask("PATCH", system, body)
        assert refused.status == 400
        assert told(refused)[0]["RelatedProperties"] == ["#/@Redfish.ZoneAffinity"]
        assert await made_of(stack, system) == ["host1"]


@pytest.mark.parametrize(
    ("name", "value"),
    [("ZoneAffinity", "1"), ("ZoneAffinity", "nonsense"), ("AllowOverprovisioning", True)],
)
@pytest.mark.parametrize("composed", [True, False])
@in_virtual_time
async def test_how_to_choose_is_refused_where_nothing_is_asked_for_and_nothing_is_set(
    name: str, value: object, composed: bool
) -> None:
    async with a_stack() as stack:
        made = await stack.made(SYSTEMS, of_blocks("host1", "gpu1"))
        system = made if composed else f"{SYSTEMS}/host2"
        before = await stack.get(system)
        body = {"AssetTag": "mine", f"@Redfish.{name}": value}
        refused = await stack.ask("PATCH", system, body)
        assert refused.status == 400
        assert told(refused)[0]["MessageId"].endswith(".PropertyUnknown")
        assert told(refused)[0]["RelatedProperties"] == [f"#/@Redfish.{name}"]
        assert await stack.get(system) == before


@in_virtual_time
async def test_what_is_kept_of_a_host_is_not_set_with_its_blocks() -> None:
    """The hardware may refuse the blocks, and a host's settings are not taken back."""
    once = {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}
    async with a_stack() as stack:
        system, host = await stack.made(SYSTEMS, of_blocks("host1")), f"{SYSTEMS}/host2"
        for uri, body, name in (
            (system, of_blocks("host1", "gpu1", Boot=once), "Boot"),
            (host, of_blocks("gpu1", Boot=once), "Boot"),
            (host, of_blocks("gpu1", AssetTag="mine"), "AssetTag"),
        ):
            before = await stack.get(uri)
            refused = await stack.ask("PATCH", uri, body)
            assert refused.status == 400
            (message,) = told(refused)
            assert message["RelatedProperties"] == [f"#/{name}"]
            assert await stack.get(uri) == before
