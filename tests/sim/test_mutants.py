"""Every mutant is found within a bounded number of seeds.

The counts stand in docs/simulation.md. An ERROR in the log finds nothing: the mutant itself is
broken then.
"""

import pytest

from tests.sim.mutants import MUTANTS
from tests.sim.simulation import simulate

SEEDS, STEPS = 150, 120
SOAK_SEEDS = 600

pytestmark = pytest.mark.expects_errors


def seeds_needed(name: str, first: int, limit: int) -> int | None:
    """Return how many seeds it takes until the mutant fails, None if `limit` do not."""
    for number in range(limit):
        with MUTANTS[name]():
            report = simulate(first + number, STEPS)
        if report.failure is not None:
            assert "in the log" not in report.failure, report.failure
            print(f"{name}: seed {number + 1}, {report.failure[:120]}")
            return number + 1
    return None


@pytest.mark.parametrize("name", MUTANTS)
def test_the_mutant_is_found(name: str) -> None:
    assert seeds_needed(name, 1, SEEDS) is not None


@pytest.mark.soak
@pytest.mark.parametrize("name", MUTANTS)
def test_the_mutant_is_found_from_any_seed(name: str, seed_base: int) -> None:
    assert seeds_needed(name, seed_base, SOAK_SEEDS) is not None
