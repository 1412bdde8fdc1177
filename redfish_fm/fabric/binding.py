"""Bindings: which ones a zone or connection wants, and what a change does to the recorded ones.

Pure. Knows vPPBs and targets; not how a command travels or how long it takes. The next steps
towards the wanted bindings are `plan`, offered here and written in fabric.planner.
DESIGN section 4 (wanted to hardware) and 6 (what binds by zone, what by connection).
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

from redfish_fm.fabric import reach
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import FabricKind, VppbId
from redfish_fm.fabric.planner import Plan, overlaps, plan
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
    "overlaps",
    "plan",
    "wanted_by_connection",
    "wanted_by_zone",
]

Claim = tuple[str, str]
"""(unit id, host): this host is to have that unit bound."""


def wanted_by_zone(index: FabricIndex, zone: Zone) -> frozenset[Claim]:
    """Return what joining the zone binds: its zone-bound units for its one host.

    Nothing while the zone has no host, or (imports only) exclusive units and several hosts.
    """
    hosts = reach.zone_hosts(zone, index.endpoints)
    if not _binds(index, zone.fabric) or zone.zone_type is not ZoneType.ENDPOINTS:
        return frozenset()
    if len(hosts) != 1:
        return frozenset()
    (host,) = hosts
    units = {unit for unit, _ in reach.zone_parts(zone, index.endpoints)}
    return frozenset((unit, host) for unit in units if _bindable(index, zone, unit, Binder.ZONE))


def wanted_by_connection(index: FabricIndex, connection: Connection) -> frozenset[Claim]:
    """Return what the connection binds: the LDs in which its named chunks lie, for its host."""
    hosts = reach.connection_hosts(connection, index.endpoints)
    if not _binds(index, connection.fabric) or len(hosts) != 1 or not connection.chunks:
        return frozenset()
    (host,) = hosts
    units = {unit for unit, _ in reach.connection_parts(connection, index.endpoints, index.chunks)}
    return frozenset(
        (unit, host) for unit in units if _bindable(index, connection, unit, Binder.CONNECTION)
    )


def _binds(index: FabricIndex, fabric: str) -> bool:
    return index.facts(fabric).kind is FabricKind.BIND


def _bindable(index: FabricIndex, holder: Zone | Connection, unit_id: str, binder: Binder) -> bool:
    unit = index.units.get(unit_id)
    if unit is None or unit.target is None or reach.is_fm_owned(unit):
        return False
    # Whoever looks after the holder's fabric would never see another fabric's unit bound.
    return unit.binder is binder and unit.fabric == holder.fabric


@dataclass(frozen=True, slots=True)
class BindingDelta:
    """What one holder's new claims do to the recorded bindings.

    `changed` pairs (before, after) differ in holders only. Where a host has no other free vPPB,
    a vPPB in `released` may return in `granted`: apply `released` first, and keep it as releasing.
    """

    granted: tuple[Binding, ...] = ()
    changed: tuple[tuple[Binding, Binding], ...] = ()
    released: tuple[Binding, ...] = ()
    violations: tuple[Violation, ...] = ()


def binding_delta(
    index: FabricIndex,
    holder: str,
    wanted: frozenset[Claim],
    occupied: Container[VppbId],
    causes: Mapping[str, str] | None = None,
) -> BindingDelta:
    """Compare `wanted` with what `holder` keeps alive now; choose vPPBs for what is new.

    `occupied` are vPPBs that must not be chosen although nothing is wanted there: seen foreign,
    releasing or unsettled. A claim that can not be placed is a violation and not in the delta;
    its subject is the unit's entry in `causes` (what the client named), else an endpoint of it.
    """
    held = index.bindings_of_holder(holder)
    left = [binding for binding in held if (binding.unit, binding.host) not in wanted]
    released = tuple(binding for binding in left if binding.holders <= {holder})
    changed = [
        (binding, replace(binding, holders=binding.holders - {holder}))
        for binding in left
        if not binding.holders <= {holder}
    ]
    granted: list[Binding] = []
    violations: list[Violation] = []
    pool = _Pool(index, occupied, released)
    for unit_id, host in sorted(wanted - {(binding.unit, binding.host) for binding in held}):
        subject = (causes or {}).get(unit_id)
        subject = subject or min(index.endpoints_of_unit(unit_id), default=unit_id)
        placed = _place(index, index.units[unit_id], host, holder, pool, subject)
        if isinstance(placed, Violation):
            violations.append(placed)
            continue
        recorded = index.bindings.get(placed.vppb)
        if recorded is None or pool.leaving(recorded):
            granted.append(placed)
        else:
            changed.append((recorded, placed))
    return BindingDelta(tuple(granted), tuple(changed), released, tuple(violations))


class _Pool:
    """The vPPBs one delta may choose from: free ones first, then those it releases itself."""

    def __init__(
        self, index: FabricIndex, occupied: Container[VppbId], released: tuple[Binding, ...]
    ) -> None:
        self._index = index
        self._occupied = occupied
        self._released = list(released)
        self._chosen: set[VppbId] = set()

    def __contains__(self, vppb: object) -> bool:
        return vppb in self._chosen or vppb in self._occupied

    def leaving(self, binding: Binding) -> bool:
        """Return whether this very delta releases the binding."""
        return binding in self._released

    def take(self, fabric: str, host: str, switch: str) -> VppbId | None:
        """Choose a vPPB for one binding, or None."""
        vppb = self._index.free_vppb(fabric, host, switch, self)
        for binding in self._released:
            own = binding.host == host and binding.vppb.switch == switch
            if vppb is None and own and binding.vppb not in self:
                vppb = binding.vppb
        if vppb is not None:
            self._chosen.add(vppb)
        return vppb


def _place(
    index: FabricIndex, unit: Unit, host: str, holder: str, pool: _Pool, subject: str
) -> Binding | Violation:
    """Find the binding that serves one claim: an existing one, or a vPPB for a new one."""
    for binding in index.bindings_of_unit(unit.id):
        if binding.host == host and not pool.leaving(binding):
            return replace(binding, holders=binding.holders | {holder})
        if not pool.leaving(binding):
            return Violation(
                Rule.HOST_SHARING, subject, min(binding.holders), None, (host, binding.host)
            )
    if unit.target is None or not index.vcs_of_host(unit.fabric, host, unit.target.switch):
        switch = None if unit.target is None else unit.target.switch
        return Violation(Rule.NO_PATH, subject, switch, None, (host, unit.id))
    vppb = pool.take(unit.fabric, host, unit.target.switch)
    if vppb is None:
        return Violation(Rule.NO_FREE_VPPB, subject, unit.target.switch, None, (host, unit.id))
    return Binding(unit.fabric, unit.id, host, vppb, unit.target, frozenset({holder}))
