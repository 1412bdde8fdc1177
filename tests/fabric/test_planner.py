"""The plan: what is safe to do next. Tables first, then properties over random fabrics."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.fabric.binding import Plan, overlaps, plan
from redfish_fm.fabric.ground import Targets
from redfish_fm.fabric.model import Bind, BindTarget, Observation, Place, Step, Unbind
from redfish_fm.fabric.values import Binding
from tests.fabric.builders import binding, observation, vppb

Unsettled = Callable[[Place], bool]


def settled(_: Place) -> bool:
    return False


def unsettled(*items: Place) -> Unsettled:
    """Tell of these and, as Settling does, of every target that overlaps one of them."""
    targets = Targets(item for item in items if isinstance(item, BindTarget))
    return lambda item: item in items or (isinstance(item, BindTarget) and targets.touch(item))


def bind(item: Binding) -> Bind:
    return Bind(item.vppb, item.target)


def unbind(item: Binding) -> Unbind:
    return Unbind(item.vppb, item.target)


MINE = binding("D1", 1)
OTHER_HOST = binding("D1", 2)
LD = binding("M1.0", 1)
OTHER_LD = binding("M1.1", 2)
WHOLE = binding("M1", 2)


def test_a_wanted_binding_on_a_free_vppb_is_bound() -> None:
    assert plan([MINE], [], observation(), settled) == Plan(
        steps=(bind(MINE),), unmet=frozenset({MINE.vppb})
    )


def test_a_wanted_binding_that_is_observed_needs_nothing() -> None:
    assert plan([MINE], [], observation(MINE), settled) == Plan()


def test_a_release_is_unbound_and_once_observed_needs_nothing() -> None:
    assert plan([], [MINE], observation(MINE), settled) == Plan(steps=(unbind(MINE),))
    assert plan([], [MINE], observation(), settled) == Plan()


def test_a_grant_waits_until_the_release_of_its_unit_is_observed() -> None:
    found = plan([OTHER_HOST], [MINE], observation(MINE), settled)
    waits = frozenset({OTHER_HOST.vppb})
    assert found == Plan(steps=(unbind(MINE),), waiting=waits, unmet=waits)


def test_a_vppb_is_emptied_before_it_is_used_again() -> None:
    again = replace(LD, vppb=MINE.vppb)
    found = plan([again], [MINE], observation(MINE), settled)
    assert found.steps == (unbind(MINE),)
    assert plan([again], [MINE], observation(), settled).steps == (bind(again),)


def test_a_binding_released_and_wanted_again_is_unbound_first() -> None:
    assert plan([MINE], [MINE], observation(MINE), settled) == Plan(
        steps=(unbind(MINE),), unmet=frozenset({MINE.vppb})
    )


def test_unbinds_come_before_binds() -> None:
    found = plan([binding("D2", 1, 0)], [binding("D3", 2)], observation(binding("D3", 2)), settled)
    assert [type(step) for step in found.steps] == [Unbind, Bind]


@pytest.mark.parametrize(
    ("wanted", "bound"),
    [(MINE, OTHER_HOST), (LD, WHOLE), (WHOLE, LD), (LD, replace(LD, vppb=vppb(2)))],
    ids=["same port", "LD of a whole port", "whole port of an LD", "same LD"],
)
def test_a_target_that_is_seen_bound_elsewhere_is_left_alone(
    wanted: Binding, bound: Binding
) -> None:
    found = plan([wanted], [], observation(bound), settled)
    assert found.steps == ()
    assert found.waiting == {wanted.vppb}
    assert found.foreign == ((bound.vppb, bound.target),)


def test_two_lds_of_one_mld_do_not_disturb_each_other() -> None:
    assert plan([LD, OTHER_LD], [], observation(OTHER_LD), settled).steps == (bind(LD),)


@pytest.mark.parametrize("item", [MINE.vppb, MINE.target])
def test_what_is_unsettled_is_neither_bound_nor_unbound(item: Place) -> None:
    granted = plan([MINE], [], observation(), unsettled(item))
    assert (granted.steps, granted.waiting) == ((), {MINE.vppb})
    released = plan([], [MINE], observation(MINE), unsettled(item))
    assert (released.steps, released.waiting) == ((), {MINE.vppb})


@pytest.mark.parametrize(("wanted", "open_"), [(WHOLE, LD), (LD, WHOLE)])
def test_an_unsettled_part_or_whole_holds_a_target_back(wanted: Binding, open_: Binding) -> None:
    found = plan([wanted], [], observation(), unsettled(open_.target))
    assert (found.steps, found.waiting) == ((), {wanted.vppb})


def test_a_release_of_unknown_outcome_holds_its_target_back_even_if_it_looks_free() -> None:
    found = plan([OTHER_HOST], [MINE], observation(), unsettled(MINE.vppb))
    assert (found.steps, found.waiting) == ((), {MINE.vppb, OTHER_HOST.vppb})


def test_an_unreachable_switch_is_left_alone() -> None:
    dark = observation(unreachable=frozenset({"SW"}))
    found = plan([OTHER_HOST], [MINE], dark, settled)
    assert (found.steps, found.waiting) == ((), {MINE.vppb, OTHER_HOST.vppb})
    assert found.unmet == {OTHER_HOST.vppb}


def test_a_stale_view_of_an_unreachable_switch_is_not_believed() -> None:
    stale = replace(observation(MINE), unreachable=frozenset({"SW"}))
    found = plan([], [MINE], stale, settled)
    assert (found.steps, found.foreign) == ((), ())


def test_a_stale_view_of_an_unreachable_switch_proves_nothing() -> None:
    stale = replace(observation(MINE, OTHER_LD), unreachable=frozenset({"SW"}))
    found = plan([MINE], [], stale, settled)
    assert found == Plan(waiting=frozenset({MINE.vppb}), unmet=frozenset({MINE.vppb}))


def test_a_vppb_that_does_not_exist_waits() -> None:
    found = plan([binding("D1", 9)], [], observation(), settled)
    assert (found.steps, found.waiting) == ((), {vppb(9)})


def test_foreign_bindings_are_reported_and_left_alone() -> None:
    found = plan([], [], observation(MINE), settled)
    assert found == Plan(foreign=((MINE.vppb, MINE.target),))


def test_foreign_bindings_are_unbound_when_enforced() -> None:
    found = plan([OTHER_HOST], [], observation(MINE), settled, enforce=True)
    assert found.steps == (unbind(MINE),)
    assert found.foreign == ((MINE.vppb, MINE.target),)
    assert found.waiting == {OTHER_HOST.vppb}


def test_what_may_be_a_late_command_of_ours_is_not_called_foreign() -> None:
    found = plan([], [], observation(MINE), unsettled(MINE.vppb), enforce=True)
    assert found == Plan(waiting=frozenset({MINE.vppb}))


def test_a_foreign_binding_on_a_wanted_vppb_makes_it_wait() -> None:
    squatter = replace(LD, vppb=MINE.vppb)
    found = plan([MINE], [], observation(squatter), settled)
    assert (found.steps, found.waiting) == ((), {MINE.vppb})


def test_two_claims_to_one_target_never_both_get_a_step() -> None:
    assert plan([MINE, OTHER_HOST], [], observation(), settled).steps == (bind(MINE),)
    assert len(plan([LD, WHOLE], [], observation(), settled).steps) == 1


def test_two_claims_to_one_vppb_never_both_get_a_step() -> None:
    found = plan([MINE, replace(LD, vppb=MINE.vppb)], [], observation(), settled)
    assert found.steps == (bind(MINE),)
    assert found.waiting == {MINE.vppb}


# -- properties -------------------------------------------------------------------------------

UNITS = ["D1", "D2", "M1", "M1.0", "M1.1"]
PLACES = [(host, number) for host in (1, 2) for number in (0, 1)]


@dataclass(frozen=True)
class World:
    """A random fabric: consistent claims, any releases, any observation, any open commands."""

    wanted: tuple[Binding, ...]
    releasing: tuple[Binding, ...]
    observed: tuple[Binding, ...]
    open_: frozenset[Place] = field(default_factory=frozenset)

    def look(self, observed: Iterable[Binding] | None = None) -> Observation:
        return observation(*(self.observed if observed is None else observed), vppbs=2)

    def plan(self, enforce: bool = False) -> Plan:
        return plan(self.wanted, self.releasing, self.look(), unsettled(*self.open_), enforce)


@st.composite
def bindings(draw: st.DrawFn, consistent: bool) -> tuple[Binding, ...]:
    """Bindings on distinct vPPBs; `consistent`: no target twice, no whole port beside its LD."""
    found: list[Binding] = []
    for host, number in PLACES:
        unit = draw(st.none() | st.sampled_from(UNITS))
        item = binding(unit, host, number) if unit else None
        if item and not (consistent and any(overlaps(item.target, o.target) for o in found)):
            found.append(item)
    return tuple(found)


@st.composite
def worlds(draw: st.DrawFn, faults: bool = True) -> World:
    wanted = draw(bindings(consistent=True))
    observed = draw(bindings(consistent=not faults))
    if faults:
        releasing = draw(bindings(consistent=False))
        things: list[Place] = []
        things += [item.vppb for item in (*wanted, *releasing, *observed)]
        things += [item.target for item in (*wanted, *releasing, *observed)]
        open_ = draw(st.frozensets(st.sampled_from(things), max_size=3)) if things else frozenset()
        return World(wanted, releasing, observed, open_)
    ours = {(item.vppb, item.target) for item in wanted}
    releasing = tuple(item for item in observed if (item.vppb, item.target) not in ours)
    return World(wanted, releasing, observed)


def targets_of(steps: Iterable[Step]) -> list[BindTarget]:
    return [step.target for step in steps]


@given(worlds())
def test_nothing_is_bound_to_what_is_taken_or_onto_what_is_occupied(world: World) -> None:
    seen = {item.vppb: item.target for item in world.observed}
    for step in world.plan().steps:
        if isinstance(step, Bind):
            assert step.vppb not in seen
            assert not any(overlaps(step.target, target) for target in seen.values())


@given(worlds(), st.booleans())
def test_one_plan_touches_no_vppb_and_no_target_twice(world: World, enforce: bool) -> None:
    steps = world.plan(enforce).steps
    assert len({step.vppb for step in steps}) == len(steps)
    targets = targets_of(steps)
    pairs = [(a, b) for i, a in enumerate(targets) for b in targets[i + 1 :]]
    assert not any(overlaps(one, other) for one, other in pairs)


@given(worlds(), st.booleans())
def test_what_is_unsettled_is_never_touched(world: World, enforce: bool) -> None:
    open_targets = [item for item in world.open_ if isinstance(item, BindTarget)]
    for step in world.plan(enforce).steps:
        assert step.vppb not in world.open_
        assert not any(overlaps(step.target, target) for target in open_targets)


@given(worlds())
def test_only_what_is_releasing_is_unbound_unless_enforced(world: World) -> None:
    leaving = {(item.vppb, item.target) for item in world.releasing}
    for step in world.plan().steps:
        if isinstance(step, Unbind):
            assert (step.vppb, step.target) in leaving


@given(worlds(), st.booleans())
def test_planning_twice_gives_the_same_plan(world: World, enforce: bool) -> None:
    assert world.plan(enforce) == world.plan(enforce)


@given(worlds(), st.booleans())
def test_every_unmet_claim_has_a_step_or_waits(world: World, enforce: bool) -> None:
    found = world.plan(enforce)
    seen = {item.vppb: item.target for item in world.observed}
    stepped = {step.vppb for step in found.steps}
    for item in world.wanted:
        if seen.get(item.vppb) != item.target:
            assert item.vppb in found.unmet
            assert item.vppb in stepped | found.waiting


def carried_out(observed: Iterable[Binding], steps: Iterable[Step]) -> tuple[Binding, ...]:
    """Return what an obedient switch shows afterwards."""
    seen = {item.vppb: item for item in observed}
    for step in steps:
        if isinstance(step, Bind):
            seen[step.vppb] = replace(binding("D1", 1), vppb=step.vppb, target=step.target)
        elif step.vppb in seen and seen[step.vppb].target == step.target:
            del seen[step.vppb]
    return tuple(seen.values())


@given(worlds(faults=False))
def test_an_obedient_switch_ends_with_exactly_what_is_wanted(world: World) -> None:
    observed = world.observed
    for _ in range(3):
        found = plan(world.wanted, world.releasing, world.look(observed), settled)
        assert found.foreign == ()
        observed = carried_out(observed, found.steps)
    assert plan(world.wanted, world.releasing, world.look(observed), settled) == Plan()
    assert {(item.vppb, item.target) for item in observed} == {
        (item.vppb, item.target) for item in world.wanted
    }
