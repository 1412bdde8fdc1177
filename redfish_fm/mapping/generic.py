"""Writes that touch no isolation: overlays over inventory, and documents without rules.

Pure. What may be written was decided by the catalog before; here the change is made. An overlay
is a merge patch whose arrays are complete, so laying it over fresh inventory gives the client's
values whatever was discovered since.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from redfish_fm.mapping import refusals
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.resources import document_edit, patched, stored
from redfish_fm.redfish import messages
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.writes import OutcomeKind, Write

SECRETS = frozenset({"Password", "SNMP", "HttpHeaders"})
"""Properties that never enter a document (DESIGN section 3, homes of secrets)."""


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of a PATCH on a resource without rules of its own."""
    before = stored(tip, write.uri)
    secrets = sorted(SECRETS & set(write.body))
    if secrets:
        told = (messages.property_not_writable(each, f"#/{each}") for each in secrets)
        raise refusals.bad_content(*told)
    after = patched(write.type_name, before, write.body)
    if dict(before) == after:
        return Draft(OutcomeKind.NO_OPERATION, write.uri)
    if tip.is_wanted(write.uri):
        edit = document_edit(tip, write.uri, after)
    else:
        edit = _overlay_edit(write.uri, write.body, after, tip)
    return Draft(OutcomeKind.CHANGED, write.uri, (edit,))


def delete(write: Write, tip: Tip) -> Draft:
    """Return the draft of a DELETE of a client-made document."""
    return Draft(OutcomeKind.DELETED, write.uri, (document_edit(tip, write.uri, None),))


def _overlay_edit(uri: str, body: Mapping[str, Any], after: Mapping[str, Any], tip: Tip) -> Edit:
    raw = tip.overlay(uri)
    overlay = {} if raw is None else msgspec.json.decode(raw)
    post = msgspec.json.encode(_cover(overlay, body, after), order="sorted")
    return Edit(Space.OVERLAY, uri, raw, post)


def _cover(
    overlay: Mapping[str, Any], body: Mapping[str, Any], after: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the overlay that also gives, for everything `body` names, what `after` has there."""
    covered = dict(overlay)
    for name, wish in body.items():
        if name.startswith("@odata."):
            continue
        result, below = after.get(name), covered.get(name)
        if isinstance(wish, Mapping) and isinstance(result, Mapping):
            covered[name] = _cover(below if isinstance(below, Mapping) else {}, wish, result)
        else:
            covered[name] = result
    return covered
