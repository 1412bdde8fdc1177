"""Endpoint writes: POST, PATCH, DELETE.

Pure. Redfish: Endpoint.v1_8_2. An endpoint that a zone or connection holds keeps its role, host
and units: changing them would move bindings behind the holder's back.
"""

from dataclasses import replace

from redfish_fm.fabric.zoning import check_endpoint, check_endpoint_removal
from redfish_fm.mapping import endpoint_form, refusals
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.judging import (
    Change,
    Document,
    DocumentRules,
    links_taken_out,
    plain_draft,
    plain_removal,
)
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.read import entities_of, members, read_endpoint
from redfish_fm.mapping.uris import fabric_of
from redfish_fm.mapping.violations import refuse
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message

EXCLUDED = "MutuallyExclusiveEndpoints"
_LISTS = ("LocalPorts", "ConnectedPorts", "Ports", "NetworkDeviceFunction", EXCLUDED)
"""Lists under Links that say what the endpoint is by naming resources that are there."""


def _judge(change: Change, tip: Tip) -> Draft:
    before, after = change.before, change.after
    endpoint = read_endpoint(change.uri, after, tip.facts)
    old = None if before is None else read_endpoint(change.uri, before, tip.facts)
    links = _bad_links(change.uri, before or {}, after, tip)
    lost = {pointer for each in links for pointer in each.related}
    known = [] if before is None else endpoint_form.wrong(change.uri, before, tip)
    form = [
        each
        for each in endpoint_form.wrong(change.uri, after, tip)
        # What a link means that leads nowhere is not to be judged.
        if each not in known and not lost.intersection(each.related)
    ]
    refuse([*links, *form], check_endpoint(tip.index, endpoint, old, bool(entities_of(after))))
    return plain_draft(change, tip)


def _remove(uri: str, _document: Document, tip: Tip) -> Draft:
    """Refuse (409, naming them) while zones or connections hold it.

    Address pools, the Default zone, and groups that no connection names let go of it.
    """
    draft = plain_removal(uri, tip, check_endpoint_removal(tip.index, uri))
    pools = tip.linked_by(uri, "/Links/AddressPools")
    naming = {*pools, *tip.index.groups_of(uri), *tip.index.zones_of(uri)}
    let_go = links_taken_out(uri, tip, naming, "Endpoints")
    return replace(draft, edits=(*draft.edits, *let_go))


RULES = DocumentRules("Endpoint", _judge, _remove)


def _bad_links(uri: str, before: Document, after: Document, tip: Tip) -> list[Message]:
    """Return what is wrong with the links that the write adds: none of them can be meant."""
    known = {target for _pointer, target in _references(before)}
    told = [
        refusals.missing_reference(target, pointer)
        for pointer, target in _references(after)
        if target not in known and not tip.exists(target)
    ]
    roles = [
        messages.property_missing(_role_pointer(n), f"#/{_role_pointer(n)}")
        for n, entity in enumerate(entities_of(after))
        if entity.get("EntityRole") is None and entity not in entities_of(before)
    ]
    strangers = [
        messages.property_value_resource_conflict(f"Links/{EXCLUDED}", target, uri, pointer)
        for pointer, target in _references(after)
        if EXCLUDED in pointer and target not in known and tip.exists(target)
        if fabric_of(target) != fabric_of(uri) or target not in tip.index.endpoints
    ]
    return [*told, *roles, *strangers]


def _role_pointer(n: int) -> str:
    return f"ConnectedEntities/{n}/EntityRole"


def _references(document: Document) -> list[tuple[str, str]]:
    """Return (JSON pointer, URI) of every resource that the endpoint names."""
    found = [
        (f"#/ConnectedEntities/{n}/EntityLink", uri)
        for n, entity in enumerate(entities_of(document))
        for uri in uris_at(entity, ["EntityLink"])
    ]
    for name in _LISTS:
        linked = members(document, f"Links/{name}")
        found.extend((f"#/Links/{name}/{n}", uri) for n, uri in enumerate(linked))
    return found
