"""What goes wrong on the wire to a simulated switch, fault by fault, and by chance of a seed."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator

import pytest

from redfish_fm.drivers.virtual.fmapi_faults import WireFault, WireFaults
from redfish_fm.fabric.model import BindTarget
from tests.drivers.fabrics import FIRST, ld
from tests.drivers.fmapi_world import FmapiWorld, fmapi_world
from tests.drivers.virtual.fmapi_raw import RawManager, raw_manager
from tests.drivers.virtual.test_fmapi_switching import bind, ended, entry, managed
from tests.virtual_time import in_virtual_time, settle

OK, STARTED, BUSY, ABORTED = 0, 1, 6, 0x12
ANY = pytest.mark.parametrize("seed", range(5))


@contextlib.asynccontextmanager
async def faulty(
    fault: WireFault, opcode: int | None = None, times: int = 1, **more: object
) -> AsyncIterator[tuple[RawManager, FmapiWorld]]:
    async with managed(**more) as (manager, world):  # type: ignore[arg-type]
        world.faults.order(fault, opcode, times)
        yield manager, world


@in_virtual_time
async def test_a_dropped_request_does_nothing() -> None:
    async with faulty(WireFault.DROP_REQUEST, 0x5201) as (manager, world):
        await manager.send(manager.request(0x5201, bind()))
        with pytest.raises(TimeoutError):
            await manager.next(1)
        assert world.hardware.binding(FIRST) is None
        assert (await manager.ask(0x0002)).payload == bytes(8)


@in_virtual_time
async def test_a_dropped_answer_was_carried_out_all_the_same() -> None:
    async with faulty(WireFault.DROP, 0x5201) as (manager, world):
        await manager.send(manager.request(0x5201, bind()))
        with pytest.raises(TimeoutError):
            await manager.next(1)
        assert world.hardware.binding(FIRST) == ld(0)


@in_virtual_time
async def test_a_late_answer_comes_after_others() -> None:
    async with faulty(WireFault.DELAY, 0x5100) as (manager, _):
        await manager.send(manager.request(0x5100, tag=1) + manager.request(0x0001, tag=2))
        assert [(await manager.next()).tag for _ in range(2)] == [2, 1]


@in_virtual_time
async def test_nobody_waits_with_a_late_answer_for_a_connection_that_has_ended() -> None:
    async with faulty(WireFault.DELAY) as (manager, world):
        await manager.send(manager.request(0x5100))
        await settle()
        waiting = asyncio.all_tasks()
        manager.writer.transport.abort()
        await settle()
        assert len(waiting - asyncio.all_tasks()) == 2  # the conversation, and its late answer
        assert not world.switch.managers


@in_virtual_time
async def test_an_answer_may_come_twice() -> None:
    async with faulty(WireFault.DUPLICATE) as (manager, _):
        await manager.send(manager.request(0x0001, tag=9))
        assert await manager.next() == await manager.next()


@in_virtual_time
async def test_an_answer_may_come_after_the_next_one() -> None:
    async with faulty(WireFault.REORDER) as (manager, _):
        await manager.send(manager.request(0x5100, tag=1))
        with pytest.raises(TimeoutError):
            await manager.next(1)
        await manager.send(manager.request(0x0001, tag=2))
        assert [(await manager.next()).tag for _ in range(2)] == [2, 1]


@ANY
@in_virtual_time
async def test_a_corrupt_answer_differs_in_one_bit_of_its_headers(seed: int) -> None:
    async with (
        fmapi_world(frames=True, seed=seed) as world,
        raw_manager(world.host, world.port, frames=True) as manager,
    ):
        world.faults.order(WireFault.CORRUPT)
        await manager.send(manager.request(0x5100) * 2)
        wrong, right = [await manager.reader.readexactly(4 + 12 + 73) for _ in range(2)]
        changed = int.from_bytes(wrong, "big") ^ int.from_bytes(right, "big")
        assert changed.bit_count() == 1
        assert wrong[16:] == right[16:]


@in_virtual_time
async def test_a_connection_may_end_amid_an_answer() -> None:
    async with faulty(WireFault.DISCONNECT, 0x5100) as (manager, world):
        await manager.send(manager.request(0x5100))
        half = await manager.reader.read()
        assert len(half) == 68
        async with raw_manager(world.host, world.port) as again:
            assert (await again.ask(0x5100)).code == OK


@ANY
@in_virtual_time
async def test_an_answer_may_have_the_tag_of_another_command(seed: int) -> None:
    async with faulty(WireFault.WRONG_TAG, seed=seed) as (manager, _):
        assert (await manager.ask(0x0001, tag=200)).tag != 200
        assert (await manager.ask(0x0001, tag=200)).tag == 200


@in_virtual_time
async def test_a_busy_switch_carries_nothing_out_and_still_says_what_it_does() -> None:
    async with faulty(WireFault.BUSY, times=3) as (manager, world):
        assert (await manager.ask(0x0001)).code == OK
        assert [(await manager.ask(0x5201, bind())).code for _ in range(2)] == [BUSY, BUSY]
        assert (await manager.ask(0x0002)).payload == bytes(8)
        assert world.hardware.binding(FIRST) is None
        assert (await manager.ask(0x5100)).code == BUSY
        assert (await manager.ask(0x5100)).code == OK


@in_virtual_time
async def test_a_stuck_operation_runs_until_it_is_aborted() -> None:
    async with faulty(WireFault.STUCK) as (manager, world):
        assert (await manager.ask(0x5201, bind())).code == STARTED
        await asyncio.sleep(3600)
        assert (await manager.ask(0x0002)).payload[0] & 1
        assert await entry(manager) == (1, 2, 0)
        assert (await manager.ask(0x5201, bind(vcs=1))).code == BUSY
        assert (await manager.ask(0x0005)).code == OK
        assert (await manager.ask(0x5201, bind())).code == STARTED
        await ended(manager)
        assert world.hardware.binding(FIRST) == BindTarget("cxl1", "D1", 0)


@in_virtual_time
async def test_a_restart_frees_a_switch_of_a_stuck_operation() -> None:
    async with faulty(WireFault.STUCK) as (manager, world):
        await manager.ask(0x5201, bind())
        world.hardware.restart("cxl1")
        async with raw_manager(world.host, world.port) as again:
            assert (await again.ask(0x5201, bind())).code == STARTED


@in_virtual_time
async def test_a_refused_bind_does_not_leave_the_next_one_stuck() -> None:
    async with faulty(WireFault.STUCK) as (manager, world):
        assert (await manager.ask(0x5201, bind(vcs=9))).code == 2
        await manager.ask(0x5201, bind())
        await ended(manager)
        assert world.hardware.binding(FIRST) == ld(0)


# By chance


def drawn(seed: int, rates: dict[WireFault, float], count: int = 2000) -> list[WireFault | None]:
    faults = WireFaults(rates, seed)
    return [faults.draw(0x5201) for _ in range(count)]


def test_equal_seeds_give_equal_faults_and_other_seeds_others() -> None:
    rates = dict.fromkeys(WireFault, 0.05)
    assert drawn(1, rates) == drawn(1, rates) != drawn(2, rates)


def test_faults_are_about_as_frequent_as_asked_for() -> None:
    found = Counter(drawn(3, {WireFault.DROP: 0.1, WireFault.DELAY: 0.3}))
    assert 120 < found[WireFault.DROP] < 280
    assert 480 < found[WireFault.DELAY] < 720
    assert set(found) == {WireFault.DROP, WireFault.DELAY, None}


def test_without_rates_nothing_befalls() -> None:
    assert set(drawn(1, {})) == {None}


def test_busy_comes_in_storms() -> None:
    found = drawn(5, {WireFault.BUSY: 0.02})
    begins = [n for n, each in enumerate(found) if each and (n == 0 or not found[n - 1])]
    assert begins and sum(each is not None for each in found) >= 2 * len(begins)


def test_faults_can_be_stopped() -> None:
    faults = WireFaults({WireFault.BUSY: 1.0}, 1)
    faults.order(WireFault.DROP, times=9)
    assert faults.draw(0x5201) is WireFault.DROP
    faults.stop()
    assert faults.draw(0x5201) is None


def test_only_what_starts_an_operation_gets_stuck() -> None:
    faults = WireFaults()
    faults.order(WireFault.STUCK)
    assert [faults.draw(opcode) for opcode in (0x5100, 0x5202)] == [None, WireFault.STUCK]
    assert set(WireFaults({WireFault.STUCK: 1.0}).draw(0x5100) for _ in range(9)) == {None}


def test_what_befell_is_counted() -> None:
    faults = WireFaults()
    faults.order(WireFault.DROP, 0x5100, times=2)
    assert [faults.draw(opcode) for opcode in (0x5101, 0x5100, 0x5100, 0x5100)] == [
        None,
        WireFault.DROP,
        WireFault.DROP,
        None,
    ]
    assert faults.befallen == {WireFault.DROP: 2}


@ANY
@in_virtual_time
async def test_whatever_befalls_a_bound_vppb_is_bound_to_what_was_asked(seed: int) -> None:
    rates = dict.fromkeys(WireFault, 0.06)
    async with managed(rates=rates, seed=seed) as (_, world):
        for number in range(20):
            with contextlib.suppress(TimeoutError, OSError, asyncio.IncompleteReadError):
                async with raw_manager(world.host, world.port) as manager:
                    await manager.send(manager.request(0x0005))
                    await manager.ask(0x5201, bind(vppb=number % 5, ld=number % 4))
                    await manager.ask(0x5202, bytes((0, (number + 3) % 5, 2)))
        await asyncio.sleep(1)
        bound = world.hardware.switches["cxl1"].bindings.values()
        assert len(set(bound)) == len(bound)
        assert sum(world.faults.befallen.values()) > 0
