"""What the ports of a switch count, and the switch as a whole: what it says, and nothing else.

Pure. Redfish: PortMetrics.v1_8_1, SwitchMetrics.v1_1_0, PCIeDevice.v1_21_0 PCIeErrors. Of a
switch that does not say what its ports count nothing is shown: absent, not zero.
"""

from typing import Any

from redfish_fm.fabric.link_errors import LinkErrors
from redfish_fm.fabric.model import PortId
from redfish_fm.mapping import uris
from redfish_fm.mapping.rendering import Rendering, ref


def put_port_metrics(out: Rendering, fabric: str, port: PortId, name: str) -> dict[str, str]:
    """Add the PortMetrics of a port, empty until it is looked at; return the link to them."""
    uri = uris.PORT_METRICS.format(fabric=fabric, switch=port.switch, port=port.port)
    out.facts.link_resources[uri] = out.facts.port_uris[fabric, port]
    out.put(uri, "PortMetrics", f"Metrics of {name}")
    return ref(uri)


def put_switch_metrics(out: Rendering, fabric: str, switch: str, name: str) -> dict[str, str]:
    """Add the SwitchMetrics of a switch, empty until it is looked at; return the link to them."""
    uri = uris.SWITCH_METRICS.format(fabric=fabric, switch=switch)
    out.facts.switch_metrics[fabric, switch] = uri
    out.put(uri, "SwitchMetrics", f"Metrics of {name}")
    return ref(uri)


def port_metrics(errors: LinkErrors | None) -> dict[str, Any]:
    """Return what PortMetrics show of what a port counted."""
    if errors is None:
        return {}
    return {
        **switch_metrics(errors),
        # A rollover is the transmitter's; every other correctable error is the receiver's.
        "RXErrors": errors.correctable - errors.replay_rollovers,
        "TXErrors": errors.naks_received + errors.replay_rollovers,
    }


def switch_metrics(errors: LinkErrors | None) -> dict[str, Any]:
    """Return what SwitchMetrics show of what all ports of a switch counted together."""
    if errors is None:
        return {}
    return {
        "PCIeErrors": {
            "CorrectableErrorCount": errors.correctable,
            "NonFatalErrorCount": errors.non_fatal,
            "FatalErrorCount": errors.fatal,
            "L0ToRecoveryCount": errors.recoveries,
            "ReplayCount": errors.replays,
            "ReplayRolloverCount": errors.replay_rollovers,
            "NAKSentCount": errors.naks_sent,
            "NAKReceivedCount": errors.naks_received,
            "BadTLPCount": errors.bad_tlps,
            "BadDLLPCount": errors.bad_dllps,
            "UnsupportedRequestCount": errors.unsupported_requests,
        }
    }
