"""The running event loop, remembered."""

import asyncio

import pytest

from redfish_fm.running_loop import RunningLoop


def test_it_is_the_loop_that_runs_now_whichever_ran_before() -> None:
    running = RunningLoop()

    async def agree() -> None:
        for _ in range(2):
            assert running.get() is asyncio.get_running_loop()

    asyncio.run(agree())
    asyncio.run(agree())
    with pytest.raises(RuntimeError):
        running.get()
