"""Which events a subscription gets: each filter property, alone and together."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.event_filter import EventFilter, unversioned
from redfish_fm.redfish.events import Event, made_event
from tests.redfish.builders import FABRIC, REGISTRIES, SWITCH, ZONE, ZONES

CREATED = Message("ResourceEvent.ResourceCreated")
ZONE_CREATED = Message("Fabric.ZoneCreated", ("1", "F"))
FAILED = Message("Fabric.PortFailed", ("S", "1"))
CRITICAL = Message("ResourceEvent.ResourceStatusChangedCritical", (ZONE, "Critical"))


def an_event(message: Message = CREATED, origin: str | None = ZONE, kind: str = "Zone") -> Event:
    return made_event(message, REGISTRIES, 0.0, origin, kind)


def gets(document: dict[str, Any], event: Event) -> bool:
    return EventFilter.of(document).matches(event)


def links(*uris: str) -> list[dict[str, str]]:
    return [{"@odata.id": uri} for uri in uris]


EVENTS = {
    "created": an_event(),
    "zone": an_event(ZONE_CREATED),
    "port": an_event(FAILED, f"{SWITCH}/Ports/1", "Port"),
    "critical": an_event(CRITICAL),
    "nothing": replace(an_event(Message("ResourceEvent.TestMessage"), None), origin_type=None),
}
ALL = set(EVENTS)


@pytest.mark.parametrize(
    ("document", "wanted"),
    [
        ({}, ALL),
        ({"RegistryPrefixes": [], "MessageIds": [], "OriginResources": []}, ALL),
        ({"RegistryPrefixes": None, "Severities": None, "OriginResources": None}, ALL),
        ({"RegistryPrefixes": [None]}, ALL),
        ({"RegistryPrefixes": ["Fabric"]}, {"zone", "port"}),
        ({"ExcludeRegistryPrefixes": ["Fabric"]}, {"created", "critical", "nothing"}),
        ({"MessageIds": ["Fabric.ZoneCreated"]}, {"zone"}),
        ({"MessageIds": ["Fabric.9.7.ZoneCreated"]}, {"zone"}),
        ({"MessageIds": ["Fabric.9.7.2.ZoneCreated"]}, {"zone"}),
        # Each of both lists lets through what the other does not have.
        (
            {"RegistryPrefixes": ["Fabric"], "MessageIds": ["ResourceEvent.ResourceCreated"]},
            {"zone", "port", "created"},
        ),
        ({"ExcludeMessageIds": ["Fabric.1.0.ZoneCreated"]}, ALL - {"zone"}),
        (
            {"RegistryPrefixes": ["Fabric"], "ExcludeMessageIds": ["Fabric.ZoneCreated"]},
            {"port"},
        ),
        (
            {"MessageIds": ["Fabric.ZoneCreated"], "ExcludeRegistryPrefixes": ["Fabric"]},
            set(),
        ),
        ({"ResourceTypes": ["Port"]}, {"port"}),
        ({"ResourceTypes": ["Zone", "Port"]}, ALL - {"nothing"}),
        ({"Severities": ["Critical"]}, {"port", "critical"}),
        ({"Severities": ["OK"], "ResourceTypes": ["Zone"]}, {"created", "zone"}),
        ({"EventTypes": ["ResourceAdded"]}, {"created"}),
        ({"EventTypes": ["StatusChange"]}, {"critical"}),
        ({"EventTypes": ["Alert"]}, {"port", "critical"}),
        ({"EventTypes": ["Other"]}, ALL),
        ({"OriginResources": links(ZONE)}, {"created", "zone", "critical"}),
        ({"OriginResources": links(f"{ZONE}/")}, {"created", "zone", "critical"}),
        ({"OriginResources": links(ZONES)}, set()),
        ({"OriginResources": links(ZONES), "SubordinateResources": False}, set()),
        (
            {"OriginResources": links(ZONES), "SubordinateResources": True},
            {"created", "zone", "critical"},
        ),
        (
            {"OriginResources": links(FABRIC), "SubordinateResources": True},
            ALL - {"nothing"},
        ),
        # Whoever is named like the beginning of another is nobody's parent.
        ({"OriginResources": links(f"{FABRIC}/Zone"), "SubordinateResources": True}, set()),
        ({"SubordinateResources": True}, ALL),
    ],
)
def test_a_subscription_gets_what_its_filters_say(
    document: dict[str, Any], wanted: set[str]
) -> None:
    assert {name for name, event in EVENTS.items() if gets(document, event)} == wanted


@pytest.mark.parametrize(
    ("message_id", "key"),
    [
        ("Fabric.ZoneCreated", "Fabric.ZoneCreated"),
        ("Fabric.1.0.ZoneCreated", "Fabric.ZoneCreated"),
        ("Fabric.1.0.3.ZoneCreated", "Fabric.ZoneCreated"),
    ],
)
def test_the_version_of_a_message_id_is_not_looked_at(message_id: str, key: str) -> None:
    assert unversioned(message_id) == key


_MESSAGES = st.sampled_from([CREATED, ZONE_CREATED, FAILED, CRITICAL])
_ORIGINS = st.sampled_from([ZONE, ZONES, SWITCH, f"{SWITCH}/Ports/1", FABRIC, None])
_NAMES = st.lists(st.sampled_from(["Fabric", "ResourceEvent", "TaskEvent"]), max_size=2)
_URIS = st.lists(st.sampled_from([ZONE, ZONES, SWITCH, FABRIC]), max_size=2)


@given(_MESSAGES, _ORIGINS, _NAMES, _NAMES, _URIS, st.booleans())
def test_a_filter_says_what_the_sentences_of_the_schema_say(
    message: Message,
    origin: str | None,
    prefixes: list[str],
    excluded: list[str],
    uris: list[str],
    below: bool,
) -> None:
    event = an_event(message, origin)
    prefix = message.key.split(".")[0]
    allowed = not prefixes or prefix in prefixes
    placed = not uris or (
        origin is not None
        and any(origin == uri or (below and origin.startswith(f"{uri}/")) for uri in uris)
    )
    document = {
        "RegistryPrefixes": prefixes,
        "ExcludeRegistryPrefixes": excluded,
        "OriginResources": links(*uris),
        "SubordinateResources": below,
    }
    assert gets(document, event) is (allowed and prefix not in excluded and placed)
