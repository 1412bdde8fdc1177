"""NVMe subsystems of a mockup: which Storage an endpoint means, and the volumes that it brought.

Pure. A target endpoint of a connection-grants fabric often links to a network function; the name
that it shares with a Storage (NQN) says what it is. What was imported is served as it is: no
driver attaches it, but the isolation rules know it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any

from redfish_fm.fabric.model import FabricKind
from redfish_fm.mapping.domain import type_name
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.imported_tree import Tree
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.read import durable_names, entities_of, read_volume, units_of
from redfish_fm.mapping.uris import fabric_of, storage_of


def read_subsystems(documents: Tree, facts: Facts) -> None:
    """Fill in which Storage is a unit, what names it, and its volumes."""
    kinds = {fabric.id: fabric.kind for fabric in facts.fabrics}
    network = {name for name, kind in kinds.items() if kind is FabricKind.CONNECTION_GRANTS}
    fabrics: dict[str, str] = {}
    for storage, fabric in _named(documents, facts):
        if fabric in network and type_name(documents.get(storage, {})) == "Storage":
            fabrics.setdefault(storage, fabric)
    for storage in fabrics:
        facts.entity_units[storage] = frozenset({storage})
    for uri, document in documents.of_type("Volume"):
        volume = read_volume(uri, document, facts)
        if volume is not None and volume.subsystem in fabrics:
            # Its number is not taken over: mockups give several volumes of a subsystem the same.
            facts.volumes.append(replace(volume, fabric=fabrics[volume.subsystem]))


def _named(documents: Tree, facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield (storage, fabric) of whatever an endpoint or a connection means by name or link."""
    names = dict(_names(documents))
    holders = [*documents.of_type("Endpoint"), *documents.of_type("Connection")]
    for uri, document in sorted(holders, key=itemgetter(0)):
        fabric = fabric_of(uri) or ""
        if type_name(document) == "Endpoint":
            for storage in sorted(_meant(document, names, facts)):
                yield storage, fabric
        else:
            for volume in uris_at(document, ("VolumeInfo", "Volume")):
                yield storage_of(volume) or "", fabric


def _names(documents: Tree) -> Iterator[tuple[str, str]]:
    """Yield (NQN, Storage that has it)."""
    for uri, document in documents.of_type("Storage"):
        yield from ((name, uri) for name in durable_names(document) if name[:4] == "NQN:")


def _meant(document: Mapping[str, Any], names: Mapping[str, str], facts: Facts) -> set[str]:
    """Return the storages of a target endpoint, and let what it links to mean them."""
    targets = [each for each in entities_of(document) if each.get("EntityRole") == "Target"]
    if not targets:
        return set()
    links = [link for each in targets for link in uris_at(each, ["EntityLink"])]
    known = [*durable_names(document), *(name for each in targets for name in durable_names(each))]
    found = {names[name] for name in known if name in names}
    for name in known if len(found) == 1 else ():
        facts.durable_units.setdefault(name, frozenset(found))
    for link in links:
        if found and not units_of(link, facts):
            facts.entity_units[link] = frozenset(found)
    return found | {link for link in links if storage_of(link) == link}
