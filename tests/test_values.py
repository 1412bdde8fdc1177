"""Values that every request makes: equal by what is in them, and their fields fixed by name."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from redfish_fm.values import value_class


@value_class
class Pair:
    """Two things."""

    one: int
    rest: tuple[int, ...] = field(default_factory=tuple)


@value_class
class Named(Pair):
    """Two things with a name."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class Frozen:
    """What a value is like everywhere else."""

    one: int
    rest: tuple[int, ...] = field(default_factory=tuple)


def test_values_are_equal_and_hashed_by_their_fields_as_frozen_ones_are() -> None:
    assert Pair(1, (2,)) == Pair(1, (2,)) != Pair(1)
    assert hash(Pair(1, (2,))) == hash(Frozen(1, (2,)))
    assert {Named(1), Named(1, name="x"), Named(1)} == {Named(1), Named(1, name="x")}


def test_a_changed_value_is_another_one() -> None:
    before = Named(1, name="x")
    assert replace(before, one=2) == Named(2, name="x")
    assert before == Named(1, name="x")


def test_a_value_has_no_fields_but_its_own() -> None:
    made: Any = Pair(1)
    with pytest.raises(AttributeError):
        made.other = 2
