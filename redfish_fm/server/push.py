"""Events to where clients want them: one POST each, to judged addresses only.

The one place that dials out on behalf of a subscription. Before every connection the name is
resolved and each of its addresses judged (server.outgoing), and the connection goes to the very
address that was judged: who answers for the name can not lead elsewhere. A redirect is no delivery.
Any 2xx is one; what the receiver says besides is thrown away, and no more of it read than a little.
"""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from redfish_fm.control.delivery import TOO_LONG, Parcel
from redfish_fm.errors import FmError
from redfish_fm.server.outgoing import (
    Destinations,
    Pinned,
    Refused,
    Resolve,
    destination,
    wanted,
)

CONNECT_S = 10.0
TOTAL_S = 30.0
"""Until the answer's status: receivers in labs do their work before they answer."""
DRAIN_S = 1.0
DRAIN_BYTES_MAX = 64 * 1024
"""Of an answer's body, which nobody reads: more than that costs the connection instead."""
KEEP_S = 15.0
"""How long a connection is kept for the next event."""
LINE_BYTES_MAX = 8190
JUDGED_MAX = 1024
"""URLs whose form was judged and is remembered; names are resolved for each connection."""

_LOCAL_NAMES = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")


class AuthoritiesUnreadable(FmError):
    """The file of trusted authorities can not be used. One clear line for a human."""


class Push:
    """Delivers parcels. Made in the running loop; `close` it when nothing is sent any more.

    `allowed` is where to; `authorities` is a PEM file of those trusted besides the system's;
    `verify_all`: certificates are verified whatever a subscription says.
    """

    def __init__(
        self,
        allowed: Destinations,
        *,
        authorities: Path | None = None,
        verify_all: bool = False,
        resolve: Resolve | None = None,
        total_s: float = TOTAL_S,
    ) -> None:
        self._allowed = allowed
        self._verify_all = verify_all
        # The system's authorities are many, and most services never ask for them.
        self._verifying = None if authorities is None else _context(authorities)
        self._trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._trusting.check_hostname = False
        self._trusting.verify_mode = ssl.CERT_NONE
        self._timeout = aiohttp.ClientTimeout(total=total_s, connect=min(CONNECT_S, total_s))
        self._guard = _Guard(allowed, resolve)
        self._session: aiohttp.ClientSession | None = None
        self._judged: dict[str, str | None] = {}

    def refuses(self, url: str) -> str | None:
        """Return why nothing is ever sent to `url`, as far as that can be told without asking."""
        if url not in self._judged:
            if len(self._judged) >= JUDGED_MAX:
                self._judged.clear()
            self._judged[url] = self._judge(url)
        return self._judged[url]

    def _judge(self, url: str) -> str | None:
        asked = wanted(url)
        if isinstance(asked, Refused):
            return asked.reason
        if asked.address is not None:
            return self._allowed.refuses(asked.address)
        host = asked.host.rstrip(".").lower()
        if host in _LOCAL_NAMES or host.endswith(".localhost"):
            return self._refuses_loopback(host)
        return None

    async def send(self, parcel: Parcel) -> str | None:
        """Deliver a parcel; return None once it was taken, else why not, for people."""
        reason = self.refuses(parcel.url)
        if reason is not None:
            return reason
        try:
            try:
                return await self._post(parcel)
            except aiohttp.ServerDisconnectedError:
                # Most likely it closed a connection that was kept, just as we wrote.
                return await self._post(parcel)
        except _NotAllowed as error:
            return str(error)
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            return _words(error)

    async def close(self) -> None:
        """Close what is kept open."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _post(self, parcel: Parcel) -> str | None:
        request = self._opened().post(
            parcel.url,
            data=parcel.body,
            headers=_headers(parcel.headers),
            allow_redirects=False,
            ssl=self._tls(parcel.verify or self._verify_all),
        )
        async with request as response:
            if not 200 <= response.status < 300:
                response.close()
                if response.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
                    return TOO_LONG
                return f"the answer was {_status(response.status)}"
            await _drain(response)
            return None

    def _tls(self, verify: bool) -> ssl.SSLContext:
        if not verify:
            return self._trusting
        if self._verifying is None:
            self._verifying = _context(None)
        return self._verifying

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                resolver=self._guard,
                use_dns_cache=False,
                limit=0,
                keepalive_timeout=KEEP_S,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=self._timeout,
                auto_decompress=False,
                trust_env=False,
                max_line_size=LINE_BYTES_MAX,
                max_field_size=LINE_BYTES_MAX,
            )
        return self._session

    def _refuses_loopback(self, host: str) -> str | None:
        """Say of a name that can only be this machine what is said of its addresses."""
        for address in ("127.0.0.1", "[::1]"):
            asked = wanted(f"http://{address}/")
            if isinstance(asked, Refused) or asked.address is None:
                continue
            if self._allowed.refuses(asked.address) is None:
                return None
        return f"{host} is this machine"


class _NotAllowed(OSError):
    """A name leads to an address that is not allowed."""


class _Guard(AbstractResolver):
    """What aiohttp asks before each new connection: resolves, judges, and gives what was judged."""

    def __init__(self, allowed: Destinations, resolve: Resolve | None) -> None:
        self._allowed = allowed
        self._resolve = resolve

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the judged addresses of a name. Raises OSError where one is refused."""
        found = await destination(f"https://{host}:{port}/", self._allowed, self._resolve)
        if isinstance(found, Refused):
            raise _NotAllowed(found.reason)
        return await Pinned(found).resolve(host, port, family)

    async def close(self) -> None:
        """Nothing is open."""


def _context(authorities: Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if authorities is not None:
        try:
            context.load_verify_locations(authorities)
        except (OSError, ssl.SSLError) as error:
            raise AuthoritiesUnreadable(
                f"{authorities} has no certificates of authorities that can be read: {error}"
            ) from error
    return context


def _headers(own: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a delivery: what we say of it wins."""
    return {
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "User-Agent": "redfish-fm",
        "OData-Version": "4.0",
        **own,
        "Content-Type": "application/json",
    }


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Read what little there is, so that the connection can be used again; else close it."""
    try:
        async with asyncio.timeout(DRAIN_S):
            rest = await response.content.read(DRAIN_BYTES_MAX)
            while rest and not response.content.at_eof():
                more = await response.content.read(DRAIN_BYTES_MAX - len(rest))
                rest += more
                if not more or len(rest) >= DRAIN_BYTES_MAX:
                    break
    except (aiohttp.ClientError, OSError, TimeoutError):
        # It was taken: the status said so.
        response.close()
        return
    if not response.content.at_eof():
        response.close()


def _status(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _words(error: BaseException) -> str:
    """Return what went wrong in words of ours: no text of the receiver or the system."""
    for cause in _causes(error):
        if isinstance(cause, _NotAllowed):
            return str(cause)
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "its certificate is not trusted"
    match error:
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return "TLS failed"
        case TimeoutError():
            return "no answer in time"
        case aiohttp.ClientConnectorDNSError():
            return "its name can not be resolved"
        case aiohttp.ClientConnectorError() if isinstance(error.os_error, ConnectionRefusedError):
            return "the connection was refused"
        case aiohttp.ClientConnectorError():
            return "it can not be connected to"
        case aiohttp.ServerDisconnectedError() | ConnectionError():
            return "the connection was closed without an answer"
        case aiohttp.ClientResponseError() | ValueError():
            return "the answer is not HTTP"
        case _:
            return "the connection failed"


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in found:
        found.append(each)
        inner = getattr(each, "certificate_error", None) or getattr(each, "os_error", None)
        each = inner if isinstance(inner, BaseException) else (each.__cause__ or each.__context__)
    return found
