"""Commands to a simulated switch over the wire: ports, virtual switches, background operations."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator

import pytest

from redfish_fm.clocks import ScaledClock
from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.fabric.model import Bind, PortId, VppbId
from tests.drivers.fabrics import CXL, FIRST, SLD, ld
from tests.drivers.fmapi_world import FmapiWorld, fmapi_world
from tests.drivers.virtual.fmapi_raw import RawManager, Said, raw_manager
from tests.virtual_time import VirtualClock, in_virtual_time

OK, STARTED, INVALID, UNSUPPORTED, INTERNAL, BUSY, BAD_LENGTH = 0, 1, 2, 3, 4, 6, 0x16
ABORTED, OTHER_CCI = 0x12, 0x15
UNBOUND, IN_PROGRESS, BOUND_PORT, BOUND_LD = range(4)
U1, U2, D1, D2 = range(4)
"""Ports of two-hosts by their numbers: an MLD is at D1, an SLD at D2."""


@contextlib.asynccontextmanager
async def managed(
    profile: str = "standard", **more: object
) -> AsyncIterator[tuple[RawManager, FmapiWorld]]:
    """Yield a manager of the CXL switch of two-hosts."""
    async with (
        fmapi_world(profile=profile, **more) as world,  # type: ignore[arg-type]
        raw_manager(world.host, world.port) as manager,
    ):
        yield manager, world


def bind(vcs: int = 0, vppb: int = 0, port: int = D1, ld: int = 0) -> bytes:
    return struct.pack("<BBBBH", vcs, vppb, port, 0, ld)


async def ended(manager: RawManager) -> Said:
    """Return the status of the background operation once it has ended."""
    for _ in range(1000):
        status = await manager.ask(0x0002)
        if not status.payload[0] & 1:
            return status
        await asyncio.sleep(0.01)
    raise AssertionError("it never ends")


async def entry(manager: RawManager, vcs: int = 0, vppb: int = 0) -> tuple[int, ...]:
    """Return status, port and LD of a vPPB."""
    said = await manager.ask(0x5200, bytes((vppb, 1, 1, vcs)))
    return tuple(said.payload[8:11])


async def block(manager: RawManager, port: int) -> bytes:
    """Return what 5101h tells of one port."""
    said = await manager.ask(0x5101, bytes((1, port)))
    return said.payload[4:]


# What it is


@in_virtual_time
async def test_the_switch_tells_its_size_and_what_is_bound() -> None:
    async with managed() as (manager, world):
        world.hardware.execute(Bind(FIRST, SLD))
        said = (await manager.ask(0x5100)).payload
        assert len(said) == 73
        assert said[2:5] + said[36:37] == bytes((4, 2, 0b1111, 0b11))
        assert struct.unpack("<HHB", said[68:]) == (10, 1, 32)


@in_virtual_time
async def test_what_is_not_there_is_unsupported() -> None:
    async with managed() as (manager, _):
        assert (await manager.ask(0x5204)).code == UNSUPPORTED
        assert (await manager.ask(0x5215, bytes(2))).code == UNSUPPORTED


@in_virtual_time
async def test_the_effects_log_has_exactly_the_commands_that_are_answered() -> None:
    async with managed() as (manager, _):
        logs = (await manager.ask(0x0400)).payload
        identifier, (size,) = logs[8:24], struct.unpack("<I", logs[24:28])
        log = (await manager.ask(0x0401, identifier + struct.pack("<II", 0, size))).payload
        told = {opcode for opcode, _ in struct.iter_unpack("<HH", log)}
        assert {0x0001, 0x5100, 0x5201, 0x5300} <= told
        for opcode in range(0x5100, 0x5700):
            supported = (await manager.ask(opcode)).code != UNSUPPORTED
            assert supported is (opcode in told), hex(opcode)


@in_virtual_time
async def test_the_effects_log_is_not_read_beyond_its_end() -> None:
    async with managed() as (manager, _):
        identifier = (await manager.ask(0x0400)).payload[8:24]
        size = len((await manager.ask(0x0401, identifier + struct.pack("<II", 0, 8))).payload)
        assert size == 8
        for offset, length in ((1000, 4), (0, 1000), (0, 1 << 31)):
            ask = identifier + struct.pack("<II", offset, length)
            assert (await manager.ask(0x0401, ask)).code == INVALID
        assert (await manager.ask(0x0401, bytes(24))).code == 0x17


@in_virtual_time
async def test_a_manager_may_shorten_answers() -> None:
    async with managed() as (manager, _):
        assert (await manager.ask(0x0004, b"\x0a")).payload == b"\x0a"
        assert (await manager.ask(0x0004, b"\x1f")).payload == b"\x0d"
        assert (await manager.ask(0x0003)).payload == b"\x0d"


@in_virtual_time
async def test_the_switch_keeps_the_time_that_it_is_told() -> None:
    async with managed() as (manager, _):
        await manager.ask(0x0301, struct.pack("<Q", 10**18))
        await asyncio.sleep(2)
        assert struct.unpack("<Q", (await manager.ask(0x0300)).payload) == (10**18 + 2 * 10**9,)


@pytest.mark.parametrize(("opcode", "size"), [(0x5201, 5), (0x5101, 0), (0x0101, 5), (0x5300, 3)])
@in_virtual_time
async def test_a_payload_that_is_too_short_is_refused(opcode: int, size: int) -> None:
    async with managed() as (manager, _):
        assert (await manager.ask(opcode, bytes(size))).code == BAD_LENGTH


@in_virtual_time
async def test_a_payload_that_is_too_long_is_taken_as_far_as_it_means_anything() -> None:
    async with managed() as (manager, _):
        assert (await manager.ask(0x5100, b"\0")).code == OK


@in_virtual_time
async def test_a_message_that_has_less_than_it_says_is_refused() -> None:
    async with managed() as (manager, _):
        packet = bytearray(manager.request(0x5101, bytes((1, D1))))
        packet[10] = 200  # the length, of which one packet can not hold so much
        await manager.send(bytes(packet))
        assert (await manager.answer()).code == BAD_LENGTH


@in_virtual_time
async def test_a_list_that_is_shorter_than_it_says_is_refused() -> None:
    async with managed() as (manager, _):
        assert (await manager.ask(0x5101, bytes((3, 0, 1)))).code == BAD_LENGTH
        assert (await manager.ask(0x5200, bytes((0, 1, 2, 0)))).code == BAD_LENGTH


@in_virtual_time
async def test_a_strict_switch_minds_payloads_that_are_too_long_and_the_other_message_type() -> (
    None
):
    async with managed("strict") as (manager, _):
        assert (await manager.ask(0x5100, b"\0")).code == BAD_LENGTH
        assert (await manager.ask(0x5100, kind=8)).code == OTHER_CCI
        assert (await manager.ask(0x0001, kind=7)).code == OTHER_CCI
        assert (await manager.ask(0x0001, kind=8)).code == OK


# Ports


@in_virtual_time
async def test_ports_are_told_with_their_links_and_devices() -> None:
    async with managed() as (manager, _):
        up, mld = await block(manager, U1), await block(manager, D1)
        assert (up[1], up[2], up[4]) == (4, 2, 0)
        assert (mld[1], mld[2], mld[4], mld[15]) == (3, 2, 5, len(CXL.devices[0].lds))
        lanes, now, speeds, most, speed, ltssm = mld[6:12]
        assert (lanes, now, speeds, most, speed, ltssm) == (16, 16, 0x1F, 5, 5, 4)
        assert struct.unpack("<H", mld[13:15]) == (0x0004,)


@in_virtual_time
async def test_a_port_that_there_is_not_is_told_as_invalid() -> None:
    async with managed() as (manager, _):
        assert (await block(manager, 77))[:2] == bytes((77, 0xF))


@in_virtual_time
async def test_a_device_that_is_pulled_out_leaves_its_port_empty_and_its_vppb_bound() -> None:
    async with managed() as (manager, world):
        world.hardware.execute(Bind(FIRST, SLD))
        world.hardware.remove_device("mem2")
        said = await block(manager, D2)
        assert (said[2], said[4], said[7], said[11], said[13]) == (0, 0, 0, 0, 0)
        assert await entry(manager) == (BOUND_PORT, D2, 0xFF)


@in_virtual_time
async def test_a_device_without_link_is_told_by_its_type_and_not_by_its_mode() -> None:
    async with managed() as (manager, world):
        world.hardware.set_port(PortId("cxl1", "D1"), link_up=False)
        said = await block(manager, D1)
        assert (said[2], said[4], said[6], said[7], said[10], said[13]) == (0, 5, 16, 0, 0, 4)


@in_virtual_time
async def test_a_link_that_trains_is_told_as_training() -> None:
    async with managed() as (manager, world):
        world.hardware.reset_link(PortId("cxl1", "D1"))
        assert (await block(manager, D1))[11] == 2
        await asyncio.sleep(1)
        assert (await block(manager, D1))[11] == 4


@in_virtual_time
async def test_perst_holds_a_port_for_at_least_100_ms_and_allows_nothing_else_meanwhile() -> None:
    async with managed() as (manager, _):
        assert (await manager.ask(0x5102, bytes((D1, 0)))).code == OK
        assert (await manager.ask(0x5102, bytes((D1, 1)))).code == INTERNAL
        assert (await manager.ask(0x5102, bytes((D1, 2)))).code == INTERNAL
        held = await block(manager, D1)
        assert (held[11], held[13]) == (0xA, 0x06)
        await asyncio.sleep(0.11)
        assert (await manager.ask(0x5102, bytes((D1, 1)))).code == OK
        assert (await block(manager, D1))[11] == 2
        await asyncio.sleep(1)
        freed = await block(manager, D1)
        assert (freed[11], freed[13]) == (4, 0x04)


@in_virtual_time
async def test_where_the_fabric_clock_jumps_operations_end_and_perst_can_be_released() -> None:
    service = VirtualClock()
    fabric = ScaledClock(service, 0)
    hardware = Hardware(CXL, service, fabric_clock=fabric)
    async with managed(hardware=hardware, fabric_clock=fabric) as (manager, _):
        await manager.ask(0x5102, bytes((D1, 0)))
        await manager.ask(0x5201, bind())
        await ended(manager)
        assert hardware.binding(FIRST) == ld(0)
        assert (await manager.ask(0x5102, bytes((D1, 1)))).code == OK
    hardware.close()


@pytest.mark.parametrize(
    "payload", [bytes((U1, 2)), bytes((77, 2)), bytes((D1, 3)), bytes((D1, 1))]
)
@in_virtual_time
async def test_port_control_that_makes_no_sense_is_refused(payload: bytes) -> None:
    async with managed() as (manager, _):
        assert (await manager.ask(0x5102, payload)).code in (INVALID, INTERNAL)


@in_virtual_time
async def test_a_reset_of_the_bridge_trains_its_link_anew() -> None:
    async with managed() as (manager, _):
        assert (await manager.ask(0x5102, bytes((D1, 2)))).code == OK
        assert (await block(manager, D1))[11] == 2


@in_virtual_time
async def test_configuration_space_has_identity_and_class() -> None:
    async with managed() as (manager, _):
        ask = struct.pack("<BBBBI", D1, 0, 0xF0, 0, 0)
        assert (await manager.ask(0x5103, ask)).payload == bytes.fromhex("feff0100")
        ask = struct.pack("<BBBBI", D1, 8, 0xF0, 0, 0)
        assert (await manager.ask(0x5103, ask)).payload == bytes.fromhex("00000406")


# Virtual switches


@in_virtual_time
async def test_vppbs_are_told_from_the_start_and_as_many_as_wanted() -> None:
    async with managed() as (manager, world):
        world.hardware.execute(Bind(VppbId("cxl1", "1", 3), ld(1)))
        said = (await manager.ask(0x5200, bytes((2, 2, 2, 0, 1)))).payload
        assert said[:4] == bytes((2, 0, 0, 0))
        assert said[4:16] == bytes((0, 1, U1, 5, 0, 0, 0xFF, 0, BOUND_LD, D1, 1, 0))
        assert said[16:20] == bytes((1, 1, U2, 5))


@in_virtual_time
async def test_a_virtual_switch_that_there_is_not_is_told_as_invalid() -> None:
    async with managed() as (manager, _):
        said = (await manager.ask(0x5200, bytes((0, 5, 1, 9)))).payload
        assert said == bytes((1, 0, 0, 0, 9, 0xFF, 0, 0))


@in_virtual_time
async def test_no_vppbs_can_not_be_asked_for() -> None:
    async with managed() as (manager, _):
        assert (await manager.ask(0x5200, bytes((0, 0, 1, 0)))).code == INVALID


# Bind and unbind


@in_virtual_time
async def test_a_bind_takes_time_and_is_then_the_hardwares() -> None:
    async with managed(operation_s=0.5) as (manager, world):
        begun = await manager.ask(0x5201, bind(ld=2))
        assert (begun.code, begun.eighth) == (STARTED, 0x80)
        await asyncio.sleep(0.25)
        status = (await manager.ask(0x0002)).payload
        assert (status[0] & 1, status[0] >> 1, status[2:4]) == (1, 50, b"\x01\x52")
        assert await entry(manager) == (IN_PROGRESS, D1, 2)
        assert (await block(manager, D1))[1] == 1
        assert world.hardware.binding(FIRST) is None
        assert (await ended(manager)).payload.hex() == "c800015200000000"
        assert await entry(manager) == (BOUND_LD, D1, 2)
        assert world.hardware.binding(FIRST) == ld(2)


@in_virtual_time
async def test_a_bind_over_the_wire_is_seen_by_the_driver_in_the_process_and_the_other_way() -> (
    None
):
    clock = VirtualClock()
    hardware = Hardware(CXL, clock)
    driver = VirtualDriver(hardware, clock, clock, owns_hardware=True)
    async with managed(hardware=hardware) as (manager, _):
        hints = driver.watch()
        await manager.ask(0x5201, bind())
        await ended(manager)
        assert (await anext(hints)).switch == "cxl1"
        assert (await driver.observe()).bindings[FIRST] == ld(0)
        other = VppbId("cxl1", "2", 1)
        await driver.apply(Bind(other, SLD), clock.now_s() + 9)
        assert await entry(manager, 1, 1) == (BOUND_PORT, D2, 0xFF)
        assert [a.cause for a in hardware.oracle().actions()] == ["wire", "command"]
    await driver.close()


@in_virtual_time
async def test_an_unbind_frees_the_vppb() -> None:
    async with managed() as (manager, world):
        world.hardware.execute(Bind(FIRST, SLD))
        assert (await manager.ask(0x5202, bytes((0, 0, 2)))).code == STARTED
        assert (await ended(manager)).payload[4:6] == bytes(2)
        assert world.hardware.binding(FIRST) is None


@pytest.mark.parametrize(
    ("opcode", "payload"),
    [
        (0x5201, bind(vcs=9)),
        (0x5201, bind(vppb=9)),
        (0x5201, bind(port=77)),
        (0x5201, bind(port=U1, ld=0xFFFF)),
        (0x5201, bind(ld=0xFFFF)),
        (0x5201, bind(ld=15)),
        (0x5201, bind(port=D2, ld=0)),
        (0x5201, bind(vcs=1, ld=1)),
        (0x5201, bind(vcs=1, vppb=1, ld=1)),
        (0x5202, bytes((1, 1, 0))),
        (0x5202, bytes((9, 0, 0))),
        (0x5202, bytes((1, 0, 3))),
    ],
)
@in_virtual_time
async def test_what_can_not_be_done_is_refused_at_once_and_begins_nothing(
    opcode: int, payload: bytes
) -> None:
    async with managed() as (manager, world):
        world.hardware.execute(Bind(VppbId("cxl1", "2", 0), ld(1)))
        assert (await manager.ask(opcode, payload)).code == INVALID
        assert (await manager.ask(0x0002)).payload == bytes(8)


@in_virtual_time
async def test_one_operation_runs_at_a_time() -> None:
    async with managed() as (manager, _):
        assert (await manager.ask(0x5201, bind())).code == STARTED
        assert (await manager.ask(0x5201, bind(vcs=1, ld=1))).code == BUSY
        await ended(manager)
        assert (await manager.ask(0x5201, bind(vcs=1, ld=1))).code == STARTED


@in_virtual_time
async def test_an_operation_fails_at_its_end_where_somebody_else_was_faster() -> None:
    async with managed() as (manager, world):
        await manager.ask(0x5201, bind())
        world.hardware.execute(Bind(VppbId("cxl1", "2", 0), ld(0)))
        assert (await ended(manager)).payload[4:6] == bytes((INVALID, 0))
        assert await entry(manager) == (UNBOUND, 0, 0xFF)


@in_virtual_time
async def test_an_operation_can_be_aborted_and_does_nothing_then() -> None:
    async with managed() as (manager, world):
        await manager.ask(0x5201, bind())
        assert (await manager.ask(0x0005)).code == OK
        assert (await manager.ask(0x0002)).payload.hex() == f"c8000152{ABORTED:02x}000000"
        await asyncio.sleep(1)
        assert world.hardware.binding(FIRST) is None
        assert (await manager.ask(0x0005)).code == INVALID


@in_virtual_time
async def test_a_restarted_switch_has_forgotten_its_operation() -> None:
    async with managed() as (manager, world):
        await manager.ask(0x5201, bind())
        world.hardware.restart("cxl1")
        assert await manager.ended()
        async with raw_manager(world.host, world.port) as again:
            assert (await again.ask(0x0002)).payload == bytes(8)
            await asyncio.sleep(1)
            assert await entry(again) == (UNBOUND, 0, 0xFF)


@in_virtual_time
async def test_an_operation_goes_on_when_the_managers_connection_ends() -> None:
    async with managed() as (manager, world):
        await manager.ask(0x5201, bind())
        manager.writer.transport.abort()
        await asyncio.sleep(1)
        assert world.hardware.binding(FIRST) == ld(0)


@in_virtual_time
async def test_an_aer_event_goes_to_a_bound_vppb_only() -> None:
    async with managed() as (manager, world):
        assert (await manager.ask(0x5203, bytes(40))).code == INVALID
        world.hardware.execute(Bind(FIRST, SLD))
        assert (await manager.ask(0x5203, bytes(40))).code == OK


@in_virtual_time
async def test_a_careless_switch_binds_one_thing_twice() -> None:
    async with (
        fmapi_world(profile="short-identity", frames=True) as world,
        raw_manager(world.host, world.port, frames=True) as manager,
    ):
        for vcs in (0, 1):
            await manager.ask(0x5201, bind(vcs=vcs, port=D2, ld=0))
            await ended(manager)
        assert list(world.hardware.switches["cxl1"].bindings.values()) == [SLD, SLD]
