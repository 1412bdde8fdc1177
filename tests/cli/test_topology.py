"""Topologies by name and by file, in tables and in JSON, with every mistake named."""

import json

import pytest

from redfish_fm.resources import schemas_dir
from tests.drivers.chains import CHAIN

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


def test_show_tells_to_what_a_switch_is_joined(command, tmp_path) -> None:
    file = tmp_path / "chain.yaml"
    file.write_text(CHAIN)
    lines = command("topology", "show", str(file)).stdout.splitlines()
    told = {line.split()[1].rstrip(":"): line for line in lines if "switch " in line}
    assert told["top"].endswith("; 4 links to 2 switches")
    assert told["deep"].endswith("; 1 link to leaf1")
    shown = json.loads(command("topology", "show", str(file), "--json").stdout)
    (groups,) = [fabric["groups"] for fabric in shown["fabrics"]]
    assert [(group["joined"], group["joined_to"]) for group in groups] == [
        (4, ["leaf1", "leaf2"]),
        (3, ["top", "deep"]),
        (2, ["top"]),
        (1, ["leaf1"]),
    ]


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
    assert result.exit_code == 2
    assert "two-hosts" in result.stderr


def test_validate_in_json_has_every_mistake_with_its_line(command, tmp_path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(TINY.replace("kind: NVMe", "kind: Tape").replace("id: host1", "ident: host1"))
    result = command("topology", "validate", "--json", str(file))
    answer = json.loads(result.stdout)
    assert (result.exit_code, result.stderr, answer["valid"]) == (1, "", False)
    assert {"hosts[0].ident", "hosts[0].id"} <= {each["path"] for each in answer["problems"]}
    assert 4 in {each["line"] for each in answer["problems"]}


def test_validate_in_json_counts_what_is_valid(command) -> None:
    result = command("topology", "validate", "--json", "two-hosts")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "topology": "two-hosts",
        "valid": True,
        "problems": [],
        "counts": {"hosts": 2, "switches": 2, "devices": 6},
    }


def test_validate_in_json_has_the_exit_codes_of_words(command) -> None:
    result = command("topology", "validate", "--json", "two-hotels")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["valid"] is False


def test_schema_writes_what_is_shipped_for_editors(command) -> None:
    result = command("topology", "schema")
    assert result.exit_code == 0, result.stderr
    shipped = schemas_dir() / "topology.schema.json"
    assert result.stdout == shipped.read_text(encoding="utf-8")


def test_list_gives_a_line_about_each_and_its_parameters_in_json(command) -> None:
    rows = {row["name"]: row for row in json.loads(command("topology", "list", "--json").stdout)}
    assert all(row["description"] for row in rows.values())
    known = {each["name"]: (each["min"], each["max"]) for each in rows["scale"]["parameters"]}
    assert known.keys() == {"hosts", "gpus", "switches", "memory"}
    assert all(least < most for least, most in known.values())
    assert rows["two-hosts"]["parameters"] == []


def test_show_tells_what_is_alike_once(command) -> None:
    shown = command("topology", "show", "scale:hosts=4,gpus=8,switches=4,memory=0").stdout
    assert "4 hosts host1 to host4: 2 CPUs, 128 cores, 1 TiB" in shown
    assert "4 switches pcie1 to pcie4: Virtual PCIe switch; each 3 ports; 1 host with" in shown
    assert shown.count("2 x GPU (PCIe): Virtual accelerator 80G, 80 GiB") == 1


def test_show_names_capacities_as_files_do(command) -> None:
    assert "7680 GB" in command("topology", "show", "ai-pod").stdout
    assert "184320 GB" in command("topology", "show", "nvmeof-jbof").stdout


def test_show_in_json_groups_switches_with_their_ids(command) -> None:
    shown = json.loads(command("topology", "show", "ai-pod", "--json").stdout)
    (group,) = shown["fabrics"][0]["groups"]
    assert group["ids"] == ["pcie1", "pcie2"]
    assert [each["count"] for each in group["devices"]] == [16, 8, 1]
    assert shown["host_groups"][0]["ids"][0] == "host1"


@pytest.mark.parametrize("word", ["show", "validate"])
def test_wrong_parameters_are_told_all_at_once(command, word) -> None:
    result = command("topology", word, "scale:hosts=0,gpu=3,memory=x")
    assert result.exit_code == 2
    *lines, hint = result.stderr.splitlines()
    assert len(lines) == 3
    assert "gpus (0 to " in lines[1]
    assert hint.startswith("hint: ")
