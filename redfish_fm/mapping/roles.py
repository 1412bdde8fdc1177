"""Role writes: POST, PATCH, DELETE of custom roles. The predefined ones never change.

Pure. Redfish: Role.v1_3_3. Id and RoleId of a role are one and the same.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from redfish_fm.mapping import refusals
from redfish_fm.mapping.accounts import accounts_of
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.resources import document_edit, new_document, patched, stored
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind, Write

NEVER_ASSIGNED = frozenset({"NoAuth"})
"""In the schema's list, but not a privilege that anybody can be given: it means "without login"."""


def create(write: Write, tip: Tip) -> Draft:
    """Return the draft of POST Roles."""
    role_id = _role_id(write.body)
    uri = f"{write.uri}/{role_id}"
    if tip.exists(uri):
        exists = messages.resource_already_exists("Role", "RoleId", role_id, "#/RoleId")
        raise RedfishError(409, (exists,))
    _, document = new_document("Role", write.uri, {**write.body, "Id": role_id}, tip)
    if write.body.get("Name") is None:
        document["Name"] = f"Role {role_id}"
    after = _complete(document)
    _refuse_unknown(after)
    return Draft(OutcomeKind.CREATED, uri, (document_edit(tip, uri, after),))


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of PATCH on a custom role."""
    before = stored(tip, write.uri)
    after = _complete(patched("Role", before, write.body))
    _refuse_unknown(after)
    if after == dict(before):
        return Draft(OutcomeKind.NO_OPERATION, write.uri)
    return Draft(OutcomeKind.CHANGED, write.uri, (document_edit(tip, write.uri, after),))


def delete(write: Write, tip: Tip) -> Draft:
    """Return the draft of DELETE; 409 naming an account while one has the role."""
    role_id = write.uri.rsplit("/", 1)[-1]
    users = [uri for uri, document in accounts_of(tip) if document.get("RoleId") == role_id]
    if users:
        raise RedfishError(409, (messages.role_in_use(role_id, users[0]),))
    return Draft(OutcomeKind.DELETED, write.uri, (document_edit(tip, write.uri, None),))


def _role_id(body: Mapping[str, Any]) -> str:
    role_id, wished = body.get("RoleId"), body.get("Id")
    if role_id is None and wished is None:
        raise refusals.bad_content(messages.property_missing("RoleId", "#/RoleId"))
    if None not in (role_id, wished) and role_id != wished:
        conflict = messages.property_value_conflict("Id", "RoleId", "#/Id", "#/RoleId")
        raise refusals.bad_content(conflict)
    return str(wished if role_id is None else role_id)


def _complete(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a role's document with everything that is always there."""
    after = {name: value for name, value in document.items() if value is not None}
    after["RoleId"] = after["Id"]
    after["IsPredefined"] = False
    after["AssignedPrivileges"] = _each_once(after.get("AssignedPrivileges", ()))
    after["OemPrivileges"] = []
    return after


def _each_once(privileges: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys(each for each in privileges if each is not None))


def _refuse_unknown(after: Mapping[str, Any]) -> None:
    told = [
        messages.property_value_not_in_list(
            value, "AssignedPrivileges", f"#/AssignedPrivileges/{n}"
        )
        for n, value in enumerate(after["AssignedPrivileges"])
        if value in NEVER_ASSIGNED
    ]
    if told:
        raise refusals.bad_content(*told)
