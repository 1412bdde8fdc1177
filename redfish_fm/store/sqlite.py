"""The default store: one SQLite file in a state directory that one process owns.

Knows transactions, their failures and its one thread. A commit is acknowledged only after
COMMIT returned with synchronous=FULL, which is after the log was flushed to the device.
"""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from redfish_fm.clocks import Clock
from redfish_fm.redfish.changes import Change, FeedRecord
from redfish_fm.store import sqlite_cursors as cursor_rows
from redfish_fm.store import sqlite_logs as log_rows
from redfish_fm.store import sqlite_rows as rows
from redfish_fm.store.base import (
    Cursor,
    LogRow,
    OutcomeUnknown,
    SessionRow,
    StoredLog,
    StoredState,
    StoreError,
    StoreFailed,
    StoreFull,
    StoreMismatch,
)
from redfish_fm.store.batches import check_batch
from redfish_fm.store.feed import DEFAULT_RETENTION, Retention
from redfish_fm.store.jobs import JobLost, JobThread
from redfish_fm.store.lock import DirectoryLock, identity
from redfish_fm.store.sqlite_schema import (
    DATABASE_NAME,
    Connect,
    connect,
    open_database,
    prepare_directory,
    unreadable,
)

T = TypeVar("T")

_TRIM_EVERY_CHANGES = 64  # so that looking at the feed's end costs next to nothing per change
_TRIM_RECORDS_MAX = 256  # four times what comes in between, so a backlog shrinks
_FOLLOW_PAGE_RECORDS = 128  # a follower's page may delay a commit by this much reading


class SqliteStore:
    """Store in `path` (a directory, made with mode 0700) for the state of `source`.

    `commits` counts changes, `transactions` COMMITs (sessions' too), each of which is one flush
    of the log; `flush_seconds` is how long all of them took. `connect` opens the file; tests give
    one whose connections fail on demand.
    """

    def __init__(
        self,
        path: Path,
        source: str,
        clock: Clock,
        *,
        retention: Retention = DEFAULT_RETENTION,
        connect: Connect = connect,
    ) -> None:
        self.commits = 0
        self.transactions = 0
        self.flush_seconds = 0.0
        self._path = path
        self._database = path / DATABASE_NAME
        self._source = source
        self._clock = clock
        self._retention = retention
        self._connect = connect
        self._thread: JobThread | None = None
        # The rest belongs to the thread.
        self._db: sqlite3.Connection | None = None
        self._lock: DirectoryLock | None = None
        self._opened: tuple[int, int] | None = None
        self._refusal: str | None = "load() comes first"
        self._changes_since_trim = 0

    async def load(self) -> StoredState:
        """Return all spaces; take the lock and open the file, or reopen it after a failure.

        Raises StoreInUse, StoreMismatch, StoreUnreadable or StoreFailed, each with one line.
        """
        if self._thread is None or not self._thread.alive:
            self._thread = JobThread("store", (StoreError, sqlite3.Error, OSError))
            self._refusal = self._refusal or "its thread died; load() again"
        return await self._call(self._load)

    async def commit(self, base_seq: int, changes: Sequence[Change]) -> int:
        """Write `changes` in one transaction and return the new sequence number."""
        check_batch(base_seq, changes)
        batch = [rows.prepare(change) for change in changes]
        now_s = self._clock.wall_s()
        await self._call(partial(self._commit, base_seq, batch, now_s))
        return batch[-1].change.seq

    async def follow(self, seq: int) -> AsyncGenerator[FeedRecord]:
        """Yield feed records after `seq` up to the newest at the time of the first step."""
        newest = await self._call(partial(self._read, rows.read_seq))
        while seq < newest:
            read = partial(rows.read_feed, after=seq, upto=newest, count_max=_FOLLOW_PAGE_RECORDS)
            page = await self._call(partial(self._read, read))
            if not page:
                return
            for record in page:
                yield record
            seq = page[-1].seq

    async def put_session(self, row: SessionRow) -> None:
        """Keep a session; durable when it returns. Fails as commit() does."""
        await self._call(partial(self._transact, partial(rows.write_session, row=row)))

    async def delete_sessions(self, ids: Sequence[str]) -> None:
        """Forget sessions; durable when it returns. Fails as commit() does."""
        work = partial(rows.remove_sessions, ids=tuple(ids))
        await self._call(partial(self._transact, work))

    async def sessions(self) -> list[SessionRow]:
        """Return all stored sessions, oldest first."""
        return await self._call(partial(self._read, rows.read_sessions))

    async def append_log(self, log: str, rows: Sequence[LogRow], drop_through: int) -> None:
        """Keep and drop entries of a log; durable when it returns. Fails as commit() does."""
        work = partial(log_rows.write_log, log=log, rows=tuple(rows), drop_through=drop_through)
        await self._call(partial(self._transact, work))

    async def log(self, log: str) -> StoredLog:
        """Return what is kept of a log, oldest first."""
        return await self._call(partial(self._read, partial(log_rows.read_log, log=log)))

    async def put_cursors(self, cursors: Mapping[str, Cursor | None]) -> None:
        """Keep and forget cursors; durable when it returns. Fails as commit() does."""
        work = partial(cursor_rows.write_cursors, cursors=dict(cursors))
        await self._call(partial(self._transact, work))

    async def cursors(self) -> dict[str, Cursor]:
        """Return how far each subscription has got."""
        return await self._call(partial(self._read, cursor_rows.read_cursors))

    async def close(self) -> None:
        """Finish what is queued, fold the log into the database, release the lock."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        try:
            await self._await(thread, self._close)
        except JobLost:
            self._close()
        finally:
            thread.stop()

    async def _call(self, job: Callable[[], T]) -> T:
        thread = self._thread
        if thread is None:
            raise StoreFailed(f"{self._path}: refused: load() comes first")
        try:
            return await self._await(thread, job)
        except JobLost as lost:
            if lost.started:
                raise OutcomeUnknown(f"{self._path}: the store's thread died") from lost
            raise StoreFailed(f"{self._path}: refused: the store's thread died") from lost

    async def _await(self, thread: JobThread, job: Callable[[], T]) -> T:
        # A caller that goes away takes no transaction with it: JobThread's futures count as
        # running from the start, so cancelling this await reaches none of them.
        return await asyncio.wrap_future(thread.submit(job))

    # What follows runs in the thread.

    def _load(self) -> StoredState:
        if self._refusal is not None:
            self._reopen()
        return self._read(rows.read_state)

    def _reopen(self) -> None:
        self._drop_connection()
        first = self._lock is None
        try:
            if self._lock is None:
                prepare_directory(self._path)
                self._lock = DirectoryLock(self._path)
            elif not self._in_place():
                # What would be opened now is not what was acknowledged into.
                raise StoreFailed(self._removed())
            self._db = open_database(self._path, self._connect)
            self._opened = identity(self._database)
            self._refusal = None
            self._require_source(self._db)
        except (StoreError, OSError) as error:
            self._refusal = self._refusal or str(error)
            self._drop_connection()
            if first:
                self._release()
            if isinstance(error, StoreError):
                raise
            raise StoreFailed(f"{self._path} cannot be used: {error}") from error

    def _require_source(self, db: sqlite3.Connection) -> None:
        stored = self._read(rows.read_source)
        if stored is None:
            self._transact(partial(rows.write_source, source=self._source))
        elif stored != self._source:
            self._refusal = "another source's state"
            raise StoreMismatch(
                f"state directory {self._path} belongs to {stored!r}, not to {self._source!r}"
            )

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return work(self._usable())
        except sqlite3.Error as error:
            raise unreadable(self._database, error) from error

    def _commit(self, base_seq: int, batch: Sequence[rows.PreparedChange], now_s: float) -> None:
        self._transact(partial(self._write_batch, base_seq, batch, now_s))
        self.commits += len(batch)

    def _write_batch(
        self,
        base_seq: int,
        batch: Sequence[rows.PreparedChange],
        now_s: float,
        db: sqlite3.Connection,
    ) -> None:
        rows.write_batch(db, base_seq, batch)
        self._changes_since_trim += len(batch)
        if self._changes_since_trim >= _TRIM_EVERY_CHANGES:
            count_max = max(_TRIM_RECORDS_MAX, 2 * self._changes_since_trim)
            rows.trim_feed(db, now_s, self._retention, count_max)
            self._changes_since_trim = 0

    def _transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        db = self._usable()
        try:
            db.execute("BEGIN IMMEDIATE")
            seq = rows.read_seq(db)
            result = work(db)
        except (StoreError, sqlite3.Error, ValueError) as error:
            self._roll_back(db)
            if isinstance(error, StoreError):
                raise
            raise _before_commit(self._path, error) from error
        self._finish(db, seq)
        return result

    def _finish(self, db: sqlite3.Connection, seq_before: int) -> None:
        begun_s = time.perf_counter()
        try:
            db.execute("COMMIT")
        except sqlite3.Error as error:
            # A full device stops the write of the log's commit frame, which is the last one, so
            # nothing can surface later. Any other error may have come after that frame.
            if _is_full(error) and self._is_undone(db, seq_before):
                raise StoreFull(f"{self._path}: {error}") from error
            self._refusal = f"error at COMMIT ({error}); load() again"
            raise OutcomeUnknown(f"{self._path}: error at COMMIT: {error}") from error
        self.transactions += 1
        self.flush_seconds += time.perf_counter() - begun_s
        if not self._in_place():
            # The log was flushed, but to a file that no start will ever find.
            self._refusal = self._removed()
            raise OutcomeUnknown(self._refusal)

    def _in_place(self) -> bool:
        """Return whether lock and database are still the files of their names."""
        guarded = self._lock is not None and self._lock.guards()
        return guarded and identity(self._database) == self._opened

    def _removed(self) -> str:
        return f"{self._path} was removed or replaced while in use; restore it and start again"

    def _is_undone(self, db: sqlite3.Connection, seq_before: int) -> bool:
        self._roll_back(db)
        try:
            return rows.read_seq(db) == seq_before
        except sqlite3.Error:
            return False

    def _roll_back(self, db: sqlite3.Connection) -> None:
        try:
            if db.in_transaction:
                db.execute("ROLLBACK")
        except sqlite3.Error as error:
            # Never committed, so the outcome is known; but this connection is not to be trusted.
            self._refusal = f"error at ROLLBACK ({error}); load() again"

    def _usable(self) -> sqlite3.Connection:
        if self._db is None or self._refusal is not None:
            raise StoreFailed(f"{self._path}: refused: {self._refusal}")
        return self._db

    def _close(self) -> None:
        if self._db is not None and self._refusal is None:
            # Without it nothing is lost: the log is durable and is read at the next start.
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._refusal = "closed"
        self._drop_connection()
        self._release()

    def _drop_connection(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            with contextlib.suppress(sqlite3.Error):
                db.close()

    def _release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()


def _is_full(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL


def _before_commit(path: Path, error: sqlite3.Error | ValueError) -> StoreError:
    # ValueError: a key or text that no encoding can hold.
    kind = StoreFull if isinstance(error, sqlite3.Error) and _is_full(error) else StoreFailed
    return kind(f"{path}: {error}")
