"""Account writes: POST, PATCH, DELETE of those who can log in.

Pure. Redfish: ManagerAccount.v1_14_1. The password is no property here: its hash comes with the
write and becomes an edit of SECRET space in the same change. Never leaves the service without an
enabled Administrator who has a password.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from redfish_fm.mapping import refusals
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.resources import document_edit, new_document, patched, stored
from redfish_fm.redfish import messages
from redfish_fm.redfish.accounts import ACCOUNTS
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import Message, RedfishError
from redfish_fm.redfish.passwords import set_at
from redfish_fm.redfish.policy import ACCOUNT_SERVICE
from redfish_fm.redfish.roles import ADMINISTRATOR, ROLES
from redfish_fm.redfish.writes import OutcomeKind, Write

ACCOUNT_TYPES = ["Redfish"]
"""What an account can be used for, as AccountService.SupportedAccountTypes says."""

# No colon, which ends the user name in HTTP Basic; no white space, which nobody sees in a log.
_USER_NAME = re.compile(r"[^\s:\x00-\x1f\x7f]{1,64}")


def create(write: Write, tip: Tip) -> Draft:
    """Return the draft of POST Accounts."""
    _refuse_disabled(tip)
    if write.secret is None:
        raise refusals.bad_content(messages.property_missing("Password", "#/Password"))
    uri, document = new_document("ManagerAccount", write.uri, write.body, tip)
    document.setdefault("Enabled", True)
    locking = _locking(document, locked=False)
    if write.body.get("Name") is None:
        document["Name"] = f"Account of {write.body.get('UserName')}"
    after = _complete(document)
    _refuse(uri, after, tip, *locking)
    return Draft(
        OutcomeKind.CREATED, uri, (document_edit(tip, uri, after), *_secret_edits(write, uri, tip))
    )


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of PATCH on an account. A new password is no longer due, unless said so."""
    _refuse_disabled(tip)
    before = stored(tip, write.uri)
    locking = _locking(write.body, locked=before.get("Locked") is True)
    after = _complete(patched("ManagerAccount", before, write.body))
    if write.secret is not None:
        after["PasswordChangeRequired"] = write.body.get("PasswordChangeRequired") is True
    _refuse(write.uri, after, tip, *locking)
    _keep_administrator(write.uri, after, tip)
    edits = _secret_edits(write, write.uri, tip)
    if after != dict(before):
        edits = (document_edit(tip, write.uri, after), *edits)
    if not edits:
        return Draft(OutcomeKind.NO_OPERATION, write.uri)
    return Draft(OutcomeKind.CHANGED, write.uri, edits)


def delete(write: Write, tip: Tip) -> Draft:
    """Return the draft of DELETE; 409 for the last Administrator."""
    _refuse_disabled(tip)
    _keep_administrator(write.uri, None, tip)
    secret = tip.secret(write.uri)
    edits = () if secret is None else (Edit(Space.SECRET, write.uri, secret, None),)
    return Draft(OutcomeKind.DELETED, write.uri, (document_edit(tip, write.uri, None), *edits))


def lock(uri: str, locked: bool, tip: Tip) -> Draft:
    """Return the draft by which the service itself locks an account, or ends a lock."""
    before = tip.document(uri)
    if before is None or (before.get("Locked") is True) == locked:
        return Draft(OutcomeKind.NO_OPERATION, uri)
    edit = document_edit(tip, uri, {**before, "Locked": locked})
    return Draft(OutcomeKind.CHANGED, uri, (edit,))


def accounts_of(tip: Tip) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield URI and document of every account that can log in."""
    for uri in tip.members(ACCOUNTS):
        document = tip.document(uri)
        if document is not None:
            yield uri, document


def _complete(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return an account's document with everything that is always there; null removes nothing."""
    after = {name: value for name, value in document.items() if value is not None}
    after["Password"] = None
    after.setdefault("Locked", False)
    after.setdefault("PasswordChangeRequired", False)
    after.setdefault("AccountTypes", ACCOUNT_TYPES)
    role = {"@odata.id": f"{ROLES}/{after.get('RoleId')}"}
    after["Links"] = {**(after.get("Links") or {}), "Role": role}
    return after


def _refuse_disabled(tip: Tip) -> None:
    """Raise RedfishError 409 while AccountService is switched off."""
    if (tip.document(ACCOUNT_SERVICE) or {}).get("ServiceEnabled") is False:
        raise RedfishError(409, (messages.service_disabled(ACCOUNT_SERVICE),))


def _locking(body: Mapping[str, Any], *, locked: bool) -> list[Message]:
    """Return the message against a client's lock: locking is the service's, clients end a lock."""
    if body.get("Locked") is not True or locked:
        return []
    return [messages.property_value_not_in_list("true", "Locked", "#/Locked")]


def _refuse(uri: str, after: Mapping[str, Any], tip: Tip, *further: Message) -> None:
    """Raise RedfishError for values that can not be (400), all of them; then for a taken name."""
    told = [*_wrong_values(after), *further, *_wrong_role(after, tip)]
    if told:
        raise refusals.bad_content(*told)
    name = after["UserName"]
    taken = any(
        other != uri and document.get("UserName") == name for other, document in accounts_of(tip)
    )
    if taken:
        exists = messages.resource_already_exists
        raise RedfishError(409, (exists("ManagerAccount", "UserName", name, "#/UserName"),))


def _wrong_values(after: Mapping[str, Any]) -> Iterator[Message]:
    name = str(after.get("UserName", ""))
    if not _USER_NAME.fullmatch(name):
        yield messages.property_value_format_error(name, "UserName", "#/UserName")
    types = after["AccountTypes"]
    for position, value in enumerate(types):
        if value not in ACCOUNT_TYPES:
            place = f"#/AccountTypes/{position}"
            yield messages.property_value_not_in_list(str(value), "AccountTypes", place)
    if not types or len(set(types)) < len(types):
        yield messages.property_value_error("AccountTypes", "#/AccountTypes")


def _wrong_role(after: Mapping[str, Any], tip: Tip) -> Iterator[Message]:
    role_id = str(after.get("RoleId", ""))
    if "/" in role_id or not tip.exists(f"{ROLES}/{role_id}"):
        yield messages.property_value_not_in_list(role_id, "RoleId", "#/RoleId")


def _keep_administrator(uri: str, after: Mapping[str, Any] | None, tip: Tip) -> None:
    """Raise RedfishError 409 where nobody would be left who can undo the change."""
    able = {
        other: document.get("Locked") is not True
        for other, document in accounts_of(tip)
        if _administers(document) and tip.secret(other) is not None
    }
    stays = after is not None and _administers(after)
    # The lock of the last one lapses, so it counts; a lock of others may last for ever.
    others = any(unlocked for other, unlocked in able.items() if other != uri)
    if uri in able and not stays and not others:
        raise RedfishError(409, (messages.last_administrator(uri),))


def _administers(document: Mapping[str, Any]) -> bool:
    return document.get("RoleId") == ADMINISTRATOR and document.get("Enabled", True) is True


def _secret_edits(write: Write, uri: str, tip: Tip) -> tuple[Edit, ...]:
    if write.secret is None:
        return ()
    return (Edit(Space.SECRET, uri, tip.secret(uri), set_at(write.secret, tip.wall_s())),)
