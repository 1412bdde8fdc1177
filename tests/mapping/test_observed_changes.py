"""What is shown when imports go in circles, inventory changes, or a part can not come about."""

from dataclasses import replace

import pytest

from redfish_fm.fabric.model import BindTarget, PartState, PortId
from redfish_fm.fabric.values import (
    Access,
    Allocation,
    ChunkGrant,
    Connection,
    Endpoint,
    Role,
    Zone,
    ZoneType,
)
from redfish_fm.mapping.sights import FabricSight
from redfish_fm.redfish.changes import Edit, Space
from tests.mapping.builders import MemoryTip, a_fabric, a_tip, zone_body
from tests.mapping.test_observed import (
    GONE,
    GPU,
    H1,
    ILL,
    POD,
    SWITCH,
    SYSTEM1,
    ZONE,
    Watcher,
    seen,
)

CHUNK = "/redfish/v1/Chassis/mem2/MemoryDomains/0/MemoryChunks/1"
LD = BindTarget("pod-sw", "37", 0)


@pytest.fixture
def tip() -> MemoryTip:
    tip = a_tip()
    tip.post(f"{POD}/Zones", zone_body(H1, GPU))
    return tip


# -- circles ----------------------------------------------------------------------------------


@pytest.mark.parametrize("members", [("a",), ("b",), ("b", "c")])
def test_zones_that_contain_each_other_are_shown_and_get_well_again(
    tip: MemoryTip, members: tuple[str, ...]
) -> None:
    zones = {name: f"{POD}/Zones/{name}" for name in "abc"}
    inner = {"a": members, "b": ("a",), "c": ("b",)}
    for name, uri in zones.items():
        within = tuple(zones[each] for each in inner[name])
        tip.index.put_zone(Zone(uri, "pod", ZoneType.ZONES, (), within))
    watcher = Watcher(tip)
    watcher.look(FabricSight("pod", seen(tip, p32=ILL)))
    watcher.look(FabricSight("pod", seen(tip)))
    assert watcher.status(zones["a"])["Health"] == "OK"
    assert watcher.status(POD)["HealthRollup"] == "OK"


@pytest.mark.parametrize("broken", ["a", "b"])
def test_what_a_circle_left_out_is_told_once_the_circle_is_broken(
    tip: MemoryTip, broken: str
) -> None:
    inner, outer = (f"{POD}/Zones/{name}" for name in sorted("ab", key=lambda n: n != broken))
    tip.index.put_zone(Zone(inner, "pod", ZoneType.ZONES, (), (outer,)))
    tip.index.put_zone(Zone(outer, "pod", ZoneType.ZONES, (), (inner,)))
    watcher, ill = Watcher(tip), FabricSight("pod", seen(tip, p32=ILL))
    watcher.look(ill)
    tip.index.put_zone(Zone(inner, "pod", ZoneType.ZONES, (), (ZONE,)))
    watcher.fabric.touched([Edit(Space.DOCUMENT, inner, b"", b"")])
    watcher.look(ill)
    assert watcher.status(inner)["HealthRollup"] == "Critical"
    assert watcher.status(outer)["HealthRollup"] == "Critical"


def test_a_zone_that_contains_its_fabric_does_not_ail_for_ever(tip: MemoryTip) -> None:
    tip.index.put_zone(Zone(f"{POD}/Zones/a", "pod", ZoneType.ZONES, (), (POD,)))
    watcher = Watcher(tip)
    watcher.look(FabricSight("pod", None))
    watcher.look(FabricSight("pod", seen(tip)))
    assert watcher.status(POD) == {"State": "Enabled", "Health": "OK", "HealthRollup": "OK"}


def test_peers_that_are_hosts_and_targets_do_not_depend_on_each_other(tip: MemoryTip) -> None:
    """On fabrics of peers an import may name no systems: then each endpoint is its own host."""
    for name, port in (("x", 33), ("y", 34)):
        uri, ports = f"{POD}/Endpoints/{name}", frozenset({f"{SWITCH}/Ports/{port}"})
        tip.index.put_endpoint(Endpoint(uri, "pod", Role.BOTH, uri, frozenset(), ports))
    x, y = f"{POD}/Endpoints/x", f"{POD}/Endpoints/y"
    tip.index.put_zone(Zone(f"{POD}/Zones/p", "pod", ZoneType.ENDPOINTS, (x, y, GPU)))
    watcher = Watcher(tip)
    watcher.look(FabricSight("pod", seen(tip, p33=GONE)))
    assert watcher.status(f"{POD}/Zones/p")["HealthRollup"] == "Critical"
    assert watcher.status(y)["HealthRollup"] == "OK"
    watcher.look(FabricSight("pod", seen(tip, p32=ILL)))
    assert watcher.status(x)["HealthRollup"] == watcher.status(y)["HealthRollup"] == "Critical"
    watcher.look(FabricSight("pod", seen(tip)))
    assert watcher.status(x)["HealthRollup"] == "OK"


# -- inventory changes ------------------------------------------------------------------------


def other_inventories() -> list[MemoryTip]:
    """Return tips of the same fabric with fewer devices, more hosts, and one without any."""
    whole = a_fabric()
    fewer = a_fabric(devices=whole.devices[2:])
    return [a_tip(fewer), a_tip(a_fabric(hosts=4)), a_tip(a_fabric(devices=()))]


@pytest.mark.parametrize("way", range(3))
def test_another_inventory_is_shown_as_if_it_were_the_first(tip: MemoryTip, way: int) -> None:
    watcher, other = Watcher(tip), other_inventories()[way]
    known = {*watcher.look(FabricSight("pod", seen(tip, p32=ILL, p37=GONE)))}
    watcher.tip = other
    sight = FabricSight("pod", seen(other, p34=ILL))
    assert watcher.look(sight) == Watcher(other).look(sight)
    watcher.tip = tip
    sight = FabricSight("pod", seen(tip))
    assert watcher.look(sight) == Watcher(tip).look(sight)
    assert {*watcher.shown} == known


def test_the_links_of_an_inventory_are_not_made_twice(tip: MemoryTip) -> None:
    watcher, sight = Watcher(tip), FabricSight("pod", seen(tip))
    watcher.look(sight)
    once = watcher.statuses.graph.plain()
    watcher.tip = a_tip()
    watcher.tip.index = tip.index
    watcher.look(sight)
    assert watcher.statuses.graph.plain() == once


def test_a_switch_that_is_no_longer_there_is_not_silent_any_more(tip: MemoryTip) -> None:
    watcher = Watcher(tip)
    watcher.look(FabricSight("pod", None))
    inventory = a_fabric()
    (switch,) = inventory.switches
    ports = tuple(replace(each, id=PortId("new", each.id.port)) for each in switch.ports)
    renamed = tuple(replace(each, switch="new") for each in switch.virtual_switches)
    another = replace(switch, id="new", ports=ports, virtual_switches=renamed)
    other = a_tip(replace(inventory, switches=(another,)))
    watcher.tip = other
    sight = FabricSight("pod", seen(other))
    assert watcher.look(sight) == Watcher(other).look(sight)
    assert SWITCH not in watcher.shown


def test_parts_of_another_state_are_forgotten_after_a_reload(tip: MemoryTip) -> None:
    part = replace(tip.index.chunks[CHUNK], allocation=Allocation("pod", LD, 1024, f"{CHUNK}0"))
    tip.index.put_chunk(replace(part, id=f"{CHUNK}0"))
    watcher, sight = Watcher(tip), FabricSight("pod", seen(tip))
    watcher.look(sight)
    assert watcher.status(f"{CHUNK}0")["State"] == "Enabled"
    watcher.tip = a_tip()
    watcher.tip.facts = tip.facts
    watcher.look(sight)
    assert f"{CHUNK}0" not in watcher.shown


# -- parts that can not come about ------------------------------------------------------------


def of_a_chunk(tip: MemoryTip) -> Watcher:
    """Let a client have made the chunk; return who watches."""
    part = replace(tip.index.chunks[CHUNK], allocation=Allocation("pod", LD, 1024, CHUNK))
    tip.index.put_chunk(part)
    return Watcher(tip)


def blocked(tip: MemoryTip, *parts: PartState) -> FabricSight:
    view = replace(seen(tip), parts=dict(zip([LD], parts, strict=False)))
    stuck = frozenset({LD})
    return FabricSight("pod", view, unmet_parts=stuck, blocked_parts=stuck)


@pytest.mark.parametrize(
    ("there", "words"), [((), "still bound"), ((PartState(512),), "another size")]
)
def test_a_part_that_something_is_in_the_way_of_is_critical_until_it_moves_on(
    tip: MemoryTip, there: tuple[PartState, ...], words: str
) -> None:
    watcher = of_a_chunk(tip)
    watcher.look(blocked(tip, *there))
    assert watcher.status(CHUNK) == {"State": "Starting", "Health": "Critical"}
    assert watcher.told(CHUNK) == [("Critical", CHUNK)]
    assert words in watcher.shown[CHUNK]["Status"]["Conditions"][0]["Message"]
    moved = replace(seen(tip), parts={LD: there[0]} if there else {})
    watcher.look(FabricSight("pod", moved, unmet_parts=frozenset({LD})))
    assert watcher.status(CHUNK) == {"State": "Starting", "Health": "OK"}
    assert watcher.told(CHUNK) == []
    watcher.look(FabricSight("pod", replace(seen(tip), parts={LD: PartState(1024)})))
    assert watcher.status(CHUNK) == {"State": "Enabled", "Health": "OK"}


def test_who_was_granted_a_blocked_part_suffers_with_it(tip: MemoryTip) -> None:
    holder = f"{POD}/Connections/c"
    chunks = (ChunkGrant(CHUNK, frozenset({Access.READ})),)
    tip.index.put_connection(Connection(holder, "pod", (H1,), (), chunks))
    watcher = of_a_chunk(tip)
    watcher.look(blocked(tip))
    assert watcher.status(holder)["HealthRollup"] == "Critical"
    assert watcher.status(SYSTEM1)["HealthRollup"] == "Critical"
    assert watcher.told(holder) == [("Critical", CHUNK)]


@pytest.mark.parametrize("partial", [True, False])
def test_a_blocked_part_is_not_forgiven_by_a_switch_that_falls_silent(
    tip: MemoryTip, partial: bool
) -> None:
    watcher = of_a_chunk(tip)
    watcher.look(blocked(tip))
    silent = replace(seen(tip), bindings={}, ports={}, unreachable=frozenset({"pod-sw"}))
    watcher.look(FabricSight("pod", silent if partial else None, unmet_parts=frozenset({LD})))
    assert watcher.status(CHUNK)["Health"] == "Critical"
    watcher.look(FabricSight("pod", replace(seen(tip), parts={LD: PartState(1024)})))
    assert watcher.status(CHUNK)["Health"] == "OK"


def test_a_part_that_nobody_wants_any_more_is_not_missed(tip: MemoryTip) -> None:
    watcher = of_a_chunk(tip)
    watcher.look(blocked(tip))
    tip.index.put_chunk(replace(tip.index.chunks[CHUNK], allocation=None))
    watcher.fabric.touched([Edit(Space.DOCUMENT, CHUNK, b"", b"")])
    watcher.look(FabricSight("pod", seen(tip)))
    assert watcher.told(CHUNK) == []
