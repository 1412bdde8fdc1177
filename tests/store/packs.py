"""The published mockups, unpacked: where they are and how a test gets at them."""

import tarfile
from pathlib import Path

import pytest

from tests.unpacking import unpack

PACKS = (
    "mockups-dmtf-2025.4",
    "mockups-dmtf-2025.4-repaired",
    "mockups-snia-ebof",
    "mockups-sunfish",
)
RAW = (
    *(
        f"mockups-dmtf-2025.4/public-{name}"
        for name in (
            "bladed-partitions",
            "composability",
            "compose-action",
            "constrained-composition",
            "cxl",
            "cxl-multiswitch",
            "expansion-box",
            "mpf",
            "nvmeof-jbof",
            "pmem-configuration",
            "rackmount1",
            "sasfabric",
            "smartnic",
            "telemetry",
        )
    ),
    "mockups-snia-ebof/ebof",
    "mockups-sunfish/am_agent_Resources",
    "mockups-sunfish/fm_agent_Resources",
    "mockups-sunfish/nvmeof-mockups",
    "mockups-sunfish/server_start_Resources",
    "mockups-sunfish/utils_resources",
)
"""All published mockups as their makers left them."""


def unpack_all(shared: Path, factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return "pack/mockup" -> folder; skip, saying so, where a pack is absent."""
    found = {}
    for pack in PACKS:
        archive = shared / "data" / f"{pack}.tar.gz"
        if not archive.exists():
            pytest.skip(f"{archive.name} is not at hand")
        folder = factory.mktemp(pack)
        with tarfile.open(archive) as tar:
            unpack(tar, folder)
        for place in folder.glob("*/*"):
            if place.is_dir():
                found[f"{pack}/{place.name}"] = place
    return found
