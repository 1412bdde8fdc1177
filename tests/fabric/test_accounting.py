"""Capacity adds up, whatever the hardware says; gaps and numbers are found lowest first."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from redfish_fm.fabric.accounting import Account, account, free_offset, lowest_gap
from redfish_fm.fabric.model import BindTarget, Media, PartState
from tests.fabric.builders import a_fabric
from tests.fabric.devices import (
    a_chunk,
    a_region,
    a_volume,
    by_address,
    dynamic_ld,
    pooled_mld,
    subsystem,
)


def ld(number: int, name: str = "P") -> BindTarget:
    return BindTarget("SW", name, number)


def test_an_untouched_pool_is_free() -> None:
    assert account(pooled_mld(a_fabric()), "pool-P", {}) == Account(4096, 4096, 0, 0)


def test_a_pool_that_nobody_knows_is_empty() -> None:
    assert account(a_fabric(), "none", {}) == Account(0, 0, 0, 0)


def test_what_is_wanted_is_used_before_the_hardware_has_it_and_after() -> None:
    index = pooled_mld(a_fabric())
    index.put_chunk(a_chunk(index, "c", 1024))
    assert account(index, "pool-P", {}) == Account(4096, 3072, 1024, 0)
    seen = {ld(0): PartState(1024)}
    assert account(index, "pool-P", seen) == Account(4096, 3072, 1024, 0)


def test_what_hardware_has_for_nobody_is_scrubbing() -> None:
    index = pooled_mld(a_fabric())
    index.put_chunk(a_chunk(index, "c", 1024))
    seen = {ld(0): PartState(1024), ld(1): PartState(512, Media.SANITIZING)}
    assert account(index, "pool-P", seen) == Account(4096, 2560, 1024, 512)


def test_a_part_that_hardware_has_too_big_is_scrubbing_for_the_rest() -> None:
    index = pooled_mld(a_fabric())
    index.put_chunk(a_chunk(index, "c", 1024))
    assert account(index, "pool-P", {ld(0): PartState(1536)}).scrubbing == 512


def test_the_parts_of_other_devices_and_of_other_kinds_do_not_count() -> None:
    index = subsystem(dynamic_ld(pooled_mld(a_fabric())))
    seen = {
        ld(0, "Q"): PartState(512),
        replace(ld(0, "Y"), region=1): PartState(256),
        BindTarget("N", "N", namespace=3): PartState(128),
    }
    assert account(index, "pool-P", seen).scrubbing == 0
    assert account(index, "pool-Y", seen).scrubbing == 256
    assert account(index, "pool-N", seen).scrubbing == 128


def test_regions_and_volumes_count_in_their_pools() -> None:
    index = subsystem(dynamic_ld(a_fabric()))
    index.put_region(a_region(index, "r", 512))
    index.put_volume(a_volume(index, "v", 1024))
    assert account(index, "pool-Y", {}).used == 512
    assert account(index, "pool-N", {}).used == 1024
    index.remove_region("r")
    assert account(index, "pool-Y", {}).free == 4096


@given(
    sizes=st.lists(st.integers(0, 5000), max_size=4),
    seen=st.dictionaries(st.integers(0, 5), st.integers(0, 9000)),
)
def test_free_and_used_and_scrubbing_are_always_the_total(
    sizes: list[int], seen: dict[int, int]
) -> None:
    index = pooled_mld(a_fabric())
    for number, size in enumerate(sizes):
        index.put_chunk(a_chunk(index, f"c{number}", size))
    parts = {ld(number): PartState(size) for number, size in seen.items()}
    found = account(index, "pool-P", parts)
    assert found.free + found.used + found.scrubbing == found.total == 4096
    assert min(found.free, found.used, found.scrubbing) >= 0


def test_the_lowest_gap_is_taken_even_if_a_later_one_fits_better() -> None:
    assert lowest_gap([(0, 512), (2048, 512)], 256, 4096) == 512
    assert lowest_gap([(0, 512), (768, 512)], 512, 4096) == 1280
    assert lowest_gap([], 4096, 4096) == 0
    assert lowest_gap([(0, 512)], 4096, 4096) is None


def test_a_gap_begins_at_a_multiple_of_the_granularity() -> None:
    assert lowest_gap([(0, 100)], 256, 4096, 256) == 256


@given(
    taken=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), max_size=6),
    size=st.integers(1, 12),
    step=st.sampled_from([1, 4]),
)
def test_the_lowest_gap_is_what_a_search_finds(
    taken: list[tuple[int, int]], size: int, step: int
) -> None:
    def fits(offset: int) -> bool:
        return all(
            offset + size <= start or start + length <= offset for start, length in taken if length
        )

    searched = next((at for at in range(0, 33 - size, step) if fits(at)), None)
    assert lowest_gap(taken, size, 32, step) == searched


def test_a_new_chunk_goes_where_it_fits_and_nowhere_in_a_domain_that_nobody_knows() -> None:
    index = by_address(a_fabric())
    assert free_offset(index, "dom", 512) == 512
    assert free_offset(index, "dom", 768) == 2048
    assert free_offset(index, "dom", 4096) is None
    assert free_offset(index, "dom", 2048, without="second") == 512
    assert free_offset(index, "none", 1) is None


def test_a_new_part_has_the_lowest_number_that_nobody_has() -> None:
    index = pooled_mld(a_fabric())
    index.put_chunk(a_chunk(index, "c0", 256))
    index.put_chunk(a_chunk(index, "c1", 256))
    index.remove_chunk("c0")
    assert index.free_part("pool-P", ()) == 0
    assert index.free_part("pool-P", {ld(0)}) == 2
    assert index.free_part("pool-P", {ld(0), ld(2), ld(3)}) is None
    assert index.free_part("none", ()) is None


def test_region_numbers_are_counted_for_each_ld() -> None:
    index = dynamic_ld(dynamic_ld(a_fabric()), "X")
    index.put_region(a_region(index, "r0"))
    assert index.free_part("pool-Y", (), "Y.0") == 1
    assert index.free_part("pool-X", (), "X.0") == 0
    assert index.part_target("pool-Y", 1, "Y.0") == BindTarget("SW", "Y", 0, region=1)
    assert index.part_target("pool-Y", 1, "none") is None


def test_allocations_are_those_of_one_fabric_in_order() -> None:
    index = subsystem(pooled_mld(a_fabric()), "N2", "G")
    index.put_chunk(a_chunk(index, "c0", 256))
    index.put_chunk(a_chunk(index, "c1", 512))
    index.put_volume(a_volume(index, "v", 256, name="N2"))
    assert [(each.holder, each.size_mib) for each in index.allocations_in("F")] == [
        ("c0", 256),
        ("c1", 512),
    ]
    assert [each.holder for each in index.allocations_in("G")] == ["v"]


def test_two_parts_that_claim_one_target_leave_it_to_the_other_when_one_goes() -> None:
    index = pooled_mld(a_fabric())
    first = a_chunk(index, "b", 256)
    index.put_chunk(first)
    index.put_chunk(replace(first, id="a", allocation=replace(first.allocation, holder="a")))
    assert index.allocations[ld(0)].holder == "a"
    index.remove_chunk("a")
    assert index.allocations[ld(0)].holder == "b"
    assert index.claims_of(ld(0)) == {"b"}
