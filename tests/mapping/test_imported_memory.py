"""Memory of a mockup: served as it is, counted when more is carved."""

from pathlib import Path
from typing import Any

import pytest

from redfish_fm.mapping.imported import analyse
from redfish_fm.mapping.imported_memory import chunks_with_lds
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.writes import OutcomeKind, Write, WriteKind
from tests.mapping.builders import MemoryTip, imported_tip, links, mockup
from tests.mapping.test_writes import refusal

CHASSIS = "/redfish/v1/Chassis/PooledCXLType3"
LD = f"{CHASSIS}/PCIeDevices/1/CXLLogicalDevices"
DOMAIN = f"{CHASSIS}/MemoryDomains/1"


@pytest.fixture
def documents(shared: Path) -> dict[str, dict[str, Any]]:
    return mockup(shared, "public-cxl")


def carve(tip: MemoryTip, size_mib: int, **more: Any) -> Any:
    body = {"MemoryChunkSizeMiB": size_mib, **more}
    write = Write(WriteKind.CREATE, f"{DOMAIN}/MemoryChunks", "MemoryChunks", "tester", body)
    return tip.commit(prepare(write, tip))


def halved(documents: dict[str, dict[str, Any]]) -> MemoryTip:
    """The mockup with its chunk of the domain cut to a half: the upper half is free."""
    chunk = f"{DOMAIN}/MemoryChunks/1"
    size = documents[DOMAIN]["MemorySizeMiB"] // 2
    small = {**documents[chunk], "MemoryChunkSizeMiB": size, "AddressRangeOffsetMiB": 0}
    return imported_tip({**documents, chunk: small})


def test_what_was_imported_is_known_and_full(documents: dict[str, dict[str, Any]]) -> None:
    tip = imported_tip(documents)
    domain = tip.index.domains[DOMAIN]
    assert (domain.carvable, domain.granularity_mib, domain.pool) == (True, 64, None)
    assert tip.index.chunks[f"{DOMAIN}/MemoryChunks/1"].domain == DOMAIN
    assert f"{LD}/1/MemoryRegions/1" in tip.index.regions
    with refusal(409, "Base.ResourceExhaustion", DOMAIN):
        carve(tip, 64)


def test_a_chunk_is_cut_by_address_and_needs_no_hardware(
    documents: dict[str, dict[str, Any]],
) -> None:
    tip = halved(documents)
    half = tip.index.domains[DOMAIN].capacity_mib // 2
    draft = carve(tip, 64)
    assert (draft.kind, draft.operation) == (OutcomeKind.CREATED, None)
    document = tip.document(draft.uri)
    assert document is not None
    assert document["AddressRangeOffsetMiB"] == half
    assert document["Links"]["CXLLogicalDevices"] == links(f"{LD}/1")
    chosen = carve(tip, 64, AddressRangeOffsetMiB=half + 128).uri
    assert tip.index.chunks[chosen].offset_mib == half + 128
    assert tip.index.chunks[carve(tip, 64).uri].offset_mib == half + 64
    with refusal(409, "Base.ResourceInUse", chosen, "#/AddressRangeOffsetMiB"):
        carve(tip, 64, AddressRangeOffsetMiB=half + 128)
    assert tip.delete(chosen).kind is OutcomeKind.DELETED
    assert carve(tip, 64, AddressRangeOffsetMiB=half + 128).kind is OutcomeKind.CREATED


def test_another_domains_ld_is_refused(documents: dict[str, dict[str, Any]]) -> None:
    with refusal(400, "Base.PropertyValueResourceConflict", DOMAIN):
        carve(halved(documents), 64, Links={"CXLLogicalDevices": links(f"{LD}/6")})


def test_a_domain_of_unknown_size_takes_no_chunk(documents: dict[str, dict[str, Any]]) -> None:
    unknown = {name: value for name, value in documents[DOMAIN].items() if name != "MemorySizeMiB"}
    with refusal(400, "Base.ResourceCreationConflict"):
        carve(imported_tip({**documents, DOMAIN: unknown}), 64)


def test_a_domain_that_allows_no_chunk_takes_none(documents: dict[str, dict[str, Any]]) -> None:
    closed = {**documents[DOMAIN], "AllowsMemoryChunkCreation": False}
    with refusal(400, "Base.ResourceCreationConflict"):
        carve(imported_tip({**documents, DOMAIN: closed}), 64)


def test_an_import_gets_the_links_that_only_its_lds_have(
    documents: dict[str, dict[str, Any]],
) -> None:
    chunk = f"{DOMAIN}/MemoryChunks/1"
    bare = {name: value for name, value in documents[chunk].items() if name != "Links"}
    tip = imported_tip({**documents, chunk: bare})
    assert tip.inventory[chunk]["Links"]["CXLLogicalDevices"] == links(f"{LD}/1")
    assert "MemoryChunks" not in tip.inventory[f"{LD}/1"]["Links"]


def test_imported_chunks_and_regions_are_not_deletable(
    documents: dict[str, dict[str, Any]],
) -> None:
    tip = imported_tip(documents)
    for uri in (f"{DOMAIN}/MemoryChunks/1", f"{LD}/1/MemoryRegions/1"):
        with refusal(409, "Base.ResourceCannotBeDeleted"):
            tip.delete(uri)


def test_an_imported_ld_takes_no_region(documents: dict[str, dict[str, Any]]) -> None:
    tip = imported_tip(documents)
    body = {"RegionType": "Dynamic", "RegionSizeMiB": 64}
    write = Write(WriteKind.CREATE, f"{LD}/1/MemoryRegions", "MemoryRegion", "tester", body)
    with refusal(400, "Base.ResourceCreationConflict"):
        prepare(write, tip)


def test_a_chunk_that_only_its_ld_names_gets_the_link() -> None:
    ld, chunk = f"{LD}/1", f"{DOMAIN}/MemoryChunks/1"
    documents = {
        ld: {"@odata.type": "#CXLLogicalDevice.v1_3_0.CXLLogicalDevice",
             "Links": {"MemoryChunks": links(chunk)}},
        chunk: {"@odata.type": "#MemoryChunks.v1_6_2.MemoryChunks", "Links": {"Endpoints": []}},
    }  # fmt: skip
    completed = chunks_with_lds(documents)
    assert completed.keys() == {chunk}
    assert completed[chunk]["Links"] == {"Endpoints": [], "CXLLogicalDevices": links(ld)}
    assert chunks_with_lds({**documents, **completed}) == {}


def test_an_ld_is_idle_that_has_neither_memory_nor_regions() -> None:
    def ld(**more: Any) -> dict[str, Any]:
        return {"@odata.type": "#CXLLogicalDevice.v1_3_0.CXLLogicalDevice", **more}

    place = "/redfish/v1/Chassis/C/PCIeDevices/D/CXLLogicalDevices"
    regions = {"@odata.id": f"{place}/2/MemoryRegions"}
    found = {
        f"{place}/0": ld(),
        f"{place}/1": ld(MemorySizeMiB=0),
        f"{place}/2": ld(MemorySizeMiB=0, MemoryRegions=regions),
        f"{place}/3": ld(MemorySizeMiB=1024),
    }
    assert analyse(found).facts.idle_lds == [f"{place}/1"]
