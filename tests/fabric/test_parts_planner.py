"""The plan for parts of pools: allocate, scrub, give back, share. Tables, then a perfect world."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.fabric.binding import Plan, overlaps, plan
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    BindTarget,
    Deallocate,
    Media,
    Observation,
    PartState,
    Place,
    PortId,
    PortState,
    Sanitize,
    Step,
    Unbind,
    VppbId,
    places,
)
from redfish_fm.fabric.physical import Plain
from redfish_fm.fabric.values import Allocation, Binding
from tests.fabric.builders import binding, observation, vppb

LD0, LD1 = BindTarget("SW", "M1", 0), BindTarget("SW", "M1", 1)
REGION = BindTarget("SW", "M1", 2, region=0)
PLUGGED = PortState(link_up=True, device_present=True)


def part(target: BindTarget = LD0, size_mib: int = 1024, shareable: bool = False) -> Allocation:
    return Allocation("F", target, size_mib, f"chunk {target.path}", shareable)


def claim(target: BindTarget, host: int, shared: bool = False, number: int = 0) -> Binding:
    found = binding("M1.0", host, number, target=target)
    return replace(found, unit=str(target.path), shared=shared)


def look(
    *bound: Binding,
    parts: Mapping[BindTarget, PartState | Media] | None = None,
    unreachable: frozenset[str] = frozenset(),
    port: PortState = PLUGGED,
) -> Observation:
    states = {
        target: state if isinstance(state, PartState) else PartState(1024, state)
        for target, state in (parts or {}).items()
    }
    ports = {PortId("SW", "M1"): port}
    return replace(observation(*bound, unreachable=unreachable), parts=states, ports=ports)


class Pools(Plain):
    """Hardware whose LDs and regions behind M1 are all cut out of pools."""

    def pooled(self, target: BindTarget) -> bool:
        return target.port == "M1" and target.ld is not None


class DualPorted(Plain):
    """The device behind port A is also the one behind port B."""

    def ways(self, target: BindTarget) -> tuple[BindTarget, ...]:
        other = {"A": "B", "B": "A"}.get(target.port)
        return (target,) if other is None else (target, replace(target, port=other))


def planned(
    seen: Observation,
    *wanted: Binding,
    releasing: Iterable[Binding] = (),
    allocations: Iterable[Allocation] = (),
    freeing: Iterable[Allocation] = (),
    fresh: Iterable[Binding] = (),
    open_: Iterable[Place] = (),
    enforce: bool = False,
    physical: Plain | None = None,
) -> Plan:
    unsettled = frozenset(open_)
    return plan(
        wanted,
        releasing,
        seen,
        lambda place: place in unsettled,
        enforce,
        allocations,
        freeing,
        frozenset(each.vppb for each in fresh),
        physical or Pools(),
    )


# -- allocating -------------------------------------------------------------------------------


def test_a_wanted_part_that_is_not_there_is_allocated() -> None:
    found = planned(look(), allocations=[part(REGION, 512, shareable=True)])
    assert found.steps == (Allocate(REGION, 512, shareable=True),)
    assert found.unmet_parts == {REGION}


def test_a_wanted_part_that_is_there_needs_nothing() -> None:
    assert planned(look(parts={LD0: Media.DIRTY}), allocations=[part()]) == Plan()


@pytest.mark.parametrize("other", [PartState(512), PartState(1024, shareable=True)])
def test_a_part_of_another_size_or_sharing_is_left_alone_and_unmet(other: PartState) -> None:
    found = planned(look(parts={LD0: other}), allocations=[part()])
    assert (found.steps, found.unmet_parts, found.foreign_parts) == ((), {LD0}, ())
    assert found.blocked_parts == {LD0}


def test_an_allocation_waits_while_anything_at_its_port_is_being_given_back() -> None:
    seen = look(parts={LD1: Media.SANITIZING})
    found = planned(seen, allocations=[part(LD0)], freeing=[part(LD1)])
    assert (found.steps, found.unmet_parts) == ((), {LD0})
    found = planned(look(), allocations=[part(LD0)], freeing=[part(LD1)], open_=[LD1])
    assert found.steps == ()
    found = planned(look(), allocations=[part(LD0)], freeing=[part(LD1)])
    assert found.steps == (Allocate(LD0, 1024),)


def test_a_part_of_another_size_that_is_to_be_given_back_blocks_the_wanted_one() -> None:
    found = planned(look(parts={LD0: PartState(512)}), allocations=[part()], freeing=[part()])
    assert (found.steps, found.blocked_parts) == ((), {LD0})


def test_a_part_that_is_gone_while_its_place_stays_bound_is_blocked() -> None:
    mine, stranger = claim(LD0, 1), claim(LD0, 2)
    for seen in (look(mine), look(stranger)):
        found = planned(seen, mine, allocations=[part()])
        assert (found.steps, found.unmet_parts, found.blocked_parts) == ((), {LD0}, {LD0})


def test_a_part_whose_place_is_being_made_free_is_not_blocked() -> None:
    mine = claim(LD0, 1)
    releasing = planned(look(mine), releasing=[mine], allocations=[part()])
    assert (releasing.steps, releasing.blocked_parts) == ((Unbind(mine.vppb, LD0),), frozenset())
    enforced = planned(look(mine), allocations=[part()], enforce=True)
    assert (enforced.steps, enforced.blocked_parts) == ((Unbind(mine.vppb, LD0),), frozenset())
    waits = planned(look(), allocations=[part()], freeing=[part(LD1)], open_=[LD1])
    assert (waits.unmet_parts, waits.blocked_parts) == ({LD0}, frozenset())


@pytest.mark.parametrize("parts", [{}, {LD0: PartState(512)}])
def test_nobody_is_told_that_a_part_is_blocked_while_that_is_not_known(
    parts: dict[BindTarget, PartState],
) -> None:
    mine = claim(LD0, 1)
    for place in places(Bind(mine.vppb, LD0)):
        if place != mine.vppb or not parts:
            found = planned(look(mine, parts=parts), mine, allocations=[part()], open_=[place])
            assert found.blocked_parts == frozenset()
    dark = look(mine, parts=parts, unreachable=frozenset({"SW"}))
    assert planned(dark, mine, allocations=[part()]).blocked_parts == frozenset()
    away = look(mine, port=replace(PLUGGED, device_present=False))
    assert planned(away, mine, allocations=[part()]).blocked_parts == frozenset()


def test_an_unsettled_or_unreachable_place_is_not_allocated() -> None:
    assert planned(look(), allocations=[part()], open_=[LD0]).steps == ()
    dark = look(unreachable=frozenset({"SW"}))
    assert planned(dark, allocations=[part()]) == Plan(unmet_parts=frozenset({LD0}))


def test_a_stale_part_of_an_unreachable_switch_is_not_believed() -> None:
    dark = look(parts={LD0: Media.CLEAN}, unreachable=frozenset({"SW"}))
    assert planned(dark, allocations=[part()]).unmet_parts == {LD0}
    assert planned(dark).foreign_parts == ()


# -- binding what has to be allocated ---------------------------------------------------------


def test_a_bind_waits_until_its_part_is_observed_at_its_size() -> None:
    mine = claim(LD0, 1)
    for parts in ({}, {LD0: PartState(512)}):
        found = planned(look(parts=parts), mine, allocations=[part()])
        assert [each for each in found.steps if isinstance(each, Bind)] == []
        assert found.waiting == {mine.vppb}
    found = planned(look(parts={LD0: Media.CLEAN}), mine, allocations=[part()])
    assert found.steps == (Bind(mine.vppb, LD0),)


def test_a_part_that_nobody_wants_allocated_is_never_bound() -> None:
    found = planned(look(parts={LD0: Media.CLEAN}), claim(LD0, 1))
    assert found.steps == ()


def test_a_target_that_needs_no_allocation_is_bound_without() -> None:
    found = planned(look(), claim(LD0, 1), physical=Plain())
    assert found.steps == (Bind(vppb(1), LD0),)


# -- scrubbing --------------------------------------------------------------------------------


def test_a_release_is_unbound_first_and_scrubbed_when_it_is_seen_unbound() -> None:
    mine, there = claim(LD0, 1), {LD0: Media.DIRTY}
    found = planned(look(mine, parts=there), releasing=[mine], allocations=[part()])
    assert found.steps == (Unbind(mine.vppb, LD0),)
    found = planned(look(parts=there), releasing=[mine], allocations=[part()])
    assert found.steps == (Sanitize(LD0),)
    for media in (Media.SANITIZING, Media.CLEAN):
        after = look(parts={LD0: media})
        assert planned(after, releasing=[mine], allocations=[part()]) == Plan()


def test_nothing_is_scrubbed_while_a_command_to_it_is_of_unknown_outcome() -> None:
    mine = claim(LD0, 1)
    for place in places(Bind(mine.vppb, LD0)):
        seen = look(parts={LD0: Media.DIRTY})
        found = planned(seen, releasing=[mine], allocations=[part()], open_=[place])
        assert found.steps == ()


def test_what_is_dirty_by_another_owner_is_scrubbed_before_a_fresh_bind() -> None:
    mine = claim(LD0, 1)
    seen = look(parts={LD0: Media.DIRTY})
    found = planned(seen, mine, allocations=[part()], fresh=[mine])
    assert (found.steps, found.waiting) == ((Sanitize(LD0),), {mine.vppb})
    seen = look(parts={LD0: Media.SANITIZING})
    found = planned(seen, mine, allocations=[part()], fresh=[mine])
    assert (found.steps, found.waiting) == ((), {mine.vppb})
    seen = look(parts={LD0: Media.CLEAN})
    assert planned(seen, mine, allocations=[part()], fresh=[mine]).steps == (Bind(mine.vppb, LD0),)


def test_a_binding_that_was_merely_lost_is_bound_again_with_its_contents() -> None:
    mine = claim(LD0, 1)
    seen = look(parts={LD0: Media.DIRTY})
    assert planned(seen, mine, allocations=[part()]).steps == (Bind(mine.vppb, LD0),)


def test_nothing_is_bound_while_it_is_being_scrubbed_whoever_asks() -> None:
    mine = claim(LD0, 1)
    seen = look(parts={LD0: Media.SANITIZING})
    assert planned(seen, mine, allocations=[part()]).steps == ()


# -- giving back ------------------------------------------------------------------------------


def test_a_part_is_unbound_scrubbed_and_then_given_back() -> None:
    mine = claim(LD0, 1)
    seen = look(mine, parts={LD0: Media.DIRTY})
    assert planned(seen, releasing=[mine], freeing=[part()]).steps == (Unbind(mine.vppb, LD0),)
    assert planned(look(parts={LD0: Media.DIRTY}), freeing=[part()]).steps == (Sanitize(LD0),)
    assert planned(look(parts={LD0: Media.SANITIZING}), freeing=[part()]).steps == ()
    assert planned(look(parts={LD0: Media.CLEAN}), freeing=[part()]).steps == (Deallocate(LD0),)
    assert planned(look(), freeing=[part()]) == Plan()


def test_a_part_that_is_bound_by_whomever_is_not_given_back() -> None:
    stranger = claim(LD0, 2)
    seen = look(stranger, parts={LD0: Media.CLEAN})
    assert planned(seen, freeing=[part()]).steps == ()


def test_a_part_that_is_wanted_again_is_not_given_back() -> None:
    seen = look(parts={LD0: Media.CLEAN})
    assert planned(seen, allocations=[part()], freeing=[part()]) == Plan()
    # Whoever wants it bound without wanting it to exist gets nothing, and loses nothing.
    assert planned(seen, claim(LD0, 1), freeing=[part()]).steps == ()


def test_a_part_of_unknown_outcome_is_not_given_back() -> None:
    seen = look(parts={LD0: Media.CLEAN})
    assert planned(seen, freeing=[part()], open_=[LD0]).steps == ()


@pytest.mark.parametrize(
    "port", [replace(PLUGGED, device_present=False), replace(PLUGGED, powered=False)]
)
def test_parts_of_a_device_that_is_away_are_not_taken_for_gone(port: PortState) -> None:
    found = planned(look(port=port), allocations=[part(LD1)], freeing=[part(LD0)])
    assert found.steps == ()


# -- what nobody asked for --------------------------------------------------------------------


def test_a_foreign_part_is_reported_and_left_alone() -> None:
    seen = look(parts={LD1: Media.DIRTY, LD0: Media.CLEAN})
    found = planned(seen, allocations=[part(LD0)])
    assert found == Plan(foreign_parts=(LD1,))


def test_memory_that_is_not_cut_out_of_a_pool_is_no_foreign_part() -> None:
    whole = BindTarget("SW", "D1")
    assert planned(look(parts={whole: Media.DIRTY})) == Plan()


def test_what_is_being_freed_or_may_be_a_late_command_is_no_foreign_part() -> None:
    seen = look(parts={LD0: Media.SANITIZING, LD1: Media.CLEAN})
    assert planned(seen, freeing=[part()], open_=[LD1]).foreign_parts == ()


def test_a_foreign_part_is_scrubbed_and_given_back_where_that_is_asked_for() -> None:
    dirty, clean = look(parts={LD1: Media.DIRTY}), look(parts={LD1: Media.CLEAN})
    assert planned(dirty, enforce=True).steps == (Sanitize(LD1),)
    assert planned(clean, enforce=True).steps == (Deallocate(LD1),)


# -- sharing ----------------------------------------------------------------------------------

ONE, TWO = claim(REGION, 1, shared=True), claim(REGION, 2, shared=True)
SHARED = part(REGION, shareable=True)
IN_USE = {REGION: PartState(1024, Media.DIRTY, shareable=True)}


def test_a_shareable_part_is_bound_for_a_second_host_with_its_contents() -> None:
    found = planned(look(ONE, parts=IN_USE), ONE, TWO, allocations=[SHARED], fresh=[TWO])
    assert found.steps == (Bind(TWO.vppb, REGION),)


def test_an_exclusive_part_is_never_bound_twice() -> None:
    one, two = replace(ONE, shared=False), replace(TWO, shared=False)
    found = planned(look(one, parts=IN_USE), one, two, allocations=[SHARED], fresh=[two])
    assert (found.steps, found.waiting) == ((), {two.vppb})


def test_a_part_that_hardware_does_not_share_is_not_bound_twice() -> None:
    parts = {REGION: PartState(1024, Media.DIRTY, shareable=False)}
    found = planned(look(ONE, parts=parts), ONE, TWO, physical=Plain())
    assert found.steps == ()


def test_a_shared_part_waits_for_who_is_leaving_or_is_a_stranger() -> None:
    seen = look(ONE, parts=IN_USE)
    leaving = planned(seen, TWO, releasing=[ONE], allocations=[SHARED], fresh=[TWO])
    assert leaving.steps == (Unbind(ONE.vppb, REGION),)
    clean = {REGION: PartState(1024, Media.CLEAN, shareable=True)}
    for parts in (IN_USE, clean):
        stranger = planned(look(ONE, parts=parts), TWO, allocations=[SHARED], fresh=[TWO])
        assert (stranger.steps, stranger.foreign) == ((), (pair(ONE),))


def test_who_leaves_a_shared_part_takes_no_contents_along() -> None:
    found = planned(look(TWO, parts=IN_USE), TWO, releasing=[ONE], allocations=[SHARED])
    assert found == Plan()
    # Also while the other's binding is lost: it comes back as it was.
    found = planned(look(parts=IN_USE), TWO, releasing=[ONE], allocations=[SHARED])
    assert found.steps == (Bind(TWO.vppb, REGION),)


def test_the_last_to_leave_a_shared_part_has_it_scrubbed() -> None:
    found = planned(look(parts=IN_USE), releasing=[TWO], allocations=[SHARED])
    assert found.steps == (Sanitize(REGION),)
    found = planned(look(parts=IN_USE), TWO, releasing=[ONE], allocations=[SHARED], fresh=[TWO])
    assert found.steps == (Sanitize(REGION),)


def test_two_hosts_get_a_shared_part_one_after_the_other() -> None:
    clean = {REGION: PartState(1024, Media.CLEAN, shareable=True)}
    found = planned(look(parts=clean), ONE, TWO, allocations=[SHARED], fresh=[ONE, TWO])
    assert found.steps == (Bind(ONE.vppb, REGION),)
    assert found.waiting == {TWO.vppb}


# -- two ways to one device -------------------------------------------------------------------

A, B = BindTarget("SW", "A"), BindTarget("SW", "B")
DUAL = DualPorted()


def test_a_host_may_have_both_ways_to_its_device() -> None:
    first, second = claim(A, 1), claim(B, 1, number=1)
    seen = look(first, parts={A: Media.DIRTY, B: Media.DIRTY})
    found = planned(seen, first, second, fresh=[second], physical=DUAL)
    assert found.steps == (Bind(second.vppb, B),)


def test_a_device_is_not_given_by_its_second_way_while_another_has_the_first() -> None:
    theirs, mine = claim(A, 2), claim(B, 1)
    for releasing in ([theirs], []):
        found = planned(look(theirs), mine, releasing=releasing, fresh=[mine], physical=DUAL)
        assert not any(isinstance(step, Bind) for step in found.steps)
    # Nor if somebody came to want both.
    found = planned(look(theirs), theirs, mine, fresh=[mine], physical=DUAL)
    assert found.steps == ()
    late = planned(look(), mine, releasing=[theirs], open_=[theirs.vppb], physical=DUAL)
    assert late.steps == ()


def test_a_device_is_not_scrubbed_by_one_way_while_it_is_in_use_by_the_other() -> None:
    first, second = claim(A, 1), claim(B, 1, number=1)
    seen = look(first, parts={A: Media.DIRTY, B: Media.DIRTY})
    assert planned(seen, first, releasing=[second], physical=DUAL) == Plan()
    # Its owner's contents survive a restart of the switch, too.
    lost = look(parts={A: Media.DIRTY, B: Media.DIRTY})
    found = planned(lost, first, releasing=[second], physical=DUAL)
    assert found.steps == (Bind(first.vppb, A),)


# -- properties -------------------------------------------------------------------------------

TARGETS = (LD0, LD1, REGION, replace(REGION, region=1), BindTarget("SW", "D1"))
PLACES = tuple(vppb(host, number) for host in (1, 2) for number in (0, 1))


def pair(each: Binding) -> tuple[VppbId, BindTarget]:
    return each.vppb, each.target


@dataclass(frozen=True)
class World:
    """Anything that can be wanted, given up, seen and unknown at one moment."""

    wanted: tuple[Binding, ...]
    releasing: tuple[Binding, ...]
    allocations: tuple[Allocation, ...]
    freeing: tuple[Allocation, ...]
    fresh: tuple[Binding, ...]
    bound: tuple[Binding, ...]
    parts: Mapping[BindTarget, PartState]
    open_: frozenset[Place] = frozenset()
    enforce: bool = False

    def plan(self) -> Plan:
        return planned(
            look(*self.bound, parts=self.parts),
            *self.wanted,
            releasing=self.releasing,
            allocations=self.allocations,
            freeing=self.freeing,
            fresh=self.fresh,
            open_=self.open_,
            enforce=self.enforce,
        )

    def in_use(self, target: BindTarget) -> bool:
        seen, fresh = set(map(pair, self.bound)), {each.vppb for each in self.fresh}
        return any(
            overlaps(each.target, target) and (each.vppb not in fresh or pair(each) in seen)
            for each in self.wanted
        )


sizes = st.sampled_from((512, 1024))
states = st.builds(PartState, sizes, st.sampled_from(Media), st.booleans())


@st.composite
def on_vppbs(draw: st.DrawFn) -> tuple[Binding, ...]:
    """Bindings on distinct vPPBs, otherwise as wrong as can be."""
    found = []
    for place in PLACES:
        target = draw(st.none() | st.sampled_from(TARGETS))
        if target is not None:
            host = int(place.vcs[1:])
            found.append(claim(target, host, draw(st.booleans()), place.vppb))
    return tuple(found)


@st.composite
def parts_of_pools(draw: st.DrawFn) -> tuple[Allocation, ...]:
    chosen = draw(st.frozensets(st.sampled_from(TARGETS[:-1])))
    return tuple(
        part(target, draw(sizes), draw(st.booleans()))
        for target in sorted(chosen, key=lambda target: target.path)
    )


@st.composite
def worlds(draw: st.DrawFn) -> World:
    wanted = draw(on_vppbs())
    fresh = tuple(each for each in wanted if draw(st.booleans()))
    things: list[Place] = [*PLACES, *TARGETS]
    return World(
        wanted,
        draw(on_vppbs()),
        draw(parts_of_pools()),
        draw(parts_of_pools()),
        fresh,
        draw(on_vppbs()),
        draw(st.dictionaries(st.sampled_from(TARGETS), states)),
        draw(st.frozensets(st.sampled_from(things), max_size=2)),
        draw(st.booleans()),
    )


def touched(world: World, target: BindTarget) -> list[Binding]:
    return [each for each in world.bound if overlaps(each.target, target)]


@given(worlds())
def test_nothing_dirty_unallocated_or_taken_is_ever_bound(world: World) -> None:
    wished = {each.target: (each.size_mib, each.shareable) for each in world.allocations}
    claims = {pair(each): each for each in world.wanted}
    for step in world.plan().steps:
        if not isinstance(step, Bind):
            continue
        mine, state = claims[step.vppb, step.target], world.parts.get(step.target)
        assert step.vppb not in {each.vppb for each in world.bound}
        if step.target.port == "M1":
            assert state is not None
            assert (state.size_mib, state.shareable) == wished[step.target]
        if state is not None and state.media is not Media.CLEAN:
            assert state.media is Media.DIRTY and world.in_use(step.target)
        for other in touched(world, step.target):
            assert mine.shared and claims[pair(other)].shared and other.target == step.target
            assert state is None or state.shareable


@given(worlds())
def test_what_is_bound_wanted_or_dirty_is_never_given_back(world: World) -> None:
    mine = {each.target for each in world.freeing}
    for step in world.plan().steps:
        if isinstance(step, Deallocate):
            assert touched(world, step.target) == []
            assert world.parts[step.target].media is Media.CLEAN
            assert not any(overlaps(step.target, each.target) for each in world.wanted)
            assert not any(overlaps(step.target, each.target) for each in world.allocations)
            assert step.target in mine or world.enforce


@given(worlds())
def test_only_what_was_given_up_or_is_new_is_scrubbed_and_never_while_it_is_bound(
    world: World,
) -> None:
    gone = {each.target for each in (*world.releasing, *world.freeing, *world.fresh)}
    for step in world.plan().steps:
        if isinstance(step, Sanitize):
            assert touched(world, step.target) == []
            assert world.parts[step.target].media is Media.DIRTY
            assert not world.in_use(step.target)
            assert step.target in gone or world.enforce


@given(worlds())
def test_no_step_meets_another_or_a_command_of_unknown_outcome(world: World) -> None:
    steps = world.plan().steps
    where = [step.target for step in steps]
    assert not any(overlaps(a, b) for i, a in enumerate(where) for b in where[i + 1 :])
    vppbs = [step.vppb for step in steps if isinstance(step, Bind | Unbind)]
    assert len(vppbs) == len(set(vppbs))
    assert not any(place in world.open_ for step in steps for place in places(step))


@given(worlds())
def test_every_part_that_is_missing_is_said_to_be(world: World) -> None:
    missing = {
        each.target
        for each in world.allocations
        if each.target not in world.parts
        or world.parts[each.target].size_mib != each.size_mib
        or world.parts[each.target].shareable != each.shareable
    }
    found = world.plan()
    assert found.unmet_parts == missing
    made = {each.target for each in found.steps if isinstance(each, Allocate)}
    assert found.blocked_parts <= missing - made


# -- a perfect world --------------------------------------------------------------------------


@st.composite
def consistent(draw: st.DrawFn) -> World:
    """What rules allow: claims on allocated parts, and everything seen is wanted or given up."""
    allocations = draw(parts_of_pools())
    wanted = draw(on_vppbs())
    shareable = {each.target: each.shareable for each in allocations}
    shareable[TARGETS[-1]] = False
    wanted = tuple(
        replace(each, shared=shareable[each.target]) for each in wanted if each.target in shareable
    )
    kept: list[Binding] = []
    for each in wanted:
        rivals = [other for other in kept if overlaps(other.target, each.target)]
        if not rivals or (each.shared and all(other.host != each.host for other in rivals)):
            kept.append(each)
    parts = dict(draw(st.dictionaries(st.sampled_from(TARGETS[:-1]), states)))
    for each in allocations:
        if each.target in parts:
            size = replace(parts[each.target], size_mib=each.size_mib, shareable=each.shareable)
            parts[each.target] = size
    bound: list[Binding] = []
    for each in draw(on_vppbs()):
        rivals = [other for other in bound if overlaps(other.target, each.target)]
        state = parts.get(each.target)
        there = state is not None or each.target == TARGETS[-1]
        if there and (not rivals or (state is not None and state.shareable)):
            bound.append(each)
            if state is not None:
                parts[each.target] = replace(state, media=Media.DIRTY)
    ours, seen = set(map(pair, kept)), set(map(pair, bound))
    releasing = tuple(each for each in bound if pair(each) not in ours)
    wished = {each.target for each in allocations}
    freeing = tuple(
        part(target, state.size_mib, state.shareable)
        for target, state in parts.items()
        if target not in wished
    )
    fresh = tuple(each for each in kept if pair(each) not in seen)
    return World(tuple(kept), releasing, allocations, freeing, fresh, tuple(bound), parts)


def carried_out(world: World, steps: Iterable[Step]) -> World:
    """Return what obedient hardware shows next; it would refuse what must not happen."""
    bound = {each.vppb: each for each in world.bound}
    parts = {
        target: replace(state, media=Media.CLEAN) if state.media is Media.SANITIZING else state
        for target, state in world.parts.items()
    }
    claims = {pair(each): each for each in (*world.wanted, *world.releasing)}
    for step in steps:
        match step:
            case Bind(place, target):
                bound[place] = claims[place, target]
                if target in parts:
                    parts[target] = replace(parts[target], media=Media.DIRTY)
            case Unbind(place, _):
                del bound[place]
            case Allocate(target, size_mib, shareable):
                assert target not in parts
                parts[target] = PartState(size_mib, Media.CLEAN, shareable)
            case Deallocate(target):
                assert parts[target].media is Media.CLEAN
                del parts[target]
            case Sanitize(target):
                parts[target] = replace(parts[target], media=Media.SANITIZING)
    return replace(world, bound=tuple(bound.values()), parts=parts)


@given(consistent())
def test_perfect_hardware_ends_with_exactly_what_is_wanted(world: World) -> None:
    for _ in range(16):
        found = world.plan()
        assert (found.foreign, found.foreign_parts) == ((), ())
        world = carried_out(world, found.steps)
    assert world.plan() == Plan()
    assert {pair(each) for each in world.bound} == {pair(each) for each in world.wanted}
    assert {(each.target, each.size_mib, each.shareable) for each in world.allocations} == {
        (target, state.size_mib, state.shareable)
        for target, state in world.parts.items()
        if target.port == "M1"
    }
