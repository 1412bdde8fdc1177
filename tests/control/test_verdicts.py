"""What one look says of an open operation: nothing is over before it is seen behind a barrier."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from redfish_fm.control.verdicts import Look, achieved, described, is_only_cleaning, missing
from redfish_fm.fabric.ground import Targets
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
)
from redfish_fm.fabric.values import Allocation, Binding
from redfish_fm.mapping.operations import Operation
from redfish_fm.redfish.writes import OutcomeKind

VPPB, LD = VppbId("SW", "1", 0), BindTarget("SW", "M1", 3)
BINDING = Binding("F", "u", "h", VPPB, LD, frozenset({"c"}))
WHOLE = BindTarget("SW", "D1")
WHOLE_PORT = BindTarget("SW", "M1")
OUT = BindTarget("TAKEN OUT", "M1")
FAR_VPPB, FAR = VppbId("SW", "1", 1), BindTarget("FAR", "M1", 0)
PART = Allocation("F", LD, 1024, "chunk")
OPERATION = Operation("1", "/t", OutcomeKind.CREATED, "F", "c", frozenset(), "a", "now")
THERE = PartState(1024)
PLUGGED = PortState(link_up=True, device_present=True)


def look(
    bound: bool = False,
    part: PartState | None = None,
    *,
    open_: tuple[Place, ...] = (),
    dark: bool = False,
    port: PortState = PLUGGED,
    wanted: bool = False,
    in_use: bool = False,
    allocations: Mapping[BindTarget, Allocation] | None = None,
    keeping: frozenset[BindTarget] = frozenset(),
    silent: str = "SW",
) -> Look:
    unreachable = frozenset({silent}) if dark else frozenset[str]()
    seen = Observation(
        "F",
        0.0,
        0.0,
        {VPPB: LD if bound else None, FAR_VPPB: FAR if bound else None},
        {PortId("SW", "M1"): port, PortId("SW", "D1"): port},
        unreachable,
        {} if part is None else {LD: part},
    )
    pairs = frozenset({(VPPB, LD)}) if wanted else frozenset[tuple[VppbId, BindTarget]]()
    unsettled: Callable[[Place], bool] = lambda place: place in open_  # noqa: E731
    in_use_here = Targets([LD] if in_use else [])
    return Look(seen, pairs, in_use_here, allocations or {}, unsettled, keeping=keeping)


def test_a_grant_is_over_when_it_is_seen_and_its_vppb_settled() -> None:
    operation = replace(OPERATION, granted=(BINDING,))
    assert achieved(operation, look(bound=True))
    assert not achieved(operation, look())
    assert not achieved(operation, look(bound=True, open_=(VPPB,)))
    assert not achieved(operation, look(bound=True, dark=True))
    assert missing(operation, look()) == (Bind(VPPB, LD),)


def test_an_allocation_is_over_when_it_is_seen_as_it_was_asked_for() -> None:
    operation = replace(OPERATION, allocated=(PART,))
    assert achieved(operation, look(part=THERE))
    for other in (None, PartState(512), PartState(1024, shareable=True)):
        assert not achieved(operation, look(part=other))
    assert not achieved(operation, look(part=THERE, open_=(LD,)))
    assert not achieved(operation, look(part=THERE, dark=True))
    assert missing(operation, look()) == (Allocate(LD, 1024),)


def test_a_release_is_over_when_it_is_unbound_settled_and_clean() -> None:
    operation = replace(OPERATION, released=(BINDING,))
    assert achieved(operation, look()) and achieved(operation, look(part=THERE))
    assert not achieved(operation, look(bound=True))
    for place in (VPPB, LD):
        assert not achieved(operation, look(open_=(place,)))
    for media in (Media.DIRTY, Media.SANITIZING):
        assert not achieved(operation, look(part=PartState(1024, media)))
    assert not achieved(operation, look(dark=True))


def test_a_release_is_over_where_others_go_on_to_use_the_contents() -> None:
    operation = replace(OPERATION, released=(BINDING,))
    dirty = PartState(1024, Media.DIRTY)
    assert achieved(operation, look(part=dirty, in_use=True))
    assert achieved(operation, look(bound=True, part=dirty, wanted=True))


def test_a_part_is_given_back_when_it_is_seen_gone_and_settled() -> None:
    operation = replace(OPERATION, freed=(PART,))
    assert achieved(operation, look())
    assert not achieved(operation, look(part=THERE))
    assert not achieved(operation, look(open_=(LD,)))
    assert not achieved(operation, look(dark=True))
    assert achieved(operation, look(part=THERE, allocations={LD: PART}))


AWAY = [replace(PLUGGED, device_present=False), replace(PLUGGED, powered=False)]


@pytest.mark.parametrize("port", AWAY)
def test_a_part_of_a_device_that_is_away_is_not_gone(port: PortState) -> None:
    assert not achieved(replace(OPERATION, freed=(PART,)), look(port=port))


@pytest.mark.parametrize("port", AWAY)
def test_what_is_in_a_device_that_is_away_is_not_known_to_be_scrubbed(port: PortState) -> None:
    operation = replace(OPERATION, released=(BINDING,))
    assert not achieved(operation, look(port=port))
    assert achieved(operation, look(port=port, in_use=True))
    whole = replace(OPERATION, released=(replace(BINDING, target=WHOLE),))
    assert not achieved(whole, look(port=port, keeping=frozenset({WHOLE})))


@pytest.mark.parametrize("port", AWAY)
def test_the_release_of_a_device_that_keeps_nothing_does_not_wait_for_its_return(
    port: PortState,
) -> None:
    whole = replace(OPERATION, released=(replace(BINDING, target=WHOLE),))
    assert achieved(whole, look(port=port))


def test_what_is_behind_a_silent_switch_is_not_known_to_be_scrubbed() -> None:
    far = replace(BINDING, vppb=FAR_VPPB, target=FAR)
    operation = replace(OPERATION, released=(far,))
    assert achieved(operation, look())
    assert not achieved(operation, look(dark=True, silent="FAR"))


def test_a_binding_is_told_by_the_switch_of_its_vppb_and_by_no_other() -> None:
    operation = replace(OPERATION, granted=(replace(BINDING, vppb=FAR_VPPB, target=FAR),))
    assert achieved(operation, look(bound=True))
    assert achieved(operation, look(bound=True, dark=True, silent="FAR"))
    assert not achieved(operation, look(bound=True, dark=True, silent="SW"))


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Bind(VPPB, LD), "Bind of ld 3 to vPPB SW/1/0"),
        (Bind(VPPB, BindTarget("SW", "D1")), "Bind of vPPB SW/1/0"),
        (Unbind(VPPB, LD), "Unbind of ld 3 from vPPB SW/1/0"),
        (Bind(VPPB, BindTarget("SW", "P", namespace=7)), "Attachment of namespace 7 of SW to 1"),
        (
            Unbind(VPPB, BindTarget("SW", "P", namespace=7)),
            "Detachment of namespace 7 of SW from 1",
        ),
        (Allocate(LD, 1024), "Allocate of ld 3 with 1024 MiB"),
        (Sanitize(replace(LD, region=2)), "Sanitize of region 2 of ld 3"),
        (Deallocate(BindTarget("S", "P", namespace=7)), "Deallocate of namespace 7"),
        (Sanitize(BindTarget("SW", "D1")), "Sanitize of the whole device"),
    ],
)
def test_a_step_is_described_by_what_it_does_to_what(step: Step, words: str) -> None:
    assert described(step) == words


@pytest.mark.parametrize("now", [WHOLE_PORT, replace(LD, region=0)], ids=["all of it", "a part"])
def test_a_release_is_not_over_while_its_vppb_has_what_overlaps_the_target(now: BindTarget) -> None:
    operation = replace(OPERATION, released=(BINDING,))
    seen = look().seen
    turned = replace(look(), seen=replace(seen, bindings={**seen.bindings, VPPB: now}))
    assert achieved(operation, look())
    assert not achieved(operation, turned)
    wanted = replace(turned, bindings=frozenset({(VPPB, now)}))
    assert achieved(operation, wanted)


def test_a_release_is_over_when_its_vppb_has_something_else() -> None:
    operation = replace(OPERATION, released=(BINDING,))
    seen = look().seen
    for other in (WHOLE, replace(LD, ld=4)):
        turned = replace(look(), seen=replace(seen, bindings={**seen.bindings, VPPB: other}))
        assert achieved(operation, turned)


def test_a_release_waits_for_no_scrub_of_what_is_in_other_hands() -> None:
    operation, dirty = replace(OPERATION, released=(BINDING,)), PartState(1024, Media.DIRTY)
    other, seen = VppbId("SW", "2", 0), look(part=dirty).seen
    assert not achieved(operation, look(part=dirty))
    for now, over in ((LD, True), (WHOLE_PORT, True), (replace(LD, ld=4), False), (None, False)):
        there = replace(seen, bindings={**seen.bindings, other: now})
        assert achieved(operation, replace(look(), seen=there)) is over
    mine_too = replace(seen, bindings={VPPB: LD, other: LD})
    assert not achieved(operation, replace(look(), seen=mine_too))
    far = replace(other, switch="FAR")
    dark = replace(seen, bindings={**seen.bindings, far: LD}, unreachable=frozenset({"FAR"}))
    assert not achieved(operation, replace(look(), seen=dark))


def test_what_its_switch_does_not_have_any_more_is_unbound() -> None:
    gone = replace(BINDING, vppb=VppbId("SW", "9", 0))
    elsewhere = replace(BINDING, vppb=VppbId("TAKEN OUT", "1", 0), target=OUT)
    assert achieved(replace(OPERATION, released=(gone, elsewhere)), look())
    assert not achieved(replace(OPERATION, released=(gone,)), look(dark=True))
    silent = look(dark=True, silent="TAKEN OUT")
    assert not achieved(replace(OPERATION, released=(elsewhere,)), silent)


def test_a_part_that_another_manager_has_bound_is_given_up_once_nothing_of_ours_is_open() -> None:
    operation = replace(OPERATION, freed=(PART,))
    held = replace(look(part=THERE), foreign=((FAR_VPPB, LD),))
    assert not achieved(operation, look(part=THERE))
    assert achieved(operation, held)
    assert not achieved(operation, replace(held, unsettled=lambda place: place == LD))
    other = replace(look(part=THERE), foreign=((FAR_VPPB, replace(LD, ld=4)),))
    assert not achieved(operation, other)
    assert (held.holder(LD), held.holder(WHOLE_PORT), other.holder(LD)) == (
        FAR_VPPB,
        FAR_VPPB,
        None,
    )


def test_only_cleaning_is_left_when_nothing_is_bound_any_more() -> None:
    operation = replace(OPERATION, released=(BINDING,), freed=(PART,))
    dirty = PartState(1024, Media.DIRTY)
    assert is_only_cleaning(operation, look(part=dirty))
    assert not is_only_cleaning(operation, look(bound=True, part=dirty))
    assert not is_only_cleaning(operation, look(part=dirty, open_=(VPPB,)))
    assert not is_only_cleaning(operation, look(part=dirty, dark=True))
    assert is_only_cleaning(replace(OPERATION, freed=(PART,)), look(dark=True))
    assert not is_only_cleaning(replace(operation, allocated=(PART,)), look(part=dirty))


def test_what_another_device_does_not_have_is_not_given_back_by_the_first() -> None:
    operation = replace(OPERATION, freed=(PART,))
    assert achieved(operation, look())
    assert not achieved(operation, replace(look(), displaced=frozenset({LD})))
