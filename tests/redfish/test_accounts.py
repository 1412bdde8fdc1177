"""Accounts over the real writer: create, change, delete; whose sessions end; what stays secret."""

import asyncio
import json
import logging
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.redfish.accounts import ACCOUNTS
from redfish_fm.redfish.changes import Space
from redfish_fm.store.sqlite import SqliteStore
from tests.redfish.builders import FakeClock, keys, related
from tests.redfish.house import ADMIN, PASSWORD, SESSIONS, House, a_house, basic

NEW = {"UserName": "bob", "Password": "bobs-password_1.", "RoleId": "Operator"}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with a_house() as running:
        yield running


async def test_a_new_account_can_log_in_by_session_and_basic_at_once(house: House) -> None:
    response = await house.send("POST", ACCOUNTS, NEW)
    assert response.status == 201
    account = json.loads(response.body)
    assert account["@odata.id"] == response.headers["Location"]
    assert account["Id"] == account["@odata.id"].rsplit("/", 1)[-1]
    assert (account["UserName"], account["RoleId"]) == ("bob", "Operator")
    assert account["Password"] is None
    assert account["Enabled"] is True
    assert account["Locked"] is account["PasswordChangeRequired"] is False
    assert account["AccountTypes"] == ["Redfish"]
    assert account["Links"]["Role"]["@odata.id"].endswith("/Roles/Operator")
    assert (await house.login("bob", NEW["Password"])).status == 201
    assert (await house.login("bob", "wrong-password")).status == 401
    header = basic("bob", NEW["Password"])
    assert (await house.send("GET", SESSIONS, authorization=header)).status == 200
    collection = await house.get(ACCOUNTS)
    assert {"@odata.id": account["@odata.id"]} in collection["Members"]


async def test_members_takes_the_same_post_and_a_free_id_is_honoured(house: House) -> None:
    response = await house.send("POST", f"{ACCOUNTS}/Members", {**NEW, "Id": "bobs-own"})
    assert response.headers["Location"] == f"{ACCOUNTS}/bobs-own"


@pytest.mark.parametrize(
    ("change", "status", "told", "where"),
    [
        ({"UserName": "admin"}, 409, "ResourceAlreadyExists", "#/UserName"),
        ({"Id": "admin"}, 409, "ResourceAlreadyExists", "#/Id"),
        ({"UserName": "a:b"}, 400, "PropertyValueFormatError", "#/UserName"),
        ({"UserName": "a b"}, 400, "PropertyValueFormatError", "#/UserName"),
        ({"UserName": "x" * 65}, 400, "PropertyValueFormatError", "#/UserName"),
        ({"UserName": None}, 400, "PropertyMissing", "#/UserName"),
        ({"Password": "7 chars"}, 400, "PropertyValueError", "#/Password"),
        ({"Password": "x" * 129}, 400, "PropertyValueError", "#/Password"),
        ({"Password": None}, 400, "PropertyMissing", "#/Password"),
        ({"Password": 123456789}, 400, "PropertyValueTypeError", "#/Password"),
        ({"RoleId": "Nobody"}, 400, "PropertyValueNotInList", "#/RoleId"),
        ({"RoleId": "../Accounts/admin"}, 400, "PropertyValueNotInList", "#/RoleId"),
        ({"Locked": True}, 400, "PropertyValueNotInList", "#/Locked"),
        ({"AccountTypes": ["IPMI"]}, 400, "PropertyValueNotInList", "#/AccountTypes/0"),
        ({"AccountTypes": []}, 400, "PropertyValueError", "#/AccountTypes"),
        ({"Bogus": 1}, 400, "PropertyUnknown", "#/Bogus"),
    ],
)
async def test_a_bad_account_is_refused_and_nothing_is_made(
    house: House, change: dict[str, Any], status: int, told: str, where: str
) -> None:
    response = await house.send("POST", ACCOUNTS, {**NEW, **change})
    assert response.status == status, response.body
    assert told in keys(response)
    assert where in related(response)
    assert b"123456789" not in response.body
    assert len((await house.get(ACCOUNTS))["Members"]) == 1
    assert set(house.kernel.published.state.spaces[Space.SECRET]) == {ADMIN}


@pytest.mark.parametrize("length", [8, 128])
async def test_passwords_of_the_extreme_lengths_work(house: House, length: int) -> None:
    password = "p" * length
    await house.add("bob", password=password)
    assert (await house.login("bob", password)).status == 201


async def test_every_fault_of_a_patch_is_told_and_nothing_is_applied(house: House) -> None:
    uri = await house.add("bob")
    before = await house.get(uri)
    body = {"Description": "x", "Password": "short", "Bogus": 1, "Id": "other", "Enabled": "no"}
    response = await house.send("PATCH", uri, body)
    assert response.status == 400
    assert set(related(response)) == {"#/Password", "#/Bogus", "#/Id", "#/Enabled"}
    assert await house.get(uri) == before
    assert (await house.login("bob", "first-password")).status == 201


async def test_a_rename_frees_the_old_name_and_takes_the_new_one(house: House) -> None:
    uri = await house.add("bob")
    assert (await house.send("PATCH", uri, {"UserName": "admin"})).status == 409
    response = await house.send(
        "PATCH", uri, {"UserName": "robert", "Name": "R", "Description": "d"}
    )
    assert response.status == 200
    assert (await house.login("bob", "first-password")).status == 401
    assert (await house.login("robert", "first-password")).status == 201
    assert (await house.send("POST", ACCOUNTS, NEW)).status == 201


async def test_the_same_values_again_change_nothing(house: House) -> None:
    uri = await house.add("bob")
    seq = house.kernel.published.seq
    response = await house.send("PATCH", uri, {"UserName": "bob", "Enabled": True})
    assert response.status == 200
    assert house.kernel.published.seq == seq


@pytest.mark.parametrize(
    "change",
    [{"Enabled": False}, {"RoleId": "Operator"}, None],
    ids=["disable", "demote", "delete"],
)
async def test_the_last_administrator_stays(house: House, change: dict[str, Any] | None) -> None:
    async def attempt() -> Any:
        if change is None:
            return await house.send("DELETE", ADMIN)
        return await house.send("PATCH", ADMIN, change)

    await house.add("off", "Administrator", Enabled=False)
    refused = await attempt()
    assert (refused.status, keys(refused)) == (409, ["LastAdministrator"])
    assert ADMIN.encode() in refused.body
    other = await house.add("second", "Administrator")
    assert (await attempt()).status in (200, 204)
    refused = await house.send("DELETE", other, user="second")
    assert (refused.status, keys(refused)) == (409, ["LastAdministrator"])


async def test_two_administrators_who_delete_each_other_leave_one(house: House) -> None:
    other = await house.add("second", "Administrator")
    await house.token("admin")
    await house.token("second")
    answers = await asyncio.gather(
        house.send("DELETE", other, user="admin"), house.send("DELETE", ADMIN, user="second")
    )
    assert sorted(answer.status for answer in answers) == [204, 409]


@pytest.mark.parametrize(
    ("change", "later"),
    [
        ({"Enabled": False}, 401),
        ({"Password": "second-password"}, 401),
        ({"UserName": "other"}, 401),
        (None, 401),
        ({"Description": "still the same"}, 200),
        ({"RoleId": "Operator"}, 200),
    ],
    ids=["disable", "password", "rename", "delete", "description", "role"],
)
async def test_what_ends_the_sessions_and_credentials_of_an_account(
    house: House, change: dict[str, Any] | None, later: int
) -> None:
    uri = await house.add("bob")
    login = await house.login("bob", "first-password")
    token, session = login.headers["X-Auth-Token"], login.headers["Location"]
    header = basic("bob", "first-password")
    assert (await house.send("GET", SESSIONS, authorization=header)).status == 200
    changed = await house.send("DELETE" if change is None else "PATCH", uri, change)
    assert changed.status in (200, 204)
    assert (await house.send("GET", SESSIONS, token=token)).status == later
    assert (await house.send("GET", SESSIONS, authorization=header)).status == later
    rows = {row.id for row in await house.store.sessions()}
    assert (session.rsplit("/", 1)[-1] in rows) is (later == 200)
    members = (await house.get(SESSIONS))["Members"]
    assert ({"@odata.id": session} in members) is (later == 200)


async def test_sessions_do_not_come_back_with_the_name_of_their_account(house: House) -> None:
    uri = await house.add("bob")
    token = (await house.login("bob", "first-password")).headers["X-Auth-Token"]
    await house.send("DELETE", uri)
    await house.add("bob")
    assert (await house.send("GET", SESSIONS, token=token)).status == 401
    uri = await house.add("eve")
    token = (await house.login("eve", "first-password")).headers["X-Auth-Token"]
    await house.send("PATCH", uri, {"Enabled": False})
    await house.send("PATCH", uri, {"Enabled": True})
    assert (await house.send("GET", SESSIONS, token=token)).status == 401


async def test_a_crash_before_the_rows_go_does_not_bring_sessions_back() -> None:
    async with a_house() as house:
        uri = await house.add("bob")
        gone = await house.add("eve")
        login = await house.login("bob", "first-password")
        await house.login("eve", "first-password")
        rows = {row.id: row for row in await house.store.sessions()}
        house.clock.time_s += 1
        await house.send("PATCH", uri, {"Password": "second-password"})
        await house.send("DELETE", gone)
        durable, clock = house.durable, house.clock
    durable.sessions.update(rows)
    async with a_house(durable, clock=clock, sweeping=True) as house:
        token = login.headers["X-Auth-Token"]
        assert (await house.send("GET", SESSIONS, token=token)).status == 401
        names = {row.user_name for row in house.identity.sessions.open_sessions()}
        assert names == {"admin"}


async def test_a_login_that_meets_a_change_of_password_opens_nothing(house: House) -> None:
    uri = await house.add("bob")
    put, changed = house.store.put_session, []

    async def put_slowly(row: Any) -> None:
        await put(row)
        if row.user_name == "bob" and not changed:
            changed.append(await house.send("PATCH", uri, {"Password": "second-password"}))

    house.store.put_session = put_slowly
    await house.token("admin")
    response = await house.login("bob", "first-password")
    assert (response.status, changed[0].status) == (401, 200)
    assert "X-Auth-Token" not in response.headers
    assert {row.user_name for row in await house.store.sessions()} == {"admin"}


async def test_pa_44_to_46_bad_properties_of_an_account(house: House) -> None:
    uri = await house.add("bob")
    response = await house.send("PATCH", uri, {"BogusProp": "x"})
    assert (response.status, keys(response)) == (400, ["PropertyUnknown"])
    assert b"BogusProp" in response.body
    response = await house.send("PATCH", uri, {"@odata.id": uri})
    assert (response.status, keys(response)) == (400, ["NoOperation"])


# -- own account ---------------------------------------------------------------------------------


async def test_a_user_may_change_the_own_password_and_nothing_else(house: House) -> None:
    uri, other = await house.add("bob"), await house.add("eve")
    for body in ({"RoleId": "Administrator"}, {"Password": "x" * 9, "Enabled": True}):
        response = await house.send("PATCH", uri, body, user="bob")
        assert (response.status, keys(response)) == (403, ["InsufficientPrivilege"])
    response = await house.send("PATCH", other, {"Password": "x" * 9}, user="bob")
    assert response.status == 403
    assert (await house.send("DELETE", uri, user="bob")).status == 403
    assert (await house.send("GET", uri, user="bob")).status == 200
    assert (await house.send("GET", other, user="bob")).status == 403
    response = await house.send("PATCH", uri, {"Password": "second-password"}, user="bob")
    assert response.status == 200
    assert (await house.login("bob", "second-password")).status == 201
    assert (await house.login("bob", "first-password")).status == 401


async def test_the_session_that_changes_the_own_password_goes_on_alone(house: House) -> None:
    uri = await house.add("bob")
    tokens = [
        (await house.login("bob", "first-password")).headers["X-Auth-Token"] for _ in range(3)
    ]
    response = await house.send("PATCH", uri, {"Password": "second-password"}, token=tokens[1])
    assert response.status == 200
    left = [(await house.send("GET", SESSIONS, token=each)).status for each in tokens]
    assert left == [401, 200, 401]
    await house.send("PATCH", uri, {"Password": "third-password"})
    assert (await house.send("GET", SESSIONS, token=tokens[1])).status == 401


async def test_a_rename_ends_also_the_session_that_asks_for_it(house: House) -> None:
    uri = await house.add("bob", "Administrator")
    token = await house.token("bob")
    body = {"Password": "second-password", "UserName": "robert"}
    assert (await house.send("PATCH", uri, body, token=token)).status == 200
    await house.add("bob", "Administrator")
    assert (await house.send("GET", SESSIONS, token=token)).status == 401


async def test_without_configure_self_the_own_password_stays(house: House) -> None:
    await house.add_role("LoginOnly", "Login")
    uri = await house.add("bob", "LoginOnly")
    response = await house.send("PATCH", uri, {"Password": "second-password"}, user="bob")
    assert response.status == 403


async def test_pv_79_a_due_password_change_comes_first(house: House) -> None:
    uri = await house.add("bob", "Administrator", PasswordChangeRequired=True)
    login = await house.login("bob", "first-password")
    assert login.status == 201
    told = json.loads(login.body)["@Message.ExtendedInfo"]
    assert told[0]["MessageId"].endswith(".PasswordChangeRequired")
    assert told[0]["MessageArgs"] == [uri]
    token = login.headers["X-Auth-Token"]
    attempts = [
        ("GET", SESSIONS, None),
        ("GET", ADMIN, None),
        ("GET", login.headers["Location"], None),
        ("DELETE", login.headers["Location"], None),
        ("POST", ACCOUNTS, NEW),
        ("DELETE", uri, None),
        ("PATCH", ADMIN, {"Password": "x" * 9}),
        ("PATCH", uri, {"PasswordChangeRequired": False}),
        ("PATCH", uri, {"Password": "x" * 9, "RoleId": "Administrator"}),
    ]
    for method, path, body in attempts:
        response = await house.send(method, path, body, token=token)
        assert (response.status, keys(response)) == (403, ["PasswordChangeRequired"]), path
    assert (await house.get(uri, token=token))["PasswordChangeRequired"] is True
    response = await house.send("PATCH", uri, {"Password": "second-password"}, token=token)
    assert response.status == 200
    assert json.loads(response.body)["PasswordChangeRequired"] is False
    assert (await house.send("GET", SESSIONS, token=token)).status == 200
    header = basic("bob", "second-password")
    assert (await house.send("GET", SESSIONS, authorization=header)).status == 200


@pytest.mark.parametrize("due", [True, False])
async def test_a_password_set_by_an_administrator_is_due_only_if_it_says_so(
    house: House, due: bool
) -> None:
    uri = await house.add("bob", PasswordChangeRequired=True)
    body: dict[str, Any] = {"Password": "second-password"}
    if due:
        body["PasswordChangeRequired"] = True
    await house.send("PATCH", uri, body)
    assert (await house.get(uri))["PasswordChangeRequired"] is due


async def test_a_due_password_change_needs_another_password(house: House) -> None:
    uri = await house.add("bob", PasswordChangeRequired=True)
    header = basic("bob", "first-password")
    refused = await house.send("PATCH", uri, {"Password": "first-password"}, authorization=header)
    assert (refused.status, keys(refused)) == (400, ["PasswordReuseTooRecent"])
    assert (await house.get(uri))["PasswordChangeRequired"] is True


async def test_pv_78_another_user_may_not_touch_an_account(house: House) -> None:
    uri = await house.add("bob")
    await house.add("eve")
    response = await house.send("PATCH", uri, {"Password": "second-password"}, user="eve")
    assert response.status == 403


# -- secrets -------------------------------------------------------------------------------------


async def test_no_password_is_ever_written_down(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    clock = FakeClock()
    store = SqliteStore(tmp_path / "state", "test", clock)
    secret = ["first-s3cret", "second-s3cret", "mistyped-s3cret", "short3"]
    async with a_house(store=store, clock=clock) as house:
        uri = await house.add("bob", password=secret[0])
        answers = [
            await house.login("bob", secret[0]),
            await house.login("bob", secret[2]),
            await house.send("GET", SESSIONS, authorization=basic("bob", secret[2])),
            await house.send("PATCH", uri, {"Password": secret[1]}, idempotency_key="k"),
            await house.send("PATCH", uri, {"Password": secret[3]}),
            await house.send("PATCH", uri, {"Password": [secret[1]]}),
            await house.send("POST", ACCOUNTS, {**NEW, "Password": {"x": secret[2]}}),
            await house.send("POST", SESSIONS, {"UserName": "b", "Password": [secret[2]]}),
            await house.send("GET", uri),
        ]
        feed = [repr(record).encode() async for record in house.store.follow(0)]
    written = b"".join(path.read_bytes() for path in (tmp_path / "state").iterdir())
    shown = b"".join(answer.body + repr(answer.headers).encode() for answer in answers)
    assert b"bob" in written
    for each in secret:
        encoded = each.encode()
        assert encoded not in written
        assert encoded not in shown
        assert encoded not in b"".join(feed)
        assert each not in caplog.text
    assert answers[3].status == 200


async def test_hashes_stand_in_the_secrets_table_only(tmp_path: Path) -> None:
    clock = FakeClock()
    store = SqliteStore(tmp_path / "state", "test", clock)
    async with a_house(store=store, clock=clock) as house:
        uri = await house.add("bob")
        await house.send("PATCH", uri, {"Password": "second-password"})
        await house.send("DELETE", await house.add("eve"))
    with sqlite3.connect(tmp_path / "state" / "state.db") as db:
        assert {key for (key,) in db.execute("SELECT key FROM secrets")} == {ADMIN, uri}
        others = db.execute("SELECT value FROM documents UNION ALL SELECT entries FROM feed")
        assert not any(b"scrypt" in bytes(value) for (value,) in others)
    db.close()


async def test_every_write_is_told_to_the_audit_log(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "redfish_fm.audit")
    uri = await house.add("bob")
    await house.send("PATCH", uri, {"RoleId": "Nobody"})
    await house.login("bob", "wrong-password")
    lines = [record.getMessage() for record in caplog.records if record.name.endswith("audit")]
    assert lines == [
        f"POST '{ACCOUNTS}' by 'admin' from 192.0.2.1: 201",
        f"PATCH '{uri}' by 'admin' from 192.0.2.1: 400",
        f"POST '{SESSIONS}', failed login as 'bob' from 192.0.2.1: 401",
    ]


async def test_the_feed_tells_of_accounts_without_their_secrets(house: House) -> None:
    await house.add("bob")
    records = [record async for record in house.store.follow(1)]
    assert [record.actor for record in records] == ["admin"]
    assert all(b"scrypt" not in (entry.post or b"") for entry in records[0].entries)


async def test_accounts_survive_a_restart_with_their_passwords() -> None:
    async with a_house() as house:
        await house.add("bob", "Operator")
        durable = house.durable
    async with a_house(durable) as house:
        assert (await house.login("bob", "first-password")).status == 201
        assert (await house.login("admin", PASSWORD)).status == 201
