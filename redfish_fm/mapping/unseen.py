"""What is shown of what a client made before anybody has looked at it.

Pure.
"""

from redfish_fm.fabric.index import FabricIndex
from redfish_fm.mapping.dependencies import allocations
from redfish_fm.mapping.statuses import Patch

OK = {"State": "Enabled", "Health": "OK"}
STARTING = {"State": "Starting", "Health": "OK"}


def unseen_patch(index: FabricIndex, uri: str) -> Patch | None:
    """Return what is shown of what a client made and nobody has looked at yet; else None.

    What waits for hardware is Starting until it is seen; the rest has nothing to wait for.
    """
    if uri in index.zones or uri in index.connections:
        return {"Status": dict(STARTING if index.bindings_of_holder(uri) else OK)}
    return {"Status": dict(STARTING)} if any(allocations(index, uri)) else None
