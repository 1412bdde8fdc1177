"""What refusals name: resources that a client can GET, never an id of the inside."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from redfish_fm.fabric.model import Inventory
from redfish_fm.mapping.inventory import render_inventories
from redfish_fm.redfish.errors import Message, RedfishError
from tests.mapping.builders import MemoryTip, a_device, a_fabric, a_tip, links, zone_body
from tests.mapping.test_vppbs import GPU_PORT, NVME_PORT, SWITCH, port, vppb
from tests.mapping.test_writes import (
    CHUNK0,
    CHUNK1,
    CONNECTIONS,
    ENDPOINTS,
    GPU,
    H1,
    H2,
    LD0,
    LD1,
    POD,
    ZONES,
    connection_body,
)

LAB = "/redfish/v1/Fabrics/lab"
LAB_HOST = f"{LAB}/Endpoints/h1-2"

RESOURCES = {
    "Base.PropertyValueResourceConflict": 2,
    "Base.ResourceExhaustion": 0,
    "Base.ResourceCreationConflict": 0,
}
"""Message key -> the argument that is the URI of a resource."""


FIVE = ("gpu", "nvme", "nic", "fpga", "mem")
"""Devices that bind by their zone; a virtual switch has four vPPBs."""

GPU_ENTITY = {
    "EntityType": "Processor",
    "EntityRole": "Target",
    "EntityLink": {"@odata.id": GPU_PORT},
}


def refused(act: Callable[[], object]) -> tuple[Message, ...]:
    with pytest.raises(RedfishError) as caught:
        act()
    return caught.value.messages


def named(told: tuple[Message, ...]) -> list[str]:
    """Return the URIs of the resources that are told to be in the way."""
    return [each.args[RESOURCES[each.key]] for each in told if each.key in RESOURCES]


def two_fabrics() -> MemoryTip:
    lab = a_fabric("lab", "PCIe", devices=(a_device("gpu9"),), first_root_port=2)
    rendered = render_inventories([a_fabric(), lab])
    return MemoryTip(rendered.documents, rendered.facts)


def without_a_switch(host: str) -> Inventory:
    """Return a fabric in which `host` has a port, but no virtual switch behind it."""
    fabric = a_fabric()
    (switch,) = fabric.switches
    virtual = tuple(
        replace(each, host=None) if each.host == host else each for each in switch.virtual_switches
    )
    return replace(fabric, switches=(replace(switch, virtual_switches=virtual),))


REFUSALS: dict[str, Callable[[MemoryTip], Any]] = {
    "a foreign member": lambda tip: tip.post(ZONES, zone_body(LAB_HOST, GPU)),
    "two hosts in one zone": lambda tip: tip.post(ZONES, zone_body(H1, H2, GPU)),
    "a foreign member of a pool": lambda tip: tip.post(
        f"{POD}/AddressPools", {"Links": {"Endpoints": links(LAB_HOST)}}
    ),
    "a second host": lambda tip: (
        tip.post(ZONES, zone_body(H1, GPU)), tip.post(ZONES, zone_body(H2, GPU)),
    ),
    "a zone in a zone of zones": lambda tip: (
        uri := tip.post(ZONES, {"ZoneType": "ZoneOfZones"}).uri,
        tip.post(ZONES, {"ZoneType": "ZoneOfZones", "Links": {"ContainsZones": links(uri)}}),
    ),
    "an endpoint in a zone of zones": lambda tip: tip.post(
        ZONES, {"ZoneType": "ZoneOfZones", "Links": {"Endpoints": links(GPU)}}
    ),
    "an end outside of the zone": lambda tip: (
        tip.post(ZONES, zone_body(H1, GPU)),
        tip.post(CONNECTIONS, connection_body(H1, LD0, CHUNK0)),
    ),
    "a chunk of others": lambda tip: (
        tip.post(ZONES, zone_body(H1, LD0, LD1)),
        tip.post(CONNECTIONS, connection_body(H1, LD0, CHUNK1)),
    ),
    "an endpoint in use": lambda tip: (
        uri := tip.post(ENDPOINTS, {"ConnectedEntities": [GPU_ENTITY]}).uri,
        tip.post(ZONES, zone_body(H1, uri)),
        tip.delete(uri),
    ),
    "too few virtual ports": lambda tip: tip.post(
        ZONES, zone_body(H1, *(f"{ENDPOINTS}/{name}1" for name in FIVE))
    ),
    "a port with what others have": lambda tip: (
        tip.post(ZONES, zone_body(H2, GPU)), tip.patch(vppb(0), port(GPU_PORT)),
    ),
    "a virtual port in use": lambda tip: (
        tip.post(ZONES, zone_body(H1, GPU)), tip.patch(vppb(0), port(NVME_PORT)),
    ),
    "a device that is not there": lambda tip: (
        tip.statuses.update({GPU: ("Absent", "Critical")}),
        tip.post(ZONES, zone_body(H1, GPU)),
    ),
    "a port with a device that is not there": lambda tip: (
        tip.statuses.update({GPU: ("Absent", "Critical")}), tip.patch(vppb(0), port(GPU_PORT)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSALS)
def test_what_is_in_the_way_is_a_resource_that_is_there(what: str) -> None:
    tip = two_fabrics()
    found = named(refused(lambda: REFUSALS[what](tip)))
    assert found
    assert [uri for uri in found if not tip.exists(uri)] == []


def test_a_host_without_a_way_is_told_of_the_switch() -> None:
    tip = a_tip(without_a_switch("h2"))
    assert named(refused(lambda: tip.post(ZONES, zone_body(H2, GPU)))) == [SWITCH]
    told = refused(lambda: tip.patch(vppb(0, vcs=1), port(GPU_PORT)))
    assert [each.args for each in told] == [("Links/Port", GPU_PORT, SWITCH)]


def test_a_port_is_what_the_client_named_and_its_device_what_is_not_there() -> None:
    tip = two_fabrics()
    tip.statuses[GPU] = ("Absent", None)
    told = refused(lambda: tip.patch(vppb(0), port(GPU_PORT)))
    assert [each.args for each in told] == [("Links/Port", GPU_PORT, GPU)]
