"""Sessions: made by a login, found by token, ended by logout, idleness or age.

The table is in memory, and as rows in a store that keeps only the token's SHA-256; last use is in
memory only, so a restart renews every session once. Times in seconds. Whether the account still
exists is asked elsewhere, at every use.
"""

import asyncio
import contextlib
import hashlib
import logging
import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from redfish_fm.clocks import Clock
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.wakes import pause

log = logging.getLogger(__name__)

TIMEOUT_S = 1800.0
"""Idle time after which a session ends; SessionService.SessionTimeout shows it."""
ABSOLUTE_TIMEOUT_S = 86_400
"""Age at which a session ends whatever it does, once AbsoluteSessionTimeoutEnabled is true."""
SWEEP_S = 10.0
"""How often expired sessions are looked for; until then an expired row only takes up space."""
LIMIT = 64
"""Sessions open at once; a login beyond is answered 503."""


class SessionRow(Protocol):
    """A session as it is stored; store.base.SessionRow satisfies it."""

    @property
    def id(self) -> str:
        """Return the last segment of its URI."""
        ...

    @property
    def token_sha256(self) -> str:
        """Return the hex digest of its token."""
        ...

    @property
    def user_name(self) -> str:
        """Return whose session it is."""
        ...

    @property
    def created_s(self) -> float:
        """Return when it was made, in seconds since 1970."""
        ...

    @property
    def client(self) -> str:
        """Return the address it was made from."""
        ...


RowT = TypeVar("RowT", bound=SessionRow)


class SessionStore(Protocol[RowT]):
    """Where rows live between starts; store.base.Store satisfies it."""

    async def put_session(self, row: RowT) -> None:
        """Keep a session; durable when it returns."""
        ...

    async def delete_sessions(self, ids: Sequence[str]) -> None:
        """Forget sessions; unknown ids are ignored."""
        ...

    async def sessions(self) -> list[RowT]:
        """Return all stored sessions."""
        ...


@dataclass(slots=True)
class _Open(Generic[RowT]):
    row: RowT
    last_use_s: float
    ends_s: float = math.inf
    """When it ends whatever it does, on the clock of `last_use_s`."""


class Sessions(Generic[RowT]):
    """The table of open sessions. Use from one event loop.

    `make_row(id, token_sha256, user_name, created_s, client)` makes what the store keeps.
    """

    def __init__(
        self,
        store: SessionStore[RowT],
        make_row: Callable[[str, str, str, float, str], RowT],
        clock: Clock,
        *,
        timeout_s: float = TIMEOUT_S,
        limit: int = LIMIT,
        limit_per_user: int | None = None,
    ) -> None:
        self._store = store
        self._make_row = make_row
        self.clock = clock
        self.timeout_s = timeout_s
        self.absolute_s: int | None = None
        """Age at which sessions end; None: at none."""
        self.enabled = True
        """Whether sessions are opened and closed by clients (SessionService.ServiceEnabled)."""
        self._limit = limit
        self._limit_per_user = limit if limit_per_user is None else limit_per_user
        self._by_token: dict[str, _Open[RowT]] = {}
        self._by_id: dict[str, _Open[RowT]] = {}
        self._opening: list[str] = []
        self._ended: list[str] = []
        self._spared: set[str] = set()
        self._wake = asyncio.Event()
        self.version = 0
        """Grows with every session made or ended, so that what is rendered can be kept."""

    @property
    def open_count(self) -> int:
        """How many sessions there are, those included that are over and not yet swept."""
        return len(self._by_id)

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Follow what clients have set of SessionService; open sessions follow at once."""
        timeout_s = settings.get("SessionTimeout")
        if timeout_s is not None:
            self.timeout_s = float(timeout_s)
        self.enabled = settings.get("ServiceEnabled") is not False
        self.absolute_s = None
        if settings.get("AbsoluteSessionTimeoutEnabled") is True:
            self.absolute_s = int(settings.get("AbsoluteSessionTimeout", ABSOLUTE_TIMEOUT_S))
        for each in self._by_id.values():
            each.ends_s = self._end_of(each.row)
        self.version += 1

    async def load(self, vouched: Callable[[RowT], bool] | None = None) -> None:
        """Take over the stored sessions; call once, before the first request.

        Those that are not `vouched` for are ended: their account changed just before a crash.
        """
        now_s = self.clock.now_s()
        for row in await self._store.sessions():
            if vouched is None or vouched(row):
                self._keep(_Open(row, now_s, self._end_of(row)))
            else:
                self._ended.append(row.id)

    async def create(self, user_name: str, client: str) -> tuple[str, RowT]:
        """Open a session; return its token and its row, durable.

        Raises RedfishError (503 SessionLimitExceeded) when too many are open.
        """
        await self.sweep()
        users = [each.row.user_name for each in self._by_id.values()] + self._opening
        if len(users) >= self._limit or users.count(user_name) >= self._limit_per_user:
            raise RedfishError(503, (messages.session_limit_exceeded(),), {"Retry-After": "60"})
        token = secrets.token_hex(32)
        created_s = self.clock.wall_s()
        row = self._make_row(secrets.token_hex(8), _digest(token), user_name, created_s, client)
        self._opening.append(user_name)
        try:
            await self._store.put_session(row)
        finally:
            self._opening.remove(user_name)
        self._keep(_Open(row, self.clock.now_s(), self._end_of(row)))
        return token, row

    def authenticate(self, token: str) -> RowT | None:
        """Return the session of `token` and renew it, or None where it is unknown or expired."""
        found = self._by_token.get(_digest(token))
        if found is None:
            return None
        now_s = self.clock.now_s()
        if self._expired(found, now_s):
            return None
        found.last_use_s = now_s
        return found.row

    def get(self, session_id: str) -> RowT | None:
        """Return an open session without renewing it, or None."""
        found = self._by_id.get(session_id)
        if found is None or self._expired(found, self.clock.now_s()):
            return None
        return found.row

    def open_sessions(self) -> list[RowT]:
        """Return all open sessions, oldest first."""
        now_s = self.clock.now_s()
        rows = [each.row for each in self._by_id.values() if not self._expired(each, now_s)]
        return sorted(rows, key=lambda row: (row.created_s, row.id))

    async def delete(self, session_id: str) -> None:
        """End a session at once; durable when it returns. An unknown id is ignored.

        Raises RedfishError (503, 507) where the store fails; the sweep tries again, for the session
        is over whatever happens.
        """
        self._end([session_id])
        await self.sweep()

    @contextlib.contextmanager
    def sparing(self, session_id: str | None) -> Iterator[None]:
        """Except one session from `end_all_of` meanwhile: its user is changing the own password."""
        spared = set() if session_id is None else {session_id} - self._spared
        self._spared |= spared
        try:
            yield
        finally:
            self._spared -= spared

    def end_all_of(self, user_name: str) -> None:
        """End every session of a user at once; their rows go with the next `sweep`."""
        found = [
            key
            for key, each in self._by_id.items()
            if each.row.user_name == user_name and key not in self._spared
        ]
        self._end(found)
        if found:
            self._wake.set()

    async def end_all(self) -> None:
        """End every session at once. A store that fails now is tried again by the sweep."""
        self._end([*self._by_id])
        with contextlib.suppress(RedfishError):
            await self.sweep()

    async def sweep(self) -> None:
        """Forget expired sessions, and drop the rows of all that ended. Cheap where none has.

        Raises RedfishError (503, 507) where the store fails; the rows are tried again next time.
        """
        now_s = self.clock.now_s()
        self._end([key for key, each in self._by_id.items() if self._expired(each, now_s)])
        ended = tuple(self._ended)
        if ended:
            await self._store.delete_sessions(ended)
            self._ended = [each for each in self._ended if each not in ended]

    async def run(self) -> None:
        """Sweep every SWEEP_S, and at once when a user's sessions were ended, until cancelled."""
        while True:
            try:
                await self.sweep()
            except RedfishError as error:
                log.warning("the rows of ended sessions stay for now: %s", error)
            await pause(self.clock, self._wake, SWEEP_S)

    def _end(self, ids: list[str]) -> None:
        for session_id in ids:
            self._forget(session_id)
        self._ended += ids

    def _expired(self, found: _Open[RowT], now_s: float) -> bool:
        return now_s - found.last_use_s > self.timeout_s or now_s >= found.ends_s

    def _end_of(self, row: RowT) -> float:
        """Return when a session has its age, on the monotonic clock; rows keep wall time."""
        if self.absolute_s is None:
            return math.inf
        age_s = self.clock.wall_s() - row.created_s
        return self.clock.now_s() + self.absolute_s - age_s

    def _keep(self, found: _Open[RowT]) -> None:
        self._by_token[found.row.token_sha256] = found
        self._by_id[found.row.id] = found
        self.version += 1

    def _forget(self, session_id: str) -> None:
        found = self._by_id.pop(session_id, None)
        if found is not None:
            del self._by_token[found.row.token_sha256]
            self.version += 1


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
