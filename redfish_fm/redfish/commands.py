"""Writes: a checked request becomes a Write, its Outcome becomes a Response.

Knows the form of bodies and of answers; what a Write means, and whether it may be, is decided by
`commit`, which control gives.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from redfish_fm.redfish import messages, oem, self_service
from redfish_fm.redfish.accounts import Accounts
from redfish_fm.redfish.action_documents import actions_in
from redfish_fm.redfish.answers import Answers
from redfish_fm.redfish.auth import Principal
from redfish_fm.redfish.bodies import check_action, check_create, check_patch
from redfish_fm.redfish.catalog import ActionInfo, Catalog, TypeInfo
from redfish_fm.redfish.cleaning import cleaned
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.headers import wait_s
from redfish_fm.redfish.logins import Logins
from redfish_fm.redfish.parse import parse_object
from redfish_fm.redfish.passwords import check_password
from redfish_fm.redfish.policy import check_settings
from redfish_fm.redfish.requests import Request, Response
from redfish_fm.redfish.resources import Resources
from redfish_fm.redfish.retries import Retry
from redfish_fm.redfish.stanzas import check_stanzas, cleaned_stanzas
from redfish_fm.redfish.targets import Target, TargetKind
from redfish_fm.redfish.tasks import RETRY_AFTER_S, TaskResult, result_of
from redfish_fm.redfish.values import ActionVoice
from redfish_fm.redfish.view import Origin
from redfish_fm.redfish.writes import Commit, Outcome, OutcomeKind, Write, WriteKind


class Commands:
    """Carries out writes that have passed every check but that of their body."""

    def __init__(
        self,
        catalog: Catalog,
        resources: Resources,
        commit: Commit,
        answers: Answers,
        logins: Logins,
        accounts: Accounts,
        own: frozenset[str],
        task_result: TaskResult | None,
    ) -> None:
        self._catalog = catalog
        self._resources = resources
        self._commit = commit
        self._answers = answers
        self._logins = logins
        self._accounts = accounts
        self._own = own
        self._task_result = task_result

    async def carry_out(
        self,
        request: Request,
        target: Target,
        principal: Principal | None,
        if_match: tuple[str, ...] | None,
        retry: Retry | None = None,
    ) -> Response:
        """Check the body, commit, answer. Raises RedfishError with every reason."""
        found, info = target.found, target.info
        if found.uri == self._logins.uri:
            return await self._logins.open(request)
        if found.type_name == "Session":
            return await self._logins.close(found.uri)
        if info is None or principal is None:
            raise RedfishError(405, (messages.operation_not_allowed(),))
        kind, type_name, body = self._checked(request, target, info, principal)
        action = None if target.action is None else target.action.name
        write = Write(
            kind,
            found.uri,
            type_name,
            principal.user_name,
            body,
            action,
            if_match,
            retry=retry,
            request=None if type_name in _SECRET_BODIES else request,
            wait_s=wait_s(request.headers),
        )
        if principal.password_change_required:
            await self._refuse_same_password(write)
        write = await self._without_password(write)
        with self._logins.changing(write, principal):
            outcome = await self._commit(write)
        if type_name == "ManagerAccount":
            await self._logins.forget_ended()
        return self.answer(outcome, acting=kind is WriteKind.ACTION)

    async def _refuse_same_password(self, write: Write) -> None:
        """Raise RedfishError (400) where the new password that is due is the old one."""
        account = self._accounts.at(write.uri)
        password = write.body.get("Password")
        if account is None or not isinstance(password, str):
            return
        if await self._accounts.has_password(account, password):
            raise RedfishError(400, (messages.password_reuse_too_recent("#/Password"),))

    async def _without_password(self, write: Write) -> Write:
        """Return `write` with the hash of the password in its body instead of the password."""
        if write.type_name != "ManagerAccount" or "Password" not in write.body:
            return write
        body = {name: value for name, value in write.body.items() if name != "Password"}
        secret = await self._accounts.hash(str(write.body["Password"]), write.actor)
        retry = write.retry
        if retry is not None:
            # A plain digest of the body would be a fast hash of the password, on disk.
            stored = (await self._accounts.hash(retry.digest, write.actor)).decode()
            retry = replace(retry, stored=stored)
        return replace(write, body=body, secret=secret, retry=retry)

    def monitor(self, target: Target) -> Response:
        """Answer a task monitor: 202 while the Task runs, then what the write would have been."""
        uri = target.found.uri
        if self._task_result is None:
            result = result_of(json.loads(target.shown.body))
        else:
            result = self._task_result(uri)
        if isinstance(result, RedfishError):
            raise result
        if result is not None:
            return self.answer(result)
        response = self.answer(Outcome(OutcomeKind.ACCEPTED, uri, uri))
        # Clients look here for whether they may call it off.
        allow = {"Allow": ", ".join(target.allow)}
        return replace(response, headers={**response.headers, **allow})

    def answer(self, outcome: Outcome, *, acting: bool = False) -> Response:
        """Return the response for an outcome; `acting` when an action was asked for."""
        if outcome.task is not None and outcome.kind is OutcomeKind.ACCEPTED:
            monitor = self._catalog.monitor_of(outcome.task)
            task = self._resources.get(outcome.task)
            return self._answers.accepted(monitor, task, RETRY_AFTER_S)
        if outcome.body is not None:
            return self._answers.told(outcome.body)
        if outcome.kind is OutcomeKind.DELETED or acting:
            return self._answers.no_content()
        found = self._resources.get(outcome.uri)
        if outcome.kind is OutcomeKind.CREATED:
            return self._answers.created(outcome.uri, found)
        return self._answers.no_content() if found is None else self._answers.resource(found)

    def _checked(
        self, request: Request, target: Target, info: TypeInfo, principal: Principal
    ) -> tuple[WriteKind, str, Mapping[str, Any]]:
        if target.kind is TargetKind.ACTION and target.action is not None:
            return WriteKind.ACTION, info.name, self._action_body(request, target, target.action)
        match request.method:
            case "DELETE":
                return WriteKind.DELETE, info.name, {}
            case "PATCH":
                body = parse_object(request.body)
                # Who may not name a property learns nothing about its value: 403 wins over 400.
                self_service.check_named(target.found.uri, body, principal, self._own)
                wanted = target.found.origin.changeable
                ours = oem.not_writable(body)
                policy = self._accounts.policy
                told = check_patch(info, body, wanted) + ours + check_password(info, body, policy)
                _refuse(told + check_settings(target.found.uri, body, told, policy))
                return WriteKind.PATCH, info.name, cleaned(info.properties, body, patching=True)
            case _:
                member = self._catalog.types[str(info.member)]
                body = parse_object(request.body)
                password = check_password(member, body, self._accounts.policy)
                _refuse(check_create(member, body) + password)
                kept = cleaned(member.properties, body)
                if "Oem" in kept and not (member.create and member.create.described):
                    # What is described may say more in our OEM part; elsewhere it is read-only.
                    kept = oem.without_own(kept)
                return WriteKind.CREATE, member.name, kept

    def _action_body(
        self, request: Request, target: Target, action: ActionInfo
    ) -> Mapping[str, Any]:
        if not action.supported:
            raise RedfishError(400, (messages.action_not_supported(action.name),))
        body = parse_object(request.body, ActionVoice(action.name)) if request.body else {}
        told = check_action(action, body)
        if told and not self._offers(target, action):
            raise RedfishError(400, (messages.action_not_supported(action.name),))
        _refuse(told or check_stanzas(self._catalog, body))
        return cleaned_stanzas(self._catalog, cleaned(action.parameters, body))

    def _offers(self, target: Target, action: ActionInfo) -> bool:
        """Return whether a resource has the action; on what clients made all of its type can be."""
        if target.found.origin is Origin.WANTED:
            return True
        shown = self._resources.get(target.found.uri)
        if shown is None or target.info is None:
            return False
        return action.path in actions_in(shown, target.info)


_SECRET_BODIES = frozenset(
    {"Certificate", "CertificateService", "EventDestination", "ManagerAccount"}
)
"""Types whose bodies bring passwords, keys or headers: those go no further than the protocol."""


def _refuse(wrong: list[Message]) -> None:
    if wrong:
        raise RedfishError(400, tuple(wrong))
