"""What a plan stands on: nothing is certain of a switch where nobody knows who has what."""

from dataclasses import replace

from redfish_fm.fabric.ground import doubted
from redfish_fm.fabric.model import BindTarget, VppbId
from tests.fabric.builders import observation

HERE, ELSEWHERE = BindTarget("s1", "D1"), BindTarget("s2", "D1")


def test_a_busy_vppb_makes_everything_of_its_switch_uncertain_and_nothing_of_others() -> None:
    seen = replace(observation(), busy=frozenset({VppbId("s1", "1", 0)}))
    doubtful = doubted(seen, lambda place: place == VppbId("s2", "1", 1))
    assert doubtful(HERE) and doubtful(VppbId("s1", "2", 5))
    assert not doubtful(ELSEWHERE) and not doubtful(VppbId("s2", "1", 0))
    assert doubtful(VppbId("s2", "1", 1))


def test_without_one_what_is_certain_stays_as_it_is() -> None:
    assert not doubted(observation(), lambda _: False)(HERE)
