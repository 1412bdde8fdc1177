"""Delivery to one subscription: in order, at least once, patient with a receiver that is not there.

One task per EventDestination. It reads the stream of all events from its own position, sends those
that match, and moves on only when they were taken; so a slow or dead receiver delays nobody else,
and what is sent again has the same EventIds. What is kept in memory for it is one batch.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from redfish_fm.clocks import Clock
from redfish_fm.control.delivery_words import DeliveryWords, Shared
from redfish_fm.control.event_stream import RECORD_LAST, Batch, EventStream
from redfish_fm.mapping.event_service import Retrying
from redfish_fm.mapping.subscription_values import RetryPolicy, Subscription
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.events import Event, Position, made_event
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.wakes import pause

TOO_LONG = "what is sent is too long for it (413)"
"""What Send says of a receiver that may take less at once."""

HEARTBEAT = Message("HeartbeatEvent.RedfishServiceFunctional")
"""The service works, and nothing else is to be told."""
TERMINATED = Message("Base.SubscriptionTerminated")
"""The last that a receiver hears where the service itself ends a subscription."""

EVENTS_MAX = 200
"""Events in one request, some 100 kB: many receivers refuse to read more than a megabyte."""
GATHER_S = 0.1
BUSY_EVENTS, BUSY_GATHER_S = 16, 0.4
"""Rest between two requests to one receiver, and after more than so many events at once: what
happens meanwhile goes together.

A request costs as much as a dozen events in it. Twenty receivers and a thousand changes a second
would be twenty thousand requests a second; so they are some fifty.
"""
JITTER = 0.1
"""How much earlier or later than said a delivery is tried again, so that not all come at once."""
BACKOFF_S_MAX = 3600.0
"""The longest wait of RetryForeverWithBackoff, where the interval itself is not longer."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """One request: what is sent where. `headers` are the subscriber's own."""

    subscription: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    verify: bool


Send = Callable[[Parcel], Awaitable[str | None]]
"""Deliver a parcel; return None once it was taken, else why not, in a few words for people."""


@dataclass(frozen=True, slots=True)
class Delivering:
    """What all deliveries have in common.

    `settings` tells what the EventService says now, `allowed` whether a user may hear of events.
    """

    stream: EventStream
    words: DeliveryWords
    shared: Shared
    registries: Registries
    clock: Clock
    rng: random.Random
    send: Send
    settings: Callable[[], Retrying]
    allowed: Callable[[str], bool]


class Watcher(Protocol):
    """Is told how a delivery does; control.subscriptions keeps and shows it."""

    def reached(self, uri: str, position: Position) -> None:
        """Note that all up to `position` need not be sent any more."""
        ...

    def delivered(self, uri: str, events: int) -> None:
        """Note that a receiver has taken so many events."""
        ...

    def failed(self, uri: str, reason: str, last: bool) -> None:
        """Note that a receiver has not; `last`: it was tried as often as is allowed."""
        ...

    async def given_up(self, uri: str, policy: RetryPolicy, reason: str) -> bool:
        """End or suspend the subscription; return whether that is done."""
        ...


class Delivery:
    """Delivers to one subscription. Run `run` as a task; `update` when the subscription changes."""

    def __init__(
        self, subscription: Subscription, after: Position, common: Delivering, watcher: Watcher
    ) -> None:
        self.subscription = subscription
        self.position = max(after, (subscription.kept.begins, RECORD_LAST))
        self._common = common
        self._watcher = watcher
        self._events_max = EVENTS_MAX
        self._alone = False
        self._changed = asyncio.Event()
        self._beat_s = common.clock.now_s()

    def update(self, subscription: Subscription) -> None:
        """Go on with what the subscription says now."""
        self.subscription = subscription
        self._changed.set()

    def look_again(self) -> None:
        """See whether who made it may hear of events now."""
        self._changed.set()

    @property
    def barred(self) -> bool:
        """Whether who made it may not hear of events. One that nobody made is nobody's to bar."""
        owner = self.subscription.kept.owner
        return bool(owner) and not self._common.allowed(owner)

    async def run(self) -> None:
        """Deliver until cancelled, or until the subscription is given up."""
        while True:
            if not self.subscription.enabled or self.barred:
                await self._changed.wait()
                self._changed.clear()
                continue
            self._beat()
            batch = await self._common.stream.read(self.position, EVENTS_MAX)
            events = self._wanted(batch)
            if events and not await self._deliver(events):
                continue
            self._reached(batch.through)
            # Also where none of them were wanted: not to wake up for each single change.
            if 0 < len(batch.events) < EVENTS_MAX:
                busy = len(batch.events) > BUSY_EVENTS
                rest_s = BUSY_GATHER_S if busy else GATHER_S
                # To the next tick, the same for all: then all have the same to do.
                clock = self._common.clock
                await pause(clock, self._changed, rest_s - clock.now_s() % rest_s)
            elif not batch.events:
                await self._news()

    async def part(self) -> None:
        """Tell the receiver, once, that nothing comes any more. Call when `run` runs no more.

        What it did not have by then it does not get.
        """
        if self._common.settings().enabled:
            await self._common.send(self._parcel(self.subscription, [self._told(TERMINATED)]))

    def _reached(self, position: Position) -> None:
        if position > self.position:
            self.position = position
            self._watcher.reached(self.subscription.uri, position)

    def _wanted(self, batch: Batch) -> Sequence[Event]:
        """Return what of a batch is sent; while the EventService is switched off, nothing."""
        if not self._common.settings().enabled:
            return ()
        subscription = self.subscription
        uri, kept = subscription.uri, subscription.kept
        resuming = self.position[0] < kept.resumed
        self._alone = batch.gap or resuming or any(each.to == uri for each in batch.events)
        if not self._alone:
            return self._common.shared.matching(subscription.filter, self.position, batch)
        matches = subscription.filter.matches
        found = [
            event
            for event in batch.events
            if event.seq >= kept.resumed or event.time_s >= kept.since_s
            if event.to == uri or (event.to is None and matches(event))
        ]
        if batch.gap:
            found.insert(0, self._common.words.gap(batch, self._common.clock.wall_s(), uri))
        return found

    async def _deliver(self, events: Sequence[Event]) -> bool:
        """Send until all is taken; False where the subscription has changed so that it is not.

        A receiver for whom it is too long gets half as much at once from then on.
        """
        failures = 0
        while True:
            self._changed.clear()
            subscription, settings = self.subscription, self._common.settings()
            if not subscription.enabled or self.barred or not settings.enabled:
                return False
            part = events[: self._events_max]
            reason = await self._common.send(self._parcel(subscription, part))
            if reason is None:
                failures = 0
                self._watcher.delivered(subscription.uri, len(part))
                events = events[len(part) :]
                if not events:
                    return True
                self._reached(part[-1].position)
                continue
            if reason == TOO_LONG and len(part) > 1:
                self._events_max = len(part) // 2
                continue
            failures += 1
            last = failures > settings.attempts
            self._watcher.failed(subscription.uri, reason, last)
            if last and await self._give_up(subscription, reason):
                return False
            await pause(self._common.clock, self._changed, self._wait_s(failures, settings))

    async def _give_up(self, subscription: Subscription, reason: str) -> bool:
        if subscription.policy not in (RetryPolicy.TERMINATE, RetryPolicy.SUSPEND):
            return False
        return await self._watcher.given_up(subscription.uri, subscription.policy, reason)

    def _parcel(self, subscription: Subscription, events: Sequence[Event]) -> Parcel:
        context, common = subscription.context, self._common
        if self._alone or subscription.include_origin:
            origin = subscription.include_origin
            body = common.words.payload(events, context, origin=origin)
        else:
            body = common.shared.payload(subscription.filter, events, context)
        headers = dict(subscription.kept.headers)
        return Parcel(
            subscription.uri, subscription.destination, headers, body, subscription.verify
        )

    def _wait_s(self, failures: int, settings: Retrying) -> float:
        """Return how long to leave a receiver alone after so many failures."""
        wait_s = settings.interval_s
        if self.subscription.policy is RetryPolicy.BACKOFF:
            longest_s = max(BACKOFF_S_MAX, wait_s)
            wait_s = min(longest_s, wait_s * 2.0 ** min(failures - 1, 20))
        return wait_s * self._common.rng.uniform(1 - JITTER, 1 + JITTER)

    async def _news(self) -> None:
        """Wait for an event, for a change of the subscription, or until a heartbeat is due."""
        clock, every_s = self._common.clock, self.subscription.heartbeat_s
        waits = {
            asyncio.ensure_future(self._common.stream.wait(self.position)),
            asyncio.ensure_future(self._changed.wait()),
        }
        if every_s is not None:
            due_s = self._beat_s + every_s
            waits.add(asyncio.ensure_future(clock.sleep(due_s - clock.now_s())))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(*waits, return_exceptions=True)
        self._changed.clear()

    def _beat(self) -> None:
        """Tell a subscriber who wants to hear it that the service works, if it is time to."""
        common, every_s = self._common, self.subscription.heartbeat_s
        now_s = common.clock.now_s()
        if every_s is None or now_s < self._beat_s + every_s:
            return
        # What was missed while a receiver did not listen is not made up for.
        self._beat_s = now_s
        if common.settings().enabled:
            self._told(HEARTBEAT)

    def _told(self, message: Message) -> Event:
        """Add to all events one that this subscription alone gets."""
        made = made_event(message, self._common.registries, self._common.clock.wall_s())
        return self._common.stream.tell(replace(made, to=self.subscription.uri))
