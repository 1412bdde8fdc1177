"""Session rows: a store that fails is a refusal, and never stops the changes after it."""

import pytest

from redfish_fm.control.session_rows import SessionRows
from redfish_fm.store.base import OutcomeUnknown, SessionRow, StoreError, StoreFailed, StoreFull
from redfish_fm.store.memory import DurableState, MemoryStore
from redfish_fm.store.sqlite import SqliteStore
from tests.control.builders import pcie, refused, running_kernel
from tests.store.devices import IO_FSYNC, Device
from tests.virtual_time import VirtualClock, in_virtual_time

ROW = SessionRow("s1", "0" * 64, "admin", 1.0, "127.0.0.1")


@in_virtual_time
async def test_rows_are_kept_read_and_forgotten() -> None:
    async with running_kernel() as rig:
        rows = SessionRows(rig.store, rig.kernel.writer)
        await rows.put_session(ROW)
        assert await rows.sessions() == [ROW]
        await rows.delete_sessions([ROW.id])
        assert await rows.sessions() == []


@pytest.mark.parametrize(
    ("fault", "status"),
    [(StoreFull("full"), 507), (StoreFailed("no"), 503), (OutcomeUnknown("at COMMIT"), 503)],
)
@in_virtual_time
async def test_a_failing_store_refuses_the_login_and_nothing_after_it(fault, status) -> None:
    def strike(batch: int) -> StoreError | None:
        return fault if batch == 0 else None

    durable = DurableState()
    store = MemoryStore(durable, VirtualClock(), fault_before=strike)
    async with running_kernel(durable=durable, store=store) as rig:
        rows = SessionRows(rig.store, rig.kernel.writer)
        assert (await refused(rows.put_session(ROW))).status == status
        await rig.until(lambda: rig.kernel.writer.halted is None)
        await rig.until(lambda: store._refusal is None)  # noqa: SLF001
        await rig.zone(pcie("host1-1"), pcie("gpu1"))
        await rows.put_session(ROW)


async def test_on_sqlite_too_a_login_in_doubt_does_not_stop_the_service(tmp_path) -> None:
    device = Device()
    store = SqliteStore(tmp_path, "two-hosts", VirtualClock(), connect=device.connect)
    async with running_kernel(store=store) as rig:
        rows = SessionRows(store, rig.kernel.writer)
        device.fail("COMMIT", IO_FSYNC)
        assert (await refused(rows.put_session(ROW))).status == 503
        await rig.until(lambda: len(device.opened) == 2)
        await rig.zone(pcie("host1-1"), pcie("gpu1"))
        await rows.put_session(ROW)
        assert await rows.sessions() == [ROW]
