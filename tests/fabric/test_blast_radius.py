"""Which compositions suffer in an outage, and how."""

from dataclasses import replace
from typing import Any

import pytest

from redfish_fm.fabric.blast_radius import Harm, Outage, Suffering, blast_radius
from redfish_fm.fabric.composition import Block, BlockType, Composition
from redfish_fm.fabric.index import FabricIndex, VcsFact
from redfish_fm.fabric.model import BindTarget, VppbId
from redfish_fm.fabric.values import (
    Allocation,
    Binder,
    Binding,
    Connection,
    Region,
    RegionGrant,
    Unit,
    Volume,
    VolumeGrant,
)
from tests.fabric.builders import BOTH_WAYS, a_fabric, connection, put_target, zone

GPU = frozenset({BlockType.PROCESSOR})


def a_pod() -> FabricIndex:
    """System A runs on H1 with D1 and chunks of M1 and M2, system B on H2 with D2 and one of M1."""
    index = a_fabric(hosts=3, slds=3, mlds=2)
    for number in (1, 2, 3):
        host = Block(f"b-H{number}", frozenset({BlockType.COMPUTE}), host=f"H{number}")
        index.put_block(host)
        index.put_block(Block(f"b-D{number}", GPU, units=frozenset({f"D{number}"})))
    for number in (1, 2):
        units = frozenset({f"M{number}"})
        index.put_block(Block(f"b-M{number}", frozenset(), units=units, sharing=True))
    a_system(index, "A", 1, "M1.0", "M2.0")
    a_system(index, "B", 2, "M1.1")
    return index


def a_system(index: FabricIndex, name: str, number: int, *lds: str) -> None:
    """Compose host and device of that number with the chunks of LDs, bound as they would be."""
    host, unit = f"H{number}", f"D{number}"
    chunks = [f"C-{ld}" for ld in lds]
    held = frozenset({f"z{name}", *chunks, *(f"c-{ld}" for ld in lds)})
    blocks = (f"b-{host}", f"b-{unit}", *(f"b-{ld[:2]}" for ld in lds))
    index.put_zone(zone(f"z{name}", f"I{number}", f"T-{unit}", *(f"T-{ld}" for ld in lds)))
    bound(index, f"z{name}", number, unit, 0)
    for slot, ld in enumerate(lds, 1):
        index.put_connection(connection(f"c-{ld}", f"I{number}", [f"T-{ld}"], f"C-{ld}"))
        bound(index, f"c-{ld}", number, ld, slot)
    index.put_composition(Composition(name, host, blocks, held))


def bound(index: FabricIndex, holder: str, number: int, unit: str, slot: int) -> None:
    target = index.units[unit].target
    assert target is not None
    vppb = VppbId("SW", f"V{number}", slot)
    index.put_binding(Binding("F", unit, f"H{number}", vppb, target, frozenset({holder})))


def told(index: FabricIndex, **outage: set[object]) -> dict[str, tuple[str, ...]]:
    """Return composition -> its harm, and what it loses."""
    given = Outage(**{name: frozenset(each) for name, each in outage.items()})  # type: ignore[arg-type]
    return {each.composition: (each.harm.value, *each.lost) for each in blast_radius(index, given)}


def test_a_device_that_fails_degrades_the_system_that_has_it_and_no_other() -> None:
    assert told(a_pod(), units={"D1"}) == {"A": ("Degraded", "b-D1")}


def test_nobody_suffers_from_what_nobody_has() -> None:
    assert told(a_pod(), units={"D3"}, hosts={"H3"}, vcss={("SW", "V3")}) == {}


def test_a_system_is_lost_with_its_host() -> None:
    assert told(a_pod(), hosts={"H2"}) == {"B": ("Lost", "b-H2")}


def test_memory_without_a_copy_takes_its_system_along() -> None:
    assert told(a_pod(), units={"M2"}) == {"A": ("Lost", "C-M2.0")}


def test_an_appliance_takes_everybody_along_who_has_a_part_of_it() -> None:
    assert told(a_pod(), units={"M1"}) == {"A": ("Lost", "C-M1.0"), "B": ("Lost", "C-M1.1")}


def test_a_chunk_that_fails_alone_concerns_its_system_alone() -> None:
    assert told(a_pod(), parts={"C-M1.1"}) == {"B": ("Lost", "C-M1.1")}


def test_of_mirrored_memory_another_copy_is_left() -> None:
    index = mirrored(a_pod())
    found = blast_radius(index, Outage(units=frozenset({"M2"})))
    assert found == (Suffering("A", Harm.REDUNDANCY_LOST, (), ("C-M2.0",)),)


def test_memory_whose_copies_fail_together_is_lost() -> None:
    found = told(mirrored(a_pod()), units={"M1", "M2"})
    assert found["A"] == ("Lost", "C-M1.0", "C-M2.0")


def test_a_copy_that_is_left_does_not_make_up_for_a_device() -> None:
    (found,) = blast_radius(mirrored(a_pod()), Outage(units=frozenset({"M2", "D1"})))
    assert found == Suffering("A", Harm.DEGRADED, ("b-D1",), ("C-M2.0",))


def test_a_copy_that_is_no_part_of_the_system_any_more_is_none() -> None:
    index = mirrored(a_pod())
    a = index.compositions["A"]
    held = a.holdings - {"C-M1.0", "c-M1.0"}
    index.put_composition(Composition("A", a.host, a.blocks, held, mirrors=a.mirrors))
    assert told(index, units={"M2"}) == {"A": ("Lost", "C-M2.0")}


def mirrored(index: FabricIndex) -> FabricIndex:
    a = index.compositions["A"]
    mirrors = (frozenset({"C-M1.0", "C-M2.0"}),)
    index.put_composition(Composition("A", a.host, a.blocks, a.holdings, mirrors=mirrors))
    return index


def test_a_host_that_does_not_come_in_any_more_reaches_nothing() -> None:
    found = told(a_pod(), vcss={("SW", "V1")})
    assert found == {"A": ("Lost", "b-D1", "C-M1.0", "C-M2.0")}


def test_a_switch_takes_everything_along_that_is_bound_on_it() -> None:
    assert told(a_pod(), switches={"SW"}).keys() == {"A", "B"}


@pytest.mark.parametrize(("failed", "lost"), [("near", True), ("far", True), ("else", False)])
def test_a_switch_on_the_way_counts(failed: str, lost: bool) -> None:
    index = FabricIndex()
    index.put_fabric(a_fabric().fabrics["F"])
    index.put_vcs(VcsFact("F", "near", "V", "H", 4))
    index.put_vcs(VcsFact("F", "far", "V", "H", 4, 2, through="near"))
    target = BindTarget("far", "p")
    put_target(index, Unit("D", "F", Binder.ZONE, target=target))
    index.put_block(Block("b-D", GPU, units=frozenset({"D"})))
    vppb = VppbId("far", "V", 0)
    index.put_binding(Binding("F", "D", "H", vppb, target, frozenset({"z"})))
    index.put_composition(Composition("S", "H", ("b-D",), frozenset({"z"}), expands=True))
    assert bool(told(index, switches={failed})) is lost


def a_dual_ported_drive() -> FabricIndex:
    """System B has a drive on two ports as well, bound through the first."""
    index = a_pod()
    for unit in ("P1", "P2"):
        put_target(index, Unit(unit, "F", Binder.ZONE, target=BindTarget("SW", unit)))
    index.put_block(Block("b-P", frozenset(), units=frozenset({"P1", "P2"})))
    b = index.compositions["B"]
    index.put_composition(Composition("B", b.host, (*b.blocks, "b-P"), b.holdings))
    bound(index, "zB", 2, "P1", 5)
    return index


@pytest.mark.parametrize(
    ("dead", "harm"),
    [({"P1"}, Harm.DEGRADED), ({"P2"}, Harm.REDUNDANCY_LOST), ({"P1", "P2"}, Harm.DEGRADED)],
)
def test_the_way_that_is_not_in_use_is_a_spare_one(dead: set[str], harm: Harm) -> None:
    (found,) = blast_radius(a_dual_ported_drive(), Outage(units=frozenset(dead)))
    assert (found.composition, found.harm) == ("B", harm)


def test_a_block_that_is_not_bound_yet_is_lost_with_its_device() -> None:
    index = a_pod()
    index.put_composition(Composition("C", "H3", ("b-H3", "b-D3")))
    assert told(index, units={"D3"}) == {"C": ("Degraded", "b-D3")}


def test_a_volume_that_fails_degrades() -> None:
    index = a_pod()
    index.put_unit(Unit("J", "F", Binder.NOTHING, exclusive=False))
    made = Allocation("F", BindTarget("SW", "J", namespace=1), 1024, "v")
    index.put_volume(Volume("v", "J", "J", 1024, allocation=made))
    rows = (VolumeGrant("v", BOTH_WAYS),)
    index.put_connection(Connection("cv", "F", initiators=("I2",), volumes=rows))
    b = index.compositions["B"]
    index.put_composition(Composition("B", b.host, b.blocks, b.holdings | {"v", "cv"}))
    assert told(index, units={"J"}) == {"B": ("Degraded", "v")}


def sharing_a_region(index: FabricIndex) -> FabricIndex:
    """A and B are granted one region of an LD besides, which neither of them holds."""
    index.put_unit(Unit("X", "F", Binder.NOTHING, exclusive=False))
    index.put_region(Region("r", "X", "X", 0, 1024, shareable=True))
    for number, name in enumerate(("A", "B"), 1):
        rows = (RegionGrant("r", BOTH_WAYS),)
        index.put_connection(Connection(f"r{name}", "F", initiators=(f"I{number}",), regions=rows))
        had = index.compositions[name]
        index.put_composition(replace(had, holdings=had.holdings | {f"r{name}"}))
    return index


@pytest.mark.parametrize("outage", [{"units": {"X"}}, {"parts": {"r"}}])
def test_a_region_that_systems_share_takes_them_all_along(outage: dict[str, set[object]]) -> None:
    found = told(sharing_a_region(a_pod()), **outage)
    assert found == {"A": ("Lost", "r"), "B": ("Lost", "r")}


def test_nobody_asks_for_all_parts_that_there_are() -> None:
    index = a_pod()
    index.chunks, index.volumes = Unlisted(index.chunks), Unlisted(index.volumes)
    index.regions = Unlisted(index.regions)
    assert told(index, units={"D1"}).keys() == {"A"}


class Unlisted(dict[str, Any]):
    """A mapping that nobody may go through: it is as big as the pools are."""

    def keys(self) -> Any:
        raise AssertionError("that costs all parts of all pools")

    __iter__ = values = items = keys


def test_what_an_outage_costs_does_not_grow_with_who_is_not_concerned() -> None:
    def work(others: int) -> int:
        index = a_fabric(hosts=others + 2, slds=others + 2, mlds=1, lds=4)
        for number in range(1, others + 3):
            host = Block(f"b-H{number}", frozenset({BlockType.COMPUTE}), host=f"H{number}")
            index.put_block(host)
            index.put_block(Block(f"b-D{number}", GPU, units=frozenset({f"D{number}"})))
            a_system(index, f"S{number}", number)
        looked = index.compositions = Counting(index.compositions)
        assert len(blast_radius(index, Outage(units=frozenset({"D1"})))) == 1
        return looked.count

    assert work(5) == work(50) == 1


class Counting(dict[str, Composition]):
    """A mapping that counts what is looked up."""

    count = 0

    def __getitem__(self, key: str) -> Composition:
        self.count += 1
        return super().__getitem__(key)


def chained_pods(count: int) -> FabricIndex:
    """So many chains alike: host H{n} on near{n}, and a device of system S{n} on far{n} below."""
    index = FabricIndex()
    index.put_fabric(a_fabric().fabrics["F"])
    for number in range(count):
        near, far, host = f"near{number}", f"far{number}", f"H{number}"
        index.put_vcs(VcsFact("F", near, "V", host, 4))
        index.put_vcs(VcsFact("F", far, "V", host, 4, 2, through=near))
        unit = Unit(f"D{number}", "F", Binder.ZONE, target=BindTarget(far, "p"))
        put_target(index, unit)
        index.put_block(Block(f"b-D{number}", GPU, units=frozenset({unit.id})))
        holders, target = frozenset({f"z{number}"}), unit.target
        assert target is not None
        vppb = VppbId(far, "V", 0)
        index.put_binding(Binding("F", unit.id, host, vppb, target, holders))
        index.put_composition(Composition(f"S{number}", host, (f"b-D{number}",), holders, True))
    return index


@pytest.mark.parametrize(
    "outage",
    [{"switches": {"near1"}}, {"switches": {"far1"}}, {"vcss": {("far1", "V")}},
     {"vcss": {("near1", "V")}}],
)  # fmt: skip
def test_a_way_that_is_cut_costs_who_goes_it(outage: dict[str, set[object]]) -> None:
    def work(count: int) -> int:
        index = chained_pods(count)
        index.vcss = Unlisted(index.vcss)
        before = index.work
        assert told(index, **outage) == {"S1": ("Degraded", "b-D1")}
        return index.work - before

    assert work(3) == work(60)


def test_a_switch_is_on_the_way_however_far_above() -> None:
    index = chained_pods(1)
    index.put_vcs(VcsFact("F", "top", "V", "H0", 4))
    index.put_vcs(VcsFact("F", "near0", "V", "H0", 4, 2, through="top"))
    index.put_vcs(VcsFact("F", "far0", "V", "H0", 4, 3, through="near0"))
    for failed in ("top", "near0", "far0"):
        assert told(index, switches={failed}) == {"S0": ("Degraded", "b-D0")}, failed
        assert told(index, vcss={(failed, "V")}) == {"S0": ("Degraded", "b-D0")}, failed


def test_a_switch_that_is_only_known_to_be_on_the_way_counts() -> None:
    index = chained_pods(1)
    index.remove_vcs("near0", "V")
    assert told(index, switches={"near0"}) == {"S0": ("Degraded", "b-D0")}
