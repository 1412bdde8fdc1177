"""What only the SQLite store has: files, modes, tables and versions."""

import sqlite3
import stat
from pathlib import Path

import pytest

from redfish_fm.redfish.changes import Space
from redfish_fm.store import sqlite_schema
from redfish_fm.store.base import LogRow, SessionRow, StoredLog, StoreFailed, StoreUnreadable
from redfish_fm.store.sqlite import SqliteStore
from tests.store.contract import SESSION, StillClock, change, contents, edit, followed

DATABASES = Path(__file__).parent / "databases"
NEWEST = len(sqlite_schema.MIGRATIONS)


@pytest.fixture
async def store(tmp_path):
    store = SqliteStore(tmp_path / "state", "two-hosts", StillClock())
    await store.load()
    yield store
    await store.close()


def _sql(path: Path, statement: str) -> list[tuple]:
    db = sqlite3.connect(path)
    try:
        return db.execute(statement).fetchall()
    finally:
        db.close()


async def test_only_the_owner_may_read_the_state(store, tmp_path):
    await store.commit(0, [change(1)])
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "state").iterdir()
    }
    assert modes == dict.fromkeys(("lock", "state.db", "state.db-wal", "state.db-shm"), 0o600)
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


async def test_a_state_opened_to_others_is_closed_to_them_again(tmp_path):
    async def once() -> None:
        store = SqliteStore(tmp_path / "state", "two-hosts", StillClock())
        await store.load()
        await store.close()

    await once()
    (tmp_path / "state").chmod(0o755)
    (tmp_path / "state" / "state.db").chmod(0o644)
    await once()
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "state" / "state.db").stat().st_mode) == 0o600


async def test_a_directory_that_holds_things_of_others_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "notes.txt").write_text("not ours")
    store = SqliteStore(tmp_path, "two-hosts", StillClock())
    await store.load()
    await store.close()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


async def test_the_log_stays_small_and_is_gone_after_close(store, tmp_path):
    log = tmp_path / "state" / "state.db-wal"
    seq, pre = 0, None
    for number in range(200):
        post = str(number % 10).encode() * 40_000
        seq = await store.commit(seq, [change(seq + 1, edit("a", pre, post))])
        pre = post
    # SQLite folds the log back after 1000 pages of 4 KiB; one transaction may come on top.
    assert log.stat().st_size < 6 * 1024 * 1024
    await store.close()
    assert not log.exists()


async def test_close_empties_the_log_although_someone_else_looks_at_the_database(store, tmp_path):
    await store.commit(0, [change(1, edit("a", None, b"1" * 10_000))])
    shell = sqlite3.connect(tmp_path / "state" / "state.db")
    try:
        shell.execute("SELECT count(*) FROM feed").fetchall()
        await store.close()
        assert (tmp_path / "state" / "state.db-wal").stat().st_size == 0
    finally:
        shell.close()


async def test_secrets_are_in_a_table_of_their_own_and_nowhere_else(store, tmp_path):
    secret = b"$scrypt$very-recognisable"
    await store.commit(0, [change(1, edit("/redfish/v1/x", None, secret, Space.SECRET))])
    await store.commit(1, [change(2, edit("/redfish/v1/x", secret, b"other", Space.SECRET))])
    await store.close()
    db = tmp_path / "state" / "state.db"
    assert _sql(db, "SELECT value FROM secrets") == [(b"other",)]
    for table in ("documents", "feed", "sessions"):
        for row in _sql(db, f"SELECT * FROM {table}"):  # noqa: S608
            assert "recognisable" not in repr(row)
            assert "/redfish/v1/x" not in repr(row)


@pytest.mark.parametrize("later", [b"other", None])
async def test_a_secret_that_was_replaced_or_deleted_is_in_no_file_any_more(store, tmp_path, later):
    secret, uri = b"$scrypt$very-recognisable", "/redfish/v1/x"
    await store.commit(0, [change(1, edit(uri, None, secret, Space.SECRET))])
    await store.commit(1, [change(2, edit(uri, secret, later, Space.SECRET))])
    await store.close()
    for path in (tmp_path / "state").iterdir():
        assert b"recognisable" not in path.read_bytes(), path.name


async def test_the_feeds_size_is_kept_exactly(store, tmp_path):
    seq = 0
    for number in range(200):
        seq = await store.commit(seq, [change(seq + 1, edit(str(number), None, b"{}" * number))])
    stored = _sql(tmp_path / "state" / "state.db", "SELECT feed_bytes FROM sequence")
    counted = "SELECT sum(length(entries) + 100) FROM feed"
    assert stored == _sql(tmp_path / "state" / "state.db", counted)


async def test_one_transaction_holds_the_whole_batch(store):
    before = store.transactions
    await store.commit(0, [change(n, edit(str(n), None, b"{}")) for n in range(1, 101)])
    assert (store.commits, store.transactions - before) == (100, 1)


# --- versions


LOG_ROW = LogRow(7, 1_000_000.25, b'{"EntryType":"Event"}')
CURSORS = {"/redfish/v1/EventService/Subscriptions/1": (3, 2)}


async def _state_of_version_1(directory: Path) -> None:
    """Make what the state of every kept version has. Never changes again."""
    store = SqliteStore(directory, "two-hosts", StillClock())
    await store.load()
    zone = "/redfish/v1/Fabrics/CXL/Zones/1"
    await store.commit(
        0,
        [
            change(
                1,
                edit(zone, None, b'{"Id":"1"}'),
                edit("/redfish/v1/AccountService/Accounts/1", None, b"$hash", Space.SECRET),
                operation="1",
            ),
            change(2, edit(zone, b'{"Id":"1"}', '{"Id":"1","Name":"Zähler"}'.encode())),
            change(
                3,
                edit("/redfish/v1/Chassis/1", None, b'{"AssetTag":"7"}', Space.OVERLAY),
                edit("CXL/S1/0/1", None, b'{"Port":"3"}', Space.BINDING),
            ),
        ],
    )
    await store.put_session(SESSION)
    await store.close()


async def _state_of_version_2(directory: Path) -> None:
    """Make the state that databases/schema_v2.sql keeps. Never changes again."""
    await _state_of_version_1(directory)
    store = SqliteStore(directory, "two-hosts", StillClock())
    await store.load()
    await store.append_log("audit", [LOG_ROW], 6)
    await store.close()


async def _state_of_version_3(directory: Path) -> None:
    """Make the state that databases/schema_v3.sql keeps. Never changes again."""
    await _state_of_version_2(directory)
    store = SqliteStore(directory, "two-hosts", StillClock())
    await store.load()
    await store.put_cursors(CURSORS)
    await store.close()


EXPECTED = {
    (Space.DOCUMENT, "/redfish/v1/Fabrics/CXL/Zones/1"): '{"Id":"1","Name":"Zähler"}'.encode(),
    (Space.SECRET, "/redfish/v1/AccountService/Accounts/1"): b"$hash",
    (Space.OVERLAY, "/redfish/v1/Chassis/1"): b'{"AssetTag":"7"}',
    (Space.BINDING, "CXL/S1/0/1"): b'{"Port":"3"}',
}


def _restore(directory: Path, version: int) -> None:
    db = sqlite3.connect(directory / "state.db", isolation_level=None)
    try:
        db.executescript((DATABASES / f"schema_v{version}.sql").read_text("utf-8"))
    finally:
        db.close()


def _dump(path: Path) -> str:
    db = sqlite3.connect(path)
    try:
        pragmas = [
            f"PRAGMA {name} = {db.execute(f'PRAGMA {name}').fetchone()[0]};"
            for name in ("application_id", "user_version")
        ]
        return "\n".join([*pragmas, *db.iterdump(), ""])
    finally:
        db.close()


@pytest.mark.parametrize("version", range(1, NEWEST + 1))
async def test_a_database_of_every_version_still_loads(tmp_path, version):
    _restore(tmp_path, version)
    store = SqliteStore(tmp_path, "two-hosts", StillClock())
    state = await store.load()
    assert (state.seq, contents(state)) == (3, EXPECTED)
    assert await store.sessions() == [SessionRow("1", "ab" * 32, "admin", 1_000_000.5, "192.0.2.1")]
    records = await followed(store, 0)
    assert [(record.seq, record.operation) for record in records] == [
        (1, "1"),
        (2, None),
        (3, None),
    ]
    assert records[1].entries[0].post == EXPECTED[Space.DOCUMENT, "/redfish/v1/Fabrics/CXL/Zones/1"]
    log = StoredLog(7, [LOG_ROW]) if version >= 2 else StoredLog(0, [])
    assert await store.log("audit") == log
    assert await store.cursors() == (CURSORS if version >= 3 else {})
    assert await store.commit(3, [change(4)]) == 4
    await store.close()


async def test_the_newest_kept_database_is_what_this_version_writes(tmp_path):
    await _state_of_version_3(tmp_path)
    kept = DATABASES / f"schema_v{NEWEST}.sql"
    assert _dump(tmp_path / "state.db") == kept.read_text("utf-8")


def _add_owner(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT 'nobody'")


def _half_then_fail(db: sqlite3.Connection) -> None:
    _add_owner(db)
    db.execute("this is not SQL")


def _migrated(directory: Path, migration: sqlite_schema.Migration) -> sqlite3.Connection:
    return sqlite_schema.open_database(directory, migrations=(*sqlite_schema.MIGRATIONS, migration))


def test_a_migration_takes_an_old_database_to_the_new_version_once(tmp_path):
    _restore(tmp_path, 1)
    for _ in range(2):
        _migrated(tmp_path, _add_owner).close()
    path = tmp_path / "state.db"
    assert _sql(path, "PRAGMA user_version") == [(NEWEST + 1,)]
    assert _sql(path, "SELECT id, owner FROM sessions") == [("1", "nobody")]


def test_a_migration_that_fails_leaves_the_old_version(tmp_path):
    _restore(tmp_path, NEWEST)
    with pytest.raises(StoreFailed):
        _migrated(tmp_path, _half_then_fail)
    path = tmp_path / "state.db"
    assert _sql(path, "PRAGMA user_version") == [(NEWEST,)]
    assert "owner" not in _sql(path, "SELECT sql FROM sqlite_master WHERE name = 'sessions'")[0][0]


async def _refusal(directory: Path) -> str:
    store = SqliteStore(directory, "two-hosts", StillClock())
    try:
        with pytest.raises(StoreUnreadable) as caught:
            await store.load()
    finally:
        await store.close()
    assert "\n" not in str(caught.value)
    return str(caught.value)


async def test_a_database_of_a_newer_version_is_refused_untouched(tmp_path):
    _restore(tmp_path, 1)
    _sql(tmp_path / "state.db", "PRAGMA user_version = 99")
    before = (tmp_path / "state.db").read_bytes()
    assert "version 99" in await _refusal(tmp_path)
    assert (tmp_path / "state.db").read_bytes() == before


async def test_another_programs_database_is_refused_untouched(tmp_path):
    _sql(tmp_path / "state.db", "CREATE TABLE songs (title TEXT)")
    assert "not a redfish-fm" in await _refusal(tmp_path)
    assert _sql(tmp_path / "state.db", "SELECT name FROM sqlite_master") == [("songs",)]


async def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "state.db").write_bytes(b"hello " * 1000)
    assert "damaged" in await _refusal(tmp_path)


async def test_a_lock_is_given_back_when_the_first_load_fails(tmp_path):
    (tmp_path / "state.db").write_bytes(b"hello " * 1000)
    failing = SqliteStore(tmp_path, "two-hosts", StillClock())
    with pytest.raises(StoreUnreadable):
        await failing.load()
    (tmp_path / "state.db").unlink()
    second = SqliteStore(tmp_path, "two-hosts", StillClock())
    assert (await second.load()).seq == 0
    await second.close()
    await failing.close()


async def test_a_path_that_is_a_file_is_refused_in_one_line(tmp_path):
    (tmp_path / "state").write_text("a file")
    store = SqliteStore(tmp_path / "state", "two-hosts", StillClock())
    with pytest.raises(StoreFailed, match="cannot be used"):
        await store.load()
    await store.close()
