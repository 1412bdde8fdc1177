"""The log of events: follows the stream as a subscriber does, and puts everything into a logbook.

What was not stored when the service ended is put there after its next start, for the newest entry
says how far the log had got: it has every event, in order, once. Of two that say the same it has
the more exact one. Only after it was cleared and nothing more was logged, the events of the last
moment before a crash are not made up for.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from redfish_fm.clocks import Clock
from redfish_fm.control.event_stream import EventStream
from redfish_fm.control.logbook import WAITING_MAX, Logbook
from redfish_fm.redfish.event_entries import position_in
from redfish_fm.redfish.events import Event, Position

log = logging.getLogger(__name__)

AT_ONCE = 500
"""Events made into entries in one go: some 10 ms."""
CLOSE_TIMEOUT_S = 5.0


class EventLog:
    """Make it of a stream that is started and a logbook that is loaded; run `run` as a task.

    It goes on behind the newest entry; an empty log begins with what comes. `entry_of` makes an
    entry of an event, with the time it is made at.
    """

    def __init__(
        self,
        stream: EventStream,
        book: Logbook,
        entry_of: Callable[[Event, float], bytes],
        clock: Clock,
    ) -> None:
        self._stream = stream
        self._book = book
        self._entry_of = entry_of
        self._clock = clock
        newest = book.newest
        found = None if newest is None else position_in(newest)
        if found is not None:
            stream.known(found)
        self._taking = asyncio.Lock()
        self._at: Position = stream.newest if found is None else found

    async def run(self) -> None:
        """Put events into the log until cancelled."""
        while True:
            await self._stream.wait(self._at)
            more = self._book.waiting + AT_ONCE <= WAITING_MAX and await self._take()
            # Those that come meanwhile are taken in one go, as they are stored in one.
            await self._clock.sleep(0.0 if more else self._book.policy.group_s)

    async def close(self) -> None:
        """Hand the logbook all that was published, and have it stored.

        No stop waits longer than CLOSE_TIMEOUT_S for a store that can not be read: what is left is
        made up for after the next start.
        """
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                more = True
                while more:
                    more = await self._take()
                    await self._book.flush()
        except TimeoutError:
            log.warning("the log has not all events yet: it gets the rest after the next start")

    async def _take(self) -> bool:
        """Put the next events into the log; return whether there are more."""
        async with self._taking:
            return await self._take_next()

    async def _take_next(self) -> bool:
        batch = await self._stream.read(self._at, AT_ONCE)
        if batch.gap:
            log.warning("events after %d are gone: the log does not have them", self._at[0])
        now_s = self._clock.wall_s()
        for event in batch.events:
            # Of two that say the same the more exact one is kept; a log is read by people.
            if event.to is None and not event.specific:
                self._book.add(now_s, partial(self._entry_of, event, now_s))
        self._at = batch.through
        return len(batch.events) == AT_ONCE
