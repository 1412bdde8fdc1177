"""What a system has counts for what it shall have: the same wishes find nothing the second time."""

from dataclasses import replace

from redfish_fm.fabric.composition import Composition
from redfish_fm.fabric.placement_values import MemoryPolicy, Placement
from tests.fabric.pods import GIB, Pod, chosen, reasons, told
from tests.fabric.table_placement import Answer, gpus, memory, row


def held(*names: str) -> tuple[str, ...]:
    return tuple(f"b-{name}" for name in names)


def two_switches() -> Pod:
    pod = Pod().host("H", "s1", "s2").devices("s1", "a1", "a2", domain="d1")
    return pod.devices("s2", "b1", "b2", "b3", domain="d2", model="B")


def all_of(found: Placement) -> list[list[str]]:
    """Return what is chosen, and what of the system meets wishes."""
    return [chosen(found), [name.removeprefix("b-") for name in found.kept]]


@row([[], ["a1", "a2"]])
def what_the_system_has_is_not_looked_for() -> Answer:
    pod = two_switches().composed("S", "H", "a1", "a2")
    return all_of(pod.placed(gpus(2), system="S", held=held("a1", "a2")))


@row([["a2"], ["a1"]])
def only_what_is_lacking_is_looked_for() -> Answer:
    pod = two_switches().composed("S", "H", "a1")
    return all_of(pod.placed(gpus(2), system="S", held=held("a1")))


@row([["a2"], []])
def what_does_not_count_is_looked_for_beside_it() -> Answer:
    pod = two_switches().composed("S", "H", "a1")
    return all_of(pod.placed(gpus(1), system="S", held=()))


@row([["b1", "b2"], []])
def who_says_what_a_system_is_to_get_gets_it() -> Answer:
    pod = two_switches().composed("S", "H", "a1")
    return all_of(pod.placed(gpus(2), system="S"))


@row([[], ["both"]])
def each_device_of_a_block_made_of_others_counts() -> Answer:
    pod = two_switches().put_together("both", "a1", "a2").composed("S", "H", "both")
    return all_of(pod.placed(gpus(2), system="S", held=held("both")))


@row([["b1"], ["both"]])
def what_a_block_made_of_others_lacks_is_looked_for() -> Answer:
    pod = two_switches().put_together("both", "a1", "a2").composed("S", "H", "both")
    return all_of(pod.placed(gpus(3), system="S", held=held("both")))


@row([["a2"], []])
def what_is_looked_for_is_where_a_block_made_of_others_has_its_devices() -> Answer:
    # By Ids alone it would be b1, where less would be left.
    pod = Pod().host("H", "s1", "s2").devices("s1", "a1", "a2", "a3").devices("s2", "b1")
    pod = pod.put_together("one", "a1").composed("S", "H", "one")
    return all_of(pod.placed(gpus(1), system="S"))


@row([["b1"], []])
def what_is_of_another_model_does_not_count() -> Answer:
    pod = two_switches().composed("S", "H", "a1")
    return all_of(pod.placed(gpus(1, model="B"), system="S", held=held("a1")))


@row([[], ["b1", "a1"]])
def each_device_counts_for_the_wish_that_needs_it() -> Answer:
    # The first wish would do with either; the second one only with a1.
    pod = two_switches().composed("S", "H", "a1", "b1")
    return all_of(pod.placed(gpus(1), gpus(1, model="A"), system="S", held=held("a1", "b1")))


@row([["a2"], ["a1"]])
def a_device_counts_for_one_wish_only() -> Answer:
    pod = two_switches().composed("S", "H", "a1")
    found = pod.placed(gpus(1, model="A"), gpus(1, model="A"), system="S", held=held("a1"))
    return all_of(found)


@row([["b2", "b3"], ["b1"]])
def one_switch_is_the_one_where_the_system_has_most() -> Answer:
    pod = two_switches().composed("S", "H", "b1")
    return all_of(pod.placed(gpus(3, same_switch=True), system="S", held=held("b1")))


@row([["b3"], ["b1", "b2"]])
def what_is_behind_another_switch_does_not_count_for_one() -> Answer:
    pod = two_switches().composed("S", "H", "a1", "b1", "b2")
    return all_of(pod.placed(gpus(3, same_switch=True), system="S", held=held("a1", "b1", "b2")))


@row([("COUNT", 2, 1)])
def one_switch_that_has_no_more_is_refused() -> Answer:
    pod = two_switches().composed("S", "H", "a1")
    return told(pod.refused(gpus(3, same_switch=True), system="S", held=held("a1")))


@row([["b1"], ["a1"]])
def another_failure_domain_is_one_where_the_system_has_none() -> Answer:
    pod = two_switches().composed("S", "H", "a1")
    return all_of(pod.placed(gpus(2, spread=True), system="S", held=held("a1")))


@row([["b1"], ["a1"]])
def two_in_one_failure_domain_count_once_for_a_wish_to_spread() -> Answer:
    pod = two_switches().composed("S", "H", "a1", "a2")
    return all_of(pod.placed(gpus(2, spread=True), system="S", held=held("a1", "a2")))


@row([["b1"], []])
def what_is_too_far_does_not_count() -> Answer:
    pod = Pod().host("H", "s1", "s2", latency=100).devices("s1", "a1", latency=500)
    pod.devices("s2", "b1").composed("S", "H", "a1")
    return all_of(pod.placed(gpus(1, latency_ns_max=200), system="S", held=held("a1")))


def shared(most: int) -> Pod:
    """A device that so many systems may have whole, and one that is for one of them."""
    pod = Pod().host("H", "s1").devices("s1", "a1", "a2")
    pod.index.put_block(replace(pod.index.blocks["b-a1"], sharing=True, compositions_max=most))
    return pod


@row(["a1"])
def a_device_for_several_systems_is_taken_by_the_next() -> Answer:
    return chosen(shared(2).composed("X", "G", "a1").placed(gpus(1)))


@row(["a2"])
def a_device_that_is_in_enough_systems_is_not_taken() -> Answer:
    return chosen(shared(1).composed("X", "G", "a1").placed(gpus(1)))


@row(["a2"])
def a_device_for_several_systems_is_not_offered_to_its_own_again() -> Answer:
    return chosen(shared(2).composed("S", "H", "a1").placed(gpus(1), system="S"))


# -- parts of pools ------------------------------------------------------------------------------


def two_appliances() -> Pod:
    pod = Pod().host("H", "s1").appliance("s1", "A", 8 * GIB, domain="d1")
    return pod.appliance("s1", "B", 8 * GIB, domain="d2")


def having(pod: Pod, *parts: str, mirrored: bool = False) -> Pod:
    """The system S on H has these chunks, of which it may have copies."""
    names = dict.fromkeys(part.partition(".")[0] for part in parts)
    chunks = frozenset(f"c-{part}" for part in parts)
    blocks = held("H", *names)
    mirrors = (chunks,) if mirrored else ()
    pod.index.put_composition(Composition("S", "H", blocks, chunks, mirrors=mirrors))
    return pod


def cuts(found: Placement) -> list[str]:
    return [cut.block.removeprefix("b-") for cut in found.cuts]


@row([])
def a_part_that_the_system_has_is_not_cut_again() -> Answer:
    pod = having(two_appliances().carved("A", 0, GIB), "A.0")
    return cuts(pod.placed(memory(GIB), system="S", held=()))


@row(["B"])
def more_parts_come_out_of_the_same_appliance() -> Answer:
    pod = having(two_appliances().carved("B", 0, GIB), "B.0")
    return cuts(pod.placed(memory(GIB, 2), system="S", held=()))


@row([("CAPACITY", 2 * GIB, GIB), {"H": "CAPACITY", "b-B": "CAPACITY"}])
def an_appliance_that_has_no_more_is_refused() -> Answer:
    pod = two_appliances().carved("B", 0, 2 * GIB).carved("B", 1, 5 * GIB)
    found = having(pod, "B.0").refused(memory(2 * GIB, 2), system="S", held=())
    return [*told(found), reasons(found)]


@row(["A"])
def a_part_of_another_size_does_not_count() -> Answer:
    pod = having(two_appliances().carved("A", 0, 2 * GIB), "A.0")
    return cuts(pod.placed(memory(GIB), system="S", held=()))


@row([])
def a_larger_part_counts_where_more_is_allowed() -> Answer:
    pod = having(two_appliances().carved("A", 0, 2 * GIB), "A.0")
    return cuts(pod.placed(memory(GIB), system="S", held=(), allow_overprovisioning=True))


@row(["B"])
def parts_are_spread_over_domains_where_the_system_has_none() -> Answer:
    pod = having(two_appliances().carved("A", 0, GIB), "A.0")
    spread = memory(GIB, 2, policy=MemoryPolicy.SPREAD)
    return cuts(pod.placed(spread, system="S", held=()))


@row([[], ["A", "B"]])
def copies_of_each_other_count_as_one() -> Answer:
    pod = two_appliances().carved("A", 0, GIB).carved("B", 0, GIB)
    mirrored = memory(GIB, policy=MemoryPolicy.MIRRORED)
    found = having(pod, "A.0", "B.0", mirrored=True).placed(mirrored, system="S", held=())
    return [cuts(found), [name.removeprefix("b-") for name in found.kept]]


@row(["A", "B"])
def a_part_without_a_copy_is_no_mirrored_one() -> Answer:
    pod = having(two_appliances().carved("A", 0, GIB), "A.0")
    mirrored = memory(GIB, policy=MemoryPolicy.MIRRORED)
    return cuts(pod.placed(mirrored, system="S", held=()))


@row(["A"])
def a_copied_part_is_no_single_one() -> Answer:
    pod = two_appliances().carved("A", 0, GIB).carved("B", 0, GIB)
    found = having(pod, "A.0", "B.0", mirrored=True).placed(memory(GIB), system="S", held=())
    return cuts(found)
