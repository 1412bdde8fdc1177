"""Events: their identity, and the words of the Event resource, by the official schema."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.events import (
    ODATA_TYPE,
    Event,
    EventKind,
    envelope,
    event_id,
    fragment,
    kind_of,
    made_event,
    member,
    position_of,
)
from tests.mapping.schemas import SchemaPack
from tests.redfish.builders import CATALOG, REGISTRIES, ZONE
from tests.redfish.packs import SHARED, pack

CREATED = Message("ResourceEvent.ResourceCreated")
ZONE_CREATED = Message("Fabric.ZoneCreated", ("1", "F"))


def an_event(message: Message = ZONE_CREATED, **more: Any) -> Event:
    made = made_event(message, REGISTRIES, 1_760_000_000.5, ZONE, "Zone")
    return replace(made, **{"seq": 7, "number": 2, **more})


def resource(*events: Event, context: str | None = "mine") -> dict[str, Any]:
    parts = [fragment(member(each, REGISTRIES)) for each in events]
    made: dict[str, Any] = json.loads(envelope("7.2", context, parts))
    return made


def errors(event: dict[str, Any]) -> list[str]:
    """Return what the published schema of Event says against it."""
    pack("dmtf-2025.4-json-schema-latest")
    schemas = SchemaPack(SHARED / "data" / "dmtf-2025.4-json-schema-latest.tar.gz")
    return schemas.errors({"@odata.id": "", **event})


def test_the_type_is_that_of_the_schemas() -> None:
    assert CATALOG.types["Event"].odata_type == ODATA_TYPE


def test_an_event_says_what_its_message_says() -> None:
    made = member(an_event(), REGISTRIES)
    assert made == {
        "EventType": "Other",
        "EventId": "7.2",
        "EventTimestamp": "2025-10-09T08:53:20Z",
        "EventGroupId": 0,
        "OriginOfCondition": {"@odata.id": ZONE},
        "MessageId": "Fabric.1.0.ZoneCreated",
        "Message": "Zone '1' now exists in fabric 'F'.",
        "MessageArgs": ["1", "F"],
        "MessageSeverity": "OK",
        "Severity": "OK",
        "Resolution": "None.",
    }


def test_what_is_gone_is_linked_and_said_to_be_unavailable() -> None:
    made = member(an_event(gone=True), REGISTRIES, {"@odata.id": ZONE, "Name": "whole"})
    assert made["OriginOfCondition"] == {"@odata.id": ZONE}
    assert made["OriginOfConditionUnavailable"] is True


def test_the_whole_resource_stands_in_place_of_the_link_where_it_is_given() -> None:
    whole = {"@odata.id": ZONE, "Name": "whole"}
    assert member(an_event(), REGISTRIES, whole)["OriginOfCondition"] == whole


def test_an_event_about_nothing_has_no_origin() -> None:
    assert "OriginOfCondition" not in member(an_event(origin=None), REGISTRIES)


def test_a_test_event_says_what_its_sender_said_and_nothing_else() -> None:
    given_ = {"MessageId": "Contoso.1.0.Odd", "Message": "Odd.", "EventId": "mine"}
    odd = replace(an_event(), message=Message("Contoso.Odd", ("1",)), given=given_)
    made = member(odd, REGISTRIES)
    assert made.items() >= given_.items()
    assert not made.keys() & {"Resolution", "MessageArgs"}


def test_members_have_the_index_of_their_place() -> None:
    made = resource(an_event(), an_event(number=3))
    assert [each["MemberId"] for each in made["Events"]] == ["0", "1"]
    assert made["Events@odata.count"] == 2


def test_a_context_that_nobody_gave_is_an_empty_text() -> None:
    assert resource(an_event(), context=None)["Context"] == ""
    assert resource(an_event(), context='a "b"')["Context"] == 'a "b"'


def test_the_schema_says_nothing_against_an_event() -> None:
    kinds = (an_event(), an_event(CREATED, group=9, specific=True), an_event(gone=True))
    assert errors(resource(*kinds)) == []


def test_the_oracle_sees_what_is_wrong_with_an_event() -> None:
    made = resource(an_event())
    made["Events"][0]["OriginOfCondition"] = ZONE
    assert errors(made)


@given(st.integers(1, 2**53), st.integers(1, 2**41))
def test_an_id_leads_back_to_its_place(seq: int, number: int) -> None:
    event = an_event(seq=seq, number=number)
    assert position_of(event_id(event)) == event.position == (seq, number)


@given(st.text())
def test_what_is_no_id_has_no_place(text: str) -> None:
    found = position_of(text)
    assert found is None or text.count(".") == 1


def test_odd_ids_have_no_place() -> None:
    for text in (
        "",
        "garbage",
        "5",
        "5.",
        ".5",
        "-1.2",
        "1.2.3",
        "1.2\n",
        "\u0661.2",
        "9" * 40 + ".1",
    ):
        assert position_of(text) is None, text


def test_what_has_to_be_seen_to_is_an_alert_whatever_the_registry() -> None:
    assert kind_of("Fabric.PortFailed", "Critical") is EventKind.ALERT
    assert kind_of("Fabric.PortOK", "OK") is EventKind.OTHER
    assert kind_of("ResourceEvent.ResourceStatusChangedCritical", "Critical") is (
        EventKind.STATUS_CHANGE
    )
    assert {kind.value for kind in EventKind} <= set(_event_types())


def _event_types() -> list[str]:
    values: list[str] = CATALOG.definitions("Event")["EventType"]["enum"]
    return values
