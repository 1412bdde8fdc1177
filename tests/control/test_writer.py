"""The writer: one order, group commit, and answers that never say more than the disk knows."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

from redfish_fm.control.published import Published
from redfish_fm.control.state import WantedState
from redfish_fm.control.tip import TipView
from redfish_fm.control.writer import (
    BATCH_MAX,
    GATHER_TURNS,
    RELOAD_BACKOFF_S,
    Committed,
    Writer,
)
from redfish_fm.mapping.drafts import Draft
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.store.base import OutcomeUnknown, StoreConflict, StoreFailed, StoreFull
from redfish_fm.store.memory import DurableState, MemoryStore
from tests.control.builders import PCIE_ZONES, a_base, always, document, put, refused
from tests.virtual_time import VirtualClock, in_virtual_time, settle

BASE = a_base()
LATENCY_S = 0.2


class Bench:
    """A running writer on a store that fails as planned: number of a batch -> what to raise."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.durable = DurableState()
        self.before: dict[int, BaseException] = {}
        self.after: dict[int, BaseException] = {}
        self.store = MemoryStore(
            self.durable,
            self.clock,
            latency_s=LATENCY_S,
            fault_before=self.before.get,
            fault_after=self.after.get,
        )
        self.published = Published(WantedState(BASE))
        self.writer = Writer(self.store, BASE, self.published, self.clock)
        self.tasks: list[asyncio.Task[Committed]] = []

    def submit(self, *edits: Edit) -> "asyncio.Task[Committed]":
        return self.start(always(*edits))

    def start(self, prepare: Callable[[TipView], Draft]) -> "asyncio.Task[Committed]":
        task = asyncio.create_task(self.writer.submit(prepare, "tester"))
        self.tasks.append(task)
        return task

    def make(self, name: str) -> "asyncio.Task[Committed]":
        return self.submit(put(uri(name), document(uri(name))))

    def make_unless_there(self, name: str) -> "asyncio.Task[Committed]":
        """Start a write that is refused (409) where the name is taken."""

        def prepare(tip: TipView) -> Draft:
            if tip.exists(uri(name)):
                raise RedfishError(409, (Message("Base.ResourceAlreadyExists"),))
            return Draft(OutcomeKind.CREATED, uri(name), (put(uri(name), document(uri(name))),))

        return self.start(prepare)

    def assert_equal_to_disk(self) -> None:
        fresh = WantedState(BASE)
        for space, keys in self.durable.spaces.items():
            for key, value in keys.items():
                fresh.apply(Edit(space, key, None, value))
        assert self.writer.tip.comparable() == fresh.comparable()
        assert self.published.state.comparable() == fresh.comparable()
        assert self.writer.tip.spaces == fresh.spaces == self.published.state.spaces
        assert self.writer.tip.seq == self.published.seq == self.durable.seq


def uri(name: str) -> str:
    return f"{PCIE_ZONES}/{name}"


@contextlib.asynccontextmanager
async def a_bench() -> AsyncIterator[Bench]:
    bench = Bench()
    bench.writer.start(await bench.store.load())
    running = asyncio.create_task(bench.writer.run())
    try:
        yield bench
    finally:
        running.cancel()
        for task in bench.tasks:
            task.cancel()
        await asyncio.gather(running, *bench.tasks, return_exceptions=True)


@in_virtual_time
async def test_an_answer_leaves_only_after_its_change_is_durable_and_published() -> None:
    async with a_bench() as bench:
        task = bench.make("a")
        await asyncio.sleep(LATENCY_S * 0.99)
        assert not task.done() and bench.durable.seq == 0
        assert not bench.published.exists(uri("a")) and bench.writer.tip.exists(uri("a"))
        committed = await task
        assert bench.durable.seq == 1 and bench.published.exists(uri("a"))
        assert committed.change is not None and committed.change.actor == "tester"
        assert bench.clock.now_s() == pytest.approx(LATENCY_S)


@in_virtual_time
async def test_what_arrives_while_a_batch_is_written_goes_out_as_one_batch() -> None:
    async with a_bench() as bench:
        published: list[list[int]] = []
        bench.writer.on_publish.add(lambda found: published.append([c.seq for c in found]))
        first = bench.make("a")
        await settle()
        rest = [bench.make(f"n{number}") for number in range(16)]
        await asyncio.gather(first, *rest)
        assert bench.store.transactions == 2
        assert published == [[1], list(range(2, 18))]


@in_virtual_time
async def test_what_is_on_its_way_to_the_tip_when_a_batch_begins_goes_with_it() -> None:
    async with a_bench() as bench:

        async def turns_later(turns: int) -> Committed:
            for _ in range(turns):
                await asyncio.sleep(0)
            return await bench.make(f"after{turns}")

        await asyncio.gather(*(turns_later(turns) for turns in range(GATHER_TURNS)))
        assert bench.store.transactions == 1
        bench.assert_equal_to_disk()


@in_virtual_time
async def test_a_caller_who_goes_away_takes_nobody_along() -> None:
    async with a_bench() as bench:
        gone = bench.make_unless_there("a")
        await settle()
        refused_for_it = bench.make_unless_there("a")
        await settle()
        gone.cancel()
        await settle()
        assert gone.cancelled() and not refused_for_it.done()
        assert (await refused(refused_for_it)).status == 409
        assert bench.published.exists(uri("a"))
        bench.assert_equal_to_disk()


@in_virtual_time
async def test_a_burst_is_cut_into_batches_so_that_the_first_is_not_kept_waiting() -> None:
    async with a_bench() as bench:
        tasks = [bench.make(f"n{number}") for number in range(BATCH_MAX + 1)]
        await asyncio.gather(*tasks)
        assert bench.store.transactions == 2
        bench.assert_equal_to_disk()


@in_virtual_time
async def test_a_write_is_judged_against_what_is_in_flight() -> None:
    async with a_bench() as bench:
        first = bench.make_unless_there("a")
        await settle()
        second = bench.make_unless_there("a")
        await settle()
        assert not second.done()
        await first
        assert (await refused(second)).status == 409
        assert bench.clock.now_s() == pytest.approx(LATENCY_S)


@in_virtual_time
async def test_a_refusal_that_rested_on_a_failed_change_is_judged_again() -> None:
    async with a_bench() as bench:
        bench.before[0] = StoreFull("full")
        first = bench.make_unless_there("a")
        await settle()
        second = bench.make_unless_there("a")
        assert (await refused(first)).status == 507
        assert (await second).change is not None
        assert bench.published.exists(uri("a"))
        bench.assert_equal_to_disk()


@in_virtual_time
async def test_nothing_to_do_is_told_only_once_what_it_rests_on_is_durable() -> None:
    async with a_bench() as bench:
        first = bench.make("a")
        await settle()
        second = bench.start(lambda tip: Draft(OutcomeKind.NO_OPERATION, uri("a")))
        await settle()
        assert not second.done()
        assert (await second).change is None
        assert first.done() and bench.durable.seq == 1


@in_virtual_time
async def test_with_nothing_in_flight_a_refusal_leaves_at_once() -> None:
    async with a_bench() as bench:
        await bench.make("a")
        before_s = bench.clock.now_s()
        assert (await refused(bench.make_unless_there("a"))).status == 409
        assert bench.clock.now_s() == before_s


@in_virtual_time
async def test_a_failed_batch_takes_everything_in_flight_back_newest_first() -> None:
    async with a_bench() as bench:
        await bench.make("a")
        bench.before[1] = StoreFailed("disk")
        one, two, three = (document(uri("a"), Name=name) for name in ("1", "2", "3"))
        before = bench.durable.spaces[Space.DOCUMENT][uri("a")]
        first = bench.submit(put(uri("a"), one, before))
        await settle()
        second = bench.submit(put(uri("a"), two, one))
        third = bench.submit(put(uri("a"), three, two), put(uri("b"), document(uri("b"))))
        assert [(await refused(each)).status for each in (first, second, third)] == [503] * 3
        await settle()
        bench.assert_equal_to_disk()
        assert bench.writer.failed_batches == 1
        assert (await bench.make("c")).change is not None


@in_virtual_time
async def test_a_full_device_is_507_and_the_next_write_works() -> None:
    async with a_bench() as bench:
        bench.before[0] = StoreFull("full")
        assert (await refused(bench.make("a"))).status == 507
        committed = await bench.make("b")
        assert committed.change is not None and committed.change.seq == 1
        bench.assert_equal_to_disk()


@pytest.mark.parametrize("landed", [True, False])
@in_virtual_time
async def test_a_commit_in_doubt_is_answered_by_what_the_disk_says(landed: bool) -> None:
    async with a_bench() as bench:
        await bench.make("a")
        (bench.after if landed else bench.before)[1] = OutcomeUnknown("at COMMIT")
        doubtful = bench.make("b")
        await settle()
        waiting = bench.make("c")
        if landed:
            await asyncio.gather(doubtful, waiting)
        else:
            assert [(await refused(each)).status for each in (doubtful, waiting)] == [503, 503]
        assert bench.published.exists(uri("b")) == landed
        bench.assert_equal_to_disk()
        assert (await bench.make("d")).change is not None


@in_virtual_time
async def test_while_the_store_can_not_be_read_writes_are_503_and_reads_go_on(monkeypatch) -> None:
    async with a_bench() as bench:
        await bench.make("a")
        bench.after[1] = OutcomeUnknown("at COMMIT")
        load, attempts = bench.store.load, []

        async def failing() -> object:
            attempts.append(bench.clock.now_s())
            if len(attempts) < 4:
                raise StoreFailed("no device")
            return await load()

        monkeypatch.setattr(bench.store, "load", failing)
        doubtful = bench.make("b")
        await asyncio.sleep(LATENCY_S + 0.01)
        assert bench.writer.halted
        refusal = await refused(bench.make("c"))
        assert refusal.status == 503 and refusal.headers["Retry-After"] == "1"
        assert bench.published.exists(uri("a"))
        await doubtful
        assert len(attempts) == 4 and bench.writer.halted is None
        bench.assert_equal_to_disk()


@pytest.mark.parametrize("landed", [True, False])
@in_virtual_time
async def test_nobody_waits_for_ever_for_a_store_that_is_gone(monkeypatch, landed: bool) -> None:
    async with a_bench() as bench:
        await bench.make("a")
        (bench.after if landed else bench.before)[1] = OutcomeUnknown("at COMMIT")
        gone, load = [True], bench.store.load

        async def loading() -> object:
            if gone:
                raise StoreFailed("no device")
            return await load()

        monkeypatch.setattr(bench.store, "load", loading)
        doubtful = bench.make("b")
        await settle()
        waiting = bench.make("c")
        told = [await asyncio.wait_for(refused(each), 10) for each in (doubtful, waiting)]
        assert [each.status for each in told] == [503, 503]
        assert ["not known" in str(each.messages) for each in told] == [True, False]
        closing = asyncio.create_task(bench.writer.close())
        await asyncio.wait_for(closing, 1)
        gone.clear()
        await asyncio.sleep(2 * RELOAD_BACKOFF_S[-1])
        assert bench.writer.halted is None
        assert bench.published.exists(uri("b")) == landed
        assert not bench.published.exists(uri("c"))
        bench.assert_equal_to_disk()


@in_virtual_time
async def test_a_store_that_refuses_until_it_is_opened_again_is_opened_again() -> None:
    async with a_bench() as bench:
        refusing = [StoreFailed("refused: load() comes first")]

        def fault(_attempt: int) -> BaseException | None:
            return refusing[0] if refusing else None

        bench.store._fault_before = fault  # noqa: SLF001
        load = bench.store.load

        async def healing() -> object:
            refusing.clear()
            return await load()

        bench.store.load = healing  # type: ignore[method-assign, assignment]
        assert (await refused(bench.make("a"))).status == 503
        await bench.make("b")
        bench.assert_equal_to_disk()


@pytest.mark.expects_errors
@in_virtual_time
async def test_another_writers_state_is_taken_over_and_ours_is_not_acknowledged() -> None:
    async with a_bench() as bench:
        await bench.make("a")
        theirs = document(uri("theirs"))
        bench.durable.spaces[Space.DOCUMENT][uri("theirs")] = theirs
        bench.durable.seq += 1
        bench.before[1] = StoreConflict("another writer")
        assert (await refused(bench.make("mine"))).status == 503
        await settle()
        assert bench.published.exists(uri("theirs")) and not bench.published.exists(uri("mine"))
        bench.assert_equal_to_disk()
        assert (await bench.make("b")).change is not None


@in_virtual_time
async def test_a_client_that_goes_away_does_not_take_its_change_with_it() -> None:
    async with a_bench() as bench:
        gone = bench.make("a")
        await settle()
        gone.cancel()
        other = bench.make("b")
        await other
        assert bench.published.exists(uri("a")) and bench.published.exists(uri("b"))
        bench.assert_equal_to_disk()


@in_virtual_time
async def test_a_client_that_goes_away_while_its_refusal_waits_harms_nobody() -> None:
    async with a_bench() as bench:
        first = bench.make_unless_there("a")
        await settle()
        second = bench.make_unless_there("a")
        await settle()
        second.cancel()
        assert (await first).change is not None
        bench.assert_equal_to_disk()


@in_virtual_time
async def test_sequence_numbers_of_what_was_acknowledged_are_never_used_again() -> None:
    async with a_bench() as bench:
        seen: list[int] = []
        bench.before[1] = StoreFull("full")
        for number in range(4):
            with contextlib.suppress(RedfishError):
                committed = await bench.make(f"n{number}")
                assert committed.change is not None
                seen.append(committed.change.seq)
                assert bench.writer.tip_view.next_id not in map(str, seen)
        assert seen == [1, 2, 3]


@in_virtual_time
async def test_a_failing_prepare_leaves_the_tip_alone() -> None:
    async with a_bench() as bench:

        def broken(_tip: TipView) -> Draft:
            raise RedfishError(400, (Message("Base.PropertyUnknown"),))

        assert (await refused(bench.start(broken))).status == 400
        bench.assert_equal_to_disk()


@in_virtual_time
async def test_close_refuses_new_writes_and_decides_what_is_in_flight() -> None:
    async with a_bench() as bench:
        first = bench.make("a")
        await settle()
        second = bench.make("b")
        await settle()
        closing = asyncio.create_task(bench.writer.close())
        await settle()
        assert (await refused(bench.make("c"))).status == 503
        await closing
        await asyncio.gather(first, second)
        bench.assert_equal_to_disk()


@in_virtual_time
async def test_before_the_start_nothing_is_written() -> None:
    bench = Bench()
    assert (await refused(bench.make("a"))).status == 503


@in_virtual_time
async def test_a_store_opened_again_for_another_reason_disturbs_no_change() -> None:
    async with a_bench() as bench:
        await bench.make("a")
        bench.writer.reopen(OutcomeUnknown("a session's COMMIT"))
        await settle()
        assert bench.writer.halted is None
        await bench.make("b")
        bench.assert_equal_to_disk()
