"""What placement chooses becomes a recipe, what it rejects a message for each requirement."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from redfish_fm.fabric.model import Attachment, DeviceKind, PartKind, Pool
from redfish_fm.fabric.placement_values import (
    Cut,
    Found,
    Group,
    Placement,
    Reason,
    Rejection,
    Rejections,
)
from redfish_fm.mapping.constrained import CANDIDATES_MAX, own, recipe_for, recipe_of, unmet
from redfish_fm.mapping.constrained import _mirrors as mirrors
from redfish_fm.redfish.errors import RedfishError
from tests.mapping.builders import MemoryTip, a_device, a_fabric, a_tip
from tests.mapping.test_compositions import SYSTEMS, a_pod, block, body, post
from tests.mapping.test_devices import dynamic, plugged
from tests.mapping.test_manifests import compose
from tests.mapping.test_memory_writes import region

DOMAIN = "/redfish/v1/Chassis/mem1/MemoryDomains/0"
GPU = {"Processors": {"Members": [{"@Redfish.RequestedCount": 1, "ProcessorType": "GPU"}]}}


def gpus(count: int) -> dict[str, Any]:
    (member,) = GPU["Processors"]["Members"]
    return {"Processors": {"Members": [{**member, "@Redfish.RequestedCount": count}]}}


def memory(capacity_mib: int, count: int = 1) -> dict[str, Any]:
    return {
        "Memory": {"Members": [{"@Redfish.RequestedCount": count, "CapacityMiB": capacity_mib}]}
    }


def row(reason: Reason = Reason.COUNT, **more: Any) -> Rejection:
    return Rejection(more.pop("group", Group.REQUEST), more.pop("candidate", ""), reason, **more)


# -- recipes -----------------------------------------------------------------------------------


def test_named_blocks_alone_are_the_recipe() -> None:
    recipe = recipe_of(body("gpu1", "h2"), a_pod())
    assert (recipe.host, recipe.blocks) == (f"{SYSTEMS}/h2", (block("gpu1"), block("h2")))


def test_parts_are_cut_where_the_pool_is() -> None:
    mld = a_device("mem1", DeviceKind.MEMORY, Attachment.MLD, lds=4)
    mld = replace(mld, pool=Pool(PartKind.LD, 4096, 256, 4), capacity_mib=4096)
    recipe = recipe_of(memory(1024, 2), a_tip(a_fabric(devices=(mld,))))
    assert recipe.blocks == (block("h1"), block("mem1"))
    assert [each.size_mib for each in recipe.carvings] == [1024, 1024]
    for carving in recipe.carvings:
        assert carving.collection.endswith("/MemoryChunks")
        assert "/Chassis/mem1/" in carving.collection


def test_what_another_manager_has_bound_is_not_chosen() -> None:
    tip = a_pod()
    chosen = recipe_of(GPU, tip).blocks[-1]
    units = (tip.index.units[unit] for unit in tip.index.blocks[chosen].units)
    tip.bound_elsewhere = frozenset(unit.target for unit in units if unit.target is not None)
    assert tip.bound_elsewhere
    assert chosen not in recipe_of(GPU, tip).blocks


def test_a_running_system_keeps_its_host_and_its_blocks() -> None:
    tip = a_pod()
    system = post(tip, "h2", "gpu2").uri
    present = tip.index.compositions[system].blocks
    recipe = recipe_for(gpus(2), system, present, None, tip)
    assert recipe.host == f"{SYSTEMS}/h2"
    assert recipe.blocks[:2] == present
    assert len(recipe.blocks) == 3


def test_what_a_running_system_has_counts_for_what_it_shall_have() -> None:
    tip = a_pod()
    system = post(tip, "h2", "gpu2").uri
    present = tip.index.compositions[system].blocks
    assert recipe_for(GPU, system, present, None, tip).blocks == present


def test_what_is_named_does_not_count_for_wishes_beside_it() -> None:
    tip = a_pod()
    system = post(tip, "h2", "gpu2").uri
    present = tip.index.compositions[system].blocks
    found = recipe_for(GPU, system, present, present, tip).blocks
    assert (found[:2], len(found)) == (present, 3)


def test_what_is_not_named_stays_where_it_is_wished_for() -> None:
    tip = a_pod()
    system = post(tip, "h2", "gpu2").uri
    present = tip.index.compositions[system].blocks
    assert recipe_for(GPU, system, present, present[:1], tip).blocks == present


def test_the_host_of_a_running_system_has_to_be_what_is_wished_for() -> None:
    tip = a_pod()
    system = post(tip, "h2", "gpu2").uri
    present = tip.index.compositions[system].blocks
    cpu = {"@Redfish.RequestedCount": 1, "ProcessorType": "CPU"}
    wish = {"Processors": {"Members": [cpu]}}
    tip.index.put_block(replace(tip.index.blocks[present[0]], core_count=(cores := 8)))
    assert recipe_for(_of_cores(wish, cores), system, present, None, tip).blocks == present
    with pytest.raises(RedfishError) as refused:
        recipe_for(_of_cores(wish, cores + 1), system, present, None, tip)
    assert refused.value.status == 409
    assert refused.value.messages[0].related == ("#/Processors/Members/0",)


def _of_cores(wish: dict[str, Any], count: int) -> dict[str, Any]:
    (cpu,) = wish["Processors"]["Members"]
    return {"Processors": {"Members": [{**cpu, "TotalCores": count}]}}


def test_a_named_block_that_is_taken_is_told_by_its_holder() -> None:
    tip = a_pod()
    system = post(tip, "h1", "gpu1").uri
    with pytest.raises(RedfishError) as refused:
        recipe_of({**body("gpu1"), **GPU}, tip)
    assert refused.value.status == 409
    assert system in refused.value.messages[0].args


def test_blocks_outside_of_what_is_given_are_not_chosen() -> None:
    allowed = frozenset({block("h2"), block("gpu3")})
    recipe = recipe_of(GPU, a_pod(), among=allowed)
    assert set(recipe.blocks) == allowed


def test_nothing_of_the_wishes_is_kept() -> None:
    asked = {**body("h1"), **GPU, "Name": "n", "Oem": {"RedfishFM": {"SameSwitch": True}}}
    assert own(asked) == {"Links": asked["Links"], "Name": "n"}
    contoso = {"Contoso": {"Note": 1}, "RedfishFM": {}}
    assert own({"Oem": contoso})["Oem"] == {"Contoso": {"Note": 1}}


def test_copies_are_paired_across_found_and_cut_parts() -> None:
    cuts = (Cut("b", "p", 1, wish="w"), Cut("c", "q", 1, wish="w", copy=1), Cut("b", "p", 1))
    found = (Found("d", "chunk", 1, wish="w"), Found("e", "other", 1, wish="w", copy=1))
    placed = Placement("h", None, (), cuts=cuts, chunks=found)
    # Chunks come first, then what is cut: 0 and 1 are copies, and so are 2 and 3.
    assert mirrors(placed) == ((0, 1), (2, 3))
    assert mirrors(Placement("h", None, (), cuts=cuts[:1])) == ()


# -- refusals ----------------------------------------------------------------------------------


def test_each_unmet_requirement_is_one_message_with_its_candidates() -> None:
    place = "/Processors/Members/0"
    found = Rejections(
        (row(wish=place, requested=8, available=4), row(Reason.CAPACITY, wish="/m", requested=9)),
        (
            row(group=Group.SWITCH, candidate="sw1", wish=place, requested=8, available=4, alike=2),
            row(Reason.LATENCY, group=Group.APPLIANCE, candidate="a1", wish="/m", requested=7,
                available=9),
        ),
    )  # fmt: skip
    first, second = unmet(found)
    assert first.args == (
        "Processors/Members/0", "8", "4", Reason.COUNT.value,
        f"switch sw1 and 2 alike: 4 of 8, {Reason.COUNT.value}",
    )  # fmt: skip
    assert first.related == ("#/Processors/Members/0",)
    assert second.args[1:3] == ("9 MiB", "not counted")
    assert second.args[4] == f"appliance a1: 9 ns of 7 ns, {Reason.LATENCY.value}"


def test_a_long_list_of_candidates_is_cut_and_says_so() -> None:
    many = tuple(row(candidate=f"b{number}", group=Group.BLOCK) for number in range(20))
    (message,) = unmet(Rejections((row(),), many))
    assert message.args[0] == "the host"
    assert message.related == ()
    assert message.args[4].count("; ") == CANDIDATES_MAX
    assert message.args[4].endswith("; 4 more")


def test_what_can_not_be_met_changes_nothing() -> None:
    tip: MemoryTip = a_pod()
    before = tip.index.snapshot()
    with pytest.raises(RedfishError) as refused:
        recipe_of({**GPU, **memory(1 << 40)}, tip)
    assert refused.value.status == 409
    (message,) = refused.value.messages
    assert message.key == "RedfishFM.RequirementUnmet"
    assert tip.index.snapshot() == before


# -- what is said of the whole system ----------------------------------------------------------

AFFINITY = "@Redfish.ZoneAffinity"
FAR = {"Oem": {"RedfishFM": {"MaxLatencyNanoseconds": 1 << 20}}}


def refused_of(request: dict[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    with pytest.raises(RedfishError) as refused:
        recipe_of(request, a_pod())
    assert refused.value.status == 400
    return [(each.key, each.related) for each in refused.value.messages]


def test_named_blocks_are_no_reason_to_take_a_zone_that_is_none() -> None:
    told = refused_of({**body("gpu1", "h2"), AFFINITY: "nonsense"})
    assert told == [("Base.PropertyValueIncorrect", (f"#/{AFFINITY}",))]


def test_named_blocks_are_in_the_zone_that_is_asked_for() -> None:
    tip = a_pod()
    zone = "/redfish/v1/CompositionService/ResourceZones/1"
    request = {**body("gpu1", "h2"), AFFINITY: "1"}
    assert recipe_of(request, tip).blocks == (block("gpu1"), block("h2"))
    document = tip.document(zone)
    assert document is not None
    inside = [each for each in document["Links"]["ResourceBlocks"]
              if each["@odata.id"] != block("gpu1")]  # fmt: skip
    tip.documents[zone] = msgspec.json.encode({**document, "Links": {"ResourceBlocks": inside}})
    for more in ({}, GPU):
        with pytest.raises(RedfishError) as refused:
            recipe_of({**request, **more}, tip)
        (told,) = refused.value.messages
        assert (refused.value.status, told.key) == (400, "Base.PropertyValueConflict")
        assert told.related == ("#/Links/ResourceBlocks/0",)


@pytest.mark.parametrize(
    "name", ["MaxLatencyNanoseconds", "MinBandwidthMegabytesPerSecond", "MemoryPolicy"]
)
def test_a_wish_of_the_system_that_named_blocks_are_not_held_to_is_told(name: str) -> None:
    value = "Spread" if name == "MemoryPolicy" else 1
    told = refused_of({**body("gpu1", "h2"), "Oem": {"RedfishFM": {name: value}}})
    assert told == [("Base.PropertyValueConflict", (f"#/Oem/RedfishFM/{name}",))]


def test_a_distance_is_not_asked_of_wishes_and_passed_over_for_named_devices() -> None:
    told = refused_of({**body("gpu1", "h2"), **GPU, **FAR})
    assert told == [("Base.PropertyValueConflict", ("#/Oem/RedfishFM/MaxLatencyNanoseconds",))]
    assert recipe_of({**body("h2"), **GPU, **FAR}, a_pod()).host == f"{SYSTEMS}/h2"


def test_a_wish_of_the_system_that_no_member_heeds_is_told() -> None:
    told = refused_of({**GPU, "Oem": {"RedfishFM": {"MemoryPolicy": "Spread"}}})
    assert told == [("Base.PropertyUnknown", ("#/Oem/RedfishFM/MemoryPolicy",))]


# -- regions that are shared -------------------------------------------------------------------


def sharing(shared: str, *access: str) -> dict[str, Any]:
    ours = {"MemoryRegion": {"@odata.id": shared}, "AccessCapabilities": [*access]}
    return {"@Redfish.RequestedCount": 1, "Oem": {"RedfishFM": ours}}


def a_shared_region() -> tuple[MemoryTip, str]:
    tip = a_tip(plugged(dynamic()))
    return tip, region(tip, ShareableRegion=True).uri


def test_a_region_is_not_asked_for_twice_so_that_neither_access_is_passed_over() -> None:
    tip, shared = a_shared_region()
    wish = {"Memory": {"Members": [sharing(shared, "Read"), sharing(shared, "Write")]}}
    with pytest.raises(RedfishError) as refused:
        recipe_of({**body("h1"), **wish}, tip)
    (told,) = refused.value.messages
    assert (refused.value.status, told.key) == (400, "Base.PropertyValueIncorrect")
    assert told.related == ("#/Memory/Members/1/Oem/RedfishFM/MemoryRegion",)


def test_less_access_than_a_system_has_to_a_region_is_nothing_new() -> None:
    tip, shared = a_shared_region()
    all_of_it = {"Memory": {"Members": [sharing(shared, "Read", "Write")]}}
    system = post(tip, "h1", **all_of_it).uri
    present = tip.index.compositions[system].blocks
    less = {"Memory": {"Members": [sharing(shared, "Read")]}}
    assert recipe_for(less, system, present, None, tip).shared == ()


def test_more_access_than_a_system_has_to_a_region_is_asked_for() -> None:
    tip, shared = a_shared_region()
    system = post(tip, "h1", Memory={"Members": [sharing(shared, "Read")]}).uri
    present = tip.index.compositions[system].blocks
    more = {"Memory": {"Members": [sharing(shared, "Read", "Write")]}}
    (asked,) = recipe_for(more, system, present, None, tip).shared
    assert (asked.region, asked.access) == (shared, ("Read", "Write"))


@pytest.mark.parametrize("named", [("h2",), ()], ids=["host named", "nothing named"])
def test_a_region_that_can_not_be_shared_now_is_told_at_its_wish(named: tuple[str, ...]) -> None:
    tip, shared = a_shared_region()
    region(tip)  # an exclusive part, which keeps what it is in for one host
    post(tip, "h1", Memory={"Members": [sharing(shared, "Read")]})
    with pytest.raises(RedfishError) as refused:
        post(tip, *named, Memory={"Members": [sharing(shared, "Read")]})
    assert refused.value.status == 409
    pointers = {where for told in refused.value.messages for where in told.related}
    assert pointers == {"#/Memory/Members/0"}


@pytest.mark.parametrize("named", [("h2",), ()], ids=["host named", "nothing named"])
def test_who_keeps_the_block_of_a_region_is_told_at_its_wish(named: tuple[str, ...]) -> None:
    tip, shared = a_shared_region()
    wish = {"Memory": {"Members": [sharing(shared, "Read")]}}
    stanza = {"StanzaType": "ComposeSystem", "StanzaId": "a", "Request": {**body("h1"), **wish}}
    keeper = compose(tip, "PreviewReserve", stanza).uri
    with pytest.raises(RedfishError) as refused:
        post(tip, *named, **wish)
    told = refused.value.messages[0]
    assert (refused.value.status, told.related) == (409, ("#/Memory/Members/0",))
    assert keeper in told.args
