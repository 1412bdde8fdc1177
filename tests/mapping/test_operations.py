"""Operation records: bytes and back, the Task they show, and what taking grants back means."""

from dataclasses import replace
from pathlib import Path

import pytest

from redfish_fm.fabric.model import BindTarget, VppbId
from redfish_fm.fabric.values import Binding
from redfish_fm.mapping.bindings import binding_edit, binding_key, decode_binding, encode_binding
from redfish_fm.mapping.drafts import Draft, TakeBack
from redfish_fm.mapping.operations import (
    Operation,
    OperationState,
    decode_operation,
    encode_operation,
    new_operation,
    take_back,
    task_document,
)
from redfish_fm.redfish.changes import Space
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.writes import OutcomeKind
from tests.mapping.builders import MemoryTip, a_tip, zone_body
from tests.mapping.schemas import SchemaPack

POD = "/redfish/v1/Fabrics/pod"
ZONES, ENDPOINTS = f"{POD}/Zones", f"{POD}/Endpoints"
H1, GPU, NVME = (f"{ENDPOINTS}/{name}" for name in ("h1-1", "gpu1", "nvme1"))
NOW = "2026-12-01T03:04:05Z"


@pytest.fixture
def tip() -> MemoryTip:
    return a_tip()


def opened(draft: Draft) -> Operation:
    return new_operation("7", draft, "alice", NOW)


def failed(operation: Operation) -> frozenset[VppbId]:
    return frozenset(each.vppb for each in operation.granted[:1])


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


def test_only_hardware_work_opens_an_operation(tip: MemoryTip) -> None:
    with pytest.raises(ValueError, match="hardware"):
        opened(tip.post(ZONES, zone_body(H1)))


@pytest.mark.parametrize("state", list(OperationState))
def test_a_task_is_valid_and_tells_the_state(
    tip: MemoryTip, shared: Path, state: OperationState
) -> None:
    schemas = SchemaPack(shared / "data" / "dmtf-2025.4-json-schema-latest.tar.gz")
    operation = replace(
        opened(tip.post(ZONES, zone_body(H1, GPU))),
        state=state,
        ended=NOW,
        messages=(Message("Base.OperationFailed"),),
    )
    document = task_document(operation)
    assert schemas.errors(document) == []
    assert document["@odata.id"] == "/redfish/v1/TaskService/Tasks/7"
    assert document["TaskState"] == state.value
    created = state is OperationState.COMPLETED
    assert ("Links" in document) == created


def test_a_created_zone_is_deleted_with_all_its_grants(tip: MemoryTip) -> None:
    operation = opened(tip.post(ZONES, zone_body(H1, GPU, NVME)))
    edits = take_back(tip, operation, failed(operation))
    tip.apply(edits)
    assert tip.documents == {}
    assert tip.index.bindings == {}
    assert {edit.post for edit in edits} == {None}


def test_of_a_patched_zone_only_the_added_members_go(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    operation = opened(tip.patch(zone, zone_body(H1, GPU, NVME)))
    tip.apply(take_back(tip, operation, failed(operation)))
    assert tip.index.zones[zone].endpoints == (H1, GPU)
    assert [each.unit[-4:] for each in tip.index.bindings.values()] == ["gpu1"]


def test_what_was_released_never_comes_back(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    operation = opened(tip.patch(zone, zone_body(H1, NVME)))
    edits = take_back(tip, operation, failed(operation))
    tip.apply(edits)
    assert tip.index.zones[zone].endpoints == (H1,)
    assert tip.index.bindings == {}
    assert not [edit for edit in edits if edit.space is Space.BINDING and edit.post is not None]


def test_a_release_has_nothing_to_take_back(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    operation = opened(tip.delete(zone))
    assert operation.kind is OutcomeKind.DELETED
    assert operation.take_back is TakeBack.NOTHING
    assert take_back(tip, operation, frozenset({operation.released[0].vppb})) == ()


def test_what_a_write_added_without_a_grant_stays(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    ld = f"{ENDPOINTS}/mem2-ld0"
    operation = opened(tip.patch(zone, zone_body(H1, ld)))
    assert take_back(tip, operation, frozenset({operation.released[0].vppb})) == ()
    assert tip.index.zones[zone].endpoints == (H1, ld)


def test_what_a_client_deleted_meanwhile_is_left_alone(tip: MemoryTip) -> None:
    draft = tip.post(ZONES, zone_body(H1, GPU))
    operation = opened(draft)
    tip.delete(draft.uri)
    assert take_back(tip, operation, failed(operation)) == ()


def test_a_vppb_that_serves_another_meanwhile_is_left_alone(tip: MemoryTip) -> None:
    draft = tip.post(ZONES, zone_body(H1, GPU))
    operation = opened(draft)
    tip.delete(draft.uri)
    tip.post(ZONES, zone_body(H1, NVME))
    assert take_back(tip, operation, failed(operation)) == ()
