"""PATCH of a vPPB's Links.Port: a unit on exactly that vPPB, under all rules, or taken off it."""

from pathlib import Path
from typing import Any

import pytest

from redfish_fm.fabric.model import VppbId
from redfish_fm.mapping.drafts import TakeBack
from redfish_fm.mapping.operations import new_operation, take_back
from redfish_fm.redfish.changes import Space
from redfish_fm.redfish.writes import OutcomeKind
from tests.mapping.builders import MemoryTip, a_tip, imported_tip, links, mockup, zone_body
from tests.mapping.test_writes import (
    CHUNK0,
    CONNECTIONS,
    ENDPOINTS,
    GPU,
    H1,
    H2,
    LD0,
    NVME,
    POD,
    TASK,
    ZONES,
    connection_body,
    refusal,
)

SWITCH = f"{POD}/Switches/pod-sw"
GPU_PORT, NVME_PORT, SLD_PORT, MLD_PORT = (f"{SWITCH}/Ports/{n}" for n in (32, 33, 36, 37))
USP = f"{SWITCH}/Ports/0"


def vppb(number: int, vcs: int = 0) -> str:
    return f"{SWITCH}/VCSs/{vcs}/VPPBs/{number}"


def port(uri: str | None) -> dict[str, Any]:
    return {"Links": {"Port": None if uri is None else {"@odata.id": uri}}}


@pytest.fixture
def tip() -> MemoryTip:
    return a_tip()


def shown(tip: MemoryTip, uri: str) -> Any:
    document = tip.document(uri)
    assert document is not None
    return document.get("Links", {}).get("Port", {}).get("@odata.id")


@pytest.mark.parametrize("asked", [GPU_PORT, SLD_PORT, f"{GPU_PORT}/"])
def test_a_port_is_bound_to_exactly_that_vppb(tip: MemoryTip, asked: str) -> None:
    draft = tip.patch(vppb(2), port(asked))
    assert draft.operation is not None
    (granted,) = draft.operation.granted
    assert granted.vppb == VppbId("pod-sw", "0", 2)
    assert granted.holders == {vppb(2)}
    assert draft.operation.take_back is TakeBack.CLEAR_PORT
    assert draft.operation.resources == {vppb(2)}
    assert {edit.space for edit in draft.edits} == {Space.OVERLAY, Space.BINDING}
    assert shown(tip, vppb(2)) == asked.rstrip("/")
    assert tip.patch(vppb(2), port(asked.rstrip("/"))).kind is OutcomeKind.NO_OPERATION


def test_null_unbinds_and_leaves_nothing_behind(tip: MemoryTip) -> None:
    assert tip.patch(vppb(2), port(None)).kind is OutcomeKind.NO_OPERATION
    empty = tip.index.snapshot()
    bound = tip.patch(vppb(2), port(GPU_PORT)).operation
    gone = tip.patch(vppb(2), port(None)).operation
    assert bound is not None
    assert gone is not None
    assert gone.released == bound.granted
    assert (tip.overlays, tip.index.snapshot()) == ({}, empty)
    tip.post(ZONES, zone_body(H2, GPU))


def test_another_port_takes_the_place_of_the_first(tip: MemoryTip) -> None:
    tip.patch(vppb(2), port(GPU_PORT))
    draft = tip.patch(vppb(2), port(NVME_PORT))
    assert draft.operation is not None
    (granted,), (released,) = draft.operation.granted, draft.operation.released
    assert (granted.vppb, released.vppb) == (VppbId("pod-sw", "0", 2),) * 2
    assert (granted.target.port, released.target.port) == ("33", "32")


def test_what_a_vppb_has_no_zone_gives_to_another_host(tip: MemoryTip) -> None:
    tip.patch(vppb(2), port(GPU_PORT))
    with refusal(409, "Base.PropertyValueResourceConflict", GPU, vppb(2)):
        tip.post(ZONES, zone_body(H2, GPU))
    with refusal(409, "Base.ResourceInUse", GPU_PORT, vppb(2)):
        tip.patch(vppb(0, vcs=1), port(GPU_PORT))
    zone = tip.post(ZONES, zone_body(H1, NVME)).uri
    with refusal(409, "Base.ResourceInUse", zone):
        tip.patch(vppb(3), port(NVME_PORT))
    with refusal(409, "Base.ResourceInUse", zone):
        tip.patch(vppb(0, vcs=1), port(NVME_PORT))


def test_a_vppb_that_a_zone_or_connection_uses_is_not_changed_by_hand(tip: MemoryTip) -> None:
    zone = tip.post(ZONES, zone_body(H1, GPU)).uri
    tip.post(ZONES, zone_body(H1, LD0))
    connection = tip.post(CONNECTIONS, connection_body(H1, LD0, CHUNK0)).uri
    for number, holder in ((0, zone), (1, connection)):
        for asked in (NVME_PORT, None):
            with refusal(409, "Base.ResourceInUse", holder, "#/Links/Port"):
                tip.patch(vppb(number), port(asked))


def test_an_mld_is_granted_by_a_connection(tip: MemoryTip) -> None:
    with refusal(400, "Base.PropertyValueConflict", "Links/Port", "Connection"):
        tip.patch(vppb(0), port(MLD_PORT))


@pytest.mark.parametrize(
    ("asked", "key", "status"),
    [
        ("/redfish/v1/none", "Base.ResourceMissingAtURI", 400),
        (H1, "Base.PropertyValueResourceConflict", 400),
        (USP, "Base.PropertyValueResourceConflict", 400),
    ],
)
def test_a_port_that_has_nothing_to_bind_is_refused(
    tip: MemoryTip, asked: str, key: str, status: int
) -> None:
    with refusal(status, key, asked, "#/Links/Port"):
        tip.patch(vppb(0), port(asked))
    assert tip.overlays == {}


def test_what_is_seen_bound_by_others_is_left_to_them(tip: MemoryTip) -> None:
    tip.occupied = frozenset({VppbId("pod-sw", "0", 0)})
    for asked in (GPU_PORT, None):
        with refusal(409, "Base.ResourceInUse", vppb(0)):
            tip.patch(vppb(0), port(asked))
    tip.patch(vppb(1), port(GPU_PORT))


def test_a_vppb_under_change_waits(tip: MemoryTip) -> None:
    tip.patch(vppb(2), port(GPU_PORT))
    tip.tasks[vppb(2)] = TASK
    with refusal(409, "TaskEvent.TaskStarted", TASK):
        tip.patch(vppb(2), port(None))


def test_a_refused_bind_takes_the_port_away_again(tip: MemoryTip) -> None:
    empty = tip.index.snapshot()
    draft = tip.patch(vppb(2), port(GPU_PORT))
    operation = new_operation("7", draft, "tester", tip.timestamp())
    tip.apply(take_back(tip, operation))
    assert (tip.overlays, tip.index.snapshot()) == ({}, empty)


def test_an_endpoint_of_the_bound_unit_is_told_by_its_uri(tip: MemoryTip) -> None:
    tip.patch(vppb(2), port(GPU_PORT))
    entity = {"EntityType": "Processor", "EntityRole": "Target",
              "EntityLink": {"@odata.id": GPU_PORT}}  # fmt: skip
    alias = tip.post(ENDPOINTS, {"ConnectedEntities": [entity]}).uri
    with refusal(409, "Base.PropertyValueResourceConflict", alias):
        tip.post(ZONES, {"Links": {"Endpoints": links(H2, alias)}})


def test_vppbs_of_an_import_obey_the_same_rules(shared: Path) -> None:
    tip = imported_tip(mockup(shared, "public-cxl"))
    switch = "/redfish/v1/Fabrics/CXL/Switches/CXL"
    ports = [f"{switch}/Ports/{name}" for name in ("D1", "D3")]
    bridge = f"{switch}/VCSs/2/VPPBs/2"
    with refusal(409, "Base.ResourceInUse", "/redfish/v1/Fabrics/CXL/Zones/1", "#/Links/Port"):
        tip.patch(bridge, port(ports[0]))
    with refusal(400, "Base.PropertyValueConflict", "Connection"):
        tip.patch(bridge, port(ports[1]))
