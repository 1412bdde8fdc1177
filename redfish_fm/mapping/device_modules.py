"""Memory parts of a device as Redfish: stacks beside a processor, modules of a memory device.

Pure. Redfish: Memory.v1_23_0, MemoryMetrics.v1_8_0, EnvironmentMetrics.v1_5_0. Their capacities
add up to that of the device. Those of an appliance are modules that draw power by themselves;
those on a card, beside a processor or a controller, are fed and measured with it.
"""

from typing import Any

from redfish_fm.fabric.equipment import MediaModule
from redfish_fm.fabric.model import Device
from redfish_fm.mapping import uris
from redfish_fm.mapping.chassis_sensors import vary
from redfish_fm.mapping.device_names import OK, PROCESSOR_TYPES
from redfish_fm.mapping.host_scene import identity, located
from redfish_fm.mapping.rendering import Rendering, ref, refs

_MODULE_W_LEAST = 4


def module_uris(device: Device) -> list[str]:
    """Return the URIs of all memory parts of a device."""
    return [
        uris.MODULE.format(chassis=device.id, module=_module_id(module, number))
        for number, module in enumerate(_modules(device))
    ]


def modules_w(device: Device) -> int:
    """Return what all modules draw by themselves: nothing where they are on a card."""
    return sum(_drawn_w(device, number) for number, _ in enumerate(_modules(device)))


def render_modules(out: Rendering, device: Device) -> dict[str, Any]:
    """Add the memory parts of a device; return the chassis' link to them, where it has any."""
    modules = _modules(device)
    if not modules:
        return {}
    for number, module in enumerate(modules):
        _render_module(out, device, module, number)
    place = uris.MODULES.format(chassis=device.id)
    return {"Memory": out.collection(place, "Memory", f"Memory parts of {device.name}")}


def _modules(device: Device) -> tuple[MediaModule, ...]:
    return () if device.hardware is None else device.hardware.modules


def _module_id(module: MediaModule, number: int) -> str:
    return f"{'Stack' if module.kind.startswith('HBM') else 'Module'}{number + 1}"


def _alone(device: Device) -> bool:
    return device.hardware is not None and device.hardware.enclosure is not None


def _drawn_w(device: Device, number: int) -> int:
    if not _alone(device):
        return 0
    return _MODULE_W_LEAST + vary(device.serial_number, f"module{number}", 3)


def _render_module(out: Rendering, device: Device, module: MediaModule, number: int) -> None:
    stack, alone = module.kind.startswith("HBM"), _alone(device)
    module_id = _module_id(module, number)
    place = {"chassis": device.id, "module": module_id}
    name = f"Memory {'stack' if stack else 'module'} {number + 1} of {device.name}"
    links: dict[str, Any] = {"Chassis": ref(uris.CHASSIS.format(chassis=device.id))}
    if device.kind in PROCESSOR_TYPES:
        processor = uris.CHASSIS_PROCESSOR.format(chassis=device.id, processor=device.id)
        links["Processors"] = refs([processor])
    label = module_id.upper()
    out.put(
        uris.MODULE.format(**place),
        "Memory",
        name,
        **identity(module.part),
        CapacityMiB=module.capacity_mib,
        LogicalSizeMiB=module.capacity_mib,
        VolatileSizeMiB=module.capacity_mib,
        MemoryType="DRAM",
        MemoryMedia=["DRAM"],
        MemoryDeviceType=module.kind,
        BaseModuleType="RDIMM" if alone else "Die",
        BusWidthBits=1024 if stack else 80,
        DataWidthBits=1024 if stack else 64,
        ErrorCorrection="SingleBitECC" if stack else "MultiBitECC",
        OperatingSpeedMhz=module.speed_mts,
        AllowedSpeedsMHz=[module.speed_mts],
        OperatingMemoryModes=["Volatile"],
        MemoryLocation={"Socket": 0, "MemoryController": 0, "Channel": number, "Slot": 0},
        Location=located(label, "Slot" if alone else "Embedded", number),
        Enabled=True,
        Metrics=ref(_put_metrics(out, place, name, module)),
        EnvironmentMetrics=ref(_put_environment(out, device, place, number)) if alone else None,
        Status=OK,
        Links=links,
    )


def _put_metrics(out: Rendering, place: dict[str, str], name: str, module: MediaModule) -> str:
    uri = uris.MODULE_METRICS.format(**place)
    out.put(
        uri,
        "MemoryMetrics",
        f"Metrics of {name.lower()}",
        OperatingSpeedMHz=module.speed_mts,
    )
    return uri


def _put_environment(out: Rendering, device: Device, place: dict[str, str], number: int) -> str:
    uri = uris.MODULE_ENVIRONMENT.format(**place)
    out.put(
        uri,
        "EnvironmentMetrics",
        f"Environment of memory module {number + 1} of {device.name}",
        PowerWatts={"Reading": _drawn_w(device, number)},
        TemperatureCelsius={"Reading": 38 + vary(device.serial_number, f"heat{number}", 8)},
    )
    return uri


def dark_modules(device: Device) -> list[tuple[str, str, str]]:
    """Return what is not read of modules without power, as metering.Meter has it."""
    if not _alone(device):
        return []
    return [
        (
            uris.MODULE_ENVIRONMENT.format(chassis=device.id, module=_module_id(module, number)),
            name,
            "",
        )
        for number, module in enumerate(_modules(device))
        for name in ("PowerWatts", "TemperatureCelsius")
    ]
