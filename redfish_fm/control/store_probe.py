"""Finds out whether the store takes changes again, after it has refused one.

Whoever asks whether the service is ready must not wait for the next client's write: where that is
kept away until the service is ready, it would never be.
"""

import logging

from redfish_fm.clocks import Clock
from redfish_fm.control.tip import TipView
from redfish_fm.control.writer import Writer
from redfish_fm.mapping.drafts import Draft
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind

log = logging.getLogger(__name__)

ACTOR = "probe"
KEY = "probed"
"""Key in META space: how often the store was asked."""
FIRST_S, LONGEST_S = 5.0, 60.0
"""How long to wait for a client's write before the first try, and between two at most."""


class StoreProbe:
    """Writes to the store while it refuses. Run `run` as a task."""

    def __init__(self, writer: Writer, clock: Clock) -> None:
        self._writer = writer
        self._clock = clock

    async def run(self) -> None:
        """Try after each refusal until the store takes something, until cancelled."""
        while True:
            await self._writer.failed.wait()
            self._writer.failed.clear()
            delay_s = FIRST_S
            while True:
                await self._clock.sleep(delay_s)
                if self._writer.refusing is None or await self._takes():
                    break
                delay_s = min(LONGEST_S, delay_s * 2)

    async def _takes(self) -> bool:
        try:
            await self._writer.submit(_asked, ACTOR)
        except RedfishError as error:
            log.info("the store still takes nothing: %s", error)
            return False
        return True


def _asked(tip: TipView) -> Draft:
    pre = tip.state.spaces[Space.META].get(KEY)
    post = b"%d" % (int(pre or b"0") + 1)
    return Draft(OutcomeKind.CHANGED, "", (Edit(Space.META, KEY, pre, post),))
