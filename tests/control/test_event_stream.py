"""The stream of events: in the order of commits, each once with one id, gaps told honestly."""

import asyncio
import itertools
import random
from typing import Any

import pytest

from redfish_fm.control.event_stream import RECORD_LAST, EventStream, StreamLimits
from redfish_fm.mapping.events import EventSource
from redfish_fm.redfish.changes import Change, Edit, FeedOp
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.events import START, Event, Position, event_id, made_event
from redfish_fm.store.base import StoreFailed
from redfish_fm.store.feed import Retention
from redfish_fm.store.memory import DurableState, MemoryStore
from tests.control.builders import PCIE_ZONES, always, document, put, running_kernel
from tests.redfish.builders import CATALOG, REGISTRIES
from tests.virtual_time import VirtualClock, in_virtual_time


def type_of(uri: str) -> str | None:
    found = CATALOG.type_of(uri)
    return None if found is None else found.name


SOURCE = EventSource(REGISTRIES, type_of, lambda _: None)


class Source:
    """A store, and a stream that is told of what is committed to it."""

    def __init__(self, durable: DurableState | None = None, **limits: int) -> None:
        self.clock = VirtualClock()
        self.durable = durable or DurableState()
        keep = Retention(size_bytes=limits.pop("kept_bytes", 10**9))
        self.store = MemoryStore(self.durable, self.clock, retention=keep)
        self.stream = EventStream(
            self.store, SOURCE.events_of, self._render, self.clock, StreamLimits(**limits)
        )
        self.rendered = 0

    def _render(self, event: Event) -> bytes:
        self.rendered += 1
        return event_id(event).encode()

    async def begin(self) -> "Source":
        self.stream.start((await self.store.load()).seq)
        return self

    async def commit(self, *zones: str) -> None:
        """Make zones, each by a commit of its own, all in one batch."""
        base = self.durable.seq
        edits = [put(f"{PCIE_ZONES}/{name}", document(f"{PCIE_ZONES}/{name}")) for name in zones]
        changes = [
            Change(seq, self.clock.wall_s(), "admin", (edit,))
            for seq, edit in enumerate(edits, start=base + 1)
        ]
        await self.store.commit(base, changes)
        self.stream.published(changes)

    async def all(self, after: Position = START, limit: int = 3) -> list[str]:
        """Return the ids of everything after a position, read bit by bit."""
        found: list[str] = []
        while True:
            batch = await self.stream.read(after, limit)
            assert not batch.gap and len(batch.events) <= limit
            found += map(event_id, batch.events)
            if batch.through == after:
                return found
            after = batch.through


def ids(*seqs: int) -> list[str]:
    """Return the ids of the two events of each commit that made a zone."""
    return [f"{seq}.{number}" for seq in seqs for number in (1, 2)]


def a_test_event() -> Event:
    return made_event(Message("ResourceEvent.TestMessage"), REGISTRIES, 0.0)


@in_virtual_time
async def test_events_come_in_the_order_of_commits() -> None:
    source = await Source().begin()
    await source.commit("a", "b")
    await source.commit("c")
    assert await source.all() == ids(1, 2, 3)
    batch = await source.stream.read(START, 100)
    origins = [each.origin for each in batch.events]
    assert origins[::2] == [f"{PCIE_ZONES}/{name}" for name in "abc"]


@in_virtual_time
async def test_who_comes_back_with_a_position_goes_on_from_there() -> None:
    source = await Source().begin()
    await source.commit("a", "b")
    for after, wanted in (((1, 1), ids(1, 2)[1:]), ((1, 2), ids(2)), ((1, RECORD_LAST), ids(2))):
        assert await source.all(after) == wanted


@in_virtual_time
async def test_events_are_made_once_for_all_readers_and_only_when_somebody_reads() -> None:
    source = await Source().begin()
    await source.commit("a", "b")
    assert source.stream.made == 0
    for _ in range(20):
        await source.all()
    assert source.stream.made == 4
    (event, *_) = (await source.stream.read(START, 1)).events
    assert source.stream.rendered(event) == source.stream.rendered(event)
    assert source.rendered == 1


@in_virtual_time
async def test_after_a_restart_the_same_events_have_the_same_ids() -> None:
    source = await Source().begin()
    await source.commit("a", "b", "c")
    before = (await source.stream.read(START, 100)).events
    source.durable.crash()
    again = await Source(source.durable).begin()
    assert (await again.stream.read(START, 100)).events == before
    assert await again.all((2, 1)) == ids(2, 3)[1:]
    await again.commit("d")
    assert await again.all((3, RECORD_LAST)) == ids(4)


@pytest.mark.parametrize("events_max", [10, 11])
@in_virtual_time
async def test_older_events_than_memory_holds_are_read_from_the_store(events_max: int) -> None:
    source = await Source(events_max=events_max).begin()
    for number in range(40):
        await source.commit(f"z{number}")
        await source.stream.read(source.stream.newest, 1)
    assert await source.all(limit=7) == ids(*range(1, 41))
    # Memory and store meet without a seam, wherever a reader is.
    for seq, number in itertools.product((1, 20, 33, 35, 36, 37, 40), (0, 1, 2, RECORD_LAST)):
        left = [
            each for each in ids(*range(1, 41)) if tuple(map(int, each.split("."))) > (seq, number)
        ]
        assert await source.all((seq, number), 5) == left, (seq, number)


@in_virtual_time
async def test_what_nobody_reads_takes_only_so_much_memory_and_is_not_lost() -> None:
    source = await Source(bytes_max=500).begin()
    await source.commit(*(f"z{number}" for number in range(30)))
    assert len(source.stream._fresh) == 0  # noqa: SLF001
    assert await source.all() == ids(*range(1, 31))


@in_virtual_time
async def test_records_that_are_gone_are_a_gap_that_is_told_once() -> None:
    source = await Source(kept_bytes=2000).begin()
    for number in range(30):
        await source.commit(f"z{number}")
    again = await Source(source.durable).begin() if source.durable.crash() is None else source
    batch = await again.stream.read((2, RECORD_LAST), 100)
    assert batch.gap
    assert batch.events[0].seq > 3
    assert event_id(batch.events[-1]) == "30.2"
    assert not (await again.stream.read(batch.through, 100)).gap


@in_virtual_time
async def test_a_feed_that_is_gone_altogether_is_a_gap_too() -> None:
    source = await Source().begin()
    await source.commit("a", "b")
    source.durable.feed.clear()
    source.durable.crash()
    again = await Source(source.durable).begin()
    assert (await again.stream.read((1, RECORD_LAST), 9)).gap
    assert not (await again.stream.read((2, RECORD_LAST), 9)).gap


@in_virtual_time
async def test_a_position_of_nobody_knows_when_is_the_end() -> None:
    source = await Source().begin()
    await source.commit("a")
    batch = await source.stream.read((99, 1), 9)
    assert (batch.events, batch.through, batch.gap) == ((), source.stream.newest, False)


@in_virtual_time
async def test_who_waits_is_woken_by_the_next_event_and_by_nothing_else() -> None:
    source = await Source().begin()
    await source.commit("a")
    waiting = [asyncio.ensure_future(source.stream.wait(source.stream.newest)) for _ in range(3)]
    await asyncio.sleep(1)
    assert not any(each.done() for each in waiting)
    source.stream.published([Change(2, 0.0, "admin", ())])
    await asyncio.sleep(1)
    assert not any(each.done() for each in waiting)
    source.stream.published([Change(3, 0.0, "admin", (put(PCIE_ZONES, document(PCIE_ZONES)),))])
    await asyncio.gather(*waiting)


@in_virtual_time
async def test_a_reader_that_goes_away_leaves_nothing_behind() -> None:
    source = await Source().begin()
    waiting = asyncio.ensure_future(source.stream.wait(source.stream.newest))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    assert source.stream._waiting == set()  # noqa: SLF001


@in_virtual_time
async def test_what_is_told_stands_behind_all_there_is_and_before_what_comes() -> None:
    source = await Source().begin()
    await source.commit("a")
    one, two = (source.stream.tell(a_test_event()) for _ in range(2))
    await source.commit("b")
    assert await source.all() == [*ids(1), event_id(one), event_id(two), *ids(2)]
    assert (await source.stream.read(one.position, 1)).events == (two,)


@in_virtual_time
async def test_what_is_told_never_has_an_id_of_another_life() -> None:
    source = await Source().begin()
    await source.commit("a")
    told = [event_id(source.stream.tell(a_test_event())) for _ in range(5)]
    source.durable.crash()
    await asyncio.sleep(1)
    again = await Source(source.durable).begin()
    fresh = [event_id(again.stream.tell(a_test_event())) for _ in range(5)]
    assert not set(told) & set(fresh)
    # A position of the earlier life is the end of that life, for nothing of it is left.
    after = tuple(map(int, told[-1].split(".")))
    batch = await again.stream.read((after[0], after[1]), 9)
    assert [event_id(each) for each in batch.events] in ([], fresh)


@in_virtual_time
async def test_a_store_that_can_not_be_read_is_asked_again() -> None:
    source = await Source().begin()
    await source.commit("a")
    source.durable.crash()
    again = await Source(source.durable).begin()
    follow, attempts = again.store.follow, itertools.count()

    def failing(seq: int) -> Any:
        if next(attempts) < 2:
            raise StoreFailed("not now")
        return follow(seq)

    again.store.follow = failing  # type: ignore[method-assign]
    assert await again.all() == ids(1)


@in_virtual_time
async def test_another_writers_changes_are_read_from_the_store() -> None:
    source = await Source().begin()
    await source.commit("a")
    missed = source.stream.published
    source.stream.published = lambda _: None  # type: ignore[method-assign]
    await source.commit("b", "c")
    source.stream.published = missed  # type: ignore[method-assign]
    await source.commit("d")
    assert await source.all() == ids(1, 2, 3, 4)


def made(events: list[Event]) -> list[str | None]:
    """Return what writers made, in the order of events; the fabric has things to tell too."""
    return [each.origin for each in events if each.message.key == "Fabric.ZoneCreated"]


@pytest.mark.parametrize("readers", [1, 8])
@in_virtual_time
async def test_each_reader_gets_the_order_of_commits_under_64_writers(readers: int) -> None:
    async with running_kernel() as rig:
        clock = VirtualClock()
        stream = EventStream(
            rig.store, SOURCE.events_of, lambda _: b"", clock, StreamLimits(events_max=50)
        )
        stream.start(rig.published.seq)
        rig.kernel.writer.on_publish.add(stream.published)
        begun = stream.newest
        got: list[list[Event]] = [[] for _ in range(readers)]

        async def read(mine: list[Event], rng: random.Random) -> None:
            after = begun
            while True:
                await stream.wait(after)
                batch = await stream.read(after, rng.randint(1, 20))
                assert not batch.gap
                mine += batch.events
                after = batch.through
                # Some are slow: what they want has left memory when they come.
                await clock.sleep(rng.random() * 0.1)

        async def write(writer: int) -> None:
            rng = random.Random(writer)  # noqa: S311 - no secret
            for number in range(8):
                uri = f"{PCIE_ZONES}/w{writer}-{number}"
                edit: Edit = put(uri, document(uri))
                await rig.kernel.writer.submit(always(edit), f"w{writer}")
                await clock.sleep(rng.random() * 0.01)

        reading = [
            asyncio.ensure_future(read(mine, random.Random(number)))  # noqa: S311 - no secret
            for number, mine in enumerate(got)
        ]
        await asyncio.gather(*(write(number) for number in range(64)))
        await rig.until(lambda: all(len(made(mine)) == 64 * 8 for mine in got))
        for task in reading:
            task.cancel()
        commits = [
            entry.uri
            async for record in rig.store.follow(begun[0])
            for entry in record.entries
            if entry.op is FeedOp.CREATED
        ]
        for mine in got:
            assert made(mine) == commits
            assert [each.position for each in mine] == sorted({each.position for each in mine})


@in_virtual_time
async def test_what_is_told_comes_after_what_an_earlier_life_told_whatever_the_clock() -> None:
    source = await Source().begin()
    await source.commit("a")
    await asyncio.sleep(3600)
    before = source.stream.tell(a_test_event()).position
    source.durable.crash()
    again = await Source(source.durable).begin()
    again.clock.wall_s = lambda: 1.0  # type: ignore[method-assign]
    again.stream.known(before)
    told = again.stream.tell(a_test_event())
    assert told.position > before
    async with asyncio.timeout(1):
        await again.stream.wait(before)
    assert (await again.stream.read(before, 9)).events == (told,)
    assert await again.all() == [*ids(1), event_id(told)]


@in_virtual_time
async def test_a_position_behind_the_end_of_all_commits_is_no_position_of_an_earlier_life() -> None:
    source = await Source().begin()
    await source.commit("a")
    newest = source.stream.newest
    source.stream.known((newest[0] + 1, 5))
    source.stream.known((newest[0] - 1, 10**15))
    assert source.stream.newest == newest
