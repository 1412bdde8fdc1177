"""What chassis draw, from the parts up to the rack: sums that stay true when something goes.

Pure and mutable; one for the whole service, because racks hold what several fabrics own. A
chassis draws what is in it, and what its power supplies lose where it has some; the chassis around
it feeds it. Whole W, so that sums are exact. No clock and no noise: equal states, equal readings.
Redfish: Sensor.v1_12_0, EnvironmentMetrics.v1_5_0, PowerSupplyMetrics.v1_2_0.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from redfish_fm.mapping import uris
from redfish_fm.mapping.host_readings import EFFICIENCY_PERCENT, INPUT_V

TOTAL_POWER = "TotalPower"
"""Id of the sensor of what a chassis draws."""

Patch = dict[str, Any]


class Supply(Enum):
    """Whether something gets power; what is absent can not be read at all."""

    ON = "on"
    OFF = "off"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Meter:
    """What one chassis draws by itself while it has power, and where that is shown.

    `supplies` are the ids of its power supplies, `gauges` the readings (URI, property, and the
    property in it, or "" for a property itself) that nothing without power gives.
    """

    chassis: str
    own_w: int
    supplies: tuple[str, ...] = ()
    gauges: tuple[tuple[str, str, str], ...] = ()
    shown: bool = True
    """Whether it has a sensor of its own for what it draws in all."""


def shares(load_w: int, count: int) -> Iterator[tuple[int, int]]:
    """Yield what each of the power supplies takes in and gives; they share the load evenly."""
    for number in range(count):
        output_w = load_w // count + (number < load_w % count)
        loss_w = round(output_w * (100 / EFFICIENCY_PERCENT - 1))
        yield output_w + (max(2, loss_w) if output_w else 0), output_w


class Metering:
    """The draw of every chassis with a meter, kept up to date along the way to its rack.

    `containers` says which chassis stands in which. Costs the depth of what changed.
    """

    def __init__(self, meters: Mapping[str, Meter], containers: Mapping[str, str]) -> None:
        self._meters = meters
        self._containers = containers
        self._supply = dict.fromkeys(meters, Supply.ON)
        self._own_w = {chassis: meter.own_w for chassis, meter in meters.items()}
        self._inside_w = dict.fromkeys(meters, 0)
        for chassis in meters:
            self._feed(chassis, self._drawn(self._own_w[chassis], chassis))

    def _drawn(self, load_w: int, chassis: str) -> int:
        meter = self._meters[chassis]
        if not meter.supplies:
            return load_w
        return sum(input_w for input_w, _ in shares(load_w, len(meter.supplies)))

    def total_w(self, chassis: str) -> int:
        """Return what a chassis with a meter draws in all."""
        return self._drawn(self._own_w[chassis] + self._inside_w[chassis], chassis)

    def _around(self, chassis: str) -> str | None:
        around = self._containers.get(chassis)
        return around if around in self._meters else None

    def _feed(self, chassis: str, more_w: int) -> list[str]:
        """Let everything around `chassis` draw so much more; return what that is."""
        changed = []
        around = self._around(chassis)
        while around is not None and more_w:
            before_w = self.total_w(around)
            self._inside_w[around] += more_w
            more_w = self.total_w(around) - before_w
            changed.append(around)
            around = self._around(around)
        return changed

    def switch(self, chassis: str, supply: Supply) -> dict[str, Patch]:
        """Return what to show now that a chassis has power or not, by URI; often nothing."""
        meter = self._meters.get(chassis)
        if meter is None or self._supply[chassis] is supply:
            return {}
        self._supply[chassis] = supply
        return self._set(chassis, meter.own_w if supply is Supply.ON else 0)

    def set_own_w(self, chassis: str, own_w: int) -> dict[str, Patch]:
        """Return what to show now that a chassis draws so much by itself."""
        return self._set(chassis, own_w) if chassis in self._meters else {}

    def _set(self, chassis: str, own_w: int) -> dict[str, Patch]:
        before_w = self.total_w(chassis)
        self._own_w[chassis] = own_w
        patches = {}
        for each in (chassis, *self._feed(chassis, self.total_w(chassis) - before_w)):
            patches.update(self.patches(each))
        return patches

    def all_patches(self) -> Iterator[tuple[str, Patch]]:
        """Yield every reading of power as it is now."""
        for chassis in self._meters:
            yield from self.patches(chassis).items()

    def patches(self, chassis: str) -> dict[str, Patch]:
        """Return the readings of one chassis, by the URI that shows them."""
        meter, supply = self._meters[chassis], self._supply[chassis]
        found: dict[str, Patch] = {}
        if meter.shown:
            total_w = None if supply is Supply.ABSENT else self.total_w(chassis)
            found[uris.SENSOR.format(chassis=meter.chassis, sensor=TOTAL_POWER)] = {
                "Reading": total_w
            }
            found[uris.ENVIRONMENT_METRICS.format(chassis=meter.chassis)] = {
                "PowerWatts": {"Reading": total_w}
            }
        load_w = self._own_w[chassis] + self._inside_w[chassis]
        for each, (input_w, output_w) in zip(
            meter.supplies, shares(load_w, len(meter.supplies)), strict=True
        ):
            place = {"chassis": meter.chassis, "supply": each}
            found[uris.POWER_SUPPLY_METRICS.format(**place)] = {
                "InputPowerWatts": {"Reading": input_w},
                "OutputPowerWatts": {"Reading": output_w},
                "InputCurrentAmps": {"Reading": round(input_w / INPUT_V, 2)},
            }
        for uri, name, inner in meter.gauges:
            lost = found.setdefault(uri, {})
            if supply is Supply.ON:
                continue
            if inner:
                lost.setdefault(name, {})[inner] = None
            else:
                lost[name] = None
        return found
