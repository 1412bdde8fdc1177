"""From a client's write to the switch and back, with every fault the virtual switch knows."""

import asyncio
import itertools
import json

import pytest

from redfish_fm.control.announce import INTERVAL_S
from redfish_fm.control.reconcile import Policy
from redfish_fm.drivers.base import DriverUnavailable
from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.drivers.virtual.faults import (
    Dropped,
    Late,
    Lost,
    Pretend,
    Refuse,
    Restart,
    Slow,
    flap,
)
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.fabric.model import Bind, BindTarget, PortId, Unbind, VppbId
from redfish_fm.redfish.changes import Space
from redfish_fm.redfish.writes import OutcomeKind
from tests.control.builders import (
    CXL_FABRIC,
    PCIE_FABRIC,
    PCIE_ZONES,
    TASKS,
    a_base,
    cxl,
    keys,
    links,
    pcie,
    refused,
    running_kernel,
    zone_body,
)
from tests.drivers.fabrics import PCIE
from tests.virtual_time import VirtualClock, in_virtual_time, settle

GPU1 = BindTarget("pcie1", "D1")
HOST1, HOST2 = VppbId("pcie1", "1", 0), VppbId("pcie1", "2", 0)


@in_virtual_time
async def test_a_legal_zone_is_bound_when_it_is_answered() -> None:
    async with running_kernel() as rig:
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert outcome.kind is OutcomeKind.CREATED
        assert rig.bound() == {HOST1: GPU1} == rig.wanted()
        assert rig.status(outcome.uri) == ("Enabled", "OK")
        await rig.assert_equal_to_disk()
        assert rig.published.state.operations == {}


@in_virtual_time
async def test_deleting_a_zone_unbinds_before_it_is_answered() -> None:
    async with running_kernel() as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        outcome = await rig.delete(zone)
        assert outcome.kind is OutcomeKind.DELETED
        assert rig.bound() == {} == rig.wanted()
        assert not rig.published.exists(zone)
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_adding_and_removing_an_endpoint_binds_and_unbinds() -> None:
    async with running_kernel() as rig:
        zone = (await rig.zone(pcie("host1-1"))).uri
        await rig.act(zone, "Zone.AddEndpoint", Endpoint={"@odata.id": pcie("gpu1")})
        assert rig.bound() == {HOST1: GPU1}
        await rig.act(zone, "Zone.RemoveEndpoint", Endpoint=pcie("gpu1"))
        assert rig.bound() == {}
        await rig.patch(zone, zone_body(pcie("host1-1"), pcie("gpu2")))
        assert rig.bound() == {HOST1: BindTarget("pcie1", "D2")}


@in_virtual_time
async def test_a_connection_binds_the_logical_device_of_its_chunk() -> None:
    async with running_kernel() as rig:
        await rig.zone(cxl("host1-2"), cxl("mem1-ld0"))
        assert rig.bound("CXL") == {}
        chunk = "/redfish/v1/Chassis/mem1/MemoryDomains/0/MemoryChunks/1"
        body = {
            "Links": {
                "InitiatorEndpoints": links(cxl("host1-2")),
                "TargetEndpoints": links(cxl("mem1-ld0")),
            },
            "MemoryChunkInfo": [
                {"AccessCapabilities": ["Read", "Write"], "MemoryChunk": {"@odata.id": chunk}}
            ],
        }
        made = await rig.post(f"{CXL_FABRIC}/Connections", body)
        assert made.kind is OutcomeKind.CREATED
        assert rig.bound("CXL") == {VppbId("cxl1", "1", 0): BindTarget("cxl1", "D1", 0)}


@in_virtual_time
async def test_a_second_host_is_refused_and_nothing_moves() -> None:
    async with running_kernel() as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        error = await refused(rig.zone(pcie("host2-1"), pcie("gpu1")))
        assert error.status == 409 and zone in str([each.args for each in error.messages])
        assert rig.bound() == {HOST1: GPU1}


@in_virtual_time
async def test_what_the_switch_refuses_is_told_by_step_device_and_reason_and_leaves_nothing() -> (
    None
):
    async with running_kernel() as rig:
        rig.faults().next_apply(None, Refuse("slot power fault"))
        error = await refused(rig.zone(pcie("host1-1"), pcie("gpu1"), Id="mine"))
        assert error.status == 409
        (message,) = error.messages
        assert message.key == "RedfishFM.HardwareRefused"
        step, device, reason = message.args
        assert "Bind" in step and "pcie1/1/0" in step
        assert device == f"{PCIE_FABRIC}/Switches/pcie1/Ports/D1"
        assert "slot power fault" in reason
        assert not rig.published.exists(f"{PCIE_ZONES}/mine")
        await rig.converged()
        assert rig.bound() == {} == rig.wanted()
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_one_refused_step_of_several_takes_all_of_them_back() -> None:
    async with running_kernel() as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("nvme1"))).uri
        before = rig.bound()
        rig.faults().next_apply(None, Slow(0.1), Refuse())
        members = [pcie(name) for name in ("host1-1", "nvme1", "gpu1", "gpu2")]
        error = await refused(rig.patch(zone, zone_body(*members)))
        assert error.status == 409
        await rig.converged()
        assert rig.bound() == before == rig.wanted()
        shown = {each["@odata.id"] for each in rig.get(zone)["Links"]["Endpoints"]}
        assert shown == {pcie("host1-1"), pcie("nvme1")}
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_a_slow_switch_makes_a_task_that_completes() -> None:
    async with running_kernel(policy=Policy(apply_timeout_s=60.0)) as rig:
        rig.faults().next_apply(None, Slow(20.0))
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert outcome.kind is OutcomeKind.ACCEPTED and outcome.task is not None
        assert rig.get(outcome.task)["TaskState"] == "Running"
        assert rig.status(outcome.uri) == ("Starting", "OK")
        assert rig.get(TASKS)["Members"] == links(outcome.task)
        await rig.converged()
        task = rig.get(outcome.task)
        assert (task["TaskState"], task["PercentComplete"]) == ("Completed", 100)
        assert task["Links"]["CreatedResources"] == links(outcome.uri)
        assert rig.status(outcome.uri) == ("Enabled", "OK")
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_a_task_whose_hardware_refuses_late_ends_in_an_exception_with_the_reason() -> None:
    async with running_kernel() as rig:
        rig.hardware["PCIe"].cut("pcie1", 10.0)
        await settle()
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert outcome.task is not None
        rig.faults().next_apply(None, Refuse("late no"))
        await rig.until(lambda: rig.get(str(outcome.task))["TaskState"] == "Exception")
        told = rig.get(outcome.task)["Messages"]
        assert "late no" in json.dumps(told)
        assert not rig.published.exists(outcome.uri)
        await rig.converged()
        assert rig.bound() == {}


@pytest.mark.parametrize(
    "fault",
    [
        Lost(),
        Lost(reset=True),
        Dropped(),
        Dropped(reset=True),
        Late(0.5),
        Late(2.0),
        Restart(executed=False, down_s=0.3),
        Restart(executed=True, down_s=0.3),
        Pretend(claim=False),
        Slow(1.0),
        Slow(7.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("step", [Bind, Unbind])
@in_virtual_time
async def test_whatever_becomes_of_a_command_the_fabric_ends_as_wanted(fault, step) -> None:
    async with running_kernel() as rig:
        faults = rig.faults()
        if step is Bind:
            faults.next_apply(None, fault)
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        await rig.converged()
        assert rig.bound() == {HOST1: GPU1}
        if step is Unbind:
            faults.next_apply(None, fault)
        deleted = await rig.delete(outcome.uri)
        assert deleted.kind in (OutcomeKind.DELETED, OutcomeKind.ACCEPTED)
        # The other host may ask at once: it is served as soon as it is safe, never before.
        other = await rig.zone(pcie("host2-1"), pcie("gpu1"))
        assert other.kind in (OutcomeKind.CREATED, OutcomeKind.ACCEPTED)
        await rig.converged()
        assert rig.bound() == {HOST2: GPU1}
        rig.assert_isolated()
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_a_refused_unbind_is_retried_told_in_the_task_and_gives_the_unit_to_nobody() -> None:
    async with running_kernel() as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        rig.faults().next_apply(None, Refuse("bay is locked"), times=None)
        outcome = await rig.delete(zone)
        assert outcome.kind is OutcomeKind.ACCEPTED and outcome.task is not None
        told = rig.get(outcome.task)["Messages"]
        assert len(told) == 1 and "bay is locked" in json.dumps(told)
        waiting = await rig.zone(pcie("host2-1"), pcie("gpu1"))
        assert waiting.kind is OutcomeKind.ACCEPTED
        assert rig.bound() == {HOST1: GPU1} and rig.rejected() > 3
        rig.faults().clear()
        await rig.converged()
        assert rig.bound() == {HOST2: GPU1}
        assert rig.get(outcome.task)["TaskState"] == "Completed"
        rig.assert_isolated()


@in_virtual_time
async def test_lost_bindings_are_made_again_and_the_zone_is_critical_meanwhile() -> None:
    clock = VirtualClock()
    hardware = {"PCIe": Hardware(PCIE, clock, keeps_bindings=False)}
    async with running_kernel(hardware=hardware, inventories=(PCIE,)) as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        rig.faults().next_apply(None, Slow(1.0))
        hardware["PCIe"].restart("pcie1")
        await rig.until(lambda: rig.status(zone)[1] == "Critical")
        assert rig.status(zone) == ("Enabled", "Critical") and rig.bound() == {}
        await rig.until(lambda: rig.bound() == {HOST1: GPU1})
        await rig.until(lambda: rig.status(zone) == ("Enabled", "OK"))


@pytest.mark.expects_errors
@in_virtual_time
async def test_a_lie_becomes_critical_with_the_first_look_at_the_truth() -> None:
    async with running_kernel() as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        # The switch claims to have unbound; in truth host1 keeps the unit.
        rig.faults().next_apply(None, Pretend(claim=True))
        await rig.delete(zone)
        rig.faults().next_apply(None, Refuse(), times=None)
        assert rig.bound() == {HOST1: GPU1}
        rig.faults().tell_truth()
        before = rig.loop().cycles
        rig.loop().wake()
        await rig.until(lambda: rig.loop().cycles > before)
        await settle()
        (violation,) = rig.loop().violations
        assert "gpu1" in violation.subject
        assert rig.status(PCIE_FABRIC)[1] == "Critical"
        assert rig.status(violation.subject)[1] == "Critical"
        # It is over when the truth is: nothing keeps showing what nobody says any more.
        rig.faults().clear()
        rig.hardware["PCIe"].execute(Unbind(HOST1, GPU1), "outside")
        await rig.until(lambda: rig.loop().violations == ())
        await rig.until(lambda: rig.status(PCIE_FABRIC)[1] == "OK")
        assert "Conditions" not in rig.get(violation.subject).get("Status", {})


@pytest.mark.expects_errors
@in_virtual_time
async def test_foreign_bindings_are_shown_and_left_alone() -> None:
    async with running_kernel() as rig:
        rig.hardware["PCIe"].execute(Bind(HOST2, GPU1), "outside")
        await rig.until(lambda: rig.loop().foreign == (HOST2,))
        await asyncio.sleep(5.0)
        assert rig.bound() == {HOST2: GPU1}
        # Nobody granted it to anyone, so it is an isolation violation too.
        assert rig.status(PCIE_FABRIC)[1] == "Critical"
        # The unit is taken in truth: a grant waits for it, whatever was wanted.
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert outcome.kind is OutcomeKind.ACCEPTED
        rig.assert_isolated()


@pytest.mark.expects_errors
@in_virtual_time
async def test_what_somebody_else_has_bound_is_known_for_as_long_as_it_is_seen() -> None:
    async with running_kernel() as rig:
        tip = rig.kernel.writer.tip_view
        assert tip.bound_elsewhere == frozenset()
        rig.hardware["PCIe"].execute(Bind(HOST2, GPU1), "outside")
        await rig.until(lambda: tip.bound_elsewhere == {GPU1})
        rig.hardware["PCIe"].execute(Unbind(HOST2, GPU1), "outside")
        await rig.until(lambda: tip.bound_elsewhere == frozenset())
        await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert GPU1 in rig.bound().values()
        await rig.until(lambda: tip.bound_elsewhere == frozenset())


@pytest.mark.expects_errors
@in_virtual_time
async def test_a_grant_avoids_a_vppb_that_somebody_else_has_taken() -> None:
    async with running_kernel() as rig:
        rig.hardware["PCIe"].execute(Bind(HOST1, BindTarget("pcie1", "D2")), "outside")
        await rig.until(lambda: rig.loop().foreign == (HOST1,))
        await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert rig.bound()[VppbId("pcie1", "1", 1)] == GPU1


@pytest.mark.expects_errors
@in_virtual_time
async def test_foreign_bindings_are_undone_where_that_is_asked_for() -> None:
    async with running_kernel(policy=Policy(enforce=True)) as rig:
        rig.hardware["PCIe"].execute(Bind(HOST2, GPU1), "outside")
        await rig.until(lambda: rig.bound() == {})
        await rig.until(lambda: rig.status(PCIE_FABRIC)[1] == "OK")


@in_virtual_time
async def test_a_fabric_that_does_not_answer_in_time_is_shown_offline_and_comes_back() -> None:
    async with running_kernel(policy=Policy(observe_timeout_s=0.5)) as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        rig.faults().observe_s = 2.0
        await rig.until(lambda: rig.status(PCIE_FABRIC) == ("UnavailableOffline", "Critical"))
        assert rig.status(zone) == ("Enabled", "OK")
        rig.faults().observe_s = 0.0
        await rig.until(lambda: rig.status(PCIE_FABRIC) == ("Enabled", "OK"))


@in_virtual_time
async def test_an_unreachable_switch_makes_writes_wait_and_loses_none() -> None:
    async with running_kernel() as rig:
        rig.hardware["PCIe"].cut("pcie1", 30.0)
        await settle()
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert outcome.kind is OutcomeKind.ACCEPTED
        assert rig.status(PCIE_FABRIC) == ("UnavailableOffline", "Critical")
        assert rig.bound() == {}
        await rig.converged()
        assert rig.bound() == {HOST1: GPU1}
        rig.assert_isolated()


@in_virtual_time
async def test_a_slow_step_delays_no_other_zone() -> None:
    async with running_kernel(policy=Policy(apply_timeout_s=60.0)) as rig:
        rig.faults("CXL").next_apply(None, Slow(30.0))
        slow = rig.later(rig.zone(cxl("host1-2"), cxl("mem2")))
        await settle()
        before_s = rig.clock_s()
        quick = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert quick.kind is OutcomeKind.CREATED
        assert rig.clock_s() - before_s < 0.5
        assert not slow.done()


@in_virtual_time
async def test_a_resource_under_change_takes_no_other_write_and_names_its_task() -> None:
    async with running_kernel(policy=Policy(apply_timeout_s=60.0)) as rig:
        rig.faults().next_apply(None, Slow(20.0))
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        zone, task = outcome.uri, str(outcome.task)
        writes = (
            rig.patch(zone, {"Name": "other"}),
            rig.patch(zone, zone_body(pcie("host1-1"), pcie("gpu2"))),
            rig.act(zone, "Zone.RemoveEndpoint", Endpoint=pcie("gpu1")),
        )
        for write in writes:
            error = await refused(write)
            assert error.status == 409 and "Base.ResourceInUse" in keys(error)
            assert task in str([each.args for each in error.messages])
        stale = await refused(rig.patch(zone, {"Name": "other"}, if_match="0.0"))
        assert stale.status == 412
        await rig.converged()
        assert (await rig.patch(zone, {"Name": "other"})).kind is OutcomeKind.CHANGED


@in_virtual_time
async def test_deleting_a_zone_that_is_still_being_bound_ends_both_truthfully() -> None:
    async with running_kernel(policy=Policy(apply_timeout_s=60.0)) as rig:
        rig.faults().next_apply(None, Slow(3.0))
        making = rig.later(rig.zone(pcie("host1-1"), pcie("gpu1"), Id="z"))
        await asyncio.sleep(1.0)
        deleting = rig.later(rig.delete(f"{PCIE_ZONES}/z"))
        error = await refused(making)
        assert error.status == 409
        assert (await deleting).kind is OutcomeKind.DELETED
        await rig.converged()
        assert rig.bound() == {} == rig.wanted()
        assert rig.published.state.held == {}
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_deleting_the_task_of_a_zone_being_bound_takes_the_zone_back() -> None:
    async with running_kernel(policy=Policy(apply_timeout_s=60.0)) as rig:
        rig.faults().next_apply(None, Slow(20.0))
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        task = str(outcome.task)
        assert (await rig.delete(task)).kind is OutcomeKind.DELETED
        assert not rig.published.exists(outcome.uri)
        await rig.converged()
        assert rig.bound() == {}
        assert rig.get(task)["TaskState"] == "Cancelled"
        await rig.delete(task)
        assert not rig.published.exists(task) and rig.get(TASKS)["Members"] == []
        assert (await refused(rig.delete(task))).status == 404


@in_virtual_time
async def test_a_grant_that_is_never_observed_is_taken_back_in_the_end() -> None:
    async with running_kernel(policy=Policy(operation_s=20.0)) as rig:
        rig.faults().next_apply(None, Pretend(claim=False), times=None)
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert outcome.kind is OutcomeKind.ACCEPTED
        await rig.until(lambda: rig.get(str(outcome.task))["TaskState"] == "Exception")
        told = json.dumps(rig.get(str(outcome.task))["Messages"])
        assert "OperationTimeout" in told and "pcie1/1/0" in told
        assert not rig.published.exists(outcome.uri)
        await rig.converged()


@in_virtual_time
async def test_a_flapping_link_never_causes_a_412_and_is_announced_once_a_second() -> None:
    async with running_kernel() as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        tag = rig.etag(zone)
        endpoint_tag = rig.published.get(pcie("gpu1"))
        announced: list[float] = []
        rig.kernel.writer.on_publish.add(
            lambda changes: announced.extend(
                rig.clock_s()
                for change in changes
                if any(edit.space is Space.ANNOUNCED for edit in change.edits)
            )
        )
        port = PortId("pcie1", "D1")
        flapping = rig.later(flap(rig.hardware["PCIe"], port, VirtualClock(), 500, 0.01))
        tags = set()
        number = 0
        while not flapping.done():
            number += 1
            tags.add(rig.etag(pcie("gpu1")))
            outcome = await rig.patch(zone, {"Name": f"n{number}"}, if_match=tag)
            assert outcome.kind is OutcomeKind.CHANGED
            tag = rig.etag(zone)
            await asyncio.sleep(0.037)
        assert len(tags) > 1 and number > 20
        assert endpoint_tag is not None
        assert {each.strip('"').split(".")[0] for each in tags} == {endpoint_tag.wanted_tag}
        gaps = [later - earlier for earlier, later in itertools.pairwise(announced)]
        assert announced and min(gaps, default=INTERVAL_S) >= INTERVAL_S


@in_virtual_time
async def test_four_patches_with_one_etag_are_one_success_and_three_412() -> None:
    async with running_kernel(latency_s=0.05) as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        tag = rig.etag(zone)
        results = await asyncio.gather(
            *(rig.patch(zone, {"Name": f"n{number}"}, if_match=tag) for number in range(4)),
            return_exceptions=True,
        )
        assert sorted(getattr(each, "status", 200) for each in results) == [200, 412, 412, 412]
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_after_a_crash_what_was_begun_is_finished() -> None:
    clock = VirtualClock()
    hardware = {"PCIe": Hardware(PCIE, clock)}
    async with running_kernel(hardware=hardware, inventories=(PCIE,), crash=True) as rig:
        rig.faults().next_apply(None, Slow(2.0))
        making = rig.later(rig.zone(pcie("host1-1"), pcie("gpu1"), Id="z"))
        await asyncio.sleep(1.0)
        assert not making.done()
        durable = rig.durable
    async with running_kernel(durable=durable, hardware=hardware, inventories=(PCIE,)) as rig:
        assert rig.published.exists(f"{PCIE_ZONES}/z")
        assert len(rig.published.state.operations) == 1
        await rig.converged()
        assert rig.bound() == {HOST1: GPU1}
        (operation,) = rig.published.state.operations.values()
        assert rig.get(operation.task)["TaskState"] == "Completed"
        rig.assert_isolated()
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_equal_tags_after_a_restart_once_everything_was_seen() -> None:
    clock = VirtualClock()
    hardware = {"PCIe": Hardware(PCIE, clock)}
    base = a_base(PCIE)
    uris = list(base.documents)
    async with running_kernel(hardware=hardware, inventories=(PCIE,)) as rig:
        zone = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        await rig.zone(pcie("host2-1"), pcie("gpu2"))
        await rig.patch(zone.uri, {"Name": "later"})
        hardware["PCIe"].set_port(PortId("pcie1", "D4"), link_up=False)
        await asyncio.sleep(3.0)
        tags = {uri: rig.etag(uri) for uri in (*uris, zone.uri)}
        durable = rig.durable
    async with running_kernel(durable=durable, hardware=hardware, inventories=(PCIE,)) as rig:
        assert await rig.kernel.first_observed(5.0)
        assert {uri: rig.etag(uri) for uri in (*uris, zone.uri)} == tags


class Faulty:
    """A driver with a defect: what it raises is none of the three errors of the contract."""

    def __init__(self, below: VirtualDriver, method: str) -> None:
        self.below, self.method, self.broken = below, method, True
        self.late_max_s = below.late_max_s

    def __getattr__(self, name: str):
        if name == self.method and self.broken:
            raise RuntimeError("a defect")
        return getattr(self.below, name)


@pytest.mark.expects_errors
@pytest.mark.parametrize("method", ["observe", "apply"])
@in_virtual_time
async def test_a_defect_of_one_driver_ends_neither_its_loop_nor_anybody_else(method) -> None:
    clock = VirtualClock()
    hardware = Hardware(PCIE, clock)
    driver = Faulty(VirtualDriver(hardware, clock, clock), method)
    async with running_kernel(
        hardware={"PCIe": hardware}, drivers={"PCIe": driver}, inventories=(PCIE,)
    ) as rig:
        outcome = await rig.zone(pcie("host1-1"), pcie("gpu1"))
        assert outcome.kind is OutcomeKind.ACCEPTED
        driver.broken = False
        await rig.converged()
        assert rig.bound() == {HOST1: GPU1}


@pytest.mark.expects_errors
@pytest.mark.parametrize("error", [DriverUnavailable("no watch"), RuntimeError("a driver's bug")])
@in_virtual_time
async def test_a_watch_that_breaks_off_is_begun_again(error: Exception) -> None:
    clock = VirtualClock()
    hardware = Hardware(PCIE, clock)

    class Deaf(VirtualDriver):
        watches = 0

        def watch(self):
            self.watches += 1
            if self.watches < 3:
                raise error
            return super().watch()

    driver = Deaf(hardware, clock, clock)
    async with running_kernel(
        hardware={"PCIe": hardware}, drivers={"PCIe": driver}, inventories=(PCIE,)
    ) as rig:
        await asyncio.sleep(5.0)
        assert driver.watches == 3
        assert rig.loop().first_observed.is_set()


@pytest.mark.expects_errors
@in_virtual_time
async def test_a_fault_while_showing_that_nobody_answers_ends_no_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = VirtualClock()
    hardware = Hardware(PCIE, clock)

    class Silent(VirtualDriver):
        async def observe(self):
            raise DriverUnavailable("nobody there")

    driver = Silent(hardware, clock, clock)
    async with running_kernel(
        hardware={"PCIe": hardware}, drivers={"PCIe": driver}, inventories=(PCIE,)
    ) as rig:
        loop = rig.loop()

        def broken(*_: object) -> None:
            raise RuntimeError("a bug in what is shown")

        monkeypatch.setattr(loop, "_show", broken)
        before = loop.cycles
        await asyncio.sleep(60.0)
        assert loop.cycles > before + 1


@in_virtual_time
async def test_what_a_switch_takes_and_never_does_is_not_asked_for_at_full_speed() -> None:
    async with running_kernel() as rig:
        zone = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        rig.faults().next_apply(None, Pretend(claim=False), times=None, only=(Unbind,))
        assert (await rig.delete(zone)).kind is OutcomeKind.ACCEPTED
        await asyncio.sleep(55.0)
        assert 5 < rig.loop().calls["Unbind", "ok"] < 20
        rig.faults().clear()
        await rig.converged()
        # Once it is done, the next time is a first time again.
        again = (await rig.zone(pcie("host1-1"), pcie("gpu1"))).uri
        assert (await rig.delete(again)).kind is OutcomeKind.DELETED
