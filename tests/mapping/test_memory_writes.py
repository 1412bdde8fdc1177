"""Chunks and regions: carved out of pools, refused with every reason, and given back."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from redfish_fm.fabric.model import BindTarget
from redfish_fm.fabric.values import Allocation
from redfish_fm.mapping.drafts import Draft, TakeBack
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.writes import OutcomeKind, Write, WriteKind
from tests.mapping.builders import MemoryTip, a_device, a_tip, links
from tests.mapping.test_devices import DeviceKind, device_uri, dynamic, plugged, pooled
from tests.mapping.test_writes import refusal

SWITCH, PORT = "pod-sw", "32"
DOMAIN = "/redfish/v1/Chassis/pool1/MemoryDomains/1"
CHUNKS = f"{DOMAIN}/MemoryChunks"
LD = f"{device_uri('pool1')}/CXLLogicalDevices"
DYNAMIC = f"{device_uri('dcd1')}/CXLLogicalDevices"
REGIONS = f"{DYNAMIC}/0/MemoryRegions"
POD = "/redfish/v1/Fabrics/pod"
H1, H2 = f"{POD}/Endpoints/h1-1", f"{POD}/Endpoints/h2-1"


@pytest.fixture
def tip() -> MemoryTip:
    return a_tip(plugged(pooled()))


@pytest.fixture
def dcd() -> MemoryTip:
    return a_tip(plugged(dynamic()))


def post(tip: MemoryTip, collection: str, body: Mapping[str, Any]) -> Draft:
    name = "MemoryChunks" if collection.endswith("Chunks") else "MemoryRegion"
    return tip.commit(prepare(Write(WriteKind.CREATE, collection, name, "tester", body), tip))


def chunk(tip: MemoryTip, size_mib: int = 512, **more: Any) -> Draft:
    return post(tip, CHUNKS, {"MemoryChunkSizeMiB": size_mib, **more})


def region(tip: MemoryTip, size_mib: int = 512, collection: str = REGIONS, **more: Any) -> Draft:
    body = {"RegionType": "Dynamic", "RegionSizeMiB": size_mib, **more}
    return post(tip, collection, body)


def shown(tip: MemoryTip, uri: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(tip.documents[uri])
    return document


# -- chunks out of a pool --------------------------------------------------------------------


def test_a_chunk_is_the_lowest_free_ld_and_asks_hardware_for_it(tip: MemoryTip) -> None:
    draft = chunk(tip)
    assert draft.kind is OutcomeKind.CREATED
    document = shown(tip, draft.uri)
    assert document["Links"]["CXLLogicalDevices"] == links(f"{LD}/0")
    assert (document["AddressRangeType"], document["MediaLocation"]) == ("Volatile", "Local")
    assert document["AddressRangeOffsetMiB"] == 0
    wanted = Allocation("pod", BindTarget(SWITCH, PORT, 0), 512, draft.uri)
    assert draft.operation is not None
    assert draft.operation.allocated == (wanted,)
    assert draft.operation.take_back is TakeBack.DELETE
    assert draft.operation.resources == {draft.uri}
    assert tip.index.allocations == {wanted.target: wanted}
    assert shown(tip, chunk(tip).uri)["Links"]["CXLLogicalDevices"] == links(f"{LD}/1")


def test_a_part_that_hardware_still_has_for_others_is_passed_over(tip: MemoryTip) -> None:
    tip.occupied = frozenset({BindTarget(SWITCH, PORT, 0)})
    assert shown(tip, chunk(tip).uri)["Links"]["CXLLogicalDevices"] == links(f"{LD}/1")


def test_a_client_may_choose_a_free_ld(tip: MemoryTip) -> None:
    wish = {"CXLLogicalDevices": links(f"{LD}/3/")}
    assert shown(tip, chunk(tip, Links=wish).uri)["Links"] == {
        "CXLLogicalDevices": links(f"{LD}/3")
    }
    (held,) = tip.documents
    place = "#/Links/CXLLogicalDevices"
    with refusal(409, "Base.PropertyValueResourceConflict", place, f"{LD}/3", held):
        chunk(tip, Links=wish)
    tip.occupied = frozenset({BindTarget(SWITCH, PORT, 2)})
    with refusal(409, "Base.ResourceExhaustion"):
        chunk(tip, Links={"CXLLogicalDevices": links(f"{LD}/2")})


@pytest.mark.parametrize("named", [("/redfish/v1/Chassis/x",), (f"{LD}/0", f"{LD}/1")])
def test_another_devices_ld_and_two_lds_are_refused(tip: MemoryTip, named: tuple[str, ...]) -> None:
    with refusal(400, "Base.PropertyValueResourceConflict", "#/Links/CXLLogicalDevices"):
        chunk(tip, Links={"CXLLogicalDevices": links(*named)})
    assert tip.documents == {}


@pytest.mark.parametrize("size_mib", [0, -256, 100, 257])
def test_a_size_that_is_no_multiple_is_refused(tip: MemoryTip, size_mib: int) -> None:
    with refusal(400, "Base.PropertyValueIncorrect", "#/MemoryChunkSizeMiB"):
        chunk(tip, size_mib)


def test_more_than_the_pool_has_left_is_refused(tip: MemoryTip) -> None:
    chunk(tip, 3072)
    with refusal(409, "Base.ResourceExhaustion", DOMAIN):
        chunk(tip, 1280)
    assert chunk(tip, 1024).kind is OutcomeKind.CREATED


def test_more_chunks_than_lds_are_refused(tip: MemoryTip) -> None:
    for _ in range(4):
        chunk(tip, 256)
    with refusal(409, "Base.ResourceExhaustion", DOMAIN):
        chunk(tip, 256)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("IsMirrorEnabled", True),
        ("IsSpare", True),
        ("InterleaveSets", [{"Memory": {"@odata.id": "/redfish/v1/Chassis/pool1/Memory/1"}}]),
        ("AddressRangeType", "PMEM"),
        ("MediaLocation", "Remote"),
        ("AddressRangeOffsetMiB", 256),
    ],
)
def test_what_nobody_can_make_true_is_refused_by_name(
    tip: MemoryTip, name: str, value: object
) -> None:
    with refusal(400, "Base.PropertyValueIncorrect", name):
        chunk(tip, **{name: value})


def test_what_is_true_anyway_may_be_said(tip: MemoryTip) -> None:
    draft = chunk(
        tip, IsMirrorEnabled=False, IsSpare=False, InterleaveSets=[], MediaLocation="Local"
    )
    assert shown(tip, draft.uri)["IsMirrorEnabled"] is False


def test_all_that_is_wrong_is_said_at_once(tip: MemoryTip) -> None:
    with refusal(
        400, "Base.PropertyValueIncorrect", "IsSpare", "IsMirrorEnabled", "MemoryChunkSizeMiB"
    ):
        chunk(tip, 100, IsSpare=True, IsMirrorEnabled=True)


def test_a_fixed_domain_takes_no_chunk() -> None:
    tip = a_tip()
    with refusal(400, "Base.ResourceCreationConflict"):
        post(
            tip, "/redfish/v1/Chassis/mem2/MemoryDomains/0/MemoryChunks", {"MemoryChunkSizeMiB": 1}
        )


def test_deleting_a_chunk_gives_its_memory_back(tip: MemoryTip) -> None:
    made = chunk(tip)
    draft = tip.delete(made.uri)
    assert draft.kind is OutcomeKind.DELETED
    assert draft.operation is not None
    assert made.operation is not None
    assert draft.operation.freed == made.operation.allocated
    assert draft.operation.take_back is TakeBack.NOTHING
    assert tip.index.allocations == {}


def test_a_chunk_that_a_connection_grants_stays(tip: MemoryTip) -> None:
    made, held = chunk(tip).uri, f"{POD}/Endpoints/pool1-ld0"
    tip.post(f"{POD}/Zones", {"Links": {"Endpoints": links(H1, held)}})
    connection = tip.post(f"{POD}/Connections", grant(H1, held, "Chunk", made)).uri
    with refusal(409, "Base.ResourceInUse", connection):
        tip.delete(made)


def test_a_second_host_is_refused_a_chunk(tip: MemoryTip) -> None:
    made, held = chunk(tip).uri, f"{POD}/Endpoints/pool1-ld0"
    tip.post(f"{POD}/Zones", {"Links": {"Endpoints": links(H1, held)}})
    tip.post(f"{POD}/Connections", grant(H1, held, "Chunk", made))
    with refusal(409, "Base.ResourceInUse", held):
        tip.post(f"{POD}/Zones", {"Links": {"Endpoints": links(H2, held)}})
        tip.post(f"{POD}/Connections", grant(H2, held, "Chunk", made))


def grant(initiator: str, target: str, kind: str, *parts: str) -> dict[str, Any]:
    names = {
        "Chunk": ("MemoryChunkInfo", "MemoryChunk"),
        "Region": ("MemoryRegionInfo", "MemoryRegion"),
    }
    rows, name = names[kind]
    return {
        "ConnectionType": "Memory",
        rows: [
            {"AccessCapabilities": ["Read", "Write"], name: {"@odata.id": part}} for part in parts
        ],
        "Links": {"InitiatorEndpoints": links(initiator), "TargetEndpoints": links(target)},
    }


def test_a_patch_changes_names_and_nothing_that_is_allocated(tip: MemoryTip) -> None:
    made = chunk(tip).uri
    before = dict(tip.index.allocations)
    draft = tip.patch(made, {"Name": "heap", "DisplayName": "heap of job 7"})
    assert draft.operation is None
    assert shown(tip, made)["DisplayName"] == "heap of job 7"
    assert tip.index.allocations == before


# -- regions ---------------------------------------------------------------------------------


def test_a_region_takes_the_lowest_number_of_its_ld(dcd: MemoryTip) -> None:
    draft = region(dcd)
    document = shown(dcd, draft.uri)
    assert document["RegionNumber"] == 0
    assert (document["BlockSizeMiB"], document["SanitizeOnRelease"]) == (256, True)
    assert document["ShareableRegion"] is False
    wanted = Allocation("pod", BindTarget(SWITCH, PORT, 0, region=0), 512, draft.uri)
    assert draft.operation is not None
    assert draft.operation.allocated == (wanted,)
    assert shown(dcd, region(dcd).uri)["RegionNumber"] == 1
    other = region(dcd, collection=f"{DYNAMIC}/1/MemoryRegions")
    assert shown(dcd, other.uri)["RegionNumber"] == 0
    assert dcd.index.units[other.uri].within == f"{DYNAMIC}/1"


def test_a_shareable_region_is_allocated_as_one_and_is_no_exclusive_unit(dcd: MemoryTip) -> None:
    draft = region(dcd, ShareableRegion=True)
    assert draft.operation is not None
    assert draft.operation.allocated[0].shareable
    assert not dcd.index.units[draft.uri].exclusive
    assert not dcd.index.exclusive(f"{DYNAMIC}/0")
    region(dcd)
    assert dcd.index.exclusive(f"{DYNAMIC}/0")


def test_a_client_may_choose_a_free_number(dcd: MemoryTip) -> None:
    assert shown(dcd, region(dcd, RegionNumber=5).uri)["RegionNumber"] == 5
    (held,) = dcd.documents
    with refusal(409, "Base.PropertyValueResourceConflict", "#/RegionNumber", "5", held):
        region(dcd, RegionNumber=5)
    with refusal(400, "Base.PropertyValueOutOfRange", "#/RegionNumber"):
        region(dcd, RegionNumber=8)
    dcd.occupied = frozenset({BindTarget(SWITCH, PORT, 0, region=3)})
    with refusal(409, "Base.ResourceExhaustion"):
        region(dcd, RegionNumber=3)


def test_all_lds_share_the_devices_capacity(dcd: MemoryTip) -> None:
    region(dcd, 3072)
    with refusal(409, "Base.ResourceExhaustion", device_uri("dcd1")):
        region(dcd, 2048, f"{DYNAMIC}/1/MemoryRegions")


def test_more_regions_than_numbers_are_refused(dcd: MemoryTip) -> None:
    for _ in range(8):
        region(dcd, 256)
    with refusal(409, "Base.ResourceExhaustion", device_uri("dcd1")):
        region(dcd, 256)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RegionType", "Static"),
        ("BlockSizeMiB", 128),
        ("SanitizeOnRelease", False),
        ("HardwareManagedCoherencyRegion", True),
        ("NonVolatileRegion", True),
    ],
)
def test_what_the_device_does_not_do_is_refused_by_name(
    dcd: MemoryTip, name: str, value: object
) -> None:
    with refusal(400, "Base.PropertyValueIncorrect", name):
        region(dcd, **{name: value})


def test_a_device_that_can_not_scrub_promises_nothing() -> None:
    tip = a_tip(plugged(replace(dynamic(), sanitizes=False)))
    assert shown(tip, region(tip).uri)["SanitizeOnRelease"] is False
    with refusal(400, "Base.PropertyValueIncorrect", "SanitizeOnRelease"):
        region(tip, SanitizeOnRelease=True)


def test_deleting_a_region_gives_its_capacity_back(dcd: MemoryTip) -> None:
    made = region(dcd)
    draft = dcd.delete(made.uri)
    assert draft.operation is not None
    assert made.operation is not None
    assert draft.operation.freed == made.operation.allocated
    assert made.uri not in dcd.index.units
    assert dcd.index.allocations == {}


def test_a_region_that_a_connection_grants_stays(dcd: MemoryTip) -> None:
    made, held = region(dcd).uri, f"{POD}/Endpoints/dcd1-ld0"
    dcd.post(f"{POD}/Zones", {"Links": {"Endpoints": links(H1, held)}})
    connection = dcd.post(f"{POD}/Connections", grant(H1, held, "Region", made)).uri
    with refusal(409, "Base.ResourceInUse", connection):
        dcd.delete(made)


def test_an_exclusive_region_is_refused_where_two_hosts_are_by_what_says_so(
    dcd: MemoryTip,
) -> None:
    region(dcd, ShareableRegion=True)
    held = f"{POD}/Endpoints/dcd1-ld0"
    zone = dcd.post(f"{POD}/Zones", {"Links": {"Endpoints": links(H1, H2, held)}}).uri
    with refusal(409, "Base.PropertyValueResourceConflict", "#/ShareableRegion", zone):
        region(dcd)


def test_a_connection_that_loses_its_regions_is_told_to_name_some(dcd: MemoryTip) -> None:
    made, held = region(dcd).uri, f"{POD}/Endpoints/dcd1-ld0"
    dcd.post(f"{POD}/Zones", {"Links": {"Endpoints": links(H1, held)}})
    connection = dcd.post(f"{POD}/Connections", grant(H1, held, "Region", made)).uri
    with refusal(400, "Base.PropertyMissing", "MemoryRegionInfo", "#/MemoryRegionInfo"):
        dcd.patch(connection, {"MemoryRegionInfo": []})


def test_a_device_that_is_plugged_in_nowhere_gives_nothing() -> None:
    fabric = plugged(a_device("gpu1"))
    tip = a_tip(replace(fabric, devices=(*fabric.devices, pooled(), dynamic())))
    assert tip.inventory[DOMAIN]["AllowsMemoryChunkCreation"] is False
    for make in (chunk, region):
        with refusal(400, "Base.ResourceCreationConflict"):
            make(tip)


def test_only_memory_has_domains() -> None:
    tip = a_tip(plugged(a_device("gpu1", DeviceKind.GPU)))
    assert not tip.facts.domains
    assert not tip.facts.pools
