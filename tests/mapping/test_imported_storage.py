"""A mockup's subsystem: which Storage its endpoints mean, its volumes, and who may have them."""

from pathlib import Path
from typing import Any

import pytest

from redfish_fm.fabric.inventory import defects
from redfish_fm.mapping.imported import analyse
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.writes import Write, WriteKind
from tests.mapping.builders import MemoryTip, imported_tip, links, mockup
from tests.mapping.test_writes import refusal

FABRIC = "/redfish/v1/Fabrics/NVMeoF"
STORAGE = "/redfish/v1/Storage/NVMeoF"
TARGET = f"{FABRIC}/Endpoints/Target1"


def volume(number: int) -> str:
    return f"{STORAGE}/Volumes/{number}"


@pytest.fixture(scope="module")
def documents(shared: Path) -> dict[str, dict[str, Any]]:
    return mockup(shared, "public-nvmeof-jbof")


@pytest.fixture
def tip(documents: dict[str, dict[str, Any]]) -> MemoryTip:
    return imported_tip(documents)


def connection(initiator: str, granted: str, **more: Any) -> dict[str, Any]:
    row = {"Volume": {"@odata.id": granted}, "AccessCapabilities": ["Read", "Write"]}
    ends = {"InitiatorEndpoints": links(f"{FABRIC}/Endpoints/{initiator}"), **more}
    return {"ConnectionType": "Storage", "VolumeInfo": [row], "Links": ends}


def test_an_endpoint_means_the_storage_that_has_its_name(tip: MemoryTip) -> None:
    assert tip.index.endpoints[TARGET].units == {STORAGE}
    assert tip.index.units[STORAGE].exclusive is False
    assert {*tip.index.volumes} == {volume(n) for n in (1, 2, 3, 4)}


def test_volumes_that_the_mockup_gives_two_hosts_are_defects_and_stay(
    documents: dict[str, dict[str, Any]],
) -> None:
    told = [each for each in map(str, analyse(documents).findings) if "HOST_SHARING" in each]
    assert {line.split(": ")[0] for line in told} == {volume(3), volume(4)}


def test_its_connections_stay_changeable(tip: MemoryTip) -> None:
    for number in (1, 2, 3):
        tip.patch(f"{FABRIC}/Connections/{number}", {"Description": "ours"})
    assert "ours" in tip.documents[f"{FABRIC}/Connections/3"].decode()


def test_a_volume_that_one_host_has_is_refused_to_the_other(tip: MemoryTip) -> None:
    for more in ({}, {"TargetEndpoints": links(TARGET)}):
        with refusal(409, "Base.ResourceInUse", f"{FABRIC}/Connections/1"):
            tip.post(f"{FABRIC}/Connections", connection("Initiator2", volume(1), **more))
    tip.delete(f"{FABRIC}/Connections/1")
    made = tip.post(f"{FABRIC}/Connections", connection("Initiator2", volume(1)))
    # No driver attaches it: nothing waits for hardware.
    assert made.operation is None


def test_a_connection_alone_tells_which_fabric_a_volume_is_of(
    documents: dict[str, dict[str, Any]],
) -> None:
    tip = imported_tip({uri: each for uri, each in documents.items() if uri != TARGET})
    tip.delete(f"{FABRIC}/Connections/1")
    tip.post(f"{FABRIC}/Connections", connection("Initiator2", volume(1)))


def test_no_volume_is_made_where_no_driver_can_make_one(tip: MemoryTip) -> None:
    body = {"CapacityBytes": 1 << 30}
    with refusal(400, "Base.ResourceCreationConflict", STORAGE):
        prepare(Write(WriteKind.CREATE, f"{STORAGE}/Volumes", "Volume", "tester", body), tip)


def test_ports_of_one_imported_device_are_numbered(shared: Path) -> None:
    documents = mockup(shared, "public-cxl")
    device = "/redfish/v1/Chassis/PooledCXLType1/PCIeDevices/1"
    first = analyse(documents).facts.resource_ports[device]
    second = f"{first.rpartition('/')[0]}/D9"
    ld, way = f"{device}/CXLLogicalDevices/2", "/redfish/v1/Fabrics/CXL/Endpoints/Way2"
    cxl = {**documents[device]["CXLDevice"], "DeviceType": "Type3", "MaxNumberLogicalDevices": 2}
    documents[device] = {**documents[device], "CXLDevice": cxl}
    entity = {"EntityType": "CXLDevice", "EntityRole": "Target", "EntityLink": {"@odata.id": ld}}
    for uri, kind, more in (
        (second, "#Port.v1_18_0.Port", {"PortType": "DownstreamPort"}),
        (ld, "#CXLLogicalDevice.v1_3_0.CXLLogicalDevice", {}),
        (
            way,
            "#Endpoint.v1_8_2.Endpoint",
            {"ConnectedEntities": [entity], "Links": {"ConnectedPorts": links(second)}},
        ),
    ):
        name = uri.rsplit("/", 1)[-1]
        documents[uri] = {"@odata.id": uri, "@odata.type": kind, "Id": name, "Name": name, **more}
    (found,) = analyse(documents).fabrics
    ports = [port for each in found.switches for port in each.ports]
    heads = {port.id.port: port.head for port in ports if port.device == device}
    assert heads == {first.rsplit("/", 1)[-1]: 1, "D9": 2}
    assert not [line for line in defects(found) if "head" in line]
