"""Endpoint groups: what connections that name them grant follows every edit of their members."""

from typing import Any

import pytest

from redfish_fm.mapping.default_zone import keep_default_zones
from redfish_fm.mapping.drafts import TakeBack
from redfish_fm.redfish.writes import OutcomeKind
from tests.mapping.builders import MemoryTip, a_tip, links, zone_body
from tests.mapping.test_writes import (
    CHUNK0,
    CHUNK1,
    CONNECTIONS,
    H1,
    H2,
    LD0,
    LD1,
    POD,
    TASK,
    ZONES,
    connection_body,
    refusal,
)

GROUPS = f"{POD}/EndpointGroups"
SYSTEM1 = "/redfish/v1/Systems/h1"


@pytest.fixture
def tip() -> MemoryTip:
    return a_tip()


def group_body(*endpoints: str, kind: str | None = None, **more: Any) -> dict[str, Any]:
    body = {"Links": {"Endpoints": links(*endpoints)}, **more}
    return body if kind is None else {**body, "GroupType": kind}


def by_group(group: str, target: str, chunk: str) -> dict[str, Any]:
    body = connection_body(H1, target, chunk)
    del body["Links"]["InitiatorEndpoints"]
    body["Links"]["InitiatorEndpointGroups"] = links(group)
    return body


def hosts(tip: MemoryTip, connection: str) -> set[str]:
    return {binding.host for binding in tip.index.bindings_of_holder(connection)}


def test_a_connection_binds_for_the_host_of_the_group_it_names(tip: MemoryTip) -> None:
    group = tip.post(GROUPS, group_body(H1, kind="Initiator", Name="us")).uri
    tip.post(ZONES, zone_body(H1, LD0))
    draft = tip.post(CONNECTIONS, by_group(group, LD0, CHUNK0))
    assert hosts(tip, draft.uri) == {SYSTEM1}
    assert tip.linked_by(group, "/Links/Connections") == [draft.uri]
    with refusal(409, "Base.ResourceInUse", draft.uri):
        tip.delete(group)
    tip.delete(draft.uri)
    assert tip.delete(group).kind is OutcomeKind.DELETED
    assert tip.index.groups == {}


def test_an_edit_of_a_group_is_one_change_of_all_connections_that_name_it(tip: MemoryTip) -> None:
    group = tip.post(GROUPS, group_body(H1)).uri
    zone = tip.post(ZONES, zone_body(H1, LD0, LD1)).uri
    named = [
        tip.post(CONNECTIONS, by_group(group, ld, chunk)).uri
        for ld, chunk in ((LD0, CHUNK0), (LD1, CHUNK1))
    ]
    emptied = tip.patch(group, group_body()).operation
    assert emptied is not None
    assert [hosts(tip, each) for each in named] == [set(), set()]
    assert len(emptied.released) == 2
    assert emptied.take_back is TakeBack.NOTHING
    filled = tip.patch(group, group_body(H1)).operation
    assert filled is not None
    assert [hosts(tip, each) for each in named] == [{SYSTEM1}, {SYSTEM1}]
    assert filled.resources == emptied.resources == {group, *named}
    assert filled.take_back is TakeBack.REMOVE_MEMBERS
    assert len(filled.granted) == 2
    assert set(filled.added) == {H1}
    with refusal(409, "Base.ResourceInUse", named[0]):
        tip.delete(zone)


def test_an_edit_that_breaks_a_rule_in_one_connection_changes_none(tip: MemoryTip) -> None:
    group = tip.post(GROUPS, group_body(H1)).uri
    tip.post(ZONES, zone_body(H1, LD0))
    connection = tip.post(CONNECTIONS, by_group(group, LD0, CHUNK0)).uri
    before = dict(tip.documents)
    with refusal(409, "Base.PropertyValueResourceConflict", LD0, H2):
        tip.patch(group, group_body(H2))
    with refusal(409, "Base.ResourceInUse", H2):
        tip.patch(group, group_body(H1, H2))
    assert tip.documents == before
    assert hosts(tip, connection) == {SYSTEM1}


def test_a_group_names_endpoints_that_are_there_once(tip: MemoryTip) -> None:
    missing = f"{POD}/Endpoints/none"
    with refusal(400, "Base.ResourceMissingAtURI", missing, "#/Links/Endpoints/1"):
        tip.post(GROUPS, group_body(H1, missing))
    with refusal(400, "Base.PropertyValueIncorrect", H1):
        tip.post(GROUPS, group_body(H1, H1))


def test_a_group_stands_on_the_side_that_it_says_it_is_for(tip: MemoryTip) -> None:
    tip.post(ZONES, zone_body(H1, LD0))
    group = tip.post(GROUPS, group_body(H1, kind="Target")).uri
    with refusal(400, "Base.PropertyValueResourceConflict", group, "InitiatorEndpointGroups/0"):
        tip.post(CONNECTIONS, by_group(group, LD0, CHUNK0))
    tip.patch(group, {"GroupType": "Client"})
    connection = tip.post(CONNECTIONS, by_group(group, LD0, CHUNK0)).uri
    with refusal(400, "Base.PropertyValueResourceConflict", connection, "#/GroupType"):
        tip.patch(group, {"GroupType": "Server"})
    tip.patch(group, {"Name": "still ours", "GroupType": "Initiator"})


def test_an_endpoint_of_a_group_under_a_connection_is_held(tip: MemoryTip) -> None:
    entity = {"EntityRole": "Initiator", "EntityLink": {"@odata.id": SYSTEM1}}
    made = tip.post(f"{POD}/Endpoints", {"ConnectedEntities": [entity]}).uri
    group = tip.post(GROUPS, group_body(made)).uri
    tip.post(ZONES, zone_body(made, LD0))
    connection = tip.post(CONNECTIONS, by_group(group, LD0, CHUNK0)).uri
    with refusal(409, "Base.ResourceInUse", connection):
        tip.delete(made)


def test_a_group_that_nobody_uses_lets_go_of_a_deleted_endpoint(tip: MemoryTip) -> None:
    entity = {"EntityRole": "Initiator", "EntityLink": {"@odata.id": SYSTEM1}}
    made = tip.post(f"{POD}/Endpoints", {"ConnectedEntities": [entity]}).uri
    tip.commit(keep_default_zones(["pod"], tip))
    default = f"{ZONES}/Default"
    group = tip.post(GROUPS, group_body(made, H2)).uri
    tip.patch(default, {"Links": {"Endpoints": links(made, H2)}})
    tip.delete(made)
    for uri in (group, default):
        assert tip.document(uri)["Links"]["Endpoints"] == links(H2)  # type: ignore[index]


def test_what_is_under_change_is_not_built_upon(tip: MemoryTip) -> None:
    group = tip.post(GROUPS, group_body(H1)).uri
    tip.post(ZONES, zone_body(H1, LD0, LD1))
    connection = tip.post(CONNECTIONS, by_group(group, LD0, CHUNK0)).uri
    tip.tasks[connection] = TASK
    with refusal(409, "TaskEvent.TaskStarted", TASK):
        tip.patch(group, group_body())
    with refusal(400, "Base.ResourceMissingAtURI", f"{POD}/Endpoints/none"):
        tip.patch(group, group_body(f"{POD}/Endpoints/none"))
    tip.patch(group, {"Name": "names may change"})
    tip.tasks = {group: TASK}
    with refusal(409, "TaskEvent.TaskStarted", TASK):
        tip.post(CONNECTIONS, by_group(group, LD1, CHUNK1))
