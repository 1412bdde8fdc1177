"""Who is who, kept up to date: accounts, roles and sessions follow what becomes durable.

One place for what a durable change means for those who are logged in. Runs without await, in the
step that publishes the change, so no request ever meets a deleted account's session.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from redfish_fm.redfish.accounts import Accounts
from redfish_fm.redfish.changes import Change, Edit, Space
from redfish_fm.redfish.roles import Roles
from redfish_fm.redfish.sessions import SessionRow, Sessions

SESSION_SERVICE = "/redfish/v1/SessionService"
"""Where clients set SessionTimeout; an overlay over the service's own document."""


class Identity:
    """Accounts, roles and sessions of one service. Use from one event loop."""

    def __init__(self, accounts: Accounts, roles: Roles, sessions: Sessions[Any]) -> None:
        self.accounts = accounts
        self.roles = roles
        self.sessions = sessions

    async def load(self, spaces: Mapping[Space, Mapping[str, bytes]]) -> None:
        """Take over what is stored; call once, before the first request."""
        self.accounts.load(spaces)
        self.roles.load(spaces)
        overlay = spaces.get(Space.OVERLAY, {}).get(SESSION_SERVICE)
        if overlay is not None:
            self._set_timeout(overlay)
        await self.sessions.load(self._vouched)

    def published(self, changes: Iterable[Change]) -> None:
        """Follow a batch of changes that has just become durable."""
        for change in changes:
            self.apply(change.edits)

    def apply(self, edits: Iterable[Edit]) -> None:
        """Follow durable edits in order."""
        edits = tuple(edits)
        self.roles.apply(edits)
        for user_name in self.accounts.apply(edits):
            self.sessions.end_all_of(user_name)
        for edit in edits:
            if edit.space is Space.OVERLAY and edit.key == SESSION_SERVICE and edit.post:
                self._set_timeout(edit.post)

    def _vouched(self, row: SessionRow) -> bool:
        return self.accounts.vouches(row.user_name, row.created_s)

    def _set_timeout(self, overlay: bytes) -> None:
        timeout_s = msgspec.json.decode(overlay, type=dict[str, Any]).get("SessionTimeout")
        if isinstance(timeout_s, int):
            self.sessions.timeout_s = float(timeout_s)
