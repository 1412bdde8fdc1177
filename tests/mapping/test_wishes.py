"""Requests read into wishes: each property that is heeded, and the words for all that are not."""

from typing import Any

import pytest

from redfish_fm.fabric.placement_values import ComputeWish, MemoryPolicy, MemoryWish, Wish
from redfish_fm.mapping.wishes import COUNT_MAX, DESCRIBED, WISHES_MAX, describes, read_wishes

TIB = 1 << 20
GPU = {"@Redfish.RequestedCount": 2, "ProcessorType": "GPU"}
MEMORY = {"@Redfish.RequestedCount": 3, "CapacityMiB": 1024}


def of(name: str, *members: dict[str, Any]) -> dict[str, Any]:
    return {name: {"Members": list(members)}}


def ours(**wishes: Any) -> dict[str, Any]:
    return {"Oem": {"RedfishFM": wishes}}


DEVICES = {
    "kind and count": (of("Processors", GPU), Wish("GPU", 2, name="/Processors/Members/0")),
    "model": (
        of("Processors", {**GPU, "Model": "M", "Manufacturer": "C"}),
        Wish("GPU", 2, "M", "C", name="/Processors/Members/0"),
    ),
    "its own memory": (
        of("Processors", {**GPU, "ProcessorMemory": [{"CapacityMiB": 81920}]}),
        Wish("GPU", 2, capacity_mib_min=81920, name="/Processors/Members/0"),
    ),
    "ours": (
        of(
            "Processors",
            {
                **GPU,
                **ours(
                    MaxLatencyNanoseconds=400,
                    MinBandwidthMegabytesPerSecond=9,
                    SameSwitch=True,
                    SpreadOverFailureDomains=False,
                ),
            },
        ),
        Wish(
            "GPU", 2, bandwidth_mb_s_min=9, latency_ns_max=400, same_switch=True,
            name="/Processors/Members/0",
        ),
    ),
    "ours of the system": (
        {**of("Processors", GPU), **ours(SameSwitch=True)},
        Wish("GPU", 2, same_switch=True, name="/Processors/Members/0"),
    ),
    "the member's own word counts": (
        {**of("Processors", {**GPU, **ours(SameSwitch=False)}), **ours(SameSwitch=True)},
        Wish("GPU", 2, name="/Processors/Members/0"),
    ),
    "FPGA": (
        of("Processors", {**GPU, "ProcessorType": "FPGA"}),
        Wish("FPGA", 2, name="/Processors/Members/0"),
    ),
    "a drive in each": (
        of("Storage", {"@Redfish.RequestedCount": 2}),
        Wish("Drive", 2, name="/Storage/Members/0"),
    ),
    "drives in each": (
        of("Storage", {"@Redfish.RequestedCount": 2, "Drives": [
            {"@Redfish.RequestedCount": 3, "CapacityBytes": 1 << 30, "Protocol": "NVMe"}]}),
        Wish("NVMe", 6, capacity_mib_min=1024, name="/Storage/Members/0/Drives/0"),
    ),
    "a byte more is a MiB more": (
        of("Storage", {"@Redfish.RequestedCount": 1, "Drives": [{"CapacityBytes": 1 + (1 << 20)}]}),
        Wish("Drive", 1, capacity_mib_min=2, name="/Storage/Members/0/Drives/0"),
    ),
    "simple storage": (
        of("SimpleStorage", {"@Redfish.RequestedCount": 6,
                             "Devices": [{"CapacityBytes": 1 << 30}]}),
        Wish("Drive", 6, capacity_mib_min=1024, name="/SimpleStorage/Members/0/Devices/0"),
    ),
    "simple storage as the published capabilities write it": (
        of("SimpleStorage", {"@Redfish.RequestedCount": 1, "Devices": {
            "@Redfish.RequestedCount": 4, "CapacityBytes": 1 << 30, "Name": "n"}}),
        Wish("Drive", 4, capacity_mib_min=1024, name="/SimpleStorage/Members/0/Devices"),
    ),
    "a card of that speed": (
        of("EthernetInterfaces", {"@Redfish.RequestedCount": 1, "SpeedMbps": 25_001}),
        Wish("NIC", 1, bandwidth_mb_s_min=3126, name="/EthernetInterfaces/Members/0"),
    ),
    "any card": (
        of("NetworkInterfaces", {"@Redfish.RequestedCount": 1}),
        Wish("NIC", 1, name="/NetworkInterfaces/Members/0"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DEVICES)
def test_a_wish_for_devices_is_read(case: str) -> None:
    body, wanted = DEVICES[case]
    asked = read_wishes(body)
    assert (asked.told, asked.devices, asked.memory) == ([], [wanted], [])


PARTS = {
    "memory": (of("Memory", MEMORY), MemoryWish(1024, 3, name="/Memory/Members/0")),
    "mirrored": (
        of("Memory", {**MEMORY, "MemoryType": "DRAM", **ours(MemoryPolicy="Mirrored")}),
        MemoryWish(1024, 3, policy=MemoryPolicy.MIRRORED, name="/Memory/Members/0"),
    ),
    "near": (
        {**of("Memory", {**MEMORY, **ours(MaxLatencyNanoseconds=9)}),
         **ours(MemoryPolicy="Spread")},
        MemoryWish(
            1024, 3, policy=MemoryPolicy.SPREAD, latency_ns_max=9, name="/Memory/Members/0"
        ),
    ),
    "namespaces": (
        of("Storage", {"@Redfish.RequestedCount": 2, "Volumes": {"Members": [
            {"@Redfish.RequestedCount": 2, "CapacityBytes": 1 << 30}]}}),
        MemoryWish(1024, 4, "NVMe", name="/Storage/Members/0/Volumes/Members/0"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PARTS)
def test_a_wish_for_parts_of_pools_is_read(case: str) -> None:
    body, wanted = PARTS[case]
    asked = read_wishes(body)
    assert (asked.told, asked.devices, asked.memory) == ([], [], [wanted])


def test_processors_of_the_host_add_up() -> None:
    cpu = {"@Redfish.RequestedCount": 2, "ProcessorType": "CPU", "TotalCores": 16}
    more = {**cpu, "@Redfish.RequestedCount": 1, "Model": "M", "InstructionSet": "x86-64"}
    asked = read_wishes(of("Processors", cpu, more))
    assert asked.told == []
    assert asked.compute == ComputeWish(core_count_min=48, model="M", name="/Processors/Members/1")


def test_the_budget_of_the_system_binds_the_whole_request() -> None:
    asked = read_wishes({**of("Processors", GPU), **ours(MaxLatencyNanoseconds=400)})
    assert asked.request().latency_ns_max == 400


WRONG = {
    "too many": (of("Memory", {**MEMORY, "@Redfish.RequestedCount": COUNT_MAX + 1}), "OutOfRange"),
    "no list": ({"Memory": {"Members": {"CapacityMiB": 1}}}, "TypeError"),
    "drives that are no list": (
        of("Storage", {"@Redfish.RequestedCount": 1, "Drives": {"Members": {}}}),
        "TypeError",
    ),
    "no object": ({"Memory": {"Members": [7]}}, "TypeError"),
    "nothing in it": ({"Memory": {"Members": []}}, "Missing"),
    "not heeded": (of("Memory", {**MEMORY, "RankCount": 1}), "Unknown"),
    "not heeded below": (
        of("Storage", {"@Redfish.RequestedCount": 1, "Drives": [{"RotationSpeedRPM": 1}]}),
        "Unknown",
    ),
    "spinning": (
        of("Storage", {"@Redfish.RequestedCount": 1, "Drives": [{"MediaType": "HDD"}]}),
        "NotInList",
    ),
    "one way at a time": (
        of("EthernetInterfaces", {"@Redfish.RequestedCount": 1, "FullDuplex": False}),
        "NotInList",
    ),
    "null count": (of("Memory", {**MEMORY, "@Redfish.RequestedCount": None}), "Missing"),
    "null model": (of("Processors", {**GPU, "Model": None}), "Missing"),
    "another architecture": (
        of("Processors", {**GPU, "ProcessorType": "CPU", "ProcessorArchitecture": "ARM"}),
        "NotInList",
    ),
    "our part is no object": (of("Memory", {**MEMORY, "Oem": {"RedfishFM": 1}}), "TypeError"),
    "unknown word of ours": (of("Memory", {**MEMORY, **ours(Cheap=True)}), "Unknown"),
    "ours for a host": (
        of("Processors", {**GPU, "ProcessorType": "CPU", **ours(SameSwitch=True)}),
        "Unknown",
    ),
    "budget of nothing": (of("Memory", {**MEMORY, **ours(MaxLatencyNanoseconds=0)}), "Incorrect"),
    "wrong for the system": ({**of("Memory", MEMORY), **ours(SameSwitch=1)}, "Incorrect"),
}


def test_no_request_describes_more_than_a_system_can_be_made_of() -> None:
    least = [MEMORY] * WISHES_MAX
    assert read_wishes(of("Memory", *least)).told == []
    drives = {"@Redfish.RequestedCount": 1, "Drives": [{}] * 9}
    for body, place in (
        (of("Memory", *least, MEMORY), "#/Memory/Members"),
        ({**of("Processors", GPU), **of("Memory", *least)}, "#/Memory/Members"),
        (of("Storage", *[drives] * 8), "#/Storage/Members"),
        (of("Storage", *[{**drives, "Drives": {"Members": [{}] * 9}}] * 8), "#/Storage/Members"),
    ):
        (told,) = read_wishes(body).told
        assert (told.key, told.related) == ("Base.PropertyValueOutOfRange", (place,))


@pytest.mark.parametrize("case", WRONG)
def test_what_can_not_be_read_is_told(case: str) -> None:
    body, word = WRONG[case]
    told = read_wishes(body).told
    assert [each.key.endswith(word) for each in told] == [True], told
    assert told[0].related[0].startswith("#/")


def test_everything_that_is_wrong_is_told_at_once() -> None:
    body = {**of("Memory", {}, {"CapacityMiB": 0}), **of("Processors", {"RankCount": 1})}
    places = [each.related[0] for each in read_wishes(body).told]
    assert places == [
        "#/Processors/Members/0/@Redfish.RequestedCount",
        "#/Processors/Members/0/ProcessorType",
        "#/Memory/Members/0/@Redfish.RequestedCount",
        "#/Memory/Members/0/CapacityMiB",
        "#/Memory/Members/1/@Redfish.RequestedCount",
        "#/Memory/Members/1/CapacityMiB",
    ]


def test_what_a_get_shows_is_no_wish() -> None:
    link = {"@odata.id": "/redfish/v1/Systems/1/Processors"}
    shown = {"Processors": link, **ours(Composition={"Zones": []}, **{"@odata.type": "#x"})}
    assert not describes(shown)
    asked = read_wishes(shown)
    assert (asked.told, asked.wishes) == ([], False)


@pytest.mark.parametrize("name", sorted(DESCRIBED))
def test_each_collection_can_be_described(name: str) -> None:
    assert describes({name: {"Members": []}})
