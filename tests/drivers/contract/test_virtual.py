"""The virtual driver keeps the contract, on CXL and on PCIe, in virtual time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from redfish_fm.drivers.virtual.faults import Late, Lost, Slow
from redfish_fm.fabric.model import Bind, BindTarget, Inventory, VppbId
from tests.drivers.contract.suite import DriverContract, MakeRig, Rig
from tests.drivers.fabrics import CXL, PCIE, power_up
from tests.virtual_time import run


@asynccontextmanager
async def virtual_rig(
    inventory: Inventory, target: BindTarget, other: BindTarget
) -> AsyncIterator[Rig]:
    powered = power_up(inventory)
    switch = inventory.switches[0].id
    first, second = VppbId(switch, "1", 0), VppbId(switch, "2", 0)

    async def lose_next_answer() -> None:
        powered.faults.next_apply(switch, Lost())

    async def run_next_late() -> None:
        powered.faults.next_apply(switch, Late())

    async def hold_next() -> None:
        powered.faults.next_apply(switch, Slow(1.0))

    async def change_behind() -> None:
        powered.hardware.execute(Bind(second, other), "outside")

    async def cut_all() -> None:
        powered.hardware.cut(switch)

    try:
        yield Rig(
            powered.driver,
            powered.clock,
            first,
            second,
            target,
            other,
            lose_next_answer=lose_next_answer,
            run_next_late=run_next_late,
            change_behind=change_behind,
            hold_next=hold_next,
            cut_all=cut_all,
        )
    finally:
        await powered.driver.close()
        powered.hardware.close()


RIGS: dict[str, MakeRig] = {
    "LD": lambda: virtual_rig(CXL, BindTarget("cxl1", "D1", 0), BindTarget("cxl1", "D1", 3)),
    "SLD": lambda: virtual_rig(CXL, BindTarget("cxl1", "D2"), BindTarget("cxl1", "D1", 3)),
    "PCIe": lambda: virtual_rig(PCIE, BindTarget("pcie1", "D1"), BindTarget("pcie1", "D4")),
}
CONTRACT = sorted(name for name in vars(DriverContract) if name.startswith("test_"))


@pytest.mark.parametrize("kind", RIGS)
@pytest.mark.parametrize("name", CONTRACT)
def test_virtual(name: str, kind: str) -> None:
    async def one() -> None:
        async with RIGS[kind]() as rig:
            await getattr(DriverContract(), name)(rig)

    run(one())


def test_the_contract_is_not_empty() -> None:
    assert len(CONTRACT) > 20
