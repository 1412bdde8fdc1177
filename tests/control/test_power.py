"""The power of hosts through the kernel: what is asked once is done once, and told truly."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from redfish_fm.control.power import PowerPolicy
from redfish_fm.drivers.virtual.faults import Dropped, Lost, Refuse, Slow
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.power import VirtualPower
from redfish_fm.fabric.model import PortId
from redfish_fm.fabric.power import HostState, PowerState, ResetType
from redfish_fm.redfish.changes import Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import Outcome, OutcomeKind, WriteKind
from redfish_fm.store.base import StoreFull
from redfish_fm.store.memory import DurableState
from tests.control.builders import PCIE_FABRIC, Rig, keys, pcie, refused, running_kernel
from tests.drivers.fabrics import CXL, PCIE, machines_of
from tests.virtual_time import VirtualClock, in_virtual_time

SYSTEM, OTHER = "/redfish/v1/Systems/host1", "/redfish/v1/Systems/host2"
BMC = "/redfish/v1/Managers/host1-bmc"
LOOK_S = 2.0


async def reset(rig: Rig, how: str, uri: str = SYSTEM) -> Outcome:
    return await rig.act(uri, "ComputerSystem.Reset", ResetType=how)


def power(rig: Rig, uri: str = SYSTEM) -> str:
    found: str = rig.get(uri)["PowerState"]
    return found


def boots(rig: Rig, host: str = "host1") -> int:
    assert rig.machines is not None
    return rig.machines.state(host).boots


def fault(rig: Rig, what: Any, host: str = "host1") -> None:
    assert rig.machines is not None
    rig.machines.next_fault[host] = what


@in_virtual_time
async def test_a_reset_that_was_accepted_shows_at_once_and_leaves_no_task() -> None:
    async with running_kernel(power=PowerPolicy()) as rig:
        await rig.kernel.first_observed(60)
        before = rig.etag(SYSTEM)
        outcome = await reset(rig, "ForceOff")
        assert (outcome.kind, outcome.task) == (OutcomeKind.CHANGED, None)
        assert power(rig) == "Off"
        assert rig.etag(SYSTEM) != before
        assert rig.get(SYSTEM)["Status"]["State"] == "StandbyOffline"
        assert rig.get(SYSTEM)["Status"]["Health"] == "OK"
        assert power(rig, OTHER) == "On"
        assert not rig.published.state.operations
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_what_depends_on_power_follows_it_and_comes_back() -> None:
    async with running_kernel(power=PowerPolicy()) as rig:
        await rig.kernel.first_observed(60)
        await asyncio.sleep(LOOK_S)
        uris = [uri for uri in rig.published.base.documents if "/host1" in uri]
        before = {uri: rig.get(uri) for uri in uris}
        await reset(rig, "ForceOff")
        await asyncio.sleep(LOOK_S)
        off = {uri: rig.get(uri) for uri in uris}
        changed = {uri for uri in uris if off[uri] != before[uri]}
        assert {SYSTEM, "/redfish/v1/Chassis/host1", pcie("host1-1")} <= changed
        assert off["/redfish/v1/Chassis/host1"]["PowerState"] == "Off"
        assert off[pcie("host1-1")]["Status"] == {
            "State": "StandbyOffline", "Health": "OK", "HealthRollup": "OK"
        }  # fmt: skip
        port = rig.get(f"{PCIE_FABRIC}/Switches/pcie1/Ports/U1")
        assert (port["LinkStatus"], port["Status"]["Health"]) == ("LinkDown", "OK")
        # Nobody is ill for it.
        assert all(_health(each) in (None, "OK") for each in off.values())
        await reset(rig, "On")
        assert power(rig) == "PoweringOn"
        await asyncio.sleep(10.0)
        after = {uri: rig.get(uri) for uri in uris}
        lasting = {SYSTEM: "LastResetTime"}
        for uri in uris:
            now = {**after[uri], "@odata.etag": before[uri]["@odata.etag"]}
            now.pop(lasting.get(uri, ""), None)
            assert now == before[uri], uri


def _health(document: Mapping[str, Any]) -> str | None:
    status = document.get("Status", {})
    found: str | None = status.get("HealthRollup", status.get("Health"))
    return found


@in_virtual_time
async def test_a_zone_binds_for_a_host_that_is_off_and_stays_when_it_starts() -> None:
    async with running_kernel(power=PowerPolicy()) as rig:
        await rig.kernel.first_observed(60)
        await reset(rig, "ForceOff")
        await asyncio.sleep(LOOK_S)
        await rig.zone(pcie("host1-1"), pcie("gpu1"))
        bound = rig.bound()
        assert bound
        await reset(rig, "On")
        await asyncio.sleep(10.0)
        assert rig.bound() == bound
        rig.assert_isolated()


@in_virtual_time
async def test_a_refused_reset_says_why_and_changes_nothing() -> None:
    async with running_kernel(power=PowerPolicy()) as rig:
        await rig.kernel.first_observed(60)
        fault(rig, Refuse("panel locked"))
        error = await refused(reset(rig, "ForceOff"))
        assert (error.status, keys(error)) == (409, ["RedfishFM.HardwareRefused"])
        assert "panel locked" in error.messages[0].args[2]
        assert power(rig) == "On"


@in_virtual_time
async def test_a_lost_answer_is_a_task_until_a_look_shows_what_was_done() -> None:
    async with running_kernel(power=PowerPolicy(), sync_budget_s=0.5) as rig:
        await rig.kernel.first_observed(60)
        fault(rig, Lost())
        outcome = await reset(rig, "ForceRestart")
        assert outcome.kind in (OutcomeKind.CHANGED, OutcomeKind.ACCEPTED)
        await asyncio.sleep(10.0)
        assert boots(rig) == 1
        assert power(rig) == "On"
        assert not [each for each in rig.published.state.operations.values() if each.open]


@in_virtual_time
async def test_a_command_that_was_never_done_is_not_sent_again_and_ends_as_a_failed_task() -> None:
    policy = PowerPolicy(operation_s=30.0)
    async with running_kernel(power=policy) as rig:
        await rig.kernel.first_observed(60)
        fault(rig, Dropped())
        outcome = await reset(rig, "ForceRestart")
        assert outcome.kind is OutcomeKind.ACCEPTED
        assert outcome.task is not None
        error = await refused(reset(rig, "ForceOff"))
        assert (error.status, keys(error)[0]) == (409, "Base.ResourceInUse")
        assert rig.get(outcome.task)["TaskState"] == "Running"
        error = await refused(rig.commit(WriteKind.DELETE, outcome.task))
        assert error.status == 409
        await asyncio.sleep(40.0)
        assert rig.get(outcome.task)["TaskState"] == "Exception"
        told = rig.kernel.operations.result(outcome.task)
        assert isinstance(told, RedfishError)
        assert keys(told) == ["Base.OperationTimeout"]
        assert boots(rig) == 0
        assert (await reset(rig, "ForceOff")).kind is OutcomeKind.CHANGED
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_after_a_crash_a_command_is_judged_by_what_is_seen_and_not_sent_again() -> None:
    durable, clock = DurableState(), VirtualClock()
    hardware = {each.fabric: Hardware(each, clock) for each in (PCIE, CXL)}
    machines = machines_of(*hardware.values())
    async with running_kernel(
        durable=durable, hardware=hardware, machines=machines, crash=True
    ) as rig:
        await rig.kernel.first_observed(60)
        for host, what in (("host1", Lost()), ("host2", Dropped())):
            machines.next_fault[host] = what
        rig.later(reset(rig, "ForceRestart"))
        rig.later(reset(rig, "ForceRestart", OTHER))
        await rig.until(lambda: bool(durable.spaces.get(Space.OPERATION)))
        await asyncio.sleep(0.001)
    await asyncio.sleep(1.0)
    assert machines.state("host1").boots <= 1
    done = machines.state("host1").boots
    async with running_kernel(durable=durable, hardware=hardware, machines=machines) as rig:
        await rig.kernel.first_observed(60)
        await asyncio.sleep(10.0)
        assert (boots(rig), boots(rig, "host2")) == (done, 0)
        open_ = {each.uri for each in rig.published.state.operations.values() if each.open}
        assert OTHER in open_
        assert (SYSTEM in open_) is (done == 0)


@in_virtual_time
async def test_a_client_that_leaves_stops_no_reset() -> None:
    async with running_kernel(power=PowerPolicy()) as rig:
        await rig.kernel.first_observed(60)
        fault(rig, Slow(2.0))
        asking = rig.later(reset(rig, "ForceOff"))
        await asyncio.sleep(0.5)
        asking.cancel()
        await asyncio.sleep(4.0)
        assert power(rig) == "Off"
        assert not [each for each in rig.published.state.operations.values() if each.open]


@in_virtual_time
async def test_while_power_changes_only_force_is_taken() -> None:
    async with running_kernel(power=PowerPolicy()) as rig:
        await rig.kernel.first_observed(60)
        assert rig.machines is not None
        rig.machines.hanging.add("host1")
        await reset(rig, "GracefulShutdown")
        assert power(rig) == "PoweringOff"
        error = await refused(reset(rig, "On"))
        assert (error.status, keys(error)) == (409, ["Base.ResourceInStandby"])
        assert error.headers["Retry-After"] == "1"
        await reset(rig, "GracefulShutdown")
        await reset(rig, "ForceOff")
        assert power(rig) == "Off"


@in_virtual_time
async def test_a_bmc_that_restarts_takes_no_command_until_it_is_back() -> None:
    async with running_kernel(power=PowerPolicy()) as rig:
        await rig.kernel.first_observed(60)
        assert "LastResetTime" not in rig.get(BMC)
        outcome = await rig.act(BMC, "Manager.Reset", ResetType="ForceRestart")
        assert outcome.kind is OutcomeKind.CHANGED
        error = await refused(reset(rig, "ForceOff"))
        assert (error.status, keys(error)[-1]) == (503, "Base.ResourceInStandby")
        assert power(rig) == "On"
        assert (await reset(rig, "ForceOff", OTHER)).kind is OutcomeKind.CHANGED
        await asyncio.sleep(8.0)
        assert "LastResetTime" in rig.get(BMC)
        await reset(rig, "ForceOff")
        assert power(rig) == "Off"


@in_virtual_time
async def test_what_was_meant_for_one_start_is_spent_by_it_and_what_goes_on_is_not() -> None:
    async with running_kernel(power=PowerPolicy()) as rig:
        await rig.kernel.first_observed(60)
        once = {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}
        for uri, how in ((SYSTEM, "Once"), (OTHER, "Continuous")):
            await rig.patch(uri, {"Boot": {**once, "BootSourceOverrideEnabled": how}})
        for uri in (SYSTEM, OTHER):
            await reset(rig, "ForceRestart", uri)
        spent, kept = rig.get(SYSTEM)["Boot"], rig.get(OTHER)["Boot"]
        named = ("BootSourceOverrideEnabled", "BootSourceOverrideTarget")
        assert [spent[name] for name in named] == ["Disabled", "None"]
        assert [kept[name] for name in named] == ["Continuous", "Pxe"]
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_a_host_is_told_to_boot_from_what_it_can_only() -> None:
    async with running_kernel(power=PowerPolicy()) as rig:
        await rig.kernel.first_observed(60)
        error = await refused(rig.patch(SYSTEM, {"Boot": {"BootSourceOverrideTarget": "Floppy"}}))
        assert (error.status, keys(error)) == (400, ["Base.PropertyValueNotInList"])


@in_virtual_time
async def test_hosts_that_nobody_drives_take_no_reset_and_show_none() -> None:
    async with running_kernel() as rig:
        await rig.kernel.first_observed(60)
        assert "#ComputerSystem.Reset" not in rig.get(SYSTEM).get("Actions", {})
        error = await refused(reset(rig, "ForceOff"))
        assert (error.status, keys(error)) == (400, ["Base.ActionNotSupported"])
        error = await refused(rig.patch(SYSTEM, {"Boot": {"BootSourceOverrideTarget": "Pxe"}}))
        assert (error.status, keys(error)) == (400, ["Base.PropertyNotWritable"])


@in_virtual_time
async def test_mains_that_fail_are_seen_without_anybody_asking() -> None:
    async with running_kernel(power=PowerPolicy()) as rig:
        await rig.kernel.first_observed(60)
        assert rig.machines is not None
        rig.machines.lose_power("host1")
        await asyncio.sleep(0.1)
        assert power(rig) == "Off"
        await asyncio.sleep(LOOK_S)
        told = rig.published.state.spaces[Space.ANNOUNCED].get(SYSTEM)
        assert told is not None and b"StandbyOffline" in told


@in_virtual_time
async def test_a_look_costs_only_hosts_that_changed() -> None:
    async with running_kernel(power=PowerPolicy()) as rig:
        await rig.kernel.first_observed(60)
        assert rig.kernel.power is not None
        said = rig.kernel.power._observed  # noqa: SLF001
        before = said.rendered
        await asyncio.sleep(30.0)
        assert said.rendered == before
        await reset(rig, "ForceOff")
        await asyncio.sleep(30.0)
        assert said.rendered == before + 1


@in_virtual_time
async def test_a_host_that_is_off_shows_its_ports_as_such() -> None:
    async with running_kernel(power=PowerPolicy()) as rig:
        await rig.kernel.first_observed(60)
        await reset(rig, "ForceOff")
        await asyncio.sleep(LOOK_S)
        state = rig.hardware["PCIe"].port_states("pcie1")[PortId("pcie1", "U1")]
        assert not state.powered
        assert rig.machines is not None
        assert rig.machines.state("host1").power is PowerState.OFF
        assert (
            ResetType.ON.value
            in rig.get(SYSTEM)["Actions"]["#ComputerSystem.Reset"][
                "ResetType@Redfish.AllowableValues"
            ]
        )


class Faulty(VirtualPower):
    """Fails in ways that no driver may, now and then."""

    fails: frozenset[str] = frozenset()

    async def observe(self) -> Mapping[str, HostState]:
        self._fail("observe")
        return await super().observe()

    async def reset(self, host: str, asked: ResetType, deadline_s: float) -> None:
        self._fail("reset")
        await super().reset(host, asked, deadline_s)

    def watch(self) -> AsyncIterator[str]:
        self._fail("watch")
        return super().watch()

    def _fail(self, what: str) -> None:
        if what in self.fails:
            raise ZeroDivisionError(what)


@pytest.mark.expects_errors
@in_virtual_time
async def test_a_faulty_driver_ends_nobody() -> None:
    clock = VirtualClock()
    hardware = {each.fabric: Hardware(each, clock) for each in (PCIE, CXL)}
    bmcs = Faulty(machines_of(*hardware.values()), clock, clock)
    bmcs.fails = frozenset({"watch"})
    async with running_kernel(hardware=hardware, bmcs=bmcs, sync_budget_s=1.0) as rig:
        await rig.kernel.first_observed(60)
        bmcs.fails = frozenset({"reset"})
        outcome = await reset(rig, "ForceRestart")
        assert outcome.kind is OutcomeKind.ACCEPTED
        bmcs.fails = frozenset({"observe", "watch"})
        await asyncio.sleep(5.0)
        bmcs.fails = frozenset()
        await asyncio.sleep(5.0)
        assert (await reset(rig, "ForceOff", OTHER)).kind is OutcomeKind.CHANGED
        assert power(rig, OTHER) == "Off"
        assert not rig.running.done()


@in_virtual_time
async def test_a_command_of_unknown_outcome_ends_also_where_no_bmc_answers_any_more() -> None:
    async with running_kernel(power=PowerPolicy(operation_s=30.0)) as rig:
        await rig.kernel.first_observed(60)
        fault(rig, Dropped())
        outcome = await reset(rig, "ForceRestart")
        assert rig.machines is not None
        for host in rig.machines.hosts:
            rig.machines.silence(host)
        await asyncio.sleep(40.0)
        assert outcome.task is not None
        assert rig.get(outcome.task)["TaskState"] == "Exception"
        assert power(rig) == "On"


@in_virtual_time
async def test_what_was_meant_for_one_start_is_spent_when_the_store_can_write_again() -> None:
    full: list[StoreFull] = []
    strike = lambda _: full[0] if full else None  # noqa: E731 - a fault of the store
    async with running_kernel(power=PowerPolicy(), fault_before=strike) as rig:
        await rig.kernel.first_observed(60)
        once = {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}
        await rig.patch(SYSTEM, {"Boot": once})
        full.append(StoreFull("full"))
        assert rig.machines is not None
        rig.machines.execute("host1", ResetType.FORCE_RESTART)
        await asyncio.sleep(10.0)
        assert rig.get(SYSTEM)["Boot"]["BootSourceOverrideEnabled"] == "Once"
        full.clear()
        await asyncio.sleep(10.0)
        assert rig.get(SYSTEM)["Boot"]["BootSourceOverrideEnabled"] == "Disabled"
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_many_commands_at_once_are_shown_by_few_looks() -> None:
    hosts = tuple(replace(PCIE.hosts[0], id=f"host{n}", name=f"host{n}") for n in range(1, 41))
    async with running_kernel(
        power=PowerPolicy(observe_interval_s=60.0), inventories=(replace(PCIE, hosts=hosts), CXL)
    ) as rig:
        await rig.kernel.first_observed(60)
        loop = rig.kernel.power
        assert loop is not None
        before = loop._looks  # noqa: SLF001
        uris = [f"/redfish/v1/Systems/host{n}" for n in range(1, 41)]
        await asyncio.gather(*(reset(rig, "ForceOff", uri) for uri in uris))
        assert {power(rig, uri) for uri in uris} == {"Off"}
        assert loop._looks - before < 10  # noqa: SLF001


@in_virtual_time
async def test_a_reset_that_its_bmc_could_not_be_sent_any_more_is_over() -> None:
    async with running_kernel(power=PowerPolicy()) as rig:
        await rig.kernel.first_observed(60)
        fault(rig, Slow(1.0))
        first = rig.later(rig.act(BMC, "Manager.Reset", ResetType="ForceRestart"))
        await rig.until(lambda: bool(rig.published.state.operations))
        await asyncio.sleep(0.1)
        error = await refused(reset(rig, "ForceOff"))
        assert (error.status, keys(error)) == (409, ["RedfishFM.HardwareRefused"])
        assert "not sent" in error.messages[0].args[2]
        await first
        await asyncio.sleep(10.0)
        assert (await reset(rig, "ForceOff")).kind is OutcomeKind.CHANGED


@in_virtual_time
async def test_what_a_bmc_refused_is_told_when_the_store_can_write_again() -> None:
    asked_and_full: list[StoreFull | None] = []
    strike = lambda _: asked_and_full.pop() if asked_and_full else None  # noqa: E731 - see below
    async with running_kernel(power=PowerPolicy(operation_s=300.0), fault_before=strike) as rig:
        await rig.kernel.first_observed(60)
        fault(rig, Refuse("panel locked"))
        # The command is stored, the refusal is not, nor what is tried next.
        asked_and_full.extend((StoreFull("full"), StoreFull("full"), None))
        error = await refused(reset(rig, "ForceOff"))
        assert (error.status, keys(error)) == (409, ["RedfishFM.HardwareRefused"])
        assert not asked_and_full
