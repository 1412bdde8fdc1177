"""The kernel as a whole: a stop at any moment, also before it has begun to run."""

import asyncio
from typing import Any

import pytest

from redfish_fm.control.kernel import Kernel, KernelConfig
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.store.memory import DurableState, MemoryStore
from tests.control.builders import PCIE_ZONES, a_base, always, document, put
from tests.virtual_time import VirtualClock, in_virtual_time

ZONE = f"{PCIE_ZONES}/z"
PATIENCE_S = 10.0


async def a_kernel(**store_options: Any) -> Kernel:
    clock = VirtualClock()
    store = MemoryStore(DurableState(), clock, **store_options)
    kernel = Kernel(store, a_base(), {}, clock, KernelConfig())
    kernel.start(await store.load())
    return kernel


def writing(kernel: Kernel) -> "asyncio.Task[Any]":
    change = always(put(ZONE, document(ZONE)))
    return asyncio.create_task(kernel.writer.submit(change, "tester"))


async def refused(task: "asyncio.Task[Any]") -> int:
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(RedfishError) as caught:
            await task
    return caught.value.status


@in_virtual_time
async def test_a_kernel_that_was_closed_before_it_ran_does_not_run() -> None:
    kernel = await a_kernel()
    running = asyncio.create_task(kernel.run())
    await kernel.close()
    async with asyncio.timeout(PATIENCE_S):
        await running


@in_virtual_time
async def test_closing_before_it_ran_waits_for_nothing_and_answers_who_waits() -> None:
    kernel = await a_kernel()
    task = writing(kernel)
    await asyncio.sleep(0)
    began_s = asyncio.get_running_loop().time()
    await kernel.close()
    assert asyncio.get_running_loop().time() == began_s
    assert await refused(task) == 503
    assert not kernel.writer.tip_view.is_wanted(ZONE)


@in_virtual_time
async def test_who_waits_for_a_store_that_never_answers_is_answered_at_the_end() -> None:
    kernel = await a_kernel(latency_s=30.0)
    running = asyncio.create_task(kernel.run())
    task = writing(kernel)
    await asyncio.sleep(1)
    closing = asyncio.create_task(kernel.close())
    assert await refused(task) == 503
    await closing
    await running
