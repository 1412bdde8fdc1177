"""AccountService as clients set it, over the real writer: what it takes, and what that does."""

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from redfish_fm.redfish.accounts import ACCOUNTS
from redfish_fm.redfish.policy import ACCOUNT_SERVICE, DEFAULT, properties_of
from redfish_fm.redfish.roles import ROLES
from tests.redfish.builders import keys, related
from tests.redfish.house import (
    ADMIN,
    FIRST,
    PASSWORD,
    SESSION_SERVICE,
    SESSIONS,
    House,
    a_house,
    basic,
)

SETTINGS: dict[str, Any] = {
    "AccountLockoutThreshold": 3,
    "AccountLockoutDuration": 600,
    "AccountLockoutCounterResetAfter": 60,
    "AccountLockoutCounterResetEnabled": False,
    "AuthFailureLoggingThreshold": 5,
    "MinPasswordLength": 12,
    "MaxPasswordLength": 64,
    "HTTPBasicAuth": "Unadvertised",
    "ServiceEnabled": False,
}
OFF = {"ServiceEnabled": False}
NO_BASIC = {"HTTPBasicAuth": "Disabled"}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with a_house() as running:
        yield running


async def change(house: House, body: dict[str, Any], uri: str = ACCOUNT_SERVICE) -> None:
    response = await house.send("PATCH", uri, body)
    assert response.status == 200, response.body


async def test_what_is_in_force_at_first_is_shown(house: House) -> None:
    shown = await house.get(ACCOUNT_SERVICE)
    assert shown.items() >= properties_of(DEFAULT).items()
    assert shown["SupportedAccountTypes"] == ["Redfish"]
    assert shown.keys() >= SETTINGS.keys()


@pytest.mark.parametrize("name", SETTINGS)
async def test_each_setting_is_taken_shown_and_moves_the_etag(house: House, name: str) -> None:
    before = await house.etag(ACCOUNT_SERVICE)
    body = {name: SETTINGS[name]}
    response = await house.send("PATCH", ACCOUNT_SERVICE, body, if_match=before)
    assert response.status == 200
    assert json.loads(response.body)[name] == SETTINGS[name]
    assert await house.etag(ACCOUNT_SERVICE) != before
    stale = await house.send("PATCH", ACCOUNT_SERVICE, body, if_match=before)
    assert stale.status == 412


async def test_settings_survive_a_restart_and_count_again() -> None:
    async with a_house() as house:
        await change(house, {"MinPasswordLength": 20, "AccountLockoutThreshold": 1})
        durable = house.durable
    async with a_house(durable) as house:
        assert (await house.get(ACCOUNT_SERVICE))["MinPasswordLength"] == 20
        refused = await house.send("PATCH", ADMIN, {"Password": "x" * 19})
        assert (refused.status, keys(refused)) == (400, ["PropertyValueError"])
        assert house.identity.accounts.policy.lockout_threshold == 1


@pytest.mark.parametrize(
    ("body", "told", "places"),
    [
        ({"AccountLockoutThreshold": -1}, ["PropertyValueOutOfRange"], {"AccountLockoutThreshold"}),
        ({"AccountLockoutThreshold": 1001}, ["PropertyValueOutOfRange"],
         {"AccountLockoutThreshold"}),
        ({"AccountLockoutDuration": 86401}, ["PropertyValueOutOfRange"],
         {"AccountLockoutDuration"}),
        ({"MinPasswordLength": 7}, ["PropertyValueOutOfRange"], {"MinPasswordLength"}),
        ({"MaxPasswordLength": 129}, ["PropertyValueOutOfRange"], {"MaxPasswordLength"}),
        ({"MinPasswordLength": 20, "MaxPasswordLength": 19}, ["PropertyValueConflict"],
         {"MinPasswordLength", "MaxPasswordLength"}),
        ({"AccountLockoutCounterResetAfter": 301}, ["PropertyValueConflict"],
         {"AccountLockoutCounterResetAfter"}),
        ({"AccountLockoutDuration": 29}, ["PropertyValueConflict"], {"AccountLockoutDuration"}),
        ({"AccountLockoutThreshold": None}, ["PropertyValueTypeError"],
         {"AccountLockoutThreshold"}),
        ({"ServiceEnabled": None}, ["PropertyValueTypeError"], {"ServiceEnabled"}),
        ({"HTTPBasicAuth": "Sometimes"}, ["PropertyValueNotInList"], {"HTTPBasicAuth"}),
        ({"ServiceEnabled": False, "HTTPBasicAuth": "Disabled"}, ["PropertyValueConflict"],
         {"ServiceEnabled", "HTTPBasicAuth"}),
        ({"PasswordExpirationDays": 90}, ["PropertyNotWritable"], {"PasswordExpirationDays"}),
        ({"EnforcePasswordHistoryCount": 3}, ["PropertyNotWritable"],
         {"EnforcePasswordHistoryCount"}),
        ({"LocalAccountAuth": "Disabled"}, ["PropertyNotWritable"], {"LocalAccountAuth"}),
        ({"Bogus": 1}, ["PropertyUnknown"], {"Bogus"}),
    ],
)  # fmt: skip
async def test_what_can_not_be_is_refused_and_nothing_changes(
    house: House, body: dict[str, Any], told: list[str], places: set[str]
) -> None:
    before = await house.get(ACCOUNT_SERVICE)
    response = await house.send("PATCH", ACCOUNT_SERVICE, body)
    assert (response.status, keys(response)) == (400, told), response.body
    assert set(related(response)) == {f"#/{name}" for name in places}
    assert await house.get(ACCOUNT_SERVICE) == before


async def test_every_violation_is_told_at_once(house: House) -> None:
    body = {
        "AccountLockoutThreshold": -1,
        "AccountLockoutDuration": 10,
        "MinPasswordLength": None,
        "MaxPasswordLength": 5000,
    }
    response = await house.send("PATCH", ACCOUNT_SERVICE, body)
    assert response.status == 400
    assert set(related(response)) == {f"#/{name}" for name in body}


async def test_values_that_fit_only_together_are_taken_together(house: House) -> None:
    body = {"AccountLockoutDuration": 10, "AccountLockoutCounterResetAfter": 10}
    await change(house, body)
    body = {"AccountLockoutDuration": 20, "AccountLockoutCounterResetAfter": 20}
    await change(house, body)


@pytest.mark.parametrize(("role", "status"), [("Operator", 403), ("ReadOnly", 403)])
async def test_only_who_keeps_users_sets_the_policy(house: House, role: str, status: int) -> None:
    await house.add("bob", role)
    body = {"AccountLockoutThreshold": 3}
    assert (await house.send("PATCH", ACCOUNT_SERVICE, body, user="bob")).status == status
    assert (await house.send("GET", ACCOUNT_SERVICE, user="bob")).status == 200


async def test_password_lengths_count_at_once_and_leave_old_passwords_alone(
    house: House,
) -> None:
    uri = await house.add("bob")
    await change(house, {"MinPasswordLength": 15, "MaxPasswordLength": 16})
    assert (await house.login("bob", FIRST)).status == 201
    for length, status in ((14, 400), (15, 200), (16, 200), (17, 400)):
        response = await house.send("PATCH", uri, {"Password": "p" * length})
        assert response.status == status, length


# -- HTTP Basic ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "works", "advertised"),
    [("Enabled", 200, True), ("Unadvertised", 200, False), ("Disabled", 401, False)],
)
async def test_the_modes_of_http_basic(
    house: House, mode: str, works: int, advertised: bool
) -> None:
    await change(house, {"HTTPBasicAuth": mode})
    house.challenged = advertised
    header = basic("admin", PASSWORD)
    response = await house.send("GET", SESSIONS, authorization=header)
    assert response.status == works
    for refused in (
        await house.send("GET", SESSIONS, user=None),
        await house.send("GET", SESSIONS, token="x"),
        await house.login("admin", "wrong-password"),
        await house.send("GET", SESSIONS, authorization=basic("admin", "wrong-password")),
    ):
        assert refused.status == 401
        assert ("WWW-Authenticate" in refused.headers) is advertised
    assert (await house.login("admin", PASSWORD)).status == 201


async def test_http_basic_that_is_off_hashes_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await change(house, NO_BASIC)
    house.challenged = False
    monkeypatch.setattr(house.identity.accounts, "verify", None)
    response = await house.send("GET", SESSIONS, authorization=basic("admin", PASSWORD))
    assert (response.status, keys(response)) == (401, ["AccessUnauthorized"])


# -- ServiceEnabled ------------------------------------------------------------------------------


async def test_a_service_that_is_off_changes_no_account_and_opens_no_session(
    house: House,
) -> None:
    uri, header = await house.add("bob"), basic("admin", PASSWORD)
    token = await house.token("admin")
    await change(house, OFF)
    new = {"UserName": "eve", "Password": FIRST, "RoleId": "ReadOnly"}
    for method, path, body in (
        ("POST", ACCOUNTS, new),
        ("PATCH", uri, {"Description": "x"}),
        ("PATCH", uri, {"Password": "second-password"}),
        ("DELETE", uri, None),
    ):
        refused = await house.send(method, path, body, token=token)
        assert (refused.status, keys(refused)) == (409, ["ServiceDisabled"]), (method, path)
    refused = await house.login("admin", PASSWORD)
    assert (refused.status, keys(refused)) == (409, ["ServiceDisabled"])
    # Open sessions and HTTP Basic go on, as the schema says.
    assert (await house.send("GET", uri, token=token)).status == 200
    assert (await house.send("GET", uri, authorization=header)).status == 200
    response = await house.send(
        "PATCH", ACCOUNT_SERVICE, {"ServiceEnabled": True}, authorization=header
    )
    assert response.status == 200
    assert (await house.login("admin", PASSWORD)).status == 201


async def test_roles_are_not_accounts_and_can_be_made_while_the_service_is_off(
    house: House,
) -> None:
    await change(house, OFF)
    body = {"RoleId": "Reader", "AssignedPrivileges": ["Login"]}
    assert (await house.send("POST", ROLES, body)).status == 201


@pytest.mark.parametrize(
    ("first", "uri", "second"),
    [(NO_BASIC, SESSION_SERVICE, OFF), (OFF, ACCOUNT_SERVICE, NO_BASIC)],
    ids=["basic first", "sessions first"],
)
async def test_nobody_can_shut_both_ways_to_log_in(
    house: House, first: dict[str, Any], uri: str, second: dict[str, Any]
) -> None:
    other = ACCOUNT_SERVICE if uri == SESSION_SERVICE else SESSION_SERVICE
    await house.token("admin")
    await change(house, first, other)
    refused = await house.send("PATCH", uri, second)
    assert (refused.status, keys(refused)) == (409, ["PropertyValueResourceConflict"])
    assert other.encode() in refused.body


async def test_nobody_can_shut_both_ways_one_after_the_other(house: House) -> None:
    await change(house, OFF)
    refused = await house.send("PATCH", ACCOUNT_SERVICE, NO_BASIC)
    assert (refused.status, keys(refused)) == (400, ["PropertyValueConflict"])


# -- AuthFailureLoggingThreshold -----------------------------------------------------------------


@pytest.mark.parametrize(("every", "logged"), [(1, 4), (2, 2), (3, 1), (0, 0)])
async def test_every_nth_failure_of_an_account_is_logged(
    house: House, caplog: pytest.LogCaptureFixture, every: int, logged: int
) -> None:
    await change(house, {"AuthFailureLoggingThreshold": every})
    await house.add("bob")
    caplog.clear()
    for _ in range(4):
        await house.login("bob", "wrong-password")
    lines = [
        each
        for each in caplog.records
        if each.name == "redfish_fm.audit" and each.levelno == logging.INFO
    ]
    assert len(lines) == logged
