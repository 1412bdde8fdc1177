"""PATCH of a Port's CXL.Congestion: how the MLD behind it watches its load, and warns hosts.

Pure. Redfish: Port.v1_18_0 CXL, PortMetrics.v1_8_1 CXL. CXL: QoS Control (FM API 5403h, 5404h).
What a client says is wanted, whatever the device has in the rest; shown is what the device says.
Temporary throughput reduction stays as it is: a port's property for it is out of use (v1_12_0).
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from redfish_fm.fabric.model import Device, PortState, Qos
from redfish_fm.fabric.qos_control import QosControl
from redfish_fm.fabric.values import QosWish
from redfish_fm.mapping import generic, refusals
from redfish_fm.mapping.drafts import Draft, OperationDraft, TakeBack, Tip
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.violations import refuse
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.writes import OutcomeKind, Write

CXL, CONGESTION = "CXL", "Congestion"

_FIELDS = {
    "CongestionTelemetryEnabled": ("congestion", 0, 1),
    "EgressModeratePercentage": ("moderate_percent", 1, 100),
    "EgressSeverePercentage": ("severe_percent", 1, 100),
    "BackpressureSampleInterval": ("sample_interval", 0, 0xF),
    "MaxSustainedRequestCmpBias": ("request_bias", 0, 0xFFFF),
    "CompletionCollectionInterval": ("collection_interval", 0, 0xFF),
}
"""Property of Congestion -> field, and what the FM API has room for."""


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of a PATCH on a port. Raises RedfishError with every reason against it."""
    uri, said = write.uri, write.body.get(CXL)
    if not isinstance(said, Mapping) or CONGESTION not in said:
        return generic.patch(write, tip)
    if uri not in tip.facts.qos_targets:
        told = messages.property_not_writable(CONGESTION, f"#/{CXL}/{CONGESTION}")
        raise refusals.bad_content(told)
    draft = generic.patch(write, tip)
    if draft.kind is OutcomeKind.NO_OPERATION or not draft.edits:
        return draft
    wish = read_control(uri, _parsed(draft.edits[0].post), tip.facts)
    before = tip.index.bandwidth.wishes.get(uri)
    if wish is None or wish.control is None or wish == before:
        return draft
    refuse(list(_form(wish.control)), [])
    usual = QosWish(wish.fabric, wish.target, Qos(), uri, QosControl())
    return asking(draft, before or usual, wish, tip)


def asking(draft: Draft, before: QosWish, wish: QosWish, tip: Tip) -> Draft:
    """Return the draft that also asks hardware for a wish laid over its holder, until it is so."""
    uri = wish.holder
    asked = OperationDraft(
        wish.fabric,
        uri,
        frozenset({uri}),
        take_back=TakeBack.RESTORE_OVERLAY,
        bandwidth=((before, wish),),
        overlay_before=(tip.overlay(uri) or b"").decode(),
    )
    return Draft(draft.kind, uri, draft.edits, asked)


def _form(control: QosControl) -> Iterator[Message]:
    """Yield what is wrong with a wish whatever the device has in the rest."""
    for name, (field, least, most) in _FIELDS.items():
        value = getattr(control, field)
        if value is not None and not least <= value <= most:
            pointer = f"#/{CXL}/{CONGESTION}/{name}"
            yield messages.property_value_out_of_range(str(value), name, pointer)
    moderate, severe = control.moderate_percent, control.severe_percent
    if moderate is not None and severe is not None and moderate > severe:
        names = "EgressModeratePercentage", "EgressSeverePercentage"
        pointers = (f"#/{CXL}/{CONGESTION}/{name}" for name in names)
        yield messages.property_value_conflict(*names, *pointers)


def read_control(uri: str, overlay: Mapping[str, Any] | None, facts: Facts) -> QosWish | None:
    """Return what is wanted of the device behind a port, None where its overlay says nothing."""
    place, cxl = facts.qos_targets.get(uri), (overlay or {}).get(CXL)
    if place is None or not isinstance(cxl, Mapping):
        return None
    said = cxl.get(CONGESTION)
    values = {field: said.get(name) for name, (field, *_) in _FIELDS.items()} if said else {}
    return QosWish(place[0], place[1], Qos(), uri, QosControl(**values))


def _parsed(overlay: bytes | None) -> dict[str, Any] | None:
    return None if overlay is None else msgspec.json.decode(overlay, type=dict[str, Any])


def abilities(device: Device | None) -> dict[str, Any]:
    """Return what CXL of a port says of what the device behind it can warn of."""
    able = None if device is None else device.telemetry
    if able is None:
        return {}
    return {"QoSTelemetryCapabilities": {"EgressPortBackpressureSupported": able.congestion}}


def properties(state: PortState) -> dict[str, Any]:
    """Return what a port shows of what the device behind it says."""
    control = state.control
    if control is None:
        return {}
    shown = {name: getattr(control, field) for name, (field, *_) in _FIELDS.items()}
    return {CXL: {CONGESTION: shown}}


def metrics(state: PortState) -> dict[str, Any]:
    """Return what PortMetrics show of how much the device behind a port is pressed back."""
    percent = state.backpressure_percent
    return {} if percent is None else {CXL: {"BackpressureAveragePercentage": percent}}
