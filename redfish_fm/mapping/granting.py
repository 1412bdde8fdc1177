"""From a judged change of holders or parts to the Draft that commits it with its hardware work.

Pure. The one place where violations, binding deltas, allocations and edits come together.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from redfish_fm.fabric.binding import BindingDelta, Claim, binding_deltas
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import Place, VppbId
from redfish_fm.fabric.values import Allocation, Binding, Rule, Violation
from redfish_fm.mapping.bindings import delta_edits
from redfish_fm.mapping.drafts import Draft, OperationDraft, TakeBack, Tip
from redfish_fm.mapping.membership import pointers
from redfish_fm.mapping.resources import document_edit
from redfish_fm.mapping.violations import refuse
from redfish_fm.redfish.changes import Edit
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.writes import OutcomeKind
from redfish_fm.values import value_class


@value_class
class Grant:
    """A judged change of one resource, not yet a draft. Most are holders (zone, connection).

    `document` None deletes it; `edits`, where given, are written instead of it. `wanted` are the
    (unit, host) pairs it is to hold from now on; `added` the members that are new in it, with the
    units each brings; `causes` is unit -> the first reference in the body that brings it, for
    refusals to name; `fixed` is unit -> the vPPB that it has to be bound to. `others` are further
    holders whose claims change with it (the connections of an endpoint group), each with all it
    is to hold. `allocated` and `freed` are parts of pools. `take_back`: what undoing means,
    where that does not follow from `kind`. `ways` is host -> the switch ports by which it is named:
    where one of them is on the unit's switch, its vPPBs are the ones to take. `places` says where
    the body names a cause, for refusals of the delta, which do not know. `told` is what the content
    of the body can not be whatever else is there; it is refused together with the rest.
    """

    kind: OutcomeKind
    uri: str
    fabric: str
    document: Mapping[str, Any] | None
    wanted: frozenset[Claim] = frozenset()
    violations: tuple[Violation, ...] = ()
    added: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pointers: Mapping[str, str] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)
    allocated: tuple[Allocation, ...] = ()
    freed: tuple[Allocation, ...] = ()
    others: Mapping[str, frozenset[Claim]] = field(default_factory=dict)
    fixed: Mapping[str, VppbId] = field(default_factory=dict)
    ways: Mapping[str, frozenset[str]] = field(default_factory=dict)
    edits: tuple[Edit, ...] | None = None
    take_back: TakeBack | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    told: tuple[Message, ...] = ()


_NOTHING_BOUND = BindingDelta()


def to_draft(grant: Grant, tip: Tip) -> Draft:
    """Return the draft of `grant`; raises RedfishError with everything that is against it."""
    delta = _delta(grant, tip)
    violations = _distinct((*grant.violations, *_not_told(grant, delta, tip)))
    refuse(grant.told, violations, grant.pointers)
    written = grant.edits
    if written is None:
        written = (document_edit(tip, grant.uri, grant.document),)
    edits = written if delta is _NOTHING_BOUND else (*written, *delta_edits(delta))
    return Draft(grant.kind, grant.uri, edits, _operation(grant, delta, tip))


def _delta(grant: Grant, tip: Tip) -> BindingDelta:
    """Choose vPPBs behind the ports that the endpoints name; where those are full, the host's."""
    if not (grant.wanted or grant.others or tip.index.bindings_of_holder(grant.uri)):
        return _NOTHING_BOUND
    wanted = {grant.uri: grant.wanted, **grant.others}
    if grant.ways:
        occupied = _OffTheWay(tip.index, tip.occupied, grant.ways)
        delta = binding_deltas(tip.index, wanted, occupied, grant.causes, grant.fixed)
        if all(each.rule is not Rule.NO_FREE_VPPB for each in delta.violations):
            return delta
    return binding_deltas(tip.index, wanted, tip.occupied, grant.causes, grant.fixed)


def ways_of(endpoints: Iterable[str], index: FabricIndex) -> dict[str, frozenset[str]]:
    """Return host -> the ports of its endpoints among `endpoints`."""
    ways: dict[str, frozenset[str]] = {}
    for uri in endpoints:
        endpoint = index.endpoints.get(uri)
        if endpoint is not None and endpoint.host is not None and endpoint.ports:
            ways[endpoint.host] = ways.get(endpoint.host, frozenset()) | endpoint.ports
    return ways


class _OffTheWay:
    """What must not be chosen: what is occupied, and vPPBs behind other ports than those named."""

    def __init__(
        self, index: FabricIndex, occupied: Container[Place], ways: Mapping[str, frozenset[str]]
    ) -> None:
        self._index = index
        self._occupied = occupied
        self._ways = ways

    def __contains__(self, place: object) -> bool:
        return place in self._occupied or (isinstance(place, VppbId) and self._is_off(place))

    def _is_off(self, vppb: VppbId) -> bool:
        vcs = self._index.vcss.get((vppb.switch, vppb.vcs))
        named = self._ways.get((vcs.host if vcs else None) or "")
        if vcs is None or vcs.host is None or not named or vcs.port in (None, *named):
            return False
        mine = self._index.vcs_of_host(vcs.fabric, vcs.host, vppb.switch)
        return any(other.port in named for other in mine)


_TELL_SHARING = frozenset({Rule.HOST_SHARING, Rule.LD_HOST, Rule.SHARING_NEEDS_REGION})
"""Rules that say of a unit that another host has it."""


def _not_told(grant: Grant, delta: BindingDelta, tip: Tip) -> Iterator[Violation]:
    """Yield what the delta refuses, but for second hosts that a rule has told of already."""
    if not delta.violations:
        return
    index = tip.index
    told = {each.subject for each in grant.violations if each.rule in _TELL_SHARING}
    sharing = {unit for subject in told for unit in _units_meant(subject, index)}
    sharing |= {unit for unit, cause in grant.causes.items() if cause in told}
    for unit, violation in zip(delta.refused_units, delta.violations, strict=True):
        if violation.rule is not Rule.HOST_SHARING or unit not in sharing:
            place = violation.pointer or grant.places.get(violation.subject)
            yield replace(violation, holder=_holder(violation, unit, tip), pointer=place)


def _holder(violation: Violation, unit: str, tip: Tip) -> str | None:
    """Return what the violation collides with, as a URI; the delta knows switches by their ids."""
    if violation.rule is not Rule.NO_PATH:
        return violation.holder
    known = tip.index.units.get(unit)
    if known is None or known.target is None:
        return unit
    return tip.facts.switch_uris.get((known.fabric, known.target.switch), unit)


def _units_meant(subject: str, index: FabricIndex) -> frozenset[str]:
    """Return the units that a violation about `subject` (part, endpoint or unit) is about."""
    if subject in index.chunks:
        return frozenset({index.chunks[subject].unit})
    if subject in index.endpoints:
        return index.endpoints[subject].units
    return frozenset({subject})


def _distinct(violations: Iterable[Violation]) -> list[Violation]:
    return list(dict.fromkeys(violations))


def _operation(grant: Grant, delta: BindingDelta, tip: Tip) -> OperationDraft | None:
    # A binding that another holder asked for may not be observed yet: joining it waits as well.
    joining = [pair for pair in delta.changed if pair[1].holders - pair[0].holders]
    granted = (*delta.granted, *(after for _before, after in joining))
    if not (granted or delta.released or grant.allocated or grant.freed):
        return None
    undone = _take_back(grant, granted)
    before = tip.wanted(grant.uri) if undone is TakeBack.REMOVE_MEMBERS else None
    return OperationDraft(
        grant.fabric,
        grant.uri,
        _resources(grant, delta),
        granted,
        tuple(pair for pair in delta.changed if pair not in joining),
        delta.released,
        undone,
        dict(grant.added),
        grant.allocated,
        grant.freed,
        tuple(pair for pair in joining if _is_established(pair[0], tip)),
        frozenset({grant.uri, *grant.others}),
        document_before=(before or b"").decode(),
        places=_places(grant),
    )


def _places(grant: Grant) -> dict[str, str]:
    """Return unit -> where the request names the member that brings it, of those it adds."""
    if not grant.added:
        return {}
    named = {**pointers(grant.document or {}), **grant.pointers}
    brought = ((unit, uri) for unit, uri in grant.causes.items() if uri in grant.added)
    return {unit: named[uri] for unit, uri in brought if uri in named}


def _resources(grant: Grant, delta: BindingDelta) -> frozenset[str]:
    """Return what takes no write meanwhile: what was written, its parts, who gains or loses."""
    records = (*delta.granted, *delta.released, *(each for pair in delta.changed for each in pair))
    holders = {holder for record in records for holder in record.holders & grant.others.keys()}
    parts = {part.holder for part in (*grant.allocated, *grant.freed)}
    return frozenset({grant.uri, *holders, *parts})


def _is_established(record: Binding, tip: Tip) -> bool:
    """Whether an earlier operation has ended with this binding: its contents are in use."""
    return any(tip.busy(holder) is None for holder in record.holders)


def _take_back(grant: Grant, granted: Sequence[Binding]) -> TakeBack:
    if not (granted or grant.allocated):
        return TakeBack.NOTHING
    if grant.take_back is not None:
        return grant.take_back
    return TakeBack.DELETE if grant.kind is OutcomeKind.CREATED else TakeBack.REMOVE_MEMBERS


def added_members(
    before: Iterable[str], after: Iterable[str], units: Mapping[str, frozenset[str]]
) -> dict[str, tuple[str, ...]]:
    """Return the members that only `after` has, each with the units it brings, sorted."""
    old = frozenset(before)
    return {uri: tuple(sorted(units.get(uri, ()))) for uri in after if uri not in old}


def causes(parts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return unit -> what brings it first, of (unit, what brings it) in the client's order."""
    first: dict[str, str] = {}
    for unit, cause in parts:
        first.setdefault(unit, cause)
    return first
