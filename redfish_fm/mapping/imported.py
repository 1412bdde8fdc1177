"""A public mockup taken apart: what stays fixed, what clients may change, what it all means.

Pure. Documents in, values out; every oddity is a Finding, never an exception. The work
is split: `imported_hosts`, `imported_cabling`, `imported_units` (units and chunks),
`imported_switches` (the Inventory for a virtual driver), `imported_bindings` (what the documents'
own zones already bind).
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from redfish_fm.fabric.index import FabricFacts, FabricIndex
from redfish_fm.fabric.inventory import defects as inventory_defects
from redfish_fm.fabric.model import FabricKind, Host, Inventory
from redfish_fm.fabric.values import Binding
from redfish_fm.fabric.zoning import existing_violations
from redfish_fm.mapping.address_pools import with_back_links
from redfish_fm.mapping.block_status import POOLS
from redfish_fm.mapping.domain import apply_document, apply_overlay, type_name
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.imported_bindings import implied_bindings
from redfish_fm.mapping.imported_cabling import read_cabling
from redfish_fm.mapping.imported_completion import completed
from redfish_fm.mapping.imported_compositions import (
    below_composed,
    composed_systems,
    expansions,
    is_composed,
    physical,
    read_blocks,
    read_capabilities,
    without_links_to,
)
from redfish_fm.mapping.imported_exempt import exempt_devices
from redfish_fm.mapping.imported_findings import Finding, FindingKind, of_violation
from redfish_fm.mapping.imported_hosts import read_hosts, resettable_hosts
from redfish_fm.mapping.imported_memory import chunks_with_lds
from redfish_fm.mapping.imported_switches import derive_inventories, resets_bridge
from redfish_fm.mapping.imported_tree import Documents, Tree
from redfish_fm.mapping.imported_units import read_units
from redfish_fm.mapping.links import strip_inverse
from redfish_fm.mapping.port_resets import offered
from redfish_fm.mapping.read import members
from redfish_fm.mapping.uris import FABRIC, ZONES, fabric_of

REPLACED = (
    "/redfish/v1/AccountService",
    "/redfish/v1/EventService",
    "/redfish/v1/JsonSchemas",
    "/redfish/v1/Registries",
    "/redfish/v1/SessionService",
    "/redfish/v1/TaskService",
    "/redfish/v1/$metadata",
    "/redfish/v1/odata",
)
"""What the service itself offers instead, with everything below; and the root, alone."""

ROOT = "/redfish/v1"
CHANGEABLE = frozenset({"AddressPool", "Connection", "Endpoint", "EndpointGroup", "Zone"})

KINDS = {
    "PCIe": FabricKind.BIND,
    "CXL": FabricKind.BIND,
    "SAS": FabricKind.ZONE_GRANTS,
    "SATA": FabricKind.ZONE_GRANTS,
    "FC": FabricKind.ZONE_GRANTS,
    "FCP": FabricKind.ZONE_GRANTS,
    "FCoE": FabricKind.ZONE_GRANTS,
    "GenZ": FabricKind.ZONE_GRANTS,
    "NVMeOverFabrics": FabricKind.CONNECTION_GRANTS,
    "NVMe": FabricKind.CONNECTION_GRANTS,
    "iSCSI": FabricKind.CONNECTION_GRANTS,
}
"""Fabric.FabricType -> how it grants access; whatever is not named here is plain reach."""

OBSERVED = {
    "VirtualPCI2PCIBridge": ("BindingStatus", "BoundLDId", "BoundPBRId", "BoundPortId"),
    "Zone": ("Status",),
    "Connection": ("Status",),
}
"""Properties that observation owns on a fabric with a driver: what a mockup says is dropped."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A mockup, understood. `inventory` and `wanted` are disjoint, by URI, without Members.

    `overlays` are what is laid over inventory from the first start on: blocks given to hosts.
    `fabrics` are for virtual drivers, one per bind fabric with switches; `bindings` what they
    start with; `hosts` are in none of them and yet to be reset; `replaced` the URIs left to the
    service; `findings` what was noticed.
    """

    inventory: dict[str, dict[str, Any]]
    wanted: dict[str, dict[str, Any]]
    facts: Facts
    overlays: dict[str, dict[str, Any]] = field(default_factory=dict)
    fabrics: list[Inventory] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    hosts: list[Host] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)


def analyse(documents: Documents) -> Imported:
    """Return what a mockup's documents (by URI, any spelling of the slash) mean."""
    tidy = {uri.rstrip("/"): dict(document) for uri, document in sorted(documents.items())}
    replaced = [uri for uri in tidy if is_replaced(uri)]
    kept = {uri: document for uri, document in tidy.items() if not is_replaced(uri)}
    kept.update(chunks_with_lds(kept))
    facts, findings = Facts(), list[Finding]()
    _read_fabrics(kept, facts, findings)
    kept.update(completed(kept, facts, findings))
    read_capabilities(kept, facts)
    tree = Tree(kept)
    read_hosts(tree, facts)
    read_cabling(tree, facts, findings)
    read_units(tree, facts, findings)
    read_blocks(tree, facts)
    findings += exempt_devices(tree)
    fabrics = _derive(tree, facts, findings)
    hosts = resettable_hosts(tree, facts, {host.id for each in fabrics for host in each.hosts})
    driven = frozenset(inventory.fabric for inventory in fabrics)
    composed = composed_systems(tree, facts)
    left_out = below_composed(tree, composed, findings)
    wanted, inventory = _split(tree, driven, facts, left_out)
    if composed:
        inventory = {uri: without_links_to(each, composed) for uri, each in inventory.items()}
    overlays = dict(expansions(tree, facts))
    _read_members(inventory, documents=tree, facts=facts)
    index = _index(facts, wanted, overlays)
    bindings = implied_bindings(tree, facts, index, findings)
    findings.extend(of_violation(each) for each in existing_violations(index))
    return Imported(
        inventory, wanted, facts, overlays, fabrics, bindings, hosts, findings, replaced
    )


def is_replaced(uri: str) -> bool:
    """Return whether the service itself has what an import has at `uri`."""
    return uri == ROOT or any(uri == each or uri.startswith(f"{each}/") for each in REPLACED)


def _read_fabrics(documents: Documents, facts: Facts, findings: list[Finding]) -> None:
    for uri, document in documents.items():
        if type_name(document) != "Fabric":
            continue
        fabric, kind = fabric_of(uri) or "", document.get("FabricType")
        if uri != FABRIC.format(fabric=fabric):
            text = "a fabric that is not a member of /redfish/v1/Fabrics; nothing on it is managed"
            findings.append(Finding(FindingKind.COMPLETED, uri, text))
            continue
        if kind is None:
            text = "FabricType is missing; nothing on it is exclusive by binding"
            findings.append(Finding(FindingKind.COMPLETED, uri, text))
        limit = document.get("MaxZones")
        facts.fabrics.append(
            FabricFacts(
                fabric,
                KINDS.get(str(kind), FabricKind.REACH),
                ZONES.format(fabric=fabric) in documents,
                limit if isinstance(limit, int) else None,
            )
        )


def _derive(documents: Tree, facts: Facts, findings: list[Finding]) -> list[Inventory]:
    found = derive_inventories(documents, facts, findings)
    for inventory in found:
        where = FABRIC.format(fabric=inventory.fabric)
        told = inventory_defects(inventory)
        findings += [Finding(FindingKind.CONTRADICTION, where, line) for line in told]
    return found


def _split(
    documents: Documents, driven: frozenset[str], facts: Facts, left_out: Container[str]
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    wanted: dict[str, dict[str, Any]] = {}
    inventory: dict[str, dict[str, Any]] = {}
    completed = with_back_links(documents)
    for uri, document in ({**documents, **completed}).items():
        if uri in left_out:
            continue
        name, fabric = type_name(document), fabric_of(uri)
        kept = _without_observed(name, _tidy(name, document), fabric in driven)
        changeable = name in CHANGEABLE and fabric is not None
        if changeable or (name == "ComputerSystem" and is_composed(uri, document, facts)):
            wanted[uri] = kept
        else:
            inventory[uri] = physical(uri, kept, facts)
            if fabric in driven and resets_bridge(document):
                inventory[uri]["Actions"] = offered(uri)
    return wanted, inventory


# Actions are those of the service that was recorded; ours are advertised where they work.
_NOT_SERVED = frozenset({"@Redfish.Copyright", "@odata.etag", "Actions"})
_DERIVED = _NOT_SERVED | {"Members", "Members@odata.count"}


def _tidy(name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    dropped = _DERIVED if name.endswith("Collection") else _NOT_SERVED
    kept = {key: value for key, value in document.items() if key not in dropped}
    return strip_inverse(name, kept)


def _read_members(inventory: Documents, documents: Tree, facts: Facts) -> None:
    """Fill in the members of collections that stand elsewhere, as the mockup lists them."""
    for uri in inventory:
        if type_name(inventory[uri]).endswith("Collection") and uri not in POOLS:
            listed = members(documents[uri], "Members") if uri in documents else ()
            found = [
                each for each in listed if each.rpartition("/")[0] != uri and each in inventory
            ]
            if found:
                facts.listed[uri] = tuple(dict.fromkeys(found))


def _without_observed(name: str, document: dict[str, Any], driven: bool) -> dict[str, Any]:
    owned = OBSERVED.get(name, ()) if driven else ()
    kept = {key: value for key, value in document.items() if key not in owned}
    if driven and name == "VirtualPCI2PCIBridge" and isinstance(kept.get("Links"), Mapping):
        kept["Links"] = {key: value for key, value in kept["Links"].items() if key != "Port"}
    return kept


def _index(facts: Facts, wanted: Documents, overlays: Documents) -> FabricIndex:
    index = FabricIndex()
    facts.fill(index)
    for uri, document in wanted.items():
        apply_document(index, facts, uri, None, document)
    for uri, overlay in overlays.items():
        apply_overlay(index, facts, uri, overlay)
    return index
