"""The memory of a host: its modules, what is measured of them, and the domain they make up.

Pure. Redfish: Memory.v1_23_0, MemoryMetrics.v1_8_0, MemoryDomain.v1_5_1. The modules add up to
the host's memory; nothing of it can be carved, so its domain has no chunks.
"""

from redfish_fm.fabric.hardware import MemoryModule
from redfish_fm.mapping import uris
from redfish_fm.mapping.host_scene import HostScene, identity, located
from redfish_fm.mapping.rendering import Rendering, ref, refs

_DATA_BITS, _BUS_BITS = 64, 80
"""Of a DDR5 module with ECC: two subchannels of 32 bits, eight more each for the code."""
_TDP_MILLIWATTS = 8_000


def render_memory(out: Rendering, scene: HostScene) -> None:
    """Add all modules, the sums over them and the domain."""
    for module in scene.hardware.memory:
        _render_module(out, scene, module)
        _render_metrics(out, scene, module)
    out.put(
        uris.HOST_MEMORY_METRICS.format(system=scene.id),
        "MemoryMetrics",
        f"Metrics of the memory of {scene.name}",
        BandwidthPercent=scene.readings.memory_load_percent,
    )
    _render_domain(out, scene)


def _render_module(out: Rendering, scene: HostScene, module: MemoryModule) -> None:
    place = {"system": scene.id, "module": module.label}
    ordinal = scene.hardware.memory.index(module)
    out.put(
        scene.module(module),
        "Memory",
        f"Module {module.label} of {scene.name}",
        MemoryType="DRAM",
        MemoryDeviceType="DDR5",
        BaseModuleType="RDIMM",
        MemoryMedia=["DRAM"],
        OperatingMemoryModes=["Volatile"],
        **identity(module.part),
        CapacityMiB=module.capacity_mib,
        LogicalSizeMiB=module.capacity_mib,
        VolatileSizeMiB=module.capacity_mib,
        DataWidthBits=_DATA_BITS,
        BusWidthBits=_BUS_BITS,
        RankCount=module.rank_count,
        ErrorCorrection="MultiBitECC",
        AllowedSpeedsMHz=[module.speed_mts],
        OperatingSpeedMhz=module.speed_mts if scene.powered else None,
        MaxTDPMilliWatts=[_TDP_MILLIWATTS],
        MemoryLocation={
            "Socket": module.socket,
            "MemoryController": module.channel // 2,
            "Channel": module.channel,
            "Slot": module.slot,
        },
        Enabled=True,
        Status=scene.status,
        Location=located(module.label, "Slot", ordinal),
        Metrics=ref(uris.HOST_MODULE_METRICS.format(**place)),
        Links={
            "Chassis": ref(scene.chassis),
            "Processors": refs([scene.processor(module.socket)]),
        },
    )


def _render_metrics(out: Rendering, scene: HostScene, module: MemoryModule) -> None:
    out.put(
        uris.HOST_MODULE_METRICS.format(system=scene.id, module=module.label),
        "MemoryMetrics",
        f"Metrics of module {module.label} of {scene.name}",
        OperatingSpeedMHz=module.speed_mts if scene.powered else None,
        BandwidthPercent=scene.readings.memory_load_percent,
    )


def _render_domain(out: Rendering, scene: HostScene) -> None:
    sockets = [each.socket for each in scene.hardware.processors]
    sets = [found for found in map(scene.modules, sockets) if found]
    out.put(
        uris.HOST_DOMAIN.format(system=scene.id, domain=1),
        "MemoryDomain",
        f"Memory of {scene.name}",
        MemorySizeMiB=scene.host.memory_mib,
        AllowsBlockProvisioning=False,
        AllowsMemoryChunkCreation=False,
        AllowsMirroring=False,
        AllowsSparing=False,
        InterleavableMemorySets=[
            {"MemorySet": refs(found), "MemorySet@odata.count": len(found)} for found in sets
        ],
        Status=scene.status,
    )
