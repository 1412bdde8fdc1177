"""What belongs to an account: it ends with it, follows its new name, and is nobody else's."""

from typing import Any

import pytest

from redfish_fm.mapping import subscriptions
from redfish_fm.mapping.subscription_values import decode_kept
from redfish_fm.mapping.uris import SUBSCRIPTIONS
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.accounts import ACCOUNTS
from redfish_fm.redfish.roles import ROLES
from redfish_fm.redfish.writes import OutcomeKind, Write, WriteKind
from tests.mapping.builders import MemoryTip
from tests.mapping.subscribing import a_tip, post

OP = f"{ACCOUNTS}/op"
SECRET = b"scrypt$1$1$1$00$00"


def an_account(tip: MemoryTip, user: str) -> None:
    body = {"Id": user, "UserName": user, "RoleId": "Operator"}
    write = Write(WriteKind.CREATE, ACCOUNTS, "ManagerAccount", "admin", body, secret=SECRET)
    tip.commit(prepare(write, tip))


@pytest.fixture
def tip() -> MemoryTip:
    made = a_tip(users=("admin",))
    kinds = {ACCOUNTS: "ManagerAccountCollection", ROLES: "RoleCollection"}
    for uri, kind in {**kinds, f"{ROLES}/Operator": "Role"}.items():
        made.inventory[uri] = {"@odata.id": uri, "@odata.type": f"#{kind}.{kind}"}
    an_account(made, "op")
    return made


def a_stream(tip: MemoryTip, user: str) -> str:
    return tip.commit(subscriptions.stream_opened(user, "192.0.2.1", {}, tip)).uri


def owner(tip: MemoryTip, uri: str) -> str:
    return decode_kept(tip.secrets[uri]).owner


def write(tip: MemoryTip, kind: WriteKind, **body: Any) -> OutcomeKind:
    asked = Write(kind, OP, "ManagerAccount", "admin", body)
    return tip.commit(prepare(asked, tip)).kind


def left(tip: MemoryTip) -> list[str]:
    return [uri for uri in tip.members(SUBSCRIPTIONS) if uri in tip.secrets]


def test_subscriptions_and_streams_of_a_deleted_account_end_in_the_same_change(
    tip: MemoryTip,
) -> None:
    post(tip, actor="op")
    a_stream(tip, "op")
    stays = [post(tip), a_stream(tip, "admin")]
    assert write(tip, WriteKind.DELETE) is OutcomeKind.DELETED
    assert left(tip) == sorted(stays)
    assert OP not in tip.documents


def test_subscriptions_follow_a_new_name_and_streams_end(tip: MemoryTip) -> None:
    mine, other = post(tip, actor="op"), post(tip)
    a_stream(tip, "op")
    assert write(tip, WriteKind.PATCH, UserName="operator") is OutcomeKind.CHANGED
    assert left(tip) == sorted([mine, other])
    assert (owner(tip, mine), owner(tip, other)) == ("operator", "admin")


@pytest.mark.parametrize("body", [{"UserName": "op", "Enabled": False}, {"Enabled": False}])
def test_a_change_of_anything_else_leaves_subscriptions_alone(
    tip: MemoryTip, body: dict[str, Any]
) -> None:
    mine, stream = post(tip, actor="op"), a_stream(tip, "op")
    before = dict(tip.secrets)
    write(tip, WriteKind.PATCH, **body)
    assert left(tip) == sorted([mine, stream])
    assert tip.secrets == before


def test_a_new_name_begins_with_nothing_whatever_was_left_under_it(tip: MemoryTip) -> None:
    uri = post(tip, actor="op")
    # As a state looks whose account was deleted by a service that did not see to it.
    del tip.documents[OP], tip.secrets[OP]
    an_account(tip, "op")
    assert left(tip) == []
    assert uri not in tip.documents


def test_who_takes_a_name_by_renaming_begins_with_nothing_too(tip: MemoryTip) -> None:
    tip.inventory[f"{ACCOUNTS}/ghost"] = {"UserName": "ghost", "@odata.type": "#ManagerAccount.x"}
    post(tip, actor="ghost")
    del tip.inventory[f"{ACCOUNTS}/ghost"]
    mine = post(tip, actor="op")
    write(tip, WriteKind.PATCH, UserName="ghost")
    assert left(tip) == [mine]
