"""The EventService judged on a tip: settings, test events."""

from typing import Any

import pytest

from redfish_fm.mapping.event_service import (
    SUBMIT_TEST_EVENT,
    TEST_SUBSCRIPTION,
    Retrying,
    retrying,
    submitted,
    tried,
)
from redfish_fm.mapping.uris import EVENT_SERVICE
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.changes import Change, Space, feed_record
from redfish_fm.redfish.events import member
from redfish_fm.redfish.writes import OutcomeKind, Write, WriteKind
from tests.mapping.subscribing import a_tip, refused
from tests.redfish.builders import REGISTRIES


def patch(tip: Any, **body: Any) -> OutcomeKind:
    write = Write(WriteKind.PATCH, EVENT_SERVICE, "EventService", "admin", body)
    return tip.commit(prepare(write, tip)).kind


def test_settings_hold_from_then_on() -> None:
    tip = a_tip()
    patch(tip, DeliveryRetryAttempts=5, DeliveryRetryIntervalSeconds=1, ServiceEnabled=False)
    assert retrying(tip.document(EVENT_SERVICE) or {}) == Retrying(5, 1.0, enabled=False)


def test_without_settings_there_are_three_attempts_a_minute_apart() -> None:
    assert retrying({}) == Retrying(3, 60.0, enabled=True)


def test_settings_out_of_range_are_told_all_at_once() -> None:
    with refused(
        400,
        ("Base.PropertyValueOutOfRange", "#/DeliveryRetryAttempts"),
        ("Base.PropertyValueOutOfRange", "#/DeliveryRetryIntervalSeconds"),
        ("Base.PropertyValueTypeError", "#/ServiceEnabled"),
    ):
        patch(
            a_tip(),
            DeliveryRetryAttempts=-1,
            DeliveryRetryIntervalSeconds=0,
            ServiceEnabled=None,
        )


@pytest.mark.parametrize("action", [SUBMIT_TEST_EVENT, TEST_SUBSCRIPTION])
def test_a_test_event_is_written_down_and_leaves_nothing_behind(action: str) -> None:
    write = Write(WriteKind.ACTION, EVENT_SERVICE, "EventService", "admin", {}, action)
    first, last = prepare(write, a_tip()).edits
    assert first.space is Space.ANNOUNCED
    assert first.pre is None
    assert last == first.inverse()


def test_only_what_a_test_event_says_is_written_down() -> None:
    said = {"MessageId": "Other.1.0.Invented", "OriginOfCondition": "/redfish/v1/Chassis/1"}
    body = {**said, "EventId": "mine", "x@Redfish.y": "z" * 100_000}
    write = Write(WriteKind.ACTION, EVENT_SERVICE, "EventService", "a", body, SUBMIT_TEST_EVENT)
    (entry, _) = feed_record(Change(1, 0.0, "a", prepare(write, a_tip()).edits)).entries
    assert tried(entry) == said


def test_a_service_that_is_switched_off_takes_no_test_event() -> None:
    tip = a_tip()
    patch(tip, ServiceEnabled=False)
    write = Write(WriteKind.ACTION, EVENT_SERVICE, "EventService", "a", {}, TEST_SUBSCRIPTION)
    with refused(409, ("Base.ServiceDisabled", "")):
        prepare(write, tip)


def test_a_test_event_says_what_the_client_said_and_nothing_else() -> None:
    body = {
        "MessageId": "Other.1.0.Invented",
        "MessageArgs": ["a"],
        "MessageSeverity": "Critical",
        "OriginOfCondition": "/redfish/v1/Chassis/1/",
        "EventId": "mine",
    }
    told = member(submitted(body, 0.0, "Chassis"), REGISTRIES)
    assert told["MessageId"] == "Other.1.0.Invented"
    assert told["OriginOfCondition"] == {"@odata.id": "/redfish/v1/Chassis/1"}
    assert "Message" not in told
    assert told["EventId"] != "mine"


@pytest.mark.parametrize(
    ("body", "severity"),
    [
        ({}, "OK"),
        ({"Severity": "Warning"}, "Warning"),
        ({"Severity": "Warning", "MessageSeverity": "Critical"}, "Critical"),
        ({"Severity": "whatever"}, "OK"),
    ],
)
def test_a_test_event_is_filtered_by_its_severity(body: dict[str, str], severity: str) -> None:
    assert submitted({"MessageId": "A.1.0.B", **body}, 0.0, None).severity == severity


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (["x"] * 33, "Base.ArraySizeTooLong"),
        (["x" * 2048, "y" * 2048, "z"], "Base.StringValueTooLong"),
    ],
)
def test_a_test_event_has_only_so_many_arguments(arguments: list[str], key: str) -> None:
    body = {"MessageId": "Other.1.0.Invented", "MessageArgs": arguments}
    write = Write(WriteKind.ACTION, EVENT_SERVICE, "EventService", "a", body, SUBMIT_TEST_EVENT)
    with refused(400, (key, "#/MessageArgs")):
        prepare(write, a_tip())


@pytest.mark.parametrize("name", ["Message", "EventType", "OriginOfCondition"])
def test_a_test_event_has_no_long_texts(name: str) -> None:
    body = {"MessageId": "Other.1.0.Invented", name: "/" + "x" * 4096}
    write = Write(WriteKind.ACTION, EVENT_SERVICE, "EventService", "a", body, SUBMIT_TEST_EVENT)
    with refused(400, ("Base.StringValueTooLong", f"#/{name}")):
        prepare(write, a_tip())
