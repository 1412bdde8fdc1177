"""Connection writes: POST, PATCH, DELETE, AddVolumeInfo, RemoveVolumeInfo.

Pure. Redfish: Connection.v1_4_0. A Connection grants chunks, regions or volumes, and where these
bind by connection it binds them; endpoint groups stand for the endpoints they name.
"""

from collections.abc import Mapping
from typing import Any

from redfish_fm.fabric.binding import wanted_by_connection
from redfish_fm.fabric.reach import connection_parts, initiators_of
from redfish_fm.fabric.values import Connection
from redfish_fm.fabric.zoning import check_connection, check_connection_removal
from redfish_fm.mapping import connection_form, refusals
from redfish_fm.mapping.dependencies import granted
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.granting import Grant, added_members, causes, to_draft, ways_of
from redfish_fm.mapping.judging import Change, Document, DocumentRules, link_parameter
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.read import read_connection
from redfish_fm.mapping.resources import stored
from redfish_fm.mapping.resting import task_below
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind, Write


def _judge(change: Change, tip: Tip) -> Draft:
    after = _with_luns(change.after, tip)
    connection = read_connection(change.uri, after)
    old = None if change.before is None else read_connection(change.uri, change.before)
    violations = tuple(check_connection(tip.index, connection, old, tip.status))
    known = [] if change.before is None else connection_form.wrong(change.before, _groups(old, tip))
    told = [
        each for each in connection_form.wrong(after, _groups(connection, tip)) if each not in known
    ]
    if not told and not violations:
        _refuse_doubtful(connection, old, tip)
    grant = Grant(
        change.kind,
        change.uri,
        connection.fabric,
        after,
        wanted_by_connection(tip.index, connection),
        violations,
        _added(connection, old, tip),
        change.pointers,
        causes(connection_parts(connection, tip.index)),
        ways=ways_of(initiators_of(connection, tip.index), tip.index),
        places=_places(connection),
        told=tuple(told),
    )
    return to_draft(grant, tip)


def _remove(uri: str, document: Document, tip: Tip) -> Draft:
    """Release what only this connection held."""
    connection = read_connection(uri, document)
    violations = tuple(check_connection_removal(tip.index, uri))
    deleted = OutcomeKind.DELETED
    grant = Grant(deleted, uri, connection.fabric, None, frozenset(), violations=violations)
    return to_draft(grant, tip)


RULES = DocumentRules("Connection", _judge, _remove, connection_form.complete)


# -- actions ---------------------------------------------------------------------------------


def act(write: Write, tip: Tip) -> Draft:
    """Return the draft of Connection.AddVolumeInfo or RemoveVolumeInfo.

    What is granted already changes nothing; what is not there can not be taken away (400), and
    the last row goes with the Connection only (409): one that names nothing would hold all.
    """
    before = stored(tip, write.uri)
    adds = write.action == "Connection.AddVolumeInfo"
    if not adds and write.action != "Connection.RemoveVolumeInfo":
        raise refusals.action_not_supported(write.action or "")
    volume = link_parameter(write, "Volume", tip)
    present = connection_form.rows(before, "VolumeInfo")
    if adds:
        row = {"Volume": {"@odata.id": volume}}
        row |= {name: write.body[name] for name in _ROW if write.body.get(name) is not None}
        held = any(_is_row(each, volume, row.get("LUN")) for each in present)
        after = present if held and len(row) == 1 else [*present, row]
    else:
        after = _without_row(write, present, volume)
    pointers = {volume: "#/Volume"}
    return RULES.replace(write.uri, before, {**before, "VolumeInfo": after}, tip, pointers)


def _without_row(
    write: Write, present: list[Mapping[str, Any]], volume: str
) -> list[Mapping[str, Any]]:
    """Return the rows that stay. Raises RedfishError where none goes, or none would stay."""
    lun = write.body.get("LUN")
    after = [each for each in present if not _is_row(each, volume, lun)]
    if len(after) == len(present):
        named = any(_is_row(each, volume, None) for each in present)
        name, value = ("LUN", str(lun)) if named else ("Volume", volume)
        told = messages.action_parameter_value_conflict(name, value, f"#/{name}")
        raise refusals.bad_content(told)
    if not after:
        held = messages.property_value_resource_conflict("Volume", volume, write.uri, "#/Volume")
        hint = f"{volume} (the last one: DELETE {write.uri} instead)"
        also = messages.action_parameter_value_conflict("Volume", hint, "#/Volume")
        raise RedfishError(409, (held, also))
    return after


_ROW = ("LUN", "AccessCapabilities")


def _is_row(row: Mapping[str, Any], volume: str, lun: object) -> bool:
    """Return whether a row of VolumeInfo is about that volume, and that LUN where one is given."""
    return volume in uris_at(row, ["Volume"]) and lun in (None, row.get("LUN"))


# -- what a connection names -----------------------------------------------------------------


def _with_luns(document: Document, tip: Tip) -> Document:
    """Say the LUN of volumes whose number is the same for every host (an NVMe NamespaceId)."""
    if not document.get("VolumeInfo"):
        return document
    shown = []
    for row in connection_form.rows(document, "VolumeInfo"):
        volume = next((tip.index.volumes.get(uri) for uri in uris_at(row, ["Volume"])), None)
        number = None if volume is None else volume.lun
        shown.append(
            row if number is None or row.get("LUN") is not None else {**row, "LUN": number}
        )
    return {**document, "VolumeInfo": shown}


def _groups(connection: Connection | None, tip: Tip) -> dict[str, Document]:
    """Return the documents of the endpoint groups that are named and there."""
    named = () if connection is None else (*connection.initiator_groups, *connection.target_groups)
    found = {uri: tip.document(uri) for uri in named if uri in tip.index.groups}
    return {uri: document for uri, document in found.items() if document is not None}


def _refuse_doubtful(connection: Connection, old: Connection | None, tip: Tip) -> None:
    """Refuse to rest on what may still be taken back: the only common zones, groups or parts."""
    before = () if old is None else (*old.initiator_groups, *old.target_groups)
    for group in (*connection.initiator_groups, *connection.target_groups):
        task = tip.busy(group)
        if task is not None and group not in before:
            raise refusals.busy(task)
    known = frozenset() if old is None else frozenset(granted(old))
    for part in granted(connection):
        task = tip.busy(part)
        if task is not None and part not in known:
            raise refusals.busy(task)
    task = task_below(connection, tip)
    if task is not None:
        raise refusals.busy(task)


def _places(connection: Connection) -> dict[str, str]:
    """Return where the body names each target and part."""
    named = {
        "/Links/TargetEndpoints/{}": connection.targets,
        "/MemoryChunkInfo/{}/MemoryChunk": [row.chunk for row in connection.chunks],
        "/MemoryRegionInfo/{}/MemoryRegion": [row.region for row in connection.regions],
        "/VolumeInfo/{}/Volume": [row.volume for row in connection.volumes],
    }
    return {uri: place.format(n) for place, uris in named.items() for n, uri in enumerate(uris)}


def _added(connection: Connection, old: Connection | None, tip: Tip) -> dict[str, tuple[str, ...]]:
    """Return every member, with the units it brings, that only the changed connection names."""
    now = _members(connection, tip)
    return added_members(() if old is None else _members(old, tip), now, now)


def _members(connection: Connection, tip: Tip) -> dict[str, frozenset[str]]:
    """Return everything a connection names, in order, with the units behind it."""
    index, found = tip.index, {}
    for uri in (*connection.initiators, *connection.targets):
        found[uri] = index.endpoints[uri].units if uri in index.endpoints else frozenset[str]()
    for uri in (*connection.initiator_groups, *connection.target_groups):
        ends = index.groups[uri].endpoints if uri in index.groups else ()
        units = (index.endpoints[end].units for end in ends if end in index.endpoints)
        found[uri] = frozenset[str]().union(*units)
    for grant in connection.chunks:
        chunk = index.chunks.get(grant.chunk)
        found[grant.chunk] = frozenset() if chunk is None else frozenset({chunk.unit})
    found.update((each.region, frozenset({each.region})) for each in connection.regions)
    found.update((each.volume, frozenset({each.volume})) for each in connection.volumes)
    return found
