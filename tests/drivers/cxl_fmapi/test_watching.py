"""Hints of the switches of one fabric: each is heard once, however often it was rung for."""

import asyncio

from redfish_fm.drivers.cxl_fmapi.watching import Bell
from tests.virtual_time import in_virtual_time, settle


async def heard(bell: Bell, into: list[str | None]) -> None:
    async for hint in bell.hints():
        into.append(hint.switch)


@in_virtual_time
async def test_hints_of_one_switch_are_one_until_they_are_heard() -> None:
    bell, told = Bell("CXL"), list[str | None]()
    watching = asyncio.ensure_future(heard(bell, told))
    await settle()
    for _ in range(200):
        bell.ring("noisy")
    bell.ring("quiet")
    bell.ring("noisy")
    await settle()
    assert told == ["noisy", "quiet"]
    bell.ring("noisy")
    bell.close()
    await watching
    assert told == ["noisy", "quiet", "noisy"]


@in_virtual_time
async def test_a_talkative_switch_does_not_drown_the_hint_of_another() -> None:
    bell, told = Bell("CXL"), list[str | None]()
    watching = asyncio.ensure_future(heard(bell, told))
    await settle()
    for _ in range(10_000):
        bell.ring("noisy")
    bell.ring("quiet")
    bell.close()
    await watching
    assert told == ["noisy", "quiet"]


@in_virtual_time
async def test_each_who_watches_hears_every_switch() -> None:
    bell, one, other = Bell("CXL"), list[str | None](), list[str | None]()
    watching = [asyncio.ensure_future(heard(bell, each)) for each in (one, other)]
    await settle()
    bell.ring("a")
    await settle()
    bell.close()
    await asyncio.gather(*watching)
    assert one == other == ["a"]
    async for hint in bell.hints():
        raise AssertionError(hint)
