"""Roles over the real writer: custom ones come, change and go, and count at once."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from redfish_fm.redfish.accounts import ACCOUNTS
from redfish_fm.redfish.roles import ROLES
from tests.redfish.builders import CATALOG, keys, related
from tests.redfish.house import SESSION_SERVICE, SESSIONS, House, a_house

PREDEFINED = {
    "Administrator": {
        "Login", "ConfigureManager", "ConfigureUsers", "ConfigureComponents", "ConfigureSelf",
    },
    "Operator": {"Login", "ConfigureComponents", "ConfigureSelf"},
    "ReadOnly": {"Login", "ConfigureSelf"},
}  # fmt: skip
TIMEOUT = {"SessionTimeout": 60}
"""A PATCH of the session service takes ConfigureManager."""


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with a_house() as running:
        yield running


@pytest.mark.parametrize("role_id", PREDEFINED)
async def test_pv_75_the_predefined_roles_have_exactly_their_privileges(
    house: House, role_id: str
) -> None:
    role = await house.get(f"{ROLES}/{role_id}")
    assert set(role["AssignedPrivileges"]) == PREDEFINED[role_id]
    assert role["Id"] == role["RoleId"] == role_id
    assert role["IsPredefined"] is True


@pytest.mark.parametrize("role_id", PREDEFINED)
async def test_pv_76_a_predefined_role_takes_no_change(house: House, role_id: str) -> None:
    before = await house.get(f"{ROLES}/{role_id}")
    body = {"AssignedPrivileges": ["Login", "ConfigureManager"]}
    assert (await house.send("PATCH", f"{ROLES}/{role_id}", body)).status == 405
    assert (await house.send("DELETE", f"{ROLES}/{role_id}")).status in (405, 409)
    assert await house.get(f"{ROLES}/{role_id}") == before


async def test_a_custom_role_is_made_and_served(house: House) -> None:
    body = {"RoleId": "Viewer", "AssignedPrivileges": ["Login", "ConfigureSelf", "Login"]}
    response = await house.send("POST", ROLES, body)
    assert (response.status, response.headers["Location"]) == (201, f"{ROLES}/Viewer")
    role = json.loads(response.body)
    assert role["Id"] == role["RoleId"] == "Viewer"
    assert role["IsPredefined"] is False
    assert role["AssignedPrivileges"] == ["Login", "ConfigureSelf"]
    members = (await house.get(ROLES))["Members"]
    assert len(members) == len(PREDEFINED) + 1


@pytest.mark.parametrize(
    ("change", "status", "told", "where"),
    [
        ({"AssignedPrivileges": ["Fly"]}, 400, "PropertyValueNotInList", "#/AssignedPrivileges/0"),
        (
            {"AssignedPrivileges": ["Login", "NoAuth"]},
            400, "PropertyValueNotInList", "#/AssignedPrivileges/1",
        ),
        ({"AssignedPrivileges": None}, 400, "PropertyMissing", "#/AssignedPrivileges"),
        ({"RoleId": None}, 400, "PropertyMissing", "#/RoleId"),
        ({"RoleId": "a/b"}, 400, "PropertyValueFormatError", "#/Id"),
        ({"RoleId": "A", "Id": "B"}, 400, "PropertyValueConflict", "#/Id"),
        ({"RoleId": "Operator"}, 409, "ResourceAlreadyExists", "#/RoleId"),
        ({"IsPredefined": True}, 400, "PropertyNotWritable", "#/IsPredefined"),
    ],
)  # fmt: skip
async def test_a_bad_role_is_refused_and_nothing_is_made(
    house: House, change: dict[str, Any], status: int, told: str, where: str
) -> None:
    body = {"RoleId": "Viewer", "AssignedPrivileges": ["Login"], **change}
    response = await house.send("POST", ROLES, body)
    assert response.status == status, response.body
    assert told in keys(response)
    assert where in related(response)
    assert len((await house.get(ROLES))["Members"]) == len(PREDEFINED)


async def test_a_changed_role_counts_at_once_for_open_sessions(house: House) -> None:
    uri = await house.add_role("Keeper", "Login")
    await house.add("bob", "Keeper")
    token = await house.token("bob")
    assert (await house.send("PATCH", SESSION_SERVICE, TIMEOUT, token=token)).status == 403
    body = {"AssignedPrivileges": ["Login", "ConfigureManager"]}
    assert (await house.send("PATCH", uri, body)).status == 200
    assert (await house.send("PATCH", SESSION_SERVICE, TIMEOUT, token=token)).status == 200
    assert (await house.send("PATCH", uri, {"AssignedPrivileges": [{}, None]})).status == 200
    assert (await house.get(uri))["AssignedPrivileges"] == ["Login"]
    response = await house.send("PATCH", SESSION_SERVICE, {"SessionTimeout": 90}, token=token)
    assert (response.status, keys(response)) == (403, ["InsufficientPrivilege"])


async def test_another_role_counts_at_once_for_open_sessions(house: House) -> None:
    uri = await house.add("bob", "ReadOnly")
    token = await house.token("bob")
    body = {"UserName": "eve", "Password": "x" * 9, "RoleId": "ReadOnly"}
    assert (await house.send("POST", ACCOUNTS, body, token=token)).status == 403
    await house.send("PATCH", uri, {"RoleId": "Administrator"})
    assert (await house.send("POST", ACCOUNTS, body, token=token)).status == 201
    await house.send("PATCH", uri, {"RoleId": "ReadOnly"})
    body["UserName"] = "mallory"
    assert (await house.send("POST", ACCOUNTS, body, token=token)).status == 403
    links = (await house.get(uri))["Links"]
    assert links["Role"]["@odata.id"] == f"{ROLES}/ReadOnly"


async def test_a_role_in_use_stays_and_the_answer_names_an_account(house: House) -> None:
    role = await house.add_role("Viewer", "Login")
    account = await house.add("bob", "Viewer")
    response = await house.send("DELETE", role)
    assert (response.status, keys(response)) == (409, ["RoleInUse"])
    assert account.encode() in response.body
    await house.send("PATCH", account, {"RoleId": "ReadOnly"})
    assert (await house.send("DELETE", role)).status == 204
    response = await house.send("PATCH", account, {"RoleId": "Viewer"})
    assert (response.status, related(response)) == (400, ["#/RoleId"])


async def test_nobody_without_configure_manager_makes_roles(house: House) -> None:
    await house.add("op", "Operator")
    body = {"RoleId": "Mine", "AssignedPrivileges": ["Login", "ConfigureUsers"]}
    assert (await house.send("POST", ROLES, body, user="op")).status == 403


async def test_roles_survive_a_restart_and_still_count() -> None:
    async with a_house() as house:
        await house.add_role("Keeper", "Login", "ConfigureManager")
        await house.add("bob", "Keeper")
        durable = house.durable
    async with a_house(durable) as house:
        assert (await house.send("PATCH", SESSION_SERVICE, TIMEOUT, user="bob")).status == 200
        assert (await house.send("GET", SESSIONS, user="bob")).status == 200


def test_the_table_of_roles_is_the_standard_s() -> None:
    assert {name: set(found) for name, found in CATALOG.roles.items()} == PREDEFINED
