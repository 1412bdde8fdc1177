"""How a host is fed and cooled: power supplies and fans with what is measured of them.

Pure. Redfish: PowerSubsystem.v1_1_3, PowerSupply.v1_6_0, PowerSupplyMetrics.v1_2_0,
ThermalSubsystem.v1_5_0, Fan.v1_6_0, ThermalMetrics.v1_3_2.
"""

from collections.abc import Sequence
from typing import Any

from redfish_fm.fabric.hardware import Part
from redfish_fm.mapping import uris
from redfish_fm.mapping.device_names import OK
from redfish_fm.mapping.host_readings import (
    EFFICIENCY_PERCENT,
    INPUT_V,
    FanReading,
    SupplyReading,
)
from redfish_fm.mapping.host_scene import HostScene, identity, located
from redfish_fm.mapping.host_sensors import AIR_IN, AIR_OUT, DRIVE_TEMP, NETWORK_TEMP
from redfish_fm.mapping.rendering import Rendering, ref, refs

_FAN_MM = 60
_RAIL_V = 12


def render_power(out: Rendering, scene: HostScene) -> None:
    """Add the power subsystem with its supplies, one of which is enough."""
    supplies, name = uris.POWER_SUPPLIES.format(chassis=scene.id), scene.name
    capacity_w = scene.hardware.power_supply_w
    out.put(
        uris.POWER_SUBSYSTEM.format(chassis=scene.id),
        "PowerSubsystem",
        f"Power of {name}",
        CapacityWatts=capacity_w,
        Allocation={"AllocatedWatts": capacity_w, "RequestedWatts": capacity_w},
        PowerSupplies=out.collection(supplies, "PowerSupply", f"Power supplies of {name}"),
        PowerSupplyRedundancy=[_group(scene.supplies, len(scene.supplies) - 1)],
        Status=OK,
    )
    parts = zip(scene.hardware.power_supplies, scene.readings.supplies, strict=True)
    for number, (part, reading) in enumerate(parts, start=1):
        _render_supply(out, scene, number, part)
        _render_supply_metrics(out, scene, number, reading)


def _group(members: Sequence[str], needed: int) -> dict[str, Any]:
    return {
        "RedundancyType": "NPlusM",
        "MinNeededInGroup": needed,
        "MaxSupportedInGroup": len(members),
        "RedundancyGroup": refs(members),
        "RedundancyGroup@odata.count": len(members),
        "Status": OK,
    }


def _render_supply(out: Rendering, scene: HostScene, number: int, part: Part) -> None:
    capacity_w = scene.hardware.power_supply_w
    out.put(
        scene.supplies[number - 1],
        "PowerSupply",
        f"Power supply {number} of {scene.name}",
        **identity(part),
        PowerSupplyType="AC",
        InputNominalVoltageType="AC200To240V",
        InputRanges=[{"NominalVoltageType": "AC200To240V", "CapacityWatts": capacity_w}],
        OutputNominalVoltageType="DC12V",
        OutputRails=[{"NominalVoltage": _RAIL_V, "PhysicalContext": "SystemBoard"}],
        EfficiencyRatings=[{"LoadPercent": 50, "EfficiencyPercent": EFFICIENCY_PERCENT}],
        LineInputStatus="Normal",
        PhaseWiringType="OnePhase3Wire",
        PlugType="IEC_60320_C20",
        PowerCapacityWatts=capacity_w,
        HotPluggable=True,
        Replaceable=True,
        Location=located(f"PSU {number}", "Bay", number - 1, Reference="Rear"),
        Status=OK,
        Metrics=ref(uris.POWER_SUPPLY_METRICS.format(chassis=scene.id, supply=f"PSU{number}")),
        Links={"PoweringChassis": refs([scene.chassis])},
    )


def _render_supply_metrics(
    out: Rendering, scene: HostScene, number: int, reading: SupplyReading
) -> None:
    supply = f"PSU{number}"
    out.put(
        uris.POWER_SUPPLY_METRICS.format(chassis=scene.id, supply=supply),
        "PowerSupplyMetrics",
        f"Metrics of power supply {number} of {scene.name}",
        InputPowerWatts=scene.excerpt(f"{supply}InputPower", reading.input_w),
        OutputPowerWatts=scene.excerpt(f"{supply}OutputPower", reading.output_w),
        InputVoltage=scene.excerpt(f"{supply}InputVoltage", INPUT_V),
        InputCurrentAmps=scene.excerpt(f"{supply}InputCurrent", reading.input_a),
        TemperatureCelsius=scene.excerpt(f"{supply}Temp", reading.celsius),
        Status=OK,
    )


def render_cooling(out: Rendering, scene: HostScene) -> None:
    """Add the thermal subsystem with its fans, one of which may fail."""
    fans = uris.FANS.format(chassis=scene.id)
    out.put(
        uris.THERMAL_SUBSYSTEM.format(chassis=scene.id),
        "ThermalSubsystem",
        f"Cooling of {scene.name}",
        Fans=out.collection(fans, "Fan", f"Fans of {scene.name}"),
        FanRedundancy=[_group(scene.fans, len(scene.fans) - 1)],
        ThermalMetrics=ref(uris.THERMAL_METRICS.format(chassis=scene.id)),
        Status=OK,
    )
    parts = zip(scene.hardware.fans, scene.readings.fans, strict=True)
    for number, (part, reading) in enumerate(parts, start=1):
        _render_fan(out, scene, number, part, reading)
    _render_thermal_metrics(out, scene)


def _render_fan(
    out: Rendering, scene: HostScene, number: int, part: Part, reading: FanReading
) -> None:
    out.put(
        scene.fans[number - 1],
        "Fan",
        f"Fan {number} of {scene.name}",
        **identity(part),
        FanDiameterMm=_FAN_MM,
        RatedSpeedRPM=scene.hardware.fan_rpm_max,
        SpeedPercent=scene.excerpt(f"Fan{number}Speed", reading.percent, SpeedRPM=reading.rpm),
        PowerWatts=scene.excerpt(f"Fan{number}Power", reading.power_w),
        PhysicalContext="Chassis",
        HotPluggable=True,
        Replaceable=True,
        Location=located(f"Fan {number}", "Bay", number - 1),
        Status=scene.status,
    )


def _render_thermal_metrics(out: Rendering, scene: HostScene) -> None:
    found = scene.readings
    named: list[tuple[str, str, str, int | None]] = [
        (f"CPU{processor.socket}Temp", f"CPU {processor.socket}", "CPU", reading.celsius)
        for processor, reading in zip(scene.hardware.processors, found.processors, strict=True)
    ]
    named += [
        (DRIVE_TEMP, "Boot drive", "StorageDevice", found.drive_celsius),
        (NETWORK_TEMP, "Ethernet adapter", "NetworkingDevice", found.network_celsius),
    ]
    readings = [
        scene.excerpt(sensor, celsius, DeviceName=name, PhysicalContext=context)
        for sensor, name, context, celsius in named
    ]
    out.put(
        uris.THERMAL_METRICS.format(chassis=scene.id),
        "ThermalMetrics",
        f"Temperatures in {scene.name}",
        TemperatureSummaryCelsius={
            "Intake": scene.excerpt(AIR_IN, found.inlet_celsius),
            "Exhaust": scene.excerpt(AIR_OUT, found.exhaust_celsius),
        },
        TemperatureReadingsCelsius=readings,
        **{"TemperatureReadingsCelsius@odata.count": len(readings)},
    )
