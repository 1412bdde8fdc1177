"""Zone writes: POST, PATCH, DELETE, AddEndpoint, RemoveEndpoint.

Pure. Redfish: Zone.v1_6_3. What a zone means on each kind of fabric is decided in fabric; here
requests are read, judged and turned into drafts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from redfish_fm.fabric.binding import wanted_by_zone
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.reach import zone_parts
from redfish_fm.fabric.values import Rule, Violation, Zone, ZoneType
from redfish_fm.fabric.zoning import check_zone, check_zone_removal
from redfish_fm.mapping import refusals
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.granting import Grant, added_members, causes, to_draft
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.read import read_zone
from redfish_fm.mapping.resources import document_edit, new_document, patched, stored
from redfish_fm.mapping.violations import to_error
from redfish_fm.redfish import messages
from redfish_fm.redfish.changes import Edit
from redfish_fm.redfish.writes import OutcomeKind, Write


def create(write: Write, tip: Tip) -> Draft:
    """Return the draft of POST Zones; a missing ZoneType means ZoneOfEndpoints."""
    uri, document = new_document("Zone", write.uri, write.body, tip)
    document.setdefault("ZoneType", ZoneType.ENDPOINTS.value)
    document.setdefault("Links", {}).setdefault("Endpoints", [])
    return _change(OutcomeKind.CREATED, uri, None, document, tip)


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of PATCH on a client-made zone."""
    before = stored(tip, write.uri)
    after = patched("Zone", before, write.body)
    return _change(OutcomeKind.CHANGED, write.uri, before, after, tip)


def delete(write: Write, tip: Tip) -> Draft:
    """Return the draft of DELETE: everything that only this zone held is released.

    Zones that contain it do not hold it; they lose the link, which would lead nowhere.
    """
    before = stored(tip, write.uri)
    zone = read_zone(write.uri, before)
    if zone.zone_type is ZoneType.DEFAULT:
        raise refusals.not_deletable()
    violations = tuple(check_zone_removal(tip.index, write.uri))
    grant = Grant(
        OutcomeKind.DELETED, write.uri, zone.fabric, None, frozenset(), violations=violations
    )
    draft = to_draft(grant, tip)
    return replace(draft, edits=(*draft.edits, *_let_go(write.uri, tip)))


def _let_go(uri: str, tip: Tip) -> Iterator[Edit]:
    """Yield the edits that take a zone out of every zone that contains it."""
    for outer in sorted(tip.index.zones_above(uri)):
        document = dict(stored(tip, outer))
        links = dict(document["Links"])
        inner = links["ContainsZones"]
        links["ContainsZones"] = [each for each in inner if uri not in uris_at(each, [])]
        yield document_edit(tip, outer, {**document, "Links": links})


def act(write: Write, tip: Tip) -> Draft:
    """Return the draft of Zone.AddEndpoint or Zone.RemoveEndpoint; others are not supported."""
    before = stored(tip, write.uri)
    adds = write.action == "Zone.AddEndpoint"
    if not adds and write.action != "Zone.RemoveEndpoint":
        raise refusals.action_not_supported(write.action or "")
    endpoint = _endpoint_parameter(write)
    if not tip.exists(endpoint):
        raise refusals.bad_content(refusals.missing_reference(endpoint, "#/Endpoint"))
    after = _with_endpoint(before, endpoint) if adds else _without_endpoint(before, endpoint)
    pointers = {endpoint: "#/Endpoint"}
    return _change(OutcomeKind.CHANGED, write.uri, before, after, tip, pointers)


def _endpoint_parameter(write: Write) -> str:
    """Read Endpoint, which clients send as {"@odata.id"} or as a string (DESIGN section 6)."""
    value = write.body.get("Endpoint")
    if isinstance(value, str):
        return value.rstrip("/")
    for uri in uris_at(value, []):
        return uri
    told = messages.action_parameter_missing(write.action or "", "Endpoint", "#/Endpoint")
    raise refusals.bad_content(told)


def _links_endpoints(document: Mapping[str, Any]) -> list[Any]:
    return list((document.get("Links") or {}).get("Endpoints") or [])


def _set_endpoints(document: Mapping[str, Any], endpoints: list[Any]) -> dict[str, Any]:
    return {**document, "Links": {**(document.get("Links") or {}), "Endpoints": endpoints}}


def _with_endpoint(document: Mapping[str, Any], uri: str) -> dict[str, Any]:
    present = _links_endpoints(document)
    if uri in uris_at(present, []):
        return dict(document)
    return _set_endpoints(document, [*present, {"@odata.id": uri}])


def _without_endpoint(document: Mapping[str, Any], uri: str) -> dict[str, Any]:
    present = _links_endpoints(document)
    if uri not in uris_at(present, []):
        return dict(document)
    return _set_endpoints(document, [each for each in present if uri not in uris_at(each, [])])


def _change(
    kind: OutcomeKind,
    uri: str,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any],
    tip: Tip,
    pointers: Mapping[str, str] | None = None,
) -> Draft:
    if before is not None and dict(before) == dict(after):
        return Draft(OutcomeKind.NO_OPERATION, uri)
    zone = read_zone(uri, after)
    old = None if before is None else read_zone(uri, before)
    _refuse_busy_parts(zone, old, tip)
    _refuse_wide_access(zone, before or {}, after, tip)
    violations = _not_from_clients(zone, old, after)
    violations.extend(check_zone(tip.index, zone, old, tip.status))
    if violations and any(each.rule in _UNREADABLE for each in violations):
        # Bindings of a zone that names nothing real would only add noise.
        raise to_error(dict.fromkeys(violations), pointers)
    members = added_members(old.endpoints if old else (), zone.endpoints, _units(zone, tip))
    wanted = wanted_by_zone(tip.index, zone)
    brought = causes(zone_parts(zone, tip.index.endpoints))
    grant = Grant(
        kind, uri, zone.fabric, after, wanted, tuple(violations), members, pointers or {}, brought
    )
    return to_draft(grant, tip)


_UNREADABLE = frozenset({Rule.UNKNOWN_MEMBER, Rule.FOREIGN_FABRIC, Rule.ZONE_TYPE})


def _units(zone: Zone, tip: Tip) -> dict[str, frozenset[str]]:
    known = tip.index.endpoints
    return {uri: known[uri].units for uri in zone.endpoints if uri in known}


def _not_from_clients(zone: Zone, old: Zone | None, document: Mapping[str, Any]) -> list[Violation]:
    """Default zones are kept by the service; ResourceBlocks zones live elsewhere; names count."""
    kind = zone.zone_type
    changed = old is None or old.zone_type is not kind
    unknown = document.get("ZoneType") not in {None, *(each.value for each in ZoneType)}
    closed = kind in (ZoneType.DEFAULT, ZoneType.RESOURCE_BLOCKS)
    if unknown or (changed and (closed or (old and old.zone_type is ZoneType.DEFAULT))):
        return [Violation(Rule.ZONE_TYPE, zone.id, pointer="#/ZoneType")]
    return []


_INSIDE_ONLY = frozenset({None, "ZoneOnly", "NoInternalRouting"})
"""Zone.ExternalAccessibility where access is bound: whatever is bound is nobody else's."""


def _refuse_wide_access(
    zone: Zone, before: Mapping[str, Any], after: Mapping[str, Any], tip: Tip
) -> None:
    """Refuse (400) access from outside the zone on bind fabrics (DESIGN section 5, rule 6)."""
    name = "ExternalAccessibility"
    asked = after.get(name)
    bound = tip.index.facts(zone.fabric).kind is FabricKind.BIND
    if bound and asked != before.get(name) and asked not in _INSIDE_ONLY:
        told = messages.property_value_not_in_list(str(asked), name, f"#/{name}")
        raise refusals.bad_content(told)


def _refuse_busy_parts(zone: Zone, old: Zone | None, tip: Tip) -> None:
    """A zone under change may be taken back, so no other zone may come to contain it."""
    for uri in zone.zones:
        task = tip.busy(uri)
        if task is not None and (old is None or uri not in old.zones):
            raise refusals.busy(task)
