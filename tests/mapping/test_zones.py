"""Zones beyond binding: their type, who excludes whom, how many, and by which port a host comes."""

from dataclasses import replace
from typing import Any

import pytest

from redfish_fm.fabric.model import Inventory, PortId, PortRole, VirtualSwitch
from redfish_fm.redfish.writes import OutcomeKind
from tests.mapping.builders import MemoryTip, a_fabric, a_tip, imported_tip, links, zone_body
from tests.mapping.test_writes import (
    ENDPOINTS,
    GPU,
    H1,
    NIC,
    NVME,
    POD,
    TASK,
    ZONES,
    refusal,
)


@pytest.fixture
def tip() -> MemoryTip:
    return a_tip()


# -- the type --------------------------------------------------------------------------------


def test_a_zone_without_a_type_can_not_be_asked_for(tip: MemoryTip) -> None:
    with refusal(400, "Base.PropertyValueError", "#/ZoneType"):
        tip.post(ZONES, zone_body(H1, GPU, ZoneType=None))


@pytest.mark.parametrize("asked", ["ZoneOfZones", "Default", "ZoneOfResourceBlocks", None])
def test_a_zone_stays_what_it_is(tip: MemoryTip, asked: str | None) -> None:
    zone = tip.post(ZONES, zone_body()).uri
    with refusal(400, "Base.PropertyValueError", "#/ZoneType"):
        tip.patch(zone, {"ZoneType": asked})
    same = {"ZoneType": "ZoneOfEndpoints"}
    assert tip.patch(zone, same).kind is OutcomeKind.NO_OPERATION


def test_an_imported_zone_may_be_called_what_it_is(tip: MemoryTip) -> None:
    bare = {"@odata.id": f"{ZONES}/old", "@odata.type": "#Zone.v1_0_0.Zone", "Id": "old"}
    documents = {**tip.inventory, bare["@odata.id"]: bare}
    imported = imported_tip(documents)
    imported.patch(f"{ZONES}/old", {"Name": "still without a type"})
    imported.patch(f"{ZONES}/old", {"ZoneType": "ZoneOfEndpoints"})
    with refusal(400, "Base.PropertyValueError", "#/ZoneType"):
        imported.patch(f"{ZONES}/old", {"ZoneType": None})


def test_zones_of_zones_hold_no_endpoints_and_nest_once(tip: MemoryTip) -> None:
    inner = tip.post(ZONES, zone_body(H1, GPU)).uri
    outer = tip.post(ZONES, {"ZoneType": "ZoneOfZones", "Links": {"ContainsZones": links(inner)}})
    with refusal(400, "Base.PropertyValueResourceConflict", NVME, "#/Links/Endpoints/0"):
        tip.patch(outer.uri, {"Links": {"Endpoints": links(NVME)}})
    body = {"ZoneType": "ZoneOfZones", "Links": {"ContainsZones": links(outer.uri)}}
    with refusal(400, "Base.PropertyValueResourceConflict", outer.uri):
        tip.post(ZONES, body)


def test_a_zone_under_change_is_not_contained_but_what_can_never_be_is_told(
    tip: MemoryTip,
) -> None:
    inner = tip.post(ZONES, zone_body(H1, GPU)).uri
    tip.tasks[inner] = TASK
    body: dict[str, Any] = {"ZoneType": "ZoneOfZones", "Links": {"ContainsZones": links(inner)}}
    with refusal(409, "TaskEvent.TaskStarted", TASK):
        tip.post(ZONES, body)
    body["Links"]["ContainsZones"] += links(f"{ZONES}/none")
    with refusal(400, "Base.ResourceMissingAtURI", f"{ZONES}/none"):
        tip.post(ZONES, body)


# -- limits ----------------------------------------------------------------------------------


def test_the_fabric_holds_as_many_zones_as_it_says() -> None:
    tip = a_tip(replace(a_fabric(), max_zones=1))
    zone = tip.post(ZONES, zone_body()).uri
    with refusal(409, "Base.CreateLimitReachedForResource"):
        tip.post(ZONES, zone_body())
    tip.patch(zone, {"Name": "it may change"})
    tip.delete(zone)
    tip.post(ZONES, zone_body())


def target(**links_of: Any) -> dict[str, Any]:
    entity = {"EntityType": "Drive", "EntityRole": "Target",
              "EntityLink": {"@odata.id": "/redfish/v1/Chassis/nvme1/Drives/nvme1"}}  # fmt: skip
    return {"ConnectedEntities": [entity], "Links": links_of}


def test_endpoints_that_exclude_each_other_are_never_zoned_together(tip: MemoryTip) -> None:
    shy = tip.post(ENDPOINTS, target(MutuallyExclusiveEndpoints=links(NIC))).uri
    for order in ((shy, NIC), (NIC, shy)):
        with refusal(409, "Base.PropertyValueResourceConflict", shy, NIC):
            tip.post(ZONES, zone_body(H1, *order))
    zone = tip.post(ZONES, zone_body(H1, shy)).uri
    with refusal(409, "Base.PropertyValueResourceConflict", NIC):
        tip.act(zone, "Zone.AddEndpoint", Endpoint=NIC)


def test_an_endpoint_excludes_endpoints_that_are_there(tip: MemoryTip) -> None:
    missing = f"{ENDPOINTS}/none"
    with refusal(400, "Base.ResourceMissingAtURI", missing, "MutuallyExclusiveEndpoints/0"):
        tip.post(ENDPOINTS, target(MutuallyExclusiveEndpoints=links(missing)))
    system = "/redfish/v1/Systems/h1"
    with refusal(400, "Base.PropertyValueResourceConflict", system):
        tip.post(ENDPOINTS, target(MutuallyExclusiveEndpoints=links(system)))


# -- ways ------------------------------------------------------------------------------------


def two_ways(vppb_count: int = 4) -> Inventory:
    """Return the pod with a second cable from h1 to the same switch, at port 9, and its VCS."""
    pod = a_fabric()
    (switch,) = pod.switches
    first = switch.ports[0]
    second = replace(first, id=PortId(switch.id, "9"), host_port=2)
    assert first.role is PortRole.UPSTREAM
    ways = VirtualSwitch("9", switch.id, "9", "h1", vppb_count)
    grown = replace(
        switch,
        ports=(*switch.ports, second),
        virtual_switches=(*switch.virtual_switches, ways),
    )
    return replace(pod, switches=(grown,))


@pytest.mark.parametrize(
    ("named", "vcs"), [(("h1-2",), "9"), (("h1-1",), "0"), (("h1-2", "h1-1"), "0")]
)
def test_the_port_by_which_a_host_is_named_is_the_one_that_binds(
    named: tuple[str, ...], vcs: str
) -> None:
    tip = a_tip(two_ways())
    zone = tip.post(ZONES, zone_body(*(f"{POD}/Endpoints/{name}" for name in named), GPU, NVME))
    bindings = tip.index.bindings_of_holder(zone.uri)
    assert [each.vppb.vcs for each in bindings] == [vcs, vcs]


def test_where_the_named_port_has_no_room_the_other_way_of_the_host_binds() -> None:
    tip = a_tip(two_ways(vppb_count=1))
    zone = tip.post(ZONES, zone_body(f"{POD}/Endpoints/h1-2", GPU, NVME))
    bindings = tip.index.bindings_of_holder(zone.uri)
    assert [each.vppb.vcs for each in bindings] == ["0", "0"]


def test_a_host_named_without_a_port_comes_by_the_lowest(tip: MemoryTip) -> None:
    tip = a_tip(two_ways())
    entity = {"EntityRole": "Initiator", "EntityLink": {"@odata.id": "/redfish/v1/Systems/h1"}}
    host = tip.post(ENDPOINTS, {"ConnectedEntities": [entity]}).uri
    zone = tip.post(ZONES, zone_body(host, GPU)).uri
    assert [each.vppb.vcs for each in tip.index.bindings_of_holder(zone)] == ["0"]
