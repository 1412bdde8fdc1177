"""Buckets of failures by peer: what fills them, what empties them, who shares one."""

import pytest

from redfish_fm.redfish.throttle import PEERS_MAX, Throttle
from tests.redfish.builders import FakeClock

BURST, REFILL_S = 3, 2.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def throttle(clock: FakeClock) -> Throttle:
    return Throttle(clock, burst=BURST, refill_s=REFILL_S)


def fill(throttle: Throttle, peer: str) -> None:
    while throttle.wait_s(peer) == 0:
        throttle.charge(peer)


def test_a_peer_may_fail_as_often_as_the_burst(throttle: Throttle) -> None:
    for _ in range(BURST):
        assert throttle.wait_s("192.0.2.1") == 0
        throttle.charge("192.0.2.1")
    assert throttle.wait_s("192.0.2.1") == pytest.approx(REFILL_S)


def test_other_peers_are_not_told_to_wait(throttle: Throttle) -> None:
    fill(throttle, "192.0.2.1")
    assert throttle.wait_s("192.0.2.2") == 0


def test_time_gives_one_failure_after_the_other_back(throttle: Throttle, clock: FakeClock) -> None:
    fill(throttle, "192.0.2.1")
    clock.time_s += REFILL_S / 2
    assert throttle.wait_s("192.0.2.1") == pytest.approx(REFILL_S / 2)
    clock.time_s += REFILL_S / 2
    assert throttle.wait_s("192.0.2.1") == 0
    throttle.charge("192.0.2.1")
    assert throttle.wait_s("192.0.2.1") > 0


def test_a_long_rest_gives_no_more_than_the_burst(throttle: Throttle, clock: FakeClock) -> None:
    throttle.charge("192.0.2.1")
    clock.time_s += 1e6
    for _ in range(BURST):
        throttle.charge("192.0.2.1")
    assert throttle.wait_s("192.0.2.1") > 0


@pytest.mark.parametrize(
    ("other", "shared"),
    [
        ("2001:db8::2", True),
        ("2001:db8:0:0:ffff::1", True),
        ("2001:db8:0:1::1", False),
        ("2001:db8::1%eth0", True),
        ("192.0.2.1", False),
    ],
)
def test_an_ipv6_network_is_one_peer(throttle: Throttle, other: str, shared: bool) -> None:
    fill(throttle, "2001:db8::1")
    assert (throttle.wait_s(other) > 0) is shared


def test_an_ipv4_address_in_ipv6_clothes_is_itself(throttle: Throttle) -> None:
    fill(throttle, "::ffff:192.0.2.1")
    assert throttle.wait_s("192.0.2.1") > 0
    assert throttle.wait_s("::ffff:192.0.2.2") == 0


@pytest.mark.parametrize("peer", ["", "a socket"])
def test_what_is_no_address_is_a_peer_all_the_same(throttle: Throttle, peer: str) -> None:
    fill(throttle, peer)
    assert throttle.wait_s(peer) > 0


def test_memory_is_bounded_and_the_newest_failures_stay(throttle: Throttle) -> None:
    fill(throttle, "192.0.2.1")
    for number in range(PEERS_MAX - 1):
        throttle.charge(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert throttle.wait_s("192.0.2.1") > 0
    throttle.charge("203.0.113.1")
    assert throttle.wait_s("192.0.2.1") == 0
