"""A look at a state folder from outside: whose state is in it. Changes and makes nothing.

For who wants to know before a service starts there; the service itself opens the store.
"""

import contextlib
import sqlite3
from pathlib import Path

from redfish_fm.store import sqlite_rows as rows
from redfish_fm.store.base import StoreUnreadable
from redfish_fm.store.sqlite_schema import DATABASE_NAME


def kept_source(folder: Path) -> str | None:
    """Return the topology or mockup that the state in `folder` belongs to; None: there is none.

    Blocks. Raises StoreUnreadable where a file of that name is no database of ours.
    """
    path = folder / DATABASE_NAME
    if not path.is_file():
        return None
    # Immutable: SQLite takes no lock and makes no files beside it.
    place = f"{path.resolve().as_uri()}?immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(place, uri=True)) as db:
            return rows.read_source(db)
    except sqlite3.Error as error:
        raise StoreUnreadable(f"{path} is not a database of this service: {error}") from error
