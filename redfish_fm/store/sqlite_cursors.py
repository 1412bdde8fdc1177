"""Rows of the cursors: how far the delivery to each subscription has got.

Called inside a transaction of the store; knows nothing of threads, files or failures of devices.
"""

import sqlite3
from collections.abc import Mapping

from redfish_fm.store.base import Cursor


def write_cursors(db: sqlite3.Connection, cursors: Mapping[str, Cursor | None]) -> None:
    """Keep cursors, replacing those of the same subscriptions; None forgets one."""
    kept = [(name, *cursor) for name, cursor in cursors.items() if cursor is not None]
    db.executemany(
        "INSERT OR REPLACE INTO cursors (subscription, seq, number) VALUES (?, ?, ?)", kept
    )
    gone = [(name,) for name, cursor in cursors.items() if cursor is None]
    db.executemany("DELETE FROM cursors WHERE subscription = ?", gone)


def read_cursors(db: sqlite3.Connection) -> dict[str, Cursor]:
    """Return all cursors by subscription."""
    rows = db.execute("SELECT subscription, seq, number FROM cursors ORDER BY subscription")
    return {name: (seq, number) for name, seq, number in rows}
