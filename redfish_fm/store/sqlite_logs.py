"""Rows of the logs: entries in a ring, and how far each log has counted.

Called inside a transaction of the store; knows nothing of threads, files or failures of devices.
"""

import sqlite3
from collections.abc import Sequence

from redfish_fm.store.base import LogRow, StoredLog
from redfish_fm.store.sqlite_statements import parts, values

_ENTRIES_INSERT = "INSERT OR REPLACE INTO log_entries (log, number, time_s, value)"


def write_log(db: sqlite3.Connection, log: str, rows: Sequence[LogRow], drop_through: int) -> None:
    """Keep `rows`, replacing those of the same numbers; drop all up to `drop_through`."""
    for part in parts(rows):
        row_values = [each for row in part for each in (log, row.number, row.time_s, row.value)]
        db.execute(_ENTRIES_INSERT + values(4, len(part)), row_values)
    db.execute("DELETE FROM log_entries WHERE log = ? AND number <= ?", (log, drop_through))
    if rows:
        db.execute(
            "INSERT INTO logs (log, newest) VALUES (?1, ?2)"
            " ON CONFLICT (log) DO UPDATE SET newest = max(newest, ?2)",
            (log, rows[-1].number),
        )


def read_log(db: sqlite3.Connection, log: str) -> StoredLog:
    """Return what is kept of a log, oldest first."""
    newest = db.execute("SELECT newest FROM logs WHERE log = ?", (log,)).fetchone()
    found = db.execute(
        "SELECT number, time_s, value FROM log_entries WHERE log = ? ORDER BY number", (log,)
    )
    return StoredLog(0 if newest is None else int(newest[0]), [LogRow(*row) for row in found])
