"""A mockup taken apart: public-cxl wholly, other public mockups without an exception."""

from pathlib import Path
from typing import Any

import pytest

from redfish_fm.fabric.inventory import defects
from redfish_fm.fabric.values import Binder
from redfish_fm.mapping.facts import enclosing
from redfish_fm.mapping.imported import Imported, analyse
from redfish_fm.mapping.rendering import GT_PER_LANE
from tests.mapping.builders import CXL, mockup

POOLED = "/redfish/v1/Chassis/PooledCXLType3/PCIeDevices/1"


@pytest.fixture(scope="module")
def documents(shared: Path) -> dict[str, dict[str, Any]]:
    return mockup(shared, "public-cxl")


@pytest.fixture(scope="module")
def cxl(documents: dict[str, dict[str, Any]]) -> Imported:
    return analyse(documents)


def test_every_document_is_served_or_replaced(
    cxl: Imported, documents: dict[str, dict[str, Any]]
) -> None:
    assert len(documents) == 198
    assert {*cxl.inventory, *cxl.wanted, *cxl.replaced} == set(documents)
    assert not cxl.inventory.keys() & cxl.wanted.keys()
    assert "/redfish/v1/SessionService" in cxl.replaced
    assert "/redfish/v1/Managers/FM1" in cxl.inventory


def test_zones_connections_and_endpoints_are_changeable(cxl: Imported) -> None:
    names = sorted(uri.rsplit("/", 2)[-2] for uri in cxl.wanted)
    assert names == ["Connections"] * 3 + ["Endpoints"] * 10 + ["Zones"] * 3


def test_inverse_links_are_not_stored(cxl: Imported) -> None:
    assert "Zones" not in cxl.wanted[f"{CXL}/Endpoints/T1"]["Links"]
    port = cxl.inventory[f"{CXL}/Switches/CXL/Ports/D3"]
    assert port["Links"].keys() == {"ConnectedPorts"}


def test_the_deprecated_ports_of_endpoints_stay_and_are_read(cxl: Imported) -> None:
    assert cxl.wanted[f"{CXL}/Endpoints/T1"]["Links"]["Ports"]
    units = {unit.id: unit for unit in cxl.facts.units}
    target = units["/redfish/v1/Chassis/PooledCXLType1/PCIeDevices/1"].target
    assert target is not None
    assert (target.switch, target.port, target.ld) == ("CXL", "D1", None)


def test_logical_devices_of_a_type3_device_bind_by_connection(cxl: Imported) -> None:
    units = {unit.id: unit for unit in cxl.facts.units}
    ld = units[f"{POOLED}/CXLLogicalDevices/6"]
    assert (ld.binder, ld.within) == (Binder.CONNECTION, POOLED)
    assert ld.target is not None
    assert (ld.target.port, ld.target.ld) == ("D3", 6)
    assert units[POOLED].binder is Binder.NOTHING
    # MaxNumberLogicalDevices is 16 there, but the device is of Type2.
    type2 = units["/redfish/v1/Chassis/PooledCXLType2/PCIeDevices/1"]
    assert type2.binder is Binder.ZONE


def test_its_zones_and_connections_are_bound_from_the_start(cxl: Imported) -> None:
    bound = {(binding.unit.split("/")[4], binding.target.ld): binding for binding in cxl.bindings}
    assert set(bound) == {
        ("PooledCXLType1", None),
        ("PooledCXLType2", None),
        ("PooledCXLType3", 1),
        ("PooledCXLType3", 6),
    }
    documented = bound["PooledCXLType3", 6].vppb
    assert (documented.vcs, documented.vppb) == ("1", 0)


def test_the_derived_inventory_is_sound_and_needs_no_added_switch(cxl: Imported) -> None:
    (inventory,) = cxl.fabrics
    assert defects(inventory) == []
    (switch,) = inventory.switches
    assert [vcs.id for vcs in switch.virtual_switches] == ["1", "2"]


def test_defects_name_what_contradicts(cxl: Imported) -> None:
    told = "\n".join(map(str, cxl.findings))
    assert "durable name GCXLID:4C-1D-96-FF-FE-DD-D8-35:0001 is used by" in told
    assert "PooledCXLType3/FabricAdapters/1/Ports/1: cabled to" in told
    assert f"{CXL}/Endpoints/T4: CONNECTION_NO_COMMON_ZONE (rule 3): ends share no zone" in told


def test_what_observation_owns_is_dropped(cxl: Imported) -> None:
    vppb = cxl.inventory[f"{CXL}/Switches/CXL/VCSs/1/VPPBs/1"]
    assert "BindingStatus" not in vppb
    assert "Port" not in vppb["Links"]
    assert "Status" not in cxl.wanted[f"{CXL}/Zones/1"]


def test_analysis_does_not_depend_on_the_order_of_documents(
    cxl: Imported, documents: dict[str, dict[str, Any]]
) -> None:
    assert analyse(dict(reversed(documents.items()))) == cxl


def test_a_host_without_a_virtual_switch_gets_one(documents: dict[str, dict[str, Any]]) -> None:
    without = {uri: each for uri, each in documents.items() if "/VCSs" not in uri}
    found = analyse(without)
    assert any("virtual switch 1 " in each.text for each in found.findings)
    assert len(found.bindings) == 4


def test_a_port_shared_by_two_devices_makes_them_one_unit(
    documents: dict[str, dict[str, Any]],
) -> None:
    changed = dict(documents)
    endpoint = dict(changed[f"{CXL}/Endpoints/T2"])
    endpoint["Links"] = changed[f"{CXL}/Endpoints/T1"]["Links"]
    changed[f"{CXL}/Endpoints/T2"] = endpoint
    found = analyse(changed)
    one = "/redfish/v1/Chassis/PooledCXLType1/PCIeDevices/1"
    other = "/redfish/v1/Chassis/PooledCXLType2/PCIeDevices/1"
    assert found.facts.entity_units[other] == frozenset({one})
    assert any("one unit" in each.text for each in found.findings)


@pytest.mark.parametrize(
    "name",
    [
        "public-cxl-multiswitch",
        "public-nvmeof-jbof",
        "public-sasfabric",
        "public-composability",
        "public-bladed-partitions",
        "public-rackmount1",
    ],
)
def test_other_public_mockups_are_understood(shared: Path, name: str) -> None:
    documents = mockup(shared, name)
    found = analyse(documents)
    composed = {uri for uri in found.wanted if uri.startswith("/redfish/v1/Systems/")}
    # What is below a composed system follows from its blocks.
    kept = {uri for uri in documents if not composed.intersection([*enclosing(uri)][1:])}
    assert {*found.inventory, *found.wanted, *found.replaced} == kept


@pytest.mark.parametrize(
    ("interface", "link"),
    [
        ({"MaxPCIeType": "Gen4", "MaxLanes": 8, "PCIeType": "Gen3", "LanesInUse": 4}, (4, 8)),
        ({"PCIeType": "Gen3", "LanesInUse": 4}, (3, 4)),
        ({"MaxPCIeType": "Gen99", "MaxLanes": 0}, (max(GT_PER_LANE), 16)),
        ("nonsense", (max(GT_PER_LANE), 16)),
        (None, (max(GT_PER_LANE), 16)),
    ],
)
def test_a_device_is_as_fast_as_it_says_and_else_as_its_port(
    documents: dict[str, dict[str, Any]], interface: object, link: tuple[int, int]
) -> None:
    found = {
        uri: {**each, "PCIeInterface": interface} if "PCIeDevice." in str(each) else each
        for uri, each in documents.items()
    }
    devices = [device for each in analyse(found).fabrics for device in each.devices]
    assert devices
    assert {(each.link.gen, each.link.lanes) for each in devices} == {link}
