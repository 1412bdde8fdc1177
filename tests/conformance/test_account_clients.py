"""Accounts and sessions through redfish-utilities, redfishtool and redfish over TLS."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.client_tools import run_tool
from tests.e2e.service import PASSWORD, USER, Client, serving

ACCOUNTS = "/redfish/v1/AccountService/Accounts"
ACCOUNT_SERVICE = "/redfish/v1/AccountService"
SESSIONS = "/redfish/v1/SessionService/Sessions"
FIRST, SECOND = "hUPgd9Z4-first", "hUPgd9Z4-second"

Served = tuple[str, Path]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve two-hosts over TLS; give the URL and the file of the authority."""
    state = tmp_path_factory.mktemp("accounts") / "state"
    with serving("--topology", "two-hosts", "--state", str(state), tls=True) as (_, url):
        yield url, state / "tls" / "ca.pem"


@pytest.fixture
def admin(served: Served) -> Iterator[Client]:
    client = Client(served[0], cafile=served[1])
    yield client
    client.close()


def account(admin: Client, user: str) -> dict[str, Any] | None:
    """Return the account of a user, or None."""
    members = admin.get(ACCOUNTS)["Members"]
    found = [admin.get(each["@odata.id"]) for each in members]
    return next((each for each in found if each["UserName"] == user), None)


@contextmanager
def logged_in(served: Served, user: str, password: str) -> Iterator[Any]:
    """Give a client of the redfish library with a session, which ends with the block."""
    redfish = pytest.importorskip("redfish")
    client = redfish.redfish_client(
        base_url=served[0], username=user, password=password, cafile=str(served[1])
    )
    client.login(auth="session")
    try:
        yield client
    finally:
        client.logout()
        client._session.close()  # noqa: SLF001


def test_redfish_utilities_keep_accounts(served: Served, tmp_path: Path, admin: Client) -> None:
    def accounts(*arguments: str) -> str:
        login = ("--user", USER, "--password", PASSWORD, "--rhost", served[0])
        code, output = run_tool(tmp_path, "rf_accounts.py", *login, *arguments)
        assert code == 0, output
        return output

    accounts("--add", "util", FIRST, "ReadOnly")
    assert "util" in accounts()
    accounts("--setrole", "util", "Operator")
    accounts("--setpassword", "util", SECOND)
    accounts("--setname", "util", "utility")
    found = account(admin, "utility")
    assert found is not None
    assert (found["RoleId"], found["Enabled"], found["Locked"]) == ("Operator", True, False)
    with logged_in(served, "utility", SECOND) as client:
        assert client.get(SESSIONS).status == 200
    accounts("--disable", "utility")
    assert (account(admin, "utility") or {})["Enabled"] is False
    accounts("--enable", "utility")
    assert (account(admin, "utility") or {})["Enabled"] is True
    accounts("--delete", "utility")
    assert account(admin, "utility") is None


def test_redfish_utilities_unlock_who_was_locked_out(
    served: Served, tmp_path: Path, admin: Client
) -> None:
    redfish = pytest.importorskip("redfish")
    policy = {"AccountLockoutThreshold": 2}
    assert admin("PATCH", ACCOUNT_SERVICE, policy).status == 200
    body = {"UserName": "unlucky", "Password": FIRST, "RoleId": "ReadOnly"}
    assert admin("POST", ACCOUNTS, body).status == 201
    refusals = (
        redfish.rest.v1.InvalidCredentialsError,
        redfish.rest.v1.SessionCreationError,
    )
    for password in ("wrong-password", "wrong-password", FIRST):
        with pytest.raises(refusals), logged_in(served, "unlucky", password):
            raise AssertionError(password)
    # The lock bars at once; that its account says so is a commit of its own.
    end_s = time.monotonic() + 30
    while (account(admin, "unlucky") or {})["Locked"] is not True:
        assert time.monotonic() < end_s
    login = ("--user", USER, "--password", PASSWORD, "--rhost", served[0])
    code, output = run_tool(tmp_path, "rf_accounts.py", *login, "--unlock", "unlucky")
    assert code == 0, output
    assert (account(admin, "unlucky") or {})["Locked"] is False
    with logged_in(served, "unlucky", FIRST) as client:
        assert client.get(SESSIONS).status == 200


def test_redfishtool_keeps_accounts_and_sessions(
    served: Served, tmp_path: Path, admin: Client
) -> None:
    def tool_says(*arguments: str) -> str:
        address = served[0].removeprefix("https://")
        login = ("-r", address, "-u", USER, "-p", PASSWORD, "-S", "Always", "-A", "Session")
        code, output = run_tool(tmp_path, "redfishtool", *login, *arguments)
        assert code == 0, output
        return output

    tool_says("AccountService", "adduser", "tooled", FIRST, "Operator")
    found = account(admin, "tooled")
    assert found is not None
    assert found["RoleId"] == "Operator"
    tool_says("AccountService", "setpassword", "tooled", SECOND)
    tool_says("AccountService", "useradmin", "tooled", "disable")
    assert (account(admin, "tooled") or {})["Enabled"] is False
    tool_says("AccountService", "useradmin", "tooled", "enable")
    tool_says("AccountService", "deleteuser", "tooled")
    assert account(admin, "tooled") is None
    shown = json.loads(tool_says("SessionService", "setSessionTimeout", "900"))
    assert shown["SessionTimeout"] == 900
    made = json.loads(tool_says("SessionService", "login"))
    assert made["SessionLocation"].startswith("/redfish/v1/SessionService/Sessions/")
    tool_says("-l", made["SessionLocation"], "SessionService", "logout")
    assert made["SessionLocation"] not in json.dumps(admin.get(SESSIONS))


def test_the_redfish_library_is_told_that_its_password_is_due(
    served: Served, admin: Client
) -> None:
    body = {
        "UserName": "due",
        "Password": FIRST,
        "RoleId": "ReadOnly",
        "PasswordChangeRequired": True,
    }
    uri = admin("POST", ACCOUNTS, body).json["@odata.id"]
    redfish = pytest.importorskip("redfish")
    client = redfish.redfish_client(
        base_url=served[0], username="due", password=FIRST, cafile=str(served[1])
    )
    with pytest.raises(redfish.messages.RedfishPasswordChangeRequiredError, match=uri):
        client.login(auth="session")
    assert client.get(SESSIONS).status == 403
    assert client.patch(uri, body={"Password": SECOND}).status == 200
    assert client.get(SESSIONS).status == 200
    client.logout()
    client._session.close()  # noqa: SLF001
