"""GET /readyz: what is in the way is named, and nothing else is."""

import json
from collections.abc import Mapping
from typing import Any

from redfish_fm.control.kernel import Kernel
from redfish_fm.drivers.base import DriverUnavailable
from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.fabric.model import Observation
from redfish_fm.readiness import readiness
from redfish_fm.store.base import StoreFull
from tests.control.builders import PCIE_ZONES, refused, running_kernel
from tests.drivers.fabrics import PCIE
from tests.virtual_time import VirtualClock, in_virtual_time


def told(kernel: Kernel) -> tuple[int, list[Mapping[str, str]]]:
    answer = readiness(kernel)
    body: dict[str, Any] = json.loads(answer.body)
    assert body["status"] == ("ready" if answer.status == 200 else "not ready")
    assert ("Retry-After" in answer.headers) == (answer.status == 503)
    return answer.status, body["notReady"]


class Mute(VirtualDriver):
    """A driver that does not answer while `silent`."""

    silent = True

    async def observe(self) -> Observation:
        if self.silent:
            raise DriverUnavailable("the line is dead")
        return await super().observe()


def a_mute_driver() -> Mute:
    clock = VirtualClock()
    return Mute(Hardware(PCIE, clock), clock, clock)


@in_virtual_time
async def test_a_service_that_can_write_and_has_looked_is_ready() -> None:
    async with running_kernel() as rig:
        await rig.kernel.first_observed(60)
        assert told(rig.kernel) == (200, [])


@in_virtual_time
async def test_before_the_first_look_no_fabric_is_ready() -> None:
    async with running_kernel() as rig:
        status, reasons = told(rig.kernel)
        assert status == 503
        assert [each["part"] for each in reasons] == ["fabric CXL", "fabric PCIe"]
        await rig.kernel.first_observed(60)


@in_virtual_time
async def test_a_fabric_that_does_not_answer_is_named_until_it_does() -> None:
    driver = a_mute_driver()
    async with running_kernel(drivers={"PCIe": driver}, inventories=(PCIE,)) as rig:
        await rig.until(lambda: rig.loop().answers is not None)
        reason = {"part": "fabric PCIe", "reason": "does not answer"}
        assert told(rig.kernel) == (503, [reason])
        driver.silent = False
        await rig.until(lambda: rig.loop().first_observed.is_set())
        assert told(rig.kernel) == (200, [])
        driver.silent = True
        await rig.until(lambda: rig.loop().answers is False)
        assert told(rig.kernel) == (503, [reason])


@in_virtual_time
async def test_a_store_that_refuses_is_named_until_it_takes_something() -> None:
    full = [False]

    def fault(_batch: int) -> StoreFull | None:
        return StoreFull("no room") if full[0] else None

    async with running_kernel(fault_before=fault) as rig:
        await rig.kernel.first_observed(60)
        full[0] = True
        await refused(rig.post(PCIE_ZONES, {"Name": "z"}))
        status, reasons = told(rig.kernel)
        assert (status, [each["part"] for each in reasons]) == (503, ["store"])
        full[0] = False
        await rig.until(lambda: told(rig.kernel) == (200, []), within_s=120.0)
