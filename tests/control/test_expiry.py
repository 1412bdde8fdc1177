"""Reservations end in time, also where the store fails meanwhile or the wall clock is set."""

import asyncio
import datetime
from typing import Any

from redfish_fm.fabric.composition import Reservation
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.uris import RESERVATIONS
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.store.base import StoreFull
from tests.control.builders import Rig, document, running_kernel
from tests.virtual_time import VirtualClock, in_virtual_time


async def reserve(rig: Rig, name: str, lasting_s: float) -> str:
    uri = f"{RESERVATIONS}/{name}"
    ends_s = VirtualClock().wall_s() + lasting_s
    ends = datetime.datetime.fromtimestamp(ends_s, datetime.UTC).isoformat()
    oem: dict[str, Any] = {"RedfishFM": {"ExpirationTime": ends}}
    raw = document(uri, "CompositionReservation", Client="op", Oem=oem)
    edit = Edit(Space.DOCUMENT, uri, None, raw)
    await rig.kernel.writer.submit(lambda _: Draft(OutcomeKind.CREATED, uri, (edit,)), "op")
    return uri


@in_virtual_time
async def test_what_is_over_is_deleted_and_what_is_not_stays() -> None:
    async with running_kernel() as rig:
        short, long = await reserve(rig, "1", 10), await reserve(rig, "2", 30)
        await asyncio.sleep(9.5)
        assert rig.published.exists(short)
        await asyncio.sleep(1)
        assert not rig.published.exists(short)
        assert rig.published.exists(long)
        assert rig.kernel.owner_of(long) == "op"
        await asyncio.sleep(20)
        assert not rig.published.exists(long)
        await rig.assert_equal_to_disk()


@in_virtual_time
async def test_one_that_does_not_say_when_it_ends_has_ended() -> None:
    async with running_kernel() as rig:
        uri = f"{RESERVATIONS}/1"
        edit = Edit(Space.DOCUMENT, uri, None, document(uri, "CompositionReservation"))
        await rig.kernel.writer.submit(lambda _: Draft(OutcomeKind.CREATED, uri, (edit,)), "op")
        await asyncio.sleep(1)
        assert not rig.published.exists(uri)


@in_virtual_time
async def test_a_store_that_fails_costs_time_only() -> None:
    failing: list[bool] = []

    def fault(*_: object) -> None:
        if failing:
            raise StoreFull("full on demand")

    async with running_kernel(fault_before=fault) as rig:
        uri = await reserve(rig, "1", 5)
        failing.append(True)
        await asyncio.sleep(10)
        assert rig.published.exists(uri)
        failing.clear()
        await asyncio.sleep(3)
        assert not rig.published.exists(uri)


@in_virtual_time
async def test_nothing_is_looked_for_while_nothing_is_reserved() -> None:
    async with running_kernel() as rig:
        uri = await reserve(rig, "1", 2)
        await asyncio.sleep(4)
        assert not rig.published.exists(uri)
        looked = []
        clock = rig.kernel.expiry._clock  # noqa: SLF001 - counts its sleeps
        rig.kernel.expiry._clock = _Counting(clock, looked)  # type: ignore[assignment] # noqa: SLF001
        await asyncio.sleep(100)
        assert looked == []


@in_virtual_time
async def test_what_can_not_be_deleted_is_tried_once_a_second() -> None:
    async with running_kernel() as rig:
        stuck = Reservation(f"{RESERVATIONS}/stuck", (), 0.0)
        rig.published.state.index.put_reservation(stuck)
        looked: list[float] = []
        clock = rig.kernel.expiry._clock  # noqa: SLF001 - counts its sleeps
        rig.kernel.expiry._clock = _Counting(clock, looked)  # type: ignore[assignment] # noqa: SLF001
        uri = await reserve(rig, "1", 5)
        await asyncio.sleep(10)
        assert 8 <= len([each for each in looked if each]) <= 12
        assert not rig.published.exists(uri)


class _Counting:
    def __init__(self, clock: Any, looked: list[float]) -> None:
        self._inner, self._looked = clock, looked

    def wall_s(self) -> float:
        self._looked.append(0.0)
        assert len(self._looked) < 1000, "looks without a pause"
        found: float = self._inner.wall_s()
        return found

    async def sleep(self, delay_s: float) -> None:
        self._looked.append(delay_s)
        await self._inner.sleep(delay_s)
