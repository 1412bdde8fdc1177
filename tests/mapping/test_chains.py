"""Switches below switches as Redfish shows them: ports that link to each other, ways, cables."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.fabric.index import FabricIndex, VcsFact
from redfish_fm.fabric.paths import ways_of
from redfish_fm.mapping.blast_radius import outage_of
from redfish_fm.mapping.inventory import RenderedInventory, render_inventory
from tests.drivers.chains import CHAIN, PEERS, gets_through, inventory, joined_fabrics
from tests.mapping.schemas import SchemaPack
from tests.virtual_time import VirtualClock, in_virtual_time

FABRIC = "/redfish/v1/Fabrics/PCIe"
SWITCHES = f"{FABRIC}/Switches"
HOST1, HOST2 = "/redfish/v1/Systems/host1", "/redfish/v1/Systems/host2"


@pytest.fixture(scope="module")
def schemas(shared: Path) -> SchemaPack:
    return SchemaPack(shared / "data" / "dmtf-2025.4-json-schema-latest.tar.gz")


def rendered(text: str = CHAIN) -> RenderedInventory:
    return render_inventory(inventory(text))


def document(uri: str, text: str = CHAIN) -> Any:
    return rendered(text).documents[uri]


def named(links: list[dict[str, str]]) -> list[str]:
    return [each["@odata.id"] for each in links]


def ways(text: str, host: str) -> dict[str, tuple[int, int, str]]:
    """Return switch -> hops, latency and the switch at which the host comes in."""
    facts = [vcs for vcs in rendered(text).facts.vcss if vcs.host == host]
    return {
        way.switch[1]: (way.hops, way.latency_ns, way.root[1]) for way in ways_of(facts).values()
    }


@pytest.mark.parametrize(
    ("here", "there"),
    [("top/Ports/F1", "leaf1/Ports/F1"), ("leaf1/Ports/F3", "deep/Ports/F1")],
)
def test_both_ends_of_a_link_are_ports_that_name_each_other(here: str, there: str) -> None:
    for one, other in ((here, there), (there, here)):
        port = document(f"{SWITCHES}/{one}")
        assert port["PortType"] == "InterswitchPort"
        assert named(port["Links"]["ConnectedSwitchPorts"]) == [f"{SWITCHES}/{other}"]
        assert named(port["Links"]["ConnectedPorts"]) == [f"{SWITCHES}/{other}"]
        switch = f"{SWITCHES}/{other}".partition("/Ports/")[0]
        assert named(port["Links"]["ConnectedSwitches"]) == [switch]


@pytest.mark.parametrize("text", [CHAIN, PEERS])
def test_what_is_shown_of_a_chain_is_valid(text: str, schemas: SchemaPack) -> None:
    ports = [each for uri, each in rendered(text).documents.items() if "/Ports/" in uri]
    assert [line for port in ports for line in schemas.errors(port)] == []


def test_a_cable_leads_from_the_switch_above_to_the_one_below() -> None:
    cable = document("/redfish/v1/Cables/leaf1-F1")
    assert named(cable["Links"]["UpstreamPorts"]) == [f"{SWITCHES}/top/Ports/F1"]
    assert named(cable["Links"]["DownstreamPorts"]) == [f"{SWITCHES}/leaf1/Ports/F1"]
    assert named(cable["Links"]["UpstreamResources"]) == [f"{SWITCHES}/top"]
    assert named(cable["Links"]["UpstreamChassis"]) == ["/redfish/v1/Chassis/top"]
    for port in ("top/Ports/F1", "leaf1/Ports/F1"):
        found = document(f"{SWITCHES}/{port}")["Links"]["Cables"]
        assert named(found) == ["/redfish/v1/Cables/leaf1-F1"]


def test_every_hop_counts_with_its_latency() -> None:
    assert ways(CHAIN, HOST1) == {
        "top": (1, 110, "top"),
        "leaf1": (2, 230, "top"),
        "leaf2": (2, 230, "top"),
        "deep": (3, 360, "top"),
    }


def test_a_way_says_how_many_switches_are_on_it() -> None:
    hops = {vcs.switch: vcs.hops for vcs in rendered().facts.vcss if vcs.host == HOST2}
    assert hops == {"top": 1, "leaf1": 2, "leaf2": 2, "deep": 3}


def test_a_host_goes_up_as_well_as_down() -> None:
    assert ways(PEERS, HOST1) == {"left": (1, 115, "left"), "right": (2, 235, "left")}
    assert ways(PEERS, HOST2) == {"right": (1, 115, "right"), "left": (2, 235, "right")}


def test_a_link_carries_what_its_own_lanes_do() -> None:
    facts = {(v.switch, v.host): v for v in rendered().facts.vcss}
    assert facts["leaf1", HOST1].bandwidth_mb_s == 8 * 3938
    assert facts["top", HOST1].bandwidth_mb_s == 16 * 3938


def test_hosts_over_links_side_by_side_share_none_but_the_one_after() -> None:
    facts = {(v.switch, v.host): v for v in rendered().facts.vcss}
    assert facts["leaf1", HOST1].link != facts["leaf1", HOST2].link
    assert facts["deep", HOST1].link == facts["deep", HOST2].link is not None
    assert facts["top", HOST1].link is None


def test_a_link_has_one_name_whichever_way_it_is_gone() -> None:
    facts = {(v.switch, v.host): v for v in rendered(PEERS).facts.vcss}
    assert facts["left", HOST2].link == facts["right", HOST1].link is not None


def test_hosts_and_devices_of_a_chain_are_one_zone_of_blocks() -> None:
    zones = "/redfish/v1/CompositionService/ResourceZones"
    found = rendered().documents
    assert f"{zones}/2" not in found
    blocks = {
        uri.rsplit("/", 1)[-1] for uri in named(found[f"{zones}/1"]["Links"]["ResourceBlocks"])
    }
    assert {"host1", "host2", "near1", "far4", "drive2"} <= blocks


# -- what fails with what, against physics ---------------------------------------------------------


def cut_by(outage_at: str, text: str) -> set[tuple[str, str | None]]:
    """Return (switch, host) of the ways that are cut by what fails with a resource."""
    found = rendered(text)
    index = FabricIndex()
    found.facts.fill(index)
    outage = outage_of(outage_at, index, found.facts)
    return {
        (vcs.switch, vcs.host)
        for key, vcs in index.vcss.items()
        if any(
            (each.switch, each.vcs) in outage.vcss or each.switch in outage.switches
            for each in index.vcss_on_way(key)
        )
    }


@settings(max_examples=60)
@given(data=st.data())
@in_virtual_time
async def test_what_fails_with_a_port_is_what_its_link_cuts_in_hardware(
    data: st.DataObject,
) -> None:
    text = data.draw(joined_fabrics())
    hardware = Hardware(inventory(text), VirtualClock())
    switches = hardware.inventory.switches
    ports = [port.id for switch in switches for port in switch.ports if not port.device]
    if not ports:
        return
    failed = data.draw(st.sampled_from(ports))
    hardware.set_port(failed, link_up=False)
    assert cut_by(f"{SWITCHES}/{failed.switch}/Ports/{failed.port}", text) == {
        (vcs.switch, None if vcs.host is None else f"/redfish/v1/Systems/{vcs.host}")
        for switch in switches
        for vcs in switch.virtual_switches
        if not gets_through(hardware, vcs)
    }


def test_a_switch_takes_along_whoever_comes_by_way_of_it_however_far() -> None:
    found = cut_by(f"{SWITCHES}/leaf1", CHAIN)
    assert found == {(name, host) for name in ("leaf1", "deep") for host in (HOST1, HOST2)}


def test_a_cable_between_switches_fails_as_its_ports_do() -> None:
    found = cut_by("/redfish/v1/Cables/leaf1-F1", CHAIN)
    assert found == {("leaf1", HOST1), ("deep", HOST1)}


def test_switches_that_a_driver_calls_chained_and_does_not_cable_are_as_far_as_they_say() -> None:
    # A driver may know of hops and not of the ports: then nothing is said of them.
    vcs = VcsFact("PCIe", "far", "1", HOST1, 4, 2, through="near")
    index = FabricIndex()
    index.put_vcs(vcs)
    assert index.vcss_on_way(("far", "1")) == (vcs,)
    index.put_vcs(replace(vcs, switch="near", hops=1, through=None))
    assert [each.switch for each in index.vcss_on_way(("far", "1"))] == ["far", "near"]
