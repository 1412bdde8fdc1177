"""What is seen of capacity that is cut out of pools: sizes of LDs, and where all of it is.

Pure. Redfish has no property for what is left of a memory domain or of a device's dynamic
capacity, so our OEM part says it; schemas/oem/RedfishFMCapacity_v1.xml. Storage pools have
Capacity for it. Sizes in MiB.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from redfish_fm.fabric.accounting import account
from redfish_fm.fabric.index import FabricIndex
from redfish_fm.fabric.model import BindTarget, PartKind, PartState, PortId
from redfish_fm.fabric.values import CapacityPool, Unit
from redfish_fm.mapping.device_names import AWAITS_CHUNK
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.read import BYTES_PER_MIB
from redfish_fm.redfish import oem

ODATA_TYPE = "#RedfishFMCapacity.v1_0_0.Capacity"

AWAITING = AWAITS_CHUNK["State"]
"""Status.State of an LD that has no memory: it is there, and a chunk puts it to use."""


def pools_by_port(facts: Facts, fabric: str) -> dict[PortId, CapacityPool]:
    """Return the pools of one fabric by the port that they are behind."""
    return {
        pool.port: pool
        for pool in facts.pools.values()
        if pool.port is not None and pool.fabric == fabric
    }


def pool_properties(
    index: FabricIndex, pool: CapacityPool, parts: Mapping[BindTarget, PartState]
) -> dict[str, Any]:
    """Return what is shown of the capacity of a MemoryDomain, PCIeDevice or StoragePool.

    `parts` are observed. A storage pool guarantees what is free; what is being scrubbed is still
    consumed.
    """
    found = account(index, pool.id, parts)
    shown = {
        "@odata.type": ODATA_TYPE,
        "TotalMiB": found.total,
        "UsedMiB": found.used,
        "FreeMiB": found.free,
        "ScrubbingMiB": found.scrubbing,
    }
    properties: dict[str, Any] = {"Oem": {oem.NAME: shown}}
    if pool.kind is PartKind.NAMESPACE:
        data = {
            "AllocatedBytes": found.total * BYTES_PER_MIB,
            "ConsumedBytes": (found.used + found.scrubbing) * BYTES_PER_MIB,
            "GuaranteedBytes": found.free * BYTES_PER_MIB,
        }
        properties["Capacity"] = {"Data": data}
        properties["RemainingCapacityPercent"] = found.free * 100 // max(found.total, 1)
    return properties


def ld_shown(
    unit: Unit,
    state: str,
    pool: CapacityPool | None,
    parts: Mapping[BindTarget, PartState],
    *,
    idle: bool = False,
) -> tuple[str, dict[str, Any]]:
    """Return State and size of a logical device whose port is in `state`; `pool` is at its port.

    One that comes out of no pool is `idle` where its document says that it has no memory.
    """
    if pool is None:
        part = None if unit.target is None else parts.get(unit.target)
        if part is not None:
            return state, {"MemorySizeMiB": part.size_mib}
        return AWAITING if idle and state == "Enabled" else state, {}
    size_mib = ld_size_mib(unit, pool, parts)
    idle = pool.kind is PartKind.LD and size_mib == 0 and state == "Enabled"
    return AWAITING if idle else state, {"MemorySizeMiB": size_mib}


def ld_size_mib(unit: Unit, pool: CapacityPool, parts: Mapping[BindTarget, PartState]) -> int:
    """Return how much an LD of a pool has now: the sum of its regions, where it holds regions."""
    if unit.target is None:
        return 0
    targets = [unit.target]
    if pool.kind is PartKind.REGION:
        targets = [replace(unit.target, region=number) for number in pool.parts]
    return sum(parts[target].size_mib for target in targets if target in parts)


def region_extents(part: PartState) -> dict[str, Any]:
    """Return what a MemoryRegion shows of where hardware laid it: nothing where it does not tell.

    The region begins at its first extent; all extents are told from there. Redfish:
    MemoryRegion.v1_0_3, RegionBaseOffsetMiB (in the device) and MemoryExtents (in the region).
    """
    if not part.extents:
        return {}
    base = min(offset for offset, _size in part.extents)
    return {
        "RegionBaseOffsetMiB": base,
        "ExtentsCount": len(part.extents),
        "MemoryExtents": [
            {"ExtentOffsetMiB": offset - base, "ExtentSizeMiB": size}
            for offset, size in part.extents
        ],
    }
