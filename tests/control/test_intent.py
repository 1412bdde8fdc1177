"""What a fabric is to become: what was seen given once is its owner's, whatever is lost later."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from redfish_fm.control.intent import Intent
from redfish_fm.control.verdicts import achieved
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import (
    Bind,
    BindTarget,
    Media,
    Observation,
    PartState,
    PortId,
    PortState,
    Sanitize,
    Step,
    Unbind,
)
from redfish_fm.fabric.values import Allocation, Binding
from redfish_fm.mapping.operations import Operation
from redfish_fm.redfish.writes import OutcomeKind
from tests.fabric.builders import a_fabric, binding, observation

MINE = binding("D1", 1, holder="z")
OPENED = Operation(
    "1", "/t", OutcomeKind.CREATED, "F", "z", frozenset(), "a", "now", granted=(MINE,)
)


def an_intent(index: FabricIndex, *open_: Operation) -> Intent:
    published: Any = SimpleNamespace(state=SimpleNamespace(index=index))
    operations: Any = SimpleNamespace(
        open_of=lambda _fabric: list(open_), left_of=lambda _fabric: []
    )
    return Intent("F", published, operations)


def dirty(*bound: Binding) -> Observation:
    return replace(observation(*bound), parts={MINE.target: PartState(1024, Media.DIRTY)})


def steps(intent: Intent, seen: Observation) -> tuple[Step, ...]:
    return intent.plan(seen, lambda _: False, enforce=False).steps


def wanting() -> FabricIndex:
    index = a_fabric()
    index.put_binding(MINE)
    return index


def test_a_new_binding_is_scrubbed_first_until_it_was_seen_once() -> None:
    intent = an_intent(wanting(), OPENED)
    assert steps(intent, dirty()) == (Sanitize(MINE.target),)
    assert steps(intent, dirty(MINE)) == ()
    assert steps(intent, dirty()) == (Bind(MINE.vppb, MINE.target),)


def test_a_stale_view_of_a_silent_switch_is_no_sight_of_it() -> None:
    intent = an_intent(wanting(), OPENED)
    assert steps(intent, replace(dirty(MINE), unreachable=frozenset({"SW"}))) == ()
    assert steps(intent, dirty()) == (Sanitize(MINE.target),)


def test_what_no_open_operation_binds_is_established() -> None:
    assert steps(an_intent(wanting()), dirty()) == (Bind(MINE.vppb, MINE.target),)


GONE = PortState(link_up=False, device_present=False)
RELEASE = replace(OPENED, granted=(), released=(MINE,))


def away(seen: Observation) -> Observation:
    port = PortId(MINE.target.switch, MINE.target.port)
    return replace(seen, ports={port: GONE}, parts={})


def over(intent: Intent, seen: Observation) -> bool:
    return achieved(RELEASE, intent.look(seen, lambda _: False))


def test_a_release_waits_for_a_device_that_once_told_what_is_in_it() -> None:
    intent = an_intent(a_fabric(), RELEASE)
    assert not over(intent, dirty())
    assert not over(intent, away(observation()))
    assert over(intent, replace(dirty(), parts={MINE.target: PartState(1024)}))


def test_a_release_does_not_wait_for_a_device_that_never_told_what_is_in_it() -> None:
    assert over(an_intent(a_fabric(), RELEASE), away(observation()))


def test_a_look_is_of_one_moment_whatever_is_published_while_it_is_judged() -> None:
    index, part = a_fabric(), Allocation("F", BindTarget("SW", "M1", 0), 1024, "c")
    freeing = replace(OPENED, granted=(), freed=(part,))
    chunk = replace(index.chunks["C-M1.0"], allocation=part)
    index.put_chunk(chunk)
    wanted = an_intent(index, freeing).look(observation(), lambda _: False)
    there = replace(wanted.seen, parts={part.target: PartState(1024)})
    index.remove_chunk(chunk.id)
    assert achieved(freeing, replace(wanted, seen=there))
    unwanted = an_intent(index, freeing).look(there, lambda _: False)
    index.put_chunk(chunk)
    assert not achieved(freeing, unwanted)


def test_what_is_given_up_is_unbound_as_it_shows_now() -> None:
    intent = an_intent(a_fabric(), RELEASE)
    for now in (replace(MINE.target, ld=2), MINE.target):
        seen = replace(observation(), bindings={MINE.vppb: now})
        assert steps(intent, seen) == (Unbind(MINE.vppb, now),)
        assert intent.plan(seen, lambda _: False, enforce=False).foreign == ()


def test_what_shows_there_and_overlaps_nothing_given_up_is_somebody_elses() -> None:
    elsewhere = replace(MINE.target, port="D2")
    seen = replace(observation(), bindings={MINE.vppb: elsewhere})
    found = an_intent(a_fabric(), RELEASE).plan(seen, lambda _: False, enforce=False)
    assert (found.steps, found.foreign) == ((), ((MINE.vppb, elsewhere),))


def test_what_shows_there_and_is_wanted_there_stays() -> None:
    before = replace(MINE, target=replace(MINE.target, ld=2))
    release = replace(RELEASE, released=(before,))
    found = an_intent(wanting(), release).plan(observation(MINE), lambda _: False, enforce=False)
    assert (found.steps, found.foreign) == ((), ())
