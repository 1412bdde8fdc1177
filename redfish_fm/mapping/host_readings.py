"""What the sensors of a host read: a function of who it is and whether it has power.

Pure, no clock and no noise: a reading changes when the state does, so ETags stay what they are
between. Power in whole W, so that sums are exact: what the parts draw is what the power supplies
give, and the chassis draws what the power supplies take in. Temperatures in degrees Celsius. None
is what can not be read without power.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from redfish_fm.fabric.hardware import HostHardware, ProcessorSocket
from redfish_fm.fabric.model import Host

INPUT_V = 230
EFFICIENCY_PERCENT = 94
"""Of a power supply at half its load."""
THROTTLE_CELSIUS = 95

_STANDBY_W = 11
"""What a host that is off draws: its BMC and the wake circuits."""
_BOARD_W = 48


@dataclass(frozen=True, slots=True)
class ProcessorReading:
    """One CPU. `load_percent` is how busy it is."""

    power_w: int
    celsius: int | None
    load_percent: int | None
    mhz: int | None


@dataclass(frozen=True, slots=True)
class FanReading:
    """One fan."""

    percent: int
    rpm: int
    power_w: int


@dataclass(frozen=True, slots=True)
class SupplyReading:
    """One power supply: what it takes in, what it gives."""

    input_w: int
    output_w: int
    input_a: float
    celsius: int


@dataclass(frozen=True, slots=True)
class HostReadings:
    """All readings of a host in one state."""

    processors: tuple[ProcessorReading, ...]
    modules_w: tuple[int, ...]
    drive_w: int
    drive_celsius: int | None
    network_w: int
    network_celsius: int | None
    cards_w: tuple[int, ...]
    board_w: int
    fans: tuple[FanReading, ...]
    supplies: tuple[SupplyReading, ...]
    inlet_celsius: int
    exhaust_celsius: int
    memory_load_percent: int | None

    @property
    def parts_w(self) -> int:
        """Return what all parts draw together."""
        several = (
            sum(each.power_w for each in self.processors),
            sum(each.power_w for each in self.fans),
            sum(self.modules_w),
            sum(self.cards_w),
        )
        return sum(several) + self.drive_w + self.network_w + self.board_w

    @property
    def input_w(self) -> int:
        """Return what the chassis draws from the mains."""
        return sum(each.input_w for each in self.supplies)


def host_readings(host: Host, hardware: HostHardware, powered: bool) -> HostReadings:
    """Return what is read of a host in this state."""
    inlet = 21 + _vary(host, "inlet", 4)
    processors = tuple(_processor(host, each, inlet, powered) for each in hardware.processors)
    busiest = max((each.load_percent or 0 for each in processors), default=0)
    modules = [each.part.serial_number for each in hardware.memory]
    fans = tuple(_fans(host, hardware, busiest, powered))
    found = HostReadings(
        processors=processors,
        modules_w=tuple(4 + _vary(host, name, 2) if powered else 0 for name in modules),
        drive_w=6 + _vary(host, "drive", 3) if powered else 0,
        drive_celsius=inlet + 11 + _vary(host, "drive", 3) if powered else None,
        network_w=13 + _vary(host, "network", 4) if powered else 0,
        network_celsius=inlet + 24 + _vary(host, "network", 4) if powered else None,
        cards_w=tuple(9 if powered else 0 for _ in hardware.fabric_cards),
        board_w=_BOARD_W if powered else _STANDBY_W,
        fans=fans,
        supplies=(),
        inlet_celsius=inlet,
        exhaust_celsius=inlet + 4 + busiest // 5 if powered else inlet,
        memory_load_percent=busiest // 2 if powered else None,
    )
    return _supplied(found, hardware)


def _processor(
    host: Host, processor: ProcessorSocket, inlet: int, powered: bool
) -> ProcessorReading:
    if not powered:
        return ProcessorReading(0, None, None, None)
    load = 12 + _vary(host, f"cpu{processor.socket}", 56)
    return ProcessorReading(
        power_w=round(processor.tdp_w * (0.28 + 0.6 * load / 100)),
        celsius=inlet + 12 + load // 2,
        load_percent=load,
        mhz=processor.base_mhz + (processor.max_mhz - processor.base_mhz) * (100 - load) // 100,
    )


def _fans(host: Host, hardware: HostHardware, load: int, powered: bool) -> Iterator[FanReading]:
    for number in range(1, len(hardware.fans) + 1):
        percent = 28 + load // 2 + _vary(host, f"fan{number}", 3) if powered else 0
        # A fan's power grows with the third power of its speed.
        power_w = max(1, round(22 * (percent / 100) ** 3)) if powered else 0
        yield FanReading(percent, hardware.fan_rpm_max * percent // 100, power_w)


def _supplied(found: HostReadings, hardware: HostHardware) -> HostReadings:
    """Return the same with the power supplies, which share the load evenly."""
    count = len(hardware.power_supplies)
    supplies = []
    for number in range(count):
        output_w = found.parts_w // count + (number < found.parts_w % count)
        input_w = output_w + max(2, round(output_w * (100 / EFFICIENCY_PERCENT - 1)))
        celsius = found.inlet_celsius + 6 + 20 * output_w // max(1, hardware.power_supply_w)
        amps = round(input_w / INPUT_V, 2)
        supplies.append(SupplyReading(input_w, output_w, amps, celsius))
    return replace(found, supplies=tuple(supplies))


def _vary(host: Host, what: str, most: int) -> int:
    """Return 0 to `most`, always the same for one part of one host."""
    return zlib.crc32(f"{host.uuid}/{what}".encode()) % (most + 1)
