"""Bandwidth of LDs through the loop: asked for, taken back, and kept whatever fails."""

import asyncio
from typing import Any

import pytest

from redfish_fm.drivers.virtual.faults import Dropped, Late, Lost, Pretend, Refuse, Restart, Slow
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.fabric.model import BindTarget, Qos, SetQos
from redfish_fm.redfish.writes import OutcomeKind
from tests.control.builders import Rig, refused
from tests.control.test_parts import mixed, quiet, running
from tests.virtual_time import VirtualClock, in_virtual_time

LDS = "/redfish/v1/Chassis/fixed1/PCIeDevices/fixed1/CXLLogicalDevices"


def ld(number: int) -> BindTarget:
    return BindTarget("cxl1", "D1", number)


def true(rig: Rig) -> dict[int, Qos]:
    """Return what hardware gives to LDs that have anything but the usual."""
    found = rig.hardware["CXL"].bandwidths("cxl1")
    return {int(t.ld or 0): qos for t, qos in found.items() if t.port == "D1" and qos != Qos()}


def shown(rig: Rig, number: int) -> Any:
    return rig.get(f"{LDS}/{number}").get("QoS")


def wished(rig: Rig) -> dict[str, Qos]:
    wishes = rig.published.state.index.bandwidth.wishes
    return {uri.rsplit("/", 1)[-1]: wish.qos for uri, wish in wishes.items()}


async def ask(rig: Rig, number: int, allocated: int | None, limit: int | None = None) -> Any:
    qos = {"AllocatedBandwidth": allocated, "LimitPercent": limit}
    return await rig.patch(f"{LDS}/{number}", {"QoS": qos})


@in_virtual_time
async def test_an_answered_wish_is_what_hardware_has_and_what_is_shown() -> None:
    async with running() as rig:
        await rig.until(lambda: shown(rig, 0) == {"AllocatedBandwidth": 0, "LimitPercent": 100})
        assert (await ask(rig, 0, 30, 60)).kind is OutcomeKind.CHANGED
        assert true(rig) == {0: Qos(30, 60)}
        assert shown(rig, 0) == {"AllocatedBandwidth": 30, "LimitPercent": 60}
        assert (await ask(rig, 0, 30, 60)).kind is OutcomeKind.NO_OPERATION
        assert (await ask(rig, 0, None, None)).kind is OutcomeKind.CHANGED
        assert true(rig) == {}
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_a_refused_wish_is_taken_back_to_what_was_wanted_before() -> None:
    async with running() as rig:
        await ask(rig, 0, 30)
        for before in (Qos(30), None):
            number = 0 if before else 1
            rig.faults("CXL").next_apply(None, Refuse("not today"), only=(SetQos,))
            error = await refused(ask(rig, number, 50))
            (message,) = error.messages
            assert error.status == 409 and "not today" in message.args[2]
            assert message.args[0] == f"SetQos of ld {number} to 50 %, at most 100 %"
            await quiet(rig)
            assert true(rig) == {0: Qos(30)} and wished(rig) == {"0": Qos(30)}
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_a_wish_that_runs_after_it_was_cancelled_is_undone() -> None:
    async with running(sync_budget_s=0.2) as rig:
        rig.faults("CXL").next_apply(None, Late(1.5), only=(SetQos,))
        asked = await ask(rig, 0, 70)
        assert asked.kind is OutcomeKind.ACCEPTED
        assert (await refused(ask(rig, 0, 10))).status == 409
        await rig.delete(str(asked.task))
        await quiet(rig)
        await asyncio.sleep(5.0)
        assert true(rig) == {} == wished(rig)
        done = [each for each in rig.oracle("CXL").actions("CXL") if each.what == "setqos"]
        assert len(done) == 2
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_what_others_were_promised_meanwhile_is_not_taken_back() -> None:
    async with running(sync_budget_s=0.2) as rig:
        await ask(rig, 0, 60)
        rig.faults("CXL").next_apply(None, Slow(3.0), only=(SetQos,))
        lowered = await ask(rig, 0, 10)
        raised = await ask(rig, 1, 80)
        assert (lowered.kind, raised.kind) == (OutcomeKind.ACCEPTED, OutcomeKind.ACCEPTED)
        await rig.delete(str(lowered.task))
        await quiet(rig)
        assert wished(rig) == {"0": Qos(10), "1": Qos(80)}
        assert true(rig) == {0: Qos(10), 1: Qos(80)}


@in_virtual_time
async def test_another_device_in_its_place_gets_what_is_wanted() -> None:
    async with running() as rig:
        await ask(rig, 2, 25, 75)
        rig.hardware["CXL"].remove_device("fixed1")
        rig.hardware["CXL"].return_device("fixed1", "ANOTHER")
        assert true(rig) == {}
        await rig.until(lambda: true(rig) == {2: Qos(25, 75)})


@pytest.mark.parametrize(
    "fault",
    [
        *(Lost(), Lost(reset=True), Dropped(), Late(0.5), Pretend(claim=False)),
        *(Restart(executed=True, down_s=0.3), Restart(executed=False, down_s=0.3)),
    ],
    ids=repr,
)
@in_virtual_time
async def test_whatever_becomes_of_a_command_the_wish_comes_true(fault) -> None:
    async with running() as rig:
        await ask(rig, 0, 60)
        rig.faults("CXL").next_apply(None, fault, only=(SetQos,))
        await ask(rig, 0, 30, 50)
        await ask(rig, 1, 70)
        await quiet(rig)
        assert true(rig) == {0: Qos(30, 50), 1: Qos(70)}
        await rig.assert_equal_to_disk()


@pytest.mark.parametrize("fault", [Slow(2.0), Late(1.5), Dropped()], ids=repr)
@pytest.mark.parametrize("step", [1, 2, 3])
@in_virtual_time
async def test_after_a_crash_in_any_command_what_was_begun_is_finished(step, fault) -> None:
    clock = VirtualClock()
    hardware = {"CXL": Hardware(mixed("CXL"), clock)}

    async def life(rig: Rig) -> None:
        for number, allocated in ((0, 60), (0, 20), (1, 80)):
            await ask(rig, number, allocated)

    async with running(hardware=hardware, crash=True) as rig:
        rig.faults("CXL").next_apply(None, *[Slow(0.0)] * (step - 1), fault, only=(SetQos,))
        living = rig.later(life(rig))
        await rig.until(lambda: len(rig.published.state.operations) > 0 or living.done())
        await asyncio.sleep(0.5)
        durable = rig.durable
    async with running(durable=durable, hardware=hardware) as rig:
        await quiet(rig)
        await asyncio.sleep(5.0)
        assert true(rig) == {int(n): qos for n, qos in wished(rig).items() if qos != Qos()}
        assert wished(rig)
        await ask(rig, 1, None)
        await life(rig)
        assert true(rig) == {0: Qos(20), 1: Qos(80)}
        await rig.assert_equal_to_disk()
