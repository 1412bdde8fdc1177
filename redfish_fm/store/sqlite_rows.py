"""Rows of the state database and the values they hold. Every SQL statement on rows is here.

Called inside a transaction of the store; knows nothing of threads, files or failures of devices.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from redfish_fm.redfish.changes import Change, Edit, FeedRecord, Space
from redfish_fm.store.base import SessionRow, StoredState
from redfish_fm.store.batches import SOURCE_KEY, check_base, pre_image_wrong
from redfish_fm.store.feed import (
    RECORD_OVERHEAD_BYTES,
    Retention,
    decode_entries,
    encode_edits,
    expired_count,
)
from redfish_fm.store.sqlite_statements import parts, values
from redfish_fm.values import value_class

_NAMES = {space: space.value for space in Space}
_FEED_INSERT = "INSERT INTO feed (seq, time_s, actor, operation, entries)"
_DOCUMENTS_INSERT = "INSERT OR IGNORE INTO documents (space, key, value)"
_DOCUMENTS_UPDATE = "UPDATE documents SET value = ?3 WHERE space = ?1 AND key = ?2"
_DOCUMENTS_DELETE = "DELETE FROM documents WHERE space = ? AND key = ?"
_SECRETS_INSERT = "INSERT OR IGNORE INTO secrets (key, value) VALUES (?, ?)"
_SECRETS_UPDATE = "UPDATE secrets SET value = ?2 WHERE key = ?1"
_SECRETS_DELETE = "DELETE FROM secrets WHERE key = ?"


@value_class
class PreparedChange:
    """A change with its feed entries already in stored form, so the thread only writes."""

    change: Change
    entries: bytes


def prepare(change: Change) -> PreparedChange:
    """Return `change` ready to write. Raises ValueError for a document that is not UTF-8."""
    return PreparedChange(change, encode_edits(change.edits))


def read_seq(db: sqlite3.Connection) -> int:
    """Return the newest sequence number."""
    return int(db.execute("SELECT seq FROM sequence").fetchone()[0])


def read_state(db: sqlite3.Connection) -> StoredState:
    """Return all spaces."""
    spaces: dict[Space, dict[str, bytes]] = {}
    for space, key, value in db.execute("SELECT space, key, value FROM documents"):
        spaces.setdefault(Space(space), {})[key] = value
    secrets = dict(db.execute("SELECT key, value FROM secrets"))
    if secrets:
        spaces[Space.SECRET] = secrets
    return StoredState(read_seq(db), spaces)


def read_source(db: sqlite3.Connection) -> str | None:
    """Return whose state this is, or None in a new database."""
    row = db.execute(
        "SELECT value FROM documents WHERE space = ? AND key = ?", (Space.META.value, SOURCE_KEY)
    ).fetchone()
    return None if row is None else bytes(row[0]).decode()


def write_source(db: sqlite3.Connection, source: str) -> None:
    """Record whose state this is, once."""
    place = (Space.META.value, SOURCE_KEY)
    db.execute(_DOCUMENTS_INSERT + values(3, 1), (*place, source.encode()))


def write_batch(db: sqlite3.Connection, base_seq: int, batch: Sequence[PreparedChange]) -> None:
    """Write edits, feed records and the new sequence number.

    Raises StoreConflict, or StoreFailed where a pre-image contradicts what is stored.
    """
    check_base(base_seq, read_seq(db))
    edits = [edit for prepared in batch for edit in prepared.change.edits]
    if not _written_together(db, edits):
        # One contradicts what is stored: it is found, and named, where each is written alone.
        db.execute("ROLLBACK")
        db.execute("BEGIN IMMEDIATE")
        for edit in edits:
            _write_edit(db, edit)
    feed_bytes = _write_records(db, batch)
    db.execute(
        "UPDATE sequence SET seq = ?, feed_bytes = feed_bytes + ?",
        (batch[-1].change.seq, feed_bytes),
    )


def trim_feed(db: sqlite3.Connection, now_s: float, retention: Retention, count_max: int) -> None:
    """Drop expired records, oldest first, at most `count_max`: never a scan of the feed."""
    total_bytes = int(db.execute("SELECT feed_bytes FROM sequence").fetchone()[0])
    oldest = db.execute(
        "SELECT seq, time_s, length(entries) + ? FROM feed ORDER BY seq LIMIT ?",
        (RECORD_OVERHEAD_BYTES, count_max),
    )
    looked_at: list[int] = []

    def records() -> Iterator[tuple[float, int]]:
        # One by one: most often the oldest may stay, and then no other is looked at.
        for seq, time_s, size_bytes in oldest:
            looked_at.append(seq)
            yield time_s, size_bytes

    count, dropped_bytes = expired_count(records(), total_bytes, now_s, retention)
    oldest.close()
    if count:
        db.execute("DELETE FROM feed WHERE seq <= ?", (looked_at[count - 1],))
        db.execute("UPDATE sequence SET feed_bytes = feed_bytes - ?", (dropped_bytes,))


def read_feed(db: sqlite3.Connection, after: int, upto: int, count_max: int) -> list[FeedRecord]:
    """Return at most `count_max` records with after < seq <= upto, oldest first."""
    rows = db.execute(
        "SELECT seq, time_s, actor, operation, entries FROM feed"
        " WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        (after, upto, count_max),
    )
    return [
        FeedRecord(seq, time_s, actor, operation, decode_entries(entries))
        for seq, time_s, actor, operation, entries in rows
    ]


def write_session(db: sqlite3.Connection, row: SessionRow) -> None:
    """Keep a session, replacing one of the same id."""
    db.execute(
        "INSERT OR REPLACE INTO sessions (id, token_sha256, user_name, created_s, client)"
        " VALUES (?, ?, ?, ?, ?)",
        (row.id, row.token_sha256, row.user_name, row.created_s, row.client),
    )


def remove_sessions(db: sqlite3.Connection, ids: Iterable[str]) -> None:
    """Forget sessions; unknown ids are ignored."""
    db.executemany("DELETE FROM sessions WHERE id = ?", [(session_id,) for session_id in ids])


def read_sessions(db: sqlite3.Connection) -> list[SessionRow]:
    """Return all sessions, oldest first."""
    rows = db.execute(
        "SELECT id, token_sha256, user_name, created_s, client FROM sessions ORDER BY created_s, id"
    )
    return [SessionRow(*row) for row in rows]


def _is_made(edit: Edit) -> bool:
    return edit.pre is None and edit.post is not None and edit.space is not Space.SECRET


def _written_together(db: sqlite3.Connection, edits: Sequence[Edit]) -> bool:
    """Write the edits in order, what is made by many at once; False where not all of it was new."""
    for made, run in groupby(edits, _is_made):
        if made:
            if not _inserted(db, list(run)):
                return False
        else:
            for edit in run:
                _write_edit(db, edit)
    return True


def _inserted(db: sqlite3.Connection, edits: Sequence[Edit]) -> bool:
    for part in parts(edits):
        row_values = [each for edit in part for each in (_NAMES[edit.space], edit.key, edit.post)]
        cursor = db.execute(_DOCUMENTS_INSERT + values(3, len(part)), row_values)
        if cursor.rowcount != len(part):
            return False
    return True


def _write_edit(db: sqlite3.Connection, edit: Edit) -> None:
    secret = edit.space is Space.SECRET
    place = (edit.key,) if secret else (_NAMES[edit.space], edit.key)
    if edit.post is None:
        if edit.pre is None:
            return
        cursor = db.execute(_SECRETS_DELETE if secret else _DOCUMENTS_DELETE, place)
    elif edit.pre is None:
        statement = _SECRETS_INSERT if secret else _DOCUMENTS_INSERT + values(3, 1)
        cursor = db.execute(statement, (*place, edit.post))
    else:
        statement = _SECRETS_UPDATE if secret else _DOCUMENTS_UPDATE
        cursor = db.execute(statement, (*place, edit.post))
    if cursor.rowcount != 1:
        raise pre_image_wrong(edit)


def _write_records(db: sqlite3.Connection, batch: Sequence[PreparedChange]) -> int:
    """Write the feed records; return their bytes."""
    for part in parts(batch):
        row_values: list[object] = []
        for each in part:
            change = each.change
            row_values += (change.seq, change.time_s, change.actor, change.operation, each.entries)
        db.execute(_FEED_INSERT + values(5, len(part)), row_values)
    return sum(len(each.entries) + RECORD_OVERHEAD_BYTES for each in batch)
