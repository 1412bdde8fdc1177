"""Ids: base 36 of a number that is never used twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.control.ids import base36, id_order, resource_id


@given(st.integers(min_value=0, max_value=2**63))
def test_the_text_reads_back_as_the_number(number: int) -> None:
    assert int(base36(number), 36) == number
    assert base36(number) == base36(number).lower()


@given(st.lists(st.integers(min_value=1, max_value=10**9), unique=True))
def test_the_order_of_ids_is_that_of_their_numbers(numbers: list[int]) -> None:
    ids = [base36(number) for number in sorted(numbers)]
    assert sorted(reversed(ids), key=id_order) == ids


def test_a_negative_number_has_no_id() -> None:
    with pytest.raises(ValueError, match="-1"):
        base36(-1)


def test_further_resources_of_one_change_are_numbered() -> None:
    assert [resource_id(36, n) for n in range(3)] == ["10", "10-1", "10-2"]
