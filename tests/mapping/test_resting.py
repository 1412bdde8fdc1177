"""A connection never comes to rest on a zone alone that may still be taken back."""

import pytest

from redfish_fm.redfish.writes import OutcomeKind
from tests.mapping.builders import MemoryTip, a_tip, links, zone_body
from tests.mapping.test_groups import GROUPS, by_group, group_body
from tests.mapping.test_writes import (
    CHUNK0,
    CONNECTIONS,
    H1,
    H2,
    LD0,
    LD1,
    TASK,
    ZONES,
    connection_body,
    refusal,
)


@pytest.fixture
def tip() -> MemoryTip:
    return a_tip()


def test_a_connection_waits_for_the_only_zone_of_its_ends(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, LD0)).uri
    tip.tasks = {zone: TASK}
    with refusal(409, "TaskEvent.TaskStarted", TASK):
        tip.post(CONNECTIONS, connection_body(H1, LD0, CHUNK0))
    tip.post(ZONES, zone_body(H1, LD0))
    assert tip.post(CONNECTIONS, connection_body(H1, LD0, CHUNK0)).kind is OutcomeKind.CREATED


def test_a_group_waits_for_the_only_zone_of_a_new_member(tip: MemoryTip) -> None:
    group = tip.post(GROUPS, group_body(H1, H2)).uri
    tip.patch(group, group_body(H1))
    first = tip.post(ZONES, zone_body(H1, LD0)).uri
    tip.post(CONNECTIONS, by_group(group, LD0, CHUNK0))
    tip.patch(group, group_body())
    tip.delete(first)
    second = tip.post(ZONES, zone_body(H1, LD0)).uri
    tip.tasks = {second: TASK}
    with refusal(409, "TaskEvent.TaskStarted", TASK):
        tip.patch(group, group_body(H1))
    tip.tasks = {}
    assert tip.patch(group, group_body(H1)).kind is OutcomeKind.CHANGED
    tip.tasks = {second: TASK}
    assert tip.patch(group, group_body()).kind is OutcomeKind.CHANGED


@pytest.fixture
def between(tip: MemoryTip) -> tuple[str, str]:
    """Let a connection's ends meet in a settled zone and in one under change; return both."""
    settled = tip.post(ZONES, zone_body(H1, LD0, LD1)).uri
    doubtful = tip.post(ZONES, zone_body(H1, LD0)).uri
    tip.post(CONNECTIONS, connection_body(H1, LD0, CHUNK0))
    tip.tasks = {doubtful: TASK}
    return settled, doubtful


def test_the_last_settled_zone_of_a_connection_stays(
    tip: MemoryTip, between: tuple[str, str]
) -> None:
    settled, _ = between
    with refusal(409, "TaskEvent.TaskStarted", TASK):
        tip.delete(settled)
    for left in ((H1, LD1), (LD0, LD1), ()):
        with refusal(409, "TaskEvent.TaskStarted", TASK):
            tip.patch(settled, {"Links": {"Endpoints": links(*left)}})
    with refusal(409, "TaskEvent.TaskStarted", TASK):
        tip.act(settled, "Zone.RemoveEndpoint", Endpoint={"@odata.id": LD0})


def test_what_no_connection_needs_leaves_a_settled_zone(
    tip: MemoryTip, between: tuple[str, str]
) -> None:
    settled, _ = between
    changed = tip.patch(settled, {"Links": {"Endpoints": links(H1, LD0)}})
    assert changed.kind is OutcomeKind.CHANGED


def test_a_zone_goes_once_the_other_one_is_settled(
    tip: MemoryTip, between: tuple[str, str]
) -> None:
    settled, _ = between
    tip.tasks = {}
    assert tip.delete(settled).kind is OutcomeKind.DELETED
