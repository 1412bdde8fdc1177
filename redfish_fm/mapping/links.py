"""Inverse links: which property of which resource is derived from whose forward link.

Pure tables and two walks over them. Derived properties are never stored (DESIGN section 3); the
pointers are JSON pointers into the resource that is linked to.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

FORWARD: dict[str, tuple[tuple[str, str], ...]] = {
    "Zone": (
        ("Links/Endpoints", "/Links/Zones"),
        ("Links/ContainsZones", "/Links/ContainedByZones"),
    ),
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

INVERSE: dict[str, tuple[str, ...]] = {
    "Endpoint": ("Zones", "Connections", "AddressPools"),
    "EndpointGroup": ("Connections",),
    "Zone": ("ContainedByZones", "AddressPools"),
    "Port": ("AssociatedEndpoints",),
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


def further_collections(type_name: str, document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the collections that have the resource as a member besides the one it lies in."""
    if type_name == "Volume":
        for pool in uris_at(document, ("Links", "ProvidingStoragePool")):
            yield f"{pool}/AllocatedVolumes"


def forward_links(
    type_name: str, document: Mapping[str, Any], aliases: Mapping[str, str] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield (target URI, inverse pointer) of every link of `document` that has an inverse.

    `aliases` (Facts.port_aliases) leads from a device's port to the switch port it is cabled to,
    which then knows the endpoint too. A pair is yielded once.
    """
    seen: set[tuple[str, str]] = set()
    for path, pointer in _PATHS.get(type_name, ()):
        for uri in uris_at(document, path):
            for target in _targets(uri, pointer, aliases or {}):
                if (target, pointer) not in seen:
                    seen.add((target, pointer))
                    yield target, pointer


def _targets(uri: str, pointer: str, aliases: Mapping[str, str]) -> Iterator[str]:
    if pointer == "/Links/Endpoints" and uri.split("/")[-2:-1] not in _ENTITY_PARENTS:
        return
    yield uri
    if pointer == "/Links/AssociatedEndpoints" and uri in aliases:
        yield aliases[uri]


_ENTITY_PARENTS = [[name] for name in sorted(ENTITY_COLLECTIONS)]


_OBJECT = (dict, Mapping)
"""What is a JSON object; dict first, which all parsed ones are and which is told at once."""


def uris_at(value: object, path: Sequence[str]) -> Iterator[str]:
    """Yield every @odata.id found by walking `path`, through lists, without trailing slash."""
    for done, name in enumerate(path):
        if value is None:
            return
        if isinstance(value, list):
            for member in value:
                yield from uris_at(member, path[done:])
            return
        value = value.get(name) if isinstance(value, _OBJECT) else None
    if value is None:
        return
    for end in value if isinstance(value, list) else (value,):
        uri = end.get("@odata.id") if isinstance(end, _OBJECT) else None
        if isinstance(uri, str):
            yield uri.rstrip("/")


def strip_inverse(type_name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy without derived links; Links itself goes where nothing else is in it."""
    names = INVERSE.get(type_name, ())
    links = document.get("Links")
    if not isinstance(links, Mapping) or not any(name in links for name in names):
        return dict(document)
    dropped = {*names, *(f"{name}@odata.count" for name in names)}
    kept = {name: value for name, value in links.items() if name not in dropped}
    result = {name: value for name, value in document.items() if name != "Links"}
    if kept:
        result["Links"] = kept
    return result
