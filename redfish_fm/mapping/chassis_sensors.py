"""Sensors of a chassis and what sums them up: readings that are a function of who it is.

Pure, no clock and no noise. Redfish: Sensor.v1_12_0, EnvironmentMetrics.v1_5_0. Whatever another
resource shows of a sensor is an excerpt with its URI. What a chassis draws in all is filled in by
`metering`, everything else is said here. Temperatures in degrees Celsius.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from redfish_fm.mapping import uris
from redfish_fm.mapping.device_names import OK
from redfish_fm.mapping.metering import TOTAL_POWER
from redfish_fm.mapping.rendering import Rendering, refs

_FORMS = {
    "Temperature": ("Cel", 0, 125),
    "Power": ("W", 0, None),
    "Percent": ("%", 0, 100),
    "Voltage": ("V", 0, 300),
    "Current": ("A", 0, 30),
}
"""ReadingType -> its unit (UCUM), and what it lies between."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """One sensor. `caution` and `critical` are upper thresholds; reading None is filled in later.

    `needs_power`: whether there is no reading without power.
    """

    id: str
    name: str
    reading_type: str
    reading: float | None
    context: str
    related: tuple[str, ...]
    caution: float | None = None
    critical: float | None = None
    speed_rpm: int | None = None
    needs_power: bool = True
    sub_context: str | None = None
    dark: bool = False
    """Whether it is on something that has no power now, so that it reads nothing."""


UNREAD = {"State": "UnavailableOffline", "Health": "OK"}
"""Status of a sensor that reads nothing."""


def vary(identity: str, what: str, most: int) -> int:
    """Return 0 to `most`, always the same for one part of one thing."""
    return zlib.crc32(f"{identity}/{what}".encode()) % (most + 1)


def total_power(chassis: str, name: str, related: str, max_w: int | None = None) -> Gauge:
    """Return the sensor of what a chassis draws in all."""
    return Gauge(
        TOTAL_POWER,
        f"Power of {name}",
        "Power",
        None,
        "Chassis",
        (related,),
        critical=max_w,
        needs_power=False,
    )


def temperature(
    id_: str, name: str, celsius: int, context: str, related: str, critical: int
) -> Gauge:
    """Return a sensor of a temperature, with a caution some degrees below what is critical."""
    return Gauge(id_, name, "Temperature", celsius, context, (related,), critical - 10, critical)


def put_sensors(out: Rendering, chassis: str, name: str, gauges: Iterable[Gauge]) -> dict[str, str]:
    """Add sensors with their collection; return the link to it."""
    for gauge in gauges:
        _put(out, chassis, gauge)
    place = uris.SENSORS.format(chassis=chassis)
    return out.collection(place, "Sensor", f"Sensors of {name}")


def dark(chassis: str, gauges: Iterable[Gauge]) -> Iterator[tuple[str, str, str]]:
    """Yield what is not read of these sensors without power, as metering.Meter has it."""
    for gauge in gauges:
        if gauge.needs_power:
            yield uris.SENSOR.format(chassis=chassis, sensor=gauge.id), "Reading", ""


def _put(out: Rendering, chassis: str, gauge: Gauge) -> None:
    unit, least, most = _FORMS[gauge.reading_type]
    limits = {"UpperCaution": gauge.caution, "UpperCritical": gauge.critical}
    thresholds = {
        name: {"Reading": limit, "Activation": "Increasing"}
        for name, limit in limits.items()
        if limit is not None
    }
    out.put(
        uris.SENSOR.format(chassis=chassis, sensor=gauge.id),
        "Sensor",
        gauge.name,
        ReadingType=gauge.reading_type,
        ReadingUnits=unit,
        Reading=gauge.reading,
        ReadingBasis="Zero",
        ReadingRangeMin=least,
        ReadingRangeMax=most,
        SpeedRPM=gauge.speed_rpm,
        Implementation="Synthesized",
        Enabled=True,
        PhysicalContext=gauge.context,
        PhysicalSubContext=gauge.sub_context,
        VoltageType="AC" if gauge.reading_type == "Voltage" else None,
        ElectricalContext="Total" if gauge.reading_type == "Power" else None,
        Thresholds=thresholds or None,
        RelatedItem=refs(gauge.related) or None,
        Status=UNREAD if gauge.dark else OK,
    )


def excerpt(chassis: str, sensor: str, reading: float | None = None, **more: Any) -> dict[str, Any]:
    """Return what another resource shows of a sensor."""
    uri = uris.SENSOR.format(chassis=chassis, sensor=sensor)
    shown = {"DataSourceUri": uri, "Reading": reading, **more}
    return {name: value for name, value in shown.items() if value is not None}


def shown(chassis: str, gauge: Gauge) -> dict[str, Any]:
    """Return what another resource shows of a sensor that is at hand."""
    return excerpt(chassis, gauge.id, gauge.reading)


def put_environment(
    out: Rendering, chassis: str, name: str, more: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Add the EnvironmentMetrics of a chassis, `more` beside what it draws; return its link."""
    uri = uris.ENVIRONMENT_METRICS.format(chassis=chassis)
    out.put(
        uri,
        "EnvironmentMetrics",
        f"Environment of {name}",
        PowerWatts=excerpt(chassis, TOTAL_POWER),
        **(more or {}),
    )
    return {"@odata.id": uri}
