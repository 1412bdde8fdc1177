"""The row of polls: what one look at a CXL switch over the FM API costs the manager.

One look asks for all ports and all virtual switches. As a program this module is the switch: the
virtual fabric's own wire end, in a process of its own, so that only the manager's CPU is counted.
"""

import asyncio
import time
from statistics import median

from redfish_fm.clocks import SystemClock
from redfish_fm.drivers.base import DriverUnavailable
from redfish_fm.drivers.cxl_fmapi.driver import CxlFmApiDriver, create
from redfish_fm.drivers.cxl_fmapi.places import LinkKind, SwitchPlace
from tests.drivers.fmapi_world import fmapi_world

from .children import Child
from .report import Figure

TARGET = "<= 400 us"
_CONNECT_TRIES = 100


def poll_row(rounds: int, polls: int) -> list[Figure]:
    """Return the CPU of client, codec and driver per poll: the median of the rounds."""
    with Child(f"{__package__}.poll") as switch:
        costs_s = asyncio.run(_measured(switch.port, rounds, polls))
    spread = f"{len(costs_s)} rounds, {min(costs_s) * 1e6:.0f}-{max(costs_s) * 1e6:.0f}"
    cost_us = round(median(costs_s) * 1e6, 1)
    return [Figure("poll", "CPU per poll", cost_us, "us", TARGET, spread)]


async def _measured(port: int, rounds: int, polls: int) -> list[float]:
    place = SwitchPlace("switch", LinkKind.MCTP_TCP, ("127.0.0.1", port))
    # Nothing of a predecessor is to be proved: that is asked for only in the first seconds.
    driver = create("fabric", [place], SystemClock(), seed=0, late_max_s=0.0)
    try:
        await _connected(driver)
        costs_s = []
        for _ in range(rounds):
            begun_s = time.process_time()
            for _ in range(polls):
                await driver.observe()
            costs_s.append((time.process_time() - begun_s) / polls)
        return costs_s
    finally:
        await driver.close()


async def _connected(driver: CxlFmApiDriver) -> None:
    for _ in range(_CONNECT_TRIES):
        try:
            await driver.observe()
            return
        except DriverUnavailable:
            await asyncio.sleep(0.05)
    raise RuntimeError("the switch does not answer")


async def _serve() -> None:
    async with fmapi_world(clock=SystemClock()) as world:
        print(f"ready URL=http://{world.host}:{world.port}/", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve())
