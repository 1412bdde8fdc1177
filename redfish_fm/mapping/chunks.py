"""MemoryChunks writes: POST and DELETE; a PATCH changes names only and is generic.

Pure. Redfish: MemoryChunks.v1_6_2. In a domain with a pool behind it a chunk is a logical device
of its own, which the hardware makes; the service picks its number and says so in
Links.CXLLogicalDevices. Elsewhere (imports) it is cut out of the domain by address. Sizes in MiB.
What nobody could make true (mirrors, spares, interleave sets) is refused, never just stored.
"""

from typing import Any

from redfish_fm.fabric.accounting import free_offset
from redfish_fm.fabric.values import CapacityPool, Chunk, MemoryDomain, Rule, Violation
from redfish_fm.fabric.zoning import check_chunk, check_chunk_removal
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.granting import to_draft
from redfish_fm.mapping.parts import given_back, incorrect, made, unable
from redfish_fm.mapping.read import enclosing_resource, members, read_chunk
from redfish_fm.mapping.resources import new_document, stored
from redfish_fm.mapping.violations import refuse, to_error
from redfish_fm.redfish import messages
from redfish_fm.redfish.errors import Message
from redfish_fm.redfish.writes import Write

ABLE: dict[str, tuple[object, ...]] = {
    "AddressRangeType": ("Volatile", None),
    "InterleaveSets": ([],),
    "IsMirrorEnabled": (False, None),
    "IsSpare": (False, None),
    "MediaLocation": ("Local", None),
}
"""Property -> all that it can be here."""

_LDS = "Links/CXLLogicalDevices"


def create(write: Write, tip: Tip) -> Draft:
    """Return the draft of POST MemoryChunks."""
    uri, document = new_document("MemoryChunks", write.uri, write.body, tip)
    domain = tip.index.domains.get(enclosing_resource(uri))
    if domain is None or not domain.carvable:
        # A mockup may allow what nobody can count: a domain without a size.
        raise to_error([Violation(Rule.NOT_CARVABLE, uri, enclosing_resource(uri))])
    told = list(unable(document, ABLE))
    for name in ("AddressRangeType", "MediaLocation"):
        document[name] = document.get(name) or ABLE[name][0]
    pool = tip.index.pools.get(domain.pool or "")
    if pool is None:
        found = _by_address(document, domain, tip)
    else:
        found = _out_of_pool(document, pool, tip)
    chunk = read_chunk(uri, document, tip.facts)
    if chunk is None:
        name = _LDS.rsplit("/", 1)[-1]
        refuse([*told, *found, messages.property_missing(name, f"#/{_LDS}")], [])
        raise AssertionError("refused above")
    refuse([*told, *found], _violations(chunk, pool, tip))
    return to_draft(made(uri, _fabric(chunk, tip), document, chunk.allocation), tip)


def delete(write: Write, tip: Tip) -> Draft:
    """Return the draft of DELETE: the memory goes back; 409 naming the connections with it."""
    stored(tip, write.uri)
    refuse([], check_chunk_removal(tip.index, write.uri))
    chunk = tip.index.chunks.get(write.uri)
    if chunk is None:
        return to_draft(given_back(write.uri, "", None), tip)
    return to_draft(given_back(write.uri, _fabric(chunk, tip), chunk.allocation), tip)


def _fabric(chunk: Chunk, tip: Tip) -> str:
    unit = tip.index.units.get(chunk.unit)
    return "" if unit is None else unit.fabric


def _violations(chunk: Chunk, pool: CapacityPool | None, tip: Tip) -> list[Violation]:
    found = check_chunk(tip.index, chunk, None)
    allocation = chunk.allocation
    if pool is None or allocation is None or found:
        return found
    if allocation.target in tip.occupied:
        # Only where the client chose the LD: it is still somebody else's, or being given back.
        return [Violation(Rule.POOL_EXHAUSTED, chunk.unit, pool.id, f"/{_LDS}")]
    return []


# -- where it lies ---------------------------------------------------------------------------


def _by_address(document: dict[str, Any], domain: MemoryDomain, tip: Tip) -> list[Message]:
    """Put the chunk at the lowest offset where it fits, unless the client says where."""
    size = document.get("MemoryChunkSizeMiB")
    if document.get("AddressRangeOffsetMiB") is None and isinstance(size, int):
        document["AddressRangeOffsetMiB"] = free_offset(tip.index, domain.id, size)
    lds = members(tip.document(domain.id) or {}, _LDS)
    if not members(document, _LDS) and len(lds) == 1:
        _link_ld(document, lds[0])
    strange = [ld for ld in members(document, _LDS) if ld not in lds]
    return [messages.property_value_resource_conflict(_LDS, ld, domain.id, f"#/{_LDS}")
            for ld in strange]  # fmt: skip


def _out_of_pool(document: dict[str, Any], pool: CapacityPool, tip: Tip) -> list[Message]:
    """Choose the LD that the chunk is to be: the client's, if it names one, else the lowest free.

    Without any the document names none, and the rules find the pool exhausted.
    """
    told = []
    if document.get("AddressRangeOffsetMiB") is None:
        document["AddressRangeOffsetMiB"] = 0
    elif document["AddressRangeOffsetMiB"] != 0:
        # Each chunk is an LD of its own, whose memory begins at 0.
        told.append(incorrect("AddressRangeOffsetMiB", document["AddressRangeOffsetMiB"]))
    named = members(document, _LDS)
    if not named:
        ld = _ld_of(pool, tip.index.free_part(pool.id, tip.occupied), tip)
        if ld is not None:
            _link_ld(document, ld)
    elif len(named) > 1 or named[0] not in {_ld_of(pool, each, tip) for each in pool.parts}:
        told += [messages.property_value_resource_conflict(_LDS, ld, pool.id, f"#/{_LDS}")
                 for ld in named]  # fmt: skip
    return told


def _ld_of(pool: CapacityPool, number: int | None, tip: Tip) -> str | None:
    target = None if number is None else tip.index.part_target(pool.id, number)
    return None if target is None else tip.facts.target_units.get((pool.fabric, target))


def _link_ld(document: dict[str, Any], ld: str) -> None:
    links = dict(document.get("Links") or {})
    document["Links"] = {**links, "CXLLogicalDevices": [{"@odata.id": ld}]}
