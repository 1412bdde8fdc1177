"""The store fails at every batch of a run, in every way: nothing hangs, lies or drifts apart."""

import asyncio
import functools
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from redfish_fm.control.state import WantedState
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.store.base import OutcomeUnknown, StoredState, StoreFailed, StoreFull
from redfish_fm.store.jobs import JobThread
from redfish_fm.store.memory import DurableState, MemoryStore
from redfish_fm.store.sqlite import SqliteStore
from tests.control.builders import PCIE_ZONES, Rig, a_base, pcie, running_kernel, zone_body
from tests.drivers.fabrics import PCIE
from tests.store.devices import FULL, IO_FSYNC, Device, ThreadKilled
from tests.virtual_time import VirtualClock, VirtualTimeLoop, run

BASE = a_base(PCIE)
BATCHES_MAX = 60
PATIENCE_S = 120.0


async def script(rig: Rig) -> list[OutcomeKind | int]:
    """Do what clients do; return how each write ended. Refusals are expected, hangs are not."""
    ended: list[OutcomeKind | int] = []

    async def note(write) -> None:
        try:
            ended.append((await write).kind)
        except RedfishError as error:
            ended.append(error.status)

    first = f"{PCIE_ZONES}/first"
    await note(rig.zone(pcie("host1-1"), pcie("gpu1"), Id="first"))
    await asyncio.gather(
        note(rig.zone(pcie("host1-1"), pcie("gpu2"), Id="x")),
        note(rig.zone(pcie("host2-1"), pcie("gpu2"), Id="y")),
        note(rig.zone(pcie("host2-1"), pcie("nvme1"), Id="z")),
    )
    await note(rig.patch(first, zone_body(pcie("host1-1"), pcie("gpu1"), pcie("nvme2"))))
    await note(rig.patch(first, {"Name": "renamed"}))
    await asyncio.gather(
        note(rig.delete(first)),
        note(rig.zone(pcie("host2-1"), pcie("gpu1"), Id="taker")),
    )
    await note(rig.delete(f"{PCIE_ZONES}/z"))
    return ended


async def told_the_truth(rig: Rig, stored: Callable[[], StoredState]) -> None:
    """Assert that everything is as if nothing had failed, once what failed works again."""
    await rig.converged(within_s=PATIENCE_S)
    free = {"gpu1", "gpu2", "nvme1", "nvme2"} - _taken(rig)
    for name in sorted(free):
        outcome = await rig.zone(pcie("host1-1"), pcie(name))
        assert outcome.kind in (OutcomeKind.CREATED, OutcomeKind.ACCEPTED)
    await rig.converged(within_s=PATIENCE_S)
    await rig.until(lambda: rig.kernel.writer.tip.seq == rig.published.seq)
    fresh = WantedState(BASE)
    fresh.load(stored())
    assert rig.kernel.writer.tip.comparable() == fresh.comparable()
    assert rig.published.state.comparable() == fresh.comparable()
    assert rig.kernel.writer.tip.spaces == rig.published.state.spaces == fresh.spaces
    rig.assert_isolated()


def _taken(rig: Rig) -> set[str]:
    members = rig.get(PCIE_ZONES)["Members"]
    zones = [rig.get(each["@odata.id"]) for each in members]
    ends = [end["@odata.id"] for zone in zones for end in zone["Links"]["Endpoints"]]
    return {end.rsplit("/", 1)[-1] for end in ends}


async def in_memory(at: int, fault: BaseException, after: bool) -> list[OutcomeKind | int]:
    durable = DurableState()

    def strike(batch: int) -> BaseException | None:
        return fault if batch == at else None

    options = {"fault_after" if after else "fault_before": strike}
    store = MemoryStore(durable, VirtualClock(), latency_s=0.004, **options)
    async with running_kernel(durable=durable, store=store, inventories=(PCIE,), base=BASE) as rig:
        async with asyncio.timeout(PATIENCE_S):
            ended = await script(rig)
        await told_the_truth(rig, lambda: StoredState(durable.seq, durable.spaces))
    return ended


@functools.cache
def batches() -> int:
    """Return how many batches the script takes when nothing fails."""
    durable = DurableState()
    store = MemoryStore(durable, VirtualClock(), latency_s=0.004)

    async def counted() -> int:
        async with running_kernel(
            durable=durable, store=store, inventories=(PCIE,), base=BASE
        ) as rig:
            ended = await script(rig)
            assert ended.count(409) == 1, ended
            return store.transactions

    return run(counted())


@pytest.mark.parametrize(
    ("fault", "after"),
    [
        (StoreFull("full"), False),
        (StoreFailed("failed"), False),
        (OutcomeUnknown("not landed"), False),
        (OutcomeUnknown("landed"), True),
    ],
    ids=["full", "failed", "not-landed", "landed"],
)
def test_a_fault_at_any_batch_leaves_tip_published_and_disk_equal(fault, after) -> None:
    assert 10 < batches() < BATCHES_MAX
    for at in range(batches()):
        run(in_memory(at, fault, after))


class Held(SqliteStore):
    """Virtual time stands still while the store's thread works."""

    async def _await(self, thread: JobThread, job):
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        with loop.hold():
            return await super()._await(thread, job)


class Striking(Device):
    """Fails the n-th COMMIT, before or after it took effect."""

    def __init__(self, at: int, error: BaseException, after: bool) -> None:
        super().__init__()
        self.commits, self.at, self.error, self.after = 0, at, error, after
        self.armed = False
        """Opening the store commits too; that is not meant."""

    def take(self, sql: str) -> tuple[str, BaseException, bool] | None:
        if sql != "COMMIT" or not self.armed:
            return None
        self.commits += 1
        return (sql, self.error, self.after) if self.commits == self.at else None


async def on_sqlite(path: Path, device: Striking) -> None:
    store = Held(path, "two-hosts", VirtualClock(), connect=device.connect)
    async with running_kernel(store=store, inventories=(PCIE,), base=BASE) as rig:
        device.armed = True
        async with asyncio.timeout(PATIENCE_S):
            await script(rig)
        await told_the_truth(
            rig, lambda: StoredState(rig.published.seq, rig.published.state.spaces)
        )
        seq, spaces = rig.published.seq, rig.published.state.spaces
    again = Held(path, "two-hosts", VirtualClock())
    stored = await again.load()
    await again.close()
    assert stored.seq >= seq
    if stored.seq == seq:
        assert {space: dict(each) for space, each in stored.spaces.items() if each} == {
            space: each for space, each in spaces.items() if each
        }


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("error", [ThreadKilled(), IO_FSYNC, FULL], ids=["thread", "io", "full"])
def test_a_device_that_fails_at_any_commit_loses_nothing(
    error, after, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _arguments: None)
    for at in range(1, batches() + 1):
        run(on_sqlite(tmp_path / str(at), Striking(at, error, after)))


def test_the_script_has_the_outcomes_it_is_meant_to_have() -> None:
    ended = run(in_memory(10_000, StoreFull("never"), False))
    assert ended.count(409) == 1
    assert all(each in (409, *OutcomeKind) for each in ended)
