"""Cases DRIVER that need no wire: binding again, a fabric that never answers.

DR-03 and DR-08 stand in test_zone.
"""

from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.fabric.model import BindTarget
from tests.cases.stack import a_stack, two_hosts
from tests.control.builders import (
    CXL_FABRIC,
    CXL_ZONES,
    PCIE_FABRIC,
    cxl,
    zone_body,
)
from tests.virtual_time import VirtualClock, in_virtual_time

HOST, SLD = cxl("host1-2"), cxl("mem2")


@in_virtual_time
async def test_dr_01_an_sld_is_bound_again_and_again_without_an_ld_id() -> None:
    async with a_stack() as stack:
        body = zone_body(HOST, SLD, Name="re")
        zone = await stack.made(CXL_ZONES, body)
        bound = stack.rig.bound("CXL")
        assert list(bound.values()) == [BindTarget("cxl1", "D2")]
        for _ in range(20):
            assert (await stack.ask("DELETE", zone)).status in (200, 204)
            assert stack.rig.bound("CXL") == {}
            zone = await stack.made(CXL_ZONES, body)
            assert stack.rig.bound("CXL") == bound
            assert stack.rig.status(zone) == ("Enabled", "OK")
        assert stack.rig.rejected("CXL") == 0


@in_virtual_time
async def test_dr_10_a_fabric_that_never_answers_is_offline_and_nothing_stands_in_for_it() -> None:
    inventories = {each.fabric: each for each in two_hosts().inventories}
    hardware = {name: Hardware(each, VirtualClock()) for name, each in inventories.items()}
    hardware["CXL"].cut("cxl1")
    async with a_stack(hardware=hardware) as stack:
        offline = {"State": "UnavailableOffline", "Health": "Critical"}
        fabric = (await stack.get(CXL_FABRIC))["Status"]
        assert {name: fabric[name] for name in offline} == offline
        assert fabric["HealthRollup"] == "Critical"
        assert (await stack.get(PCIE_FABRIC))["Status"]["Health"] == "OK"
        for uri in (SLD, HOST):
            # Nobody has seen it, so nobody says that it is there.
            assert "State" not in (await stack.get(uri)).get("Status", {})
        answer = await stack.ask("POST", CXL_ZONES, zone_body(HOST, SLD))
        assert answer.status == 202
        assert stack.rig.bound("CXL") == {}
        await stack.rig.drivers["CXL"].close()
