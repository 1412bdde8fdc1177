"""The CPUs of a host with their metrics.

Pure. Redfish: Processor.v1_22_0, ProcessorMetrics.v1_7_0, EnvironmentMetrics.v1_5_0. The root
ports are next door (`hosts`): all of a host are shown on its first CPU.
"""

from typing import Any

from redfish_fm.fabric.hardware import ProcessorSocket
from redfish_fm.mapping import uris
from redfish_fm.mapping.host_readings import THROTTLE_CELSIUS, ProcessorReading
from redfish_fm.mapping.host_scene import HostScene, identity, located
from redfish_fm.mapping.rendering import Rendering, ref, refs


def root_ports(out: Rendering, host_id: str, name: str) -> dict[str, str]:
    """Add the collection of a host's root ports, which is that of CPU1; return a link to it."""
    ports = uris.HOST_PORTS.format(system=host_id, processor="CPU1")
    return out.collection(ports, "Port", f"Root ports of {name}")


def render_processors(out: Rendering, scene: HostScene) -> None:
    """Add every CPU and what is measured of it."""
    for processor, reading in zip(
        scene.hardware.processors, scene.readings.processors, strict=True
    ):
        _render_processor(out, scene, processor)
        _render_metrics(out, scene, processor, reading)


def _render_processor(out: Rendering, scene: HostScene, processor: ProcessorSocket) -> None:
    socket = processor.socket
    place = {"system": scene.id, "processor": f"CPU{socket}"}
    # What is cabled to fabrics hangs on the first CPU, as its root ports do.
    first = socket == 1
    adapters = [
        uris.FABRIC_ADAPTER.format(system=scene.id, adapter=card.fabric)
        for card in scene.hardware.fabric_cards
        if first
    ]
    modules = [each for each in scene.hardware.memory if each.socket == socket]
    out.put(
        scene.processor(socket),
        "Processor",
        f"CPU {socket} of {scene.name}",
        ProcessorType="CPU",
        ProcessorArchitecture="x86",
        InstructionSet="x86-64",
        **identity(processor.part),
        Socket=f"CPU{socket}",
        ProcessorIndex=socket - 1,
        TotalCores=processor.core_count,
        TotalEnabledCores=processor.core_count,
        TotalThreads=processor.thread_count,
        TotalEnabledThreads=processor.thread_count,
        BaseSpeedMHz=processor.base_mhz,
        MaxSpeedMHz=processor.max_mhz,
        TurboState="Enabled",
        TDPWatts=processor.tdp_w,
        MaxTDPWatts=processor.tdp_w,
        Enabled=True,
        Replaceable=True,
        PowerState="On" if scene.powered else "Off",
        Status=scene.status,
        Location=located(f"CPU {socket}", "Socket", socket - 1),
        MemorySummary={
            "TotalMemorySizeMiB": sum(each.capacity_mib for each in modules),
            "ECCModeEnabled": True,
        },
        Ports=root_ports(out, scene.id, scene.name) if adapters else None,
        Metrics=ref(uris.PROCESSOR_METRICS.format(**place)),
        EnvironmentMetrics=ref(uris.PROCESSOR_ENVIRONMENT.format(**place)),
        Links=_links(scene, socket, adapters),
    )


def _links(scene: HostScene, socket: int, adapters: list[str]) -> dict[str, Any]:
    others = [each for each in scene.processors if each != scene.processor(socket)]
    found = {
        "Memory": refs(scene.modules(socket)),
        "ConnectedProcessors": refs(others),
        "FabricAdapters": refs(adapters),
    }
    return {"Chassis": ref(scene.chassis), **{name: each for name, each in found.items() if each}}


def _render_metrics(
    out: Rendering, scene: HostScene, processor: ProcessorSocket, reading: ProcessorReading
) -> None:
    name = f"CPU {processor.socket} of {scene.name}"
    place = {"system": scene.id, "processor": f"CPU{processor.socket}"}
    load, celsius = reading.load_percent, reading.celsius
    out.put(
        uris.PROCESSOR_METRICS.format(**place),
        "ProcessorMetrics",
        f"Metrics of {name}",
        BandwidthPercent=load,
        UserPercent=None if load is None else load - load // 5,
        KernelPercent=None if load is None else load // 5,
        OperatingSpeedMHz=reading.mhz,
        ThrottlingCelsius=None if celsius is None else THROTTLE_CELSIUS - celsius,
    )
    out.put(
        uris.PROCESSOR_ENVIRONMENT.format(**place),
        "EnvironmentMetrics",
        f"Environment of {name}",
        PowerWatts=scene.excerpt(f"CPU{processor.socket}Power", reading.power_w),
        TemperatureCelsius=scene.excerpt(f"CPU{processor.socket}Temp", celsius),
    )
