"""Imported devices on several ports: our own `mixed` as documents, and what others may have."""

import itertools
from functools import cache
from typing import Any

import pytest

from redfish_fm.drivers.virtual.topology import load, read
from redfish_fm.fabric.inventory import defects
from redfish_fm.fabric.model import Attachment, Device, Port
from redfish_fm.fabric.values import Binder
from redfish_fm.mapping.imported import Imported, analyse
from redfish_fm.mapping.imported_findings import FindingKind
from redfish_fm.mapping.inventory import RenderedInventory, render_inventories
from tests.drivers.fabrics import MOCKUPS
from tests.mapping.builders import MemoryTip, imported_tip, links, zone_body
from tests.mapping.test_writes import refusal

PCIE, CXL = "/redfish/v1/Fabrics/PCIe", "/redfish/v1/Fabrics/CXL"
DRIVE = "/redfish/v1/Chassis/dpnvme1/PCIeDevices/dpnvme1"
NIC = "/redfish/v1/Chassis/mhnic1/PCIeDevices/mhnic1"
MEMORY = "/redfish/v1/Chassis/mhmem1/PCIeDevices/mhmem1"

Documents = dict[str, dict[str, Any]]


@cache
def native() -> RenderedInventory:
    return render_inventories(list(load("mixed", MOCKUPS).inventories()))


def three_ways() -> RenderedInventory:
    """`mixed` with a drive on three ports."""
    text = (MOCKUPS / "mixed.yaml").read_text()
    two, three = "ports: [pcie1, pcie2]\n", "ports: [pcie1, pcie1, pcie2]\n"
    assert text.count(two) == 1
    return render_inventories(list(read(text.replace(two, three), "three").inventories()))


def documents() -> Documents:
    return dict(native().documents)


@cache
def imported() -> Imported:
    return analyse(documents())


@pytest.fixture
def tip() -> MemoryTip:
    return imported_tip(documents())


def pcie(*names: str) -> dict[str, Any]:
    return zone_body(*(f"{PCIE}/Endpoints/{name}" for name in names))


def inside(unit: str) -> bool:
    return any(unit.startswith(device) for device in (DRIVE, NIC, MEMORY))


def ports_of(device: str, found: Imported) -> list[Port]:
    switches = [switch for each in found.fabrics for switch in each.switches]
    return [port for each in switches for port in each.ports if port.device == device]


def the_device(uri: str, found: Imported) -> Device:
    (device,) = [each for fabric in found.fabrics for each in fabric.devices if each.id == uri]
    return device


# -- our own recording ---------------------------------------------------------------------------


def test_devices_on_several_ports_are_the_same_units_as_before_the_recording() -> None:
    ours, theirs = native().facts, imported().facts
    units = {each.id: each for each in ours.units if inside(each.id)}
    assert len(units) == 2 + 5 + 3
    assert {each.id: each for each in theirs.units if inside(each.id)} == units
    assert theirs.ways == ours.ways
    for port in (port for ways in ours.ways.values() for port in ways):
        assert theirs.port_units[port] == ours.port_units[port]


def test_the_switch_knows_all_ports_of_such_a_device_by_their_heads() -> None:
    found = imported()
    for device in (DRIVE, NIC, MEMORY):
        ways = found.facts.ways[device]
        heads = {port.id: port.head for port in ports_of(device, found)}
        places = [place for uri in ways if (place := found.facts.port_at(uri))]
        assert heads == {place: n for n, (_, place) in enumerate(places, 1)}
    assert not the_device(DRIVE, found).shared_heads
    assert the_device(NIC, found).shared_heads
    assert the_device(MEMORY, found).shared_heads
    assert the_device(MEMORY, found).attachment is Attachment.SLD
    assert [line for fabric in found.fabrics for line in defects(fabric)] == []


def test_a_second_host_is_refused_the_other_way_to_a_drive(tip: MemoryTip) -> None:
    tip.post(f"{PCIE}/Zones", pcie("host1-1", "dpnvme1-p1"))
    with refusal(409, "Base.ResourceInUse"):
        tip.post(f"{PCIE}/Zones", pcie("host2-1", "dpnvme1-p2"))


def test_a_second_host_is_refused_the_first_way_where_the_other_is_taken(tip: MemoryTip) -> None:
    tip.post(f"{PCIE}/Zones", pcie("host1-1", "dpnvme1-p2"))
    with refusal(409, "Base.ResourceInUse"):
        tip.post(f"{PCIE}/Zones", pcie("host2-1", "dpnvme1-p1"))


def test_one_host_may_have_both_ways_and_both_are_bound(tip: MemoryTip) -> None:
    tip.post(f"{PCIE}/Zones", pcie("host1-1", "dpnvme1-p1", "dpnvme1-p2"))
    bound = {(each.target.switch, each.target.port) for each in tip.index.bindings.values()}
    places = [tip.facts.port_at(uri) for uri in tip.facts.ways[DRIVE]]
    assert bound == {(place[1].switch, place[1].port) for place in places if place is not None}


def test_each_head_serves_a_host_of_its_own_but_one_only(tip: MemoryTip) -> None:
    tip.post(f"{PCIE}/Zones", pcie("host1-1", "mhnic1-h1"))
    tip.post(f"{PCIE}/Zones", pcie("host2-1", "mhnic1-h2"))
    with refusal(409, "Base.ResourceInUse"):
        tip.post(f"{PCIE}/Zones", pcie("host3-1", "mhnic1-h2"))


def test_heads_of_memory_are_bound_whole_by_zones(tip: MemoryTip) -> None:
    ends = [[uri for uri in tip.documents if uri.startswith(f"{CXL}/Endpoints/host{n}-")]
            for n in (1, 2)]  # fmt: skip
    for head, (host, *_) in enumerate(ends, 1):
        tip.post(f"{CXL}/Zones", zone_body(host, f"{CXL}/Endpoints/mhmem1-h{head}"))
    assert sorted(each.unit for each in tip.index.bindings.values()) == [
        f"{MEMORY}/CXLLogicalDevices/0",
        f"{MEMORY}/CXLLogicalDevices/1",
    ]


def test_an_endpoint_that_means_the_device_means_the_way_at_its_port(tip: MemoryTip) -> None:
    second = [*tip.facts.ways[DRIVE]][1]
    entity = {"EntityType": "Drive", "EntityRole": "Target", "EntityLink": {"@odata.id": DRIVE}}
    body = {"ConnectedEntities": [entity], "Links": {"ConnectedPorts": links(second)}}
    made = tip.post(f"{PCIE}/Endpoints", body)
    assert tip.index.endpoints[made.uri].units == {tip.facts.ways[DRIVE][second]}


@pytest.mark.parametrize("through_an_import", [False, True])
def test_of_three_ways_any_two_are_for_one_host(through_an_import: bool) -> None:
    found = three_ways()
    plain = dict(found.documents)
    tip = imported_tip(plain) if through_an_import else MemoryTip(plain, found.facts)
    assert len(tip.facts.ways[DRIVE]) == 3
    for first, second in itertools.permutations((1, 2, 3), 2):
        zone = tip.post(f"{PCIE}/Zones", pcie("host1-1", f"dpnvme1-p{first}"))
        with refusal(409, "Base.ResourceInUse"):
            tip.post(f"{PCIE}/Zones", pcie("host2-1", f"dpnvme1-p{second}"))
        tip.delete(zone.uri)


# -- what others may have ------------------------------------------------------------------------


def head_endpoint(number: int) -> str:
    return f"{PCIE}/Endpoints/mhnic1-h{number}"


def with_entity(found: Documents, uri: str, **more: Any) -> None:
    (entity,) = found[uri]["ConnectedEntities"]
    found[uri] = {**found[uri], "ConnectedEntities": [{**entity, **more}]}


def exclusive(found: Documents) -> bool:
    """Whether all ways of the adapter are one exclusive device."""
    facts = analyse(found).facts
    (whole,) = [unit for unit in facts.units if unit.id == NIC]
    within = {unit.id: unit.within for unit in facts.units}
    found_within = [within[unit] for unit in facts.ways[NIC].values()]
    if whole.exclusive:
        assert found_within == [None, *[*facts.ways[NIC].values()][:-1]]
    else:
        assert found_within == [NIC] * 4
    return whole.exclusive


def test_an_endpoint_with_the_name_of_the_device_means_all_of_it() -> None:
    found = documents()
    assert not exclusive(found)
    name = {"DurableName": found[NIC]["UUID"].upper(), "DurableNameFormat": "UUID"}
    with_entity(found, head_endpoint(1), Identifiers=[name])
    assert exclusive(found)


def test_an_endpoint_that_links_to_the_device_means_all_of_it() -> None:
    found = documents()
    with_entity(found, head_endpoint(3), EntityLink={"@odata.id": NIC})
    assert exclusive(found)


def test_a_function_on_two_ports_is_no_head() -> None:
    found = documents()
    with_entity(found, head_endpoint(2), EntityLink={"@odata.id": f"{NIC}/PCIeFunctions/1-0"})
    assert exclusive(found)


def test_a_port_that_no_endpoint_tells_of_is_no_head() -> None:
    found = documents()
    del found[head_endpoint(4)]
    assert exclusive(found)


def test_functions_of_a_drive_have_in_common_what_is_stored() -> None:
    found = documents()
    for number in range(1, 5):
        uri = f"{NIC}/PCIeFunctions/{number}-0"
        found[uri] = {**found[uri], "DeviceClass": "MassStorageController"}
    assert exclusive(found)


def test_a_way_that_no_function_stands_for_is_its_port() -> None:
    found = documents()
    for uri in [uri for uri in found if uri.startswith(f"{DRIVE}/PCIeFunctions/2-")]:
        del found[uri]
    facts = analyse(found).facts
    first, second = facts.ways[DRIVE]
    assert facts.ways[DRIVE] == {first: DRIVE, second: second}
    tip = imported_tip(found)
    tip.post(f"{PCIE}/Zones", pcie("host1-1", "dpnvme1-p2"))
    with refusal(409, "Base.ResourceInUse"):
        tip.post(f"{PCIE}/Zones", pcie("host2-1", "dpnvme1-p1"))


def test_logical_devices_of_an_mld_on_several_ports_stay_units_of_their_own() -> None:
    found = documents()
    for port in native().facts.ways[MEMORY]:
        cxl = {**found[port]["CXL"], "ConnectedDeviceType": "Type3MLD"}
        found[port] = {**found[port], "CXL": cxl}
    facts = analyse(found).facts
    assert MEMORY not in facts.ways
    lds = {unit.id: unit for unit in facts.units if unit.within == MEMORY}
    assert len(lds) == 2
    assert {unit.binder for unit in lds.values()} == {Binder.CONNECTION}


def test_logical_devices_of_one_mld_are_bound_for_several_hosts() -> None:
    found = documents()
    for n in (1, 2):
        chunk = f"/redfish/v1/Chassis/fixed1/MemoryDomains/{n}/MemoryChunks/1"
        host = min(uri for uri in found if uri.startswith(f"{CXL}/Endpoints/host{n}-"))
        target = f"{CXL}/Endpoints/fixed1-ld{n}"
        ends = {"InitiatorEndpoints": links(host), "TargetEndpoints": links(target)}
        found[f"{CXL}/Zones/{n}"] = a_member("Zone", **zone_body(host, target))
        rows = [{"MemoryChunk": {"@odata.id": chunk}}]
        found[f"{CXL}/Connections/{n}"] = a_member("Connection", MemoryChunkInfo=rows, Links=ends)
    meaning = analyse(found)
    assert {(each.host[-1], each.target.ld) for each in meaning.bindings} == {("1", 1), ("2", 2)}


def a_member(name: str, **more: Any) -> dict[str, Any]:
    return {"@odata.type": f"#{name}.v1_0_0.{name}", **more}


def test_a_region_that_nothing_can_bind_is_told_and_guarded() -> None:
    found = documents()
    ld = "/redfish/v1/Chassis/dynamic1/PCIeDevices/dynamic1/CXLLogicalDevices/0"
    region, host = f"{ld}/MemoryRegions/1", f"{CXL}/Endpoints/host1-3"
    target = f"{CXL}/Endpoints/dynamic1-ld0"
    found[region] = a_member("MemoryRegion", RegionNumber=0, RegionSizeMiB=1024)
    found[f"{CXL}/Zones/1"] = a_member("Zone", **zone_body(host, target))
    ends = {"InitiatorEndpoints": links(host), "TargetEndpoints": links(target)}
    rows = [{"MemoryRegion": {"@odata.id": region}}]
    connection = f"{CXL}/Connections/1"
    found[connection] = a_member("Connection", MemoryRegionInfo=rows, Links=ends)
    meaning = analyse(found)
    assert [each.unit for each in meaning.bindings] == []
    (told,) = [each for each in meaning.findings if each.uri == connection]
    assert (told.kind, region in told.text) == (FindingKind.COMPLETED, True)
    tip = imported_tip(found)
    assert tip.index.hosts_of(region).keys() == {"/redfish/v1/Systems/host1"}
