"""Cases ZONE that the kernel can keep, and DR-03, DR-08 of DRIVER; the rest is in tests/OWED.md."""

import json
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.drivers.virtual.faults import Pretend, Refuse
from redfish_fm.fabric.model import Unbind
from redfish_fm.worlds import World
from tests.cases.life import (
    CXL_HOST1,
    GPU1,
    GPU2,
    HOST1,
    HOST2,
    LD0,
    NVME1,
    PCIE_ENDPOINTS,
    PCIE_PORTS,
)
from tests.cases.stack import ROOT, Stack, a_stack, imported, links_in, two_hosts, unpacked
from tests.control.builders import CXL_FABRIC, CXL_ZONES, PCIE_ZONES, links, zone_body
from tests.redfish.builders import keys, related
from tests.virtual_time import in_virtual_time, run

PUBLIC = f"{ROOT}/Fabrics/CXL"
ADD, REMOVE = "Zone.AddEndpoint", "Zone.RemoveEndpoint"


async def zones_of(stack: Stack, endpoint: str) -> list[str]:
    shown = (await stack.get(endpoint)).get("Links", {}).get("Zones", [])
    return [each["@odata.id"] for each in shown]


async def members_of(stack: Stack, zone: str) -> list[str]:
    return [each["@odata.id"] for each in (await stack.get(zone))["Links"]["Endpoints"]]


def named(response: Any) -> str:
    """Return everything that a refusal names: arguments and pointers."""
    entries = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
    return json.dumps([(each["MessageArgs"], each.get("RelatedProperties")) for each in entries])


async def refused(stack: Stack, status: int, method: str, uri: str, body: Any, *names: str) -> None:
    """Send a write that must be refused, name these things, and leave no trace."""
    before, commands = stack.tags(), stack.commands()
    response = await stack.ask(method, uri, body)
    assert response.status == status, response.body
    assert [each for each in names if each not in named(response)] == []
    assert (stack.tags(), stack.commands()) == (before, commands)
    stack.rig.assert_isolated()


@in_virtual_time
async def test_zn_01_a_taken_device_is_not_zoned_again() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        body = zone_body(HOST2, GPU1, Name="z2", ZoneType="ZoneOfEndpoints")
        await refused(stack, 409, "POST", PCIE_ZONES, body, GPU1, zone)
        response = await stack.ask("POST", PCIE_ZONES, body)
        assert "ResourceInUse" in keys(response)
        assert "#/Links/Endpoints/1" in related(response)
        # The Default zone is there from the start.
        assert (await stack.get(PCIE_ZONES))["Members@odata.count"] == 2
        assert await zones_of(stack, GPU1) == [zone]


@pytest.mark.parametrize("other", [HOST2, HOST1, None])
@in_virtual_time
async def test_zn_01_whoever_asks_the_second_time(other: str | None) -> None:
    """Another host, the same host in another zone, and a zone without any host yet."""
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        ends = (GPU1,) if other is None else (other, GPU1)
        await refused(stack, 409, "POST", PCIE_ZONES, zone_body(*ends), GPU1, zone)


@in_virtual_time
async def test_zn_03_a_second_host_never_joins_a_zone_with_devices() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1))
        await refused(stack, 409, "PATCH", zone, zone_body(HOST1, HOST2, GPU1), HOST2)
        assert await members_of(stack, zone) == [HOST1]
        assert (await stack.ask("PATCH", zone, zone_body(HOST1, GPU1))).status == 200
        await refused(stack, 409, "PATCH", zone, zone_body(HOST1, GPU1, HOST2), HOST2)
        target, body = f"{zone}/Actions/{ADD}", {"Endpoint": {"@odata.id": HOST2}}
        await refused(stack, 409, "POST", target, body, HOST2)


@in_virtual_time
async def test_zn_05_deleting_a_zone_unbinds_and_frees_at_once() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1, NVME1))
        await stack.rig.converged()
        assert len(stack.rig.bound()) == 2
        assert (await stack.ask("DELETE", zone)).status == 204
        assert stack.rig.bound() == {}
        assert (await stack.ask("GET", zone)).status == 404
        for endpoint in (GPU1, NVME1, HOST1):
            assert await zones_of(stack, endpoint) == []
        again = await stack.made(PCIE_ZONES, zone_body(HOST2, GPU1, Name="again"))
        await stack.rig.converged()
        assert [each.vcs for each in stack.rig.bound()] == ["2"]
        assert await zones_of(stack, GPU1) == [again]
        stack.rig.assert_isolated()


@in_virtual_time
async def test_zn_06_a_patch_swaps_a_device_for_another() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        response = await stack.ask("PATCH", zone, zone_body(HOST1, GPU2))
        assert response.status == 200
        assert await members_of(stack, zone) == [HOST1, GPU2]
        assert await zones_of(stack, GPU1) == []
        assert await zones_of(stack, GPU2) == [zone]
        await stack.rig.converged()
        assert [each.port for each in stack.rig.bound().values()] == ["D2"]


@in_virtual_time
async def test_zn_08_a_zone_with_a_member_that_is_not_there_is_not_made() -> None:
    async with a_stack() as stack:
        missing = f"{PCIE_ENDPOINTS}/no-such-endpoint"
        for ends in ((HOST1, missing), (HOST1, GPU1, missing), (HOST1, f"{ROOT}/Systems/host1")):
            await refused(stack, 400, "POST", PCIE_ZONES, zone_body(*ends), ends[-1])
        response = await stack.ask("POST", PCIE_ZONES, zone_body(HOST1, missing))
        assert keys(response) == ["ResourceMissingAtURI"]
        await refused(stack, 400, "POST", PCIE_ZONES, zone_body(HOST1, CXL_HOST1), CXL_HOST1)
        await refused(stack, 400, "POST", CXL_ZONES, zone_body(LD0, GPU1), GPU1)
        assert await zones_of(stack, HOST1) == []


@in_virtual_time
async def test_zn_10_a_device_is_never_in_two_zones_however_it_is_moved() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        other = await stack.made(PCIE_ZONES, zone_body(HOST2))
        await refused(stack, 409, "PATCH", other, zone_body(HOST2, GPU1), GPU1, zone)
        target, body = f"{other}/Actions/{ADD}", {"Endpoint": {"@odata.id": GPU1}}
        await refused(stack, 409, "POST", target, body, GPU1, zone)
        assert await members_of(stack, zone) == [HOST1, GPU1]
        assert await members_of(stack, other) == [HOST2]
        assert (await stack.ask("POST", f"{zone}/Actions/{REMOVE}", body)).status == 204
        assert (await stack.ask("POST", target, body)).status == 204
        assert await zones_of(stack, GPU1) == [other]
        await stack.rig.converged()
        stack.rig.assert_isolated()


def initiator(port: str = "U1", **entity: Any) -> dict[str, Any]:
    ports = links(f"{PCIE_PORTS}/{port}")
    return {
        "Name": "i2",
        "ConnectedEntities": [{"EntityRole": "Initiator", **entity}],
        "Links": {"ConnectedPorts": ports},
    }


@in_virtual_time
async def test_zn_13_a_bad_endpoint_is_not_made() -> None:
    async with a_stack() as stack:
        device = f"{ROOT}/Chassis/gpu1/PCIeDevices/none"
        link = {"EntityRole": "Target", "EntityLink": {"@odata.id": device}}
        bad = (
            (409, initiator(), "PropertyValueResourceConflict"),
            (400, {"Name": "t1", "ConnectedEntities": []}, "PropertyMissing"),
            (400, {"Name": "t1"}, "PropertyMissing"),
            (400, {"Name": "t2", "ConnectedEntities": [link]}, "ResourceMissingAtURI"),
            (
                400,
                {"Name": "t3", "ConnectedEntities": [{"EntityRole": "Banana"}]},
                "PropertyValueNotInList",
            ),
            (400, {"Name": "t4", "ConnectedEntities": [{}]}, "PropertyMissing"),
            (400, initiator("none"), "ResourceMissingAtURI"),
        )
        for status, body, key in bad:
            await refused(stack, status, "POST", PCIE_ENDPOINTS, body)
            assert key in keys(await stack.ask("POST", PCIE_ENDPOINTS, body)), body
        assert (await stack.get(PCIE_ENDPOINTS))["Members@odata.count"] == 6


@in_virtual_time
async def test_zn_15_a_lost_binding_is_restored() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        ((vppb, target),) = stack.rig.bound().items()
        stack.rig.hardware["PCIe"].execute(Unbind(vppb, target), "outside")
        assert stack.rig.bound() == {}
        await stack.rig.converged()
        assert stack.rig.bound() == {vppb: target}
        shown = (await stack.get(zone))["Status"]
        assert shown == {"State": "Enabled", "Health": "OK", "HealthRollup": "OK"}


@pytest.mark.parametrize("fault", [Refuse("bay is locked"), Pretend(claim=False)])
@in_virtual_time
async def test_zn_15_a_lost_binding_that_does_not_come_back_is_not_called_ok(fault: Any) -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        ((vppb, target),) = stack.rig.bound().items()
        stack.rig.faults().next_apply(None, fault, times=None)
        stack.rig.hardware["PCIe"].execute(Unbind(vppb, target), "outside")
        await stack.rig.until(lambda: stack.rig.status(zone)[1] != "OK", within_s=30.0)
        stack.rig.faults().clear()
        await stack.rig.until(lambda: stack.rig.status(zone) == ("Enabled", "OK"), within_s=600.0)


def test_zn_16_every_port_is_listed_read_and_linked_rightly(
    own_tree: dict[str, Any], imported_trees: dict[str, dict[str, Any]]
) -> None:
    inventories = {each.fabric: each for each in two_hosts().inventories}
    for fabric, inventory in inventories.items():
        for switch in inventory.switches:
            uri = f"{ROOT}/Fabrics/{fabric}/Switches/{switch.id}/Ports"
            assert own_tree[uri]["Members@odata.count"] == len(switch.ports)
    for tree in (own_tree, *imported_trees.values()):
        ports = [each for each in tree.values() if each["@odata.type"].endswith(".Port")]
        for port in ports:
            assert [link for link in links_in(port.get("Links", {})) if link not in tree] == []


def test_zn_17_shared_endpoints_of_an_import_stay_and_taken_ones_are_kept(
    public_cxl: World,
) -> None:
    async def play() -> None:
        async with a_stack(public_cxl) as stack:
            expanded = json.loads((await stack.ask("GET", f"{PUBLIC}/Zones?$expand=.")).body)
            assert all("Links" in member for member in expanded["Members"])
            zones = [f"{PUBLIC}/Zones/{number}" for number in (1, 2, 3)]
            assert await zones_of(stack, f"{PUBLIC}/Endpoints/1") == zones
            ends = [f"{PUBLIC}/Endpoints/{name}" for name in ("I4", "T2")]
            body = zone_body(*ends, Name="steal")
            await refused(stack, 409, "POST", f"{PUBLIC}/Zones", body, ends[1], zones[1])
            assert await zones_of(stack, ends[1]) == [zones[1]]

    run(play())


def test_zn_18_a_connection_needs_a_common_zone_also_in_an_import(public_cxl: World) -> None:
    async def play() -> None:
        async with a_stack(public_cxl) as stack:
            one, two = (f"{PUBLIC}/Endpoints/{name}" for name in ("I1", "T2"))
            connections, zone = f"{PUBLIC}/Connections", f"{PUBLIC}/Zones/2"
            ends = {"InitiatorEndpoints": links(one), "TargetEndpoints": links(two)}
            body = {"Name": "x", "ConnectionType": "Memory", "Links": ends}
            await refused(stack, 409, "POST", connections, body, two)
            assert (await stack.ask("GET", f"{connections}/14")).status == 200
            assert (await stack.ask("DELETE", f"{connections}/12")).status in (202, 204)
            kept = [each for each in await members_of(stack, zone) if each != two]
            assert (await stack.ask("PATCH", zone, zone_body(*kept))).status in (200, 202)
            await stack.made(f"{PUBLIC}/Zones", zone_body(one, two))
            await stack.made(connections, body)

    run(play())


def test_zn_18_what_an_import_breaks_is_in_the_load_report(
    shared: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    imported(unpacked(shared, tmp_path, "public-cxl"))
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert any("share no zone" in line and "I4" in line and "T4" in line for line in said)


@in_virtual_time
async def test_dr_03_a_fresh_switch_shows_its_unbound_vppbs() -> None:
    async with a_stack() as stack:
        switch = f"{CXL_FABRIC}/Switches/cxl1"
        for uri in (switch, f"{switch}/Ports?$expand=.", f"{switch}/VCSs/1/VPPBs?$expand=."):
            response = await stack.ask("GET", uri)
            assert response.status == 200, uri
        vppbs = json.loads(response.body)["Members"]
        assert len(vppbs) == 5
        for vppb in vppbs:
            assert vppb["BindingStatus"] == "Unbound"
            assert vppb["Status"]["State"] == "Enabled"
            assert not {"BoundLDId", "BoundPortId"} & {
                name for name, value in vppb.items() if value is not None
            }
            assert "Port" not in vppb.get("Links", {})


@in_virtual_time
async def test_dr_08_a_device_attached_and_detached_ten_times_leaves_no_trace() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1))
        port = f"{PCIE_PORTS}/D1"
        rounds = []
        for _ in range(10):
            seen: list[Any] = []
            for body in (zone_body(HOST1, GPU1), zone_body(HOST1)):
                response = await stack.ask("PATCH", zone, body)
                await stack.rig.converged()
                shown = [await stack.get(uri) for uri in (GPU1, port, zone)]
                seen += [response.status, *shown, len(stack.tags()), len(stack.rig.bound())]
            rounds.append(seen)
        assert all(each == rounds[0] for each in rounds[1:])
        assert rounds[0][0] == 200
        assert [rounds[0][5], rounds[0][11]] == [1, 0]
