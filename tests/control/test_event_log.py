"""The log of events: every event once, in order, also when the service dies in between."""

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

from redfish_fm.control.event_log import CLOSE_TIMEOUT_S, EventLog
from redfish_fm.control.event_stream import Batch
from redfish_fm.control.logbook import Logbook, LogPolicy
from redfish_fm.redfish.event_entries import event_entry, kept_event, position_in
from redfish_fm.redfish.events import Event, Position, event_id
from redfish_fm.redfish.log_resources import LogTable
from redfish_fm.store.base import StoreFailed
from redfish_fm.store.memory import DurableState
from tests.control.test_event_stream import Source, a_test_event
from tests.redfish.builders import CATALOG, REGISTRIES
from tests.virtual_time import in_virtual_time

LOG = "/redfish/v1/Managers/FabricManager/LogServices/EventLog"


class Logged(Source):
    """A source with its log; `made` counts entries."""

    made = 0

    async def begin(self) -> "Logged":
        await super().begin()
        words = partial(event_entry, registries=REGISTRIES)
        table = LogTable(CATALOG, f"{LOG}/Entries", "Entries", lambda _: True, words=words)
        policy = LogPolicy(1000, 86400.0)
        self.book = Logbook(LOG, self.store, table, self.clock, policy, reopen=lambda _: None)
        await self.book.load(await self.store.load())
        self.log = EventLog(self.stream, self.book, self._entry, self.clock)
        return self

    def _entry(self, event: Event, now_s: float) -> bytes:
        self.made += 1
        return kept_event(event, now_s)

    async def logged(self) -> list[str]:
        """Return the ids of the events in the log, as stored."""
        rows = (await self.store.log(LOG)).rows
        return ["{}.{}".format(*(position_in(row.value) or ())) for row in rows]


def exact(*seqs: int) -> list[str]:
    """Return the ids of the exacter one of the two events of each commit that made a zone."""
    return [f"{seq}.2" for seq in seqs]


@in_virtual_time
async def test_what_happens_is_in_the_log_soon_after() -> None:
    source = await Logged().begin()
    running = [asyncio.ensure_future(each.run()) for each in (source.log, source.book)]
    await source.commit("a", "b")
    await asyncio.sleep(1)
    await source.commit("c")
    await asyncio.sleep(1)
    assert await source.logged() == exact(1, 2, 3)
    for task in running:
        task.cancel()
    await asyncio.wait(running)


@in_virtual_time
async def test_much_at_once_is_all_there_and_costs_few_transactions() -> None:
    source = await Logged().begin()
    running = [asyncio.ensure_future(each.run()) for each in (source.log, source.book)]
    before = source.store.transactions
    for number in range(100):
        await source.commit(f"z{number}")
    await asyncio.sleep(2)
    assert await source.logged() == exact(*range(1, 101))
    # A hundred commits, and what the log needs besides.
    assert source.store.transactions - before - 100 <= 3
    for task in running:
        task.cancel()
    await asyncio.wait(running)


@in_virtual_time
async def test_what_a_dying_service_did_not_log_is_logged_after_the_next_start() -> None:
    durable = DurableState()
    source = await Logged(durable).begin()
    await source.commit("a")
    await source.log.close()
    await source.commit("b", "c")
    durable.crash()
    again = await Logged(durable).begin()
    await again.commit("d")
    await again.log.close()
    assert await again.logged() == exact(1, 2, 3, 4)
    assert again.made == 3


@in_virtual_time
async def test_a_new_log_begins_with_what_comes() -> None:
    durable = DurableState()
    source = await Source(durable).begin()
    await source.commit("a")
    durable.crash()
    again = await Logged(durable).begin()
    await again.commit("b")
    await again.log.close()
    assert await again.logged() == exact(2)


@in_virtual_time
async def test_tests_for_everybody_are_logged_and_what_is_for_one_is_not() -> None:
    source = await Logged().begin()
    told = source.stream.tell(a_test_event())
    source.stream.tell(replace(a_test_event(), to="/redfish/v1/EventService/Subscriptions/1"))
    await source.log.close()
    assert await source.logged() == [event_id(told)]


@in_virtual_time
async def test_the_end_does_not_log_twice_what_is_being_logged() -> None:
    source = await Logged().begin()
    read = source.stream.read

    async def slowly(after: Position, limit: int) -> Batch:
        await asyncio.sleep(0.01)
        return await read(after, limit)

    source.stream.read = slowly  # type: ignore[method-assign]
    running = asyncio.ensure_future(source.log.run())
    await source.commit(*(f"z{number}" for number in range(30)))
    await asyncio.sleep(0)
    await asyncio.gather(source.log.close(), source.log.close())
    running.cancel()
    await asyncio.wait({running})
    assert await source.logged() == exact(*range(1, 31))


@in_virtual_time
async def test_a_store_that_can_not_be_read_does_not_hold_up_the_end() -> None:
    durable = DurableState()
    source = await Logged(durable).begin()
    await source.commit("a")
    await source.log.close()
    await source.commit("b")
    durable.crash()
    again = await Logged(durable).begin()

    def failing(_: int) -> Any:
        raise StoreFailed("not now")

    again.store.follow = failing  # type: ignore[method-assign]
    began_s = again.clock.now_s()
    await again.log.close()
    assert again.clock.now_s() - began_s <= CLOSE_TIMEOUT_S
    durable.crash()
    third = await Logged(durable).begin()
    await third.log.close()
    assert await third.logged() == exact(1, 2)


@in_virtual_time
async def test_what_is_told_after_the_clock_was_set_back_is_in_the_log_too() -> None:
    source = await Logged().begin()
    await source.commit("a")
    source.stream.tell(a_test_event())
    await source.log.close()
    source.durable.crash()
    again = Logged(source.durable)
    again.clock.wall_s = lambda: 1.0  # type: ignore[method-assign]
    await again.begin()
    told = event_id(again.stream.tell(a_test_event()))
    await again.log.close()
    assert (await again.logged())[-1] == told
    assert len(set(await again.logged())) == 3
