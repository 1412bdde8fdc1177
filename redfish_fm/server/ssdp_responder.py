"""SSDP on the wire: one socket for each interface and multicast group, answers and announcements.

A socket hears and speaks on its own interface only, so an answer names the address by which the
one who asked reaches the service. What a network refuses to carry is logged once and forgotten.
"""

import asyncio
import contextlib
import functools
import ipaddress
import logging
import random
import socket
import struct
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from redfish_fm.clocks import Clock
from redfish_fm.server import ssdp
from redfish_fm.server.interfaces import InterfaceAddress, IpAddress
from redfish_fm.server.ssdp import Allowance, Announced

log = logging.getLogger(__name__)

ANSWERS_PER_S, ANSWERS_BURST = 20.0, 60
"""All answers together: a whole data centre may search at once, but no flood passes."""

SENDER_ANSWERS_PER_S, SENDER_ANSWERS_BURST = 2.0, 12
"""Answers to one address: enough for a client that searches thrice on start."""

SENDERS_KEPT = 256
"""Addresses remembered; beyond it those that have been quiet for a while are forgotten."""

FIRST_ALIVE_S = (0.0, 0.25, 1.0)
"""When the first announcement is sent: a datagram may be lost."""

_IP_MULTICAST_ALL = 49
"""In linux/in.h; the module socket does not name it. Off: only the socket's own memberships."""


@dataclass(frozen=True, slots=True)
class Place:
    """One group on one interface; `addresses` are the interface's, of the group's family."""

    group: str
    addresses: tuple[InterfaceAddress, ...]

    @property
    def first(self) -> InterfaceAddress:
        """The address to announce: one that means something beyond its link, if there is one."""
        return min(self.addresses, key=lambda each: each.is_link_local)

    @property
    def name(self) -> str:
        """The place, for people."""
        return f"{self.first.interface}, {self.group}"

    def reached_from(self, sender: IpAddress) -> IpAddress:
        """Return the address by which a sender on this interface's side reaches the service."""
        near = (each for each in self.addresses if each.is_on_link(sender))
        found = next((each for each in near if not each.is_link_local), self.first)
        return found.ip


@dataclass(frozen=True, slots=True)
class Answer:
    """What to send back, and after how long."""

    text: bytes
    delay_s: float


class SsdpResponder:
    """Answers searches and sends announcements on the interfaces of some addresses.

    `interval_s` 0: nothing is sent unasked. `rng` chooses the delay of each answer.
    """

    def __init__(
        self,
        announced: Announced,
        interval_s: int,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self._announced = announced
        self._interval_s = interval_s
        self._age_s = ssdp.max_age_s(interval_s)
        self._clock = clock
        self._rng = rng
        self._channels: list[_Channel] = []
        self._allowance = Allowance(ANSWERS_PER_S, ANSWERS_BURST, clock.now_s)
        self._senders: dict[IpAddress, Allowance] = {}
        self._announcing: asyncio.Task[None] | None = None

    @property
    def senders_kept(self) -> int:
        """How many addresses are remembered."""
        return len(self._senders)

    async def open(
        self, addresses: Iterable[InterfaceAddress], groups: Mapping[int, tuple[str, ...]], ttl: int
    ) -> None:
        """Open every group on every interface, and begin to announce.

        `groups` has the multicast groups of each IP version. What can not be opened is left out,
        and said.
        """
        loop = asyncio.get_running_loop()
        for place in places_of(addresses, groups):
            try:
                sock = _open(place, ttl)
            except OSError as error:
                log.warning("no SSDP on %s: %s", place.name, error.strerror or error)
                continue
            channel = _Channel(self, place)
            await loop.create_datagram_endpoint(functools.partial(_same, channel), sock=sock)
            self._channels.append(channel)
        if self._interval_s:
            self._announcing = asyncio.create_task(self._announce())

    async def close(self) -> None:
        """Take back what was announced, forget what was to be answered, close the sockets."""
        if self._announcing is not None:
            self._announcing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._announcing
        for channel in self._channels:
            if self._interval_s:
                channel.announce(ssdp.byebye(self._announced, channel.place.group))
            channel.close()
        self._channels.clear()

    async def _announce(self) -> None:
        """Say that the service is there: thrice at first, then once in each interval."""
        passed_s = 0.0
        for at_s in FIRST_ALIVE_S:
            await self._clock.sleep(at_s - passed_s)
            passed_s = at_s
            self._alive()
        while True:
            await self._clock.sleep(self._interval_s)
            self._alive()

    def _alive(self) -> None:
        for channel in self._channels:
            place = channel.place
            text = ssdp.alive(self._announced, place.first.ip, place.group, self._age_s)
            channel.announce(text)

    def answers_to(self, datagram: bytes, sender: IpAddress, place: Place) -> list[Answer]:
        """Return what is to be sent back, each with the delay that MX asks for; often nothing."""
        search = ssdp.read_search(datagram)
        if search is None:
            return []
        targets = ssdp.targets_of(search, self._announced.minor)
        if not targets or not self._may_answer(sender, len(targets)):
            return []
        ip = place.reached_from(sender)
        return [
            Answer(
                ssdp.answer(self._announced, ip, target, self._age_s),
                self._rng.uniform(0, search.mx_s),
            )
            for target in targets
        ]

    def _may_answer(self, sender: IpAddress, count: int) -> bool:
        """Take the answers out of both allowances. Only who is answered is remembered."""
        allowance = self._senders.get(sender)
        if allowance is None:
            allowance = Allowance(SENDER_ANSWERS_PER_S, SENDER_ANSWERS_BURST, self._clock.now_s)
        if not allowance.take(count) or not self._allowance.take(count):
            return False
        self._senders[sender] = allowance
        if len(self._senders) > SENDERS_KEPT:
            self._senders = {ip: each for ip, each in self._senders.items() if not each.is_full}
        return True


class _Channel(asyncio.DatagramProtocol):
    """The socket of one place."""

    def __init__(self, responder: SsdpResponder, place: Place) -> None:
        self.place = place
        self._responder = responder
        self._transport: asyncio.DatagramTransport | None = None
        self._pending: set[asyncio.TimerHandle] = set()
        self._complained = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what is sent by."""
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Answer a search after its delay; everything else is no business of ours."""
        sender = ipaddress.ip_address(addr[0].partition("%")[0])
        loop = asyncio.get_running_loop()
        for answer in self._responder.answers_to(data, sender, self.place):
            timer: list[asyncio.TimerHandle] = []
            timer.append(loop.call_later(answer.delay_s, self._answer, answer.text, addr, timer))
            self._pending.update(timer)

    def _answer(self, text: bytes, addr: Any, timer: list[asyncio.TimerHandle]) -> None:
        self._pending.difference_update(timer)
        self._send(text, addr)

    def announce(self, text: bytes) -> None:
        """Send to the group."""
        index = self.place.first.index
        to: Any = (self.place.group, ssdp.PORT)
        self._send(text, (*to, 0, index) if ":" in self.place.group else to)

    def _send(self, text: bytes, addr: Any) -> None:
        if self._transport is not None:
            self._transport.sendto(text, addr)

    def error_received(self, exc: Exception) -> None:
        """Say once that the network does not carry what is sent: a cable may be unplugged."""
        if not self._complained:
            log.warning("SSDP on %s: %s", self.place.name, exc)
        self._complained = True

    def close(self) -> None:
        """Close; answers that wait for their time are not given."""
        for timer in self._pending:
            timer.cancel()
        self._pending.clear()
        if self._transport is not None:
            self._transport.close()


def _same(channel: _Channel) -> _Channel:
    return channel


def places_of(
    addresses: Iterable[InterfaceAddress], groups: Mapping[int, tuple[str, ...]]
) -> list[Place]:
    """Return every group on every interface that has an address of the group's family."""
    found: dict[tuple[int, int], list[InterfaceAddress]] = {}
    for address in addresses:
        found.setdefault((address.index, address.ip.version), []).append(address)
    return [
        Place(group, tuple(these))
        for (_, version), these in found.items()
        for group in groups[version]
    ]


def _open(place: Place, ttl: int) -> socket.socket:
    """Return a socket that hears the group on the place's interface. Raises OSError."""
    is_v6 = ":" in place.group
    sock = socket.socket(socket.AF_INET6 if is_v6 else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setblocking(False)
        _share(sock)
        _only_on(sock, place.first.interface)
        (_join_v6 if is_v6 else _join_v4)(sock, place, ttl)
    except OSError:
        sock.close()
        raise
    return sock


def _share(sock: socket.socket) -> None:
    """Let other programs of this machine hear the same port: SSDP is for all of them."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if sys.platform != "linux":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)


def _only_on(sock: socket.socket, interface: str) -> None:
    """Hear nothing of other interfaces, where the operating system can do that."""
    if sys.platform == "linux":
        # Before Linux 5.7 only root may; then the membership below has to do.
        with contextlib.suppress(PermissionError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())


def _join_v4(sock: socket.socket, place: Place, ttl: int) -> None:
    group, own = socket.inet_aton(place.group), place.first.ip.packed
    # struct ip_mreqn; its last part, the interface, wins over the address.
    member = struct.pack("=4s4si", group, own, place.first.index)
    sock.bind((place.group, ssdp.PORT))
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, member)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, struct.pack("B", ttl))
    if sys.platform == "linux":
        sock.setsockopt(socket.IPPROTO_IP, _IP_MULTICAST_ALL, 0)


def _join_v6(sock: socket.socket, place: Place, ttl: int) -> None:
    index = place.first.index
    member = socket.inet_pton(socket.AF_INET6, place.group) + struct.pack("@I", index)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.bind((place.group, ssdp.PORT, 0, index))
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, member)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, ttl)
