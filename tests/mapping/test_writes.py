"""Writes judged on a discovered fabric: preconditions, zones, connections, endpoints, overlays."""

import json
from typing import Any

import pytest

from redfish_fm.fabric.model import VppbId
from redfish_fm.mapping.drafts import TakeBack
from redfish_fm.mapping.writes import prepare
from redfish_fm.redfish.changes import Space
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import OutcomeKind, Write, WriteKind
from tests.mapping.builders import MemoryTip, a_fabric, a_tip, links, zone_body

POD = "/redfish/v1/Fabrics/pod"
ZONES, CONNECTIONS, ENDPOINTS = f"{POD}/Zones", f"{POD}/Connections", f"{POD}/Endpoints"
H1, H2 = f"{ENDPOINTS}/h1-1", f"{ENDPOINTS}/h2-1"
GPU, NVME, NIC = (f"{ENDPOINTS}/{name}" for name in ("gpu1", "nvme1", "nic1"))
LD0, LD1 = f"{ENDPOINTS}/mem2-ld0", f"{ENDPOINTS}/mem2-ld1"
CHUNK0, CHUNK1 = (
    f"/redfish/v1/Chassis/mem2/MemoryDomains/{number}/MemoryChunks/1" for number in (0, 1)
)
TASK = "/redfish/v1/TaskService/Tasks/7"


@pytest.fixture
def tip() -> MemoryTip:
    return a_tip()


def refusal(status: int, key: str, *names: str) -> Any:
    def matches(error: RedfishError) -> bool:
        told = [(each.key, *each.args, *each.related) for each in error.messages]
        assert error.status == status, told
        assert key in [each.key for each in error.messages], told
        assert all(name in str(told) for name in names), told
        return True

    return pytest.raises(RedfishError, check=matches)


def connection_body(initiator: str, target: str, *chunks: str) -> dict[str, Any]:
    return {
        "ConnectionType": "Memory",
        "MemoryChunkInfo": [
            {"AccessCapabilities": ["Read", "Write"], "MemoryChunk": {"@odata.id": chunk}}
            for chunk in chunks
        ],
        "Links": {"InitiatorEndpoints": links(initiator), "TargetEndpoints": links(target)},
    }


# -- zones -----------------------------------------------------------------------------------


def test_a_zone_binds_its_targets_to_its_host(tip: MemoryTip) -> None:
    draft = tip.post(ZONES, zone_body(H1, GPU, NVME, Name="mine"))
    assert (draft.kind, draft.uri) == (OutcomeKind.CREATED, f"{ZONES}/1")
    operation = draft.operation
    assert operation is not None
    assert operation.resources == {draft.uri}
    assert operation.take_back is TakeBack.DELETE
    assert {each.host for each in operation.granted} == {"/redfish/v1/Systems/h1"}
    assert {each.vppb for each in operation.granted} == {
        VppbId("pod-sw", "0", 0),
        VppbId("pod-sw", "0", 1),
    }
    assert {edit.space for edit in draft.edits} == {Space.DOCUMENT, Space.BINDING}
    assert set(tip.index.bindings_of_holder(draft.uri)) == set(operation.granted)


def test_a_created_zone_has_the_services_type_and_no_service_made_properties(
    tip: MemoryTip,
) -> None:
    body = zone_body(H1, GPU + "/", Name="mine", Oem={"X": {"Y": 1}})
    body |= {"@odata.type": "#Zone.v1_0_0.Zone", "Status": {"State": "Enabled"}}
    body["Links"]["ContainedByZones"] = links(f"{ZONES}/9")
    document = tip.document(tip.post(ZONES, body).uri)
    assert document == {
        "@odata.id": f"{ZONES}/1",
        "@odata.type": "#Zone.v1_6_3.Zone",
        "Id": "1",
        "Name": "mine",
        "Links": {"Endpoints": links(H1, GPU)},
        "Oem": {"X": {"Y": 1}},
        "ZoneType": "ZoneOfEndpoints",
    }


def test_a_name_is_made_where_none_is_given(tip: MemoryTip) -> None:
    document = tip.document(tip.post(ZONES, zone_body()).uri)
    assert document is not None
    assert document["Name"] == "Zone 1"


def test_a_free_id_is_honoured_and_a_taken_one_refused(tip: MemoryTip) -> None:
    assert tip.post(ZONES, zone_body(Id="blue")).uri == f"{ZONES}/blue"
    with refusal(409, "Base.ResourceAlreadyExists", "blue", "#/Id"):
        tip.post(ZONES, zone_body(Id="blue"))


@pytest.mark.parametrize("bad", ["", "a/b", "a b", "..", "a%20b", "ä", 7, "Members"])
def test_an_id_that_is_no_uri_segment_is_refused(tip: MemoryTip, bad: object) -> None:
    with refusal(400, "Base.PropertyValueFormatError", "#/Id"):
        tip.post(ZONES, zone_body(Id=bad))


def test_a_service_made_id_avoids_what_a_client_chose(tip: MemoryTip) -> None:
    tip.post(ZONES, zone_body(Id="2"))
    assert tip.post(ZONES, zone_body()).uri == f"{ZONES}/2-1"


def test_a_second_host_in_one_zone_is_refused_naming_it(tip: MemoryTip) -> None:
    with refusal(409, "Base.ResourceInUse", H2):
        tip.post(ZONES, zone_body(H1, H2, GPU))
    assert tip.documents == {}


def test_a_taken_device_is_refused_naming_endpoint_and_zone(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    with refusal(409, "Base.PropertyValueResourceConflict", GPU, zone, "#/Links/Endpoints/1"):
        tip.post(ZONES, zone_body(H2, GPU))


def test_deleting_a_zone_releases_and_frees_the_device_for_another_host(tip: MemoryTip) -> None:
    draft = tip.post(ZONES, zone_body(H1, GPU))
    assert draft.operation is not None
    gone = tip.delete(draft.uri)
    assert gone.kind is OutcomeKind.DELETED
    assert gone.operation is not None
    assert gone.operation.released == draft.operation.granted
    assert gone.operation.take_back is TakeBack.NOTHING
    assert tip.index.bindings == {}
    tip.post(ZONES, zone_body(H2, GPU))


def test_a_patch_swaps_devices_in_one_commit(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    draft = tip.patch(zone, zone_body(H1, NVME))
    assert draft.kind is OutcomeKind.CHANGED
    operation = draft.operation
    assert operation is not None
    assert [each.unit.rsplit("/", 1)[-1] for each in operation.granted] == ["nvme1"]
    assert [each.unit.rsplit("/", 1)[-1] for each in operation.released] == ["gpu1"]
    assert operation.take_back is TakeBack.REMOVE_MEMBERS
    assert list(operation.added) == [NVME]


def test_a_patch_to_the_same_value_does_nothing(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    draft = tip.patch(zone, zone_body(H1, GPU))
    assert (draft.kind, draft.edits, draft.operation) == (OutcomeKind.NO_OPERATION, (), None)


def test_a_patch_of_only_annotations_does_nothing(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    assert tip.patch(zone, {"@odata.id": zone}).kind is OutcomeKind.NO_OPERATION


def test_add_and_remove_endpoint_bind_and_unbind(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1)).uri
    added = tip.act(zone, "Zone.AddEndpoint", Endpoint={"@odata.id": GPU})
    assert added.operation is not None
    assert len(added.operation.granted) == 1
    again = tip.act(zone, "Zone.AddEndpoint", Endpoint=GPU)
    assert again.kind is OutcomeKind.NO_OPERATION
    removed = tip.act(zone, "Zone.RemoveEndpoint", Endpoint=GPU)
    assert removed.operation is not None
    assert removed.operation.released == added.operation.granted
    assert tip.act(zone, "Zone.RemoveEndpoint", Endpoint=GPU).kind is OutcomeKind.NO_OPERATION


def test_an_action_without_its_endpoint_is_refused(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1)).uri
    with refusal(400, "Base.ActionParameterMissing", "Endpoint"):
        tip.act(zone, "Zone.AddEndpoint")


def test_an_unknown_action_is_not_supported(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1)).uri
    with refusal(400, "Base.ActionNotSupported", "Zone.Explode"):
        tip.act(zone, "Zone.Explode")


@pytest.mark.parametrize("zone_type", ["Default", "ZoneOfResourceBlocks", "Bogus"])
def test_zone_types_that_are_not_for_clients_are_refused(tip: MemoryTip, zone_type: str) -> None:
    with refusal(400, "Base.PropertyValueError", "ZoneType"):
        tip.post(ZONES, zone_body(ZoneType=zone_type))


def test_a_zone_of_zones_holds_zones_and_binds_nothing(tip: MemoryTip) -> None:
    inner = tip.post(ZONES, zone_body(H1, GPU)).uri
    body = {"ZoneType": "ZoneOfZones", "Links": {"ContainsZones": links(inner)}}
    draft = tip.post(ZONES, body)
    assert draft.operation is None
    with refusal(400, "Base.PropertyValueResourceConflict", draft.uri):
        tip.post(ZONES, {"ZoneType": "ZoneOfZones", "Links": {"ContainsZones": links(draft.uri)}})


def test_a_zone_leaves_the_zone_that_contains_it_when_it_is_deleted(tip: MemoryTip) -> None:
    inner, kept = (tip.post(ZONES, zone_body(Id=name)).uri for name in ("inner", "kept"))
    body = {"ZoneType": "ZoneOfZones", "Links": {"ContainsZones": links(inner, kept)}}
    outer = tip.post(ZONES, body).uri
    tip.delete(inner)
    found = tip.document(outer)
    assert found is not None
    assert found["Links"]["ContainsZones"] == links(kept)
    assert tip.index.zones[outer].zones == (kept,)


@pytest.mark.parametrize("asked", ["GloballyAccessible", "NonZonedAccessible"])
def test_access_from_outside_a_zone_is_refused_where_zones_bind(tip: MemoryTip, asked: str) -> None:
    with refusal(400, "Base.PropertyValueNotInList", asked, "#/ExternalAccessibility"):
        tip.post(ZONES, zone_body(ExternalAccessibility=asked))
    zone = tip.post(ZONES, zone_body(ExternalAccessibility="ZoneOnly")).uri
    with refusal(400, "Base.PropertyValueNotInList", asked):
        tip.patch(zone, {"ExternalAccessibility": asked})


def test_a_refused_bind_names_the_endpoint_that_the_client_named(tip: MemoryTip) -> None:
    entity = {"EntityType": "Processor", "EntityRole": "Target"}
    device = tip.document(GPU)
    assert device is not None
    link = device["ConnectedEntities"][0]["EntityLink"]
    tip.post(ENDPOINTS, {"Id": "aaa", "ConnectedEntities": [{**entity, "EntityLink": link}]})
    stranger = {"EntityType": "RootComplex", "EntityRole": "Initiator"}
    body = {"Id": "stranger", "ConnectedEntities": [stranger]}
    tip.post(ENDPOINTS, body)
    with refusal(409, "Base.PropertyValueResourceConflict", GPU):
        tip.post(ZONES, zone_body(f"{ENDPOINTS}/stranger", GPU))


def test_an_endpoint_named_by_its_switch_port_is_the_device_plugged_in_there(
    tip: MemoryTip,
) -> None:
    device = tip.document(GPU)
    assert device is not None
    port = device["Links"]["ConnectedPorts"][0]
    entity = {"EntityType": "Processor", "EntityRole": "Target", "EntityLink": port}
    alias = tip.post(ENDPOINTS, {"ConnectedEntities": [entity]}).uri
    assert tip.index.endpoints[alias].units == tip.index.endpoints[GPU].units
    tip.post(ZONES, zone_body(H1, GPU))
    with refusal(409, "Base.ResourceInUse", alias):
        tip.post(ZONES, zone_body(H2, alias))


def test_a_default_zone_is_not_deletable(tip: MemoryTip) -> None:
    uri = f"{ZONES}/default"
    tip.documents[uri] = json.dumps(
        {"@odata.id": uri, "@odata.type": "#Zone.v1_6_3.Zone", "ZoneType": "Default"}
    ).encode()
    with refusal(405, "Base.OperationNotAllowed"):
        tip.delete(uri)


def test_no_vppb_left_is_refused(tip: MemoryTip) -> None:
    tip = a_tip(a_fabric(vppbs=1))
    tip.post(ZONES, zone_body(H1, GPU))
    with refusal(409, "Base.ResourceExhaustion"):
        tip.post(ZONES, zone_body(H1, NVME))


def test_an_occupied_vppb_is_not_granted(tip: MemoryTip) -> None:
    tip.occupied = frozenset({VppbId("pod-sw", "0", 0)})
    draft = tip.post(ZONES, zone_body(H1, GPU))
    assert draft.operation is not None
    assert draft.operation.granted[0].vppb == VppbId("pod-sw", "0", 1)


def test_a_swap_needs_no_second_vppb() -> None:
    tip = a_tip(a_fabric(vppbs=1))
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    draft = tip.patch(zone, zone_body(H1, NVME))
    assert draft.operation is not None
    (granted,), (released,) = draft.operation.granted, draft.operation.released
    assert granted.vppb == released.vppb
    assert set(tip.index.bindings.values()) == {granted}


def test_an_absent_target_is_refused(tip: MemoryTip) -> None:
    tip.statuses[GPU] = ("Absent", "Critical")
    with refusal(409, "Base.PropertyValueResourceConflict", GPU, "#/Links/Endpoints/1"):
        tip.post(ZONES, zone_body(H1, GPU))


# -- connections -----------------------------------------------------------------------------


def test_a_logical_device_binds_by_connection_only(tip: MemoryTip) -> None:
    assert tip.post(ZONES, zone_body(H1, LD0)).operation is None
    draft = tip.post(CONNECTIONS, connection_body(H1, LD0, CHUNK0))
    assert draft.operation is not None
    (granted,) = draft.operation.granted
    assert (granted.target.ld, granted.holders) == (0, frozenset({draft.uri}))


def test_two_logical_devices_of_one_mld_go_to_two_hosts(tip: MemoryTip) -> None:
    tip.post(ZONES, zone_body(H1, LD0))
    tip.post(ZONES, zone_body(H2, LD1))
    tip.post(CONNECTIONS, connection_body(H1, LD0, CHUNK0))
    tip.post(CONNECTIONS, connection_body(H2, LD1, CHUNK1))
    assert {each.host[-2:] for each in tip.index.bindings.values()} == {"h1", "h2"}


def test_a_logical_device_without_a_chunk_is_refused(tip: MemoryTip) -> None:
    tip.post(ZONES, zone_body(H1, LD0))
    with refusal(400, "Base.PropertyMissing", "MemoryChunkInfo"):
        tip.post(CONNECTIONS, connection_body(H1, LD0))


def test_a_chunk_of_another_target_is_refused(tip: MemoryTip) -> None:
    tip.post(ZONES, zone_body(H1, LD0))
    with refusal(400, "Base.PropertyValueResourceConflict", CHUNK1):
        tip.post(CONNECTIONS, connection_body(H1, LD0, CHUNK1))


def test_an_unknown_chunk_is_refused(tip: MemoryTip) -> None:
    tip.post(ZONES, zone_body(H1, LD0))
    with refusal(400, "Base.ResourceMissingAtURI", "/nowhere"):
        tip.post(CONNECTIONS, connection_body(H1, LD0, "/nowhere"))


def test_endpoints_and_groups_of_one_side_exclude_each_other(tip: MemoryTip) -> None:
    body = connection_body(H1, LD0, CHUNK0)
    body["Links"]["InitiatorEndpointGroups"] = links(f"{POD}/EndpointGroups/1")
    with refusal(400, "Base.PropertyValueConflict", "InitiatorEndpointGroups"):
        tip.post(CONNECTIONS, body)


def test_a_zone_that_a_connection_needs_stays(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, LD0)).uri
    connection = tip.post(CONNECTIONS, connection_body(H1, LD0, CHUNK0)).uri
    with refusal(409, "Base.ResourceInUse", connection):
        tip.delete(zone)
    tip.delete(connection)
    tip.delete(zone)


def test_a_connection_does_not_rest_on_a_zone_that_may_be_taken_back(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU, LD0)).uri
    tip.tasks[zone] = TASK
    with refusal(409, "TaskEvent.TaskStarted", TASK):
        tip.post(CONNECTIONS, connection_body(H1, LD0, CHUNK0))


def test_patching_away_a_chunk_releases_its_logical_device(tip: MemoryTip) -> None:
    tip.post(ZONES, zone_body(H1, LD0, LD1))
    body = connection_body(H1, LD0, CHUNK0, CHUNK1)
    body["Links"]["TargetEndpoints"] = links(LD0, LD1)
    connection = tip.post(CONNECTIONS, body).uri
    patch = {"MemoryChunkInfo": [{}], "Links": {"TargetEndpoints": [{}]}}
    draft = tip.patch(connection, patch)
    assert draft.operation is not None
    assert [each.target.ld for each in draft.operation.released] == [1]
    assert draft.operation.granted == ()


# -- endpoints -------------------------------------------------------------------------------


def entity(role: str | None = "Target", link: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"EntityType": "Processor"}
    if role is not None:
        found["EntityRole"] = role
    if link is not None:
        found["EntityLink"] = {"@odata.id": link}
    return found


def test_a_port_has_one_initiator_endpoint(tip: MemoryTip) -> None:
    port = f"{POD}/Switches/pod-sw/Ports/0"
    body = {"ConnectedEntities": [entity("Initiator")], "Links": {"ConnectedPorts": links(port)}}
    with refusal(409, "Base.ResourceInUse", port, H1):
        tip.post(ENDPOINTS, body)


def test_an_endpoint_needs_entities(tip: MemoryTip) -> None:
    with refusal(400, "Base.PropertyMissing", "ConnectedEntities"):
        tip.post(ENDPOINTS, {"ConnectedEntities": []})


def test_an_entity_that_is_not_there_is_refused_naming_it(tip: MemoryTip) -> None:
    gone = "/redfish/v1/Chassis/gpu1/PCIeDevices/none"
    with refusal(400, "Base.ResourceMissingAtURI", gone, "#/ConnectedEntities/0/EntityLink"):
        tip.post(ENDPOINTS, {"ConnectedEntities": [entity(link=gone)]})


def test_an_entity_without_a_role_is_refused(tip: MemoryTip) -> None:
    with refusal(400, "Base.PropertyMissing", "EntityRole"):
        tip.post(ENDPOINTS, {"ConnectedEntities": [entity(None)]})


def test_a_second_endpoint_of_a_taken_device_gives_no_second_way_in(tip: MemoryTip) -> None:
    tip.post(ZONES, zone_body(H1, GPU))
    link = "/redfish/v1/Chassis/gpu1/Processors/gpu1"
    alias = tip.post(ENDPOINTS, {"ConnectedEntities": [entity(link=link)]}).uri
    with refusal(409, "Base.ResourceInUse", alias):
        tip.post(ZONES, zone_body(H2, alias))


def test_an_endpoint_in_a_zone_can_not_be_deleted_or_change_its_meaning(tip: MemoryTip) -> None:
    link = "/redfish/v1/Chassis/gpu1/Processors/gpu1"
    alias = tip.post(ENDPOINTS, {"ConnectedEntities": [entity(link=link)]}).uri
    zone = tip.post(ZONES, zone_body(H1, alias)).uri
    with refusal(409, "Base.ResourceInUse", zone):
        tip.delete(alias)
    with refusal(409, "Base.ResourceInUse", zone):
        other = "/redfish/v1/Chassis/fpga1/Processors/fpga1"
        tip.patch(alias, {"ConnectedEntities": [entity(link=other)]})
    assert tip.patch(alias, {"Name": "alias"}).kind is OutcomeKind.CHANGED
    tip.delete(zone)
    tip.delete(alias)
    assert not tip.exists(alias)


def test_a_discovered_endpoint_can_not_be_deleted(tip: MemoryTip) -> None:
    with refusal(409, "Base.ResourceCannotBeDeleted"):
        tip.delete(GPU)


# -- preconditions ---------------------------------------------------------------------------


def test_nothing_there_is_404(tip: MemoryTip) -> None:
    with refusal(404, "Base.ResourceMissingAtURI", f"{ZONES}/none"):
        tip.patch(f"{ZONES}/none", {"Name": "x"})


def test_if_match_compares_what_clients_wrote(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1)).uri
    tag = f"{tip.wanted_tag(zone)}.ffff"
    assert tip.patch(zone, {"Name": "b"}, if_match=tag).kind is OutcomeKind.CHANGED
    with refusal(412, "Base.PreconditionFailed"):
        tip.patch(zone, {"Name": "c"}, if_match=tag)


def test_etag_parameters_are_428_and_empty_means_absent(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1)).uri
    with refusal(428, "Base.PreconditionRequired", "ZoneETag"):
        tip.act(zone, "Zone.AddEndpoint", Endpoint=GPU, ZoneETag='"0.0"', EndpointETag="")
    with refusal(428, "Base.PreconditionRequired", "EndpointETag"):
        tip.act(zone, "Zone.AddEndpoint", Endpoint=GPU, EndpointETag='"0.0"')
    good = f'W/"{tip.wanted_tag(zone)}.0"'
    tip.act(zone, "Zone.AddEndpoint", Endpoint=GPU, ZoneETag=good, EndpointETag="")


def test_an_id_is_not_free_while_its_operation_is_open(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU, Id="blue")).uri
    tip.tasks[zone] = TASK
    tip.delete(zone)
    with refusal(409, "TaskEvent.TaskStarted", TASK):
        tip.post(ZONES, zone_body(Id="blue"))


def test_a_resource_under_change_takes_only_delete(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    tip.tasks[zone] = TASK
    with refusal(409, "Base.ResourceInUse", TASK):
        tip.patch(zone, {"Name": "x"})
    with refusal(409, "TaskEvent.TaskStarted", TASK):
        tip.act(zone, "Zone.AddEndpoint", Endpoint=NVME)
    assert tip.delete(zone).kind is OutcomeKind.DELETED


def test_a_stale_tag_wins_over_busy_and_bad_content_too(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    tip.tasks[zone] = TASK
    with refusal(412, "Base.PreconditionFailed"):
        tip.patch(zone, {"Name": "x"}, if_match="0.0")
    with refusal(400, "Base.ResourceMissingAtURI", "/none"):
        tip.patch(zone, zone_body("/none"))


def test_a_refused_write_changes_nothing(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    before = (dict(tip.documents), tip.index.snapshot())
    with refusal(409, "Base.ResourceInUse"):
        tip.patch(zone, zone_body(H1, NVME, H2))
    assert (tip.documents, tip.index.snapshot()) == before


# -- the rest --------------------------------------------------------------------------------


def test_a_patch_over_inventory_is_an_overlay(tip: MemoryTip) -> None:
    system = "/redfish/v1/Systems/h1"
    draft = tip.patch(system, {"AssetTag": "A-1"})
    (edit,) = draft.edits
    assert (edit.space, edit.key, edit.pre) == (Space.OVERLAY, system, None)
    assert edit.post == b'{"AssetTag":"A-1"}'
    tip.patch(system, {"AssetTag": "A-2", "Location": {"Placement": {"Rack": "r1"}}})
    tip.patch(system, {"Location": {"Placement": {"Row": "north"}}})
    document = tip.document(system)
    assert document is not None
    assert document["AssetTag"] == "A-2"
    assert document["Location"] == {"Placement": {"Rack": "r1", "Row": "north"}}
    assert tip.patch(system, {"AssetTag": "A-2"}).kind is OutcomeKind.NO_OPERATION


def test_a_null_in_an_overlay_takes_the_property_away(tip: MemoryTip) -> None:
    system = "/redfish/v1/Systems/h1"
    tip.patch(system, {"HostName": None})
    document = tip.document(system)
    assert document is not None
    assert "HostName" not in document


def test_secrets_never_reach_a_document(tip: MemoryTip) -> None:
    with refusal(400, "Base.PropertyNotWritable", "Password"):
        tip.patch("/redfish/v1/Systems/h1", {"Password": "hunter2"})


def test_only_the_known_collections_take_a_post(tip: MemoryTip) -> None:
    write = Write(WriteKind.CREATE, "/redfish/v1/Chassis", "Chassis", "tester")
    with refusal(405, "Base.OperationNotAllowed"):
        prepare(write, tip)


def test_the_index_equals_one_rebuilt_from_the_documents(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU, LD0)).uri
    tip.post(CONNECTIONS, connection_body(H1, LD0, CHUNK0))
    tip.patch(zone, {"Links": {"Endpoints": [*links(H1, NVME, LD0)]}})
    rebuilt = MemoryTip(tip.inventory, tip.facts, dict(reversed(tip.documents.items())))
    for binding in tip.index.bindings.values():
        rebuilt.index.put_binding(binding)
    assert rebuilt.index.snapshot() == tip.index.snapshot()
