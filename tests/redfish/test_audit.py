"""The audit log: one record a write, one a failed login, and none of a secret."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from redfish_fm.redfish.accounts import ACCOUNTS
from redfish_fm.redfish.audit import (
    STRANGERS_AT_ONCE,
    STRANGERS_EVERY_S,
    AuditKind,
    Auditor,
    AuditRecord,
)
from redfish_fm.redfish.credentials import LoginRefused
from redfish_fm.redfish.policy import ACCOUNT_SERVICE
from redfish_fm.redfish.requests import Request
from tests.redfish.builders import REGISTRIES, FakeClock
from tests.redfish.house import FIRST, PASSWORD, SESSIONS, House, a_house, basic

NEW = {"UserName": "bob", "Password": FIRST, "RoleId": "Operator"}
PEER = "192.0.2.1"


@dataclass
class Kept:
    """A house, and the records that it has handed on."""

    house: House
    records: list[AuditRecord] = field(default_factory=list)

    @property
    def last(self) -> AuditRecord:
        return self.records[-1]


@pytest.fixture
async def kept() -> AsyncIterator[Kept]:
    async with a_house() as house:
        found = Kept(house)
        house.service.on_audit.append(found.records.append)
        yield found


async def test_a_write_is_recorded_with_who_where_what_and_result(kept: Kept) -> None:
    login = await kept.house.login("admin", PASSWORD)
    token, session = login.headers["X-Auth-Token"], login.headers["Location"].rsplit("/", 1)[-1]
    made = await kept.house.send("POST", f"{ACCOUNTS}/", NEW, token=token)
    assert kept.last == AuditRecord(
        time_s=kept.house.clock.wall_s(),
        kind=AuditKind.WRITE,
        user_name="admin",
        peer=PEER,
        session=session,
        method="POST",
        uri=ACCOUNTS,
        status=201,
        made=made.headers["Location"],
    )


async def test_a_refused_write_tells_every_message(kept: Kept) -> None:
    uri = await kept.house.add("bob")
    response = await kept.house.send("PATCH", uri, {"Bogus": 1, "Id": "x"})
    entries = json.loads(response.body)["error"]["@Message.ExtendedInfo"]
    assert kept.last.status == 400
    assert kept.last.message_ids == tuple(each["MessageId"] for each in entries)
    assert len(kept.last.message_ids) == 2


@pytest.mark.parametrize(
    ("method", "uri", "status"),
    [
        ("POST", ACCOUNT_SERVICE, 405),
        ("PUT", ACCOUNT_SERVICE, 405),
        ("DELETE", f"{ACCOUNTS}/nobody", 404),
        ("FAKE", ACCOUNTS, 501),
    ],
)
async def test_what_is_refused_before_anything_is_looked_at_is_recorded_too(
    kept: Kept, method: str, uri: str, status: int
) -> None:
    await kept.house.send(method, uri)
    assert (kept.last.method, kept.last.uri, kept.last.status) == (method, uri, status)


async def test_a_write_by_http_basic_names_its_user_and_no_session(kept: Kept) -> None:
    header = basic("admin", PASSWORD)
    await kept.house.send("PATCH", ACCOUNT_SERVICE, {}, authorization=header)
    assert (kept.last.user_name, kept.last.session) == ("admin", None)


async def test_reading_is_not_recorded(kept: Kept) -> None:
    for method in ("GET", "HEAD", "OPTIONS"):
        await kept.house.send(method, ACCOUNTS)
    assert kept.records == []


async def test_a_login_is_recorded_with_its_session_and_so_is_its_end(kept: Kept) -> None:
    login = await kept.house.login("admin", PASSWORD)
    token, uri = login.headers["X-Auth-Token"], login.headers["Location"]
    assert (kept.last.kind, kept.last.user_name) == (AuditKind.LOGIN, "admin")
    assert (kept.last.session, kept.last.made) == (uri.rsplit("/", 1)[-1], uri)
    await kept.house.send("DELETE", uri, token=token)
    assert (kept.last.kind, kept.last.method, kept.last.uri) == (AuditKind.WRITE, "DELETE", uri)


async def test_failed_logins_are_recorded_whichever_way_they_came(kept: Kept) -> None:
    await kept.house.login("admin", "wrong-password")
    header = basic("admin", "wrong-password")
    await kept.house.send("GET", ACCOUNTS, authorization=header)
    await kept.house.send("PATCH", ACCOUNT_SERVICE, {}, authorization=header)
    assert [(each.kind, each.user_name, each.method, each.uri) for each in kept.records] == [
        (AuditKind.LOGIN_FAILED, "admin", "POST", SESSIONS),
        (AuditKind.LOGIN_FAILED, "admin", "GET", ACCOUNTS),
        (AuditKind.LOGIN_FAILED, "admin", "PATCH", ACCOUNT_SERVICE),
    ]
    assert {each.status for each in kept.records} == {401}


async def test_a_name_that_nobody_has_is_not_written_down(
    kept: Kept, caplog: pytest.LogCaptureFixture
) -> None:
    """People type their password where their name belongs."""
    caplog.set_level("DEBUG")
    await kept.house.login("my-s3cret-password", "x")
    assert (kept.last.kind, kept.last.user_name) == (AuditKind.LOGIN_FAILED, None)
    assert "s3cret" not in repr(kept.records)
    assert "s3cret" not in caplog.text


async def test_a_write_with_a_bad_token_is_recorded_without_the_token(kept: Kept) -> None:
    await kept.house.send("POST", ACCOUNTS, NEW, token="t0ken")
    assert (kept.last.kind, kept.last.user_name, kept.last.status) == (AuditKind.WRITE, None, 401)
    assert "t0ken" not in repr(kept.records)


async def test_no_record_holds_a_secret(kept: Kept) -> None:
    login = await kept.house.login("admin", PASSWORD)
    token = login.headers["X-Auth-Token"]
    uri = await kept.house.add("bob", password="first-s3cret")
    await kept.house.send("PATCH", uri, {"Password": "second-s3cret"}, token=token)
    await kept.house.send("PATCH", uri, {"Password": ["s3cret"]}, token=token)
    header = basic("bob", "third-s3cret")
    await kept.house.send("DELETE", uri, authorization=header)
    told = repr(kept.records)
    assert len(kept.records) == 5
    assert "s3cret" not in told
    assert token not in told
    assert PASSWORD not in told


async def test_strangers_can_not_flood_whoever_keeps_records(kept: Kept) -> None:
    for _ in range(STRANGERS_AT_ONCE + 20):
        await kept.house.send("DELETE", ACCOUNTS, user=None)
    assert len(kept.records) == STRANGERS_AT_ONCE
    await kept.house.send("DELETE", ACCOUNTS)
    assert kept.last.user_name == "admin"
    kept.house.clock.time_s += STRANGERS_EVERY_S
    before = len(kept.records)
    for _ in range(2):
        await kept.house.send("DELETE", ACCOUNTS, user=None)
    assert len(kept.records) == before + 1


async def test_a_write_that_meets_a_defect_is_recorded_as_what_is_answered(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def defect(*_: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(kept.house.service._commands, "_commit", defect)  # noqa: SLF001
    await kept.house.token("admin")
    with pytest.raises(RuntimeError):
        await kept.house.send("POST", ACCOUNTS, NEW)
    assert (kept.last.user_name, kept.last.status) == ("admin", 500)
    assert [each.rsplit(".", 1)[-1] for each in kept.last.message_ids] == ["InternalError"]


def test_failed_logins_that_name_an_account_push_nothing_out_either() -> None:
    records: list[AuditRecord] = []
    sessions: Any = None  # a failed login opens none
    auditor = Auditor(REGISTRIES, sessions, FakeClock())
    auditor.sinks.append(records.append)
    request = Request("POST", SESSIONS, (), {}, b"", PEER)
    for _ in range(STRANGERS_AT_ONCE + 5):
        auditor.refused(request, SESSIONS, LoginRefused({}, "admin"))
    assert len(records) == STRANGERS_AT_ONCE
