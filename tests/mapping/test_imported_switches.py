"""Virtual switches of a mockup's hosts: where cables lead, and as many bridges as are needed."""

from typing import Any

import pytest

from redfish_fm.fabric.model import Inventory
from redfish_fm.mapping.imported import Imported, analyse
from redfish_fm.mapping.imported_vcss import VPPBS_ASSUMED_MAX
from tests.mapping.builders import links

FABRIC = "/redfish/v1/Fabrics/F"
SYSTEM, DEVICE = "/redfish/v1/Systems/{}", "/redfish/v1/Chassis/Box/PCIeDevices/{}"
Documents = dict[str, dict[str, Any]]


def a_rack(kind: str = "PCIe", devices: int = 1) -> Documents:
    """Return two switches without a cable between them, each with a host and devices.

    Host "a" and devices "a1" … are on switch "a", likewise for "b".
    """
    found: Documents = {
        FABRIC: {"@odata.type": "#Fabric.v1_3_2.Fabric", "FabricType": kind},
        f"{FABRIC}/Zones": {"@odata.type": "#ZoneCollection.ZoneCollection"},
    }
    for name in ("a", "b"):
        switch = f"{FABRIC}/Switches/{name}"
        found[switch] = {"@odata.type": "#Switch.v1_10_0.Switch", "SwitchType": kind}
        found[SYSTEM.format(name)] = {"@odata.type": "#ComputerSystem.v1_27_0.ComputerSystem"}
        _endpoint(found, name, "Initiator", SYSTEM.format(name), f"{switch}/Ports/up")
        for number in range(1, devices + 1):
            device = DEVICE.format(f"{name}{number}")
            found[device] = {"@odata.type": "#PCIeDevice.v1_19_0.PCIeDevice"}
            port = f"{switch}/Ports/{number}"
            _endpoint(found, f"{name}{number}", "Target", device, port)
    return found


def _endpoint(found: Documents, name: str, role: str, entity: str, port: str) -> None:
    found[f"{FABRIC}/Endpoints/{name}"] = {
        "@odata.type": "#Endpoint.v1_8_2.Endpoint",
        "ConnectedEntities": [{"EntityRole": role, "EntityLink": links(entity)[0]}],
        "Links": {"ConnectedPorts": links(port)},
    }
    up = role == "Initiator"
    found[port] = {
        "@odata.type": "#Port.v1_17_0.Port",
        "PortType": "UpstreamPort" if up else "DownstreamPort",
        "Links": {"ConnectedPorts": links(f"{entity}/Ports/1")} if up else {},
    }


def bridges(found: Imported) -> dict[tuple[str, str], int]:
    """Return (switch, host) -> how many vPPBs it has there, hosts by the end of their URI."""
    (inventory,) = found.fabrics
    return _bridges(inventory)


def _bridges(inventory: Inventory) -> dict[tuple[str, str], int]:
    return {
        (switch.id, str(each.host).rpartition("/")[2]): each.vppb_count
        for switch in inventory.switches
        for each in switch.virtual_switches
    }


def told(found: Imported) -> list[str]:
    return [str(each) for each in found.findings if "vPPBs added" in each.text]


def test_a_host_gets_a_virtual_switch_where_it_is_cabled_and_nowhere_else() -> None:
    assert bridges(analyse(a_rack(devices=3))) == {("a", "a"): 3, ("b", "b"): 3}


@pytest.mark.parametrize("link", ["ConnectedSwitchPorts", "ConnectedPorts"])
def test_a_cable_between_switches_leads_hosts_to_both(link: str) -> None:
    rack = a_rack()
    rack[f"{FABRIC}/Switches/a/Ports/isl"] = {
        "@odata.type": "#Port.v1_17_0.Port",
        "PortType": "InterswitchPort",
        "Links": {link: links(f"{FABRIC}/Switches/b/Ports/isl")},
    }
    rack[f"{FABRIC}/Switches/b/Ports/isl"] = {
        "@odata.type": "#Port.v1_17_0.Port",
        "PortType": "InterswitchPort",
    }
    assert {*bridges(analyse(rack))} == {("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")}


def test_a_host_whose_cable_is_not_known_gets_to_all_switches() -> None:
    rack = a_rack()
    rack[f"{FABRIC}/Switches/a/Ports/up"]["Links"] = {}
    del rack[f"{FABRIC}/Endpoints/a"]["Links"]
    assert {*bridges(analyse(rack))} == {("a", "a"), ("b", "a"), ("b", "b")}


def test_a_host_gets_to_what_its_zones_name() -> None:
    rack = a_rack()
    ends = [f"{FABRIC}/Endpoints/{name}" for name in ("a", "b1")]
    rack[f"{FABRIC}/Zones/1"] = {
        "@odata.type": "#Zone.v1_6_3.Zone",
        "Links": {"Endpoints": links(*ends)},
    }
    found = analyse(rack)
    assert {*bridges(found)} == {("a", "a"), ("b", "a"), ("b", "b")}
    assert [binding.target.switch for binding in found.bindings] == ["b"]


def test_partitions_of_a_pcie_switch_are_no_assumption_as_no_resource_shows_them() -> None:
    assert told(analyse(a_rack("PCIe"))) == []


def test_what_is_assumed_of_a_cxl_switch_and_of_a_host_without_cable_is_told() -> None:
    assert len(told(analyse(a_rack("CXL")))) == 2
    rack = a_rack("PCIe")
    rack[f"{FABRIC}/Switches/a/Ports/up"]["Links"] = {}
    del rack[f"{FABRIC}/Endpoints/a"]["Links"]
    lines = told(analyse(rack))
    assert len(lines) == 2
    assert all(f"for {SYSTEM.format('a')}," in line for line in lines)


def test_no_more_bridges_are_assumed_than_a_virtual_switch_can_count() -> None:
    found = analyse(a_rack(devices=VPPBS_ASSUMED_MAX + 1))
    assert {*bridges(found).values()} == {VPPBS_ASSUMED_MAX}
