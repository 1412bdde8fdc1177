"""Test events: what was answered is told, whatever happens to the service in between."""

from typing import Any

import pytest

from redfish_fm.mapping.uris import EVENT_SERVICE, SUBSCRIPTIONS
from redfish_fm.redfish.changes import Space
from redfish_fm.store.base import StoreFailed
from redfish_fm.store.memory import DurableState, MemoryStore
from tests.cases.stack import Outbox, Stack, a_stack
from tests.control.test_streams import listen
from tests.virtual_time import in_virtual_time

SUBMIT = f"{EVENT_SERVICE}/Actions/EventService.SubmitTestEvent"
TEST = f"{EVENT_SERVICE}/Actions/EventService.TestEventSubscription"
EVERYTHING = {"Destination": "https://192.0.2.50/a", "Protocol": "Redfish"}
INVENTED = {
    "MessageId": "Fabric.1.0.Invented",
    "MessageArgs": ["a"],
    "MessageSeverity": "Warning",
    "OriginOfCondition": "/redfish/v1/Chassis/gpu1",
    "EventGroupId": 7,
}
TOLD = {
    SUBMIT: (INVENTED, "Fabric.1.0.Invented"),
    TEST: ({}, "ResourceEvent.1.4.TestMessage"),
}

both = pytest.mark.parametrize("action", [SUBMIT, TEST], ids=["submit", "test"])


async def sent(stack: Stack, action: str, **headers: str) -> None:
    assert (await stack.ask("POST", action, TOLD[action][0], **headers)).status == 204


def told(outbox: Outbox, uri: str) -> list[str]:
    return [each["MessageId"] for each in outbox.events(uri)]


@both
def test_one_that_was_taken_arrives_though_the_service_dies_at_once(action: str) -> None:
    @in_virtual_time
    async def scenario() -> None:
        durable, outbox = DurableState(), Outbox(answer=lambda _: "no answer in time")
        async with a_stack(durable=durable, outbox=outbox, crash=True) as stack:
            uri = await stack.made(SUBSCRIPTIONS, EVERYTHING)
            await sent(stack, action)
        outbox.answer = lambda _: None
        async with a_stack(durable=durable, outbox=outbox) as stack:
            await stack.clock.sleep(5)
            assert told(outbox, uri).count(TOLD[action][1]) == 1

    scenario()


@in_virtual_time
async def test_after_a_crash_it_says_what_it_said_before_under_the_same_id() -> None:
    durable, outbox = DurableState(), Outbox()
    async with a_stack(durable=durable, outbox=outbox, crash=True) as stack:
        uri = await stack.made(SUBSCRIPTIONS, EVERYTHING)
        await stack.clock.sleep(5)
        await sent(stack, SUBMIT)
        await stack.clock.sleep(0.5)
    (before,) = [each for each in outbox.events(uri) if each["MessageId"] == INVENTED["MessageId"]]
    async with a_stack(durable=durable, outbox=outbox) as stack:
        await stack.clock.sleep(5)
    _, after = [each for each in outbox.events(uri) if each["MessageId"] == INVENTED["MessageId"]]
    assert after == before
    shown: dict[str, Any] = {
        **INVENTED,
        "OriginOfCondition": {"@odata.id": "/redfish/v1/Chassis/gpu1"},
    }
    assert {name: before[name] for name in shown} == shown


@both
def test_a_stream_hears_it_and_comes_back_to_it(action: str) -> None:
    @in_virtual_time
    async def scenario() -> None:
        durable = DurableState()
        async with a_stack(durable=durable, crash=True) as stack:
            after = stack.events.stream.newest
            await sent(stack, action)
        async with a_stack(durable=durable) as stack:
            heard = await listen(stack, after=after)
            assert TOLD[action][1] in [each["MessageId"] for each in heard.reader.events]
            await heard.close()

    scenario()


@both
def test_one_that_could_not_be_stored_is_neither_taken_nor_told(
    action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @in_virtual_time
    async def scenario() -> None:
        async with a_stack() as stack:
            uri = await stack.made(SUBSCRIPTIONS, EVERYTHING)
            await stack.clock.sleep(5)

            async def refuse(*_: object) -> int:
                raise StoreFailed("invented")

            with monkeypatch.context() as patched:
                patched.setattr(MemoryStore, "commit", refuse)
                response = await stack.ask("POST", action, TOLD[action][0])
                assert response.status == 503
            await stack.clock.sleep(5)
            assert TOLD[action][1] not in told(stack.outbox, uri)

    scenario()


@both
def test_a_request_that_is_repeated_is_told_once(action: str) -> None:
    @in_virtual_time
    async def scenario() -> None:
        async with a_stack() as stack:
            uri = await stack.made(SUBSCRIPTIONS, EVERYTHING)
            for _ in range(2):
                await sent(stack, action, idempotency_key="once")
            await stack.clock.sleep(5)
            assert told(stack.outbox, uri).count(TOLD[action][1]) == 1

    scenario()


@in_virtual_time
async def test_it_changes_nothing_that_anybody_can_see_and_leaves_nothing_behind() -> None:
    async with a_stack() as stack:
        before = await stack.get(EVENT_SERVICE)
        for action in (SUBMIT, TEST):
            await sent(stack, action)
        await stack.clock.sleep(5)
        assert await stack.get(EVENT_SERVICE) == before
        assert not any("Actions" in uri for uri in stack.durable.spaces.get(Space.ANNOUNCED, {}))
        assert (await stack.ask("GET", SUBMIT)).status == 405
