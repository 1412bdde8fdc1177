"""Accounts and roles judged on a tip: values, names, roles, secrets, the last Administrator."""

import json
from typing import Any

import pytest

from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.roles import NEVER_ASSIGNED
from redfish_fm.mapping.writes import HOMES, prepare
from redfish_fm.redfish.accounts import ACCOUNTS
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.passwords import set_s
from redfish_fm.redfish.roles import ROLES
from redfish_fm.redfish.writes import OutcomeKind, Write, WriteKind
from redfish_fm.resources import schemas_dir
from tests.mapping.builders import MemoryTip

ADMIN = f"{ACCOUNTS}/admin"
SECRET = b"scrypt$1$1$1$00$00"
BOB = {"UserName": "bob", "RoleId": "Operator"}
FOREIGN = "/redfish/v1/Managers/M/RemoteAccountService/Accounts"


def inventory() -> dict[str, dict[str, Any]]:
    def row(uri: str, type_name: str, **more: Any) -> tuple[str, dict[str, Any]]:
        return uri, {"@odata.id": uri, "@odata.type": f"#{type_name}.{type_name}", **more}

    return dict(
        [
            row(ACCOUNTS, "ManagerAccountCollection"),
            row(ROLES, "RoleCollection"),
            row(FOREIGN, "ManagerAccountCollection"),
            *(row(f"{ROLES}/{name}", "Role", Id=name) for name in ("Administrator", "Operator")),
        ]
    )


@pytest.fixture
def tip() -> MemoryTip:
    made = MemoryTip(inventory(), Facts())
    body = {"Id": "admin", "UserName": "admin", "RoleId": "Administrator"}
    post(made, body)
    return made


def post(tip: MemoryTip, body: dict[str, Any], secret: bytes | None = SECRET) -> str:
    write = Write(WriteKind.CREATE, ACCOUNTS, "ManagerAccount", "admin", body, secret=secret)
    return tip.commit(prepare(write, tip)).uri


def patch(tip: MemoryTip, uri: str, secret: bytes | None = None, **body: Any) -> OutcomeKind:
    write = Write(WriteKind.PATCH, uri, "ManagerAccount", "admin", body, secret=secret)
    return tip.commit(prepare(write, tip)).kind


def document(tip: MemoryTip, uri: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(tip.documents[uri])
    return found


def refusal(status: int, key: str) -> Any:
    def matches(error: RedfishError) -> bool:
        assert (error.status, [each.key for each in error.messages]) == (status, [key])
        return True

    return pytest.raises(RedfishError, check=matches)


def test_document_and_secret_are_made_in_one_change(tip: MemoryTip) -> None:
    write = Write(WriteKind.CREATE, ACCOUNTS, "ManagerAccount", "admin", BOB, secret=SECRET)
    draft = prepare(write, tip)
    assert [edit.space for edit in draft.edits] == [Space.DOCUMENT, Space.SECRET]
    assert {edit.key for edit in draft.edits} == {draft.uri}
    stored = draft.edits[1].post
    assert stored is not None
    assert stored.startswith(SECRET + b"$")
    assert set_s(stored) == tip.wall_s()
    assert SECRET not in (draft.edits[0].post or b"")


def test_an_account_without_a_password_is_not_made(tip: MemoryTip) -> None:
    with refusal(400, "Base.PropertyMissing"):
        post(tip, BOB, secret=None)


def test_null_never_removes_what_is_always_there(tip: MemoryTip) -> None:
    uri = post(tip, {**BOB, "Description": None, "PasswordChangeRequired": True})
    assert "Description" not in document(tip, uri)
    assert document(tip, uri)["PasswordChangeRequired"] is True
    patch(tip, uri, PasswordChangeRequired=None, EmailAddress=None)
    assert document(tip, uri)["PasswordChangeRequired"] is False


def test_further_links_of_an_account_stay(tip: MemoryTip) -> None:
    uri = post(tip, {**BOB, "Links": {"Oem": {"Acme": {"A": 1}}}})
    patch(tip, uri, RoleId="Administrator")
    links = document(tip, uri)["Links"]
    assert links == {
        "Oem": {"Acme": {"A": 1}},
        "Role": {"@odata.id": f"{ROLES}/Administrator"},
    }


def test_only_the_secret_changes_with_a_new_password(tip: MemoryTip) -> None:
    before, old = tip.documents[ADMIN], tip.secrets[ADMIN]
    assert patch(tip, ADMIN, secret=b"scrypt$1$1$1$11$11") is OutcomeKind.CHANGED
    assert tip.documents[ADMIN] == before
    assert tip.secrets[ADMIN] != old


def test_a_deleted_account_leaves_no_secret(tip: MemoryTip) -> None:
    uri = post(tip, BOB)
    tip.commit(prepare(Write(WriteKind.DELETE, uri, "ManagerAccount", "admin"), tip))
    assert set(tip.secrets) == set(tip.documents) == {ADMIN}


def test_all_faults_are_told_at_once(tip: MemoryTip) -> None:
    with pytest.raises(RedfishError) as caught:
        patch(tip, ADMIN, UserName="", RoleId="Nobody", Locked=True, AccountTypes=["KVMIP"])
    told = {pointer for message in caught.value.messages for pointer in message.related}
    assert told == {"#/UserName", "#/RoleId", "#/Locked", "#/AccountTypes/0"}


def test_an_administrator_who_can_not_log_in_does_not_count(tip: MemoryTip) -> None:
    for n, more in enumerate(({"Enabled": False}, {"RoleId": "Operator"}, {})):
        uri = post(tip, {"UserName": f"u{n}", "RoleId": "Administrator", **more})
    tip.apply((Edit(Space.SECRET, uri, tip.secrets[uri], None),))
    with refusal(409, "RedfishFM.LastAdministrator"):
        patch(tip, ADMIN, Enabled=False)


def test_the_last_administrator_may_change_otherwise(tip: MemoryTip) -> None:
    assert patch(tip, ADMIN, UserName="root", Description="d") is OutcomeKind.CHANGED


def test_accounts_of_an_imported_manager_are_not_ours_to_make(tip: MemoryTip) -> None:
    write = Write(WriteKind.CREATE, FOREIGN, "ManagerAccount", "admin", BOB, secret=SECRET)
    with refusal(405, "Base.OperationNotAllowed"):
        prepare(write, tip)


def test_homes_and_names_are_those_of_the_catalog() -> None:
    catalog = Catalog.load(schemas_dir())
    for name, uri in HOMES.items():
        assert uri in catalog.types[f"{name}Collection"].uris
    items = catalog.types["Role"].properties["AssignedPrivileges"].items
    assert items is not None
    assert items.enum >= NEVER_ASSIGNED
