"""Commands to an MLD behind a port: tunnels, LDs, memory, bandwidth, sanitizing."""

import asyncio
import struct

import pytest

from redfish_fm.drivers.virtual.fmapi_mld import fraction_of, percent_of
from redfish_fm.drivers.virtual.topology import read
from redfish_fm.fabric.model import Bind, BindTarget, Inventory, Media, Qos, VppbId
from tests.drivers.virtual.fmapi_raw import RawManager, Said, cut
from tests.drivers.virtual.test_fmapi_switching import D1, D2, managed
from tests.virtual_time import in_virtual_time

OK, STARTED, INVALID, UNSUPPORTED, BAD_LENGTH, EXHAUSTED = 0, 1, 2, 3, 0x16, 0x1D
GIB = 1 << 30
EFFECTS_LOG = bytes.fromhex("0da9c0b5bf414b788f7996b1623b3f17")

POOL = """
name: pool
hosts: [{id: h1}, {id: h2}]
fabrics:
  - id: F
    protocol: CXL
    switches:
      - id: s
        vppbs: 8
        devices:
          - {id: m, kind: Memory, capacity: 8 GiB, qos: true,
             lds: {count: 4, pooled: true, granularity: 1 GiB}}
          - {id: f, kind: Memory, capacity: 8 GiB, lds: {count: 4}}
          - {id: x, kind: Memory, capacity: 8 GiB}
"""
"""Ports: U1, U2, then the pool at D1, fixed LDs at D2, an SLD at D3."""

POOLED, FIXED, WHOLE = D1, D2, D2 + 1


def fabric(text: str = POOL) -> Inventory:
    (inventory,) = read(text, "test").inventories()
    return inventory


async def inner(
    manager: RawManager,
    opcode: int,
    payload: bytes = b"",
    *,
    port: int = POOLED,
    typed: bool = False,
    lds: tuple[int, ...] = (),
) -> Said:
    """Send a command through a tunnel to a port, and on to an LD; return the innermost answer."""
    message = struct.pack("<BBBHHBHH", 0, 0x55, 0, opcode, len(payload), 0, 0, 0) + payload
    for ld in lds:
        carried = struct.pack("<BBH", ld, 0, len(message)) + message
        message = struct.pack("<BBBHHBHH", 0, 0x55, 0, 0x5300, len(carried), 0, 0, 0) + carried
    message = b"\x08" * typed + message
    said = await manager.ask(0x5300, struct.pack("<BBH", port, 0, len(message)) + message)
    assert said.code == OK
    for _ in (0, *lds):
        (length,) = struct.unpack_from("<H", said.payload)
        assert length == len(said.payload) - 4
        said = cut(said.payload[4 + typed :])
        assert said.tag == 0x55
    assert said.opcode == opcode
    return said


async def memory(manager: RawManager, port: int = POOLED) -> list[int]:
    """Return the multipliers of all LDs."""
    said = (await inner(manager, 0x5401, bytes((0, 16)), port=port)).payload
    return [first for first, second in struct.iter_unpack("<QQ", said[4:])]


def wanted(start: int, *sizes: int) -> bytes:
    rows = b"".join(struct.pack("<QQ", size, 0) for size in sizes)
    return bytes((len(sizes), start, 0, 0)) + rows


# Tunnels


@pytest.mark.parametrize("typed", [False, True])
@in_virtual_time
async def test_a_tunnel_answers_in_the_form_in_which_it_was_asked(typed: bool) -> None:
    async with managed(inventory=fabric()) as (manager, _):
        said = await inner(manager, 0x5400, typed=typed)
        assert struct.unpack("<QHB", said.payload) == (8 * GIB, 4, 3)


@in_virtual_time
async def test_a_strict_switch_knows_tunnels_of_today_only() -> None:
    async with managed("strict", inventory=fabric()) as (manager, _):
        assert (await inner(manager, 0x5400)).code == OK
        typed = b"\x08" + struct.pack("<BBBHHBHH", 0, 0, 0, 0x5400, 0, 0, 0, 0)
        ask = struct.pack("<BBH", POOLED, 0, len(typed)) + typed
        assert (await manager.ask(0x5300, ask)).code == INVALID


@pytest.mark.parametrize("port", [0, WHOLE, 77])
@in_virtual_time
async def test_only_an_mld_is_reached_through_a_tunnel(port: int) -> None:
    async with managed(inventory=fabric()) as (manager, _):
        message = struct.pack("<BBBHHBHH", 0, 0, 0, 0x5400, 0, 0, 0, 0)
        ask = struct.pack("<BBH", port, 0, len(message)) + message
        assert (await manager.ask(0x5300, ask)).code == INVALID


@in_virtual_time
async def test_an_mld_that_is_not_there_is_not_reached() -> None:
    async with managed(inventory=fabric()) as (manager, world):
        world.hardware.remove_device("m")
        message = struct.pack("<BBBHHBHH", 0, 0, 0, 0x5400, 0, 0, 0, 0)
        ask = struct.pack("<BBH", POOLED, 0, len(message)) + message
        assert (await manager.ask(0x5300, ask)).code == INVALID


@in_virtual_time
async def test_what_the_device_says_is_told_apart_from_what_the_switch_says() -> None:
    async with managed(inventory=fabric()) as (manager, _):
        assert (await inner(manager, 0x5100)).code == UNSUPPORTED
        assert (await inner(manager, 0x5401, b"\0")).code == BAD_LENGTH


@in_virtual_time
async def test_the_pool_of_a_device_with_several_heads_is_not_reached() -> None:
    async with managed(inventory=fabric()) as (manager, _):
        message = struct.pack("<BBBHHBHH", 0, 0, 0, 0x5400, 0, 0, 0, 0)
        ask = struct.pack("<BBH", POOLED, 1, len(message)) + message
        assert (await manager.ask(0x5300, ask)).code == INVALID


@pytest.mark.parametrize("said", [-1, 1])
@in_virtual_time
async def test_a_tunnel_that_lies_of_its_size_is_refused(said: int) -> None:
    async with managed(inventory=fabric()) as (manager, _):
        message = struct.pack("<BBBHHBHH", 0, 0, 0, 0x5400, 0, 0, 0, 0)
        ask = struct.pack("<BBH", POOLED, 0, len(message) + said) + message
        assert (await manager.ask(0x5300, ask)).code in (INVALID, BAD_LENGTH)


@in_virtual_time
async def test_a_device_and_its_lds_say_who_they_are() -> None:
    async with managed(inventory=fabric()) as (manager, _):
        device = await inner(manager, 0x0001)
        ld = await inner(manager, 0x0001, lds=(2,))
        assert len(device.payload) == 18 and device.payload[17] == 3
        assert ld.payload == device.payload
        assert (await inner(manager, 0x0001, port=FIXED)).payload != device.payload


@in_virtual_time
async def test_an_ld_has_a_configuration_space() -> None:
    async with managed(inventory=fabric()) as (manager, _):
        ask = struct.pack("<BBBBHHI", POOLED, 8, 0xF0, 0, 1, 0, 0)
        assert (await manager.ask(0x5301, ask)).payload == bytes.fromhex("00100205")
        ask = struct.pack("<BBBBHHI", POOLED, 8, 0xF0, 0, 9, 0, 0)
        assert (await manager.ask(0x5301, ask)).code == INVALID


def memory_request(port: int, ld: int, length: int, *, write: bool = False) -> bytes:
    return struct.pack("<BxBBHHQ", port, 0xF0, 0x0F | write << 7, ld, length, 0x1000)


@in_virtual_time
async def test_an_ld_has_an_io_memory_that_is_read_as_zeros() -> None:
    async with managed(inventory=fabric()) as (manager, _):
        said = await manager.ask(0x5302, memory_request(POOLED, 1, 4096))
        assert (said.code, said.payload) == (OK, b"\x00\x10\x00\x00" + bytes(4096))
        said = await manager.ask(0x5302, memory_request(FIXED, 3, 4))
        assert said.payload == b"\x04\x00\x00\x00" + bytes(4)


@pytest.mark.parametrize(
    "request_",
    [
        memory_request(POOLED, 9, 4),
        memory_request(WHOLE, 0, 4),
        memory_request(0, 0, 4),
        memory_request(POOLED, 1, 4097),
        memory_request(POOLED, 1, 4, write=True) + bytes(4),
    ],
    ids=["no such LD", "no MLD", "no device", "too much", "a write"],
)
@in_virtual_time
async def test_an_io_memory_that_there_is_not_is_refused(request_: bytes) -> None:
    async with managed(inventory=fabric()) as (manager, _):
        assert (await manager.ask(0x5302, request_)).code == INVALID


@in_virtual_time
async def test_no_answer_is_longer_than_a_manager_wants() -> None:
    async with managed(inventory=fabric()) as (manager, _):
        assert (await manager.ask(0x0004, b"\x08")).payload == b"\x08"
        assert (await manager.ask(0x5302, memory_request(POOLED, 1, 240))).code == OK
        assert (await manager.ask(0x5302, memory_request(POOLED, 1, 241))).code == INVALID


# Memory


@in_virtual_time
async def test_fixed_lds_have_their_memory_for_good() -> None:
    async with managed(inventory=fabric()) as (manager, _):
        said = (await inner(manager, 0x5401, bytes((1, 2)), port=FIXED)).payload
        assert said[:4] == bytes((4, 0, 1, 2))
        assert struct.unpack("<4Q", said[4:]) == (8, 0, 8, 0)
        assert (await inner(manager, 0x5402, wanted(0, 4), port=FIXED)).code == INVALID
        assert await memory(manager, FIXED) == [8, 8, 8, 8]


@in_virtual_time
async def test_memory_of_a_pool_is_given_to_lds_and_taken_back() -> None:
    async with managed(inventory=fabric()) as (manager, world):
        said = await inner(manager, 0x5402, wanted(1, 3, 2))
        assert said.payload == wanted(1, 3, 2)
        assert await memory(manager) == [0, 3, 2, 0]
        assert world.hardware.devices["m"].parts.keys() == {("", (("ld", 1),)), ("", (("ld", 2),))}
        await inner(manager, 0x5402, wanted(1, 1, 0))
        assert await memory(manager) == [0, 1, 0, 0]


@in_virtual_time
async def test_more_memory_than_there_is_changes_nothing() -> None:
    async with managed(inventory=fabric()) as (manager, _):
        await inner(manager, 0x5402, wanted(0, 3))
        assert (await inner(manager, 0x5402, wanted(0, 9))).code == EXHAUSTED
        assert await memory(manager) == [3, 0, 0, 0]


@in_virtual_time
async def test_what_can_not_be_set_is_told_as_it_is_beside_what_can() -> None:
    async with managed(inventory=fabric()) as (manager, _):
        said = await inner(manager, 0x5402, wanted(0, 6, 6, 1))
        assert said.payload == wanted(0, 6, 0, 1)


@in_virtual_time
async def test_an_ld_that_is_bound_keeps_its_memory() -> None:
    async with managed(inventory=fabric()) as (manager, world):
        await inner(manager, 0x5402, wanted(0, 3))
        world.hardware.execute(Bind(VppbId("s", "1", 0), BindTarget("s", "D1", 0)))
        assert (await inner(manager, 0x5402, wanted(0, 0))).code == INVALID
        assert await memory(manager) == [3, 0, 0, 0]


@in_virtual_time
async def test_lds_beyond_the_last_are_refused() -> None:
    async with managed(inventory=fabric()) as (manager, _):
        assert (await inner(manager, 0x5402, wanted(3, 1, 1))).code == INVALID
        assert (await inner(manager, 0x5402, wanted(0, 1, 1)[:-1])).code == BAD_LENGTH


@in_virtual_time
async def test_the_careless_switch_does_not_survive_the_setting_of_memory() -> None:
    async with managed("short-identity", inventory=fabric()) as (manager, _):
        await manager.send(manager.request(0x5402, wanted(0, 1)))
        assert await manager.ended()


# Sanitizing


@in_virtual_time
async def test_an_ld_is_sanitized_before_its_memory_goes_back() -> None:
    async with managed(inventory=fabric()) as (manager, world):
        await inner(manager, 0x5402, wanted(0, 2))
        target, vppb = BindTarget("s", "D1", 0), bytes((0, 0, 2))
        await manager.ask(0x5201, struct.pack("<BBBBH", 0, 0, POOLED, 0, 0))
        await asyncio.sleep(1)
        assert (await inner(manager, 0x4400, lds=(0,))).code == INVALID
        await manager.ask(0x5202, vppb)
        await asyncio.sleep(1)
        assert (await inner(manager, 0x5402, wanted(0, 0))).code == INVALID
        assert (await inner(manager, 0x0002, lds=(0,))).payload == bytes(8)
        begun = await inner(manager, 0x4400, lds=(0,))
        assert (begun.code, begun.eighth) == (STARTED, 0x80)
        running = (await inner(manager, 0x0002, lds=(0,))).payload
        assert (running[0] & 1, running[2:4]) == (1, b"\x00\x44")
        await asyncio.sleep(1)
        assert (await inner(manager, 0x0002, lds=(0,))).payload.hex() == "c800004400000000"
        assert world.hardware.part_states("s")[target].media is Media.CLEAN
        assert (await inner(manager, 0x5402, wanted(0, 0))).code == OK


@pytest.mark.parametrize("able", [True, False])
@in_virtual_time
async def test_an_ld_tells_which_commands_it_knows(able: bool) -> None:
    text = (
        POOL
        if able
        else POOL.replace("id: f, kind: Memory,", "id: f, kind: Memory, sanitizes: false,")
    )
    async with managed(inventory=fabric(text)) as (manager, _):
        logs = (await inner(manager, 0x0400, port=FIXED, lds=(0,))).payload
        (count, size) = struct.unpack("<H6x16xI", logs)
        assert count == 1
        asked = EFFECTS_LOG + struct.pack("<II", 0, size)
        entries = (await inner(manager, 0x0401, asked, port=FIXED, lds=(0,))).payload
        known = {opcode for opcode, _ in struct.iter_unpack("<HH", entries)}
        assert known == {0x0001, 0x0002, 0x0400, 0x0401} | ({0x4400} if able else set())


@in_virtual_time
async def test_sanitizing_that_loses_power_has_failed() -> None:
    async with managed(inventory=fabric()) as (manager, world):
        world.hardware.execute(Bind(VppbId("s", "1", 0), BindTarget("s", "D2", 0)))
        await manager.ask(0x5202, bytes((0, 0, 2)))
        await asyncio.sleep(1)
        await inner(manager, 0x4400, port=FIXED, lds=(0,))
        world.hardware.power_device("f", False)
        world.hardware.power_device("f", True)
        await asyncio.sleep(1)
        said = (await inner(manager, 0x0002, port=FIXED, lds=(0,))).payload
        assert said.hex() == "c800004412000000"


@in_virtual_time
async def test_an_ld_that_there_is_not_is_not_reached() -> None:
    async with managed(inventory=fabric()) as (manager, _):
        carried = struct.pack("<BBH", 9, 0, 12) + bytes(12)
        assert (await inner(manager, 0x5300, carried)).code == INVALID


# Bandwidth


@in_virtual_time
async def test_telemetry_is_kept_as_it_is_set() -> None:
    async with managed(inventory=fabric()) as (manager, _):
        assert (await inner(manager, 0x5403)).payload.hex() == "000a1908000040"
        said = await inner(manager, 0x5404, bytes.fromhex("030b1e0f123441"))
        assert (
            said.payload
            == (await inner(manager, 0x5403)).payload
            == bytes.fromhex("030b1e0f123441")
        )
        assert (await inner(manager, 0x5403, port=FIXED)).payload.hex() == "000a1908000040"
        assert (await inner(manager, 0x5405)).payload == b"\0"


@pytest.mark.parametrize("control", ["03001e08000040", "031e0a08000040", "030a6508000040",
                                     "030a1910000040"])  # fmt: skip
@in_virtual_time
async def test_telemetry_that_makes_no_sense_is_refused(control: str) -> None:
    async with managed(inventory=fabric()) as (manager, _):
        assert (await inner(manager, 0x5404, bytes.fromhex(control))).code == INVALID


@in_virtual_time
async def test_bandwidth_is_promised_and_limited() -> None:
    async with managed(inventory=fabric()) as (manager, world):
        assert (await inner(manager, 0x5406, bytes((4, 0)))).payload == bytes((4, 0, 0, 0, 0, 0))
        await inner(manager, 0x5407, bytes((2, 1, 128, 64)))
        await inner(manager, 0x5409, bytes((1, 2, 192)))
        assert world.hardware.devices["m"].qos == {1: Qos(50, 100), 2: Qos(25, 75)}
        assert (await inner(manager, 0x5406, bytes((4, 0)))).payload.hex() == "040000804000"
        assert (await inner(manager, 0x5408, bytes((2, 1)))).payload.hex() == "0201ffc0"


@in_virtual_time
async def test_promises_may_move_between_lds_in_one_command() -> None:
    async with managed(inventory=fabric()) as (manager, world):
        await inner(manager, 0x5407, bytes((2, 0, 250, 0)))
        assert (await inner(manager, 0x5407, bytes((2, 0, 0, 250)))).code == OK
        assert (world.hardware.devices["m"].qos[0], world.hardware.devices["m"].qos[1]) == (
            Qos(0),
            Qos(98),
        )


@in_virtual_time
async def test_more_bandwidth_than_there_is_is_not_promised() -> None:
    async with managed(inventory=fabric()) as (manager, world):
        await inner(manager, 0x5407, bytes((1, 3, 128)))
        assert (await inner(manager, 0x5407, bytes((2, 0, 64, 80)))).code == INVALID
        assert world.hardware.devices["m"].qos == {3: Qos(50)}


@in_virtual_time
async def test_a_device_without_bandwidth_control_says_so() -> None:
    async with managed(inventory=fabric()) as (manager, _):
        assert (await inner(manager, 0x5406, bytes((4, 0)), port=FIXED)).code == UNSUPPORTED
        assert (await inner(manager, 0x5409, bytes((1, 0, 9)), port=FIXED)).code == UNSUPPORTED


def test_percents_survive_the_wire() -> None:
    assert [percent_of(fraction_of(percent)) for percent in range(101)] == list(range(101))
