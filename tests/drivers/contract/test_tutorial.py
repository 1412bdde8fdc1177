"""The driver that docs/writing-a-driver.md prints passes the contract suite, over TCP."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType

import pytest

from redfish_fm.clocks import SystemClock
from redfish_fm.fabric.model import BindTarget, VppbId
from tests.drivers.contract.ls8 import LATE_MAX_S, Ls8
from tests.drivers.contract.rig import Rig
from tests.drivers.contract.suite import names, run_on

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "writing-a-driver.md"
HOLD_S = 2.0


def printed() -> ModuleType:
    """Return the code of the guide as a module, as it stands there."""
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    module = ModuleType("ls8_driver")
    exec(compile(code, str(GUIDE), "exec"), vars(module))  # noqa: S102 - our own text
    return module


TUTORIAL = printed()


@asynccontextmanager
async def tutorial_rig() -> AsyncIterator[Rig]:
    switch, clock = Ls8(), SystemClock()
    driver = TUTORIAL.create("127.0.0.1", await switch.start(), clock)

    async def lose_next_answer() -> None:
        switch.loses = True

    async def run_next_late() -> None:
        switch.late_s = LATE_MAX_S / 2

    async def hold_next() -> None:
        switch.hold_s = HOLD_S

    async def change_behind() -> None:
        await switch.watched.wait()
        switch.change("2", 0, "D2")

    try:
        yield Rig(
            driver,
            clock,
            VppbId("ls8", "1", 0),
            VppbId("ls8", "2", 0),
            BindTarget("ls8", "D1"),
            BindTarget("ls8", "D2"),
            lose_next_answer=lose_next_answer,
            run_next_late=run_next_late,
            change_behind=change_behind,
            hold_next=hold_next,
            hold_s=HOLD_S,
            cut_all=switch.stop,
        )
    finally:
        await driver.close()
        await switch.stop()


@pytest.mark.parametrize("name", names())
async def test_the_driver_of_the_guide(name: str) -> None:
    await run_on(tutorial_rig, name)


def test_the_guide_knows_how_late_its_switch_is() -> None:
    assert TUTORIAL.Ls8Driver.late_max_s == LATE_MAX_S
