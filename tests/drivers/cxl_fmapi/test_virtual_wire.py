"""The driver keeps the contract against simulated switches, as each profile speaks on the wire.

The other end is the virtual fabric's own, which shares no code with this driver's codec.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from redfish_fm.drivers.cxl_fmapi.driver import CxlFmApiDriver, create
from redfish_fm.drivers.cxl_fmapi.places import Framing, LinkKind, SwitchPlace
from redfish_fm.drivers.virtual.fmapi_faults import WireFault
from redfish_fm.drivers.virtual.topology import load
from redfish_fm.fabric.model import Allocate, BindTarget, Inventory, Media, VppbId
from redfish_fm.resources import mockups_dir
from tests.drivers.contract.rig import Rig
from tests.drivers.contract.suite import names, run_on
from tests.drivers.cxl_fmapi.rigs import LATE_MAX_S, QUIET, until_complete
from tests.drivers.fabrics import CXL
from tests.drivers.fmapi_world import FmapiWorld, fmapi_world
from tests.virtual_time import VirtualClock, run

HOLD_S = 1.4
MIXED = load("mixed", mockups_dir()).inventories()[1]


@asynccontextmanager
async def driven(
    profile: str, inventory: Inventory = CXL, switch: str = "sw0", **more: Any
) -> AsyncIterator[tuple[CxlFmApiDriver, FmapiWorld]]:
    """Yield a driver of one simulated switch, connected as its profile is."""
    clock = VirtualClock()
    frames = profile == "short-identity"
    if not frames:
        async with fmapi_world(inventory, profile, clock=clock, **more) as world:
            place = SwitchPlace(switch, LinkKind.MCTP_TCP, (world.host, world.port))
            driver = made(place, clock)
            try:
                yield driver, world
            finally:
                await driver.close()
        return
    place = SwitchPlace(switch, LinkKind.FM_LISTEN, ("127.0.0.1", 0), framing=Framing.FRAMES)
    driver = made(place, clock)
    try:
        while (port := driver.connections.port_of(switch)) is None:
            await clock.sleep(0.01)
        async with fmapi_world(
            inventory, profile, clock=clock, dial=("127.0.0.1", port), **more
        ) as world:
            yield driver, world
    finally:
        await driver.close()


def made(place: SwitchPlace, clock: VirtualClock) -> CxlFmApiDriver:
    return create("CXL", [place], clock, seed=3, late_max_s=LATE_MAX_S, link_policy=QUIET)


@asynccontextmanager
async def wire_rig(profile: str, kind: str) -> AsyncIterator[Rig]:
    """Yield a rig; ports of the wire have the numbers of their places in the inventory."""
    pooled = kind == "pool"
    inventory = MIXED if pooled else CXL
    async with driven(profile, inventory) as (driver, world):
        first_switch = inventory.switches[0]
        numbers = {port.id.port: n for n, port in enumerate(first_switch.ports)}
        if pooled:
            for ld in (0, 15):
                own = BindTarget(first_switch.id, "D2", ld)
                world.hardware.execute(Allocate(own, 512), "outside")
            at = str(numbers["D2"])
            target, other = BindTarget("sw0", at, 0), BindTarget("sw0", at, 15)
            part = BindTarget("sw0", at, 7)
        else:
            target = BindTarget("sw0", str(numbers["D2"]))
            other, part = BindTarget("sw0", str(numbers["D1"]), 3), None
        await until_complete(driver, world.clock)

        async def lose_next_answer() -> None:
            world.faults.order(WireFault.DROP, 0x5201)

        async def hold_next() -> None:
            before, world.switch.operation_s = world.switch.operation_s, HOLD_S

            async def again() -> None:
                await world.clock.sleep(0.5)
                world.switch.operation_s = before

            tasks.append(asyncio.ensure_future(again()))

        async def cut_all() -> None:
            await world.end.close()

        tasks: list[asyncio.Task[None]] = []
        holds = profile != "jrl"
        yield Rig(
            driver,
            world.clock,
            VppbId("sw0", "0", 0),
            VppbId("sw0", "1", 0),
            target,
            other,
            part,
            512 if pooled else 0,
            Media.DIRTY,
            # What is lost of a tunnelled command, the wire can not choose.
            lose_next_answer=None if pooled else lose_next_answer,
            hold_next=hold_next if holds else None,
            hold_s=HOLD_S,
            cut_all=cut_all,
        )


@pytest.mark.parametrize(
    ("profile", "kind"),
    [
        ("standard", "LD"),
        ("strict", "LD"),
        ("jrl", "LD"),
        ("short-identity", "LD"),
        ("standard", "pool"),
        ("strict", "pool"),
    ],
)
@pytest.mark.parametrize("name", names())
def test_contract(name: str, profile: str, kind: str) -> None:
    run(run_on(lambda: wire_rig(profile, kind), name))
