"""Where the service itself may connect to: the one guard before everything that dials out.

A client names the URL (an event destination, another service); the service stands where that
client does not, next to loopback services and a cloud's metadata. So: look at the URL (`wanted`),
resolve its name, judge every address it stands for (`Destinations.refuses`), and connect to the
very address that was judged, never to the name again (`Pinned`). A redirect is a new URL: nobody
who dials follows one by itself, and `redirected` gives what has to be judged anew.

Refusals are values: `Refused` says why, in a line for the client and the log.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network

RESOLVE_TIMEOUT_S = 5.0
"""How long a name may take to resolve; the resolver of the system may try for half a minute."""

_PORTS = {"https": 443, "http": 80}
_NAME = re.compile(r"(?=.{1,254}\Z)[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?"
                   r"(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?")  # fmt: skip
_NUMERIC_END = re.compile(r"(\d+|0[xX][0-9A-Fa-f]*)\.?\Z")
"""The last label of a name that resolvers take for an IPv4 address: 2130706433, 0x7f.1, 0177.1."""

_METADATA = tuple(
    ipaddress.ip_network(each)
    for each in (
        "100.100.100.200/32",  # Alibaba Cloud
        "168.63.129.16/32",  # Azure
        "192.0.0.192/32",  # Oracle Cloud
        "fd00:ec2::254/128",  # AWS
        "fd20:ce::254/128",  # Google Cloud
    )
)
"""Metadata services beyond 169.254.0.0/16, which is link-local as a whole."""

_THIS_HOST = ipaddress.ip_network("0.0.0.0/8")
_TEREDO = ipaddress.ip_network("2001::/32")
_IN_LAST_BITS = tuple(
    ipaddress.ip_network(each)
    for each in (
        "::/96",  # IPv4-compatible, RFC 4291
        "::ffff:0:0:0/96",  # translated, RFC 2765
        "64:ff9b::/96",  # NAT64, RFC 6052
        "64:ff9b:1::/48",  # NAT64 of a network's own, RFC 8215; /96 below it is the usual form
    )
)
_ISATAP = frozenset({0x5EFE, 0x0200_5EFE})


@dataclass(frozen=True, slots=True)
class Refused:
    """Why there is no connection."""

    reason: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a URL asks for. `host` has no brackets; `address` is set where it is one already."""

    url: str
    scheme: str
    host: str
    port: int
    address: IpAddress | None = None


@dataclass(frozen=True, slots=True)
class Destination:
    """Where to connect: to one of `addresses`, as `wanted.host` (TLS name and Host header)."""

    wanted: Wanted
    addresses: tuple[IpAddress, ...]


Resolve = Callable[[str, int], Awaitable[list[str]]]
"""Gives the addresses of a name. Raises OSError."""


# -- what may be connected to ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Destinations:
    """The networks that may be connected to; none named: all but the machine's own surroundings.

    What is named is allowed whatever it is, except what is no single host (multicast, broadcast,
    unspecified).
    """

    networks: tuple[IpNetwork, ...] = ()

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Destinations":
        """Read networks as the configuration has them. Raises ValueError."""
        return cls(tuple(ipaddress.ip_network(each) for each in texts))

    def refuses(self, address: IpAddress) -> str | None:
        """Return why nothing connects to `address`, or None where it may."""
        for each in stands_for(address):
            if each.is_multicast or each.is_unspecified or each in _THIS_HOST or _broadcasts(each):
                return f"{address} is no address of a single host"
            if self.networks:
                if not any(each in network for network in self.networks):
                    return f"{address} is in none of the allowed networks"
            elif (surroundings := _surroundings(each)) is not None:
                return f"{address} is {surroundings}"
        return None


def stands_for(address: IpAddress) -> Iterator[IpAddress]:
    """Yield every address a packet to `address` may end at: itself, and an IPv4 one inside it.

    An IPv4-mapped one is that IPv4 address and nothing else: the system dials IPv4.
    """
    if isinstance(address, ipaddress.IPv4Address):
        yield address
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
        return
    yield address
    if address.sixtofour is not None:
        yield address.sixtofour
    if address in _TEREDO and address.teredo is not None:
        yield from address.teredo
    number = int(address)
    if any(address in network for network in _IN_LAST_BITS) and number > 1:
        yield ipaddress.IPv4Address(number & 0xFFFF_FFFF)
    if (number >> 32) & 0xFFFF_FFFF in _ISATAP:
        yield ipaddress.IPv4Address(number & 0xFFFF_FFFF)


def _broadcasts(address: IpAddress) -> bool:
    return address == ipaddress.IPv4Address("255.255.255.255")


def _surroundings(address: IpAddress) -> str | None:
    """Return what makes an address one of the machine's own surroundings, or None."""
    if address.is_loopback:
        return "a loopback address"
    if address.is_link_local or (address.version == 6 and address.is_site_local):
        return "a link-local address"
    if any(address in network for network in _METADATA):
        return "an address of a metadata service"
    return None


# -- what a URL asks for -----------------------------------------------------------------------


def wanted(url: str) -> Wanted | Refused:
    """Return what `url` asks for, as far as it says so in one way only."""
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return Refused("the URL has characters that a URL has not")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return Refused("the URL can not be read")
    scheme = parts.scheme
    if scheme not in _PORTS:
        return Refused("the URL is neither https nor http")
    if "@" in parts.netloc:
        return Refused("the URL has credentials in it")
    if port == 0:
        return Refused("the URL has no port that can be connected to")
    host = parts.hostname or ""
    address = _address(host)
    if address is None and ("[" in parts.netloc or not _is_name(host)):
        return Refused("the URL has no host name and no address in its usual form")
    return Wanted(url, scheme, host, port or _PORTS[scheme], address)


def redirected(current: Wanted, location: str) -> Wanted | Refused:
    """Return what a redirect asks for, still to be judged. Nobody is led from https to http."""
    try:
        found = wanted(urljoin(current.url, location))
    except ValueError:
        return Refused("the redirect leads to a URL that can not be read")
    if isinstance(found, Wanted) and current.scheme == "https" and found.scheme != "https":
        return Refused("the redirect leads from https to http")
    return found


def _is_name(host: str) -> bool:
    return _NAME.fullmatch(host) is not None and _NUMERIC_END.search(host) is None


def _address(host: str) -> IpAddress | None:
    try:
        # A zone would choose the interface: no client's business.
        return None if "%" in host else ipaddress.ip_address(host)
    except ValueError:
        return None


# -- resolving ---------------------------------------------------------------------------------


async def destination(
    url: str | Wanted,
    allowed: Destinations,
    resolve: Resolve | None = None,
    timeout_s: float = RESOLVE_TIMEOUT_S,
) -> Destination | Refused:
    """Return where to connect to for `url`. One address that is refused refuses them all.

    Whoever answers for the name could give the allowed address now and the other one next time.
    """
    asked = wanted(url) if isinstance(url, str) else url
    if isinstance(asked, Refused):
        return asked
    if asked.address is not None:
        addresses = [asked.address]
    else:
        try:
            async with asyncio.timeout(timeout_s):
                texts = await (resolve or system_resolve)(asked.host, asked.port)
        except (OSError, UnicodeError):
            return Refused(f"{asked.host} can not be resolved")
        addresses = [ipaddress.ip_address(text) for text in dict.fromkeys(texts)]
    for address in addresses:
        reason = allowed.refuses(address)
        if reason is not None:
            return Refused(reason)
    if not addresses:
        return Refused(f"{asked.host} has no address")
    return Destination(asked, tuple(addresses))


async def system_resolve(host: str, port: int) -> list[str]:
    """Ask the system for the addresses of a name. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for _, _, _, _, address in found]


class Pinned(AbstractResolver):
    """What aiohttp's TCPConnector asks: knows one destination, and no other name."""

    def __init__(self, pinned: Destination) -> None:
        self._pinned = pinned

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the judged addresses. Raises OSError for any other host."""
        if host.lower() != self._pinned.wanted.host.lower():
            raise OSError(f"{host} was not judged")
        return [_resolved(host, port, address) for address in self._pinned.addresses]

    async def close(self) -> None:
        """Nothing is open."""


def _resolved(host: str, port: int, address: IpAddress) -> ResolveResult:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    return ResolveResult(
        hostname=host,
        host=str(address),
        port=port,
        family=family,
        proto=socket.IPPROTO_TCP,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )
