"""The index equals one rebuilt from scratch after any history, and costs O(change)."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.fabric.index import FabricFacts, FabricIndex, VcsFact
from redfish_fm.fabric.model import BindTarget, FabricKind, PartKind, PortId, VppbId
from redfish_fm.fabric.values import (
    Allocation,
    Binder,
    CapacityPool,
    Chunk,
    Endpoint,
    EndpointGroup,
    MemoryDomain,
    Region,
    Role,
    Unit,
    Volume,
    VppbGrant,
    Zone,
    ZoneType,
)
from tests.fabric.builders import a_fabric, binding, connection, put_target, vppb, zone
from tests.fabric.devices import granting
from tests.fabric.naive import rebuilt


def _allocation(holder: str) -> Allocation:
    """Two parts that claim one target: the first by name has it, whoever came first."""
    return Allocation("F", BindTarget("SW", "p", 0), 1, holder)


def _puts(index: FabricIndex) -> list[Callable[[], None]]:
    """A fabric with three levels of units; each value once, to be put in any order."""
    target = Unit("M1", "F", Binder.NOTHING, within="box")
    ends = {"a": ("A", ()), "b": ("B", ()), "x": (None, ("M1.0",)), "y": (None, ("M1.1", "D"))}
    endpoints = [
        Endpoint(id_, "F", Role.TARGET if host is None else Role.INITIATOR, host, frozenset(units))
        for id_, (host, units) in ends.items()
    ]
    values: list[tuple[Callable[..., None], object]] = [
        (index.put_fabric, FabricFacts("F", FabricKind.BIND, zoned=True)),
        (index.put_fabric, FabricFacts("G", FabricKind.REACH, zoned=True)),
        (index.put_unit, Unit("box", "F", Binder.NOTHING, exclusive=False)),
        (index.put_unit, target),
        (index.put_unit, Unit("M1.0", "F", Binder.CONNECTION, exclusive=False, within="M1")),
        (index.put_unit, Unit("M1.1", "F", Binder.CONNECTION, within="M1")),
        (index.put_chunk, Chunk("c", "M1.0", 0, 1)),
        *((index.put_endpoint, endpoint) for endpoint in endpoints),
        (index.put_zone, zone("z1", "a", "x", "y")),
        (index.put_zone, zone("z2", "b", "y", fabric="G")),
        (index.put_connection, connection("c1", "b", "x", "c")),
        (index.put_connection, connection("c2", "a", "y", fabric="G")),
        (index.put_group, EndpointGroup("g", "F", ("b",))),
        (index.put_pool, CapacityPool("pool", "F", PartKind.REGION, 4, 1, (0,), PortId("SW", "p"))),
        (index.put_domain, MemoryDomain("dom", 4, 1, True, "pool")),
        (index.put_chunk, Chunk("d", "D", 0, 2, domain="dom", allocation=_allocation("d"))),
        (index.put_region, Region("r", "D", "pool", 0, 1, allocation=_allocation("r"))),
        (index.put_volume, Volume("v", "box", "pool", 1, shareable=True)),
        (
            index.put_connection,
            granting("c3", ("a",), chunks=("d",), regions=("r",), from_groups=("g",)),
        ),
        (index.put_connection, granting("c4", volumes=("v",), from_groups=("g",))),
        (index.put_connection, granting("c5", ("a",), to_groups=("g",))),
        (index.put_vppb_grant, VppbGrant("b", "F", vppb(1), "D", "A")),
    ]
    return [partial(put, value) for put, value in values]


@given(st.permutations(range(len(_puts(FabricIndex())))))
def test_the_order_of_puts_does_not_matter(order: list[int]) -> None:
    straight, mixed = FabricIndex(), FabricIndex()
    for put in _puts(straight):
        put()
    puts = _puts(mixed)
    for position in order:
        puts[position]()
    assert mixed.snapshot() == straight.snapshot()


def test_a_fabric_that_changes_its_kind_changes_what_its_zones_mean() -> None:
    index = a_fabric()
    index.put_zone(zone("z1", "I1", "T-D1"))
    index.put_fabric(FabricFacts("F", FabricKind.ZONE_GRANTS, zoned=True))
    assert index.hosts_of("D1") == {}


def test_a_unit_that_moves_takes_its_sums_along() -> None:
    index = a_fabric(mlds=2)
    index.put_zone(zone("z1", "I1", "T-M1.0", "T-M1.1"))
    index.put_unit(replace(index.units["M1"], within="box"))
    assert index.hosts_of("box") == {"H1": {"z1"}}
    index.put_zone(zone("z1", "I1", "T-M1.1"))
    assert index.hosts_of("box") == {"H1": {"z1"}}
    index.put_unit(replace(index.units["M1.1"], within="M2"))
    assert (index.hosts_of("box"), index.hosts_of("M2")) == ({}, {"H1": {"z1"}})
    assert index.snapshot() == rebuilt(index).snapshot()


def spent(index: FabricIndex, *changes: Callable[[], object]) -> list[int]:
    """Return the work of each change."""
    costs = []
    for change in changes:
        before = index.work
        change()
        costs.append(index.work - before)
    return costs


def a_busy_fabric(endpoints: int) -> FabricIndex:
    index = a_fabric(hosts=4, slds=endpoints, vppbs=4)
    for number in range(4, endpoints + 1, 4):
        index.put_zone(zone(f"z{number}", f"I{1 + number % 4}", f"T-D{number}", "S"))
    return index


def cost_of_changes(index: FabricIndex) -> list[int]:
    """Every kind of change and lookup once, on things that no other zone knows."""
    item = zone("new", "I1", "T-D1", "T-M1.0", "S")
    linked = connection("c", "I1", "T-M1.0", "C-M1.0")
    return spent(
        index,
        lambda: index.put_zone(item),
        lambda: index.put_connection(linked),
        lambda: index.put_zone(replace(item, endpoints=("I1", "T-D1", "T-M1.0"))),
        lambda: index.put_endpoint(replace(index.endpoints["T-D1"], ports=frozenset({"p"}))),
        lambda: index.put_endpoint(replace(index.endpoints["T-D1"], units=frozenset({"D2"}))),
        lambda: index.put_unit(replace(index.units["M1"], exclusive=False)),
        lambda: index.hosts_of("M1"),
        lambda: index.free_vppb("F", "H1", "SW", ()),
        lambda: index.put_binding(binding("D1", 1)),
        lambda: index.remove_binding(vppb(1)),
        lambda: index.remove_connection("c"),
        lambda: index.remove_zone("new"),
        lambda: index.remove_endpoint("T-D1"),
        lambda: index.put_endpoint(replace(index.endpoints["S"], ports=frozenset({"x"}))),
    )


def test_every_change_costs_the_same_at_any_size() -> None:
    small, big = cost_of_changes(a_busy_fabric(1_000)), cost_of_changes(a_busy_fabric(20_000))
    assert small == big
    assert min(small) > 0


@pytest.mark.soak
def test_every_change_costs_the_same_at_100_000_endpoints() -> None:
    small, big = cost_of_changes(a_busy_fabric(1_000)), cost_of_changes(a_busy_fabric(100_000))
    assert small == big


def test_a_zone_that_is_emptied_gives_access_to_nothing_any_more() -> None:
    index = a_fabric()
    empty = index.snapshot()
    index.put_zone(zone("z1"))
    emptied = index.snapshot()
    assert emptied != empty
    index.put_zone(zone("z1", "I1", "T-D1"))
    assert index.snapshot() != emptied
    index.put_zone(zone("z1"))
    assert index.snapshot() == emptied


def test_an_ld_and_its_mld_count_for_each_other_and_two_lds_do_not() -> None:
    index = a_fabric()
    index.put_zone(zone("z1", "I1", "T-M1.0"))
    assert index.hosts_of("M1.0") == {"H1": {"z1"}}
    assert index.hosts_of("M1") == {"H1": {"z1"}}
    assert index.hosts_of("M1.1") == {}
    assert index.hosts_granted("M1") == {}
    put_target(index, index.units["M1"])
    index.put_zone(zone("z2", "I2", "T-M1"))
    assert index.hosts_of("M1.0") == {"H1": {"z1"}, "H2": {"z2"}}
    assert index.hosts_granted("M1.1") == {"H2": {"z2"}}


def test_lookups_follow_zones_connections_and_ports() -> None:
    index = a_fabric()
    index.put_zone(zone("z1", "I1", "T-M1.0", "T-D1"))
    index.put_connection(connection("c1", "I1", "T-M1.0", "C-M1.0"))
    index.put_zone(Zone("zz", "F", ZoneType.ZONES, zones=("z1",)))
    assert index.zones_of("I1") == {"z1"}
    assert index.zones_above("z1") == {"zz"}
    assert index.connections_of("T-M1.0") == {"c1"}
    assert index.zones_taking("M1.0") == {"z1": {"T-M1.0"}}
    assert index.endpoints_of_unit("D1") == {"T-D1"}
    assert index.endpoints_of_port("SW/U1.1") == {"I1"}
    assert index.connections_of_unit("M1.0") == {"c1"}
    assert index.units_of_target(BindTarget("SW", "M1", 0)) == {"M1.0"}
    assert index.zone_count("F") == 2


def test_the_next_vppb_is_on_the_nearest_virtual_switch_and_the_lowest_free_number() -> None:
    index = a_fabric(hosts=1, vppbs=2)
    index.put_vcs(VcsFact("F", "SW", "V0", "H1", 2, hops=2))
    index.put_vcs(VcsFact("F", "SW", "V00", "H1", 1, hops=1))
    index.put_binding(binding("D1", 1, 0))
    found: list[VppbId | None] = []
    for _ in itertools.repeat(None, 5):
        found.append(index.free_vppb("F", "H1", "SW", {item for item in found if item}))
    assert [item and (item.vcs, item.vppb) for item in found] == [
        ("V00", 0), ("V1", 1), ("V0", 0), ("V0", 1), None,
    ]  # fmt: skip


def test_bindings_are_found_by_unit_and_holder() -> None:
    index = a_fabric()
    first, second = binding("D1", 1, holder="z1"), binding("M1.0", 1, 1, holder="z1")
    index.put_binding(second)
    index.put_binding(first)
    assert index.bindings_of_unit("D1") == (first,)
    assert index.bindings_of_holder("z1") == (first, second)
    index.put_binding(replace(first, unit="D2"))
    assert index.bindings_of_unit("D1") == ()


def test_one_switch_id_in_two_fabrics_is_refused_loudly() -> None:
    index = a_fabric()
    with pytest.raises(ValueError, match="SW is used by fabrics F and G"):
        index.put_vcs(VcsFact("G", "SW", "V1", "H1", 1))


def test_units_that_contain_each_other_are_refused_loudly() -> None:
    index = FabricIndex()
    index.put_unit(Unit("a", "F", Binder.ZONE, within="b"))
    with pytest.raises(ValueError, match="within itself"):
        index.put_unit(Unit("b", "F", Binder.ZONE, within="a"))


def test_a_fabric_nobody_described_is_judged_by_the_strictest_rules() -> None:
    facts = FabricIndex().facts("?")
    assert (facts.kind, facts.zoned) == (FabricKind.BIND, True)


def test_a_snapshot_tells_two_indexes_apart() -> None:
    index = a_fabric()
    before = index.snapshot()
    index.put_zone(zone("z1", "I1", "T-D1"))
    assert index.snapshot() != before
    index.remove_zone("z1")
    assert index.snapshot() == before
    assert VppbId("SW", "V1", 0) not in index.bindings
