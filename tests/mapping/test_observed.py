"""What was seen, as properties: ports, vPPBs, endpoints, zones, violations; never a guess."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.fabric.model import BindTarget, Observation, PortId, PortState, VppbId
from redfish_fm.fabric.values import Rule, Violation
from redfish_fm.mapping.observed import (
    OK,
    STARTING,
    FabricSight,
    observed_patches,
    unseen_patch,
)
from tests.mapping.builders import MemoryTip, a_tip, zone_body
from tests.mapping.schemas import SchemaPack

POD = "/redfish/v1/Fabrics/pod"
SWITCH = f"{POD}/Switches/pod-sw"
H1, GPU = f"{POD}/Endpoints/h1-1", f"{POD}/Endpoints/gpu1"
UP = PortState(link_up=True, device_present=True, speed_gbps=512.0, width=16)
VPPB = VppbId("pod-sw", "0", 0)
GPU_TARGET = BindTarget("pod-sw", "32")


@pytest.fixture
def tip() -> MemoryTip:
    tip = a_tip()
    tip.post(f"{POD}/Zones", zone_body(H1, GPU))
    return tip


def seen(tip: MemoryTip, **ports: PortState) -> Observation:
    known = [port for _, port in tip.facts.port_uris]
    return Observation(
        "pod",
        0.0,
        0.0,
        {vppb: GPU_TARGET if vppb == VPPB else None for _, vppb in tip.facts.vppb_uris},
        {port: ports.get(f"p{port.port}", UP) for port in known},
    )


def patches(tip: MemoryTip, sight: FabricSight) -> dict[str, dict[str, Any]]:
    return observed_patches(tip.facts, tip.index, sight)


def test_ports_tell_link_speed_and_width(tip: MemoryTip) -> None:
    found = patches(tip, FabricSight("pod", seen(tip)))
    assert found[f"{SWITCH}/Ports/32"] == {
        "Status": {"State": "Enabled", "Health": "OK"},
        "LinkStatus": "LinkUp",
        "CurrentSpeedGbps": 512.0,
        "ActiveWidth": 16,
    }


def test_a_lost_device_is_absent_everywhere_it_shows(tip: MemoryTip) -> None:
    gone = PortState(link_up=False, device_present=False)
    found = patches(tip, FabricSight("pod", seen(tip, p32=gone)))
    assert found[f"{SWITCH}/Ports/32"]["LinkStatus"] == "NoLink"
    for uri in (GPU, "/redfish/v1/Chassis/gpu1/PCIeDevices/gpu1"):
        assert found[uri]["Status"] == {"State": "Absent", "Health": "Critical"}


def test_a_host_that_is_off_is_offline_but_healthy(tip: MemoryTip) -> None:
    down = PortState(link_up=False, device_present=True)
    found = patches(tip, FabricSight("pod", seen(tip, p0=down)))
    assert found[f"{SWITCH}/Ports/0"]["LinkStatus"] == "LinkDown"
    assert found[H1]["Status"] == {"State": "UnavailableOffline", "Health": "OK"}


def test_vppbs_say_what_the_switch_said(tip: MemoryTip) -> None:
    found = patches(tip, FabricSight("pod", seen(tip)))
    assert found[f"{SWITCH}/VCSs/0/VPPBs/0"] == {
        "Status": {"State": "Enabled", "Health": "OK"},
        "BindingStatus": "BoundPhysicalPort",
        "BoundPortId": 32,
        "Links": {"Port": {"@odata.id": f"{SWITCH}/Ports/32"}},
    }
    assert found[f"{SWITCH}/VCSs/0/VPPBs/1"]["BindingStatus"] == "Unbound"
    assert found[SWITCH]["CXL"] == {"NumberOfBoundvPPBs": 1}


def test_a_bound_ld_is_named(tip: MemoryTip) -> None:
    view = seen(tip)
    view = replace(view, bindings={**view.bindings, VPPB: BindTarget("pod-sw", "37", 2)})
    patch = patches(tip, FabricSight("pod", view))[f"{SWITCH}/VCSs/0/VPPBs/0"]
    assert (patch["BindingStatus"], patch["BoundLDId"]) == ("BoundLD", 2)


@pytest.mark.parametrize(
    ("unmet", "opening", "status"),
    [
        (False, False, {"State": "Enabled", "Health": "OK"}),
        (True, True, {"State": "Starting", "Health": "OK"}),
        (True, False, {"State": "Enabled", "Health": "Critical"}),
    ],
)
def test_a_zone_is_only_enabled_and_ok_when_it_is_seen_bound(
    tip: MemoryTip, unmet: bool, opening: bool, status: dict[str, str]
) -> None:
    sight = FabricSight(
        "pod",
        seen(tip),
        unmet=frozenset({VPPB} if unmet else ()),
        opening=frozenset({VPPB} if opening else ()),
    )
    assert patches(tip, sight)[f"{POD}/Zones/1"]["Status"] == status


def test_what_is_foreign_warns(tip: MemoryTip) -> None:
    sight = FabricSight("pod", seen(tip), foreign=((VPPB, GPU_TARGET),))
    found = patches(tip, sight)
    assert found[f"{SWITCH}/VCSs/0/VPPBs/0"]["Status"]["Health"] == "Warning"
    assert found[POD]["Status"]["Health"] == "Warning"


def test_a_violation_is_critical_with_a_condition_that_names_the_host(tip: MemoryTip) -> None:
    unit, zone = "/redfish/v1/Chassis/gpu1/PCIeDevices/gpu1", f"{POD}/Zones/1"
    told = Violation(Rule.HOST_SHARING, unit, zone, None, ("/redfish/v1/Systems/h2",))
    since = {told: "2026-12-01T03:04:05Z"}
    found = patches(tip, FabricSight("pod", seen(tip), violations=(told,), since=since))
    for uri in (unit, zone):
        (condition,) = found[uri]["Status"]["Conditions"]
        assert found[uri]["Status"]["Health"] == "Critical"
        assert "/redfish/v1/Systems/h2" in condition["Message"]
        assert condition["Timestamp"] == since[told]
    assert found[POD]["Status"]["Health"] == "Critical"


def test_an_unreachable_switch_leaves_what_was_last_seen(tip: MemoryTip) -> None:
    view = replace(seen(tip), unreachable=frozenset({"pod-sw"}), bindings={}, ports={})
    found = patches(tip, FabricSight("pod", view))
    assert found[SWITCH]["Status"]["State"] == "UnavailableOffline"
    assert f"{SWITCH}/Ports/32" not in found
    assert found[f"{POD}/Zones/1"]["Status"]["Health"] == "Warning"


def test_without_any_answer_only_the_fabric_says_so(tip: MemoryTip) -> None:
    assert patches(tip, FabricSight("pod", None)) == {
        POD: {"Status": {"State": "UnavailableOffline", "Health": "Critical"}}
    }


def test_equal_sights_give_equal_patches(tip: MemoryTip) -> None:
    sight = FabricSight("pod", seen(tip))
    later = replace(sight, observation=replace(seen(tip), started_s=9.0, barrier_s=9.0))
    assert patches(tip, sight) == patches(tip, later)


def test_ports_that_inventory_does_not_know_are_not_shown(tip: MemoryTip) -> None:
    view = replace(seen(tip), ports={PortId("other", "1"): UP})
    assert not [uri for uri in patches(tip, FabricSight("pod", view)) if "other" in uri]


def test_inventory_with_patches_is_valid_by_the_official_schemas(
    tip: MemoryTip, shared: Path
) -> None:
    schemas = SchemaPack(shared / "data" / "dmtf-2025.4-json-schema-latest.tar.gz")
    unit = "/redfish/v1/Chassis/gpu1/PCIeDevices/gpu1"
    told = Violation(Rule.HOST_SHARING, unit, f"{POD}/Zones/1", None, ("/h2",))
    sight = FabricSight("pod", seen(tip), violations=(told,), since={told: "2026-12-01T03:04:05Z"})
    for uri, patch in patches(tip, sight).items():
        document = dict(tip.document(uri) or {})
        links = {**document.get("Links", {}), **patch.get("Links", {})}
        cxl = {**document.get("CXL", {}), **patch.get("CXL", {})}
        laid = {**document, **patch}
        laid |= {"Links": links} if links else {}
        laid |= {"CXL": cxl} if cxl else {}
        assert schemas.errors(laid) == []


def test_a_zone_nobody_has_looked_at_is_starting_only_where_it_waits_for_hardware(
    tip: MemoryTip,
) -> None:
    tip.post(f"{POD}/Zones", zone_body(H1))
    waiting, idle = sorted(tip.index.zones, key=lambda uri: -len(tip.index.zones[uri].endpoints))
    assert unseen_patch(tip.index, waiting) == {"Status": STARTING}
    assert unseen_patch(tip.index, idle) == {"Status": OK}
    assert unseen_patch(tip.index, GPU) is None
