"""Resets of ports: which ports offer them, and what is not taken."""

import json
from dataclasses import replace
from typing import Any

import pytest

from redfish_fm.fabric.model import PortId
from redfish_fm.fabric.port_control import PortReset, PortResetWish
from redfish_fm.mapping.inventory import render_inventories
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.resources import schemas_dir
from tests.drivers.fabrics import CXL, PCIE
from tests.mapping.builders import MemoryTip

PORTS = "/redfish/v1/Fabrics/CXL/Switches/cxl1/Ports"
DOWN, UP = f"{PORTS}/D1", f"{PORTS}/U1"


def tip() -> MemoryTip:
    rendered = render_inventories([CXL, PCIE])
    return MemoryTip(rendered.documents, rendered.facts)


def actions(uri: str) -> dict[str, Any]:
    return dict((tip().document(uri) or {}).get("Actions", {}))


def test_a_downstream_port_offers_both_resets_with_what_they_take() -> None:
    found = actions(DOWN)
    assert found["#Port.ResetPPB"] == {
        "target": f"{DOWN}/Actions/Port.ResetPPB",
        "@Redfish.ActionInfo": "/redfish/v1/ActionInfos/Port.ResetPPB",
    }
    assert found["#Port.Reset"]["ResetType@Redfish.AllowableValues"] == ["ForceRestart"]
    assert set(found) == {"#Port.ResetPPB", "#Port.Reset"}


@pytest.mark.parametrize(
    "uri", [UP, "/redfish/v1/Fabrics/PCIe/Switches/pcie1/Ports/D1"], ids=["upstream", "no CXL"]
)
def test_other_ports_offer_none(uri: str) -> None:
    assert not actions(uri)


def test_ports_of_a_switch_that_resets_none_offer_none() -> None:
    (switch,) = CXL.switches
    silent = replace(CXL, switches=(replace(switch, resets_ports=False),))
    assert "Actions" not in render_inventories([silent]).documents[DOWN]


@pytest.mark.parametrize(
    ("action", "body", "asked"),
    [
        ("Port.ResetPPB", {}, PortReset.BRIDGE),
        ("Port.Reset", {"ResetType": "ForceRestart"}, PortReset.FUNDAMENTAL),
    ],
)
def test_a_reset_is_an_operation_that_holds_its_port_and_edits_nothing(
    action: str, body: dict[str, str], asked: PortReset
) -> None:
    draft = tip().act(DOWN, action, **body)
    assert not draft.edits
    assert draft.operation is not None
    assert draft.operation.port_reset == PortResetWish(PortId("cxl1", "D1"), asked)
    assert (draft.operation.fabric, draft.operation.resources) == ("CXL", {DOWN})


@pytest.mark.parametrize(
    ("uri", "action", "body", "key"),
    [
        (UP, "Port.ResetPPB", {}, "Base.ActionNotSupported"),
        (UP, "Port.Reset", {"ResetType": "ForceRestart"}, "Base.ActionNotSupported"),
        (DOWN, "Port.Reset", {"ResetType": "On"}, "Base.ActionParameterValueNotInList"),
        (DOWN, "Port.Reset", {}, "Base.ActionParameterValueNotInList"),
    ],
)
def test_what_can_not_be_is_refused(uri: str, action: str, body: dict[str, str], key: str) -> None:
    with pytest.raises(RedfishError) as refused:
        tip().act(uri, action, **body)
    assert (refused.value.status, refused.value.messages[0].key) == (400, key)


def test_the_values_that_are_judged_are_those_that_are_described() -> None:
    service = json.loads((schemas_dir() / "service.json").read_text("utf-8"))
    described = service["types"]["Port"]["values"]["Port.Reset"]["ResetType"]
    assert described == actions(DOWN)["#Port.Reset"]["ResetType@Redfish.AllowableValues"]


def test_the_lds_that_a_port_supports_are_those_that_its_switch_tells() -> None:
    (switch,) = CXL.switches
    counted = {"D1": 7, "D2": 0}
    ports = tuple(replace(p, ld_count=counted.get(p.id.port)) for p in switch.ports)
    told = replace(CXL, switches=(replace(switch, ports=ports),))
    documents = render_inventories([told]).documents
    assert documents[DOWN]["CXL"]["MaxLogicalDeviceCount"] == 7
    assert documents[f"{PORTS}/D2"]["CXL"]["MaxLogicalDeviceCount"] == 0


def test_where_a_switch_does_not_tell_its_lds_they_are_those_of_the_device() -> None:
    documents = render_inventories([CXL]).documents
    assert documents[DOWN]["CXL"]["MaxLogicalDeviceCount"] == 4
    (switch,) = CXL.switches
    empty = tuple(replace(port, device=None) for port in switch.ports)
    bare = replace(CXL, switches=(replace(switch, ports=empty),), devices=())
    assert "MaxLogicalDeviceCount" not in render_inventories([bare]).documents[DOWN]["CXL"]
