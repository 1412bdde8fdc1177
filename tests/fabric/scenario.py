"""The form of the corpus: for each isolation rule, illegal changes and their legal twins.

Each scenario sets up a fabric and asks for one change. `expected` are the rules that must refuse
it; a twin (no `expected`) differs in one thing and must be accepted. test_zoning runs them all;
its mutant tests switch each rule off and demand that some scenario notices.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from redfish_fm.fabric import zoning
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.values import Connection, Rule, Violation, Zone


@dataclass(frozen=True)
class Scenario:
    """One change and the rules that must refuse it, all of them and no other."""

    name: str
    judge: Callable[[], list[Violation]]
    expected: frozenset[Rule] = frozenset()

    def refused_by(self) -> frozenset[Rule]:
        return frozenset(violation.rule for violation in self.judge())


@dataclass
class Table:
    """The scenarios of one kind of fabric; its two methods decorate the function that judges."""

    kind: str
    rows: list[Scenario] = field(default_factory=list)

    def illegal(self, *rules: Rule) -> Callable[[Callable[[], list[Violation]]], None]:
        return lambda judge: self._add(judge, frozenset(rules))

    def legal(self, judge: Callable[[], list[Violation]]) -> None:
        self._add(judge, frozenset())

    def _add(self, judge: Callable[[], list[Violation]], rules: frozenset[Rule]) -> None:
        self.rows.append(Scenario(f"{self.kind}: {judge.__name__}", judge, rules))


def known(_: str) -> tuple[str | None, str | None]:
    """Everything is there and well."""
    return "Enabled", "OK"


def post(index: FabricIndex, item: Zone | Connection) -> list[Violation]:
    if isinstance(item, Zone):
        return zoning.check_zone(index, item, None, known)
    return zoning.check_connection(index, item, None, known)


def patch(index: FabricIndex, item: Zone | Connection) -> list[Violation]:
    if isinstance(item, Zone):
        return zoning.check_zone(index, item, index.zones[item.id], known)
    return zoning.check_connection(index, item, index.connections[item.id], known)
