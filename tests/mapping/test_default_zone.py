"""The Default zone: there is one, begins empty, stays, and never routes what is exclusive."""

import json

import pytest

from redfish_fm.fabric.model import FabricKind
from redfish_fm.mapping.default_zone import is_default, keep_default_zones
from redfish_fm.redfish.writes import OutcomeKind
from tests.mapping.builders import MemoryTip, a_tip, links, zone_body
from tests.mapping.test_writes import GPU, H1, ZONES, refusal

DEFAULT = f"{ZONES}/Default"


@pytest.fixture
def tip() -> MemoryTip:
    tip = a_tip()
    tip.commit(keep_default_zones(["pod"], tip))
    return tip


def test_a_fabric_without_a_default_zone_is_given_an_empty_one_once(tip: MemoryTip) -> None:
    document = tip.document(DEFAULT)
    assert document is not None
    assert is_default(document)
    assert document["Links"] == {"Endpoints": []}
    assert document["DefaultRoutingEnabled"] is False
    assert keep_default_zones(["pod"], tip).kind is OutcomeKind.NO_OPERATION


def test_a_name_that_a_client_took_stays_the_clients() -> None:
    tip = a_tip()
    tip.post(ZONES, zone_body(Id="Default"))
    tip.commit(keep_default_zones(["pod"], tip))
    kinds = {uri: json.loads(raw)["ZoneType"] for uri, raw in tip.documents.items()}
    assert kinds == {DEFAULT: "ZoneOfEndpoints", f"{DEFAULT}-2": "Default"}


def test_the_default_zone_is_neither_deleted_nor_made_another_kind(tip: MemoryTip) -> None:
    with refusal(405, "Base.OperationNotAllowed") as caught:
        tip.delete(DEFAULT)
    assert "DELETE" not in caught.value.headers["Allow"]
    with refusal(400, "Base.PropertyValueError", "#/ZoneType"):
        tip.patch(DEFAULT, {"ZoneType": "ZoneOfEndpoints"})
    with refusal(400, "Base.PropertyValueError", "#/ZoneType"):
        tip.patch(DEFAULT, {"ZoneType": None})
    with refusal(400, "Base.PropertyValueError", "#/ZoneType"):
        tip.post(ZONES, {"ZoneType": "Default"})


def test_members_of_the_default_zone_bind_nothing_and_are_not_held(tip: MemoryTip) -> None:
    assert tip.patch(DEFAULT, {"Links": {"Endpoints": links(H1, GPU)}}).operation is None
    tip.post(ZONES, zone_body(H1, GPU))
    assert tip.linked_by(GPU, "/Links/Zones") == [f"{ZONES}/3", DEFAULT]


def test_exclusive_units_are_never_routed_by_default_whichever_comes_first(tip: MemoryTip) -> None:
    tip.patch(DEFAULT, {"Links": {"Endpoints": links(H1, GPU)}})
    with refusal(409, "Base.PropertyValueResourceConflict", "DefaultRoutingEnabled"):
        tip.patch(DEFAULT, {"DefaultRoutingEnabled": True})
    tip.patch(DEFAULT, {"Links": {"Endpoints": links(H1)}, "DefaultRoutingEnabled": True})
    with refusal(409, "Base.PropertyValueResourceConflict", GPU):
        tip.act(DEFAULT, "Zone.AddEndpoint", Endpoint=GPU)
    assert tip.index.facts("pod").kind is FabricKind.BIND
