"""Placement of memory: by which policy out of which appliance, and what refuses it."""

from redfish_fm.fabric.placement_values import (
    MemoryPolicy,
)
from tests.fabric.pods import GIB, Pod, chosen, reasons, told
from tests.fabric.table_placement import GPU, Answer, gpus, memory, row

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


@row([("CAPACITY", 9 * GIB, 8 * GIB)])
def mirrors_of_more_than_an_appliance_has_are_refused() -> Answer:
    return told(appliances().refused(memory(9 * GIB, policy=MemoryPolicy.MIRRORED)))


@row([("NO_VPPB", 2, 1)])
def mirrors_behind_one_vppb_are_refused() -> Answer:
    pod = Pod().host("H", "s1", vppbs=1).appliance("s1", "A", GIB, domain="x")
    pod.appliance("s1", "B", GIB, domain="y")
    return told(pod.refused(memory(GIB, policy=MemoryPolicy.MIRRORED)))


@row([("NO_PATH", 4 * GIB, 0)])
def memory_that_no_host_reaches_is_refused() -> Answer:
    pod = Pod().host("H", "s1").appliance("s2", "A", 8 * GIB)
    return told(pod.refused(memory(2 * GIB, 2)))


@row([("MODEL", 2, 0)])
def memory_that_nobody_has_is_refused() -> Answer:
    return told(Pod().host("H", "s1").refused(memory(GIB, 2)))


@row({"a-1": "LATENCY", "A": "CAPACITY"})
def every_appliance_is_told_why_it_will_not_do() -> Answer:
    pod = Pod().host("H", "s1").appliance("s1", "A", 2 * GIB)
    pod.appliance("s1", "a-1", 8 * GIB, latency=200)
    found = pod.refused(memory(3 * GIB), latency_ns_max=250)
    return {name.removeprefix("b-"): why for name, why in reasons(found).items() if name != "H"}


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


@row((200, 100, 200))
def the_answer_tells_how_far_the_farthest_is() -> Answer:
    pod = appliances().devices("s1", "a1")
    wishes = memory(GIB), GPU
    both, device, part = (pod.placed(*each) for each in (wishes, wishes[1:], wishes[:1]))
    return both.latency_ns, device.latency_ns, part.latency_ns


@row(["B"])
def memory_as_far_as_the_budget_is_not() -> Answer:
    return chosen(appliances().placed(memory(GIB), latency_ns_max=200))


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
    pod = fixed().host("G", "s1").zoned("z", "I-G", "T-A.33")
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


@row([("PARTS", 2, 1)])
def wishes_share_the_numbers_of_a_pool() -> Answer:
    pod = Pod().host("H", "s1").appliance("s1", "A", 8 * GIB, parts=3)
    return told(pod.refused(memory(GIB, 2), memory(GIB, 2)))


@row([("COUNT", 3, 2), ("CAPACITY", 9 * GIB, 8 * GIB)])
def every_unmet_wish_is_told() -> Answer:
    pod = Pod().host("H", "s1").devices("s1", "a1", "a2").appliance("s1", "A", 8 * GIB)
    return told(pod.refused(gpus(3), memory(9 * GIB)))
