"""Bandwidth of LDs: what adds up to too much, and which command is safe next."""

import pytest

from redfish_fm.fabric.bandwidth import BandwidthIndex, check_bandwidth
from redfish_fm.fabric.model import BindTarget, Observation, Place, Qos, SetQos, Unbind, VppbId
from redfish_fm.fabric.planner import plan
from redfish_fm.fabric.values import Binding, QosWish, Rule

VPPB = VppbId("s", "1", 0)


def ld(number: int, port: str = "D1") -> BindTarget:
    return BindTarget("s", port, number)


def wish(number: int, allocated: int, limit: int = 100, port: str = "D1") -> QosWish:
    return QosWish("F", ld(number, port), Qos(allocated, limit), f"{port}.{number}")


@pytest.fixture
def index() -> BandwidthIndex:
    found = BandwidthIndex()
    for each in (wish(0, 40), wish(1, 30), wish(2, 0), wish(0, 100, port="D2")):
        found.put(each)
    return found


def test_all_of_a_device_and_no_more_is_guaranteed(index: BandwidthIndex) -> None:
    assert check_bandwidth(index, wish(2, 30)) == []
    found = check_bandwidth(index, wish(2, 31))
    assert [(each.rule, each.holder) for each in found] == [
        (Rule.BANDWIDTH, "D1.0"),
        (Rule.BANDWIDTH, "D1.1"),
    ]
    assert {each.pointer for each in found} == {"/QoS/AllocatedBandwidth"}
    assert check_bandwidth(index, wish(5, 0, limit=5)) == []


def test_what_is_less_than_before_is_never_too_much(index: BandwidthIndex) -> None:
    index.put(wish(1, 90))
    assert check_bandwidth(index, wish(1, 80)) == []
    assert check_bandwidth(index, wish(1, 90, limit=95)) == []
    assert check_bandwidth(index, wish(0, 41)) != []


def test_a_removed_wish_counts_no_more_and_leaves_nothing(index: BandwidthIndex) -> None:
    for holder in ("D1.0", "D1.0", "D1.1"):
        index.remove(holder)
    assert check_bandwidth(index, wish(2, 100)) == []
    for holder in ("D1.2", "D2.0"):
        index.remove(holder)
    assert vars(index) == vars(BandwidthIndex())


def steps(
    wanted: dict[BindTarget, Qos],
    seen: dict[BindTarget, Qos],
    unsettled: tuple[Place, ...] = (),
    unreachable: frozenset[str] = frozenset(),
) -> list[SetQos]:
    look = Observation("F", 0.0, 0.0, {}, qos=seen, unreachable=unreachable)
    found = plan((), (), look, lambda place: place in unsettled, bandwidth=wanted)
    return [step for step in found.steps if isinstance(step, SetQos)]


def test_what_differs_is_asked_for_and_what_nobody_wants_is_left() -> None:
    wanted = {ld(0): Qos(40), ld(1): Qos(0, 50), ld(7): Qos(1)}
    seen = {ld(0): Qos(40), ld(1): Qos(), ld(2): Qos(20)}
    assert steps(wanted, seen) == [SetQos(ld(1), Qos(0, 50))]


def test_what_is_given_waits_until_it_was_taken_from_another_ld_of_the_device() -> None:
    wanted = {ld(0): Qos(20), ld(1): Qos(80), ld(0, "D2"): Qos(80)}
    seen = {ld(0): Qos(60), ld(1): Qos(40), ld(0, "D2"): Qos()}
    assert steps(wanted, seen) == [SetQos(ld(0), Qos(20)), SetQos(ld(0, "D2"), Qos(80))]
    assert steps(wanted, seen, unsettled=(ld(0),)) == [SetQos(ld(0, "D2"), Qos(80))]
    assert SetQos(ld(1), Qos(80)) in steps(wanted, seen | {ld(0): Qos(20)})


def test_nothing_is_sent_over_an_unknown_outcome_or_into_the_dark() -> None:
    wanted, seen = {ld(0): Qos(20)}, {ld(0): Qos()}
    assert steps(wanted, seen, unsettled=(ld(0),)) == []
    assert steps(wanted, seen, unreachable=frozenset({"s"})) == []


def test_what_is_being_unbound_gets_its_bandwidth_afterwards() -> None:
    leaving = Binding("F", "u", "h", VPPB, ld(0), frozenset({"z"}))
    look = Observation("F", 0.0, 0.0, {VPPB: ld(0)}, qos={ld(0): Qos()})
    found = plan((), (leaving,), look, lambda _: False, bandwidth={ld(0): Qos(5)})
    assert found.steps == (Unbind(VPPB, ld(0)),)
