"""PATCH of a vPPB's Links.Port: what a client binds to one vPPB itself, or (null) takes off it.

Pure. Redfish: VirtualPCI2PCIBridge.v1_0_0. The port is wanted state, laid over the discovered
vPPB; the vPPB's URI holds the binding as a zone would. What somebody else bound there is not ours
to take away (DESIGN section 4): it is refused, whichever port is asked for.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from redfish_fm.fabric.binding import wanted_by_vppb
from redfish_fm.fabric.model import PortRole, VppbId
from redfish_fm.fabric.values import Rule, Violation
from redfish_fm.fabric.zoning import check_vppb
from redfish_fm.mapping import generic, refusals
from redfish_fm.mapping.drafts import Draft, TakeBack, Tip
from redfish_fm.mapping.granting import Grant, to_draft
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.read import unit_behind
from redfish_fm.mapping.violations import to_error
from redfish_fm.redfish import messages
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind, Write

_POINTER = "#/Links/Port"


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of a PATCH on a vPPB. Raises RedfishError with every reason against it."""
    links = write.body.get("Links")
    place = tip.facts.vppb_at(write.uri)
    if not isinstance(links, Mapping) or "Port" not in links:
        return generic.patch(write, tip)
    if place is None:
        # An import that no driver stands behind: nobody would carry it out.
        raise refusals.bad_content(messages.property_not_writable("Port", _POINTER))
    fabric, vppb = place
    port = next(uris_at(links, ["Port"]), None)
    if port is None:
        return _unbound(write.uri, fabric, vppb, tip)
    return _bound(write.uri, fabric, vppb, port, tip)


def _bound(uri: str, fabric: str, vppb: VppbId, port: str, tip: Tip) -> Draft:
    unit = _unit_at(port, fabric, vppb, tip)
    vcs = tip.index.vcss.get((vppb.switch, vppb.vcs))
    host = None if vcs is None else vcs.host
    if host is None:
        switch = tip.facts.switch_uris.get((fabric, vppb.switch), uri)
        raise to_error([Violation(Rule.NO_PATH, port, switch, _POINTER)])
    grant = tip.index.vppb_grants.get(uri)
    if grant is not None and grant.unit == unit and _port(tip.overlay(uri)) == port:
        return Draft(OutcomeKind.NO_OPERATION, uri)
    found = check_vppb(tip.index, vppb, unit, host, holder=uri, status=tip.status)
    if not found:
        _refuse_foreign(uri, vppb, port, tip)
    found = [_as_asked(each, port, unit) for each in found]
    wanted = wanted_by_vppb(tip.index, vppb, unit)
    asked = Grant(
        OutcomeKind.CHANGED,
        uri,
        fabric,
        None,
        wanted,
        tuple(found),
        pointers={port: _POINTER, unit: _POINTER},
        causes={unit: port},
        fixed={unit: vppb},
        edits=(_overlay(uri, port, tip),),
        take_back=TakeBack.CLEAR_PORT,
    )
    return to_draft(asked, tip)


def _as_asked(violation: Violation, port: str, unit: str) -> Violation:
    """Return the violation about the port, which is what the client named, not what is behind."""
    if violation.rule is Rule.TARGET_UNAVAILABLE:
        return replace(violation, subject=port, holder=violation.subject)
    return replace(violation, subject=port) if violation.subject == unit else violation


def _unbound(uri: str, fabric: str, vppb: VppbId, tip: Tip) -> Draft:
    found = check_vppb(tip.index, vppb, None, "", holder=uri)
    if not found and uri not in tip.index.vppb_grants:
        _refuse_foreign(uri, vppb, "null", tip)
        return Draft(OutcomeKind.NO_OPERATION, uri)
    kind, edits = OutcomeKind.CHANGED, (_overlay(uri, None, tip),)
    return to_draft(Grant(kind, uri, fabric, None, violations=tuple(found), edits=edits), tip)


def _unit_at(port: str, fabric: str, vppb: VppbId, tip: Tip) -> str:
    """Return the unit that is bound as a whole behind `port`. Raises RedfishError."""
    if not tip.exists(port):
        raise refusals.bad_content(refusals.missing_reference(port, _POINTER))
    place = tip.facts.port_at(port)
    if place is None or place[1].switch != vppb.switch:
        switch = tip.facts.switch_uris.get((fabric, vppb.switch), port)
        told = messages.property_value_resource_conflict("Links/Port", port, switch, _POINTER)
        raise refusals.bad_content(told)
    if (tip.document(port) or {}).get("PortType") == PortRole.UPSTREAM.value:
        # A host is there: nothing that is plugged in later could be bound.
        told = messages.property_value_resource_conflict("Links/Port", port, port, _POINTER)
        raise refusals.bad_content(told)
    plugged = tip.facts.port_units.get(port)
    if not plugged:
        raise to_error([Violation(Rule.TARGET_UNAVAILABLE, port, port, _POINTER)])
    unit = unit_behind(port, fabric, tip.facts)
    if unit is None:
        raise to_error([Violation(Rule.VPPB_WRONG_UNIT, port, None, _POINTER)])
    return unit


def _refuse_foreign(uri: str, vppb: VppbId, asked: str, tip: Tip) -> None:
    """Refuse (409) a vPPB that is seen bound by others, or whose release is not seen yet."""
    if vppb in tip.occupied and vppb not in tip.index.bindings:
        told = messages.property_value_resource_conflict("Links/Port", asked, uri, _POINTER)
        raise RedfishError(409, (told, messages.resource_in_use()))


def _overlay(uri: str, port: str | None, tip: Tip) -> Edit:
    """Return the edit after which the vPPB's overlay names `port`, or none."""
    raw = tip.overlay(uri)
    after: dict[str, Any] = {} if raw is None else msgspec.json.decode(raw)
    links = {name: value for name, value in (after.get("Links") or {}).items() if name != "Port"}
    if port is not None:
        links["Port"] = {"@odata.id": port}
    after.pop("Links", None)
    if links:
        after["Links"] = links
    post = msgspec.json.encode(after, order="sorted") if after else None
    return Edit(Space.OVERLAY, uri, raw, post)


def _port(overlay: bytes | None) -> str | None:
    found = None if overlay is None else msgspec.json.decode(overlay)
    return next(uris_at(found, ["Links", "Port"]), None)
