"""The service: one Request in, one Response out.

Decides who asks, what about, whether it is allowed and well-formed, in the order that decides
which error wins (DESIGN section 10): 401, 404, 405, 403, 413, 501, 415, 406, 412, 400. What a
write means is `commit`'s business; what there is to read, the view's.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from redfish_fm.redfish import etag, messages, self_service
from redfish_fm.redfish.accounts import Accounts
from redfish_fm.redfish.action_documents import Advertised
from redfish_fm.redfish.answers import Answers
from redfish_fm.redfish.audit import Auditor
from redfish_fm.redfish.auth import Authenticator, Principal
from redfish_fm.redfish.catalog import Catalog
from redfish_fm.redfish.client_certificates import ClientCertificates
from redfish_fm.redfish.commands import Commands
from redfish_fm.redfish.credentials import Credentials, LoginRefused
from redfish_fm.redfish.emulation import Emulation
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.headers import (
    EVENT_STREAM,
    check_accept,
    check_accept_encoding,
    check_content_encoding,
    check_content_type,
    check_odata_version,
    check_same_origin,
    preferred,
)
from redfish_fm.redfish.locks import Locks
from redfish_fm.redfish.logins import Logins
from redfish_fm.redfish.metadata import metadata
from redfish_fm.redfish.openapi import openapi
from redfish_fm.redfish.privileges import Privileges
from redfish_fm.redfish.query import check_query
from redfish_fm.redfish.reading import Reader
from redfish_fm.redfish.registries import Registries
from redfish_fm.redfish.requests import Request, Response
from redfish_fm.redfish.resources import Resources
from redfish_fm.redfish.retries import RETRIED, Retry, retry_of
from redfish_fm.redfish.roles import Roles
from redfish_fm.redfish.route_names import FIXED_ROUTES, RouteNames
from redfish_fm.redfish.served_routes import Served, by_template, served_routes
from redfish_fm.redfish.session_resources import SessionResources
from redfish_fm.redfish.sessions import Sessions
from redfish_fm.redfish.streams import StreamDoor, stream_wish
from redfish_fm.redfish.tables import Moment, Table
from redfish_fm.redfish.targets import (
    OPENAPI,
    PUBLIC,
    READING,
    Target,
    TargetKind,
    Targets,
    normal,
)
from redfish_fm.redfish.tasks import TaskResult, Tasks
from redfish_fm.redfish.view import Description, Representation, View
from redfish_fm.redfish.writes import Commit, Replay

METHODS = frozenset({*READING, "POST", "PATCH", "PUT", "DELETE"})
BODY_BYTES_MAX = 1 << 20
LOGIN_BODY_BYTES_MAX = 16 << 10
"""Of a body that anybody may send: reading the largest JSON takes the loop a long moment."""
_CREDENTIALS = frozenset({"authorization", "x-auth-token"})


class Service:
    """Answers requests. Made once by the composition root; use from one event loop.

    `owner(uri)` names the user who owns a resource, where anybody does; `task_result` tells how a
    Task ended; `roles` follow the custom ones; `replay` tells how the write of an Idempotency-Key
    ended, and without it the header is not evaluated; `odata_types` are further types that
    imported documents have, for $metadata; `served` tells every URI there is, for the OpenAPI
    document, which is not served without it; `page_size` is how many members of a collection one
    answer holds at most (None: all); `headers` are further ones of a GET, and `xml` further
    documents, by URI; `emulation` plays what real services do to clients (None: nothing);
    `tables` are collections that come and go by themselves, and `moments` tell what is true of a
    resource only when it is read; `locks` follow the accounts; `client_certificates` say whom
    clients' certificates stand for (None: nobody); `streams` is where events are read as they
    come (None: nowhere). Each of `on_audit` is called with the record of
    every write and every failed login; it neither waits nor raises.
    """

    def __init__(
        self,
        catalog: Catalog,
        registries: Registries,
        privileges: Privileges,
        view: View,
        commit: Commit,
        sessions: Sessions[Any],
        accounts: Accounts,
        *,
        task_result: TaskResult | None = None,
        owner: Callable[[str], str | None] | None = None,
        roles: Roles | None = None,
        replay: Replay | None = None,
        odata_types: Iterable[str] = (),
        served: Served | None = None,
        body_bytes_max: int = BODY_BYTES_MAX,
        page_size: int | None = None,
        headers: Mapping[str, Mapping[str, str]] | None = None,
        xml: Mapping[str, bytes] | None = None,
        emulation: Emulation | None = None,
        tables: Iterable[Table] = (),
        moments: Mapping[str, Moment] | None = None,
        locks: Locks | None = None,
        client_certificates: ClientCertificates | None = None,
        streams: StreamDoor | None = None,
    ) -> None:
        self._catalog = catalog
        self._privileges = privileges
        self._accounts = accounts
        self._owner = owner
        self._served = served
        self._described: int | None = None
        self._body_bytes_max = body_bytes_max
        self._allowed: set[tuple[str, str, frozenset[str]]] = set()
        self._session_resources = SessionResources(catalog, sessions)
        resources = Resources(
            catalog,
            view,
            Tasks(catalog, registries),
            Advertised(catalog),
            (self._session_resources, *tables),
            moments or {},
        )
        self._reader = Reader(catalog, resources, page_size)
        self._answers = Answers(registries, catalog, headers or {})
        self._streams = streams
        stream_uris = {} if streams is None else {streams.uri: streams.service}
        self._targets = Targets(
            catalog, resources, metadata(catalog, odata_types), xml or {}, stream_uris
        )
        locks = locks or Locks(accounts, sessions.clock)
        credentials = Credentials(accounts, locks, sessions.clock)
        roles = roles or Roles(catalog.roles)
        self._authenticator = Authenticator(
            sessions, accounts, roles, locks, credentials, client_certificates
        )
        logins = Logins(
            catalog, sessions, accounts, credentials, self._session_resources, self._answers
        )
        self._auditor = Auditor(registries, self._session_resources, sessions.clock)
        self.on_audit = self._auditor.sinks
        own = privileges.own_properties("ManagerAccount")
        self._commands = Commands(
            catalog, resources, commit, self._answers, logins, accounts, own, task_result
        )
        self.route_of = RouteNames(catalog, FIXED_ROUTES).route_of
        self._replay = replay
        self._emulation = emulation
        self._logins_uris = (logins.uri, f"{logins.uri}/Members")

    async def handle(self, request: Request) -> Response:
        """Answer one request. No client input makes this raise."""
        uri = normal(request.path)
        principal: Principal | None = None
        refusal: RedfishError | None = None
        try:
            if request.method not in METHODS:
                raise RedfishError(501, (messages.operation_not_allowed(),))
            if self._emulation is not None:
                await self._emulation.admit(uri)
            if request.method not in READING:
                check_same_origin(request.headers)
            if not self._public(request.method, uri):
                principal = await self._authenticator.principal(request)
            response = await self._answer(request, uri, principal)
        except RedfishError as error:
            refusal, response = error, self._answers.refusal(error)
            if isinstance(error, LoginRefused) and request.method in READING:
                self._auditor.refused(request, uri, error)
        except BaseException:
            # A defect, which the server answers 500: what was done by then may stand.
            if request.method not in READING:
                refusal = RedfishError(500, (messages.internal_error(),))
                response = self._answers.refusal(refusal)
                self._auditor.written(request, uri, principal, response, refusal)
            raise
        if request.method == "HEAD":
            length = {"Content-Length": str(len(response.body))}
            response = Response(response.status, {**response.headers, **length})
        elif request.method not in READING:
            response = preferred(request.headers, response)
            self._auditor.written(request, uri, principal, response, refusal)
        return response

    def transport_error(self, status: int) -> Response:
        """Word what the server refuses before it makes a Request (server.http.TransportError)."""
        return self._answers.transport_refusal(status)

    def _public(self, method: str, uri: str) -> bool:
        if method in READING:
            return uri in PUBLIC
        return method == "POST" and uri in self._logins_uris

    async def _answer(self, request: Request, uri: str, principal: Principal | None) -> Response:
        retry = None
        if request.method in RETRIED and principal is not None and self._replay is not None:
            retry = retry_of(request, uri, principal.account_uri)
        if retry is not None and principal is not None:
            repeated = await self._repeated(request, uri, principal, retry)
            if repeated is not None:
                return repeated
        if uri == OPENAPI and self._served is not None:
            await self._describe(self._served)
        target = self._targets.find(uri, request.method)
        if request.method not in target.allow:
            allow = {"Allow": ", ".join(target.allow)}
            raise RedfishError(405, (messages.operation_not_allowed(),), allow)
        if principal is not None:
            self._authorize(request.method, target, principal)
        self._check_form(request, target, principal)
        if request.method == "OPTIONS":
            return self._answers.options(target)
        if target.kind is TargetKind.STREAM and principal is not None and self._streams is not None:
            return await self._stream(request, principal, self._streams)
        if request.method in READING:
            if request.query or self._reader.pages:
                target = await self._evaluated(request, target, principal)
            return self._read(request, target)
        tags = self._if_match(request, target)
        if "if-none-match" in request.headers:
            # RFC 9110 "If-None-Match": with other methods than GET and HEAD, a match is 412.
            unless = etag.parse_if_none_match(request.headers["if-none-match"])
            if not etag.none_match(unless, self._shown(target).etag):
                raise RedfishError(412, (messages.precondition_failed(),))
        response = await self._commands.carry_out(request, target, principal, tags, retry)
        if self._emulation is not None and target.action is not None:
            await self._emulation.acted(target.found.uri, target.action.name)
        return response

    async def _stream(self, request: Request, principal: Principal, door: StreamDoor) -> Response:
        """Open a stream, or tell what opening it would."""
        wish = stream_wish(request, principal, door.words())
        flow = await door.open(wish) if request.method == "GET" else None
        return self._answers.stream(EVENT_STREAM, flow)

    async def _describe(self, served: Served) -> None:
        """Make the OpenAPI document when it is asked for, most of it off the event loop.

        Anew where the service has come to rest on something else since.
        """
        edition, targets = served.edition, self._targets
        if edition == self._described:
            return
        places = await asyncio.to_thread(by_template, self._catalog, served.places())
        routes = served_routes(self._catalog, places, targets.offer_at, targets.offer_of_member)
        document = await asyncio.to_thread(openapi, self._catalog, routes, targets.documents)
        targets.describe_by(document)
        self._described = edition

    async def _repeated(
        self, request: Request, uri: str, principal: Principal, retry: Retry
    ) -> Response | None:
        """Answer again what was done for this Idempotency-Key; None where that is nothing.

        What the write was about may be gone by now; where it is not, it takes the same privilege.
        """
        outcome = None if self._replay is None else await self._replay(retry)
        if outcome is None:
            return None
        self_service.check_method(uri, request.method, principal)
        try:
            target = self._targets.find(uri, request.method)
        except RedfishError:
            return self._commands.answer(outcome)
        self._authorize(request.method, target, principal)
        return self._commands.answer(outcome, acting=target.kind is TargetKind.ACTION)

    def _read(self, request: Request, target: Target) -> Response:
        if target.kind is TargetKind.MONITOR:
            return self._commands.monitor(target)
        if "if-match" in request.headers:
            self._if_match(request, target)
        unless = etag.parse_if_none_match(request.headers.get("if-none-match"))
        if not etag.none_match(unless, target.shown.etag):
            return self._answers.not_modified(target)
        return self._answers.read(target)

    async def _evaluated(
        self, request: Request, target: Target, principal: Principal | None
    ) -> Target:
        """Return `target` with what the query makes of it."""
        asks = any(name == "$expand" for name, _ in request.query)
        if asks and principal is None and not _CREDENTIALS.isdisjoint(request.headers):
            # A public resource is for everybody; what $expand adds to it is not.
            principal = await self._authenticator.principal(request)

        def may_read(found: Representation) -> bool:
            if principal is None:
                return found.uri in PUBLIC
            return self._may_read(found, principal)

        return await self._reader.read(target, request.query, may_read)

    def _check_form(self, request: Request, target: Target, principal: Principal | None) -> None:
        """Refuse what is wrong with the request before anything in it is looked at."""
        known = principal is not None or request.method in READING
        most = self._body_bytes_max if known else LOGIN_BODY_BYTES_MAX
        if len(request.body) > most:
            raise RedfishError(413, (messages.payload_too_large(),))
        if request.query:
            check_query(request.query, request.method in ("GET", "HEAD"))
        if request.method in ("POST", "PATCH"):
            check_content_type(request.headers, request.body)
            check_content_encoding(request.headers)
        check_accept(request.headers, target.media)
        if "accept-encoding" in request.headers:
            check_accept_encoding(request.headers["accept-encoding"])
        check_odata_version(request.headers)

    def _if_match(self, request: Request, target: Target) -> tuple[str, ...] | None:
        """Return the tags of If-Match. Raises RedfishError (412) where none of them fits."""
        if "if-match" not in request.headers:
            return None
        tags = etag.parse_if_match(request.headers["if-match"])
        if not etag.matches(tags, self._shown(target).wanted_tag):
            raise RedfishError(412, (messages.precondition_failed(),))
        return tags

    def _shown(self, target: Target) -> Representation:
        """Return what a GET of the target would, where a write had no need of it so far."""
        found = target.found
        if isinstance(found, Representation):
            return found
        return self._targets.find(found.uri, "GET").shown

    def _authorize(self, method: str, target: Target, principal: Principal) -> None:
        """Refuse (403) what the principal may not do."""
        found = target.found
        self_service.check_method(found.uri, method, principal)
        may_try = self_service.may_try(found.uri, method, principal)
        if not may_try and not self._may(method, found, principal):
            raise RedfishError(403, (messages.insufficient_privilege(),))

    def _may_read(self, found: Representation, principal: Principal) -> bool:
        if principal.password_change_required and found.uri != principal.account_uri:
            return False
        return self._may("GET", found, principal)

    def _may(self, method: str, found: Description, principal: Principal) -> bool:
        """Return whether the principal's privileges are enough."""
        granted = principal.privileges
        question = (found.type_name, method, granted)
        if question in self._allowed:
            return True
        above: tuple[str, ...] = ()
        overridden = self._privileges.overridden(found.type_name)
        if overridden:
            above = self._catalog.ancestors(found.uri)
        allows = self._privileges.allows
        if allows(*question, ancestors=above, uri=found.uri):
            if not overridden:
                self._allowed.add(question)
            return True
        own = self._is_own(found, principal)
        return own and allows(*question, own=True, ancestors=above, uri=found.uri)

    def _is_own(self, found: Description, principal: Principal) -> bool:
        """Return whether the resource is the principal's own session, account or other thing."""
        uri = found.uri
        if found.type_name == "Session":
            session = self._session_resources.session_at(uri)
            return session is not None and session.user_name == principal.user_name
        if uri == principal.account_uri:
            return True
        return self._owner is not None and self._owner(uri) == principal.user_name
