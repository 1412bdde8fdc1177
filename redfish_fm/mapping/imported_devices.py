"""Devices of a mockup and the endpoints that mean them: look-ups that several readers share.

Pure. Redfish: PCIeDevice.CXLDevice, CXLLogicalDevice, Endpoint.ConnectedEntities.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
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


_LD_DIGITS_MAX = 5


def ld_numbers(siblings: Sequence[str]) -> dict[str, int]:
    """Return the LD id of each: its Id where that is a number, else the lowest that is free.

    No two have the same one: two names of one number ("1", "01") would be two units at one place,
    which two hosts could be given.
    """
    names = {each: each.rsplit("/", 1)[-1] for each in siblings}
    plain = {each: int(name) for each, name in names.items() if _is_plain(name)}
    taken = frozenset(plain.values())
    free = (number for number in count() if number not in taken)
    return {each: plain[each] if each in plain else next(free) for each in siblings}


def _is_plain(name: str) -> bool:
    """Return whether a name is a number as this service writes one, and not absurdly long."""
    if not (name.isascii() and name.isdecimal() and len(name) <= _LD_DIGITS_MAX):
        return False
    return str(int(name)) == name


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
