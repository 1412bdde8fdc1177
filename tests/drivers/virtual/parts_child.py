"""A process with a bound LD of a pool, waiting to be killed.

Usage: parts_child.py STATE_DIR. Prints "allocated" when there is something to lose.
"""

import asyncio
import sys
from pathlib import Path

from redfish_fm.clocks import SystemClock
from redfish_fm.drivers.virtual.driver import create
from tests.drivers.virtual.physics import WORLD, allocate, bind


async def main(state_dir: Path) -> None:
    clock = SystemClock()
    driver = create(WORLD, clock, clock, state_dir)
    for step in (allocate(), bind()):
        await driver.apply(step, clock.now_s() + 30)
    sys.stdout.write("allocated\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


asyncio.run(main(Path(sys.argv[1])))
