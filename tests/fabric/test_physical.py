"""What inventory says of targets, asked of an index that goes on changing."""

from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import BindTarget
from redfish_fm.fabric.physical import Inventoried
from redfish_fm.fabric.targets import order, overlaps
from redfish_fm.fabric.values import Binder, Unit

A, B = BindTarget("SW", "A"), BindTarget("SW", "B")
PF, VF = BindTarget("SW", "F", function=0), BindTarget("SW", "F", function=1)


def unit(
    name: str, target: BindTarget | None, within: str | None = None, fabric: str = "F"
) -> Unit:
    return Unit(name, fabric, Binder.ZONE, target=target, within=within)


def test_the_ways_of_a_device_are_taken_with_each_other() -> None:
    index = FabricIndex()
    index.put_unit(unit("a", A))
    index.put_unit(unit("b", B, "a"))
    physical = Inventoried(index, "F")
    assert (physical.ways(A), physical.ways(B)) == ((A, B), (B, A))
    assert Inventoried(index, "other").ways(B) == (B,)


def test_a_unit_that_comes_or_goes_later_is_taken_with_what_contains_it() -> None:
    index = FabricIndex()
    index.put_unit(unit("pf", PF))
    physical = Inventoried(index, "F")
    assert physical.ways(PF) == (PF,)
    index.put_unit(unit("vf", VF, "pf"))
    assert (physical.ways(PF), physical.ways(VF)) == ((PF, VF), (VF, PF))
    index.remove_unit("vf")
    assert (physical.ways(PF), physical.ways(VF)) == ((PF,), (VF,))


def test_what_overlaps_anyway_is_no_further_way() -> None:
    index = FabricIndex()
    whole = BindTarget("SW", "M")
    index.put_unit(unit("m", whole))
    physical = Inventoried(index, "F")
    index.put_unit(unit("m0", BindTarget("SW", "M", 0), "m"))
    assert physical.ways(whole) == (whole,)


NAMES = "abcde"
TARGETS = (A, B, PF, VF, BindTarget("SW", "A", 0))
"""The target of each name, in order; every unit may lie within one of an earlier name."""


def chosen(script: list[tuple[int, int | None, bool]]) -> list[tuple[str, Unit | None]]:
    """Return puts (a unit) and removals (None) by name."""
    found: list[tuple[str, Unit | None]] = []
    for number, above, put in script:
        within = None if above is None or above >= number else NAMES[above]
        made = unit(NAMES[number], TARGETS[number], within)
        found.append((NAMES[number], made if put else None))
    return found


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.none() | st.integers(0, 3), st.booleans()), max_size=12
    )
)
def test_after_any_changes_the_ways_are_those_of_an_index_made_anew(
    script: list[tuple[int, int | None, bool]],
) -> None:
    index = FabricIndex()
    physical = Inventoried(index, "F")
    for name, made in chosen(script):
        if made is None:
            index.remove_unit(name)
        else:
            index.put_unit(made)
        for target in TARGETS:
            expected = {target}
            for each in index.units.values():
                for name_above in index.units_above(each.id):
                    above = index.units.get(name_above)
                    pair = (each.target, None if above is None else above.target)
                    if target in pair and None not in pair and not overlaps(*pair):
                        expected |= set(pair)
            assert physical.ways(target)[0] == target
            assert sorted(physical.ways(target), key=order) == sorted(expected, key=order)
