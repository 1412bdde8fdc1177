"""Whether a user name and password open the door: the one place where passwords are tried.

Puts together who has the password (accounts), who is locked out (locks) and who has failed too
often (throttle). Whatever is wrong, the answer and the work behind it are the same.
"""

import math
from collections import Counter

from redfish_fm.clocks import Clock
from redfish_fm.redfish import messages
from redfish_fm.redfish.accounts import Account, Accounts
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.locks import Locks
from redfish_fm.redfish.policy import BasicAuth
from redfish_fm.redfish.throttle import Throttle, network_of

FAILURES_AT_ONCE, FAILURE_EVERY_S = 30, 2.0
"""Wrong passwords one peer may try at once, and how often after that.

Thirty cost a second of hashing; one in two seconds is 3 % of what two hashes at once can do.
"""

WAITING_MAX = 256
"""Passwords that may wait to be hashed, nine seconds of work; whoever comes later is told so."""

WAITING_OF_PEER_MAX = 64
"""As many of them may be from one peer, so that it takes several to fill the queue."""

_CHALLENGE = {"WWW-Authenticate": 'Basic realm="Redfish"'}


class LoginRefused(RedfishError):
    """401: these credentials are not accepted. Never tells which part of them was wrong.

    `user_name` is the account that was meant, where it exists; `logged` whether its failure is
    one that AuthFailureLoggingThreshold lets into the audit log.
    """

    def __init__(
        self, headers: dict[str, str], user_name: str | None = None, *, logged: bool = True
    ) -> None:
        super().__init__(401, (messages.access_unauthorized(),), headers)
        self.user_name = user_name
        self.logged = logged


class Credentials:
    """Tries user names and passwords. Use from one event loop."""

    def __init__(self, accounts: Accounts, locks: Locks, clock: Clock) -> None:
        self._accounts = accounts
        self._locks = locks
        self._throttle = Throttle(clock, burst=FAILURES_AT_ONCE, refill_s=FAILURE_EVERY_S)
        self._waiting: Counter[str] = Counter()

    @property
    def challenge(self) -> dict[str, str]:
        """The headers of a 401: an offer of HTTP Basic, unless it is off or not advertised."""
        enabled = self._accounts.policy.basic is BasicAuth.ENABLED
        return dict(_CHALLENGE) if enabled else {}

    async def admit(self, user_name: str, password: str, peer: str) -> Account:
        """Return the account these credentials open.

        Raises LoginRefused (401) where they open none, RedfishError (503) where `peer` has failed
        too often of late to be heard, or too many others wait.
        """
        network = network_of(peer)
        self._waiting[network] += 1
        try:
            verified = await self._accounts.verify(
                user_name,
                password,
                by=network,
                bars=self._locks.bars,
                queued=lambda: self._refuse_crowd(peer, network),
                admitted=lambda: self._refuse_throttled(peer),
            )
        finally:
            self._waiting[network] -= 1
            if not self._waiting[network]:
                del self._waiting[network]
        if verified.account is not None:
            if not verified.remembered:
                # A client that sends its password every second must not wash failures away.
                self._locks.succeeded(verified.account)
            return verified.account
        self._throttle.charge(peer)
        raise self._refused(user_name)

    def unreadable(self) -> LoginRefused:
        """Return the refusal of credentials that name nobody."""
        return LoginRefused(self.challenge, logged=self._accounts.policy.failure_logging > 0)

    def _refuse_crowd(self, peer: str, network: str) -> None:
        """Refuse who would only take others' place in the queue: its turn would be in vain."""
        self._refuse_throttled(peer)
        crowd = self._waiting.total() > WAITING_MAX
        if crowd or self._waiting[network] > WAITING_OF_PEER_MAX:
            raise _later(FAILURE_EVERY_S)

    def _refuse_throttled(self, peer: str) -> None:
        wait_s = self._throttle.wait_s(peer)
        if wait_s > 0:
            raise _later(wait_s)

    def _refused(self, user_name: str) -> LoginRefused:
        account = self._accounts.find(user_name)
        if account is None:
            return self.unreadable()
        logged = self._locks.failed(account)
        return LoginRefused(self.challenge, account.user_name, logged=logged)


def _later(wait_s: float) -> RedfishError:
    text = str(math.ceil(wait_s))
    told = messages.service_temporarily_unavailable(text)
    return RedfishError(503, (told,), {"Retry-After": text})
