"""A store that has refused is asked again without waiting for a client's write."""

from redfish_fm.control.store_probe import FIRST_S, KEY
from redfish_fm.redfish.changes import Space
from redfish_fm.store.base import StoreFull
from tests.control.builders import PCIE_ZONES, refused, running_kernel
from tests.virtual_time import in_virtual_time


class Device:
    """A disk that is full while `full`."""

    def __init__(self) -> None:
        self.full = False
        self.attempts = 0

    def before(self, _batch: int) -> StoreFull | None:
        self.attempts += 1
        return StoreFull("no room") if self.full else None


@in_virtual_time
async def test_a_store_that_takes_changes_again_is_found_out_by_itself() -> None:
    device = Device()
    async with running_kernel(fault_before=device.before) as rig:
        writer = rig.kernel.writer
        assert writer.refusing is None
        device.full = True
        assert (await refused(rig.post(PCIE_ZONES, {"Name": "z"}))).status == 507
        assert writer.refusing == "full"
        await rig.until(lambda: device.attempts >= 3, within_s=120.0)
        assert writer.refusing == "full"
        device.full = False
        await rig.until(lambda: writer.refusing is None, within_s=120.0)
        assert rig.durable.spaces[Space.META][KEY] == b"1"


@in_virtual_time
async def test_a_write_of_a_client_saves_the_probe() -> None:
    device = Device()
    async with running_kernel(fault_before=device.before) as rig:
        device.full = True
        await refused(rig.post(PCIE_ZONES, {"Name": "z"}))
        device.full = False
        await rig.post(PCIE_ZONES, {"Name": "z"})
        assert rig.kernel.writer.refusing is None
        await rig.until(lambda: rig.clock_s() > FIRST_S * 2, within_s=60.0)
        assert KEY not in rig.durable.spaces.get(Space.META, {})


@in_virtual_time
async def test_a_store_that_never_refused_is_never_probed() -> None:
    device = Device()
    async with running_kernel(fault_before=device.before) as rig:
        await rig.until(lambda: rig.clock_s() > 60.0, within_s=120.0)
        assert KEY not in rig.durable.spaces.get(Space.META, {})
