"""Discovered fabrics as documents: valid by the official schemas, closed under links, stable."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redfish_fm.drivers.virtual.topology import load
from redfish_fm.fabric.model import Attachment, BindTarget, DeviceKind, VppbId
from redfish_fm.fabric.values import Binder, Role
from redfish_fm.mapping.inventory import render_inventories, render_inventory
from redfish_fm.mapping.links import forward_links
from redfish_fm.mapping.read import read_endpoint
from redfish_fm.mapping.types import ODATA_TYPES
from redfish_fm.redfish.catalog import Catalog
from tests.drivers.fabrics import MOCKUPS, SHIPPED
from tests.mapping.builders import a_device, a_fabric
from tests.mapping.schemas import SchemaPack

POD = "/redfish/v1/Fabrics/pod"


@pytest.fixture(scope="module")
def schemas(shared: Path) -> SchemaPack:
    return SchemaPack(shared / "data" / "dmtf-2025.4-json-schema-latest.tar.gz")


def both_fabrics() -> dict[str, dict[str, Any]]:
    gpus = tuple(a_device(f"g{number}") for number in range(2))
    pcie = a_fabric("pcie", "PCIe", devices=gpus, first_root_port=2)
    return dict(render_inventories([a_fabric(), pcie]).documents)


def test_every_document_is_valid_by_the_official_schemas(schemas: SchemaPack) -> None:
    documents = both_fabrics()
    kinds = {document["@odata.type"] for document in documents.values()}
    assert len(kinds) > 25
    told = []
    for uri, document in documents.items():
        if document["@odata.type"].split(".")[0].endswith("Collection"):
            document = {**document, "Members": [], "Members@odata.count": 0}
        assert document["@odata.id"] == uri
        told.extend(schemas.errors(document))
    assert told == []


def test_an_invalid_document_is_found_by_the_oracle(schemas: SchemaPack) -> None:
    document = {**both_fabrics()[f"{POD}/Switches/pod-sw"], "Bogus": 1}
    assert schemas.errors(document)


def links_in(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "@odata.id":
                yield inner
            else:
                yield from links_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from links_in(inner)


def test_every_link_resolves_and_every_member_has_its_collection() -> None:
    documents = both_fabrics()
    dangling = {
        link for document in documents.values() for link in links_in(document)
    } - documents.keys()
    assert dangling == set()
    for uri in documents:
        parent = uri.rsplit("/", 1)[0]
        assert parent == "/redfish/v1" or parent in documents


def test_ids_are_the_last_segment_and_no_text_is_empty() -> None:
    for uri, document in both_fabrics().items():
        assert document.get("Id", uri.rsplit("/", 1)[-1]) == uri.rsplit("/", 1)[-1]
        assert "" not in document.values()


def test_collections_carry_no_members() -> None:
    assert not [uri for uri, each in both_fabrics().items() if "Members" in each]


def test_rendering_is_deterministic() -> None:
    assert json.dumps(both_fabrics()) == json.dumps(both_fabrics())


def test_a_host_of_two_fabrics_is_one_system_with_both_ports() -> None:
    documents = both_fabrics()
    ports = "/redfish/v1/Systems/h1/Processors/CPU1/Ports"
    assert f"{ports}/1" in documents
    assert f"{ports}/2" in documents
    found = documents["/redfish/v1/Systems/h1"]["Links"]["Endpoints"]
    assert [each["@odata.id"] for each in found] == [
        f"{POD}/Endpoints/h1-1",
        "/redfish/v1/Fabrics/pcie/Endpoints/h1-2",
    ]


def test_colliding_ids_are_refused() -> None:
    pcie = a_fabric("pcie", "PCIe")
    with pytest.raises(ValueError, match="collide"):
        render_inventories([a_fabric(), pcie])


def test_a_host_may_be_called_like_a_device_only_if_uris_differ() -> None:
    fabric = a_fabric(devices=(a_device("h1-1"),))
    with pytest.raises(ValueError, match="Endpoints/h1-1"):
        render_inventory(fabric)


def test_units_say_who_binds_them() -> None:
    facts = render_inventory(a_fabric()).facts
    units = {
        unit.id.rsplit("/", 3)[-3] + "/" + unit.id.rsplit("/", 1)[-1]: unit for unit in facts.units
    }
    assert units["gpu1/gpu1"].binder is Binder.ZONE
    assert units["mem1/mem1"].target == BindTarget("pod-sw", "36")
    assert units["mem2/mem2"].binder is Binder.NOTHING
    ld = units["mem2/2"]
    assert (ld.binder, ld.target) == (Binder.CONNECTION, BindTarget("pod-sw", "37", 2))
    assert ld.within == units["mem2/mem2"].id


def test_an_mld_has_one_endpoint_and_one_chunk_per_logical_device() -> None:
    rendered = render_inventory(a_fabric())
    facts = rendered.facts
    for number in range(3):
        uri = f"{POD}/Endpoints/mem2-ld{number}"
        endpoint = read_endpoint(uri, rendered.documents[uri], facts)
        ld = f"/redfish/v1/Chassis/mem2/PCIeDevices/mem2/CXLLogicalDevices/{number}"
        assert endpoint.units == {ld}
        chunk = next(each for each in facts.chunks if each.unit == ld)
        assert (chunk.offset_mib, chunk.size_mib) == (0, 1024)


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_known_of_an_endpoint_is_what_its_document_says(name: str) -> None:
    found = render_inventories(load(name, MOCKUPS).inventories(), linked_back=False)
    facts = found.facts
    for value, links in facts.endpoints:
        document = found.documents[value.id]
        assert read_endpoint(value.id, document, facts) == value
        assert {*forward_links("Endpoint", document, facts.port_aliases)} == {*links}
    types = (document["@odata.type"] for document in found.documents.values())
    named = Counter(each.rpartition(".")[2] for each in types)
    # Network endpoints are few, and read.
    assert facts.endpoints or "CXLLogicalDevice" not in named
    assert len(facts.endpoints) <= named["Endpoint"]


def test_an_endpoint_of_one_ld_never_means_the_whole_device() -> None:
    parts = a_device("xpu", DeviceKind.GPU, Attachment.MLD, lds=2)
    rendered = render_inventory(a_fabric(devices=(parts,)))
    uri = f"{POD}/Endpoints/xpu-ld1"
    endpoint = read_endpoint(uri, rendered.documents[uri], rendered.facts)
    assert endpoint.units == {"/redfish/v1/Chassis/xpu/PCIeDevices/xpu/CXLLogicalDevices/1"}


@pytest.mark.parametrize("name", ["gpu1", "nvme1", "nic1", "fpga1", "mem1"])
def test_an_endpoint_of_a_device_means_the_whole_device(name: str) -> None:
    rendered = render_inventory(a_fabric())
    uri = f"{POD}/Endpoints/{name}"
    endpoint = read_endpoint(uri, rendered.documents[uri], rendered.facts)
    assert endpoint.role is Role.TARGET
    assert endpoint.units == {f"/redfish/v1/Chassis/{name}/PCIeDevices/{name}"}


def test_initiators_belong_to_the_system_and_know_both_ends_of_the_cable() -> None:
    rendered = render_inventory(a_fabric())
    uri = f"{POD}/Endpoints/h2-1"
    endpoint = read_endpoint(uri, rendered.documents[uri], rendered.facts)
    assert (endpoint.role, endpoint.host) == (Role.INITIATOR, "/redfish/v1/Systems/h2")
    assert endpoint.ports == {f"{POD}/Switches/pod-sw/Ports/1"}
    for port in (
        f"{POD}/Switches/pod-sw/Ports/1",
        "/redfish/v1/Systems/h2/Processors/CPU1/Ports/1",
    ):
        assert rendered.documents[port]["Links"]["AssociatedEndpoints"] == [{"@odata.id": uri}]


def test_cxl_switches_show_their_vppbs_and_pcie_partitions_do_not() -> None:
    rendered = render_inventory(a_fabric())
    uri = rendered.facts.vppb_uris["pod", VppbId("pod-sw", "1", 3)]
    assert rendered.documents[uri]["VPPBId"] == "3"
    pcie = render_inventory(a_fabric("p", "PCIe", devices=()))
    assert not [each for each in pcie.documents if "VCSs" in each]
    assert [vcs.vppb_count for vcs in pcie.facts.vcss] == [4, 4]


def test_a_device_that_is_cabled_nowhere_has_no_endpoint() -> None:
    fabric = a_fabric()
    loose = a_device("loose", DeviceKind.MEMORY, Attachment.SLD)
    inventory = type(fabric)(
        fabric.fabric,
        fabric.name,
        fabric.kind,
        fabric.protocol,
        fabric.switches,
        fabric.hosts,
        (*fabric.devices, loose),
    )
    rendered = render_inventory(inventory)
    assert "/redfish/v1/Chassis/loose" in rendered.documents
    assert f"{POD}/Endpoints/loose" not in rendered.documents


def test_types_are_those_of_the_catalog(repository: Path) -> None:
    catalog = Catalog.load(repository / "schemas")
    for name, odata_type in ODATA_TYPES.items():
        assert odata_type == catalog.types[name].odata_type
