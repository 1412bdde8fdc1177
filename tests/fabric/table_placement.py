"""What placement prefers and what it refuses: a row for each rule, with its twin.

A row asks one question of one pod and says what must be chosen (or why it is refused). Twins differ
in one thing and end differently. test_placement_rules runs all, and breaks every rule once.
"""

from collections.abc import Callable
from dataclasses import dataclass

from redfish_fm.fabric.placement_values import (
    ComputeWish,
    MemoryPolicy,
    MemoryWish,
    Wish,
)
from tests.fabric.pods import GIB, X16_MB_S, Pod, chosen, told

Answer = object
ROWS: "list[Row]" = []
GPU = Wish("GPU")


@dataclass(frozen=True)
class Row:
    """A question and its answer."""

    name: str
    ask: Callable[[], Answer]
    expected: Answer


def row(expected: Answer) -> Callable[[Callable[[], Answer]], None]:
    """Note the decorated question with what must be answered."""
    return lambda ask: ROWS.append(Row(ask.__name__, ask, expected))


def gpus(count: int, **more: object) -> Wish:
    return Wish("GPU", count, **more)  # type: ignore[arg-type]


def memory(capacity: int, count: int = 1, **more: object) -> MemoryWish:
    return MemoryWish(capacity, count, **more)  # type: ignore[arg-type]


# -- devices: where they stand to each other -----------------------------------------------------


def two_switches() -> Pod:
    pod = Pod().host("H", "s1", "s2")
    return pod.devices("s1", "a1", "a2").devices("s2", "b1", "b2", "b3", "b4")


@row(["b1", "b2", "b3"])
def devices_behind_one_switch_come_first() -> Answer:
    return chosen(two_switches().placed(gpus(3)))


@row(["a1", "a2", "b1", "b2", "b3"])
def devices_behind_two_switches_are_taken_where_one_has_too_few() -> Answer:
    return chosen(two_switches().placed(gpus(5)))


@row([("COUNT", 5, 4)])
def one_switch_is_demanded_and_has_too_few() -> Answer:
    return told(two_switches().refused(gpus(5, same_switch=True)))


@row(["b1", "b2", "b3", "b4"])
def one_switch_is_demanded_and_has_enough() -> Answer:
    return chosen(two_switches().placed(gpus(4, same_switch=True)))


def a_chain(latency: int = 0) -> Pod:
    """s2 is chained to s1; s3 has a port of the host of its own, and is nearer than s2."""
    pod = Pod().host("H", "s1", "s3", latency=50).way("H", "s2", through="s1", latency=50)
    pod.devices("s1", "a1", "a2").devices("s2", "b1", "b2", "b3")
    return pod.devices("s3", "c1", "c2", latency=latency)


@row(["a1", "a2", "b1", "b2"])
def chained_switches_come_before_several_roots() -> Answer:
    return chosen(a_chain().placed(gpus(4)))


@row(["a1", "a2", "c1", "c2"])
def several_roots_are_taken_where_the_chain_has_too_few() -> Answer:
    pod = a_chain()
    pod.composed("other", "X", "b1", "b2")
    return chosen(pod.placed(gpus(4)))


@row([("LATENCY", 99, 100)])
def a_chained_switch_is_as_far_as_both_hops() -> Answer:
    pod = a_chain().composed("other", "X", "a1", "a2", "c1", "c2")
    return told(pod.refused(gpus(1), latency_ns_max=99))


@row(["b1"])
def a_chained_switch_is_no_farther_than_both_hops() -> Answer:
    pod = a_chain().composed("other", "X", "a1", "a2", "c1", "c2")
    return chosen(pod.placed(gpus(1), latency_ns_max=100))


@row(["c1", "c2", "c3", "d1", "d2"])
def fewer_switches_come_before_more() -> Answer:
    pod = Pod().host("H", "s1", "s2", "s3", "s4")
    pod.devices("s1", "a1", "a2").devices("s2", "b1", "b2")
    pod.devices("s3", "c1", "c2", "c3").devices("s4", "d1", "d2")
    # Three switches could be emptied, with nothing left over on the one that has most.
    pod.way("H", "s3", latency=200)
    return chosen(pod.composed("other", "X", "a1", "b1").placed(gpus(5)))


# -- devices: among switches that do equally -----------------------------------------------------


@row(["b1"])
def a_system_gets_more_where_it_has_some() -> Answer:
    pod = two_switches().composed("S", "H", "b2")
    return chosen(pod.placed(GPU, system="S"))


@row(["a1"])
def a_system_without_any_gets_the_first_from_the_fullest() -> Answer:
    pod = two_switches().composed("S", "H")
    return chosen(pod.placed(GPU, system="S"))


def narrow(mb_s: int) -> Pod:
    """The uplink of s1 carries `mb_s`; s1 is the fullest."""
    pod = Pod().host("H", "s1", "s2").way("H", "s1", mb_s=mb_s)
    return pod.devices("s1", "a1", "a2").devices("s2", "b1", "b2", "b3")


@row(["b1", "b2"])
def a_narrow_uplink_is_avoided() -> Answer:
    return chosen(narrow(X16_MB_S // 4).placed(gpus(2)))


@row(["a1", "a2"])
def an_uplink_as_wide_as_the_others_is_not() -> Answer:
    return chosen(narrow(X16_MB_S).placed(gpus(2)))


@row(["a1", "b8"])
def what_was_chosen_before_loads_the_uplink() -> Answer:
    pod = Pod().host("H", "s1", "s2").devices("s1", "a1")
    pod.devices("s1", "a8", kind="NVMe").devices("s2", "b8", kind="NVMe")
    return chosen(pod.placed(GPU, Wish("NVMe")))


@row(["a1", "a8"])
def what_was_chosen_before_does_not_count_where_there_is_room() -> Answer:
    pod = Pod().host("H", "s1", "s2", mb_s=2 * X16_MB_S).devices("s1", "a1")
    pod.devices("s1", "a8", kind="NVMe").devices("s2", "b8", kind="NVMe")
    return chosen(pod.placed(GPU, Wish("NVMe")))


def shared_links(used: bool) -> Pod:
    """Two chained switches; another host's devices load the link to s2."""
    pod = Pod().host("H", "s1", mb_s=9 * X16_MB_S)
    pod.way("H", "s2", through="s1").way("H", "s3", through="s1")
    pod.devices("s2", "b1", "b2").devices("s3", "c1", "c2", "c3")
    return pod.composed("other", "X", "b2") if used else pod


@row(["c1"])
def a_link_between_switches_is_shared_with_other_hosts() -> Answer:
    return chosen(shared_links(True).placed(GPU))


@row(["b1"])
def a_link_between_switches_that_nobody_uses_is_as_good() -> Answer:
    return chosen(shared_links(False).placed(GPU))


def far(latency: int) -> Pod:
    """s1 is fuller, and `latency` away."""
    pod = Pod().host("H", "s1", "s2").way("H", "s1", latency=latency)
    return pod.devices("s1", "a1").devices("s2", "b1", "b2")


@row(["b1"])
def the_nearer_switch_is_taken() -> Answer:
    return chosen(far(101).placed(GPU))


@row(["a1"])
def of_two_as_near_the_fullest_is_taken() -> Answer:
    return chosen(far(100).placed(GPU))


@row(["b1"])
def the_switch_that_is_left_fullest_comes_before_a_lower_id() -> Answer:
    pod = Pod().host("H", "s1", "s2").devices("s1", "a1", "a2").devices("s2", "b1")
    return chosen(pod.placed(GPU))


@row(["a1"])
def of_two_alike_the_lowest_id_is_taken() -> Answer:
    pod = Pod().host("H", "s1", "s2").devices("s2", "b1").devices("s1", "a1")
    return chosen(pod.placed(GPU))


@row(["a1", "a2", "a3", "b1", "b2"])
def of_two_switches_the_emptier_is_emptied() -> Answer:
    pod = Pod().host("H", "s1", "s2")
    pod.devices("s1", "a1", "a2", "a3", "a4").devices("s2", "b1", "b2")
    return chosen(pod.placed(gpus(5)))


# -- devices: which of a switch ------------------------------------------------------------------


def models() -> Pod:
    pod = Pod().host("H", "s1")
    pod.devices("s1", "big", model="B", capacity=160 * GIB)
    return pod.devices("s1", "zsmall", "zsmall2", model="A", capacity=80 * GIB)


@row(["zsmall"])
def the_smallest_that_will_do_is_taken() -> Answer:
    return chosen(models().placed(GPU))


@row(["big"])
def the_smallest_is_not_taken_where_it_will_not_do() -> Answer:
    return chosen(models().placed(gpus(1, capacity_mib_min=81 * GIB)))


@row(["big"])
def a_model_is_what_was_asked_for() -> Answer:
    return chosen(models().placed(gpus(1, model="B")))


@row([("MODEL", 1, 0)])
def a_model_that_nobody_has_is_refused() -> Answer:
    return told(models().refused(gpus(1, model="C")))


@row(["z1"])
def a_big_group_is_kept_whole() -> Answer:
    pod = Pod().host("H", "s1").devices("s1", "a1", "a2", model="A")
    return chosen(pod.devices("s1", "z1", model="B").placed(GPU))


@row(["n2"])
def a_wish_for_speed_is_heeded() -> Answer:
    pod = Pod().host("H", "s1").devices("s1", "n1", mb_s=100).devices("s1", "n2", mb_s=200)
    return chosen(pod.placed(gpus(1, bandwidth_mb_s_min=150)))


@row(["n1"])
def without_a_wish_for_speed_the_slowest_will_do() -> Answer:
    pod = Pod().host("H", "s1").devices("s1", "n1", mb_s=100).devices("s1", "n2", mb_s=200)
    return chosen(pod.placed(gpus(1)))


@row(["n2"])
def a_manufacturer_is_what_was_asked_for() -> Answer:
    pod = Pod().host("H", "s1").devices("s1", "n1", manufacturer="P")
    pod.devices("s1", "n2", manufacturer="Q")
    return chosen(pod.placed(gpus(1, manufacturer="Q")))


# -- failure domains -----------------------------------------------------------------------------


def domains(*names: str) -> Pod:
    pod = Pod().host("H", "s1")
    for number, name in enumerate(names):
        pod.devices("s1", f"d{number}", domain=name)
    return pod


@row(["d0", "d3"])
def devices_are_spread_over_failure_domains() -> Answer:
    return chosen(domains("x", "x", "x", "y", "y").placed(gpus(2, spread=True)))


@row(["d3", "d4"])
def without_the_wish_they_are_not_spread() -> Answer:
    return chosen(domains("x", "x", "x", "y", "y").placed(gpus(2)))


@row([("DOMAINS", 3, 2)])
def too_few_failure_domains_are_refused() -> Answer:
    return told(domains("x", "x", "y").refused(gpus(3, spread=True)))


# -- several wishes at once ----------------------------------------------------------------------


@row([("b-big",), ("b-zsmall",)])
def a_wish_leaves_to_the_next_what_only_that_can_use() -> Answer:
    return list(models().placed(gpus(1, capacity_mib_min=81 * GIB), gpus(1)).devices)


@row([("b-a2",), ("b-a1",)])
def a_wish_takes_its_second_best_where_a_later_one_has_no_other() -> Answer:
    pod = Pod().host("H", "s1").devices("s1", "a1", model="A").devices("s1", "a2", model="B")
    return list(pod.placed(gpus(1), gpus(1, model="A")).devices)


@row([("b-a1",), ("b-a2",)])
def a_wish_takes_its_best_where_nobody_else_wants_it() -> Answer:
    pod = Pod().host("H", "s1").devices("s1", "a1", model="A").devices("s1", "a2", model="B")
    return list(pod.placed(gpus(1), gpus(1, model="B")).devices)


@row([("NO_VPPB", 3, 2)])
def a_host_without_free_vppbs_is_refused() -> Answer:
    pod = Pod().host("H", "s1", vppbs=2).devices("s1", "a1", "a2", "a3")
    return told(pod.refused(gpus(3)))


@row(["a1", "a2"])
def a_host_with_just_enough_vppbs_is_not() -> Answer:
    pod = Pod().host("H", "s1", vppbs=2).devices("s1", "a1", "a2", "a3")
    return chosen(pod.placed(gpus(2)))


# -- what can not be taken -----------------------------------------------------------------------


def pair() -> Pod:
    return Pod().host("H", "s1").devices("s1", "a1", "a2")


@row(["a2"])
def a_composed_device_is_not_taken() -> Answer:
    return chosen(pair().composed("other", "X", "a1").placed(GPU))


@row(["a1"])
def a_device_is_taken_again_when_its_composition_is_gone() -> Answer:
    pod = pair().composed("other", "X", "a1")
    pod.placed(GPU)
    pod.index.remove_composition("other")
    return chosen(pod.placed(GPU))


@row(["a2"])
def a_reserved_device_is_not_taken() -> Answer:
    return chosen(pair().reserved("r", "a1").placed(GPU))


@row(["a1"])
def a_device_whose_reservation_ran_out_is_taken() -> Answer:
    return chosen(pair().reserved("r", "a1", until=50.0).placed(GPU))


@row(["a1"])
def a_device_is_taken_for_the_client_that_reserved_it() -> Answer:
    return chosen(pair().reserved("r", "a1").placed(GPU, reservation="r"))


@row(["a2"])
def a_device_in_a_zone_made_by_hand_is_not_taken() -> Answer:
    return chosen(pair().zoned("z", "T-a1").placed(GPU))


@row(["a1"])
def a_device_is_taken_again_when_its_zone_is_gone() -> Answer:
    pod = pair().zoned("z", "T-a1")
    pod.placed(GPU)
    pod.index.remove_zone("z")
    return chosen(pod.placed(GPU))


@row(["a2"])
def a_lost_device_is_not_taken() -> Answer:
    return chosen(pair().lost("a1").placed(GPU))


@row(["a2"])
def only_blocks_of_the_zone_are_taken() -> Answer:
    return chosen(pair().placed(GPU, among=frozenset({"b-H", "b-a2"})))


@row([("COUNT", 3, 2)])
def more_than_there_is_is_refused() -> Answer:
    return told(pair().refused(gpus(3)))


@row([("NO_PATH", 1, 0)])
def what_no_host_reaches_is_refused() -> Answer:
    return told(Pod().host("H", "s1").devices("s2", "a1").refused(GPU))


@row([("LATENCY", 99, 100)])
def what_is_farther_than_the_budget_is_refused() -> Answer:
    return told(pair().refused(gpus(1, latency_ns_max=99)))


@row(["a1"])
def what_is_as_far_as_the_budget_is_not() -> Answer:
    return chosen(pair().placed(gpus(1, latency_ns_max=100)))


# -- hosts ---------------------------------------------------------------------------------------


def hosts() -> Pod:
    pod = Pod().host("H1", "s1", cores=64).host("H2", "s1", cores=32)
    return pod.devices("s1", "a1")


@row("H2")
def the_host_with_the_fewest_cores_is_taken() -> Answer:
    return hosts().placed(GPU).host


@row("H1")
def the_host_with_enough_cores_is_taken() -> Answer:
    return hosts().placed(GPU, compute=ComputeWish(core_count_min=33)).host


@row([("CORES", 65, 64)])
def too_many_cores_are_refused() -> Answer:
    return told(hosts().refused(GPU, compute=ComputeWish(core_count_min=65)))


@row([("HOST_MEMORY", 513 * GIB, 512 * GIB)])
def too_much_memory_of_a_host_is_refused() -> Answer:
    return told(hosts().refused(GPU, compute=ComputeWish(memory_mib_min=513 * GIB)))


@row("H1")
def the_host_that_is_named_is_taken() -> Answer:
    return hosts().placed(GPU, compute=ComputeWish("H1")).host


@row("H1")
def the_host_whose_block_is_named_is_taken() -> Answer:
    return hosts().placed(GPU, blocks=("b-H1",)).host


@row("H1")
def a_host_in_another_system_is_not_taken() -> Answer:
    return hosts().composed("other", "H2").placed(GPU).host


@row([("HOST_TAKEN", None, None)])
def a_named_host_in_another_system_is_refused() -> Answer:
    return told(hosts().composed("other", "H2").refused(compute=ComputeWish("H2")))


@row([("NO_HOST", None, None)])
def a_host_that_is_not_there_is_refused() -> Answer:
    return told(hosts().refused(compute=ComputeWish("H3")))


@row("H1")
def a_host_that_reaches_more_is_taken_where_that_is_needed() -> Answer:
    pod = Pod().host("H1", "s1", "s2", cores=64).host("H2", "s1", cores=32)
    return pod.devices("s2", "b1").placed(GPU).host


@row("H1")
def a_host_whose_vppbs_are_in_use_is_passed_over() -> Answer:
    pod = Pod().host("H1", "s1", cores=64).host("H2", "s1", cores=32, vppbs=0)
    return pod.devices("s1", "a1").placed(GPU).host


# -- what the client names -----------------------------------------------------------------------


@row(["a2", "a1"])
def named_devices_are_part_of_the_answer() -> Answer:
    return chosen(pair().placed(GPU, blocks=("b-H", "b-a2")))


@row([("BLOCK", None, None)])
def a_named_device_that_is_taken_is_refused() -> Answer:
    return told(pair().composed("other", "X", "a2").refused(GPU, blocks=("b-a2",)))


@row([("BLOCK", None, None)])
def a_system_that_has_a_host_gets_no_second_one() -> Answer:
    return told(hosts().composed("S", "H1").refused(system="S", blocks=("b-H2",)))


@row([("NO_PATH", None, None)])
def a_named_device_that_the_host_does_not_reach_is_refused() -> Answer:
    pod = Pod().host("H", "s1").devices("s2", "a1")
    return told(pod.refused(blocks=("b-a1",)))


# -- memory --------------------------------------------------------------------------------------


def appliances(**more: object) -> Pod:
    pod = Pod().host("H", "s1")
    pod.appliance("s1", "A", 8 * GIB, domain="x")
    return pod.appliance("s1", "B", 4 * GIB, domain="y", **more)  # type: ignore[arg-type]


@row(["B"])
def the_appliance_that_is_left_fullest_is_taken() -> Answer:
    return chosen(appliances().placed(memory(4 * GIB)))


@row(["A"])
def the_fullest_is_not_taken_where_it_has_too_little() -> Answer:
    return chosen(appliances().placed(memory(5 * GIB)))


@row(["A"])
def the_nearest_appliance_is_taken() -> Answer:
    return chosen(appliances(latency=101).placed(memory(4 * GIB)))


@row(["B"])
def the_appliance_of_the_system_comes_before_a_nearer_one() -> Answer:
    pod = appliances(latency=101).composed("S", "H", "B")
    found = pod.placed(memory(1 * GIB), system="S")
    return [cut.block.removeprefix("b-") for cut in found.cuts]


@row(["A", "A"])
def all_parts_come_out_of_one_appliance() -> Answer:
    found = appliances().placed(memory(3 * GIB, 2))
    return [cut.block.removeprefix("b-") for cut in found.cuts]


@row(["B", "A"])
def parts_are_spread_over_failure_domains() -> Answer:
    found = appliances().placed(memory(3 * GIB, 2, policy=MemoryPolicy.SPREAD))
    return [cut.block.removeprefix("b-") for cut in found.cuts]


@row([("DOMAINS", 3, 2)])
def more_parts_than_failure_domains_are_refused() -> Answer:
    return told(appliances().refused(memory(GIB, 3, policy=MemoryPolicy.SPREAD)))


@row([("B", 0), ("B", 0), ("A", 1), ("A", 1)])
def mirrored_parts_are_in_two_failure_domains() -> Answer:
    found = appliances().placed(memory(2 * GIB, 2, policy=MemoryPolicy.MIRRORED))
    return [(cut.block.removeprefix("b-"), cut.copy) for cut in found.cuts]


@row([("DOMAINS", 2, 1)])
def mirrors_in_one_failure_domain_are_refused() -> Answer:
    pod = Pod().host("H", "s1").appliance("s1", "A", 8 * GIB, domain="x")
    pod.appliance("s1", "B", 8 * GIB, domain="x")
    return told(pod.refused(memory(GIB, policy=MemoryPolicy.MIRRORED)))


@row([("CAPACITY", 9 * GIB, 8 * GIB)])
def more_memory_than_an_appliance_has_is_refused() -> Answer:
    return told(appliances().refused(memory(9 * GIB)))


@row([("CAPACITY", 8 * GIB, 6 * GIB)])
def what_is_carved_already_does_not_count() -> Answer:
    return told(appliances().carved("A", 0, 2 * GIB).refused(memory(8 * GIB)))


@row([("PARTS", 3, 2)])
def more_parts_than_a_pool_has_left_are_refused() -> Answer:
    pod = Pod().host("H", "s1").appliance("s1", "A", 8 * GIB, parts=3).carved("A", 0, GIB)
    return told(pod.refused(memory(GIB, 3)))


@row([("GRANULARITY", 100, GIB)])
def a_size_that_can_not_be_cut_is_refused() -> Answer:
    return told(appliances().refused(memory(100)))


@row([GIB])
def a_size_that_can_not_be_cut_is_rounded_up_where_that_is_allowed() -> Answer:
    found = appliances().placed(memory(100), allow_overprovisioning=True)
    return [cut.size_mib for cut in found.cuts]


@row([("LATENCY", 199, 200)])
def memory_farther_than_the_budget_is_refused() -> Answer:
    return told(appliances().refused(memory(GIB), latency_ns_max=199))


def fixed() -> Pod:
    pod = Pod().host("H", "s1")
    return pod.appliance("s1", "A", 0, fixed=(4 * GIB, 2 * GIB, 2 * GIB))


@row(["A/f1/c", "A/f2/c"])
def fixed_parts_of_the_size_are_taken() -> Answer:
    return [each.chunk for each in fixed().placed(memory(2 * GIB, 2)).chunks]


@row([("GRANULARITY", 3 * GIB, 4 * GIB)])
def a_larger_fixed_part_is_refused() -> Answer:
    return told(fixed().refused(memory(3 * GIB)))


@row(["A/f0/c"])
def a_larger_fixed_part_is_taken_where_that_is_allowed() -> Answer:
    found = fixed().placed(memory(3 * GIB), allow_overprovisioning=True)
    return [each.chunk for each in found.chunks]


@row(["A/f2/c"])
def a_fixed_part_that_somebody_has_is_not_taken() -> Answer:
    pod = fixed().zoned("z", "I-H", "T-A.33")
    return [each.chunk for each in pod.placed(memory(2 * GIB)).chunks]


@row([("A.0", 0), ("A.1", 0), ("A.1", 0)])
def regions_lie_in_lds_that_have_room_for_them() -> Answer:
    pod = Pod().host("H", "s1").dynamic("s1", "A", 8 * GIB).region("A", 0, 0, GIB)
    return [(cut.ld, cut.copy) for cut in pod.placed(memory(GIB, 3)).cuts]


@row([("CAPACITY", 8 * GIB, 7 * GIB)])
def regions_come_out_of_what_the_device_has_left() -> Answer:
    pod = Pod().host("H", "s1").dynamic("s1", "A", 8 * GIB).region("A", 0, 0, GIB)
    return told(pod.refused(memory(4 * GIB, 2)))


@row([("NO_VPPB", 2, 1)])
def every_part_takes_a_vppb() -> Answer:
    pod = Pod().host("H", "s1", vppbs=1).appliance("s1", "A", 8 * GIB)
    return told(pod.refused(memory(GIB, 2)))


@row([("CAPACITY", 6 * GIB, 5 * GIB)])
def wishes_share_what_an_appliance_has() -> Answer:
    pod = Pod().host("H", "s1").appliance("s1", "A", 8 * GIB)
    return told(pod.refused(memory(3 * GIB), memory(6 * GIB)))


@row([("COUNT", 3, 2), ("CAPACITY", 9 * GIB, 8 * GIB)])
def every_unmet_wish_is_told() -> Answer:
    pod = pair().appliance("s1", "A", 8 * GIB)
    return told(pod.refused(gpus(3), memory(9 * GIB)))
