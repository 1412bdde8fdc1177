"""Where a zone's devices went: the recorded bindings, as our OEM part shows them."""

from redfish_fm.fabric.model import BindTarget, VppbId
from redfish_fm.fabric.values import Binding
from redfish_fm.mapping.oem import bindings_shown
from tests.mapping.builders import a_tip, zone_body

POD = "/redfish/v1/Fabrics/pod"
H1, GPU = f"{POD}/Endpoints/h1-1", f"{POD}/Endpoints/gpu1"


def test_a_zone_shows_switch_port_and_slot_of_each_binding() -> None:
    tip = a_tip()
    tip.post(f"{POD}/Zones", zone_body(H1, GPU))
    (zone,) = tip.index.zones
    shown = bindings_shown(tip.index, tip.facts, zone)
    assert shown is not None
    (binding,) = shown["Bindings"]
    assert binding["SlotIndex"] == 0
    assert binding["Switch"] == {"@odata.id": f"{POD}/Switches/pod-sw"}
    assert binding["Port"]["@odata.id"].startswith(f"{POD}/Switches/pod-sw/Ports/")
    assert "LogicalDeviceId" not in binding


def test_a_logical_device_is_named_by_its_id() -> None:
    tip = a_tip()
    target = BindTarget("pod-sw", "32", 3)
    tip.index.put_binding(
        Binding("pod", "u", "h", VppbId("pod-sw", "0", 1), target, frozenset({"z"}))
    )
    shown = bindings_shown(tip.index, tip.facts, "z")
    assert shown is not None
    assert shown["Bindings"][0]["LogicalDeviceId"] == 3


def test_what_holds_no_binding_shows_nothing() -> None:
    tip = a_tip()
    tip.post(f"{POD}/Zones", zone_body(H1))
    (zone,) = tip.index.zones
    assert bindings_shown(tip.index, tip.facts, zone) is None
