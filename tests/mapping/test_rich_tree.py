"""Everything that is no host as the tree that clients expect: links both ways, sums, states."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from redfish_fm.drivers.virtual.equipment import PCI_VENDOR
from redfish_fm.drivers.virtual.topology import load, read
from redfish_fm.fabric.model import Observation, PortId, PortState
from redfish_fm.mapping.host_readings import EFFICIENCY_PERCENT
from redfish_fm.mapping.inventory import RenderedInventory, render_inventories
from redfish_fm.mapping.observed import ObservedFabric
from redfish_fm.mapping.read import read_endpoint
from redfish_fm.mapping.sights import FabricSight
from redfish_fm.mapping.statuses import Statuses
from redfish_fm.redfish.patch import merge
from tests.mapping.builders import MemoryTip

Documents = dict[str, dict[str, Any]]
CHASSIS = "/redfish/v1/Chassis"
SHIPPED = ("two-hosts", "ai-pod", "mixed", "ex5410p", "nvmeof-jbof")
ROOTS = ("CompositionService", "Systems", "Chassis", "Fabrics", "Managers", "Storage", "Cables")

FILE = """
name: rich
domains: [rack1, rack2]
hosts: [{id: "host{n}", count: 2, domain: [rack1, rack2], detail: DETAIL}]
fabrics:
  - id: PCIe
    protocol: PCIe
    switches:
      - id: sw1
        domain: rack1
        detail: DETAIL
        devices:
          - {id: gpu1, kind: GPU, capacity: 80 GiB, domain: rack1, detail: DETAIL}
          - {id: gpu2, kind: GPU, capacity: 80 GiB, domain: rack2, detail: DETAIL}
          - {id: disk1, kind: NVMe, capacity: 3840 GB, detail: DETAIL}
          - {id: fpga1, kind: FPGA, detail: DETAIL}
          - {id: nic1, kind: NIC, functions: 2, detail: DETAIL}
        spare_ports: 1
    devices:
      - {id: nic2, kind: NIC, ports: [sw1, sw1], shared: true, domain: rack1, detail: DETAIL}
  - id: CXL
    protocol: CXL
    switches:
      - id: sw2
        domain: rack2
        detail: DETAIL
        devices:
          - {id: box1, kind: Memory, capacity: 8 TiB, lds: {count: 4}, domain: rack2,
             detail: DETAIL}
          - {id: mem1, kind: Memory, capacity: 128 GiB, domain: rack2, detail: DETAIL}
  - id: NVMeoF
    protocol: NVMeOverFabrics
    subsystems: [{id: jbof1, capacity: 24 TiB, domain: rack1, detail: DETAIL}]
"""


@cache
def world(detail: str = "full") -> RenderedInventory:
    return render_inventories(read(FILE.replace("DETAIL", detail), "test").inventories())


@cache
def shipped(name: str, repository: Path) -> Documents:
    topology = load(name, repository / "mockups")
    return render_inventories(topology.inventories()).documents


@pytest.fixture
def full() -> Documents:
    return world().documents


def kind(document: dict[str, Any]) -> str:
    return str(document["@odata.type"]).rsplit(".", 1)[-1]


def of_kind(documents: Documents, name: str) -> Documents:
    return {uri: each for uri, each in documents.items() if kind(each) == name}


def links_in(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in ("@odata.id", "DataSourceUri"):
                yield str(inner).partition("#")[0]
            else:
                yield from links_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from links_in(inner)


def named(document: dict[str, Any], *path: str) -> list[str]:
    """Return the URIs of the link or links at a path; none where it is absent."""
    value: Any = document
    for name in path:
        value = value.get(name, {})
    found = value if isinstance(value, list) else [value] if value else []
    return [each["@odata.id"] for each in found]


def watts(documents: Documents, chassis: str) -> int:
    environment = documents[f"{chassis}/EnvironmentMetrics"]
    return int(environment["PowerWatts"]["Reading"])


# -- the whole tree --------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_every_link_of_a_shipped_topology_leads_to_a_document(name: str, repository: Path) -> None:
    documents = shipped(name, repository)
    told = {link for each in documents.values() for link in links_in(each)}
    assert told - documents.keys() == set()


@pytest.mark.parametrize("name", SHIPPED)
def test_a_client_that_follows_links_finds_every_document(name: str, repository: Path) -> None:
    documents = shipped(name, repository)
    members: dict[str, list[str]] = {}
    for uri in documents:
        members.setdefault(uri.rpartition("/")[0], []).append(uri)
    todo = [uri for name in ROOTS if (uri := f"/redfish/v1/{name}") in documents]
    found = set(todo)
    while todo:
        uri = todo.pop()
        inside = members.get(uri, []) if kind(documents[uri]).endswith("Collection") else []
        new = {*links_in(documents[uri]), *inside} & documents.keys() - found
        found |= new
        todo += new
    assert documents.keys() - found == set()


@pytest.mark.parametrize("detail", ["full", "core"])
def test_every_document_says_only_what_its_schema_knows(detail: str, repository: Path) -> None:
    @cache
    def schema(name: str) -> Any:
        text = (repository / "schemas" / "types" / name).read_text(encoding="utf-8")
        return json.loads(text)

    def retrieve(uri: str) -> Resource[Any]:
        return Resource.from_contents(schema(uri.partition("#")[0]), DRAFT202012)

    registry: Registry[Any] = Registry(retrieve=retrieve)  # type: ignore[call-arg]
    told, looked_at = [], 0
    for uri, document in world(detail).documents.items():
        if kind(document).endswith("Collection"):
            continue
        looked_at += 1
        reference = {"$ref": f"{kind(document)}.json"}
        validator = Draft202012Validator(reference, registry=registry)
        told += [f"{uri} {each.message[:100]}" for each in validator.iter_errors(document)]
    assert told == []
    assert looked_at > 60


def test_no_document_uses_what_the_standard_gave_up(full: Documents, repository: Path) -> None:
    given_up = {}
    for name in {kind(each) for each in full.values()}:
        path = repository / "schemas" / "types" / f"{name}.json"
        for owner, struct in json.loads(path.read_text(encoding="utf-8"))["$defs"].items():
            rows = struct.get("properties", {}).items()
            old = {word for word, rule in rows if isinstance(rule, dict) and "deprecated" in rule}
            given_up[name, owner] = old
    told = [
        (uri, word)
        for uri, each in full.items()
        for owner, value in ((kind(each), each), ("Links", each.get("Links", {})))
        for word in given_up.get((kind(each), owner), set()) & value.keys()
        # What is said of hosts is judged by the tests of hosts.
        if "/Systems/" not in uri
    ]
    assert told == []


def test_rendering_twice_gives_the_same_text() -> None:
    text = json.dumps(dict(world().documents))
    again = render_inventories(read(FILE.replace("DETAIL", "full"), "test").inventories())
    assert json.dumps(dict(again.documents)) == text


def test_identities_are_different_for_each_and_the_same_at_every_start(full: Documents) -> None:
    serials = [
        each["SerialNumber"]
        for uri, each in full.items()
        if "SerialNumber" in each and kind(each) in ("Memory", "PowerSupply", "Fan", "Cable")
    ]
    assert len(serials) > 60
    assert len(set(serials)) == len(serials)


def test_ai_pod_is_as_rich_as_promised(repository: Path) -> None:
    documents = shipped("ai-pod", repository)
    assert len(documents) >= 800
    assert len({kind(each) for each in documents.values()}) >= 60


# -- racks and what stands in them -----------------------------------------------------------


def test_what_stands_in_a_chassis_and_the_chassis_know_each_other(full: Documents) -> None:
    inside = {
        (uri, each)
        for uri, document in of_kind(full, "Chassis").items()
        for each in named(document, "Links", "Contains")
    }
    around = {
        (each, uri)
        for uri, document in of_kind(full, "Chassis").items()
        for each in named(document, "Links", "ContainedBy")
    }
    assert inside == around
    assert (f"{CHASSIS}/rack1", f"{CHASSIS}/sw1") in inside
    assert (f"{CHASSIS}/rack1", f"{CHASSIS}/host1") in inside
    assert (f"{CHASSIS}/rack2", f"{CHASSIS}/box1") in inside


def test_a_device_of_the_same_domain_is_in_a_slot_and_another_has_a_cable(
    full: Documents,
) -> None:
    assert named(full[f"{CHASSIS}/gpu1"], "Links", "ContainedBy") == [f"{CHASSIS}/sw1"]
    slot = full[f"{CHASSIS}/gpu1/PCIeDevices/gpu1"]["Slot"]
    assert slot["Location"]["PartLocation"]["ServiceLabel"] == "Slot D1"
    assert named(full[f"{CHASSIS}/gpu2"], "Links", "ContainedBy") == [f"{CHASSIS}/rack2"]
    assert "Slot" not in full[f"{CHASSIS}/gpu2/PCIeDevices/gpu2"]
    cable = full["/redfish/v1/Cables/sw1-D2"]
    assert named(cable, "Links", "DownstreamChassis") == [f"{CHASSIS}/gpu2"]


def test_a_device_of_another_domain_is_in_no_slot_also_where_no_cable_is_told() -> None:
    documents = world("core").documents
    assert named(documents[f"{CHASSIS}/gpu2"], "Links", "ContainedBy") == [f"{CHASSIS}/rack2"]
    assert named(documents[f"{CHASSIS}/gpu1"], "Links", "ContainedBy") == [f"{CHASSIS}/sw1"]


def test_chassis_of_a_rack_do_not_overlap(repository: Path) -> None:
    documents = shipped("ai-pod", repository)
    racks = [each for each in of_kind(documents, "Chassis").values()
             if each["ChassisType"] == "Rack"]  # fmt: skip
    assert len(racks) == 4
    for rack in racks:
        taken: list[int] = []
        for uri in named(rack, "Links", "Contains"):
            placement = documents[uri]["Location"]["Placement"]
            first = placement.get("RackOffset")
            if first is not None:
                taken += range(first, first + documents[uri]["HeightRackUnits"])
        assert taken
        assert len(taken) == len(set(taken))
        assert max(taken) <= rack["HeightRackUnits"]


def test_a_domain_can_not_be_called_like_a_device() -> None:
    text = FILE.replace("DETAIL", "full").replace("rack2", "gpu1")
    with pytest.raises(Exception, match="gpu1 is already"):
        read(text, "test")


# -- sums ------------------------------------------------------------------------------------


def test_a_chassis_draws_what_its_power_supplies_take_in(full: Documents) -> None:
    for chassis in ("sw1", "sw2", "box1", "jbof1"):
        place = f"{CHASSIS}/{chassis}"
        metrics = [
            each
            for uri, each in of_kind(full, "PowerSupplyMetrics").items()
            if uri.startswith(f"{place}/")
        ]
        taken = sum(each["InputPowerWatts"]["Reading"] for each in metrics)
        assert watts(full, place) == taken > 0
        assert full[f"{place}/Sensors/TotalPower"]["Reading"] == taken


def test_power_supplies_give_what_the_parts_draw(full: Documents) -> None:
    for chassis in ("sw1", "box1", "jbof1"):
        place = f"{CHASSIS}/{chassis}"
        fans = sum(each["PowerWatts"]["Reading"] for uri, each in of_kind(full, "Fan").items()
                   if uri.startswith(f"{place}/"))  # fmt: skip
        assert full[f"{place}/ThermalSubsystem/ThermalMetrics"]["PowerWatts"]["Reading"] == fans
        parts = [
            each["PowerWatts"]["Reading"]
            for uri, each in of_kind(full, "EnvironmentMetrics").items()
            if uri.startswith((f"{place}/Memory/", f"{place}/Drives/"))
        ]
        inside = [watts(full, each) for each in named(full[place], "Links", "Contains")]
        own = full[f"{place}/Sensors/CorePower"]["Reading"]
        given = sum(
            each["OutputPowerWatts"]["Reading"]
            for uri, each in of_kind(full, "PowerSupplyMetrics").items()
            if uri.startswith(f"{place}/")
        )
        assert given == own + fans + sum(parts) + sum(inside)


@pytest.mark.parametrize("name", ["rack1", "rack2"])
def test_a_rack_draws_what_stands_in_it(full: Documents, name: str) -> None:
    rack = full[f"{CHASSIS}/{name}"]
    inside = named(rack, "Links", "Contains")
    assert len(inside) > 2
    assert watts(full, f"{CHASSIS}/{name}") == sum(watts(full, each) for each in inside)


def test_nothing_draws_more_than_it_may(repository: Path) -> None:
    for name in SHIPPED:
        documents = shipped(name, repository)
        for uri, chassis in of_kind(documents, "Chassis").items():
            if "MaxPowerWatts" in chassis and f"{uri}/EnvironmentMetrics" in documents:
                assert watts(documents, uri) <= chassis["MaxPowerWatts"], uri


def test_a_chassis_runs_when_one_power_supply_fails(full: Documents) -> None:
    for uri, subsystem in of_kind(full, "PowerSubsystem").items():
        chassis = uri.removesuffix("/PowerSubsystem")
        assert watts(full, chassis) <= subsystem["CapacityWatts"]
        if "/host" not in chassis:
            needed = full[chassis]["MaxPowerWatts"] * EFFICIENCY_PERCENT / 100
            assert needed <= subsystem["CapacityWatts"]
        (group,) = subsystem["PowerSupplyRedundancy"]
        assert group["MinNeededInGroup"] == len(group["RedundancyGroup"]) - 1


def test_a_memory_domain_lies_on_all_modules_of_its_device(full: Documents) -> None:
    place = f"{CHASSIS}/box1"
    modules = [uri for uri in of_kind(full, "Memory") if uri.startswith(f"{place}/")]
    for number in range(4):
        (found,) = full[f"{place}/MemoryDomains/{number}"]["InterleavableMemorySets"]
        assert named(found, "MemorySet") == modules


@pytest.mark.parametrize(
    ("name", "capacity_mib"), [("gpu1", 80 << 10), ("box1", 8 << 20), ("mem1", 128 << 10)]
)
def test_memory_parts_add_up_to_the_device(full: Documents, name: str, capacity_mib: int) -> None:
    parts = [each for uri, each in of_kind(full, "Memory").items()
             if uri.startswith(f"{CHASSIS}/{name}/")]  # fmt: skip
    assert sum(each["CapacityMiB"] for each in parts) == capacity_mib
    assert len(parts) > 1


def test_drives_of_a_subsystem_add_up_to_its_pool(full: Documents) -> None:
    drives = [full[uri] for uri in named(full["/redfish/v1/Storage/jbof1"], "Drives")]
    pool = full["/redfish/v1/Storage/jbof1/StoragePools/jbof1-pool"]
    total = sum(each["CapacityBytes"] for each in drives)
    assert total == pool["Capacity"]["Data"]["AllocatedBytes"]
    assert len({each["Identifiers"][0]["DurableName"] for each in drives}) == len(drives) > 4


# -- each kind of thing ----------------------------------------------------------------------


def both_ways(documents: Documents, one: str, forth: tuple[str, ...], back: str) -> list[str]:
    """Return what `one` links to; each of it links back by `back`."""
    found = named(documents[one], *forth)
    for each in found:
        assert one in named(documents[each], "Links", back), (one, each, back)
    return found


def test_a_gpu_its_memory_and_its_functions_know_each_other(full: Documents) -> None:
    gpu, device = f"{CHASSIS}/gpu1/Processors/gpu1", f"{CHASSIS}/gpu1/PCIeDevices/gpu1"
    assert len(both_ways(full, gpu, ("Links", "Memory"), "Processors")) == 5
    assert both_ways(full, gpu, ("Links", "PCIeDevice"), "Processors") == [device]
    assert both_ways(full, gpu, ("Links", "PCIeFunctions"), "Processor")
    assert both_ways(full, gpu, ("Links", "Chassis"), "Processors") == [f"{CHASSIS}/gpu1"]
    summary = full[gpu]["ProcessorMemory"]
    total = sum(each["CapacityMiB"] for each in summary)
    assert total == full[gpu]["MemorySummary"]["TotalMemorySizeMiB"]


def test_a_function_says_who_made_it_and_nobody_did(full: Documents) -> None:
    function = full[f"{CHASSIS}/disk1/PCIeDevices/disk1/PCIeFunctions/0"]
    assert function["VendorId"] == f"0x{PCI_VENDOR:04X}"
    assert function["ClassCode"] == "0x010802"


def test_a_drive_its_storage_and_its_controller_know_each_other(full: Documents) -> None:
    drive, storage = f"{CHASSIS}/disk1/Drives/disk1", "/redfish/v1/Storage/disk1"
    assert named(full[drive], "Links", "Storage") == [storage]
    assert named(full[storage], "Drives") == [drive]
    assert both_ways(full, storage, ("Links", "Enclosures"), "Storage") == [f"{CHASSIS}/disk1"]
    controller = f"{storage}/Controllers/1"
    (function,) = named(full[controller], "Links", "PCIeFunctions")
    assert named(full[function], "Links", "Drives") == [drive]
    assert full[drive]["Identifiers"] == full[controller]["Identifiers"]


@pytest.mark.parametrize(("name", "functions"), [("nic1", ["0", "1"]), ("nic2", ["1-0", "2-0"])])
def test_an_adapter_has_a_network_function_for_each_physical_one(
    full: Documents, name: str, functions: list[str]
) -> None:
    adapter = f"{CHASSIS}/{name}/NetworkAdapters/{name}"
    found = [f"{adapter}/NetworkDeviceFunctions/{each}" for each in functions]
    macs = set()
    for uri in found:
        both_ways(full, uri, ("Links", "PCIeFunction"), "NetworkDeviceFunctions")
        macs.add(full[uri]["Ethernet"]["MACAddress"])
    assert len(macs) == 2
    # The second-least bit of the first octet: locally administered.
    assert all(int(mac[:2], 16) & 3 == 2 for mac in macs)
    (controller,) = full[adapter]["Controllers"]
    assert named(controller, "Links", "NetworkDeviceFunctions") == found
    (port,) = named(controller, "Links", "Ports")
    assert set(full[port]["Ethernet"]["AssociatedMACAddresses"]) == macs


def test_an_endpoint_gives_the_names_by_which_its_device_is_known(full: Documents) -> None:
    for name, formats in (("disk1", ["EUI", "UUID"]), ("gpu1", ["UUID"]), ("nic1", ["UUID"])):
        uri = f"/redfish/v1/Fabrics/PCIe/Endpoints/{name}"
        (entity,) = full[uri]["ConnectedEntities"]
        assert [each["DurableNameFormat"] for each in entity["Identifiers"]] == formats
        unnamed = {**entity, "EntityLink": None}
        endpoint = read_endpoint(
            uri, {**full[uri], "ConnectedEntities": [unnamed], "Links": {}}, world().facts
        )
        assert endpoint.units == {f"{CHASSIS}/{name}/PCIeDevices/{name}"}


def test_no_two_endpoints_have_one_durable_name(repository: Path) -> None:
    for name in SHIPPED:
        names = [
            (each["DurableNameFormat"], each["DurableName"])
            for endpoint in of_kind(shipped(name, repository), "Endpoint").values()
            for entity in endpoint["ConnectedEntities"]
            if entity["EntityRole"] == "Target"
            for each in entity.get("Identifiers", ())
        ]
        assert len(names) == len(set(names))


def test_a_switch_and_its_chassis_know_each_other(full: Documents) -> None:
    switch = "/redfish/v1/Fabrics/PCIe/Switches/sw1"
    assert both_ways(full, switch, ("Links", "Chassis"), "Switches") == [f"{CHASSIS}/sw1"]
    manager = "/redfish/v1/Managers/FabricManager"
    assert switch in both_ways(full, manager, ("Links", "ManagerForSwitches"), "ManagedBy")
    assert f"{CHASSIS}/sw1" in both_ways(full, manager, ("Links", "ManagerForChassis"), "ManagedBy")


def test_every_port_of_a_switch_has_metrics(full: Documents) -> None:
    ports = [each for uri, each in of_kind(full, "Port").items() if "/Switches/" in uri]
    assert len(ports) > 8
    for port in ports:
        (metrics,) = named(port, "Metrics")
        # What they are the switch says: see test_link_health.
        assert kind(full[metrics]) == "PortMetrics"


def test_a_cable_and_both_its_ends_know_each_other(full: Documents) -> None:
    cables = of_kind(full, "Cable")
    assert len(cables) == 8
    for uri in cables:
        for end in ("UpstreamPorts", "DownstreamPorts", "UpstreamChassis", "DownstreamChassis"):
            both_ways(full, uri, ("Links", end), "Cables")
    host = full["/redfish/v1/Cables/sw1-U1"]
    assert named(host, "Links", "UpstreamPorts") == [
        "/redfish/v1/Systems/host1/Processors/CPU1/Ports/1"
    ]
    assert named(host, "Links", "DownstreamPorts") == [
        "/redfish/v1/Fabrics/PCIe/Switches/sw1/Ports/U1"
    ]


def test_a_core_topology_has_neither_sensors_nor_modules_nor_cables() -> None:
    kinds = {kind(each) for uri, each in world("core").documents.items() if "/host" not in uri}
    assert not kinds & {"Sensor", "Memory", "Cable", "PowerSupply", "Fan", "PortMetrics"}
    assert {"Chassis", "Processor", "Drive", "NetworkAdapter", "Storage"} <= kinds
    assert len(world("core").documents) < len(world().documents) / 2


# -- what becomes of it when something is gone -----------------------------------------------

UP = PortState(link_up=True, device_present=True, speed_gbps=512.0, width=16)
GONE = PortState(link_up=False, device_present=False)
DARK = PortState(link_up=False, device_present=True, powered=False)


class Shown:
    """The documents as a client sees them, look after look."""

    def __init__(self) -> None:
        found = world()
        self.tip = MemoryTip(found.documents, found.facts)
        self.statuses = Statuses()
        self.fabrics = {name: ObservedFabric(name, self.statuses) for name in ("PCIe", "CXL")}
        self.laid: Documents = {}

    def look(self, fabric: str, **ports: PortState) -> Documents:
        known = [port for name, port in self.tip.facts.port_uris if name == fabric]
        states = {PortId(*port.split("_")): state for port, state in ports.items()}
        observation = Observation(
            fabric, 0.0, 0.0, {}, {port: states.get(port, UP) for port in known}
        )
        patches = self.fabrics[fabric].look(
            self.tip.facts, self.tip.index, FabricSight(fabric, observation)
        )
        self.laid |= {uri: patch or {} for uri, patch in patches.items()}
        return {uri: merge(each, self.laid.get(uri, {})) for uri, each in
                self.tip.inventory.items()}  # fmt: skip


PARTS = (
    "",
    "/Processors/gpu1",
    "/PCIeDevices/gpu1",
    "/Memory/Stack1",
    "/Sensors/Core",
    "/Sensors/TotalPower",
)


def test_parts_of_a_device_that_was_taken_out_are_absent_and_read_nothing() -> None:
    documents = Shown().look("PCIe", sw1_D1=GONE)
    for part in PARTS:
        assert documents[f"{CHASSIS}/gpu1{part}"]["Status"]["State"] == "Absent", part
    for sensor in ("Core", "TotalPower"):
        assert "Reading" not in documents[f"{CHASSIS}/gpu1/Sensors/{sensor}"]
    environment = documents[f"{CHASSIS}/gpu1/EnvironmentMetrics"]
    assert "TemperatureCelsius" not in environment
    assert "Reading" not in environment["PowerWatts"]
    assert documents[f"{CHASSIS}/gpu2/Sensors/Core"]["Status"]["State"] == "Enabled"


def test_storage_of_a_drive_that_was_taken_out_is_absent() -> None:
    documents = Shown().look("PCIe", sw1_D3=GONE)
    for uri in ("/redfish/v1/Storage/disk1", "/redfish/v1/Storage/disk1/Controllers/1"):
        assert documents[uri]["Status"]["State"] == "Absent"


@pytest.mark.parametrize(("state", "reading"), [(GONE, None), (DARK, 0)])
def test_racks_draw_less_when_a_device_gets_no_power_and_the_sums_stay_true(
    state: PortState, reading: int | None
) -> None:
    shown = Shown()
    before = shown.look("PCIe")
    after = shown.look("PCIe", sw1_D1=state)
    assert after[f"{CHASSIS}/gpu1/Sensors/TotalPower"].get("Reading") == reading
    assert watts(after, f"{CHASSIS}/sw1") < watts(before, f"{CHASSIS}/sw1")
    inside = named(after[f"{CHASSIS}/rack1"], "Links", "Contains")
    assert watts(after, f"{CHASSIS}/rack1") == sum(watts(after, each) for each in inside)
    again = shown.look("PCIe")
    for uri, document in before.items():
        # What follows from events is not undone by a look at the same state.
        assert again[uri].get("Reading") == document.get("Reading"), uri
        assert again[uri].get("PowerWatts") == document.get("PowerWatts"), uri
        assert again[uri].get("TemperatureCelsius") == document.get("TemperatureCelsius"), uri


def test_a_device_shows_the_lanes_that_its_link_uses() -> None:
    shown = Shown()
    place = f"{CHASSIS}/gpu1/PCIeDevices/gpu1"
    narrow = PortState(link_up=True, device_present=True, speed_gbps=64.0, width=4)
    for state, lanes, kind_ in ((UP, 16, "Gen5"), (narrow, 4, "Gen4"), (GONE, None, None)):
        interface = shown.look("PCIe", sw1_D1=state)[place]["PCIeInterface"]
        assert (interface.get("LanesInUse"), interface.get("PCIeType")) == (lanes, kind_)
        assert (interface["MaxLanes"], interface["MaxPCIeType"]) == (16, "Gen5")


def test_a_rack_suffers_with_what_stands_in_it_and_no_other_does() -> None:
    ailing = PortState(link_up=True, device_present=True, health="Critical")
    documents = Shown().look("PCIe", sw1_D1=ailing)
    for chassis in ("gpu1", "sw1", "rack1"):
        assert documents[f"{CHASSIS}/{chassis}"]["Status"]["HealthRollup"] == "Critical"
    assert documents[f"{CHASSIS}/rack2"]["Status"].get("HealthRollup", "OK") == "OK"


def test_a_look_at_what_has_not_changed_says_nothing_new() -> None:
    shown = Shown()
    first = shown.look("PCIe", sw1_D1=DARK)
    assert shown.look("PCIe", sw1_D1=DARK) == first


def test_an_appliance_without_power_reads_nothing_but_that() -> None:
    documents = Shown().look("CXL", sw2_D1=DARK)
    place = f"{CHASSIS}/box1"
    assert watts(documents, place) == 0
    for uri in of_kind(documents, "PowerSupplyMetrics"):
        if uri.startswith(place):
            assert documents[uri]["OutputPowerWatts"]["Reading"] == 0
            assert "TemperatureCelsius" not in documents[uri]
    assert "Reading" not in documents[f"{place}/Sensors/Fan1"]
    assert "SpeedPercent" not in documents[f"{place}/ThermalSubsystem/Fans/Fan1"]
    assert "PowerWatts" not in documents[f"{place}/Memory/Module1/EnvironmentMetrics"]
