"""PATCH of a CXLLogicalDevice's QoS: what share of its device's bandwidth an LD has.

Pure. Redfish: CXLLogicalDevice.v1_3_0, QoS (percent). The wish is laid over the discovered LD; the
operation asks hardware for it. What an LD with a wish does not say is the usual: nothing is
guaranteed, and there is no limit.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from redfish_fm.fabric.bandwidth import check_bandwidth
from redfish_fm.fabric.model import Qos
from redfish_fm.fabric.values import QosWish
from redfish_fm.mapping import generic, refusals
from redfish_fm.mapping.congestion import asking, read_control
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.violations import refuse
from redfish_fm.redfish import messages
from redfish_fm.redfish.changes import Edit, Space
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.writes import OutcomeKind, Write

NAME = "QoS"


def patch(write: Write, tip: Tip) -> Draft:
    """Return the draft of a PATCH on an LD. Raises RedfishError with every reason against it."""
    uri = write.uri
    if NAME in write.body and uri not in tip.facts.qos_targets:
        raise refusals.bad_content(messages.property_not_writable(NAME, f"#/{NAME}"))
    draft = generic.patch(write, tip)
    if draft.kind is OutcomeKind.NO_OPERATION or not draft.edits:
        return draft
    wish = read_wish(uri, _parsed(draft.edits[0].post), tip.facts)
    before = tip.index.bandwidth.wishes.get(uri)
    if wish is None or wish == before:
        return draft
    refuse(list(_form(wish.qos)), check_bandwidth(tip.index.bandwidth, wish))
    usual = QosWish(wish.fabric, wish.target, Qos(), uri)
    return asking(draft, before or usual, wish, tip)


def _form(qos: Qos) -> Iterator[Message]:
    """Yield what is wrong with a wish whatever other LDs have: a guarantee beyond its own limit.

    Hardware keeps both as fractions of one bandwidth (FM API 5407h, 5409h), so no device could
    ever give what it guarantees.
    """
    if qos.allocated > qos.limit:
        names = "QoS/LimitPercent", "QoS/AllocatedBandwidth"
        yield messages.property_value_conflict(*names, *(f"#/{name}" for name in names))


def read_wish(uri: str, overlay: Mapping[str, Any] | None, facts: Facts) -> QosWish | None:
    """Return what is wanted of the LD at `uri`, or None where its overlay says nothing of it."""
    place, said = facts.qos_targets.get(uri), (overlay or {}).get(NAME)
    if place is None or not isinstance(said, Mapping):
        return None
    usual = Qos()
    allocated, limit = said.get("AllocatedBandwidth"), said.get("LimitPercent")
    qos = Qos(
        usual.allocated if allocated is None else allocated,
        usual.limit if limit is None else limit,
    )
    return QosWish(place[0], place[1], qos, uri)


def restored(tip: Tip, uri: str, overlay_before: str) -> Edit | None:
    """Return the edit that takes a wish back: the overlay is as it was before.

    Not where others have been promised meanwhile what the LD gave up: then it stays given up.
    """
    raw, pre = tip.overlay(uri), overlay_before.encode() or None
    overlay = _parsed(pre)
    wish = read_wish(uri, overlay, tip.facts) or read_control(uri, overlay, tip.facts)
    if raw == pre or (wish is not None and check_bandwidth(tip.index.bandwidth, wish)):
        return None
    return Edit(Space.OVERLAY, uri, raw, pre)


def _parsed(overlay: bytes | None) -> dict[str, Any] | None:
    return None if overlay is None else msgspec.json.decode(overlay, type=dict[str, Any])


def properties(qos: Qos) -> dict[str, Any]:
    """Return what a CXLLogicalDevice shows of what hardware says."""
    return {NAME: {"AllocatedBandwidth": qos.allocated, "LimitPercent": qos.limit}}
