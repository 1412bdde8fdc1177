"""Opening and closing sessions: POST to the session collection, DELETE of a session."""

import contextlib
from typing import Any

from redfish_fm.redfish import messages
from redfish_fm.redfish.accounts import Account, Accounts
from redfish_fm.redfish.answers import Answers
from redfish_fm.redfish.auth import Principal
from redfish_fm.redfish.bodies import check_create
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.credentials import Credentials
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.parse import parse_object
from redfish_fm.redfish.policy import ACCOUNT_SERVICE
from redfish_fm.redfish.requests import Request, Response
from redfish_fm.redfish.session_resources import SessionResources
from redfish_fm.redfish.sessions import Sessions
from redfish_fm.redfish.writes import Write


class Logins:
    """Write side of the session table."""

    def __init__(
        self,
        catalog: Catalog,
        sessions: Sessions[Any],
        accounts: Accounts,
        credentials: Credentials,
        resources: SessionResources,
        answers: Answers,
    ) -> None:
        self._info = catalog.types["Session"]
        self._sessions = sessions
        self._accounts = accounts
        self._credentials = credentials
        self._service = catalog.uri_of("SessionService")
        self._resources = resources
        self._answers = answers
        self.uri = resources.collection_uri

    async def open(self, request: Request) -> Response:
        """Check the credentials in the body and open a session.

        Raises RedfishError: 400 for the body, 401 for the credentials, 409 where a service is
        switched off, 503 when too many are open.
        """
        body = parse_object(request.body)
        wrong = check_create(self._info, body)
        if wrong:
            raise RedfishError(400, tuple(wrong))
        self._refuse_disabled()
        if not self._accounts.policy.enabled:
            raise RedfishError(409, (messages.service_disabled(ACCOUNT_SERVICE),))
        account = await self._credentials.admit(body["UserName"], body["Password"], request.peer)
        token, row = await self._sessions.create(account.user_name, request.peer)
        if not self._still(account):
            # Deleted, disabled or given another password while the row was written.
            await self._sessions.delete(row.id)
            raise self._credentials.unreadable()
        found = self._resources.render(row)
        if account.password_change_required:
            reason = messages.password_change_required(account.uri)
            found = self._answers.annotated(found, reason)
        return self._answers.created(found.uri, found, {"X-Auth-Token": token})

    def changing(
        self, write: Write, principal: Principal
    ) -> contextlib.AbstractContextManager[None]:
        """Keep the session by which a user changes nothing but the own password.

        Whoever holds it knows the new password; all other sessions of the user end.
        """
        alone = write.secret is not None and not write.body
        if not alone or write.uri != principal.account_uri:
            return contextlib.nullcontext()
        return self._sessions.sparing(principal.session)

    async def forget_ended(self) -> None:
        """Drop the rows of sessions that an account's change has ended.

        A store that fails now is tried again by the sweep: the sessions are over already.
        """
        with contextlib.suppress(RedfishError):
            await self._sessions.sweep()

    def _refuse_disabled(self) -> None:
        if not self._sessions.enabled:
            raise RedfishError(409, (messages.service_disabled(self._service),))

    def _still(self, account: Account) -> bool:
        now = self._accounts.at(account.uri)
        return now is not None and now.enabled and _login(now) == _login(account)

    async def close(self, uri: str) -> Response:
        """End the session at `uri`. Raises RedfishError (409) where the service is switched off."""
        self._refuse_disabled()
        await self._sessions.delete(uri.rsplit("/", 1)[-1])
        return self._answers.no_content()


def _login(account: Account) -> tuple[str, bytes | None]:
    return account.user_name, account.secret
