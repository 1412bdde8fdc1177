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
from redfish_fm.redfish.roles import ROLES
from redfish_fm.redfish.writes import OutcomeKind, Write

ADMINISTRATOR = "Administrator"
ACCOUNT_TYPES = ["Redfish"]
"""What an account can be used for, as AccountService.SupportedAccountTypes says."""

# No colon, which ends the user name in HTTP Basic; no white space, which nobody sees in a log.
_USER_NAME = re.compile(r"[^\s:\x00-\x1f\x7f]{1,64}")


def create(write: Write, tip: Tip) -> Draft:
    """Return the draft of POST Accounts."""
    if write.secret is None:
        raise refusals.bad_content(messages.property_missing("Password", "#/Password"))
    uri, document = new_document("ManagerAccount", write.uri, write.body, tip)
    document.setdefault("Enabled", True)
    if write.body.get("Name") is None:
        document["Name"] = f"Account of {write.body.get('UserName')}"
    after = _complete(document)
    _refuse(uri, after, tip)
    return Draft(
        OutcomeKind.CREATED, uri, (document_edit(tip, uri, after), *_secret_edits(write, uri, tip))
    )


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of PATCH on an account. Its user's own new password is no longer due."""
    before = stored(tip, write.uri)
    after = _complete(patched("ManagerAccount", before, write.body))
    if write.secret is not None and write.actor == before.get("UserName"):
        after["PasswordChangeRequired"] = write.body.get("PasswordChangeRequired") is True
    _refuse(write.uri, after, tip)
    _keep_administrator(write.uri, after, tip)
    edits = _secret_edits(write, write.uri, tip)
    if after != dict(before):
        edits = (document_edit(tip, write.uri, after), *edits)
    if not edits:
        return Draft(OutcomeKind.NO_OPERATION, write.uri)
    return Draft(OutcomeKind.CHANGED, write.uri, edits)


def delete(write: Write, tip: Tip) -> Draft:
    """Return the draft of DELETE; 409 for the last Administrator."""
    _keep_administrator(write.uri, None, tip)
    secret = tip.secret(write.uri)
    edits = () if secret is None else (Edit(Space.SECRET, write.uri, secret, None),)
    return Draft(OutcomeKind.DELETED, write.uri, (document_edit(tip, write.uri, None), *edits))


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


def _refuse(uri: str, after: Mapping[str, Any], tip: Tip) -> None:
    """Raise RedfishError for values that can not be (400), all of them; then for a taken name."""
    told = [*_wrong_values(after), *_wrong_role(after, tip)]
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
    if after["Locked"] is not False:
        # Locking is the service's; a client can only unlock.
        yield messages.property_value_not_in_list("true", "Locked", "#/Locked")
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
    able = {other for other, document in accounts_of(tip) if _is_able(document)}
    able = {other for other in able if tip.secret(other) is not None}
    if able == {uri} and (after is None or not _is_able(after)):
        raise RedfishError(409, (messages.last_administrator(uri),))


def _is_able(document: Mapping[str, Any]) -> bool:
    return (
        document.get("RoleId") == ADMINISTRATOR
        and document.get("Enabled", True) is True
        and document.get("Locked", False) is False
    )


def _secret_edits(write: Write, uri: str, tip: Tip) -> tuple[Edit, ...]:
    if write.secret is None:
        return ()
    return (Edit(Space.SECRET, uri, tip.secret(uri), set_at(write.secret, tip.wall_s())),)
