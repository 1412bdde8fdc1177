"""A process that commits until it is killed: `python -m tests.store.writing_child DIR COUNT`.

Writes "ack N\n" to its standard output, unbuffered, after the commit of change N returned.
"""

import asyncio
import os
import sys
from pathlib import Path

from redfish_fm.clocks import SystemClock
from redfish_fm.redfish.changes import Change, Edit, Space
from redfish_fm.store.sqlite import SqliteStore

KEYS_PER_CHANGE = 3


def edits_of(seq: int) -> tuple[Edit, ...]:
    """Return what change `seq` writes: some documents and a secret, all naming it."""
    value = f'{{"Id": "{seq}"}}'.encode()
    documents = (Edit(Space.DOCUMENT, f"{seq}/{n}", None, value) for n in range(KEYS_PER_CHANGE))
    return (*documents, Edit(Space.SECRET, str(seq), None, value))


async def write(directory: Path, count: int) -> None:
    store = SqliteStore(directory, "two-hosts", SystemClock())
    seq = (await store.load()).seq
    os.write(1, f"ready {seq}\n".encode())
    for _ in range(count):
        # Batches of one to three changes, so that a half-written batch would show.
        batch = [Change(n, 0.0, "admin", edits_of(n)) for n in range(seq + 1, seq + 2 + seq % 3)]
        seq = await store.commit(seq, batch)
        os.write(1, f"ack {seq}\n".encode())
    await store.close()


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), int(sys.argv[2])))
