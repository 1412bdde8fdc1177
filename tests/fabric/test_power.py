"""What proves that a host did what it was asked to, and what is on its way."""

import pytest

from redfish_fm.fabric.power import (
    HostState,
    PowerState,
    ResetType,
    ResetWish,
    is_achieved,
    is_coming,
)

ON, OFF = PowerState.ON, PowerState.OFF
STARTS, STOPS = PowerState.POWERING_ON, PowerState.POWERING_OFF
RESTARTS = (ResetType.GRACEFUL_RESTART, ResetType.FORCE_RESTART, ResetType.POWER_CYCLE)


def wish(asked: ResetType | None, power: PowerState = ON, boots: int = 3) -> ResetWish:
    return ResetWish("host1", asked, HostState(power, boots, manager_reset_s=1.0))


@pytest.mark.parametrize("asked", [ResetType.ON, ResetType.FORCE_ON])
def test_on_is_achieved_by_a_host_that_is_or_comes_on(asked: ResetType) -> None:
    done = {each for each in PowerState if is_achieved(wish(asked, OFF), HostState(each, 3))}
    assert done == {ON, STARTS}


@pytest.mark.parametrize("asked", [ResetType.FORCE_OFF, ResetType.GRACEFUL_SHUTDOWN])
def test_off_is_achieved_by_a_host_that_is_off_only(asked: ResetType) -> None:
    done = {each for each in PowerState if is_achieved(wish(asked), HostState(each, 9))}
    assert done == {OFF}


@pytest.mark.parametrize("asked", RESTARTS)
@pytest.mark.parametrize("power", PowerState)
def test_a_restart_is_achieved_by_another_start_whatever_the_state(
    asked: ResetType, power: PowerState
) -> None:
    assert not is_achieved(wish(asked), HostState(power, 3))
    assert is_achieved(wish(asked), HostState(power, 4))


def test_a_button_is_achieved_by_the_other_state() -> None:
    button = ResetType.PUSH_POWER_BUTTON
    assert is_achieved(wish(button), HostState(OFF, 3))
    assert not is_achieved(wish(button), HostState(STOPS, 3))
    assert not is_achieved(wish(button), HostState(ON, 3))
    assert is_achieved(wish(button, OFF), HostState(STARTS, 4))
    assert not is_achieved(wish(button, OFF), HostState(OFF, 3))


def test_a_restart_of_a_bmc_is_achieved_by_another_time_of_it() -> None:
    assert not is_achieved(wish(None), HostState(ON, 9, manager_reset_s=1.0))
    assert is_achieved(wish(None), HostState(ON, 3, manager_reset_s=2.0))


def test_what_is_on_its_way() -> None:
    coming = {(asked, power) for asked in ResetType for power in PowerState
              if is_coming(asked, power)}  # fmt: skip
    assert coming == {
        (ResetType.ON, STARTS),
        (ResetType.FORCE_ON, STARTS),
        (ResetType.GRACEFUL_SHUTDOWN, STOPS),
    }


def test_only_what_asks_nobody_is_forced() -> None:
    forced = {each for each in ResetType if each.forced}
    assert forced == {ResetType.FORCE_OFF, ResetType.FORCE_RESTART, ResetType.POWER_CYCLE}
    assert {each for each in PowerState if each.powered} == {ON, STARTS, STOPS}
    assert {each for each in PowerState if each.changing} == {STARTS, STOPS}
