"""What happened, as values, and the words of the Event resource that tells of it.

Pure. Redfish: Event.v1_13_0. An event belongs to one record of the feed and has a place in it;
both together are its identity, the same for each subscriber and after a restart. Rendering is done
once per event: what differs from one delivery to the next (context, index) is added around it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Any, Protocol

from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.representations import encode
from redfish_fm.redfish.times import date_time
from redfish_fm.values import value_class

ODATA_TYPE = "#Event.v1_13_0.Event"

Position = tuple[int, int]
"""Where an event stands among all: (seq, number). Compare two to know which came first."""

START: Position = (0, 0)
"""Before the first event there can be."""


class EventKind(Enum):
    """Redfish Event EventType: required in each record of an Event, though out of use."""

    STATUS_CHANGE = "StatusChange"
    RESOURCE_UPDATED = "ResourceUpdated"
    RESOURCE_ADDED = "ResourceAdded"
    RESOURCE_REMOVED = "ResourceRemoved"
    ALERT = "Alert"
    OTHER = "Other"


@value_class
class Event:
    """One event.

    `seq` is that of the feed record, `number` the place in it from 1. `severity` is OK, Warning or
    Critical. `origin` is the URI of OriginOfCondition, `origin_type` its type ("Zone"); `gone`:
    nothing is served there any more. `group` is the EventGroupId, 0 for an event that stands
    alone; `specific`: another event of the group says the same more exactly. `to`: the one
    EventDestination it is meant for; None: everybody's. `given` are properties of a test event that
    a client worded itself, instead of all that the message would say.
    """

    seq: int
    number: int
    message: Message
    severity: str
    origin: str | None
    origin_type: str | None
    time_s: float
    kind: EventKind
    group: int = 0
    resolution: str = ""
    specific: bool = False
    gone: bool = False
    to: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def position(self) -> Position:
        """Where it stands among all."""
        return (self.seq, self.number)

    @property
    def prefix(self) -> str:
        """The prefix of its message's registry."""
        return self.message.key.partition(".")[0]


class Placed(Protocol):
    """What has a place among all events."""

    @property
    def seq(self) -> int:
        """That of the feed record."""
        ...

    @property
    def number(self) -> int:
        """The place in it."""
        ...


def event_id(event: Placed) -> str:
    """Return the EventId: unique, stable, and in the order of events."""
    return f"{event.seq}.{event.number}"


def position_of(text: str) -> Position | None:
    """Return the position that an EventId says, or None for any other text."""
    found = _EVENT_ID.fullmatch(text)
    return None if found is None else (int(found[1]), int(found[2]))


def kind_of(key: str, severity: str) -> EventKind:
    """Return the EventType of a message."""
    return _KINDS.get(key) or (EventKind.OTHER if severity == "OK" else EventKind.ALERT)


def made_event(
    message: Message,
    registries: Registries,
    time_s: float,
    origin: str | None = None,
    origin_type: str | None = None,
) -> Event:
    """Return an event with what the registry says of its message; it has no position yet."""
    row = registries.info(message.key)
    kind = kind_of(message.key, row.severity)
    return Event(0, 0, message, row.severity, origin, origin_type, time_s, kind, 0, row.resolution)


def member(
    event: Event, registries: Registries, origin: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return one entry of Events[], without MemberId.

    `origin` is the whole resource that OriginOfCondition then is (IncludeOriginOfCondition); of
    one that is gone the link stays.
    """
    made: dict[str, Any] = {
        "EventType": event.kind.value,
        "EventId": event_id(event),
        "EventTimestamp": date_time(event.time_s),
        "EventGroupId": event.group,
    }
    if event.specific:
        made["SpecificEventExistsInGroup"] = True
    if event.origin is not None:
        link: Mapping[str, Any] = {"@odata.id": event.origin}
        made["OriginOfCondition"] = link if origin is None or event.gone else origin
    if event.gone:
        made["OriginOfConditionUnavailable"] = True
    if event.given:
        return made | dict(event.given)
    told = registries.render(event.message)
    for name in ("MessageId", "Message", "MessageArgs", "MessageSeverity", "Resolution"):
        made[name] = told[name]
    # Out of use since Event.v1_5_0, but receivers still look for it.
    made["Severity"] = event.severity
    return made


def fragment(member: Mapping[str, Any]) -> bytes:
    """Return an entry as `envelope` takes it: JSON that a MemberId is still added to."""
    return encode(member)[:-1]


def envelope(id: str, context: str | None, fragments: Sequence[bytes]) -> bytes:
    """Return a whole Event resource as JSON; `context` None: the subscriber gave none."""
    head = b'{"@odata.type":%b,"Id":%b,"Name":"Events","Context":%b,"Events@odata.count":%d,'
    members = (
        b'%b,"MemberId":"%d"}' % (fragment, index) for index, fragment in enumerate(fragments)
    )
    # A string, though the subscription's may be null: Event has no null there.
    told = encode(context or "")
    return (head % (encode(ODATA_TYPE), encode(id), told, len(fragments))) + (
        b'"Events":[%b]}' % b",".join(members)
    )


_EVENT_ID = re.compile(r"([0-9]{1,19})\.([0-9]{1,19})")
"""What `event_id` makes; no number is longer."""

_KINDS = {
    "ResourceEvent.ResourceCreated": EventKind.RESOURCE_ADDED,
    "ResourceEvent.ResourceRemoved": EventKind.RESOURCE_REMOVED,
    "ResourceEvent.ResourceChanged": EventKind.RESOURCE_UPDATED,
    "ResourceEvent.ResourceStateChanged": EventKind.STATUS_CHANGE,
    "ResourceEvent.ResourceStatusChangedOK": EventKind.STATUS_CHANGE,
    "ResourceEvent.ResourceStatusChangedWarning": EventKind.STATUS_CHANGE,
    "ResourceEvent.ResourceStatusChangedCritical": EventKind.STATUS_CHANGE,
    "ResourceEvent.ResourcePoweredOn": EventKind.STATUS_CHANGE,
    "ResourceEvent.ResourcePoweredOff": EventKind.STATUS_CHANGE,
    "ResourceEvent.ResourcePoweringOn": EventKind.STATUS_CHANGE,
    "ResourceEvent.ResourcePoweringOff": EventKind.STATUS_CHANGE,
    "ResourceEvent.ResourcePaused": EventKind.STATUS_CHANGE,
}
