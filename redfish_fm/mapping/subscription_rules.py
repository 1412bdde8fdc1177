"""What can be wrong with a subscription that has the right form, everything at once.

Pure. Redfish: EventDestination.v1_16_0. What events there are to ask for, the EventService says;
asking for others, or for what the same subscription shuts out, could only ever give silence.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from redfish_fm.mapping import refusals
from redfish_fm.mapping.drafts import Tip
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.uris import EVENT_SERVICE
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.event_filter import is_message_id, unversioned

VALUES_MAX = 256
"""Elements of one list of a filter."""

HEARTBEAT_MINUTES = 60
"""Between two heartbeats, where a client wants some and does not say how often."""

_ONLY = {"Protocol": "Redfish", "SubscriptionType": "RedfishEvent", "EventFormatType": "Event"}
"""The one value that each of these may have in a POST."""

_LISTS = (
    "EventTypes",
    "ExcludeMessageIds",
    "ExcludeRegistryPrefixes",
    "MessageIds",
    "OriginResources",
    "RegistryPrefixes",
    "ResourceTypes",
    "Severities",
)


def wrong(body: Mapping[str, Any], tip: Tip) -> list[Message]:
    """Return everything that is wrong with a POST body, headers aside."""
    service = tip.document(EVENT_SERVICE) or {}
    return [
        *_wrong_kind(body),
        *_wrong_destination(body, tip),
        *_too_long(body),
        *_not_offered(body, service),
        *_contradictions(body),
        *_missing_origins(body, tip),
        *_wrong_heartbeat(body),
    ]


def _wrong_kind(body: Mapping[str, Any]) -> Iterator[Message]:
    for name, only in _ONLY.items():
        value = body.get(name)
        if value is not None and value != only:
            yield messages.property_value_not_in_list(str(value), name, f"#/{name}")
    for position, value in enumerate(body.get("EventTypes") or ()):
        if value == "MetricReport":
            place = f"#/EventTypes/{position}"
            yield messages.property_value_not_in_list(value, "EventTypes", place)


def _wrong_destination(body: Mapping[str, Any], tip: Tip) -> Iterator[Message]:
    reason = tip.subscribing.refuses(str(body["Destination"]))
    if reason is not None:
        # The URL itself is not repeated: it may have credentials in it.
        yield messages.property_value_error("Destination", "#/Destination")
        yield messages.destination_refused(reason, "#/Destination")


def _too_long(body: Mapping[str, Any]) -> Iterator[Message]:
    for name in _LISTS:
        if len(body.get(name) or ()) > VALUES_MAX:
            yield messages.array_size_too_long(name, VALUES_MAX, f"#/{name}")


def _not_offered(body: Mapping[str, Any], service: Mapping[str, Any]) -> Iterator[Message]:
    prefixes = frozenset(service.get("RegistryPrefixes", ()))
    types = frozenset(service.get("ResourceTypes", ()))
    for name, offered in (
        ("RegistryPrefixes", prefixes),
        ("ExcludeRegistryPrefixes", prefixes),
        ("ResourceTypes", types),
    ):
        for place, value in _texts(body, name):
            if value not in offered:
                yield messages.property_value_not_in_list(value, name, place)
    for name in ("MessageIds", "ExcludeMessageIds"):
        for place, value in _texts(body, name):
            if not is_message_id(value):
                yield messages.property_value_format_error(value, name, place)
            elif value.partition(".")[0] not in prefixes:
                yield messages.property_value_not_in_list(value, name, place)


def _contradictions(body: Mapping[str, Any]) -> Iterator[Message]:
    """Yield what is asked for in one list and shut out by another."""
    without = {value for _, value in _texts(body, "ExcludeRegistryPrefixes")}
    never = {unversioned(value) for _, value in _message_ids(body, "ExcludeMessageIds")}
    conflict = messages.property_value_conflict
    for place, value in _texts(body, "RegistryPrefixes"):
        if value in without:
            yield conflict("RegistryPrefixes", "ExcludeRegistryPrefixes", place)
    for place, value in _message_ids(body, "MessageIds"):
        if value.partition(".")[0] in without:
            yield conflict("MessageIds", "ExcludeRegistryPrefixes", place)
        elif unversioned(value) in never:
            yield conflict("MessageIds", "ExcludeMessageIds", place)


def _missing_origins(body: Mapping[str, Any], tip: Tip) -> Iterator[Message]:
    """Yield the origins that there are not: what a misspelt one would give is silence."""
    for position, link in enumerate(body.get("OriginResources") or ()):
        for uri in uris_at(link, []):
            if not tip.exists(uri.rstrip("/")):
                yield refusals.missing_reference(uri, f"#/OriginResources/{position}")


def _wrong_heartbeat(body: Mapping[str, Any]) -> Iterator[Message]:
    name = "HeartbeatIntervalMinutes"
    if body.get(name) is not None and body.get("SendHeartbeat") is None:
        yield messages.property_value_conflict(name, "SendHeartbeat", f"#/{name}")


def _message_ids(body: Mapping[str, Any], name: str) -> Iterable[tuple[str, str]]:
    """Yield pointer and value of what can be a MessageId; the rest was told already."""
    return (each for each in _texts(body, name) if is_message_id(each[1]))


def _texts(body: Mapping[str, Any], name: str) -> Iterable[tuple[str, str]]:
    """Yield pointer and value of the texts in a list."""
    values: Sequence[Any] = body.get(name) or ()
    return (
        (f"#/{name}/{position}", value)
        for position, value in enumerate(values)
        if isinstance(value, str)
    )
