"""Who is who, kept up to date: accounts, roles and sessions follow what becomes durable.

One place for what a durable change means for those who are logged in. Runs without await, in the
step that publishes the change, so no request ever meets a deleted account's session.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from redfish_fm.redfish.accounts import Accounts
from redfish_fm.redfish.changes import Change, Edit, Space
from redfish_fm.redfish.locks import KeepLock, Locks
from redfish_fm.redfish.policy import ACCOUNT_SERVICE, policy_of
from redfish_fm.redfish.roles import Roles
from redfish_fm.redfish.sessions import SessionRow, Sessions

LOGIN = "Login"
SESSION_SERVICE = "/redfish/v1/SessionService"
"""Where clients set how long sessions last; an overlay over the service's own document."""


class Identity:
    """Accounts, roles and sessions of one service. Use from one event loop.

    `keep_lock` writes down which accounts are locked; without it locks are in memory only.
    """

    def __init__(
        self,
        accounts: Accounts,
        roles: Roles,
        sessions: Sessions[Any],
        keep_lock: KeepLock | None = None,
    ) -> None:
        self.accounts = accounts
        self.roles = roles
        self.sessions = sessions
        self.locks = Locks(accounts, sessions.clock, keep_lock)

    async def load(self, spaces: Mapping[Space, Mapping[str, bytes]]) -> None:
        """Take over what is stored; call once, before the first request."""
        self.accounts.load(spaces)
        self.roles.load(spaces)
        overlays = spaces.get(Space.OVERLAY, {})
        for uri in (ACCOUNT_SERVICE, SESSION_SERVICE):
            self._take_over(uri, overlays.get(uri))
        self.locks.follow()
        await self.sessions.load(self._vouched)

    async def run(self) -> None:
        """End sessions and locks whose time is over, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.sessions.run())
            tasks.create_task(self.locks.run())

    followed = (ACCOUNT_SERVICE, SESSION_SERVICE)
    """Below which URIs there is all that `published` has to know of."""

    def published(self, changes: Iterable[Change]) -> None:
        """Follow a batch of changes that has just become durable."""
        for change in changes:
            self.apply(change.edits)

    def apply(self, edits: Iterable[Edit]) -> None:
        """Follow durable edits in order."""
        edits = tuple(edits)
        self.roles.apply(edits)
        version = self.accounts.version
        for user_name in self.accounts.apply(edits):
            self.sessions.end_all_of(user_name)
        if self.accounts.version != version:
            self.locks.follow()
        for edit in edits:
            if edit.space is Space.OVERLAY:
                self._take_over(edit.key, edit.post)

    def may_be_told(self, user_name: str) -> bool:
        """Return whether a user may still be told what happens, without a request to prove it by.

        Also one who has to change the password: what it has set up before goes on.
        """
        account = self.accounts.find(user_name)
        if account is None or not account.enabled:
            return False
        return LOGIN in self.roles.privileges(account.role_id)

    def may_listen(self, user_name: str) -> bool:
        """Return whether a user may go on reading what a request was let in for."""
        account = self.accounts.find(user_name)
        due = account is not None and account.password_change_required
        return not due and self.may_be_told(user_name)

    def _vouched(self, row: SessionRow) -> bool:
        return self.accounts.vouches(row.user_name, row.created_s)

    def _take_over(self, uri: str, overlay: bytes | None) -> None:
        """Act on what clients have set of the two services that say who may come in."""
        if overlay is None or uri not in (ACCOUNT_SERVICE, SESSION_SERVICE):
            return
        settings = msgspec.json.decode(overlay, type=dict[str, Any])
        if uri == ACCOUNT_SERVICE:
            self.accounts.policy = policy_of(settings)
        else:
            self.sessions.configure(settings)
