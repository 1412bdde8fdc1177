"""Lockout over the real writer: who is locked, for how long, what shows it and what lifts it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from redfish_fm.redfish import accounts as accounts_module
from redfish_fm.redfish.locks import LOOK_S
from redfish_fm.redfish.passwords import verify_password
from redfish_fm.redfish.policy import ACCOUNT_SERVICE
from redfish_fm.store.base import StoreFailed
from tests.redfish.builders import keys
from tests.redfish.house import (
    ADMIN,
    FIRST,
    PASSWORD,
    SESSIONS,
    House,
    SteppedClock,
    a_house,
    basic,
)

THRESHOLD, LOCKED_S = 2, 60
POLICY = {
    "AccountLockoutThreshold": THRESHOLD,
    "AccountLockoutDuration": LOCKED_S,
    "AccountLockoutCounterResetAfter": LOCKED_S,
}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    """A service that locks an account for a minute after two wrong passwords."""
    async with a_house(clock=SteppedClock(), sweeping=True) as running:
        assert (await running.send("PATCH", ACCOUNT_SERVICE, POLICY)).status == 200
        yield running


async def fail(house: House, user: str, times: int = THRESHOLD) -> None:
    for _ in range(times):
        refused = await house.login(user, "wrong-password")
        assert (refused.status, keys(refused)) == (401, ["AccessUnauthorized"])
    await settled()


async def settled() -> None:
    """Let what waits for nothing but its turn run: a lock is written down beside the answer."""
    for _ in range(50):
        await asyncio.sleep(0)


async def wait(house: House, delay_s: float) -> None:
    """Let time go on, a token that an administrator uses included."""
    assert isinstance(house.clock, SteppedClock)
    await house.clock.advance(delay_s)
    await settled()


async def opens(house: House, user: str, password: str) -> bool:
    return (await house.login(user, password)).status == 201


async def locked(house: House, uri: str) -> Any:
    return (await house.get(uri))["Locked"]


async def test_the_threshold_locks_and_the_right_password_is_refused_like_a_wrong_one(
    house: House,
) -> None:
    uri = await house.add("bob")
    await fail(house, "bob", THRESHOLD - 1)
    assert await locked(house, uri) is False
    await fail(house, "bob", 1)
    assert await locked(house, uri) is True
    right, wrong = await house.login("bob", FIRST), await house.login("bob", "wrong-password")
    assert (right.status, right.headers, right.body) == (401, wrong.headers, wrong.body)
    header = basic("bob", FIRST)
    assert (await house.send("GET", SESSIONS, authorization=header)).status == 401


async def test_a_locked_account_hashes_its_password_even_if_it_is_remembered(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await house.add("bob")
    assert await opens(house, "bob", FIRST)
    await fail(house, "bob")
    hashed: list[bytes] = []

    def counted(password: str, secret: bytes) -> bool:
        hashed.append(secret)
        return verify_password(password, secret)

    monkeypatch.setattr(accounts_module, "verify_password", counted)
    for password in (FIRST, "wrong-password"):
        assert not await opens(house, "bob", password)
    assert len(hashed) == 2


async def test_a_lock_lapses_by_itself_and_its_end_is_shown(house: House) -> None:
    uri = await house.add("bob")
    await fail(house, "bob")
    await wait(house, LOCKED_S - 1)
    assert not await opens(house, "bob", FIRST)
    await wait(house, 1)
    # At once, although what is shown follows a little later.
    assert await opens(house, "bob", FIRST)
    await wait(house, LOOK_S)
    assert await locked(house, uri) is False


async def test_failures_during_a_lock_do_not_make_it_longer(house: House) -> None:
    await house.add("bob")
    await fail(house, "bob")
    await wait(house, LOCKED_S - 1)
    await fail(house, "bob")
    await wait(house, 1)
    assert await opens(house, "bob", FIRST)


async def test_an_administrator_lifts_a_lock_and_the_count_begins_anew(house: House) -> None:
    uri = await house.add("bob")
    await fail(house, "bob")
    assert (await house.send("PATCH", uri, {"Locked": False})).status == 200
    assert await locked(house, uri) is False
    await fail(house, "bob", THRESHOLD - 1)
    assert await opens(house, "bob", FIRST)


@pytest.mark.parametrize(
    "change", [{"Locked": True}, {"Description": "kept in"}, {"Password": "second-password"}]
)
async def test_other_changes_of_a_locked_account_leave_the_lock(
    house: House, change: dict[str, Any]
) -> None:
    uri = await house.add("bob")
    await fail(house, "bob")
    assert (await house.send("PATCH", uri, change)).status == 200
    assert await locked(house, uri) is True
    assert not await opens(house, "bob", str(change.get("Password", FIRST)))


async def test_nobody_but_the_service_locks(house: House) -> None:
    uri = await house.add("bob")
    refused = await house.send("PATCH", uri, {"Locked": True})
    assert (refused.status, keys(refused)) == (400, ["PropertyValueNotInList"])


async def test_a_login_forgets_failures_and_so_does_time(house: House) -> None:
    uri = await house.add("bob")
    await fail(house, "bob", 1)
    assert await opens(house, "bob", FIRST)
    await fail(house, "bob", 1)
    await wait(house, LOCKED_S + 1)
    await fail(house, "bob", 1)
    assert await locked(house, uri) is False


async def test_a_client_that_keeps_sending_its_password_does_not_wash_failures_away(
    house: House,
) -> None:
    uri, header = await house.add("bob"), basic("bob", FIRST)
    assert (await house.send("GET", SESSIONS, authorization=header)).status == 200
    for _ in range(THRESHOLD):
        await fail(house, "bob", 1)
        await house.send("GET", SESSIONS, authorization=header)
    assert await locked(house, uri) is True


@pytest.mark.parametrize("setting", ["AccountLockoutThreshold", "AccountLockoutDuration"])
async def test_zero_never_locks(house: House, setting: str) -> None:
    body = {setting: 0, "AccountLockoutCounterResetAfter": 0}
    assert (await house.send("PATCH", ACCOUNT_SERVICE, body)).status == 200
    uri = await house.add("bob")
    await fail(house, "bob", THRESHOLD + 1)
    assert await locked(house, uri) is False


async def test_without_reset_failures_never_age_and_a_lock_stays(house: House) -> None:
    body = {"AccountLockoutCounterResetEnabled": False}
    assert (await house.send("PATCH", ACCOUNT_SERVICE, body)).status == 200
    uri = await house.add("bob")
    await fail(house, "bob", 1)
    await wait(house, LOCKED_S + 1)
    await fail(house, "bob", 1)
    assert await locked(house, uri) is True
    await wait(house, 10 * LOCKED_S)
    assert not await opens(house, "bob", FIRST)
    assert (await house.send("PATCH", uri, {"Locked": False})).status == 200
    assert await opens(house, "bob", FIRST)


# -- sessions and the last administrator ---------------------------------------------------------


async def test_open_sessions_of_a_locked_account_wait_for_the_end_of_the_lock(
    house: House,
) -> None:
    uri = await house.add("bob")
    token = (await house.login("bob", FIRST)).headers["X-Auth-Token"]
    await fail(house, "bob")
    assert (await house.send("GET", SESSIONS, token=token)).status == 401
    await house.send("PATCH", uri, {"Locked": False})
    assert (await house.send("GET", SESSIONS, token=token)).status == 200


async def test_a_stranger_can_not_throw_the_last_administrator_out(house: House) -> None:
    token = (await house.login("admin", PASSWORD)).headers["X-Auth-Token"]
    await fail(house, "admin")
    assert not await opens(house, "admin", PASSWORD)
    assert (await house.get(ADMIN, token=token))["Locked"] is True
    lifted = await house.send("PATCH", ADMIN, {"Locked": False}, token=token)
    assert lifted.status == 200
    assert await opens(house, "admin", PASSWORD)


async def test_one_of_two_administrators_is_locked_like_anybody(house: House) -> None:
    await house.add("second", "Administrator")
    token = (await house.login("second", FIRST)).headers["X-Auth-Token"]
    await fail(house, "second")
    assert (await house.send("GET", SESSIONS, token=token)).status == 401


async def test_the_lock_of_the_last_administrator_lapses_even_without_reset(
    house: House,
) -> None:
    await house.add("second", "Administrator")
    body = {"AccountLockoutCounterResetEnabled": False}
    assert (await house.send("PATCH", ACCOUNT_SERVICE, body)).status == 200
    await fail(house, "second")
    await fail(house, "admin")
    await wait(house, LOCKED_S)
    assert await opens(house, "admin", PASSWORD)
    assert not await opens(house, "second", FIRST)


async def test_the_last_one_is_known_before_the_lock_of_the_other_is_written_down() -> None:
    async with a_house(clock=SteppedClock()) as house:
        body = {**POLICY, "AccountLockoutCounterResetEnabled": False}
        assert (await house.send("PATCH", ACCOUNT_SERVICE, body)).status == 200
        await house.add("second", "Administrator")
        await fail(house, "second")
        await fail(house, "admin")
        house.clock.time_s += LOCKED_S
        assert await opens(house, "admin", PASSWORD)
        assert not await opens(house, "second", FIRST)


@pytest.mark.parametrize("locked_one", ["admin", "second"])
async def test_a_locked_administrator_does_not_make_the_other_one_dispensable(
    house: House, locked_one: str
) -> None:
    second = await house.add("second", "Administrator")
    await fail(house, locked_one)
    free = second if locked_one == "admin" else ADMIN
    user = "second" if locked_one == "admin" else "admin"
    refused = await house.send("DELETE", free, user=user)
    assert (refused.status, keys(refused)) == (409, ["LastAdministrator"])


async def test_the_last_administrator_stays_while_locked(house: House) -> None:
    await house.add_role("Personnel", "Login", "ConfigureUsers")
    await house.add("clerk", "Personnel")
    await fail(house, "admin")
    refused = await house.send("DELETE", ADMIN, user="clerk")
    assert (refused.status, keys(refused)) == (409, ["LastAdministrator"])


# -- what happens to the service -----------------------------------------------------------------


async def test_a_lock_survives_a_restart_and_its_time_begins_anew() -> None:
    clock = SteppedClock()
    async with a_house(clock=clock, sweeping=True) as house:
        await house.send("PATCH", ACCOUNT_SERVICE, POLICY)
        await house.add("bob")
        await fail(house, "bob")
        durable = house.durable
    async with a_house(durable, clock=clock, sweeping=True) as house:
        assert not await opens(house, "bob", FIRST)
        await wait(house, LOCKED_S)
        assert await opens(house, "bob", FIRST)


async def test_a_lock_that_can_not_be_written_down_holds_all_the_same(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = await house.add("bob")
    commit, failing = house.store.commit, [True]

    async def fails_first(*arguments: Any) -> Any:
        if failing:
            failing.clear()
            raise StoreFailed("the disk is gone")
        return await commit(*arguments)

    monkeypatch.setattr(house.store, "commit", fails_first)
    await fail(house, "bob")
    assert not await opens(house, "bob", FIRST)
    await wait(house, LOOK_S)
    assert await locked(house, uri) is True


async def test_a_lock_that_is_not_written_down_yet_outlives_changes_of_accounts() -> None:
    async with a_house(clock=SteppedClock()) as house:
        assert (await house.send("PATCH", ACCOUNT_SERVICE, POLICY)).status == 200
        uri = await house.add("bob")
        await fail(house, "bob")
        await house.add("eve")
        assert await locked(house, uri) is False
        assert not await opens(house, "bob", FIRST)


async def test_a_lock_ends_with_its_account(house: House) -> None:
    uri = await house.add("bob")
    await fail(house, "bob")
    assert (await house.send("DELETE", uri)).status == 204
    await house.add("bob")
    assert await opens(house, "bob", FIRST)


async def test_the_feed_tells_of_a_lock_as_the_services_own_change(house: House) -> None:
    await house.add("bob")
    seq = house.kernel.published.seq
    await fail(house, "bob")
    records = [record async for record in house.store.follow(seq)]
    assert [record.actor for record in records] == ["service"]
