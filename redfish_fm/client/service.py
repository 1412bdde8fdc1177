"""One Redfish service over HTTP: login, and GETs that wait when the service asks for it.

A GET changes nothing, so it is repeated where no answer came. Redirects are followed inside the
service only: credentials go to nobody else.
"""

import asyncio
import contextlib
import datetime
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from redfish_fm.client.links import ROOT
from redfish_fm.client.pace import Pace
from redfish_fm.errors import FmError

BODY_BYTES_MAX = 64 << 20
"""More than any resource; a service that sends more is not waited for."""
_ANSWER_S = 60.0
_REDIRECTS = frozenset({301, 302, 307, 308})
_REDIRECTS_MAX = 5
_LATER = frozenset({429, 502, 503, 504})
"""Statuses that mean "not now": the request is repeated after a wait."""
_PORTS = {"http": 80, "https": 443}


class ServiceError(FmError):
    """The service can not be used, or gave no usable answer; one line for people."""


@dataclass(frozen=True, slots=True)
class Login:
    """Who is asking. The password never shows in a repr. `basic`: with every request instead."""

    user: str
    password: str = field(repr=False)
    basic: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """One response, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Service:
    """A service that is asked politely: `parallel` requests at most, none while it wants peace.

    `origin` is its scheme, host and port; `waits` counts how often it asked to be left alone, or
    did not answer.
    """

    def __init__(self, session: aiohttp.ClientSession, origin: str, pace: Pace) -> None:
        self.origin = origin
        self.waits = 0
        self._session = session
        self._pace = pace
        self._quiet_until = 0.0
        self._answered = False
        self._login: Login | None = None
        self._logging_in = asyncio.Lock()
        self._token = ""
        self._sessions_uri = ""
        self._session_uri = ""

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(
        cls, url: str, tls: ssl.SSLContext | None, parallel: int, pace: Pace | None = None
    ) -> AsyncIterator[Self]:
        """Give the service at `url`, whose path does not count. A session of ours ends with it.

        `tls` None: http, or https with the certificates this machine trusts. Raises ServiceError
        where `url` is none.
        """
        connector = aiohttp.TCPConnector(limit=parallel, ssl=tls if tls is not None else True)
        async with aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=_ANSWER_S),
            headers={"Accept": "application/json, application/xml", "OData-Version": "4.0"},
        ) as session:
            service = cls(session, origin_of(url), pace or Pace())
            try:
                yield service
            finally:
                await service.log_out()

    async def log_in(self, login: Login, sessions_uri: str) -> None:
        """Log in by a session at `sessions_uri`, or keep a Basic login for every request.

        Raises ServiceError where the service refuses.
        """
        self._login = login
        if login.basic:
            basic = aiohttp.encode_basic_auth(login.user, login.password)
            self._session.headers["Authorization"] = basic
            return
        body = {"UserName": login.user, "Password": login.password}
        try:
            async with self._session.post(
                self._url(sessions_uri), json=body, allow_redirects=False
            ) as response:
                await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ServiceError(f"no answer to the login: {_reason(error)}") from error
        token = response.headers.get("X-Auth-Token")
        if response.status not in (200, 201, 204) or not token:
            raise ServiceError(f"the login was refused: {response.status} {response.reason}")
        self._token = token
        self._session_uri = urlsplit(response.headers.get("Location", "")).path
        self._sessions_uri = sessions_uri

    async def log_out(self) -> None:
        """End the session that log_in() made, where there is one; silence is no error."""
        if not self._session_uri.startswith(ROOT):
            return
        uri, self._session_uri = self._session_uri, ""
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            async with self._session.delete(
                self._url(uri), headers={"X-Auth-Token": self._token}, allow_redirects=False
            ):
                pass

    async def get(self, uri: str) -> Answer:
        """Return the answer to a GET, whatever its status. Raises ServiceError where none came."""
        for attempt in range(1, self._pace.tries + 1):
            await self._peace()
            token = self._token
            try:
                answer = await self._get_once(uri)
            except (aiohttp.ClientError, TimeoutError) as error:
                problem = _reason(error)
                if not self._answered or attempt == self._pace.tries:
                    raise ServiceError(problem) from error
                self._want_peace(attempt, None)
                continue
            self._answered = True
            if answer.status == 401 and token and attempt == 1:
                await self._log_in_again(token)
            elif answer.status not in _LATER or attempt == self._pace.tries:
                return answer
            else:
                self._want_peace(attempt, answer.headers.get("Retry-After"))
        raise ServiceError("the session ends all the time")

    async def _get_once(self, uri: str) -> Answer:
        headers = {"X-Auth-Token": self._token} if self._token else {}
        for _ in range(_REDIRECTS_MAX):
            async with self._session.get(
                self._url(uri), headers=headers, allow_redirects=False
            ) as response:
                body = await _whole(response)
            if response.status not in _REDIRECTS:
                return Answer(response.status, dict(response.headers), body)
            uri = self._inside(response.headers.get("Location", ""))
        raise ServiceError(f"more than {_REDIRECTS_MAX} redirects")

    def _url(self, uri: str) -> URL:
        # Encoded: what the service wrote is sent back as it is, to the letter.
        return URL(f"{self.origin}{uri}", encoded=True)

    def _inside(self, location: str) -> str:
        uri = location.removeprefix(self.origin)
        if not uri.startswith("/") or uri.startswith("//"):
            raise ServiceError("a redirect out of the service, which is not followed")
        return uri

    async def _log_in_again(self, stale: str) -> None:
        """Make a new session; once for all requests that were refused with the same token."""
        async with self._logging_in:
            if self._token == stale and self._login is not None:
                await self.log_in(self._login, self._sessions_uri)

    def _want_peace(self, attempt: int, retry_after: str | None) -> None:
        """Keep back all requests: a service with too much to do has it from all of them."""
        self.waits += 1
        wait_s = self._pace.wait_s(attempt, retry_after, datetime.datetime.now(datetime.UTC))
        self._quiet_until = max(self._quiet_until, asyncio.get_running_loop().time() + wait_s)

    async def _peace(self) -> None:
        left_s = self._quiet_until - asyncio.get_running_loop().time()
        if left_s > 0:
            await asyncio.sleep(left_s)
            await self._peace()  # another request may have been told to wait for longer meanwhile


def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL. Raises ServiceError where it is none for us."""
    try:
        at = urlsplit(url)
        port = at.port
    except ValueError as error:
        raise ServiceError(f"{url!r} is no URL: {error}") from error
    if at.scheme not in _PORTS or not at.hostname:
        raise ServiceError(f"{url!r} is no URL such as https://bmc.example:8443")
    if at.username is not None or at.password is not None:
        raise ServiceError("a URL with a login in it would show it to everybody on this machine")
    host = f"[{at.hostname}]" if ":" in at.hostname else at.hostname
    shown = "" if port in (None, _PORTS[at.scheme]) else f":{port}"
    return f"{at.scheme}://{host}{shown}"


async def _whole(response: aiohttp.ClientResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_chunked(1 << 16):
        size += len(part)
        if size > BODY_BYTES_MAX:
            raise ServiceError(f"an answer of more than {BODY_BYTES_MAX >> 20} MiB")
        parts.append(part)
    return b"".join(parts)


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {_ANSWER_S:g} s"
    return " ".join(str(error).split()) or type(error).__name__
