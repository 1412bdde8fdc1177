"""Shelves follow everything that happens to an index, and nothing is missed."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.fabric.composition import Block, BlockType
from redfish_fm.fabric.index import VcsFact
from redfish_fm.fabric.model import BindTarget, VppbId
from redfish_fm.fabric.stock import Appliance, Machine, Sort
from redfish_fm.fabric.stocktaking import entry_of, settle
from redfish_fm.fabric.values import Binder, Unit, VppbGrant
from tests.fabric.builders import connection
from tests.fabric.pods import GIB, X16_MB_S, Pod


def a_pod() -> Pod:
    pod = Pod().host("H1", "s1", "s2").host("H2", "s1")
    pod.devices("s1", "a1", "a2").devices("s2", "b1")
    pod.appliance("s1", "M", 8 * GIB, fixed=(GIB, GIB)).dynamic("s1", "Y", 8 * GIB)
    return pod


def _gone_and_back(pod: Pod) -> None:
    block = pod.index.blocks["b-a1"]
    pod.index.remove_block("b-a1")
    settle(pod.index)
    assert pod.index.shelves.entry("b-a1") is None
    pod.index.put_block(block)


def _inner_unit(pod: Pod) -> None:
    target = BindTarget("s1", "a2", function=1)
    pod.index.put_unit(Unit("a2.1", "F", Binder.ZONE, True, target, "a2"))
    block = Block("b-a2.1", frozenset({BlockType.PROCESSOR}), units=frozenset({"a2.1"}))
    pod.index.put_block(block)


LINK = "F/s1 - F/s2"
"""The link by which H2 comes to s2, where it is chained."""

HAPPENINGS: dict[str, Callable[[Pod], object]] = {
    "composed": lambda pod: pod.composed("S", "H1", "a1", "M"),
    "expanded": lambda pod: pod.composed("S", "H2", "a2", expands=True),
    "dissolved": lambda pod: pod.index.remove_composition("S"),
    "zoned": lambda pod: pod.zoned("z", "I-H1", "T-a1", "T-b1"),
    "zoned otherwise": lambda pod: pod.zoned("z", "I-H1", "T-a2"),
    "zone gone": lambda pod: pod.index.remove_zone("z"),
    "granted": lambda pod: pod.index.put_connection(connection("c", "I-H1", ["T-M.32"], "M/f0/c")),
    "grant gone": lambda pod: pod.index.remove_connection("c"),
    "by hand": lambda pod: pod.index.put_vppb_grant(
        VppbGrant("v", "F", VppbId("s1", "V-H1", 0), "a1", "H1")
    ),
    "hand gone": lambda pod: pod.index.remove_vppb_grant("v"),
    "carved": lambda pod: pod.carved("M", 0, 2 * GIB),
    "chunk gone": lambda pod: pod.index.remove_chunk("c-M.0"),
    "region": lambda pod: pod.region("Y", 0, 0, GIB),
    "region gone": lambda pod: pod.index.remove_region("r-Y.0-0"),
    "block gone and back": _gone_and_back,
    "cable": lambda pod: pod.index.put_vcs(VcsFact("F", "s3", "V-H1", "H1", 4)),
    "cable gone": lambda pod: pod.index.remove_vcs("s3", "V-H1"),
    "chained": lambda pod: pod.way("H2", "s2", through="s1"),
    "chain gone": lambda pod: pod.index.remove_vcs("s2", "V-H2"),
    "composed over it": lambda pod: pod.composed("T", "H2", "b1"),
    "zoned over it": lambda pod: pod.zoned("far", "I-H2", "T-b1"),
    "inner unit": _inner_unit,
    "inner zone": lambda pod: pod.zoned("inner", "I-H1", "T-a2"),
    "inner unit gone": lambda pod: pod.index.remove_unit("a2.1"),
    "domain": lambda pod: pod.index.put_domain(pod.index.domains["M/1"]),
    "pool": lambda pod: pod.index.put_pool(pod.index.pools["M/1"]),
}


@given(st.lists(st.tuples(st.sampled_from(sorted(HAPPENINGS)), st.booleans()), max_size=12))
def test_shelves_hold_what_is_free_after_any_history(history: list[tuple[str, bool]]) -> None:
    pod = a_pod()
    for name, look in history:
        HAPPENINGS[name](pod)
        if look:
            settle(pod.index)
    settle(pod.index)
    shelves = pod.index.shelves
    for name, block in pod.index.blocks.items():
        assert shelves.entry(name) == entry_of(pod.index, block)[0]
    loads = {LINK: 0}
    for block in pod.index.blocks.values():
        links, mb_s = entry_of(pod.index, block)[1] or ((), 0)
        for link in links:
            loads[link] += mb_s
    assert {at: shelves.load_mb_s(at) for at in loads} == loads


@given(st.lists(st.sampled_from(sorted(HAPPENINGS)), max_size=8))
def test_places_are_looked_at_by_how_they_are_now(history: list[str]) -> None:
    pod, fresh = a_pod(), a_pod()
    for name in history:
        HAPPENINGS[name](pod)
        settle(pod.index)
        list(pod.index.shelves.looks())
        HAPPENINGS[name](fresh)
    settle(pod.index)
    settle(fresh.index)
    assert list(pod.index.shelves.looks()) == list(fresh.index.shelves.looks())


def test_settling_costs_what_happened() -> None:
    pod = a_pod()
    settle(pod.index)
    before = pod.index.work
    settle(pod.index)
    assert pod.index.work == before
    pod.composed("S", "H1", "a1")
    assert pod.index.unshelved == {"b-H1", "b-a1"}


def test_a_device_on_two_switches_is_on_the_shelves_of_both() -> None:
    pod = Pod().host("H", "s2")
    for port in ("s2", "s1"):
        unit = Unit(f"W-{port}", "F", Binder.ZONE, target=BindTarget(port, "W"))
        pod.index.put_unit(unit)
    block = Block("b-W", frozenset({BlockType.STORAGE}), units=frozenset({"W-s1", "W-s2"}))
    pod.index.put_block(block)
    settle(pod.index)
    entry = pod.index.shelves.entry("b-W")
    assert isinstance(entry, Sort)
    assert entry.switches == (("F", "s1"), ("F", "s2"))
    assert pod.index.shelves.sorts(("F", "s2"), "") == {entry}
    pod.index.remove_block("b-W")
    settle(pod.index)
    assert not pod.index.shelves.sorts(("F", "s1"), "")


def test_an_appliance_tells_what_is_left_of_it() -> None:
    pod = a_pod().carved("M", 0, 2 * GIB).zoned("z", "I-H1", "T-M.32")
    settle(pod.index)
    entry = pod.index.shelves.entry("b-M")
    assert isinstance(entry, Appliance)
    (source,) = entry.sources
    assert (source.free_mib, source.free_parts) == (6 * GIB, 7)
    assert entry.fixed == ((GIB, "M/f1/c"),)
    assert entry.free_mib == 7 * GIB


def test_a_pool_that_no_driver_can_cut_gives_nothing() -> None:
    pod = a_pod()
    pool = pod.index.pools["M/1"]
    pod.index.put_pool(type(pool)(pool.id, "F", pool.kind, pool.capacity_mib, 1, pool.parts))
    settle(pod.index)
    entry = pod.index.shelves.entry("b-M")
    assert isinstance(entry, Appliance)
    assert not entry.sources


def test_hosts_that_reach_the_same_switches_stand_together() -> None:
    pod = Pod().host("H1", "s1", "s2").host("H2", "s2", "s1").host("H3", "s1")
    settle(pod.index)
    entries = [pod.index.shelves.entry(f"b-H{number}") for number in (1, 2, 3)]
    places = [entry.place for entry in entries if isinstance(entry, Machine)]
    assert places[0] == places[1] != places[2]


def test_a_load_on_a_link_is_seen_by_whoever_goes_over_it() -> None:
    pod = Pod().devices("s2", "b1").host("H2", "s1").way("H2", "s2", through="s1", link="one")
    for host, link in (("H3", "other"), ("H4", "one")):
        pod.host(host, "s1").way(host, "s2", through="s1", vppbs=8, link=link)
    pod.zoned("z", "T-b1")
    settle(pod.index)
    assert sorted(map(len, pod.index.shelves.looks())) == [1, 2], "H3 and H4 are alike"
    # Nothing moves on the shelves of s2: who has the device is known now, and by which link.
    pod.zoned("z", "I-H2", "T-b1")
    settle(pod.index)
    assert sorted(map(len, pod.index.shelves.looks())) == [1, 1]


@pytest.mark.parametrize("composed", [True, False])
def test_what_a_host_has_already_loads_the_link_by_which_it_comes_to_it_now(
    composed: bool,
) -> None:
    pod = a_pod()
    if composed:
        pod.composed("S", "H2", "b1")
    else:
        pod.zoned("z", "I-H2", "T-b1")
    settle(pod.index)
    assert pod.index.shelves.load_mb_s(LINK) == 0
    pod.way("H2", "s2", through="s1")
    settle(pod.index)
    assert pod.index.shelves.load_mb_s(LINK) == X16_MB_S
    pod.index.remove_vcs("s2", "V-H2")
    settle(pod.index)
    assert pod.index.shelves.load_mb_s(LINK) == 0
