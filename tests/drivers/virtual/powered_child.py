"""A process with virtual hardware that waits to be killed: one bind done, one to run late.

Usage: powered_child.py STATE_DIR. Prints "bound" when there is something to lose.
"""

import asyncio
import contextlib
import sys
from pathlib import Path

from redfish_fm.clocks import SystemClock
from redfish_fm.drivers.base import DriverUnavailable
from redfish_fm.drivers.virtual.driver import create
from redfish_fm.drivers.virtual.faults import Late
from tests.drivers.fabrics import CXL, SECOND, bind, ld


async def main(state_dir: Path) -> None:
    clock = SystemClock()
    driver = create(CXL, clock, clock, state_dir)
    deadline_s = clock.now_s() + 30
    await driver.apply(bind(), deadline_s)
    driver.faults.next_apply(None, Late(2.0))
    with contextlib.suppress(DriverUnavailable):
        await driver.apply(bind(SECOND, ld(1)), deadline_s)
    sys.stdout.write("bound\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


asyncio.run(main(Path(sys.argv[1])))
