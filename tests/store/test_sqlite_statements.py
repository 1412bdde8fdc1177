"""Many rows in one statement: none is lost where there are more than one takes."""

import sqlite3

import pytest

from redfish_fm.redfish.changes import Space
from redfish_fm.store.base import StoreFailed
from redfish_fm.store.sqlite import SqliteStore
from redfish_fm.store.sqlite_statements import ROWS_MAX, parts, values
from tests.store.contract import StillClock, change, contents, edit, followed


@pytest.mark.parametrize("count", [0, 1, ROWS_MAX, ROWS_MAX + 1, 3 * ROWS_MAX])
def test_parts_are_all_rows_in_order_and_none_is_too_large(count):
    found = list(parts(range(count)))
    assert [row for part in found for row in part] == list(range(count))
    assert all(0 < len(part) <= ROWS_MAX for part in found)


def test_values_take_as_many_rows_as_they_say():
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE pairs (one, other)")
    db.execute(f"INSERT INTO pairs{values(2, 3)}", (1, 2, 3, 4, 5, 6))
    assert db.execute("SELECT * FROM pairs").fetchall() == [(1, 2), (3, 4), (5, 6)]


@pytest.fixture
async def store(tmp_path):
    store = SqliteStore(tmp_path / "state", "two-hosts", StillClock())
    await store.load()
    yield store
    await store.close()


async def test_a_large_batch_is_stored_whole_and_followed_in_order(store):
    count = 2 * ROWS_MAX + 1
    batch = [change(n, edit(f"{n}", None, b"%d" % n)) for n in range(1, count + 1)]
    await store.commit(0, batch)
    assert contents(await store.load()) == {
        (Space.DOCUMENT, f"{n}"): b"%d" % n for n in range(1, count + 1)
    }
    assert [record.seq for record in await followed(store, 0)] == list(range(1, count + 1))


@pytest.mark.parametrize("first", [None, b"1", b"2"])
async def test_the_creation_among_many_that_finds_its_key_taken_is_named(store, first):
    seq = 0 if first is None else await store.commit(0, [change(1, edit("b", None, first))])
    twice = [] if first is not None else [edit("b", None, b"2")]
    edits = [edit("a", None, b"1"), *twice, edit("b", None, b"2"), edit("c", None, b"3")]
    with pytest.raises(StoreFailed, match="b exists") as caught:
        await store.commit(seq, [change(seq + 1, *edits)])
    assert "pre-image" in str(caught.value)
    assert (await store.load()).seq == seq
