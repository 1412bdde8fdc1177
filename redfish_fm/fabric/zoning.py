"""Zone isolation: which zones, connections and endpoints a fabric permits.

Pure: takes an index and a change, returns Violations. Knows nothing of HTTP, JSON, drivers or
time. Redfish: Zone, Connection, Endpoint. CXL: a bound LD belongs to one VCS at a time.

No write may add a violation; those that exist (imports, foreign bindings) may stay or shrink.
So every check is the findings of the new value minus the findings of the old one.
"""

from collections.abc import Iterator

from redfish_fm.fabric import connection_rules, member_rules, zone_rules
from redfish_fm.fabric.cases import Case, Finding, RuleFunction, Subject, TargetStatus
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.values import Connection, Endpoint, Rule, Violation, Zone

__all__ = [
    "RULES",
    "TargetStatus",
    "check_connection",
    "check_connection_removal",
    "check_endpoint",
    "check_endpoint_removal",
    "check_zone",
    "check_zone_removal",
    "existing_violations",
]

RULES: dict[Rule, RuleFunction] = {
    Rule.UNKNOWN_MEMBER: member_rules.unknown_member,
    Rule.DUPLICATE_MEMBER: member_rules.duplicate_member,
    Rule.FOREIGN_FABRIC: member_rules.foreign_fabric,
    Rule.NOT_BINDABLE: member_rules.not_bindable,
    Rule.ZONE_TYPE: zone_rules.zone_type,
    Rule.ZONE_NESTING: zone_rules.zone_nesting,
    Rule.MAX_ZONES: zone_rules.max_zones,
    Rule.CONNECTION_NO_COMMON_ZONE: connection_rules.no_common_zone,
    Rule.CONNECTION_CHUNK_FOREIGN: connection_rules.chunk_foreign,
    Rule.CONNECTION_CHUNK_MISSING: connection_rules.chunk_missing,
    Rule.CONNECTION_ACCESS: connection_rules.access,
    Rule.TARGET_UNAVAILABLE: member_rules.target_unavailable,
    Rule.PORT_HAS_INITIATOR: zone_rules.port_has_initiator,
    Rule.HOST_SHARING: member_rules.host_sharing,
    Rule.ZONE_MANY_HOSTS: zone_rules.zone_many_hosts,
    Rule.ZONE_UNIT_TWICE: zone_rules.zone_unit_twice,
    Rule.LD_FM_OWNED: member_rules.ld_fm_owned,
    Rule.LD_HOST: connection_rules.ld_host,
    Rule.ENDPOINT_IN_USE: zone_rules.endpoint_in_use,
    Rule.ZONE_IN_USE: zone_rules.zone_in_use,
}
"""Every rule judged on a change, in the order in which a client reads the reasons.

NO_PATH and NO_FREE_VPPB are judged where a vPPB is chosen (fabric.binding.binding_delta).
"""

_ON_REMOVAL = (Rule.ENDPOINT_IN_USE, Rule.ZONE_IN_USE)


def check_zone(
    index: FabricIndex, zone: Zone, before: Zone | None, status: TargetStatus
) -> list[Violation]:
    """Return what creating (`before` None) or changing a zone would add."""
    return _added(index, zone, before, status)


def check_connection(
    index: FabricIndex, connection: Connection, before: Connection | None, status: TargetStatus
) -> list[Violation]:
    """Return what creating (`before` None) or changing a connection would add."""
    return _added(index, connection, before, status)


def check_endpoint(
    index: FabricIndex, endpoint: Endpoint, before: Endpoint | None, has_entities: bool
) -> list[Violation]:
    """Return what creating (`before` None) or changing an endpoint would add."""
    return _added(index, endpoint, before, _not_known, has_entities)


def check_zone_removal(index: FabricIndex, zone_id: str) -> list[Violation]:
    """Return why the zone can not be deleted: connections that would lose their common zone."""
    return _on_removal(index, index.zones.get(zone_id))


def check_endpoint_removal(index: FabricIndex, endpoint_id: str) -> list[Violation]:
    """Return why the endpoint can not be deleted: one violation per zone or connection."""
    return _on_removal(index, index.endpoints.get(endpoint_id))


def check_connection_removal(index: FabricIndex, connection_id: str) -> list[Violation]:
    """Return why the connection can not be deleted: nothing holds one, so far."""
    return _on_removal(index, index.connections.get(connection_id))


def existing_violations(index: FabricIndex) -> list[Violation]:
    """Return everything that is wrong now, each once; costs the whole index."""
    found: dict[Violation, None] = {}
    subjects: tuple[Subject, ...] = (
        *index.endpoints.values(),
        *index.zones.values(),
        *index.connections.values(),
    )
    for subject in subjects:
        findings = list(_findings(Case(index, subject, _not_known), tuple(RULES)))
        found.update(dict.fromkeys(_to_blame(findings, findings)))
    return list(found)


def _added(
    index: FabricIndex,
    after: Subject,
    before: Subject | None,
    status: TargetStatus,
    has_entities: bool = True,
) -> list[Violation]:
    case = Case(index, after, status, has_entities=has_entities)
    rules = tuple(RULES)
    known = set()
    if before is not None:
        old = Case(index, before, status, has_entities=has_entities)
        known = {finding.key for finding in _findings(old, rules)}
    findings = list(_findings(case, rules))
    return _to_blame(findings, [finding for finding in findings if finding.key not in known])


def _on_removal(index: FabricIndex, subject: Subject | None) -> list[Violation]:
    if subject is None:
        return []
    case = Case(index, subject, _not_known, removal=True)
    return [finding.violation for finding in _findings(case, _ON_REMOVAL)]


def _findings(case: Case, rules: tuple[Rule, ...]) -> Iterator[Finding]:
    for rule in rules:
        yield from RULES[rule](case)


def _to_blame(findings: list[Finding], new: list[Finding]) -> list[Violation]:
    """Leave out the excused where somebody else of their group is blamed anyway."""
    blamed = {(finding.violation.rule, finding.group) for finding in new if not finding.excused}
    return [
        finding.violation
        for finding in new
        if not finding.excused or (finding.violation.rule, finding.group) not in blamed
    ]


def _not_known(_: str) -> tuple[str | None, str | None]:
    return None, None
