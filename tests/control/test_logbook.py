"""A log of the service: in groups to the store, a ring, cleared by a change."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from redfish_fm.control.logbook import WAITING_MAX, Logbook, LogPolicy
from redfish_fm.mapping.log_services import cleared_key
from redfish_fm.redfish.changes import Change, Edit, Space
from redfish_fm.redfish.log_resources import LogTable
from redfish_fm.store.base import OutcomeUnknown, StoreError, StoreFailed, StoreFull
from redfish_fm.store.memory import DurableState, MemoryStore
from tests.redfish.builders import CATALOG
from tests.store.contract import StillClock

LOG = "/redfish/v1/Managers/FabricManager/LogServices/AuditLog"
DAY_S = 86400.0


class Book:
    """A logbook over a durable state, and what it told."""

    def __init__(self, durable: DurableState, clock: StillClock, **options: Any) -> None:
        policy = options.pop("policy", LogPolicy(10, DAY_S))
        self.clock = clock
        self.store = MemoryStore(durable, clock, **options)
        self.reopened: list[StoreError] = []
        self.told = 0
        self.table = LogTable(CATALOG, f"{LOG}/Entries", "Entries", words=bytes)
        self.log = Logbook(
            LOG,
            self.store,
            self.table,
            clock,
            policy,
            reopen=self.reopened.append,
            told=self._tell,
        )

    def _tell(self) -> None:
        self.told += 1

    def add(self, count: int = 1) -> None:
        for _ in range(count):
            self.log.add(self.clock.wall_s(), lambda: b'{"EntryType":"Event"}')

    @property
    def shown(self) -> list[int]:
        return [*self.table.numbers]

    async def stored(self) -> list[int]:
        return [row.number for row in (await self.store.log(LOG)).rows]

    def clear(self) -> None:
        """Publish what ClearLog commits."""
        state = self.log.state(None)
        edit = Edit(Space.META, state.key, None, b"%d" % state.newest)
        self.log.published([Change(1, 0.0, "admin", (edit,))])


@contextlib.asynccontextmanager
async def a_book(
    durable: DurableState | None = None, clock: StillClock | None = None, **options: Any
) -> AsyncIterator[Book]:
    book = Book(durable or DurableState(), clock or StillClock(), **options)
    await book.log.load(await book.store.load())
    try:
        yield book
    finally:
        await book.store.close()


async def test_an_entry_is_shown_once_it_is_stored() -> None:
    async with a_book() as book:
        book.add(2)
        assert book.shown == []
        assert await book.log.flush()
        assert book.shown == await book.stored() == [1, 2]


async def test_what_comes_together_is_one_transaction() -> None:
    async with a_book() as book:
        before = book.store.transactions
        book.add(9)
        await book.log.flush()
        assert book.store.transactions == before + 1


async def test_entries_are_there_after_a_restart_and_numbers_go_on() -> None:
    durable = DurableState()
    async with a_book(durable) as book:
        book.add(3)
        await book.log.close()
    async with a_book(durable) as book:
        assert book.shown == [1, 2, 3]
        book.add()
        await book.log.flush()
        assert book.shown == [1, 2, 3, 4]


async def test_the_oldest_go_when_there_are_too_many() -> None:
    async with a_book(policy=LogPolicy(3, DAY_S)) as book:
        book.add(3)
        await book.log.flush()
        assert not book.log.overflow
        book.add(2)
        await book.log.flush()
        assert book.shown == await book.stored() == [3, 4, 5]
        assert book.log.overflow


async def test_more_at_once_than_are_kept_leaves_the_newest() -> None:
    async with a_book(policy=LogPolicy(2, DAY_S)) as book:
        book.add(7)
        await book.log.flush()
        assert book.shown == await book.stored() == [6, 7]


async def test_entries_go_when_they_are_too_old() -> None:
    async with a_book(policy=LogPolicy(10, 100.0)) as book:
        book.add(2)
        await book.log.flush()
        book.clock.time_s += 60
        book.add()
        await book.log.flush()
        book.clock.time_s += 60
        await book.log.flush()
        assert book.shown == await book.stored() == [3]


async def test_what_got_too_old_while_the_service_was_down_is_not_shown() -> None:
    durable, clock = DurableState(), StillClock()
    async with a_book(durable, clock, policy=LogPolicy(10, 100.0)) as book:
        book.add(2)
        await book.log.close()
    clock.time_s += 101
    async with a_book(durable, clock, policy=LogPolicy(10, 100.0)) as book:
        assert book.shown == []
        book.add()
        await book.log.flush()
        assert book.shown == await book.stored() == [3]


async def test_a_smaller_limit_counts_from_the_next_start_on() -> None:
    durable = DurableState()
    async with a_book(durable) as book:
        book.add(5)
        await book.log.close()
    async with a_book(durable, policy=LogPolicy(2, DAY_S)) as book:
        assert book.shown == [4, 5]


async def test_clearing_takes_all_that_is_shown_and_nothing_that_nobody_could_see() -> None:
    async with a_book() as book:
        book.add(2)
        await book.log.flush()
        book.add()
        book.clear()
        book.add()
        assert book.shown == []
        await book.log.flush()
        assert book.shown == await book.stored() == [3, 4]
        assert not book.log.overflow


async def test_a_clearing_during_a_write_holds() -> None:
    clock = StillClock()
    async with a_book(clock=clock) as book:
        book.add(2)
        await book.log.flush()
        book.add(2)
        writing = asyncio.create_task(book.log.flush())
        await asyncio.sleep(0)
        book.clear()
        assert await writing
        assert book.shown == [3, 4]
        await book.log.flush()
        assert await book.stored() == [3, 4]


async def test_a_clearing_that_was_committed_counts_after_a_crash_too() -> None:
    durable = DurableState()
    async with a_book(durable) as book:
        book.add(3)
        await book.log.close()
    durable.spaces.setdefault(Space.META, {})[cleared_key(LOG)] = b"2"
    async with a_book(durable) as book:
        assert book.shown == [3]
        await book.log.flush()
        assert await book.stored() == [3]


async def test_numbers_go_on_after_everything_was_cleared() -> None:
    durable = DurableState()
    async with a_book(durable) as book:
        book.add(3)
        await book.log.flush()
        book.clear()
        await book.log.close()
    async with a_book(durable) as book:
        book.add()
        await book.log.flush()
        assert book.shown == [4]


async def test_a_log_without_entries_has_nothing_more_to_clear() -> None:
    async with a_book() as book:
        book.add(2)
        await book.log.flush()
        book.clear()
        book.add()
        assert book.log.state(b"2").newest == 2


async def test_the_state_tells_the_newest_number_and_the_tag_of_what_is_shown() -> None:
    async with a_book() as book:
        book.add(2)
        await book.log.flush()
        book.add()
        state = book.log.state(b"1")
        assert (state.newest, state.pre, state.key) == (2, b"1", cleared_key(LOG))
        assert state.etag == book.table.collection().etag


@pytest.mark.parametrize("error", [StoreFailed("no"), StoreFull("full"), OutcomeUnknown("?")])
async def test_entries_wait_for_a_store_that_takes_none(error: StoreError) -> None:
    failing = [True]
    async with a_book(fault_before=lambda _: error if failing[0] else None) as book:
        book.add(2)
        assert not await book.log.flush()
        assert book.shown == []
        assert book.reopened == ([] if isinstance(error, StoreFull) else [error])
        failing[0] = False
        await book.store.load()
        book.add()
        assert await book.log.flush()
        assert book.shown == await book.stored() == [1, 2, 3]


async def test_an_entry_whose_write_is_in_doubt_is_there_once() -> None:
    doubt = [True]
    after: Any = lambda _: OutcomeUnknown("?") if doubt[0] else None  # noqa: E731
    async with a_book(fault_after=after) as book:
        book.add()
        assert not await book.log.flush()
        doubt[0] = False
        await book.store.load()
        assert await book.log.flush()
        assert book.shown == await book.stored() == [1]


async def test_not_more_wait_than_there_is_room_for() -> None:
    async with a_book(policy=LogPolicy(2 * WAITING_MAX, DAY_S)) as book:
        book.add(WAITING_MAX + 5)
        await book.log.flush()
        assert len(book.shown) == WAITING_MAX
        assert book.shown[-1] == WAITING_MAX + 5
        assert book.log.overflow


async def test_running_writes_what_comes_by_itself() -> None:
    async with a_book() as book:
        running = asyncio.create_task(book.log.run())
        book.add()
        for _ in range(20):
            await asyncio.sleep(0)
        assert book.shown == [1]
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
