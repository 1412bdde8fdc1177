"""What a rule is asked, and what it answers: the common ground of zoning and its rules.

Pure. A rule looks at one zone, connection or endpoint as if it stood in the index in place of
whatever has its id there, and yields findings. A finding's key says what breaks, finely enough
that "after minus before" is exactly what a change would add.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass

from redfish_fm.fabric import reach
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import FabricKind
from redfish_fm.fabric.values import (
    Connection,
    Endpoint,
    Rule,
    Violation,
    Zone,
)

TargetStatus = Callable[[str], tuple[str | None, str | None]]
"""Endpoint id -> last observed (Status.State, Status.Health); None where not known."""

Subject = Zone | Connection | Endpoint


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
    """One reference in a client's body: where it stands and which side it is on."""

    pointer: str
    id: str
    initiates: bool
    targeted: bool


@dataclass(frozen=True, slots=True)
class Case:
    """One question to a rule. `removal`: the subject is about to be deleted."""

    index: FabricIndex
    subject: Subject
    status: TargetStatus
    removal: bool = False
    has_entities: bool = True

    @property
    def kind(self) -> FabricKind:
        """How the subject's fabric grants access."""
        return self.index.facts(self.subject.fabric).kind

    def members(self) -> tuple[Member, ...]:
        """Return every endpoint reference of the subject, in the client's order."""
        if isinstance(self.subject, Zone):
            return _members("/Links/Endpoints", self.subject.endpoints, True, True)
        if isinstance(self.subject, Connection):
            return _members(
                "/Links/InitiatorEndpoints", self.subject.initiators, True, False
            ) + _members("/Links/TargetEndpoints", self.subject.targets, False, True)
        return ()

    def known(self) -> Iterator[tuple[Member, Endpoint]]:
        """Yield the references that lead somewhere."""
        for member in self.members():
            endpoint = self.index.endpoints.get(member.id)
            if endpoint is not None:
                yield member, endpoint

    def targets(self) -> Iterator[tuple[Member, Endpoint]]:
        """Yield the endpoints whose units the subject gives access to."""
        for member, endpoint in self.known():
            if member.targeted and endpoint.role in reach.TARGETS:
                yield member, endpoint

    def hosts(self) -> dict[str, str]:
        """Return host -> first initiator endpoint that brings it."""
        if isinstance(self.subject, Zone):
            return reach.zone_hosts(self.subject, self.index.endpoints)
        if isinstance(self.subject, Connection):
            return reach.connection_hosts(self.subject, self.index.endpoints)
        return {}

    def parts(self) -> dict[str, str]:
        """Return unit -> endpoint or chunk that brings it first."""
        pairs: Iterable[tuple[str, str]] = ()
        if isinstance(self.subject, Zone):
            pairs = reach.zone_parts(self.subject, self.index.endpoints)
        elif isinstance(self.subject, Connection):
            pairs = reach.connection_parts(self.subject, self.index.endpoints, self.index.chunks)
        parts: dict[str, str] = {}
        for unit, cause in pairs:
            parts.setdefault(unit, cause)
        return parts

    def grants(self) -> bool:
        """Return whether the subject makes units reachable in the sense of rule 1."""
        if isinstance(self.subject, Zone):
            return self.kind is FabricKind.BIND and reach.routes(self.subject)
        return isinstance(self.subject, Connection) and self.kind is not FabricKind.REACH

    def pointers(self) -> dict[str, str]:
        """Return id -> pointer of its first mention, endpoints and chunks alike."""
        pointers: dict[str, str] = {}
        for member in self.members():
            pointers.setdefault(member.id, member.pointer)
        if isinstance(self.subject, Connection):
            for position, grant in enumerate(self.subject.chunks):
                pointers.setdefault(grant.chunk, chunk_pointer(position))
        return pointers


RuleFunction = Callable[[Case], Iterable[Finding]]


def chunk_pointer(position: int) -> str:
    """Return where the body names a connection's chunk."""
    return f"/MemoryChunkInfo/{position}/MemoryChunk"


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
