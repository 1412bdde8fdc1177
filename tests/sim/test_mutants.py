"""Every mutant is found within a bounded number of seeds.

The counts stand in docs/simulation.md. An ERROR in the log finds nothing: what a mutant has broken
may also be noticed by the service itself, so the next seed is tried.
"""

import pytest

from redfish_fm.fabric import zoning
from redfish_fm.fabric.values import Rule
from tests.fabric.scenarios import SCENARIOS
from tests.sim.mutants import BY_TABLE, MUTANTS, RARE, RULE_MUTANTS
from tests.sim.simulation import simulate

SEEDS, STEPS = 150, 120
SOAK_SEEDS = 600

pytestmark = pytest.mark.expects_errors


def seeds_needed(name: str, first: int, limit: int) -> int | None:
    """Return how many seeds it takes until the mutant fails, None if `limit` do not."""
    for number in range(limit):
        with MUTANTS[name]():
            report = simulate(first + number, STEPS)
        if report.failure is not None and "in the log" not in report.failure:
            print(f"{name}: seed {number + 1}, {report.failure[:120]}")
            return number + 1
    return None


def test_every_rule_is_killed_by_the_simulation_or_by_a_table() -> None:
    killed = {rule for rules, _ in RULE_MUTANTS.values() for rule in rules}
    assert not killed & BY_TABLE.keys()
    assert killed | BY_TABLE.keys() == set(Rule)


@pytest.mark.parametrize("rule", sorted(zoning.RULES.keys() & BY_TABLE.keys(), key=str))
def test_a_rule_that_the_simulation_can_not_reach_is_killed_by_a_table(
    rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(zoning.RULES, rule, lambda _: [])
    assert any(row.expected and row.refused_by() != row.expected for row in SCENARIOS)


@pytest.mark.parametrize("name", [name for name in MUTANTS if name not in RARE])
def test_the_mutant_is_found(name: str) -> None:
    assert seeds_needed(name, 1, SEEDS) is not None


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(RARE))
def test_the_rare_mutant_is_found(name: str) -> None:
    assert seeds_needed(name, 1, SOAK_SEEDS) is not None


@pytest.mark.soak
@pytest.mark.parametrize("name", MUTANTS)
def test_the_mutant_is_found_from_any_seed(name: str, seed_base: int) -> None:
    assert seeds_needed(name, seed_base, SOAK_SEEDS) is not None
