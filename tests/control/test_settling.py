"""Settling: a command counts as dealt with only when an observation proves it."""

import pytest

from redfish_fm.control.settling import Settling
from redfish_fm.fabric.model import Bind, BindTarget, Sanitize, VppbId

VPPB, OTHER = VppbId("sw", "1", 0), VppbId("sw", "1", 1)
TARGET = BindTarget("sw", "D1")
STEP = Bind(VPPB, TARGET)


@pytest.fixture
def settling() -> Settling:
    """Everything before time 10 is proved."""
    settling = Settling(start_s=0.0)
    look(settling, 10.0)
    return settling


def look(settling: Settling, barrier_s: float) -> None:
    settling.look_begins()
    settling.look_ended(barrier_s)


def test_at_first_everything_is_unsettled_until_the_start_is_proved() -> None:
    settling = Settling(start_s=5.0)
    look(settling, 4.9)
    assert settling.unsettled(VPPB) and settling.unsettled(TARGET)
    look(settling, 5.0)
    assert not settling.unsettled(VPPB) and not settling.unsettled(TARGET)


def test_a_sent_step_unsettles_its_vppb_and_its_target_only(settling: Settling) -> None:
    settling.sent(STEP, 11.0)
    assert settling.unsettled(VPPB) and settling.unsettled(TARGET)
    assert not settling.unsettled(OTHER)
    assert settling.open_places() == {VPPB, TARGET}


def test_an_accepted_step_is_unsettled_until_a_later_barrier(settling: Settling) -> None:
    settling.sent(STEP, 11.0)
    settling.returned(STEP)
    look(settling, 10.9)
    assert settling.unsettled(VPPB)
    look(settling, 11.0)
    assert not settling.unsettled(VPPB)


def test_a_step_still_running_is_not_settled_by_any_barrier(settling: Settling) -> None:
    settling.sent(STEP, 11.0)
    look(settling, 99.0)
    assert settling.unsettled(VPPB)


def test_a_step_that_returned_during_a_look_is_not_settled_by_it(settling: Settling) -> None:
    settling.sent(STEP, 11.0)
    settling.look_begins()
    settling.returned(STEP)
    settling.look_ended(99.0)
    assert settling.unsettled(VPPB)
    look(settling, 99.0)
    assert not settling.unsettled(VPPB)


def test_a_refused_step_is_settled_at_once(settling: Settling) -> None:
    settling.sent(STEP, 11.0)
    settling.refused(STEP)
    assert not settling.unsettled(VPPB) and not settling.unsettled(TARGET)
    assert settling.open_places() == frozenset()


def test_an_older_proof_does_not_take_a_newer_one_back(settling: Settling) -> None:
    look(settling, 1.0)
    assert not Settling.unsettled(settling, VPPB)


def test_a_step_without_a_vppb_unsettles_its_target_and_what_overlaps_it(
    settling: Settling,
) -> None:
    ld, region = BindTarget("sw", "D1", 0), BindTarget("sw", "D1", 0, region=1)
    settling.sent(Sanitize(ld), 11.0)
    assert settling.open_places() == {ld}
    assert all(map(settling.unsettled, (ld, region, TARGET)))
    assert not settling.unsettled(BindTarget("sw", "D1", 1)) and not settling.unsettled(VPPB)
    settling.returned(Sanitize(ld))
    look(settling, 11.0)
    assert not any(map(settling.unsettled, (ld, region, TARGET)))


def test_a_refused_step_without_a_vppb_is_settled_at_once(settling: Settling) -> None:
    settling.sent(Sanitize(TARGET), 11.0)
    settling.refused(Sanitize(TARGET))
    assert not settling.unsettled(TARGET)


def test_what_the_driver_has_not_given_back_is_under_way() -> None:
    settling = Settling(0.0)
    step = Bind(VppbId("s", "1", 0), BindTarget("s", "D1"))
    settling.sent(step, 1.0)
    assert settling.under_way() == {step.vppb, step.target}
    settling.returned(step)
    assert settling.under_way() == frozenset()
    assert settling.unsettled(step.vppb)
