"""Who sends a request: the session of X-Auth-Token, or the user of HTTP Basic.

Turns credentials into a Principal or a 401. Never tells which part of them was wrong.
"""

import base64
import binascii
from dataclasses import dataclass

from redfish_fm.redfish import messages
from redfish_fm.redfish.accounts import Account, Accounts
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.requests import Request
from redfish_fm.redfish.roles import Roles
from redfish_fm.redfish.sessions import RowT, Sessions

CHALLENGE = {"WWW-Authenticate": 'Basic realm="Redfish"'}

_KNOWN_MAX = 1024
"""Principals of sessions kept between requests; more than sessions that can be open."""


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated user. `session` is the id of the session used, None for Basic."""

    user_name: str
    account_uri: str
    privileges: frozenset[str]
    session: str | None = None
    password_change_required: bool = False


class Authenticator:
    """Checks the credentials of requests."""

    def __init__(
        self,
        sessions: "Sessions[RowT]",
        accounts: Accounts,
        roles: Roles,
    ) -> None:
        self._session_of = sessions.authenticate
        self._accounts = accounts
        self._roles = roles
        self._known: dict[str, tuple[Account, int, Principal]] = {}

    async def principal(self, request: Request) -> Principal:
        """Return who sends `request`. A token wins over Basic. Raises RedfishError (401)."""
        token = request.headers.get("x-auth-token")
        if token is not None:
            return self._by_token(token)
        header = request.headers.get("authorization")
        if header is None:
            raise RedfishError(401, (messages.no_valid_session(),), CHALLENGE)
        account = await self._accounts.verify(*_basic(header))
        if account is None:
            raise RedfishError(401, (messages.access_unauthorized(),), CHALLENGE)
        return self._principal(account, None)

    def _by_token(self, token: str) -> Principal:
        row = self._session_of(token)
        account = None if row is None else self._accounts.find(row.user_name)
        if row is None or account is None or not account.usable:
            raise RedfishError(401, (messages.no_valid_session(),), CHALLENGE)
        known = self._known.get(row.id)
        version = self._roles.version
        if known is None or known[0] is not account or known[1] != version:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            known = self._known[row.id] = (account, version, self._principal(account, row.id))
        return known[2]

    def _principal(self, account: Account, session: str | None) -> Principal:
        return Principal(
            account.user_name,
            account.uri,
            self._roles.privileges(account.role_id),
            session,
            account.password_change_required,
        )


def _basic(header: str) -> tuple[str, str]:
    scheme, _, encoded = header.strip().partition(" ")
    try:
        if scheme.lower() != "basic":
            raise ValueError(scheme)
        text = base64.b64decode(encoded.strip(), validate=True).decode()
        user_name, colon, password = text.partition(":")
        if not colon:
            raise ValueError("no colon")
    except (ValueError, binascii.Error) as error:
        raise RedfishError(401, (messages.access_unauthorized(),), CHALLENGE) from error
    return user_name, password
