"""Zone isolation: which changes a fabric permits.

Pure: takes an index and a change, returns Violations. Knows nothing of HTTP, JSON, drivers or
time. Redfish: Zone, Connection, Endpoint, EndpointGroup, MemoryChunks, MemoryRegion, Volume. CXL: a
bound LD belongs to one VCS at a time.

No write may add a violation; those that exist (imports, foreign bindings) may stay or shrink.
So every check is the findings of the new value minus the findings of the old one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from redfish_fm.fabric import (
    composition_rules,
    connection_rules,
    grant_rules,
    member_rules,
    part_rules,
    vppb_rules,
    zone_rules,
)
from redfish_fm.fabric.cases import Case, Finding, Part, RuleFunction, Subject, TargetStatus
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import VppbId
from redfish_fm.fabric.values import (
    Chunk,
    Connection,
    Endpoint,
    EndpointGroup,
    Region,
    Rule,
    Violation,
    Volume,
    VppbGrant,
    Zone,
)

__all__ = [
    "RULES",
    "TargetStatus",
    "check_chunk",
    "check_chunk_removal",
    "check_connection",
    "check_connection_removal",
    "check_endpoint",
    "check_endpoint_removal",
    "check_group",
    "check_group_removal",
    "check_region",
    "check_region_removal",
    "check_volume",
    "check_volume_removal",
    "check_vppb",
    "check_zone",
    "check_zone_removal",
    "existing_violations",
]

RULES: dict[Rule, RuleFunction] = {
    Rule.UNKNOWN_MEMBER: member_rules.unknown_member,
    Rule.DUPLICATE_MEMBER: member_rules.duplicate_member,
    Rule.CONNECTION_SIDES: member_rules.connection_sides,
    Rule.FOREIGN_FABRIC: member_rules.foreign_fabric,
    Rule.NOT_BINDABLE: member_rules.not_bindable,
    Rule.ZONE_TYPE: zone_rules.zone_type,
    Rule.ZONE_NESTING: zone_rules.zone_nesting,
    Rule.MAX_ZONES: zone_rules.max_zones,
    Rule.DEFAULT_ROUTING: zone_rules.default_routing,
    Rule.MUTUALLY_EXCLUSIVE: member_rules.mutually_exclusive,
    Rule.CONNECTION_NO_COMMON_ZONE: connection_rules.no_common_zone,
    Rule.CONNECTION_CHUNK_FOREIGN: grant_rules.chunk_foreign,
    Rule.CONNECTION_REGION_FOREIGN: grant_rules.region_foreign,
    Rule.CONNECTION_VOLUME_FOREIGN: grant_rules.volume_foreign,
    Rule.CONNECTION_CHUNK_MISSING: grant_rules.chunk_missing,
    Rule.CONNECTION_ACCESS: grant_rules.access,
    Rule.CONNECTION_LUN: grant_rules.lun_twice,
    Rule.TARGET_UNAVAILABLE: member_rules.target_unavailable,
    Rule.PORT_HAS_INITIATOR: zone_rules.port_has_initiator,
    Rule.COMPOSED: composition_rules.held_by_composition,
    Rule.HOST_SHARING: member_rules.host_sharing,
    Rule.ZONE_MANY_HOSTS: zone_rules.zone_many_hosts,
    Rule.ZONE_UNIT_TWICE: zone_rules.zone_unit_twice,
    Rule.LD_FM_OWNED: member_rules.ld_fm_owned,
    Rule.LD_HOST: grant_rules.ld_host,
    Rule.SHARING_NEEDS_REGION: grant_rules.sharing_needs_region,
    Rule.NOT_CARVABLE: part_rules.not_carvable,
    Rule.PART_SIZE: part_rules.part_size,
    Rule.PART_RANGE: part_rules.part_range,
    Rule.PART_OVERLAP: part_rules.part_overlap,
    Rule.POOL_EXHAUSTED: part_rules.pool_exhausted,
    Rule.VPPB_WRONG_UNIT: vppb_rules.vppb_wrong_unit,
    Rule.VPPB_HELD: vppb_rules.vppb_held,
    Rule.ENDPOINT_IN_USE: zone_rules.endpoint_in_use,
    Rule.ZONE_IN_USE: zone_rules.zone_in_use,
    Rule.PART_IN_USE: part_rules.part_in_use,
    Rule.GROUP_IN_USE: member_rules.group_in_use,
}
"""Every rule judged on a change, in the order in which a client reads the reasons.

NO_PATH and NO_FREE_VPPB are judged where a vPPB is chosen (fabric.binding.binding_delta),
BANDWIDTH where an LD is changed (fabric.bandwidth.check_bandwidth).
"""

NOT_OF_ZONES = frozenset(
    {
        Rule.CONNECTION_SIDES,
        Rule.CONNECTION_NO_COMMON_ZONE,
        Rule.CONNECTION_CHUNK_FOREIGN,
        Rule.CONNECTION_REGION_FOREIGN,
        Rule.CONNECTION_VOLUME_FOREIGN,
        Rule.CONNECTION_CHUNK_MISSING,
        Rule.CONNECTION_ACCESS,
        Rule.CONNECTION_LUN,
        Rule.PORT_HAS_INITIATOR,
        Rule.LD_HOST,
        Rule.SHARING_NEEDS_REGION,
        Rule.NOT_CARVABLE,
        Rule.PART_SIZE,
        Rule.PART_RANGE,
        Rule.PART_OVERLAP,
        Rule.POOL_EXHAUSTED,
        Rule.VPPB_WRONG_UNIT,
        Rule.VPPB_HELD,
        Rule.ENDPOINT_IN_USE,
        Rule.PART_IN_USE,
        Rule.GROUP_IN_USE,
    }
)
"""Rules that have nothing to say of a zone; zones are what is judged most often."""

OF_MEMBERS = frozenset(
    {
        Rule.UNKNOWN_MEMBER,
        Rule.DUPLICATE_MEMBER,
        Rule.FOREIGN_FABRIC,
        Rule.NOT_BINDABLE,
        Rule.DEFAULT_ROUTING,
        Rule.MUTUALLY_EXCLUSIVE,
        Rule.TARGET_UNAVAILABLE,
        Rule.COMPOSED,
        Rule.HOST_SHARING,
        Rule.ZONE_MANY_HOSTS,
        Rule.ZONE_UNIT_TWICE,
        Rule.LD_FM_OWNED,
    }
)
"""Rules that find fault with what a zone names; many zones are made empty and filled later."""

ALL_RULES = tuple(RULES)
RULES_OF_ZONES = tuple(rule for rule in RULES if rule not in NOT_OF_ZONES)
RULES_OF_EMPTY_ZONES = tuple(rule for rule in RULES_OF_ZONES if rule not in OF_MEMBERS)

_ON_REMOVAL = (
    Rule.ENDPOINT_IN_USE,
    Rule.ZONE_IN_USE,
    Rule.PART_IN_USE,
    Rule.GROUP_IN_USE,
    Rule.VPPB_HELD,
)


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


def check_group(
    index: FabricIndex, group: EndpointGroup, before: EndpointGroup | None, status: TargetStatus
) -> list[Violation]:
    """Return what creating or changing a group would add, to every connection that names it.

    A connection's violations name it among `others`, and the group's member by `pointer`.
    """
    found = _added(index, group, before, status)
    names = sorted(index.connections_of_group(group.id))
    known = {name: _of_connection(index, name, status) for name in names}
    places = Case(index, group, status).pointers()
    with _supposed(index, group):
        for name in names:
            findings = _of_connection(index, name, status)
            keys = {each.key for each in known[name]}
            new = [each for each in findings if each.key not in keys]
            for each in _to_blame(findings, new):
                others = tuple(dict.fromkeys((*each.others, name)))
                found.append(replace(each, pointer=places.get(each.subject), others=others))
    return list(dict.fromkeys(found))


def check_chunk(index: FabricIndex, chunk: Chunk, before: Chunk | None) -> list[Violation]:
    """Return what making or changing a chunk would add. Costs the chunks of its domain.

    A chunk of a domain with a pool that has no `allocation` is one for which no number was free.
    """
    return _added_part(index, chunk, before)


def check_region(index: FabricIndex, region: Region, before: Region | None) -> list[Violation]:
    """Return what making or changing a region would add.

    A region without `allocation` is one for which no number was free.
    """
    return _added_part(index, region, before)


def check_volume(index: FabricIndex, volume: Volume, before: Volume | None) -> list[Violation]:
    """Return what making or changing a volume would add.

    A volume without `allocation` is one for which no number was free.
    """
    return _added_part(index, volume, before)


def check_vppb(
    index: FabricIndex,
    vppb: VppbId,
    unit: str | None,
    host: str,
    *,
    holder: str,
    status: TargetStatus = lambda _: (None, None),
) -> list[Violation]:
    """Return why a client must not put `unit` on the vPPB, or (None) free it.

    `holder` is the vPPB resource, under which its grant stands in the index if it has one; `host`
    owns its virtual switch.
    """
    vcs = index.vcss.get((vppb.switch, vppb.vcs))
    fabric = "" if vcs is None else vcs.fabric
    before = index.vppb_grants.get(holder)
    if unit is None:
        grant = before or VppbGrant(holder, fabric, vppb, "", host)
        return _on_removal(index, grant)
    return _added(index, VppbGrant(holder, fabric, vppb, unit, host), before, status)


def check_zone_removal(index: FabricIndex, zone_id: str) -> list[Violation]:
    """Return why the zone can not be deleted: connections that would lose their common zone."""
    return _on_removal(index, index.zones.get(zone_id))


def check_endpoint_removal(index: FabricIndex, endpoint_id: str) -> list[Violation]:
    """Return why the endpoint can not be deleted: one violation per zone or connection."""
    return _on_removal(index, index.endpoints.get(endpoint_id))


def check_connection_removal(index: FabricIndex, connection_id: str) -> list[Violation]:
    """Return why the connection can not be deleted: nothing holds one, so far."""
    return _on_removal(index, index.connections.get(connection_id))


def check_group_removal(index: FabricIndex, group_id: str) -> list[Violation]:
    """Return why the endpoint group can not be deleted: connections that name it."""
    return _on_removal(index, index.groups.get(group_id))


def check_chunk_removal(index: FabricIndex, chunk_id: str) -> list[Violation]:
    """Return why the chunk can not be deleted: connections that grant it."""
    return _on_removal(index, index.chunks.get(chunk_id))


def check_region_removal(index: FabricIndex, region_id: str) -> list[Violation]:
    """Return why the region can not be deleted: connections that grant it."""
    return _on_removal(index, index.regions.get(region_id))


def check_volume_removal(index: FabricIndex, volume_id: str) -> list[Violation]:
    """Return why the volume can not be deleted: connections that grant it."""
    return _on_removal(index, index.volumes.get(volume_id))


def existing_violations(index: FabricIndex) -> list[Violation]:
    """Return everything that is wrong now, each once; costs the whole index."""
    found: dict[Violation, None] = {}
    subjects: tuple[Subject, ...] = (
        *index.endpoints.values(),
        *index.groups.values(),
        *index.zones.values(),
        *index.connections.values(),
        *index.vppb_grants.values(),
        *index.chunks.values(),
        *index.regions.values(),
        *index.volumes.values(),
    )
    for subject in subjects:
        findings = list(_findings(Case(index, subject, _not_known)))
        found.update(dict.fromkeys(_to_blame(findings, findings)))
    return list(found)


def _added(
    index: FabricIndex,
    after: Subject,
    before: Subject | None,
    status: TargetStatus,
    has_entities: bool = True,
) -> list[Violation]:
    known = _keys(index, before, status, has_entities)
    case = Case(index, after, status, has_entities=has_entities, change=True, before=before)
    return _new(case, known)


def _added_part(index: FabricIndex, after: Part, before: Part | None) -> list[Violation]:
    known = _keys(index, before, _not_known, True)
    with _supposed(index, after):
        return _new(Case(index, after, _not_known, change=True, before=before), known)


def _keys(
    index: FabricIndex, before: Subject | None, status: TargetStatus, has_entities: bool
) -> set[object]:
    if before is None:
        return set()
    case = Case(index, before, status, has_entities=has_entities, change=True, before=before)
    return {finding.key for finding in _findings(case)}


def _new(case: Case, known: set[object]) -> list[Violation]:
    findings = list(_findings(case))
    if not findings:
        return []
    return _to_blame(findings, [finding for finding in findings if finding.key not in known])


def _of_connection(index: FabricIndex, name: str, status: TargetStatus) -> list[Finding]:
    return list(_findings(Case(index, index.connections[name], status)))


@contextmanager
def _supposed(index: FabricIndex, value: Part | EndpointGroup) -> Iterator[None]:
    """Let `value` stand in the index for a moment: what it means lies with those who name it."""
    before = _put(index, value)
    try:
        yield
    finally:
        if before is None:
            _remove(index, value)
        else:
            _put(index, before)


def _put(index: FabricIndex, value: Part | EndpointGroup) -> Part | EndpointGroup | None:
    before: Part | EndpointGroup | None
    if isinstance(value, EndpointGroup):
        before = index.groups.get(value.id)
        index.put_group(value)
    elif isinstance(value, Chunk):
        before = index.chunks.get(value.id)
        index.put_chunk(value)
    elif isinstance(value, Region):
        before = index.regions.get(value.id)
        index.put_region(value)
    else:
        before = index.volumes.get(value.id)
        index.put_volume(value)
    return before


def _remove(index: FabricIndex, value: Part | EndpointGroup) -> None:
    if isinstance(value, EndpointGroup):
        index.remove_group(value.id)
    elif isinstance(value, Chunk):
        index.remove_chunk(value.id)
    elif isinstance(value, Region):
        index.remove_region(value.id)
    else:
        index.remove_volume(value.id)


def _on_removal(index: FabricIndex, subject: Subject | None) -> list[Violation]:
    if subject is None:
        return []
    case = Case(index, subject, _not_known, removal=True)
    return [finding.violation for finding in _findings(case, _ON_REMOVAL)]


def _findings(case: Case, rules: tuple[Rule, ...] | None = None) -> Iterator[Finding]:
    """Yield what `rules` say of the case; without them, all that can say something."""
    if rules is None:
        rules = _rules_about(case.subject)
    for rule in rules:
        yield from RULES[rule](case)


def _rules_about(subject: Subject) -> tuple[Rule, ...]:
    if not isinstance(subject, Zone):
        return ALL_RULES
    return RULES_OF_ZONES if subject.endpoints or subject.zones else RULES_OF_EMPTY_ZONES


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
