"""Steps about memory and bandwidth at a simulated switch: what is sent, and what never is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from redfish_fm.drivers.base import DriverRejected, DriverUnavailable, DriverUnsupported
from redfish_fm.drivers.cxl_fmapi import attached
from redfish_fm.drivers.cxl_fmapi.attached import AttachedPolicy
from redfish_fm.drivers.cxl_fmapi.caller import Caller
from redfish_fm.drivers.cxl_fmapi.discovering import Survey
from redfish_fm.drivers.cxl_fmapi.doubts import BELIEVED_AFTER
from redfish_fm.drivers.cxl_fmapi.driver import CxlFmApiDriver
from redfish_fm.drivers.cxl_fmapi.links import Link
from redfish_fm.drivers.cxl_fmapi.session import NoAnswer
from redfish_fm.drivers.cxl_fmapi.switch_commands import BIND
from redfish_fm.drivers.cxl_fmapi.watching import LOGS_S
from redfish_fm.drivers.virtual.fmapi_asked import Asked, Row
from redfish_fm.drivers.virtual.fmapi_commands import SWITCH
from redfish_fm.drivers.virtual.fmapi_events import INFORMATIONAL, KEPT_MAX, PHYSICAL_SWITCH
from redfish_fm.drivers.virtual.fmapi_faults import WireFault
from redfish_fm.drivers.virtual.fmapi_mld import LD
from redfish_fm.drivers.virtual.fmapi_switch import INVALID_INPUT, Answer, FmapiSwitch
from redfish_fm.drivers.virtual.fmapi_tunnel import DEVICE
from redfish_fm.drivers.virtual.topology import read
from redfish_fm.fabric.model import (
    Allocate,
    Bind,
    BindTarget,
    Deallocate,
    Device,
    Media,
    PartState,
    PortId,
    Qos,
    Sanitize,
    SetQos,
    Step,
    Unbind,
    VppbId,
)
from redfish_fm.fabric.qos_control import QosControl, QosTelemetry
from tests.drivers.cxl_fmapi.rigs import until_complete
from tests.drivers.cxl_fmapi.test_virtual_wire import driven
from tests.drivers.fmapi_world import FmapiWorld
from tests.virtual_time import in_virtual_time

TOPOLOGY = """
name: memory
hosts: [{id: h1}, {id: h2}]
fabrics:
  - id: F
    protocol: CXL
    switches:
      - id: s
        vppbs: 8
        devices:
          - {id: fixed, kind: Memory, capacity: 8 GiB, qos: true, lds: {count: 4}}
          - {id: pooled, kind: Memory, capacity: 8 GiB, lds: {count: 4, pooled: true}}
          - {id: dynamic, kind: Memory, capacity: 8 GiB,
             dynamic: {count: 2, regions: 4, granularity: 512 MiB}}
          - {id: plain, kind: Memory, capacity: 8 GiB, sanitizes: false, lds: {count: 2}}
          - {id: whole, kind: Memory, capacity: 8 GiB}
"""
(MEMORY,) = read(TOPOLOGY, "test").inventories()
FIXED, POOLED, DYNAMIC, PLAIN, WHOLE = (str(port) for port in range(2, 7))
FIRST, SECOND = VppbId("sw0", "0", 0), VppbId("sw0", "1", 0)
SANITIZE_S = 0.2


def at(port: str, ld: int | None = None, region: int | None = None) -> BindTarget:
    return BindTarget("sw0", port, ld, region=region)


class Wired:
    """The driver and the hardware at the other end."""

    def __init__(self, driver: CxlFmApiDriver, world: FmapiWorld) -> None:
        self.driver = driver
        self.world = world

    async def apply(self, *steps: Step) -> None:
        for step in steps:
            await self.driver.apply(step, self.world.clock.now_s() + 5)

    async def part(self, target: BindTarget) -> PartState | None:
        return (await self.driver.observe()).parts.get(target)

    async def media(self, target: BindTarget) -> Media:
        state = await self.part(target)
        assert state is not None
        return state.media

    async def sanitized(self, target: BindTarget) -> None:
        await self.apply(Sanitize(target))
        await self.world.clock.sleep(SANITIZE_S)
        assert await self.media(target) is Media.CLEAN

    def device(self, port: str) -> Device:
        found = [e for e in self.driver.inventory.devices if e.id.startswith(f"sw0-P{port}-")]
        return found[0]

    def use(self, port: str, ld: int) -> None:
        """Let somebody write into an LD, behind the manager's back."""
        vppb, target = VppbId("s", "1", 0), BindTarget("s", port, ld)
        for step in (Bind(vppb, target), Unbind(vppb, target)):
            self.world.hardware.execute(step, "outside")

    def done(self, what: str) -> int:
        """Return how often the hardware did something of its own journal."""
        return sum(action.what == what for action in self.world.hardware.oracle().actions())


@asynccontextmanager
async def wired(profile: str = "standard") -> AsyncIterator[Wired]:
    async with driven(profile, MEMORY) as (driver, world):
        await until_complete(driver, world.clock)
        yield Wired(driver, world)


# -- what is in an LD ---------------------------------------------------------------------------


@in_virtual_time
async def test_an_ld_is_dirty_until_it_is_sanitized_and_again_once_it_was_bound() -> None:
    async with wired() as made:
        ld = at(FIXED, 1)
        assert made.device(FIXED).sanitizes
        assert await made.media(ld) is Media.DIRTY
        made.use("D1", 1)
        await made.apply(Sanitize(ld))
        assert await made.media(ld) is Media.SANITIZING
        await made.sanitized(ld)
        assert await made.media(at(FIXED, 0)) is Media.DIRTY
        await made.apply(Bind(FIRST, ld), Unbind(FIRST, ld))
        assert await made.media(ld) is Media.DIRTY


@pytest.fixture
def silence(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list: while there is something in it, LDs do not tell how far they are."""
    silent, send = list[bool](), Caller.send

    async def or_nothing(self: Caller, command: Any, request: Any, **to: Any) -> Any:
        if silent and command.opcode == 0x0002 and to.get("ld") is not None:
            raise NoAnswer("silent")
        return await send(self, command, request, **to)

    monkeypatch.setattr(Caller, "send", or_nothing)
    return silent


@in_virtual_time
async def test_an_ld_whose_first_answers_are_lost_is_sanitized_later(silence: list[bool]) -> None:
    async with wired() as made:
        silence.append(True)
        with pytest.raises(NoAnswer):
            await made.apply(Sanitize(at(FIXED, 1)))
        silence.clear()
        await made.sanitized(at(FIXED, 1))
        assert await made.media(at(FIXED, 1)) is Media.CLEAN


@in_virtual_time
async def test_a_look_goes_on_without_the_ld_that_does_not_tell_how_far_it_is(
    silence: list[bool],
) -> None:
    async with wired() as made:
        ld = at(FIXED, 1)
        await made.apply(Sanitize(ld))
        silence.append(True)
        await made.world.clock.sleep(60)
        assert (await made.driver.observe()).complete
        assert await made.media(ld) is Media.SANITIZING
        silence.clear()
        await made.sanitized(ld)
        assert await made.media(ld) is Media.CLEAN


@in_virtual_time
async def test_what_is_clean_or_being_sanitized_is_not_sanitized_again() -> None:
    async with wired() as made:
        ld = at(FIXED, 0)
        made.use("D1", 0)
        await made.apply(Sanitize(ld), Sanitize(ld))
        await made.world.clock.sleep(SANITIZE_S)
        await made.sanitized(ld)
        assert made.done("sanitize") == 1


@in_virtual_time
async def test_an_ld_that_somebody_else_was_seen_to_bind_is_dirty() -> None:
    async with wired() as made:
        ld, vppb, own = at(FIXED, 0), VppbId("s", "2", 0), BindTarget("s", "D1", 0)
        await made.sanitized(ld)
        made.world.hardware.execute(Bind(vppb, own), "outside")
        assert await made.media(ld) is Media.DIRTY
        made.world.hardware.execute(Unbind(vppb, own), "outside")
        assert await made.media(ld) is Media.DIRTY


@in_virtual_time
async def test_sanitizing_whose_answer_was_lost_is_found_and_not_begun_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, plain = 0, LD[0x4400]

    def counting(switch: FmapiSwitch, asked: Asked) -> Answer | None:
        nonlocal begun
        begun += 1
        return plain.handler(switch, asked)

    monkeypatch.setitem(LD, 0x4400, Row(counting))
    async with wired() as made:
        made.use("D1", 0)
        await made.apply(Sanitize(at(FIXED, 0)))
        # As if the answer had not come: nothing is known of it.
        made.driver.switches["sw0"].contents.forget()
        await made.apply(Sanitize(at(FIXED, 0)))
        assert await made.media(at(FIXED, 0)) is Media.SANITIZING
        assert begun == 1


@in_virtual_time
async def test_who_was_bound_between_two_looks_is_noticed_by_the_records_of_it() -> None:
    async with wired() as made:
        for ld in (0, 1):
            await made.sanitized(at(FIXED, ld))
        vppb, target = VppbId("s", "1", 0), BindTarget("s", "D1", 1)
        for step in (Bind(vppb, target), Unbind(vppb, target)):
            made.world.hardware.execute(step, "outside")
            # The switch notices, and tells of its records.
            await made.world.clock.sleep(0.5)
        assert await made.media(at(FIXED, 1)) is Media.DIRTY
        assert await made.media(at(FIXED, 0)) is Media.CLEAN


@in_virtual_time
async def test_records_of_the_time_before_do_not_soil_what_is_sanitized_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Nobody is told of records: they are read now and then.
    monkeypatch.setitem(SWITCH, 0x0105, Row(refusing))
    async with wired() as made:
        ld = at(FIXED, 1)
        await made.apply(Bind(FIRST, ld), Unbind(FIRST, ld), Sanitize(ld))
        await made.world.clock.sleep(2 * LOGS_S)
        assert await made.media(ld) is Media.CLEAN
        assert made.done("sanitize") == 1


@in_virtual_time
async def test_records_that_were_lost_may_have_told_of_anybody() -> None:
    async with wired() as made:
        await made.sanitized(at(FIXED, 0))
        for _ in range(KEPT_MAX + 1):
            made.world.switch.logs.add(INFORMATIONAL, PHYSICAL_SWITCH, bytes(80), 0)
        await made.world.clock.sleep(LOGS_S)
        assert await made.media(at(FIXED, 0)) is Media.DIRTY


@in_virtual_time
async def test_what_is_bound_is_not_sanitized() -> None:
    async with wired() as made:
        await made.apply(Bind(FIRST, at(FIXED, 0)))
        with pytest.raises(DriverRejected, match="it is bound to vPPB 0"):
            await made.apply(Sanitize(at(FIXED, 0)))


@pytest.mark.parametrize("target", [at(PLAIN, 0), at(WHOLE), at(DYNAMIC, 0, 0), at("99", 0)])
@in_virtual_time
async def test_what_can_not_overwrite_itself_is_said(target: BindTarget) -> None:
    async with wired() as made:
        assert not made.device(PLAIN).sanitizes
        assert (await made.driver.observe()).parts.get(at(PLAIN, 0)) is None
        with pytest.raises(DriverUnsupported):
            await made.apply(Sanitize(target))


@in_virtual_time
async def test_a_port_is_no_ld() -> None:
    async with wired() as made:
        for target in (at(FIXED), at(FIXED, 9), at(FIXED, 0, 0)):
            with pytest.raises(DriverRejected, match="is no LD"):
                await made.apply(Sanitize(target))


@in_virtual_time
async def test_nothing_is_clean_any_more_after_a_connection_was_lost() -> None:
    async with wired() as made:
        ld = at(FIXED, 0)
        await made.sanitized(ld)
        made.world.hardware.cut("s", 0.0)
        await made.world.clock.sleep(1)
        await until_complete(made.driver, made.world.clock)
        assert await made.media(ld) is Media.DIRTY


@in_virtual_time
async def test_another_device_in_the_same_place_is_dirty() -> None:
    async with wired() as made:
        ld = at(FIXED, 0)
        await made.sanitized(ld)
        made.world.hardware.remove_device("fixed")
        await made.world.clock.sleep(0.2)
        await made.driver.observe()
        made.world.hardware.return_device("fixed", "another")
        await made.world.clock.sleep(0.5)
        await until_complete(made.driver, made.world.clock)
        assert await made.media(ld) is Media.DIRTY


@in_virtual_time
async def test_sanitizing_that_loses_power_leaves_the_ld_dirty() -> None:
    async with wired() as made:
        ld = at(FIXED, 0)
        made.use("D1", 0)
        await made.apply(Sanitize(ld))
        made.world.hardware.power_device("fixed", False)
        made.world.hardware.power_device("fixed", True)
        await made.world.clock.sleep(SANITIZE_S)
        await until_complete(made.driver, made.world.clock)
        assert await made.media(ld) is Media.DIRTY


@in_virtual_time
async def test_memory_that_an_ld_gets_is_dirty_whatever_it_had_before() -> None:
    async with wired() as made:
        ld = at(POOLED, 2)
        await made.apply(Allocate(ld, 512))
        await made.sanitized(ld)
        await made.apply(Deallocate(ld), Allocate(ld, 1024))
        assert await made.part(ld) == PartState(1024, Media.DIRTY)


# -- dynamic capacity ---------------------------------------------------------------------------


@in_virtual_time
async def test_an_ld_with_dynamic_capacity_goes_to_one_vppb() -> None:
    async with wired() as made:
        region = at(DYNAMIC, 0, 0)
        await made.apply(Allocate(region, 512), Bind(FIRST, region))
        # The switch would do it: another region of the same LD is free.
        own = BindTarget("s", "D3", 0, region=1)
        made.world.hardware.execute(Allocate(own, 512), "outside")
        made.driver.switches["sw0"].touch(int(DYNAMIC))
        for target in (region, at(DYNAMIC, 0, 1)):
            with pytest.raises(DriverRejected):
                await made.apply(Bind(SECOND, target))
        assert list(made.world.hardware.bindings("s").values()).count(None) == 15


@in_virtual_time
async def test_what_is_bound_stays_that_region_whatever_else_the_ld_is_given() -> None:
    async with wired() as made:
        region = at(DYNAMIC, 0, 0)
        await made.apply(Allocate(region, 512), Bind(FIRST, region))
        for number in (1, 2):
            own = BindTarget("s", "D3", 0, region=number)
            made.world.hardware.execute(Allocate(own, 512), "outside")
        made.driver.switches["sw0"].touch(int(DYNAMIC))
        seen = await made.driver.observe()
        assert seen.bindings[FIRST] == region
        assert {at(DYNAMIC, 0, 1), at(DYNAMIC, 0, 2)} <= seen.parts.keys()
        await made.apply(Unbind(FIRST, region), Deallocate(region))
        assert await made.part(region) is None


@in_virtual_time
async def test_only_the_first_region_of_an_ld_is_given_out() -> None:
    async with wired() as made:
        pool = made.device(DYNAMIC).pool
        assert pool is not None
        assert (pool.part_count_max, pool.shareable, pool.sanitizes) == (1, False, True)
        for step in (Allocate(at(DYNAMIC, 0, 1), 512), Deallocate(at(DYNAMIC, 0, 1))):
            with pytest.raises(DriverRejected, match="no such part"):
                await made.apply(step)


@in_virtual_time
async def test_dynamic_capacity_is_not_shared() -> None:
    async with wired() as made:
        with pytest.raises(DriverRejected, match="several hosts share"):
            await made.apply(Allocate(at(DYNAMIC, 0, 0), 512, shareable=True))
        assert made.done("allocate") == 0


# -- how a device watches its load --------------------------------------------------------------

USUAL = QosControl(False, False, 10, 25, 8, 0, 64)


def set_control(port: str, **wanted: int | bool) -> SetQos:
    return SetQos(at(port), Qos(), QosControl(**wanted))


async def control(made: Wired, port: str) -> QosControl | None:
    return (await made.driver.observe()).ports[PortId("sw0", port)].control


@in_virtual_time
async def test_what_is_not_asked_of_a_device_stays_as_it_is() -> None:
    async with wired() as made:
        assert made.device(FIXED).telemetry == QosTelemetry(True, True)
        assert await control(made, FIXED) == USUAL
        await made.apply(set_control(FIXED, congestion=True, severe_percent=90))
        assert await control(made, FIXED) == replace(USUAL, congestion=True, severe_percent=90)
        assert made.world.switch.qos_controls[2] == bytes((1, 10, 90, 8, 0, 0, 64))
        await made.apply(set_control(FIXED, moderate_percent=40))
        assert made.world.switch.qos_controls[2] == bytes((1, 40, 90, 8, 0, 0, 64))
        state = (await made.driver.observe()).ports[PortId("sw0", FIXED)]
        assert state.backpressure_percent == 0


@in_virtual_time
async def test_what_the_device_refuses_is_a_refusal() -> None:
    async with wired() as made:
        with pytest.raises(DriverRejected, match="0002h"):
            await made.apply(set_control(FIXED, moderate_percent=26))
        assert await control(made, FIXED) == USUAL


@in_virtual_time
async def test_a_device_that_does_something_else_is_told_to_do_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def rounding(switch: FmapiSwitch, asked: Asked) -> Answer:
        rounded = asked.payload[:2] + bytes((asked.payload[2] // 10 * 10,)) + asked.payload[3:7]
        wanted = asked.payload[:7] if asked.payload[2] == USUAL.severe_percent else rounded
        switch.qos_controls[asked.port or 0] = wanted
        return Answer(payload=wanted)

    monkeypatch.setitem(DEVICE, 0x5404, Row(rounding, 7))
    async with wired() as made:
        with pytest.raises(DriverRejected, match="made"):
            await made.apply(set_control(FIXED, severe_percent=55))
        assert await control(made, FIXED) == USUAL
        await made.apply(set_control(FIXED, severe_percent=50))


@pytest.mark.parametrize("port", [WHOLE, "0", "99"])
@in_virtual_time
async def test_what_is_no_mld_has_no_load_to_watch(port: str) -> None:
    async with wired() as made:
        with pytest.raises(DriverRejected, match="takes no QoS Control"):
            await made.apply(set_control(port, congestion=True))


@in_virtual_time
async def test_steps_of_several_devices_do_not_meet() -> None:
    async with wired() as made:
        await asyncio.gather(
            made.apply(Allocate(at(POOLED, 0), 512)),
            made.apply(Allocate(at(DYNAMIC, 1, 0), 1024)),
            made.apply(SetQos(at(FIXED, 3), Qos(30, 60))),
            made.apply(set_control(FIXED, congestion=True)),
        )
        seen = await made.driver.observe()
        assert seen.parts[at(POOLED, 0)].size_mib == 512
        assert seen.parts[at(DYNAMIC, 1, 0)].size_mib == 1024
        assert seen.qos[at(FIXED, 3)] == Qos(30, 60)


@in_virtual_time
async def test_a_bind_that_is_stuck_in_the_switch_is_given_up_and_can_be_made_again() -> None:
    async with wired() as made:
        made.world.faults.order(WireFault.STUCK, BIND.opcode)
        with pytest.raises(DriverUnavailable):
            await made.apply(Bind(FIRST, at(WHOLE)))
        # Until then the switch takes no other.
        with pytest.raises(DriverUnavailable):
            await made.apply(Bind(SECOND, at(FIXED, 1)))
        handed_s = made.world.clock.now_s()
        while (await made.driver.observe()).barrier_s < handed_s:
            assert made.world.clock.now_s() < handed_s + 2 * AttachedPolicy().abort_s
            await made.world.clock.sleep(1)
        await made.apply(Bind(FIRST, at(WHOLE)), Bind(SECOND, at(FIXED, 1)))


# -- what a device told before ------------------------------------------------------------------


def refusing(_: FmapiSwitch, asked: Asked) -> Answer:
    return Answer(INVALID_INPUT)


@pytest.mark.parametrize("opcode", [0x5400, 0x5401, 0x5406, 0x5403, 0x5601, 0x5603])
@in_virtual_time
async def test_what_is_refused_now_and_then_does_not_vanish_and_in_the_end_it_is_believed(
    monkeypatch: pytest.MonkeyPatch, opcode: int
) -> None:
    async with wired() as made:
        await made.apply(Allocate(at(DYNAMIC, 0, 0), 512))
        # What its event makes the driver ask is answered well, and must be over.
        await made.world.clock.sleep(1)
        before = await made.driver.observe()
        monkeypatch.setitem(DEVICE, opcode, Row(refusing))
        port = int(DYNAMIC) if opcode >> 8 == 0x56 else int(FIXED)
        switch = made.driver.switches["sw0"]
        switch.touch(port)
        for _ in range(BELIEVED_AFTER - 1):
            with pytest.raises(DriverUnavailable, match="does not tell all that it told before"):
                await made.driver.observe()
        after = await made.driver.observe()
        assert (after.parts, after.qos, after.ports) != (before.parts, before.qos, before.ports)


def cut_off(_: FmapiSwitch, asked: Asked) -> Answer:
    return Answer(payload=b"\x01")


def mute(_: FmapiSwitch, asked: Asked) -> None:
    return None


@pytest.mark.parametrize("answer", [cut_off, mute])
@pytest.mark.parametrize("opcode", [0x5400, 0x5401, 0x5406, 0x5603])
@in_virtual_time
async def test_a_device_that_can_not_be_asked_keeps_nobody_from_the_others(
    monkeypatch: pytest.MonkeyPatch, opcode: int, answer: Any
) -> None:
    async with wired() as made:
        await made.apply(Allocate(at(DYNAMIC, 0, 0), 512), Allocate(at(POOLED, 1), 512))
        before, known = await made.driver.observe(), made.driver.inventory
        monkeypatch.setitem(DEVICE, opcode, Row(answer))
        channel = made.driver.switches["sw0"].channel
        assert isinstance(channel, Link)
        assert channel.session is not None
        channel.session.close("it is made anew")
        seen = await until_complete(made.driver, made.world.clock)
        assert seen.parts.keys() == before.parts.keys()
        assert made.driver.inventory == known
        await made.apply(Bind(FIRST, at(WHOLE)))
        assert (await made.driver.observe()).bindings[FIRST] == at(WHOLE)


@in_virtual_time
async def test_a_device_that_never_could_be_read_is_not_taken_for_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = DEVICE[0x5400]
    monkeypatch.setitem(DEVICE, 0x5400, Row(cut_off))
    async with driven("standard", MEMORY) as (driver, world):
        for _ in range(20):
            await world.clock.sleep(5)
            with pytest.raises(DriverUnavailable):
                await driver.observe()
        assert driver.inventory.devices == ()
        monkeypatch.setitem(DEVICE, 0x5400, answers)
        await until_complete(driver, world.clock)
        assert len(driver.inventory.devices) == 5


@in_virtual_time
async def test_a_device_that_refuses_its_name_once_has_no_other_name_until_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers, refused = DEVICE[0x0001], set[int | None]()

    def refusing_once(switch: FmapiSwitch, each: Asked) -> Answer | None:
        if each.port in refused:
            return answers.handler(switch, each)
        refused.add(each.port)
        return Answer(INVALID_INPUT)

    monkeypatch.setitem(DEVICE, 0x0001, Row(refusing_once))
    async with driven("standard", MEMORY) as (driver, world):
        await until_complete(driver, world.clock)
        names = {each.id for each in driver.inventory.devices}
        await world.clock.sleep(60)
        await until_complete(driver, world.clock)
        assert {each.id for each in driver.inventory.devices} == names


@pytest.mark.parametrize("knows", [True, False], ids=["refuses", "has no such command"])
@in_virtual_time
async def test_a_device_that_never_says_its_name_is_there_all_the_same(
    monkeypatch: pytest.MonkeyPatch, knows: bool
) -> None:
    if knows:
        monkeypatch.setitem(DEVICE, 0x0001, Row(refusing))
    else:
        monkeypatch.delitem(DEVICE, 0x0001)
    async with driven("standard", MEMORY) as (driver, world):
        began_s = world.clock.now_s()
        await until_complete(driver, world.clock)
        assert len(driver.inventory.devices) == 5
        assert not any(each.serial_number for each in driver.inventory.devices)
        assert (world.clock.now_s() - began_s > AttachedPolicy().retry_s) is knows


@in_virtual_time
async def test_what_was_changed_in_a_device_that_can_not_be_asked_is_not_shown_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with wired() as made:
        switch, answers = made.driver.switches["sw0"], DEVICE[0x5400]
        monkeypatch.setitem(DEVICE, 0x5400, Row(cut_off))
        await made.apply(SetQos(at(FIXED, 2), Qos(30, 60)))
        for _ in range(3 * BELIEVED_AFTER):
            with pytest.raises(DriverUnavailable, match="LdInfo has 11 bytes"):
                await made.driver.observe()
            switch.touch()
            await made.world.clock.sleep(1)
        # What is to be done elsewhere is done.
        await made.apply(Bind(FIRST, at(WHOLE)))
        monkeypatch.setitem(DEVICE, 0x5400, answers)
        seen = await until_complete(made.driver, made.world.clock)
        assert seen.qos[at(FIXED, 2)] == Qos(30, 60)
        assert seen.bindings[FIRST] == at(WHOLE)


@in_virtual_time
async def test_a_survey_that_began_before_a_step_does_not_hide_what_it_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with wired() as made:
        switch, asked = made.driver.switches["sw0"], attached.survey

        async def slow(*given: Any) -> Survey:
            found = await asked(*given)
            await made.world.clock.sleep(1)
            return found

        monkeypatch.setattr(attached, "survey", slow)
        switch.touch()
        await made.world.clock.sleep(0.5)
        await made.apply(SetQos(at(FIXED, 0), Qos(40)), Allocate(at(POOLED, 0), 512))
        await made.world.clock.sleep(1)
        seen = await made.driver.observe()
        assert seen.qos[at(FIXED, 0)] == Qos(40)
        assert at(POOLED, 0) in seen.parts
