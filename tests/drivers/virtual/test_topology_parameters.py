"""Parameters of topologies: what a file declares, what is chosen, and every mistake at once."""

from pathlib import Path

import pytest

from redfish_fm.drivers.virtual.topology import Topology, TopologyError, load, read
from redfish_fm.drivers.virtual.topology_parameters import split
from redfish_fm.fabric.inventory import defects
from redfish_fm.fabric.model import Inventory
from tests.drivers.fabrics import MOCKUPS


def a_row(parameters: str = "n: {default: 4, max: 9}", count: str = "$n", more: str = "") -> str:
    return f"""
name: row
parameters:
  {parameters}
hosts: [{{id: "h{{n}}", count: {count}}}]
fabrics:
  - id: F
    protocol: PCIe
    switches:
      - {{id: "s{{n}}", count: 3, hosts: dealt, devices: [{{id: "g{{n}}", kind: GPU{more}}}]}}
"""


def only(topology: Topology) -> Inventory:
    (fabric,) = topology.inventories()
    return fabric


def told(text: str, given: str | None = None) -> list[tuple[str, int | None, str]]:
    with pytest.raises(TopologyError) as error:
        read(text, "test", given)
    return [(each.path, each.line, each.text) for each in error.value.problems]


def hosts_of(fabric: Inventory) -> list[list[str | None]]:
    return [[vcs.host for vcs in switch.virtual_switches] for switch in fabric.switches]


def devices_of(fabric: Inventory) -> list[list[str]]:
    return [[p.device for p in switch.ports if p.device] for switch in fabric.switches]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("scale", ("scale", None)),
        ("scale:hosts=4,gpus=16", ("scale", "hosts=4,gpus=16")),
        ("scale:", ("scale", "")),
        ("scale:hosts", ("scale", "hosts")),
        ("dir/row.yaml:n=2", ("dir/row.yaml", "n=2")),
        ("odd:name.yaml", ("odd:name.yaml", None)),
        ("odd:dir/row.yaml", ("odd:dir/row.yaml", None)),
        ("odd:dir/row.yaml:n=2", ("odd:dir/row.yaml", "n=2")),
    ],
)
def test_parameters_stand_behind_the_last_colon_that_is_in_no_path(
    text: str, parts: tuple[str, str | None]
) -> None:
    assert split(text) == parts


def test_a_parameter_nobody_chooses_has_its_default() -> None:
    topology = read(a_row(), "test")
    assert len(only(topology).hosts) == 4
    assert topology.parameters["n"].value == 4


def test_a_chosen_parameter_stands_wherever_its_name_does() -> None:
    topology = read(a_row(more=", total: $n"), "test", " n = 7 ")
    assert len(only(topology).hosts) == len(only(topology).devices) == 7
    assert (topology.parameters["n"].value, topology.parameters["n"].default) == (7, 4)


def test_parameters_are_taken_from_the_name_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "row.yaml"
    path.write_text(a_row(), encoding="utf-8")
    assert len(only(load(f"{path}:n=2", MOCKUPS)).hosts) == 2


def test_every_wrong_parameter_is_named_at_once_with_the_known_ones_and_their_bounds() -> None:
    text = a_row("n: {default: 4, max: 9}\n  m: {default: 0, min: 0, max: 5}", more=", total: $m")
    known = "n (1 to 9), m (0 to 5)"
    assert told(text, "n=0,x=3,m=many,n=2,z,") == [
        ("n", None, "'0' is no whole number from 1 to 9"),
        ("x", None, f"unknown parameter; known here: {known}"),
        ("m", None, "'many' is no whole number from 0 to 5"),
        ("n", None, "given twice"),
        ("", None, f"'z' is not name=number; known here: {known}"),
        ("", None, f"'' is not name=number; known here: {known}"),
    ]


@pytest.mark.parametrize("text", ["10", "-1", "+2", "2.0", "1e0", "0x2", "٢", " ", "9" * 40])
def test_what_is_no_number_in_bounds_is_refused(text: str) -> None:
    ((path, _, words),) = told(a_row(), f"n={text}")
    assert path == "n"
    assert "from 1 to 9" in words


def test_a_topology_without_parameters_takes_none() -> None:
    with pytest.raises(TopologyError, match="hosts: unknown parameter; known here: none"):
        load("two-hosts:hosts=3", MOCKUPS)


def test_wrong_parameters_hide_no_mistake_of_the_file() -> None:
    assert [path for path, _, _ in told(a_row(more=", wat: 1"), "n=99")] == [
        "n",
        "fabrics[0].switches[0].devices[0].wat",
    ]


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        (a_row("n: {default: 4, max: 3}"), "parameters.n.default", "4 is not 1 to 3"),
        (a_row("n: {max: 3}"), "parameters.n.default", "missing"),
        (a_row("n: {default: 4, wat: 3}"), "parameters.n.wat", "unknown"),
        (a_row("n: 4"), "parameters.n", "Expected `object`"),
        (a_row("n: {default: 4}\n  n-m: {default: 1}"), "parameters.n-m", "letters"),
        (a_row(count="3"), "parameters.n", "nothing uses $n"),
        (a_row(more=", total: $m"), "fabrics[0].switches[0].devices[0].total", "$m is no"),
        (a_row().replace("n: {default: 4, max: 9}", "[n]").replace("$n", "4"), "parameters", "nam"),
        (a_row(more=", total: 5, count: 2"), "fabrics[0].switches[0].devices[0].total", "either"),
    ],
)
def test_a_wrong_declaration_is_told_with_its_line_and_blames_nobody_else(
    text: str, path: str, words: str
) -> None:
    found = [each for each in told(text) if "nothing uses $n-m" not in each[2]]
    assert [each[0] for each in found] == [path] or path == "parameters.n-m"
    assert found[0][1] is not None
    assert words in found[0][2]


def test_parameters_stand_for_numbers_only() -> None:
    ((path, _, words),) = told(a_row().replace("name: row", "name: $n"))
    assert path == "name"
    assert "Expected `str`, got `int`" in words


def test_dealt_hosts_are_each_on_one_switch_as_evenly_as_it_goes() -> None:
    assert hosts_of(only(read(a_row(), "test"))) == [["h1"], ["h2"], ["h3", "h4"]]
    assert hosts_of(only(read(a_row(), "test", "n=2"))) == [[], ["h1"], ["h2"]]


def test_a_total_is_dealt_to_the_switches_and_counts_on() -> None:
    fabric = only(read(a_row(more=", total: 5"), "test"))
    assert devices_of(fabric) == [["g1", "g2"], ["g3", "g4"], ["g5"]]
    assert defects(fabric) == []


def test_a_total_may_be_nothing() -> None:
    assert devices_of(only(read(a_row(more=", total: 0"), "test"))) == [[], [], []]


def test_a_total_too_large_for_the_ports_is_refused_before_it_is_made() -> None:
    ((path, _, words),) = told(a_row(more=", total: 100000"))
    assert path == "fabrics[0].switches[0]"
    assert "33336 ports" in words


@pytest.mark.parametrize(
    "given", ["hosts=1,gpus=0,switches=1,memory=0", "hosts=2,gpus=5,switches=7,memory=1"]
)
def test_scale_is_sound_also_with_more_switches_than_anything_else(given: str) -> None:
    for fabric in load(f"scale:{given}", MOCKUPS).inventories():
        assert defects(fabric) == []


def test_scale_holds_what_its_parameters_say() -> None:
    pcie, cxl = load("scale:hosts=4,gpus=16,switches=2,memory=3", MOCKUPS).inventories()
    assert (len(pcie.hosts), len(pcie.devices), len(pcie.switches)) == (4, 16, 2)
    assert (len(cxl.hosts), len(cxl.devices), len(cxl.switches)) == (4, 3, 2)
