"""Resets of switch ports: what is offered, and what a request for one means.

Pure. Redfish: Port.v1_18_0 ResetPPB and Reset, offered on downstream ports of switches whose driver
has them. As with the power of hosts a reset changes no wanted state: it is a command, recorded as
an operation until the switch has answered (decision 0010).
"""

from typing import Any

from redfish_fm.fabric.port_control import PortReset, PortResetWish
from redfish_fm.mapping import refusals
from redfish_fm.mapping.drafts import Draft, OperationDraft, Tip
from redfish_fm.mapping.observed_hosts import ACTION_INFO, reset_action
from redfish_fm.redfish import messages
from redfish_fm.redfish.writes import OutcomeKind, Write

RESET_BRIDGE, RESET = "Port.ResetPPB", "Port.Reset"
RESETS = frozenset({PortReset.FUNDAMENTAL.value})
"""What ResetType of Port.Reset can be."""


def offered(uri: str) -> dict[str, Any]:
    """Return the Actions of a port that can be reset."""
    bridge = {
        "target": f"{uri}/Actions/{RESET_BRIDGE}",
        "@Redfish.ActionInfo": ACTION_INFO.format(action=RESET_BRIDGE),
    }
    return {f"#{RESET_BRIDGE}": bridge, **reset_action(RESET, uri, RESETS)}


def act(write: Write, tip: Tip) -> Draft:
    """Return the draft of a reset. Raises RedfishError where this port can not be reset so."""
    action, place = write.action or "", tip.facts.port_at(write.uri)
    actions = (tip.document(write.uri) or {}).get("Actions") or {}
    if place is None or f"#{action}" not in actions:
        raise refusals.action_not_supported(action)
    asked = PortReset.BRIDGE
    if action == RESET:
        given = write.body.get("ResetType")
        if given not in RESETS:
            told = messages.action_parameter_value_not_in_list(
                str(given), "ResetType", action, "#/ResetType"
            )
            raise refusals.bad_content(told)
        asked = PortReset(given)
    fabric, port = place
    operation = OperationDraft(
        fabric, write.uri, frozenset({write.uri}), port_reset=PortResetWish(port, asked)
    )
    return Draft(OutcomeKind.CHANGED, write.uri, operation=operation)
