"""The drivers that docs/writing-a-driver.md prints pass the contract suite.

One of sixty lines controls an object in its own process, the other a switch over TCP.
"""

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from unittest import mock

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


def codes(heading: str) -> list[str]:
    """Return the pieces of Python below a heading of the guide."""
    text = GUIDE.read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {heading}\n(.*?)^## ", text, re.DOTALL | re.MULTILINE)
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def printed(*, but: tuple[str, str] | None = None) -> ModuleType:
    """Return the LS-8 driver of the guide as a module, as it stands there `but` for one piece."""
    (code,) = codes("The whole driver for the LS-8")
    return loaded("ls8_driver", code, but)


def printed_bench(
    *, but: tuple[str, str] | None = None, uplinks: tuple[str, str] = ("1", "2")
) -> ModuleType:
    """Return the sixty-line driver as a module, with a vendor's library of its own beside it.

    `uplinks` are the names of the two uplinks of its card.
    """
    library, code = codes("Sixty lines")
    for there, name in zip(("1", "2"), uplinks, strict=True):
        assert f'Pc("{there}"' in library
        library = library.replace(f'Pc("{there}"', f'Pc("{name}"')
    with mock.patch.dict(sys.modules, bx4=loaded("bx4", library)):
        return loaded("bx4_driver", code, but)


def loaded(name: str, code: str, but: tuple[str, str] | None = None) -> ModuleType:
    """Run a piece of the guide, perhaps with one replacement in it."""
    if but is not None:
        assert code.count(but[0]) == 1, f"the guide does not have this once: {but[0]}"
        code = code.replace(*but)
    module = ModuleType(name)
    exec(compile(code, str(GUIDE), "exec"), vars(module))  # noqa: S102 - our own text
    return module


TUTORIAL = printed()


@asynccontextmanager
async def bench_rig(
    *, but: tuple[str, str] | None = None, uplinks: tuple[str, str] = ("1", "2")
) -> AsyncIterator[Rig]:
    """Yield a fresh BX-4 and its driver. It answers always and at once: nothing to disturb."""
    module, clock = printed_bench(but=but, uplinks=uplinks), SystemClock()
    driver: Driver = module.Bx4Driver(0, clock)
    switch = module.bx4.card(0).serial
    try:
        yield Rig(
            driver,
            clock,
            VppbId(switch, uplinks[0], 0),
            VppbId(switch, uplinks[1], 0),
            BindTarget(switch, "B1"),
            BindTarget(switch, "B2"),
        )
    finally:
        await driver.close()


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


@pytest.mark.parametrize("name", names())
async def test_the_sixty_line_driver_of_the_guide(name: str) -> None:
    await run_on(bench_rig, name)


CARELESS = {
    "is not closed": (
        "self._closed.is_set() or self",
        "self",
        "test_a_closed_driver_is_unavailable",
    ),
    "acts after its deadline": (
        "self._ready(deadline_s)",
        "self._ready()",
        "test_a_step_past_its_deadline_is_not_sent",
    ),
    "looks at no switch id": (
        "{step.vppb.switch, step.target.switch} != {card.serial} or ",
        "",
        "test_an_unknown_switch_is_refused",
    ),
    "proves the future": (
        "barrier_s=now_s",
        "barrier_s=now_s + 1",
        "test_a_look_proves_nothing_of_the_future",
    ),
    "hints on when it is closed": (
        "        return\n        yield  # never; it makes this a generator",
        "        while True:\n            yield m.Hint(self._card.serial)",
        "test_closing_ends_a_watch",
    ),
}
"""The sixty-line driver with one promise left out: what stands there, what instead, who sees it."""


@pytest.mark.parametrize("left_out", CARELESS)
async def test_the_sixty_line_driver_needs_each_of_its_promises(left_out: str) -> None:
    there, instead, name = CARELESS[left_out]
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        await run_on(partial(bench_rig, but=(there, instead)), name)


@pytest.mark.parametrize(
    "name", ["test_an_unknown_switch_is_refused", "test_unbinding_what_does_not_exist_is_refused"]
)
async def test_a_driver_that_looks_at_no_switch_id_is_found_whatever_its_uplinks_are_called(
    name: str,
) -> None:
    there, instead, _ = CARELESS["looks at no switch id"]
    named = partial(bench_rig, uplinks=("north", "south"))
    await run_on(named, name)
    with pytest.raises(pytest.fail.Exception):
        await run_on(partial(named, but=(there, instead)), name)


@pytest.mark.parametrize("name", [name for name in names() if "watch" in name or "hint" in name])
async def test_a_driver_may_give_a_hint_at_once_and_unasked(name: str) -> None:
    waits = "        await self._closed.wait()"
    await run_on(
        partial(bench_rig, but=(waits, f"        yield m.Hint(self._card.serial)\n{waits}")), name
    )


async def test_a_look_at_the_bench_proves_what_was_done_before_it() -> None:
    async with bench_rig() as rig:
        await rig.apply(rig.bind)
        done_s = rig.clock.now_s()
        assert (await rig.driver.observe()).barrier_s >= done_s


def test_the_guide_knows_how_late_its_switch_is() -> None:
    assert TUTORIAL.Ls8Driver.late_max_s == LATE_MAX_S


def test_the_first_driver_of_the_guide_has_at_most_sixty_lines() -> None:
    _library, code = codes("Sixty lines")
    assert code.count("\n") <= 60


def test_the_guide_counts_its_lines_right() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    (promised,) = re.findall(r"its driver has (\d+) lines where the BX-4's has (\d+)", text)
    _library, short = codes("Sixty lines")
    (long,) = codes("The whole driver for the LS-8")
    assert tuple(map(int, promised)) == (long.count("\n"), short.count("\n"))
