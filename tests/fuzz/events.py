"""What there is to ask about events that should be taken: subscriptions, test events, streams."""

import random
from typing import Any

from tests.fuzz.surface import Surface

Body = dict[str, Any]
SERVICE = "/redfish/v1/EventService"
NETWORK = "127.0.0.0/8"
"""Where the receivers are; a service is asked for these only if it is told to allow them."""
_RECEIVERS = ("https://127.0.0.1:9/taken", "http://127.0.0.1:9/taken", "https://127.0.0.1:9/dead")
"""Nobody listens there: what is sent in this process is taken by the test, or refused."""
DEAD = "/dead"
_POLICIES = ("RetryForever", "RetryForeverWithBackoff", "SuspendRetries", "TerminateAfterRetries")
_MESSAGES = ("ResourceEvent.1.4.ResourceChanged", "Base.1.22.Success", "ResourceEvent.1.0.x")
_ORIGINS = ("/redfish/v1/Systems", "/redfish/v1/Fabrics", "/redfish/v1/Chassis")
_TEXTS = ("by chance", "日本 é 🙂", "")
_STREAM_FILTERS = (
    "RegistryPrefix eq 'ResourceEvent'", "ResourceType eq 'Zone' or ResourceType eq 'Port'",
    "EventFormatType eq Event", "not (MessageId eq 'ResourceEvent.1.4.ResourceChanged')",
    "OriginResource eq '/redfish/v1/Fabrics' and SubordinateResources eq true",
    "ResourceType eq 'x'", "RegistryPrefix eq", "((((", "EventType eq 'Alert'", "Id eq 1", "",
    "contains(MessageId,'a')", "OriginResource gt '/redfish/v1'",
)  # fmt: skip
_LAST_IDS = ("", "0", "1", "1.0", "1:0", "99999999999999999999", "x", "-1", "日本", "1-1", "7.3")


class Events:
    """Draws them by one source of chance."""

    def __init__(self, rng: random.Random, surface: Surface) -> None:
        self._rng = rng
        self._surface = surface

    def _offered(self, name: str) -> list[str]:
        """Return one or two of the values that the service lists under `name`."""
        known = self._surface.tree.get(SERVICE, {}).get(name) or []
        return self._rng.sample(known, min(len(known), self._rng.choice((1, 2))))

    def subscription(self, _uri: str) -> Body:
        """Return the body of a POST that subscribes to events."""
        wished: Body = {
            "Context": self._rng.choice(_TEXTS),
            "RegistryPrefixes": self._offered("RegistryPrefixes"),
            "ResourceTypes": self._offered("ResourceTypes"),
            "Severities": self._offered("Severities"),
            "MessageIds": [_MESSAGES[0]],
            "ExcludeMessageIds": [_MESSAGES[1]],
            "OriginResources": [{"@odata.id": self._rng.choice(_ORIGINS)}],
            "SubordinateResources": True,
            "IncludeOriginOfCondition": True,
            "HttpHeaders": [{"X-Invented": "1"}, {"Authorization": "Bearer invented"}],
            "DeliveryRetryPolicy": self._rng.choice(_POLICIES),
            "SendHeartbeat": True,
            "VerifyCertificate": self._rng.random() < 0.5,
        }
        names = self._rng.sample(list(wished), self._rng.choice((0, 1, 1, 2, 3)))
        body: Body = {"Destination": self._rng.choice(_RECEIVERS), "Protocol": "Redfish"}
        return {**body, **{name: wished[name] for name in names}}

    def changed(self, _uri: str) -> Body:
        """Return the body of a PATCH of a subscription."""
        wished: Body = {
            "Context": self._rng.choice((*_TEXTS, None)),
            "DeliveryRetryPolicy": self._rng.choice(_POLICIES),
            "HttpHeaders": self._rng.choice(([], [None, {}, {"X-Other": "2"}], [{}])),
            "VerifyCertificate": self._rng.random() < 0.5,
        }
        name = self._rng.choice(list(wished))
        return {name: wished[name]}

    def resumed(self, _uri: str) -> Body:
        """Return the parameters of ResumeSubscription."""
        wished: Body = {"DeliverBufferedEventDuration": self._rng.choice(("PT1M", "P1D", "PT0S"))}
        return wished if self._rng.random() < 0.3 else {}

    def test_event(self, _uri: str) -> Body:
        """Return the parameters of SubmitTestEvent."""
        body: Body = {"MessageId": self._rng.choice(_MESSAGES)}
        if self._rng.random() < 0.5:
            body["OriginOfCondition"] = self._rng.choice(_ORIGINS)
        if self._rng.random() < 0.3:
            body |= {"MessageArgs": ["a", "日本"], "MessageSeverity": "Warning"}
        return body

    def stream(self) -> tuple[str, list[tuple[str, str]], dict[str, str]] | None:
        """Return where events are read as they come, a query and headers; None: nowhere."""
        uri = self._surface.tree.get(SERVICE, {}).get("ServerSentEventUri")
        if uri is None:
            return None
        query: list[tuple[str, str]] = []
        if self._rng.random() < 0.5:
            query = [("$filter", self._rng.choice(_STREAM_FILTERS))]
        headers = {"accept": self._rng.choice(("text/event-stream", "*/*", "application/json"))}
        if self._rng.random() < 0.4:
            headers["last-event-id"] = self._rng.choice(_LAST_IDS)
        return str(uri), query, headers
