"""From a judged zone or connection to the Draft that commits it with its bindings.

Pure. The one place where violations, binding deltas and edits come together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from redfish_fm.fabric.binding import BindingDelta, binding_delta
from redfish_fm.fabric.values import Binding, Violation
from redfish_fm.mapping.bindings import delta_edits
from redfish_fm.mapping.drafts import Draft, OperationDraft, TakeBack, Tip
from redfish_fm.mapping.resources import document_edit
from redfish_fm.mapping.violations import to_error
from redfish_fm.redfish.writes import OutcomeKind


@dataclass(frozen=True, slots=True)
class Grant:
    """A judged change of one holder (zone or connection), not yet a draft.

    `document` None deletes it. `wanted` are the (unit, host) pairs it is to hold from now on;
    `added` the members that are new in it, with the units each brings; `causes` is unit -> the
    first reference in the body that brings it, for refusals to name.
    """

    kind: OutcomeKind
    uri: str
    fabric: str
    document: Mapping[str, Any] | None
    wanted: frozenset[tuple[str, str]]
    violations: tuple[Violation, ...] = ()
    added: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pointers: Mapping[str, str] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)


def to_draft(grant: Grant, tip: Tip) -> Draft:
    """Return the draft of `grant`; raises RedfishError with every violation there is."""
    delta = binding_delta(tip.index, grant.uri, grant.wanted, tip.occupied, grant.causes)
    violations = _distinct((*grant.violations, *delta.violations))
    if violations:
        raise to_error(violations, grant.pointers)
    edits = (document_edit(tip, grant.uri, grant.document), *delta_edits(delta))
    return Draft(grant.kind, grant.uri, edits, _operation(grant, delta))


def _distinct(violations: Iterable[Violation]) -> list[Violation]:
    return list(dict.fromkeys(violations))


def _operation(grant: Grant, delta: BindingDelta) -> OperationDraft | None:
    # A binding that another holder asked for may not be observed yet: joining it waits as well.
    joined = [(old, new) for old, new in delta.changed if grant.uri in new.holders]
    granted = (*delta.granted, *(new for _old, new in joined))
    if not granted and not delta.released:
        return None
    return OperationDraft(
        grant.fabric,
        grant.uri,
        frozenset({grant.uri}),
        granted,
        tuple(pair for pair in delta.changed if pair not in joined),
        delta.released,
        _take_back(grant, granted),
        dict(grant.added),
    )


def _take_back(grant: Grant, granted: tuple[Binding, ...]) -> TakeBack:
    if not granted:
        return TakeBack.NOTHING
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
