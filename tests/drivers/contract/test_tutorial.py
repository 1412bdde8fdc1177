"""The driver that docs/writing-a-driver.md prints passes the contract suite, over TCP."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from redfish_fm.clocks import SystemClock
from redfish_fm.drivers.base import Driver
from redfish_fm.fabric.model import BindTarget, VppbId
from tests.drivers.contract.ls8 import LATE_MAX_S, Ls8
from tests.drivers.contract.rig import Rig
from tests.drivers.contract.suite import names, run_on

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "writing-a-driver.md"
HOLD_S = 1.0


GARBAGE = (
    b"garbage\n",
    b"5\n",
    b"null\n",
    b"[]\n",
    b'{"ok": 1}\n',
    b'{"yes": "", "no": ""}\n',
    b"\xff\n",
    b"[" * 60_000 + b"\n",
    b" " * 70_000 + b"\n",
    b'{"yes": ""}',
    b"",
)
"""Answers that say nothing, or break off."""


def printed(*, but: tuple[str, str] | None = None) -> ModuleType:
    """Return the code of the guide as a module, as it stands there `but` for one replacement."""
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    if but is not None:
        assert code.count(but[0]) == 1, f"the guide does not have this once: {but[0]}"
        code = code.replace(*but)
    module = ModuleType("ls8_driver")
    exec(compile(code, str(GUIDE), "exec"), vars(module))  # noqa: S102 - our own text
    return module


TUTORIAL = printed()


@asynccontextmanager
async def tutorial_rig(module: ModuleType = TUTORIAL) -> AsyncIterator[Rig]:
    """Yield an LS-8 on loopback and the driver of `module` on it."""
    switch, clock = Ls8(), SystemClock()
    port = await switch.start()
    drivers: list[Driver] = []

    def create() -> Driver:
        drivers.append(module.create("127.0.0.1", port, clock))
        return drivers[-1]

    try:
        yield Rig(
            create(),
            clock,
            VppbId("ls8", "1", 0),
            VppbId("ls8", "2", 0),
            BindTarget("ls8", "D1"),
            BindTarget("ls8", "D2"),
            hold_s=HOLD_S,
            cut_all=switch.stop,
            successor=partial(successor, switch, port, create),
            garble_next=[partial(put, switch, "garbage", answer) for answer in GARBAGE],
            change_behind=partial(change_behind, switch),
            lose_next_answer=partial(put, switch, "loses", True),
            run_next_late=partial(put, switch, "late_s", LATE_MAX_S / 2),
            hold_next=partial(put, switch, "hold_s", HOLD_S),
            hold_next_look=partial(put, switch, "look_hold_s", HOLD_S),
        )
    finally:
        for driver in drivers:
            await driver.close()
        await switch.stop()


async def put(switch: Ls8, name: str, value: object) -> None:
    """Order one of the disturbances of the switch."""
    setattr(switch, name, value)


async def change_behind(switch: Ls8) -> None:
    await switch.watched.wait()
    switch.change("2", 0, "D2")


async def successor(switch: Ls8, port: int, create: Callable[[], Driver]) -> Driver:
    """Bind as a manager that is killed before the answer; return the driver of the next one."""
    switch.hold_s = HOLD_S
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b'["bind", "ls8", "1", 0, "ls8", "D1"]\n')
    await switch.has_command.wait()
    writer.transport.abort()
    await switch.has_lost_manager.wait()
    return create()


@pytest.mark.parametrize("name", names())
async def test_the_driver_of_the_guide(name: str) -> None:
    await run_on(tutorial_rig, name)


def test_the_guide_knows_how_late_its_switch_is() -> None:
    assert TUTORIAL.Ls8Driver.late_max_s == LATE_MAX_S


def test_the_guide_counts_its_lines_right() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (promised,) = re.findall(r"The code below is whole \((\d+) lines", text)
    assert code.count("\n") == int(promised)
