"""Devices of a mockup and the endpoints that mean them: look-ups that several readers share.

Pure. Redfish: PCIeDevice.CXLDevice, CXLLogicalDevice, Endpoint.ConnectedEntities.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.imported_tree import Tree
from redfish_fm.mapping.read import EXEMPT_ENTITIES, entities_of, target_links

LDS = "/CXLLogicalDevices/"


def is_mld(device: Mapping[str, Any]) -> bool:
    """Return whether a PCIeDevice is an MLD: Type3 with room for several logical devices."""
    cxl = device.get("CXLDevice")
    if not isinstance(cxl, Mapping) or cxl.get("DeviceType") != "Type3":
        return False
    count = cxl.get("MaxNumberLogicalDevices")
    return isinstance(count, int) and count > 1


def logical_devices(documents: Tree, device: str) -> list[str]:
    """Return the URIs of a PCIeDevice's CXLLogicalDevices, by number where they have one."""
    found = documents.below(f"{device}/CXLLogicalDevices")
    return sorted(found, key=lambda uri: (len(uri), uri))


def ld_number(uri: str, siblings: list[str]) -> int:
    """Return the LD id: the resource's Id where that is a number, else its place from 0."""
    name = uri.rsplit("/", 1)[-1]
    return int(name) if name.isdecimal() else siblings.index(uri)


def device_of(unit: str, documents: Tree) -> str:
    """Return the MLD that a unit lies in, or the unit itself."""
    device = unit.rsplit(LDS, 1)[0]
    return device if device in documents and is_mld(documents[device]) else unit


def targets(documents: Tree, facts: Facts) -> Iterator[tuple[str, Mapping[str, Any], list[str]]]:
    """Yield (URI, endpoint, entity links) of endpoints that can be reached."""
    for uri, document in documents.of_type("Endpoint"):
        entities = [
            entity
            for entity in entities_of(document)
            if entity.get("EntityRole") != "Initiator"
            and entity.get("EntityType") not in EXEMPT_ENTITIES
        ]
        links = target_links(entities, facts)
        if links:
            yield uri, document, links
