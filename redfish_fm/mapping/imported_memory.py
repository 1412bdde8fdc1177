"""Memory of a mockup: its domains, and the chunks and regions that it brought.

Pure. Redfish: MemoryDomain.v1_5_1, MemoryChunks.v1_6_2, MemoryRegion.v1_0_3. What was imported
is served as it is; it counts when clients carve more out of the same domains. Sizes in MiB.
"""

from collections.abc import Mapping
from typing import Any

from redfish_fm.fabric.values import MemoryDomain
from redfish_fm.mapping.domain import type_name
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.imported_tree import Documents, Tree
from redfish_fm.mapping.read import members, read_chunk, read_region


def read_memory(documents: Tree, facts: Facts) -> None:
    """Fill in domains, chunks, regions, and LDs without memory; what is in no unit is left out."""
    for uri, document in documents.of_type("MemoryDomain"):
        facts.domains[uri] = _domain(uri, document)
    for uri, document in documents.of_type("CXLLogicalDevice"):
        if document.get("MemorySizeMiB") == 0 and "MemoryRegions" not in document:
            facts.idle_lds.append(uri)
    for uri, document in documents.of_type("MemoryChunks"):
        chunk = read_chunk(uri, document, facts)
        if chunk is not None:
            facts.chunks.append(chunk)
    for uri, document in documents.of_type("MemoryRegion"):
        region = read_region(uri, document, facts)
        if region is not None:
            facts.regions.append(region)


def _domain(uri: str, document: Mapping[str, Any]) -> MemoryDomain:
    """Return the domain; of an unknown size nothing can be carved, whatever it says."""
    size = document.get("MemorySizeMiB")
    allowed = document.get("AllowsMemoryChunkCreation") is True
    steps = (document.get("MemoryChunkIncrementMiB"), document.get("MinMemoryChunkSizeMiB"))
    granularity = next((each for each in steps if isinstance(each, int) and each > 0), 1)
    if not isinstance(size, int):
        return MemoryDomain(uri, 0, granularity)
    return MemoryDomain(uri, size, granularity, carvable=allowed)


def chunks_with_lds(documents: Documents) -> dict[str, dict[str, Any]]:
    """Return the chunks that only their LDs name, each with a link to these LDs added.

    Links.MemoryChunks of an LD is derived here from the chunks' side; a mockup may say it on
    either.
    """
    completed: dict[str, dict[str, Any]] = {}
    for uri, document in documents.items():
        if type_name(document) != "CXLLogicalDevice":
            continue
        for chunk in members(document, "Links/MemoryChunks"):
            found = completed.get(chunk) or documents.get(chunk)
            if found is not None and uri not in members(found, "Links/CXLLogicalDevices"):
                links = dict(found.get("Links") or {})
                lds = [*(links.get("CXLLogicalDevices") or ()), {"@odata.id": uri}]
                completed[chunk] = {**found, "Links": {**links, "CXLLogicalDevices": lds}}
    return completed
