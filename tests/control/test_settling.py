"""Settling: a command counts as dealt with only when an observation proves it."""

import pytest

from redfish_fm.control.settling import Settling
from redfish_fm.fabric.model import Bind, BindTarget, VppbId

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
    assert settling.vppbs() == {VPPB}


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
    assert settling.vppbs() == frozenset()


def test_an_older_proof_does_not_take_a_newer_one_back(settling: Settling) -> None:
    look(settling, 1.0)
    assert not Settling.unsettled(settling, VPPB)
