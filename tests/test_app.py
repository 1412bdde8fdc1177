"""The composition root: what a first start commits, what a later one finds, how it all ends."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from redfish_fm import app, first_start, logs, worlds
from redfish_fm.config import Config, Secret
from redfish_fm.control.kernel import Kernel
from redfish_fm.errors import FmError
from redfish_fm.redfish.changes import Space
from redfish_fm.store.base import StoredState
from redfish_fm.store.sqlite import SqliteStore
from tests.store.contract import StillClock

Stop = asyncio.Event


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> list[Kernel]:
    """Collect the kernels that are made; keep the test's own log handlers."""
    made: list[Kernel] = []

    class Noted(Kernel):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(app, "Kernel", Noted)
    monkeypatch.setattr(logs, "configure", lambda *_: None)
    return made


@pytest.fixture
def serving(monkeypatch, capsys, kernels) -> Callable[..., contextlib.AbstractAsyncContextManager]:
    """Give a context that serves in this process and yields what was printed until ready."""

    @contextlib.asynccontextmanager
    async def context(**settings) -> AsyncIterator[str]:
        stop = asyncio.Event()
        monkeypatch.setattr(app, "_stop_on_signals", lambda: stop)
        config = Config(port=0, http=True, **{"topology": "two-hosts", **settings})
        task = asyncio.create_task(app.serve(config))
        said = ""
        while "ready URL=" not in said and not task.done():
            await asyncio.sleep(0.005)
            said += capsys.readouterr().out
        if task.done():
            await task
        yield said
        stop.set()
        assert await task == 0

    return context


async def stored(path: Path, source: str = "two-hosts") -> StoredState:
    store = SqliteStore(path, source, StillClock())
    state = await store.load()
    await store.close()
    return state


async def test_identity_and_first_account_are_one_change(serving, tmp_path) -> None:
    state = tmp_path / "state"
    async with serving(state=state, admin_password=Secret("hidden")) as said:
        assert said.count("\n") == 1 and "hidden" not in said
    spaces = (await stored(state)).spaces
    account = "/redfish/v1/AccountService/Accounts/admin"
    assert b"hidden" not in spaces[Space.SECRET][account]
    assert account in spaces[Space.DOCUMENT]
    store = SqliteStore(state, "two-hosts", StillClock())
    await store.load()
    first = await anext(store.follow(0))
    await store.close()
    assert first.seq == 1 and account in {entry.uri for entry in first.entries}


async def test_a_later_start_keeps_the_identity_and_makes_no_account(
    serving, tmp_path, caplog
) -> None:
    caplog.set_level("INFO", "redfish_fm.first_start")
    state = tmp_path / "state"
    async with serving(state=state):
        pass
    before = (await stored(state)).spaces
    async with serving(state=state, admin_password=Secret("another")) as said:
        assert "first start" not in said
    assert "REDFISH_FM_ADMIN_PASSWORD changes none" in caplog.text
    after = (await stored(state)).spaces
    assert before[Space.META][first_start.UUID_KEY] == after[Space.META][first_start.UUID_KEY]
    assert before[Space.SECRET] == after[Space.SECRET]


async def test_ephemeral_keeps_nothing(serving, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with serving(ephemeral=True) as said:
        assert "first start: user admin password " in said
    assert list(tmp_path.iterdir()) == []


async def test_ready_comes_after_the_first_look(serving, kernels) -> None:
    async with serving(ephemeral=True, admin_password=Secret("x")):
        (kernel,) = kernels
        assert all(loop.first_observed.is_set() for loop in kernel.loops.values())
        found = kernel.published.get("/redfish/v1/Fabrics/PCIe")
        assert found is not None and b'"Health":"OK"' in found.body


async def test_ready_does_not_wait_for_the_first_look_at_a_big_fabric(
    serving, kernels, monkeypatch
) -> None:
    waits: list[Kernel] = []

    async def note(kernel: Kernel, _timeout_s: float) -> bool:
        waits.append(kernel)
        return True

    monkeypatch.setattr(Kernel, "first_observed", note)
    async with serving(ephemeral=True, admin_password=Secret("x")):
        assert waits == kernels
    monkeypatch.setattr(app, "FIRST_LOOK_RESOURCES_MAX", 500)
    async with serving(ephemeral=True, admin_password=Secret("x")):
        assert waits == kernels[:1]


async def test_fabrics_that_collide_are_not_served(serving, monkeypatch) -> None:
    read = worlds.topology.load("two-hosts", app.resources.mockups_dir())
    pcie, cxl = read.inventories()
    clash = dataclasses.replace(cxl, switches=(*cxl.switches, pcie.switches[0]))
    twisted = dataclasses.replace(read, fabrics=(pcie, clash))
    monkeypatch.setattr(worlds.topology, "load", lambda *_: twisted)
    with pytest.raises(FmError, match=r"served together: switch \S+ is in fabric") as told:
        async with serving(ephemeral=True, admin_password=Secret("x")):
            raise AssertionError("it was served")
    assert "\n" not in str(told.value)


async def test_a_part_that_ends_by_itself_ends_the_service_with_an_error(
    serving, kernels, capsys
) -> None:
    with pytest.raises(FmError, match="ended by itself"):
        async with serving(ephemeral=True, admin_password=Secret("x")):
            (kernel,) = kernels
            await kernel.close()
            # Nobody asks for the end before it was noticed.
            for _ in range(20):
                await asyncio.sleep(0)
    assert "ended by itself" in capsys.readouterr().err
