"""The virtual driver keeps the contract, with every kind of target, in virtual time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from redfish_fm.drivers.base import Driver
from redfish_fm.drivers.virtual.faults import Late, Lost, Slow
from redfish_fm.drivers.virtual.topology import load
from redfish_fm.fabric.model import Allocate, Bind, BindTarget, Inventory, VppbId
from redfish_fm.resources import mockups_dir
from tests.drivers.contract.rig import MakeRig, Rig
from tests.drivers.contract.suite import names, run_on
from tests.drivers.fabrics import CXL, PCIE, power_up
from tests.virtual_time import run

HOLD_S = 4.0
"""Twice late_max_s, as a Rig asks for."""
MIXED_PCIE, MIXED_CXL, NVME_OF = load("mixed", mockups_dir()).inventories()


@asynccontextmanager
async def virtual_rig(
    inventory: Inventory,
    target: BindTarget,
    other: BindTarget,
    part: BindTarget | None = None,
    part_mib: int = 0,
) -> AsyncIterator[Rig]:
    """Yield a rig; where there is a part to allocate, its targets are parts of the same pool."""
    powered = power_up(inventory)
    drivers: list[Driver] = [powered.driver]
    switch = inventory.switches[0]
    one, two = switch.virtual_switches[:2]
    first, second = VppbId(switch.id, one.id, 0), VppbId(switch.id, two.id, 0)

    async def lose_next_answer() -> None:
        powered.faults.next_apply(switch.id, Lost())

    async def run_next_late() -> None:
        powered.faults.next_apply(switch.id, Late())

    async def hold_next() -> None:
        powered.faults.next_apply(switch.id, Slow(HOLD_S))

    async def hold_next_look() -> None:
        powered.faults.observe_s = HOLD_S
        # A look that begins now draws it; virtual time moves on once that look waits.
        asyncio.get_running_loop().call_later(0.001, setattr, powered.faults, "observe_s", 0.0)

    async def change_behind() -> None:
        powered.hardware.execute(Bind(second, other), "outside")

    async def successor() -> Driver:
        powered.hardware.postpone(Bind(first, target), 0.9 * powered.driver.late_max_s)
        made = powered.again().driver
        drivers.append(made)
        return made

    async def cut_all() -> None:
        for each in inventory.switches:
            powered.hardware.cut(each.id)

    try:
        if part is not None:
            for each in (target, other):
                powered.hardware.execute(Allocate(each, part_mib), "outside")
        yield Rig(
            powered.driver,
            powered.clock,
            first,
            second,
            target,
            other,
            part,
            part_mib,
            lose_next_answer=lose_next_answer,
            run_next_late=run_next_late,
            change_behind=change_behind,
            hold_next=hold_next,
            hold_next_look=hold_next_look,
            hold_s=HOLD_S,
            cut_all=cut_all,
            successor=successor,
        )
    finally:
        for driver in drivers:
            await driver.close()
        powered.hardware.close()


def at(port: str, **part: int) -> BindTarget:
    """Return a target on the first switch of a fabric."""
    kind = port.partition("/")
    return BindTarget(kind[0], kind[2], **part)


def an_ld(number: int) -> BindTarget:
    return at("cxl1/D2", ld=number)


def a_region(ld: int, number: int) -> BindTarget:
    return at("cxl1/D3", ld=ld, region=number)


def a_namespace(number: int) -> BindTarget:
    return at("jbof1/D1", namespace=number)


RIGS: dict[str, MakeRig] = {
    "LD": lambda: virtual_rig(CXL, at("cxl1/D1", ld=0), at("cxl1/D1", ld=3)),
    "SLD": lambda: virtual_rig(CXL, at("cxl1/D2"), at("cxl1/D1", ld=3)),
    "PCIe": lambda: virtual_rig(PCIE, at("pcie1/D1"), at("pcie1/D4")),
    "function": lambda: virtual_rig(
        MIXED_PCIE, at("pcie1/D4", function=0), at("pcie1/D4", function=7)
    ),
    "head": lambda: virtual_rig(MIXED_PCIE, at("pcie1/D7"), at("pcie1/D8")),
    "drive": lambda: virtual_rig(MIXED_PCIE, at("pcie1/D9"), at("pcie1/D3")),
    "pooled LD": lambda: virtual_rig(MIXED_CXL, an_ld(0), an_ld(15), an_ld(7), 512),
    "region": lambda: virtual_rig(MIXED_CXL, a_region(0, 0), a_region(1, 3), a_region(0, 3), 1024),
    "namespace": lambda: virtual_rig(
        NVME_OF, a_namespace(1), a_namespace(32), a_namespace(2), 4096
    ),
}


@pytest.mark.parametrize("kind", RIGS)
@pytest.mark.parametrize("name", names())
def test_virtual(name: str, kind: str) -> None:
    run(run_on(RIGS[kind], name))


def test_the_contract_is_not_empty() -> None:
    assert len(names()) > 45
