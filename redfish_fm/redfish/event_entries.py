"""What an event is kept as in a log, what the entry reads like, and back. Pure.

Redfish: LogEntry.v1_21_0. Each change makes an entry and few are ever read, so what is kept are the
facts; the words are added when somebody asks.
"""

from typing import Any

import msgspec

from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.events import Event, Position, event_id, position_of
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.representations import encode
from redfish_fm.redfish.times import date_time

_GIVEN = (
    "EventTimestamp", "EventGroupId", "SpecificEventExistsInGroup", "MessageId", "Message",
    "MessageArgs", "Resolution",
)  # fmt: skip
"""What an entry of a log takes over of a test event that a client worded itself."""
_TAKEN = (*_GIVEN, "MessageSeverity")


class _Kept(msgspec.Struct, array_like=True):
    """The facts, as they are stored: never change the order, add at the end with a default."""

    seq: int
    number: int
    key: str
    args: tuple[str, ...]
    severity: str
    origin: str | None
    time_s: float
    created_s: float
    group: int
    specific: bool
    gone: bool
    given: dict[str, Any] | None = None


_encode_kept = msgspec.json.Encoder().encode
_decode_kept = msgspec.json.Decoder(_Kept).decode


def kept_event(event: Event, created_s: float) -> bytes:
    """Return what a log keeps of `event`."""
    message, given = event.message, event.given
    return _encode_kept(
        _Kept(
            event.seq,
            event.number,
            message.key,
            message.args,
            event.severity,
            event.origin,
            event.time_s,
            created_s,
            event.group,
            event.specific,
            event.gone,
            {name: given[name] for name in _TAKEN if name in given} if given else None,
        )
    )


def event_entry(kept: bytes, registries: Registries) -> bytes:
    """Return the properties of the LogEntry that tells of what was kept, as JSON.

    Entries of earlier versions were kept as what they read like; they are returned as they are.
    """
    if kept.startswith(b"{"):
        return kept
    event = _decode_kept(kept)
    entry: dict[str, Any] = {
        "EntryType": "Event",
        "Created": date_time(event.created_s),
        "Severity": event.severity,
        "EventId": event_id(event),
        "EventTimestamp": date_time(event.time_s),
        "EventGroupId": event.group,
    }
    if event.specific:
        entry["SpecificEventExistsInGroup"] = True
    if event.given is not None:
        entry["Severity"] = event.given.pop("MessageSeverity", event.severity)
        # A client chooses the id of its test events: in the log its place tells them apart.
        entry |= event.given
    else:
        entry |= _words(Message(event.key, event.args), registries)
    if event.gone:
        entry["OriginOfConditionUnavailable"] = True
    if event.origin is not None:
        entry["Links"] = {"OriginOfCondition": {"@odata.id": event.origin}}
    return encode(entry)


def _words(message: Message, registries: Registries) -> dict[str, Any]:
    row = registries.info(message.key)
    return {
        "Severity": row.severity,
        "MessageId": row.message_id,
        "Message": registries.words(message),
        "MessageArgs": message.args,
        "Resolution": row.resolution,
    }


class _Link(msgspec.Struct):
    uri: str = msgspec.field(name="@odata.id", default="")


class _Links(msgspec.Struct):
    origin: _Link | None = msgspec.field(name="OriginOfCondition", default=None)


class _Entry(msgspec.Struct):
    event_id: str = msgspec.field(name="EventId", default="")
    links: _Links | None = msgspec.field(name="Links", default=None)


_decode = msgspec.json.Decoder(_Entry).decode


def origin_of(value: bytes) -> str | None:
    """Return the URI that a kept entry links as its origin, or None."""
    if not value.startswith(b"{"):
        return _decode_kept(value).origin
    links = _decode(value).links
    return None if links is None or links.origin is None else links.origin.uri


def position_in(value: bytes) -> Position | None:
    """Return the position of the event that was kept; None where an entry tells of none."""
    if not value.startswith(b"{"):
        event = _decode_kept(value)
        return event.seq, event.number
    return position_of(_decode(value).event_id)


def unlinked(value: bytes) -> bytes:
    """Return an entry without its link to its origin, which is served no more."""
    entry: dict[str, Any] = msgspec.json.decode(value)
    entry.pop("Links", None)
    return encode(entry | {"OriginOfConditionUnavailable": True})
