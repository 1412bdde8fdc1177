"""What clients write to a fabric beyond the cases: groups, pools, vPPBs, the Default zone, strings.

Over HTTP's Request and Response, with hardware behind it: what is answered, shown and bound.
"""

from pathlib import Path
from typing import Any

import pytest

from redfish_fm.drivers.virtual.faults import Refuse
from redfish_fm.fabric.model import Bind, BindTarget, VppbId
from tests.cases.life import (
    CHUNK0,
    CXL_CONNECTIONS,
    CXL_HOST1,
    GPU1,
    HOST1,
    HOST2,
    LD0,
    PCIE_CONNECTIONS,
    PCIE_DEFAULT,
    PCIE_POOLS,
    connection_body,
    group_body,
)
from tests.cases.stack import Stack, a_stack, imported, unpacked
from tests.cases.test_zone import refused
from tests.control.builders import CXL_FABRIC, CXL_ZONES, PCIE_ZONES, cxl, links, zone_body
from tests.redfish.builders import keys, related
from tests.virtual_time import in_virtual_time, run

CXL_GROUPS = f"{CXL_FABRIC}/EndpointGroups"
SWITCH = f"{CXL_FABRIC}/Switches/cxl1"
VPPB = f"{SWITCH}/VCSs/1/VPPBs/2"
MEM2 = cxl("mem2")


async def port_of(stack: Stack, endpoint: str) -> str:
    """Return the switch port that an endpoint names."""
    found: str = (await stack.get(endpoint))["Links"]["ConnectedPorts"][0]["@odata.id"]
    return found


def port(uri: str | None) -> dict[str, Any]:
    return {"Links": {"Port": None if uri is None else {"@odata.id": uri}}}


# -- endpoint groups -------------------------------------------------------------------------


@in_virtual_time
async def test_a_group_binds_and_releases_for_every_connection_that_names_it() -> None:
    async with a_stack() as stack:
        await stack.made(CXL_ZONES, zone_body(CXL_HOST1, LD0))
        group = await stack.made(CXL_GROUPS, group_body("us", CXL_HOST1))
        body = connection_body()
        del body["Links"]["InitiatorEndpoints"]
        body["Links"]["InitiatorEndpointGroups"] = links(group)
        connection = await stack.made(CXL_CONNECTIONS, body)
        assert [each.ld for each in stack.rig.bound("CXL").values()] == [0]
        shown = await stack.get(group)
        assert shown["Links"]["Connections"] == links(connection)
        await refused(stack, 409, "DELETE", group, None, connection)
        assert (await stack.ask("PATCH", group, {"Links": {"Endpoints": []}})).status == 200
        assert stack.rig.bound("CXL") == {}
        assert (await stack.ask("PATCH", group, group_body("us", CXL_HOST1))).status == 200
        assert [each.ld for each in stack.rig.bound("CXL").values()] == [0]
        await refused(stack, 409, "PATCH", group, group_body("us", cxl("host2-2")))
        assert (await stack.ask("DELETE", connection)).status == 204
        assert (await stack.ask("DELETE", group)).status == 204
        stack.rig.assert_isolated()


@in_virtual_time
async def test_a_refused_bind_takes_the_members_out_of_the_group_again() -> None:
    async with a_stack() as stack:
        await stack.made(CXL_ZONES, zone_body(CXL_HOST1, LD0))
        group = await stack.made(CXL_GROUPS, group_body("us", CXL_HOST1))
        await stack.ask("PATCH", group, {"Links": {"Endpoints": []}})
        body = connection_body()
        body["Links"] = {"InitiatorEndpointGroups": links(group), "TargetEndpoints": links(LD0)}
        connection = await stack.made(CXL_CONNECTIONS, body)
        stack.rig.faults("CXL").next_apply(None, Refuse("bay is locked"))
        response = await stack.ask("PATCH", group, group_body("us", CXL_HOST1))
        assert response.status == 409, response.body
        assert (await stack.get(group))["Links"]["Endpoints"] == []
        await stack.rig.converged("CXL")
        assert stack.rig.bound("CXL") == {}
        assert (await stack.get(connection))["MemoryChunkInfo"][0]["MemoryChunk"] == links(CHUNK0)[
            0
        ]


# -- vPPBs -----------------------------------------------------------------------------------


@in_virtual_time
async def test_a_port_patched_into_a_vppb_is_bound_there_and_null_unbinds_it() -> None:
    async with a_stack() as stack:
        sld = await port_of(stack, MEM2)
        before = await stack.get(VPPB)
        response = await stack.ask("PATCH", VPPB, port(sld))
        assert response.status == 200, response.body
        bound = stack.rig.bound("CXL")
        assert bound == {VppbId("cxl1", "1", 2): BindTarget("cxl1", sld.rsplit("/", 1)[-1])}
        shown = await stack.get(VPPB)
        assert shown["BindingStatus"] == "BoundPhysicalPort"
        assert shown["Links"]["Port"] == {"@odata.id": sld}
        assert "PATCH" in (await stack.ask("GET", VPPB)).headers["Allow"]
        await refused(stack, 409, "POST", CXL_ZONES, zone_body(cxl("host2-2"), MEM2), MEM2, VPPB)
        assert (await stack.ask("PATCH", VPPB, port(None))).status == 200
        await stack.rig.converged("CXL")
        assert stack.rig.bound("CXL") == {}
        after = await stack.get(VPPB)
        assert {**after, "@odata.etag": 0} == {**before, "@odata.etag": 0}


@in_virtual_time
async def test_a_vppb_shows_what_is_wanted_until_the_switch_refuses_it() -> None:
    async with a_stack() as stack:
        sld = await port_of(stack, MEM2)
        stack.rig.faults("CXL").next_apply(None, Refuse("bay is locked"))
        response = await stack.ask("PATCH", VPPB, port(sld))
        assert response.status == 409, response.body
        await stack.rig.converged("CXL")
        assert "Port" not in (await stack.get(VPPB)).get("Links", {})
        assert stack.rig.bound("CXL") == {}
        assert (await stack.ask("PATCH", VPPB, port(sld))).status == 200


@in_virtual_time
async def test_vppbs_obey_the_rules_of_zones_and_connections() -> None:
    async with a_stack() as stack:
        mld, sld = await port_of(stack, LD0), await port_of(stack, MEM2)
        await refused(stack, 400, "PATCH", VPPB, port(mld), "Connection", "#/Links/Port")
        zone = await stack.made(CXL_ZONES, zone_body(CXL_HOST1, MEM2))
        await refused(stack, 409, "PATCH", VPPB, port(sld), zone)
        (held,) = stack.rig.bound("CXL")
        taken = f"{SWITCH}/VCSs/{held.vcs}/VPPBs/{held.vppb}"
        await refused(stack, 409, "PATCH", taken, port(None), zone)


@pytest.mark.expects_errors
@in_virtual_time
async def test_what_a_technician_bound_to_a_vppb_is_not_undone_by_a_client() -> None:
    async with a_stack() as stack:
        sld = await port_of(stack, MEM2)
        target = BindTarget("cxl1", sld.rsplit("/", 1)[-1])
        stack.rig.hardware["CXL"].execute(Bind(VppbId("cxl1", "1", 2), target), "outside")
        await stack.rig.until(lambda: bool(stack.kernel.loops["CXL"].foreign), within_s=60.0)
        for asked in (sld, None):
            await refused(stack, 409, "PATCH", VPPB, port(asked), VPPB)


# -- the Default zone ------------------------------------------------------------------------


@in_virtual_time
async def test_the_default_zone_stays_and_says_so() -> None:
    async with a_stack() as stack:
        response = await stack.ask("GET", PCIE_DEFAULT)
        assert "DELETE" not in response.headers["Allow"]
        assert "PATCH" in response.headers["Allow"]
        shown = await stack.get(PCIE_DEFAULT)
        assert (shown["ZoneType"], shown["DefaultRoutingEnabled"]) == ("Default", False)
        assert "#Zone.AddEndpoint" in shown["Actions"]
        deleted = await stack.ask("DELETE", PCIE_DEFAULT)
        assert deleted.status == 405
        assert "DELETE" not in deleted.headers["Allow"]
        body = {"Links": {"Endpoints": links(HOST1, GPU1)}}
        assert (await stack.ask("PATCH", PCIE_DEFAULT, body)).status == 200
        assert stack.rig.bound() == {}
        await refused(stack, 409, "PATCH", PCIE_DEFAULT, {"DefaultRoutingEnabled": True}, GPU1)
        await refused(stack, 400, "PATCH", PCIE_DEFAULT, {"ZoneType": "ZoneOfEndpoints"})


# -- connections -----------------------------------------------------------------------------


@in_virtual_time
async def test_a_connection_says_everything_that_it_lacks() -> None:
    async with a_stack() as stack:
        response = await stack.ask("POST", CXL_CONNECTIONS, {"Name": "empty"})
        assert response.status == 400
        sides = ["#/Links/InitiatorEndpoints", "#/Links/TargetEndpoints"]
        assert sorted(related(response)) == sides
        await stack.made(CXL_ZONES, zone_body(CXL_HOST1, LD0))
        body = connection_body()
        body["MemoryChunkInfo"][0]["AccessCapabilities"] = []
        pointer = "#/MemoryChunkInfo/0/AccessCapabilities"
        await refused(stack, 400, "POST", CXL_CONNECTIONS, body, pointer)
        keyed = {**connection_body(), "ConnectionKeys": {}}
        assert keys(await stack.ask("POST", CXL_CONNECTIONS, keyed)) == ["PropertyNotWritable"]
        bare = connection_body()
        del bare["MemoryChunkInfo"]
        await refused(stack, 400, "POST", CXL_CONNECTIONS, bare)


@in_virtual_time
async def test_a_connection_without_rows_goes_with_the_zone_that_binds() -> None:
    async with a_stack() as stack:
        ends = {"InitiatorEndpoints": links(HOST1), "TargetEndpoints": links(GPU1)}
        await refused(stack, 409, "POST", PCIE_CONNECTIONS, {"Links": ends}, GPU1)
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1, GPU1))
        connection = await stack.made(PCIE_CONNECTIONS, {"Links": ends})
        await refused(stack, 409, "DELETE", zone, None, connection)
        action = f"{connection}/Actions/Connection.AddVolumeInfo"
        await refused(stack, 400, "POST", action, {"Volume": {"@odata.id": "/redfish/v1/x"}})
        assert (await stack.ask("DELETE", connection)).status == 204


# -- pools and strings -----------------------------------------------------------------------


@in_virtual_time
async def test_a_pool_is_shown_by_what_it_serves_and_everything_wrong_is_told() -> None:
    async with a_stack() as stack:
        zone = await stack.made(PCIE_ZONES, zone_body(HOST1))
        body: dict[str, Any] = {"Links": {"Zones": links(zone), "Endpoints": links(HOST2)}}
        pool = await stack.made(PCIE_POOLS, body)
        for uri in (zone, HOST2):
            assert (await stack.get(uri))["Links"]["AddressPools"] == links(pool)
        ranges = {"NativeVLAN": 4095, "HostAddressRange": {"Lower": "10.0.0.9"}}
        bad = {"Ethernet": {"IPv4": ranges}}
        response = await stack.ask("PATCH", pool, bad)
        assert related(response) == ["#/Ethernet/IPv4/NativeVLAN"]
        del ranges["NativeVLAN"]
        await refused(stack, 400, "PATCH", pool, bad, "HostAddressRange/Upper")
        assert (await stack.ask("DELETE", zone)).status == 204
        assert (await stack.get(pool))["Links"]["Zones"] == []


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"Name": ""}, "#/Name"),
        ({"Name": "a\0b"}, "#/Name"),
        ({"Name": "x" * 300}, "#/Name"),
        ({"Description": "x" * 5000}, "#/Description"),
        ({"ZoneType": None}, "#/ZoneType"),
    ],
)
@in_virtual_time
async def test_what_no_name_or_kind_can_be_is_refused_by_its_property(
    body: dict[str, Any], place: str
) -> None:
    async with a_stack() as stack:
        await refused(stack, 400, "POST", PCIE_ZONES, body, place)
        zone = await stack.made(PCIE_ZONES, {"Name": "fine"})
        await refused(stack, 400, "PATCH", zone, body, place)


def test_imported_groups_and_pools_live(shared: Path, tmp_path: Path) -> None:
    async def play() -> None:
        async with a_stack(imported(unpacked(shared, tmp_path, "public-nvmeof-jbof"))) as stack:
            group = "/redfish/v1/Fabrics/NVMeoF/EndpointGroups/1"
            shown = await stack.get(group)
            assert shown["Links"]["Connections"]
            assert (await stack.ask("PATCH", group, {"Name": "ours"})).status == 200
            holder = shown["Links"]["Connections"][0]["@odata.id"]
            await refused(stack, 409, "DELETE", group, None, holder)

    run(play())
