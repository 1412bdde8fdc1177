"""All events in the order of commits, for whoever wants to follow them.

What was published lately is kept in memory, older events are read from the store's feed again: both
give the same events with the same ids. A commit costs the keeping of its record; events are made
when somebody reads, once for all. No reader delays another or the writer: each has a position and
comes back with it, after a restart too. What a reader was given but did not take note of, it is
given again with the same id (at least once).
"""

import asyncio
import logging
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from redfish_fm.clocks import Clock
from redfish_fm.redfish.changes import Change, FeedRecord, feed_record
from redfish_fm.redfish.events import Event, Position
from redfish_fm.store.base import Store, StoreError

log = logging.getLogger(__name__)

EventsOf = Callable[[FeedRecord], Sequence[Event]]
"""Makes the events of a record: always the same of the same, numbered from 1."""

RECORD_LAST = 999_999
"""No record has an event of a higher number: above are those that are told without a commit."""
RETRY_S = 1.0
"""Wait between two attempts to read a store that can not be read."""


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """How much is kept in memory: events, and bytes of records that nobody has read yet."""

    events_max: int = 10_000
    bytes_max: int = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Batch:
    """What was read: `events` in order, and the position to go on from.

    `gap`: changes before the first of these are gone for good, and nobody knows their events.
    """

    events: tuple[Event, ...]
    through: Position
    gap: bool = False


class EventStream:
    """Call `start` with the seq that was loaded, and have `published` told of each batch.

    `newest` is the position behind the newest event there can be: who starts there gets what
    comes. `made` counts events made, for the tests that hold it to once each.
    """

    def __init__(
        self,
        store: Store,
        events_of: EventsOf,
        render: Callable[[Event], bytes],
        clock: Clock,
        limits: StreamLimits | None = None,
    ) -> None:
        self._store = store
        self._events_of = events_of
        self._render = render
        self._clock = clock
        self._limits = limits or StreamLimits()
        self._fresh: deque[FeedRecord] = deque()
        self._fresh_bytes = 0
        self._events: list[Event] = []
        self._rendered: dict[Position, bytes] = {}
        self._waiting: set[asyncio.Future[None]] = set()
        self._before: Position = (0, RECORD_LAST)
        self.newest: Position = self._before
        self.made = 0

    def start(self, seq: int) -> None:
        """Begin after the stored change `seq`: older events are read from the store."""
        self._forget((seq, RECORD_LAST))
        self.newest = self._before

    def known(self, position: Position) -> None:
        """Note a position that an earlier life gave to what it told: nobody gets it again.

        The clock alone does not see to that, for it can have been set back since. Call it after
        `start`, before anybody reads.
        """
        if position[0] == self.newest[0] and position > self.newest:
            self._forget(position)
            self.newest = position

    def published(self, changes: Sequence[Change]) -> None:
        """Take over what was just published."""
        news = False
        for change in changes:
            if change.seq != self.newest[0] + 1:
                # Somebody else wrote in between: the store knows what.
                self._forget((change.seq - 1, RECORD_LAST))
            record = feed_record(change)
            self.newest = (change.seq, RECORD_LAST)
            if record.entries:
                news = True
                self._fresh.append(record)
                self._fresh_bytes += _bytes_of(record)
        if self._fresh_bytes > self._limits.bytes_max:
            self._forget(self.newest)
        if news:
            self._wake()

    def tell(self, event: Event) -> Event:
        """Add an event that is no commit after all there are; return it with its position.

        It is not durable: whoever follows now gets it, nobody after the service has ended.
        """
        self._make()
        # By the clock, so that no later life gives the number to another event.
        number = max(self.newest[1], int(self._clock.wall_s() * 1000)) + 1
        told = replace(event, seq=self.newest[0], number=number)
        self._events.append(told)
        self.newest = told.position
        self._wake()
        return told

    async def read(self, after: Position, limit: int) -> Batch:
        """Return at most `limit` events after a position, at once.

        Waits for the store where they are no longer in memory; a store that can not be read is
        asked again until it can.
        """
        # Nothing is after the end: a position of an earlier life can be behind what it told.
        after = min(after, self.newest)
        found: list[Event] = []
        gap = False
        # Before looking: making some can push others out of memory.
        self._make()
        while after < self._before and len(found) < limit:
            stored = await self._stored(after, limit - len(found))
            if stored.gap and found:
                return Batch(tuple(found), after, gap)
            found += stored.events
            after, gap = stored.through, gap or stored.gap
            self._make()
        if len(found) < limit:
            start = bisect_right(self._events, after, key=_position)
            end = start + limit - len(found)
            found += self._events[start:end]
            after = found[-1].position if end < len(self._events) else self.newest
        return Batch(tuple(found), after, gap)

    async def _stored(self, after: Position, limit: int) -> Batch:
        while True:
            try:
                return await self._read_stored(after, limit)
            except StoreError as error:
                log.warning("events after %d can not be read: %s", after[0], error)
                await self._clock.sleep(RETRY_S)

    async def wait(self, after: Position) -> None:
        """Return once there can be an event after the position that was read up to."""
        while self.newest <= after:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.add(waiter)
            try:
                await waiter
            finally:
                self._waiting.discard(waiter)

    def rendered(self, event: Event) -> bytes:
        """Return the event as `redfish.events.envelope` takes it, rendered once for all."""
        found = self._rendered.get(event.position)
        if found is None:
            if len(self._rendered) >= self._limits.events_max:
                self._rendered.clear()
            found = self._rendered[event.position] = self._render(event)
        return found

    async def _read_stored(self, after: Position, limit: int) -> Batch:
        """Read the feed from the record that `after` is in, or from the next where it is over."""
        end = self._before
        read = max(0, after[0] if after[1] >= RECORD_LAST else after[0] - 1)
        found: list[Event] = []
        gap: bool | None = None
        async with aclosing(self._store.follow(read)) as records:
            async for record in records:
                if record.seq > end[0]:
                    break
                gap = record.seq > read + 1 if gap is None else gap
                for event in self._events_of(record):
                    if not after < event.position <= end:
                        continue
                    if len(found) == limit:
                        return Batch(tuple(found), found[-1].position, gap)
                    found.append(event)
        return Batch(tuple(found), end, end[0] > read if gap is None else gap)

    def _make(self) -> None:
        """Make the events of what was published since somebody read."""
        while self._fresh:
            events = self._events_of(self._fresh.popleft())
            self.made += len(events)
            self._events += events
        self._fresh_bytes = 0
        over = len(self._events) - self._limits.events_max
        if over > self._limits.events_max // 10:
            # Some at once: taking one off the front costs all that are left.
            self._before = self._events[over - 1].position
            del self._events[:over]

    def _forget(self, before: Position) -> None:
        """Keep nothing in memory up to a position: the store has it."""
        self._fresh.clear()
        self._fresh_bytes = 0
        self._events.clear()
        self._before = before

    def _wake(self) -> None:
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)


def _position(event: Event) -> Position:
    return event.position


def _bytes_of(record: FeedRecord) -> int:
    return sum([len(entry.pre or b"") + len(entry.post or b"") for entry in record.entries])
