"""`redfish-fm mockup check`: what it lists, in which form, and its exit codes."""

import json
import re

import pytest

from redfish_fm.mapping.imported_findings import FindingKind
from redfish_fm.store.mockup_parse import DefectKind
from tests.store.test_mockup import GOOD, pack, write

CLEAN = {
    name: {**document, "@odata.type": odata_type}
    for (name, document), odata_type in zip(
        GOOD.items(),
        (
            "#ServiceRoot.v1_15_0.ServiceRoot",
            "#ComputerSystemCollection.ComputerSystemCollection",
            "#ComputerSystem.v1_20_0.ComputerSystem",
        ),
        strict=True,
    )
}
DEFECTIVE = {
    **CLEAN,
    "Systems/2/index.json": b'{\n  "Id": "2",\n}',
    "Systems/3/index.json": {"@odata.id": "/redfish/v1/Systems/3", "Links": 5, "a\x07": {
        "@odata.id": "/redfish/v1/\x07nowhere"}},
}  # fmt: skip


def test_a_mockup_without_defects_lists_nothing(command, tmp_path):
    result = command("mockup", "check", "--strict", str(write(tmp_path, CLEAN)))
    assert (result.exit_code, result.stdout) == (0, "")
    assert "3 documents, 0 fabrics; 0 errors, 0 warnings, 0 notes" in result.stderr


@pytest.mark.parametrize("make", [write, pack])
def test_defects_are_listed_with_severity_kind_and_place(command, tmp_path, make):
    result = command("mockup", "check", str(make(tmp_path / "m", DEFECTIVE)))
    assert result.exit_code == 0
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert rows[0] == ["severity", "kind", "place", "what"]
    assert rows[1][:3] == ["error", "syntax", "Systems/2/index.json:3:1"]
    assert ["warning", "shape", "Systems/3/index.json#/Links"] in [row[:3] for row in rows]
    assert "\x07" not in result.stdout
    assert "1 errors" in result.stderr


def test_strict_fails_where_there_are_defects(command, tmp_path):
    assert command("mockup", "check", "--strict", str(write(tmp_path, DEFECTIVE))).exit_code == 1


def test_the_answer_in_json_has_every_problem(command, tmp_path):
    result = command("mockup", "check", "--json", str(write(tmp_path, DEFECTIVE)))
    answer = json.loads(result.stdout)
    assert answer["documents"] == 4
    assert answer["counts"]["error"] == 1
    assert sum(answer["counts"].values()) == len(answer["problems"])
    assert answer["problems"][0] == {
        "severity": "error",
        "kind": "syntax",
        "file": "Systems/2/index.json",
        "pointer": "",
        "line": 3,
        "column": 1,
        "text": answer["problems"][0]["text"],
    }


def test_what_is_no_mockup_fails_in_one_line_with_a_hint(command, tmp_path):
    result = command("mockup", "check", str(tmp_path))
    assert result.exit_code == 1
    assert result.stdout == ""
    first, hint = result.stderr.splitlines()
    assert first.startswith(f"redfish-fm: {tmp_path}: no mockup")
    assert hint.startswith("hint: ")


def test_a_topology_is_told_from_a_mockup(command, tmp_path):
    file = tmp_path / "rack.yaml"
    file.write_text("name: rack\n")
    result = command("mockup", "check", str(file))
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].endswith(f"redfish-fm topology validate {file}")


def test_a_path_that_is_not_there_is_wrong_usage(command, tmp_path):
    assert command("mockup", "check", str(tmp_path / "none")).exit_code == 2


def test_the_guide_has_a_row_for_every_kind_of_problem(repository):
    guide = (repository / "docs" / "mockups.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (error|warning|note) \|", guide, re.MULTILINE))
    severities = {each.value: each.severity.value for each in DefectKind}
    findings = {each.value: "warning" for each in FindingKind} | {"completed": "note"}
    assert rows == severities | findings
