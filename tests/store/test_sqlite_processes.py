"""The SQLite store seen from outside: killed, traced, and met by a second process."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from redfish_fm.redfish.changes import Space
from redfish_fm.store.base import StoredState, StoreInUse
from redfish_fm.store.sqlite import SqliteStore
from tests.store.contract import StillClock
from tests.store.writing_child import edits_of


def _child(directory: Path, count: int, *prefix: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*prefix, sys.executable, "-m", "tests.store.writing_child", str(directory), str(count)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )


def _killed_after(directory: Path, acks: int) -> int:
    """Return the last sequence number that a child had acknowledged when it was killed."""
    acknowledged = 0
    with _child(directory, 1_000_000) as child:
        assert child.stdout is not None
        for _ in range(acks + 1):
            acknowledged = int(child.stdout.readline().split()[1])
        os.kill(child.pid, signal.SIGKILL)
        for line in child.stdout.read().splitlines():
            acknowledged = int(line.split()[1])
    return acknowledged


async def _load(directory: Path) -> StoredState:
    store = SqliteStore(directory, "two-hosts", StillClock())
    try:
        state = await store.load()
        fed = [record.seq async for record in store.follow(0)]
        assert fed == list(range(1, state.seq + 1))
        return state
    finally:
        await store.close()


def test_kill_9_loses_nothing_acknowledged_and_leaves_nothing_half(tmp_path, seed_base):
    for round_number in range(5):
        acknowledged = _killed_after(tmp_path, acks=1 + (seed_base + round_number * 7) % 20)
        state = asyncio.run(_load(tmp_path))
        assert state.seq >= acknowledged
        expected = [edit for seq in range(1, state.seq + 1) for edit in edits_of(seq)]
        stored = {
            (space, key): value
            for space in (Space.DOCUMENT, Space.SECRET)
            for key, value in state.spaces[space].items()
        }
        assert stored == {(edit.space, edit.key): edit.post for edit in expected}


def test_a_second_process_is_told_who_holds_the_state(tmp_path):
    with _child(tmp_path, 1_000_000) as child:
        assert child.stdout is not None
        child.stdout.readline()
        store = SqliteStore(tmp_path, "two-hosts", StillClock())
        try:
            with pytest.raises(StoreInUse, match=f"in use by process {child.pid}$"):
                asyncio.run(store.load())
        finally:
            os.kill(child.pid, signal.SIGKILL)
    assert asyncio.run(_load(tmp_path)).seq >= 0


_WRITTEN = re.compile(r"pwrite64\(\d+<[^>]*state\.db-wal>")
_FLUSHED = re.compile(r"f(?:data)?sync\(\d+<[^>]*state\.db-wal>\) += 0")
_FLUSH_ENDED = re.compile(r"f(?:data)?sync resumed>\) += 0")
_ACKNOWLEDGED = re.compile(r'write\(1<.*"ack (\d+)')


def _acks_and_unflushed(trace: str) -> tuple[int, list[str]]:
    """Return how many acks there are, and those that left before what they acknowledge."""
    acks, too_early, state = 0, [], "nothing"
    for line in trace.splitlines():
        if _WRITTEN.search(line):
            state = "written"
        elif state == "written" and (_FLUSHED.search(line) or _FLUSH_ENDED.search(line)):
            state = "flushed"
        elif match := _ACKNOWLEDGED.search(line):
            acks += 1
            too_early += [] if state == "flushed" else [match[1]]
            state = "nothing"
    return acks, too_early


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_every_acknowledgement_follows_a_flush_of_what_it_acknowledges(tmp_path):
    trace = tmp_path / "trace"
    calls = "trace=pwrite64,fdatasync,fsync,write"
    command = ("strace", "-f", "-y", "-s", "16", "-e", calls, "-o", str(trace))
    with _child(tmp_path / "state", 50, *command) as child:
        child.communicate()
    if child.returncode and not trace.read_text().count("ack "):
        pytest.skip("strace may not trace here")
    assert _acks_and_unflushed(trace.read_text()) == (50, [])
