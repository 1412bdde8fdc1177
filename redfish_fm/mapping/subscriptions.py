"""Subscription writes: POST, PATCH, DELETE of EventDestinations, and their two actions.

Pure. Redfish: EventDestination.v1_16_0. A subscription is a document like any other; its HTTP
headers and its owner stand in SECRET space, in the same change. What its Status says is kept in the
document where it must outlast a restart: whether it is suspended, and why.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from redfish_fm.fabric.health import Health
from redfish_fm.mapping import refusals
from redfish_fm.mapping.accounts import accounts_of
from redfish_fm.mapping.conditions import condition_document, trouble
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.reservations import duration_s
from redfish_fm.mapping.resources import document_edit, new_document, patched, stored
from redfish_fm.mapping.subscription_headers import patched_headers, wrong_headers
from redfish_fm.mapping.subscription_rules import HEARTBEAT_MINUTES, wrong
from redfish_fm.mapping.subscription_values import (
    DEFAULT_POLICY,
    PUSH,
    STREAM,
    Kept,
    decode_kept,
    encode_kept,
)
from redfish_fm.mapping.uris import SUBSCRIPTIONS
from redfish_fm.redfish import messages
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind, Write

SUSPEND = "EventDestination.SuspendSubscription"
RESUME = "EventDestination.ResumeSubscription"
BUFFERED = "DeliverBufferedEventDuration"

_BELOW = f"{SUBSCRIPTIONS}/"
_STREAM_MARK = b'"SubscriptionType":"SSE"'
"""Every stream's document has it: most others need not be read."""

ENABLED = {"State": "Enabled", "Health": "OK"}


def create(write: Write, tip: Tip) -> Draft:
    """Return the draft of POST Subscriptions."""
    _refuse_nobody(write.actor, tip)
    headers = patched_headers((), write.body.get("HttpHeaders"))
    told = [*wrong(write.body, tip), *wrong_headers(headers)]
    if told:
        raise refusals.bad_content(*told)
    if pushing(tip) >= tip.subscribing.subscriptions_max:
        raise RedfishError(503, (messages.event_subscription_limit_exceeded(),))
    uri, document = new_document("EventDestination", write.uri, write.body, tip)
    after = {**_complete(document), "Status": ENABLED}
    kept = Kept(write.actor, headers, begins=int(tip.next_id, 36))
    return Draft(OutcomeKind.CREATED, uri, (document_edit(tip, uri, after), _keep(uri, kept, tip)))


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of PATCH on a subscription."""
    before = stored(tip, write.uri)
    if before.get("SubscriptionType") == STREAM:
        # What a stream is, its reader said when it was opened.
        told = [messages.property_not_writable(name, f"#/{name}") for name in write.body]
        raise refusals.bad_content(*told)
    kept = decode_kept(tip.secret(write.uri))
    body = {name: value for name, value in write.body.items() if name != "HttpHeaders"}
    edits = []
    if "HttpHeaders" in write.body:
        headers = patched_headers(kept.headers, write.body["HttpHeaders"])
        told = [*wrong_headers(headers)]
        if told:
            raise refusals.bad_content(*told)
        if headers != kept.headers:
            changed = msgspec.structs.replace(kept, headers=headers)
            edits.append(_keep(write.uri, changed, tip))
    after = {**_complete(patched("EventDestination", before, body)), "Status": before["Status"]}
    if after != dict(before):
        edits.append(document_edit(tip, write.uri, after))
    kind = OutcomeKind.CHANGED if edits else OutcomeKind.NO_OPERATION
    return Draft(kind, write.uri, tuple(edits))


def delete(write: Write, tip: Tip) -> Draft:
    """Return the draft of DELETE."""
    return ended(write.uri, tip)


def act(write: Write, tip: Tip) -> Draft:
    """Return the draft of SuspendSubscription and ResumeSubscription."""
    before = stored(tip, write.uri)
    if write.action not in (SUSPEND, RESUME) or before.get("SubscriptionType") == STREAM:
        raise refusals.action_not_supported(write.action or "")
    if write.action == SUSPEND:
        return _with_status({"State": "Disabled", "Health": "OK"}, before, write.uri, tip)
    given = write.body.get(BUFFERED)
    if given is None:
        return _resumed(None, before, write.uri, tip)
    lasting_s = duration_s(given)
    if lasting_s is None:
        told = messages.action_parameter_value_format_error
        raise refusals.bad_content(told(str(given), BUFFERED, RESUME, f"#/{BUFFERED}"))
    return _resumed(tip.wall_s() - lasting_s, before, write.uri, tip)


def ended(uri: str, tip: Tip) -> Draft:
    """Return the draft by which a subscription ends; nothing where it is gone already."""
    if not tip.is_wanted(uri):
        return Draft(OutcomeKind.NO_OPERATION, uri)
    edits = [document_edit(tip, uri, None)]
    secret = tip.secret(uri)
    if secret is not None:
        edits.append(Edit(Space.SECRET, uri, secret, None))
    return Draft(OutcomeKind.DELETED, uri, tuple(edits))


def suspended(uri: str, reason: str, since: str, tip: Tip) -> Draft:
    """Return the draft by which the service itself suspends one that can not be delivered to."""
    before = tip.document(uri)
    if before is None:
        return Draft(OutcomeKind.NO_OPERATION, uri)
    condition = undelivered(uri, reason, since, Health.CRITICAL)
    status = {"State": "Disabled", "Health": "Critical", "Conditions": [condition]}
    return _with_status(status, before, uri, tip)


def undelivered(uri: str, reason: str, since: str, severity: Health) -> dict[str, Any]:
    """Return the member of Conditions that says why events do not arrive."""
    condition = trouble(severity, uri, f"events can not be delivered: {reason}")
    return condition_document(condition, since)


def barred(uri: str, since: str) -> dict[str, Any]:
    """Return the Status of a subscription whose maker may not hear of events now."""
    reason = "nothing is sent while the account that made it may not log in"
    condition = condition_document(trouble(Health.WARNING, uri, reason), since)
    return {"State": "Disabled", "Health": "Warning", "Conditions": [condition]}


def stream_opened(owner: str, peer: str, wished: Mapping[str, Any], tip: Tip) -> Draft:
    """Return the draft by which the service makes the EventDestination of a stream.

    `peer` is the address of who reads; `wished` are filter properties as the stream has them.
    """
    _refuse_nobody(owner, tip)
    uri, document = new_document("EventDestination", SUBSCRIPTIONS, wished, tip)
    document["Name"] = f"Event stream of {owner}"
    document["Context"] = ""
    document["Destination"] = f"redfish-sse://{peer}"
    document["SubscriptionType"] = STREAM
    document["Protocol"] = "Redfish"
    document["EventFormatType"] = "Event"
    document["Status"] = ENABLED
    # It is neither suspended nor resumed: whoever reads it comes back by Last-Event-ID.
    document["Actions"] = {}
    kept = Kept(owner, begins=int(tip.next_id, 36))
    return Draft(
        OutcomeKind.CREATED, uri, (document_edit(tip, uri, document), _keep(uri, kept, tip))
    )


def pushing(tip: Tip) -> int:
    """Return how many subscriptions clients have made; streams have a limit of their own."""
    return len(tip.members(SUBSCRIPTIONS)) - len(_streams(tip))


def is_stream(uri: str, document: bytes | None) -> bool:
    """Return whether the document at `uri` is the EventDestination of a stream."""
    if document is None or not uri.startswith(_BELOW) or _STREAM_MARK not in document:
        return False
    # Clients can keep the same words deeper down, under Oem.
    return msgspec.json.decode(document, type=_Kind).SubscriptionType == STREAM


def _refuse_nobody(user_name: str, tip: Tip) -> None:
    """Raise RedfishError 403 where the account is gone since the request was let in.

    Else what it makes would belong to whoever has the name next.
    """
    if not any(document.get("UserName") == user_name for _, document in accounts_of(tip)):
        raise RedfishError(403, (messages.insufficient_privilege(),))


class _Kind(msgspec.Struct):
    SubscriptionType: str = PUSH


def _streams(tip: Tip) -> list[str]:
    return [uri for uri in tip.members(SUBSCRIPTIONS) if is_stream(uri, tip.wanted(uri))]


def _complete(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a push subscription with everything that is always there."""
    after = {name: value for name, value in document.items() if value is not None}
    after["Context"] = document.get("Context")
    after["HttpHeaders"] = []
    after.setdefault("SubscriptionType", PUSH)
    after.setdefault("EventFormatType", "Event")
    after.setdefault("DeliveryRetryPolicy", DEFAULT_POLICY.value)
    for name in ("IncludeOriginOfCondition", "SubordinateResources", "VerifyCertificate"):
        after.setdefault(name, False)
    if after.get("SendHeartbeat") is True:
        after.setdefault("HeartbeatIntervalMinutes", HEARTBEAT_MINUTES)
    for name, value in after.items():
        if isinstance(value, list):
            # null in a list of texts says nothing.
            after[name] = [each for each in value if each is not None]
    return after


def _with_status(status: Mapping[str, Any], before: Mapping[str, Any], uri: str, tip: Tip) -> Draft:
    if before.get("Status") == status:
        return Draft(OutcomeKind.NO_OPERATION, uri)
    return Draft(OutcomeKind.CHANGED, uri, (document_edit(tip, uri, {**before, "Status": status}),))


def _resumed(since_s: float | None, before: Mapping[str, Any], uri: str, tip: Tip) -> Draft:
    """Go on; `since_s`: not with what is older. One that was not suspended stays as it is."""
    draft = _with_status(ENABLED, before, uri, tip)
    if since_s is None or not draft.edits:
        return draft
    kept = decode_kept(tip.secret(uri))
    later = msgspec.structs.replace(kept, since_s=since_s, resumed=int(tip.next_id, 36))
    return Draft(draft.kind, uri, (*draft.edits, _keep(uri, later, tip)))


def _keep(uri: str, kept: Kept, tip: Tip) -> Edit:
    return Edit(Space.SECRET, uri, tip.secret(uri), encode_kept(kept))
