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
from redfish_fm.mapping.granting import Grant, added_members, causes, to_draft, ways_of
from redfish_fm.mapping.judging import (
    Change,
    Document,
    DocumentRules,
    link_parameter,
    links_taken_out,
    unless_busy,
)
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.read import read_zone
from redfish_fm.mapping.resources import stored
from redfish_fm.mapping.resting import task_left
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.writes import OutcomeKind, Write

_OF_ENDPOINTS = ZoneType.ENDPOINTS.value


def _complete(document: dict[str, Any]) -> None:
    """A missing ZoneType means ZoneOfEndpoints."""
    document.setdefault("ZoneType", _OF_ENDPOINTS)
    document.setdefault("Links", {}).setdefault("Endpoints", [])


def _remove(uri: str, document: Document, tip: Tip) -> Draft:
    """Release everything that only this zone held.

    Zones that contain it and address pools that serve it do not hold it; they lose the link,
    which would lead nowhere.
    """
    zone = read_zone(uri, document)
    if zone.zone_type is ZoneType.DEFAULT:
        raise refusals.kept()
    violations = tuple(check_zone_removal(tip.index, uri))
    grant = Grant(OutcomeKind.DELETED, uri, zone.fabric, None, frozenset(), violations=violations)
    draft = unless_busy(task_left(zone, None, tip), lambda: to_draft(grant, tip))
    let_go = (
        *links_taken_out(uri, tip, tip.index.zones_above(uri), "ContainsZones"),
        *links_taken_out(uri, tip, tip.linked_by(uri, "/Links/AddressPools"), "Zones"),
    )
    return replace(draft, edits=(*draft.edits, *let_go))


def act(write: Write, tip: Tip) -> Draft:
    """Return the draft of Zone.AddEndpoint or Zone.RemoveEndpoint; others are not supported.

    Adding a member, or removing what is none, changes nothing (204): a client may ask again.
    """
    before = stored(tip, write.uri)
    adds = write.action == "Zone.AddEndpoint"
    if not adds and write.action != "Zone.RemoveEndpoint":
        raise refusals.action_not_supported(write.action or "")
    endpoint = link_parameter(write, "Endpoint", tip)
    after = _with_endpoint(before, endpoint) if adds else _without_endpoint(before, endpoint)
    return RULES.replace(write.uri, before, after, tip, {endpoint: "#/Endpoint"})


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


def _judge(change: Change, tip: Tip) -> Draft:
    zone = read_zone(change.uri, change.after)
    old = None if change.before is None else read_zone(change.uri, change.before)
    violations = (
        *_not_from_clients(zone, old, change),
        *check_zone(tip.index, zone, old, tip.status),
    )
    grant = Grant(
        change.kind,
        change.uri,
        zone.fabric,
        change.after,
        violations=violations,
        pointers=change.pointers,
        told=tuple(_wide_access(zone, change, tip)),
        # Many zones are made empty and filled later: nothing follows from members there are none.
        **(_of_members(zone, old, tip) if zone.endpoints else {}),
    )
    task = _busy_part(zone, old, tip) if zone.zones else None
    if task is None and old is not None:
        task = task_left(old, zone, tip)
    if task is None:
        return to_draft(grant, tip)
    return unless_busy(task, lambda: to_draft(grant, tip))


def _of_members(zone: Zone, old: Zone | None, tip: Tip) -> dict[str, Any]:
    """Return what a Grant says because of the endpoints that the zone names."""
    return {
        "wanted": wanted_by_zone(tip.index, zone),
        "added": added_members(old.endpoints if old else (), zone.endpoints, _units(zone, tip)),
        "causes": causes(zone_parts(zone, tip.index.endpoints)),
        "ways": ways_of(zone.endpoints, tip.index),
    }


def _units(zone: Zone, tip: Tip) -> dict[str, frozenset[str]]:
    known = tip.index.endpoints
    return {uri: known[uri].units for uri in zone.endpoints if uri in known}


_TYPES = frozenset(each.value for each in ZoneType)
_KEPT = frozenset({ZoneType.DEFAULT, ZoneType.RESOURCE_BLOCKS})
"""Default zones are made by the service, zones of resource blocks live under CompositionService."""


def _not_from_clients(zone: Zone, old: Zone | None, change: Change) -> list[Violation]:
    """A zone says what it is when it is made, and stays that; not every type is for clients."""
    named = change.after.get("ZoneType")
    if old is None:
        wrong = named not in _TYPES or zone.zone_type in _KEPT
    else:
        # An import may leave the type out; saying what it means changes nothing.
        before = (change.before or {}).get("ZoneType")
        wrong = named != before and (named not in _TYPES or zone.zone_type is not old.zone_type)
    return [Violation(Rule.ZONE_TYPE, zone.id, pointer="#/ZoneType")] if wrong else []


_INSIDE_ONLY = frozenset({None, "ZoneOnly", "NoInternalRouting"})
"""Zone.ExternalAccessibility where access is bound: whatever is bound is nobody else's."""


def _wide_access(zone: Zone, change: Change, tip: Tip) -> Iterator[Message]:
    """Tell access from outside the zone on bind fabrics (DESIGN section 5, rule 6)."""
    name = "ExternalAccessibility"
    asked = change.after.get(name)
    if asked == (change.before or {}).get(name) or asked in _INSIDE_ONLY:
        return
    if tip.index.facts(zone.fabric).kind is FabricKind.BIND:
        yield messages.property_value_not_in_list(str(asked), name, f"#/{name}")


def _busy_part(zone: Zone, old: Zone | None, tip: Tip) -> str | None:
    """Return the Task of a zone that another one must not come to contain: it may be taken back."""
    added = (uri for uri in zone.zones if old is None or uri not in old.zones)
    return next((task for uri in added if (task := tip.busy(uri)) is not None), None)


RULES = DocumentRules("Zone", _judge, _remove, _complete)
