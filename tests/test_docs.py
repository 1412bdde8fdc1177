"""What the guides list is what the code has: rules with their answers, drivers, links."""

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from redfish_fm.drivers.virtual import spec
from redfish_fm.mapping.violations import TABLE


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_every_isolation_rule_is_explained_with_its_answer(repository: Path) -> None:
    rows = [
        [cell.strip() for cell in line.strip("| ").split("|")]
        for line in read(repository / "docs" / "isolation.md").splitlines()
        if line.startswith("| `")
    ]
    explained = {row[0].strip("`"): (int(row[1]), f"Base.{row[2]}") for row in rows}
    assert explained == {rule.name: (row.status, row.key) for rule, row in TABLE.items()}


def test_every_driver_has_its_heading(repository: Path) -> None:
    project = tomllib.loads(read(repository / "pyproject.toml"))["project"]
    drivers = project["entry-points"]["redfish_fm.drivers"]
    headings = re.findall(r"^## `(\w+)`", read(repository / "docs" / "drivers.md"), re.MULTILINE)
    assert sorted(headings) == sorted(drivers)


def test_every_word_of_a_topology_file_is_explained(repository: Path) -> None:
    table = read(repository / "docs" / "topologies.md").split("## All keys")[1]
    explained = set(re.findall(r"`(\w+)`", table))
    declared = {
        field.encode_name
        for name, kind in vars(spec).items()
        if name.endswith("Spec")
        for field in msgspec.structs.fields(kind)
    }
    assert declared - explained == set()


def test_links_between_guides_lead_somewhere(repository: Path) -> None:
    guides = [repository / "README.md", *(repository / "docs").rglob("*.md")]
    broken = [
        f"{guide.relative_to(repository)}: {target}"
        for guide in guides
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", read(guide))
        if not (guide.parent / target).exists()
    ]
    assert broken == []


@pytest.mark.parametrize("target", ["run", "test", "check", "conformance", "bench", "soak"])
def test_every_promised_target_is_in_the_makefile(repository: Path, target: str) -> None:
    assert re.search(rf"^{target}:", read(repository / "Makefile"), re.MULTILINE)
