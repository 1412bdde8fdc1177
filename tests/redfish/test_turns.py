"""Tests of redfish_fm.redfish.turns."""

import asyncio
import contextlib

from redfish_fm.redfish.turns import Turns


class Desk:
    """Turns one at a time, the order they came in, and the first one still being held."""

    def __init__(self) -> None:
        self.turns = Turns(1)
        self.order: list[str] = []
        self.first = asyncio.Event()

    async def comes(self, who: str) -> None:
        async with self.turns.turn(who):
            self.order.append(who)
            await self.first.wait()


async def waiting(desk: Desk, *who: str) -> list["asyncio.Task[None]"]:
    tasks = [asyncio.create_task(desk.comes(each)) for each in who]
    await asyncio.sleep(0)
    return tasks


async def test_who_comes_often_waits_behind_itself() -> None:
    desk = Desk()
    tasks = await waiting(desk, "flood", "flood", "flood", "flood", "bob", "eve")
    desk.first.set()
    await asyncio.gather(*tasks)
    assert desk.order == ["flood", "flood", "bob", "eve", "flood", "flood"]


async def test_no_more_than_so_many_have_a_turn_at_once() -> None:
    turns, inside, most = Turns(2), 0, 0

    async def comes(who: str) -> None:
        nonlocal inside, most
        async with turns.turn(who):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(comes(str(number % 3)) for number in range(9)))
    assert (inside, most) == (0, 2)


async def test_who_went_away_while_waiting_is_passed_over() -> None:
    desk = Desk()
    first, gone, last = await waiting(desk, "first", "gone", "last")
    gone.cancel()
    await asyncio.sleep(0)
    desk.first.set()
    await asyncio.gather(first, last)
    assert desk.order == ["first", "last"]


async def test_a_turn_that_comes_to_someone_who_is_leaving_goes_on() -> None:
    desk = Desk()
    first, leaving, last = await waiting(desk, "first", "leaving", "last")
    desk.first.set()
    await asyncio.sleep(0)
    # Its turn has been called, and it has not run since.
    leaving.cancel()
    await asyncio.gather(first, last)
    with contextlib.suppress(asyncio.CancelledError):
        await leaving
    assert desk.order[0] == "first"
    assert desk.order[-1] == "last"


async def test_a_turn_that_ends_in_an_error_is_over() -> None:
    turns = Turns(1)
    for _ in range(3):
        with contextlib.suppress(ValueError):
            async with turns.turn("bob"):
                raise ValueError
    async with asyncio.timeout(1), turns.turn("eve"):
        pass
