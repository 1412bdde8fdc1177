"""Rules that zones and connections share: who may be named, and who may reach what.

Pure; one function per rule, listed in fabric.zoning.RULES. DESIGN section 5, rules 1, 4 and 6.
"""

from collections import Counter
from collections.abc import Iterator

from redfish_fm.fabric import reach
from redfish_fm.fabric.cases import Case, Finding, Member, chunk_pointer, finding
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import Connection, Endpoint, Rule, Violation, Zone

UNAVAILABLE_STATES = frozenset({"Absent", "Disabled", "UnavailableOffline"})


def host_sharing(case: Case) -> Iterator[Finding]:
    """Rule 1: at most one host reaches an exclusive unit, over all zones and connections."""
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
    references = [(member.id, member.pointer) for member in case.members()]
    if isinstance(case.subject, Connection):
        grants = enumerate(case.subject.chunks)
        references += [(grant.chunk, chunk_pointer(position)) for position, grant in grants]
    if isinstance(case.subject, Zone):
        zones = enumerate(case.subject.zones)
        references += [(zone, f"/Links/ContainsZones/{position}") for position, zone in zones]
    for id_, pointer in references:
        seen[id_] += 1
        if seen[id_] > 1:
            violation = Violation(Rule.DUPLICATE_MEMBER, id_, None, pointer)
            yield Finding((Rule.DUPLICATE_MEMBER, id_, seen[id_]), violation)


def unknown_member(case: Case) -> Iterator[Finding]:
    """Rule 6: every endpoint, zone and chunk that is named exists."""
    for member in case.members():
        if member.id not in case.index.endpoints:
            yield finding(Rule.UNKNOWN_MEMBER, member.id, pointer=member.pointer)
    if isinstance(case.subject, Connection):
        for position, grant in enumerate(case.subject.chunks):
            if grant.chunk not in case.index.chunks:
                pointer = chunk_pointer(position)
                yield finding(Rule.UNKNOWN_MEMBER, grant.chunk, pointer=pointer)
    if isinstance(case.subject, Zone):
        for position, zone in enumerate(case.subject.zones):
            if zone not in case.index.zones:
                pointer = f"/Links/ContainsZones/{position}"
                yield finding(Rule.UNKNOWN_MEMBER, zone, pointer=pointer)


def foreign_fabric(case: Case) -> Iterator[Finding]:
    """Rule 6: members, and on bind fabrics the units behind them, are of the subject's fabric.

    Only its own fabric's switches bind for it: a unit behind another's could never be released.
    """
    if isinstance(case.subject, Endpoint):
        for other in _other_fabrics(case, case.subject):
            yield finding(Rule.FOREIGN_FABRIC, case.subject.id, other, "/ConnectedEntities")
    for member, endpoint in case.known():
        if endpoint.fabric != case.subject.fabric:
            yield finding(Rule.FOREIGN_FABRIC, member.id, endpoint.fabric, member.pointer)
            continue
        for other in _other_fabrics(case, endpoint):
            yield finding(Rule.FOREIGN_FABRIC, member.id, other, member.pointer)
    if isinstance(case.subject, Zone):
        for position, zone in enumerate(case.subject.zones):
            inner = case.index.zones.get(zone)
            if inner is not None and inner.fabric != case.subject.fabric:
                pointer = f"/Links/ContainsZones/{position}"
                yield finding(Rule.FOREIGN_FABRIC, zone, inner.fabric, pointer)


def _other_fabrics(case: Case, endpoint: Endpoint) -> list[str]:
    """Return the fabrics, other than the subject's, whose switches the endpoint's units need."""
    if case.kind is not FabricKind.BIND:
        return []
    units = [case.index.units[unit] for unit in endpoint.units if unit in case.index.units]
    return sorted({unit.fabric for unit in units} - {case.subject.fabric})


def not_bindable(case: Case) -> Iterator[Finding]:
    """Rule 6: a new endpoint says what it is; on bind fabrics each side can do its part."""
    if isinstance(case.subject, Endpoint):
        if not case.has_entities and case.subject.id not in case.index.endpoints:
            yield finding(Rule.NOT_BINDABLE, case.subject.id, pointer="/ConnectedEntities")
    elif case.kind is FabricKind.BIND:
        for member, endpoint in case.known():
            if not _can(case, member, endpoint):
                yield finding(Rule.NOT_BINDABLE, member.id, pointer=member.pointer)


def _can(case: Case, member: Member, endpoint: Endpoint) -> bool:
    """A target needs a unit that exists: what is no device can not be given to anybody."""
    known = any(unit in case.index.units for unit in endpoint.units)
    if member.initiates and member.targeted:
        return endpoint.role not in reach.TARGETS or known
    return endpoint.host is not None if member.initiates else known


def target_unavailable(case: Case) -> Iterator[Finding]:
    """Rule 6: new targets are there and healthy; initiators may be offline (the bind waits)."""
    for member, _ in case.targets():
        state, health = case.status(member.id)
        if state in UNAVAILABLE_STATES or health == "Critical":
            others = tuple(text for text in (state, health) if text is not None)
            yield finding(Rule.TARGET_UNAVAILABLE, member.id, pointer=member.pointer, others=others)


def ld_fm_owned(case: Case) -> Iterator[Finding]:
    """Rule 4: the FM-owned LD (FFFFh) is given to nobody."""
    if not case.grants():
        return
    pointers = case.pointers()
    for unit, cause in case.parts().items():
        if reach.is_fm_owned(case.index.units.get(unit)):
            yield finding(Rule.LD_FM_OWNED, cause, unit, pointers.get(cause))
