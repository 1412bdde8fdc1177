"""CXL memory of a device as Redfish: logical devices, memory domains, fixed chunks, pools.

Pure. Redfish: CXLLogicalDevice.v1_3_0, MemoryDomain.v1_5_1, MemoryChunks.v1_6_2. Fixed LDs have a
domain each, with one chunk of all their memory. LDs out of a pool share domain "1", where clients
carve chunks, each an LD of its own. A dynamic-capacity LD has no domain but regions.
QoS is what hardware says of it (`observed`), where a driver can set it.
"""

from collections.abc import Sequence
from typing import Any

from redfish_fm.fabric.model import BindTarget, Device, LogicalDevice, PartKind, Pool, PortId
from redfish_fm.fabric.values import CapacityPool, Chunk, MemoryDomain
from redfish_fm.mapping import uris
from redfish_fm.mapping.congestion import abilities
from redfish_fm.mapping.device_modules import module_uris
from redfish_fm.mapping.device_names import (
    AWAITS_CHUNK,
    CXL_TYPES,
    OK,
    SEMANTICS,
    gcxlid,
    speaks_cxl,
)
from redfish_fm.mapping.device_ways import (
    device_uri,
    function_uri,
    has_heads,
    has_memory,
    ld_uri,
    logical_devices,
    pools_lds,
)
from redfish_fm.mapping.facts import Facts
from redfish_fm.mapping.rendering import Rendering, refs

POOL_DOMAIN = "1"
"""Id of the one memory domain of a device whose LDs come out of a pool."""


def domain_id(device: Device, ld: LogicalDevice) -> str | None:
    """Return the Id of the memory domain that an LD lies in, or None where it has none."""
    if not has_memory(device) or ld.dynamic:
        return None
    return POOL_DOMAIN if pools_lds(device) else str(ld.id)


def ld_unit(device: Device, ports: Sequence[PortId], ld: int) -> str:
    """Return the unit that an LD is: the whole device where it is an SLD of one head."""
    alone = not device.lds and not has_heads(device, ports)
    return device_uri(device) if alone else ld_uri(device, ld)


def cxl_properties(out: Rendering, device: Device, ports: Sequence[PortId]) -> dict[str, Any]:
    """Return what a PCIeDevice says of CXL, with the collection of its LDs added to `out`."""
    if not speaks_cxl(device):
        return {}
    cxl: dict[str, Any] = {
        "DeviceType": CXL_TYPES[device.kind],
        "MaxNumberLogicalDevices": len(logical_devices(device, ports)),
    }
    if device.pool is not None and device.pool.kind is PartKind.REGION:
        cxl["DynamicCapacity"] = _dynamic_capacity(
            device.pool, device.sanitizes or device.pool.sanitizes
        )
    lds = uris.LDS.format(chassis=device.id, device=device.id)
    return {
        "CXLDevice": cxl,
        "CXLLogicalDevices": out.collection(
            lds, "CXLLogicalDevice", f"Logical devices of {device.name}"
        ),
    }


def _dynamic_capacity(pool: Pool, sanitizes: bool) -> dict[str, Any]:
    numbers = range(pool.part_count_max)
    return {
        "TotalDynamicCapacityMiB": pool.capacity_mib,
        "MaxDynamicCapacityRegions": pool.part_count_max,
        "AddCapacityPoliciesSupported": ["Free"],
        "MemoryBlockSizesSupported": [
            {"RegionNumber": number, "BlockSizeMiB": [pool.granularity_mib]} for number in numbers
        ],
        "SanitizationOnReleaseSupport": [
            {"RegionNumber": number, "SanitizationOnReleaseSupported": sanitizes}
            for number in numbers
        ],
    }


def render_memory(
    out: Rendering, device: Device, fabric: str, ports: Sequence[PortId]
) -> dict[str, Any]:
    """Add all LDs with their memory; return the chassis' link to its domains, where it has any."""
    lds = logical_devices(device, ports)
    for ld in lds:
        _render_ld(out, device, ports, ld)
        if device.qos and ports:
            target = BindTarget(ports[0].switch, ports[0].port, ld.id)
            out.facts.qos_targets[ld_uri(device, ld.id)] = (fabric, target)
    _put_pool(out.facts, device, fabric, ports)
    if not any(domain_id(device, ld) for ld in lds):
        return {}
    if pools_lds(device):
        _render_pool_domain(out, device, bool(ports))
    else:
        for ld in lds:
            if not ld.dynamic:
                _render_fixed_domain(out, device, ports, ld)
    place = uris.DOMAINS.format(chassis=device.id)
    name = f"Memory of {device.name}"
    return {"MemoryDomains": out.collection(place, "MemoryDomain", name)}


def _render_ld(out: Rendering, device: Device, ports: Sequence[PortId], ld: LogicalDevice) -> None:
    uri, place = ld_uri(device, ld.id), {"chassis": device.id, "device": device.id}
    name, domain = f"LD {ld.id} of {device.name}", domain_id(device, ld)
    links: dict[str, Any] = {"PCIeFunctions": refs([function_uri(device, ld.id)])}
    if domain is not None:
        links["MemoryDomains"] = refs([uris.DOMAIN.format(chassis=device.id, domain=domain)])
    regions = uris.REGIONS.format(**place, ld=ld.id) if ld.dynamic else None
    cut_later = ld.dynamic or pools_lds(device)
    out.facts.durable_units[f"GCXLID:{gcxlid(device, ld.id)}".upper()] = frozenset(
        {ld_unit(device, ports, ld.id)}
    )
    out.put(
        uri,
        "CXLLogicalDevice",
        name,
        Identifiers=[{"DurableName": gcxlid(device, ld.id), "DurableNameFormat": "GCXLID"}],
        MemorySizeMiB=0 if cut_later else ld.capacity_mib or None,
        MemoryRegions=None
        if regions is None
        else out.collection(regions, "MemoryRegion", f"Memory regions of {name}"),
        SemanticsSupported=SEMANTICS[CXL_TYPES[device.kind]],
        Status=AWAITS_CHUNK if pools_lds(device) else OK,
        Links=links,
        **abilities(device),
    )


def _render_fixed_domain(
    out: Rendering, device: Device, ports: Sequence[PortId], ld: LogicalDevice
) -> None:
    inside = {"chassis": device.id, "domain": ld.id}
    place, links = uris.DOMAIN.format(**inside), refs([ld_uri(device, ld.id)])
    chunk, name = uris.CHUNK.format(**inside, chunk=1), f"LD {ld.id} of {device.name}"
    unit = ld_unit(device, ports, ld.id)
    out.put(
        place,
        "MemoryDomain",
        f"Memory of {name}",
        AllowsMemoryChunkCreation=False,
        AllowsBlockProvisioning=False,
        AllowsMirroring=False,
        AllowsSparing=False,
        MemorySizeMiB=ld.capacity_mib or None,
        MemoryChunks=_chunks(out, inside, name),
        InterleavableMemorySets=_memory_sets(device),
        Status=OK,
        Links={"CXLLogicalDevices": links, "PCIeFunctions": refs([function_uri(device, ld.id)])},
    )
    out.put(
        chunk,
        "MemoryChunks",
        f"All memory of {name}",
        AddressRangeType="Volatile",
        AddressRangeOffsetMiB=0,
        MemoryChunkSizeMiB=ld.capacity_mib or None,
        MediaLocation="Local",
        Status=OK,
        Links={"CXLLogicalDevices": links},
    )
    out.facts.entity_units[place] = frozenset({unit})
    out.facts.domains[place] = MemoryDomain(place, ld.capacity_mib)
    out.facts.chunks.append(Chunk(chunk, unit, 0, ld.capacity_mib, domain=place))


def _render_pool_domain(out: Rendering, device: Device, carvable: bool) -> None:
    pool = device.pool
    if pool is None:
        return
    inside = {"chassis": device.id, "domain": POOL_DOMAIN}
    place = uris.DOMAIN.format(**inside)
    out.put(
        place,
        "MemoryDomain",
        f"Memory of {device.name}",
        AllowsMemoryChunkCreation=carvable,
        AllowsBlockProvisioning=False,
        AllowsMirroring=False,
        AllowsSparing=False,
        MemorySizeMiB=pool.capacity_mib,
        MemoryChunkIncrementMiB=pool.granularity_mib,
        MinMemoryChunkSizeMiB=pool.granularity_mib,
        MemoryChunks=_chunks(out, inside, device.name),
        InterleavableMemorySets=_memory_sets(device),
        Status=OK,
        Links={
            "CXLLogicalDevices": refs(ld_uri(device, ld.id) for ld in device.lds),
            "PCIeFunctions": refs(function_uri(device, ld.id) for ld in device.lds),
        },
    )
    out.facts.entity_units[place] = frozenset({device_uri(device)})
    out.facts.domains[place] = MemoryDomain(
        place, pool.capacity_mib, pool.granularity_mib, carvable=carvable, pool=place
    )


def _memory_sets(device: Device) -> list[dict[str, Any]] | None:
    """Return the modules that a domain lies on: all, as addresses go round all of them."""
    modules = module_uris(device)
    return [{"MemorySet": refs(modules)}] if modules else None


def _chunks(out: Rendering, inside: dict[str, Any], name: str) -> dict[str, str]:
    return out.collection(uris.CHUNKS.format(**inside), "MemoryChunks", f"Memory chunks of {name}")


def _put_pool(facts: Facts, device: Device, fabric: str, ports: Sequence[PortId]) -> None:
    pool = device.pool
    if pool is None or pool.kind is PartKind.NAMESPACE:
        return
    lds = pool.kind is PartKind.LD
    domain = uris.DOMAIN.format(chassis=device.id, domain=POOL_DOMAIN)
    uri = domain if lds else device_uri(device)
    parts = tuple(ld.id for ld in device.lds) if lds else tuple(range(pool.part_count_max))
    facts.pools[uri] = CapacityPool(
        uri,
        fabric,
        pool.kind,
        pool.capacity_mib,
        pool.granularity_mib,
        parts,
        ports[0] if ports else None,
        pool.shareable,
    )
