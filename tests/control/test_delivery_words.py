"""What is sent is chosen and rendered once for all who want the same."""

import json

from redfish_fm.mapping.uris import SUBSCRIPTIONS
from tests.cases.stack import Stack, a_stack
from tests.control.builders import PCIE_ZONES
from tests.virtual_time import in_virtual_time

PUSH = {"Destination": "https://192.0.2.50/a", "Protocol": "Redfish", "ResourceTypes": ["Zone"]}


async def happen(stack: Stack, count: int) -> None:
    for number in range(count):
        await stack.made(PCIE_ZONES, {"Name": f"z{number}"})
        await stack.clock.sleep(0.03)
    await stack.clock.sleep(5)


@in_virtual_time
async def test_twenty_equal_subscriptions_cost_one_choice_and_one_rendering_each_time() -> None:
    async with a_stack() as stack:
        uris = [await stack.made(SUBSCRIPTIONS, PUSH) for _ in range(20)]
        await stack.clock.sleep(5)
        shared = stack.events.subscriptions.shared
        before = shared.chosen, shared.rendered
        await happen(stack, 60)
        sent = len(stack.outbox.taken)
        assert sent >= 20 * 5
        assert shared.rendered - before[1] <= sent / 20 + 2
        assert shared.chosen - before[0] <= 2 * sent / 20 + 4
        first, *others = (stack.outbox.events(uri) for uri in uris)
        assert len(first) == 120
        assert all(each == first for each in others)


@in_virtual_time
async def test_each_context_and_each_filter_gets_its_own() -> None:
    async with a_stack() as stack:
        a = await stack.made(SUBSCRIPTIONS, {**PUSH, "Context": "a"})
        b = await stack.made(SUBSCRIPTIONS, {**PUSH, "Context": "b"})
        c = await stack.made(SUBSCRIPTIONS, {**PUSH, "RegistryPrefixes": ["Fabric"]})
        await happen(stack, 3)
        contexts = {
            each.subscription: json.loads(each.body)["Context"] for each in stack.outbox.taken
        }
        assert contexts == {a: "a", b: "b", c: ""}
        assert len(stack.outbox.events(a)) == len(stack.outbox.events(b)) == 6
        told = {each["MessageId"] for each in stack.outbox.events(c)}
        assert told == {"Fabric.1.0.ZoneCreated"}


@in_virtual_time
async def test_an_event_for_one_alone_reaches_nobody_with_equal_wishes() -> None:
    async with a_stack() as stack:
        beating = {**PUSH, "SendHeartbeat": True, "HeartbeatIntervalMinutes": 1}
        one = await stack.made(SUBSCRIPTIONS, beating)
        other = await stack.made(SUBSCRIPTIONS, PUSH)
        await stack.clock.sleep(65)
        await happen(stack, 2)
        beats = [
            [each for each in stack.outbox.events(uri) if "Heartbeat" in each["MessageId"]]
            for uri in (one, other)
        ]
        assert [len(each) for each in beats] == [1, 0]
        assert len(stack.outbox.events(other)) == 4
