"""Runs the store contract over every implementation."""

from pathlib import Path

import pytest

from redfish_fm.store.memory import DurableState, MemoryStore
from redfish_fm.store.sqlite import SqliteStore
from tests.store.contract import Harness, StillClock, StoreContract


def _sqlite(directory: Path) -> Harness:
    clock = StillClock()
    return Harness(
        clock, lambda source, kept: SqliteStore(directory, source, clock, retention=kept)
    )


def _memory(directory: Path) -> Harness:
    clock, durable = StillClock(), DurableState()
    return Harness(clock, lambda source, kept: MemoryStore(durable, clock, source, retention=kept))


@pytest.fixture(params=[_sqlite, _memory], ids=["sqlite", "memory"])
def new_harness(request, tmp_path_factory):
    return lambda: request.param(tmp_path_factory.mktemp("state"))


@pytest.fixture
def harness(new_harness):
    return new_harness()


class TestStoreContract(StoreContract):
    """See contract.StoreContract."""
