"""Dynamic capacity of a device behind a port, over the wire."""

import asyncio
import struct

import pytest

from redfish_fm.fabric.model import Allocate, Bind, BindTarget, Media, VppbId
from tests.drivers.virtual.fmapi_raw import RawManager
from tests.drivers.virtual.test_fmapi_events import records
from tests.drivers.virtual.test_fmapi_mld import POOL, fabric, inner
from tests.drivers.virtual.test_fmapi_switching import D1, ended, entry, managed
from tests.virtual_time import in_virtual_time

OK, STARTED, INVALID, UNSUPPORTED, BAD_LENGTH, EXHAUSTED = 0, 1, 2, 3, 0x16, 0x1D
MIB = 1 << 20
DYNAMIC = 4
FREE, CONTIGUOUS, PRESCRIPTIVE, SHARED = range(4)
BY_TAG, BY_EXTENTS, FORCED = 0, 1, 1 << 4
TAG, OTHER = b"A" * 16, b"B" * 16

TEXT = """
name: dcd
hosts: [{id: h1}, {id: h2}]
fabrics:
  - id: F
    protocol: CXL
    switches:
      - id: s
        vppbs: 8
        devices:
          - {id: d, kind: Memory, capacity: 4 GiB,
             dynamic: {count: 2, regions: 3, granularity: 512 MiB}}
"""
DCD = fabric(TEXT)


def region(number: int, ld: int = 0) -> BindTarget:
    return BindTarget("s", "D1", ld, region=number)


def change(
    flags: int, mib: int, tag: bytes = bytes(16), *, host: int = 0, where: int = 0,
    extents: tuple[bytes, ...] = (),
) -> bytes:  # fmt: skip
    head = struct.pack("<HBBQ16sI", host, flags, where, mib * MIB, tag, len(extents))
    return head + b"".join(extents)


async def extents(
    manager: RawManager, host: int = 0, start: int = 0, count: int = 99
) -> list[bytes]:
    said = (await inner(manager, 0x5603, struct.pack("<H2xII", host, count, start))).payload
    return [said[at : at + 40] for at in range(0x18, len(said), 40)]


async def generation(manager: RawManager) -> int:
    said = (await inner(manager, 0x5603, struct.pack("<H2xII", 0, 0, 0))).payload
    (number,) = struct.unpack_from("<I", said, 0x10)
    return int(number)


@in_virtual_time
async def test_the_device_tells_what_it_can_do() -> None:
    async with managed(inventory=DCD) as (manager, _):
        said = (await inner(manager, 0x5600)).payload
        assert len(said) == 84
        hosts, regions, add, remove, sanitize, total = struct.unpack_from("<BB2xH2xHBxQ", said)
        assert (hosts, regions, add, remove, sanitize, total) == (2, 3, 0b1011, 0b11, 0b111, 16)
        assert struct.unpack_from("<8Q", said, 20) == (512 * MIB,) * 3 + (0,) * 5


@in_virtual_time
async def test_regions_of_a_host_lie_apart() -> None:
    async with managed(inventory=DCD) as (manager, _):
        said = (await inner(manager, 0x5601, struct.pack("<HBB", 1, 8, 1))).payload
        assert said[:4] == bytes((1, 0, 3, 2))
        first, second = (struct.unpack_from("<QQQQB3xB3x", said, at) for at in (4, 44))
        assert first == (4096 * MIB, 16, 4096 * MIB, 512 * MIB, 1 << 3, 1)
        assert second[0] == 2 * 4096 * MIB
        assert struct.unpack_from("<IIII", said, 84) == (8, 8, 8, 8)


@pytest.mark.parametrize("payload", [(2, 8, 0), (0, 1, 3)])
@in_virtual_time
async def test_regions_that_there_are_not_are_refused(payload: tuple[int, int, int]) -> None:
    async with managed(inventory=DCD) as (manager, _):
        assert (await inner(manager, 0x5601, struct.pack("<HBB", *payload))).code == INVALID


@in_virtual_time
async def test_capacity_is_added_as_the_hardware_allocates_it_and_is_told() -> None:
    async with managed(inventory=DCD) as (manager, world):
        assert (await inner(manager, 0x5604, change(FREE, 1024, TAG, where=2))).code == OK
        part = world.hardware.devices["d"].part(region(2))
        assert part is not None and (part.size_mib, part.shareable) == (1024, False)
        (extent,) = await extents(manager)
        assert struct.unpack("<QQ16sH6x", extent) == (2 * 4096 * MIB, 1024 * MIB, TAG, 0)
        ((_, _, data),) = await records(manager, DYNAMIC)
        kind, host, where, more = data[0], data[2], data[4], data[5]
        assert (kind, host, where, more, data[8:48]) == (4, 0, 2, 0, extent)
        assert struct.unpack_from("<II", data, 0x48) == (7, 7)


@in_virtual_time
async def test_capacity_that_the_service_allocates_is_seen_over_the_wire() -> None:
    async with managed(inventory=DCD) as (manager, world):
        before = await generation(manager)
        world.hardware.execute(Allocate(region(0, 0), 512))
        assert len(await extents(manager)) == 1
        assert await extents(manager, 1) == []
        assert await generation(manager) == before + 1
        assert await generation(manager) == before + 1


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (change(FREE, 512, host=2), INVALID),
        (change(FREE, 512, where=3), INVALID),
        (change(FREE, 0), INVALID),
        (change(FREE, 256), INVALID),
        (change(PRESCRIPTIVE, 512, extents=(bytes(40),)), INVALID),
        (change(PRESCRIPTIVE, 512), INVALID),
        (change(FREE, 512, TAG, where=1), INVALID),
        (change(FREE, 8192, where=1), EXHAUSTED),
        (change(FREE, 512), EXHAUSTED),
    ],
    ids=["host", "region", "nothing", "half a block", "extents", "policy", "tag", "size", "twice"],
)
@in_virtual_time
async def test_capacity_that_can_not_be_added_is_refused(payload: bytes, code: int) -> None:
    async with managed(inventory=DCD) as (manager, world):
        await inner(manager, 0x5604, change(FREE, 512, TAG))
        assert (await inner(manager, 0x5604, payload)).code == code
        assert len(world.hardware.devices["d"].parts) == 1


@in_virtual_time
async def test_capacity_in_one_piece_is_refused_where_there_is_no_such_piece() -> None:
    async with managed(inventory=DCD) as (manager, _):
        for where, mib in enumerate((1536, 1024, 512)):
            await inner(manager, 0x5604, change(FREE, mib, where=where))
        await inner(manager, 0x5605, change(BY_TAG, 1024))
        ask = {policy: change(policy, 2048, host=1) for policy in (CONTIGUOUS, FREE)}
        assert (await inner(manager, 0x5604, ask[CONTIGUOUS])).code == EXHAUSTED
        assert (await inner(manager, 0x5604, ask[FREE])).code == OK
        assert len(await extents(manager, 1)) == 2
        assert len(await extents(manager, 1, start=1)) == 1
        assert len(await extents(manager, 1, count=1)) == 1


@in_virtual_time
async def test_shared_capacity_is_for_several_hosts() -> None:
    async with managed(inventory=DCD) as (manager, world):
        await inner(manager, 0x5604, change(SHARED, 512))
        part = world.hardware.devices["d"].part(region(0))
        assert part is not None and part.shareable
        for vcs in (0, 1):
            await manager.ask(0x5201, struct.pack("<BBBBH", vcs, 0, D1, 0, 0))
            await ended(manager)
            assert await entry(manager, vcs) == (3, D1, 0)
        assert set(world.hardware.switches["s"].bindings.values()) == {region(0)}


@in_virtual_time
async def test_a_bind_of_a_dynamic_ld_takes_the_first_region_that_is_free() -> None:
    async with managed(inventory=DCD) as (manager, world):
        assert (await manager.ask(0x5201, struct.pack("<BBBBH", 0, 0, D1, 0, 0))).code == INVALID
        for where in (0, 1):
            await inner(manager, 0x5604, change(FREE, 512, where=where))
        for vppb in (0, 1):
            await manager.ask(0x5201, struct.pack("<BBBBH", 0, vppb, D1, 0, 0))
            await ended(manager)
        bound = world.hardware.switches["s"].bindings
        assert [bound[VppbId("s", "1", vppb)] for vppb in (0, 1)] == [region(0), region(1)]
        assert (await manager.ask(0x5201, struct.pack("<BBBBH", 0, 2, D1, 0, 0))).code == INVALID


# Release


@in_virtual_time
async def test_capacity_is_released_by_its_tag_and_told() -> None:
    async with managed(inventory=DCD) as (manager, world):
        await inner(manager, 0x5604, change(FREE, 512, TAG))
        await inner(manager, 0x5604, change(FREE, 512, OTHER, where=1))
        assert (await inner(manager, 0x5605, change(BY_TAG, 512, TAG))).code == OK
        assert [part.target for part in world.hardware.devices["d"].parts.values()] == [region(1)]
        assert [data[0] for _, _, data in await records(manager, DYNAMIC)] == [4, 4, 5]
        assert world.switch.tags == {region(1): OTHER}


@in_virtual_time
async def test_capacity_is_released_by_its_extents() -> None:
    async with managed(inventory=DCD) as (manager, world):
        for where in (0, 1):
            await inner(manager, 0x5604, change(FREE, 512, where=where))
        _, second = await extents(manager)
        await inner(manager, 0x5605, change(BY_EXTENTS, 512, extents=(second,)))
        assert [part.target for part in world.hardware.devices["d"].parts.values()] == [region(0)]


@pytest.mark.parametrize(
    "payload",
    [
        change(BY_TAG, 512, OTHER),
        change(BY_TAG, 256, TAG),
        change(BY_TAG, 1024, TAG),
        change(BY_TAG, 512, TAG, host=1),
        change(2, 512, TAG),
        change(BY_EXTENTS, 512, extents=(bytes(40),)),
        change(BY_EXTENTS, 512),
    ],
    ids=["tag", "less", "more", "host", "policy", "extent", "none"],
)
@in_virtual_time
async def test_what_is_not_there_to_release_is_refused(payload: bytes) -> None:
    async with managed(inventory=DCD) as (manager, world):
        await inner(manager, 0x5604, change(FREE, 512, TAG))
        assert (await inner(manager, 0x5605, payload)).code == INVALID
        assert len(world.hardware.devices["d"].parts) == 1


@in_virtual_time
async def test_capacity_that_was_used_is_sanitized_before_it_is_released() -> None:
    async with managed(inventory=DCD) as (manager, world):
        await inner(manager, 0x5604, change(FREE, 512, TAG))
        world.hardware.execute(Bind(VppbId("s", "1", 0), region(0)))
        assert (await inner(manager, 0x5605, change(BY_TAG, 512, TAG))).code == INVALID
        await manager.ask(0x5202, bytes((0, 0, 2)))
        await ended(manager)
        assert (await inner(manager, 0x5605, change(BY_TAG, 512, TAG))).code == OK
        assert world.hardware.part_states("s")[region(0)].media is Media.SANITIZING
        await asyncio.sleep(1)
        assert await extents(manager) == []
        assert [data[0] for _, _, data in await records(manager, DYNAMIC)] == [4, 5]


@in_virtual_time
async def test_a_release_that_loses_power_amid_sanitizing_does_not_happen() -> None:
    async with managed(inventory=DCD) as (manager, world):
        await inner(manager, 0x5604, change(FREE, 512, TAG))
        world.hardware.execute(Bind(VppbId("s", "1", 0), region(0)))
        await inner(manager, 0x5605, change(BY_TAG | FORCED, 512, TAG))
        world.hardware.power_device("d", False)
        world.hardware.power_device("d", True)
        await asyncio.sleep(1)
        assert world.hardware.part_states("s")[region(0)].media is Media.DIRTY
        assert [data[0] for _, _, data in await records(manager, DYNAMIC)] == [4]


@in_virtual_time
async def test_a_forced_release_takes_the_capacity_away_from_its_host() -> None:
    async with managed(inventory=DCD) as (manager, world):
        await inner(manager, 0x5604, change(FREE, 512, TAG))
        await manager.ask(0x5201, struct.pack("<BBBBH", 0, 0, D1, 0, 0))
        await ended(manager)
        assert (await inner(manager, 0x5605, change(BY_TAG | FORCED, 512, TAG))).code == OK
        await asyncio.sleep(1)
        assert await entry(manager) == (0, 0, 0xFF)
        assert world.hardware.devices["d"].parts == {}


@in_virtual_time
async def test_a_list_of_extents_that_is_cut_off_is_refused() -> None:
    async with managed(inventory=DCD) as (manager, _):
        payload = change(BY_EXTENTS, 512, extents=(bytes(40),))[:-1]
        assert (await inner(manager, 0x5605, payload)).code == BAD_LENGTH


# The rest


@in_virtual_time
async def test_tags_are_listed_with_who_has_them() -> None:
    async with managed(inventory=DCD) as (manager, _):
        await inner(manager, 0x5604, change(FREE, 512, OTHER, host=1))
        await inner(manager, 0x5604, change(FREE, 512, TAG))
        await inner(manager, 0x5604, change(FREE, 512, where=1))
        said = (await inner(manager, 0x5608, struct.pack("<II", 0, 9))).payload
        assert struct.unpack_from("<IIIB", said) == (1, 2, 2, 0)
        rows = [said[at : at + 84] for at in (16, 100)]
        assert [(row[:16], row[20]) for row in rows] == [(TAG, 0b01), (OTHER, 0b10)]
        said = (await inner(manager, 0x5608, struct.pack("<II", 1, 9))).payload
        assert struct.unpack_from("<II", said, 4) == (2, 1) and said[16:32] == OTHER


@in_virtual_time
async def test_the_configuration_of_a_region_can_be_set_to_what_it_is() -> None:
    async with managed(inventory=DCD) as (manager, _):
        for where, block, sanitize, code in (
            (0, 512, 1, OK),
            (3, 512, 1, INVALID),
            (0, 256, 1, INVALID),
            (0, 512, 0, INVALID),
        ):
            payload = struct.pack("<B3xQB3x", where, block * MIB, sanitize)
            assert (await inner(manager, 0x5602, payload)).code == code


@pytest.mark.parametrize("opcode", [0x5600, 0x5601, 0x5602, 0x5603, 0x5604, 0x5605, 0x5608])
@in_virtual_time
async def test_a_device_without_dynamic_capacity_says_so(opcode: int) -> None:
    sizes = {0x5601: 4, 0x5602: 16, 0x5603: 12, 0x5604: 32, 0x5605: 32, 0x5608: 8}
    async with managed(inventory=fabric(POOL)) as (manager, _):
        assert (await inner(manager, opcode, bytes(sizes.get(opcode, 0)))).code == UNSUPPORTED
