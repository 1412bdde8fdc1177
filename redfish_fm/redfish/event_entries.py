"""What an event reads like as an entry of a log, and back. Pure. Redfish: LogEntry.v1_21_0."""

from typing import Any

import msgspec

from redfish_fm.redfish.events import Event, Position, event_id, position_of
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.representations import encode
from redfish_fm.redfish.times import date_time

_GIVEN = (
    "EventTimestamp", "EventGroupId", "SpecificEventExistsInGroup", "MessageId", "Message",
    "MessageArgs", "Resolution",
)  # fmt: skip
"""What an entry of a log takes over of a test event that a client worded itself."""


def event_entry(event: Event, created_s: float, registries: Registries) -> bytes:
    """Return the properties of the LogEntry that tells of `event`, as JSON."""
    entry: dict[str, Any] = {
        "EntryType": "Event",
        "Created": date_time(created_s),
        "Severity": event.severity,
        "EventId": event_id(event),
        "EventTimestamp": date_time(event.time_s),
        "EventGroupId": event.group,
    }
    if event.specific:
        entry["SpecificEventExistsInGroup"] = True
    if event.given:
        told = event.given
        entry["Severity"] = told.get("MessageSeverity", event.severity)
        # A client chooses the id of its test events: in the log its place tells them apart.
        entry |= {name: told[name] for name in _GIVEN if name in told}
    else:
        row = registries.info(event.message.key)
        entry["Severity"] = row.severity
        entry["MessageId"] = row.message_id
        entry["Message"] = registries.words(event.message)
        entry["MessageArgs"] = event.message.args
        entry["Resolution"] = row.resolution
    if event.gone:
        entry["OriginOfConditionUnavailable"] = True
    if event.origin is not None:
        entry["Links"] = {"OriginOfCondition": {"@odata.id": event.origin}}
    return encode(entry)


class _Link(msgspec.Struct):
    uri: str = msgspec.field(name="@odata.id", default="")


class _Links(msgspec.Struct):
    origin: _Link | None = msgspec.field(name="OriginOfCondition", default=None)


class _Entry(msgspec.Struct):
    event_id: str = msgspec.field(name="EventId", default="")
    links: _Links | None = msgspec.field(name="Links", default=None)


_decode = msgspec.json.Decoder(_Entry).decode


def origin_of(value: bytes) -> str | None:
    """Return the URI that an entry links as its origin, or None."""
    links = _decode(value).links
    return None if links is None or links.origin is None else links.origin.uri


def position_in(value: bytes) -> Position | None:
    """Return the position of the event that an entry tells of; None where it tells of none."""
    return position_of(_decode(value).event_id)


def unlinked(value: bytes) -> bytes:
    """Return an entry without its link to its origin, which is served no more."""
    entry: dict[str, Any] = msgspec.json.decode(value)
    entry.pop("Links", None)
    return encode(entry | {"OriginOfConditionUnavailable": True})
