"""The SQLite store on a device that fails: what is certain, what is not, and how it goes on."""

import asyncio
import os
import subprocess
import threading

import pytest

from redfish_fm.redfish.changes import Space
from redfish_fm.store.base import OutcomeUnknown, StoreError, StoreFailed, StoreFull
from redfish_fm.store.sqlite import SqliteStore
from tests.store.contract import SESSION, StillClock, change, contents, edit, followed
from tests.store.devices import FULL, IO_FSYNC, Device, ThreadKilled


@pytest.fixture
def device():
    return Device()


@pytest.fixture
def thread_deaths(monkeypatch):
    """Collect what would be printed of threads that end by an exception."""
    deaths = []
    monkeypatch.setattr(threading, "excepthook", deaths.append)
    return deaths


@pytest.fixture
async def store(tmp_path, device):
    store = SqliteStore(tmp_path / "state", "two-hosts", StillClock(), connect=device.connect)
    await store.load()
    yield store
    await store.close()


@pytest.mark.parametrize(
    "statement", ["BEGIN", "SELECT seq", "INSERT OR IGNORE", "INSERT INTO feed", "UPDATE sequence"]
)
@pytest.mark.parametrize(("error", "kind"), [(FULL, StoreFull), (IO_FSYNC, StoreFailed)])
async def test_an_error_before_commit_writes_nothing_and_the_next_commit_works(
    store, device, statement, error, kind
):
    device.fail(statement, error)
    with pytest.raises(kind):
        await store.commit(0, [change(1, edit("a", None, b"1"))])
    assert await store.commit(0, [change(1, edit("b", None, b"1"))]) == 1
    assert contents(await store.load()) == {(Space.DOCUMENT, "b"): b"1"}
    assert len(device.opened) == 1


@pytest.mark.parametrize("written", [False, True])
async def test_an_error_at_commit_is_unknown_until_a_reload_tells(store, device, written):
    await store.commit(0, [change(1, edit("a", None, b"1"))])
    device.fail("COMMIT", IO_FSYNC, after=written)
    with pytest.raises(OutcomeUnknown):
        await store.commit(1, [change(2, edit("b", None, b"1"))])
    with pytest.raises(StoreFailed, match="load"):
        await store.commit(1, [change(2, edit("c", None, b"1"))])
    with pytest.raises(StoreFailed, match="load"):
        await store.put_session(SESSION)
    state = await store.load()
    assert (state.seq, (Space.DOCUMENT, "b") in contents(state)) == (1 + written, written)
    assert len(device.opened) == 2
    assert await store.commit(state.seq, [change(state.seq + 1)]) == state.seq + 1


async def test_commits_queued_behind_an_unknown_outcome_are_not_written(store, device):
    device.fail("COMMIT", IO_FSYNC, after=True)
    results = await asyncio.gather(
        store.commit(0, [change(1)]),
        store.commit(1, [change(2)]),
        store.put_session(SESSION),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [OutcomeUnknown, StoreFailed, StoreFailed]
    assert (await store.load()).seq == 1
    assert await store.sessions() == []


async def test_a_full_device_at_commit_is_a_known_refusal(store, device):
    device.fail("COMMIT", FULL)
    with pytest.raises(StoreFull):
        await store.commit(0, [change(1, edit("a", None, b"1"))])
    assert await store.commit(0, [change(1)]) == 1
    assert contents(await store.load()) == {}


async def test_a_full_device_that_has_written_all_the_same_is_unknown(store, device):
    device.fail("COMMIT", FULL, after=True)
    with pytest.raises(OutcomeUnknown):
        await store.commit(0, [change(1)])
    assert (await store.load()).seq == 1


async def test_a_failed_rollback_refuses_writes_until_a_reload(store, device):
    device.fail("INSERT INTO feed", IO_FSYNC)
    device.fail("ROLLBACK", IO_FSYNC)
    with pytest.raises(StoreFailed):
        await store.commit(0, [change(1, edit("a", None, b"1"))])
    with pytest.raises(StoreFailed, match="load"):
        await store.commit(0, [change(1)])
    state = await store.load()
    assert (state.seq, contents(state)) == (0, {})
    assert await store.commit(0, [change(1)]) == 1


@pytest.mark.parametrize(("statement", "seq"), [("INSERT INTO feed", 0), ("COMMIT", 1)])
async def test_the_death_of_the_thread_is_an_unknown_outcome(
    store, device, statement, seq, thread_deaths
):
    device.fail(statement, ThreadKilled(), after=True)
    running = asyncio.create_task(store.commit(0, [change(1)]))
    queued = asyncio.create_task(store.commit(1, [change(2)]))
    results = await asyncio.gather(running, queued, return_exceptions=True)
    assert [type(result) for result in results] == [OutcomeUnknown, StoreFailed]
    with pytest.raises(StoreFailed):
        await store.commit(1, [change(2)])
    assert (await store.load()).seq == seq
    assert await store.commit(seq, [change(seq + 1)]) == seq + 1
    assert isinstance(results[0].__cause__.__cause__, ThreadKilled)
    assert len(thread_deaths) == 1


async def test_a_store_whose_thread_died_closes_and_gives_the_lock_back(
    tmp_path, device, thread_deaths
):
    store = SqliteStore(tmp_path, "two-hosts", StillClock(), connect=device.connect)
    await store.load()
    device.fail("BEGIN", ThreadKilled())
    with pytest.raises(OutcomeUnknown):
        await store.commit(0, [change(1)])
    await store.close()
    second = SqliteStore(tmp_path, "two-hosts", StillClock())
    assert (await second.load()).seq == 0
    await second.close()


async def test_a_key_that_no_encoding_can_hold_is_refused_and_kills_nothing(store):
    with pytest.raises(StoreFailed):
        await store.commit(0, [change(1, edit("\udcff", None, b"1", Space.SECRET))])
    assert await store.commit(0, [change(1)]) == 1


async def test_a_reload_that_fails_leaves_the_store_refusing_and_may_be_repeated(store, device):
    device.fail("COMMIT", IO_FSYNC)
    with pytest.raises(OutcomeUnknown):
        await store.commit(0, [change(1)])
    device.fail("PRAGMA journal_mode", IO_FSYNC)
    with pytest.raises(StoreFailed):
        await store.load()
    with pytest.raises(StoreFailed):
        await store.commit(0, [change(1)])
    assert (await store.load()).seq == 0
    assert await store.commit(0, [change(1)]) == 1


async def _fill(store: SqliteStore, size_bytes: int) -> tuple[int, StoreError]:
    """Commit until the device refuses; return the last sequence number and the refusal."""
    for seq in range(10_000):
        try:
            await store.commit(seq, [change(seq + 1, edit(str(seq), None, b"x" * size_bytes))])
        except StoreError as error:
            return seq, error
    raise AssertionError("the device was never full")


@pytest.mark.parametrize("name", ["lock", "state.db", "."])
@pytest.mark.parametrize("replaced", [False, True])
async def test_nothing_is_acknowledged_into_files_that_were_removed(
    store, tmp_path, name, replaced
):
    await store.commit(0, [change(1)])
    gone = (tmp_path / "state" / name).rename(tmp_path / "gone")
    if replaced:
        twin = SqliteStore(tmp_path / "state", "two-hosts", StillClock())
        if name == "state.db":
            (tmp_path / "state" / name).write_bytes(gone.read_bytes())
        else:
            await twin.load()
    with pytest.raises(OutcomeUnknown, match="removed or replaced"):
        await store.commit(1, [change(2)])
    for _ in range(2):
        with pytest.raises(StoreFailed, match="removed or replaced"):
            await store.load()
    assert replaced or not (tmp_path / "state" / name).exists()
    if replaced:
        await twin.close()


async def test_a_directory_that_was_away_for_a_moment_is_taken_up_again(store, tmp_path):
    state, gone = tmp_path / "state", tmp_path / "gone"
    await store.commit(0, [change(1)])
    state.rename(gone)
    with pytest.raises(OutcomeUnknown):
        await store.commit(1, [change(2)])
    gone.rename(state)
    assert (await store.load()).seq == 2
    assert await store.commit(2, [change(3)]) == 3


async def test_a_database_at_its_size_limit_says_full_and_serves_again_when_there_is_room(
    store, device
):
    device.opened[0].execute("PRAGMA max_page_count = 60")
    seq, error = await _fill(store, 4000)
    assert isinstance(error, StoreFull)
    assert (await store.load()).seq == seq
    device.opened[0].execute("PRAGMA max_page_count = 1000")
    assert await store.commit(seq, [change(seq + 1)]) == seq + 1


@pytest.fixture
def small_device(tmp_path):
    """A device of 2 MiB of its own; needs the right to mount."""
    place = tmp_path / "device"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system can not be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


async def test_a_really_full_disk_says_full_and_serves_again_when_there_is_room(small_device):
    filler = small_device / "filler"
    filler.write_bytes(bytes(1024 * 1024))
    store = SqliteStore(small_device / "state", "two-hosts", StillClock())
    await store.load()
    seq, error = await _fill(store, 20_000)
    assert isinstance(error, StoreFull)
    with pytest.raises(StoreFull):
        await store.commit(seq, [change(seq + 1, edit(str(seq), None, b"x" * 20_000))])
    filler.unlink()
    assert await store.commit(seq, [change(seq + 1, edit(str(seq), None, b"y"))]) == seq + 1
    assert await store.put_session(SESSION) is None
    await store.close()
    again = SqliteStore(small_device / "state", "two-hosts", StillClock())
    state = await again.load()
    assert (state.seq, len(contents(state)), len(await followed(again, 0))) == (seq + 1,) * 3
    await again.close()
