"""Connections to a simulated switch: several managers, who dials whom, and how it all ends."""

import asyncio
import contextlib
import random
import struct
from collections.abc import AsyncIterator

import pytest

from redfish_fm.drivers.virtual import fmapi_server
from redfish_fm.drivers.virtual.fmapi_switch import FmapiSwitch, NotOnTheWire
from redfish_fm.drivers.virtual.fmapi_wire import Dialect
from redfish_fm.fabric.model import Bind, Unbind
from tests.drivers.fabrics import CXL, FIRST, SLD, ld
from tests.drivers.fmapi_world import fmapi_world
from tests.drivers.virtual.fmapi_captured import Plan
from tests.drivers.virtual.fmapi_raw import RawManager, raw_manager
from tests.drivers.virtual.test_fmapi_dcd import TEXT as DCD_TEXT
from tests.drivers.virtual.test_fmapi_mld import POOL, fabric, inner
from tests.drivers.virtual.test_fmapi_switching import bind, ended, entry, managed
from tests.virtual_time import in_virtual_time, settle

OK, STARTED, BUSY = 0, 1, 6

Callers = asyncio.Queue[RawManager]


@in_virtual_time
async def test_two_managers_work_at_once_and_see_what_the_other_does() -> None:
    async with managed() as (one, world), raw_manager(world.host, world.port) as other:
        await one.ask(0x5201, bind(ld=1))
        assert (await other.ask(0x5201, bind(vcs=1, ld=2))).code == BUSY
        await ended(other)
        assert (await other.ask(0x5201, bind(vcs=1, ld=2))).code == STARTED
        await ended(one)
        assert [await entry(one, vcs) for vcs in (0, 1)] == [(3, 2, 1), (3, 2, 2)]
        assert [await entry(other, vcs) for vcs in (0, 1)] == [(3, 2, 1), (3, 2, 2)]


@in_virtual_time
async def test_a_switch_for_one_manager_answers_the_next_one_when_the_first_has_gone() -> None:
    async with managed("jrl") as (one, world), raw_manager(world.host, world.port) as other:
        await one.ask(0x0001)
        await other.send(other.request(0x0001, tag=3))
        with pytest.raises(TimeoutError):
            await other.next(wait_s=1)
        one.writer.transport.abort()
        assert (await other.answer()).tag == 3


@in_virtual_time
async def test_a_switch_that_dies_of_the_other_message_type_ends_the_connection() -> None:
    async with managed("jrl") as (manager, _):
        await manager.send(manager.request(0x0001, kind=8))
        assert await manager.ended()


@in_virtual_time
async def test_a_silent_switch_says_nothing_to_what_it_does_not_know() -> None:
    async with managed("jrl") as (manager, _):
        await manager.send(manager.request(0x5600))
        with pytest.raises(TimeoutError):
            await manager.next(wait_s=1)
        assert (await manager.ask(0x0001, tag=4)).tag == 4


@in_virtual_time
async def test_a_dialect_can_be_chosen_apart_from_the_rest() -> None:
    async with managed(dialect=Dialect.JRL) as (manager, _):
        begun = await manager.ask(0x5201, bind())
        assert (begun.first, begun.eighth) == (0x10, 0x01)
        assert len((await manager.ask(0x0001)).payload) == 18


@in_virtual_time
async def test_a_cut_management_link_ends_connections_until_it_is_back() -> None:
    async with managed() as (manager, world):
        world.hardware.cut("cxl1", 5.0)
        assert await manager.ended()
        async with raw_manager(world.host, world.port) as early:
            assert await early.ended(1)
        await asyncio.sleep(6)
        async with raw_manager(world.host, world.port) as late:
            assert (await late.ask(0x0001)).code == OK


@in_virtual_time
async def test_too_many_managers_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fmapi_server, "MANAGERS_MAX", 1)
    async with managed() as (manager, world), raw_manager(world.host, world.port) as other:
        assert await other.ended()
        assert (await manager.ask(0x0001)).code == OK


@in_virtual_time
async def test_a_manager_that_reads_nothing_is_given_up() -> None:
    async with managed("short-identity") as (manager, world):
        await manager.ask(0x0001)
        transport = manager.writer.transport
        assert isinstance(transport, asyncio.ReadTransport)
        transport.pause_reading()
        assert world.switch.managers
        for _ in range(200_000):
            world.switch.notify(0xC001, bytes(3))
            if not world.switch.managers:
                break
            if _ % 1000 == 0:
                await asyncio.sleep(0)
        await asyncio.sleep(0.1)
        assert not world.switch.managers


# Dialling


@contextlib.asynccontextmanager
async def listening(port: int = 0) -> AsyncIterator[tuple[tuple[str, int], Callers]]:
    """Yield where a manager listens, and the switches that call it."""
    callers: Callers = asyncio.Queue()
    writers = []

    def taken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        callers.put_nowait(RawManager(reader, writer, frames=True))

    server = await asyncio.start_server(taken, "127.0.0.1", port)
    try:
        yield server.sockets[0].getsockname()[:2], callers
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await settle()


@in_virtual_time
async def test_a_switch_dials_its_manager_again_and_again() -> None:
    async with (
        listening() as (place, callers),
        fmapi_world(profile="short-identity", dial=place) as world,
    ):
        for _ in range(2):
            manager = await callers.get()
            await manager.ask(0x5201, bind(ld=1))
            await ended(manager)
            await manager.ask(0x5202, bytes((0, 0, 2)))
            await ended(manager)
            manager.writer.transport.abort()
        manager = await callers.get()
        assert len((await manager.ask(0x0001)).payload) == 14
        assert world.hardware.binding(FIRST) is None


@in_virtual_time
async def test_a_switch_that_is_closed_ends_its_connection_and_dials_no_more() -> None:
    async with listening() as (place, callers):
        async with fmapi_world(profile="short-identity", dial=place):
            manager = await callers.get()
        assert await manager.ended()
        await asyncio.sleep(60)
        assert callers.empty()


@in_virtual_time
async def test_a_switch_finds_a_manager_that_comes_late() -> None:
    async with listening() as (place, _):
        pass
    async with fmapi_world(profile="short-identity", dial=place) as world:
        await asyncio.sleep(60)
        assert not world.switch.managers
        async with listening(place[1]) as (_, callers):
            manager = await asyncio.wait_for(callers.get(), 6)
            assert (await manager.ask(0x0001)).code == OK


@in_virtual_time
async def test_a_switch_whose_management_link_is_cut_dials_nobody() -> None:
    async with listening() as (place, callers), fmapi_world(dial=place) as world:
        manager = await callers.get()
        world.hardware.cut("cxl1")
        assert await manager.ended()
        await asyncio.sleep(60)
        assert callers.empty()
        world.hardware.heal("cxl1")
        await asyncio.wait_for(callers.get(), 6)


# The rest


@pytest.mark.parametrize("profile", ["standard", "strict", "short-identity", "jrl"])
@in_virtual_time
async def test_hostile_managers_harm_nobody_but_themselves(profile: str, seed_base: int) -> None:
    chance = random.Random(seed_base)  # noqa: S311 - no secret
    frames = profile == "short-identity"
    async with fmapi_world(profile=profile, frames=frames) as world:
        known = (
            *range(0x5100, 0x5104),
            *range(0x5200, 0x5204),
            *range(0x5300, 0x5303),
            *range(1, 6),
        )
        for _ in range(20):
            async with raw_manager(world.host, world.port, frames=frames) as hostile:
                for _ in range(50):
                    payload = chance.randbytes(chance.randint(0, 60))
                    opcode = chance.choice((*known, *range(0x100, 0x106), 0x5600, 0x5604, 0x5605))
                    data = bytearray(hostile.request(opcode, payload, port=chance.randrange(9)))
                    for _ in range(chance.choice((0, 0, 1, 3))):
                        data[chance.randrange(len(data))] = chance.randrange(256)
                    hostile.writer.write(data)
                await hostile.ended(0.2)
        await asyncio.sleep(1)
        async with raw_manager(world.host, world.port, frames=frames) as manager:
            kind = 8 if profile == "strict" else 7
            assert (await manager.ask(0x0001, kind=kind)).code == OK


@in_virtual_time
async def test_hostile_tunnels_harm_nobody(seed_base: int) -> None:
    chance = random.Random(seed_base)  # noqa: S311 - no secret
    opcodes = (1, 2, 0x4400, 0x5300, *range(0x5400, 0x540B), *range(0x5600, 0x5609))
    for text in (POOL, DCD_TEXT):
        async with (
            fmapi_world(fabric(text), operation_s=0.0) as world,
            raw_manager(world.host, world.port) as manager,
        ):
            for _ in range(1500):
                payload = bytes(chance.choice((0, 1, 2, 0xFF)) for _ in range(chance.randrange(50)))
                lds = chance.choice(((), (), (1,)))
                said = await inner(manager, chance.choice(opcodes), payload, lds=lds)
                assert said.code in (0, 1, 2, 3, 4, 6, 0x16, 0x1D)
                if chance.random() < 0.1:
                    await manager.ask(0x5201, bytes((0, chance.randrange(9), 2, 0, 0, 0)))
            for device in world.hardware.devices.values():
                assert sum(part.size_mib for part in device.parts.values()) <= 8192


@in_virtual_time
async def test_no_answer_is_longer_than_a_frame() -> None:
    async with (
        fmapi_world(frames=True) as world,
        raw_manager(world.host, world.port, frames=True) as manager,
    ):
        assert (await manager.ask(0x0001)).payload[16] == 11
        assert (await manager.ask(0x0003)).payload == b"\x0b"
        assert (await manager.ask(0x0004, b"\x0d")).payload == b"\x0b"
        for number in range(70):
            step = Bind(FIRST, SLD) if number % 2 == 0 else Unbind(FIRST, SLD)
            world.hardware.execute(step, "outside")
            await manager.ask(0x0001)
        said = await manager.ask(0x0100, b"\x00")
        assert (said.code, said.payload[0] & 2) == (OK, 2)
        assert len(said.payload) <= 2048
        # Of an LD as much as fits is read, and no more.
        ask = struct.pack("<BxBBHHQ", 2, 0xF0, 0x0F, 1, 4096, 0)
        assert (await manager.ask(0x5302, ask)).code == 2


@in_virtual_time
async def test_a_switch_of_which_the_numbers_do_not_fit_is_not_offered() -> None:
    plan = Plan(256, hosts=(0,), vppbs=2)
    with pytest.raises(NotOnTheWire, match=r"256 ports; the FM API tells 255 at most"):
        async with fmapi_world(plan.inventory()):
            raise AssertionError


@in_virtual_time
async def test_a_bound_target_is_numbered_as_the_ports_are() -> None:
    async with fmapi_world(CXL) as world:
        assert isinstance(world.switch, FmapiSwitch)
        assert world.switch.bind_target(2, 1) == ld(1)
        assert world.switch.bind_target(3, 0xFFFF) == SLD
        assert world.switch.bind_target(9, 0) is None
