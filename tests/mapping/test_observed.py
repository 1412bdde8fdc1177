"""What was seen, as properties: ports, vPPBs, endpoints, zones, violations; never a guess."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.fabric.index import FabricFacts, FabricIndex
from redfish_fm.fabric.model import (
    BindTarget,
    FabricKind,
    Media,
    Observation,
    PartState,
    PortId,
    PortState,
    VppbId,
)
from redfish_fm.fabric.values import (
    Allocation,
    Binder,
    Connection,
    Endpoint,
    EndpointGroup,
    Role,
    Rule,
    Unit,
    Violation,
    Zone,
    ZoneType,
)
from redfish_fm.mapping.bindings import binding_edit
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.observed import ObservedFabric
from redfish_fm.mapping.sights import FabricSight
from redfish_fm.mapping.statuses import CONDITIONS_MAX, Statuses
from redfish_fm.mapping.unseen import OK, STARTING, unseen_patch
from redfish_fm.redfish.changes import Edit, Space
from tests.mapping.builders import MemoryTip, a_tip, zone_body
from tests.mapping.schemas import SchemaPack

POD = "/redfish/v1/Fabrics/pod"
SWITCH = f"{POD}/Switches/pod-sw"
H1, GPU = f"{POD}/Endpoints/h1-1", f"{POD}/Endpoints/gpu1"
ZONE = f"{POD}/Zones/1"
UNIT, CHASSIS = "/redfish/v1/Chassis/gpu1/PCIeDevices/gpu1", "/redfish/v1/Chassis/gpu1"
SYSTEM1, SYSTEM2 = "/redfish/v1/Systems/h1", "/redfish/v1/Systems/h2"
UP = PortState(link_up=True, device_present=True, speed_gbps=512.0, width=16)
ILL = replace(UP, health="Critical")
TRAINING = PortState(link_up=False, device_present=True, training=True)
GONE = PortState(link_up=False, device_present=False)
VPPB = VppbId("pod-sw", "0", 0)
GPU_TARGET = BindTarget("pod-sw", "32")
NOW = "2026-12-01T03:04:05Z"


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


class Watcher:
    """Looks at the pod of a tip again and again and keeps what is shown."""

    def __init__(self, tip: MemoryTip) -> None:
        self.tip = tip
        self.statuses = Statuses()
        self.fabric = ObservedFabric("pod", self.statuses)
        self.shown: dict[str, dict[str, Any]] = {}
        self.changed: set[str] = set()

    def look(self, sight: FabricSight) -> dict[str, dict[str, Any]]:
        patches = self.fabric.look(self.tip.facts, self.tip.index, sight)
        self.changed = {uri for uri, patch in patches.items() if self.shown.get(uri) != patch}
        for uri, patch in patches.items():
            if patch is None:
                self.shown.pop(uri, None)
            else:
                self.shown[uri] = patch
        return dict(self.shown)

    def status(self, uri: str) -> dict[str, Any]:
        """Return the Status without conditions."""
        status = self.shown[uri]["Status"]
        return {name: value for name, value in status.items() if name != "Conditions"}

    def told(self, uri: str) -> list[tuple[str, str]]:
        found = self.shown[uri]["Status"].get("Conditions", [])
        return [(each["Severity"], each["OriginOfCondition"]["@odata.id"]) for each in found]


def patches(tip: MemoryTip, sight: FabricSight) -> dict[str, dict[str, Any]]:
    return Watcher(tip).look(sight)


def test_ports_tell_link_speed_and_width(tip: MemoryTip) -> None:
    found = patches(tip, FabricSight("pod", seen(tip)))
    assert found[f"{SWITCH}/Ports/32"] == {
        "Status": {"State": "Enabled", "Health": "OK"},
        "LinkStatus": "LinkUp",
        "CurrentSpeedGbps": 512.0,
        "ActiveWidth": 16,
    }


def test_a_lost_device_is_absent_everywhere_it_shows(tip: MemoryTip) -> None:
    watcher = Watcher(tip)
    found = watcher.look(FabricSight("pod", seen(tip, p32=GONE)))
    assert found[f"{SWITCH}/Ports/32"]["LinkStatus"] == "NoLink"
    for uri in (GPU, UNIT, CHASSIS, f"{CHASSIS}/Processors/gpu1", f"{UNIT}/PCIeFunctions/0"):
        # None takes away what inventory says: who is absent has no health.
        assert watcher.status(uri) == {"State": "Absent", "Health": None, "HealthRollup": None}
        assert watcher.told(uri) == [("Critical", UNIT)]


def test_a_host_that_is_off_is_offline_but_healthy(tip: MemoryTip) -> None:
    down = PortState(link_up=False, device_present=True)
    found = patches(tip, FabricSight("pod", seen(tip, p0=down)))
    assert found[f"{SWITCH}/Ports/0"]["LinkStatus"] == "LinkDown"
    offline = {"State": "UnavailableOffline", "Health": "OK", "HealthRollup": "OK"}
    assert found[H1]["Status"] == offline


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
    watcher = Watcher(tip)
    watcher.look(sight)
    assert watcher.status(ZONE) == {**status, "HealthRollup": status["Health"]}


def test_what_is_foreign_warns(tip: MemoryTip) -> None:
    sight = FabricSight("pod", seen(tip), foreign=((VPPB, GPU_TARGET),))
    found = patches(tip, sight)
    assert found[f"{SWITCH}/VCSs/0/VPPBs/0"]["Status"]["Health"] == "Warning"
    assert found[POD]["Status"]["Health"] == "Warning"


def test_a_violation_is_critical_with_a_condition_that_names_the_host(tip: MemoryTip) -> None:
    unit, zone = "/redfish/v1/Chassis/gpu1/PCIeDevices/gpu1", f"{POD}/Zones/1"
    told = Violation(Rule.HOST_SHARING, unit, zone, None, ("/redfish/v1/Systems/h2",))
    found = patches(tip, FabricSight("pod", seen(tip), violations=(told,), now=NOW))
    for uri in (unit, zone):
        (condition,) = found[uri]["Status"]["Conditions"]
        assert found[uri]["Status"]["Health"] == "Critical"
        assert "/redfish/v1/Systems/h2" in condition["Message"]
        assert condition["Timestamp"] == NOW
    assert found[POD]["Status"]["Health"] == "Critical"


def test_an_unreachable_switch_leaves_what_was_last_seen(tip: MemoryTip) -> None:
    view = replace(seen(tip), unreachable=frozenset({"pod-sw"}), bindings={}, ports={})
    found = patches(tip, FabricSight("pod", view))
    assert found[SWITCH]["Status"]["State"] == "UnavailableOffline"
    assert f"{SWITCH}/Ports/32" not in found
    assert found[f"{POD}/Zones/1"]["Status"]["Health"] == "Warning"


def test_without_any_answer_fabric_and_switches_say_so_and_nothing_is_made_up(
    tip: MemoryTip,
) -> None:
    watcher = Watcher(tip)
    watcher.look(FabricSight("pod", None))
    offline = {"State": "UnavailableOffline", "Health": "Critical", "HealthRollup": "Critical"}
    assert watcher.status(POD) == watcher.status(SWITCH) == offline
    assert not [uri for uri in watcher.shown if "/Ports/" in uri or "/VPPBs/" in uri]
    assert watcher.told(POD) == [("Critical", POD), ("Critical", SWITCH), ("Warning", SWITCH)]


def test_equal_sights_give_equal_patches(tip: MemoryTip) -> None:
    sight = FabricSight("pod", seen(tip))
    later = replace(sight, observation=replace(seen(tip), started_s=9.0, barrier_s=9.0))
    watcher = Watcher(tip)
    assert watcher.look(sight) == patches(tip, later)
    assert watcher.look(later) == watcher.look(sight)
    assert watcher.changed == set()


def test_ports_that_inventory_does_not_know_are_not_shown(tip: MemoryTip) -> None:
    view = replace(seen(tip), ports={PortId("other", "1"): UP})
    assert not [uri for uri in patches(tip, FabricSight("pod", view)) if "other" in uri]


def test_inventory_with_patches_is_valid_by_the_official_schemas(
    tip: MemoryTip, shared: Path
) -> None:
    schemas = SchemaPack(shared / "data" / "dmtf-2025.4-json-schema-latest.tar.gz")
    unit = "/redfish/v1/Chassis/gpu1/PCIeDevices/gpu1"
    told = Violation(Rule.HOST_SHARING, unit, f"{POD}/Zones/1", None, ("/h2",))
    view = seen(tip, p33=GONE, p34=replace(UP, powered=False), p35=ILL, p36=TRAINING)
    sight = FabricSight("pod", view, violations=(told,), now=NOW)
    for uri, patch in patches(tip, sight).items():
        document = dict(tip.document(uri) or {})
        links = {**document.get("Links", {}), **patch.get("Links", {})}
        cxl = {**document.get("CXL", {}), **patch.get("CXL", {})}
        laid = {**document, **patch}
        status = {**document.get("Status", {}), **patch["Status"]}
        laid["Status"] = {name: value for name, value in status.items() if value is not None}
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


@pytest.mark.parametrize(
    ("state", "link", "device"),
    [
        (TRAINING, "Training", ("Starting", "OK")),
        (replace(TRAINING, training=False), "LinkDown", ("UnavailableOffline", "Critical")),
        (replace(UP, link_up=False, powered=False), "LinkDown", ("StandbyOffline", "Warning")),
        (ILL, "LinkUp", ("Enabled", "Critical")),
        (replace(UP, health="Odd"), "LinkUp", ("Enabled", "Warning")),
        (replace(UP, serial_number="SN-gpu1"), "LinkUp", ("Enabled", "OK")),
    ],
)
def test_a_device_shows_what_its_port_says(
    tip: MemoryTip, state: PortState, link: str, device: tuple[str, str]
) -> None:
    found = patches(tip, FabricSight("pod", seen(tip, p32=state)))
    assert found[f"{SWITCH}/Ports/32"]["LinkStatus"] == link
    for uri in (UNIT, GPU):
        status = found[uri]["Status"]
        assert (status["State"], status["Health"]) == device
    assert found[CHASSIS].get("PowerState") == (None if state.powered else "Off")


def test_another_device_in_its_place_leaves_the_known_one_absent_and_is_named(
    tip: MemoryTip,
) -> None:
    found = patches(tip, FabricSight("pod", seen(tip, p32=replace(UP, serial_number="SN-other"))))
    for uri in (UNIT, GPU):
        status = found[uri]["Status"]
        assert status["State"] == "Absent" and status["Health"] is None
        assert any(
            each["Severity"] == "Warning" and "SN-other" in each["Message"]
            for each in status["Conditions"]
        )
    assert found[f"{SWITCH}/Ports/32"]["Status"]["Health"] == "Warning"


def test_who_depends_on_a_failed_device_suffers_and_nobody_else(tip: MemoryTip) -> None:
    watcher = Watcher(tip)
    watcher.look(FabricSight("pod", seen(tip, p32=ILL), now=NOW))
    for uri in (POD, SWITCH, CHASSIS, ZONE, SYSTEM1):
        assert watcher.status(uri)["HealthRollup"] == "Critical", uri
        assert watcher.told(uri) == [("Critical", UNIT)]
    for uri in (ZONE, POD, SWITCH):
        assert watcher.status(uri)["Health"] == "OK"
    assert watcher.status(SYSTEM2) == {"HealthRollup": "OK"}
    assert watcher.status("/redfish/v1/Chassis/nvme1")["HealthRollup"] == "OK"
    assert watcher.status(H1)["HealthRollup"] == "OK"


def test_an_absent_device_hurts_who_was_granted_it_but_not_the_fabric_else(tip: MemoryTip) -> None:
    watcher = Watcher(tip)
    watcher.look(FabricSight("pod", seen(tip, p33=GONE)))
    assert watcher.status(POD)["HealthRollup"] == watcher.status(SYSTEM1)["HealthRollup"] == "OK"
    watcher.look(FabricSight("pod", seen(tip, p32=GONE)))
    assert watcher.status(POD)["HealthRollup"] == "Critical"
    assert watcher.status(SYSTEM1)["HealthRollup"] == "Critical"


def test_recovery_clears_everything_within_one_look(tip: MemoryTip) -> None:
    watcher = Watcher(tip)
    healthy = watcher.look(FabricSight("pod", seen(tip)))
    assert watcher.look(FabricSight("pod", seen(tip, p32=ILL, p33=GONE))) != healthy
    assert watcher.look(FabricSight("pod", seen(tip))) == healthy


@pytest.mark.parametrize("partial", [False, True])
def test_a_failed_look_lowers_nothing_and_warns(tip: MemoryTip, partial: bool) -> None:
    watcher = Watcher(tip)
    before = watcher.look(FabricSight("pod", seen(tip, p32=ILL)))
    nothing = replace(seen(tip), bindings={}, ports={}, unreachable=frozenset({"pod-sw"}))
    watcher.look(FabricSight("pod", nothing if partial else None))
    assert watcher.shown[f"{SWITCH}/Ports/32"] == before[f"{SWITCH}/Ports/32"]
    assert watcher.status(GPU)["Health"] == watcher.status(GPU)["HealthRollup"] == "Critical"
    assert ("Warning", SWITCH) in watcher.told(GPU)
    other = f"{POD}/Endpoints/nvme1"
    assert watcher.status(other) == {"State": "Enabled", "Health": "OK", "HealthRollup": "Warning"}
    assert watcher.status(SYSTEM1)["HealthRollup"] == "Critical"
    assert watcher.look(FabricSight("pod", seen(tip, p32=ILL))) == before


def test_a_lost_binding_is_not_forgiven_by_a_switch_that_falls_silent(tip: MemoryTip) -> None:
    watcher = Watcher(tip)
    lost = replace(seen(tip), bindings={VPPB: None})
    watcher.look(FabricSight("pod", lost, unmet=frozenset({VPPB})))
    assert watcher.status(ZONE)["Health"] == watcher.status(SYSTEM1)["HealthRollup"] == "Critical"
    watcher.look(FabricSight("pod", None))
    assert watcher.status(ZONE)["Health"] == watcher.status(SYSTEM1)["HealthRollup"] == "Critical"


def test_a_zone_made_while_its_switch_is_silent_is_not_called_bound(tip: MemoryTip) -> None:
    watcher = Watcher(tip)
    watcher.look(FabricSight("pod", seen(tip)))
    watcher.look(FabricSight("pod", None))
    draft = tip.post(f"{POD}/Zones", zone_body(f"{POD}/Endpoints/h2-1", f"{POD}/Endpoints/nvme1"))
    watcher.fabric.touched(draft.edits)
    (vppb,) = (each.vppb for each in tip.index.bindings.values() if each.host == SYSTEM2)
    watcher.look(FabricSight("pod", None, opening=frozenset({vppb})))
    assert watcher.status(f"{POD}/Zones/2")["State"] == "Starting"


def test_a_condition_says_since_when_it_lasts(tip: MemoryTip) -> None:
    watcher = Watcher(tip)
    ill, later = FabricSight("pod", seen(tip, p32=ILL), now=NOW), "2026-12-01T09:00:00Z"
    first = watcher.look(ill)
    other = FabricSight("pod", seen(tip, p32=ILL, p33=ILL), now=later)
    watcher.look(other)
    times = [each["Timestamp"] for each in watcher.shown[POD]["Status"]["Conditions"]]
    assert sorted(times) == [NOW, later]
    assert watcher.look(ill) == first
    watcher.look(FabricSight("pod", seen(tip)))
    watcher.look(replace(ill, now=later))
    (condition,) = watcher.shown[GPU]["Status"]["Conditions"]
    assert condition["Timestamp"] == later


def test_a_deleted_zone_takes_its_dependencies_along(tip: MemoryTip) -> None:
    watcher = Watcher(tip)
    watcher.look(FabricSight("pod", seen(tip, p32=ILL)))
    watcher.fabric.touched(tip.delete(ZONE).edits)
    watcher.look(FabricSight("pod", seen(tip, p32=ILL)))
    assert ZONE not in watcher.shown
    assert watcher.status(SYSTEM1) == {"HealthRollup": "OK"}


def test_a_binding_that_is_no_longer_wanted_is_no_longer_missed(tip: MemoryTip) -> None:
    watcher, lost = Watcher(tip), replace(seen(tip), bindings={VPPB: None})
    watcher.look(FabricSight("pod", lost, unmet=frozenset({VPPB})))
    assert watcher.status(ZONE)["Health"] == "Critical"
    edit = binding_edit(tip.index.bindings[VPPB], None)
    tip.index.remove_binding(VPPB)
    watcher.fabric.touched([edit])
    watcher.look(FabricSight("pod", lost))
    assert watcher.status(ZONE)["Health"] == watcher.status(SYSTEM1)["HealthRollup"] == "OK"


def test_a_new_index_after_a_reload_leaves_nothing_of_the_old_one(tip: MemoryTip) -> None:
    watcher, sight = Watcher(tip), FabricSight("pod", seen(tip, p32=ILL))
    watcher.look(sight)
    watcher.tip = a_tip()
    watcher.tip.facts = tip.facts
    watcher.look(sight)
    assert ZONE not in watcher.shown
    assert watcher.status(SYSTEM1) == {"HealthRollup": "OK"}


def test_a_client_made_endpoint_follows_its_port(tip: MemoryTip) -> None:
    made = f"{POD}/Endpoints/made"
    ends = frozenset({UNIT}), frozenset({f"{SWITCH}/Ports/32"})
    tip.index.put_endpoint(Endpoint(made, "pod", Role.TARGET, None, *ends))
    watcher = Watcher(tip)
    watcher.look(FabricSight("pod", seen(tip)))
    watcher.look(FabricSight("pod", seen(tip, p32=GONE)))
    assert watcher.status(made)["State"] == "Absent"


def test_who_is_in_an_endpoint_group_decides_what_its_connection_depends_on(
    tip: MemoryTip,
) -> None:
    group, holder = f"{POD}/EndpointGroups/g", f"{POD}/Connections/c"
    tip.index.put_group(EndpointGroup(group, "pod", ()))
    tip.index.put_connection(Connection(holder, "pod", (H1,), target_groups=(group,)))
    watcher, sight = Watcher(tip), FabricSight("pod", seen(tip, p33=ILL))
    watcher.look(sight)
    assert watcher.status(holder)["HealthRollup"] == "OK"
    tip.index.put_group(EndpointGroup(group, "pod", (f"{POD}/Endpoints/nvme1",)))
    watcher.fabric.touched([Edit(Space.DOCUMENT, group, b"", b"")])
    watcher.look(sight)
    assert watcher.status(holder)["HealthRollup"] == "Critical"
    assert watcher.status(SYSTEM1)["HealthRollup"] == "Critical"


def test_a_chunk_waits_for_its_memory_and_for_the_scrub(tip: MemoryTip) -> None:
    """Made by a client: Starting until it is allocated, Updating while it is scrubbed."""
    chunk, target = "/redfish/v1/Chassis/mem2/MemoryDomains/0/MemoryChunks/1", _ld(0)
    part = replace(tip.index.chunks[chunk], allocation=Allocation("pod", target, 1024, chunk))
    tip.index.put_chunk(part)
    assert unseen_patch(tip.index, chunk) == {"Status": STARTING}
    watcher = Watcher(tip)
    watcher.look(FabricSight("pod", seen(tip), unmet_parts=frozenset({target})))
    assert watcher.status(chunk)["State"] == "Starting"
    ready = replace(seen(tip), parts={target: PartState(1024)})
    watcher.look(FabricSight("pod", ready))
    assert watcher.status(chunk) == {"State": "Enabled", "Health": "OK"}
    scrubbed = replace(ready, parts={target: PartState(1024, Media.SANITIZING)})
    watcher.look(FabricSight("pod", scrubbed))
    assert watcher.status(chunk)["State"] == "Updating"


def test_a_fixed_chunk_is_updating_while_its_ld_is_scrubbed(tip: MemoryTip) -> None:
    chunk, ld = "/redfish/v1/Chassis/mem2/MemoryDomains/0/MemoryChunks/1", _ld(0)
    watcher = Watcher(tip)
    watcher.look(FabricSight("pod", seen(tip)))
    scrubbed = replace(seen(tip), parts={ld: PartState(768, Media.SANITIZING)})
    found = watcher.look(FabricSight("pod", scrubbed))
    unit = tip.facts.target_units["pod", ld]
    assert watcher.status(chunk)["State"] == "Updating"
    assert found[unit]["MemorySizeMiB"] == 768
    watcher.look(FabricSight("pod", seen(tip)))
    assert watcher.status(chunk)["State"] == "Enabled"


def _ld(number: int) -> BindTarget:
    return BindTarget("pod-sw", "37", number)


def test_more_conditions_than_anybody_reads_are_cut() -> None:
    watch, port = a_big_fabric(200)
    watch(dict.fromkeys((port(n) for n in range(100)), ILL))
    status = watch.shown[POD]["Status"]  # type: ignore[attr-defined]
    assert len(status["Conditions"]) == CONDITIONS_MAX


# -- what a look costs, and that it is the same as looking for the first time -----------------


def a_big_fabric(devices: int) -> tuple[Callable[..., int], Callable[[int], PortId]]:
    """Return a function that looks with some ports otherwise, and returns the work it took."""
    facts, index = Facts(fabrics=[FabricFacts("pod", FabricKind.BIND, zoned=True)]), FabricIndex()
    states = {}
    for n in range(devices):
        port = PortId(f"s{n // 20}", f"D{n % 20}")
        uri, unit = f"{POD}/Switches/{port.switch}/Ports/{port.port}", f"/redfish/v1/Chassis/c{n}/d"
        facts.switch_uris["pod", port.switch] = f"{POD}/Switches/{port.switch}"
        facts.port_uris["pod", port], facts.port_units[uri] = uri, frozenset({unit})
        target = BindTarget(port.switch, port.port)
        facts.units.append(Unit(unit, "pod", Binder.ZONE, target=target))
        name = f"{POD}/Endpoints/{n}"
        ends = frozenset({unit}), frozenset({uri})
        index.put_endpoint(Endpoint(name, "pod", Role.TARGET, None, *ends))
        index.put_zone(Zone(f"{POD}/Zones/{n}", "pod", ZoneType.ENDPOINTS, (name,)))
        states[port] = UP
    facts.fill(index)
    statuses = Statuses()
    fabric, shown = ObservedFabric("pod", statuses), dict[str, Any]()

    def work() -> int:
        return fabric.rendered + statuses.composed + statuses.graph.work

    def watch(otherwise: dict[PortId, PortState]) -> int:
        before = work()
        view = Observation("pod", 0.0, 0.0, {}, {**states, **otherwise})
        shown.update(fabric.look(facts, index, FabricSight("pod", view)))
        return work() - before

    watch.shown = shown  # type: ignore[attr-defined]
    return watch, lambda n: PortId(f"s{n // 20}", f"D{n % 20}")


def test_a_look_with_one_changed_port_costs_the_same_at_1_000_and_at_20_000_endpoints() -> None:
    def costs(devices: int) -> list[int]:
        watch, port = a_big_fabric(devices)
        assert watch({}) > devices
        looks = ({}, {port(7): ILL}, {port(7): ILL}, {port(7): GONE}, {})
        return [watch(each) for each in looks]

    small, big = costs(1_000), costs(20_000)
    assert small == big
    assert max(small) < 100


ports_st = st.dictionaries(
    st.sampled_from(["p0", "p1", "p32", "p33", "p37"]),
    st.sampled_from([UP, ILL, GONE, TRAINING, replace(UP, powered=False)]),
)
looks_st = st.lists(
    st.one_of(
        st.tuples(st.just("look"), ports_st, st.booleans()),
        st.tuples(st.just("silence"), st.booleans(), st.none()),
        st.tuples(st.just("zone"), st.sampled_from(["nvme1", "nic1"]), st.none()),
        st.tuples(st.just("delete"), st.none(), st.none()),
    ),
    max_size=12,
)


@given(looks_st)
def test_look_after_look_shows_what_a_first_look_shows(script: list[tuple[str, Any, Any]]) -> None:
    tip = a_tip()
    tip.post(f"{POD}/Zones", zone_body(H1, GPU))
    watcher = Watcher(tip)
    for kind, what, unmet in script:
        if kind == "look":
            sight = FabricSight(
                "pod", seen(tip, **what), unmet=frozenset({VPPB} if unmet else ()), now=NOW
            )
            assert watcher.look(sight) == patches(tip, sight)
        elif kind == "silence":
            silent = replace(seen(tip), bindings={}, ports={}, unreachable=frozenset({"pod-sw"}))
            watcher.look(FabricSight("pod", silent if what else None, now=NOW))
        elif kind == "zone" and not tip.index.zones_of(f"{POD}/Endpoints/{what}"):
            body = zone_body(f"{POD}/Endpoints/h2-1", f"{POD}/Endpoints/{what}")
            watcher.fabric.touched(tip.post(f"{POD}/Zones", body).edits)
        elif kind == "delete" and tip.index.zones:
            watcher.fabric.touched(tip.delete(min(tip.index.zones)).edits)


def test_edits_of_others_cost_nothing(tip: MemoryTip) -> None:
    watcher = Watcher(tip)
    watcher.look(FabricSight("pod", seen(tip)))
    before = watcher.fabric.rendered
    watcher.fabric.touched(
        [Edit(Space.DOCUMENT, "/redfish/v1/AccountService/Accounts/a", b"", b"")]
    )
    watcher.look(FabricSight("pod", seen(tip)))
    assert watcher.fabric.rendered == before + 1
    assert watcher.changed == set()
