"""Topologies by name and by file, in tables and in JSON, with every mistake named."""

import json

import pytest

from redfish_fm.resources import schemas_dir

TINY = """\
name: tiny
description: One host and one drive.
hosts:
  - id: host1
fabrics:
  - id: PCIe
    name: PCIe fabric
    protocol: PCIe
    switches:
      - id: switch1
        devices:
          - id: drive1
            kind: NVMe
            capacity: 1 TiB
"""


def test_list_names_the_shipped_topologies(command) -> None:
    result = command("topology", "list")
    assert result.exit_code == 0, result.stderr
    assert "ai-pod" in result.stdout
    assert "two-hosts" in result.stdout


def test_list_in_json_counts_hosts_once(command) -> None:
    rows = {row["name"]: row for row in json.loads(command("topology", "list", "--json").stdout)}
    assert rows["two-hosts"]["hosts"] == 2
    assert rows["ai-pod"]["hosts"] == 8


def test_show_gives_a_row_for_each_fabric(command) -> None:
    result = command("topology", "show", "two-hosts")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("two-hosts: ")
    assert [line.split()[0] for line in lines[-2:]] == ["PCIe", "CXL"]


def test_show_in_json_counts_lds_and_vppbs(command) -> None:
    shown = json.loads(command("topology", "show", "two-hosts", "--json").stdout)
    cxl = next(fabric for fabric in shown["fabrics"] if fabric["type"] == "CXL")
    assert (cxl["devices"], cxl["LDs"], cxl["vPPBs"]) == (2, 4, 10)


def test_a_file_can_be_shown_and_validated(command, tmp_path) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY)
    assert "1 hosts, 1 switches, 1 devices" in command("topology", "validate", str(file)).stdout
    assert command("topology", "show", str(file)).stdout.startswith("tiny: One host")


@pytest.mark.parametrize("word", ["show", "validate"])
def test_every_mistake_of_a_file_is_a_line_on_stderr(command, tmp_path, word) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(TINY.replace("kind: NVMe", "kind: Tape").replace("id: host1", "ident: host1"))
    result = command("topology", word, str(file))
    assert result.exit_code == 1
    assert result.stdout == ""
    *problems, hint = result.stderr.splitlines()
    assert len(problems) >= 2
    assert all(line.startswith(f"redfish-fm: {file}: ") for line in problems)
    assert hint.startswith("hint: ")


def test_an_unknown_name_is_answered_with_the_known_ones(command) -> None:
    result = command("topology", "show", "two-hotels")
    assert result.exit_code == 1
    assert "two-hosts" in result.stderr


def test_schema_writes_what_is_shipped_for_editors(command) -> None:
    result = command("topology", "schema")
    assert result.exit_code == 0, result.stderr
    shipped = schemas_dir() / "topology.schema.json"
    assert result.stdout == shipped.read_text(encoding="utf-8")
