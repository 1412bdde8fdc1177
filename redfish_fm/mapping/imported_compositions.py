"""Compositions of a mockup: its resource blocks, what is composed of them, how to compose.

Pure. A composed system of known blocks is a wanted document, so that it can be changed and given
back; what it shows below itself follows from its blocks, as of every other one. A physical system
that was given blocks is expanded: they are laid over it. Redfish: ResourceBlock.v1_4_3,
ComputerSystem.v1_27_0, CollectionCapabilities.v1_4_1.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from redfish_fm.fabric.composition import Block, BlockType
from redfish_fm.mapping.blast_radius import advertised
from redfish_fm.mapping.capabilities import ANNOTATION
from redfish_fm.mapping.facts import Facts, enclosing
from redfish_fm.mapping.imported_contents import described, places
from redfish_fm.mapping.imported_findings import Finding, FindingKind
from redfish_fm.mapping.imported_tree import Documents, Tree
from redfish_fm.mapping.links import uris_at
from redfish_fm.mapping.read import members
from redfish_fm.mapping.read_compositions import read_block
from redfish_fm.mapping.rendering import refs
from redfish_fm.mapping.systems_shown import block_actions, service_actions
from redfish_fm.mapping.uris import COMPOSITION_SERVICE, SYSTEM_COLLECTION

_BLOCKS = "Links/ResourceBlocks"
_OBJECTS = (ANNOTATION, "Capabilities", "CapabilitiesObject")
_COMPUTING = frozenset({BlockType.COMPUTE, BlockType.COMPUTER_SYSTEM})


def read_capabilities(documents: Documents, facts: Facts) -> None:
    """Fill in what lies under a collection, is none of its members and tells how to make one."""
    for document in documents.values():
        for uri in uris_at(document, _OBJECTS):
            above = documents.get(uri.rpartition("/")[0], {})
            if uri in documents and uri not in members(above, "Members"):
                facts.beside.append(uri)
    facts.beside[:] = dict.fromkeys(facts.beside)


def read_blocks(tree: Tree, facts: Facts) -> None:
    """Fill in the resource blocks: what is in them, on which host what computes is, what is near.

    A block that computes and names no system is that of the physical system that names it, and
    else a host of its own, of which nothing more is known.
    """
    for uri, document in tree.of_type("ResourceBlock"):
        if uri in facts.beside:
            # It tells how to make a block, and is none.
            continue
        facts.blocks[uri] = read_block(uri, document, facts)
    for uri, document in tree.of_type("ComputerSystem"):
        if facts.is_host(uri):
            for name in members(document, _BLOCKS):
                _settle(facts, name, uri)
    reached = places(tree)
    for uri in [*facts.blocks]:
        _settle(facts, uri, uri)
        facts.blocks[uri] = described(facts.blocks[uri], tree, reached.get(uri, ()))


def _settle(facts: Facts, name: str, host: str) -> None:
    block = facts.blocks.get(name)
    if block is not None and block.host is None and block.types & _COMPUTING:
        facts.blocks[name] = replace(block, host=host)


def is_composed(uri: str, document: Mapping[str, Any], facts: Facts) -> bool:
    """Return whether a composed system of known blocks is at `uri`."""
    return (
        document.get("SystemType") == "Composed"
        and uri.rpartition("/")[0] == SYSTEM_COLLECTION
        and uri not in facts.beside
        and any(name in facts.blocks for name in members(document, _BLOCKS))
    )


def composed_systems(tree: Tree, facts: Facts) -> frozenset[str]:
    """Return the composed systems of known blocks."""
    found = tree.of_type("ComputerSystem")
    return frozenset(uri for uri, each in found if is_composed(uri, each, facts))


def below_composed(tree: Tree, composed: frozenset[str], findings: list[Finding]) -> set[str]:
    """Return everything below composed systems, which is not served: it follows from the blocks."""
    if not composed:
        return set()
    left_out = {
        uri for uri in tree if composed.intersection(enclosing(uri)) and uri not in composed
    }
    text = "composed: what is below it follows from its resource blocks, whatever the mockup says"
    findings += [Finding(FindingKind.COMPLETED, uri, text) for uri in sorted(composed)]
    return left_out


def without_links_to(value: Any, gone: frozenset[str]) -> Any:
    """Return a document without links to what may go one day, or to anything below that.

    Which chassis a composed system has, and which manager, it says itself.
    """
    if isinstance(value, list):
        return [without_links_to(each, gone) for each in value if not _leads_to(each, gone)]
    if not isinstance(value, dict):
        return value
    kept = {name: each for name, each in value.items() if not _leads_to(each, gone)}
    return {name: without_links_to(each, gone) for name, each in kept.items()}


def _leads_to(value: Any, gone: frozenset[str]) -> bool:
    uri = value.get("@odata.id") if isinstance(value, dict) and len(value) == 1 else None
    return isinstance(uri, str) and not gone.isdisjoint(enclosing(uri.rstrip("/")))


def expansions(tree: Tree, facts: Facts) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the overlay of every physical system that was given blocks besides its own."""
    for uri, document in tree.of_type("ComputerSystem"):
        if facts.is_host(uri):
            named = members(document, _BLOCKS)
            if any(not is_own(facts.blocks.get(name), uri) for name in named):
                yield uri, {"Links": {"ResourceBlocks": refs(named)}}


def physical(uri: str, document: dict[str, Any], facts: Facts) -> dict[str, Any]:
    """Return the document of a physical system: with its own blocks, and able to be given more.

    What it was given is laid over it. The service that composes says so.
    """
    if uri == COMPOSITION_SERVICE and facts.blocks:
        return {**document, "Actions": {**service_actions(), "Oem": advertised()}}
    if not facts.blocks or not facts.is_host(uri) or uri.rpartition("/")[0] != SYSTEM_COLLECTION:
        return document
    document = {**document, "Actions": block_actions(uri)}
    links = document.get("Links")
    if not isinstance(links, Mapping) or "ResourceBlocks" not in links:
        return document
    own = [name for name in members(document, _BLOCKS) if is_own(facts.blocks.get(name), uri)]
    kept = {name: value for name, value in links.items() if not name.startswith("ResourceBlocks")}
    return {**document, "Links": {**kept, **({"ResourceBlocks": refs(own)} if own else {})}}


def is_own(block: Block | None, system: str) -> bool:
    """Return whether the block is what the system itself computes with, not given to it."""
    return block is None or block.host == system
