"""Events as entries of a log."""

import functools
import json
from dataclasses import replace
from typing import Any

from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.event_entries import (
    event_entry,
    kept_event,
    origin_of,
    position_in,
    unlinked,
)
from redfish_fm.redfish.events import Event, made_event
from redfish_fm.redfish.log_resources import LogTable
from tests.mapping.schemas import SchemaPack
from tests.redfish.builders import CATALOG, REGISTRIES, ZONE
from tests.redfish.packs import SHARED, pack

ENTRIES = "/redfish/v1/Managers/FabricManager/LogServices/EventLog/Entries"
FAILED = Message("ResourceEvent.ResourceStatusChangedCritical", (ZONE, "Critical"))


words = functools.partial(event_entry, registries=REGISTRIES)


def an_event(**more: Any) -> Event:
    made = made_event(FAILED, REGISTRIES, 1_760_000_000.0, ZONE, "Zone")
    return replace(made, **{"seq": 7, "number": 2, "group": 3, **more})


def entry(event: Event) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(words(kept_event(event, 1_760_000_060.0)))
    return made


def test_an_entry_says_what_happened_when_and_to_what() -> None:
    assert entry(an_event()) == {
        "EntryType": "Event",
        "Created": "2025-10-09T08:54:20Z",
        "Severity": "Critical",
        "EventId": "7.2",
        "EventTimestamp": "2025-10-09T08:53:20Z",
        "EventGroupId": 3,
        "MessageId": "ResourceEvent.1.4.ResourceStatusChangedCritical",
        "Message": f"The health of '{ZONE}' is now Critical.",
        "MessageArgs": [ZONE, "Critical"],
        "Resolution": "Look at the resource at once.",
        "Links": {"OriginOfCondition": {"@odata.id": ZONE}},
    }


def test_what_is_gone_is_said_to_be_unavailable() -> None:
    assert entry(an_event(gone=True))["OriginOfConditionUnavailable"] is True


def test_an_entry_leads_back_to_its_event() -> None:
    kept = kept_event(an_event(), 0.0)
    # Versions before this one kept the words.
    for raw in (kept, words(kept)):
        assert (position_in(raw), origin_of(raw)) == ((7, 2), ZONE)
    bare = kept_event(an_event(origin=None), 0.0)
    assert origin_of(bare) is origin_of(words(bare)) is None
    assert position_in(b'{"EntryType":"Event"}') is None


def test_an_entry_of_a_test_event_has_the_id_of_its_place() -> None:
    given = {"EventId": "mine", "MessageId": "Contoso.1.0.Odd", "MessageSeverity": "Warning"}
    made = entry(an_event(given=given))
    assert (made["EventId"], made["MessageId"], made["Severity"]) == (
        "7.2", "Contoso.1.0.Odd", "Warning",
    )  # fmt: skip


def test_an_entry_without_its_link_keeps_everything_else() -> None:
    raw = words(kept_event(an_event(), 0.0))
    left = json.loads(unlinked(raw))
    whole = json.loads(raw)
    del whole["Links"]
    assert left == {**whole, "OriginOfConditionUnavailable": True}


def test_the_schema_says_nothing_against_an_entry() -> None:
    pack("dmtf-2025.4-json-schema-latest")
    schemas = SchemaPack(SHARED / "data" / "dmtf-2025.4-json-schema-latest.tar.gz")
    table = LogTable(CATALOG, ENTRIES, "Entries", lambda uri: uri == ZONE, words=words)
    for number, event in enumerate((an_event(), an_event(gone=True, origin="/x")), start=1):
        table.append(number, kept_event(event, 0.0))
    for member in json.loads(table.collection().body)["Members"]:
        assert schemas.errors(member) == []


def test_what_an_earlier_version_kept_is_read_as_it_is() -> None:
    raw = words(kept_event(an_event(), 0.0))
    assert words(raw) == raw


def test_of_an_entry_facts_are_kept_and_no_words() -> None:
    kept = kept_event(an_event(), 0.0)
    assert b"health" not in kept
    assert b"health" in words(kept)
