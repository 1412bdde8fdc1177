"""How a client finds out what it can compose: capability annotations and the objects they name.

Pure. Redfish: CollectionCapabilities.v1_4_1, ResourceBlock.v1_4_3 ResourceBlockLimits. A
capabilities object looks like a member of the collection, tells by annotations what a POST may
hold, and is no member: `Facts.beside` lists it.
"""

from collections.abc import Sequence
from typing import Any

from redfish_fm.mapping import uris
from redfish_fm.mapping.read_compositions import DEVICES
from redfish_fm.mapping.rendering import Rendering, ref, refs
from redfish_fm.mapping.wishes import DESCRIBED

ODATA_TYPE = "#CollectionCapabilities.v1_4_1.CollectionCapabilities"
BLOCKS = uris.SYSTEM.format(system="Capabilities")
"""What a system of named blocks is asked for by."""
NEEDS = uris.SYSTEM.format(system="ConstrainedCapabilities")
"""What a system is asked for by what it needs."""
MADE_BLOCKS = uris.RESOURCE_BLOCK.format(block="Capabilities")
REGISTERED = uris.RESOURCE_BLOCK.format(block="RegisterCapabilities")
"""What blocks of other blocks, and of what is in none, are asked for by."""
ANNOTATION = "@Redfish.CollectionCapabilities"
USE_CASES = {
    BLOCKS: "ComputerSystemComposition",
    NEEDS: "ComputerSystemConstrainedComposition",
}
BLOCK_USE_CASES = {MADE_BLOCKS: "ResourceBlockComposition", REGISTERED: "RegisterResourceBlock"}
"""Capabilities object -> what it is for."""

_LIMITS = {"MinCompute": 1, "MaxCompute": 1}
"""A composed system runs on exactly one host."""


def render_capabilities(out: Rendering, zones: Sequence[str]) -> None:
    """Add the capabilities objects; tell of them at Systems, and at each zone of blocks."""
    out.put(
        BLOCKS,
        "ComputerSystem",
        "What a system of resource blocks can be asked for by",
        **_named(),
        **{"@Redfish.ResourceBlockLimits": _LIMITS},
        Links={
            "ResourceBlocks@Redfish.RequiredOnCreate": True,
            "ResourceBlocks@Redfish.UpdatableAfterCreate": True,
        },
        **{"Links@Redfish.RequiredOnCreate": True},
    )
    needs = {f"{name}@Redfish.OptionalOnCreate": True for name in sorted(DESCRIBED)}
    out.put(
        NEEDS,
        "ComputerSystem",
        "What a system can be asked for by that is described by what it needs",
        **_named(),
        **needs,
        **{"@Redfish.ResourceBlockLimits": _LIMITS, "@Redfish.RequestedCountRequired": True},
        Links={"ResourceBlocks@Redfish.OptionalOnCreate": True},
        **{"Links@Redfish.OptionalOnCreate": True},
    )
    out.facts.beside += [BLOCKS, NEEDS]
    _render_blocks(out)
    systems = out.documents[uris.SYSTEM_COLLECTION]
    out.documents[uris.SYSTEM_COLLECTION] = {**systems, **capabilities(zones)}


def _render_blocks(out: Rendering) -> None:
    """Add what tells how clients make blocks of their own."""
    common = {"CompositionStatus": {"CompositionState": "Unused"}, "ResourceBlockType": []}
    out.put(
        MADE_BLOCKS,
        "ResourceBlock",
        "What a block of other blocks can be asked for by",
        **_block_named(),
        **common,
        Links={"SupplyingResourceBlocks@Redfish.RequiredOnCreate": True},
        **{"Links@Redfish.RequiredOnCreate": True},
    )
    linked = {f"{name}@Redfish.OptionalOnCreate": True for name in DEVICES}
    out.put(
        REGISTERED,
        "ResourceBlock",
        "What a block of resources that are in none can be asked for by",
        **_block_named(),
        **linked,
        **common,
        **{"ResourceBlockType@Redfish.RequiredOnCreate": True},
    )
    out.facts.beside += [MADE_BLOCKS, REGISTERED]
    rows = [_row(where, case, (), uris.RESOURCE_BLOCKS) for where, case in BLOCK_USE_CASES.items()]
    blocks = out.documents[uris.RESOURCE_BLOCKS]
    told = {ANNOTATION: {"@odata.type": ODATA_TYPE, "Capabilities": rows}}
    out.documents[uris.RESOURCE_BLOCKS] = {**blocks, **told}


def capabilities(zones: Sequence[str]) -> dict[str, Any]:
    """Return the annotation that tells how systems are made out of the blocks of these zones."""
    rows = [_row(where, case, zones, uris.SYSTEM_COLLECTION) for where, case in USE_CASES.items()]
    return {ANNOTATION: {"@odata.type": ODATA_TYPE, "Capabilities": rows}}


def _block_named() -> dict[str, Any]:
    return {
        f"{name}@Redfish.OptionalOnCreate": True for name in ("Id", "Name", "Description", "Client")
    }


def _row(where: str, case: str, zones: Sequence[str], collection: str) -> dict[str, Any]:
    links: dict[str, Any] = {"TargetCollection": ref(collection)}
    if zones:
        links |= {"RelatedItem": refs(zones), "RelatedItem@odata.count": len(zones)}
    return {"CapabilitiesObject": ref(where), "UseCase": case, "Links": links}


def _named() -> dict[str, Any]:
    """Return the annotations of what every composed system may be given at its creation."""
    found: dict[str, Any] = {
        "Id@Redfish.OptionalOnCreate": True,
        "Id@Redfish.SetOnlyOnCreate": True,
    }
    for name in ("Name", "Description", "HostName", "AssetTag"):
        found |= {f"{name}@Redfish.OptionalOnCreate": True}
        found |= {f"{name}@Redfish.UpdatableAfterCreate": True}
    return found
