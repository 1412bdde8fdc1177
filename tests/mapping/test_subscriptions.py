"""Subscriptions judged on a tip: what is made, what stays secret, suspending, ending, limits."""

import json
from typing import Any

import pytest

from redfish_fm.mapping import subscriptions
from redfish_fm.mapping.subscription_values import Kept, decode_kept
from redfish_fm.mapping.uris import SUBSCRIPTIONS
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.changes import Space
from redfish_fm.redfish.writes import OutcomeKind, Write, WriteKind
from tests.mapping.builders import MemoryTip
from tests.mapping.subscribing import PUSH, a_tip, post, refused

TOKEN = "Bearer invented-token"


@pytest.fixture
def tip() -> MemoryTip:
    return a_tip()


def document(tip: MemoryTip, uri: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(tip.documents[uri])
    return found


def kept(tip: MemoryTip, uri: str) -> Kept:
    return decode_kept(tip.secrets[uri])


def patch(tip: MemoryTip, uri: str, **body: Any) -> OutcomeKind:
    write = Write(WriteKind.PATCH, uri, "EventDestination", "admin", body)
    return tip.commit(prepare(write, tip)).kind


def act(tip: MemoryTip, uri: str, action: str, **body: Any) -> OutcomeKind:
    write = Write(WriteKind.ACTION, uri, "EventDestination", "admin", body, action)
    return tip.commit(prepare(write, tip)).kind


def test_what_a_client_leaves_out_is_shown_as_it_holds(tip: MemoryTip) -> None:
    made = document(tip, post(tip))
    assert made["Context"] is None
    assert made["SubscriptionType"] == "RedfishEvent"
    assert made["EventFormatType"] == "Event"
    assert made["DeliveryRetryPolicy"] == "RetryForeverWithBackoff"
    assert made["VerifyCertificate"] is False
    assert made["HttpHeaders"] == []
    assert made["Status"] == {"State": "Enabled", "Health": "OK"}


def test_headers_are_secret_and_never_in_the_document(tip: MemoryTip) -> None:
    uri = post(tip, HttpHeaders=[{"Authorization": TOKEN}])
    assert TOKEN.encode() not in tip.documents[uri]
    assert kept(tip, uri).headers == (("Authorization", TOKEN),)


def test_document_and_secret_are_made_in_one_change(tip: MemoryTip) -> None:
    write = Write(WriteKind.CREATE, SUBSCRIPTIONS, "EventDestination", "admin", PUSH)
    draft = prepare(write, tip)
    assert [edit.space for edit in draft.edits] == [Space.DOCUMENT, Space.SECRET]


def test_who_made_it_is_kept(tip: MemoryTip) -> None:
    assert kept(tip, post(tip, actor="op")).owner == "op"


def test_other_headers_change_the_secret_alone(tip: MemoryTip) -> None:
    uri = post(tip, HttpHeaders=[{"X-A": "1"}, {"X-B": "2"}])
    before = tip.documents[uri]
    assert patch(tip, uri, HttpHeaders=[None, {}, {"X-C": "3"}]) is OutcomeKind.CHANGED
    assert kept(tip, uri).headers == (("X-B", "2"), ("X-C", "3"))
    assert tip.documents[uri] == before
    assert kept(tip, uri).owner == "admin"


def test_a_patch_that_changes_nothing_is_none(tip: MemoryTip) -> None:
    uri = post(tip, Context="c")
    assert patch(tip, uri, Context="c", HttpHeaders=[]) is OutcomeKind.NO_OPERATION


def test_a_context_can_be_taken_away(tip: MemoryTip) -> None:
    uri = post(tip, Context="c")
    patch(tip, uri, Context=None)
    assert document(tip, uri)["Context"] is None


def test_a_null_policy_is_the_usual_one(tip: MemoryTip) -> None:
    uri = post(tip, DeliveryRetryPolicy="SuspendRetries")
    patch(tip, uri, DeliveryRetryPolicy=None)
    assert document(tip, uri)["DeliveryRetryPolicy"] == "RetryForeverWithBackoff"


def test_deleting_one_forgets_its_secrets(tip: MemoryTip) -> None:
    uri = post(tip, HttpHeaders=[{"Authorization": TOKEN}])
    tip.commit(prepare(Write(WriteKind.DELETE, uri, "EventDestination", "admin"), tip))
    assert uri not in tip.documents
    assert uri not in tip.secrets


def test_one_more_than_allowed_is_refused() -> None:
    tip = a_tip(subscriptions_max=2)
    post(tip)
    post(tip)
    with refused(503, ("Base.EventSubscriptionLimitExceeded", "")):
        post(tip)


def test_streams_do_not_count_as_subscriptions_of_clients() -> None:
    tip = a_tip(subscriptions_max=1)
    tip.commit(subscriptions.stream_opened("op", "192.0.2.1", {}, tip))
    assert subscriptions.pushing(tip) == 0
    assert post(tip)


def test_suspending_and_resuming_show_in_the_state(tip: MemoryTip) -> None:
    uri = post(tip)
    assert act(tip, uri, subscriptions.SUSPEND) is OutcomeKind.CHANGED
    assert document(tip, uri)["Status"]["State"] == "Disabled"
    assert act(tip, uri, subscriptions.SUSPEND) is OutcomeKind.NO_OPERATION
    assert act(tip, uri, subscriptions.RESUME) is OutcomeKind.CHANGED
    assert document(tip, uri)["Status"] == {"State": "Enabled", "Health": "OK"}


@pytest.mark.parametrize(("duration", "age_s"), [("PT0S", 0), ("PT1M30S", 90), ("P1DT1S", 86401)])
def test_resuming_leaves_out_what_is_older(tip: MemoryTip, duration: str, age_s: float) -> None:
    uri = post(tip)
    act(tip, uri, subscriptions.SUSPEND)
    act(tip, uri, subscriptions.RESUME, DeliverBufferedEventDuration=duration)
    assert kept(tip, uri).since_s == tip.wall_s() - age_s
    assert kept(tip, uri).resumed > kept(tip, uri).begins


def test_a_duration_of_nothing_is_no_duration(tip: MemoryTip) -> None:
    uri = post(tip)
    act(tip, uri, subscriptions.SUSPEND)
    place = "#/DeliverBufferedEventDuration"
    with refused(400, ("Base.ActionParameterValueFormatError", place)):
        act(tip, uri, subscriptions.RESUME, DeliverBufferedEventDuration="P")


def test_the_service_suspends_with_a_condition(tip: MemoryTip) -> None:
    uri = post(tip)
    tip.commit(subscriptions.suspended(uri, "no answer in time", "2026-12-01T00:00:00Z", tip))
    status = document(tip, uri)["Status"]
    assert (status["State"], status["Health"]) == ("Disabled", "Critical")
    (condition,) = status["Conditions"]
    assert "no answer in time" in condition["Message"]
    assert condition["OriginOfCondition"] == {"@odata.id": uri}


def test_a_patch_keeps_a_suspended_one_suspended(tip: MemoryTip) -> None:
    uri = post(tip)
    act(tip, uri, subscriptions.SUSPEND)
    patch(tip, uri, Context="other")
    assert document(tip, uri)["Status"]["State"] == "Disabled"


def test_what_is_gone_is_neither_ended_nor_suspended(tip: MemoryTip) -> None:
    uri = f"{SUBSCRIPTIONS}/none"
    assert subscriptions.ended(uri, tip).kind is OutcomeKind.NO_OPERATION
    drafted = subscriptions.suspended(uri, "x", "2026-12-01T00:00:00Z", tip)
    assert drafted.kind is OutcomeKind.NO_OPERATION


def test_a_stream_says_who_reads_it(tip: MemoryTip) -> None:
    draft = subscriptions.stream_opened("op", "192.0.2.1", {"RegistryPrefixes": ["Base"]}, tip)
    tip.commit(draft)
    made = document(tip, draft.uri)
    assert made["Destination"] == "redfish-sse://192.0.2.1"
    assert (made["Protocol"], made["SubscriptionType"]) == ("Redfish", "SSE")
    assert made["RegistryPrefixes"] == ["Base"]
    assert made["Context"] == ""
    assert kept(tip, draft.uri).owner == "op"


def test_a_stream_can_not_be_suspended(tip: MemoryTip) -> None:
    uri = tip.commit(subscriptions.stream_opened("op", "192.0.2.1", {}, tip)).uri
    with refused(400, ("Base.ActionNotSupported", "")):
        act(tip, uri, subscriptions.SUSPEND)


def test_a_stream_stays_as_its_reader_opened_it(tip: MemoryTip) -> None:
    uri = tip.commit(subscriptions.stream_opened("op", "192.0.2.1", {}, tip)).uri
    with refused(
        400,
        ("Base.PropertyNotWritable", "#/Context"),
        ("Base.PropertyNotWritable", "#/VerifyCertificate"),
    ):
        patch(tip, uri, Context="x", VerifyCertificate=True)


def test_whose_account_is_gone_makes_no_subscription_and_opens_no_stream(tip: MemoryTip) -> None:
    with refused(403, ("Base.InsufficientPrivilege", "")):
        post(tip, actor="gone")
    with refused(403, ("Base.InsufficientPrivilege", "")):
        subscriptions.stream_opened("gone", "192.0.2.1", {}, tip)


def test_who_keeps_the_words_of_a_stream_under_oem_has_no_stream() -> None:
    words = b'{"Oem":{"X":{"SubscriptionType":"SSE"}},"SubscriptionType":"RedfishEvent"}'
    stream = b'{"SubscriptionType":"SSE"}'
    uri = f"{SUBSCRIPTIONS}/1"
    assert subscriptions.is_stream(uri, stream)
    assert not subscriptions.is_stream(uri, words)
    assert not subscriptions.is_stream("/redfish/v1/Fabrics/CXL/Zones/1", stream)
    assert not subscriptions.is_stream(uri, None)
