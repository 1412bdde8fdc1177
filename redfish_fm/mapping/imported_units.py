"""Units and chunks of a mockup, by the terms of DESIGN section 5.

Pure. A unit's identity is the EntityLink: the PCIeDevice, a CXLLogicalDevice of an MLD, or the
linked resource itself. A port shared by endpoints merges their units, except LDs of one MLD.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from redfish_fm.fabric.model import BindTarget, FabricKind
from redfish_fm.fabric.values import Binder, Unit
from redfish_fm.mapping.domain import type_name
from redfish_fm.mapping.facts import Facts, enclosing
from redfish_fm.mapping.imported_devices import (
    LDS,
    device_of,
    is_mld,
    ld_numbers,
    logical_devices,
    targets,
)
from redfish_fm.mapping.imported_findings import Finding, FindingKind
from redfish_fm.mapping.imported_memory import read_memory
from redfish_fm.mapping.imported_storage import read_subsystems
from redfish_fm.mapping.imported_tree import Tree
from redfish_fm.mapping.imported_ways import read_ways
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.read import (
    durable_names,
    endpoint_ports,
    entities_of,
    members,
    units_of,
)
from redfish_fm.mapping.uris import fabric_of


def read_units(documents: Tree, facts: Facts, findings: list[Finding]) -> None:
    """Fill in units, what names them, where they are plugged, and the chunks that lie in them."""
    _name_devices(documents, facts)
    _name_parts(documents, facts)
    read_subsystems(documents, facts)
    _name_other_targets(documents, facts)
    _merge_shared_ports(documents, facts, findings)
    read_ways(documents, facts)
    _report_durable_names(documents, facts, findings)
    _describe(documents, facts, findings)
    read_memory(documents, facts)


def _name_devices(documents: Tree, facts: Facts) -> None:
    for uri, document in documents.of_type("PCIeDevice"):
        facts.entity_units[uri] = frozenset({uri})
        if is_mld(document):
            for ld in logical_devices(documents, uri):
                facts.entity_units[ld] = frozenset({ld})


_PART_LINKS = (
    "Links/CXLLogicalDevice",
    "Links/CXLLogicalDevices",
    "Links/PCIeDevice",
    "Links/PCIeDevices",
    "Links/PCIeFunctions",
)
_PARTS = ("PCIeFunction", "MemoryDomain", "MemoryChunks", "Processor", "Drive", "FabricAdapter")


def _name_parts(documents: Tree, facts: Facts) -> None:
    """What belongs to a device says so by links; a chassis stands for all devices in it."""
    for name in _PARTS:
        for uri, document in documents.of_type(name):
            units = _linked_units(document, facts)
            if units:
                facts.entity_units.setdefault(uri, units)
    for uri, _document in documents.of_type("Chassis"):
        inside = documents.below(f"{uri}/PCIeDevices")
        devices = [each for each in inside if type_name(documents[each]) == "PCIeDevice"]
        if devices:
            facts.entity_units[uri] = frozenset(devices)


def _linked_units(document: Mapping[str, Any], facts: Facts) -> frozenset[str]:
    for path in _PART_LINKS:
        units = frozenset[str]().union(*(units_of(each, facts) for each in members(document, path)))
        if units:
            return units
    return frozenset()


def _name_other_targets(documents: Tree, facts: Facts) -> None:
    for _uri, _document, links in targets(documents, facts):
        for link in links:
            if not units_of(link, facts) or _is_lost_in_chassis(link, documents, facts):
                facts.entity_units[link] = frozenset({link})


def _is_lost_in_chassis(link: str, documents: Tree, facts: Facts) -> bool:
    """Return whether nothing is at `link`, and only a chassis is known around it.

    A chassis stands for all devices in it; what is missing there is hardly all of them.
    """
    if link in documents:
        return False
    known = next((place for place in enclosing(link) if place in facts.entity_units), None)
    return known is not None and type_name(documents.get(known, {})) == "Chassis"


def _merge_shared_ports(documents: Tree, facts: Facts, findings: list[Finding]) -> None:
    bind = {fabric.id for fabric in facts.fabrics if fabric.kind is FabricKind.BIND}
    at_port: dict[str, set[str]] = {}
    for uri, document, links in targets(documents, facts):
        if fabric_of(uri) in bind:
            units = frozenset[str]().union(*(units_of(link, facts) for link in links))
            for port in endpoint_ports(document, facts):
                at_port.setdefault(port, set()).update(units)
    for port, found in sorted(at_port.items()):
        if len(found) > 1 and len({device_of(unit, documents) for unit in found}) > 1:
            one = min(found)
            text = f"shared by {', '.join(sorted(found))}: one unit, {one}"
            findings.append(Finding(FindingKind.CONTRADICTION, port, text))
            _replace_units(facts, frozenset(found), one)
            at_port[port] = {one}
    for port, found in at_port.items():
        facts.port_units[port] = frozenset(found)


def _replace_units(facts: Facts, old: frozenset[str], new: str) -> None:
    for uri, units in facts.entity_units.items():
        if units & old:
            facts.entity_units[uri] = (units - old) | {new}


def _report_durable_names(documents: Tree, facts: Facts, findings: list[Finding]) -> None:
    named: dict[str, set[str]] = {}
    for _uri, document, _links in targets(documents, facts):
        for entity in entities_of(document):
            links = list(uris_at(entity, ["EntityLink"]))
            for name in durable_names(entity):
                for link in links:
                    named.setdefault(name, set()).update(units_of(link, facts))
    for name, units in sorted(named.items()):
        if len(units) == 1:
            facts.durable_units[name] = frozenset(units)
        elif units:
            told = ", ".join(sorted(units))
            text = f"durable name {name} is used by {told}: the EntityLinks tell them apart"
            findings.append(Finding(FindingKind.CONTRADICTION, min(units), text))


def _describe(documents: Tree, facts: Facts, findings: list[Finding]) -> None:
    kinds = {fabric.id: fabric.kind for fabric in facts.fabrics}
    fabrics = _fabrics_of_units(documents, facts)
    switch_ports = {uri: key for key, uri in facts.port_uris.items()}
    plugged = _plugged(documents, facts, switch_ports)
    numbers: dict[str, dict[str, int]] = {}
    described = {unit.id for unit in facts.units}
    units = {each for found in facts.entity_units.values() for each in found}
    for unit in sorted(units - described):
        within = unit.rsplit(LDS, 1)[0]
        inside = within if within != unit and within in documents else None
        fabric = fabrics.get(unit) or fabrics.get(inside or "") or ""
        port = plugged.get(unit) or plugged.get(inside or "")
        bind = kinds.get(fabric) is FabricKind.BIND
        whole_mld = unit in documents and is_mld(documents[unit])
        target = None
        if bind and port is not None and not whole_mld:
            place, ld = switch_ports[port][1], _ld_of(unit, inside, documents, numbers)
            target = BindTarget(place.switch, place.port, ld)
            facts.target_units[fabric, target] = unit
        elif bind and not whole_mld and unit in fabrics:
            text = "no cable to a switch port is known, so nothing can bind it"
            findings.append(Finding(FindingKind.COMPLETED, unit, text))
        if port is not None:
            facts.resource_ports[unit] = port
        facts.units.append(
            Unit(
                unit,
                fabric,
                _binder(bind, whole_mld, inside is not None, target),
                not _is_shareable(documents.get(unit, {})),
                target,
                inside,
            )
        )


def _binder(bind: bool, whole_mld: bool, is_ld: bool, target: BindTarget | None) -> Binder:
    if not bind or whole_mld or target is None:
        return Binder.NOTHING
    return Binder.CONNECTION if is_ld else Binder.ZONE


def _ld_of(
    unit: str, inside: str | None, documents: Tree, numbers: dict[str, dict[str, int]]
) -> int | None:
    """Return the LD id of a unit; `numbers` keeps those of each device, found once."""
    if inside is None:
        return None
    if inside not in numbers:
        numbers[inside] = ld_numbers(logical_devices(documents, inside))
    return numbers[inside][unit]


def _is_shareable(document: Mapping[str, Any]) -> bool:
    """Return whether it has several hosts: of a subsystem each has its own namespaces."""
    if type_name(document) == "Storage":
        return True
    namespace = document.get("NVMeNamespaceProperties")
    return isinstance(namespace, Mapping) and namespace.get("IsShareable") is True


def _fabrics_of_units(documents: Tree, facts: Facts) -> dict[str, str]:
    found: dict[str, str] = {}
    for uri, _document, links in targets(documents, facts):
        for link in links:
            for unit in sorted(units_of(link, facts)):
                found.setdefault(unit, fabric_of(uri) or "")
    return _with_wholes(found, documents)


def _with_wholes(found: dict[str, str], documents: Tree) -> dict[str, str]:
    """Return `found` with what is known of an LD also known of the MLD it lies in."""
    for unit, value in list(found.items()):
        device = device_of(unit, documents)
        found.setdefault(device, value)
    return found


def _plugged(documents: Tree, facts: Facts, switch_ports: Iterable[str]) -> dict[str, str]:
    """Return unit -> switch port: by endpoint, by the device's own links, by its chassis."""
    known, found = frozenset(switch_ports), dict[str, str]()
    for _uri, document, links in targets(documents, facts):
        for port in endpoint_ports(document, facts):
            for link in links if port in known else ():
                for unit in sorted(units_of(link, facts)):
                    found.setdefault(unit, port)
    for uri, document in documents.of_type("PCIeDevice"):
        for port in members(document, "Links/ConnectedPCIePorts"):
            place = facts.switch_port(port)
            if place in known:
                found.setdefault(uri, place)
    for far_end, port in sorted(facts.port_aliases.items()):
        units = units_of(far_end, facts)
        if port in known and len(units) == 1:
            found.setdefault(next(iter(units)), port)
    return _with_wholes(found, documents)
