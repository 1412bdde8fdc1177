"""Health from the bottom up: who suffers when one resource fails, kept in step change by change.

Pure and mutable: the reconcile loop of a fabric owns one through mapping. Nodes are opaque ids
(URIs in the running service); a parent depends on its children, and several parents may depend on
one child (a port's switch, a device's chassis, zone and host). Every parent counts its ailing
children by severity, so one changed node costs the nodes above it, never the fabric; `work`
counts them, so that a test can prove it. Redfish: Resource.v1_23_0 Status.HealthRollup and
Status.Conditions.
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum


class Health(Enum):
    """Redfish Status.Health, in the order of severity."""

    OK = "OK"
    WARNING = "Warning"
    CRITICAL = "Critical"

    @property
    def rank(self) -> int:
        """0 for OK; the larger, the worse."""
        return _RANKS[self]


_RANKS = {Health.OK: 0, Health.WARNING: 1, Health.CRITICAL: 2}


def worst(healths: Iterable[Health]) -> Health:
    """Return the most severe of all; OK of none."""
    return max(healths, key=lambda health: health.rank, default=Health.OK)


@dataclass(frozen=True, slots=True)
class Condition:
    """Why something is not OK. Equal while it lasts: when it began is noted beside it.

    `origin` is the id of the resource that causes it, which need not be the one that shows it;
    `message_id` and `args` are those of a message registry, `told` says it in words.
    """

    severity: Health
    origin: str
    message_id: str
    args: tuple[str, ...]
    told: str


def _order(condition: Condition) -> tuple[int, str, str, tuple[str, ...]]:
    return -condition.severity.rank, condition.origin, condition.told, condition.args


class HealthGraph:
    """Own conditions of nodes, and what follows for everything that depends on them.

    A node nobody spoke of is OK. Links are counted: a link made twice has to be taken back twice.
    The graph has no circles: in one, an ailment would keep itself alive. `link` refuses what would
    close one, and who makes links keeps to one direction: part, holder, whole.
    """

    def __init__(self) -> None:
        self.work = 0
        self._own: dict[str, tuple[Condition, ...]] = {}
        self._parents: dict[str, dict[str, int]] = {}
        self._child_counts: dict[str, int] = {}
        self._ailing: dict[str, dict[Health, list[str]]] = {}
        self._rollups: dict[str, Health] = {}
        self._active: dict[Condition, int] = {}
        self._changed: set[str] = set()

    # -- changes -----------------------------------------------------------------------------

    def link(self, child: str, parent: str) -> None:
        """Let `parent` depend on `child`.

        Raises ValueError where `child` would depend on itself, also by way of others; then nothing
        is changed.
        """
        if parent not in self._parents.get(child, ()) and self._is_below(parent, child):
            raise ValueError(f"{child} can not depend on itself, as it would by way of {parent}")
        parents = self._parents.setdefault(child, {})
        parents[parent] = parents.get(parent, 0) + 1
        self.work += 1
        if parents[parent] == 1:
            count = self._child_counts.get(parent, 0)
            self._child_counts[parent] = count + 1
            if not count:
                self._changed.add(parent)
            self._move(parent, child, Health.OK, self.rollup(child))

    def unlink(self, child: str, parent: str) -> None:
        """Undo one `link`. Raises KeyError if there is none."""
        parents = self._parents[child]
        parents[parent] -= 1
        self.work += 1
        if not parents[parent]:
            del parents[parent]
            if not parents:
                del self._parents[child]
            self._child_counts[parent] -= 1
            if not self._child_counts[parent]:
                del self._child_counts[parent]
                self._changed.add(parent)
            self._move(parent, child, self.rollup(child), Health.OK)

    def set_own(self, node: str, conditions: Collection[Condition] = ()) -> None:
        """Replace what is wrong with the node itself; nothing means it is OK."""
        before = self._own.get(node, ())
        self.work += 1
        if not conditions and not before:
            return
        after = tuple(sorted(conditions, key=_order))
        if after == before:
            return
        for condition in before:
            self._count(condition, -1)
        for condition in after:
            self._count(condition, 1)
        if after:
            self._own[node] = after
        else:
            del self._own[node]
        self._refresh(node)

    # -- questions ---------------------------------------------------------------------------

    def own(self, node: str) -> Health:
        """Return the health of the node itself."""
        conditions = self._own.get(node)
        return worst(each.severity for each in conditions) if conditions else Health.OK

    def rollup(self, node: str) -> Health:
        """Return the worst of the node itself and of everything it depends on."""
        return self._rollups.get(node, Health.OK)

    def depends(self, node: str) -> bool:
        """Return whether the node depends on anything, so that its rollup says something."""
        return node in self._child_counts

    def active(self, condition: Condition) -> bool:
        """Return whether any node has this condition now."""
        return condition in self._active

    def conditions(self, node: str, limit: int) -> tuple[Condition, ...]:
        """Return the node's own conditions and those of what it depends on, worst first.

        At most `limit`; each once, however many ways lead to it. Costs the ailing nodes below.
        """
        if node not in self._rollups:
            return ()
        found: dict[Condition, None] = {}
        for each in self._walk(node):
            found.update(dict.fromkeys(self._own.get(each, ())))
            if len(found) >= limit:
                break
        return tuple(sorted(found, key=_order)[:limit])

    def take_changed(self) -> set[str]:
        """Return the nodes whose health, rollup or conditions may differ since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def plain(self) -> dict[str, object]:
        """Return a plain structure, equal for two graphs that know the same."""
        return {
            "own": dict(self._own),
            "rollups": dict(self._rollups),
            "active": dict(self._active),
            "parents": {child: dict(parents) for child, parents in self._parents.items()},
        }

    # -- keeping the counts ------------------------------------------------------------------

    def _walk(self, node: str) -> Iterator[str]:
        """Yield the node, then the ailing nodes below it, the worst children of each first."""
        seen, todo = {node}, [node]
        while todo:
            each = todo.pop()
            self.work += 1
            yield each
            below = self._ailing.get(each, {})
            for severity in (Health.WARNING, Health.CRITICAL):
                for child in reversed(below.get(severity, ())):
                    if child not in seen:
                        seen.add(child)
                        todo.append(child)

    def _is_below(self, node: str, other: str) -> bool:
        """Return whether `other` is the node or depends on it. Costs the nodes above the node."""
        todo, seen = [node], {node}
        while todo:
            each = todo.pop()
            if each == other:
                return True
            for parent in self._parents.get(each, ()):
                if parent not in seen:
                    seen.add(parent)
                    self.work += 1
                    todo.append(parent)
        return False

    def _move(self, parent: str, child: str, before: Health, after: Health) -> None:
        """Count `child` of `parent` under another severity."""
        if before is after:
            return
        rows = self._ailing.setdefault(parent, {})
        if before is not Health.OK:
            row = rows[before]
            del row[bisect_left(row, child)]
            if not row:
                del rows[before]
        if after is not Health.OK:
            insort(rows.setdefault(after, []), child)
        if not rows:
            del self._ailing[parent]
        self._refresh(parent)

    def _refresh(self, node: str) -> None:
        """Recompute the node from its counts, then tell everything above it.

        What the node says has changed even if its rollup has not, and who is above shows it too.
        """
        before = self.rollup(node)
        after = worst((self.own(node), *self._ailing.get(node, ())))
        self.work += 1
        self._changed.add(node)
        if after is before:
            self._tell_above(node)
            return
        if after is Health.OK:
            del self._rollups[node]
        else:
            self._rollups[node] = after
        for parent in self._parents.get(node, ()):
            self._move(parent, node, before, after)

    def _tell_above(self, node: str) -> None:
        todo, seen = [node], {node}
        while todo:
            for parent in self._parents.get(todo.pop(), ()):
                if parent not in seen:
                    seen.add(parent)
                    self.work += 1
                    todo.append(parent)
        self._changed |= seen

    def _count(self, condition: Condition, step: int) -> None:
        count = self._active.get(condition, 0) + step
        if count:
            self._active[condition] = count
        else:
            del self._active[condition]
