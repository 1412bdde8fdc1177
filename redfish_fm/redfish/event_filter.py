"""Which events a subscription is for, by the filter properties of an EventDestination.

Pure. Redfish: EventDestination.v1_16_0. An empty list restricts nothing. Everything is prepared
once per subscription, so that an event is matched by looking things up: it costs the depth of its
origin, never the length of the lists.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from redfish_fm.redfish.events import Event, EventKind

_NONE: frozenset[str] = frozenset()
_MESSAGE_ID = re.compile(r"\w+(\.\d+){0,3}\.\w+", re.ASCII)
"""A MessageId with or without version: of a registry with major and minor, some add the errata."""


@dataclass(frozen=True, slots=True)
class EventFilter:
    """The properties as sets. Message ids have no version ("Fabric.ZoneCreated"), URIs no slash
    at the end."""

    registry_prefixes: frozenset[str] = _NONE
    exclude_registry_prefixes: frozenset[str] = _NONE
    message_ids: frozenset[str] = _NONE
    exclude_message_ids: frozenset[str] = _NONE
    resource_types: frozenset[str] = _NONE
    origin_resources: frozenset[str] = _NONE
    subordinate_resources: bool = False
    severities: frozenset[str] = _NONE
    event_types: frozenset[str] = _NONE

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "EventFilter":
        """Return the filter of an EventDestination; its other properties mean nothing here."""
        origins = (each.get("@odata.id") for each in document.get("OriginResources") or ())
        return cls(
            _texts(document.get("RegistryPrefixes")),
            _texts(document.get("ExcludeRegistryPrefixes")),
            frozenset(map(unversioned, _texts(document.get("MessageIds")))),
            frozenset(map(unversioned, _texts(document.get("ExcludeMessageIds")))),
            _texts(document.get("ResourceTypes")),
            frozenset(uri.rstrip("/") for uri in _texts(origins)),
            document.get("SubordinateResources") is True,
            _texts(document.get("Severities")),
            _texts(document.get("EventTypes")),
        )

    def matches(self, event: Event) -> bool:
        """Return whether a subscription with this filter gets `event`."""
        return (
            self._message_matches(event)
            and (not self.severities or event.severity in self.severities)
            and (not self.resource_types or event.origin_type in self.resource_types)
            and (not self.event_types or self._kind_matches(event))
            and (not self.origin_resources or self._origin_matches(event.origin))
        )

    def _message_matches(self, event: Event) -> bool:
        key, prefix = event.message.key, event.prefix
        if key in self.exclude_message_ids or prefix in self.exclude_registry_prefixes:
            return False
        if not self.registry_prefixes and not self.message_ids:
            return True
        # Each list lets through what the other does not have.
        return prefix in self.registry_prefixes or key in self.message_ids

    def _kind_matches(self, event: Event) -> bool:
        """ "Other" stands for events whatever their type; what has to be seen to is an Alert."""
        if event.kind.value in self.event_types or EventKind.OTHER.value in self.event_types:
            return True
        return event.severity != "OK" and EventKind.ALERT.value in self.event_types

    def _origin_matches(self, origin: str | None) -> bool:
        if origin is None:
            return False
        if origin in self.origin_resources:
            return True
        above = origin if self.subordinate_resources else ""
        while "/" in above:
            above = above.rpartition("/")[0]
            if above in self.origin_resources:
                return True
        return False


def is_message_id(text: str) -> bool:
    """Return whether a text has the form of a MessageId, which `unversioned` takes."""
    return _MESSAGE_ID.fullmatch(text) is not None


def unversioned(message_id: str) -> str:
    """Return "Fabric.ZoneCreated" for "Fabric.1.0.ZoneCreated": the version is not looked at."""
    prefix, *_, key = message_id.split(".")
    return f"{prefix}.{key}"


def _texts(values: Iterable[Any] | None) -> frozenset[str]:
    """Return the texts among `values`; null in a list means nothing."""
    return frozenset(each for each in values or () if isinstance(each, str))
