"""What a subscription can not be, each told with its place, everything at once."""

from typing import Any

import pytest

from redfish_fm.mapping.subscription_rules import VALUES_MAX
from tests.mapping.subscribing import REFUSED, ZONES, a_tip, post, refused

NOT_IN_LIST = "Base.PropertyValueNotInList"
CONFLICT = "Base.PropertyValueConflict"


@pytest.mark.parametrize(
    ("body", "message", "place"),
    [
        ({"Protocol": "SNMPv3"}, NOT_IN_LIST, "#/Protocol"),
        ({"SubscriptionType": "SSE"}, NOT_IN_LIST, "#/SubscriptionType"),
        ({"EventFormatType": "MetricReport"}, NOT_IN_LIST, "#/EventFormatType"),
        ({"EventTypes": ["Alert", "MetricReport"]}, NOT_IN_LIST, "#/EventTypes/1"),
        ({"RegistryPrefixes": ["Fabric", "Fabrik"]}, NOT_IN_LIST, "#/RegistryPrefixes/1"),
        ({"ExcludeRegistryPrefixes": ["None"]}, NOT_IN_LIST, "#/ExcludeRegistryPrefixes/0"),
        ({"ResourceTypes": ["Zone.v1_6_3"]}, NOT_IN_LIST, "#/ResourceTypes/0"),
        ({"MessageIds": ["Other.1.0.ZoneCreated"]}, NOT_IN_LIST, "#/MessageIds/0"),
        ({"MessageIds": ["ZoneCreated"]}, "Base.PropertyValueFormatError", "#/MessageIds/0"),
        (
            {"OriginResources": [{"@odata.id": f"{ZONES}/none"}]},
            "Base.ResourceMissingAtURI",
            "#/OriginResources/0",
        ),
        ({"HeartbeatIntervalMinutes": 5}, CONFLICT, "#/HeartbeatIntervalMinutes"),
        (
            {"Severities": ["OK"] * (VALUES_MAX + 1)},
            "Base.ArraySizeTooLong",
            "#/Severities",
        ),
        (
            {"RegistryPrefixes": ["Fabric"], "ExcludeRegistryPrefixes": ["Fabric"]},
            CONFLICT,
            "#/RegistryPrefixes/0",
        ),
        (
            {"MessageIds": ["Fabric.ZoneCreated"], "ExcludeRegistryPrefixes": ["Fabric"]},
            CONFLICT,
            "#/MessageIds/0",
        ),
        (
            {"MessageIds": ["Fabric.ZoneCreated"], "ExcludeMessageIds": ["Fabric.1.0.ZoneCreated"]},
            CONFLICT,
            "#/MessageIds/0",
        ),
    ],
)
def test_what_could_only_give_silence_is_refused(
    body: dict[str, Any], message: str, place: str
) -> None:
    with refused(400, (message, place)):
        post(a_tip(), **body)


def test_a_destination_that_is_not_allowed_is_refused_without_repeating_it() -> None:
    place = "#/Destination"
    told = (("Base.PropertyValueError", place), ("RedfishFM.DestinationRefused", place))
    with refused(400, *told) as error:
        post(a_tip(), Destination=REFUSED)
    assert all(REFUSED not in str(each.args) for each in error.value.messages)


def test_everything_wrong_is_told_at_once() -> None:
    with refused(
        400,
        (NOT_IN_LIST, "#/Protocol"),
        (NOT_IN_LIST, "#/ResourceTypes/0"),
        ("Base.PropertyValueFormatError", "#/HttpHeaders"),
    ):
        post(a_tip(), Protocol="OEM", ResourceTypes=["Switch"], HttpHeaders=[{"a": "b\r\nc: d"}])


@pytest.mark.parametrize(
    "body",
    [
        {"MessageIds": ["Fabric.ZoneCreated", "ResourceEvent.1.4.ResourceCreated"]},
        {"MessageIds": ["Fabric.ZoneCreated"], "RegistryPrefixes": ["ResourceEvent"]},
        {"RegistryPrefixes": ["Fabric"], "ExcludeMessageIds": ["Fabric.1.0.1.ZoneRemoved"]},
        {"OriginResources": [{"@odata.id": f"{ZONES}/"}], "SubordinateResources": True},
        {"SubordinateResources": True},
        {"SendHeartbeat": True, "HeartbeatIntervalMinutes": 5},
        {"EventTypes": ["ResourceAdded", "Alert"]},
        {"Severities": [], "MessageIds": [None]},
    ],
)
def test_what_can_be_is_taken(body: dict[str, Any]) -> None:
    assert post(a_tip(), **body)
