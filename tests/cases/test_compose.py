"""Cases COMPOSE of shared/cases.jsonl, and those of other classes about composed systems."""

import json
from pathlib import Path
from typing import Any

import pytest

from redfish_fm import worlds
from redfish_fm.drivers.virtual.faults import Slow
from redfish_fm.drivers.virtual.topology import read
from redfish_fm.mapping.inventory import render_inventories
from redfish_fm.redfish import etag
from redfish_fm.store.base import StoredState
from tests.cases.life import BLOCKS, GPU2, HOST1, HOST2, SYSTEMS, slowly, system_body
from tests.cases.stack import ROOT, Stack, a_stack, imported, links_in, unpacked
from tests.control.builders import PCIE_ZONES, links, zone_body
from tests.drivers.fabrics import MOCKUPS as TOPOLOGIES
from tests.redfish.builders import CATALOG, keys
from tests.virtual_time import in_virtual_time

ADD, REMOVE = "ComputerSystem.AddResourceBlock", "ComputerSystem.RemoveResourceBlock"
SERVICE = f"{ROOT}/CompositionService"


def block(name: str) -> str:
    return f"{BLOCKS}/{name}"


async def status_of(stack: Stack, name: str) -> dict[str, Any]:
    """Return CompositionStatus of a block."""
    found: dict[str, Any] = (await stack.get(block(name)))["CompositionStatus"]
    return found


async def members(stack: Stack, uri: str) -> list[str]:
    """Return the last segments of a collection's members."""
    found = await stack.get(uri)
    assert found["Members@odata.count"] == len(found["Members"])
    return [each["@odata.id"].rpartition("/")[2] for each in found["Members"]]


async def act(stack: Stack, system: str, action: str, name: str, **more: str) -> Any:
    """Give a system a block, or take it back."""
    body = {"ResourceBlock": {"@odata.id": block(name)}, **more}
    return await stack.ask("POST", f"{system}/Actions/{action}", body)


def without_hot_plug() -> worlds.World:
    """Return the world of two-hosts with hosts that can not hot-plug."""
    text = (TOPOLOGIES / "two-hosts.yaml").read_text("utf-8")
    text = text.replace("    memory: 256 GiB\n", "    memory: 256 GiB\n    hot_plug: false\n", 1)
    inventories = read(text, "two-hosts").inventories()
    rendered = render_inventories(list(inventories))
    fabrics = tuple(inventory.fabric for inventory in inventories)
    return worlds.World(rendered.documents, rendered.facts, inventories, default_zones=fabrics)


# -- what clients see of compositions ----------------------------------------------------------


@in_virtual_time
async def test_co_01_a_block_in_a_system_says_so() -> None:
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, system_body("host1", "gpu1", Name="c1"))
        shown = await stack.get(block("gpu1"))
        assert shown["CompositionStatus"]["CompositionState"] == "Composed"
        assert shown["CompositionStatus"]["NumberOfCompositions"] == 1
        assert shown["Links"]["ComputerSystems"] == links(system)
        assert shown["Pool"] == "Active"


@in_virtual_time
async def test_co_01_the_pools_are_true_all_the_time() -> None:
    async with a_stack() as stack:
        every = set(await members(stack, BLOCKS))
        for names in (("host1", "gpu1"), ("host2", "gpu2", "nvme1")):
            await stack.made(SYSTEMS, system_body(*names))
            active = set(await members(stack, f"{SERVICE}/ActivePool"))
            assert set(names) <= active
            assert active | set(await members(stack, f"{SERVICE}/FreePool")) == every


@in_virtual_time
async def test_co_03_a_deleted_system_gives_its_blocks_back() -> None:
    async with a_stack() as stack:
        before = await members(stack, SYSTEMS)
        system = await stack.made(SYSTEMS, system_body("host1", "gpu1"))
        assert (await stack.ask("DELETE", system)).status == 204
        shown = await stack.get(block("gpu1"))
        assert shown["CompositionStatus"]["CompositionState"] == "Unused"
        assert shown["Links"]["ComputerSystems"] == []
        assert await members(stack, SYSTEMS) == before
        await stack.made(SYSTEMS, system_body("host1", "gpu1", Name="c2"))


@in_virtual_time
async def test_co_03_nothing_is_left_below_a_deleted_system() -> None:
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, system_body("host1", "gpu1", "nvme1"))
        below = [each for each in await stack.crawl() if each.startswith(f"{system}/")]
        assert len(below) >= 7
        await stack.ask("DELETE", system)
        for uri in below:
            assert (await stack.ask("GET", uri)).status == 404, uri


@in_virtual_time
async def test_co_08_a_system_without_storage_has_empty_collections() -> None:
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, system_body("host1", "gpu1"))
        shown = await stack.get(system)
        for name in ("Storage", "Memory", "EthernetInterfaces"):
            found = await stack.get(shown[name]["@odata.id"])
            own = await stack.get(f"{SYSTEMS}/host1/{name}")
            assert found["Members"] == own["Members"], name
        answer = await stack.ask("GET", f"{system}/SimpleStorage")
        assert (answer.status, "SimpleStorage" in shown) == (404, False)


@in_virtual_time
async def test_co_11_a_host_that_can_not_hot_plug_is_powered_off_first() -> None:
    async with a_stack(without_hot_plug()) as stack:
        host = f"{SYSTEMS}/host1"
        body = system_body("host1", "gpu1")
        refused = await stack.ask("POST", SYSTEMS, body)
        assert (refused.status, keys(refused)[0]) == (409, "HostPoweredOn")
        assert host in refused.body.decode()
        off = {"ResetType": "ForceOff"}
        await stack.ask("POST", f"{host}/Actions/ComputerSystem.Reset", off)
        system = await stack.made(SYSTEMS, body)
        reset = f"{system}/Actions/ComputerSystem.Reset"
        assert (await stack.ask("POST", reset, {"ResetType": "ForceOn"})).status == 204
        one = {"Members": [{"@Redfish.RequestedCount": 1, "ProcessorType": "GPU"}]}
        # It has that, so nothing comes or goes.
        assert (await stack.ask("PATCH", system, {"Processors": one})).status == 200
        for response in (
            await stack.ask("DELETE", system),
            await act(stack, system, REMOVE, "gpu1"),
            await act(stack, system, ADD, "gpu2"),
            await act(stack, f"{SYSTEMS}/host2", ADD, "gpu2"),
        ):
            assert (response.status, keys(response)[0]) == (409, "HostPoweredOn")
        await stack.ask("POST", reset, off)
        assert (await stack.ask("DELETE", system)).status == 204


@in_virtual_time
async def test_co_11_a_system_of_its_host_alone_needs_no_hot_plug() -> None:
    async with a_stack(without_hot_plug()) as stack:
        system = await stack.made(SYSTEMS, system_body("host1"))
        assert (await stack.ask("DELETE", system)).status == 204


@pytest.mark.parametrize(
    "name", ["PostToComposeSystem.json", "PostToComposeSystemWithoutStorage.json"]
)
@in_virtual_time
async def test_co_13_a_public_request_keeps_its_id_and_name(shared: Path, name: str) -> None:
    body = json.loads((shared / "fixtures" / "wild" / "oneview" / name).read_text())
    ours = ("host1", "gpu1", "nvme1", "nvme2")
    named = body["Links"]["ResourceBlocks"]
    body["Links"]["ResourceBlocks"] = links(*map(block, ours[: len(named)]))
    async with a_stack() as stack:
        location = await stack.made(SYSTEMS, body)
        shown = await stack.get(location)
        assert location == f"{SYSTEMS}/{body['Id']}"
        assert {key: shown[key] for key in ("Id", "Name", "Description")} == {
            key: body[key] for key in ("Id", "Name", "Description")
        }
        again = {**system_body("host2"), "Id": body["Id"]}
        refused = await stack.ask("POST", SYSTEMS, again)
        assert (refused.status, keys(refused)) == (409, ["ResourceAlreadyExists"])
        assert await stack.get(location) == shown


@in_virtual_time
async def test_co_13_the_id_of_the_capabilities_is_taken() -> None:
    async with a_stack() as stack:
        refused = await stack.ask("POST", SYSTEMS, system_body("host1", Id="Capabilities"))
        assert (refused.status, keys(refused)) == (409, ["ResourceAlreadyExists"])


@in_virtual_time
async def test_sc_06_systems_have_what_clients_look_for() -> None:
    async with a_stack() as stack:
        made = await stack.made(SYSTEMS, system_body("host1", "gpu1"))
        for system in (made, f"{SYSTEMS}/host2"):
            shown = await stack.get(system)
            for uri in {*links_in(shown["Links"])}:
                await stack.get(uri)
            assert shown["Links"]["ManagedBy"] and shown["Links"]["Chassis"]
            assert shown["Boot"]["BootSourceOverrideEnabled"] == "Disabled"
            assert shown["PowerState"] == "On"
            assert shown["Status"]["State"] == "Enabled"
            assert shown["UUID"]
        assert (await stack.get(made))["UUID"] == (await stack.get(f"{SYSTEMS}/host1"))["UUID"]


@in_virtual_time
async def test_sc_06_a_composed_system_and_its_host_name_each_other() -> None:
    async with a_stack() as stack:
        made, host = await stack.made(SYSTEMS, system_body("host1", "gpu1")), f"{SYSTEMS}/host1"
        assert (await stack.get(made))["Links"]["SupplyingComputerSystems"] == links(host)
        assert (await stack.get(host))["Links"]["ConsumingComputerSystems"] == links(made)
        ends = (await stack.get(host))["Links"]["Endpoints"]
        assert (await stack.get(made))["Links"]["Endpoints"] == ends


@in_virtual_time
async def test_sc_02_a_composed_system_gets_the_services_type() -> None:
    async with a_stack() as stack:
        odd = {"@odata.type": "#ComputerSystem.1.00.0.ComputerSystem", "SystemType": "Physical"}
        shown = await stack.get(await stack.made(SYSTEMS, system_body("host1", **odd)))
        assert shown["@odata.type"] == CATALOG.types["ComputerSystem"].odata_type
        assert shown["SystemType"] == "Composed"


@in_virtual_time
async def test_what_a_composition_holds_is_neither_changed_nor_deleted_by_hand() -> None:
    """The answer names no place in a body: a DELETE has none, and a PATCH may say anything."""
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, system_body("host1", "gpu1"))
        (zone,) = (await stack.get(system))["Oem"]["RedfishFM"]["Composition"]["Zones"]
        for method, body in (("DELETE", None), ("PATCH", {"Description": "mine"})):
            refused = await stack.ask(method, zone["@odata.id"], body)
            assert refused.status == 409
            assert system in refused.body.decode()
            assert "RelatedProperties" not in refused.body.decode()


@in_virtual_time
async def test_zn_11_a_block_and_a_zone_belong_to_one_composition() -> None:
    async with a_stack() as stack:
        first = await stack.made(SYSTEMS, system_body("host1", "gpu1", Name="A"))
        (zone,) = (await stack.get(first))["Oem"]["RedfishFM"]["Composition"]["Zones"]
        before = await stack.ask("GET", zone["@odata.id"])
        refused = await stack.ask("POST", SYSTEMS, system_body("host2", "gpu1", Name="B"))
        assert (refused.status, "ResourceInUse" in keys(refused)) == (409, True)
        assert first in refused.body.decode()
        for endpoints in ((HOST1, GPU2), (HOST2, f"{ROOT}/Fabrics/PCIe/Endpoints/gpu1")):
            by_hand = await stack.ask("POST", PCIE_ZONES, zone_body(*endpoints))
            assert by_hand.status == 409
        assert (await stack.ask("GET", zone["@odata.id"])).body == before.body
        second = await stack.made(SYSTEMS, system_body("host2", "gpu2", Name="B"))
        (other,) = (await stack.get(second))["Oem"]["RedfishFM"]["Composition"]["Zones"]
        assert other != zone


@in_virtual_time
async def test_a_composed_system_has_the_power_of_its_host_and_resets_it() -> None:
    async with a_stack() as stack:
        system, host = await stack.made(SYSTEMS, system_body("host1", "gpu1")), f"{SYSTEMS}/host1"
        action = (await stack.get(system))["Actions"]["#ComputerSystem.Reset"]
        assert "ForceOff" in action["ResetType@Redfish.AllowableValues"]
        assert (await stack.ask("POST", action["target"], {"ResetType": "ForceOff"})).status == 204
        for uri in (system, host):
            assert (await stack.get(uri))["PowerState"] == "Off"
        await stack.ask("POST", f"{host}/Actions/ComputerSystem.Reset", {"ResetType": "ForceOn"})
        assert (await stack.get(system))["PowerState"] in ("On", "PoweringOn")


@in_virtual_time
async def test_how_a_composed_system_boots_is_said_of_its_host() -> None:
    async with a_stack() as stack:
        system, host = await stack.made(SYSTEMS, system_body("host1", "gpu1")), f"{SYSTEMS}/host1"
        once = {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}
        changed = await stack.ask("PATCH", system, {"Boot": once, "AssetTag": "rack 7"})
        assert (changed.status, json.loads(changed.body)["AssetTag"]) == (200, "rack 7")
        for uri in (system, host):
            assert once.items() <= (await stack.get(uri))["Boot"].items()
        assert "AssetTag" not in await stack.get(host)


@in_virtual_time
async def test_a_composed_system_shows_what_its_blocks_bring() -> None:
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, system_body("host1", "gpu1", "nvme1"))
        assert await members(stack, f"{system}/Processors") == ["CPU1", "gpu1"]
        assert "nvme1" in await members(stack, f"{system}/Storage")
        devices = {
            each.rpartition("/")[2] for each in links_in((await stack.get(system))["PCIeDevices"])
        }
        assert {"gpu1", "nvme1"} <= devices
        before = etag.split((await stack.ask("GET", f"{system}/Processors")).headers["ETag"])
        await act(stack, system, ADD, "gpu2")
        assert await members(stack, f"{system}/Processors") == ["CPU1", "gpu1", "gpu2"]
        after = etag.split((await stack.ask("GET", f"{system}/Processors")).headers["ETag"])
        assert after[0] != before[0]
        await act(stack, system, REMOVE, "gpu1")
        assert await members(stack, f"{system}/Processors") == ["CPU1", "gpu2"]


@in_virtual_time
async def test_an_expanded_host_shows_what_it_was_given_beside_its_own() -> None:
    async with a_stack() as stack:
        host = f"{SYSTEMS}/host2"
        before = await stack.get(host)
        assert {f"#{ADD}", f"#{REMOVE}"} <= before["Actions"].keys()
        assert await members(stack, f"{host}/Processors") == ["CPU1"]
        assert before["Composition"]["UseCases"] == ["ResourceBlockCapable", "ExpandableSystem"]
        assert (await act(stack, host, ADD, "gpu1")).status == 204
        shown = await stack.get(host)
        assert shown["SystemType"] == "Physical"
        assert await members(stack, f"{host}/Processors") == ["CPU1", "gpu1"]
        assert f"{ROOT}/Chassis/gpu1" in links_in(shown["Links"]["Chassis"])
        assert (await act(stack, host, REMOVE, "gpu1")).status == 204
        after = await stack.get(host)
        assert {**after, "@odata.etag": ""} == {**before, "@odata.etag": ""}


@in_virtual_time
async def test_a_system_is_starting_until_its_devices_are_seen_in_it() -> None:
    async with a_stack() as stack:
        stack.rig.faults().next_apply(None, Slow(8.0))
        await slowly(stack, "POST", SYSTEMS, system_body("host1", "gpu1", Id="late"))
        assert (await stack.get(f"{SYSTEMS}/late"))["Status"]["State"] == "Starting"
        assert (await status_of(stack, "gpu1"))["CompositionState"] == "Composing"
        await stack.rig.until(lambda: not stack.kernel.operations.open_of("PCIe"))
        assert (await stack.get(f"{SYSTEMS}/late"))["Status"]["State"] == "Enabled"
        assert (await status_of(stack, "gpu1"))["CompositionState"] == "Composed"


# -- how a client finds out, and what blocks take ----------------------------------------------


@in_virtual_time
async def test_a_client_is_led_from_systems_to_what_a_request_may_hold() -> None:
    async with a_stack() as stack:
        systems = await stack.get(SYSTEMS)
        (row, *_) = systems["@Redfish.CollectionCapabilities"]["Capabilities"]
        assert row["UseCase"] == "ComputerSystemComposition"
        assert row["Links"]["TargetCollection"] == {"@odata.id": SYSTEMS}
        told = await stack.get(row["CapabilitiesObject"]["@odata.id"])
        assert told["Links"]["ResourceBlocks@Redfish.RequiredOnCreate"]
        limits = told["@Redfish.ResourceBlockLimits"]
        assert (limits["MinCompute"], limits["MaxCompute"]) == (1, 1)
        for zone in row["Links"]["RelatedItem"]:
            shown = await stack.get(zone["@odata.id"])
            assert shown["ZoneType"] == "ZoneOfResourceBlocks"
            assert (
                shown["@Redfish.CollectionCapabilities"]["Capabilities"][0]["UseCase"]
                == (row["UseCase"])
            )
        assert row["CapabilitiesObject"] not in systems["Members"]


@in_virtual_time
async def test_what_tells_how_systems_are_made_is_none_and_takes_no_change() -> None:
    async with a_stack() as stack:
        uri = f"{SYSTEMS}/Capabilities"
        for method, target, body, status in (
            ("PATCH", uri, {"AssetTag": "x"}, 405),
            ("DELETE", uri, None, 405),
            ("POST", f"{uri}/Actions/{ADD}", {"ResourceBlock": {"@odata.id": block("gpu1")}}, 400),
        ):
            assert (await stack.ask(method, target, body)).status == status, method


@in_virtual_time
async def test_a_block_is_taken_out_of_the_pools_and_put_back() -> None:
    async with a_stack() as stack:
        changed = await stack.ask("PATCH", block("gpu1"), {"Pool": "Unassigned", "Client": "us"})
        shown = json.loads(changed.body)
        assert (shown["Pool"], shown["Client"]) == ("Unassigned", "us")
        assert shown["CompositionStatus"]["CompositionState"] == "Unavailable"
        assert "gpu1" not in await members(stack, f"{SERVICE}/FreePool")
        refused = await stack.ask("POST", SYSTEMS, system_body("host1", "gpu1"))
        assert (refused.status, keys(refused)) == (409, ["PropertyValueResourceConflict"])
        await stack.ask("PATCH", block("gpu1"), {"Pool": "Free"})
        await stack.made(SYSTEMS, system_body("host1", "gpu1"))


@in_virtual_time
async def test_a_block_gets_into_the_active_pool_by_a_composition_only() -> None:
    async with a_stack() as stack:
        refused = await stack.ask("PATCH", block("gpu1"), {"Pool": "Active"})
        assert (refused.status, keys(refused)) == (400, ["PropertyValueNotInList"])
        system = await stack.made(SYSTEMS, system_body("host1", "gpu1"))
        for pool in ("Free", "Unassigned"):
            refused = await stack.ask("PATCH", block("gpu1"), {"Pool": pool})
            assert refused.status == 409 and system in refused.body.decode()


@in_virtual_time
async def test_clients_note_on_a_block_that_they_want_it() -> None:
    async with a_stack() as stack:
        note = {"CompositionStatus": {"Reserved": True}, "Client": "scheduler"}
        assert (await stack.ask("PATCH", block("gpu1"), note)).status == 200
        assert (await status_of(stack, "gpu1"))["Reserved"] is True
        # A note keeps nobody out; a reservation does.
        await stack.made(SYSTEMS, system_body("host1", "gpu1"))


@in_virtual_time
async def test_the_public_request_for_one_block_more_works_with_its_etags(shared: Path) -> None:
    file = "ComputerSystem-v1-AddResourceBlock-request-example.json"
    body = json.loads((shared / "fixtures" / "wild" / "dmtf" / file).read_text())
    body["ResourceBlock"] = {"@odata.id": block("gpu2")}
    async with a_stack() as stack:
        system = await stack.made(SYSTEMS, system_body("host1", "gpu1"))
        action = f"{system}/Actions/{ADD}"
        stale = await stack.ask("POST", action, body)
        assert (stale.status, keys(stale)) == (428, ["PreconditionRequired"])
        assert stale.body.decode().count("ComputerSystemETag") >= 1
        for parameter, uri in (
            ("ComputerSystemETag", system),
            ("ResourceBlockETag", block("gpu2")),
        ):
            body[parameter] = (await stack.ask("GET", uri)).headers["ETag"]
        assert (await stack.ask("POST", action, body)).status == 204
        assert (await status_of(stack, "gpu2"))["CompositionState"] == "Composed"


# -- imported mockups --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mockups(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, worlds.World]:
    """DMTF's three mockups of compositions, imported."""
    place = tmp_path_factory.mktemp("compositions")
    names = ("public-composability", "public-compose-action", "public-constrained-composition")
    pack = "mockups-dmtf-2025.4.tar.gz"
    return {name: imported(unpacked(shared, place, name, pack)) for name in names}


@in_virtual_time
async def test_an_imported_composition_is_given_back_and_made_anew(
    mockups: dict[str, worlds.World],
) -> None:
    async with a_stack(mockups["public-composability"]) as stack:
        old, names = f"{SYSTEMS}/ComposedSystem", ("ComputeBlock1", "DriveBlock3", "DriveBlock4")
        assert [(await status_of(stack, each))["CompositionState"] for each in names] == [
            "Composed", "ComposedAndAvailable", "ComposedAndAvailable",
        ]  # fmt: skip
        assert await members(stack, f"{old}/Processors") == ["Block1CPU0", "Block1CPU1"]
        assert (await stack.ask("DELETE", old)).status == 204
        assert (await status_of(stack, "ComputeBlock1"))["CompositionState"] == "Unused"
        made = await stack.made(SYSTEMS, system_body(*names, Id="ComposedSystem", Name="again"))
        assert made == old
        assert await members(stack, f"{made}/Processors") == ["Block1CPU0", "Block1CPU1"]
        assert (await act(stack, made, ADD, "DriveBlock5")).status == 204
        refused = await stack.ask("POST", SYSTEMS, system_body("ComputeBlock1"))
        assert refused.status == 409


@in_virtual_time
async def test_an_imported_host_that_was_given_a_block_gives_it_back(
    mockups: dict[str, worlds.World],
) -> None:
    async with a_stack(mockups["public-composability"]) as stack:
        host = f"{SYSTEMS}/SystemAfterAddResourceAction"
        assert (await status_of(stack, "DriveBlock10"))["CompositionState"] == "Composed"
        # While it has more than its own it can not be taken whole besides.
        assert (await stack.get(block("SystemBlock12")))["Pool"] == "Unassigned"
        assert (await act(stack, host, REMOVE, "DriveBlock10")).status == 204
        assert (await status_of(stack, "DriveBlock10"))["CompositionState"] == "Unused"
        assert (await stack.get(block("DriveBlock10")))["Links"]["ComputerSystems"] == []
        # What it computes with itself is no gift, and stays its own.
        own = (await stack.get(host))["Links"]["ResourceBlocks"]
        assert own == links(block("SystemBlock12"))
        assert (await status_of(stack, "SystemBlock12"))["CompositionState"] == "Unused"
        plain = f"{SYSTEMS}/SystemPreResourceBlock"
        assert (await act(stack, plain, ADD, "DriveBlock10")).status == 204


@in_virtual_time
async def test_the_pools_of_an_import_follow_from_its_compositions(
    mockups: dict[str, worlds.World],
) -> None:
    async with a_stack(mockups["public-compose-action"]) as stack:
        active = await members(stack, f"{SERVICE}/ActivePool")
        assert "BladeServer-1" in active and "SASSled-1" in active
        assert "RackServer-1" in await members(stack, f"{SERVICE}/FreePool")
        assert (await stack.ask("DELETE", f"{SYSTEMS}/BladeServer-1")).status == 204
        assert {"BladeServer-1", "SASSled-1"} <= {*await members(stack, f"{SERVICE}/FreePool")}


@in_virtual_time
async def test_members_of_an_import_that_stand_elsewhere_are_listed(
    mockups: dict[str, worlds.World],
) -> None:
    async with a_stack(mockups["public-compose-action"]) as stack:
        assert await members(stack, f"{SYSTEMS}/RackServer-1/Processors") == ["RackServer-1-CPU1"]
    async with a_stack(mockups["public-constrained-composition"]) as stack:
        found = await members(stack, f"{SYSTEMS}/ComposedSystem/Storage")
        assert found == ["Block3NVMe", "Block4NVMe"]


@pytest.mark.parametrize(
    "name",
    ["public-composability", "public-compose-action", "public-constrained-composition"],
)
@in_virtual_time
async def test_what_tells_how_to_compose_in_an_import_is_no_system(
    mockups: dict[str, worlds.World], name: str
) -> None:
    async with a_stack(mockups[name]) as stack:
        (row,) = (await stack.get(SYSTEMS))["@Redfish.CollectionCapabilities"]["Capabilities"]
        uri = row["CapabilitiesObject"]["@odata.id"]
        await stack.get(uri)
        assert uri.rpartition("/")[2] not in await members(stack, SYSTEMS)


@in_virtual_time
async def test_an_imported_composition_stays_deleted_after_a_restart(
    mockups: dict[str, worlds.World],
) -> None:
    async with a_stack(mockups["public-composability"]) as stack:
        assert (await stack.ask("DELETE", f"{SYSTEMS}/ComposedSystem")).status == 204
        durable = stack.durable
    again = worlds.kept_world(StoredState(durable.seq, durable.spaces))
    async with a_stack(again, durable=durable) as stack:
        assert (await stack.ask("GET", f"{SYSTEMS}/ComposedSystem")).status == 404
        assert (await status_of(stack, "DriveBlock10"))["CompositionState"] == "Composed"
