"""Rules that zones and connections share: who may be named, and who may reach what.

Pure; one function per rule, listed in fabric.zoning.RULES. DESIGN section 5, rules 1, 4 and 6.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterator

from redfish_fm.fabric import reach
from redfish_fm.fabric.cases import Case, Finding, Member, finding
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.part_rules import shared_by_hosts
from redfish_fm.fabric.values import (
    Binder,
    Connection,
    Endpoint,
    EndpointGroup,
    Rule,
    Violation,
    VppbGrant,
    Zone,
)

UNAVAILABLE_STATES = frozenset({"Absent", "Disabled", "UnavailableOffline"})


def host_sharing(case: Case) -> Iterator[Finding]:
    """Rule 1: at most one host reaches an exclusive unit, over all zones and connections."""
    yield from shared_by_hosts(case)
    hosts = case.hosts()
    if not hosts or not case.grants():
        return
    pointers = case.pointers()
    for unit, cause in case.parts().items():
        rivals = case.index.rivals(unit, case.subject.id)
        inside = list(hosts) if case.index.exclusive(unit) else []
        stays = next((host for host in hosts if not rivals.keys() - {host}), None)
        for host in hosts:
            others = sorted({*rivals, *inside} - {host})
            if others:
                holders = sorted(held for other in others for held in rivals.get(other, ()))
                violation = Violation(
                    Rule.HOST_SHARING,
                    cause,
                    holders[0] if holders else None,
                    pointers.get(cause),
                    (host, *others),
                )
                yield Finding((Rule.HOST_SHARING, unit, host), violation, unit, host == stays)


def duplicate_member(case: Case) -> Iterator[Finding]:
    """Rule 6: nothing is named twice, not even once on each side of a connection."""
    seen: Counter[str] = Counter()
    references = [(member.id, member.pointer) for member in (*case.members(), *case.groups())]
    references += [(grant.id, grant.place) for grant in case.part_grants()]
    if isinstance(case.subject, Zone):
        zones = enumerate(case.subject.zones)
        references += [(zone, f"/Links/ContainsZones/{position}") for position, zone in zones]
    for id_, pointer in references:
        seen[id_] += 1
        if seen[id_] > 1:
            violation = Violation(Rule.DUPLICATE_MEMBER, id_, None, pointer)
            yield Finding((Rule.DUPLICATE_MEMBER, id_, seen[id_]), violation)


def unknown_member(case: Case) -> Iterator[Finding]:
    """Rule 6: every endpoint, group, zone and part that is named exists."""
    for member in case.members():
        if member.id not in case.index.endpoints:
            yield finding(Rule.UNKNOWN_MEMBER, member.id, pointer=member.pointer)
    for group in case.groups():
        if group.id not in case.index.groups:
            yield finding(Rule.UNKNOWN_MEMBER, group.id, pointer=group.pointer)
    for grant in case.part_grants():
        if grant.id not in _PARTS[grant.name](case):
            yield finding(Rule.UNKNOWN_MEMBER, grant.id, pointer=grant.place)
    if isinstance(case.subject, Zone):
        for position, zone in enumerate(case.subject.zones):
            if zone not in case.index.zones:
                pointer = f"/Links/ContainsZones/{position}"
                yield finding(Rule.UNKNOWN_MEMBER, zone, pointer=pointer)


_PARTS: dict[str, Callable[[Case], Container[str]]] = {
    "MemoryChunk": lambda case: case.index.chunks,
    "MemoryRegion": lambda case: case.index.regions,
    "Volume": lambda case: case.index.volumes,
}


def foreign_fabric(case: Case) -> Iterator[Finding]:
    """Rule 6: members, and on bind fabrics the units behind them, are of the subject's fabric.

    Only its own fabric's switches bind for it: a unit behind another's could never be released.
    """
    if isinstance(case.subject, Endpoint):
        for other, units in _other_fabrics(case, case.subject).items():
            yield finding(Rule.FOREIGN_FABRIC, case.subject.id, other, "/ConnectedEntities", units)
    for member, endpoint in case.known():
        if endpoint.fabric != case.fabric:
            yield finding(Rule.FOREIGN_FABRIC, member.id, endpoint.fabric, member.pointer)
            continue
        for other in _other_fabrics(case, endpoint):
            yield finding(Rule.FOREIGN_FABRIC, member.id, other, member.pointer)
    for named in case.groups():
        group = case.index.groups.get(named.id)
        if group is not None and group.fabric != case.fabric:
            yield finding(Rule.FOREIGN_FABRIC, named.id, group.fabric, named.pointer)
    if isinstance(case.subject, Zone):
        for position, zone in enumerate(case.subject.zones):
            inner = case.index.zones.get(zone)
            if inner is not None and inner.fabric != case.subject.fabric:
                pointer = f"/Links/ContainsZones/{position}"
                yield finding(Rule.FOREIGN_FABRIC, zone, inner.fabric, pointer)


def _other_fabrics(case: Case, endpoint: Endpoint) -> dict[str, list[str]]:
    """Return the other fabrics whose switches the endpoint's units need -> those units."""
    if case.kind is not FabricKind.BIND:
        return {}
    foreign: dict[str, list[str]] = {}
    for name in sorted(endpoint.units):
        unit = case.index.units.get(name)
        if unit is not None and unit.fabric not in (case.fabric, ""):
            foreign.setdefault(unit.fabric, []).append(name)
    return dict(sorted(foreign.items()))


def not_bindable(case: Case) -> Iterator[Finding]:
    """Rule 6: a new endpoint says what it is; on bind fabrics each side can do its part."""
    if isinstance(case.subject, Endpoint):
        if not case.has_entities and case.subject.id not in case.index.endpoints:
            yield finding(Rule.NOT_BINDABLE, case.subject.id, pointer="/ConnectedEntities")
    elif isinstance(case.subject, Zone | Connection) and case.kind is FabricKind.BIND:
        for member, endpoint in case.known():
            aimed_at = member.targeted and endpoint.role in reach.TARGETS
            whole = _bound_by_ways(case.index, endpoint) if aimed_at else None
            if whole is not None:
                yield finding(Rule.NOT_BINDABLE, member.id, whole, member.pointer)
            elif not _can(case, member, endpoint):
                yield finding(Rule.NOT_BINDABLE, member.id, pointer=member.pointer)


def _bound_by_ways(index: FabricIndex, endpoint: Endpoint) -> str | None:
    """Return a device of the endpoint that is bound by its heads or functions only.

    A zone with it would bind nothing, and hold every way to the device.
    """
    for unit_id in sorted(endpoint.units):
        unit = index.units.get(unit_id)
        if unit is not None and unit.binder is Binder.NOTHING:
            inside = (index.units.get(each) for each in index.units_within(unit_id))
            if any(each is not None and each.binder is Binder.ZONE for each in inside):
                return unit_id
    return None


def _can(case: Case, member: Member, endpoint: Endpoint) -> bool:
    """A target needs a unit that exists: what is no device can not be given to anybody."""
    known = any(unit in case.index.units for unit in endpoint.units)
    if member.initiates and member.targeted:
        return endpoint.role not in reach.TARGETS or known
    return endpoint.host is not None if member.initiates else known


def target_unavailable(case: Case) -> Iterator[Finding]:
    """Rule 6: new targets are there and healthy; initiators may be offline (the bind waits)."""
    targets = [(member.id, member.pointer) for member, _ in case.targets()]
    if isinstance(case.subject, VppbGrant):
        ends = case.index.endpoints_of_unit(case.subject.unit)
        targets = [(end, "/Links/Port") for end in sorted(ends)]
    for target, pointer in targets:
        state, health = case.status(target)
        if state in UNAVAILABLE_STATES or health == "Critical":
            others = tuple(text for text in (state, health) if text is not None)
            yield finding(Rule.TARGET_UNAVAILABLE, target, pointer=pointer, others=others)


def ld_fm_owned(case: Case) -> Iterator[Finding]:
    """Rule 4: the FM-owned LD (FFFFh) is given to nobody."""
    if not case.grants():
        return
    pointers = case.pointers()
    for unit, cause in case.parts().items():
        if reach.is_fm_owned(case.index.units.get(unit)):
            yield finding(Rule.LD_FM_OWNED, cause, unit, pointers.get(cause))


def mutually_exclusive(case: Case) -> Iterator[Finding]:
    """Rule 6: no zone holds two endpoints of which either excludes the other."""
    if isinstance(case.subject, Zone):
        known = dict.fromkeys(endpoint.id for _, endpoint in case.known())
        pointers = case.pointers()
        order = {id_: position for position, id_ in enumerate(known)}
        for one in known:
            for other in case.index.endpoints[one].excludes & known.keys() - {one}:
                first, second = sorted((one, other), key=order.__getitem__)
                yield _together(second, first, case.subject.id, pointers[second])
    elif isinstance(case.subject, Endpoint) and case.change:
        for other in sorted(case.subject.excludes - {case.subject.id}):
            common = case.index.zones_of(case.subject.id) & case.index.zones_of(other)
            for zone in sorted(common):
                yield _together(case.subject.id, other, zone, "/Links/MutuallyExclusiveEndpoints")


def _together(subject: str, other: str, zone: str, pointer: str) -> Finding:
    violation = Violation(Rule.MUTUALLY_EXCLUSIVE, subject, other, pointer, (zone,))
    return Finding((Rule.MUTUALLY_EXCLUSIVE, frozenset({subject, other}), zone), violation)


def group_in_use(case: Case) -> Iterator[Finding]:
    """Rule 6: an endpoint group that a connection names is not deleted."""
    if isinstance(case.subject, EndpointGroup) and case.removal:
        for holder in sorted(case.index.connections_of_group(case.subject.id)):
            yield finding(Rule.GROUP_IN_USE, case.subject.id, holder)


def connection_sides(case: Case) -> Iterator[Finding]:
    """Rule 3: a side of a connection names endpoints or groups, never both."""
    connection = case.subject
    if not isinstance(connection, Connection):
        return
    sides = (
        ("Initiator", connection.initiators, connection.initiator_groups),
        ("Target", connection.targets, connection.target_groups),
    )
    for side, endpoints, groups in sides:
        if endpoints and groups:
            yield finding(
                Rule.CONNECTION_SIDES,
                connection.id,
                f"Links/{side}EndpointGroups",
                f"/Links/{side}Endpoints",
            )
