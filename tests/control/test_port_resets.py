"""Resets of ports through the kernel: what is asked once is done once, and told truly."""

import asyncio
from typing import Any

import pytest

from redfish_fm.control.reconcile import Policy
from redfish_fm.drivers.base import DriverNotSent, DriverRejected, DriverUnavailable
from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.fabric.model import PortId
from redfish_fm.fabric.port_control import PortReset
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.store.memory import DurableState
from tests.control.builders import Rig, keys, refused, running_kernel
from tests.drivers.fabrics import CXL
from tests.virtual_time import VirtualClock, in_virtual_time

PORT = "/redfish/v1/Fabrics/CXL/Switches/cxl1/Ports/D1"
EMPTY = "/redfish/v1/Fabrics/CXL/Switches/cxl1/Ports/D2"
LOOK_S = 2.0


class Recorder(VirtualDriver):
    """The virtual driver; keeps what was asked, and fails as ordered."""

    asked: list[tuple[PortId, PortReset]]
    fails: BaseException | None = None
    takes_s = 0.0

    async def reset_port(self, port: PortId, asked: PortReset, deadline_s: float) -> None:
        """Note it first."""
        self.asked = [*getattr(self, "asked", []), (port, asked)]
        await asyncio.sleep(self.takes_s)
        if self.fails is not None:
            raise self.fails
        await super().reset_port(port, asked, deadline_s)


def recorder() -> Recorder:
    clock = VirtualClock()
    return Recorder(Hardware(CXL, clock), clock, clock, owns_hardware=True)


def kernel(driver: Recorder, **more: Any) -> Any:
    return running_kernel(
        inventories=(CXL,),
        hardware={"CXL": driver.hardware},
        drivers={"CXL": driver},
        **more,
    )


async def reset(rig: Rig, uri: str = PORT) -> Any:
    return await rig.act(uri, "Port.ResetPPB")


@pytest.mark.parametrize(
    ("action", "body"),
    [("Port.ResetPPB", {}), ("Port.Reset", {"ResetType": "ForceRestart"})],
)
@in_virtual_time
async def test_a_reset_trains_the_link_anew_and_leaves_no_task(
    action: str, body: dict[str, str]
) -> None:
    async with running_kernel(inventories=(CXL,)) as rig:
        await rig.kernel.first_observed(60)
        recoveries = rig.get(f"{PORT}/Metrics")["PCIeErrors"]["L0ToRecoveryCount"]
        outcome = await rig.act(PORT, action, **body)
        assert (outcome.kind, outcome.task) == (OutcomeKind.CHANGED, None)
        # Whoever is told sees what has become of it.
        assert rig.get(PORT)["LinkStatus"] == "Training"
        await asyncio.sleep(LOOK_S)
        assert rig.get(PORT)["LinkStatus"] == "LinkUp"
        assert rig.get(f"{PORT}/Metrics")["PCIeErrors"]["L0ToRecoveryCount"] == recoveries + 1
        assert not rig.published.state.operations
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_a_slow_reset_is_a_task_that_ends() -> None:
    driver = recorder()
    driver.takes_s = 3.0
    async with kernel(driver, sync_budget_s=0.5) as rig:
        await rig.kernel.first_observed(60)
        outcome = await reset(rig)
        assert outcome.kind is OutcomeKind.ACCEPTED
        assert rig.get(outcome.task)["TaskState"] == "Running"
        # Meanwhile the port takes nothing else.
        told = await refused(reset(rig))
        assert (told.status, keys(told)[0]) == (409, "Base.ResourceInUse")
        await asyncio.sleep(5)
        assert rig.get(outcome.task)["TaskState"] == "Completed"
        assert driver.asked == [(PortId("cxl1", "D1"), PortReset.BRIDGE)]


@pytest.mark.parametrize(
    ("failure", "reasons"),
    [
        (DriverRejected("no"), ["RedfishFM.HardwareRefused"]),
        (DriverNotSent("silent"), ["RedfishFM.HardwareRefused"]),
        (DriverUnavailable("?"), ["Base.OperationTimeout", "RedfishFM.HardwareRefused"]),
    ],
)
@in_virtual_time
async def test_a_reset_that_fails_is_told_and_never_repeated(
    failure: Exception, reasons: list[str]
) -> None:
    driver = recorder()
    driver.fails = failure
    async with kernel(driver) as rig:
        await rig.kernel.first_observed(60)
        told = await refused(reset(rig))
        assert (told.status, keys(told)) == (409, reasons)
        await asyncio.sleep(30)
        assert len(driver.asked) == 1
        assert not rig.kernel.operations.open_of("CXL")


@pytest.mark.expects_errors
@in_virtual_time
async def test_a_driver_that_breaks_ends_the_reset_and_nothing_else() -> None:
    driver = recorder()
    driver.fails = ValueError("bug")
    async with kernel(driver) as rig:
        await rig.kernel.first_observed(60)
        told = await refused(reset(rig))
        assert "Base.OperationTimeout" in keys(told)
        driver.fails = None
        assert (await reset(rig)).kind is OutcomeKind.CHANGED


@in_virtual_time
async def test_an_empty_port_is_refused_by_the_switch() -> None:
    async with running_kernel(inventories=(CXL,)) as rig:
        await rig.kernel.first_observed(60)
        (mem,) = [each.id for each in CXL.devices if not each.lds]
        rig.hardware["CXL"].remove_device(mem)
        told = await refused(reset(rig, EMPTY))
        assert (told.status, keys(told)) == (409, ["RedfishFM.HardwareRefused"])
        assert "no device at port D2" in told.messages[0].args[2]


@in_virtual_time
async def test_a_reset_ends_though_its_switch_is_silent() -> None:
    async with running_kernel(inventories=(CXL,)) as rig:
        await rig.kernel.first_observed(60)
        rig.hardware["CXL"].cut("cxl1")
        told = await refused(reset(rig))
        assert told.status == 409
        assert not rig.kernel.operations.open_of("CXL")


@in_virtual_time
async def test_a_reset_that_is_never_answered_ends_at_its_deadline() -> None:
    driver = recorder()
    driver.takes_s = 1e6
    policy = Policy(apply_timeout_s=5.0)
    async with kernel(driver, policy=policy, sync_budget_s=0.5) as rig:
        await rig.kernel.first_observed(60)
        outcome = await reset(rig)
        await asyncio.sleep(8)
        task = rig.get(outcome.task)
        assert (task["TaskState"], task["TaskStatus"]) == ("Exception", "Critical")


@in_virtual_time
async def test_a_reset_of_an_earlier_run_is_not_sent_again_and_its_task_ends() -> None:
    durable, first = DurableState(), recorder()
    first.takes_s = 1e6
    async with kernel(first, durable=durable, sync_budget_s=0.1, crash=True) as rig:
        await rig.kernel.first_observed(60)
        outcome = await reset(rig)
        assert len(first.asked) == 1
    second = recorder()
    async with kernel(second, durable=durable) as rig:
        await rig.kernel.first_observed(60)
        await asyncio.sleep(LOOK_S)
        assert rig.get(outcome.task)["TaskState"] == "Exception"
        assert not hasattr(second, "asked")


@in_virtual_time
async def test_bindings_stay_while_a_port_is_reset() -> None:
    async with running_kernel(inventories=(CXL,)) as rig:
        zone = await rig.zone(
            "/redfish/v1/Fabrics/CXL/Endpoints/host1-2", "/redfish/v1/Fabrics/CXL/Endpoints/mem2"
        )
        assert zone.kind is OutcomeKind.CREATED
        before = rig.bound("CXL")
        assert before
        await reset(rig, EMPTY)
        await asyncio.sleep(LOOK_S)
        assert rig.bound("CXL") == before
        assert rig.status(zone.uri) == ("Enabled", "OK")


@in_virtual_time
async def test_a_driver_without_it_says_so() -> None:
    class Plain:
        """Everything but resets of ports."""

        late_max_s = 2.0

        def __init__(self, real: VirtualDriver) -> None:
            self.discover, self.observe = real.discover, real.observe
            self.apply, self.watch, self.close = real.apply, real.watch, real.close

    driver = recorder()
    async with running_kernel(
        inventories=(CXL,),
        hardware={"CXL": driver.hardware},
        drivers={"CXL": Plain(driver)},
    ) as rig:
        await rig.kernel.first_observed(60)
        with pytest.raises(RedfishError) as told:
            await reset(rig)
        assert "resets no ports" in told.value.messages[0].args[2]
