"""Parts of a pool: allocated, bound, given back; and what hardware refuses of it."""

from dataclasses import replace

import pytest

from redfish_fm.drivers.virtual.capacity import Extent, carve
from redfish_fm.drivers.virtual.device import SimulatedDevice
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.refusals import Refusal, Refused
from redfish_fm.fabric.inventory import defects
from redfish_fm.fabric.model import (
    BindTarget,
    Media,
    PartKind,
    PartState,
    Pool,
    PortId,
    Step,
    VppbId,
)
from tests.drivers.virtual.physics import (
    DEVICES,
    FIRST,
    FIXED,
    GIB,
    LD,
    NAMESPACE,
    NEXT,
    OTHER_LD,
    REGION,
    SECOND,
    TIB,
    WORLD,
    allocate,
    bind,
    deallocate,
    part,
    sanitize,
    session,
    unbind,
    world,
)
from tests.virtual_time import in_virtual_time


def refused(hardware: Hardware, step: Step) -> Refusal:
    """Run a step that is refused and return why."""
    with pytest.raises(Refused) as caught:
        hardware.execute(step)
    return caught.value.refusal


def parts(hardware: Hardware) -> dict[BindTarget, PartState]:
    """Return what is said of parts that are cut out of pools."""
    fixed = {"D3", "D4", "D5", "D6"}
    said = hardware.part_states("cxl1")
    return {target: state for target, state in said.items() if target.port not in fixed}


def test_the_world_of_these_tests_is_sound() -> None:
    assert defects(WORLD) == []


@in_virtual_time
async def test_nothing_is_allocated_at_first() -> None:
    assert parts(world()) == {}


@in_virtual_time
@pytest.mark.parametrize("target", [LD, REGION, NAMESPACE])
async def test_an_allocated_part_is_observed_with_its_size(target: BindTarget) -> None:
    powered = session(world())
    await powered.driver.apply(allocate(target, 4 * GIB, shareable=True), powered.in_s())
    seen = await powered.driver.observe()
    assert seen.parts[target] == PartState(4 * GIB, Media.CLEAN, True, ((0, 4 * GIB),))


@in_virtual_time
@pytest.mark.parametrize("target", [LD, REGION, NAMESPACE])
async def test_repeating_an_allocation_or_its_end_changes_nothing(target: BindTarget) -> None:
    hardware = world()
    for step in (allocate(target), allocate(target)):
        hardware.execute(step)
    assert list(parts(hardware)) == [target]
    for step in (deallocate(target), deallocate(target)):
        hardware.execute(step)
    assert parts(hardware) == {}
    assert [done.what for done in hardware.oracle().actions()] == ["allocate", "deallocate"]


NOT_ALLOCATED = {
    "an LD": (bind(), Refusal.LD_NOT_ALLOCATED),
    "a region": (bind(target=REGION), Refusal.PART_NOT_ALLOCATED),
    "a namespace": (bind(target=NAMESPACE), Refusal.PART_NOT_ALLOCATED),
    "a dynamic LD itself": (bind(target=part("D2", ld=0)), Refusal.LD_DYNAMIC),
    "a subsystem": (bind(target=part("D8")), Refusal.SUBSYSTEM_WHOLE),
}


@in_virtual_time
@pytest.mark.parametrize(("step", "refusal"), NOT_ALLOCATED.values(), ids=NOT_ALLOCATED)
async def test_what_is_not_allocated_is_not_bound(step: Step, refusal: Refusal) -> None:
    assert refused(world(), step) is refusal


WRONG = {
    "an odd size": (allocate(size_mib=300), Refusal.GRANULARITY),
    "no size": (allocate(size_mib=0), Refusal.GRANULARITY),
    "an odd block": (allocate(REGION, 3 * GIB), Refusal.GRANULARITY),
    "more than the pool": (allocate(size_mib=2 * TIB), Refusal.POOL_EXHAUSTED),
    "an LD too many": (allocate(part(ld=16)), Refusal.NO_SUCH_PART),
    "a region of no LD": (allocate(part("D2", ld=7, region=0)), Refusal.NO_SUCH_PART),
    "a region too many": (allocate(part("D2", ld=0, region=8)), Refusal.NO_SUCH_PART),
    "an LD of dynamic capacity": (allocate(part("D2", ld=0)), Refusal.NO_SUCH_PART),
    "namespace 0": (allocate(part("D8", namespace=0)), Refusal.NO_SUCH_PART),
    "a fixed LD": (allocate(FIXED), Refusal.FIXED),
    "a device without a pool": (allocate(part("D7")), Refusal.NO_SUCH_PART),
    "a port without a device": (allocate(part("U1", ld=0)), Refusal.UNKNOWN_PORT),
    "deallocating a fixed LD": (deallocate(FIXED), Refusal.FIXED),
    "sanitizing what can not": (sanitize(part("D7", function=0)), Refusal.NEVER_SANITIZED),
    "sanitizing what is not allocated": (sanitize(), Refusal.LD_NOT_ALLOCATED),
}


@in_virtual_time
@pytest.mark.parametrize(("step", "refusal"), WRONG.values(), ids=WRONG)
async def test_hardware_refuses(step: Step, refusal: Refusal) -> None:
    hardware = world()
    assert refused(hardware, step) is refusal
    assert parts(hardware) == {}
    assert hardware.oracle().actions()[-1].note == refusal.name


@in_virtual_time
async def test_an_allocated_part_keeps_its_size_and_sharing() -> None:
    hardware = world()
    hardware.execute(allocate())
    assert refused(hardware, allocate(size_mib=8 * GIB)) is Refusal.OTHER_SIZE
    assert refused(hardware, allocate(shareable=True)) is Refusal.OTHER_SHARING


@in_virtual_time
async def test_a_full_pool_gives_no_more_until_something_is_given_back() -> None:
    hardware = world()
    hardware.execute(allocate(LD, TIB - 256))
    assert refused(hardware, allocate(OTHER_LD, 512)) is Refusal.POOL_EXHAUSTED
    hardware.execute(deallocate(LD))
    hardware.execute(allocate(OTHER_LD, 512))


@in_virtual_time
async def test_regions_of_all_lds_share_the_pool_and_each_ld_counts_its_own() -> None:
    hardware = world()
    for number in range(8):
        hardware.execute(allocate(part("D2", ld=0, region=number), 2 * GIB))
    hardware.execute(allocate(part("D2", ld=1, region=0), 48 * GIB))
    full = refused(hardware, allocate(part("D2", ld=1, region=1), 2 * GIB))
    assert full is Refusal.POOL_EXHAUSTED


@in_virtual_time
async def test_a_fragmented_region_is_several_extents_of_whole_blocks() -> None:
    hardware = world()
    regions = [part("D2", ld=0, region=number) for number in range(4)]
    for region in regions:
        hardware.execute(allocate(region, 16 * GIB))
    for region in regions[::2]:
        hardware.execute(deallocate(region))
    hardware.execute(allocate(regions[0], 20 * GIB))
    assert hardware.extents(regions[0]) == (
        Extent(0, 16 * GIB),
        Extent(32 * GIB, 4 * GIB),
    )
    assert hardware.extents(regions[2]) == ()


def test_what_fits_in_one_gap_is_one_extent_in_the_smallest_such_gap() -> None:
    used = (Extent(0, 2), Extent(12, 2), Extent(18, 2))
    assert carve(40, 2, used, 4) == (Extent(14, 4),)
    assert carve(40, 2, used, 6) == (Extent(2, 6),)


def test_where_no_gap_is_large_enough_the_largest_are_taken() -> None:
    used = (Extent(2, 2), Extent(8, 2), Extent(16, 2))
    assert carve(20, 2, used, 10) == (Extent(4, 4), Extent(10, 6))


def test_a_rest_smaller_than_a_block_belongs_to_nobody() -> None:
    assert carve(9, 2, (Extent(2, 2),), 6) == (Extent(0, 2), Extent(4, 4))
    assert carve(9, 2, (Extent(2, 2),), 8) is None


def test_heads_share_the_pool_and_its_number_of_parts() -> None:
    ports = (PortId("cxl1", "D4"), PortId("cxl1", "D5"))
    facts = replace(DEVICES[0], shared_heads=True, pool=Pool(PartKind.LD, 8 * GIB, 256, 2))
    device = SimulatedDevice(facts, ports)
    device.allocate(allocate(part("D4", ld=0), GIB))
    device.allocate(allocate(part("D5", ld=0), GIB))
    with pytest.raises(Refused) as caught:
        device.allocate(allocate(part("D5", ld=1), GIB))
    assert caught.value.refusal is Refusal.TOO_MANY_PARTS
    device.deallocate(deallocate(part("D4", ld=0)))
    with pytest.raises(Refused) as caught:
        device.allocate(allocate(part("D5", ld=1), 8 * GIB))
    assert caught.value.refusal is Refusal.POOL_EXHAUSTED


@in_virtual_time
async def test_a_shareable_part_of_a_port_that_is_bound_whole_is_refused() -> None:
    hardware = world()
    hardware.execute(allocate(REGION, shareable=True))
    hardware.switches["cxl1"].force(FIRST, part("D2"))
    assert refused(hardware, bind(SECOND, REGION)) is Refusal.PORT_BOUND


@in_virtual_time
async def test_a_bound_part_is_neither_given_back_nor_sanitized() -> None:
    hardware = world()
    hardware.execute(allocate())
    hardware.execute(bind())
    assert refused(hardware, deallocate()) is Refusal.IN_USE
    assert refused(hardware, sanitize()) is Refusal.IN_USE


@in_virtual_time
@pytest.mark.parametrize("target", [LD, REGION, NAMESPACE])
async def test_a_part_that_is_not_shareable_is_bound_once(target: BindTarget) -> None:
    hardware = world()
    hardware.execute(allocate(target))
    hardware.execute(bind(FIRST, target))
    expected = Refusal.LD_BOUND if target == LD else Refusal.PART_BOUND
    assert refused(hardware, bind(SECOND, target)) is expected


@in_virtual_time
@pytest.mark.parametrize("target", [REGION, NAMESPACE])
async def test_a_shareable_part_is_bound_for_several_hosts(target: BindTarget) -> None:
    hardware = world()
    hardware.execute(allocate(target, shareable=True))
    for vppb in (FIRST, NEXT, SECOND):
        hardware.execute(bind(vppb, target))
    assert set(hardware.oracle().bindings("World")) == {FIRST, NEXT, SECOND}
    hardware.execute(unbind(FIRST, target))
    assert refused(hardware, deallocate(target)) is Refusal.IN_USE


@in_virtual_time
async def test_parts_beside_each_other_are_bound_for_different_hosts() -> None:
    hardware = world()
    for target, vppb in ((LD, FIRST), (OTHER_LD, SECOND)):
        hardware.execute(allocate(target))
        hardware.execute(bind(vppb, target))
    assert hardware.oracle().double_reach() == []


FUNCTIONS = {
    "one function twice": (1, 1, Refusal.FUNCTION_BOUND),
    "a physical function beside its virtual one": (1, 0, Refusal.FUNCTION_BOUND),
    "a virtual function beside its physical one": (0, 2, Refusal.FUNCTION_BOUND),
}


@in_virtual_time
@pytest.mark.parametrize(("first", "second", "refusal"), FUNCTIONS.values(), ids=FUNCTIONS)
async def test_hardware_refuses_functions(first: int, second: int, refusal: Refusal) -> None:
    hardware = world()
    hardware.execute(bind(FIRST, part("D7", function=first)))
    assert refused(hardware, bind(SECOND, part("D7", function=second))) is refusal


@in_virtual_time
async def test_virtual_functions_are_bound_for_different_hosts() -> None:
    hardware = world()
    hardware.execute(bind(FIRST, part("D7", function=1)))
    hardware.execute(bind(SECOND, part("D7", function=2)))
    assert refused(hardware, bind(NEXT, part("D7"))) is Refusal.PORT_BOUND
    assert refused(hardware, bind(NEXT, part("D7", function=9))) is Refusal.NO_SUCH_FUNCTION


@in_virtual_time
async def test_functions_of_a_device_that_is_bound_whole_are_refused() -> None:
    refusal = refused(world(), bind(FIRST, part("D6", function=0)))
    assert refusal is Refusal.FUNCTIONS_TOGETHER


@in_virtual_time
async def test_heads_serve_different_hosts() -> None:
    hardware = world()
    hardware.execute(bind(FIRST, part("D4")))
    hardware.execute(bind(SECOND, part("D5")))
    assert hardware.oracle().double_reach() == []
    assert hardware.oracle().exposures() == []


@in_virtual_time
async def test_two_ports_of_one_device_are_one_thing_to_the_oracle() -> None:
    hardware = world()
    hardware.execute(bind(FIRST, part("D6")))
    hardware.execute(bind(VppbId("cxl2", "1", 0), part("D1", "cxl2")))
    assert hardware.oracle().double_reach() == [], "two ways of one host"
    hardware.execute(unbind(VppbId("cxl2", "1", 0), part("D1", "cxl2")))
    hardware.execute(bind(VppbId("cxl2", "2", 0), part("D1", "cxl2")))
    (double,) = hardware.oracle().double_reach()
    assert {double.first.host, double.second.host} == {"host1", "host2"}
    reach = hardware.oracle().reach("World")
    assert reach["host1"] == reach["host2"] == {(("dual", ""), ())}


@in_virtual_time
async def test_every_capacity_is_either_allocated_or_free() -> None:
    hardware = world()
    for step in (
        allocate(LD, 100 * GIB),
        allocate(OTHER_LD, 28 * GIB),
        deallocate(LD),
        allocate(part(ld=2), 120 * GIB),
        allocate(NAMESPACE, 10 * GIB),
    ):
        hardware.execute(step)
    accounts = {account.device: account for account in hardware.oracle().accounts("World")}
    assert accounts["pool"].allocated_mib == 148 * GIB
    assert accounts["sub"].free_mib == TIB - 10 * GIB
    for account in accounts.values():
        assert account.allocated_mib + account.free_mib == account.total_mib
        assert account.twice_mib == 0
