"""Subsystems as documents and facts; namespaces carved, refused with every reason, given back."""

import json
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.fabric.model import (
    Attachment,
    BindTarget,
    Device,
    DeviceKind,
    FabricKind,
    Host,
    Inventory,
    Link,
    PartKind,
    Pool,
    Port,
    PortId,
    PortRole,
    Switch,
    VirtualSwitch,
    VppbId,
)
from redfish_fm.fabric.values import Access, Allocation, Binder, Role
from redfish_fm.mapping.drafts import Draft, TakeBack
from redfish_fm.mapping.inventory import render_inventories, render_inventory
from redfish_fm.mapping.links import further_collections
from redfish_fm.mapping.read import read_connection
from redfish_fm.mapping.uris import storage_of
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind, Write, WriteKind
from tests.mapping.builders import MemoryTip, a_fabric, a_tip, links
from tests.mapping.schemas import SchemaPack
from tests.mapping.test_inventory import links_in
from tests.mapping.test_writes import refusal

FABRIC = "/redfish/v1/Fabrics/net"
STORAGE = "/redfish/v1/Storage/sub1"
VOLUMES = f"{STORAGE}/Volumes"
POOL = f"{STORAGE}/StoragePools/sub1-pool"
ALLOCATED = f"{POOL}/AllocatedVolumes"
CONNECTIONS = f"{FABRIC}/Connections"
H1, H2, TARGET = (f"{FABRIC}/Endpoints/{name}" for name in ("h1", "h2", "sub1"))
GIB = 1 << 30
LINK = Link(4, 4)


def a_network(attachments: int = 4, namespaces: int = 3) -> Inventory:
    """Two hosts and one subsystem of 8 GiB in parts of 1 GiB."""
    hosts = tuple(
        Host(f"h{n}", f"h{n}", f"00000000-0000-4000-8000-{n:012d}", 2, 64, 65536, nqn=f"nqn.h{n}")
        for n in (1, 2)
    )
    pool = Pool(PartKind.NAMESPACE, 8 * 1024, 1024, namespaces)
    device = Device(
        "sub1-pool", "sub1-pool", DeviceKind.NVME, Attachment.SUBSYSTEM, "M", "Contoso", "SN-1",
        LINK, 8 * 1024, pool=pool, sanitizes=True, nqn="nqn.sub1",
    )  # fmt: skip
    ports = (
        *(Port(PortId("sub1", name), PortRole.UPSTREAM, LINK) for name in ("U1", "U2")),
        Port(PortId("sub1", "D1"), PortRole.DOWNSTREAM, LINK, device="sub1-pool"),
    )
    vcss = tuple(VirtualSwitch(h.id, "sub1", "U1", h.id, attachments) for h in hosts)
    switch = Switch("sub1", "sub1", "NVMeOverFabrics", "M", "SN-1", ports, vcss)
    return Inventory(
        "net", "Net", FabricKind.CONNECTION_GRANTS, "NVMeOverFabrics", (switch,), hosts, (device,)
    )


@pytest.fixture
def tip() -> MemoryTip:
    return a_tip(a_network())


def post(tip: MemoryTip, body: dict[str, Any], collection: str = VOLUMES) -> Draft:
    return tip.commit(prepare(Write(WriteKind.CREATE, collection, "Volume", "tester", body), tip))


def volume(tip: MemoryTip, gib: int = 1, collection: str = VOLUMES, **more: Any) -> str:
    return post(tip, {"CapacityBytes": gib * GIB, **more}, collection).uri


def shown(tip: MemoryTip, uri: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(tip.documents[uri])
    return document


def connect(tip: MemoryTip, host: str, *volumes: str, **more: Any) -> Draft:
    rows = [{"Volume": {"@odata.id": each}, "AccessCapabilities": ["Read"]} for each in volumes]
    ends = {"InitiatorEndpoints": links(host), **more}
    return tip.post(CONNECTIONS, {"VolumeInfo": rows, "Links": ends})


# -- what is rendered ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def schemas(shared: Path) -> SchemaPack:
    """The schemas of DMTF and SNIA together; the pack has only the newest Capacity."""
    pack = SchemaPack(shared / "data" / "dmtf-2025.4-json-schema-latest.tar.gz")
    swordfish = SchemaPack(shared / "data" / "snia-swordfish-1.2.7-schemas.tar.gz")
    pack.files = {**swordfish.files, **pack.files}
    pack.files["Capacity.v1_0_0.json"] = pack.files["Capacity.v1_2_1.json"]
    return pack


def test_every_document_is_valid_by_the_official_schemas(schemas: SchemaPack) -> None:
    documents = render_inventory(a_network()).documents
    told = []
    for uri, document in documents.items():
        if document["@odata.type"].split(".")[0].endswith("Collection"):
            document = {**document, "Members": [], "Members@odata.count": 0}
        assert document["@odata.id"] == uri
        told.extend(schemas.errors(document))
    assert told == []
    found = links_in([*documents.values()])
    assert {link for link in found if link not in documents} == set()


def test_a_new_volume_is_valid_by_the_official_schema(schemas: SchemaPack, tip: MemoryTip) -> None:
    assert schemas.errors(shown(tip, volume(tip))) == []


def test_a_host_of_several_fabrics_is_known_by_its_nqn_in_each() -> None:
    facts = render_inventories([a_fabric(), a_network()]).facts
    assert facts.durable_hosts["NQN:NQN.H2"] == "/redfish/v1/Systems/h2"


def test_nobody_binds_a_subsystem_and_hosts_share_it(tip: MemoryTip) -> None:
    unit = tip.index.units[STORAGE]
    assert (unit.binder, unit.exclusive, unit.target) == (Binder.NOTHING, False, None)
    end = tip.index.endpoints[TARGET]
    assert (end.role, end.units) == (Role.TARGET, {STORAGE})
    assert tip.index.endpoints[H1].host == "/redfish/v1/Systems/h1"
    pool = tip.index.pools[POOL]
    assert (pool.capacity_mib, pool.granularity_mib, pool.parts) == (8192, 1024, (1, 2, 3))
    assert tip.facts.resource_ports[POOL] == tip.facts.port_uris["net", PortId("sub1", "D1")]


@pytest.mark.parametrize(
    ("uri", "storage"),
    [
        (f"{VOLUMES}/1", STORAGE),
        (STORAGE, STORAGE),
        ("/redfish/v1/Systems/S/Storage/1/Volumes/2", "/redfish/v1/Systems/S/Storage/1"),
        ("/redfish/v1/Storage", None),
        ("/redfish/v1/Fabrics/Storage/Switches/s", None),
        ("/redfish/v1/Chassis/Storage/Drives/d", None),
    ],
)
def test_a_uri_tells_its_storage(uri: str, storage: str | None) -> None:
    assert storage_of(uri) == storage


# -- what a client makes ---------------------------------------------------------------------


@pytest.mark.parametrize("collection", [VOLUMES, ALLOCATED])
def test_a_volume_is_the_lowest_free_namespace_and_asks_hardware_for_it(
    tip: MemoryTip, collection: str
) -> None:
    draft = post(tip, {"CapacityBytes": 2 * GIB}, collection)
    assert draft.kind is OutcomeKind.CREATED
    assert draft.uri.startswith(f"{VOLUMES}/")
    wanted = Allocation("net", BindTarget("sub1", "D1", namespace=1), 2048, draft.uri)
    assert draft.operation is not None
    assert draft.operation.allocated == (wanted,)
    assert draft.operation.take_back is TakeBack.DELETE
    document = shown(tip, draft.uri)
    assert document["NVMeNamespaceProperties"] == {"NamespaceId": "0x1", "IsShareable": False}
    assert document["AccessCapabilities"] == ["Read", "Write"]
    assert [*further_collections("Volume", document)] == [ALLOCATED]
    second = shown(tip, volume(tip))
    assert second["NVMeNamespaceProperties"]["NamespaceId"] == "0x2"
    assert second["Identifiers"] != document["Identifiers"]


def test_its_size_may_stand_where_swordfish_has_it_too(tip: MemoryTip) -> None:
    data = {"Capacity": {"Data": {"AllocatedBytes": GIB}}}
    assert shown(tip, post(tip, data).uri)["CapacityBytes"] == GIB
    with refusal(400, "Base.PropertyValueConflict", "AllocatedBytes"):
        post(tip, {**data, "CapacityBytes": 2 * GIB})
    with refusal(400, "Base.PropertyMissing", "CapacityBytes"):
        post(tip, {"Name": "no size"})


@pytest.mark.parametrize("size", [0, -GIB, GIB // 2, GIB + 1, 1])
def test_a_size_that_is_no_multiple_is_refused_once(tip: MemoryTip, size: int) -> None:
    with refusal(400, "Base.PropertyValueIncorrect", str(size), "#/CapacityBytes") as caught:
        post(tip, {"CapacityBytes": size})
    assert len(caught.value.messages) == 1
    assert tip.documents == {}


def test_more_than_is_left_and_more_than_there_are_numbers_are_refused(tip: MemoryTip) -> None:
    first = volume(tip, 7)
    with refusal(409, "Base.ResourceExhaustion", POOL):
        volume(tip, 2)
    with refusal(400, "Base.PropertyValueOutOfRange", "CapacityBytes"):
        volume(tip, 9)
    tip.delete(first)
    for _ in range(3):
        volume(tip)
    with refusal(409, "Base.ResourceExhaustion", POOL):
        volume(tip)


def test_a_number_that_hardware_still_has_for_others_is_passed_over(tip: MemoryTip) -> None:
    tip.occupied = frozenset({BindTarget("sub1", "D1", namespace=1)})  # type: ignore[arg-type]
    assert shown(tip, volume(tip))["NVMeNamespaceProperties"]["NamespaceId"] == "0x2"


def test_names_are_the_clients_if_they_have_a_form_and_are_free(tip: MemoryTip) -> None:
    mine = [{"DurableName": "0123456789abcdef0123456789abcdef", "DurableNameFormat": "NGUID"}]
    uri = volume(tip, Identifiers=mine)
    assert shown(tip, uri)["Identifiers"] == mine
    with refusal(400, "Base.PropertyValueResourceConflict", uri):
        volume(tip, Identifiers=mine)
    for wrong in ({"DurableName": "x", "DurableNameFormat": "EUI"}, {"DurableName": "nqn.a"}):
        with refusal(400, "Base.PropertyValueIncorrect", "#/Identifiers/0"):
            volume(tip, Identifiers=[wrong])


@pytest.mark.parametrize("access", [[], ["Execute"], ["Read", "Append"]])
def test_access_that_no_namespace_gives_is_refused(tip: MemoryTip, access: list[str]) -> None:
    with refusal(400, "Base.PropertyValueIncorrect", "AccessCapabilities"):
        volume(tip, AccessCapabilities=access)


def test_a_volume_comes_out_of_the_pool_where_it_is_asked_for(tip: MemoryTip) -> None:
    named = {"ProvidingStoragePool": {"@odata.id": f"{POOL}/"}}
    assert shown(tip, volume(tip, Links=named))["Links"]["ProvidingStoragePool"] == {
        "@odata.id": POOL
    }
    for place in (VOLUMES, ALLOCATED):
        other = {"ProvidingStoragePool": {"@odata.id": f"{STORAGE}/StoragePools/x"}}
        with refusal(400, "Base.PropertyValueResourceConflict", "x"):
            volume(tip, 1, place, Links=other)


# -- who has it ------------------------------------------------------------------------------


def test_a_connection_attaches_its_volumes(tip: MemoryTip) -> None:
    one, two = volume(tip), volume(tip, NVMeNamespaceProperties={"IsShareable": True})
    draft = connect(tip, H1, one, two, TargetEndpoints=links(TARGET))
    assert draft.operation is not None
    found = {(b.vppb, b.target.namespace, b.shared) for b in draft.operation.granted}
    assert found == {
        (VppbId("sub1", "h1", 0), 1, False),
        (VppbId("sub1", "h1", 1), 2, True),
    }
    luns = [row["LUN"] for row in shown(tip, draft.uri)["VolumeInfo"]]
    assert luns == [1, 2]


def test_only_a_shareable_volume_has_a_second_host(tip: MemoryTip) -> None:
    own, shared = volume(tip), volume(tip, NVMeNamespaceProperties={"IsShareable": True})
    held = connect(tip, H1, own, shared).uri
    with refusal(409, "Base.PropertyValueResourceConflict", held, "#/VolumeInfo/0/Volume"):
        connect(tip, H2, own)
    assert connect(tip, H2, shared).kind is OutcomeKind.CREATED


def test_a_second_host_is_told_once_and_where_the_volume_is_named(tip: MemoryTip) -> None:
    own, other = volume(tip), volume(tip)
    connect(tip, H1, own, other)
    with pytest.raises(RedfishError) as refused:
        connect(tip, H2, own, other)
    told = [each for each in refused.value.messages if each.key.endswith("ResourceConflict")]
    pointers = [pointer for each in told for pointer in each.related]
    assert pointers == ["#/VolumeInfo/0/Volume", "#/VolumeInfo/1/Volume"]


def test_a_host_attaches_no_more_than_it_can() -> None:
    tip = a_tip(a_network(attachments=1))
    connect(tip, H1, volume(tip))
    host = tip.index.endpoints[H1].host
    assert host is not None
    with refusal(409, "Base.ResourceExhaustion", host, "#/VolumeInfo/0/Volume"):
        connect(tip, H1, volume(tip))


@pytest.mark.parametrize("wanted", [{}, {"VolumeInfo": []}, {"VolumeInfo": [None]}])
def test_a_connection_to_a_subsystem_names_what_it_grants(
    tip: MemoryTip, wanted: dict[str, Any]
) -> None:
    own = volume(tip)
    sides = {"InitiatorEndpoints": links(H1), "TargetEndpoints": links(TARGET)}
    with refusal(400, "Base.PropertyMissing", "VolumeInfo", "#/VolumeInfo"):
        tip.post(CONNECTIONS, {"ConnectionType": "Storage", "Links": sides, **wanted})
    held = connect(tip, H1, own, TargetEndpoints=links(TARGET)).uri
    with refusal(400, "Base.PropertyMissing", "VolumeInfo", "#/VolumeInfo"):
        tip.patch(held, {"VolumeInfo": []})


def test_what_stands_for_the_targets_of_a_connection_does_not_go(tip: MemoryTip) -> None:
    held = connect(tip, H1, volume(tip)).uri
    before = dict(tip.documents)
    for emptied in ([], None, [None]):
        with refusal(400, "Base.PropertyMissing", "#/Links/TargetEndpoints", "#/VolumeInfo"):
            tip.patch(held, {"VolumeInfo": emptied})
    with refusal(400, "Base.PropertyMissing", "#/Links/InitiatorEndpoints"):
        tip.patch(held, {"Links": {"InitiatorEndpoints": []}})
    assert tip.documents == before
    tip.patch(held, {"Links": {"TargetEndpoints": links(TARGET)}})
    tip.patch(held, {"Links": {"TargetEndpoints": []}})


def test_what_is_granted_is_not_given_back(tip: MemoryTip) -> None:
    uri = volume(tip)
    held = connect(tip, H1, uri).uri
    with refusal(409, "Base.ResourceInUse", held):
        tip.delete(uri)
    tip.delete(held)
    draft = tip.delete(uri)
    assert draft.operation is not None
    assert [each.target.namespace for each in draft.operation.freed] == [1]
    assert (tip.index.volumes, tip.index.allocations) == ({}, {})
    assert uri not in tip.index.units


def test_the_index_reads_what_a_volume_says(tip: MemoryTip) -> None:
    uri = volume(tip, 3, AccessCapabilities=["Read"])
    found = tip.index.volumes[uri]
    assert (found.subsystem, found.pool, found.size_mib, found.lun) == (STORAGE, POOL, 3072, 1)
    assert found.access == {Access.READ}
    unit = tip.index.units[uri]
    assert (unit.fabric, unit.binder, unit.within) == ("net", Binder.CONNECTION, STORAGE)


def test_a_connection_with_an_empty_list_of_rows_names_parts_and_none_at_all() -> None:
    ends = {"InitiatorEndpoints": links(H1), "TargetEndpoints": links(TARGET)}
    assert read_connection(f"{CONNECTIONS}/c", {"VolumeInfo": [], "Links": ends}).by_parts
    assert not read_connection(f"{CONNECTIONS}/c", {"Links": ends}).by_parts
