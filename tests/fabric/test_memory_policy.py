"""Out of which appliances the parts of a memory wish come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.fabric.memory_policy import Part, Room, legs_of, memory_options
from redfish_fm.fabric.placement_values import MemoryPolicy, MemoryWish
from redfish_fm.fabric.stock import Appliance, Source

SWITCH = ("F", "s1")
OTHER = ("F", "s2")


def a_room(
    name: str,
    free: int = 0,
    *,
    parts: int = 4,
    step: int = 1,
    fixed: tuple[int, ...] = (),
    domain: str | None = None,
    latency: int = 100,
    known: bool = False,
    switch: tuple[str, str] = SWITCH,
    taken: tuple[Part, ...] = (),
) -> Room:
    """An appliance with one pool, or with fixed parts."""
    sources = (Source(f"{name}/1", None, free, parts, step),) if free else ()
    chunks = tuple((size, f"{name}/f{number}") for number, size in enumerate(fixed))
    made = Appliance(name, "Memory", 0, domain, (switch,), sources, chunks)
    return Room(made, switch, latency, known, taken)


def first(
    wish: MemoryWish, *rooms: Room, slots: int = 99, more: bool = False
) -> list[tuple[str, int, int]] | None:
    """Return (appliance, size, copy) of each part of the best way, None where there is none."""
    option = next(memory_options(rooms, {SWITCH: slots, OTHER: slots}, wish, more=more), None)
    return None if option is None else [(p.block, p.size_mib, p.copy) for p in option[1]]


def test_one_appliance_has_all_parts() -> None:
    assert first(MemoryWish(4, 2), a_room("A", 8), a_room("B", 4)) == [("A", 4, 0), ("A", 4, 0)]


def test_no_appliance_has_all_parts() -> None:
    assert first(MemoryWish(4, 2), a_room("A", 7), a_room("B", 7)) is None


def test_parts_are_spread_over_the_best_appliance_of_each_domain() -> None:
    rooms = [
        a_room("A", 9, domain="x"),
        a_room("B", 5, domain="x"),
        a_room("C", 8, domain="y"),
        a_room("D", 8),
    ]
    wish = MemoryWish(4, 2, policy=MemoryPolicy.SPREAD)
    assert first(wish, *rooms) == [("B", 4, 0), ("C", 4, 0)]


def test_mirrors_never_share_a_failure_domain() -> None:
    rooms = [a_room("A", 8, domain="x"), a_room("B", 8, domain="x"), a_room("C", 9, domain="y")]
    wish = MemoryWish(4, 1, policy=MemoryPolicy.MIRRORED)
    assert first(wish, *rooms) == [("A", 4, 0), ("C", 4, 1)]


@pytest.mark.parametrize("policy", [MemoryPolicy.SPREAD, MemoryPolicy.MIRRORED])
def test_an_appliance_of_unknown_failure_domain_is_no_second_leg(policy: MemoryPolicy) -> None:
    wish = MemoryWish(4, 2, policy=policy)
    assert first(wish, a_room("A", 8), a_room("B", 8, domain="x")) is None


def test_a_single_part_may_be_in_an_unknown_failure_domain() -> None:
    assert first(MemoryWish(4, 1, policy=MemoryPolicy.SPREAD), a_room("A", 8)) == [("A", 4, 0)]


def test_the_least_beyond_what_was_asked_for_comes_before_the_nearest() -> None:
    near, far = a_room("A", 8, step=8), a_room("B", 8, step=4, latency=200)
    assert first(MemoryWish(3), near, far, more=True) == [("B", 4, 0)]


def test_fixed_parts_and_cuts_of_one_appliance_are_mixed_smallest_first() -> None:
    room = a_room("A", 4, step=4, fixed=(3, 8))
    assert first(MemoryWish(3, 3), room, more=True) == [("A", 3, 0), ("A", 4, 0), ("A", 8, 0)]


def test_what_was_taken_before_is_not_there_any_more() -> None:
    source = Source("A/1", None, 8, 4, 1)
    room = a_room("A", 8, fixed=(4,), taken=(Part("A", 4, source), Part("A", 4, chunk="A/f0")))
    assert room.most(MemoryWish(4), 9, more=False) == 1
    assert room.left_mib == 4


def test_lds_of_one_device_share_its_pool() -> None:
    sources = tuple(Source("A", f"A.{ld}", 10, 2, 1) for ld in range(2))
    made = Appliance("A", "Memory", 0, None, (SWITCH,), sources, ())
    parts = Room(made, SWITCH, 100, known=False).parts(MemoryWish(4), 2, more=False)
    assert parts is not None
    assert Room(made, SWITCH, 100, known=False).parts(MemoryWish(4), 3, more=False) is None
    assert [part.source and part.source.ld for part in parts] == ["A.0", "A.0"]


def test_what_one_ld_takes_of_the_pool_is_not_there_for_the_next() -> None:
    sources = tuple(Source("A", f"A.{ld}", 8, 1, 1) for ld in range(2))
    room = Room(Appliance("A", "Memory", 0, None, (SWITCH,), sources, ()), SWITCH, 100, known=False)
    assert room.most(MemoryWish(4), 9, more=False) == 2
    assert room.most(MemoryWish(5), 9, more=False) == 1


def test_every_part_takes_a_slot_of_its_switch() -> None:
    rooms = [a_room("A", 8, domain="x"), a_room("B", 8, domain="y")]
    elsewhere = a_room("C", 8, domain="y", switch=OTHER, latency=200)
    wish = MemoryWish(4, 2, policy=MemoryPolicy.SPREAD)
    assert first(wish, *rooms, slots=1) is None
    assert first(wish, *rooms, elsewhere, slots=1) == [("A", 4, 0), ("C", 4, 0)]


def test_a_size_of_nothing_is_never_cut() -> None:
    assert first(MemoryWish(0), a_room("A", 8)) is None


ROOMS = st.lists(
    st.builds(
        a_room,
        st.just("A"),
        st.integers(0, 8),
        parts=st.integers(0, 3),
        step=st.sampled_from([1, 2, 4]),
        fixed=st.lists(st.integers(1, 5), max_size=2).map(lambda sizes: tuple(sorted(sizes))),
        domain=st.sampled_from([None, "x", "y"]),
        latency=st.sampled_from([100, 200]),
    ),
    max_size=4,
)
WISHES = st.builds(
    MemoryWish, st.integers(1, 5), st.integers(1, 3), policy=st.sampled_from(MemoryPolicy)
)


@given(ROOMS, WISHES, st.integers(0, 6), st.booleans())
def test_ways_come_best_first_and_are_all_possible(
    found: list[Room], wish: MemoryWish, slots: int, more: bool
) -> None:
    rooms = [_renamed(room, f"A{number}") for number, room in enumerate(found)]
    domains = {room.appliance.block: room.appliance.domain for room in rooms}
    options = [*memory_options(rooms, {SWITCH: slots}, wish, more=more)]
    scores = [score for score, _ in options]
    assert scores == sorted(scores)
    legs, count = legs_of(wish)
    for _, parts in options:
        assert len(parts) == legs * count <= slots
        assert all(part.size_mib >= wish.capacity_mib for part in parts)
        assert more or all(part.size_mib == wish.capacity_mib for part in parts)
        assert len({part.chunk for part in parts if part.chunk}) == sum(
            part.chunk is not None for part in parts
        )
        used = {domains[part.block] for part in parts}
        assert legs == 1 or (len(used) == legs and None not in used)


def _renamed(room: Room, name: str) -> Room:
    old = room.appliance
    sources = tuple(
        Source(name, each.ld, each.free_mib, each.free_parts, each.granularity_mib)
        for each in old.sources
    )
    fixed = tuple((size, f"{name}/{number}") for number, (size, _) in enumerate(old.fixed))
    made = Appliance(name, old.kind, 0, old.domain, old.switches, sources, fixed)
    return Room(made, room.switch, room.latency_ns, room.known)
