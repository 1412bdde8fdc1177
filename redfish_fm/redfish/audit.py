"""Who did what, from where, and what came of it: one record a write, and one a failed login.

Makes the record and hands it on: as a line to the log `redfish_fm.audit`, as a value to whoever
keeps it. Nothing in it comes from a body or a credential: no password, no token.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from enum import Enum

from redfish_fm.clocks import Clock
from redfish_fm.redfish.auth import Principal
from redfish_fm.redfish.bodies import MESSAGES_MAX
from redfish_fm.redfish.credentials import LoginRefused
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.requests import Request, Response
from redfish_fm.redfish.session_resources import SessionResources
from redfish_fm.redfish.throttle import Throttle
from redfish_fm.values import value_class

log = logging.getLogger("redfish_fm.audit")

STRANGERS_AT_ONCE, STRANGERS_EVERY_S = 60, 10.0
"""Records of requests without a known user that sinks get from one peer, and how often after."""


class AuditKind(Enum):
    """What a record is about."""

    WRITE = "write"
    """A request that changes something, or was refused to."""
    LOGIN = "login"
    """A session was opened."""
    LOGIN_FAILED = "login-failed"
    """Credentials were not accepted, with whatever method they came."""


@value_class
class AuditRecord:
    """One line of the audit log. Times in seconds since 1970.

    `user_name` is who was authenticated, or at a failed login the existing account that was meant;
    None: nobody, or nobody we know (people type passwords where names belong). `peer` is the
    address it came from, `session` the id of the session it came by (None: HTTP Basic, or none).
    `uri` is what it was about, without trailing slash; `made` the URI of what it made.
    `message_ids` are those of a refusal, "Base.1.22.PropertyUnknown" style.
    """

    time_s: float
    kind: AuditKind
    user_name: str | None
    peer: str
    session: str | None
    method: str
    uri: str
    status: int
    message_ids: tuple[str, ...] = ()
    made: str | None = None


AuditSink = Callable[[AuditRecord], None]
"""Takes over one record: at once, without raising and without waiting."""


class Auditor:
    """Makes a record of each write and each failed login, and hands it to every one of `sinks`.

    What nobody answers for is bounded by peer before it reaches a sink, for sinks keep a limited
    number of records: a stranger's requests must not push out what users did. The log gets all.
    """

    def __init__(self, registries: Registries, sessions: SessionResources, clock: Clock) -> None:
        self._registries = registries
        self._sessions = sessions
        self._clock = clock
        self._strangers = Throttle(clock, burst=STRANGERS_AT_ONCE, refill_s=STRANGERS_EVERY_S)
        self.sinks: list[AuditSink] = []

    def written(
        self,
        request: Request,
        uri: str,
        principal: Principal | None,
        response: Response,
        refusal: RedfishError | None,
    ) -> None:
        """Record a request that was to change something, whatever came of it."""
        if isinstance(refusal, LoginRefused):
            self.refused(request, uri, refusal)
            return
        made = response.headers.get("Location") if response.status == 201 else None
        record = AuditRecord(
            self._clock.wall_s(),
            AuditKind.WRITE,
            None if principal is None else principal.user_name,
            request.peer,
            None if principal is None else principal.session,
            request.method,
            uri,
            response.status,
            () if refusal is None else self._ids(refusal),
            made,
        )
        session = None
        if made is not None and made.startswith(self._sessions.collection_uri):
            session = self._sessions.session_at(made)
        if session is not None:
            record = replace(
                record, kind=AuditKind.LOGIN, user_name=session.user_name, session=session.id
            )
        self._hand_on(record)

    def refused(self, request: Request, uri: str, refusal: LoginRefused) -> None:
        """Record credentials that were not accepted, where the policy has failures logged."""
        if refusal.logged:
            self._hand_on(
                AuditRecord(
                    self._clock.wall_s(),
                    AuditKind.LOGIN_FAILED,
                    refusal.user_name,
                    request.peer,
                    None,
                    request.method,
                    uri,
                    refusal.status,
                    self._ids(refusal),
                )
            )

    def _ids(self, refusal: RedfishError) -> tuple[str, ...]:
        return tuple(
            self._registries.info(each.key).message_id for each in refusal.messages[:MESSAGES_MAX]
        )

    def _hand_on(self, record: AuditRecord) -> None:
        # repr() keeps a hostile path or name on its line.
        user = "-" if record.user_name is None else record.user_name
        what = (record.method, record.uri, user, record.peer, record.status)
        if record.kind is AuditKind.LOGIN_FAILED:
            log.info("%s %r, failed login as %r from %s: %d", *what)
        else:
            log.info("%s %r by %r from %s: %d", *what)
        if record.user_name is None or record.kind is AuditKind.LOGIN_FAILED:
            # Who failed to log in is nobody yet, whoever was named.
            if self._strangers.wait_s(record.peer) > 0:
                return
            self._strangers.charge(record.peer)
        for sink in self.sinks:
            sink(record)
