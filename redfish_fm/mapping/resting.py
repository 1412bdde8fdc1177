"""Connections must not come to rest on zones that may still be taken back.

Pure. A zone under change may be given up, by a fabric that refuses or by a client that cancels; a
connection whose ends meet nowhere else would then be left without a common zone, which no write
may bring about (DESIGN section 5, rule 3).
"""

from collections.abc import Iterator

from redfish_fm.fabric.reach import initiators_of, routes, targets_of
from redfish_fm.fabric.values import Connection, Zone
from redfish_fm.mapping.drafts import Tip


def task_below(connection: Connection, tip: Tip) -> str | None:
    """Return the Task that all zones wait for in which two ends of `connection` meet, or None."""
    for initiator in initiators_of(connection, tip.index):
        for target in targets_of(connection, tip.index):
            common = frozenset(tip.index.common_zones(initiator, target))
            task = _all_busy(common, tip)
            if task is not None:
                return task
    return None


def task_left(old: Zone, new: Zone | None, tip: Tip) -> str | None:
    """Return the Task that a connection would rest on once `old` is `new` (None: deleted).

    Asked of what leaves the zone only: what stays there rests on what it did.
    """
    stays = frozenset(new.endpoints) if new is not None and routes(new) else frozenset[str]()
    inside = frozenset(old.endpoints) if routes(old) else frozenset[str]()
    for one, other in _pairs_leaving(inside, stays, tip):
        common = frozenset(tip.index.common_zones(one, other)) - {old.id}
        task = _all_busy(common, tip)
        if task is not None:
            return task
    return None


def _pairs_leaving(
    inside: frozenset[str], stays: frozenset[str], tip: Tip
) -> Iterator[tuple[str, str]]:
    """Yield the ends of connections that meet among `inside`, and not among `stays` any more."""
    leaving = sorted(inside - stays)
    names = {name for uri in leaving for name in tip.index.connections_of(uri)}
    for name in sorted(names):
        connection = tip.index.connections[name]
        targets = [each for each in targets_of(connection, tip.index) if each in inside]
        for initiator in initiators_of(connection, tip.index):
            if initiator in inside:
                for target in targets:
                    if not (initiator in stays and target in stays):
                        yield initiator, target


def _all_busy(zones: frozenset[str], tip: Tip) -> str | None:
    tasks = sorted(task for zone in zones if (task := tip.busy(zone)) is not None)
    return tasks[0] if tasks and len(tasks) == len(zones) else None
