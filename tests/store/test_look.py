"""Whose state is in a folder, told without touching it."""

from pathlib import Path

import pytest

from redfish_fm.store.base import StoreUnreadable
from redfish_fm.store.look import kept_source
from redfish_fm.store.sqlite import SqliteStore
from tests.store.contract import StillClock


async def a_state(folder: Path, source: str) -> None:
    store = SqliteStore(folder, source, StillClock())
    await store.load()
    await store.close()


async def test_the_source_of_a_kept_state_is_told_and_nothing_changes(tmp_path: Path) -> None:
    folder = tmp_path / "a state? #1"
    await a_state(folder, "two-hosts")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert kept_source(folder) == "two-hosts"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_folder_without_a_state_has_no_source(tmp_path: Path) -> None:
    assert kept_source(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"no database\n" * 100, b"\x00" * 100])
def test_a_file_that_is_no_database_is_told_in_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state.db").write_bytes(content)
    with pytest.raises(StoreUnreadable, match=r"state\.db is not a database of this service") as e:
        kept_source(tmp_path)
    assert "\n" not in str(e.value)


def test_a_database_of_somebody_else_is_told(tmp_path: Path) -> None:
    (tmp_path / "state.db").touch()
    with pytest.raises(StoreUnreadable, match="no such table"):
        kept_source(tmp_path)
