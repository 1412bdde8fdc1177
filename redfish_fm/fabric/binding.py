"""Bindings: which ones a zone or connection wants, and what a change does to the recorded ones.

Pure. Knows vPPBs and targets; not how a command travels or how long it takes. The next steps
towards the wanted bindings are `plan`, offered here and written in fabric.planner.
DESIGN section 4 (wanted to hardware) and 6 (what binds by zone, what by connection).
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace

from redfish_fm.fabric import reach
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import FabricKind, Place, VppbId
from redfish_fm.fabric.planner import Plan, plan
from redfish_fm.fabric.targets import overlaps
from redfish_fm.fabric.values import (
    Binder,
    Binding,
    Connection,
    Rule,
    Unit,
    Violation,
    Zone,
    ZoneType,
)

__all__ = [
    "BindingDelta",
    "Claim",
    "Plan",
    "binding_delta",
    "binding_deltas",
    "is_stranded",
    "overlaps",
    "plan",
    "wanted_by_connection",
    "wanted_by_vppb",
    "wanted_by_zone",
]

Claim = tuple[str, str]
"""(unit id, host): this host is to have that unit bound."""

_BINDS = frozenset({FabricKind.BIND, FabricKind.CONNECTION_GRANTS})
"""Kinds of fabric whose connections bind what they name."""

_NOTHING_FIXED: Mapping[str, VppbId] = {}


def is_stranded(index: FabricIndex, binding: Binding) -> bool:
    """Return whether what was granted is no more, or not in that place: to bind it is wrong.

    What is in its place now is another's, and nobody granted it.
    """
    unit = index.units.get(binding.unit)
    return unit is None or unit.target not in (None, binding.target)


def wanted_by_zone(index: FabricIndex, zone: Zone) -> frozenset[Claim]:
    """Return what joining the zone binds: its zone-bound units for its hosts.

    Several hosts get what is shareable; what is exclusive is bound for nobody while there are
    several (imports only).
    """
    kind = index.facts(zone.fabric).kind
    if kind is not FabricKind.BIND or zone.zone_type is not ZoneType.ENDPOINTS:
        return frozenset()
    hosts = reach.zone_hosts(zone, index.endpoints)
    if not hosts:
        return frozenset()
    return frozenset(
        (unit, host)
        for unit in {unit for unit, _ in reach.zone_parts(zone, index.endpoints)}
        if _bindable(index, zone.fabric, unit, Binder.ZONE)
        if len(hosts) == 1 or not index.exclusive(unit)
        for host in hosts
    )


def wanted_by_connection(index: FabricIndex, connection: Connection) -> frozenset[Claim]:
    """Return what the connection binds: the parts that it names, for the hosts it names.

    A chunk stands for the LD it lies in, a region or volume for itself; a target that is named
    without any part binds nothing. What is exclusive is bound for nobody while there are several
    hosts (imports only). Where a fabric that binds has no zones (imports only), the connection
    also binds what else zones would: for hosts that have a virtual switch there.
    """
    facts = index.facts(connection.fabric)
    zoneless = facts.kind is FabricKind.BIND and not facts.zoned
    named = connection.chunks or connection.regions or connection.volumes
    if facts.kind not in _BINDS or not (named or zoneless):
        return frozenset()
    hosts = reach.connection_hosts(connection, index)
    cabled = {vcs.host for vcs in index.vcss.values()} if zoneless else frozenset()
    return frozenset(
        (unit, host)
        for unit in {unit for unit, _part in reach.connection_parts(connection, index)}
        if len(hosts) == 1 or not index.exclusive(unit)
        for host in hosts
        if (named and _bindable(index, connection.fabric, unit, Binder.CONNECTION))
        or (host in cabled and _bindable(index, connection.fabric, unit, Binder.ZONE))
    )


def wanted_by_vppb(index: FabricIndex, vppb: VppbId, unit_id: str | None) -> frozenset[Claim]:
    """Return what a vPPB binds whose port was named by a client: one zone-bound unit, or nothing.

    For the host of its virtual switch, and only a unit behind the same switch.
    """
    vcs = index.vcss.get((vppb.switch, vppb.vcs))
    if unit_id is None or vcs is None or vcs.host is None:
        return frozenset()
    if not _bindable(index, vcs.fabric, unit_id, Binder.ZONE):
        return frozenset()
    target = index.units[unit_id].target
    here = target is not None and target.switch == vppb.switch
    return frozenset({(unit_id, vcs.host)}) if here else frozenset()


def _bindable(index: FabricIndex, fabric: str, unit_id: str, binder: Binder) -> bool:
    unit = index.units.get(unit_id)
    if unit is None or unit.target is None or reach.is_fm_owned(unit):
        return False
    # Whoever looks after the holder's fabric would never see another fabric's unit bound.
    return unit.binder is binder and unit.fabric == fabric


@dataclass(frozen=True, slots=True)
class BindingDelta:
    """What new claims do to the recorded bindings.

    `changed` pairs (before, after) differ in holders only. Where a host has no other free vPPB,
    a vPPB in `released` may return in `granted`: apply `released` first, and keep it as releasing.
    `refused_units` are the units of `violations`, one for each.
    """

    granted: tuple[Binding, ...] = ()
    changed: tuple[tuple[Binding, Binding], ...] = ()
    released: tuple[Binding, ...] = ()
    violations: tuple[Violation, ...] = ()
    refused_units: tuple[str, ...] = ()


_UNCHANGED = BindingDelta()


def binding_delta(
    index: FabricIndex,
    holder: str,
    wanted: frozenset[Claim],
    occupied: Container[Place],
    causes: Mapping[str, str] | None = None,
    fixed: Mapping[str, VppbId] = _NOTHING_FIXED,
) -> BindingDelta:
    """Return `binding_deltas` of one holder."""
    return binding_deltas(index, {holder: wanted}, occupied, causes, fixed)


def binding_deltas(
    index: FabricIndex,
    wanted: Mapping[str, frozenset[Claim]],
    occupied: Container[Place],
    causes: Mapping[str, str] | None = None,
    fixed: Mapping[str, VppbId] = _NOTHING_FIXED,
) -> BindingDelta:
    """Compare `wanted` of each holder with what it keeps alive now; choose vPPBs for what is new.

    `occupied` are vPPBs that must not be chosen although nothing is wanted there: seen foreign,
    releasing or unsettled. `fixed` says for a unit which vPPB it has to be. A claim that can not
    be placed is a violation and not in the delta; its subject is the unit's entry in `causes`
    (what the client named), else an endpoint of it. Where the holder gave that already without its
    being bound (imports only), it may stay so.
    """
    held = {holder: index.bindings_of_holder(holder) for holder in wanted}
    if not any(wanted.values()) and not any(held.values()):
        return _UNCHANGED
    ledger = _Ledger(index, occupied, fixed)
    for holder, bindings in held.items():
        for binding in bindings:
            if (binding.unit, binding.host) not in wanted[holder]:
                ledger.leave(binding.vppb, holder)
    refused: list[tuple[str, Violation]] = []
    for holder, claims in wanted.items():
        have = {(binding.unit, binding.host) for binding in held[holder]}
        for unit_id, host in sorted(claims - have):
            subject = (causes or {}).get(unit_id)
            subject = subject or min(index.endpoints_of_unit(unit_id), default=unit_id)
            refusal = ledger.join(index.units[unit_id], host, holder, subject)
            if refusal is not None and (unit_id, host) not in _given_now(index, holder):
                refused.append((unit_id, refusal))
    return ledger.delta(refused)


def _given_now(index: FabricIndex, holder: str) -> frozenset[Claim]:
    """Return what a zone or connection gives as it stands in the index, bound or not."""
    zone, connection = index.zones.get(holder), index.connections.get(holder)
    if zone is not None and reach.routes(zone):
        hosts, parts = (
            reach.zone_hosts(zone, index.endpoints),
            reach.zone_parts(zone, index.endpoints),
        )
    elif connection is not None:
        hosts, parts = (
            reach.connection_hosts(connection, index),
            reach.connection_parts(connection, index),
        )
    else:
        return frozenset()
    return frozenset((unit, host) for unit, _part in parts for host in hosts)


class _Ledger:
    """The records that one delta touches, as they are going to be.

    A record without holders is given up, unless somebody joins it again. A new record takes a
    vPPB that is free; where there is none, one that this very delta gives up.
    """

    def __init__(
        self, index: FabricIndex, occupied: Container[Place], fixed: Mapping[str, VppbId]
    ) -> None:
        self._index = index
        self._occupied = occupied
        self._fixed = fixed
        self._kept: dict[VppbId, Binding] = {}
        self._made: dict[VppbId, Binding] = {}

    def __contains__(self, vppb: object) -> bool:
        return vppb in self._made or vppb in self._occupied

    def leave(self, vppb: VppbId, holder: str) -> None:
        """Take a holder out of a record."""
        record = self._kept.get(vppb) or self._index.bindings[vppb]
        self._kept[vppb] = replace(record, holders=record.holders - {holder})

    def join(self, unit: Unit, host: str, holder: str, subject: str) -> Violation | None:
        """Put a holder into the record that serves its claim, or into a new one."""
        records = self._records_of(unit.id)
        forced = self._fixed.get(unit.id)
        mine = [each for each in records if each.host == host]
        for record in sorted(mine, key=lambda each: (not each.holders, each.vppb)):
            if forced in (None, record.vppb):
                self._put(replace(record, holders=record.holders | {holder}))
                return None
        exclusive = self._index.exclusive(unit.id)
        for other in records:
            if other.holders and (exclusive or other.host == host):
                rule = Rule.VPPB_HELD if other.host == host else Rule.HOST_SHARING
                return Violation(rule, subject, min(other.holders), None, (host, other.host))
        for other in self._records_around(unit.id):
            if other.holders and other.host != host:
                rule = Rule.HOST_SHARING
                return Violation(rule, subject, min(other.holders), None, (host, other.host))
        return self._make(unit, host, holder, subject)

    def _records_around(self, unit_id: str) -> Iterator[Binding]:
        """Yield the records of exclusive units that contain the unit or lie within it.

        Rules refuse a change that gives these to two hosts; zones of an import may do so already.
        """
        index = self._index
        exclusive = index.exclusive(unit_id)
        for around in index.units_around(unit_id):
            if exclusive or index.exclusive(around):
                yield from self._records_of(around)

    def _make(self, unit: Unit, host: str, holder: str, subject: str) -> Violation | None:
        target = unit.target
        if target is None or not self._index.vcs_of_host(unit.fabric, host, target.switch):
            switch = None if target is None else target.switch
            return Violation(Rule.NO_PATH, subject, switch, None, (host, unit.id))
        vppb = self._choose(unit, host, target.switch)
        if vppb is None:
            return Violation(Rule.NO_FREE_VPPB, subject, target.switch, None, (host, unit.id))
        shared = not self._index.exclusive(unit.id)
        made = Binding(unit.fabric, unit.id, host, vppb, target, frozenset({holder}), shared)
        self._made[vppb] = made
        return None

    def _choose(self, unit: Unit, host: str, switch: str) -> VppbId | None:
        forced = self._fixed.get(unit.id)
        given_up = [
            vppb
            for vppb, record in sorted(self._kept.items())
            if not record.holders and record.host == host and vppb.switch == switch
            if vppb not in self
        ]
        if forced is not None:
            free = forced not in self._index.bindings and forced not in self
            return forced if free or forced in given_up else None
        vppb = self._index.free_vppb(unit.fabric, host, switch, self)
        return vppb or next(iter(given_up), None)

    def _records_of(self, unit_id: str) -> list[Binding]:
        known = self._index.bindings_of_unit(unit_id)
        made = (each for each in self._made.values() if each.unit == unit_id)
        kept = (self._kept.get(each.vppb, each) for each in known)
        # What this delta gives up and has already given to another unit is gone for good.
        return [*(each for each in kept if each.vppb not in self._made), *made]

    def _put(self, record: Binding) -> None:
        (self._made if record.vppb in self._made else self._kept)[record.vppb] = record

    def delta(self, refused: list[tuple[str, Violation]]) -> BindingDelta:
        """Return what the records say now, against what they said before."""
        kept = [(self._index.bindings[vppb], after) for vppb, after in self._kept.items()]
        return BindingDelta(
            tuple(self._made.values()),
            tuple(pair for pair in kept if pair[1].holders and pair[0] != pair[1]),
            tuple(before for before, after in kept if not after.holders),
            tuple(violation for _unit, violation in refused),
            tuple(unit for unit, _violation in refused),
        )
