"""Credentials, sessions, accounts: who gets in, for how long, and what a change does."""

import base64
import json

import pytest

from redfish_fm.redfish import accounts as accounts_module
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.passwords import hash_password, verify_password
from redfish_fm.redfish.view import Origin
from tests.redfish.builders import SESSIONS, ZONE, ZONES, Bench, Row, keys

LOGIN = {"UserName": "admin", "Password": "admin-password"}
ACCOUNTS = "/redfish/v1/AccountService/Accounts"


@pytest.fixture
def bench() -> Bench:
    return Bench()


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize("path", [SESSIONS, f"{SESSIONS}/", f"{SESSIONS}/Members"])
async def test_a_login_gives_a_token_that_opens_until_logout(bench: Bench, path: str) -> None:
    response = await bench.send("POST", path, LOGIN, user=None)
    assert response.status == 201
    token, location = response.headers["X-Auth-Token"], response.headers["Location"]
    session = json.loads(response.body)
    assert session["@odata.id"] == location
    assert session["UserName"] == "admin"
    assert session["Password"] is None
    assert int(token, 16).bit_length() > 200
    assert token.encode() not in response.body
    assert "Set-Cookie" not in response.headers
    assert (await bench.send("GET", ZONE, user=None, x_auth_token=token)).status == 200
    assert (await bench.send("GET", location, user=None, x_auth_token=token)).status == 200
    assert (await bench.send("DELETE", location, user=None, x_auth_token=token)).status == 204
    assert (await bench.send("GET", ZONE, user=None, x_auth_token=token)).status == 401
    assert bench.store.rows == {}


async def test_two_logins_are_two_sessions(bench: Bench) -> None:
    first, second = [await bench.send("POST", SESSIONS, LOGIN, user=None) for _ in range(2)]
    assert first.headers["Location"] != second.headers["Location"]
    collection = json.loads((await bench.send("GET", SESSIONS)).body)
    assert collection["Members@odata.count"] == len(collection["Members"]) == 3


async def test_only_the_digest_of_a_token_is_stored(bench: Bench) -> None:
    token = await bench.token()
    assert token not in str(bench.store.rows)


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"UserName": "admin", "Password": "wrong"}, 401, ["AccessUnauthorized"]),
        ({"UserName": "nobody", "Password": "admin-password"}, 401, ["AccessUnauthorized"]),
        ({"UserName": "admin"}, 400, ["PropertyMissing"]),
        ({"UserName": "admin", "Password": None}, 400, ["PropertyMissing"]),
        ({"UserName": "admin", "Password": 5}, 400, ["PropertyValueTypeError"]),
        ({**LOGIN, "Bogus": 1}, 400, ["PropertyUnknown"]),
        (b"{", 400, ["MalformedJSON"]),
    ],
)
async def test_bad_logins_open_nothing(
    bench: Bench, body: object, status: int, told: list[str]
) -> None:
    response = await bench.send("POST", SESSIONS, body, user=None)
    assert (response.status, keys(response)) == (status, told)
    assert "X-Auth-Token" not in response.headers
    assert bench.store.rows == {}


async def test_a_refusal_repeats_no_secret(bench: Bench) -> None:
    body = {"UserName": "admin", "Password": "s3cret-s3cret"}
    response = await bench.send("POST", SESSIONS, body, user=None)
    assert b"s3cret" not in response.body
    response = await bench.send("GET", ZONE, user=None, x_auth_token="t0ken")
    assert b"t0ken" not in response.body


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (basic("admin", "admin-password"), 200),
        (basic("admin", "wrong"), 401),
        (basic("nobody", "x"), 401),
        ("Basic !!!", 401),
        ("Basic " + base64.b64encode(b"nocolon").decode(), 401),
        ("Basic " + base64.b64encode(b"\xff:\xff").decode(), 401),
        ("Bearer abc", 401),
        ("", 401),
        ("basic \u00e9", 401),
    ],
)
async def test_basic_credentials(bench: Bench, header: str, status: int) -> None:
    response = await bench.send("GET", SESSIONS, user=None, authorization=header)
    assert response.status == status
    assert bench.store.rows == {}


async def test_a_bad_token_is_not_saved_by_good_basic(bench: Bench) -> None:
    good = basic("admin", "admin-password")
    response = await bench.send("GET", ZONE, user=None, authorization=good, x_auth_token="x")
    assert response.status == 401


async def test_a_session_dies_of_idleness_and_lives_by_use(bench: Bench) -> None:
    token = await bench.token()
    for _ in range(3):
        bench.clock.time_s += 29
        assert (await bench.send("GET", ZONE, user=None, x_auth_token=token)).status == 200
    bench.clock.time_s += 31
    assert (await bench.send("GET", ZONE, user=None, x_auth_token=token)).status == 401
    other = await bench.token()
    assert len(bench.store.rows) == 1
    listed = await bench.send("GET", SESSIONS, user=None, x_auth_token=other)
    assert json.loads(listed.body)["Members@odata.count"] == 1


async def test_the_limit_of_sessions_is_503_and_frees_itself() -> None:
    bench = Bench(limit=2)
    for _ in range(2):
        token = await bench.token()
    response = await bench.send("POST", SESSIONS, LOGIN, user=None)
    assert (response.status, keys(response)) == (503, ["SessionLimitExceeded"])
    assert (await bench.send("GET", ZONE, user=None, x_auth_token=token)).status == 200
    good = basic("admin", "admin-password")
    assert (await bench.send("GET", ZONE, user=None, authorization=good)).status == 200
    bench.clock.time_s += 31
    assert (await bench.send("POST", SESSIONS, LOGIN, user=None)).status == 201


async def test_sessions_survive_a_restart(bench: Bench) -> None:
    token = await bench.token()
    again = Bench()
    again.store.rows = bench.store.rows
    await again.sessions.load()
    assert (await again.send("GET", ZONE, user=None, x_auth_token=token)).status == 200


async def test_sessions_of_others_are_closed_to_all_but_managers(bench: Bench) -> None:
    _token, row = await bench.sessions.create("admin", "")
    uri = f"{SESSIONS}/{row.id}"
    assert (await bench.send("DELETE", uri, user="op")).status == 403
    assert (await bench.send("GET", uri, user="ro")).status == 403
    assert (await bench.send("GET", uri)).status == 200
    token, own = await bench.sessions.create("ro", "")
    uri = f"{SESSIONS}/{own.id}"
    assert (await bench.send("DELETE", uri, user=None, x_auth_token=token)).status == 204
    assert (await bench.send("GET", f"{SESSIONS}/none")).status == 404


async def test_roles_decide(bench: Bench) -> None:
    for user, status in (("admin", 201), ("op", 201), ("ro", 403)):
        assert (await bench.send("POST", ZONES, {"Name": "x"}, user=user)).status == status
        assert (await bench.send("GET", ZONE, user=user)).status == 200
    assert (await bench.send("GET", f"{ACCOUNTS}/admin", user="ro")).status == 403
    assert (await bench.send("GET", f"{ACCOUNTS}/ro", user="ro")).status == 200


async def test_a_new_role_holds_at_once_for_open_sessions(bench: Bench) -> None:
    token = await bench.token("op")
    body = {"Name": "x"}
    assert (await bench.send("POST", ZONES, body, user=None, x_auth_token=token)).status == 201
    bench.add_user("op", "ReadOnly")
    assert (await bench.send("POST", ZONES, body, user=None, x_auth_token=token)).status == 403


async def test_what_stands_above_a_resource_decides_each_time(bench: Bench) -> None:
    for place in ("Systems/H", "Managers/M", "Systems/H"):
        uri = f"/redfish/v1/{place}/Certificates/1"
        bench.view.put(uri, "Certificate", Origin.INVENTORY)
        # GET needs ConfigureManager, but ConfigureComponents below a ComputerSystem.
        below_system = place.startswith("Systems")
        assert (await bench.send("GET", uri, user="op")).status == (200 if below_system else 403)


async def test_a_session_ends_with_its_account(bench: Bench) -> None:
    token = await bench.token("op")
    uri = f"{ACCOUNTS}/op"
    raw = json.dumps({"@odata.type": "#ManagerAccount.v1.ManagerAccount", "UserName": "op",
                      "RoleId": "Operator", "Enabled": False}).encode()  # fmt: skip
    bench.accounts.apply([Edit(Space.DOCUMENT, uri, b"", raw)])
    assert (await bench.send("GET", ZONE, user=None, x_auth_token=token)).status == 401
    login = {"UserName": "op", "Password": "op-password"}
    assert (await bench.send("POST", SESSIONS, login, user=None)).status == 401
    bench.accounts.apply([Edit(Space.DOCUMENT, uri, raw, None)])
    assert bench.accounts.find("op") is None
    assert (await bench.send("GET", ZONE, user=None, x_auth_token=token)).status == 401


async def test_a_password_that_must_be_changed_opens_only_its_own_account(bench: Bench) -> None:
    uri = bench.add_user("new", "Administrator", PasswordChangeRequired=True)
    login = {"UserName": "new", "Password": "admin-password"}
    response = await bench.send("POST", SESSIONS, login, user=None)
    document = json.loads(response.body)
    assert response.status == 201
    assert document["@Message.ExtendedInfo"][0]["MessageId"].endswith(".PasswordChangeRequired")
    assert document["@Message.ExtendedInfo"][0]["MessageArgs"] == [uri]
    refused = await bench.send("GET", ZONE, user="new")
    assert (refused.status, keys(refused)) == (403, ["PasswordChangeRequired"])
    assert (await bench.send("GET", uri, user="new")).status == 200


async def opens(bench: Bench, user_name: str, password: str) -> bool:
    return (await bench.accounts.verify(user_name, password)).account is not None


async def test_verified_credentials_are_remembered_until_the_secret_changes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[bytes] = []

    def counted(password: str, secret: bytes) -> bool:
        hashed.append(secret)
        return verify_password(password, secret)

    monkeypatch.setattr(accounts_module, "verify_password", counted)
    for _ in range(3):
        assert await opens(bench, "admin", "admin-password")
    assert len(hashed) == 1
    assert not await opens(bench, "admin", "other")
    assert not await opens(bench, "nobody", "other")
    assert len(hashed) == 3
    new = hash_password("new-password")
    bench.accounts.apply([Edit(Space.SECRET, f"{ACCOUNTS}/admin", b"", new)])
    assert not await opens(bench, "admin", "admin-password")
    assert await opens(bench, "admin", "new-password")


async def test_a_locked_account_is_refused_although_its_password_is_remembered(
    bench: Bench,
) -> None:
    assert await opens(bench, "admin", "admin-password")
    bench.add_user("admin", "Administrator", Locked=True)
    assert not await opens(bench, "admin", "admin-password")


async def test_accounts_come_back_from_the_store() -> None:
    bench = Bench()
    uri = f"{ACCOUNTS}/x"
    raw = b'{"@odata.type":"#ManagerAccount.v1.ManagerAccount","UserName":"x","RoleId":"ReadOnly"}'
    accounts = accounts_module.Accounts()
    accounts.load({Space.SECRET: {uri: hash_password("pw")}, Space.DOCUMENT: {uri: raw}})
    found = (await accounts.verify("x", "pw")).account
    assert found is not None
    assert (found.uri, found.role_id) == (uri, "ReadOnly")
    assert bench.accounts.find("x") is None


def test_a_secret_that_can_not_be_read_matches_nothing() -> None:
    for secret in (b"", b"x", b"\xff", b"md5$1$1$1$00$00", b"scrypt$14$8$1$zz$00"):
        assert verify_password("", secret) is False


async def test_ending_all_sessions_of_a_user_leaves_the_others(bench: Bench) -> None:
    kept = await bench.token("admin")
    gone = await bench.token("op")
    bench.sessions.end_all_of("op")
    assert bench.sessions.authenticate(gone) is None
    assert isinstance(bench.sessions.authenticate(kept), Row)
