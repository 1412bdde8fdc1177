"""Devices of a mockup on several switch ports: two ways to one thing, or heads for several hosts.

Pure. A port is a head where its endpoints mean functions or logical devices that no other port of
the device has, and none means the device itself, by link or by its UUID; each head is a unit, for
a host of its own. Else all ports are ways to one exclusive device. So are those of a drive: what
its functions have in common is what is stored. Redfish: PCIeDevice.Links.ConnectedPCIePorts,
Endpoint.Links.ConnectedPorts, Port.CXL.ConnectedDeviceType.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from redfish_fm.fabric.model import BindTarget, FabricKind
from redfish_fm.fabric.values import Binder, Unit
from redfish_fm.mapping.device_ways import head_function_id
from redfish_fm.mapping.domain import type_name
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.imported_devices import (
    LDS,
    device_of,
    is_mld,
    logical_devices,
    targets,
)
from redfish_fm.mapping.imported_tree import Tree
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.read import durable_names, endpoint_ports, entities_of, members, units_of
from redfish_fm.mapping.uris import fabric_of

_PARTS = ("PCIeFunction", "CXLLogicalDevice")
_STORAGE = "MassStorageController"


@dataclass(slots=True)
class _Plug:
    """What endpoints mean at one port of a device: parts of it, or (`whole`) itself."""

    parts: set[str] = field(default_factory=set)
    whole: bool = False


_Plugs = dict[str, _Plug]
"""Switch port -> what is meant there, in the order of the device's ports."""


def read_ways(documents: Tree, facts: Facts) -> None:
    """Fill in the devices on several ports: their units, and which is meant at which port."""
    for device, fabric, plugs in _on_several_ports(documents, facts):
        heads = _are_heads(documents, device, plugs)
        if is_mld(documents.get(device, {})) and not heads:
            continue  # its LDs are its units, wherever it is plugged in
        units = _head_units(plugs) if heads else _way_units(documents, device, plugs)
        for port, plug in plugs.items():
            alone = plug.parts if heads else plug.parts - _elsewhere(plugs, port)
            for part in alone | ({units[port]} - {port, device}):
                facts.entity_units[part] = frozenset({units[port]})
        _put_units(facts, device, fabric, units, heads=heads)


def has_heads(device: str, facts: Facts) -> bool:
    """Return whether each of several ports of the device is a unit of its own."""
    ways = facts.ways.get(device, {})
    return bool(ways) and device not in ways.values()


def _on_several_ports(documents: Tree, facts: Facts) -> Iterator[tuple[str, str, _Plugs]]:
    """Yield (device, fabric, its ports) of all that are on several ports of one bind fabric."""
    bind = {each.id for each in facts.fabrics if each.kind is FabricKind.BIND}
    places = {uri: fabric for (fabric, _), uri in facts.port_uris.items() if fabric in bind}
    meant = _meant(documents, facts, places)
    linked = {
        uri: [facts.switch_port(port) for port in members(document, "Links/ConnectedPCIePorts")]
        for uri, document in documents.of_type("PCIeDevice")
    }
    for device in sorted({*meant, *linked}):
        found = meant.get(device, {})
        ports = [each for each in dict.fromkeys((*linked.get(device, ()), *found))
                 if each in places]  # fmt: skip
        units = units_of(device, facts)
        if len({places[port] for port in ports}) == 1 < len(ports) and units == {device}:
            plugs = {port: found.get(port) or _Plug() for port in ports}
            yield device, places[ports[0]], plugs


def _meant(documents: Tree, facts: Facts, places: Mapping[str, str]) -> dict[str, _Plugs]:
    found: dict[str, _Plugs] = {}
    for uri, document, links in targets(documents, facts):
        for port in endpoint_ports(document, facts):
            if places.get(port) != fabric_of(uri):
                continue
            for link in links:
                for unit in sorted(units_of(link, facts)):
                    device = device_of(unit, documents)
                    plug = found.setdefault(device, {}).setdefault(port, _Plug())
                    _mean(documents, device, (unit, link, document), plug)
    return found


def _mean(
    documents: Tree, device: str, meant: tuple[str, str, Mapping[str, Any]], plug: _Plug
) -> None:
    unit, link, endpoint = meant
    part = unit if unit != device else link
    if type_name(documents.get(part, {})) in _PARTS and part.startswith(f"{device}/"):
        plug.parts.add(part)
    else:
        plug.whole = True
    uuid = documents.get(device, {}).get("UUID")
    if isinstance(uuid, str) and f"UUID:{uuid}".upper() in _names(endpoint):
        plug.whole = True


def _names(endpoint: Mapping[str, Any]) -> set[str]:
    inner = (name for entity in entities_of(endpoint) for name in durable_names(entity))
    return {*durable_names(endpoint), *inner}


def _are_heads(documents: Tree, device: str, plugs: _Plugs) -> bool:
    for port, plug in plugs.items():
        if plug.whole or not plug.parts or plug.parts & _elsewhere(plugs, port):
            return False
    if is_mld(documents.get(device, {})):
        return _are_single(documents, device, plugs)
    return not any(
        documents[uri].get("DeviceClass") == _STORAGE for uri in _functions(documents, device)
    )


def _are_single(documents: Tree, device: str, plugs: _Plugs) -> bool:
    """Return whether what looks like an MLD is memory with one logical device at each port."""
    known = {part for plug in plugs.values() for part in plug.parts}
    if known != {*logical_devices(documents, device)} or len(known) != len(plugs):
        return False
    return all(
        isinstance(cxl := documents[port].get("CXL"), Mapping)
        and cxl.get("ConnectedDeviceType") == "Type3SLD"
        for port in plugs
    )


def _elsewhere(plugs: _Plugs, port: str) -> set[str]:
    return {part for other, plug in plugs.items() if other != port for part in plug.parts}


def _functions(documents: Tree, device: str) -> list[str]:
    places = uris_at(documents.get(device, {}), ["PCIeFunctions"])
    return [uri for place in places for uri in documents.below(place)]


def _head_units(plugs: _Plugs) -> dict[str, str]:
    return {port: min(plug.parts) for port, plug in plugs.items()}


def _way_units(documents: Tree, device: str, plugs: _Plugs) -> dict[str, str]:
    """Return which resource stands for each way: the device for the first, as it is the whole.

    For the others it is a function that only they have, else the port.
    """
    units: dict[str, str] = {}
    functions = {uri.rsplit("/", 1)[-1]: uri for uri in _functions(documents, device)}
    for head, (port, plug) in enumerate(plugs.items(), 1):
        own = min(plug.parts - _elsewhere(plugs, port), default=None)
        named = functions.get(head_function_id(head, 0))
        units[port] = device if head == 1 else own or named or port
    return units


def _put_units(
    facts: Facts, device: str, fabric: str, units: Mapping[str, str], *, heads: bool
) -> None:
    facts.ways[device] = dict(units)
    facts.resource_ports[device] = next(iter(units))
    if heads:
        facts.units.append(Unit(device, fabric, Binder.NOTHING, exclusive=False))
    within = device if heads else None
    for port, unit in units.items():
        _, place = facts.port_at(port) or ("", None)
        if place is None:
            continue
        target = BindTarget(place.switch, place.port)
        facts.units.append(Unit(unit, fabric, Binder.ZONE, target=target, within=within))
        # As native ones (`device_ways`): further ways lie one within the other, heads side by side.
        within = device if heads else unit
        facts.target_units[fabric, target] = unit
        facts.port_units[port] = frozenset({unit})
        if LDS in unit:
            facts.resource_ports[unit] = port
