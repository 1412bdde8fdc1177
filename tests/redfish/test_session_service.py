"""SessionService as clients set it: age, idleness, limits, and a service that is off."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.redfish.builders import keys, related
from tests.redfish.house import (
    FIRST,
    PASSWORD,
    SESSION_SERVICE,
    SESSIONS,
    House,
    a_house,
    basic,
)

SYSTEMS = "/redfish/v1/Systems"
AGE_S = 100
ABSOLUTE = {
    "SessionTimeout": 60,
    "AbsoluteSessionTimeout": AGE_S,
    "AbsoluteSessionTimeoutEnabled": True,
}
OFF = {"ServiceEnabled": False}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with a_house() as running:
        yield running


async def change(house: House, body: dict[str, Any]) -> None:
    header = basic("admin", PASSWORD)
    response = await house.send("PATCH", SESSION_SERVICE, body, authorization=header)
    assert response.status == 200, response.body


async def used(house: House, token: str, times: int, every_s: float) -> list[int]:
    """Use a session again and again; return what it was answered."""
    statuses = []
    for _ in range(times):
        house.clock.time_s += every_s
        statuses.append((await house.send("GET", SYSTEMS, token=token)).status)
    return statuses


async def test_a_session_in_use_ends_at_its_age(house: House) -> None:
    await change(house, ABSOLUTE)
    token = (await house.login("admin", PASSWORD)).headers["X-Auth-Token"]
    assert await used(house, token, 5, AGE_S / 4) == [200, 200, 200, 401, 401]


async def test_an_age_set_later_counts_from_when_the_session_was_made(house: House) -> None:
    token = (await house.login("admin", PASSWORD)).headers["X-Auth-Token"]
    assert await used(house, token, 3, 25) == [200, 200, 200]
    await change(house, ABSOLUTE)
    assert await used(house, token, 2, 20) == [200, 401]


async def test_without_an_age_a_session_in_use_goes_on(house: House) -> None:
    await change(house, {**ABSOLUTE, "AbsoluteSessionTimeoutEnabled": False})
    token = (await house.login("admin", PASSWORD)).headers["X-Auth-Token"]
    assert set(await used(house, token, 10, 50)) == {200}


async def test_a_session_says_when_its_age_ends_only_where_there_is_one(house: House) -> None:
    first = json.loads((await house.login("admin", PASSWORD)).body)
    assert "ExpirationTime" not in first
    await change(house, ABSOLUTE)
    shown = await house.get(first["@odata.id"])
    assert shown["CreatedTime"] < shown["ExpirationTime"]
    second = json.loads((await house.login("admin", PASSWORD)).body)
    assert second["ExpirationTime"] == shown["ExpirationTime"]


async def test_the_age_of_a_session_goes_on_over_a_restart() -> None:
    async with a_house() as house:
        await change(house, ABSOLUTE)
        token = (await house.login("admin", PASSWORD)).headers["X-Auth-Token"]
        durable, clock = house.durable, house.clock
    clock.time_s += AGE_S - 50
    async with a_house(durable, clock=clock) as house:
        assert await used(house, token, 2, 25) == [200, 401]


async def test_a_session_that_reached_its_age_frees_its_slot() -> None:
    async with a_house(limit=1) as house:
        await change(house, ABSOLUTE)
        token = (await house.login("admin", PASSWORD)).headers["X-Auth-Token"]
        await used(house, token, 4, AGE_S / 4)
        assert (await house.login("admin", PASSWORD)).status == 201
        assert len(await house.store.sessions()) == 1


@pytest.mark.parametrize(
    ("body", "told", "place"),
    [
        ({"SessionTimeout": 29}, "PropertyValueOutOfRange", "SessionTimeout"),
        ({"SessionTimeout": 86401}, "PropertyValueOutOfRange", "SessionTimeout"),
        ({"AbsoluteSessionTimeout": 29}, "PropertyValueOutOfRange", "AbsoluteSessionTimeout"),
        ({"AbsoluteSessionTimeout": 86401}, "PropertyValueOutOfRange", "AbsoluteSessionTimeout"),
        ({"ServiceEnabled": None}, "PropertyValueTypeError", "ServiceEnabled"),
    ],
)
async def test_what_can_not_be_is_refused(
    house: House, body: dict[str, Any], told: str, place: str
) -> None:
    response = await house.send("PATCH", SESSION_SERVICE, body)
    assert (response.status, keys(response)) == (400, [told])
    assert related(response) == [f"#/{place}"]


async def test_a_service_that_is_off_opens_and_ends_no_session_and_lets_open_ones_go_on(
    house: House,
) -> None:
    login = await house.login("admin", PASSWORD)
    token, uri = login.headers["X-Auth-Token"], login.headers["Location"]
    await change(house, OFF)
    for refused in (
        await house.login("admin", PASSWORD),
        await house.login("admin", "wrong-password"),
        await house.send("DELETE", uri, token=token),
    ):
        assert (refused.status, keys(refused)) == (409, ["ServiceDisabled"])
    assert (await house.send("GET", SYSTEMS, token=token)).status == 200
    header = basic("admin", PASSWORD)
    assert (await house.send("GET", SYSTEMS, authorization=header)).status == 200
    await change(house, {"ServiceEnabled": True})
    assert (await house.send("DELETE", uri, token=token)).status == 204
    assert (await house.login("admin", PASSWORD)).status == 201


async def test_a_service_that_is_off_stays_off_over_a_restart() -> None:
    async with a_house() as house:
        await change(house, OFF)
        durable = house.durable
    async with a_house(durable) as house:
        assert (await house.login("admin", PASSWORD)).status == 409


async def test_one_user_can_not_take_the_sessions_of_all() -> None:
    async with a_house(limit=4, limit_per_user=2) as house:
        await house.add("bob")
        await house.add("eve")
        house.tokens.clear()
        await house.identity.sessions.end_all()
        assert [(await house.login("bob", FIRST)).status for _ in range(2)] == [201, 201]
        refused = await house.login("bob", FIRST)
        assert (refused.status, keys(refused)) == (503, ["SessionLimitExceeded"])
        assert refused.headers["Retry-After"]
        assert [(await house.login("eve", FIRST)).status for _ in range(2)] == [201, 201]
        refused = await house.login("admin", PASSWORD)
        assert (refused.status, keys(refused)) == (503, ["SessionLimitExceeded"])


async def test_sessions_beside_each_other_keep_to_the_limit_of_their_user() -> None:
    async with a_house(limit=64, limit_per_user=3) as house:
        sessions = house.identity.sessions
        made = [sessions.create("admin", "192.0.2.1") for _ in range(5)]
        results = await asyncio.gather(*made, return_exceptions=True)
        assert sum(not isinstance(each, Exception) for each in results) == 3
        assert len(sessions.open_sessions()) == 3


async def test_the_collection_lists_sessions_to_anybody_but_tells_no_token(house: House) -> None:
    login = await house.login("admin", PASSWORD)
    await house.add("bob")
    response = await house.send("GET", SESSIONS, user="bob")
    assert response.status == 200
    assert login.headers["X-Auth-Token"].encode() not in response.body
