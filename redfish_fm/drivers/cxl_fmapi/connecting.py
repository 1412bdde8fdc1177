"""The channels to the switches of one fabric, and what keeps them up.

Switches that dial in may share a listening address; they are told apart by serial number then.
"""

import logging
import random
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

from redfish_fm.clocks import Clock
from redfish_fm.drivers.cxl_fmapi.channel import Channel
from redfish_fm.drivers.cxl_fmapi.command import FM_API, NOTHING
from redfish_fm.drivers.cxl_fmapi.identify import IDENTIFY
from redfish_fm.drivers.cxl_fmapi.links import DialLink, Link, LinkPolicy
from redfish_fm.drivers.cxl_fmapi.linux_mailbox import Mailbox
from redfish_fm.drivers.cxl_fmapi.linux_mctp import MctpSockets
from redfish_fm.drivers.cxl_fmapi.listener import Listener
from redfish_fm.drivers.cxl_fmapi.places import Framing, LinkKind, SwitchPlace
from redfish_fm.drivers.cxl_fmapi.session import Order, Session
from redfish_fm.drivers.cxl_fmapi.wires import FrameWire, MctpWire, Wire

log = logging.getLogger(__name__)

_NOBODY = "nobody"


class Connections:
    """One channel for each place, in their order. Run what `runners` yields as tasks."""

    def __init__(
        self,
        places: Sequence[SwitchPlace],
        clock: Clock,
        seed: int | None = None,
        policy: LinkPolicy | None = None,
    ) -> None:
        self.places = tuple(places)
        self.channels: dict[str, Channel] = {}
        self._clock = clock
        self._policy = policy or LinkPolicy()
        self._dials: list[DialLink] = []
        self._listening: dict[tuple[str, int], list[SwitchPlace]] = {}
        self._listeners: list[Listener] = []
        chance = random.SystemRandom() if seed is None else None
        for place in places:
            # Each switch has chance of its own: what one draws changes nothing for the others.
            own = chance or random.Random(f"{seed} {place.id}")  # noqa: S311 - no secret
            self.channels[place.id] = self._channel(place, own)

    def _channel(self, place: SwitchPlace, chance: random.Random) -> Channel:
        match place.link:
            case LinkKind.MAILBOX:
                return Mailbox(place.id, place.path)
            case LinkKind.AF_MCTP:
                return MctpSockets(place.id, place.eid, place.network)
            case LinkKind.FM_LISTEN:
                self._listening.setdefault(place.address, []).append(place)
                return Link(place.id, self._clock, self._policy)
        link = DialLink(place.id, place.address, wire_of(place), self._clock, chance, self._policy)
        self._dials.append(link)
        return link

    def runners(self) -> Iterator[Coroutine[Any, Any, None]]:
        """Yield what has to run for as long as the switches are to be connected."""
        for link in self._dials:
            yield link.run()
        for address, places in self._listening.items():
            yield self._listen(address, places)

    def port_of(self, switch: str) -> int | None:
        """Return the port that a switch is to dial, None while nobody listens there."""
        for listener, (_, places) in zip(self._listeners, self._listening.items(), strict=False):
            if switch in {place.id for place in places}:
                return listener.port
        return None

    async def _listen(self, address: tuple[str, int], places: Sequence[SwitchPlace]) -> None:
        """Listen; where the address can not be had, try again for ever."""
        links = {
            place.id: link for place in places if isinstance(link := self.channels[place.id], Link)
        }
        by_serial = {place.serial: place.id for place in places}
        failures, said = 0, ""
        while True:
            listener = Listener(address, wire_of(places[0]), links, _recogniser(by_serial))
            try:
                await listener.start()
            except OSError as error:
                if str(error) != said:
                    log.warning("nobody can dial in at %s:%d: %s", *address, error)
                said = str(error)
                chance = random.Random(failures)  # noqa: S311 - no secret
                await self._clock.sleep(self._policy.again_s(failures, chance))
                failures += 1
                continue
            self._listeners.append(listener)
            return

    async def close(self) -> None:
        """Close sockets and files. Call once what `runners` gave has ended. Safe to repeat."""
        for listener in self._listeners:
            await listener.close()
        for channel in self.channels.values():
            if isinstance(channel, Mailbox):
                await channel.close()
            elif isinstance(channel, MctpSockets):
                channel.close()


def wire_of(place: SwitchPlace) -> Callable[[], Wire]:
    """Return what makes the wire of each connection to a switch."""
    if place.framing is Framing.FRAMES:
        return FrameWire
    return lambda: MctpWire(place.dialect)


def _recogniser(
    by_serial: dict[int | None, str],
) -> Callable[[Session], Coroutine[Any, Any, str | None]]:
    async def recognise(session: Session) -> str | None:
        answer = await session.exchange(Order(IDENTIFY.opcode, message_type=FM_API))
        identity = IDENTIFY.response_to(NOTHING).decode(answer.payload)
        return by_serial.get(identity.serial, by_serial.get(None))

    return recognise
