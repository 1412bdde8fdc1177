"""The EventService: what it shows, what of it can be changed, and its two actions.

Pure. Redfish: EventService.v1_12_0. A test event changes nothing, but who was told that it was
taken shall get it, whatever happens: so it passes through the ANNOUNCED space, one change that
writes down what was asked for and takes it away again, and the feed has both.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from redfish_fm.mapping import generic, refusals
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.resources import stored
from redfish_fm.mapping.types import ODATA_TYPES, collection_type
from redfish_fm.mapping.uris import EVENT_SERVICE, SUBSCRIPTIONS
from redfish_fm.redfish import messages
from redfish_fm.redfish.changes import Edit, FeedEntry, Space
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.event_filter import unversioned
from redfish_fm.redfish.events import Event, kind_of
from redfish_fm.redfish.values import HIDDEN
from redfish_fm.redfish.writes import OutcomeKind, Write

SUBMIT_TEST_EVENT = "EventService.SubmitTestEvent"
TEST_SUBSCRIPTION = "EventService.TestEventSubscription"

TEST_MESSAGE = Message("ResourceEvent.TestMessage")
"""Nothing happened: somebody tries whether events arrive."""

EVENT_TYPES = (
    "StatusChange",
    "ResourceUpdated",
    "ResourceAdded",
    "ResourceRemoved",
    "Alert",
    "Other",
)
SEVERITIES = ("OK", "Warning", "Critical")

ARGS_MAX, CHARS_MAX = 32, 4096
"""MessageArgs of a test event, and characters of all of them together or of another text."""

TRIED = f"{EVENT_SERVICE}/Actions/"
"""Below, by action, what was asked for stands for a moment. No resource is there."""

RETRY_ATTEMPTS, RETRY_INTERVAL_S = 3, 60
"""What holds until an operator says otherwise."""

RANGES = {"DeliveryRetryAttempts": (0, 1000), "DeliveryRetryIntervalSeconds": (1, 86_400)}
"""What the two numbers may be: at least a try, at most a day."""


@dataclass(frozen=True, slots=True)
class AboutEvents:
    """What is told: prefixes of registries, types of resources that events are about, Actions.

    `stream_uri` is where events can be read as a stream; None where nobody offers that. Then
    `stream_filter` says which properties a stream's $filter may name.
    """

    registry_prefixes: tuple[str, ...]
    resource_types: tuple[str, ...]
    actions: Mapping[str, Any]
    stream_uri: str | None = None
    stream_filter: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retrying:
    """How often a delivery is tried again, every so many seconds; whether anything is sent."""

    attempts: int = RETRY_ATTEMPTS
    interval_s: float = RETRY_INTERVAL_S
    enabled: bool = True


def event_service_documents(about: AboutEvents) -> dict[str, dict[str, Any]]:
    """Return the service and its collection of subscriptions, by URI."""
    service: dict[str, Any] = {
        "@odata.id": EVENT_SERVICE,
        "@odata.type": ODATA_TYPES["EventService"],
        "Id": "EventService",
        "Name": "Events",
        "ServiceEnabled": True,
        "Status": {"State": "Enabled", "Health": "OK"},
        "DeliveryRetryAttempts": RETRY_ATTEMPTS,
        "DeliveryRetryIntervalSeconds": RETRY_INTERVAL_S,
        "EventFormatTypes": ["Event"],
        "RegistryPrefixes": list(about.registry_prefixes),
        "ResourceTypes": list(about.resource_types),
        "Severities": list(SEVERITIES),
        "ExcludeMessageId": True,
        "ExcludeRegistryPrefix": True,
        "IncludeOriginOfConditionSupported": True,
        "OriginResourcesSupported": True,
        "SubordinateResourcesSupported": True,
        "Subscriptions": {"@odata.id": SUBSCRIPTIONS},
        "Actions": dict(about.actions),
    }
    if about.stream_uri is not None:
        service["ServerSentEventUri"] = about.stream_uri
        # What is out of use is taken from older clients, and named to nobody.
        named = (name for name in about.stream_filter if name != "EventType")
        service["SSEFilterPropertiesSupported"] = dict.fromkeys(named, True)
    collection = {
        "@odata.id": SUBSCRIPTIONS,
        "@odata.type": collection_type("EventDestination"),
        "Name": "Subscriptions",
        "Members": [],
        "Members@odata.count": 0,
    }
    return {EVENT_SERVICE: service, SUBSCRIPTIONS: collection}


def retrying(service: Mapping[str, Any]) -> Retrying:
    """Return what the document of the EventService says about delivery."""
    return Retrying(
        int(service.get("DeliveryRetryAttempts", RETRY_ATTEMPTS)),
        float(service.get("DeliveryRetryIntervalSeconds", RETRY_INTERVAL_S)),
        service.get("ServiceEnabled") is not False,
    )


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of PATCH on the EventService."""
    told = [*_wrong_settings(write.body)]
    if told:
        raise refusals.bad_content(*told)
    return generic.patch(write, tip)


def act(write: Write, tip: Tip) -> Draft:
    """Return the draft of a test event; 409 while nothing is sent."""
    service = stored(tip, write.uri)
    if write.action not in (SUBMIT_TEST_EVENT, TEST_SUBSCRIPTION):
        raise refusals.action_not_supported(write.action or "")
    asked = {name: value for name, value in write.body.items() if name in (*_GIVEN, _ORIGIN)}
    told = [*_too_long(asked)]
    if told:
        raise refusals.bad_content(*told)
    if service.get("ServiceEnabled") is False:
        raise RedfishError(409, (messages.service_disabled(EVENT_SERVICE),))
    key, raw = f"{TRIED}{write.action}", msgspec.json.encode(asked)
    passing = (Edit(Space.ANNOUNCED, key, None, raw), Edit(Space.ANNOUNCED, key, raw, None))
    return Draft(OutcomeKind.CHANGED, write.uri, passing)


def tried(entry: FeedEntry) -> Mapping[str, Any] | None:
    """Return what SubmitTestEvent was given, or nothing of TestEventSubscription, where an entry
    of the feed is a test; None where it is something else."""
    if entry.post is None or not entry.uri.startswith(TRIED):
        return None
    body: dict[str, Any] = msgspec.json.decode(entry.post)
    return body if entry.uri.endswith(SUBMIT_TEST_EVENT) else {}


def submitted(body: Mapping[str, Any], time_s: float, origin_type: str | None) -> Event:
    """Return the event that SubmitTestEvent asks for: all it says is the client's, but its id."""
    key = unversioned(str(body["MessageId"]))
    severity = next(
        (
            str(body[name])
            for name in ("MessageSeverity", "Severity")
            if body.get(name) in SEVERITIES
        ),
        "OK",
    )
    given = {name: value for name, value in body.items() if name in _GIVEN}
    origin = body.get(_ORIGIN)
    arguments = tuple(str(each) for each in body.get("MessageArgs") or ())
    return Event(
        0,
        0,
        Message(key, arguments),
        severity,
        origin.rstrip("/") if isinstance(origin, str) else None,
        origin_type,
        time_s,
        kind_of(key, severity),
        int(body.get("EventGroupId") or 0),
        given=given,
    )


_ORIGIN = "OriginOfCondition"
_GIVEN = frozenset(
    {
        "EventGroupId",
        "EventTimestamp",
        "EventType",
        "Message",
        "MessageArgs",
        "MessageId",
        "MessageSeverity",
        "Severity",
    }
)
"""What of a test event is shown as it was given; an EventId is the service's own."""


def _too_long(asked: Mapping[str, Any]) -> Iterator[Message]:
    """Yield what is too long of a test event, which is kept for all who read events."""
    arguments: Sequence[Any] = asked.get("MessageArgs") or ()
    if len(arguments) > ARGS_MAX:
        yield messages.array_size_too_long("MessageArgs", ARGS_MAX, "#/MessageArgs")
    for name, value in asked.items():
        texts = arguments if name == "MessageArgs" else [value]
        if sum(len(str(each)) for each in texts) > CHARS_MAX:
            yield messages.string_value_too_long(HIDDEN, CHARS_MAX, f"#/{name}")


def _wrong_settings(body: Mapping[str, Any]) -> Iterator[Message]:
    for name, value in _settings(body):
        place = f"#/{name}"
        if value is None:
            yield messages.property_value_type_error("null", name, place)
        elif name in RANGES and not RANGES[name][0] <= value <= RANGES[name][1]:
            yield messages.property_value_out_of_range(str(value), name, place)


def _settings(body: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    return ((name, value) for name, value in body.items() if "@" not in name)
