"""Placement of hosts and of what the client names; what others have is never taken."""

from redfish_fm.fabric.placement_values import (
    ComputeWish,
)
from tests.fabric.pods import GIB, X16_MB_S, Pod, chosen, reasons, told
from tests.fabric.table_placement import GPU, Answer, gpus, memory, row

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


@row(["H2", "H1", "H2"])
def a_host_in_a_zone_of_somebody_is_not_taken() -> Answer:
    pod = hosts()
    found = [pod.placed(GPU).host]
    found.append(pod.zoned("z", "I-H2").placed(GPU).host)
    pod.index.remove_zone("z")
    return [*found, pod.placed(GPU).host]


@row([[("HOST_IN_USE", 1, 0)], {"": "HOST_IN_USE", "H1": "HOST_IN_USE"}, 1])
def where_every_host_is_in_a_zone_the_refusal_says_so() -> Answer:
    found = hosts().zoned("z", "I-H1").zoned("y", "I-H2").refused(GPU)
    return [told(found), reasons(found), found.candidates[-1].alike]


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


def racks() -> Pod:
    """Two racks in which everything is alike."""
    pod = Pod()
    for rack in (1, 2):
        pod.host(f"H{rack}", f"s{rack}").devices(f"s{rack}", f"a{rack}", f"b{rack}")
        pod.appliance(f"s{rack}", f"M{rack}", 8 * GIB)
    return pod


@row("H1")
def of_two_racks_that_are_alike_the_first_is_taken() -> Answer:
    return racks().placed(gpus(2), memory(GIB)).host


@row("H2")
def a_rack_with_a_reserved_device_is_passed_over() -> Answer:
    return racks().reserved("r", "a1").placed(gpus(2)).host


@row("H2")
def a_rack_with_a_reserved_appliance_is_passed_over() -> Answer:
    return racks().reserved("r", "M1").placed(memory(GIB)).host


@row("H2")
def a_rack_with_a_dead_appliance_is_passed_over() -> Answer:
    pod = racks().lost(*(f"M1.{ld}" for ld in range(8)))
    return pod.placed(memory(GIB)).host


@row("H1")
def an_appliance_lives_as_long_as_any_part_of_it() -> Answer:
    pod = racks().lost(*(f"M1.{ld}" for ld in range(7)))
    return pod.placed(memory(GIB)).host


@row("H2")
def a_reserved_host_is_passed_over() -> Answer:
    return racks().reserved("r", "H1").placed(gpus(2)).host


@row("H2")
def a_host_without_the_vppbs_it_needs_is_passed_over() -> Answer:
    return racks().bound("H1", "s1", 15).placed(gpus(2)).host


@row("H1")
def a_host_with_the_vppbs_it_needs_is_not() -> Answer:
    return racks().bound("H1", "s1", 14).placed(gpus(2)).host


@row("H2")
def a_host_at_the_same_switch_is_asked_next() -> Answer:
    pod = Pod().host("H1", "s1").host("H2", "s1").devices("s1", "a1").bound("H1", "s1", 16)
    return pod.placed(GPU).host


@row("H2")
def only_hosts_of_the_zone_are_taken() -> Answer:
    return racks().placed(among=frozenset({"b-H2"})).host


@row([("HOST_TAKEN", 1, 0)])
def without_any_free_host_nothing_is_placed() -> Answer:
    return told(hosts().composed("x", "H1").composed("y", "H2").refused(GPU))


@row([("MODEL", None, None)])
def a_model_of_host_that_nobody_has_is_refused() -> Answer:
    return told(hosts().refused(compute=ComputeWish(model="Z")))


def near_and_far() -> Pod:
    pod = Pod().host("H1", "s1", latency=300).host("H2", "s2", latency=200)
    return pod.devices("s1", "a1").devices("s2", "b1", "b2")


@row([("LATENCY", 100, 200)])
def the_nearest_of_all_hosts_is_told() -> Answer:
    return told(near_and_far().refused(GPU, latency_ns_max=100))


@row([("COUNT", 3, 2)])
def the_most_of_all_hosts_is_told() -> Answer:
    return told(near_and_far().refused(gpus(3)))


# -- what the client names -----------------------------------------------------------------------


@row(["a2", "a1"])
def named_devices_are_part_of_the_answer() -> Answer:
    return chosen(pair().placed(GPU, blocks=("b-H", "b-a2")))


@row(["b4", "b1"])
def more_is_chosen_where_the_named_device_is() -> Answer:
    pod = Pod().host("H", "s1", "s2", mb_s=9 * X16_MB_S)
    pod.devices("s1", "a1").devices("s2", "b1", "b2", "b3", "b4")
    return chosen(pod.placed(GPU, blocks=("b-b4",)))


@row([("BLOCK", None, None)])
def a_named_device_that_is_taken_is_refused() -> Answer:
    return told(pair().composed("other", "X", "a2").refused(GPU, blocks=("b-a2",)))


@row([("BLOCK", None, None)])
def a_system_that_has_a_host_gets_no_second_one() -> Answer:
    return told(hosts().composed("S", "H1").refused(system="S", blocks=("b-H2",)))


@row("H2")
def a_host_that_reaches_what_is_named_is_taken() -> Answer:
    return racks().placed(memory(GIB), blocks=("b-a2",)).host


@row(["a2", "M2"])
def memory_is_taken_where_what_is_named_is() -> Answer:
    return chosen(racks().placed(memory(GIB), blocks=("b-a2",)))


@row([("NO_PATH", 1, 0)])
def no_host_reaches_all_that_is_named() -> Answer:
    return told(racks().refused(blocks=("b-a1", "b-a2")))


@row(("H", None, ["a1"]))
def a_physical_host_is_given_more() -> Answer:
    found = pair().placed(GPU, system="H")
    return found.host, found.compute, chosen(found)


@row(("H", None, ["a2"]))
def a_composed_system_is_given_more() -> Answer:
    found = pair().composed("S", "H", "a1").placed(GPU, system="S")
    return found.host, found.compute, chosen(found)


@row(("H", "b-H", ["a1"]))
def a_new_system_gets_the_block_of_its_host() -> Answer:
    found = pair().placed(GPU)
    return found.host, found.compute, chosen(found)


@row([])
def a_block_that_the_system_has_is_not_given_again() -> Answer:
    return chosen(pair().composed("S", "H", "a1").placed(system="S", blocks=("b-a1",)))


@row([("BLOCK", None, None)])
def two_named_hosts_are_one_too_many() -> Answer:
    return told(hosts().refused(blocks=("b-H1", "b-H2")))


@row([("BLOCK", None, None)])
def a_named_block_of_another_host_is_refused() -> Answer:
    return told(hosts().refused(compute=ComputeWish("H1"), blocks=("b-H2",)))


@row([("NO_PATH", None, None)])
def a_named_device_that_the_host_does_not_reach_is_refused() -> Answer:
    pod = Pod().host("H", "s1").devices("s2", "a1")
    return told(pod.refused(compute=ComputeWish("H"), blocks=("b-a1",)))


# -- blocks that clients made of others ------------------------------------------------------------


def three() -> Pod:
    return Pod().devices("s1", "a1", "a2", "a3").put_together("both", "a1", "a2")


@row(["both", "a3"])
def a_block_made_of_others_is_where_they_are() -> Answer:
    pod = three().host("G", "s2").host("H", "s1")
    return chosen(pod.placed(gpus(1), blocks=("b-both",)))


@row("H")
def a_block_made_of_others_takes_a_vppb_for_each() -> Answer:
    pod = three().host("G", "s1", vppbs=2).host("H", "s1", vppbs=3)
    return pod.placed(gpus(1), blocks=("b-both",)).host


@row("H")
def a_block_made_of_devices_at_two_switches_is_for_a_host_at_both() -> Answer:
    pod = Pod().devices("s1", "a1", "a2").devices("s2", "b1").put_together("both", "a1", "b1")
    pod = pod.host("F", "s1").host("G", "s2").host("H", "s1", "s2")
    return pod.placed(gpus(1), blocks=("b-both",)).host
