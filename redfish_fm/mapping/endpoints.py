"""Endpoint writes: POST, PATCH, DELETE.

Pure. Redfish: Endpoint.v1_8_2. An endpoint that a zone or connection holds keeps its role, host
and units: changing them would move bindings behind the holder's back.
"""

from collections.abc import Mapping
from typing import Any

from redfish_fm.fabric.zoning import check_endpoint, check_endpoint_removal
from redfish_fm.mapping import refusals
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.read import entities_of, members, read_endpoint
from redfish_fm.mapping.resources import document_edit, new_document, patched, stored
from redfish_fm.mapping.violations import to_error
from redfish_fm.redfish import messages
from redfish_fm.redfish.writes import OutcomeKind, Write

_PORT_LISTS = ("LocalPorts", "ConnectedPorts", "Ports")


def create(write: Write, tip: Tip) -> Draft:
    """Return the draft of POST Endpoints; it needs at least one connected entity that exists."""
    uri, document = new_document("Endpoint", write.uri, write.body, tip)
    return _change(OutcomeKind.CREATED, uri, None, document, tip)


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of PATCH on a client-made endpoint."""
    before = stored(tip, write.uri)
    after = patched("Endpoint", before, write.body)
    return _change(OutcomeKind.CHANGED, write.uri, before, after, tip)


def delete(write: Write, tip: Tip) -> Draft:
    """Return the draft of DELETE; 409 naming the holders while anything holds it."""
    violations = check_endpoint_removal(tip.index, write.uri)
    if violations:
        raise to_error(violations)
    return Draft(OutcomeKind.DELETED, write.uri, (document_edit(tip, write.uri, None),))


def _change(
    kind: OutcomeKind,
    uri: str,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any],
    tip: Tip,
) -> Draft:
    if before is not None and dict(before) == dict(after):
        return Draft(OutcomeKind.NO_OPERATION, uri)
    _refuse_missing(before or {}, after, tip)
    endpoint = read_endpoint(uri, after, tip.facts)
    old = None if before is None else read_endpoint(uri, before, tip.facts)
    has_entities = bool(entities_of(after))
    violations = check_endpoint(tip.index, endpoint, old, has_entities)
    if violations:
        raise to_error(violations)
    return Draft(kind, uri, (document_edit(tip, uri, after),))


def _refuse_missing(before: Mapping[str, Any], after: Mapping[str, Any], tip: Tip) -> None:
    """Refuse links that the write adds and that lead nowhere (400), all of them at once."""
    known = {uri for _pointer, uri in _references(before)}
    told = [
        refusals.missing_reference(uri, pointer)
        for pointer, uri in _references(after)
        if uri not in known and not tip.exists(uri)
    ]
    roles = [
        messages.property_missing(_role_pointer(n), f"#/{_role_pointer(n)}")
        for n, entity in enumerate(entities_of(after))
        if entity.get("EntityRole") is None and entity not in entities_of(before)
    ]
    if told or roles:
        raise refusals.bad_content(*told, *roles)


def _role_pointer(n: int) -> str:
    return f"ConnectedEntities/{n}/EntityRole"


def _references(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (JSON pointer, URI) of every entity and port that the endpoint names."""
    found = [
        (f"#/ConnectedEntities/{n}/EntityLink", uri)
        for n, entity in enumerate(entities_of(document))
        for uri in uris_at(entity, ["EntityLink"])
    ]
    for name in _PORT_LISTS:
        ports = members(document, f"Links/{name}")
        found.extend((f"#/Links/{name}/{n}", uri) for n, uri in enumerate(ports))
    return found
