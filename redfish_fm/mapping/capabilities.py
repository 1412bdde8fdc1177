"""How a client finds out what it can compose: capability annotations and the objects they name.

Pure. Redfish: CollectionCapabilities.v1_4_1, ResourceBlock.v1_4_3 ResourceBlockLimits. A
capabilities object looks like a member of the collection, tells by annotations what a POST may
hold, and is no member: `Facts.beside` lists it.
"""

from collections.abc import Sequence
from typing import Any

from redfish_fm.mapping import uris
from redfish_fm.mapping.rendering import Rendering, ref, refs

ODATA_TYPE = "#CollectionCapabilities.v1_4_1.CollectionCapabilities"
BLOCKS = uris.SYSTEM.format(system="Capabilities")
"""What a system of named blocks is asked for by."""
ANNOTATION = "@Redfish.CollectionCapabilities"
USE_CASES = {BLOCKS: "ComputerSystemComposition"}
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
    out.facts.beside.append(BLOCKS)
    systems = out.documents[uris.SYSTEM_COLLECTION]
    out.documents[uris.SYSTEM_COLLECTION] = {**systems, **capabilities(zones)}


def capabilities(zones: Sequence[str]) -> dict[str, Any]:
    """Return the annotation that tells how systems are made out of the blocks of these zones."""
    rows = [_row(where, case, zones) for where, case in USE_CASES.items()]
    return {ANNOTATION: {"@odata.type": ODATA_TYPE, "Capabilities": rows}}


def _row(where: str, case: str, zones: Sequence[str]) -> dict[str, Any]:
    links: dict[str, Any] = {"TargetCollection": ref(uris.SYSTEM_COLLECTION)}
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
