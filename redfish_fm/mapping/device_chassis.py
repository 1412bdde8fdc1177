"""The chassis of a device: a module in a slot or in a rack, or an appliance of its own.

Pure. Redfish: Chassis.v1_28_0, EnvironmentMetrics.v1_5_0. What a module draws is what its device
draws; its slot or rack feeds it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from redfish_fm.fabric.equipment import DeviceHardware, Draw
from redfish_fm.fabric.model import Device, DeviceKind
from redfish_fm.mapping import uris
from redfish_fm.mapping.chassis_enclosure import CORE, CORE_POWER, Core, render_enclosure
from redfish_fm.mapping.chassis_racks import place
from redfish_fm.mapping.chassis_sensors import (
    Gauge,
    dark,
    excerpt,
    put_environment,
    put_sensors,
    shown,
    temperature,
    total_power,
    vary,
)
from redfish_fm.mapping.device_modules import dark_modules, modules_w
from redfish_fm.mapping.device_names import OK, PROCESSOR_TYPES
from redfish_fm.mapping.device_ways import own_uri
from redfish_fm.mapping.metering import TOTAL_POWER, Meter
from redfish_fm.mapping.rendering import Rendering, ref

_MEMORY = "Memory"
"""Id of the sensor of the hottest memory stack."""

_CONTEXTS = {
    DeviceKind.GPU: "GPU",
    DeviceKind.FPGA: "FPGA",
    DeviceKind.NVME: "StorageDevice",
    DeviceKind.NIC: "NetworkingDevice",
    DeviceKind.MEMORY: "MemorySubsystem",
}
"""DeviceKind -> Sensor.PhysicalContext."""

_TEMPERATURES = {
    DeviceKind.GPU: (34, 93),
    DeviceKind.FPGA: (41, 100),
    DeviceKind.NVME: (36, 78),
    DeviceKind.NIC: (47, 105),
    DeviceKind.MEMORY: (44, 100),
}
"""DeviceKind -> the least it has while waiting, and what is critical."""


@dataclass(frozen=True, slots=True)
class Socket:
    """The slot that a device is plugged into: the chassis (URI) it is in, what is written there."""

    chassis: str
    label: str


def render_chassis(
    out: Rendering, device: Device, socket: Socket | None, core: str, **properties: Any
) -> None:
    """Add the chassis of a device; `core` (URI) stands for what is in it.

    `properties` are what else it says, Links among them.
    """
    hardware, chassis = device.hardware, own_uri(uris.CHASSIS, device.id)
    links = properties.pop("Links", {})
    container, label = (None, None) if socket is None else (socket.chassis, socket.label)
    stands = place(
        out, device.domain, chassis, container=container, service_label=label, links=links
    )
    out.put(
        chassis,
        "Chassis",
        f"Module of {device.name}",
        **{
            "ChassisType": "Module",
            **_inside(out, device, hardware, core, socket is not None),
            **stands,
            **properties,
        },
        Manufacturer=device.manufacturer,
        Model=device.model,
        SerialNumber=device.serial_number,
        PowerState="On",
        Status=OK,
    )


def _inside(
    out: Rendering, device: Device, hardware: DeviceHardware | None, core: str, slotted: bool
) -> dict[str, Any]:
    if hardware is None:
        return {}
    who: dict[str, Any] = {
        "PartNumber": hardware.part_number,
        "UUID": hardware.uuid,
        "LocationIndicatorActive": False,
        "HotPluggable": True,
        "Replaceable": True,
    }
    draw = hardware.draw
    if draw is None:
        return who
    if hardware.enclosure is not None:
        appliance = Core(
            chassis=device.id,
            name=f"module of {device.name}",
            identity=device.serial_number,
            draw=draw,
            context=_CONTEXTS[device.kind],
            related=core,
            domain=device.domain,
            more_w=modules_w(device),
            celsius=_celsius(device),
            gauges=tuple(_dark_core(device)),
        )
        found = render_enclosure(out, appliance, hardware.enclosure)
        _put_device_environment(out, device, draw, core, CORE_POWER)
        return {**who, **found}
    return {
        **who,
        "MaxPowerWatts": draw.max_w,
        "PoweredByParent": slotted or None,
        "ThermalManagedByParent": slotted or None,
        **_measured(out, device, draw, core),
    }


def _measured(out: Rendering, device: Device, draw: Draw, core: str) -> dict[str, Any]:
    """Add sensors and meter of a module; return the chassis' links to them."""
    chassis, name = uris.CHASSIS.format(chassis=device.id), device.name
    gauges = [total_power(device.id, name, chassis, draw.max_w), *_gauges(device, core)]
    _put_device_environment(out, device, draw, core, TOTAL_POWER)
    environment = uris.ENVIRONMENT_METRICS.format(chassis=device.id)
    out.facts.meters[chassis] = Meter(
        device.id,
        round(draw.typical_w),
        gauges=(
            *dark(device.id, gauges),
            (environment, "TemperatureCelsius", ""),
            *_dark_core(device),
        ),
    )
    return {
        "Sensors": put_sensors(out, device.id, name, gauges),
        "EnvironmentMetrics": put_environment(
            out, device.id, f"module of {name}", {"TemperatureCelsius": shown(device.id, gauges[1])}
        ),
    }


def _dark_core(device: Device) -> Iterator[tuple[str, str, str]]:
    for name in ("TemperatureCelsius", "PowerWatts"):
        yield core_environment_uri(device), name, ""
    yield from dark_modules(device)


def _gauges(device: Device, core: str) -> list[Gauge]:
    found = [temperature(CORE, f"Temperature of {device.name}", _celsius(device),
                         _CONTEXTS[device.kind], core, _TEMPERATURES[device.kind][1])]  # fmt: skip
    if device.kind in PROCESSOR_TYPES and device.hardware is not None and device.hardware.modules:
        hot = _celsius(device) + 3 + vary(device.serial_number, "stack", 4)
        name = f"Memory temperature of {device.name}"
        found.append(temperature(_MEMORY, name, hot, "Memory", core, 95))
    return found


def _celsius(device: Device) -> int:
    return _TEMPERATURES[device.kind][0] + vary(device.serial_number, "heat", 9)


def core_environment_uri(device: Device) -> str:
    """Return the URI of the EnvironmentMetrics of what is in the chassis."""
    place = {"chassis": device.id, "device": device.id, "drive": device.id, "adapter": device.id}
    if device.kind is DeviceKind.NVME:
        return uris.DRIVE_ENVIRONMENT.format(**place)
    if device.kind is DeviceKind.NIC:
        return uris.ADAPTER_ENVIRONMENT.format(**place)
    return uris.DEVICE_ENVIRONMENT.format(**place)


def core_environment(device: Device) -> dict[str, str] | None:
    """Return the link to the EnvironmentMetrics of what is in the chassis, where it is measured."""
    measured = device.hardware is not None and device.hardware.draw is not None
    return ref(core_environment_uri(device)) if measured else None


def _put_device_environment(
    out: Rendering, device: Device, draw: Draw, core: str, power: str
) -> None:
    out.put(
        core_environment_uri(device),
        "EnvironmentMetrics",
        f"Environment of {device.name}",
        PowerWatts=excerpt(device.id, power, round(draw.typical_w)),
        TemperatureCelsius=excerpt(device.id, CORE, _celsius(device)),
    )
