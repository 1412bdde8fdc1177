"""What the ports of a switch count. Pure. Redfish: PortMetrics.v1_8_1.

Links of a virtual fabric are up or down and never lose a bit, so that all counters stand at zero;
a driver that reads real ones will fill them in as observed properties.
"""

from typing import Any

from redfish_fm.fabric.model import PortId
from redfish_fm.mapping import uris
from redfish_fm.mapping.rendering import Rendering, ref

PCIE_ERRORS: dict[str, int] = dict.fromkeys(
    (
        "CorrectableErrorCount",
        "NonFatalErrorCount",
        "FatalErrorCount",
        "UnsupportedRequestCount",
        "BadTLPCount",
        "BadDLLPCount",
        "L0ToRecoveryCount",
        "ReplayCount",
        "ReplayRolloverCount",
        "NAKSentCount",
        "NAKReceivedCount",
        "FlowControlTimeoutErrors",
    ),
    0,
)
"""PCIeDevice.v1_21_0 PCIeErrors, as a link has them that never failed."""


def put_port_metrics(
    out: Rendering, fabric: str, port: PortId, name: str, *, cxl: bool
) -> dict[str, str]:
    """Add the PortMetrics of a port; return the link to them."""
    uri = uris.PORT_METRICS.format(fabric=fabric, switch=port.switch, port=port.port)
    more: dict[str, Any] = {"CXL": {"BackpressureAveragePercentage": 0}} if cxl else {}
    out.put(
        uri,
        "PortMetrics",
        f"Metrics of {name}",
        PCIeErrors=PCIE_ERRORS,
        RXErrors=0,
        TXErrors=0,
        **more,
    )
    return ref(uri)
