"""What a switch says unasked, and what its event logs have, as hints where to look.

Notices come twice or not at all, and records may be lost, so nothing is concluded from them but
that a look is due. DESIGN section 4: a hint costs time at most. What records tell besides is in
`records`.
"""

import asyncio
import logging
from collections.abc import AsyncIterator

from redfish_fm.clocks import Clock
from redfish_fm.drivers.base import DriverRejected, DriverUnavailable, DriverUnsupported
from redfish_fm.drivers.cxl_fmapi.attached import AttachedSwitch
from redfish_fm.drivers.cxl_fmapi.generic_commands import EVENT_NOTIFICATION
from redfish_fm.drivers.cxl_fmapi.links import Link
from redfish_fm.drivers.cxl_fmapi.notices import DEVICES_NOTICE, PORT_NOTICE
from redfish_fm.drivers.cxl_fmapi.numbers import EventLog
from redfish_fm.drivers.cxl_fmapi.wires import Arrival
from redfish_fm.fabric.model import Hint

log = logging.getLogger(__name__)

_RESHAPING = frozenset({PORT_NOTICE.opcode, DEVICES_NOTICE.opcode})
"""After these there may be other devices than before."""

LOGS_S = 5.0
"""Between two readings of logs that nobody was told of."""

REST_S = 0.05
"""After each hint of a switch: one that talks without end costs no more than that."""


class Bell:
    """Wakes all who watch a fabric. `ring` never waits; hints of one switch are one until heard."""

    def __init__(self, fabric: str) -> None:
        self._fabric = fabric
        self._ears: list[_Ear] = []
        self._closed = False

    def ring(self, switch: str) -> None:
        """Tell whoever watches to look at a switch."""
        for ear in self._ears:
            ear.unheard[switch] = None
            ear.news.set()

    def close(self) -> None:
        """End all watches, after the hints that wait."""
        self._closed = True
        for ear in self._ears:
            ear.news.set()

    async def hints(self) -> AsyncIterator[Hint]:
        """Yield hints until closed, of each switch in the order in which it was rung for first."""
        ear = _Ear()
        self._ears.append(ear)
        try:
            while ear.unheard or not self._closed:
                if ear.unheard:
                    switch = next(iter(ear.unheard))
                    del ear.unheard[switch]
                    yield Hint(self._fabric, switch)
                else:
                    ear.news.clear()
                    await ear.news.wait()
        finally:
            self._ears.remove(ear)


class _Ear:
    """One who watches: the switches that were rung for since it heard of them last."""

    def __init__(self) -> None:
        self.unheard: dict[str, None] = {}
        self.news = asyncio.Event()


class Listening:
    """Listens to one switch. Run `run` as a task."""

    def __init__(self, switch: AttachedSwitch, bell: Bell, clock: Clock) -> None:
        self._switch = switch
        self._bell = bell
        self._clock = clock
        self._notified = asyncio.Event()

    async def run(self) -> None:
        """Ring for everything the switch says, and whenever it is connected anew."""
        channel = self._switch.channel
        if not isinstance(channel, Link):
            await self._follow_logs()
            return
        while True:
            await channel.wait_connected()
            self._ring()
            await self._while_connected(channel)
            # Whatever is known is of before, and who answers next may be another switch.
            self._switch.touch()
            self._ring()

    async def _while_connected(self, channel: Link) -> None:
        """Listen to one connection until it ends, or another one has taken its place."""
        following, generation = asyncio.ensure_future(self._follow_logs()), channel.generation
        try:
            while channel.connected and channel.generation == generation:
                self._heed(await channel.notices())
                await self._clock.sleep(REST_S)
        finally:
            following.cancel()
            await asyncio.wait([following])
        if not following.cancelled():
            following.result()

    def _heed(self, notices: list[Arrival]) -> None:
        opcodes = {each.message.opcode for each in notices}
        if opcodes & _RESHAPING:
            self._switch.touch()
        if EVENT_NOTIFICATION.opcode in opcodes:
            self._notified.set()
        if opcodes:
            self._ring()

    def _ring(self) -> None:
        self._bell.ring(self._switch.place.id)

    async def _follow_logs(self) -> None:
        """Read the event logs when the switch says so, and now and then, if it has any."""
        client, subscribed = self._switch.client, False
        while True:
            self._notified.clear()
            try:
                if (await self._switch.ready()).has_events:
                    if not subscribed:
                        subscribed = True
                        await client.subscribe(EventLog)
                    if await self._switch.records.read():
                        self._ring()
            except (DriverUnavailable, DriverRejected, DriverUnsupported) as error:
                log.debug("events of %s: %s", self._switch.place.id, error)
            await self._until_notified()

    async def _until_notified(self) -> None:
        resting = asyncio.ensure_future(self._clock.sleep(LOGS_S))
        hearing = asyncio.ensure_future(self._notified.wait())
        try:
            await asyncio.wait({resting, hearing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            resting.cancel()
            hearing.cancel()
