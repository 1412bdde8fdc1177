"""Endpoints of a mockup that call a device a switch: isolation looks away, and nothing is bound.

Pure. Redfish: Endpoint.ConnectedEntities EntityType and EntityLink. What an endpoint calls itself
counts (DESIGN section 5); that its link says something else is told.
"""

from collections.abc import Iterator

from redfish_fm.mapping.domain import type_name
from redfish_fm.mapping.imported_findings import Finding, FindingKind
from redfish_fm.mapping.imported_tree import Tree
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.read import EXEMPT_ENTITIES, entities_of

_DEVICES = frozenset(
    {
        *("AccelerationFunction", "CXLLogicalDevice", "Drive", "GraphicsController", "Memory"),
        *("MemoryChunks", "NetworkAdapter", "NetworkDeviceFunction", "Processor", "Volume"),
    }
)
"""Types that hosts are given, and no switch, bridge or manager is shown by."""
_BRIDGE = "Bridge"
"""PCIeFunction.DeviceClass of what is only a way to something else."""


def exempt_devices(documents: Tree) -> Iterator[Finding]:
    """Yield each entity that is exempt by its EntityType and, by its EntityLink, a device."""
    for uri, document in documents.of_type("Endpoint"):
        for entity in entities_of(document):
            told = entity.get("EntityType")
            if told not in EXEMPT_ENTITIES:
                continue
            for link in uris_at(entity, ["EntityLink"]):
                name = type_name(documents.get(link, {}))
                if name in _DEVICES or _is_pcie_device(documents, link, name):
                    text = (
                        f"EntityType {told}, but its EntityLink is a {name}, {link}: "
                        "as the former it is exempt from isolation, so it binds nothing"
                    )
                    pointer = "/ConnectedEntities"
                    yield Finding(FindingKind.CONTRADICTION, uri, text, pointer)


def _is_pcie_device(documents: Tree, uri: str, name: str) -> bool:
    """Return whether a PCIe device or function is more than a bridge, as far as is told."""
    if name == "PCIeFunction":
        return documents[uri].get("DeviceClass") != _BRIDGE
    if name != "PCIeDevice":
        return False
    places = uris_at(documents[uri], ["PCIeFunctions"])
    functions = [each for place in places for each in documents.below(place)]
    classes = {documents[each].get("DeviceClass") for each in functions}
    return classes != {_BRIDGE}
