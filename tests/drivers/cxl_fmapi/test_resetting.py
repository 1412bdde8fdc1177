"""Physical Port Control as the driver uses it: sent once, and no device is left held in reset."""

from collections.abc import Callable

import pytest

from redfish_fm.drivers.base import (
    DriverNotSent,
    DriverRejected,
    DriverUnavailable,
    DriverUnsupported,
    PortControl,
)
from redfish_fm.fabric.model import PortId
from redfish_fm.fabric.port_control import PortReset
from tests.drivers.cxl_fmapi.peer import Asked, Reply
from tests.drivers.cxl_fmapi.peer_switch import (
    ASSERT,
    BUSY,
    DEASSERT,
    INTERNAL,
    INVALID,
    RESET_PPB,
    UNSUPPORTED,
    SwitchState,
)
from tests.drivers.cxl_fmapi.rigs import World, world
from tests.drivers.cxl_fmapi.test_failures import pull
from tests.virtual_time import in_virtual_time

CONTROL = 0x5102
LEFT_S = 20.0


async def reset(
    made: World, asked: PortReset = PortReset.BRIDGE, port: str = "3", left_s: float = LEFT_S
) -> None:
    assert isinstance(made.driver, PortControl)
    await made.driver.reset_port(PortId("sw0", port), asked, made.clock.now_s() + left_s)


def first_then(
    state: SwitchState, *answers: Callable[[Asked], Reply | None]
) -> Callable[..., object]:
    """Answer as these do, one by one, and then as the switch does."""
    left = list(answers)
    return lambda asked: (left.pop(0) if left else state.answer)(asked)


@in_virtual_time
async def test_a_bridge_is_reset_by_one_command() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        await reset(made)
        assert state.controls == [(3, RESET_PPB)]


@in_virtual_time
async def test_a_fundamental_reset_holds_the_device_for_100_ms_and_lets_go() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        begun_s = made.clock.now_s()
        await reset(made, PortReset.FUNDAMENTAL)
        assert made.clock.now_s() - begun_s >= 0.1
        assert state.controls == [(3, ASSERT), (3, DEASSERT)]
        assert not state.held


@pytest.mark.parametrize(
    ("port", "told"),
    [("0", "not a downstream port"), ("99", "not a downstream port"), ("x", "not a downstream")],
)
@pytest.mark.parametrize("asked", list(PortReset))
@in_virtual_time
async def test_what_is_no_downstream_port_is_refused_and_nothing_is_sent(
    asked: PortReset, port: str, told: str
) -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        with pytest.raises(DriverRejected, match=told):
            await reset(made, asked, port)
        assert not state.controls


@in_virtual_time
async def test_a_port_without_a_device_is_refused_and_nothing_is_sent() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        pull(made.peers["sw0"], 3, ltssm=0)
        with pytest.raises(DriverRejected, match="no device at port 3"):
            await reset(made)
        assert not state.controls


@in_virtual_time
async def test_a_switch_of_another_fabric_is_refused() -> None:
    async with world(SwitchState()) as made:
        with pytest.raises(DriverRejected, match="no switch sw9"):
            await made.driver.reset_port(PortId("sw9", "3"), PortReset.BRIDGE, 1e9)


@in_virtual_time
async def test_a_device_that_somebody_left_in_reset_is_let_go() -> None:
    state = SwitchState(held={3})
    async with world(state) as made:
        await made.observed()
        await reset(made, PortReset.FUNDAMENTAL)
        assert state.controls == [(3, DEASSERT)]


@in_virtual_time
async def test_what_the_switch_refuses_is_told_with_its_code() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        made.peers["sw0"].answers[CONTROL] = lambda _: Reply(INVALID)
        with pytest.raises(DriverRejected, match="INVALID_INPUT"):
            await reset(made)


@in_virtual_time
async def test_a_reset_without_an_answer_is_unknown_and_never_repeated() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()

        def lost(asked: Asked) -> None:
            state.answer(asked)

        made.peers["sw0"].answers[CONTROL] = lost
        with pytest.raises(DriverUnavailable) as told:
            await reset(made)
        assert not isinstance(told.value, DriverNotSent)
        await made.clock.sleep(10)
        assert state.controls == [(3, RESET_PPB)]


@in_virtual_time
async def test_a_busy_switch_is_asked_again_and_at_last_it_did_not_run() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        state.busy = 3
        await reset(made)
        made.peers["sw0"].answers[CONTROL] = lambda _: Reply(BUSY)
        with pytest.raises(DriverNotSent):
            await reset(made, left_s=2.0)
        assert state.controls == [(3, RESET_PPB)]


@in_virtual_time
async def test_a_switch_that_does_not_answer_was_sent_nothing() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        await made.peers["sw0"].close()
        with pytest.raises(DriverNotSent):
            await reset(made, left_s=5.0)
        assert not state.controls


@in_virtual_time
async def test_a_hold_whose_answer_is_lost_is_looked_at_and_let_go() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()

        def lost(asked: Asked) -> None:
            state.answer(asked)

        made.peers["sw0"].answers[CONTROL] = first_then(state, lost)
        await reset(made, PortReset.FUNDAMENTAL)
        assert state.controls == [(3, ASSERT), (3, DEASSERT)]
        assert not state.held


@in_virtual_time
async def test_a_hold_that_never_arrived_is_unknown() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        made.peers["sw0"].answers[CONTROL] = first_then(state, lambda _: None)
        with pytest.raises(DriverUnavailable, match="may still be held"):
            await reset(made, PortReset.FUNDAMENTAL)
        assert not state.controls


@in_virtual_time
async def test_a_device_is_let_go_though_the_first_release_is_lost_or_refused() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        made.peers["sw0"].answers[CONTROL] = first_then(
            state, state.answer, lambda _: None, lambda _: Reply(INTERNAL)
        )
        await reset(made, PortReset.FUNDAMENTAL)
        assert not state.held


@in_virtual_time
async def test_a_release_that_was_done_without_an_answer_is_not_repeated() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()

        def lost(asked: Asked) -> None:
            state.answer(asked)

        made.peers["sw0"].answers[CONTROL] = first_then(state, state.answer, lost)
        await reset(made, PortReset.FUNDAMENTAL)
        assert state.controls == [(3, ASSERT), (3, DEASSERT)]


@in_virtual_time
async def test_a_device_that_is_not_let_go_is_told() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        held = Reply(INTERNAL)
        made.peers["sw0"].answers[CONTROL] = lambda asked: (
            state.answer(asked) if asked.payload[1] == ASSERT else held
        )
        with pytest.raises(DriverUnavailable, match="port 3 may still be held in reset"):
            await reset(made, PortReset.FUNDAMENTAL)


@in_virtual_time
async def test_a_switch_without_the_command_offers_it_until_it_has_said_so_twice() -> None:
    state = SwitchState()
    async with world(state) as made:
        await made.observed()
        (switch,) = made.driver.inventory.switches
        assert switch.resets_ports
        made.peers["sw0"].answers[CONTROL] = lambda _: Reply(UNSUPPORTED)
        for offered in (True, False):
            with pytest.raises(DriverUnsupported):
                await reset(made)
            await made.clock.sleep(1)
            await made.observed()
            (switch,) = made.driver.inventory.switches
            assert switch.resets_ports is offered
