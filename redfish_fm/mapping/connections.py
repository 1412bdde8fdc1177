"""Connection writes: POST, PATCH, DELETE, with MemoryChunkInfo.

Pure. Redfish: Connection.v1_4_0. A Connection grants a chunk; on bind fabrics it also binds the
logical device that the chunk lies in.
"""

from collections.abc import Mapping
from typing import Any

from redfish_fm.fabric.binding import wanted_by_connection
from redfish_fm.fabric.reach import connection_parts
from redfish_fm.fabric.values import Connection
from redfish_fm.fabric.zoning import check_connection, check_connection_removal
from redfish_fm.mapping import refusals
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.granting import Grant, added_members, causes, to_draft
from redfish_fm.mapping.read import members, read_connection
from redfish_fm.mapping.resources import new_document, patched, stored
from redfish_fm.redfish import messages
from redfish_fm.redfish.writes import OutcomeKind, Write

_SIDES = (
    ("InitiatorEndpoints", "InitiatorEndpointGroups"),
    ("TargetEndpoints", "TargetEndpointGroups"),
)


def create(write: Write, tip: Tip) -> Draft:
    """Return the draft of POST Connections."""
    uri, document = new_document("Connection", write.uri, write.body, tip)
    return _change(OutcomeKind.CREATED, uri, None, document, tip)


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of PATCH on a client-made connection."""
    before = stored(tip, write.uri)
    after = patched("Connection", before, write.body)
    return _change(OutcomeKind.CHANGED, write.uri, before, after, tip)


def delete(write: Write, tip: Tip) -> Draft:
    """Return the draft of DELETE: logical devices that only it held are released."""
    before = stored(tip, write.uri)
    connection = read_connection(write.uri, before)
    grant = Grant(
        OutcomeKind.DELETED,
        write.uri,
        connection.fabric,
        None,
        frozenset(),
        violations=tuple(check_connection_removal(tip.index, write.uri)),
    )
    return to_draft(grant, tip)


def _change(
    kind: OutcomeKind,
    uri: str,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any],
    tip: Tip,
) -> Draft:
    if before is not None and dict(before) == dict(after):
        return Draft(OutcomeKind.NO_OPERATION, uri)
    _refuse_mixed_sides(after)
    connection = read_connection(uri, after)
    old = None if before is None else read_connection(uri, before)
    violations = tuple(check_connection(tip.index, connection, old, tip.status))
    if not violations:
        _refuse_doubtful_zones(connection, tip)
    grant = Grant(
        kind,
        uri,
        connection.fabric,
        after,
        wanted_by_connection(tip.index, connection),
        violations,
        _added(connection, old, tip),
        causes=causes(connection_parts(connection, tip.index.endpoints, tip.index.chunks)),
    )
    return to_draft(grant, tip)


def _refuse_mixed_sides(document: Mapping[str, Any]) -> None:
    """Endpoints and EndpointGroups of one side exclude each other (Connection.v1_4_0 Links)."""
    told = tuple(
        messages.property_value_conflict(
            f"Links/{ends}", f"Links/{groups}", f"#/Links/{ends}", f"#/Links/{groups}"
        )
        for ends, groups in _SIDES
        if members(document, f"Links/{ends}") and members(document, f"Links/{groups}")
    )
    if told:
        raise refusals.bad_content(*told)


def _refuse_doubtful_zones(connection: Connection, tip: Tip) -> None:
    """Refuse to rest on zones that all may still be taken back by their open operations."""
    for initiator in connection.initiators:
        for target in connection.targets:
            common = tip.index.zones_of(initiator) & tip.index.zones_of(target)
            tasks = sorted(task for zone in common if (task := tip.busy(zone)) is not None)
            if common and len(tasks) == len(common):
                raise refusals.busy(tasks[0])


def _added(connection: Connection, old: Connection | None, tip: Tip) -> dict[str, tuple[str, ...]]:
    index = tip.index
    ends = (*connection.initiators, *connection.targets)
    chunks = [grant.chunk for grant in connection.chunks]
    units = {uri: index.endpoints[uri].units for uri in ends if uri in index.endpoints}
    units.update(
        (uri, frozenset({index.chunks[uri].unit})) for uri in chunks if uri in index.chunks
    )
    if old is None:
        return added_members((), (*ends, *chunks), units)
    before = (*old.initiators, *old.targets, *(grant.chunk for grant in old.chunks))
    return added_members(before, (*ends, *chunks), units)
