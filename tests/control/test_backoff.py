"""Back-off: doubles per failure, has an end, and is forgotten by a success."""

import pytest

from redfish_fm.control.backoff import FIRST_S, LONGEST_S, Backoff


class HandClock:
    def __init__(self) -> None:
        self.s = 100.0

    def now_s(self) -> float:
        return self.s

    def wall_s(self) -> float:
        return self.s

    async def sleep(self, delay_s: float) -> None:
        self.s += delay_s


def test_each_failure_doubles_the_wait_up_to_the_longest() -> None:
    backoff = Backoff(HandClock())
    waits = [backoff.failed("step") for _ in range(40)]
    assert waits[:3] == [FIRST_S, 2 * FIRST_S, 4 * FIRST_S]
    assert waits[-1] == LONGEST_S and waits == sorted(waits)


def test_a_key_is_ready_again_once_its_wait_is_over() -> None:
    clock = HandClock()
    backoff = Backoff(clock)
    wait_s = backoff.failed("step")
    assert not backoff.ready("step") and backoff.ready("other")
    clock.s += wait_s
    assert backoff.ready("step")


def test_a_success_forgets_the_failures() -> None:
    backoff = Backoff(HandClock())
    backoff.failed("step")
    backoff.failed("step")
    backoff.succeeded("step")
    assert backoff.ready("step")
    assert backoff.failed("step") == FIRST_S


def test_the_next_try_is_the_earliest_of_those_asked_for() -> None:
    clock = HandClock()
    backoff = Backoff(clock)
    for _ in range(5):
        backoff.failed("slow")
    backoff.failed("quick")
    assert backoff.next_s(["slow", "quick"], 9.0) == pytest.approx(FIRST_S)
    assert backoff.next_s(["other"], 9.0) == 9.0
    clock.s += 60.0
    assert 0 < backoff.next_s(["quick"], 9.0) < 0.01
