"""What every driver must do: discover, look, bind and unbind, give hints, end.

Talks to the Driver protocol only; what it needs beyond that a Rig offers.
"""

import asyncio

import pytest

from redfish_fm.drivers.base import DriverRejected, DriverUnavailable
from redfish_fm.fabric.inventory import defects
from redfish_fm.fabric.model import Bind, PortId, PortRole, VppbId
from tests.drivers.contract.rig import HINTS_MAX, Rig, next_hint, use


class BindingContract:
    """Discovering, looking, binding, watching, closing."""

    async def test_a_discovered_inventory_has_no_defects(self, rig: Rig) -> None:
        assert defects(await rig.driver.discover()) == []

    async def test_an_observation_is_complete(self, rig: Rig) -> None:
        inventory = await rig.driver.discover()
        seen = await rig.driver.observe()
        assert seen.complete
        assert seen.fabric == inventory.fabric
        assert set(seen.ports) == {p.id for s in inventory.switches for p in s.ports}
        assert set(seen.bindings) == {
            VppbId(switch.id, vcs.id, n)
            for switch in inventory.switches
            for vcs in switch.virtual_switches
            for n in range(vcs.vppb_count)
        }

    async def test_a_binding_names_a_downstream_port_of_its_own_switch(self, rig: Rig) -> None:
        inventory = await rig.driver.discover()
        await rig.apply(rig.bind)
        roles = {port.id: port.role for switch in inventory.switches for port in switch.ports}
        for vppb, target in (await rig.driver.observe()).bindings.items():
            if target is not None:
                assert target.switch == vppb.switch
                assert roles[PortId(target.switch, target.port)] is PortRole.DOWNSTREAM

    async def test_a_port_without_a_link_has_no_speed(self, rig: Rig) -> None:
        for state in (await rig.driver.observe()).ports.values():
            assert not (state.link_up and state.training)
            assert state.link_up or (state.speed_gbps, state.width) == (None, None)
            assert state.health in ("OK", "Warning", "Critical")

    async def test_a_second_discovery_says_the_same(self, rig: Rig) -> None:
        before = await rig.driver.discover()
        await rig.apply(rig.bind)
        assert await rig.driver.discover() == before

    async def test_a_look_proves_nothing_of_the_future(self, rig: Rig) -> None:
        seen = await rig.driver.observe()
        assert seen.barrier_s <= seen.started_s <= rig.clock.now_s()

    async def test_what_was_bound_is_observed(self, rig: Rig) -> None:
        await rig.apply(rig.bind)
        assert await rig.bound() == rig.target
        assert await rig.bound(rig.second) is None

    async def test_binding_twice_changes_nothing(self, rig: Rig) -> None:
        await rig.apply(rig.bind)
        await rig.apply(rig.bind)
        assert await rig.bound() == rig.target

    async def test_what_was_unbound_is_observed_free(self, rig: Rig) -> None:
        await rig.apply(rig.bind)
        await rig.apply(rig.unbind)
        assert await rig.bound() is None

    async def test_unbinding_twice_changes_nothing(self, rig: Rig) -> None:
        await rig.apply(rig.unbind)
        await rig.apply(rig.unbind)
        assert await rig.bound() is None

    async def test_unbinding_one_target_leaves_another_bound(self, rig: Rig) -> None:
        await rig.apply(Bind(rig.first, rig.other))
        await rig.apply(rig.unbind)
        assert await rig.bound() == rig.other

    async def test_a_taken_target_can_be_bound_elsewhere_after_its_release(self, rig: Rig) -> None:
        await rig.apply(rig.bind)
        await rig.apply(rig.unbind)
        await rig.apply(Bind(rig.second, rig.target))
        assert await rig.bound(rig.second) == rig.target

    async def test_a_refusal_names_its_reason_and_changes_nothing(self, rig: Rig) -> None:
        nowhere, _ = await rig.not_there()
        with pytest.raises(DriverRejected) as refusal:
            await rig.apply(Bind(nowhere, rig.target))
        assert len(str(refusal.value)) > 10
        assert set((await rig.driver.observe()).bindings.values()) == {None}

    async def test_an_unknown_switch_is_refused(self, rig: Rig) -> None:
        _, nowhere = await rig.not_there()
        with pytest.raises(DriverRejected):
            await rig.apply(Bind(nowhere, rig.target))

    async def test_a_step_past_its_deadline_is_not_sent(self, rig: Rig) -> None:
        with pytest.raises(DriverUnavailable):
            await rig.driver.apply(rig.bind, rig.clock.now_s() - 0.001)
        await rig.clock.sleep(rig.driver.late_max_s)
        assert await rig.bound() is None

    async def test_apply_returns_at_its_deadline(self, rig: Rig) -> None:
        await use(rig.hold_next)
        handed_s = rig.clock.now_s()
        with pytest.raises(DriverUnavailable):
            await rig.driver.apply(rig.bind, rig.deadline_s(rig.hold_s / 4))
        assert rig.clock.now_s() < handed_s + rig.hold_s

    async def test_a_look_does_not_wait_for_a_slow_command(self, rig: Rig) -> None:
        await use(rig.hold_next)
        slow = asyncio.ensure_future(rig.apply(rig.bind))
        await asyncio.sleep(0)
        seen = await rig.driver.observe()
        assert not slow.done()
        assert seen.bindings[rig.first] is None
        await slow

    async def test_steps_to_one_switch_may_be_given_at_once(self, rig: Rig) -> None:
        await asyncio.gather(rig.apply(rig.bind), rig.apply(Bind(rig.second, rig.other)))
        assert await rig.bound() == rig.target
        assert await rig.bound(rig.second) == rig.other

    async def test_a_later_look_on_the_same_link_settles_a_lost_answer(self, rig: Rig) -> None:
        await rig.clock.sleep(rig.driver.late_max_s)
        await use(rig.lose_next_answer)
        with pytest.raises(DriverUnavailable):
            await rig.apply(rig.bind)
        settled = await rig.settled(rig.clock.now_s())
        await rig.clock.sleep(2 * rig.driver.late_max_s)
        assert await rig.bound() == settled.bindings[rig.first]

    async def test_a_look_during_a_command_does_not_settle_it(self, rig: Rig) -> None:
        await rig.clock.sleep(rig.driver.late_max_s)
        await use(rig.hold_next)
        slow = asyncio.ensure_future(rig.apply(rig.bind))
        try:
            await rig.clock.sleep(0.1)
            looked_s = rig.clock.now_s()
            await rig.clock.sleep(0.01)
            assert (await rig.driver.observe()).barrier_s < looked_s
        finally:
            await slow
        assert (await rig.driver.observe()).barrier_s > looked_s

    async def test_nothing_runs_after_a_barrier_that_was_proved(self, rig: Rig) -> None:
        await rig.clock.sleep(rig.driver.late_max_s)
        await use(rig.run_next_late)
        with pytest.raises(DriverUnavailable):
            await rig.apply(rig.bind)
        failed_s = rig.clock.now_s()
        await rig.clock.sleep(0.01)
        assert (await rig.driver.observe()).barrier_s < failed_s
        settled = await rig.settled(failed_s)
        await rig.clock.sleep(2 * rig.driver.late_max_s)
        assert await rig.bound() == settled.bindings[rig.first]

    async def test_a_change_behind_the_driver_gives_a_hint(self, rig: Rig) -> None:
        hint = await next_hint(rig.driver, lambda: use(rig.change_behind))
        assert hint.fabric == (await rig.driver.discover()).fabric
        assert hint.switch in (None, rig.first.switch)

    async def test_a_fabric_that_does_not_answer_is_unavailable(self, rig: Rig) -> None:
        await use(rig.cut_all)
        with pytest.raises(DriverUnavailable):
            await rig.driver.observe()
        with pytest.raises(DriverUnavailable):
            await rig.driver.discover()
        with pytest.raises(DriverUnavailable):
            await rig.apply(rig.bind)

    async def test_a_closed_driver_is_unavailable(self, rig: Rig) -> None:
        await rig.driver.close()
        await rig.driver.close()
        with pytest.raises(DriverUnavailable):
            await rig.driver.observe()
        with pytest.raises(DriverUnavailable):
            await rig.driver.discover()
        with pytest.raises(DriverUnavailable):
            await rig.apply(rig.bind)
        with pytest.raises(DriverUnavailable):
            await anext(rig.driver.watch())

    async def test_closing_ends_a_watch(self, rig: Rig) -> None:
        hints = rig.driver.watch()
        waiting = asyncio.ensure_future(anext(hints, None))
        await asyncio.sleep(0)
        await rig.driver.close()
        for _ in range(HINTS_MAX):
            if await asyncio.wait_for(waiting, 30) is None:
                return
            waiting = asyncio.ensure_future(anext(hints, None))
        raise AssertionError("a closed driver goes on giving hints")

    async def test_closing_ends_an_apply(self, rig: Rig) -> None:
        await use(rig.hold_next)
        slow = asyncio.ensure_future(rig.apply(rig.bind))
        await rig.clock.sleep(0.01)
        await rig.driver.close()
        with pytest.raises(DriverUnavailable):
            await slow
