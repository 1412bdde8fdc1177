"""Every shipped topology as documents: closed under links, ids of its own, nothing empty in it."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.drivers.virtual.topology import load, names
from redfish_fm.mapping.inventory import render_inventories
from tests.drivers.fabrics import MOCKUPS, SHIPPED

Documents = dict[str, dict[str, Any]]

ITSELF = frozenset({"ComputerSystem", "Switch", "PCIeDevice", "Drive", "Memory", "Manager"})
"""Types of which each resource is a thing of its own."""

MADE_LATER = frozenset(
    {"Zone", "Connection", "EndpointGroup", "AddressPool", "MemoryChunks", "MemoryRegion", "Volume"}
    | {"LogEntry", "CompositionReservation", "ResourceBlock"}
)
"""Types of which a collection may begin without members: clients make them, or time does; pools of
resource blocks have the members that follow from what is composed."""


@cache
def rendered(name: str) -> Documents:
    return render_inventories(list(load(name, MOCKUPS).inventories())).documents


def type_of(document: dict[str, Any]) -> str:
    return str(document["@odata.type"]).rsplit(".", 1)[-1].lstrip("#")


def links_in(value: object) -> Iterator[str]:
    for inner in value.values() if isinstance(value, dict) else value:  # type: ignore[attr-defined]
        if isinstance(inner, dict | list):
            yield from links_in(inner)
    if isinstance(value, dict) and "@odata.id" in value:
        # What stands behind a # lies in the document.
        yield str(value["@odata.id"]).partition("#")[0]


@pytest.mark.parametrize("name", SHIPPED)
def test_no_link_of_a_shipped_topology_dangles(name: str) -> None:
    documents = rendered(name)
    told = {link for document in documents.values() for link in links_in(document)}
    assert told - documents.keys() == set()


@pytest.mark.parametrize("name", SHIPPED)
def test_every_resource_of_a_shipped_topology_is_reached_by_links(name: str) -> None:
    documents = rendered(name)
    inside: dict[str, set[str]] = {}
    for uri in documents:
        inside.setdefault(uri.rpartition("/")[0], set()).add(uri)
    todo = [uri for uri in documents if uri.count("/") == 3]
    found = set(todo)
    while todo:
        uri = todo.pop()
        members = inside.get(uri, set()) if type_of(documents[uri]).endswith("Collection") else ()
        new = {*links_in(documents[uri]), *members} - found
        found |= new
        todo.extend(new)
    assert documents.keys() - found == set()


@pytest.mark.parametrize("name", SHIPPED)
def test_members_of_a_collection_have_ids_of_their_own(name: str) -> None:
    for uri, document in rendered(name).items():
        assert document["@odata.id"] == uri
        assert document.get("Id", uri.rpartition("/")[2]) == uri.rpartition("/")[2]


@pytest.mark.parametrize("name", SHIPPED)
def test_no_two_things_of_a_shipped_topology_share_a_uuid_or_a_serial_number(name: str) -> None:
    told = Counter(
        (word, document[word], type_of(document))
        for document in rendered(name).values()
        for word in ("UUID", "SerialNumber")
        if word in document
    )
    # A part shows the number of what it is of (a drive, its device), never that of its like.
    assert [key for key, count in told.items() if count > 1 and key[2] in ITSELF] == []


@pytest.mark.parametrize("name", SHIPPED)
def test_what_a_shipped_topology_can_not_have_is_absent_not_empty(name: str) -> None:
    documents = rendered(name)
    inhabited = {uri.rpartition("/")[0] for uri in documents}
    empty = {
        uri: type_of(document).removesuffix("Collection")
        for uri, document in documents.items()
        if type_of(document).endswith("Collection") and uri not in inhabited
    }
    assert {uri: kind for uri, kind in empty.items() if kind not in MADE_LATER} == {}


def test_scale_has_a_little_more_than_a_hundred_thousand_resources() -> None:
    found = render_inventories(load("scale", MOCKUPS).inventories(), linked_back=False)
    assert 100_000 <= len(found.documents) <= 102_000


def test_what_the_guide_asks_scale_for_has_ten_thousand_endpoints_in_a_fabric(
    repository: Path,
) -> None:
    guide = (repository / "docs" / "topologies.md").read_text(encoding="utf-8")
    (asked,) = re.findall(r"`(scale:\S+)`: 10,000 endpoints in one fabric", guide)
    pcie, _ = load(asked, MOCKUPS).inventories()
    ports = [port for switch in pcie.switches for port in switch.ports]
    assert sum(port.host is not None or port.device is not None for port in ports) >= 10_000


def identity(name: str) -> dict[str, set[str]]:
    """Return what tells one product from another: models, part numbers, fabrics, types."""
    documents = rendered(name).values()
    switches = [each for each in documents if type_of(each) in ("Switch", "Storage")]
    return {
        "models": {each["Model"] for each in switches if "Model" in each},
        "parts": {each["PartNumber"] for each in documents if "PartNumber" in each},
        "types": {type_of(each) for each in documents},
    }


def test_shipped_topologies_are_different_products() -> None:
    for word in ("models", "parts"):
        for one in ("ai-pod", "ex5410p", "two-hosts"):
            for other in ("nvmeof-jbof", "mixed"):
                assert identity(one)[word].isdisjoint(identity(other)[word]) or word == "parts"
    assert identity("ex5410p")["models"].isdisjoint(identity("ai-pod")["models"])
    assert identity("ex5410p")["parts"] != identity("ai-pod")["parts"]


def test_nvmeof_jbof_has_no_switches_and_ex5410p_no_storage() -> None:
    jbof, box = identity("nvmeof-jbof")["types"], identity("ex5410p")["types"]
    assert jbof.isdisjoint({"Switch", "SwitchCollection", "VirtualCXLSwitch", "CXLLogicalDevice"})
    assert {"Storage", "StoragePool", "StorageController"} <= jbof
    assert {"Switch", "VirtualCXLSwitch", "CXLLogicalDevice", "MemoryDomain"} <= box
    assert "StoragePool" not in box


def test_ex5410p_has_ten_slots_and_a_hundred_terabytes_of_memory() -> None:
    box, pool = load("ex5410p", MOCKUPS).inventories()
    (switch,) = box.switches
    assert len([port for port in switch.ports if port.host is None]) == 10
    assert 100 <= sum(each.capacity_mib for each in pool.devices) * 2**20 / 10**12 + 1e-3 < 100.1


def test_hosts_of_nvmeof_jbof_are_known_by_their_nqns() -> None:
    (fabric,) = load("nvmeof-jbof", MOCKUPS).inventories()
    assert len({host.nqn for host in fabric.hosts if host.nqn}) == len(fabric.hosts) == 6


def test_every_shipped_topology_is_in_the_guide_and_no_other() -> None:
    guide = Path(MOCKUPS.parent / "docs" / "topologies.md").read_text(encoding="utf-8")
    table = guide.partition("## Shipped")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([a-z0-9-]+)` \|", table, re.MULTILINE)) == set(names(MOCKUPS))
