"""Roles: which privileges a RoleId gives. The predefined ones are fixed, custom ones are documents.

Control tells every durable change (`apply`). Only standard privileges count: the service's
privilege map names no OEM privilege.
"""

import json
from collections.abc import Iterable, Mapping

from redfish_fm.redfish.changes import Edit, Space

ROLES = "/redfish/v1/AccountService/Roles"
"""The collection of roles."""

ADMINISTRATOR = "Administrator"
"""The predefined role that may do everything."""

_NOTHING: frozenset[str] = frozenset()
_BELOW = f"{ROLES}/"


class Roles:
    """All roles. `predefined` maps the Id of each fixed role to its privileges.

    `version` grows with every change, so that what was derived from a role can be kept.
    """

    def __init__(self, predefined: Mapping[str, frozenset[str]]) -> None:
        self._predefined = dict(predefined)
        self._custom: dict[str, frozenset[str]] = {}
        self.version = 0

    def load(self, spaces: Mapping[Space, Mapping[str, bytes]]) -> None:
        """Take over stored roles; call once."""
        documents = spaces.get(Space.DOCUMENT, {})
        self.apply(Edit(Space.DOCUMENT, uri, None, raw) for uri, raw in documents.items())

    def apply(self, edits: Iterable[Edit]) -> None:
        """Follow durable edits; those that are not about roles are ignored."""
        for edit in edits:
            if edit.space is not Space.DOCUMENT or not edit.key.startswith(_BELOW):
                continue
            role_id = edit.key.removeprefix(_BELOW)
            self._custom.pop(role_id, None)
            if edit.post is not None:
                assigned = json.loads(edit.post).get("AssignedPrivileges", ())
                self._custom[role_id] = frozenset(str(each) for each in assigned)
            self.version += 1

    def privileges(self, role_id: str) -> frozenset[str]:
        """Return the privileges of a role; none where there is no such role."""
        found = self._predefined.get(role_id)
        return self._custom.get(role_id, _NOTHING) if found is None else found
