"""One subscription as whoever delivers to it reads it, and what of it nobody else may read.

Pure. The document of an EventDestination is for clients; beside it stands, in SECRET space under
the same URI, who made it, the HTTP headers to send and where its events begin.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from redfish_fm.redfish.event_filter import EventFilter


class RetryPolicy(Enum):
    """Redfish EventDestination DeliveryRetryPolicy."""

    TERMINATE = "TerminateAfterRetries"
    SUSPEND = "SuspendRetries"
    FOREVER = "RetryForever"
    BACKOFF = "RetryForeverWithBackoff"


DEFAULT_POLICY = RetryPolicy.BACKOFF
"""Of a client that says nothing: nothing is lost, and a dead receiver is asked ever less often."""

STREAM = "SSE"
PUSH = "RedfishEvent"


class Kept(msgspec.Struct, frozen=True):
    """What is kept of a subscription and shown to nobody.

    `owner` is the user who made it, `headers` are sent along, in this order. Events up to the feed
    record `begins` are not sent, and of those before the record `resumed` none that is older than
    `since_s` (seconds since 1970): what comes later is sent also where the clock was set back.
    """

    owner: str
    headers: tuple[tuple[str, str], ...] = ()
    begins: int = 0
    since_s: float = 0.0
    resumed: int = 0


def encode_kept(kept: Kept) -> bytes:
    """Return the stored form."""
    return msgspec.json.encode(kept)


def decode_kept(raw: bytes | None) -> Kept:
    """Return what was stored; of a subscription without, nothing."""
    return Kept("") if raw is None else msgspec.json.decode(raw, type=Kept)


@dataclass(frozen=True, slots=True)
class Subscription:
    """An EventDestination. `heartbeat_s` None: it wants none. `include_origin`: it wants the whole
    resource that an event is about. `kept` never shows in a repr, log or dump."""

    uri: str
    kind: str
    destination: str
    context: str | None
    filter: EventFilter
    policy: RetryPolicy
    verify: bool
    include_origin: bool
    enabled: bool
    heartbeat_s: float | None
    kept: Kept


def read_subscription(uri: str, document: Mapping[str, Any], kept: bytes | None) -> Subscription:
    """Return the subscription that a stored document means."""
    minutes = document.get("HeartbeatIntervalMinutes")
    beats = document.get("SendHeartbeat") is True and isinstance(minutes, int)
    return Subscription(
        uri,
        str(document.get("SubscriptionType") or PUSH),
        str(document.get("Destination", "")),
        document.get("Context"),
        EventFilter.of(document),
        RetryPolicy(document.get("DeliveryRetryPolicy") or DEFAULT_POLICY.value),
        document.get("VerifyCertificate") is True,
        document.get("IncludeOriginOfCondition") is True,
        (document.get("Status") or {}).get("State") != "Disabled",
        60.0 * minutes if beats and minutes is not None else None,
        decode_kept(kept),
    )
