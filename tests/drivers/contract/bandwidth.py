"""The optional half of the contract that is about bandwidth of LDs (Device.qos)."""

import itertools

import pytest

from redfish_fm.drivers.base import DriverRejected, DriverUnavailable
from redfish_fm.fabric.model import BindTarget, Qos, SetQos
from tests.drivers.contract.rig import Rig, use


class BandwidthContract:
    """Tests of a driver that sets bandwidth; skipped where no device of the rig can do it."""

    async def test_bandwidth_is_told_of_each_ld_that_can_have_it(self, rig: Rig) -> None:
        inventory = await rig.driver.discover()
        counts = {device.id: len(device.lds) for device in inventory.devices if device.qos}
        seen = (await rig.driver.observe()).qos
        assert len(seen) == sum(counts.values())
        assert all(0 <= qos.allocated <= 100 and 0 <= qos.limit <= 100 for qos in seen.values())

    async def test_bandwidth_that_was_set_is_told(self, rig: Rig) -> None:
        one, _ = await _two_lds(rig)
        for _ in range(2):
            await rig.apply(SetQos(one, Qos(30, 60)))
            assert await _seen(rig, one) == Qos(30, 60)
        await rig.apply(SetQos(one, Qos()))
        assert await _seen(rig, one) == Qos()

    async def test_no_more_bandwidth_than_all_is_given(self, rig: Rig) -> None:
        one, other = await _two_lds(rig)
        await rig.apply(SetQos(one, Qos(60)))
        with pytest.raises(DriverRejected):
            await rig.apply(SetQos(other, Qos(41)))
        assert (await _seen(rig, one), await _seen(rig, other)) == (Qos(60), Qos())

    async def test_a_later_look_settles_lost_bandwidth(self, rig: Rig) -> None:
        one, _ = await _two_lds(rig)
        await use(rig.lose_next_answer)
        with pytest.raises(DriverUnavailable):
            await rig.apply(SetQos(one, Qos(30)))
        settled = await rig.settled(rig.clock.now_s())
        await rig.clock.sleep(2 * rig.driver.late_max_s)
        assert await _seen(rig, one) == settled.qos.get(one)


async def _seen(rig: Rig, ld: BindTarget) -> Qos | None:
    return (await rig.driver.observe()).qos.get(ld)


async def _two_lds(rig: Rig) -> tuple[BindTarget, BindTarget]:
    """Return two LDs of one device behind the switch of the rig, or skip."""
    seen = (await rig.driver.observe()).qos
    known = sorted(
        (each for each in seen if each.switch == rig.first.switch),
        key=lambda each: (each.port, each.ld or 0),
    )
    for one, other in itertools.pairwise(known):
        if one.port == other.port:
            return one, other
    pytest.skip("this rig has no two LDs that share bandwidth")
