"""The life of sessions over the real store: what ends them, and when their rows go."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.sessions import SWEEP_S
from redfish_fm.redfish.writes import Write, WriteKind
from redfish_fm.store.base import StoreFailed
from tests.redfish.builders import keys
from tests.redfish.house import (
    SESSION_SERVICE,
    House,
    SteppedClock,
    a_house,
)

SYSTEMS = "/redfish/v1/Systems"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with a_house() as running:
        yield running


async def test_a_new_timeout_counts_at_once_and_after_a_restart() -> None:
    async with a_house() as house:
        token = await house.token("admin")
        response = await house.send("PATCH", SESSION_SERVICE, {"SessionTimeout": 60})
        assert response.status == 200
        assert json.loads(response.body)["SessionTimeout"] == 60
        house.clock.time_s += 59
        assert (await house.send("GET", SYSTEMS, token=token)).status == 200
        durable = house.durable
    async with a_house(durable) as house:
        assert (await house.get(SESSION_SERVICE))["SessionTimeout"] == 60
        house.clock.time_s += 59
        assert (await house.send("GET", SYSTEMS, token=token)).status == 200
        house.clock.time_s += 61
        assert (await house.send("GET", SYSTEMS, token=token)).status == 401


async def test_names_of_the_session_service_are_not_the_client_s(house: House) -> None:
    response = await house.send("PATCH", SESSION_SERVICE, {"Name": "x", "Id": "y"})
    assert (response.status, set(keys(response))) == (400, {"PropertyNotWritable"})


async def test_rows_of_expired_sessions_go_without_anybody_asking() -> None:
    clock = SteppedClock()
    async with a_house(clock=clock, sweeping=True) as house:
        await house.token("admin")
        await clock.advance(29)
        assert len(await house.store.sessions()) == 1
        await clock.advance(2 + SWEEP_S)
        assert await house.store.sessions() == []


async def test_rows_of_a_deleted_account_go_without_waiting_for_the_next_sweep() -> None:
    clock = SteppedClock()
    async with a_house(clock=clock, sweeping=True) as house:
        uri = await house.add("bob")
        await house.token("bob")
        await house.kernel.commits.commit(_deletion(uri))
        await clock.advance(0)
        assert {row.user_name for row in await house.store.sessions()} == {"admin"}


async def test_a_store_that_fails_does_not_stop_the_sweep() -> None:
    clock = SteppedClock()
    async with a_house(clock=clock, sweeping=True) as house:
        await house.token("admin")
        delete, failures = house.store.delete_sessions, []

        async def fail_once(ids: Any) -> None:
            if not failures:
                failures.append(ids)
                raise StoreFailed("no device")
            await delete(ids)

        house.store.delete_sessions = fail_once
        await clock.advance(31 + SWEEP_S)
        assert (len(failures), len(await house.store.sessions())) == (1, 1)
        await clock.advance(SWEEP_S)
        assert await house.store.sessions() == []


def _deletion(uri: str) -> Any:
    return Write(WriteKind.DELETE, uri, "ManagerAccount", "admin")


async def test_a_logout_that_the_store_refuses_is_no_login_after_a_restart() -> None:
    clock = SteppedClock()
    async with a_house(clock=clock, sweeping=True) as house:
        token = await house.token("admin")
        (row,) = await house.store.sessions()
        delete, failures = house.store.delete_sessions, []

        async def fail_once(ids: Any) -> None:
            if not failures:
                failures.append(ids)
                raise StoreFailed("no device")
            await delete(ids)

        house.store.delete_sessions = fail_once
        with pytest.raises(RedfishError):
            await house.identity.sessions.delete(row.id)
        assert house.identity.sessions.authenticate(token) is None
        await clock.advance(2 * SWEEP_S)
        assert await house.store.sessions() == []
