"""Operation records: bytes and back, the Task they show, and what taking grants back means."""

from dataclasses import replace

import msgspec
import pytest

from redfish_fm.fabric.binding import Claim
from redfish_fm.fabric.model import BindTarget, Qos, VppbId
from redfish_fm.fabric.values import Allocation, Binding, Chunk, QosWish
from redfish_fm.mapping.bindings import binding_edit, binding_key, decode_binding, encode_binding
from redfish_fm.mapping.drafts import Draft, TakeBack
from redfish_fm.mapping.granting import Grant, to_draft
from redfish_fm.mapping.membership import pointers, with_members_left, without_members
from redfish_fm.mapping.operations import (
    Operation,
    decode_operation,
    encode_operation,
    new_operation,
    still_wanted,
    take_back,
)
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.writes import OutcomeKind
from tests.mapping.builders import MemoryTip, a_tip, zone_body

POD = "/redfish/v1/Fabrics/pod"
ZONES, ENDPOINTS = f"{POD}/Zones", f"{POD}/Endpoints"
H1, GPU, NVME = (f"{ENDPOINTS}/{name}" for name in ("h1-1", "gpu1", "nvme1"))
NOW = "2026-12-01T03:04:05Z"


@pytest.fixture
def tip() -> MemoryTip:
    return a_tip()


def opened(draft: Draft) -> Operation:
    return new_operation("7", draft, "alice", NOW)


def test_a_binding_survives_its_bytes() -> None:
    binding = Binding(
        "pod", "/u", "/h", VppbId("s", "1", 2), BindTarget("s", "33", 4), frozenset("abcdefgh")
    )
    assert decode_binding(encode_binding(binding)) == binding
    again = replace(binding, holders=frozenset("hgfedcba"))
    assert encode_binding(again) == encode_binding(binding)
    assert binding_key(binding) == "pod|s|1|2"


def test_a_binding_edit_needs_a_side() -> None:
    with pytest.raises(ValueError, match="one side"):
        binding_edit(None, None)


def test_an_operation_survives_its_bytes(tip: MemoryTip) -> None:
    tip.post(ZONES, zone_body(H1, GPU))
    operation = opened(tip.patch(f"{ZONES}/1", zone_body(H1, NVME)))
    operation = replace(operation, messages=(Message("Base.OperationFailed", ("a",), ("#/b",)),))
    assert decode_operation(encode_operation(operation)) == operation


def test_an_operation_of_an_earlier_version_is_still_read(tip: MemoryTip) -> None:
    operation = opened(tip.post(ZONES, zone_body(H1, GPU)))
    stored = msgspec.json.decode(encode_operation(operation))
    for later in ("payload", "told"):
        del stored[later]
    assert decode_operation(msgspec.json.encode(stored)) == operation


def test_only_hardware_work_opens_an_operation(tip: MemoryTip) -> None:
    with pytest.raises(ValueError, match="hardware"):
        opened(tip.post(ZONES, zone_body(H1)))


def test_a_created_zone_is_deleted_with_all_its_grants(tip: MemoryTip) -> None:
    operation = opened(tip.post(ZONES, zone_body(H1, GPU, NVME)))
    edits = take_back(tip, operation)
    tip.apply(edits)
    assert tip.documents == {}
    assert tip.index.bindings == {}
    assert {edit.post for edit in edits} == {None}


def test_of_a_patched_zone_only_the_added_members_go(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    operation = opened(tip.patch(zone, zone_body(H1, GPU, NVME)))
    tip.apply(take_back(tip, operation))
    assert tip.index.zones[zone].endpoints == (H1, GPU)
    assert [each.unit[-4:] for each in tip.index.bindings.values()] == ["gpu1"]


def test_what_was_released_never_comes_back(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    operation = opened(tip.patch(zone, zone_body(H1, NVME)))
    edits = take_back(tip, operation)
    tip.apply(edits)
    assert tip.index.zones[zone].endpoints == (H1,)
    assert tip.index.bindings == {}
    assert not [edit for edit in edits if edit.space is Space.BINDING and edit.post is not None]


def test_a_release_has_nothing_to_take_back(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    operation = opened(tip.delete(zone))
    assert operation.kind is OutcomeKind.DELETED
    assert operation.take_back is TakeBack.NOTHING
    assert take_back(tip, operation) == ()


def test_what_a_write_added_without_a_grant_stays(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    ld = f"{ENDPOINTS}/mem2-ld0"
    operation = opened(tip.patch(zone, zone_body(H1, ld)))
    assert take_back(tip, operation) == ()
    assert tip.index.zones[zone].endpoints == (H1, ld)


def test_what_a_client_deleted_meanwhile_is_left_alone(tip: MemoryTip) -> None:
    draft = tip.post(ZONES, zone_body(H1, GPU))
    operation = opened(draft)
    tip.delete(draft.uri)
    assert take_back(tip, operation) == ()


def test_a_vppb_that_serves_another_meanwhile_is_left_alone(tip: MemoryTip) -> None:
    draft = tip.post(ZONES, zone_body(H1, GPU))
    operation = opened(draft)
    tip.delete(draft.uri)
    tip.post(ZONES, zone_body(H1, NVME))
    assert take_back(tip, operation) == ()


# -- parts of pools, several holders, vPPBs ------------------------------------------------------

CHUNK = "/redfish/v1/Chassis/mem2/MemoryDomains/1/MemoryChunks/c"
PART = Allocation("pod", BindTarget("pod-sw", "37", 5), 1024, CHUNK)


def chunk_made(tip: MemoryTip) -> Operation:
    """Commit a chunk that needs an allocation; return the operation of that."""
    document = {"@odata.id": CHUNK, "@odata.type": "#MemoryChunks.v1_6_2.MemoryChunks"}
    grant = Grant(OutcomeKind.CREATED, CHUNK, "pod", document, allocated=(PART,))
    draft = tip.commit(to_draft(grant, tip))
    tip.index.put_chunk(Chunk(CHUNK, "unit", None, 1024, allocation=PART))
    return opened(draft)


def test_a_part_is_hardware_work_of_its_own_and_is_held_while_it_lasts(tip: MemoryTip) -> None:
    operation = chunk_made(tip)
    assert (operation.allocated, operation.take_back) == ((PART,), TakeBack.DELETE)
    assert operation.grants and CHUNK in operation.resources
    assert decode_operation(encode_operation(operation)) == operation


def nothing(_uri: str) -> bool:
    return False


def test_a_refused_part_takes_its_document_along(tip: MemoryTip) -> None:
    operation = chunk_made(tip)
    assert still_wanted(tip.index, operation, nothing)
    (edit,) = take_back(tip, operation)
    assert (edit.key, edit.post) == (CHUNK, None)


def test_a_part_that_is_gone_or_another_ones_by_now_is_left_alone(tip: MemoryTip) -> None:
    operation = chunk_made(tip)
    other = replace(PART, size_mib=512)
    tip.index.put_chunk(Chunk(CHUNK, "unit", None, 512, allocation=other))
    assert not still_wanted(tip.index, operation, lambda _uri: True)
    assert take_back(tip, operation) == ()
    tip.index.remove_chunk(CHUNK)
    del tip.documents[CHUNK]
    assert take_back(tip, operation) == ()


def test_what_inventory_does_not_know_is_wanted_while_its_document_is_there(tip: MemoryTip) -> None:
    operation = chunk_made(tip)
    tip.index.remove_chunk(CHUNK)
    assert still_wanted(tip.index, operation, lambda uri: uri == CHUNK)
    (edit,) = take_back(tip, operation)
    assert (edit.key, edit.post) == (CHUNK, None)
    wish = QosWish("F", PART.target, Qos(10, 50), "/ld")
    limited = replace(operation, allocated=(), bandwidth=((wish, wish),))
    assert still_wanted(tip.index, limited, lambda uri: uri == "/ld")
    assert not still_wanted(tip.index, limited, nothing)


def test_what_is_freed_can_not_be_taken_back(tip: MemoryTip) -> None:
    chunk_made(tip)
    grant = Grant(OutcomeKind.DELETED, CHUNK, "pod", None, freed=(PART,))
    operation = opened(tip.commit(to_draft(grant, tip)))
    assert (operation.freed, operation.grants) == ((PART,), False)
    assert CHUNK in operation.resources
    assert take_back(tip, operation) == ()


def test_operations_stored_before_there_were_parts_are_still_read(tip: MemoryTip) -> None:
    operation = opened(tip.post(ZONES, zone_body(H1, GPU)))
    stored = msgspec.json.decode(encode_operation(operation))
    for name in ("allocated", "freed", "joined", "holders"):
        del stored[name]
    old = decode_operation(msgspec.json.encode(stored))
    assert (old.allocated, old.freed, old.joined) == ((), (), ())
    assert old.fresh == old.granted == operation.granted
    tip.apply(take_back(tip, old))
    assert tip.documents == {} and tip.index.bindings == {}


def held(tip: MemoryTip, *holders: str, **changes: frozenset[Claim]) -> Operation:
    """Change what holders have, all in one commit of a group; return the operation."""
    group = f"{POD}/EndpointGroups/g"
    document = {"@odata.id": group, "@odata.type": "#EndpointGroup.v1_3_5.EndpointGroup"}
    others = {holder: changes["wanted"] for holder in holders}
    grant = Grant(OutcomeKind.CHANGED, group, "pod", document, others=others)
    return opened(tip.commit(to_draft(grant, tip)))


def gpu_claim(tip: MemoryTip) -> frozenset[Claim]:
    index = tip.index
    (unit,) = index.endpoints[GPU].units
    return frozenset({(unit, str(index.endpoints[H1].host))})


def test_one_commit_may_change_several_holders_and_holds_them_all(tip: MemoryTip) -> None:
    operation = held(tip, "c1", "c2", wanted=gpu_claim(tip))
    (record,) = tip.index.bindings.values()
    assert record.holders == {"c1", "c2"}
    assert {"c1", "c2", operation.uri} == operation.resources
    tip.apply(take_back(tip, operation))
    assert tip.index.bindings == {}


def test_who_joins_a_binding_in_use_takes_only_itself_back(tip: MemoryTip) -> None:
    held(tip, "c1", wanted=gpu_claim(tip))
    operation = held(tip, "c2", wanted=gpu_claim(tip))
    assert len(operation.granted) == 1 and operation.fresh == ()
    tip.apply(take_back(tip, operation))
    (record,) = tip.index.bindings.values()
    assert record.holders == {"c1"}


def test_a_holder_of_before_keeps_what_it_had_when_its_commit_is_taken_back(
    tip: MemoryTip,
) -> None:
    held(tip, "c1", wanted=gpu_claim(tip))
    operation = held(tip, "c1", "c2", wanted=gpu_claim(tip))
    tip.apply(take_back(tip, operation))
    (record,) = tip.index.bindings.values()
    assert record.holders == {"c1"}


def test_the_resources_that_parts_are_made_for_are_held_too(tip: MemoryTip) -> None:
    grant = Grant(OutcomeKind.CREATED, "/system", "pod", {}, allocated=(PART,))
    operation = to_draft(grant, tip).operation
    assert operation is not None and operation.resources == {"/system", CHUNK}


def test_who_joins_a_binding_that_is_still_being_made_depends_on_it_as_much(
    tip: MemoryTip,
) -> None:
    held(tip, "c1", wanted=gpu_claim(tip))
    tip.tasks["c1"] = "/redfish/v1/TaskService/Tasks/6"
    assert held(tip, "c2", wanted=gpu_claim(tip)).fresh != ()


def test_a_vppb_whose_bind_was_refused_names_no_port_any_more(tip: MemoryTip) -> None:
    uri = f"{POD}/Switches/pod-sw/VCSs/0/VPPBs/0"
    before = msgspec.json.encode({"Name": "mine", "Links": {"Port": {"@odata.id": "/p"}}})
    grant = Grant(
        OutcomeKind.CHANGED,
        uri,
        "pod",
        None,
        gpu_claim(tip),
        edits=(Edit(Space.OVERLAY, uri, None, before),),
        take_back=TakeBack.CLEAR_PORT,
    )
    operation = opened(tip.commit(to_draft(grant, tip)))
    tip.apply(take_back(tip, operation))
    assert msgspec.json.decode(tip.overlays[uri]) == {"Name": "mine"}
    assert tip.index.bindings == {}


def test_what_a_connection_or_group_added_goes_row_by_row() -> None:
    ref = {"@odata.id": "/gone"}
    stays = {"@odata.id": "/stays"}
    document = {
        "Links": {"InitiatorEndpointGroups": [ref, stays], "Endpoints": [ref]},
        "MemoryRegionInfo": [{"MemoryRegion": ref}, {"MemoryRegion": stays}],
        "VolumeInfo": [{"Volume": ref}],
    }
    assert without_members(document, frozenset({"/gone"})) == {
        "Links": {"InitiatorEndpointGroups": [stays], "Endpoints": []},
        "MemoryRegionInfo": [{"MemoryRegion": stays}],
        "VolumeInfo": [],
    }


# -- the rest of what was written ----------------------------------------------------------------


def test_what_else_a_refused_change_of_members_said_is_as_before(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU, Name="old", Oem={"Contoso": {"a": 1}})).uri
    before = tip.documents[zone]
    more = {"Name": "new", "Description": "d", "Oem": {"Contoso": {"a": 2}}}
    operation = opened(tip.patch(zone, zone_body(H1, GPU, NVME, **more)))
    assert decode_operation(encode_operation(operation)) == operation
    tip.apply(take_back(tip, operation))
    assert tip.documents[zone] == before


def test_members_let_go_of_stay_gone_while_the_rest_is_as_before(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU, Name="old")).uri
    before = msgspec.json.decode(tip.documents[zone])
    operation = opened(tip.patch(zone, zone_body(H1, NVME, Name="new", Description="d")))
    tip.apply(take_back(tip, operation))
    left = {**before, "Links": {**before["Links"], "Endpoints": [{"@odata.id": H1}]}}
    assert msgspec.json.decode(tip.documents[zone]) == left


def test_operations_stored_without_a_pre_image_take_back_their_members_only(
    tip: MemoryTip,
) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU, Name="old")).uri
    operation = opened(tip.patch(zone, zone_body(H1, GPU, NVME, Name="new")))
    stored = msgspec.json.decode(encode_operation(operation))
    for name in ("document_before", "places"):
        del stored[name]
    tip.apply(take_back(tip, decode_operation(msgspec.json.encode(stored))))
    assert tip.index.zones[zone].endpoints == (H1, GPU)
    assert msgspec.json.decode(tip.documents[zone])["Name"] == "new"


def test_an_operation_that_grants_nothing_keeps_no_pre_image(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    assert opened(tip.patch(zone, zone_body(H1))).document_before == ""


def test_an_operation_says_where_the_request_named_what_it_binds(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    (unit,) = tip.index.endpoints[NVME].units
    assert opened(tip.patch(zone, zone_body(H1, GPU, NVME))).places == {unit: "#/Links/Endpoints/2"}
    zone = tip.post(ZONES, zone_body(f"{ENDPOINTS}/h2-1")).uri
    added = tip.act(zone, "Zone.AddEndpoint", Endpoint={"@odata.id": f"{ENDPOINTS}/nic1"})
    assert list(opened(added).places.values()) == ["#/Endpoint"]


def test_rows_that_stay_are_as_before_and_members_are_kept_list_by_list() -> None:
    stays, moved, gone = ({"@odata.id": f"/{name}"} for name in ("stays", "moved", "gone"))
    read, write = ({"MemoryChunk": stays, "AccessCapabilities": [name]} for name in "rw")
    before = {
        "Links": {"InitiatorEndpoints": [stays, moved, gone], "Other": [gone]},
        "MemoryChunkInfo": [read, {"MemoryChunk": gone}],
        "VolumeInfo": [{"Volume": gone}],
    }
    now = {
        "Links": {"InitiatorEndpoints": [stays], "TargetEndpoints": [moved]},
        "MemoryChunkInfo": [write],
    }
    assert with_members_left(before, now) == {
        "Links": {"InitiatorEndpoints": [stays], "Other": [gone]},
        "MemoryChunkInfo": [read],
        "VolumeInfo": [],
    }
    assert pointers(now) == {
        "/stays": "#/Links/InitiatorEndpoints/0",
        "/moved": "#/Links/TargetEndpoints/0",
    }


def test_members_are_taken_out_of_an_import_that_has_null_where_links_belong() -> None:
    document = {"Links": {"Endpoints": None, "InitiatorEndpoints": [None]}, "VolumeInfo": None}
    left = without_members(document, frozenset({"/x"}))
    assert left == {"Links": {"Endpoints": [], "InitiatorEndpoints": [None]}, "VolumeInfo": []}
