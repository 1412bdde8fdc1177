"""A stored subscription as whoever delivers reads it."""

from typing import Any

import pytest

from redfish_fm.mapping.subscription_values import (
    Kept,
    RetryPolicy,
    Subscription,
    decode_kept,
    encode_kept,
    read_subscription,
)

URI = "/redfish/v1/EventService/Subscriptions/1"


def read(**document: Any) -> Subscription:
    return read_subscription(URI, {"Destination": "https://a/", **document}, None)


def test_what_is_kept_survives_storing() -> None:
    kept = Kept("op", (("X-A", "1"), ("X-B", "2")), 7, 12.5)
    assert decode_kept(encode_kept(kept)) == kept


def test_one_that_says_little_is_enabled_and_never_given_up() -> None:
    found = read()
    assert found.enabled
    assert found.policy is RetryPolicy.BACKOFF
    assert found.kind == "RedfishEvent"
    assert not found.verify
    assert not found.include_origin


@pytest.mark.parametrize("policy", RetryPolicy)
def test_every_policy_is_read(policy: RetryPolicy) -> None:
    assert read(DeliveryRetryPolicy=policy.value).policy is policy


def test_a_disabled_one_is_not_delivered_to() -> None:
    assert not read(Status={"State": "Disabled"}).enabled


@pytest.mark.parametrize(("sends", "every_s"), [(True, 300.0), (False, None), (None, None)])
def test_heartbeats_come_only_where_they_are_asked_for(
    sends: bool | None, every_s: float | None
) -> None:
    assert read(SendHeartbeat=sends, HeartbeatIntervalMinutes=5).heartbeat_s == every_s
