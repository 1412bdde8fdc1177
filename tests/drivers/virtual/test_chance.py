"""Faults by chance: equal seeds give equal runs, and a barrier holds whatever strikes."""

import asyncio

import pytest

from redfish_fm.drivers.base import DriverRejected, DriverUnavailable
from redfish_fm.drivers.virtual.faults import FaultPlan, Rates
from redfish_fm.fabric.model import BindTarget
from tests.drivers.fabrics import FIRST, NEXT, SECOND, Powered, bind, ld, power_up, unbind
from tests.virtual_time import run


async def _everything(seed: int) -> list[object]:
    """Apply many steps under all faults and return all that can be seen of it."""
    powered = power_up(seed=seed)
    powered.faults.rates = Rates(
        refuse=0.1, slow=0.1, lost=0.1, dropped=0.1, late=0.2, restart=0.05, pretend=0.05
    )
    seen: list[object] = []
    for turn in range(60):
        vppb, target = (FIRST, NEXT, SECOND)[turn % 3], ld(turn % 4)
        step = bind(vppb, target) if turn % 2 else unbind(vppb, target)
        try:
            await powered.driver.apply(step, powered.in_s(0.3))
            seen.append("done")
        except (DriverRejected, DriverUnavailable) as error:
            seen.append(str(error))
        seen.append(powered.clock.now_s())
    seen.extend(powered.hardware.oracle().actions())
    await powered.driver.close()
    return seen


def test_equal_seeds_give_equal_runs() -> None:
    assert run(_everything(3)) == run(_everything(3))
    assert run(_everything(3)) != run(_everything(4))


@pytest.mark.parametrize("seed", range(40))
def test_what_a_barrier_proves_stays_true_under_every_fault(seed: int) -> None:
    async def one() -> None:
        powered = power_up(seed=seed)
        powered.faults.rates = Rates(slow=0.1, lost=0.2, dropped=0.1, late=0.4, restart=0.1)
        chance = FaultPlan(f"test {seed}").chance
        for _ in range(15):
            vppb, target = chance.choice((FIRST, NEXT, SECOND)), ld(chance.randrange(4))
            step = chance.choice((bind, unbind))(vppb, target)
            handed_s = powered.clock.now_s()
            try:
                await powered.driver.apply(step, powered.in_s(0.3))
            except (DriverRejected, DriverUnavailable):
                if chance.random() < 0.3:
                    powered.hardware.cut("cxl1", chance.random())
            settled = await _settled(powered, handed_s)
            await asyncio.sleep(5)
            assert (await powered.driver.observe()).bindings == settled
        assert powered.hardware.oracle().double_reach() == []

    run(one())


async def _settled(powered: Powered, handed_s: float) -> dict[object, BindTarget | None]:
    while True:
        await asyncio.sleep(0.05)
        try:
            seen = await powered.driver.observe()
        except DriverUnavailable:
            continue
        if seen.barrier_s > handed_s:
            return dict(seen.bindings)


def test_rates_that_are_no_probabilities_are_refused() -> None:
    with pytest.raises(ValueError, match="probabilities"):
        Rates(lost=0.7, late=0.7)
    with pytest.raises(ValueError, match="probabilities"):
        Rates(lost=-0.1)
