"""Power supplies, fans and sensors of a chassis that stands in a rack by itself.

Pure. Redfish: PowerSubsystem.v1_1_3, PowerSupply.v1_6_0, PowerSupplyMetrics.v1_2_0,
ThermalSubsystem.v1_5_0, ThermalMetrics.v1_3_2, Fan.v1_6_0, Assembly.v1_6_1. The power supplies
share the load evenly and any one may fail; what they give and take is filled in by `metering`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from redfish_fm.fabric.equipment import Draw, Enclosure
from redfish_fm.fabric.hardware import Part
from redfish_fm.mapping import uris
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
from redfish_fm.mapping.device_names import OK
from redfish_fm.mapping.host_readings import EFFICIENCY_PERCENT, INPUT_V
from redfish_fm.mapping.host_scene import identity, located
from redfish_fm.mapping.metering import Meter
from redfish_fm.mapping.rendering import Rendering, ref, refs

INLET = "Inlet"
EXHAUST = "Exhaust"
CORE = "Core"
CORE_POWER = "CorePower"
"""Ids of the sensors that every such chassis has."""

_EFFICIENCIES = ((20, 92), (50, EFFICIENCY_PERCENT), (100, 91))
"""Load and efficiency of a power supply, in percent."""
_FAN_W_MAX = 20


@dataclass(frozen=True, slots=True)
class Core:
    """The electronics of a chassis: who it is, what it is called, what it draws, what it is.

    `context` is Sensor.PhysicalContext, `related` the resource that stands for it, `domain` the
    failure domain that feeds the chassis; `more_w` what else in it draws by itself.
    """

    chassis: str
    name: str
    identity: str
    draw: Draw
    context: str
    related: str
    domain: str | None
    more_w: int = 0
    slots_w: int = 0
    """What may be plugged into its slots, at most."""
    celsius: int | None = None
    """How warm its electronics are; None: some degrees above what comes in."""
    gauges: tuple[tuple[str, str, str], ...] = ()
    """What else is not read without power, as metering.Meter has it."""


@dataclass(frozen=True, slots=True)
class _Fan:
    id: str
    part: Part
    percent: int
    rpm: int
    power_w: int


def render_enclosure(out: Rendering, core: Core, enclosure: Enclosure) -> dict[str, Any]:
    """Add everything that feeds, cools and measures a chassis; return what it then says."""
    fans = list(_fans(core, enclosure))
    inlet = 20 + vary(core.identity, "inlet", 4)
    load = round(core.draw.typical_w)
    gauges = _gauges(core, fans, inlet, load)
    supplies = [f"PSU{number}" for number in range(1, len(enclosure.power_supplies) + 1)]
    own_w = load + core.more_w + sum(fan.power_w for fan in fans)
    chassis = uris.CHASSIS.format(chassis=core.chassis)
    out.facts.meters[chassis] = Meter(
        core.chassis,
        own_w,
        tuple(supplies),
        (*dark(core.chassis, gauges), *_dark_parts(core, fans, supplies), *core.gauges),
    )
    return {
        "ChassisType": "RackMount",
        "HeightRackUnits": enclosure.rack_units,
        "RackUnits": "EIA_310",
        "RackMountWidth": "EIA_310",
        "ThermalDirection": "FrontToBack",
        "EnvironmentalClass": "A2",
        "MaxPowerWatts": round(
            (core.draw.max_w + core.more_w + core.slots_w + _FAN_W_MAX * len(fans))
            * 100
            / EFFICIENCY_PERCENT
        ),
        "PowerSubsystem": _put_power(out, core, enclosure, supplies),
        "ThermalSubsystem": _put_thermal(out, core, fans, inlet, enclosure),
        "Sensors": put_sensors(out, core.chassis, core.name, gauges),
        "EnvironmentMetrics": put_environment(
            out,
            core.chassis,
            core.name,
            {
                "TemperatureCelsius": shown(core.chassis, gauges[1]),
                "FanSpeedsPercent": [_fan_excerpt(core, fan) for fan in fans],
            },
        ),
        "Assembly": _put_assembly(out, core, enclosure),
    }


def _dark_parts(
    core: Core, fans: Sequence[_Fan], supplies: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield what of fans and power supplies is not read without power."""
    chassis = core.chassis
    yield uris.ENVIRONMENT_METRICS.format(chassis=chassis), "FanSpeedsPercent", ""
    yield uris.ENVIRONMENT_METRICS.format(chassis=chassis), "TemperatureCelsius", ""
    metrics = uris.THERMAL_METRICS.format(chassis=chassis)
    for name in ("PowerWatts", "TemperatureSummaryCelsius", "TemperatureReadingsCelsius"):
        yield metrics, name, ""
    for fan in fans:
        place = uris.FAN.format(chassis=chassis, fan=fan.id)
        yield place, "SpeedPercent", ""
        yield place, "PowerWatts", ""
    for supply in supplies:
        place = uris.POWER_SUPPLY_METRICS.format(chassis=chassis, supply=supply)
        for name in ("InputVoltage", "TemperatureCelsius", "FanSpeedsPercent"):
            yield place, name, ""


def _fans(core: Core, enclosure: Enclosure) -> Iterator[_Fan]:
    for number, part in enumerate(enclosure.fans, 1):
        percent = 34 + vary(core.identity, f"fan{number}", 6)
        # A fan's power grows with the third power of its speed.
        power_w = max(1, round(_FAN_W_MAX * (percent / 100) ** 3))
        rpm = enclosure.fan_rpm_max * percent // 100
        yield _Fan(f"Fan{number}", part, percent, rpm, power_w)


def _gauges(core: Core, fans: Sequence[_Fan], inlet: int, load_w: int) -> list[Gauge]:
    chassis = uris.CHASSIS.format(chassis=core.chassis)
    return [
        total_power(core.chassis, core.name, chassis),
        temperature(INLET, f"Inlet of {core.name}", inlet, "Intake", chassis, 45),
        temperature(EXHAUST, f"Exhaust of {core.name}", inlet + 9, "Exhaust", chassis, 75),
        temperature(
            CORE,
            f"Electronics of {core.name}",
            core.celsius or inlet + 18 + vary(core.identity, "core", 9),
            core.context,
            core.related,
            105,
        ),
        Gauge(
            CORE_POWER,
            f"Power of the electronics of {core.name}",
            "Power",
            load_w,
            core.context,
            (core.related,),
            critical=core.draw.max_w,
        ),
        *(
            Gauge(
                fan.id,
                f"Speed of fan {fan.id[3:]} of {core.name}",
                "Percent",
                fan.percent,
                "Fan",
                (uris.FAN.format(chassis=core.chassis, fan=fan.id),),
                speed_rpm=fan.rpm,
            )
            for fan in fans
        ),
    ]


def _fan_excerpt(core: Core, fan: _Fan) -> dict[str, Any]:
    more = {"SpeedRPM": fan.rpm, "DeviceName": fan.id, "PhysicalContext": "Fan"}
    return excerpt(core.chassis, fan.id, fan.percent, **more)


def _put_power(
    out: Rendering, core: Core, enclosure: Enclosure, supplies: Sequence[str]
) -> dict[str, str]:
    uri = uris.POWER_SUBSYSTEM.format(chassis=core.chassis)
    places = [uris.POWER_SUPPLY.format(chassis=core.chassis, supply=each) for each in supplies]
    for number, (each, part) in enumerate(zip(supplies, enclosure.power_supplies, strict=True)):
        _put_supply(out, core, enclosure, each, part, number)
    out.put(
        uri,
        "PowerSubsystem",
        f"Power of {core.name}",
        CapacityWatts=enclosure.power_supply_w * (len(supplies) - 1 or 1),
        PowerSupplies=out.collection(
            uris.POWER_SUPPLIES.format(chassis=core.chassis),
            "PowerSupply",
            f"Power supplies of {core.name}",
        ),
        PowerSupplyRedundancy=[_redundancy(places)],
        Status=OK,
    )
    return ref(uri)


def _redundancy(places: Sequence[str]) -> dict[str, Any]:
    return {
        "RedundancyType": "NPlusM",
        "MinNeededInGroup": len(places) - 1 or 1,
        "MaxSupportedInGroup": len(places),
        "RedundancyGroup": refs(places),
        "Status": OK,
    }


def _put_supply(
    out: Rendering, core: Core, enclosure: Enclosure, supply: str, part: Part, number: int
) -> None:
    place = {"chassis": core.chassis, "supply": supply}
    metrics = uris.POWER_SUPPLY_METRICS.format(**place)
    name = f"Power supply {number + 1} of {core.name}"
    out.put(
        metrics,
        "PowerSupplyMetrics",
        f"Metrics of {name.lower()}",
        InputVoltage={"Reading": INPUT_V},
        InputPowerWatts={},
        OutputPowerWatts={},
        InputCurrentAmps={},
        TemperatureCelsius={"Reading": 31 + vary(core.identity, supply, 6)},
        FanSpeedsPercent=[{"Reading": 30, "DeviceName": "1", "PhysicalContext": "PowerSupply"}],
        Status=OK,
    )
    out.put(
        uris.POWER_SUPPLY.format(**place),
        "PowerSupply",
        name,
        **identity(part),
        FirmwareVersion="1.02",
        PowerSupplyType="AC",
        InputNominalVoltageType="AC200To277V",
        OutputNominalVoltageType="DC12V",
        LineInputStatus="Normal",
        PlugType="IEC_60320_C14",
        PhaseWiringType="OnePhase3Wire",
        PowerCapacityWatts=enclosure.power_supply_w,
        InputRanges=[
            {
                "NominalVoltageType": "AC200To277V",
                "CapacityWatts": enclosure.power_supply_w,
            }
        ],
        OutputRails=[{"NominalVoltage": 12, "PhysicalContext": "SystemBoard"}],
        EfficiencyRatings=[
            {"LoadPercent": load, "EfficiencyPercent": percent} for load, percent in _EFFICIENCIES
        ],
        ElectricalSourceNames=None if core.domain is None else [core.domain],
        HotPluggable=True,
        Replaceable=True,
        LocationIndicatorActive=False,
        Location=located(f"PSU {number + 1}", "Bay", number, Reference="Rear"),
        Metrics=ref(metrics),
        Status=OK,
        Links={"PoweringChassis": refs([uris.CHASSIS.format(chassis=core.chassis)])},
    )


def _put_thermal(
    out: Rendering, core: Core, fans: Sequence[_Fan], inlet: int, enclosure: Enclosure
) -> dict[str, str]:
    uri = uris.THERMAL_SUBSYSTEM.format(chassis=core.chassis)
    metrics = uris.THERMAL_METRICS.format(chassis=core.chassis)
    places = [uris.FAN.format(chassis=core.chassis, fan=fan.id) for fan in fans]
    for number, fan in enumerate(fans):
        _put_fan(out, core, fan, number, enclosure)
    readings = {INLET: inlet, EXHAUST: inlet + 9}
    out.put(
        metrics,
        "ThermalMetrics",
        f"Temperatures of {core.name}",
        PowerWatts={"Reading": sum(fan.power_w for fan in fans)},
        TemperatureSummaryCelsius={
            "Intake": excerpt(core.chassis, INLET, inlet),
            "Exhaust": excerpt(core.chassis, EXHAUST, inlet + 9),
        },
        TemperatureReadingsCelsius=[
            excerpt(core.chassis, name, celsius, DeviceName=name)
            for name, celsius in readings.items()
        ],
    )
    out.put(
        uri,
        "ThermalSubsystem",
        f"Cooling of {core.name}",
        Fans=out.collection(uris.FANS.format(chassis=core.chassis), "Fan", f"Fans of {core.name}"),
        FanRedundancy=[_redundancy(places)],
        ThermalMetrics=ref(metrics),
        Status=OK,
    )
    return ref(uri)


def _put_fan(out: Rendering, core: Core, fan: _Fan, number: int, enclosure: Enclosure) -> None:
    out.put(
        uris.FAN.format(chassis=core.chassis, fan=fan.id),
        "Fan",
        f"Fan {number + 1} of {core.name}",
        **identity(fan.part),
        PhysicalContext="Chassis",
        FanDiameterMm=40,
        RatedSpeedRPM=enclosure.fan_rpm_max,
        SpeedPercent=excerpt(core.chassis, fan.id, fan.percent, SpeedRPM=fan.rpm),
        PowerWatts={"Reading": fan.power_w},
        HotPluggable=True,
        Replaceable=True,
        LocationIndicatorActive=False,
        Location=located(f"FAN {number + 1}", "Bay", number, Reference="Rear"),
        Status=OK,
        Links={"CoolingChassis": refs([uris.CHASSIS.format(chassis=core.chassis)])},
    )


def _put_assembly(out: Rendering, core: Core, enclosure: Enclosure) -> dict[str, str]:
    """Add what is exchanged as one piece: power supplies and fans."""
    uri = uris.ASSEMBLY.format(chassis=core.chassis)
    supplies = [(part, "PowerSupply") for part in enclosure.power_supplies]
    fans = [(part, "Fan") for part in enclosure.fans]
    out.put(
        uri,
        "Assembly",
        f"Parts of {core.name}",
        Assemblies=[
            _assembly(uri, number, part, context)
            for number, (part, context) in enumerate((*supplies, *fans))
        ],
    )
    return ref(uri)


def _assembly(uri: str, number: int, part: Part, context: str) -> dict[str, Any]:
    return {
        "@odata.id": f"{uri}#/Assemblies/{number}",
        "MemberId": str(number),
        "Name": part.model,
        "Model": part.model,
        "Producer": part.manufacturer,
        "PartNumber": part.part_number,
        "SerialNumber": part.serial_number,
        "PhysicalContext": context,
        "Replaceable": True,
        "Status": OK,
    }
