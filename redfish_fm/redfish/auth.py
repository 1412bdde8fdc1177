"""Who sends a request: the session of X-Auth-Token, the user of HTTP Basic or of a certificate.

Turns credentials into a Principal or a 401. Never tells which part of them was wrong.
"""

import base64
import binascii
from dataclasses import dataclass

from redfish_fm.redfish import messages
from redfish_fm.redfish.accounts import Account, Accounts
from redfish_fm.redfish.client_certificates import ClientCertificate, ClientCertificates
from redfish_fm.redfish.credentials import Credentials, LoginRefused
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.locks import Locks
from redfish_fm.redfish.policy import BasicAuth
from redfish_fm.redfish.requests import Request
from redfish_fm.redfish.roles import Roles
from redfish_fm.redfish.sessions import RowT, Sessions

_KNOWN_MAX = 1024
"""Principals of sessions kept between requests; beyond, all are made anew as they are asked for."""


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated user. `session` is the id of the session used, None without one."""

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
        locks: Locks,
        credentials: Credentials,
        certificates: ClientCertificates | None = None,
    ) -> None:
        self._certificates = certificates
        self._session_of = sessions.authenticate
        self._accounts = accounts
        self._roles = roles
        self._locks = locks
        self._credentials = credentials
        self._known: dict[str, tuple[Account, int, Principal]] = {}

    async def principal(self, request: Request) -> Principal:
        """Return who sends `request`. Raises RedfishError (401).

        A token wins over Basic, and both over the certificate that the client connected with.
        """
        token = request.headers.get("x-auth-token")
        if token is not None:
            return self._by_token(token)
        header = request.headers.get("authorization")
        if header is None:
            if request.certificate is not None:
                return self._by_certificate(request.certificate)
            raise self._no_session()
        named = _basic(header)
        if named is None or self._accounts.policy.basic is BasicAuth.DISABLED:
            raise self._credentials.unreadable()
        account = await self._credentials.admit(*named, request.peer)
        return self._principal(account, None)

    def _by_token(self, token: str) -> Principal:
        row = self._session_of(token)
        account = None if row is None else self._accounts.find(row.user_name)
        if row is None or account is None:
            raise self._no_session()
        known = self._known.get(row.id)
        version = self._roles.version
        changed = known is None or known[0] is not account or known[1] != version
        if (changed or self._locks.held) and not self._goes_on(account):
            raise self._no_session()
        if known is None or changed:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            known = self._known[row.id] = (account, version, self._principal(account, row.id))
        return known[2]

    def _by_certificate(self, certificate: ClientCertificate) -> Principal:
        """Return the user that a certificate stands for. Raises LoginRefused (401)."""
        certificates = self._certificates
        user_name = None if certificates is None else certificates.user_of(certificate)
        account = None if user_name is None else self._accounts.find(user_name)
        if account is None or not self._goes_on(account):
            logged = self._accounts.policy.failure_logging > 0
            meant = None if account is None else account.user_name
            raise LoginRefused(self._credentials.challenge, meant, logged=logged)
        return self._principal(account, None)

    def _goes_on(self, account: Account) -> bool:
        """Return whether those of an account are let in who need not prove it by a password."""
        if account.usable and not self._locks.held:
            return True
        return account.enabled and not self._locks.bars_sessions(account)

    def _no_session(self) -> RedfishError:
        return RedfishError(401, (messages.no_valid_session(),), self._credentials.challenge)

    def _principal(self, account: Account, session: str | None) -> Principal:
        return Principal(
            account.user_name,
            account.uri,
            self._roles.privileges(account.role_id),
            session,
            account.password_change_required,
        )


def _basic(header: str) -> tuple[str, str] | None:
    """Return user name and password of an Authorization header, or None where it has none."""
    scheme, _, encoded = header.strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (ValueError, binascii.Error):
        return None
    user_name, colon, password = text.partition(":")
    return (user_name, password) if colon else None
