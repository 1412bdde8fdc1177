"""Subscriptions in the running service: order, retries, suspending, restarts, crashes, tests."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from redfish_fm.control.delivery import TOO_LONG, Parcel
from redfish_fm.mapping.uris import EVENT_SERVICE, SUBSCRIPTIONS
from redfish_fm.store.memory import DurableState
from tests.cases.stack import Outbox, Stack, a_stack
from tests.control.builders import CXL_ZONES, PCIE_ZONES, links
from tests.virtual_time import EPOCH_S, VirtualClock, in_virtual_time

CREATED = "ResourceEvent.1.4.ResourceCreated"
PUSH = {
    "Destination": "https://192.0.2.50/a",
    "Protocol": "Redfish",
    "MessageIds": ["ResourceEvent.ResourceCreated"],
    "ResourceTypes": ["Zone"],
}
SUSPEND, RESUME = (
    f"/Actions/EventDestination.{name}Subscription" for name in ("Suspend", "Resume")
)


def down(_: Parcel) -> str:
    return "no answer in time"


async def zones(stack: Stack, *names: str) -> list[str]:
    return [await stack.made(PCIE_ZONES, {"Name": name, "Id": name}) for name in names]


def about(stack: Stack, subscription: str) -> list[str]:
    """Return the Ids of the zones that a subscription was told of, in the order it was told."""
    events = stack.outbox.events(subscription)
    return [each["OriginOfCondition"]["@odata.id"].rsplit("/", 1)[-1] for each in events]


@contextlib.asynccontextmanager
async def subscribed(outbox: Outbox | None = None, **more: Any) -> AsyncIterator[tuple[Stack, str]]:
    async with a_stack(outbox=outbox) as stack:
        await stack.ask("PATCH", EVENT_SERVICE, {"DeliveryRetryIntervalSeconds": 10})
        yield stack, await stack.made(SUBSCRIPTIONS, {**PUSH, **more})


async def settled(stack: Stack, delay_s: float = 5.0) -> None:
    await stack.clock.sleep(delay_s)


@in_virtual_time
async def test_events_come_in_the_order_of_commits_with_ascending_ids() -> None:
    async with subscribed() as (stack, uri):
        names = [f"z{number}" for number in range(50)]
        await zones(stack, *names)
        await settled(stack)
        assert about(stack, uri) == names
        ids = [tuple(map(int, each["EventId"].split("."))) for each in stack.outbox.events(uri)]
        assert ids == sorted(set(ids))


@in_virtual_time
async def test_what_happened_before_a_subscription_is_not_sent() -> None:
    async with a_stack() as stack:
        await zones(stack, "before")
        uri = await stack.made(SUBSCRIPTIONS, PUSH)
        await zones(stack, "after")
        await settled(stack)
        assert about(stack, uri) == ["after"]


@in_virtual_time
async def test_many_events_go_together_and_each_payload_has_the_context() -> None:
    async with subscribed(Context="mine") as (stack, uri):
        await zones(stack, *(f"z{number}" for number in range(50)))
        await settled(stack)
        payloads = [json.loads(each.body) for each in stack.outbox.taken]
        assert {each["Context"] for each in payloads} == {"mine"}
        assert len(payloads) < 25
        assert len(about(stack, uri)) == 50


@in_virtual_time
async def test_a_dead_receiver_delays_nobody_else() -> None:
    async with subscribed() as (stack, alive):
        dead = await stack.made(SUBSCRIPTIONS, {**PUSH, "Destination": "https://192.0.2.51/"})
        stack.outbox.answer = lambda parcel: None if parcel.subscription == alive else "dead"
        await zones(stack, "a", "b")
        await settled(stack)
        assert (about(stack, alive), about(stack, dead)) == (["a", "b"], [])


@in_virtual_time
async def test_a_receiver_that_comes_back_gets_everything_in_order_once() -> None:
    async with subscribed(DeliveryRetryPolicy="RetryForever") as (stack, uri):
        stack.outbox.answer = down
        await zones(stack, "a", "b")
        await settled(stack, 600)
        tried = len(stack.outbox.tried)
        assert 40 <= tried <= 80
        stack.outbox.answer = lambda _: None
        await zones(stack, "c")
        await settled(stack, 30)
        assert about(stack, uri) == ["a", "b", "c"]


@in_virtual_time
async def test_with_backoff_a_dead_receiver_is_tried_ever_less_often() -> None:
    async with subscribed() as (stack, uri):
        await stack.ask("PATCH", EVENT_SERVICE, {"DeliveryRetryIntervalSeconds": 1})
        stack.outbox.answer = down
        await zones(stack, "a")
        await settled(stack, 600)
        assert 8 <= len(stack.outbox.tried) <= 12
        stack.outbox.answer = lambda _: None
        await settled(stack, 600)
        assert about(stack, uri) == ["a"]


@in_virtual_time
async def test_trouble_shows_in_the_status_until_it_is_over() -> None:
    async with subscribed(DeliveryRetryPolicy="RetryForever") as (stack, uri):
        stack.outbox.answer = down
        tag = (await stack.ask("GET", uri)).headers["ETag"]
        await zones(stack, "a")
        await settled(stack)
        status = (await stack.get(uri))["Status"]
        assert (status["State"], status["Health"]) == ("Enabled", "Warning")
        assert "no answer in time" in status["Conditions"][0]["Message"]
        changed = await stack.ask("PATCH", uri, {"Context": "x"}, if_match=tag)
        assert changed.status == 200
        stack.outbox.answer = lambda _: None
        await settled(stack, 30)
        assert (await stack.get(uri))["Status"] == {"State": "Enabled", "Health": "OK"}


@in_virtual_time
async def test_after_its_retries_a_subscription_is_terminated() -> None:
    async with subscribed(DeliveryRetryPolicy="TerminateAfterRetries") as (stack, uri):
        stack.outbox.answer = down
        await zones(stack, "a")
        await settled(stack, 100)
        assert len(stack.outbox.tried) == 4
        assert (await stack.ask("GET", uri)).status == 404
        assert (await stack.get(SUBSCRIPTIONS))["Members@odata.count"] == 0


@in_virtual_time
async def test_after_its_retries_a_subscription_is_suspended_until_it_is_resumed() -> None:
    async with subscribed(DeliveryRetryPolicy="SuspendRetries") as (stack, uri):
        stack.outbox.answer = down
        await zones(stack, "a")
        await settled(stack, 100)
        status = (await stack.get(uri))["Status"]
        assert (status["State"], status["Health"]) == ("Disabled", "Critical")
        assert len(stack.outbox.tried) == 4
        await zones(stack, "b")
        stack.outbox.answer = lambda _: None
        await settled(stack, 100)
        assert len(stack.outbox.tried) == 4
        assert (await stack.ask("POST", uri + RESUME, {})).status == 204
        await settled(stack)
        assert about(stack, uri) == ["a", "b"]
        assert (await stack.get(uri))["Status"] == {"State": "Enabled", "Health": "OK"}


@in_virtual_time
async def test_retries_follow_what_the_event_service_says_now() -> None:
    async with subscribed(DeliveryRetryPolicy="TerminateAfterRetries") as (stack, _):
        await stack.ask("PATCH", EVENT_SERVICE, {"DeliveryRetryAttempts": 0})
        stack.outbox.answer = down
        await zones(stack, "a")
        await settled(stack)
        assert len(stack.outbox.tried) == 1
        assert (await stack.get(SUBSCRIPTIONS))["Members"] == []


@in_virtual_time
async def test_a_suspended_subscription_gets_what_it_missed_when_it_is_resumed() -> None:
    async with subscribed() as (stack, uri):
        await stack.ask("POST", uri + SUSPEND, {})
        await zones(stack, "a")
        await settled(stack)
        assert stack.outbox.tried == []
        await stack.ask("POST", uri + RESUME, {})
        await settled(stack)
        assert about(stack, uri) == ["a"]


@in_virtual_time
async def test_resuming_leaves_out_what_is_older_than_wished() -> None:
    async with subscribed() as (stack, uri):
        await stack.ask("POST", uri + SUSPEND, {})
        await zones(stack, "old")
        await settled(stack, 3600)
        await zones(stack, "young")
        await settled(stack, 60)
        await stack.ask("POST", uri + RESUME, {"DeliverBufferedEventDuration": "PT10M"})
        await settled(stack)
        assert about(stack, uri) == ["young"]


@in_virtual_time
async def test_nothing_is_sent_while_the_event_service_is_switched_off() -> None:
    async with subscribed() as (stack, uri):
        await stack.ask("PATCH", EVENT_SERVICE, {"ServiceEnabled": False})
        assert (await stack.get(EVENT_SERVICE))["Status"]["State"] == "Disabled"
        await zones(stack, "unpublished")
        await settled(stack)
        await stack.ask("PATCH", EVENT_SERVICE, {"ServiceEnabled": True})
        assert (await stack.get(EVENT_SERVICE))["Status"]["State"] == "Enabled"
        await zones(stack, "published")
        await settled(stack)
        assert about(stack, uri) == ["published"]


@in_virtual_time
async def test_a_deleted_subscription_gets_nothing_more() -> None:
    async with subscribed() as (stack, uri):
        stack.outbox.answer = down
        await zones(stack, "a")
        await settled(stack)
        assert (await stack.ask("DELETE", uri)).status == 204
        tried = len(stack.outbox.tried)
        await zones(stack, "b")
        await settled(stack, 100)
        assert len(stack.outbox.tried) == tried
        assert await stack.store.cursors() == {}


@in_virtual_time
async def test_a_changed_context_and_headers_hold_for_the_next_attempt() -> None:
    async with subscribed(DeliveryRetryPolicy="RetryForever") as (stack, uri):
        stack.outbox.answer = down
        await zones(stack, "a")
        await settled(stack, 1)
        body = {"Context": "new", "HttpHeaders": [{"X-Key": "k"}], "VerifyCertificate": True}
        assert (await stack.ask("PATCH", uri, body)).status == 200
        stack.outbox.answer = lambda _: None
        await settled(stack, 1)
        (parcel,) = stack.outbox.taken
        assert json.loads(parcel.body)["Context"] == "new"
        assert (dict(parcel.headers), parcel.verify) == ({"X-Key": "k"}, True)


@in_virtual_time
async def test_the_resource_goes_along_where_it_is_wanted() -> None:
    async with subscribed(IncludeOriginOfCondition=True) as (stack, uri):
        await zones(stack, "a")
        await settled(stack)
        (event,) = stack.outbox.events(uri)
        assert event["OriginOfCondition"] == await stack.get(f"{PCIE_ZONES}/a")


@in_virtual_time
async def test_a_heartbeat_comes_as_often_as_asked_for_and_to_who_asked() -> None:
    async with a_stack() as stack:
        beating = {**PUSH, "SendHeartbeat": True, "HeartbeatIntervalMinutes": 10}
        with_beats = await stack.made(SUBSCRIPTIONS, beating)
        without = await stack.made(SUBSCRIPTIONS, PUSH)
        await settled(stack, 3600 + 60)
        told = [each["MessageId"] for each in stack.outbox.events(with_beats)]
        assert told == ["HeartbeatEvent.1.1.RedfishServiceFunctional"] * 6
        assert stack.outbox.events(without) == []


@in_virtual_time
async def test_a_test_event_reaches_those_it_matches() -> None:
    async with a_stack() as stack:
        everything = await stack.made(
            SUBSCRIPTIONS, {**PUSH, "MessageIds": [], "ResourceTypes": []}
        )
        only_fabric = await stack.made(
            SUBSCRIPTIONS,
            {**PUSH, "MessageIds": [], "ResourceTypes": [], "RegistryPrefixes": ["Fabric"]},
        )
        actions = (await stack.get(EVENT_SERVICE))["Actions"]
        submit = actions["#EventService.SubmitTestEvent"]["target"]
        body = {"MessageId": "Fabric.1.0.Invented", "MessageSeverity": "Warning", "Message": "try"}
        assert (await stack.ask("POST", submit, body)).status == 204
        test = actions["#EventService.TestEventSubscription"]["target"]
        assert (await stack.ask("POST", test, {})).status == 204
        await settled(stack)
        told = {
            uri: [each["MessageId"] for each in stack.outbox.events(uri)]
            for uri in (everything, only_fabric)
        }
        assert told[only_fabric] == ["Fabric.1.0.Invented"]
        assert told[everything][-2:] == ["Fabric.1.0.Invented", "ResourceEvent.1.4.TestMessage"]


@pytest.mark.parametrize("crash", [False, True])
def test_a_restart_goes_on_where_delivery_was(crash: bool) -> None:
    _restart(crash=crash)


@in_virtual_time
async def _restart(crash: bool) -> None:
    durable, outbox = DurableState(), Outbox()
    async with a_stack(durable=durable, outbox=outbox, crash=crash) as stack:
        uri = await stack.made(SUBSCRIPTIONS, PUSH)
        await zones(stack, "a")
        await settled(stack)
        stack.outbox.answer = down
        await zones(stack, "b")
        await settled(stack)
    outbox.answer = lambda _: None
    async with a_stack(durable=durable, outbox=outbox) as stack:
        await zones(stack, "c")
        await settled(stack)
        assert about(stack, uri) == ["a", "b", "c"]


@in_virtual_time
async def test_what_was_delivered_just_before_a_crash_comes_again_with_the_same_ids() -> None:
    durable, outbox = DurableState(), Outbox()
    async with a_stack(durable=durable, outbox=outbox, crash=True) as stack:
        uri = await stack.made(SUBSCRIPTIONS, PUSH)
        await settled(stack)
        await zones(stack, "a")
        await settled(stack, 0.2)
        assert about(stack, uri) == ["a"]
    async with a_stack(durable=durable, outbox=outbox) as stack:
        await settled(stack)
        assert about(stack, uri) == ["a", "a"]
        assert len({each["EventId"] for each in stack.outbox.events(uri)}) == 1


@in_virtual_time
async def test_how_far_delivery_is_costs_the_store_at_most_once_a_second() -> None:
    async with subscribed() as (stack, uri):
        written = []
        put = stack.store.put_cursors

        async def counted(cursors: Any) -> None:
            written.append(stack.clock.now_s())
            await put(cursors)

        stack.store.put_cursors = counted  # type: ignore[method-assign]
        for number in range(40):
            await zones(stack, f"z{number}")
            await settled(stack, 0.1)
        await settled(stack)
        assert 2 <= len(written) <= 8
        assert all(later - earlier >= 1.0 for earlier, later in itertools.pairwise(written))
        assert len(about(stack, uri)) == 40


@in_virtual_time
async def test_a_gap_is_told_before_what_comes_after_it() -> None:
    durable, outbox = DurableState(), Outbox(answer=down)
    async with a_stack(durable=durable, outbox=outbox, crash=True) as stack:
        uri = await stack.made(SUBSCRIPTIONS, PUSH)
        await zones(stack, "lost")
        await settled(stack)
    durable.feed.clear()
    durable.feed_bytes = 0
    outbox.answer = lambda _: None
    async with a_stack(durable=durable, outbox=outbox) as stack:
        await zones(stack, "kept")
        await settled(stack)
        told = [each["MessageId"] for each in stack.outbox.events(uri)]
        assert told == ["Base.1.22.EventBufferExceeded", CREATED]


@in_virtual_time
async def test_a_subscription_whose_origin_is_deleted_hears_of_it() -> None:
    async with a_stack() as stack:
        zone = await stack.made(CXL_ZONES, {"Name": "a"})
        body = {
            "Destination": PUSH["Destination"],
            "Protocol": "Redfish",
            "OriginResources": links(zone),
        }
        uri = await stack.made(SUBSCRIPTIONS, body)
        await stack.ask("DELETE", zone)
        await settled(stack)
        told = [each["MessageId"] for each in stack.outbox.events(uri)]
        assert "ResourceEvent.1.4.ResourceRemoved" in told


@in_virtual_time
async def test_whoever_wants_to_know_is_told_of_each_subscription_that_ends() -> None:
    async with subscribed() as (stack, uri):
        ended: list[str] = []
        stack.events.subscriptions.on_end.append(ended.append)
        await stack.ask("DELETE", uri)
        assert ended == [uri]


@in_virtual_time
async def test_a_storm_of_subscriptions_comes_and_goes() -> None:
    async with a_stack() as stack:
        made = [await stack.made(SUBSCRIPTIONS, PUSH) for _ in range(150)]
        await zones(stack, "a")
        await settled(stack)
        assert all(about(stack, uri) == ["a"] for uri in made)
        for uri in made:
            assert (await stack.ask("DELETE", uri)).status == 204
        await settled(stack)
        assert await stack.store.cursors() == {}


@in_virtual_time
async def test_a_receiver_that_takes_little_at_once_gets_everything_in_order() -> None:
    async with subscribed() as (stack, uri):
        stack.outbox.answer = lambda parcel: (
            TOO_LONG if len(json.loads(parcel.body)["Events"]) > 3 else None
        )
        names = [f"z{number}" for number in range(20)]
        await stack.ask("POST", uri + SUSPEND, {})
        await zones(stack, *names)
        await stack.ask("POST", uri + RESUME, {})
        await settled(stack, 5)
        assert about(stack, uri) == names
        assert len(stack.outbox.tried) - len(stack.outbox.taken) == 3


@in_virtual_time
async def test_where_much_happens_more_goes_together() -> None:
    async with subscribed() as (stack, uri):
        for number in range(200):
            await zones(stack, f"z{number}")
            await settled(stack, 0.01)
        await settled(stack)
        assert len(about(stack, uri)) == 200
        assert len(stack.outbox.taken) <= 9


@in_virtual_time
async def test_a_resource_that_takes_more_than_login_to_read_does_not_go_along() -> None:
    wish = {"IncludeOriginOfCondition": True, "ResourceTypes": ["ManagerAccount"]}
    async with subscribed(**wish) as (stack, uri):
        account = {"UserName": "x", "Password": "a long password", "RoleId": "Operator"}
        made = await stack.made("/redfish/v1/AccountService/Accounts", account)
        await settled(stack)
        (event,) = stack.outbox.events(uri)
        assert event["OriginOfCondition"] == {"@odata.id": made}


@in_virtual_time
async def test_a_clock_that_is_set_back_after_resuming_holds_nothing_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with subscribed() as (stack, uri):
        await stack.ask("POST", uri + SUSPEND, {})
        now_s, tip = stack.clock.wall_s(), stack.kernel.writer.tip_view

        def wall_s(_: object) -> float:
            resumed = (tip.document(uri) or {})["Status"]["State"] == "Enabled"
            return now_s - 3600 if resumed else now_s

        monkeypatch.setattr(VirtualClock, "wall_s", wall_s)
        resuming = stack.ask("POST", uri + RESUME, {"DeliverBufferedEventDuration": "PT0S"})
        assert (await asyncio.gather(resuming, zones(stack, "later")))[0].status == 204
        await settled(stack)
        assert about(stack, uri) == ["later"]


@in_virtual_time
async def test_a_test_event_after_a_crash_arrives_though_the_clock_was_set_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    durable, outbox = DurableState(), Outbox()
    action = f"{EVENT_SERVICE}/Actions/EventService.TestEventSubscription"
    wish = {"Destination": "https://192.0.2.50/a", "Protocol": "Redfish"}
    async with a_stack(durable=durable, outbox=outbox, crash=True) as stack:
        uri = await stack.made(SUBSCRIPTIONS, wish)
        await stack.ask("POST", action, {})
        await settled(stack)
    # What the log had of it was not stored yet.
    durable.logs.clear()
    durable.log_newest.clear()
    before = len(outbox.events(uri))
    monkeypatch.setattr(VirtualClock, "wall_s", lambda _: EPOCH_S - 3600)
    async with a_stack(durable=durable, outbox=outbox) as stack:
        await stack.ask("POST", action, {})
        await settled(stack)
        (told,) = outbox.events(uri)[before:]
        assert told["MessageId"] == "ResourceEvent.1.4.TestMessage"


@in_virtual_time
async def test_one_made_anew_under_the_same_id_at_once_gets_nothing_of_the_one_before() -> None:
    async with subscribed(Id="same") as (stack, uri):
        stack.outbox.answer = down
        await zones(stack, "old")
        await settled(stack)
        stack.outbox.answer = lambda _: None
        gone = asyncio.create_task(stack.ask("DELETE", uri))
        anew = {**PUSH, "Id": "same", "Destination": "https://192.0.2.60/b"}
        made = asyncio.create_task(stack.ask("POST", SUBSCRIPTIONS, anew))
        assert [(await each).status for each in (gone, made)] == [204, 201]
        await zones(stack, "new")
        await settled(stack, 60)
        assert about(stack, uri) == ["new"]
