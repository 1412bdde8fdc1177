"""Broken files: whatever stands in one, it is a topology without defects or a TopologyError."""

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from redfish_fm.drivers.virtual import spec
from redfish_fm.drivers.virtual.topology import Topology, TopologyError, names, read
from redfish_fm.fabric.inventory import collisions, defects
from redfish_fm.resources import mockups_dir

SHIPPED = [
    # What has parameters is as small as they let it be without being nothing.
    re.sub(r"default: \d+", "default: 3", (mockups_dir() / f"{name}.yaml").read_text("utf-8"))
    for name in names(mockups_dir())
]
WORDS = sorted(
    {
        word
        for name, struct in vars(spec).items()
        if name.endswith("Spec") and isinstance(struct, type)
        for word in struct.__struct_fields__
    }
)
SPLICES = [
    *("{", "}", "[", "]", ":", "- ", "&a ", "*a", "!!int ", "!!bool ", "!!float ", "!!timestamp "),
    *("!!binary ", "!!set ", "!!python/name:os.system ", "<<: ", "? ", "|", "'", '"', "\t", "\n"),
    *("---\n", "...\n", "%YAML 9\n", "\x00", "\x07", "\ufeff", "2024-99-99", "0b_", "0x_", "{n}"),
]
VALUES = st.one_of(
    st.sampled_from([0, 1, -1, 2, 3, 17, 256, 100_000, 10**30, 0.5, True, None, "", "x", [], {}]),
    st.sampled_from(["{n}", "{switch}", "all", "1 GiB", "0 GiB", "999999999999 TiB", "CXL"]),
    st.sampled_from(["NVMeOverFabrics", "PCIe", "MLD", "SLD", "Memory", "NIC", "functions"]),
    st.sampled_from([["s1"], ["pcie1", "pcie1"], ["host1", "host1"], {"each": 2}, {"count": 16}]),
    st.sampled_from([{"count": 4, "pooled": True}, {"regions": 2}, {"gen": 6}]),
)


def outcome(text: str) -> Topology | None:
    """Read a text; None where it is refused, with reasons that have a place."""
    try:
        topology = read(text, "random")
    except TopologyError as error:
        assert error.problems
        assert all(problem.text for problem in error.problems)
        return None
    inventories = topology.inventories()
    assert [line for each in inventories for line in defects(each)] == []
    assert collisions(inventories) == []
    return topology


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) of everything in a plain value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places(inner)


@settings(max_examples=200)
@given(data=st.data())
def test_a_text_with_random_characters_is_refused_or_sound(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(SHIPPED))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.integers(0, 40))
        text = text[:at] + data.draw(st.sampled_from(SPLICES)) + text[at + gone :]
    outcome(text)


@settings(max_examples=300)
@given(data=st.data())
def test_a_file_with_random_values_is_refused_or_sound(data: st.DataObject) -> None:
    value = yaml.safe_load(data.draw(st.sampled_from(SHIPPED)))
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(list(places(value))))
        new = copy.deepcopy(data.draw(VALUES))
        if isinstance(container, dict) and data.draw(st.booleans()):
            key = data.draw(st.sampled_from(WORDS))
        container[key] = new
    outcome(yaml.safe_dump(value))


@given(st.text())
def test_any_text_is_refused_or_sound(text: str) -> None:
    outcome(text)


@settings(max_examples=30)
@given(data=st.data())
def test_equal_texts_give_equal_inventories(data: st.DataObject) -> None:
    value = yaml.safe_load(data.draw(st.sampled_from(SHIPPED)))
    value["name"] = data.draw(st.sampled_from(["a", "b"]))
    for each in value["hosts"]:
        each["cores"] = data.draw(st.integers(1, 256))
    text = yaml.safe_dump(value)
    assert outcome(text) == outcome(text)


def test_topologies_of_two_names_share_no_identity() -> None:
    found = [outcome(text.replace("name: mixed", "name: other", 1)) for text in SHIPPED]
    found += [outcome(text) for text in SHIPPED if "name: mixed" in text]
    mixed = [each for each in found if each and each.name in ("mixed", "other")]
    serials = [
        {thing.serial_number for fabric in each.fabrics for thing in fabric.devices}
        for each in mixed
    ]
    assert len(mixed) == 2
    assert not serials[0] & serials[1]


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_a_text_that_nests_without_end_is_refused(opening: str) -> None:
    assert outcome(opening * 20_000) is None


@pytest.mark.parametrize("tag", ["int", "bool", "float", "timestamp", "null", "binary", "seq"])
@pytest.mark.parametrize("value", ["", "''", "x", "2024-99-99"])
def test_a_tag_that_the_text_is_not_is_refused(tag: str, value: str) -> None:
    assert outcome(f"name: !!{tag} {value}\nhosts: []\nfabrics: []\n") is None


@pytest.mark.parametrize("text", ["\x00", "name: \x07", "a: 2024-99-99", "a: 0b_", "1" * 5000])
def test_what_yaml_itself_trips_over_is_refused(text: str) -> None:
    assert outcome(text) is None
