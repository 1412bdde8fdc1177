"""Idempotency-Key over Service.handle: the header, what a repeat is answered, what wins."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from redfish_fm.redfish.accounts import ACCOUNTS
from redfish_fm.redfish.changes import Space
from redfish_fm.redfish.roles import ROLES
from tests.redfish.builders import keys
from tests.redfish.house import ADMIN, PASSWORD, SESSIONS, House, a_house, basic

ROLE = {"RoleId": "Viewer", "AssignedPrivileges": ["Login"]}
NEW = {"UserName": "bob", "Password": "first-password", "RoleId": "ReadOnly"}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with a_house() as running:
        yield running


async def test_a_repeated_post_has_the_same_status_location_and_current_body(house: House) -> None:
    first = await house.send("POST", ROLES, ROLE, idempotency_key="k")
    again = await house.send("POST", ROLES, ROLE, idempotency_key="k")
    assert (again.status, again.headers, again.body) == (201, first.headers, first.body)
    await house.send("PATCH", f"{ROLES}/Viewer", {"Description": "changed since"})
    again = await house.send("POST", ROLES, ROLE, idempotency_key="k")
    assert (again.status, again.headers["Location"]) == (201, f"{ROLES}/Viewer")
    assert json.loads(again.body)["Description"] == "changed since"
    without = await house.send("POST", ROLES, ROLE)
    assert without.status == 409


async def test_a_repeated_patch_is_not_stale_and_a_repeated_delete_not_missing(
    house: House,
) -> None:
    uri = await house.add_role("Viewer", "Login")
    tag = await house.etag(uri)
    patch = {"if_match": tag, "idempotency_key": "p"}
    delete = {"if_match": "*", "idempotency_key": "d"}
    assert (await house.send("PATCH", uri, {"Name": "n"}, **patch)).status == 200
    again = await house.send("PATCH", uri, {"Name": "n"}, **patch)
    assert (again.status, json.loads(again.body)["Name"]) == (200, "n")
    assert (await house.send("DELETE", uri, **delete)).status == 204
    assert (await house.send("DELETE", uri, **delete)).status == 204
    assert (await house.send("PATCH", uri, {"Name": "n"}, **patch)).status == 204
    assert (await house.send("DELETE", uri)).status == 404


@pytest.mark.parametrize("value", ["", " ", "two words", "x" * 256, "k\u00e9", "a,\tb"])
async def test_a_value_that_is_no_key_is_refused(house: House, value: str) -> None:
    response = await house.send("POST", ROLES, ROLE, idempotency_key=value)
    assert (response.status, keys(response)) == (400, ["HeaderInvalid"])
    assert (await house.send("GET", f"{ROLES}/Viewer")).status == 404
    assert (await house.send("GET", ROLES, idempotency_key=value)).status == 200


@pytest.mark.parametrize("value", ["x" * 255, '"8e03978e-40d5-43dd-bc93-6894a57f9324"', "~!"])
async def test_every_visible_character_may_stand_in_a_key(house: House, value: str) -> None:
    for _ in range(2):
        response = await house.send("POST", ROLES, ROLE, idempotency_key=value)
        assert response.status == 201


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", ROLES, {**ROLE, "Description": "another"}),
        ("POST", f"{ROLES}/Members", ROLE),
        ("PATCH", f"{ROLES}/Viewer", ROLE),
        ("DELETE", f"{ROLES}/Viewer", None),
    ],
)
async def test_a_key_stands_for_one_request(
    house: House, method: str, path: str, body: object
) -> None:
    await house.send("POST", ROLES, ROLE, idempotency_key="k")
    response = await house.send(method, path, body, idempotency_key="k")
    assert (response.status, keys(response)) == (422, ["HeaderInvalid"])
    assert (await house.send("GET", f"{ROLES}/Viewer")).status == 200


async def test_a_key_belongs_to_one_account(house: House) -> None:
    await house.add("second", "Administrator")
    await house.send("POST", ROLES, ROLE, idempotency_key="k")
    response = await house.send("POST", ROLES, ROLE, user="second", idempotency_key="k")
    assert response.status == 409


async def test_a_refusal_is_judged_anew(house: House) -> None:
    body = {"UserName": "eve", "Password": "first-password", "RoleId": "Viewer"}
    response = await house.send("POST", ACCOUNTS, body, idempotency_key="k")
    assert response.status == 400
    await house.add_role("Viewer", "Login")
    assert (await house.send("POST", ACCOUNTS, body, idempotency_key="k")).status == 201


async def test_of_the_same_post_at_once_one_is_done_and_all_are_told(house: House) -> None:
    await house.token("admin")
    answers = await asyncio.gather(
        *(house.send("POST", ACCOUNTS, NEW, idempotency_key="k") for _ in range(4))
    )
    assert {answer.status for answer in answers} == {201}
    assert len({answer.headers["Location"] for answer in answers}) == 1
    assert len((await house.get(ACCOUNTS))["Members"]) == 2


async def test_another_password_is_another_request_and_none_is_stored(house: House) -> None:
    await house.send("POST", ACCOUNTS, NEW, idempotency_key="k")
    assert (await house.send("POST", ACCOUNTS, NEW, idempotency_key="k")).status == 201
    other = {**NEW, "Password": "other-password"}
    assert (await house.send("POST", ACCOUNTS, other, idempotency_key="k")).status == 422
    (record,) = house.kernel.published.state.spaces[Space.ANSWER].values()
    assert b"scrypt$" in record


async def test_who_lost_the_privilege_is_not_told_again(house: House) -> None:
    uri = await house.add("second", "Administrator")
    await house.send("POST", ROLES, ROLE, user="second", idempotency_key="k")
    await house.send("PATCH", uri, {"RoleId": "ReadOnly"})
    response = await house.send("POST", ROLES, ROLE, user="second", idempotency_key="k")
    assert (response.status, keys(response)) == (403, ["InsufficientPrivilege"])
    await house.send("PATCH", uri, {"RoleId": "Administrator", "PasswordChangeRequired": True})
    response = await house.send("POST", ROLES, ROLE, user="second", idempotency_key="k")
    assert (response.status, keys(response)) == (403, ["PasswordChangeRequired"])


async def test_a_deleted_account_leaves_no_records(house: House) -> None:
    uri = await house.add("second", "Administrator")
    await house.send("POST", ROLES, ROLE, user="second", idempotency_key="k")
    await house.send("POST", ROLES, {**ROLE, "RoleId": "B"}, idempotency_key="k")
    await house.send("DELETE", uri, user="second", idempotency_key="last")
    assert set(house.kernel.published.state.spaces[Space.ANSWER]) == {f"{ADMIN} k"}


async def test_a_login_is_never_repeated(house: House) -> None:
    body = {"UserName": "admin", "Password": PASSWORD}
    answers = [
        await house.send("POST", SESSIONS, body, user=None, idempotency_key="k") for _ in range(2)
    ]
    assert {answer.status for answer in answers} == {201}
    assert answers[0].headers["X-Auth-Token"] != answers[1].headers["X-Auth-Token"]


async def test_a_repeat_after_a_restart_is_answered_from_the_store() -> None:
    async with a_house() as house:
        first = await house.send("POST", ROLES, ROLE, idempotency_key="k")
        durable = house.durable
    async with a_house(durable) as house:
        header = basic("admin", PASSWORD)
        again = await house.send("POST", ROLES, ROLE, authorization=header, idempotency_key="k")
        assert (again.status, again.body) == (first.status, first.body)
