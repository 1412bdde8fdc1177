"""Hosts as resources: the whole tree, consistent in itself, reached by links, always the same."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.drivers.virtual.topology import read
from redfish_fm.fabric.model import Host, Inventory
from redfish_fm.mapping.hosts import put_host, render_host
from redfish_fm.mapping.imported import analyse
from redfish_fm.mapping.imported_findings import FindingKind
from redfish_fm.mapping.inventory import render_inventories
from redfish_fm.mapping.read import read_endpoint
from redfish_fm.mapping.rendering import Rendering
from redfish_fm.resources import schemas_dir
from tests.mapping.schemas import SchemaPack

Documents = dict[str, dict[str, Any]]
SYSTEM = "/redfish/v1/Systems/host1"
CHASSIS = "/redfish/v1/Chassis/host1"
BMC = "/redfish/v1/Managers/host1-bmc"
ROOTS = tuple(
    f"/redfish/v1/{name}"
    for name in ("Systems", "Chassis", "Managers", "Fabrics", "Cables", "CompositionService")
)
FILE = """
name: rack
domains: [row1]
hosts:
  - {id: host1, cpus: 2, cores: 64, memory: 512 GiB, domain: row1}
  - {id: host2, cpus: 1, cores: 32, memory: 256 GiB}
  - {id: node, cpus: 2, cores: 63, memory: 64 GiB, detail: core, domain: row1}
fabrics:
  - id: PCIe
    protocol: PCIe
    switches:
      - {id: pcie1, host_ports: 2, devices: [{id: gpu1, kind: GPU}]}
  - id: CXL
    protocol: CXL
    switches:
      - {id: cxl1, hosts: [host1], devices: [{id: mem1, kind: Memory, capacity: 64 GiB}]}
"""


@pytest.fixture(scope="module")
def schemas(shared: Path) -> SchemaPack:
    return SchemaPack(shared / "data" / "dmtf-2025.4-json-schema-latest.tar.gz")


@cache
def inventories() -> tuple[Inventory, ...]:
    return read(FILE, "test").fabrics


def rendered() -> Documents:
    return dict(render_inventories(inventories()).documents)


@cache
def rack() -> Documents:
    """Return all documents once; whoever changes them copies them."""
    return rendered()


def host(name: str = "host1") -> Host:
    return next(each for each in inventories()[0].hosts if each.id == name)


def alone(each: Host, *, powered: bool) -> Documents:
    """Return the documents of one host by itself."""
    out = Rendering()
    put_host(out, each, powered)
    return dict(out.documents)


def links_in(value: object) -> Iterator[str]:
    """Yield every link, and every sensor that an excerpt names, without fragments."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in ("@odata.id", "DataSourceUri"):
                yield inner.partition("#")[0]
            else:
                yield from links_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from links_in(inner)


def names(document: dict[str, Any], *path: str) -> list[str]:
    """Return the links at a path of names."""
    value: Any = document
    for name in path:
        value = value[name]
    return (
        [each["@odata.id"] for each in value] if isinstance(value, list) else [value["@odata.id"]]
    )


def members(documents: Documents, collection: str) -> list[str]:
    return [uri for uri in documents if uri.rpartition("/")[0] == collection]


@cache
def schema(file: str) -> dict[str, Any]:
    found = json.loads((schemas_dir() / "types" / f"{file}.json").read_text(encoding="utf-8"))
    definitions: dict[str, Any] = found["$defs"]
    return definitions


def typed_links(value: object, file: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield every link within what definition `name` of a schema describes, and its type."""
    if name.endswith("-link") and isinstance(value, dict):
        if name != "Resource-link":
            yield value["@odata.id"].partition("#")[0], file
        return
    rules = schema(file).get(name, {}).get("properties", {})
    for word, inner in value.items() if isinstance(value, dict) else ():
        rule = rules.get(word, {})
        for each in inner if isinstance(inner, list) else [inner]:
            for target in references(rule):
                where, _, definition = target.partition("#/$defs/")
                yield from typed_links(each, where.removesuffix(".json") or file, definition)


def references(rule: dict[str, Any]) -> Iterator[str]:
    for each in (rule, rule.get("items", {}), *rule.get("anyOf", ())):
        if "$ref" in each and not each["$ref"].startswith("odata-v4"):
            yield each["$ref"]


def reached(documents: Documents) -> set[str]:
    """Return what a client finds that follows links and members from the service root."""
    todo = [uri for uri in ROOTS if uri in documents]
    found = set(todo)
    while todo:
        uri = todo.pop()
        inside = members(documents, uri) if "Collection" in documents[uri]["@odata.type"] else []
        for link in (*links_in(documents[uri]), *inside):
            if link in documents and link not in found:
                found.add(link)
                todo.append(link)
    return found


@pytest.mark.parametrize("powered", [True, False])
@pytest.mark.parametrize("name", ["host1", "host2", "node"])
def test_every_document_of_a_host_is_valid(schemas: SchemaPack, name: str, powered: bool) -> None:
    told = []
    for uri, document in alone(host(name), powered=powered).items():
        assert document["@odata.id"] == uri
        if "Collection." in document["@odata.type"]:
            document = {**document, "Members": [], "Members@odata.count": 0}
        told.extend(schemas.errors(document))
    assert told == []


def test_every_link_of_a_host_leads_to_a_document() -> None:
    documents = rack()
    mine = (SYSTEM, CHASSIS, BMC, "/redfish/v1/Systems/node", "/redfish/v1/Chassis/node")
    for uri, document in documents.items():
        if uri.startswith(mine):
            assert set(links_in(document)) - documents.keys() == set(), uri


def test_every_link_of_a_rack_leads_to_the_type_that_schemas_name() -> None:
    documents = rack()
    checked = 0
    for uri, document in documents.items():
        name = document["@odata.type"].partition(".")[0].lstrip("#")
        for link, wanted in typed_links(document, name, name):
            found = documents[link]["@odata.type"].partition(".")[0].lstrip("#")
            assert found == wanted, f"{uri} names {link}"
            checked += 1
    assert checked > 500


def test_a_client_that_follows_links_reaches_all_of_a_host() -> None:
    documents = rack()
    assert documents.keys() - reached(documents) == set()


def test_every_resource_stands_under_its_collection_or_its_owner() -> None:
    documents = rack()
    unnamed = ("MemorySummary", "ProcessorSummary")
    for uri in documents:
        parent = uri.rpartition("/")[0]
        assert parent == "/redfish/v1" or parent in documents or parent.endswith(unnamed), uri


def test_a_host_is_a_rich_tree() -> None:
    mine = [uri for uri in rack() if uri.startswith((SYSTEM, CHASSIS, BMC))]
    types = {rack()[uri]["@odata.type"].split(".")[0] for uri in mine}
    assert len(mine) > 140
    assert len({each for each in types if "Collection" not in each}) >= 35


def test_rendering_hosts_is_deterministic() -> None:
    assert json.dumps(rendered()) == json.dumps(rendered())


def test_texts_ids_and_lists_are_not_empty() -> None:
    for uri, document in alone(host(), powered=True).items():
        assert document.get("Id", uri.rpartition("/")[2]) == uri.rpartition("/")[2]
        assert not [name for name, value in document.items() if value in ("", [], {})]


# -- what adds up ------------------------------------------------------------------------------


def test_memory_modules_add_up_to_the_system_and_to_its_domain() -> None:
    documents = rack()
    modules = [documents[uri] for uri in members(documents, f"{SYSTEM}/Memory")]
    total_mib = sum(each["CapacityMiB"] for each in modules)
    assert documents[SYSTEM]["MemorySummary"]["TotalSystemMemoryGiB"] == total_mib / 1024 == 512
    domain = documents[f"{SYSTEM}/MemoryDomains/1"]
    sets = [uri for each in domain["InterleavableMemorySets"] for uri in names(each, "MemorySet")]
    assert sorted(sets) == sorted(members(documents, f"{SYSTEM}/Memory"))
    assert domain["MemorySizeMiB"] == total_mib


def test_memory_of_each_processor_is_that_of_its_modules() -> None:
    documents = rack()
    for uri in members(documents, f"{SYSTEM}/Processors"):
        modules = names(documents[uri], "Links", "Memory")
        capacity = sum(documents[each]["CapacityMiB"] for each in modules)
        assert documents[uri]["MemorySummary"]["TotalMemorySizeMiB"] == capacity > 0
        for module in modules:
            assert names(documents[module], "Links", "Processors") == [uri]


@pytest.mark.parametrize("name", ["host1", "host2", "node"])
def test_cores_of_the_processors_add_up(name: str) -> None:
    documents = rack()
    system = documents[f"/redfish/v1/Systems/{name}"]
    cpus = [documents[uri] for uri in members(documents, f"/redfish/v1/Systems/{name}/Processors")]
    assert system["ProcessorSummary"]["Count"] == len(cpus)
    assert system["ProcessorSummary"]["CoreCount"] == sum(each["TotalCores"] for each in cpus)


def test_threads_of_the_processors_add_up() -> None:
    documents = rack()
    cpus = [documents[uri] for uri in members(documents, f"{SYSTEM}/Processors")]
    logical = documents[SYSTEM]["ProcessorSummary"]["LogicalProcessorCount"]
    assert logical == sum(each["TotalThreads"] for each in cpus) == 128


# -- who names whom ----------------------------------------------------------------------------

BOTH_WAYS = (
    (SYSTEM, "Links.Chassis", "Links.ComputerSystems"),
    (SYSTEM, "Links.ManagedBy", "Links.ManagerForServers"),
    (CHASSIS, "Links.ManagedBy", "Links.ManagerForChassis"),
    (CHASSIS, "Links.ManagersInChassis", "Links.ManagerInChassis"),
    (CHASSIS, "Links.ContainedBy", "Links.Contains"),
    (CHASSIS, "Links.Processors", "Links.Chassis"),
    (CHASSIS, "Links.Drives", "Links.Chassis"),
    (CHASSIS, "Links.Storage", "Links.Enclosures"),
    (CHASSIS, "Links.PowerSupplies", "Links.PoweringChassis"),
    (f"{SYSTEM}/Storage/1", "Drives", "Links.Storage"),
    (f"{SYSTEM}/Storage/1/Volumes/1", "Links.Drives", "Links.Volumes"),
    (f"{SYSTEM}/Storage/1/Volumes/1", "Links.Controllers", "Links.AttachedVolumes"),
    (f"{CHASSIS}/Drives/Disk1", "Links.PCIeFunctions", "Links.Drives"),
    (f"{SYSTEM}/EthernetInterfaces/NIC1-2", "Links.Ports", "Links.EthernetInterfaces"),
    (
        f"{SYSTEM}/EthernetInterfaces/NIC1-2",
        "Links.NetworkDeviceFunctions",
        "Links.EthernetInterfaces",
    ),
    (
        f"{CHASSIS}/NetworkAdapters/NIC1/NetworkDeviceFunctions/2",
        "Links.PCIeFunction",
        "Links.NetworkDeviceFunctions",
    ),
    (f"{SYSTEM}/Processors/CPU1", "Links.FabricAdapters", "Links.Processors"),
    (f"{SYSTEM}/Processors/CPU1", "Links.ConnectedProcessors", "Links.ConnectedProcessors"),
)


@pytest.mark.parametrize(("uri", "there", "back"), BOTH_WAYS)
def test_who_is_named_names_back(uri: str, there: str, back: str) -> None:
    documents = rack()
    found = names(documents[uri], *there.split("."))
    assert found
    for each in found:
        assert uri in names(documents[each], *back.split(".")), each


def test_the_system_lists_all_pcie_devices_and_functions_of_its_chassis() -> None:
    documents = rack()
    devices = members(documents, f"{CHASSIS}/PCIeDevices")
    functions = [uri for each in devices for uri in members(documents, f"{each}/PCIeFunctions")]
    assert sorted(names(documents[SYSTEM], "PCIeDevices")) == sorted(devices)
    assert sorted(names(documents[SYSTEM], "PCIeFunctions")) == sorted(functions)


def test_the_boot_order_is_that_of_the_boot_options() -> None:
    documents = rack()
    options = [documents[uri] for uri in members(documents, f"{SYSTEM}/BootOptions")]
    references = [each["BootOptionReference"] for each in options]
    assert documents[SYSTEM]["Boot"]["BootOrder"] == references


def test_a_mac_address_is_the_same_wherever_it_is_shown() -> None:
    documents = rack()
    for number in (1, 2):
        adapter = f"{CHASSIS}/NetworkAdapters/NIC1"
        shown = {
            documents[f"{SYSTEM}/EthernetInterfaces/NIC1-{number}"]["MACAddress"],
            documents[f"{adapter}/NetworkDeviceFunctions/{number}"]["Ethernet"]["MACAddress"],
            *documents[f"{adapter}/Ports/{number}"]["Ethernet"]["AssociatedMACAddresses"],
        }
        assert len(shown) == 1


# -- fabrics -----------------------------------------------------------------------------------


def test_root_ports_keep_their_names_and_lead_to_the_switch_ports() -> None:
    documents = rack()
    ports = members(documents, f"{SYSTEM}/Processors/CPU1/Ports")
    assert [uri.rpartition("/")[2] for uri in ports] == ["1", "2", "3"]
    for uri in ports:
        (switch_port,) = names(documents[uri], "Links", "ConnectedSwitchPorts")
        assert names(documents[switch_port], "Links", "ConnectedPorts") == [uri]


def test_a_host_has_one_adapter_for_each_fabric_with_the_same_ports() -> None:
    documents = rack()
    adapters = members(documents, f"{SYSTEM}/FabricAdapters")
    assert [uri.rpartition("/")[2] for uri in adapters] == ["PCIe", "CXL"]
    connectors = [uri for each in adapters for uri in members(documents, f"{each}/Ports")]
    assert len(connectors) == 3
    for uri in connectors:
        root_port = documents[f"{SYSTEM}/Processors/CPU1/Ports/{uri.rpartition('/')[2]}"]
        for name in ("ConnectedSwitches", "ConnectedSwitchPorts"):
            assert documents[uri]["Links"][name] == root_port["Links"][name]
        fabric = uri.split("/")[-3]
        (switch,) = names(documents[uri], "Links", "ConnectedSwitches")
        assert switch.startswith(f"/redfish/v1/Fabrics/{fabric}/")


def test_a_host_without_a_fabric_has_no_adapter_for_it() -> None:
    documents = rack()
    adapters = members(documents, "/redfish/v1/Systems/host2/FabricAdapters")
    assert [uri.rpartition("/")[2] for uri in adapters] == ["PCIe"]


@pytest.mark.parametrize(
    "part", [f"{CHASSIS}/NetworkAdapters/NIC1", f"{SYSTEM}/FabricAdapters/PCIe", CHASSIS]
)
def test_an_initiator_that_names_a_part_of_a_host_is_that_host(part: str) -> None:
    entity = {"EntityRole": "Initiator", "EntityLink": {"@odata.id": part}}
    facts = render_inventories(inventories()).facts
    found = read_endpoint(
        "/redfish/v1/Fabrics/PCIe/Endpoints/e", {"ConnectedEntities": [entity]}, facts
    )
    assert found.host == SYSTEM


def test_an_import_of_what_is_shown_finds_no_contradiction() -> None:
    documents = rendered()
    for uri, document in documents.items():
        if "Collection." in document["@odata.type"]:
            inside = members(documents, uri)
            document["Members"] = [{"@odata.id": each} for each in inside]
    told = [each for each in analyse(documents).findings if each.kind is FindingKind.CONTRADICTION]
    assert told == []


# -- detail ------------------------------------------------------------------------------------


def test_a_host_of_core_detail_is_system_processors_chassis_and_bmc() -> None:
    shown = alone(host("node"), powered=True)
    assert sorted(shown) == [
        "/redfish/v1/Chassis/node",
        "/redfish/v1/Managers/node-bmc",
        "/redfish/v1/Systems/node",
        "/redfish/v1/Systems/node/Processors",
        "/redfish/v1/Systems/node/Processors/CPU1",
        "/redfish/v1/Systems/node/Processors/CPU1/Ports",
        "/redfish/v1/Systems/node/Processors/CPU2",
    ]
    system = shown["/redfish/v1/Systems/node"]
    assert names(system, "Links", "Chassis") == ["/redfish/v1/Chassis/node"]
    assert names(system, "Links", "ManagedBy") == ["/redfish/v1/Managers/node-bmc"]


def test_of_a_host_of_which_its_driver_tells_little_nothing_is_made_up() -> None:
    told = Host("h", "h", "4ffb6c3e-6b7c-4d43-9d7a-0a5a1f2f4a10", 1, 8, 1024)
    assert sorted(alone(told, powered=True)) == [
        "/redfish/v1/Systems/h",
        "/redfish/v1/Systems/h/Processors",
        "/redfish/v1/Systems/h/Processors/CPU1",
        "/redfish/v1/Systems/h/Processors/CPU1/Ports",
    ]


def test_a_host_stands_in_the_rack_of_its_failure_domain() -> None:
    documents = rack()
    assert documents[CHASSIS]["Location"]["Placement"]["Rack"] == "row1"
    assert names(documents[CHASSIS], "Links", "ContainedBy") == ["/redfish/v1/Chassis/row1"]
    assert "ContainedBy" not in documents["/redfish/v1/Chassis/host2"]["Links"]


def test_of_a_host_of_which_nothing_is_known_no_number_is_shown() -> None:
    unknown = Host("x", "x", "u", 0, 0, 0)
    out = Rendering()
    render_host(out, unknown)
    system = out.documents["/redfish/v1/Systems/x"]
    assert not {"ProcessorSummary", "MemorySummary"} & system.keys()


def test_of_a_host_what_is_known_is_shown() -> None:
    out = Rendering()
    render_host(out, Host("x", "x", "u", 2, 0, 1024))
    system = out.documents["/redfish/v1/Systems/x"]
    assert system["ProcessorSummary"] == {"Count": 2}
    assert system["MemorySummary"] == {"TotalSystemMemoryGiB": 1.0}
