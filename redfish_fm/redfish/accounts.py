"""Who may log in: accounts by user name, and whether a password is theirs.

Documents and secrets come from control, which tells every change (`apply`). Hashing runs in
worker threads, a few at a time; credentials once verified are remembered (redfish.remembered).
"""

import asyncio
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.passwords import hash_password, nobodys_secret, set_s, verify_password
from redfish_fm.redfish.policy import DEFAULT, AccountPolicy
from redfish_fm.redfish.remembered import Remembered
from redfish_fm.redfish.roles import ADMINISTRATOR
from redfish_fm.redfish.turns import Turns

ACCOUNTS = "/redfish/v1/AccountService/Accounts"
"""The collection of accounts that can log in; ManagerAccounts elsewhere (imports) can not."""

_HASHES_AT_ONCE = 2
"""Each takes 16 MiB and a core for 70 ms; more would let a stranger starve the service."""


@dataclass(frozen=True, slots=True)
class Account:
    """What a login needs of a ManagerAccount. `secret` None: no password is set."""

    uri: str
    user_name: str
    role_id: str
    enabled: bool = True
    locked: bool = False
    password_change_required: bool = False
    secret: bytes | None = None

    @property
    def usable(self) -> bool:
        """Return whether anybody may be logged in as this account."""
        return self.enabled and not self.locked


@dataclass(frozen=True, slots=True)
class Verified:
    """What a try of a password came to. `account` None: it opens none.

    `remembered`: it was verified before, so nothing was hashed.
    """

    account: Account | None
    remembered: bool = False


_REFUSED = Verified(None)
_SPACES = (Space.SECRET, Space.DOCUMENT)
_BELOW = f"{ACCOUNTS}/"


class Accounts:
    """All accounts. Use from one event loop."""

    def __init__(self) -> None:
        self._accounts: dict[str, Account] = {}
        self._secrets: dict[str, bytes] = {}
        self._by_name: dict[str, Account] = {}
        self._verified = Remembered()
        self._key = secrets.token_bytes(32)
        self._nobody = nobodys_secret()
        self._hashing = Turns(_HASHES_AT_ONCE)
        self.policy: AccountPolicy = DEFAULT
        """What AccountService demands now."""
        self.version = 0
        """Grows with every change of an account or its secret."""

    def load(self, spaces: Mapping[Space, Mapping[str, bytes]]) -> None:
        """Take over stored accounts; call once, before the first login."""
        for space in _SPACES:
            for key, value in spaces.get(space, {}).items():
                self.apply([Edit(space, key, None, value)])

    def apply(self, edits: Iterable[Edit]) -> set[str]:
        """Follow durable edits; those that are not about accounts are ignored.

        Returns the user names whose sessions end with them: of accounts that were deleted,
        disabled or renamed, or whose password was changed.
        """
        ended: set[str] = set()
        for edit in edits:
            if edit.space not in _SPACES or not edit.key.startswith(_BELOW):
                continue
            before = self._accounts.get(edit.key)
            self.version += 1
            if edit.space is Space.SECRET:
                self._put_secret(edit.key, edit.post)
            else:
                self._put_document(edit.key, edit.post)
            if before is not None and not _same_login(before, self._accounts.get(edit.key)):
                ended.add(before.user_name)
        return ended

    def find(self, user_name: str) -> Account | None:
        """Return the account of `user_name`, or None."""
        return self._by_name.get(user_name)

    def at(self, uri: str) -> Account | None:
        """Return the account whose resource is at `uri`, or None."""
        return self._accounts.get(uri)

    def all(self) -> Iterator[Account]:
        """Yield every account."""
        yield from self._accounts.values()

    def last_administrator(self, account: Account, bars: Callable[[Account], bool]) -> bool:
        """Return whether `account` is an Administrator, and `bars` or settings bar all others."""
        return _administers(account) and not any(
            _administers(other) and not bars(other)
            for other in self._accounts.values()
            if other.uri != account.uri
        )

    async def verify(
        self,
        user_name: str,
        password: str,
        *,
        by: str = "",
        bars: Callable[[Account], bool] = lambda account: account.locked,
        queued: Callable[[], None] = lambda: None,
        admitted: Callable[[], None] = lambda: None,
    ) -> Verified:
        """Return the account these credentials belong to, unless it is disabled or `bars` it.

        An unknown user, a barred one and a wrong password take the same work. `queued` is called
        before anything waits to be hashed, `admitted` before it is; both may raise. `by` is whom
        the hashing is for: each gets its turn, however many passwords others send.
        """
        account = self.find(user_name)
        secret = None
        if account is not None and account.enabled and not bars(account):
            secret = account.secret
        proof = self._proof(password)
        if secret is not None and self._verified.knows(user_name, by, secret, proof):
            return Verified(account, remembered=True)
        queued()
        async with self._hashing.turn(by):
            admitted()
            right = await asyncio.to_thread(verify_password, password, secret or self._nobody)
        if not right or account is None or secret is None:
            return _REFUSED
        # The account may have changed while the hash was computed: what it is now counts.
        account = self.find(user_name)
        if account is None or account.secret != secret or not account.enabled or bars(account):
            return _REFUSED
        self._verified.keep(user_name, by, secret, proof)
        return Verified(account)

    async def has_password(self, account: Account, password: str) -> bool:
        """Return whether an account has this password, without opening anything."""
        if account.secret is None:
            return False
        async with self._hashing.turn(account.uri):
            return await asyncio.to_thread(verify_password, password, account.secret)

    async def hash(self, password: str, by: str = "") -> bytes:
        """Return a new secret for `password`, made in a worker thread in the turn of `by`."""
        async with self._hashing.turn(by):
            return await asyncio.to_thread(hash_password, password)

    def vouches(self, user_name: str, since_s: float) -> bool:
        """Return whether a session that `user_name` opened at `since_s` may go on.

        It may not where the account is gone or disabled, or got its password later. A lock ends
        no session: it only keeps it out meanwhile.
        """
        account = self.find(user_name)
        if account is None or not account.enabled:
            return False
        return account.secret is None or since_s >= set_s(account.secret)

    def _proof(self, password: str) -> bytes:
        """Return what is remembered of a password: nothing to guess it by without our key."""
        encoded = password.encode("utf-8", "surrogatepass")
        return hmac.new(self._key, encoded, hashlib.sha256).digest()

    def _put_secret(self, uri: str, secret: bytes | None) -> None:
        if secret is None:
            self._secrets.pop(uri, None)
        else:
            self._secrets[uri] = secret
        account = self._accounts.get(uri)
        if account is not None:
            self._verified.forget(account.user_name)
            self._put(replace(account, secret=secret))

    def _put_document(self, uri: str, raw: bytes | None) -> None:
        before = self._accounts.pop(uri, None)
        if before is not None:
            self._by_name.pop(before.user_name, None)
            self._verified.forget(before.user_name)
        if raw is None:
            return
        document = json.loads(raw)
        if str(document.get("@odata.type", "")).startswith("#ManagerAccount."):
            self._put(_account(uri, document, self._secrets.get(uri)))

    def _put(self, account: Account) -> None:
        self._accounts[account.uri] = account
        self._by_name[account.user_name] = account


def _same_login(before: Account, after: Account | None) -> bool:
    """Return whether whoever was logged in as `before` still is as `after`."""
    if after is None or before.user_name != after.user_name:
        return False
    if before.secret is not None and before.secret != after.secret:
        return False
    return after.enabled or not before.enabled


def _administers(account: Account) -> bool:
    return account.role_id == ADMINISTRATOR and account.enabled and account.secret is not None


def _account(uri: str, document: Mapping[str, Any], secret: bytes | None) -> Account:
    return Account(
        uri=uri,
        user_name=str(document.get("UserName", "")),
        role_id=str(document.get("RoleId", "")),
        enabled=document.get("Enabled", True) is True,
        locked=document.get("Locked", False) is True,
        password_change_required=document.get("PasswordChangeRequired", False) is True,
        secret=secret,
    )
