"""Delivery while the wall clock is set back or forward: nothing lost, nothing stuck, same ids."""

import itertools
from collections.abc import Callable
from datetime import datetime

import pytest

from redfish_fm.control.delivery import Parcel
from redfish_fm.mapping.uris import EVENT_SERVICE, SUBSCRIPTIONS
from redfish_fm.redfish.events import position_of
from redfish_fm.store.memory import DurableState
from tests.cases.stack import Outbox, Stack, a_stack
from tests.control.builders import PCIE_ZONES
from tests.control.test_streams import listen
from tests.virtual_time import EPOCH_S, VirtualClock, in_virtual_time

DAY_S = 86_400.0
PUSH = {
    "Destination": "https://192.0.2.50/a",
    "Protocol": "Redfish",
    "MessageIds": ["ResourceEvent.ResourceCreated"],
    "ResourceTypes": ["Zone"],
    "DeliveryRetryPolicy": "RetryForever",
}
SUSPEND, RESUME = (
    f"/Actions/EventDestination.{name}Subscription" for name in ("Suspend", "Resume")
)

jumps = pytest.mark.parametrize("by_s", [-DAY_S, DAY_S], ids=["back a day", "forward a day"])

Jump = Callable[[float], None]


@pytest.fixture
def jump(monkeypatch: pytest.MonkeyPatch) -> Jump:
    """Set the wall clock by so many seconds; the clock that waits are measured by goes on."""
    offset_s = 0.0

    def wall_s(clock: VirtualClock) -> float:
        return EPOCH_S + clock.now_s() + offset_s

    def by(seconds: float) -> None:
        nonlocal offset_s
        offset_s += seconds

    monkeypatch.setattr(VirtualClock, "wall_s", wall_s)
    return by


def down(_: Parcel) -> str:
    return "no answer in time"


async def zones(stack: Stack, *names: str) -> None:
    for name in names:
        await stack.made(PCIE_ZONES, {"Name": name, "Id": name})


def about(outbox: Outbox, uri: str) -> list[str]:
    return [
        each["OriginOfCondition"]["@odata.id"].rsplit("/", 1)[-1] for each in outbox.events(uri)
    ]


def ids(outbox: Outbox, uri: str) -> list[str]:
    return [each["EventId"] for each in outbox.events(uri)]


def times_s(outbox: Outbox, uri: str) -> list[float]:
    return [
        datetime.fromisoformat(each["EventTimestamp"]).timestamp() for each in outbox.events(uri)
    ]


def in_order(found: list[str]) -> bool:
    places = [position_of(each) or (0, 0) for each in found]
    return places == sorted(set(places))


@jumps
def test_what_happens_before_during_and_after_arrives_in_order_once(
    jump: Jump, by_s: float
) -> None:
    @in_virtual_time
    async def scenario() -> None:
        async with a_stack() as stack:
            uri = await stack.made(SUBSCRIPTIONS, PUSH)
            heard = await listen(stack)
            names = [f"z{number}" for number in range(12)]
            for number, name in enumerate(names):
                await zones(stack, name)
                if number == 5:
                    jump(by_s)
            await stack.clock.sleep(5)
            assert about(stack.outbox, uri) == names
            assert in_order(ids(stack.outbox, uri))
            assert set(ids(stack.outbox, uri)) <= set(heard.reader.ids)
            assert in_order(heard.reader.ids)
            await heard.close()

    scenario()


@jumps
def test_an_event_says_when_it_happened_by_the_clock_of_that_moment(
    jump: Jump, by_s: float
) -> None:
    @in_virtual_time
    async def scenario() -> None:
        async with a_stack() as stack:
            uri = await stack.made(SUBSCRIPTIONS, PUSH)
            await zones(stack, "a", "b")
            jump(by_s)
            await zones(stack, "c", "d")
            await stack.clock.sleep(5)
            steps = [later - one for one, later in itertools.pairwise(times_s(stack.outbox, uri))]
            # They go back once, where the clock did, and by no more.
            assert [round(each, -2) for each in steps] == [0, round(by_s, -2), 0]

    scenario()


@jumps
@pytest.mark.parametrize("policy", ["RetryForever", "RetryForeverWithBackoff"])
def test_a_receiver_that_fails_is_tried_again_when_it_would_have_been(
    jump: Jump, by_s: float, policy: str
) -> None:
    async def tries_s(after_s: float) -> tuple[list[float], list[str]]:
        async with a_stack() as stack:
            await stack.ask("PATCH", EVENT_SERVICE, {"DeliveryRetryIntervalSeconds": 1})
            uri = await stack.made(SUBSCRIPTIONS, {**PUSH, "DeliveryRetryPolicy": policy})
            tried: list[float] = []

            def fail(_: Parcel) -> str:
                tried.append(stack.clock.now_s())
                return "no answer in time"

            stack.outbox.answer = fail
            await zones(stack, "a")
            await stack.clock.sleep(2.5)
            jump(after_s)
            await stack.clock.sleep(60)
            stack.outbox.answer = lambda _: None
            await zones(stack, "b")
            await stack.clock.sleep(70)
            assert in_order(ids(stack.outbox, uri))
            return tried, about(stack.outbox, uri)

    as_ever, told = in_virtual_time(tries_s)(0.0)
    assert told == ["a", "b"]
    assert len(as_ever) > 5
    assert in_virtual_time(tries_s)(by_s) == (as_ever, told)


@jumps
def test_what_is_sent_again_after_a_jump_has_the_id_and_the_time_it_had(
    jump: Jump, by_s: float
) -> None:
    @in_virtual_time
    async def scenario() -> None:
        durable, outbox = DurableState(), Outbox()
        async with a_stack(durable=durable, outbox=outbox, crash=True) as stack:
            uri = await stack.made(SUBSCRIPTIONS, PUSH)
            await stack.clock.sleep(5)
            await zones(stack, "a", "b")
            await stack.clock.sleep(0.6)
            # How far delivery was is not stored yet.
            assert about(outbox, uri) == ["a", "b"]
        sent = outbox.events(uri)
        jump(by_s)
        async with a_stack(durable=durable, outbox=outbox) as stack:
            await zones(stack, "c")
            await stack.clock.sleep(5)
        again = outbox.events(uri)[len(sent) :]
        assert [each["EventId"] for each in again[:2]] == [each["EventId"] for each in sent]
        assert times_s(outbox, uri)[2:4] == times_s(outbox, uri)[:2]
        assert about(outbox, uri) == ["a", "b", "a", "b", "c"]

    scenario()


@jumps
def test_a_suspended_subscription_gets_all_it_missed_over_a_jump(jump: Jump, by_s: float) -> None:
    @in_virtual_time
    async def scenario() -> None:
        async with a_stack() as stack:
            uri = await stack.made(SUBSCRIPTIONS, PUSH)
            await stack.ask("POST", uri + SUSPEND, {})
            await zones(stack, "a")
            jump(by_s)
            await zones(stack, "b")
            await stack.ask("POST", uri + RESUME, {})
            await zones(stack, "c")
            await stack.clock.sleep(5)
            assert about(stack.outbox, uri) == ["a", "b", "c"]

    scenario()


@jumps
def test_heartbeats_come_as_often_over_a_jump(jump: Jump, by_s: float) -> None:
    @in_virtual_time
    async def scenario() -> None:
        async with a_stack() as stack:
            beating = {**PUSH, "SendHeartbeat": True, "HeartbeatIntervalMinutes": 1}
            uri = await stack.made(SUBSCRIPTIONS, beating)
            await stack.clock.sleep(150)
            jump(by_s)
            await stack.clock.sleep(216)
            assert len(ids(stack.outbox, uri)) == 6
            assert in_order(ids(stack.outbox, uri))

    scenario()


@jumps
def test_a_stream_that_comes_back_after_a_jump_goes_on_where_it_was(
    jump: Jump, by_s: float
) -> None:
    @in_virtual_time
    async def scenario() -> None:
        async with a_stack() as stack:
            heard = await listen(stack)
            await zones(stack, "a")
            await stack.clock.sleep(1)
            await heard.close()
            jump(by_s)
            await zones(stack, "b")
            again = await listen(stack, after=position_of(heard.reader.ids[-1]))
            await zones(stack, "c")
            await stack.clock.sleep(1)
            whole = [*heard.reader.ids, *again.reader.ids]
            assert in_order(whole)
            for name in "abc":
                told = heard.reader.told_of(f"{PCIE_ZONES}/{name}")
                told += again.reader.told_of(f"{PCIE_ZONES}/{name}")
                assert len(told) == 2
            await again.close()

    scenario()
