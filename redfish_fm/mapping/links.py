"""Inverse links: which property of which resource is derived from whose forward link.

Pure tables and two walks over them. Derived properties are never stored (DESIGN section 3); the
pointers are JSON pointers into the resource that is linked to.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

FORWARD: dict[str, tuple[tuple[str, str], ...]] = {
    "Zone": (
        ("Links/Endpoints", "/Links/Zones"),
        ("Links/ContainsZones", "/Links/ContainedByZones"),
        ("Links/ResourceBlocks", "/Links/Zones"),
    ),
    "ComputerSystem": (("Links/ResourceBlocks", "/Links/ComputerSystems"),),
    "Connection": (
        ("Links/InitiatorEndpoints", "/Links/Connections"),
        ("Links/TargetEndpoints", "/Links/Connections"),
        ("Links/InitiatorEndpointGroups", "/Links/Connections"),
        ("Links/TargetEndpointGroups", "/Links/Connections"),
    ),
    "MemoryChunks": (("Links/CXLLogicalDevices", "/Links/MemoryChunks"),),
    "AddressPool": (
        ("Links/Endpoints", "/Links/AddressPools"),
        ("Links/Zones", "/Links/AddressPools"),
    ),
    "Endpoint": (
        ("ConnectedEntities/EntityLink", "/Links/Endpoints"),
        ("Links/LocalPorts", "/Links/AssociatedEndpoints"),
        ("Links/ConnectedPorts", "/Links/AssociatedEndpoints"),
        ("Links/Ports", "/Links/AssociatedEndpoints"),
    ),
}
"""Type -> (path of the forward link, pointer of the inverse one). Lists are walked through."""

_PATHS = {
    name: tuple((tuple(path.split("/")), pointer) for path, pointer in rows)
    for name, rows in FORWARD.items()
}

_IN_LINKS = frozenset(
    name for name, rows in _PATHS.items() if all(path[0] == "Links" for path, _ in rows)
)
"""Types with all of their links under Links, where most have none when they are made."""

INVERSE: dict[str, tuple[str, ...]] = {
    "Endpoint": ("Zones", "Connections", "AddressPools"),
    "EndpointGroup": ("Connections",),
    "Zone": ("ContainedByZones", "AddressPools"),
    "Port": ("AssociatedEndpoints",),
    "ResourceBlock": ("ComputerSystems", "Zones"),
    "AccelerationFunction": ("Endpoints",),
    "CXLLogicalDevice": ("Endpoints", "MemoryChunks"),
    "ComputerSystem": ("Endpoints",),
    "Drive": ("Endpoints",),
    "FabricAdapter": ("Endpoints",),
    "MediaController": ("Endpoints",),
    "Memory": ("Endpoints",),
    "MemoryChunks": ("Endpoints",),
    "NetworkDeviceFunction": ("Endpoints",),
    "Processor": ("Endpoints",),
    "StorageController": ("Endpoints",),
    "Switch": ("Endpoints",),
}
"""Type -> names under its Links that are derived and therefore dropped on import."""

ENTITY_COLLECTIONS = frozenset(
    {
        "AccelerationFunctions",
        "CXLLogicalDevices",
        "Controllers",
        "Drives",
        "FabricAdapters",
        "MediaControllers",
        "Memory",
        "MemoryChunks",
        "NetworkDeviceFunctions",
        "Processors",
        "Switches",
        "Systems",
    }
)
"""Collections whose members' Links know Endpoints (2025.4): an EntityLink elsewhere has none."""


IN_FURTHER_COLLECTIONS = frozenset({"Volume"})
"""Types for which `further_collections` may yield any."""


def further_collections(type_name: str, document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the collections that have the resource as a member besides the one it lies in."""
    if type_name == "Volume":
        for pool in uris_at(document, ("Links", "ProvidingStoragePool")):
            yield f"{pool}/AllocatedVolumes"


def links_of_endpoint(entities: Iterable[str], ports: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return what `forward_links` yields of an endpoint with these EntityLinks.

    `ports` are all it uses, at both ends of a cable.
    """
    known = (uri for uri in entities if _parent_name(uri) in ENTITY_COLLECTIONS)
    return (
        *((uri, "/Links/Endpoints") for uri in known),
        *((port, "/Links/AssociatedEndpoints") for port in ports),
    )


def forward_links(
    type_name: str, document: Mapping[str, Any], aliases: Mapping[str, str] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield (target URI, inverse pointer) of every link of `document` that has an inverse.

    `aliases` (Facts.port_aliases) leads from a device's port to the switch port it is cabled to,
    which then knows the endpoint too. A pair is yielded once.
    """
    found: dict[tuple[str, str], None] = {}
    links = document.get("Links")
    if type_name in _IN_LINKS and type(links) is dict and not any(links.values()):
        return iter(())
    for path, pointer in _PATHS.get(type_name, ()):
        if path[0] == "Links" and (not links or _lacks(links, path[1])):
            continue
        for uri in _found_at(document, path):
            if pointer == "/Links/Endpoints" and _parent_name(uri) not in ENTITY_COLLECTIONS:
                continue
            found[uri, pointer] = None
            if pointer == "/Links/AssociatedEndpoints" and aliases and uri in aliases:
                found[aliases[uri], pointer] = None
    return iter(found)


def _parent_name(uri: str) -> str:
    return uri.rpartition("/")[0].rpartition("/")[2]


_OBJECT = (dict, Mapping)
"""What is a JSON object; dict first, which all parsed ones are and which is told at once."""


def _lacks(links: object, name: str) -> bool:
    """Return whether Links surely name nothing there, as most do, without walking them."""
    return type(links) is dict and not links.get(name)


def linked_in(links: object, name: str) -> tuple[str, ...]:
    """Return the URIs under one name of Links, in order, duplicates kept."""
    return () if not links or _lacks(links, name) else tuple(_found_at(links, (name,)))


def uris_at(value: object, path: Sequence[str]) -> Iterator[str]:
    """Yield every @odata.id found by walking `path`, through lists, without trailing slash."""
    return iter(_found_at(value, path))


def _found_at(value: object, path: Sequence[str]) -> list[str]:
    for done, name in enumerate(path):
        if isinstance(value, list):
            rest = path[done:]
            return [uri for member in value for uri in _found_at(member, rest)]
        value = value.get(name) if value is not None and isinstance(value, _OBJECT) else None
        if value is None:
            return []
    found = []
    for end in value if isinstance(value, list) else (value,):
        uri = end.get("@odata.id") if end is not None and isinstance(end, _OBJECT) else None
        if isinstance(uri, str):
            found.append(uri.rstrip("/"))
    return found


def strip_inverse(type_name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy without derived links; Links itself goes where nothing else is in it."""
    names = INVERSE.get(type_name, ())
    links = document.get("Links")
    if not isinstance(links, _OBJECT) or links.keys().isdisjoint(names):
        return dict(document)
    dropped = {*names, *(f"{name}@odata.count" for name in names)}
    kept = {name: value for name, value in links.items() if name not in dropped}
    result = {name: value for name, value in document.items() if name != "Links"}
    if kept:
        result["Links"] = kept
    return result
