"""Every kind of device as Redfish: valid, closed under links, and a way to have each part of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.fabric.model import (
    Attachment,
    BindTarget,
    Device,
    DeviceKind,
    Function,
    FunctionType,
    Inventory,
    Link,
    LogicalDevice,
    PartKind,
    Pool,
    Port,
    PortId,
    PortRole,
)
from redfish_fm.fabric.values import Binder, Endpoint, Unit
from redfish_fm.mapping.drafts import Draft
from redfish_fm.mapping.inventory import RenderedInventory, render_inventory
from redfish_fm.mapping.read import read_endpoint
from tests.mapping.builders import MemoryTip, a_device, a_fabric, a_tip, zone_body
from tests.mapping.schemas import SchemaPack
from tests.mapping.test_inventory import links_in
from tests.mapping.test_writes import refusal

POD = "/redfish/v1/Fabrics/pod"
SWITCH = "pod-sw"
VIRTUAL = FunctionType.VIRTUAL


def pooled(name: str = "pool1", lds: int = 4) -> Device:
    base = a_device(name, DeviceKind.MEMORY, Attachment.MLD)
    return replace(
        base,
        lds=tuple(LogicalDevice(number, 0) for number in range(lds)),
        pool=Pool(PartKind.LD, 4096, 256, lds),
        sanitizes=True,
    )


def dynamic(name: str = "dcd1") -> Device:
    base = a_device(name, DeviceKind.MEMORY, Attachment.MLD)
    return replace(
        base,
        lds=(LogicalDevice(0, 0, dynamic=True), LogicalDevice(1, 0, dynamic=True)),
        pool=Pool(PartKind.REGION, 4096, 256, 8),
        sanitizes=True,
    )


def sriov() -> Device:
    parts = (Function(0), Function(1), Function(2, VIRTUAL, 0), Function(3, VIRTUAL, 0))
    return replace(a_device("nic2", DeviceKind.NIC), functions=parts, binds_functions=True)


def multifunction() -> Device:
    return replace(a_device("gpu2"), functions=(Function(0), Function(1)))


def multihost(
    kind: DeviceKind = DeviceKind.NIC, attachment: Attachment = Attachment.PCIE
) -> Device:
    return replace(a_device("mh1", kind, attachment), shared_heads=True)


def plugged(*devices: Device, ports: int = 1) -> Inventory:
    """A fabric whose first device is plugged into `ports` ports, in reverse order of its heads."""
    fabric = a_fabric(devices=devices)
    (switch,) = fabric.switches
    own = [port for port in switch.ports if port.device == devices[0].id]
    if ports > 1:
        own = [
            Port(PortId(SWITCH, str(50 + n)), PortRole.DOWNSTREAM, Link(5, 16),
                 device=devices[0].id, head=ports - n)
            for n in range(ports)
        ]  # fmt: skip
    rest = [port for port in switch.ports if port.device != devices[0].id]
    return replace(fabric, switches=(replace(switch, ports=(*rest, *own)),))


ALL: list[Inventory] = [
    plugged(pooled()),
    plugged(dynamic()),
    plugged(sriov()),
    plugged(multifunction()),
    plugged(multihost(), ports=4),
    plugged(replace(multihost(), functions=(Function(0), Function(1))), ports=2),
    plugged(multihost(DeviceKind.MEMORY, Attachment.SLD), ports=2),
    plugged(a_device("dp1", DeviceKind.NVME), ports=2),
    plugged(a_device("dp2", DeviceKind.MEMORY, Attachment.SLD), ports=2),
]


@pytest.fixture(scope="module")
def schemas(shared: Path) -> SchemaPack:
    return SchemaPack(shared / "data" / "dmtf-2025.4-json-schema-latest.tar.gz")


def rendered_units(rendered: RenderedInventory) -> dict[str, Unit]:
    return {unit.id: unit for unit in rendered.facts.units}


def endpoint(rendered: RenderedInventory, name: str) -> Endpoint:
    uri = f"{POD}/Endpoints/{name}"
    return read_endpoint(uri, rendered.documents[uri], rendered.facts)


def device_uri(name: str) -> str:
    return f"/redfish/v1/Chassis/{name}/PCIeDevices/{name}"


def target_of(rendered: RenderedInventory, name: str) -> BindTarget | None:
    (unit,) = endpoint(rendered, name).units
    return rendered_units(rendered)[unit].target


@pytest.mark.parametrize("number", range(len(ALL)))
def test_every_document_is_valid_and_every_link_resolves(number: int, schemas: SchemaPack) -> None:
    documents = render_inventory(ALL[number]).documents
    told = []
    for document in documents.values():
        if document["@odata.type"].split(".")[0].endswith("Collection"):
            document = {**document, "Members": [], "Members@odata.count": 0}
        told.extend(schemas.errors(document))
    assert told == []
    links = {link for document in documents.values() for link in links_in(document)}
    assert links - documents.keys() == set()


@pytest.mark.parametrize("number", range(len(ALL)))
def test_every_unit_is_a_resource_and_lies_in_a_unit(number: int) -> None:
    rendered = render_inventory(ALL[number])
    units = rendered_units(rendered)
    assert len(units) == len(rendered.facts.units)
    for unit in units.values():
        assert unit.id in rendered.documents
        assert unit.within is None or unit.within in units
    targets = [unit.target for unit in units.values() if unit.target is not None]
    assert len(targets) == len(set(targets))
    assert {("pod", target) for target in targets} == rendered.facts.target_units.keys()


# -- LDs out of a pool -----------------------------------------------------------------------


def test_a_pool_of_lds_is_one_domain_where_chunks_are_made() -> None:
    rendered = render_inventory(plugged(pooled()))
    place = "/redfish/v1/Chassis/pool1/MemoryDomains/1"
    domain = rendered.documents[place]
    assert domain["AllowsMemoryChunkCreation"] is True
    assert (domain["MemorySizeMiB"], domain["MemoryChunkIncrementMiB"]) == (4096, 256)
    assert len(domain["Links"]["CXLLogicalDevices"]) == 4
    assert rendered.facts.chunks == []
    facts = rendered.facts.domains[place]
    assert (facts.capacity_mib, facts.granularity_mib, facts.carvable) == (4096, 256, True)
    pool = rendered.facts.pools[facts.pool or ""]
    assert (pool.kind, pool.parts) == (PartKind.LD, (0, 1, 2, 3))
    assert pool.port == PortId(SWITCH, "32")


def test_an_ld_of_a_pool_has_no_memory_before_a_chunk_is_made() -> None:
    rendered = render_inventory(plugged(pooled()))
    ld = rendered.documents[f"{device_uri('pool1')}/CXLLogicalDevices/2"]
    assert ld["MemorySizeMiB"] == 0
    assert ld["Status"]["State"] == "StandbyOffline"
    unit = rendered_units(rendered)[ld["@odata.id"]]
    assert (unit.binder, unit.exclusive) == (Binder.CONNECTION, True)
    assert unit.target == BindTarget(SWITCH, "32", 2)
    assert unit.within == device_uri("pool1")
    assert endpoint(rendered, "pool1-ld2").units == {unit.id}


def test_fixed_lds_keep_a_domain_and_a_chunk_each() -> None:
    fixed = a_device("mem9", DeviceKind.MEMORY, Attachment.MLD, lds=2)
    rendered = render_inventory(plugged(fixed))
    assert [chunk.domain for chunk in rendered.facts.chunks] == [
        f"/redfish/v1/Chassis/mem9/MemoryDomains/{number}" for number in (0, 1)
    ]
    assert not any(domain.carvable for domain in rendered.facts.domains.values())
    assert rendered.facts.pools == {}


@pytest.mark.parametrize("attachment", [Attachment.SLD, Attachment.MLD])
def test_memory_of_which_nobody_tells_how_much_it_is_is_not_called_none(
    attachment: Attachment,
) -> None:
    device = a_device("mem9", DeviceKind.MEMORY, attachment, lds=1)
    untold = replace(
        device, capacity_mib=0, lds=tuple(replace(each, capacity_mib=0) for each in device.lds)
    )
    rendered = render_inventory(plugged(untold))
    (chunk,) = rendered.facts.chunks
    assert chunk.domain is not None
    for uri, name in ((chunk.id, "MemoryChunkSizeMiB"), (chunk.domain, "MemorySizeMiB")):
        document = rendered.documents.get(uri)
        assert document is not None
        assert name not in document


# -- dynamic capacity ------------------------------------------------------------------------


def test_a_dynamic_ld_holds_regions_and_is_bound_by_nobody() -> None:
    rendered = render_inventory(plugged(dynamic()))
    uri = f"{device_uri('dcd1')}/CXLLogicalDevices/1"
    assert rendered.documents[uri]["MemoryRegions"] == {"@odata.id": f"{uri}/MemoryRegions"}
    unit = rendered_units(rendered)[uri]
    assert (unit.binder, unit.exclusive) == (Binder.NOTHING, False)
    # Regions of it are bound as parts of this.
    assert unit.target == BindTarget(SWITCH, "32", 1)
    assert "MemoryDomains" not in rendered.documents["/redfish/v1/Chassis/dcd1"]
    capacity = rendered.documents[device_uri("dcd1")]["CXLDevice"]["DynamicCapacity"]
    assert (capacity["TotalDynamicCapacityMiB"], capacity["MaxDynamicCapacityRegions"]) == (4096, 8)
    pool = rendered.facts.pools[device_uri("dcd1")]
    assert (pool.kind, pool.parts) == (PartKind.REGION, tuple(range(8)))


# -- functions -------------------------------------------------------------------------------


def test_functions_that_go_with_the_device_are_shown_and_are_one_unit() -> None:
    rendered = render_inventory(plugged(multifunction()))
    functions = f"{device_uri('gpu2')}/PCIeFunctions"
    assert {f"{functions}/0", f"{functions}/1"} <= rendered.documents.keys()
    assert rendered.documents[device_uri("gpu2")]["DeviceType"] == "MultiFunction"
    assert rendered_units(rendered).keys() == {device_uri("gpu2")}
    assert endpoint(rendered, "gpu2").units == {device_uri("gpu2")}


def test_each_function_that_is_bound_alone_has_an_endpoint() -> None:
    rendered = render_inventory(plugged(sriov()))
    for number in range(4):
        uri = f"{device_uri('nic2')}/PCIeFunctions/{number}"
        assert endpoint(rendered, f"nic2-f{number}").units == {uri}
        assert target_of(rendered, f"nic2-f{number}") == BindTarget(SWITCH, "32", function=number)
    kinds = {
        number: rendered.documents[f"{device_uri('nic2')}/PCIeFunctions/{number}"]["FunctionType"]
        for number in range(4)
    }
    assert kinds == {0: "Physical", 1: "Physical", 2: "Virtual", 3: "Virtual"}
    assert f"{POD}/Endpoints/nic2" not in rendered.documents


def test_a_virtual_function_lies_in_its_physical_one() -> None:
    units = rendered_units(render_inventory(plugged(sriov())))
    functions = f"{device_uri('nic2')}/PCIeFunctions"
    assert units[f"{functions}/2"].within == f"{functions}/0"
    assert units[f"{functions}/1"].within == device_uri("nic2")
    assert units[device_uri("nic2")].binder is Binder.NOTHING


# -- several ports ---------------------------------------------------------------------------


def test_each_head_of_a_shared_device_is_a_unit_of_its_own() -> None:
    rendered = render_inventory(plugged(multihost(), ports=2))
    whole = rendered_units(rendered)[device_uri("mh1")]
    assert (whole.binder, whole.exclusive, whole.target) == (Binder.NOTHING, False, None)
    heads = [endpoint(rendered, f"mh1-h{head}") for head in (1, 2)]
    assert not heads[0].units & heads[1].units
    # Heads are told by their numbers, whatever port they are plugged into.
    assert target_of(rendered, "mh1-h1") == BindTarget(SWITCH, "51")
    assert target_of(rendered, "mh1-h2") == BindTarget(SWITCH, "50")
    for head in heads:
        (unit,) = head.units
        assert rendered_units(rendered)[unit].within == device_uri("mh1")
        assert rendered_units(rendered)[unit].binder is Binder.ZONE
    ports = rendered.documents[device_uri("mh1")]["Links"]["ConnectedPCIePorts"]
    assert len(ports) == 2


def test_each_head_of_a_memory_device_has_its_own_ld_and_share() -> None:
    device = multihost(DeviceKind.MEMORY, Attachment.SLD)
    rendered = render_inventory(plugged(device, ports=2))
    lds = [f"{device_uri('mh1')}/CXLLogicalDevices/{number}" for number in (0, 1)]
    assert [rendered.documents[ld]["MemorySizeMiB"] for ld in lds] == [2048, 2048]
    assert endpoint(rendered, "mh1-h1").units == {lds[0]}
    assert endpoint(rendered, "mh1-h2").units == {lds[1]}
    assert [chunk.unit for chunk in rendered.facts.chunks] == lds


@pytest.mark.parametrize("number", [7, 8])
def test_the_second_way_to_a_device_lies_in_the_first(number: int) -> None:
    rendered = render_inventory(ALL[number])
    name = ALL[number].devices[0].id
    first, second = (endpoint(rendered, f"{name}-p{way}").units for way in (1, 2))
    assert first == {device_uri(name)}
    (other,) = second
    unit = rendered_units(rendered)[other]
    assert (unit.within, unit.exclusive) == (device_uri(name), True)
    assert target_of(rendered, f"{name}-p1") == BindTarget(SWITCH, "51")
    assert unit.target == BindTarget(SWITCH, "50")


def test_an_endpoint_that_names_a_drive_means_the_way_by_its_own_port() -> None:
    rendered = render_inventory(plugged(a_device("dp1", DeviceKind.NVME), ports=2))
    drive = "/redfish/v1/Chassis/dp1/Drives/dp1"
    entity: dict[str, Any] = {
        "EntityType": "Drive",
        "EntityRole": "Target",
        "EntityLink": {"@odata.id": drive},
    }
    document = {"ConnectedEntities": [entity]}
    found = read_endpoint("/x", document, rendered.facts)
    assert found.units == {device_uri("dp1")}
    port = f"{POD}/Switches/{SWITCH}/Ports/50"
    by_port = {**document, "Links": {"ConnectedPorts": [{"@odata.id": port}]}}
    assert read_endpoint("/x", by_port, rendered.facts).units == endpoint(rendered, "dp1-p2").units
    assert len(rendered.documents[drive]["Links"]["Endpoints"]) == 2


def test_a_port_means_what_is_behind_it() -> None:
    rendered = render_inventory(plugged(multihost(), ports=2))
    port = f"{POD}/Switches/{SWITCH}/Ports/51"
    assert rendered.facts.port_units[port] == endpoint(rendered, "mh1-h1").units


# -- what zones make of it -------------------------------------------------------------------


def zone(tip: MemoryTip, *names: str) -> Draft:
    return tip.post(f"{POD}/Zones", zone_body(*(f"{POD}/Endpoints/{name}" for name in names)))


def bound(tip: MemoryTip) -> set[tuple[str, BindTarget]]:
    """Return which host is to have what."""
    records = tip.index.bindings.values()
    return {(record.host.rsplit("/", 1)[-1], record.target) for record in records}


def test_one_host_may_have_a_device_by_both_ways_and_no_other_any() -> None:
    tip = a_tip(plugged(a_device("dp1", DeviceKind.NVME), ports=2))
    zone(tip, "h1-1", "dp1-p1", "dp1-p2")
    assert bound(tip) == {("h1", BindTarget(SWITCH, "51")), ("h1", BindTarget(SWITCH, "50"))}
    for way in ("dp1-p1", "dp1-p2"):
        with refusal(409, "Base.ResourceInUse", way):
            zone(tip, "h2-1", way)


@pytest.mark.parametrize(("mine", "theirs"), [("dp1-p1", "dp1-p2"), ("dp1-p2", "dp1-p1")])
def test_who_has_one_way_has_the_device(mine: str, theirs: str) -> None:
    tip = a_tip(plugged(a_device("dp1", DeviceKind.NVME), ports=2))
    zone(tip, "h1-1", mine)
    with refusal(409, "Base.ResourceInUse", theirs):
        zone(tip, "h2-1", theirs)


def test_each_head_serves_one_host() -> None:
    tip = a_tip(plugged(multihost(), ports=2))
    zone(tip, "h1-1", "mh1-h1")
    with refusal(409, "Base.ResourceInUse", "mh1-h1"):
        zone(tip, "h2-1", "mh1-h1")
    zone(tip, "h2-1", "mh1-h2")
    assert bound(tip) == {("h1", BindTarget(SWITCH, "51")), ("h2", BindTarget(SWITCH, "50"))}


def test_virtual_functions_go_to_several_hosts_until_one_takes_the_physical_one() -> None:
    tip = a_tip(plugged(sriov()))
    zone(tip, "h1-1", "nic2-f2")
    zone(tip, "h2-1", "nic2-f3", "nic2-f1")
    for host in ("h1-1", "h2-1"):
        with refusal(409, "Base.ResourceInUse", "nic2-f0"):
            zone(tip, host, "nic2-f0")
    assert ("h2", BindTarget(SWITCH, "32", function=3)) in bound(tip)
