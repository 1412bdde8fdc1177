"""The database file: how it is opened, what version it has, how an old one becomes new.

Knows SQLite and the tables' shape; nothing of what the rows mean.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from redfish_fm.store.base import StoreFailed, StoreUnreadable

DATABASE_NAME = "state.db"
APPLICATION_ID = 0x5246464D  # "RFFM": tells our file from any other SQLite file
WAL_SIZE_BYTES_MAX = 64 * 1024 * 1024  # a log grown by one huge import is cut back to this
BUSY_TIMEOUT_S = 5.0  # a human's sqlite3 shell may hold the file for a moment

Connect = Callable[[Path], sqlite3.Connection]
Migration = Callable[[sqlite3.Connection], None]

_VERSION_1 = (
    "CREATE TABLE sequence ("
    " id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, feed_bytes INTEGER NOT NULL)",
    "INSERT INTO sequence (id, seq, feed_bytes) VALUES (1, 0, 0)",
    "CREATE TABLE documents ("
    " space TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (space, key))",
    "CREATE TABLE secrets (key TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL)",
    "CREATE TABLE sessions (id TEXT PRIMARY KEY NOT NULL, token_sha256 TEXT NOT NULL,"
    " user_name TEXT NOT NULL, created_s REAL NOT NULL, client TEXT NOT NULL)",
    "CREATE TABLE feed (seq INTEGER PRIMARY KEY, time_s REAL NOT NULL, actor TEXT NOT NULL,"
    " operation TEXT, entries BLOB NOT NULL)",
)


def _create(db: sqlite3.Connection) -> None:
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for statement in _VERSION_1:
        db.execute(statement)


_VERSION_2 = (
    "CREATE TABLE log_entries (log TEXT NOT NULL, number INTEGER NOT NULL, time_s REAL NOT NULL,"
    " value BLOB NOT NULL, PRIMARY KEY (log, number))",
    "CREATE TABLE logs (log TEXT PRIMARY KEY NOT NULL, newest INTEGER NOT NULL)",
)


def _add_logs(db: sqlite3.Connection) -> None:
    for statement in _VERSION_2:
        db.execute(statement)


_VERSION_3 = (
    "CREATE TABLE cursors (subscription TEXT PRIMARY KEY NOT NULL, seq INTEGER NOT NULL,"
    " number INTEGER NOT NULL)",
)


def _add_cursors(db: sqlite3.Connection) -> None:
    for statement in _VERSION_3:
        db.execute(statement)


MIGRATIONS: tuple[Migration, ...] = (_create, _add_logs, _add_cursors)
"""MIGRATIONS[n] takes version n to n + 1; version 0 is an empty file. Never change an old one."""


def connect(path: Path) -> sqlite3.Connection:
    """Open `path` for explicit transactions, by whichever thread holds it at the time."""
    return sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )


def prepare_directory(directory: Path) -> None:
    """Make the state directory, mode 0700. One that holds things of others keeps its mode."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    names = os.listdir(directory)
    if not names or DATABASE_NAME in names:
        directory.chmod(0o700)


def open_database(
    directory: Path, connect: Connect = connect, migrations: Sequence[Migration] = MIGRATIONS
) -> sqlite3.Connection:
    """Return a connection to the newest schema, durable at every COMMIT.

    Raises StoreUnreadable for a file that is not ours, is damaged or comes from a newer version,
    StoreFailed where the device or file system does not allow it.
    """
    path = directory / DATABASE_NAME
    _prepare_file(path)
    try:
        db = connect(path)
    except sqlite3.Error as error:
        raise unreadable(path, error) from error
    try:
        _require_ours(db, path, len(migrations))
        _set_durability(db, path)
        migrate(db, migrations)
    except sqlite3.Error as error:
        db.close()
        raise unreadable(path, error) from error
    except BaseException:
        db.close()
        raise
    return db


def migrate(db: sqlite3.Connection, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the schema to version len(migrations), each step in a transaction of its own.

    After an error the caller closes `db`, which takes the step back.
    """
    for version in range(_pragma(db, "user_version"), len(migrations)):
        db.execute("BEGIN IMMEDIATE")
        migrations[version](db)
        db.execute(f"PRAGMA user_version = {version + 1}")
        db.execute("COMMIT")


def unreadable(path: Path, error: sqlite3.Error) -> StoreUnreadable | StoreFailed:
    """Return what `error`, met while opening or reading, means for the human."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreUnreadable(f"{path} is damaged: {error}")
    return StoreFailed(f"{path} cannot be read: {error}")


def _prepare_file(path: Path) -> None:
    # SQLite gives its -wal and -shm files the mode of the database file.
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
        _sync_directory(path.parent)
    except OSError as error:
        raise StoreFailed(f"{path} cannot be opened: {error}") from error


def _sync_directory(directory: Path) -> None:
    # The new file's name must be as durable as what will be acknowledged in it.
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _require_ours(db: sqlite3.Connection, path: Path, known: int) -> None:
    version = _pragma(db, "user_version")
    if version > known:
        raise StoreUnreadable(
            f"{path} has schema version {version}; this redfish-fm knows {known}: use a newer one"
        )
    # Migration 0 → 1 is one transaction, so a file of ours is either empty or carries the id.
    empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if not empty and _pragma(db, "application_id") != APPLICATION_ID:
        raise StoreUnreadable(f"{path} is not a redfish-fm state database")


def _set_durability(db: sqlite3.Connection, path: Path) -> None:
    mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise StoreFailed(f"{path}: this file system does not support a write-ahead log ({mode})")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA fullfsync = ON")  # where fsync alone does not reach the device: macOS
    db.execute(f"PRAGMA journal_size_limit = {WAL_SIZE_BYTES_MAX}")
    # What is deleted is overwritten: hashes of passwords, and private keys that were replaced.
    db.execute("PRAGMA secure_delete = ON")


def _pragma(db: sqlite3.Connection, name: str) -> int:
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])
