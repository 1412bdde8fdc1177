"""What a driver must do whose hardware cuts pools into parts and keeps track of contents.

A driver that can not declares it: DriverUnsupported from apply, no parts in observations.
"""

import pytest

from redfish_fm.drivers.base import DriverRejected, DriverUnavailable, DriverUnsupported
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    BindTarget,
    Deallocate,
    Device,
    Inventory,
    Media,
    PartState,
    Sanitize,
    Step,
    Unbind,
)
from tests.drivers.contract.rig import Rig, use


class PartContract:
    """Allocating, giving back, sanitizing."""

    async def test_what_a_driver_can_not_do_it_says(self, rig: Rig) -> None:
        before = (await rig.driver.observe()).bindings
        steps: tuple[Step, ...] = (
            Allocate(rig.target, 1),
            Deallocate(rig.target),
            Sanitize(rig.target),
        )
        for step in steps:
            try:
                await rig.apply(step)
            except (DriverRejected, DriverUnsupported) as error:
                assert len(str(error)) > 10
        assert (await rig.driver.observe()).bindings == before

    async def test_every_observed_part_is_one_of_the_inventory(self, rig: Rig) -> None:
        inventory = await rig.driver.discover()
        await rig.apply(rig.bind)
        for target, state in (await rig.driver.observe()).parts.items():
            device = device_at(inventory, target)
            assert state.size_mib >= 0
            assert target.ld is None or target.ld in {ld.id for ld in device.lds}
            assert target.region is None or target.ld is not None
            if device.pool is not None and target.path:
                assert state.size_mib % device.pool.granularity_mib == 0
                assert 0 < state.size_mib <= device.pool.capacity_mib

    async def test_an_allocated_part_is_observed_at_its_size(self, rig: Rig) -> None:
        part = await rig.allocated()
        assert await rig.state(part) == PartState(rig.part_mib, rig.new_media)

    async def test_no_two_parts_of_a_device_are_laid_over_each_other(self, rig: Rig) -> None:
        await rig.allocated()
        inventory = await rig.driver.discover()
        taken: dict[str, int] = {}
        laid = [
            (device_at(inventory, target).id, *extent)
            for target, state in (await rig.driver.observe()).parts.items()
            for extent in state.extents
        ]
        for device, offset, size in sorted(laid):
            assert offset >= taken.get(device, 0)
            taken[device] = offset + size

    async def test_a_part_that_is_not_allocated_is_not_observed(self, rig: Rig) -> None:
        seen = await rig.driver.observe()
        assert rig.part is None or rig.part not in seen.parts

    async def test_allocating_twice_changes_nothing(self, rig: Rig) -> None:
        part = await rig.allocated()
        await rig.allocated()
        assert await rig.state(part) == PartState(rig.part_mib, rig.new_media)

    async def test_a_part_keeps_its_size(self, rig: Rig) -> None:
        part = await rig.allocated()
        with pytest.raises(DriverRejected):
            await rig.apply(Allocate(part, 2 * rig.part_mib))
        assert await rig.state(part) == PartState(rig.part_mib, rig.new_media)

    async def test_no_more_than_the_pool_can_be_allocated(self, rig: Rig) -> None:
        part = await rig.allocated()
        pool = device_at(await rig.driver.discover(), part).pool
        assert pool is not None
        await rig.apply(Deallocate(part))
        with pytest.raises(DriverRejected):
            await rig.apply(Allocate(part, pool.capacity_mib + pool.granularity_mib))
        assert await rig.state(part) is None

    async def test_a_size_that_is_no_multiple_is_refused(self, rig: Rig) -> None:
        part = await rig.allocated()
        pool = device_at(await rig.driver.discover(), part).pool
        assert pool is not None
        await rig.apply(Deallocate(part))
        with pytest.raises(DriverRejected):
            await rig.apply(Allocate(part, 0))
        if pool.granularity_mib > 1:
            with pytest.raises(DriverRejected):
                await rig.apply(Allocate(part, rig.part_mib + 1))
        assert await rig.state(part) is None

    async def test_a_part_that_was_given_back_is_gone(self, rig: Rig) -> None:
        part = await rig.allocated()
        await rig.apply(Deallocate(part))
        await rig.apply(Deallocate(part))
        assert await rig.state(part) is None

    async def test_a_part_can_be_allocated_anew_at_another_size(self, rig: Rig) -> None:
        part = await rig.allocated()
        await rig.apply(Deallocate(part))
        await rig.apply(Allocate(part, 2 * rig.part_mib))
        assert await rig.state(part) == PartState(2 * rig.part_mib, rig.new_media)

    async def test_only_an_allocated_part_can_be_bound(self, rig: Rig) -> None:
        part = await rig.allocated()
        await rig.apply(Deallocate(part))
        with pytest.raises(DriverRejected):
            await rig.apply(Bind(rig.first, part))
        await rig.allocated()
        await rig.apply(Bind(rig.first, part))
        assert await rig.bound() == part

    async def test_a_bound_part_is_not_given_back(self, rig: Rig) -> None:
        part = await rig.allocated()
        await rig.apply(Bind(rig.first, part))
        with pytest.raises(DriverRejected):
            await rig.apply(Deallocate(part))
        assert await rig.bound() == part
        state = await rig.state(part)
        assert state is not None
        assert state.size_mib == rig.part_mib

    async def test_a_part_goes_to_one_vppb_unless_it_is_shareable(self, rig: Rig) -> None:
        part = await rig.allocated()
        await rig.apply(Bind(rig.first, part))
        with pytest.raises(DriverRejected):
            await rig.apply(Bind(rig.second, part))
        assert await rig.bound(rig.second) is None

    async def test_a_shareable_part_goes_to_several(self, rig: Rig) -> None:
        if rig.part is None:
            pytest.skip("this rig has nothing to allocate")
        try:
            await rig.apply(Allocate(rig.part, rig.part_mib, shareable=True))
        except (DriverRejected, DriverUnsupported):
            pytest.skip("this hardware shares nothing")
        assert await rig.state(rig.part) == PartState(rig.part_mib, shareable=True)
        await rig.apply(Bind(rig.first, rig.part))
        await rig.apply(Bind(rig.second, rig.part))
        seen = (await rig.driver.observe()).bindings
        assert seen[rig.first] == seen[rig.second] == rig.part

    async def test_an_allocation_past_its_deadline_is_not_sent(self, rig: Rig) -> None:
        part = await rig.allocated()
        await rig.apply(Deallocate(part))
        with pytest.raises(DriverUnavailable):
            await rig.driver.apply(Allocate(part, rig.part_mib), rig.clock.now_s() - 0.001)
        await rig.clock.sleep(rig.driver.late_max_s)
        assert await rig.state(part) is None

    async def test_a_later_look_settles_a_lost_allocation(self, rig: Rig) -> None:
        part = await rig.allocated()
        await rig.apply(Deallocate(part))
        await rig.clock.sleep(rig.driver.late_max_s)
        await use(rig.lose_next_answer)
        with pytest.raises(DriverUnavailable):
            await rig.apply(Allocate(part, rig.part_mib))
        settled = await rig.settled(rig.clock.now_s())
        await rig.clock.sleep(2 * rig.driver.late_max_s)
        assert (await rig.driver.observe()).parts.get(part) == settled.parts.get(part)

    async def test_no_allocation_runs_after_a_barrier_that_was_proved(self, rig: Rig) -> None:
        part = await rig.allocated()
        await rig.apply(Deallocate(part))
        await rig.clock.sleep(rig.driver.late_max_s)
        await use(rig.run_next_late)
        with pytest.raises(DriverUnavailable):
            await rig.apply(Allocate(part, rig.part_mib))
        failed_s = rig.clock.now_s()
        await rig.clock.sleep(0.01)
        assert (await rig.driver.observe()).barrier_s < failed_s
        settled = await rig.settled(failed_s)
        await rig.clock.sleep(2 * rig.driver.late_max_s)
        assert (await rig.driver.observe()).parts.get(part) == settled.parts.get(part)

    async def test_what_a_host_had_is_dirty_until_it_is_sanitized(self, rig: Rig) -> None:
        await self._used(rig, rig.target)
        await rig.apply(Sanitize(rig.target))
        await rig.clean(rig.target)
        assert await rig.bound() is None

    async def test_sanitizing_twice_changes_nothing(self, rig: Rig) -> None:
        await self._used(rig, rig.target)
        await rig.apply(Sanitize(rig.target))
        await rig.apply(Sanitize(rig.target))
        await rig.clean(rig.target)
        await rig.apply(Sanitize(rig.target))
        await rig.clean(rig.target)

    async def test_what_is_bound_is_not_sanitized(self, rig: Rig) -> None:
        await self._used(rig, rig.target)
        await rig.apply(rig.bind)
        with pytest.raises(DriverRejected):
            await rig.apply(Sanitize(rig.target))
        state = await rig.state(rig.target)
        assert state is not None
        assert state.media is Media.DIRTY

    async def test_sanitizing_one_leaves_another_dirty(self, rig: Rig) -> None:
        await self._used(rig, rig.target)
        await self._used(rig, rig.other)
        await rig.apply(Sanitize(rig.target))
        await rig.clean(rig.target)
        state = await rig.state(rig.other)
        assert state is not None
        assert state.media is Media.DIRTY

    async def test_a_dirty_part_is_given_back_clean_or_not_at_all(self, rig: Rig) -> None:
        part = await rig.allocated()
        await self._used(rig, part)
        try:
            await rig.apply(Deallocate(part))
        except DriverRejected:
            await rig.apply(Sanitize(part))
            await rig.clean(part)
            await rig.apply(Deallocate(part))
        assert await rig.state(part) is None
        await rig.allocated()
        assert await rig.state(part) == PartState(rig.part_mib, rig.new_media)

    async def test_a_closed_driver_allocates_nothing(self, rig: Rig) -> None:
        await rig.driver.close()
        for step in (Allocate(rig.target, 1), Deallocate(rig.target), Sanitize(rig.target)):
            with pytest.raises((DriverUnavailable, DriverUnsupported)):
                await rig.apply(step)

    async def _used(self, rig: Rig, target: BindTarget) -> None:
        """Let a host have `target` for a while; skip where nobody keeps track of contents."""
        await rig.apply(Bind(rig.first, target))
        await rig.apply(Unbind(rig.first, target))
        state = await rig.state(target)
        if state is None or state.media is Media.CLEAN:
            pytest.skip("this driver keeps no track of contents")
        assert state.media is Media.DIRTY


def device_at(inventory: Inventory, target: BindTarget) -> Device:
    """Return the device whose port a target names."""
    (name,) = [
        port.device
        for switch in inventory.switches
        for port in switch.ports
        if (port.id.switch, port.id.port) == (target.switch, target.port)
    ]
    return next(device for device in inventory.devices if device.id == name)
