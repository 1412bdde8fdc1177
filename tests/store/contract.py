"""What every Store is held to. test_contract.py runs it over each implementation.

A Harness makes stores over one durable state; whatever the tests do goes through the protocol.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redfish_fm.redfish.changes import (
    FEED_SPACES,
    Change,
    Edit,
    FeedOp,
    FeedRecord,
    Space,
    feed_record,
)
from redfish_fm.store.base import (
    LogRow,
    SessionRow,
    Store,
    StoreConflict,
    StoredLog,
    StoredState,
    StoreFailed,
    StoreInUse,
    StoreMismatch,
)
from redfish_fm.store.batches import SOURCE_KEY
from redfish_fm.store.feed import Retention

ZONE = "/redfish/v1/Fabrics/CXL/Zones/1"
Model = dict[tuple[Space, str], bytes]


class StillClock:
    """Time that moves only when a test says so."""

    def __init__(self) -> None:
        self.time_s = 1_000_000.0

    def now_s(self) -> float:
        return self.time_s

    def wall_s(self) -> float:
        return self.time_s

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(0)


@dataclass
class Harness:
    """`make(source, retention)` gives a new store over the same durable state, not yet loaded."""

    clock: StillClock
    make: Callable[[str, Retention], Store]

    @contextlib.asynccontextmanager
    async def opened(self, source: str = "two-hosts", retention: Retention = Retention()):  # noqa: B008
        store = self.make(source, retention)
        try:
            yield store, await store.load()
        finally:
            await store.close()

    async def reloaded(self) -> StoredState:
        async with self.opened() as (_, state):
            return state


HarnessMaker = Callable[[Path], Harness]


def edit(key: str, pre: bytes | None, post: bytes | None, space: Space = Space.DOCUMENT) -> Edit:
    return Edit(space, key, pre, post)


def change(seq: int, *edits: Edit, time_s: float = 1_000_000.0, operation: str | None = None):
    return Change(seq, time_s, "admin", edits, operation)


def contents(state: StoredState) -> Model:
    """Return all keys but the one the store itself keeps."""
    return {
        (space, key): value
        for space, keys in state.spaces.items()
        for key, value in keys.items()
        if (space, key) != (Space.META, SOURCE_KEY)
    }


def apply(model: Model, edits: Iterable[Edit]) -> None:
    for each in edits:
        if each.post is None:
            model.pop((each.space, each.key), None)
        else:
            model[each.space, each.key] = each.post


async def followed(store: Store, seq: int) -> list[FeedRecord]:
    return [record async for record in store.follow(seq)]


# One step: for some keys a new value, or None to remove.
_keys = st.sampled_from([f"/redfish/v1/Fabrics/CXL/Zones/{n}" for n in range(4)] + ["Ünïcode\x00"])
_step = st.dictionaries(
    st.tuples(st.sampled_from(Space), _keys), st.none() | st.text(max_size=20), max_size=4
)
_batches = st.lists(st.lists(_step, min_size=1, max_size=3), max_size=5)


def _changes_of(
    steps: list[Mapping[tuple[Space, str], str | None]], model: Model, seq: int
) -> list[Change]:
    """Return the changes that take `model` (updated on the way) through `steps`."""
    changes = []
    for number, step in enumerate(steps, seq + 1):
        edits = [
            Edit(space, key, model.get((space, key)), None if text is None else text.encode())
            for (space, key), text in step.items()
        ]
        apply(model, edits)
        changes.append(change(number, *edits))
    return changes


SESSION = SessionRow("1", "ab" * 32, "admin", 1_000_000.5, "192.0.2.1")


class StoreContract:
    """The suite. Needs the fixtures `harness` and, for many states in one test, `new_harness`."""

    async def test_a_new_store_is_empty_at_sequence_zero(self, harness: Harness):
        state = await harness.reloaded()
        assert (state.seq, contents(state)) == (0, {})

    async def test_a_commit_returns_the_last_sequence_number_of_its_batch(self, harness: Harness):
        async with harness.opened() as (store, _):
            assert await store.commit(0, [change(1), change(2), change(3)]) == 3
            assert await store.commit(3, [change(4)]) == 4
        assert (await harness.reloaded()).seq == 4

    @pytest.mark.parametrize("seqs", [[2], [1, 3], [1, 1], [0], []])
    async def test_a_batch_with_a_gap_is_a_programming_error(self, harness: Harness, seqs):
        async with harness.opened() as (store, _):
            with pytest.raises(ValueError, match=r"change|batch"):
                await store.commit(0, [change(seq) for seq in seqs])
            assert (await store.load()).seq == 0

    async def test_a_writer_behind_the_store_gets_a_conflict_and_writes_nothing(
        self, harness: Harness
    ):
        async with harness.opened() as (store, _):
            await store.commit(0, [change(1, edit(ZONE, None, b"1"))])
            with pytest.raises(StoreConflict):
                await store.commit(0, [change(1, edit(ZONE, b"1", b"2"))])
            with pytest.raises(StoreConflict):
                await store.commit(5, [change(6, edit(ZONE, b"1", b"2"))])
            assert contents(await store.load()) == {(Space.DOCUMENT, ZONE): b"1"}
            assert await store.commit(1, [change(2)]) == 2

    @pytest.mark.parametrize("space", list(Space))
    @pytest.mark.parametrize(("pre", "post"), [(b"1", b"2"), (b"1", None)])
    async def test_a_pre_image_of_what_does_not_exist_fails_the_whole_batch(
        self, harness: Harness, space, pre, post
    ):
        async with harness.opened() as (store, _):
            batch = [
                change(1, edit("a", None, b"1", space)),
                change(2, edit("b", pre, post, space)),
            ]
            with pytest.raises(StoreFailed):
                await store.commit(0, batch)
            state = await store.load()
            assert (state.seq, contents(state), await followed(store, 0)) == (0, {}, [])

    @pytest.mark.parametrize("space", list(Space))
    async def test_a_creation_of_what_exists_fails_and_keeps_it(self, harness: Harness, space):
        async with harness.opened() as (store, _):
            await store.commit(0, [change(1, edit("a", None, b"1", space))])
            with pytest.raises(StoreFailed):
                await store.commit(1, [change(2, edit("a", None, b"2", space))])
            assert contents(await store.load()) == {(space, "a"): b"1"}

    async def test_an_edit_from_nothing_to_nothing_changes_nothing(self, harness: Harness):
        async with harness.opened() as (store, _):
            await store.commit(0, [change(1, edit("a", None, None))])
            await store.commit(1, [change(2, edit("a", None, b"1"))])
            await store.commit(2, [change(3, edit("b", None, None))])
        assert contents(await harness.reloaded()) == {(Space.DOCUMENT, "a"): b"1"}

    async def test_one_key_may_be_edited_twice_in_one_change(self, harness: Harness):
        async with harness.opened() as (store, _):
            edits = [edit("a", None, b"1"), edit("a", b"1", b"2"), edit("b", None, b"1")]
            await store.commit(0, [change(1, *edits, edit("b", b"1", None))])
        assert contents(await harness.reloaded()) == {(Space.DOCUMENT, "a"): b"2"}

    def test_load_equals_what_was_committed(self, new_harness: Callable[[], Harness]):
        async def run(batches) -> None:
            harness, model, seq = new_harness(), {}, 0
            async with harness.opened() as (store, _):
                for steps in batches:
                    seq = await store.commit(seq, _changes_of(steps, model, seq))
                loaded = await store.load()
            reloaded = await harness.reloaded()
            assert (loaded.seq, contents(loaded)) == (seq, model)
            assert (reloaded.seq, contents(reloaded)) == (seq, model)

        @settings(max_examples=40, deadline=None)
        @given(_batches)
        def examples(batches) -> None:
            asyncio.run(run(batches))

        examples()

    def test_undoing_every_change_leaves_nothing(self, new_harness: Callable[[], Harness]):
        async def run(batches) -> None:
            harness, model, seq = new_harness(), {}, 0
            async with harness.opened() as (store, _):
                done: list[Change] = []
                for steps in batches:
                    changes = _changes_of(steps, model, seq)
                    seq = await store.commit(seq, changes)
                    done += changes
                for past in reversed(done):
                    seq = await store.commit(seq, [change(seq + 1, *past.undo())])
                state = await store.load()
            assert (state.seq, contents(state)) == (2 * len(done), {})

        @settings(max_examples=20, deadline=None)
        @given(_batches)
        def examples(batches) -> None:
            asyncio.run(run(batches))

        examples()

    async def test_follow_gives_every_record_after_a_number_in_order(self, harness: Harness):
        changes = [
            change(1, edit(ZONE, None, b'{"Id": "1"}'), operation="op1"),
            change(2, edit(ZONE, b'{"Id": "1"}', '{"Name": "ü\\" "}'.encode())),
            change(3, edit("/redfish/v1/Chassis/1", None, b"{}", Space.OVERLAY)),
            change(4),
            change(5, edit(ZONE, '{"Name": "ü\\" "}'.encode(), None)),
        ]
        async with harness.opened() as (store, _):
            await store.commit(0, changes[:3])
            await store.commit(3, changes[3:])
            records = [feed_record(each) for each in changes]
            assert [await followed(store, seq) for seq in (0, 3, 5, 9)] == [
                records,
                records[3:],
                [],
                [],
            ]
        async with harness.opened() as (store, _):
            assert await followed(store, 1) == records[1:]
        ops = [entry.op for record in records for entry in record.entries]
        assert ops == [FeedOp.CREATED, FeedOp.CHANGED, FeedOp.CHANGED, FeedOp.DELETED]

    async def test_follow_ends_at_the_newest_record_while_a_writer_goes_on(self, harness: Harness):
        async with harness.opened() as (store, _):
            await store.commit(0, [change(n) for n in range(1, 301)])
            seq, seen = 300, []
            async for record in store.follow(0):
                seen.append(record.seq)
                seq = await store.commit(seq, [change(seq + 1)])
            assert seen == list(range(1, 301))

    @pytest.mark.parametrize(
        "space", sorted(set(Space) - FEED_SPACES, key=lambda space: space.value)
    )
    async def test_secrets_and_records_are_never_told_in_the_feed(self, harness: Harness, space):
        async with harness.opened() as (store, _):
            await store.commit(0, [change(1, edit(ZONE, None, b"\xffhash", space))])
            assert [record.entries for record in await followed(store, 0)] == [()]

    async def test_feed_records_expire_by_age_and_leave_the_documents(self, harness: Harness):
        week = Retention(age_s=100.0)
        async with harness.opened(retention=week) as (store, _):
            seq = await store.commit(0, [change(1, edit(ZONE, None, b"{}"))])
            harness.clock.time_s += 101
            for _ in range(100):
                seq = await store.commit(seq, [change(seq + 1, time_s=harness.clock.time_s)])
            kept = [record.seq for record in await followed(store, 0)]
            assert kept == list(range(2, 102))
            assert contents(await store.load()) == {(Space.DOCUMENT, ZONE): b"{}"}

    async def test_feed_records_expire_by_size_oldest_first(self, harness: Harness):
        small = Retention(size_bytes=20_000)
        async with harness.opened(retention=small) as (store, _):
            seq, pre = 0, None
            for number in range(640):
                post = str(number).encode() * 100
                seq = await store.commit(seq, [change(seq + 1, edit(ZONE, pre, post))])
                pre = post
            kept = [record.seq for record in await followed(store, 0)]
            assert kept == list(range(kept[0], 641))
            # A record takes 700 to 800 bytes; a store may trim only every 64 of them.
            assert 20_000 // 800 <= len(kept) <= 20_000 // 700 + 64

    async def test_a_document_that_is_not_utf8_is_a_programming_error(self, harness: Harness):
        async with harness.opened() as (store, _):
            with pytest.raises(ValueError, match="utf-8"):
                await store.commit(0, [change(1, edit(ZONE, None, b"\xff"))])
            assert await store.commit(0, [change(1)]) == 1

    async def test_sessions_survive_and_stay_outside_the_sequence(self, harness: Harness):
        other = SessionRow("2", "cd" * 32, "reader", 1_000_000.25, "::1")
        async with harness.opened() as (store, _):
            await store.put_session(SESSION)
            await store.put_session(other)
            assert (await store.load()).seq == 0
            assert await followed(store, 0) == []
        async with harness.opened() as (store, state):
            assert await store.sessions() == [other, SESSION]
            assert contents(state) == {}

    async def test_deleted_sessions_are_gone_and_unknown_ones_ignored(self, harness: Harness):
        async with harness.opened() as (store, _):
            await store.put_session(SESSION)
            await store.delete_sessions(["7", SESSION.id])
            await store.delete_sessions([])
        async with harness.opened() as (store, _):
            assert await store.sessions() == []

    async def test_a_session_put_twice_is_one(self, harness: Harness):
        async with harness.opened() as (store, _):
            await store.put_session(SESSION)
            await store.put_session(SESSION)
            assert await store.sessions() == [SESSION]

    async def test_cursors_survive_and_stay_outside_the_sequence(self, harness: Harness):
        async with harness.opened() as (store, _):
            await store.put_cursors({"/s/1": (7, 1), "/s/2": (8, 3)})
            await store.put_cursors({"/s/1": (9, 2)})
            assert await store.commit(0, [change(1)]) == 1
            assert [record.seq for record in await followed(store, 0)] == [1]
        async with harness.opened() as (store, _):
            assert await store.cursors() == {"/s/1": (9, 2), "/s/2": (8, 3)}

    async def test_a_cursor_is_forgotten_once_and_for_all(self, harness: Harness):
        async with harness.opened() as (store, _):
            assert await store.cursors() == {}
            await store.put_cursors({"/s/1": (7, 1), "/s/2": (8, 3)})
            await store.put_cursors({"/s/1": None, "never heard of": None})
            await store.put_cursors({"/s/1": None})
            assert await store.cursors() == {"/s/2": (8, 3)}

    async def test_log_entries_survive_and_stay_outside_the_sequence(self, harness: Harness):
        rows = [LogRow(n, 1_000_000.25 + n, b'{"n":%d}' % n) for n in (1, 2, 3)]
        async with harness.opened() as (store, _):
            await store.append_log("audit", rows[:2], 0)
            await store.append_log("audit", rows[2:], 0)
            assert (await store.load()).seq == 0
            assert await followed(store, 0) == []
        async with harness.opened() as (store, state):
            assert await store.log("audit") == StoredLog(3, rows)
            assert contents(state) == {}

    async def test_logs_know_nothing_of_each_other(self, harness: Harness):
        row = LogRow(1, 1.0, b"{}")
        async with harness.opened() as (store, _):
            await store.append_log("audit", [row], 0)
            await store.append_log("events", [], 7)
            assert await store.log("audit") == StoredLog(1, [row])
            assert await store.log("events") == StoredLog(0, [])
            assert await store.log("never heard of") == StoredLog(0, [])

    async def test_a_log_drops_its_oldest_entries_and_counts_on(self, harness: Harness):
        rows = [LogRow(n, float(n), b"{}") for n in range(1, 6)]
        async with harness.opened() as (store, _):
            await store.append_log("audit", rows[:4], 1)
            await store.append_log("audit", rows[4:], 3)
            assert await store.log("audit") == StoredLog(5, rows[3:])
            await store.append_log("audit", [], 5)
        async with harness.opened() as (store, _):
            assert await store.log("audit") == StoredLog(5, [])

    async def test_log_entries_appended_twice_are_there_once(self, harness: Harness):
        rows = [LogRow(n, float(n), b"{}") for n in (1, 2)]
        async with harness.opened() as (store, _):
            await store.append_log("audit", rows, 0)
            await store.append_log("audit", rows[:1], 0)
            assert await store.log("audit") == StoredLog(2, rows)

    async def test_cancelling_the_caller_never_cancels_its_commits(self, harness: Harness):
        async with harness.opened() as (store, _):
            tasks = [
                asyncio.create_task(store.commit(n, [change(n + 1, edit(str(n), None, b"{}"))]))
                for n in range(20)
            ]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert any(isinstance(result, asyncio.CancelledError) for result in results)
            state = await store.load()
            assert (state.seq, len(contents(state))) == (20, 20)

    async def test_a_close_waits_for_the_commit_that_runs(self, harness: Harness):
        async with harness.opened() as (store, _):
            task = asyncio.create_task(store.commit(0, [change(1)]))
            await asyncio.sleep(0)
            await store.close()
            assert await task == 1
        assert (await harness.reloaded()).seq == 1

    async def test_close_may_be_repeated_and_comes_before_load_too(self, harness: Harness):
        store = harness.make("two-hosts", Retention())
        await store.close()
        await store.load()
        await store.close()
        await store.close()
        with pytest.raises(StoreFailed):
            await store.commit(0, [change(1)])
        assert (await store.load()).seq == 0
        await store.close()

    async def test_nothing_is_written_before_the_first_load(self, harness: Harness):
        store = harness.make("two-hosts", Retention())
        for attempt in (
            store.commit(0, [change(1)]),
            store.put_session(SESSION),
            store.delete_sessions(["1"]),
            store.sessions(),
            store.append_log("audit", [LogRow(1, 1.0, b"{}")], 0),
            store.log("audit"),
            store.put_cursors({"/s/1": (1, 1)}),
            store.cursors(),
            followed(store, 0),
        ):
            with pytest.raises(StoreFailed, match="load"):
                await attempt

    async def test_a_second_store_on_the_same_state_is_refused(self, harness: Harness):
        async with harness.opened() as (store, _):
            second = harness.make("two-hosts", Retention())
            with pytest.raises(StoreInUse, match="in use"):
                await second.load()
            await second.close()
            assert await store.commit(0, [change(1)]) == 1
        assert (await harness.reloaded()).seq == 1

    async def test_a_state_made_for_another_source_is_refused_untouched(self, harness: Harness):
        async with harness.opened() as (store, _):
            await store.commit(0, [change(1)])
        other = harness.make("ai-pod", Retention())
        with pytest.raises(StoreMismatch, match=r"two-hosts.*ai-pod"):
            await other.load()
        with pytest.raises(StoreFailed):
            await other.commit(1, [change(2)])
        assert (await harness.reloaded()).seq == 1
        await other.close()

    async def test_the_source_is_recorded_in_meta(self, harness: Harness):
        state = await harness.reloaded()
        assert state.spaces[Space.META][SOURCE_KEY] == b"two-hosts"

    async def test_a_loaded_state_does_not_change_with_later_commits(self, harness: Harness):
        async with harness.opened() as (store, _):
            await store.commit(0, [change(1, edit(ZONE, None, b"1"))])
            state = await store.load()
            await store.commit(1, [change(2, edit(ZONE, b"1", b"2"))])
            assert contents(state) == {(Space.DOCUMENT, ZONE): b"1"}

    async def test_counters_count_changes_and_transactions(self, harness: Harness):
        async with harness.opened() as (store, _):
            before = (store.commits, store.transactions)
            await store.commit(0, [change(1), change(2), change(3)])
            with pytest.raises(StoreConflict):
                await store.commit(0, [change(1)])
            assert (store.commits - before[0], store.transactions - before[1]) == (3, 1)
