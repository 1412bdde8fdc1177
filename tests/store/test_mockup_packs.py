"""Published mockups, as they are: read whole, their real defects found, no others invented."""

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from redfish_fm.store.mockup import read_mockup
from redfish_fm.store.mockup_parse import DefectKind
from tests.store.packs import RAW, unpack_all
from tests.store.test_mockup import write

COUNT = "#/Members@odata.count"
# Files that are JSON below a root and yet no resources.
NO_RESOURCES = ("odata/index.json", "$metadata/index.json")


@pytest.fixture(scope="module")
def mockups(shared, tmp_path_factory) -> dict[str, Path]:
    return unpack_all(shared, tmp_path_factory)


def _independent_count(folder: Path) -> int:
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("index.json")]
    return len([name for name in names if name not in NO_RESOURCES])


def _independent_dangling(folder: Path) -> set[str]:
    """Return the link targets that have no readable file, by plain text search."""
    links: set[str] = set()
    for path in folder.rglob("index.json"):
        text = path.read_text("utf-8")
        if not re.search(r",\s*}\s*$", text):  # the one kind of broken JSON in these packs
            links.update(re.findall(r'"@odata\.id"\s*:\s*"(/redfish/v1[^"#]*)', text))
    places = {
        link: folder / link.rstrip("/").removeprefix("/redfish/v1").lstrip("/") for link in links
    }
    return {
        link
        for link, place in places.items()
        if not (place / "index.json").exists()
        or re.search(r",\s*}\s*$", (place / "index.json").read_text("utf-8"))
    }


def test_every_published_mockup_is_read_whole(mockups):
    assert len(mockups) == 14 + 4 + 1 + 5
    assert {name for name in mockups if "-repaired/" not in name} == set(RAW)
    for name, folder in mockups.items():
        tree = read_mockup(folder)
        unreadable = [defect for defect in tree.defects if defect.kind is DefectKind.SYNTAX]
        assert len(tree.documents) + len(unreadable) == _independent_count(folder), name
        assert all(uri == uri.rstrip("/") for uri in tree.documents)


def test_dangling_links_are_those_a_plain_search_finds(mockups):
    for name, folder in mockups.items():
        found: dict[DefectKind, set[str]] = {kind: set() for kind in DefectKind}
        for defect in read_mockup(folder).defects:
            found[defect.kind].add(defect.text.split()[0])
        # The plain search takes a document's own wrong @odata.id for a link.
        links = _independent_dangling(folder)
        assert found[DefectKind.DANGLING] == links - found[DefectKind.WRONG_ID], name


def test_public_cxl_has_its_197_resources_and_two_ids_of_other_names(mockups):
    tree = read_mockup(mockups["mockups-dmtf-2025.4/public-cxl"])
    assert len(tree.documents) == 197
    assert [str(defect).partition(": Id is")[0] for defect in tree.defects] == [
        f"Systems/CXL-System/Memory/{name}/index.json#/Id" for name in ("CXL2", "CXL3")
    ]
    assert "$metadata/index.xml" in tree.others


def test_the_repaired_mockups_have_no_defect(mockups):
    for name, folder in mockups.items():
        if name.startswith("mockups-dmtf-2025.4-repaired/"):
            assert read_mockup(folder).defects == (), name


def test_an_archive_gives_what_its_folder_gives(mockups, tmp_path):
    folder = mockups["mockups-sunfish/fm_agent_Resources"]
    archive = shutil.make_archive(str(tmp_path / "fm"), "zip", folder.parent, folder.name)
    assert read_mockup(Path(archive)) == read_mockup(folder)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("mockups-dmtf-2025.4/public-nvmeof-jbof", {DefectKind.COUNT: 6}),
        (
            "mockups-dmtf-2025.4/public-compose-action",
            {DefectKind.DUPLICATE_ID: 1, DefectKind.OTHER_ID: 4},
        ),
        (
            "mockups-dmtf-2025.4/public-cxl-multiswitch",
            {
                DefectKind.COUNT: 3,
                DefectKind.WRONG_ID: 2,
                DefectKind.DUPLICATE_ID: 2,
                DefectKind.OTHER_ID: 5,
            },
        ),
        (
            "mockups-sunfish/fm_agent_Resources",
            {
                DefectKind.SYNTAX: 2,
                DefectKind.DUPLICATE_NAME: 1,
                DefectKind.DANGLING: 6,
            },
        ),
    ],
)
def test_the_known_defects_of_published_mockups_are_found(mockups, name, kinds):
    assert Counter(defect.kind for defect in read_mockup(mockups[name]).defects) == kinds


@pytest.mark.parametrize(
    ("file", "kind", "place"),
    [
        ("sunfish/am_agent_AggregationService.BADJSON.json", DefectKind.SYNTAX, ":13:1"),
        ("sunfish/fm_agent_ConnectionMethods.BADJSON.json", DefectKind.SYNTAX, ":11:1"),
        ("sunfish/MemoryChunks.BADCOUNT.json", DefectKind.COUNT, COUNT),
        ("sunfish/ResourceBlocks.BADCOUNT.json", DefectKind.COUNT, COUNT),
        ("sunfish/nvmeof_Endpoints.BADCOUNT.json", DefectKind.COUNT, COUNT),
        ("dmtf/cxl-multiswitch_Endpoints.BADCOUNT.json", DefectKind.COUNT, COUNT),
        ("dmtf/cxl-multiswitch_Systems.BADCOUNT.json", DefectKind.COUNT, COUNT),
        ("dmtf/nvmeof-jbof_NetworkAdapters.STRINGCOUNT.json", DefectKind.COUNT, COUNT),
        ("dmtf/smartnic_Zones.BADCOUNT.json", DefectKind.COUNT, COUNT),
    ],
)
def test_the_wild_files_defects_are_found_at_their_place(shared, tmp_path, file, kind, place):
    wild = shared / "fixtures" / "wild" / file
    if not wild.exists():
        pytest.skip(f"{file} is not at hand")
    write(tmp_path, {"index.json": {"@odata.id": "/redfish/v1"}, "X/index.json": wild.read_bytes()})
    found = [defect for defect in read_mockup(tmp_path).defects if defect.kind is kind]
    assert [str(defect).partition(": ")[0] for defect in found] == [f"X/index.json{place}"]
