"""MemoryRegion writes: POST and DELETE; a PATCH changes names only and is generic.

Pure. Redfish: MemoryRegion.v1_0_3. A region is dynamic capacity of the LD it is made under; the
device chooses its extents and its place. Whether hosts may share it is said when it is made.
Sizes in MiB.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from redfish_fm.fabric.values import CapacityPool, Region, Rule, Violation
from redfish_fm.fabric.zoning import check_region, check_region_removal
from redfish_fm.mapping.drafts import Draft, Tip
from redfish_fm.mapping.granting import to_draft
from redfish_fm.mapping.parts import given_back, made, unable
from redfish_fm.mapping.read import enclosing_resource, read_region
from redfish_fm.mapping.resources import new_document, stored
from redfish_fm.mapping.violations import refuse, to_error
from redfish_fm.redfish.errors import RedfishError
from redfish_fm.redfish.writes import Write


def create(write: Write, tip: Tip) -> Draft:
    """Return the draft of POST MemoryRegions under a dynamic-capacity LD."""
    uri, document = new_document("MemoryRegion", write.uri, write.body, tip)
    ld = enclosing_resource(uri)
    pool = tip.index.pools.get(enclosing_resource(ld))
    if pool is None or pool.port is None or tip.facts.entity_units.get(ld) != frozenset({ld}):
        raise _not_made_here(uri, ld)
    sanitizes = _sanitizes(tip.document(pool.id) or {})
    told = list(unable(document, _able(pool, sanitizes)))
    full = False
    if document.get("RegionNumber") is None:
        number = tip.index.free_part(pool.id, tip.occupied, ld)
        full = number is None
        document["RegionNumber"] = pool.parts[0] if number is None else number
    document |= {
        "BlockSizeMiB": pool.granularity_mib,
        "SanitizeOnRelease": sanitizes,
        "ShareableRegion": document.get("ShareableRegion") is True,
    }
    region = read_region(uri, document, tip.facts)
    if region is None:
        raise _not_made_here(uri, ld)
    if full:
        # The rules take what can not be allocated for the pool being exhausted.
        region = replace(region, allocation=None)
    refuse(told, _violations(region, pool, tip))
    return to_draft(made(uri, pool.fabric, document, region.allocation), tip)


def delete(write: Write, tip: Tip) -> Draft:
    """Return the draft of DELETE: its capacity goes back; 409 naming the connections with it."""
    stored(tip, write.uri)
    refuse([], check_region_removal(tip.index, write.uri))
    region = tip.index.regions.get(write.uri)
    allocation = None if region is None else region.allocation
    fabric = "" if allocation is None else allocation.fabric
    return to_draft(given_back(write.uri, fabric, allocation), tip)


def _not_made_here(uri: str, ld: str) -> RedfishError:
    """Return the refusal for an LD that no driver can give a region: a mockup's."""
    return to_error([Violation(Rule.NOT_CARVABLE, uri, ld)])


def _able(pool: CapacityPool, sanitizes: bool) -> dict[str, tuple[object, ...]]:
    """Return property -> all that it can be under this device."""
    shared = () if pool.shareable else (("ShareableRegion", (False, None)),)
    return {
        **dict(shared),
        "RegionType": ("Dynamic",),
        "BlockSizeMiB": (pool.granularity_mib, None),
        "HardwareManagedCoherencyRegion": (False, None),
        "NonVolatileRegion": (False, None),
        # Released memory is overwritten wherever the device can, whatever a client may prefer.
        "SanitizeOnRelease": (sanitizes, None),
    }


def _sanitizes(device: Mapping[str, Any]) -> bool:
    capacity = (device.get("CXLDevice") or {}).get("DynamicCapacity") or {}
    rows = capacity.get("SanitizationOnReleaseSupport") or ()
    return any(row.get("SanitizationOnReleaseSupported") is True for row in rows)


def _violations(region: Region, pool: CapacityPool, tip: Tip) -> list[Violation]:
    found = check_region(tip.index, region, None)
    allocation = region.allocation
    if allocation is not None and not found and allocation.target in tip.occupied:
        # The number is still somebody else's, or what had it is being given back.
        return [Violation(Rule.POOL_EXHAUSTED, region.ld, pool.id, "/RegionNumber")]
    return found
