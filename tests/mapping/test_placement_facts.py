"""What placement has to know of a discovered inventory, and what it makes of shipped topologies."""

from pathlib import Path

import pytest

from redfish_fm.drivers.virtual.topology import load
from redfish_fm.fabric.placement import place
from redfish_fm.fabric.placement_values import MemoryWish, Placement, Request, Wish
from redfish_fm.mapping.inventory import render_inventories
from tests.mapping.builders import MemoryTip

TIB = 1 << 20
BLOCKS = "/redfish/v1/CompositionService/ResourceBlocks"


def a_tip(repository: Path, topology: str) -> MemoryTip:
    found = load(topology, repository / "mockups").inventories()
    rendered = render_inventories(found)
    return MemoryTip(rendered.documents, rendered.facts)


def names(blocks: tuple[str, ...]) -> set[str]:
    return {block.removeprefix(f"{BLOCKS}/") for block in blocks}


def test_blocks_and_virtual_switches_tell_what_their_links_add_and_carry(repository: Path) -> None:
    facts = a_tip(repository, "ai-pod").facts
    gpu, drive = facts.blocks[f"{BLOCKS}/gpu1"], facts.blocks[f"{BLOCKS}/nvme1"]
    assert (gpu.latency_ns, gpu.bandwidth_mb_s) == (115, 63_008)
    assert (drive.latency_ns, drive.bandwidth_mb_s) == (115, 15_752)
    assert facts.blocks[f"{BLOCKS}/host1"].core_count == 128
    vcs = next(each for each in facts.vcss if each.switch == "cxl1")
    assert (vcs.latency_ns, vcs.bandwidth_mb_s) == (85, 63_008)


def test_the_default_pod_gives_eight_gpus_memory_and_a_drive_within_400_ns(
    repository: Path,
) -> None:
    tip = a_tip(repository, "ai-pod")
    request = Request(
        devices=(Wish("GPU", 8, same_switch=True), Wish("NVMe")),
        memory=(MemoryWish(2 * TIB),),
        latency_ns_max=400,
    )
    found = place(tip.index, request, now_s=tip.wall_s(), status=tip.status)
    assert isinstance(found, Placement)
    assert found.latency_ns == 230
    assert len(found.devices[0]) == 8
    (cut,) = found.cuts
    assert (names((cut.block,)), cut.size_mib) == ({"appliance2"}, 2 * TIB)
    assert cut.pool in tip.index.domains
    assert names(found.blocks) >= {"appliance2"}


@pytest.mark.parametrize(
    ("topology", "wish"),
    [
        ("mixed", MemoryWish(TIB // 2)),
        ("mixed", MemoryWish(TIB // 16)),
        ("mixed", MemoryWish(TIB // 1024, 4, kind="NVMe")),
        ("ex5410p", MemoryWish(TIB // 128, 16)),
        ("nvmeof-jbof", MemoryWish(TIB // 1024, kind="NVMe")),
        ("scale:hosts=4,gpus=16,switches=2,memory=2", MemoryWish(TIB // 2)),
    ],
)
def test_memory_of_every_kind_is_found(repository: Path, topology: str, wish: MemoryWish) -> None:
    tip = a_tip(repository, topology)
    found = place(tip.index, Request(memory=(wish,)), now_s=0.0, status=tip.status)
    assert isinstance(found, Placement), found
    assert (
        sum(cut.size_mib for cut in found.cuts) + sum(each.size_mib for each in found.chunks)
        == wish.count * wish.capacity_mib
    )
    for cut in found.cuts:
        assert cut.pool in tip.index.blocks[cut.block].pools


@pytest.mark.parametrize("kind", ["GPU", "NVMe", "NIC", "FPGA", "Memory"])
def test_devices_of_every_kind_are_found(repository: Path, kind: str) -> None:
    tip = a_tip(repository, "mixed")
    found = place(tip.index, Request(devices=(Wish(kind),)), now_s=0.0, status=tip.status)
    assert isinstance(found, Placement), found
    assert tip.index.blocks[found.blocks[0]].kind == kind
