"""What a vPPB shows of the binding that its switch reports. CXL: vPPB binding status.

Pure. Knows targets and one URI; what a binding means to its holder is said elsewhere.
"""

from typing import Any

from redfish_fm.fabric.model import BindTarget
from redfish_fm.mapping.rendering import ref


def bound_properties(target: BindTarget, port_uri: str | None) -> dict[str, Any]:
    """Return what a vPPB that is bound to `target`, behind the port at `port_uri`, shows."""
    physical = target.ld is None
    patch: dict[str, Any] = {"BindingStatus": "BoundPhysicalPort" if physical else "BoundLD"}
    if target.ld is not None:
        patch["BoundLDId"] = target.ld
    if target.port.isdecimal():
        patch["BoundPortId"] = int(target.port)
    if port_uri is not None:
        patch["Links"] = {"Port": ref(port_uri)}
    return patch
