"""EndpointGroup writes: POST, PATCH, DELETE.

Pure. Redfish: EndpointGroup.v1_3_4. A group stands for its endpoints in every Connection that
names it; so a change of its members is a change of all these connections, in one commit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from redfish_fm.fabric.binding import wanted_by_connection
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.values import Connection, EndpointGroup
from redfish_fm.fabric.zoning import check_group, check_group_removal
from redfish_fm.mapping.connection_form import SIDES
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.granting import Grant, added_members, to_draft, ways_of
from redfish_fm.mapping.judging import (
    Change,
    Document,
    DocumentRules,
    plain_draft,
    plain_removal,
    unless_busy,
)
from redfish_fm.mapping.read import members, read_group
from redfish_fm.mapping.resting import task_below
from redfish_fm.mapping.violations import refuse
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message


def _judge(change: Change, tip: Tip) -> Draft:
    group = read_group(change.uri, change.after)
    old = None if change.before is None else read_group(change.uri, change.before)
    violations = check_group(tip.index, group, old, tip.status)
    told = tuple(_wrong_side(change, tip))
    if old is not None and old.endpoints == group.endpoints:
        refuse(told, violations)
        return plain_draft(change, tip)
    holders = {
        uri: wanted_by_connection(tip.index, _with(group, uri, tip.index))
        for uri in sorted(tip.index.connections_of_group(group.id))
    }
    units = {
        uri: tip.index.endpoints[uri].units for uri in group.endpoints if uri in tip.index.endpoints
    }
    grant = Grant(
        change.kind,
        change.uri,
        group.fabric,
        change.after,
        violations=tuple(violations),
        added=added_members(old.endpoints if old else (), group.endpoints, units),
        causes={unit: uri for uri in reversed(units) for unit in units[uri]},
        others=holders,
        ways=ways_of(group.endpoints, tip.index),
        told=told,
    )
    return unless_busy(
        _task_in_the_way(group, old, sorted(holders), tip), lambda: to_draft(grant, tip)
    )


def _task_in_the_way(
    group: EndpointGroup, old: EndpointGroup | None, holders: Sequence[str], tip: Tip
) -> str | None:
    """Return the Task of a connection under change, or of what a new member would rest on."""
    busy = next((task for uri in holders if (task := tip.busy(uri)) is not None), None)
    if busy is not None or (old is not None and set(group.endpoints) <= set(old.endpoints)):
        return busy
    below = (task_below(_with(group, uri, tip.index), tip) for uri in holders)
    return next((task for task in below if task is not None), None)


RULES = DocumentRules(
    "EndpointGroup",
    _judge,
    lambda uri, _document, tip: plain_removal(uri, tip, check_group_removal(tip.index, uri)),
)


def _with(group: EndpointGroup, connection_id: str, index: FabricIndex) -> Connection:
    """Return a connection that names the endpoints of its groups themselves, `group` as it is."""
    connection = index.connections[connection_id]
    groups = {
        **{uri: index.groups[uri] for uri in _named(connection) if uri in index.groups},
        group.id: group,
    }

    def ends(names: tuple[str, ...]) -> Iterator[str]:
        return (end for name in names if name in groups for end in groups[name].endpoints)

    return replace(
        connection,
        initiators=(*connection.initiators, *ends(connection.initiator_groups)),
        targets=(*connection.targets, *ends(connection.target_groups)),
        initiator_groups=(),
        target_groups=(),
    )


def _named(connection: Connection) -> tuple[str, ...]:
    return (*connection.initiator_groups, *connection.target_groups)


def _wrong_side(change: Change, tip: Tip) -> Iterator[Message]:
    """Yield the connections that name the group on a side that its new GroupType is not for."""
    stated: Document = change.after
    kind = stated.get("GroupType")
    if kind is None or (change.before is not None and change.before.get("GroupType") == kind):
        return
    for uri in sorted(tip.index.connections_of_group(change.uri)):
        document = tip.document(uri) or {}
        for _ends, name, fitting in SIDES:
            if kind not in fitting and change.uri in members(document, f"Links/{name}"):
                told = messages.property_value_resource_conflict
                yield told("GroupType", str(kind), uri, "#/GroupType")
