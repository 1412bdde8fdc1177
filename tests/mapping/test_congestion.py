"""PATCH of a port's CXL.Congestion: what makes no sense, and what becomes a wish."""

from typing import Any

import pytest

from redfish_fm.fabric.model import BindTarget, PortState
from redfish_fm.fabric.qos_control import QosControl
from redfish_fm.mapping import congestion
from redfish_fm.mapping.drafts import Draft
from redfish_fm.redfish.writes import OutcomeKind
from tests.mapping.builders import CXL, MemoryTip, a_tip
from tests.mapping.test_writes import refusal

PORT = f"{CXL}/Switches/pod-sw/Ports/37"
TARGET = BindTarget("pod-sw", "37")


@pytest.fixture
def tip() -> MemoryTip:
    tip = a_tip()
    tip.facts.qos_targets[PORT] = ("pod", TARGET)
    tip.inventory.setdefault(PORT, {"@odata.id": PORT, "@odata.type": "#Port.v1_18_0.Port"})
    return tip


def give(tip: MemoryTip, **congestion: object) -> Draft:
    return tip.patch(PORT, {"CXL": {"Congestion": congestion}})


def test_a_wish_names_what_the_client_named_and_nothing_else(tip: MemoryTip) -> None:
    draft = give(tip, EgressSeverePercentage=80)
    assert draft.operation is not None
    ((before, wish),) = draft.operation.bandwidth
    assert (before.control, wish.control) == (QosControl(), QosControl(severe_percent=80))
    assert (wish.target, wish.holder) == (TARGET, PORT)
    draft = give(tip, CongestionTelemetryEnabled=True)
    assert draft.operation is not None
    ((before, wish),) = draft.operation.bandwidth
    assert before.control == QosControl(severe_percent=80)
    assert wish.control == QosControl(congestion=True, severe_percent=80)


def test_the_same_wish_again_changes_nothing(tip: MemoryTip) -> None:
    give(tip, EgressSeverePercentage=80)
    again = give(tip, EgressSeverePercentage=80)
    assert (again.kind, again.operation) == (OutcomeKind.NO_OPERATION, None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("EgressModeratePercentage", 0),
        ("EgressSeverePercentage", 101),
        ("BackpressureSampleInterval", 16),
        ("MaxSustainedRequestCmpBias", 1 << 16),
        ("CompletionCollectionInterval", 256),
        ("CompletionCollectionInterval", -1),
    ],
)
def test_what_the_command_has_no_room_for_is_refused(tip: MemoryTip, name: str, value: int) -> None:
    pointer = f"#/CXL/Congestion/{name}"
    with refusal(400, "Base.PropertyValueOutOfRange", str(value), name, pointer):
        give(tip, **{name: value})
    assert tip.overlays == {}


def test_moderate_is_not_above_severe_whenever_they_were_said(tip: MemoryTip) -> None:
    names = "EgressModeratePercentage", "EgressSeverePercentage"
    with refusal(400, "Base.PropertyValueConflict", *names):
        give(tip, EgressModeratePercentage=60, EgressSeverePercentage=50)
    give(tip, EgressSeverePercentage=50)
    with refusal(400, "Base.PropertyValueConflict", *names):
        give(tip, EgressModeratePercentage=51)
    give(tip, EgressModeratePercentage=50)


def test_a_port_whose_device_can_not_be_told_takes_none(tip: MemoryTip) -> None:
    del tip.facts.qos_targets[PORT]
    with refusal(400, "Base.PropertyNotWritable", "Congestion", "#/CXL/Congestion"):
        give(tip, EgressSeverePercentage=80)


def test_a_port_shows_what_its_device_says() -> None:
    assert congestion.properties(PortState(True, True)) == {}
    assert congestion.metrics(PortState(True, True)) == {}
    control = QosControl(True, False, 10, 25, 8, 0, 64)
    state = PortState(True, True, control=control, backpressure_percent=0)
    shown: dict[str, Any] = congestion.properties(state)["CXL"]
    assert shown.keys() == {"Congestion"}
    assert shown["Congestion"]["CongestionTelemetryEnabled"] is True
    assert shown["Congestion"]["CompletionCollectionInterval"] == 64
    assert congestion.metrics(state) == {"CXL": {"BackpressureAveragePercentage": 0}}
