"""What a rule is asked, and what it answers: the common ground of zoning and its rules.

Pure. A rule looks at one subject as if it stood in the index in place of whatever has its id there
(groups and parts, whose meaning lies with others, do stand there while they are judged), and
yields findings. A finding's key says what breaks, finely enough that "after minus before" is
exactly what a change would add.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from redfish_fm.fabric import reach
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import (
    Access,
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

TargetStatus = Callable[[str], tuple[str | None, str | None]]
"""Endpoint id -> last observed (Status.State, Status.Health); None where not known."""

Part = Chunk | Region | Volume
Subject = Zone | Connection | Endpoint | EndpointGroup | VppbGrant | Part


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which a subject breaks a rule.

    `excused` findings are the ones that could stay if the rest of their `group` went (the first
    of two hosts): they are reported only where nobody else of the group is to blame.
    """

    key: Hashable
    violation: Violation
    group: Hashable = None
    excused: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """One endpoint that a subject names, itself or by a group: where, and on which side it is."""

    pointer: str
    id: str
    initiates: bool
    targeted: bool


@dataclass(frozen=True, slots=True)
class PartGrant:
    """One row of a connection's MemoryChunkInfo, MemoryRegionInfo or VolumeInfo.

    `pointer` is the row's, `name` the property in it that names the part.
    """

    pointer: str
    name: str
    id: str
    access: frozenset[Access]

    @property
    def place(self) -> str:
        """Where the body names the part."""
        return f"{self.pointer}/{self.name}"


@dataclass(frozen=True)
class Case:
    """One question to all rules, for as long as the index stays as it is.

    What several rules look at is worked out once.

    `removal`: the subject is about to be deleted. `change`: somebody is about to write it, else it
    is only looked at as it is. `before` is what it was, None where it is new.
    """

    index: FabricIndex
    subject: Subject
    status: TargetStatus
    removal: bool = False
    has_entities: bool = True
    change: bool = False
    before: Subject | None = None

    @property
    def creating(self) -> bool:
        """Whether the subject is about to come into being."""
        return self.change and self.before is None and not self.removal

    @property
    def fabric(self) -> str:
        """The subject's fabric; that of the unit it lies in for a part."""
        if isinstance(self.subject, Chunk | Region | Volume):
            unit = self.index.units.get(container_of(self.subject))
            return "" if unit is None else unit.fabric
        return self.subject.fabric

    @cached_property
    def kind(self) -> FabricKind:
        """How the subject's fabric grants access."""
        return self.index.facts(self.fabric).kind

    def members(self) -> tuple[Member, ...]:
        """Return every endpoint that the subject itself names, in the client's order."""
        return self._members

    @cached_property
    def _members(self) -> tuple[Member, ...]:
        if isinstance(self.subject, Zone):
            return _members("/Links/Endpoints", self.subject.endpoints, True, True)
        if isinstance(self.subject, EndpointGroup):
            return _members("/Links/Endpoints", self.subject.endpoints, False, False)
        if isinstance(self.subject, Connection):
            return _members(
                "/Links/InitiatorEndpoints", self.subject.initiators, True, False
            ) + _members("/Links/TargetEndpoints", self.subject.targets, False, True)
        return ()

    def groups(self) -> tuple[Member, ...]:
        """Return every endpoint group that the subject names."""
        if not isinstance(self.subject, Connection):
            return ()
        return _members(
            "/Links/InitiatorEndpointGroups", self.subject.initiator_groups, True, False
        ) + _members("/Links/TargetEndpointGroups", self.subject.target_groups, False, True)

    def known(self) -> tuple[tuple[Member, Endpoint], ...]:
        """Return the endpoints that exist, those of groups included."""
        return self._known

    @cached_property
    def _known(self) -> tuple[tuple[Member, Endpoint], ...]:
        endpoints = self.index.endpoints
        named = (*self.members(), *self._grouped())
        return tuple((each, endpoints[each.id]) for each in named if each.id in endpoints)

    def _grouped(self) -> Iterator[Member]:
        for named in self.groups():
            group = self.index.groups.get(named.id)
            for id_ in () if group is None else group.endpoints:
                yield Member(named.pointer, id_, named.initiates, named.targeted)

    def targets(self) -> Iterator[tuple[Member, Endpoint]]:
        """Yield the endpoints whose units the subject gives access to."""
        for member, endpoint in self.known():
            if member.targeted and endpoint.role in reach.TARGETS:
                yield member, endpoint

    def part_grants(self) -> tuple[PartGrant, ...]:
        """Return the chunks, regions and volumes that a connection names, in order."""
        if not isinstance(self.subject, Connection):
            return ()
        chunks, regions, volumes = self.subject.chunks, self.subject.regions, self.subject.volumes
        return (
            *(
                PartGrant(f"/MemoryChunkInfo/{position}", "MemoryChunk", row.chunk, row.access)
                for position, row in enumerate(chunks)
            ),
            *(
                PartGrant(f"/MemoryRegionInfo/{position}", "MemoryRegion", row.region, row.access)
                for position, row in enumerate(regions)
            ),
            *(
                PartGrant(f"/VolumeInfo/{position}", "Volume", row.volume, row.access)
                for position, row in enumerate(volumes)
            ),
        )

    def part(self, part_id: str) -> Part | None:
        """Return the chunk, region or volume with this id."""
        index = self.index
        return index.chunks.get(part_id) or index.regions.get(part_id) or index.volumes.get(part_id)

    def hosts(self) -> Mapping[str, str]:
        """Return host -> first initiator endpoint that brings it."""
        return self._hosts

    @cached_property
    def _hosts(self) -> Mapping[str, str]:
        if isinstance(self.subject, Zone):
            return reach.zone_hosts(self.subject, self.index.endpoints)
        if isinstance(self.subject, Connection):
            return reach.connection_hosts(self.subject, self.index)
        return {self.subject.host: self.subject.id} if isinstance(self.subject, VppbGrant) else {}

    def parts(self) -> Mapping[str, str]:
        """Return unit -> endpoint or part that brings it first."""
        return self._parts

    @cached_property
    def _parts(self) -> Mapping[str, str]:
        pairs: Iterable[tuple[str, str]] = ()
        if isinstance(self.subject, Zone):
            pairs = reach.zone_parts(self.subject, self.index.endpoints)
        elif isinstance(self.subject, Connection):
            pairs = reach.connection_parts(self.subject, self.index)
        elif isinstance(self.subject, VppbGrant):
            pairs = ((self.subject.unit, self.subject.unit),)
        parts: dict[str, str] = {}
        for unit, cause in pairs:
            parts.setdefault(unit, cause)
        return parts

    def grants(self) -> bool:
        """Return whether the subject makes units reachable in the sense of rule 1."""
        if isinstance(self.subject, Zone):
            return self.kind is FabricKind.BIND and reach.routes(self.subject)
        if isinstance(self.subject, Connection):
            return self.kind is not FabricKind.REACH
        return isinstance(self.subject, VppbGrant)

    def pointers(self) -> Mapping[str, str]:
        """Return id -> pointer of its first mention, endpoints and parts alike."""
        return self._pointers

    @cached_property
    def _pointers(self) -> Mapping[str, str]:
        pointers: dict[str, str] = {}
        for member in (*self.members(), *self.groups(), *self._grouped()):
            pointers.setdefault(member.id, member.pointer)
        for grant in self.part_grants():
            pointers.setdefault(grant.id, grant.place)
        if isinstance(self.subject, VppbGrant):
            pointers[self.subject.unit] = "/Links/Port"
        return pointers


RuleFunction = Callable[[Case], Iterable[Finding]]


def container_of(part: Part) -> str:
    """Return the unit that a part lies in."""
    if isinstance(part, Chunk):
        return part.unit
    return part.ld if isinstance(part, Region) else part.subsystem


def around(index: FabricIndex, part: Part) -> tuple[str, ...]:
    """Return the units that a part is, or lies in, innermost first."""
    unit = part.unit if isinstance(part, Chunk) else part.id
    return (unit, *index.units_above(unit))


def finding(
    rule: Rule,
    subject: str,
    holder: str | None = None,
    pointer: str | None = None,
    others: Iterable[str] = (),
) -> Finding:
    """Return a finding whose key is simply rule, subject and holder."""
    violation = Violation(rule, subject, holder, pointer, tuple(others))
    return Finding((rule, subject, holder), violation)


def _members(
    base: str, ids: tuple[str, ...], initiates: bool, targeted: bool
) -> tuple[Member, ...]:
    return tuple(
        Member(f"{base}/{position}", id_, initiates, targeted) for position, id_ in enumerate(ids)
    )
