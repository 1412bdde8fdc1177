"""Whether demands can be met together."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.fabric.flow import Supplier, can_supply


def test_two_demands_share_a_supplier() -> None:
    shelf = Supplier("a", "gate", 3)
    demands = [(2, [(shelf, 3)]), (1, [(shelf, 3)])]
    assert can_supply(demands, {"gate": 9})
    assert not can_supply([*demands, (1, [(shelf, 3)])], {"gate": 9})


def test_a_demand_makes_way_for_one_that_has_no_other() -> None:
    both, only = Supplier("a", "g", 1), Supplier("b", "g", 1)
    assert can_supply([(1, [(both, 1), (only, 1)]), (1, [(both, 1)])], {"g": 2})


def test_a_gate_limits_all_that_stands_behind_it() -> None:
    shelves = [Supplier(name, "g", 2) for name in "ab"]
    demand = [(3, [(shelf, 2) for shelf in shelves])]
    assert can_supply(demand, {"g": 3})
    assert not can_supply(demand, {"g": 2})


def test_a_demand_takes_no_more_of_one_supplier_than_it_may() -> None:
    assert not can_supply([(2, [(Supplier("a", "g", 5), 1)])], {"g": 5})


def test_nothing_is_always_supplied() -> None:
    assert can_supply([], {})
    assert can_supply([(0, [])], {})


LIMITS = st.integers(0, 2)


@given(
    st.lists(st.tuples(st.integers(0, 3), LIMITS, LIMITS, LIMITS), max_size=2),
    st.tuples(LIMITS, LIMITS, LIMITS),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_it_says_what_trying_everything_says(
    rows: list[tuple[int, int, int, int]],
    limits: tuple[int, int, int],
    gates: tuple[int, int],
) -> None:
    suppliers = [Supplier(n, (0, 0, 1)[n], limit) for n, limit in enumerate(limits)]
    demands = [(amount, [*zip(suppliers, offers, strict=True)]) for amount, *offers in rows]
    ranges = [range(most + 1) for _, *offers in rows for most in offers]
    possible = False
    for taken in product(*ranges):
        by_row = [taken[3 * n : 3 * n + 3] for n in range(len(rows))]
        sums = [sum(row[n] for row in by_row) for n in range(3)]
        possible |= (
            all(sum(row) == wish[0] for row, wish in zip(by_row, rows, strict=True))
            and all(have <= limit for have, limit in zip(sums, limits, strict=True))
            and sums[0] + sums[1] <= gates[0]
            and sums[2] <= gates[1]
        )
    assert can_supply(demands, dict(enumerate(gates))) == possible
