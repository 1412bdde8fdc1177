"""Ends reservations when their time is over: deletes them through the writer, like anybody.

When that is stands in their documents as wall time, so a service that was down ends what is over
at its next start. Looks once a second while there are any, because wall time may be set; sleeps
otherwise.
"""

import asyncio
import logging
from collections.abc import Sequence

from redfish_fm.clocks import Clock
from redfish_fm.control.published import Published
from redfish_fm.control.tip import TipView
from redfish_fm.control.writer import Writer
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.reservations import ended, expired
from redfish_fm.mapping.uris import RESERVATIONS
from redfish_fm.redfish.changes import Change
from redfish_fm.redfish.errors import RedfishError

log = logging.getLogger(__name__)

ACTOR = "expiry"
LOOK_S = 1.0
"""The longest wait while there is a reservation: what is over is free within a second."""


class Expiry:
    """Follows the reservations there are. Run `run` as a task."""

    def __init__(self, writer: Writer, published: Published, clock: Clock) -> None:
        self._writer = writer
        self._published = published
        self._clock = clock
        self._wake = asyncio.Event()
        # A stored state may have some.
        self._wake.set()

    def published(self, changes: Sequence[Change]) -> None:
        """Look anew: these changes made a reservation or took one away."""
        self._wake.set()

    def owner_of(self, uri: str) -> str | None:
        """Return the client of the reservation at `uri`; None where there is none."""
        if uri not in self._published.state.index.reservations:
            return None
        document = self._published.state.document(uri) or {}
        client = document.get("Client")
        return client if isinstance(client, str) else None

    async def run(self) -> None:
        """End what is over, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while (delay_s := await self._end_what_is_over()) is not None:
                await self._clock.sleep(delay_s)

    async def _end_what_is_over(self) -> float | None:
        """Delete what is over; return how long to wait for the next, or None where none is left."""
        index, now_s = self._published.state.index, self._clock.wall_s()
        over = [each.id for each in expired(index, now_s)]
        if over:

            def prepare(tip: TipView) -> Draft:
                return ended(over, tip)

            try:
                await self._writer.submit(prepare, ACTOR)
            except RedfishError as error:
                # The store takes nothing now: nobody else gets the blocks meanwhile either.
                log.warning("reservations that are over could not be ended: %s", error)
                return LOOK_S
        left = self._published.state.index.reservations
        if not left.keys().isdisjoint(over):
            # No client's document, say: what does not go is not asked for without a pause.
            return LOOK_S
        soonest_s = min((each.expires_s for each in left.values()), default=None)
        if soonest_s is None:
            return None
        return min(LOOK_S, max(0.0, soonest_s - self._clock.wall_s()))


_BELOW = f"{RESERVATIONS}/"
