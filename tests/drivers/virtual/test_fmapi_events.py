"""Event records of a simulated switch, and who is told of them."""

import asyncio
import struct
from uuid import UUID

import pytest

from redfish_fm.drivers.virtual.fmapi_events import KEPT_MAX, EventLogs
from redfish_fm.drivers.virtual.fmapi_events import VIRTUAL_SWITCH as VIRTUAL
from redfish_fm.fabric.model import Bind, PortId
from tests.drivers.fabrics import FIRST, SLD
from tests.drivers.virtual.fmapi_raw import RawManager, raw_manager
from tests.drivers.virtual.test_fmapi_switching import D1, D2, bind, ended, managed
from tests.virtual_time import in_virtual_time

INFORMATIONAL, WARNING, DYNAMIC = 0, 1, 4
PHYSICAL_SWITCH = UUID("77cf9271-9c02-470b-9fe4-bc7b75f2da97")
VIRTUAL_SWITCH = UUID("40d26425-3396-4c4d-a5da-3d47263af425")
INVALID, INVALID_HANDLE = 2, 0x0E


async def records(manager: RawManager, log: int = INFORMATIONAL) -> list[tuple[UUID, int, bytes]]:
    """Return kind, handle and data of what a log has."""
    said = (await manager.ask(0x0100, bytes((log,)))).payload
    (count,) = struct.unpack_from("<H", said, 0x14)
    rows = [said[at : at + 128] for at in range(0x20, 0x20 + 128 * count, 128)]
    assert all(len(row) == 128 and row[0x10] == 128 and row[0x11] == log % DYNAMIC for row in rows)
    return [
        (UUID(bytes=row[:16]), struct.unpack_from("<H", row, 0x14)[0], row[0x30:]) for row in rows
    ]


@in_virtual_time
async def test_a_bind_and_an_unbind_leave_a_record_each() -> None:
    async with managed() as (manager, _):
        await manager.ask(0x5201, bind(ld=3))
        await ended(manager)
        await manager.ask(0x5202, bytes((0, 0, 2)))
        await ended(manager)
        found = await records(manager)
        assert [kind for kind, _, _ in found] == [VIRTUAL_SWITCH] * 2
        assert [data[:6] for _, _, data in found] == [
            bytes((0, 0, 0, 3, D1, 3)),
            bytes((0, 0, 0, 0, 0, 0xFF)),
        ]


@in_virtual_time
async def test_what_the_service_itself_binds_leaves_a_record_too() -> None:
    async with managed() as (manager, world):
        world.hardware.execute(Bind(FIRST, SLD))
        await manager.ask(0x0001)
        ((kind, _, data),) = await records(manager)
        assert (kind, data[:5]) == (VIRTUAL_SWITCH, bytes((0, 0, 0, 2, D2)))


@in_virtual_time
async def test_a_device_pulled_out_of_a_bound_port_is_a_warning() -> None:
    async with managed() as (manager, world):
        world.hardware.execute(Bind(FIRST, SLD))
        world.hardware.remove_device("mem2")
        await manager.ask(0x0001)
        slot, link = await records(manager, WARNING)
        assert (slot[0], slot[2][:4]) == (PHYSICAL_SWITCH, bytes((D2, 1, 0x08, 0)))
        assert (link[2][:2], link[2][0x0F]) == (bytes((D2, 0)), 0)


@in_virtual_time
async def test_a_link_that_comes_and_goes_leaves_records_that_tell_its_state() -> None:
    async with managed() as (manager, world):
        world.hardware.set_port(PortId("cxl1", "D2"), link_up=False)
        await manager.ask(0x0001)
        world.hardware.set_port(PortId("cxl1", "D2"), link_up=True)
        await asyncio.sleep(1)
        await manager.ask(0x0001)
        down, up = await records(manager)
        assert (down[2][:2], up[2][:2]) == (bytes((D2, 0)), bytes((D2, 0)))
        assert (down[2][0x0F], up[2][0x0F], up[2][0x0E]) == (0, 4, 5)


@in_virtual_time
async def test_records_stay_until_they_are_cleared_by_their_handles() -> None:
    async with managed() as (manager, _):
        for vppb in (0, 1):
            await manager.ask(0x5201, bind(vppb=vppb, ld=vppb))
            await ended(manager)
        (_, first, _), (_, second, _) = await records(manager)
        clear = struct.pack("<BBB3xH", INFORMATIONAL, 0, 1, first)
        assert (await manager.ask(0x0101, clear)).code == 0
        assert [handle for _, handle, _ in await records(manager)] == [second]
        assert (await manager.ask(0x0101, clear)).code == INVALID_HANDLE
        assert (await manager.ask(0x0101, bytes((INFORMATIONAL, 1, 0, 0, 0, 0)))).code == 0
        assert await records(manager) == []


@pytest.mark.parametrize("opcode", [0x0100, 0x0101])
@in_virtual_time
async def test_a_log_that_there_is_not_is_refused(opcode: int) -> None:
    async with managed() as (manager, _):
        payload = b"\x05" if opcode == 0x0100 else bytes((5, 1, 0, 0, 0, 0))
        assert (await manager.ask(opcode, payload)).code == INVALID


@in_virtual_time
async def test_an_answer_has_as_many_records_as_fit_and_says_that_there_are_more() -> None:
    async with managed() as (manager, world):
        for _ in range(5):
            world.switch.logs.add(INFORMATIONAL, VIRTUAL, b"", 1)
        await manager.ask(0x0004, b"\x09")
        said = (await manager.ask(0x0100, b"\0")).payload
        assert (said[0], said[0x14], len(said)) == (2, 3, 0x20 + 3 * 128)


def test_a_full_log_counts_what_it_loses() -> None:
    logs = EventLogs()
    for moment in range(KEPT_MAX + 3):
        logs.add(INFORMATIONAL, VIRTUAL, b"", moment)
    said = logs.read(INFORMATIONAL, 1 << 13)
    assert said is not None
    flags, lost, first, last = struct.unpack_from("<BxHQQ", said)
    assert (flags, lost, first, last) == (3, 3, KEPT_MAX, KEPT_MAX + 2)


def test_handles_are_never_0() -> None:
    logs = EventLogs()
    for _ in range(0x10001):
        logs.add(INFORMATIONAL, VIRTUAL, b"", 0)
        logs.clear(INFORMATIONAL, None)
    logs.add(INFORMATIONAL, VIRTUAL, b"", 0)
    said = logs.read(INFORMATIONAL, 1 << 13)
    assert said is not None and struct.unpack_from("<H", said, 0x20 + 0x14) == (3,)


# Who is told


@in_virtual_time
async def test_a_manager_that_asked_for_it_is_told_which_logs_have_more() -> None:
    async with managed() as (manager, world):
        assert (await manager.ask(0x0105, b"\x01\x00")).payload == b"\x01\x00"
        assert (await manager.ask(0x0104)).payload == b"\x01\x00"
        world.hardware.execute(Bind(FIRST, SLD))
        said = await manager.next()
        assert (said.first, said.opcode, said.payload) == (0, 0x0106, b"\x01\x00")
        assert said.kind == 8


@in_virtual_time
async def test_the_end_of_an_operation_is_told_who_asked_for_that() -> None:
    async with managed() as (manager, _):
        await manager.ask(0x0105, b"\x00\x80")
        await manager.ask(0x5201, bind())
        said = await manager.next()
        assert (said.opcode, said.payload) == (0x0106, b"\x00\x80")


@in_virtual_time
async def test_a_manager_that_did_not_ask_is_not_told() -> None:
    async with managed() as (manager, world), raw_manager(world.host, world.port) as other:
        await other.ask(0x0105, b"\x1f\x00")
        world.hardware.execute(Bind(FIRST, SLD))
        assert (await other.next()).opcode == 0x0106
        with pytest.raises(TimeoutError):
            await manager.next(wait_s=1)


@in_virtual_time
async def test_a_bit_that_means_nothing_is_not_kept() -> None:
    async with managed() as (manager, _):
        assert (await manager.ask(0x0105, b"\xff\xff")).payload == b"\x1f\x80"


@in_virtual_time
async def test_an_answer_of_the_manager_to_a_notice_is_taken_for_no_command() -> None:
    async with managed() as (manager, _):
        packet = bytearray(manager.request(0x0106))
        packet[5] = 1
        await manager.send(bytes(packet))
        assert (await manager.ask(0x0001, tag=9)).tag == 9


@in_virtual_time
async def test_a_switch_with_vendor_notices_tells_of_a_bind_twice_and_of_ports_unasked() -> None:
    async with managed("short-identity") as (manager, world):
        await manager.send(manager.request(0x5201, bind(ld=1)))
        said = [await manager.next() for _ in range(3)]
        told = {(each.opcode, each.payload) for each in said if not each.is_answer}
        assert told == {(0xC001, b"\0\0\1"), (0xC001, b"\0\0\3")}
        world.hardware.remove_device("mem2")
        told = {(each.opcode, each.payload) for each in [await manager.next() for _ in range(2)]}
        assert {(0xC000, bytes((D2, 0))), (0xC002, b"")} == told
