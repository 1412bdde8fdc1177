"""What only the memory store has: latency, faults on demand, crashes."""

import asyncio

import pytest

from redfish_fm.store.base import OutcomeUnknown, StoreFailed, StoreFull
from redfish_fm.store.memory import DurableState, MemoryStore
from tests.store.contract import SESSION, StillClock, change, edit


class GateClock(StillClock):
    """Sleeps until the gate opens, and remembers for how long it was asked to."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.slept_s: list[float] = []

    async def sleep(self, delay_s: float) -> None:
        self.slept_s.append(delay_s)
        await self.gate.wait()


async def _opened(durable: DurableState, clock: StillClock, **options) -> MemoryStore:
    store = MemoryStore(durable, clock, **options)
    await store.load()
    return store


async def test_nothing_is_durable_before_the_latency_is_over():
    clock, durable = GateClock(), DurableState()
    store = await _opened(durable, clock, latency_s=0.2)
    task = asyncio.create_task(store.commit(0, [change(1)]))
    for _ in range(3):
        await asyncio.sleep(0)
    assert (durable.seq, task.done(), clock.slept_s) == (0, False, [0.2])
    clock.gate.set()
    assert (await task, durable.seq) == (1, 1)


async def test_a_crash_loses_what_was_not_yet_written_and_keeps_the_rest():
    clock, durable = GateClock(), DurableState()
    clock.gate.set()
    store = await _opened(durable, clock)
    await store.commit(0, [change(1, edit("a", None, b"1"))])
    await store.put_session(SESSION)
    clock.gate.clear()
    task = asyncio.create_task(store.commit(1, [change(2, edit("b", None, b"1"))]))
    for _ in range(3):
        await asyncio.sleep(0)
    durable.crash()
    after = await _opened(durable, StillClock())
    clock.gate.set()
    with pytest.raises(StoreFailed, match="dead"):
        await task
    assert (await after.load()).seq == 1
    assert await after.sessions() == [SESSION]
    assert await after.commit(1, [change(2, edit("b", None, b"2"))]) == 2


async def test_a_store_that_has_crashed_can_not_take_the_state_back():
    durable = DurableState()
    before = await _opened(durable, StillClock())
    durable.crash()
    after = await _opened(durable, StillClock())
    with pytest.raises(StoreFailed):
        await before.commit(0, [change(1)])
    await before.close()
    assert await after.commit(0, [change(1)]) == 1


async def test_a_fault_before_writes_nothing_and_the_next_commit_works():
    durable = DurableState()
    faults = {0: StoreFull("full"), 1: StoreFailed("failed")}
    store = await _opened(durable, StillClock(), fault_before=faults.get)
    for kind in (StoreFull, StoreFailed):
        with pytest.raises(kind):
            await store.commit(0, [change(1)])
    assert (durable.seq, store.commits) == (0, 0)
    assert await store.commit(0, [change(1)]) == 1


@pytest.mark.parametrize(("place", "seq"), [("fault_before", 0), ("fault_after", 1)])
async def test_an_unknown_outcome_refuses_writes_until_a_load(place, seq):
    durable = DurableState()
    faults = {0: OutcomeUnknown("error at COMMIT")}
    store = await _opened(durable, StillClock(), **{place: faults.get})
    with pytest.raises(OutcomeUnknown):
        await store.commit(0, [change(1)])
    with pytest.raises(StoreFailed, match="load"):
        await store.commit(seq, [change(seq + 1)])
    with pytest.raises(StoreFailed, match="load"):
        await store.put_session(SESSION)
    assert (await store.load()).seq == seq
    assert await store.commit(seq, [change(seq + 1)]) == seq + 1


class HurryingClock(StillClock):
    """Each sleep is shorter than the one before, so that a later one would overtake it."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = 12

    async def sleep(self, delay_s: float) -> None:
        self.turns -= 1
        for _ in range(self.turns):
            await asyncio.sleep(0)


async def test_transactions_take_effect_in_the_order_they_were_asked_for():
    store = await _opened(DurableState(), HurryingClock())
    results = await asyncio.gather(*(store.commit(n, [change(n + 1)]) for n in range(10)))
    assert results == list(range(1, 11))


async def test_a_store_of_a_crashed_process_never_takes_the_state_again() -> None:
    durable = DurableState()
    dead = MemoryStore(durable, StillClock())
    await dead.load()
    durable.crash()
    with pytest.raises(StoreFailed):
        await dead.load()
    await MemoryStore(durable, StillClock()).load()
