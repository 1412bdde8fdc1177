"""Every fault, and what the driver, the hardware and a later look then say."""

import asyncio

import pytest

from redfish_fm.drivers.base import DriverRejected, DriverUnavailable
from redfish_fm.drivers.virtual.faults import (
    Dropped,
    Late,
    Lost,
    Pretend,
    Refuse,
    Restart,
    Slow,
    flap,
)
from redfish_fm.drivers.virtual.topology import load
from redfish_fm.fabric.model import LD_FM_OWNED, Hint, PortId
from tests.drivers.fabrics import (
    FIRST,
    MLD,
    MOCKUPS,
    NEXT,
    SECOND,
    SLD,
    Powered,
    bind,
    ld,
    power_up,
    unbind,
)
from tests.virtual_time import in_virtual_time, run


async def unknown(powered: Powered) -> None:
    """Bind FIRST and expect an unknown outcome."""
    with pytest.raises(DriverUnavailable):
        await powered.driver.apply(bind(), powered.in_s())


@in_virtual_time
async def test_a_refusal_strikes_as_often_as_planned() -> None:
    powered = power_up()
    powered.faults.next_apply("cxl1", Refuse("fan failed"), times=2)
    for _ in range(2):
        with pytest.raises(DriverRejected, match="fan failed"):
            await powered.driver.apply(bind(), powered.in_s())
        assert await powered.seen() is None
    await powered.driver.apply(bind(), powered.in_s())
    assert await powered.seen() == ld(0)


@in_virtual_time
async def test_a_refusal_for_ever_ends_only_when_cleared() -> None:
    powered = power_up()
    powered.faults.next_apply(None, Refuse(), times=None)
    for _ in range(20):
        with pytest.raises(DriverRejected):
            await powered.driver.apply(bind(), powered.in_s())
    powered.faults.clear()
    await powered.driver.apply(bind(), powered.in_s())


@in_virtual_time
async def test_planned_faults_strike_one_after_another() -> None:
    powered = power_up()
    powered.faults.next_apply("cxl1", Refuse("one"), Refuse("two"))
    for reason in ("one", "two"):
        with pytest.raises(DriverRejected, match=reason):
            await powered.driver.apply(bind(), powered.in_s())
    await powered.driver.apply(bind(), powered.in_s())


@in_virtual_time
async def test_a_fault_of_one_switch_spares_the_others() -> None:
    powered = power_up()
    powered.faults.next_apply("another", Refuse())
    await powered.driver.apply(bind(), powered.in_s())


@in_virtual_time
async def test_a_slow_command_takes_its_time_and_succeeds() -> None:
    powered = power_up()
    powered.faults.next_apply(None, Slow(7.0))
    await powered.driver.apply(bind(), powered.in_s())
    assert powered.clock.now_s() == pytest.approx(7.002)
    assert await powered.seen() == ld(0)


@in_virtual_time
async def test_a_slow_command_outlives_its_deadline_and_gives_a_hint() -> None:
    powered = power_up()
    powered.faults.next_apply(None, Slow(7.0))
    hints = powered.driver.watch()
    with pytest.raises(DriverUnavailable):
        await powered.driver.apply(bind(), powered.in_s(5.0))
    assert (await powered.driver.observe()).barrier_s < 0
    assert await powered.seen() is None
    assert await anext(hints) == Hint("CXL", "cxl1")
    assert powered.clock.now_s() == pytest.approx(7.002)
    assert await powered.seen() == ld(0)
    assert (await powered.driver.observe()).barrier_s > 0


@in_virtual_time
async def test_a_command_behind_a_slow_one_is_not_sent_after_its_deadline() -> None:
    powered = power_up()
    powered.faults.next_apply(None, Slow(7.0))
    slow = asyncio.ensure_future(powered.driver.apply(bind(), powered.in_s()))
    await asyncio.sleep(0)
    with pytest.raises(DriverUnavailable):
        await powered.driver.apply(bind(SECOND, ld(1)), powered.in_s(5.0))
    assert powered.clock.now_s() == 5.0
    await slow
    await asyncio.sleep(10)
    assert await powered.seen(SECOND) is None


@in_virtual_time
async def test_a_cancelled_command_that_waits_is_taken_back() -> None:
    powered = power_up()
    powered.faults.next_apply(None, Slow(1.0))
    slow = asyncio.ensure_future(powered.driver.apply(bind(), powered.in_s()))
    waits = asyncio.ensure_future(powered.driver.apply(bind(SECOND, ld(1)), powered.in_s()))
    await asyncio.sleep(0.5)
    waits.cancel()
    await slow
    await asyncio.sleep(1)
    assert await powered.seen(SECOND) is None
    assert (await powered.driver.observe()).barrier_s > 1


@in_virtual_time
async def test_a_cancelled_command_that_was_sent_goes_on() -> None:
    powered = power_up()
    powered.faults.next_apply(None, Slow(1.0))
    slow = asyncio.ensure_future(powered.driver.apply(bind(), powered.in_s()))
    await asyncio.sleep(0.5)
    slow.cancel()
    await asyncio.sleep(0.1)
    assert (await powered.driver.observe()).barrier_s < 0
    await asyncio.sleep(1)
    assert await powered.seen() == ld(0)


@in_virtual_time
async def test_a_lost_answer_hides_that_the_command_was_executed() -> None:
    powered = power_up()
    powered.faults.next_apply(None, Lost())
    await unknown(powered)
    assert await powered.seen() == ld(0)
    await asyncio.sleep(0.1)
    assert (await powered.driver.observe()).barrier_s > 0.1


@in_virtual_time
async def test_a_dropped_command_is_never_executed() -> None:
    powered = power_up()
    powered.faults.next_apply(None, Dropped())
    await unknown(powered)
    await asyncio.sleep(10)
    assert await powered.seen() is None


@pytest.mark.parametrize("fault", [Lost(reset=True), Dropped(reset=True)])
def test_when_the_link_goes_too_only_late_max_settles(fault: Lost | Dropped) -> None:
    async def one() -> None:
        powered = power_up()
        powered.faults.next_apply(None, fault)
        await unknown(powered)
        await asyncio.sleep(1.9)
        assert (await powered.driver.observe()).barrier_s < 0
        await asyncio.sleep(0.2)
        assert (await powered.driver.observe()).barrier_s > 0
        assert await powered.seen() == (ld(0) if isinstance(fault, Lost) else None)

    run(one())


@in_virtual_time
async def test_a_late_command_runs_after_others_were_answered() -> None:
    powered = power_up()
    powered.faults.next_apply(None, Late(1.5))
    await unknown(powered)
    await powered.driver.apply(bind(NEXT, ld(1)), powered.in_s())
    assert await powered.seen() is None
    assert (await powered.driver.observe()).barrier_s < 0
    await asyncio.sleep(1.5)
    assert await powered.seen() == ld(0)
    assert (await powered.driver.observe()).barrier_s < 0, "only late_max_s proves"
    await asyncio.sleep(0.5)
    assert (await powered.driver.observe()).barrier_s > 0


@in_virtual_time
async def test_a_late_command_gives_a_hint_when_it_runs() -> None:
    powered = power_up()
    powered.faults.next_apply(None, Late(1.5))
    hints = powered.driver.watch()
    await unknown(powered)
    assert await anext(hints) == Hint("CXL", "cxl1"), "the link reset"
    assert await anext(hints) == Hint("CXL", "cxl1"), "the command"
    assert powered.clock.now_s() == pytest.approx(1.502)
    assert powered.hardware.oracle().bindings("CXL") == {FIRST: ld(0)}


@in_virtual_time
async def test_a_late_unbind_frees_what_was_bound_meanwhile() -> None:
    powered = power_up()
    await powered.driver.apply(bind(), powered.in_s())
    powered.faults.next_apply(None, Late(1.0))
    with pytest.raises(DriverUnavailable):
        await powered.driver.apply(unbind(), powered.in_s())
    await powered.driver.apply(unbind(), powered.in_s())
    await powered.driver.apply(bind(FIRST, ld(2)), powered.in_s())
    assert await powered.seen() == ld(2)
    await asyncio.sleep(1.0)
    assert await powered.seen() is None


@in_virtual_time
async def test_a_late_command_that_is_refused_is_journaled() -> None:
    powered = power_up()
    powered.faults.next_apply(None, Late(1.0))
    await unknown(powered)
    await powered.driver.apply(bind(SECOND), powered.in_s())
    await asyncio.sleep(1.1)
    assert await powered.seen() is None
    done = [(a.what, a.cause, a.note) for a in powered.hardware.oracle().actions()]
    assert done == [("bind", "command", None), ("refused", "late", "LD_BOUND")]


@in_virtual_time
async def test_a_drawn_lateness_stays_within_its_bound() -> None:
    powered = power_up()
    for _ in range(50):
        started_s = powered.clock.now_s()
        powered.faults.next_apply(None, Late())
        await unknown(powered)
        await asyncio.sleep(2.0)
        assert await powered.seen() == ld(0)
        last = powered.hardware.oracle().actions()[-1]
        assert last.cause == "late"
        assert last.at_s - powered.clock.wall_s() + powered.clock.now_s() - started_s <= 2.003
        await powered.driver.apply(unbind(), powered.in_s())


@pytest.mark.parametrize("executed", [True, False])
def test_a_restart_tells_nothing_of_its_command(executed: bool) -> None:
    async def one() -> None:
        powered = power_up()
        powered.faults.next_apply(None, Restart(executed=executed))
        await unknown(powered)
        await asyncio.sleep(0.001)
        assert await powered.seen() == (ld(0) if executed else None)
        assert (await powered.driver.observe()).barrier_s > 0, "its queue is gone"

    run(one())


@pytest.mark.parametrize("keeps", [True, False])
def test_a_restarted_switch_keeps_or_loses_its_bindings(keeps: bool) -> None:
    async def one() -> None:
        powered = power_up(keeps_bindings=keeps)
        await powered.driver.apply(bind(), powered.in_s())
        powered.hardware.restart("cxl1")
        assert await powered.seen() == (ld(0) if keeps else None)
        assert powered.hardware.oracle().bindings("CXL") == ({FIRST: ld(0)} if keeps else {})

    run(one())


@in_virtual_time
async def test_a_restart_forgets_late_commands() -> None:
    powered = power_up()
    powered.faults.next_apply(None, Late(1.0))
    await unknown(powered)
    powered.hardware.restart("cxl1")
    await asyncio.sleep(3)
    assert await powered.seen() is None


@in_virtual_time
async def test_a_restarting_switch_is_unreachable_for_a_while_then_hinted() -> None:
    powered = power_up()
    hints = powered.driver.watch()
    powered.hardware.restart("cxl1", down_s=3.0)
    with pytest.raises(DriverUnavailable):
        await powered.driver.observe()
    await anext(hints)
    await anext(hints)
    assert powered.clock.now_s() == 3.0
    assert (await powered.driver.observe()).complete


@in_virtual_time
async def test_a_switch_that_pretends_claims_a_bind_that_was_not_done() -> None:
    powered = power_up()
    powered.faults.next_apply(None, Pretend())
    await powered.driver.apply(bind(), powered.in_s())
    assert await powered.seen() == ld(0)
    assert powered.hardware.oracle().bindings("CXL") == {}
    powered.faults.tell_truth(FIRST)
    assert await powered.seen() is None


@in_virtual_time
async def test_a_switch_may_say_yes_and_do_nothing() -> None:
    powered = power_up()
    powered.faults.next_apply(None, Pretend(claim=False))
    await powered.driver.apply(bind(), powered.in_s())
    assert await powered.seen() is None


@in_virtual_time
async def test_a_lie_hides_a_binding_until_the_truth_is_told() -> None:
    powered = power_up()
    await powered.driver.apply(bind(), powered.in_s())
    powered.faults.lie(FIRST, None)
    powered.faults.lie(SECOND, ld(3))
    assert (await powered.seen(FIRST), await powered.seen(SECOND)) == (None, ld(3))
    powered.faults.tell_truth()
    assert (await powered.seen(FIRST), await powered.seen(SECOND)) == (ld(0), None)


@in_virtual_time
async def test_a_link_that_flaps_changes_its_port_and_gives_hints() -> None:
    powered = power_up()
    hints = powered.driver.watch()
    flapping = asyncio.ensure_future(flap(powered.hardware, MLD, powered.clock, 3, 1.0))
    await anext(hints)
    assert (await powered.driver.observe()).ports[MLD].link_up is False
    await anext(hints)
    assert (await powered.driver.observe()).ports[MLD].training
    await anext(hints)
    assert (await powered.driver.observe()).ports[MLD].link_up is True
    await flapping
    assert powered.clock.now_s() == 3.0


@in_virtual_time
async def test_a_lost_device_is_observed_and_refused_and_keeps_its_binding() -> None:
    powered = power_up()
    await powered.driver.apply(bind(), powered.in_s())
    powered.hardware.set_port(MLD, present=False, health="Critical")
    seen = await powered.driver.observe()
    assert (seen.ports[MLD].device_present, seen.ports[MLD].health) == (False, "Critical")
    assert seen.bindings[FIRST] == ld(0)
    with pytest.raises(DriverRejected, match="no device is present"):
        await powered.driver.apply(bind(SECOND, ld(1)), powered.in_s())
    await powered.driver.apply(unbind(), powered.in_s())


@in_virtual_time
async def test_a_cut_link_leaves_the_command_running() -> None:
    powered = power_up()
    powered.faults.next_apply(None, Slow(1.0))
    slow = asyncio.ensure_future(powered.driver.apply(bind(), powered.in_s()))
    await asyncio.sleep(0.5)
    powered.hardware.cut("cxl1")
    with pytest.raises(DriverUnavailable):
        await slow
    with pytest.raises(DriverUnavailable):
        await powered.driver.observe()
    powered.hardware.heal("cxl1")
    await asyncio.sleep(2.1)
    assert await powered.seen() == ld(0)
    assert powered.hardware.oracle().actions()[0].cause == "late"


@in_virtual_time
async def test_a_cut_link_is_back_after_its_time() -> None:
    powered = power_up()
    powered.hardware.cut("cxl1", 4.0)
    with pytest.raises(DriverUnavailable):
        await powered.driver.discover()
    await asyncio.sleep(4.0)
    assert (await powered.driver.observe()).complete


@in_virtual_time
async def test_closing_leaves_a_sent_command_to_the_switch() -> None:
    powered = power_up()
    powered.faults.next_apply(None, Slow(1.0))
    slow = asyncio.ensure_future(powered.driver.apply(bind(), powered.in_s()))
    await asyncio.sleep(0.5)
    await powered.driver.close()
    with pytest.raises(DriverUnavailable):
        await slow
    again = powered.again()
    assert (await again.driver.observe()).barrier_s < 0
    await asyncio.sleep(2.0)
    assert (await again.driver.observe()).barrier_s > 2
    assert await again.seen() == ld(0)


@in_virtual_time
async def test_the_first_session_of_new_hardware_need_not_wait() -> None:
    powered = power_up()
    await asyncio.sleep(0.1)
    assert (await powered.driver.observe()).barrier_s > 0
    again = powered.again()
    assert (await again.driver.observe()).barrier_s < 0


@in_virtual_time
async def test_a_permissive_switch_lets_two_hosts_reach_one_ld() -> None:
    powered = power_up(permissive=True)
    await powered.driver.apply(bind(FIRST, ld(LD_FM_OWNED)), powered.in_s())
    await powered.driver.apply(bind(FIRST, ld(0)), powered.in_s())
    await powered.driver.apply(bind(SECOND, ld(0)), powered.in_s())
    (double,) = powered.hardware.oracle().double_reach()
    assert (double.first.host, double.second.host) == ("host1", "host2")
    assert double.second.target == ld(0)


@in_virtual_time
async def test_someone_elses_binding_is_observed_and_hinted() -> None:
    powered = power_up()
    hints = powered.driver.watch()
    powered.hardware.execute(bind(SECOND, SLD), "outside")
    assert await anext(hints) == Hint("CXL", "cxl1")
    assert await powered.seen(SECOND) == SLD


@in_virtual_time
async def test_many_changes_make_one_hint() -> None:
    powered = power_up()
    hints = powered.driver.watch()
    for up in (False, True, False):
        powered.hardware.set_port(PortId("cxl1", "U1"), link_up=up)
    await anext(hints)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await anext(hints)


@in_virtual_time
async def test_a_port_set_to_what_it_is_gives_no_hint() -> None:
    powered = power_up()
    hints = powered.driver.watch()
    powered.hardware.set_port(MLD, link_up=True, health="OK")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await anext(hints)


@in_virtual_time
async def test_one_silent_switch_is_named_and_holds_the_barrier_for_late_max_only() -> None:
    _, cxl = load("ai-pod", MOCKUPS).inventories()
    powered = power_up(cxl)
    powered.faults.next_apply("cxl1", Lost(reset=True))
    await unknown(powered)
    powered.hardware.cut("cxl1")
    seen = await powered.driver.observe()
    assert (seen.unreachable, seen.complete) == ({"cxl1"}, False)
    assert {vppb.switch for vppb in seen.bindings} == {"cxl2"}
    assert {port.switch for port in seen.ports} == {"cxl2"}
    assert seen.barrier_s < 0, "the command to the silent switch may still run"
    await asyncio.sleep(2.0)
    assert (await powered.driver.observe()).barrier_s > 0


@in_virtual_time
async def test_an_answered_command_gives_no_hint() -> None:
    powered = power_up()
    hints = powered.driver.watch()
    await powered.driver.apply(bind(), powered.in_s())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await anext(hints)


@in_virtual_time
async def test_a_closed_watch_ends() -> None:
    powered = power_up()
    hints = powered.driver.watch()
    waiting = asyncio.ensure_future(anext(hints, None))
    await asyncio.sleep(0)
    await hints.aclose()  # type: ignore[attr-defined]
    assert await waiting is None
