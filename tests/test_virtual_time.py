"""Virtual time itself: what waits for ever ends with a word, not with all memory."""

import asyncio

import pytest

from tests import virtual_time
from tests.virtual_time import Stuck, VirtualClock, VirtualTimeLoop, run


async def _waiting_beside_one_that_looks() -> None:
    async def look() -> None:
        while True:
            await VirtualClock().sleep(1.0)

    looking = asyncio.create_task(look())
    try:
        await asyncio.Event().wait()
    finally:
        looking.cancel()


def test_waiting_for_what_never_comes_is_stuck_though_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(virtual_time, "JUMPS_MAX", 1000)
    with pytest.raises(Stuck, match="after 1001 s"):
        run(_waiting_beside_one_that_looks())


def test_as_many_jumps_as_are_allowed_are_none_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_time, "JUMPS_MAX", 1000)

    async def sleeps() -> None:
        for _ in range(1000):
            await asyncio.sleep(1)

    run(sleeps())


def test_what_says_that_it_gets_on_may_take_any_number_of_jumps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(virtual_time, "JUMPS_MAX", 10)

    async def sleeps() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        for _ in range(100):
            await asyncio.sleep(1)
            loop.came()

    run(sleeps())
