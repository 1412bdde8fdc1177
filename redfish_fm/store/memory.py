"""A store in memory: for --ephemeral and for the simulation, which crashes it on purpose.

Deterministic: no thread, no file, no time of its own. What would survive a crash lives in a
DurableState apart from the store, so a crash is: `durable.crash()`, drop the store, make another
one on the same DurableState.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from redfish_fm.clocks import Clock
from redfish_fm.redfish.changes import Change, FeedRecord, Space, feed_record
from redfish_fm.store.base import (
    Cursor,
    LogRow,
    OutcomeUnknown,
    SessionRow,
    StoredLog,
    StoredState,
    StoreFailed,
    StoreInUse,
    StoreMismatch,
)
from redfish_fm.store.batches import SOURCE_KEY, check_base, check_batch, pre_image_wrong
from redfish_fm.store.feed import (
    DEFAULT_RETENTION,
    RECORD_OVERHEAD_BYTES,
    Retention,
    encode_entries,
    expired_count,
)

T = TypeVar("T")
Fault = Callable[[int], BaseException | None]
"""Asked once per transaction with its number (from 0, per store): what to raise, or None."""


def no_fault(attempt: int) -> BaseException | None:
    """Return None: this device never fails."""
    return None


@dataclass(slots=True)
class DurableState:
    """What a disk would hold. `owner` stands for the lock: at most one live store."""

    seq: int = 0
    spaces: dict[Space, dict[str, bytes]] = field(default_factory=dict)
    sessions: dict[str, SessionRow] = field(default_factory=dict)
    logs: dict[str, dict[int, LogRow]] = field(default_factory=dict)
    log_newest: dict[str, int] = field(default_factory=dict)
    cursors: dict[str, Cursor] = field(default_factory=dict)
    feed: deque[tuple[int, FeedRecord]] = field(default_factory=deque)
    feed_bytes: int = 0
    owner: object | None = None
    lives: int = 0
    """How many processes have crashed: a store of an earlier one can do nothing any more."""

    def crash(self) -> None:
        """End the owning store's process: what it had not yet written never will be."""
        self.owner = None
        self.lives += 1


class MemoryStore:
    """The Store contract over a DurableState.

    A transaction first waits `latency_s` on `clock` and only then takes effect, at once.
    `fault_before` may raise instead of it (nothing written), `fault_after` in spite of it
    (written all the same); an OutcomeUnknown from either refuses writes until load().
    """

    def __init__(
        self,
        durable: DurableState,
        clock: Clock,
        source: str = "ephemeral",
        *,
        latency_s: float = 0.0,
        fault_before: Fault = no_fault,
        fault_after: Fault = no_fault,
        retention: Retention = DEFAULT_RETENTION,
    ) -> None:
        self.commits = 0
        self.transactions = 0
        self.flush_seconds = 0.0
        self._durable = durable
        self._life = durable.lives
        self._clock = clock
        self._source = source
        self._latency_s = latency_s
        self._fault_before = fault_before
        self._fault_after = fault_after
        self._retention = retention
        self._attempts = itertools.count()
        self._order = asyncio.Lock()
        self._running: set[asyncio.Task[None]] = set()
        self._refusal: str | None = "load() comes first"

    async def load(self) -> StoredState:
        """Return all spaces, after every transaction begun before. Takes the ownership."""
        async with self._order:
            self._take_ownership()
            self._refusal = None
            spaces = {space: dict(keys) for space, keys in self._durable.spaces.items() if keys}
            return StoredState(self._durable.seq, spaces)

    async def commit(self, base_seq: int, changes: Sequence[Change]) -> int:
        """Write `changes` at once after the latency, and return the new sequence number."""
        check_batch(base_seq, changes)
        batch = tuple(changes)
        records = [_sized(feed_record(change)) for change in batch]
        await self._transact(lambda: self._write_batch(base_seq, batch, records))
        return batch[-1].seq

    async def follow(self, seq: int) -> AsyncGenerator[FeedRecord]:
        """Yield feed records after `seq` up to the newest at the time of the first step."""
        self._require_usable()
        for _, record in list(self._durable.feed):
            if record.seq > seq:
                yield record

    async def put_session(self, row: SessionRow) -> None:
        """Keep a session; durable when it returns."""
        await self._transact(lambda: self._durable.sessions.update({row.id: row}))

    async def delete_sessions(self, ids: Sequence[str]) -> None:
        """Forget sessions; unknown ids are ignored."""
        await self._transact(lambda: self._drop_sessions(tuple(ids)))

    async def sessions(self) -> list[SessionRow]:
        """Return all stored sessions, oldest first."""
        self._require_usable()
        return sorted(self._durable.sessions.values(), key=lambda row: (row.created_s, row.id))

    async def append_log(self, log: str, rows: Sequence[LogRow], drop_through: int) -> None:
        """Keep and drop entries of a log; durable when it returns."""
        kept = tuple(rows)
        await self._transact(lambda: self._write_log(log, kept, drop_through))

    async def log(self, log: str) -> StoredLog:
        """Return what is kept of a log, oldest first."""
        self._require_usable()
        rows = self._durable.logs.get(log, {})
        return StoredLog(self._durable.log_newest.get(log, 0), [rows[n] for n in sorted(rows)])

    async def put_cursors(self, cursors: Mapping[str, Cursor | None]) -> None:
        """Keep and forget cursors; durable when it returns."""
        kept = dict(cursors)
        await self._transact(lambda: self._write_cursors(kept))

    async def cursors(self) -> dict[str, Cursor]:
        """Return how far each subscription has got."""
        self._require_usable()
        return dict(self._durable.cursors)

    async def close(self) -> None:
        """Finish the running transactions and give the ownership back."""
        if self._running:
            await asyncio.wait(set(self._running))
        self._refusal = "closed"
        if self._durable.owner is self:
            self._durable.owner = None

    async def _transact(self, write: Callable[[], None]) -> None:
        # A task of its own, shielded: a cancelled caller never cancels its transaction.
        task = asyncio.create_task(self._write(write))
        self._running.add(task)
        task.add_done_callback(self._ended)
        await asyncio.shield(task)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._running.discard(task)
        # Whoever asked may be gone: a failure that nobody reads is not a fault of the loop.
        _ = task.cancelled() or task.exception()

    async def _write(self, write: Callable[[], None]) -> None:
        async with self._order:
            self._require_usable()
            attempt = next(self._attempts)
            await self._clock.sleep(self._latency_s)
            self._require_usable()
            self._raise(self._fault_before(attempt))
            write()
            self.transactions += 1
            self._raise(self._fault_after(attempt))

    def _raise(self, fault: BaseException | None) -> None:
        if fault is None:
            return
        if isinstance(fault, OutcomeUnknown):
            self._refusal = "an outcome is unknown; load() again"
        raise fault

    def _write_batch(
        self, base_seq: int, batch: Sequence[Change], records: Sequence[tuple[int, FeedRecord]]
    ) -> None:
        durable = self._durable
        check_base(base_seq, durable.seq)
        staged = _staged(durable.spaces, batch)
        for (space, key), value in staged.items():
            keys = durable.spaces.setdefault(space, {})
            if value is None:
                keys.pop(key, None)
            else:
                keys[key] = value
        durable.seq = batch[-1].seq
        durable.feed.extend(records)
        durable.feed_bytes += sum(size_bytes for size_bytes, _ in records)
        self._trim_feed()
        self.commits += len(batch)

    def _trim_feed(self) -> None:
        durable = self._durable
        oldest = ((record.time_s, size_bytes) for size_bytes, record in durable.feed)
        count, dropped_bytes = expired_count(
            oldest, durable.feed_bytes, self._clock.wall_s(), self._retention
        )
        for _ in range(count):
            durable.feed.popleft()
        durable.feed_bytes -= dropped_bytes

    def _drop_sessions(self, ids: Sequence[str]) -> None:
        for session_id in ids:
            self._durable.sessions.pop(session_id, None)

    def _write_log(self, log: str, rows: Sequence[LogRow], drop_through: int) -> None:
        kept = self._durable.logs.setdefault(log, {})
        kept.update({row.number: row for row in rows})
        for number in [number for number in kept if number <= drop_through]:
            del kept[number]
        newest = self._durable.log_newest
        newest[log] = max(newest.get(log, 0), rows[-1].number if rows else 0)

    def _write_cursors(self, cursors: Mapping[str, Cursor | None]) -> None:
        for subscription, cursor in cursors.items():
            if cursor is None:
                self._durable.cursors.pop(subscription, None)
            else:
                self._durable.cursors[subscription] = cursor

    def _take_ownership(self) -> None:
        durable = self._durable
        if self._life != durable.lives:
            # Its process is being taken apart; it must not take the state from its successor.
            raise StoreFailed("refused: this store's process is dead")
        if durable.owner is not None and durable.owner is not self:
            raise StoreInUse("this state is in use by another store of this process")
        meta = durable.spaces.setdefault(Space.META, {})
        stored = meta.setdefault(SOURCE_KEY, self._source.encode()).decode()
        if stored != self._source:
            raise StoreMismatch(f"this state belongs to {stored!r}, not to {self._source!r}")
        durable.owner = self

    def _require_usable(self) -> None:
        if self._refusal is not None:
            raise StoreFailed(f"refused: {self._refusal}")
        if self._durable.owner is not self:
            raise StoreFailed("refused: this store's process is dead")


def _sized(record: FeedRecord) -> tuple[int, FeedRecord]:
    return len(encode_entries(record.entries)) + RECORD_OVERHEAD_BYTES, record


def _staged(
    spaces: Mapping[Space, Mapping[str, bytes]], batch: Sequence[Change]
) -> dict[tuple[Space, str], bytes | None]:
    """Return the end values of all edits; raises StoreFailed for a wrong pre-image."""
    staged: dict[tuple[Space, str], bytes | None] = {}
    for edit in itertools.chain.from_iterable(change.edits for change in batch):
        place = (edit.space, edit.key)
        before = staged[place] if place in staged else spaces.get(edit.space, {}).get(edit.key)
        if (edit.pre is None) != (before is None) and not (edit.pre is None and edit.post is None):
            raise pre_image_wrong(edit)
        if not (edit.pre is None and edit.post is None):
            staged[place] = edit.post
    return staged
