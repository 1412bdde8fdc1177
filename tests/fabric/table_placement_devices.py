"""Placement of devices: which of those that would do, and what refuses them."""

from redfish_fm.fabric.composition import Block, BlockType
from redfish_fm.fabric.model import BindTarget
from redfish_fm.fabric.placement_values import (
    ComputeWish,
    Wish,
)
from redfish_fm.fabric.values import Binder, Unit
from tests.fabric.pods import GIB, X16_MB_S, Pod, chosen, reasons, told
from tests.fabric.table_placement import GPU, Answer, gpus, row

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


@row([f"{name}{number}" for number in range(8, 16) for name in "ab"])
def of_many_sets_of_many_switches_the_fullest_are_taken() -> Answer:
    names = [f"s{number}" for number in range(16)]
    pod = Pod().host("H", *names)
    for number, switch in enumerate(names):
        pod.devices(switch, f"a{number}", *([f"b{number}"] if number >= 8 else []))
    return sorted(chosen(pod.placed(gpus(16))), key=lambda name: (int(name[1:]), name))


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
    pod.host("X", "s1").way("X", "s2", through="s1")
    return pod.composed("other", "X", "b2") if used else pod.composed("other", "X")


@row(["c1"])
def a_link_between_switches_is_shared_with_other_hosts() -> Answer:
    return chosen(shared_links(True).placed(GPU))


@row(["b1"])
def a_link_between_switches_that_nobody_uses_is_as_good() -> Answer:
    return chosen(shared_links(False).placed(GPU))


@row(["b1"])
def a_link_between_switches_is_not_loaded_by_a_host_on_the_other_side() -> Answer:
    pod = Pod().host("H", "s1", mb_s=9 * X16_MB_S).host("X", "s2")
    pod.way("H", "s2", through="s1").way("H", "s3", through="s1")
    pod.devices("s2", "b1", "b2").devices("s3", "c1", "c2", "c3")
    return chosen(pod.composed("other", "X", "b2").placed(GPU))


def crossed(*, at: str, through: str, by_hand: bool = False) -> Answer:
    """Of H's two ways over chained switches, X loads one with a device at `at`."""
    pod = Pod().host("H", "s1", mb_s=9 * X16_MB_S)
    pod.way("H", "s2", through="s1").way("H", "s3", through="s1")
    pod.devices("s2", "b1").devices("s3", "c1", "c2", "c3").devices(at, "x")
    pod.host("X", through).way("X", "s1", through=None if through == "s1" else through)
    pod.way("X", "s2", through="s1" if through != "s2" else None)
    if at == "s4":
        pod.way("X", "s4", through="s2")
    pod = pod.zoned("z", "I-X", "T-x") if by_hand else pod.composed("other", "X", "x")
    return chosen(pod.placed(GPU, compute=ComputeWish("H")))


@row(["c1"])
def a_link_carries_what_is_farther_down_as_well() -> Answer:
    return crossed(at="s4", through="s1")


@row(["c1"])
def a_link_carries_what_hosts_of_the_other_side_have_on_this_one() -> Answer:
    return crossed(at="s1", through="s2")


@row(["c1"])
def a_link_carries_what_was_zoned_by_hand() -> Answer:
    return crossed(at="s4", through="s1", by_hand=True)


def twins(link: str) -> Pod:
    """H comes to s2 by the first of two links side by side; X has a device there, by `link`."""
    pod = Pod().host("H", "s1", mb_s=9 * X16_MB_S).host("X", "s1")
    pod.way("H", "s2", through="s1", link="first").way("H", "s3", through="s1")
    pod.way("X", "s2", through="s1", link=link)
    pod.devices("s2", "b1", "b2").devices("s3", "c1", "c2", "c3")
    return pod.composed("other", "X", "b2")


@row(["c1"])
def of_links_side_by_side_the_one_that_is_used_is_loaded() -> Answer:
    return chosen(twins("first").placed(GPU))


@row(["b1"])
def of_links_side_by_side_the_others_are_not_loaded() -> Answer:
    return chosen(twins("second").placed(GPU))


@row(["b2"])
def what_a_system_has_over_a_link_counts_there_once() -> Answer:
    # The link to s2 carries two devices and no third one; s3 is behind a link a quarter as wide.
    pod = Pod().host("H", "s1", mb_s=9 * X16_MB_S)
    pod.way("H", "s2", through="s1", mb_s=2 * X16_MB_S)
    pod.way("H", "s3", through="s1", mb_s=4 * X16_MB_S // 5)
    pod.devices("s2", "b1", kind="NVMe").devices("s2", "b2", "b3").devices("s3", "c1")
    return chosen(pod.composed("S", "H", "b1").placed(GPU, system="S"))


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


def functions() -> Pod:
    """A physical function f0 with a virtual one f1, and f2 alone."""
    pod = Pod().host("H", "s1").devices("s1", "f0", "f1", "f2", kind="NIC")
    target = BindTarget("s1", "f0", function=1)
    pod.index.put_unit(Unit("f1", "F", Binder.ZONE, True, target, "f0"))
    return pod


@row(["f1"])
def a_virtual_function_is_taken_before_a_physical_one() -> Answer:
    return chosen(functions().placed(Wish("NIC")))


@row(["f2"])
def a_function_of_what_somebody_has_is_not_taken() -> Answer:
    return chosen(functions().composed("other", "X", "f0").zoned("z", "T-f0").placed(Wish("NIC")))


def dual_ported() -> Pod:
    """A drive on s1 and on s2."""
    pod = Pod().host("H", "s2").host("X", "s1")
    for port in ("s1", "s2"):
        pod.index.put_unit(Unit(f"W-{port}", "F", Binder.ZONE, target=BindTarget(port, "W")))
    units = frozenset({"W-s1", "W-s2"})
    block = Block("b-W", frozenset({BlockType.STORAGE}), units=units, kind="NVMe")
    pod.index.put_block(block)
    return pod


@row(["W"])
def a_device_with_two_ports_is_reached_by_either() -> Answer:
    return chosen(dual_ported().placed(Wish("NVMe"), compute=ComputeWish("H")))


@row([("COUNT", 1, 0)])
def a_device_with_two_ports_is_taken_by_both() -> Answer:
    pod = dual_ported().placed(Wish("NVMe"), compute=ComputeWish("X"))
    again = dual_ported().composed("other", "X", *chosen(pod))
    return told(again.refused(Wish("NVMe"), compute=ComputeWish("H")))


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


# -- what somebody else has bound ------------------------------------------------------------------


@row(["a2", "a3"])
def a_device_that_another_manager_has_bound_is_not_chosen() -> Answer:
    pod = Pod().host("H", "s1").devices("s1", "a1", "a2", "a3")
    return chosen(pod.bound_elsewhere("a1").placed(gpus(2)))


@row([("COUNT", 3, 2)])
def a_device_that_another_manager_has_bound_is_not_available() -> Answer:
    pod = Pod().host("H", "s1").devices("s1", "a1", "a2", "a3")
    found = pod.bound_elsewhere("a1").refused(gpus(3))
    return [(each.reason.name, each.requested, each.available) for each in found.unmet]


@row(["n1"])
def a_device_of_which_another_manager_has_bound_a_part_is_not_chosen() -> Answer:
    pod = Pod().host("H", "s1").devices("s1", "n0", "n1", kind="NIC")
    part = Unit("n0.f1", "F", Binder.ZONE, target=BindTarget("s1", "n0", function=1), within="n0")
    pod.index.put_unit(part)
    return chosen(pod.bound_elsewhere("n0.f1").placed(Wish("NIC", 1)))


@row(["a1"])
def a_device_of_the_system_counts_whoever_has_bound_it() -> Answer:
    pod = Pod().host("H", "s1").devices("s1", "a1", "a2").composed("S", "H", "a1")
    found = pod.bound_elsewhere("a1").placed(gpus(1), system="S", held=("b-a1",))
    return [name.removeprefix("b-") for name in found.kept]


# -- what is told of candidates -------------------------------------------------------------------


@row({"s1": "COUNT", "s2": "LATENCY", "s3": "NO_VPPB", "s4": "DOMAINS", "H": "COUNT"})
def every_switch_is_told_why_it_will_not_do() -> Answer:
    pod = Pod().host("H", "s1", "s2", "s4").way("H", "s3", vppbs=1).way("H", "s2", latency=300)
    pod.devices("s1", "a1", domain="x").devices("s2", "b1", "b2", domain="y")
    pod.devices("s3", "c1", domain="u").devices("s3", "c2", domain="v")
    pod.devices("s4", "d1", "d2", domain="w")
    found = pod.refused(gpus(2, spread=True, same_switch=True, latency_ns_max=200))
    return {**reasons(found), "H": "COUNT"}


@row([(39, "s0")])
def candidates_that_are_alike_are_told_once() -> Answer:
    pod = Pod()
    for number in range(40):
        pod.host(f"H{number}", f"s{number}").devices(f"s{number}", f"a{number}")
    found = pod.refused(gpus(2))
    return [
        (each.alike, each.candidate) for each in found.candidates if each.group.name == "SWITCH"
    ]
