"""Cases SE-01 to SE-08 of shared/cases.jsonl, and the life of sessions over the real store."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from redfish_fm.redfish.roles import ROLES
from redfish_fm.redfish.sessions import SWEEP_S
from redfish_fm.redfish.writes import Write, WriteKind
from redfish_fm.store.base import StoreFailed
from tests.redfish.builders import FakeClock, keys, related
from tests.redfish.house import (
    ADMIN,
    PASSWORD,
    SESSION_SERVICE,
    SESSIONS,
    House,
    a_house,
    basic,
)

SYSTEMS = "/redfish/v1/Systems"
ADMIN_BASIC = basic("admin", PASSWORD)


class SteppedClock(FakeClock):
    """A clock whose sleepers wake only when a test moves it with `advance`."""

    def __init__(self) -> None:
        super().__init__()
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, delay_s: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.time_s + delay_s, woken))
        await self.advance(0, turns=0)
        await woken

    async def advance(self, delay_s: float, turns: int = 10) -> None:
        self.time_s += delay_s
        due = [each for each in self._sleepers if each[0] <= self.time_s]
        self._sleepers = [each for each in self._sleepers if each not in due]
        for _, woken in due:
            if not woken.done():
                woken.set_result(None)
        for _ in range(turns):
            await asyncio.sleep(0)


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with a_house() as running:
        yield running


async def test_se_01_login_use_logout_refusal(house: House) -> None:
    login = await house.login("admin", PASSWORD)
    assert login.status == 201
    token, location = login.headers["X-Auth-Token"], login.headers["Location"]
    body = json.loads(login.body)
    assert body["@odata.id"] == location
    assert body["@odata.type"].startswith("#Session.v1_")
    assert (body["Id"], body["UserName"]) == (location.rsplit("/", 1)[-1], "admin")
    assert body.get("Password") is None
    assert body.get("Token") is None
    assert (await house.send("GET", SYSTEMS, token=token)).status == 200
    assert (await house.send("DELETE", location, token=token)).status == 204
    assert (await house.send("GET", SYSTEMS, token=token)).status == 401


@pytest.mark.parametrize(
    "path",
    ["/redfish", "/redfish/v1", "/redfish/v1/", "/redfish/v1/odata", "/redfish/v1/$metadata"],
)
async def test_se_03_discovery_needs_no_credentials(house: House, path: str) -> None:
    response = await house.send("GET", path, user=None)
    assert response.status == 200
    if path == "/redfish":
        assert json.loads(response.body) == {"v1": "/redfish/v1/"}


@pytest.mark.parametrize("path", [SYSTEMS, SESSION_SERVICE])
async def test_se_03_everything_else_does(house: House, path: str) -> None:
    response = await house.send("GET", path, user=None)
    assert response.status == 401
    assert response.headers["WWW-Authenticate"].startswith("Basic")
    assert response.headers["Content-Type"] == "application/json"


async def test_se_05_the_limit_refuses_only_further_logins() -> None:
    async with a_house(limit=8) as house:
        logins = [await house.login("admin", PASSWORD) for _ in range(8)]
        assert {login.status for login in logins} == {201}
        refused = await house.login("admin", PASSWORD)
        assert (refused.status, keys(refused)) == (503, ["SessionLimitExceeded"])
        token = logins[0].headers["X-Auth-Token"]
        for _ in range(3):
            # Basic takes no slot, and does not need one.
            response = await house.send("GET", SESSIONS, authorization=ADMIN_BASIC)
            assert json.loads(response.body)["Members@odata.count"] == 8
        house.clock.time_s += 20
        assert (await house.send("GET", SYSTEMS, token=token)).status == 200
        house.clock.time_s += 11
        response = await house.send("GET", SESSIONS, authorization=ADMIN_BASIC)
        members = json.loads(response.body)["Members"]
        assert members == [{"@odata.id": logins[0].headers["Location"]}]
        assert (await house.login("admin", PASSWORD)).status == 201
        assert (await house.send("GET", SYSTEMS, token=token)).status == 200


async def test_se_06_an_idle_session_is_over(house: House) -> None:
    login = await house.login("admin", PASSWORD)
    token, location = login.headers["X-Auth-Token"], login.headers["Location"]
    house.clock.time_s += 29
    assert (await house.send("GET", SYSTEMS, token=token)).status == 200
    house.clock.time_s += 29
    assert (await house.send("GET", SYSTEMS, token=token)).status == 200
    house.clock.time_s += 31
    response = await house.send("GET", SYSTEMS, token=token)
    assert (response.status, keys(response)) == (401, ["NoValidSession"])
    assert (await house.send("DELETE", location, token=token)).status in (401, 404)


@pytest.mark.parametrize("timeout_s", [20, 29, 86401, -1])
async def test_se_06_a_timeout_out_of_range_is_refused(house: House, timeout_s: int) -> None:
    body = {"SessionTimeout": timeout_s}
    response = await house.send("PATCH", SESSION_SERVICE, body, authorization=ADMIN_BASIC)
    assert (response.status, keys(response)) == (400, ["PropertyValueOutOfRange"])
    assert related(response) == ["#/SessionTimeout"]
    assert (await house.get(SESSION_SERVICE))["SessionTimeout"] == 30


async def test_se_08_roles_and_who_may_write(house: House) -> None:
    members = (await house.get(ROLES))["Members"]
    names = {each["@odata.id"].rsplit("/", 1)[-1] for each in members}
    assert names == {"Administrator", "Operator", "ReadOnly"}
    await house.add("ro", "ReadOnly")
    await house.add("op", "Operator")
    seq = house.kernel.published.seq
    response = await house.send("PATCH", ADMIN, {"Name": "x"}, user="ro")
    assert (response.status, keys(response)) == (403, ["InsufficientPrivilege"])
    session = (await house.login("admin", PASSWORD)).headers["Location"]
    assert (await house.send("DELETE", session, user="op")).status in (403, 404)
    assert (await house.send("GET", session)).status == 200
    assert house.kernel.published.seq == seq


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


async def test_only_the_timeout_of_the_session_service_is_the_client_s(house: House) -> None:
    response = await house.send("PATCH", SESSION_SERVICE, {"ServiceEnabled": False})
    assert (response.status, keys(response)) == (400, ["PropertyNotWritable"])


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
