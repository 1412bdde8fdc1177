"""Discovery: whether and where the service makes itself known, by SSDP and by mDNS.

Both are off unless asked for. What is announced is announced on the addresses the service is
reached by, and taken back when it is switched off, when the addresses change, and at the end.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from enum import Enum

from redfish_fm.clocks import Clock
from redfish_fm.server.interfaces import (
    InterfaceAddress,
    IpAddress,
    interface_addresses,
    reached_by,
)
from redfish_fm.server.mdns import MdnsAnnouncer
from redfish_fm.server.ssdp import GROUP_V4, Announced
from redfish_fm.server.ssdp_responder import SsdpResponder

log = logging.getLogger(__name__)

LOOK_S = 15.0
"""Time between two looks at this machine's addresses: they may come late, and change."""


class Ipv6Scope(Enum):
    """How far IPv6 announcements go. Redfish: ManagerNetworkProtocol SSDP.NotifyIPv6Scope."""

    LINK = "Link"
    SITE = "Site"
    ORGANIZATION = "Organization"


_GROUPS_V6 = {
    Ipv6Scope.LINK: ("ff02::c",),
    Ipv6Scope.SITE: ("ff02::c", "ff05::c"),
    Ipv6Scope.ORGANIZATION: ("ff02::c", "ff05::c", "ff08::c"),
}
"""Who searches on the link is answered in any case."""


@dataclass(frozen=True, slots=True)
class DiscoverySettings:
    """What is asked for. The `ssdp_notify_…` are ManagerNetworkProtocol SSDP.Notify….

    `ssdp_notify_interval_s` 0: searches are answered, but nothing is sent unasked. Seconds; the
    TTL of IPv4 is the hop limit of IPv6.
    """

    ssdp: bool = False
    mdns: bool = False
    ssdp_notify_interval_s: int = 600
    ssdp_notify_ttl: int = 2
    ssdp_notify_ipv6_scope: Ipv6Scope = Ipv6Scope.LINK


class Discovery:
    """Makes the service known as the newest settings say.

    `bound`: the addresses the service listens on. `interfaces`: names of those to announce on;
    empty means every one that `bound` has an address of, loopback aside. `clock` is the
    service's; `rng` spreads answers over the time they may take.
    """

    def __init__(
        self,
        announced: Announced,
        bound: Collection[IpAddress],
        interfaces: Collection[str],
        clock: Clock,
        rng: random.Random,
        look: Callable[[], Iterable[InterfaceAddress]] = interface_addresses,
    ) -> None:
        self._announced = announced
        self._bound = frozenset(bound)
        self._interfaces = frozenset(interfaces)
        self._clock = clock
        self._rng = rng
        self._changing = asyncio.Lock()
        self._look = look
        self._closed = False
        self._settings = DiscoverySettings()
        self._places: tuple[InterfaceAddress, ...] = ()
        self._ssdp: SsdpResponder | None = None
        self._mdns: MdnsAnnouncer | None = None

    @property
    def hindrance(self) -> str | None:
        """Why nothing can be announced now, for people; None where something can be."""
        if self._reached():
            return None
        listening = ", ".join(sorted(map(str, self._bound)))
        if self._interfaces:
            names = ", ".join(sorted(self._interfaces))
            return f"the service, on {listening}, has no address on {names}"
        return f"only this machine reaches the service, on {listening}"

    async def apply(self, settings: DiscoverySettings) -> None:
        """Announce as these settings say; what is not announced any more is taken back first.

        After close it changes nothing: a write that was under way must not begin anew.
        """
        async with self._changing:
            if not self._closed:
                await self._apply(settings, self._reached())

    async def run(self) -> None:
        """Look every LOOK_S whether the addresses are the same, and announce the new ones."""
        while True:
            await self._clock.sleep(LOOK_S)
            async with self._changing:
                if self._settings.ssdp or self._settings.mdns:
                    await self._apply(self._settings, self._reached())

    async def close(self) -> None:
        """Take back everything, for good."""
        async with self._changing:
            self._closed = True
            await self._apply(DiscoverySettings(), self._places)

    def _reached(self) -> tuple[InterfaceAddress, ...]:
        try:
            found = self._look()
        except OSError as error:
            # A machine out of files, say: what was announced stays until the next look.
            log.warning("the addresses of this machine can not be read: %s", error)
            return self._places
        return reached_by(found, self._bound, self._interfaces)

    async def _apply(
        self, settings: DiscoverySettings, places: tuple[InterfaceAddress, ...]
    ) -> None:
        before, moved = self._settings, places != self._places
        self._settings, self._places = settings, places
        if settings == before and not moved:
            return
        if moved or _of_ssdp(settings) != _of_ssdp(before):
            await self._restart_ssdp()
        if moved or settings.mdns != before.mdns:
            await self._restart_mdns()
        known_by = [name for name in ("ssdp", "mdns") if getattr(settings, name)]
        if known_by and places:
            urls = ", ".join(self._announced.url(place.ip) for place in places)
            log.info("announced by %s: %s", " and ".join(known_by), urls)
        elif known_by:
            log.warning("nothing is announced: %s", self.hindrance)

    async def _restart_ssdp(self) -> None:
        if self._ssdp is not None:
            await self._ssdp.close()
            self._ssdp = None
        wanted = self._settings
        if wanted.ssdp and self._places:
            self._ssdp = SsdpResponder(
                self._announced, wanted.ssdp_notify_interval_s, self._clock, self._rng
            )
            groups = {4: (GROUP_V4,), 6: _GROUPS_V6[wanted.ssdp_notify_ipv6_scope]}
            await self._ssdp.open(self._places, groups, wanted.ssdp_notify_ttl)

    async def _restart_mdns(self) -> None:
        if self._mdns is not None:
            await self._mdns.close()
            self._mdns = None
        if self._settings.mdns and self._places:
            self._mdns = MdnsAnnouncer(self._announced, self._places)
            self._mdns.open()


def _of_ssdp(settings: DiscoverySettings) -> DiscoverySettings:
    return replace(settings, mdns=False)
