"""QoS Control: what is wanted of a device is laid over what it does, and asked for once."""

from redfish_fm.fabric.model import BindTarget, Observation, PortId, PortState, Qos, SetQos, VppbId
from redfish_fm.fabric.planner import plan
from redfish_fm.fabric.qos_control import QosControl
from redfish_fm.fabric.values import Allocation

USUAL = QosControl(False, False, 10, 25, 8, 0, 64)
DEVICE = BindTarget("s", "D1")


def look(control: QosControl | None) -> Observation:
    state = PortState(link_up=True, device_present=True, control=control)
    return Observation("F", 0.0, 0.0, {VppbId("s", "1", 0): None}, {PortId("s", "D1"): state})


def steps(wanted: QosControl, seen: QosControl | None) -> tuple[object, ...]:
    return plan((), (), look(seen), lambda _: False, controls={DEVICE: wanted}).steps


def test_what_nobody_wants_stays_as_it_is() -> None:
    wanted = QosControl(congestion=True, severe_percent=0)
    assert wanted.over(USUAL) == QosControl(True, False, 10, 0, 8, 0, 64)
    assert QosControl().over(USUAL) == USUAL


def test_a_wish_is_met_by_what_has_all_of_it() -> None:
    assert QosControl(moderate_percent=10).met_by(USUAL)
    assert not QosControl(moderate_percent=11).met_by(USUAL)
    assert QosControl().met_by(None)
    assert not QosControl(congestion=False).met_by(None)


def test_what_differs_is_asked_for_and_what_does_not_is_not() -> None:
    wanted = QosControl(congestion=True)
    assert steps(wanted, USUAL) == (SetQos(DEVICE, Qos(), wanted),)
    assert steps(wanted, wanted.over(USUAL)) == ()


def test_a_device_that_does_not_tell_is_asked_nothing() -> None:
    assert steps(QosControl(congestion=True), None) == ()


def test_a_device_is_left_alone_while_something_else_concerns_it() -> None:
    wanted, busy = QosControl(congestion=True), BindTarget("s", "D1", 3)
    found = plan((), (), look(USUAL), lambda place: place == DEVICE, controls={DEVICE: wanted})
    assert found.steps == ()
    part = Allocation("F", busy, 512, "chunk")
    found = plan(
        (), (), look(USUAL), lambda _: False, allocations=(part,), controls={DEVICE: wanted}
    )
    assert not any(isinstance(step, SetQos) for step in found.steps)
