"""Which accounts are locked because of failed logins, and until when.

Counts are in memory only. A lock is shown and durable as ManagerAccount.Locked, which `keep`
writes; when it began is in memory, so a restart begins its time anew. It lapses by itself, and an
administrator lifts it with PATCH Locked false.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from redfish_fm.clocks import Clock
from redfish_fm.redfish.accounts import Account, Accounts
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.policy import DEFAULT
from redfish_fm.redfish.wakes import pause

log = logging.getLogger(__name__)

LOOK_S = 5.0
"""How often locks are looked at while there are any: for lapsed ones, and after a failed write."""

KeepLock = Callable[[str, bool], Awaitable[None]]
"""Make Locked of the account at a URI durable. Raises RedfishError where that fails."""


@dataclass(slots=True)
class _Tries:
    """Failed logins of one account: those that count towards a lock, and all of them."""

    counted: int = 0
    total: int = 0
    last_s: float = 0.0


@dataclass(slots=True)
class _Lock:
    """`last`: of the last administrator who could log in. `shown`: its document has said so."""

    since_s: float
    last: bool
    shown: bool = False


class Locks:
    """Locks of all accounts. Use from one event loop; `follow` every change of an account."""

    def __init__(self, accounts: Accounts, clock: Clock, keep: KeepLock | None = None) -> None:
        self._accounts = accounts
        self._clock = clock
        self._keep = keep
        self._tries: dict[str, _Tries] = {}
        self.held: dict[str, _Lock] = {}
        """The locks there are, by account; those that have lapsed a moment ago included."""
        self._wake = asyncio.Event()

    def bars(self, account: Account) -> bool:
        """Return whether nobody may log in as this account now."""
        lock = self.held.get(account.uri)
        return lock is not None and not self._lapsed(lock)

    def bars_sessions(self, account: Account) -> bool:
        """Return whether the open sessions of this account are refused now.

        Not those of the last administrator: else whoever can reach the login could keep the one
        person out who can do something about it.
        """
        lock = self.held.get(account.uri)
        return lock is not None and not lock.last and not self._lapsed(lock)

    def failed(self, account: Account) -> bool:
        """Count a failed login; lock the account at the threshold. Return whether to log it."""
        policy, now_s = self._accounts.policy, self._clock.now_s()
        tries = self._tries.setdefault(account.uri, _Tries())
        tries.total += 1
        if not self.bars(account):
            aged = policy.counter_resets and now_s - tries.last_s > policy.counter_reset_s
            tries.counted = 1 if aged else tries.counted + 1
            tries.last_s = now_s
            if policy.locks and tries.counted >= policy.lockout_threshold:
                tries.counted = 0
                self._lock(account)
        return policy.failure_logging > 0 and tries.total % policy.failure_logging == 0

    def succeeded(self, account: Account) -> None:
        """Forget the failures that count towards a lock: somebody knew the password."""
        tries = self._tries.get(account.uri)
        if tries is not None:
            tries.counted = 0

    def follow(self) -> None:
        """Take over what accounts say now: locks found, locks lifted, accounts deleted."""
        for uri in [uri for uri in self._tries if self._accounts.at(uri) is None]:
            del self._tries[uri]
        for uri, lock in [*self.held.items()]:
            account = self._accounts.at(uri)
            if account is None:
                del self.held[uri]
            elif lock.shown and not account.locked:
                # Lifted by an administrator, or written down as lapsed.
                del self.held[uri]
                self._tries.pop(uri, None)
        for account in self._accounts.all():
            if account.locked:
                if account.uri not in self.held:
                    self._lock(account)
                self.held[account.uri].shown = True

    async def run(self) -> None:
        """Write down locks as they come and lapse, until cancelled."""
        while True:
            self._wake.clear()
            try:
                await self._write_down()
            except RedfishError as error:
                log.warning("a lock could not be written down and is tried again: %s", error)
            if self.held:
                await pause(self._clock, self._wake, LOOK_S)
            else:
                await self._wake.wait()

    async def _write_down(self) -> None:
        if self._keep is None:
            return
        for uri, lock in [*self.held.items()]:
            account = self._accounts.at(uri)
            if account is None or self.held.get(uri) is not lock:
                continue
            lapsed = self._lapsed(lock)
            if lapsed and not lock.shown:
                # It was never written down, so there is nothing to take back.
                del self.held[uri]
            elif lapsed or not lock.shown:
                await self._keep(uri, not lapsed)
                lock.shown = not lapsed
                if lapsed and self.held.get(uri) is lock:
                    del self.held[uri]

    def _lock(self, account: Account) -> None:
        last = self._accounts.last_administrator(account, self._barred)
        self.held[account.uri] = _Lock(self._clock.now_s(), last)
        self._wake.set()

    def _barred(self, account: Account) -> bool:
        return self.bars(account) if account.uri in self.held else account.locked

    def _lapsed(self, lock: _Lock) -> bool:
        policy = self._accounts.policy
        lasts_s = policy.lockout_s
        if not policy.counter_resets:
            if not lock.last:
                return False
            # Somebody has to be left who can lift the others' locks.
            lasts_s = lasts_s or DEFAULT.lockout_s
        return self._clock.now_s() - lock.since_s >= lasts_s
