"""Cases SESSION of shared/cases.jsonl, and which tokens and accounts are not let in."""

import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from redfish_fm.redfish.policy import ACCOUNT_SERVICE
from redfish_fm.redfish.roles import ROLES
from redfish_fm.server.http import HttpServer
from redfish_fm.server.listener import bind, listen
from tests.cases.stack import ROOT, Stack, a_stack
from tests.redfish.builders import keys, related
from tests.redfish.house import (
    ACCOUNTS,
    FIRST,
    PASSWORD,
    SESSION_SERVICE,
    SESSIONS,
    House,
    a_house,
    basic,
)
from tests.server.wire import Client, Served, get
from tests.virtual_time import in_virtual_time

SYSTEMS = "/redfish/v1/Systems"
FABRIC = f"{ROOT}/Fabrics/PCIe"
ZONES = f"{FABRIC}/Zones"
ADMIN_BASIC = basic("admin", PASSWORD)
IDLE_S = 30


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
    for _ in range(3):
        # Activity renews the timer.
        house.clock.time_s += IDLE_S - 1
        assert (await house.send("GET", SYSTEMS, token=token)).status == 200
    house.clock.time_s += IDLE_S + 1
    response = await house.send("GET", SYSTEMS, token=token)
    assert (response.status, keys(response)) == (401, ["NoValidSession"])
    assert (await house.send("DELETE", location, token=token)).status in (401, 404)


async def test_se_06_the_refusal_is_whole_on_a_connection_that_goes_on(house: House) -> None:
    login = await house.login("admin", PASSWORD)
    header, uri = f"X-Auth-Token: {login.headers['X-Auth-Token']}", login.headers["Location"]
    async with connected(house) as client:
        assert (await client.ask(get(SYSTEMS, header))).status == 200
        house.clock.time_s += IDLE_S + 1
        for request in (
            get(SYSTEMS, header),
            get(uri, header, "Content-Length: 0", method="DELETE"),
        ):
            refused = await client.ask(request)
            assert refused.status == 401
            assert int(refused.headers["Content-Length"]) == len(refused.body)
            assert refused.json()["error"]["@Message.ExtendedInfo"]
            assert refused.headers.get("Connection", "keep-alive").lower() != "close"
        assert (await client.ask(get(ROOT))).status == 200


@contextlib.asynccontextmanager
async def connected(house: House) -> AsyncIterator[Client]:
    """Give one connection to a house behind the real server."""
    server = HttpServer(house.service.handle, house.service.transport_error)
    listener = await listen(server, await bind("127.0.0.1", 0, plain=True), None)
    served = Served(server, listener)
    try:
        yield await served.connect()
    finally:
        await served.stop()


@pytest.mark.parametrize("timeout_s", [20, 29, 86401, -1])
async def test_se_06_a_timeout_out_of_range_is_refused(house: House, timeout_s: int) -> None:
    body = {"SessionTimeout": timeout_s}
    response = await house.send("PATCH", SESSION_SERVICE, body, authorization=ADMIN_BASIC)
    assert (response.status, keys(response)) == (400, ["PropertyValueOutOfRange"])
    assert related(response) == ["#/SessionTimeout"]
    assert (await house.get(SESSION_SERVICE))["SessionTimeout"] == 30


@in_virtual_time
async def test_se_08_roles_and_who_may_write() -> None:
    async with a_stack() as stack:
        members = (await stack.get(ROLES))["Members"]
        names = {each["@odata.id"].rsplit("/", 1)[-1] for each in members}
        assert names >= {"Administrator", "Operator", "ReadOnly"}
        session = (await stack.login("admin", PASSWORD)).headers["Location"]
        before = stack.tags()
        refused = await stack.ask("POST", ZONES, {"Name": "x"}, user="ro")
        assert (refused.status, keys(refused)) == (403, ["InsufficientPrivilege"])
        assert (await stack.ask("DELETE", session, user="op")).status in (403, 404)
        assert stack.tags() == before


# -- tokens and accounts that are not let in -----------------------------------------------------

VERBS = ("GET", "HEAD", "OPTIONS", "POST", "PATCH", "PUT", "DELETE")
ROUTES = (
    SYSTEMS,
    ACCOUNT_SERVICE,
    f"{ACCOUNTS}/bob",
    SESSION_SERVICE,
    ZONES,
    f"{FABRIC}/Endpoints/host1-1",
    f"{SYSTEMS}/host1/Actions/ComputerSystem.Reset",
    f"{ROOT}/NoSuchThing",
    f"{ROOT}/openapi.yaml",
)


@dataclass(frozen=True)
class Bob:
    """A user with a session; "bob" may do everything, so that nothing else refuses."""

    stack: Stack
    uri: str
    token: str
    session: str


async def a_bob(stack: Stack) -> Bob:
    body = {"Id": "bob", "UserName": "bob", "Password": FIRST, "RoleId": "Administrator"}
    uri = await stack.made(ACCOUNTS, body)
    login = await stack.login("bob", FIRST)
    return Bob(stack, uri, login.headers["X-Auth-Token"], login.headers["Location"])


async def _expired(bob: Bob) -> str:
    bob.stack.identity.sessions.timeout_s = -1
    return bob.token


async def _too_old(bob: Bob) -> str:
    bob.stack.identity.sessions.configure(
        {"AbsoluteSessionTimeoutEnabled": True, "AbsoluteSessionTimeout": 0}
    )
    return bob.token


async def _logged_out(bob: Bob) -> str:
    assert (await bob.stack.ask("DELETE", bob.session)).status == 204
    return bob.token


async def _foreign(_: Bob) -> str:
    async with a_house() as other:
        return str((await other.login("admin", PASSWORD)).headers["X-Auth-Token"])


async def _from_the_store(bob: Bob) -> str:
    row = bob.stack.identity.sessions.get(bob.session.rsplit("/", 1)[-1])
    assert row is not None
    return str(row.token_sha256)


async def _its_session_id(bob: Bob) -> str:
    return bob.session.rsplit("/", 1)[-1]


async def _truncated(bob: Bob) -> str:
    return bob.token[:-1]


async def _longer(bob: Bob) -> str:
    return f"{bob.token}0"


async def _shouted(bob: Bob) -> str:
    return bob.token.upper() if bob.token.upper() != bob.token else "x"


async def _empty(_: Bob) -> str:
    return ""


def _after(change: dict[str, Any] | None) -> Callable[[Bob], Awaitable[str]]:
    async def changed(bob: Bob) -> str:
        method = "DELETE" if change is None else "PATCH"
        assert (await bob.stack.ask(method, bob.uri, change)).status in (200, 204)
        return bob.token

    return changed


async def _locked(bob: Bob) -> str:
    threshold = bob.stack.identity.accounts.policy.lockout_threshold
    for _ in range(threshold):
        await bob.stack.login("bob", "wrong-password")
    return bob.token


NOT_LET_IN: dict[str, Callable[[Bob], Awaitable[str]]] = {
    "expired": _expired,
    "too old": _too_old,
    "logged out": _logged_out,
    "of another service": _foreign,
    "the digest that is stored": _from_the_store,
    "the id of its session": _its_session_id,
    "truncated": _truncated,
    "longer": _longer,
    "in capitals": _shouted,
    "empty": _empty,
    "account deleted": _after(None),
    "account disabled": _after({"Enabled": False}),
    "account renamed": _after({"UserName": "robert"}),
    "stolen, and the password changed since": _after({"Password": "second-password"}),
    "account locked": _locked,
}


@pytest.mark.parametrize("how", NOT_LET_IN)
@in_virtual_time
async def test_a_token_that_is_not_let_in_is_refused_everywhere_alike(how: str) -> None:
    async with a_stack() as stack:
        bob = await a_bob(stack)
        assert (await stack.ask("GET", SYSTEMS, user=None, x_auth_token=bob.token)).status == 200
        token = await NOT_LET_IN[how](bob)
        before = stack.tags()
        for route in ROUTES:
            for verb in VERBS:
                refused = await stack.ask(verb, route, user=None, x_auth_token=token)
                assert refused.status == 401, (verb, route)
                assert verb == "HEAD" or keys(refused) == ["NoValidSession"]
        assert stack.tags() == before
        assert (await stack.ask("GET", ROOT, user=None, x_auth_token=token)).status == 200


@pytest.mark.parametrize(
    "how", ["account deleted", "account disabled", "account renamed", "account locked"]
)
@in_virtual_time
async def test_an_account_that_is_not_let_in_gets_in_by_no_way(how: str) -> None:
    async with a_stack() as stack:
        bob = await a_bob(stack)
        await NOT_LET_IN[how](bob)
        refused = await stack.login("bob", FIRST)
        assert (refused.status, keys(refused)) == (401, ["AccessUnauthorized"])
        for route in ROUTES:
            for verb in VERBS:
                header = basic("bob", FIRST)
                refused = await stack.ask(verb, route, user=None, authorization=header)
                # Thirty failures are heard of one address, then it has to wait.
                assert refused.status in (401, 503), (verb, route)


@in_virtual_time
async def test_a_due_password_change_refuses_everything_but_itself() -> None:
    async with a_stack() as stack:
        bob = await a_bob(stack)
        change = {"PasswordChangeRequired": True}
        assert (await stack.ask("PATCH", bob.uri, change)).status == 200
        before, refusals = stack.tags(), 0
        for headers in ({"x_auth_token": bob.token}, {"authorization": basic("bob", FIRST)}):
            for route in (*ROUTES, bob.session):
                told = (await stack.ask("OPTIONS", route)).headers.get("Allow", "")
                allowed = {verb.strip() for verb in f"{told},OPTIONS".split(",")} & {*VERBS}
                if route == bob.uri:
                    allowed -= {"GET", "HEAD", "OPTIONS", "PATCH"}
                elif not told:
                    continue
                for verb in allowed:
                    refused = await stack.ask(verb, route, user=None, **headers)
                    assert refused.status == 403, (verb, route)
                    assert verb == "HEAD" or keys(refused) == ["PasswordChangeRequired"]
                    refusals += 1
        assert refusals > 40
        assert stack.tags() == before
        body = {"Password": "second-password"}
        done = await stack.ask("PATCH", bob.uri, body, user=None, x_auth_token=bob.token)
        assert done.status == 200
        assert (await stack.ask("GET", SYSTEMS, user=None, x_auth_token=bob.token)).status == 200


@in_virtual_time
async def test_tokens_are_256_bits_in_hex_and_never_the_same() -> None:
    async with a_stack() as stack:
        tokens = {(await stack.login("admin", PASSWORD)).headers["X-Auth-Token"] for _ in range(8)}
        assert len(tokens) == 8
        assert {len(bytes.fromhex(token)) for token in tokens} == {32}
