"""The JSON Schema for editors and the guide say what the format's types say."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import yaml

from redfish_fm.drivers.virtual import spec
from redfish_fm.drivers.virtual.format_schema import FILE_NAME, topology_schema
from redfish_fm.drivers.virtual.topology import names, read
from redfish_fm.resources import mockups_dir, schemas_dir

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "topologies.md"
STRUCTS = {
    "file": spec.TopologySpec,
    "host": spec.HostSpec,
    "fabric": spec.FabricSpec,
    "switch": spec.SwitchSpec,
    "device": spec.DeviceSpec,
    "spanning device": spec.SpanningSpec,
    "subsystem": spec.SubsystemSpec,
    "link": spec.LinkSpec,
    "uplink": spec.UplinkSpec,
    "lds": spec.LdsSpec,
    "dynamic": spec.DynamicSpec,
    "each": spec.EachSpec,
    "parameter": spec.ParameterSpec,
}
"""The first column of the guide's table of all words, and the type that holds those words."""


def valid() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(topology_schema())


def shipped(name: str) -> Any:
    return yaml.safe_load((mockups_dir() / f"{name}.yaml").read_text(encoding="utf-8"))


def test_the_shipped_schema_is_the_one_the_types_give() -> None:
    kept = json.loads((schemas_dir() / FILE_NAME).read_text(encoding="utf-8"))
    assert kept == topology_schema(), "redfish-fm topology schema > schemas/topology.schema.json"


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(topology_schema())


@pytest.mark.parametrize("name", names(mockups_dir()))
def test_it_accepts_what_is_shipped(name: str) -> None:
    assert [error.message for error in valid().iter_errors(shipped(name))] == []


@pytest.mark.parametrize("name", names(mockups_dir()))
def test_what_is_shipped_tells_editors_where_it_is(name: str) -> None:
    path = mockups_dir() / f"{name}.yaml"
    first = path.read_text(encoding="utf-8").splitlines()[0]
    found = re.fullmatch(r"# yaml-language-server: \$schema=(.+)", first)
    assert found
    assert (path.parent / found[1]).resolve() == (schemas_dir() / FILE_NAME).resolve()


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.update(wat=1),
        lambda value: value.pop("hosts"),
        lambda value: value["hosts"][0].update(memory="lots"),
        lambda value: value["fabrics"][0]["switches"][0]["devices"][0].update(kind="Toaster"),
        lambda value: value["fabrics"][0]["devices"][0].update(ports=["pcie1"]),
        lambda value: value["fabrics"][0]["devices"][0].update(heads=2),
        lambda value: value["fabrics"][2]["subsystems"][0].pop("capacity"),
    ],
)
def test_it_refuses_what_is_none(change: Any) -> None:
    value = shipped("mixed")
    change(value)
    assert len(list(valid().iter_errors(value))) == 1


def test_editors_show_the_text_below_a_word() -> None:
    structs = topology_schema()["$defs"]
    vppbs = structs["SwitchSpec"]["properties"]["vppbs"]
    assert vppbs["description"].startswith("Bridges of each host's virtual switch")
    for heir in ("DeviceSpec", "SpanningSpec"):
        assert "kept track of" in structs[heir]["properties"]["sanitizes"]["description"]


def documented() -> dict[str, set[str]]:
    """Return the words of the guide's table, by what they belong to."""
    rows: dict[str, set[str]] = {}
    table = GUIDE.read_text(encoding="utf-8").partition("## All keys")[2]
    where: list[str] = []
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) != 3 or cells[0] in ("where", "---"):
            continue
        where = cells[0].split(", ") if cells[0] else where
        for owner in where:
            rows.setdefault(owner, set()).update(re.findall(r"`([a-z_]+)`", cells[1]))
    return rows


def test_the_guide_explains_every_word_and_no_other() -> None:
    words = {
        owner: {field.encode_name for field in msgspec.structs.fields(struct)}
        for owner, struct in STRUCTS.items()
    }
    assert documented() == words


def test_the_guide_knows_every_kind_of_struct() -> None:
    known = {struct.__name__ for struct in STRUCTS.values()}
    assert known == {name for name in topology_schema()["$defs"] if name.endswith("Spec")}


def test_every_example_of_the_guide_is_a_topology() -> None:
    examples = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 7
    for example in examples:
        text = example if example.startswith("name:") else _around(example)
        read(text, "docs/topologies.md")


def _around(example: str) -> str:
    """Return a whole file around a fragment, which begins at the level of a switch or fabric."""
    head = "name: test\nhosts: [{id: 'host{n}', count: 4}]\nfabrics:\n"
    if "protocol:" in example:
        return head + "".join(f"  {line}\n" for line in example.splitlines())
    protocol = "CXL" if "Memory" in example else "PCIe"
    lines = "".join(f"          {line}\n" for line in example.splitlines())
    fabric = f"  - id: F\n    protocol: {protocol}\n    switches:\n      - id: s1\n"
    return f"{head}{fabric}        devices:\n{lines}"
