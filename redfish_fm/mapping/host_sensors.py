"""The sensors of a host: a table of what is measured where, made of its readings.

Pure. Redfish: Sensor.v1_12_0. Whatever shows a reading elsewhere names the sensor it is of.
"""

from collections.abc import Iterator

from redfish_fm.mapping import uris
from redfish_fm.mapping.chassis_sensors import Gauge
from redfish_fm.mapping.host_readings import INPUT_V, THROTTLE_CELSIUS
from redfish_fm.mapping.host_scene import HostScene
from redfish_fm.mapping.metering import TOTAL_POWER

AIR_IN, AIR_OUT = "InletTemp", "ExhaustTemp"
DRIVE_TEMP, NETWORK_TEMP = "Disk1Temp", "NIC1Temp"
_INPUT, _OUTPUT = "Input", "Output"


def sensors(scene: HostScene) -> Iterator[Gauge]:
    """Yield all sensors of a host, each id once."""
    found, chassis = scene.readings, scene.chassis
    yield _temperature(AIR_IN, "air that enters", found.inlet_celsius, "Intake", chassis, 42)
    yield _temperature(AIR_OUT, "air that leaves", found.exhaust_celsius, "Exhaust", chassis, 75)
    yield from _processors(scene)
    yield from _parts(scene)
    yield from _cards(scene)
    yield from _fans(scene)
    yield from _supplies(scene)
    yield _power(TOTAL_POWER, "host", found.input_w, "Chassis", chassis)


def _temperature(
    id_: str, what: str, celsius: int | None, context: str, related: str, critical: int
) -> Gauge:
    return Gauge(
        id_,
        f"Temperature of {what}",
        "Temperature",
        celsius,
        context,
        (related,),
        critical - 10,
        critical,
        dark=celsius is None,
    )


def _power(
    id_: str, what: str, power_w: int, context: str, *related: str, side: str | None = None
) -> Gauge:
    name = f"Power of {what}" if side is None else f"{side} power of {what}"
    return Gauge(id_, name, "Power", power_w, context, related, sub_context=side)


def _processors(scene: HostScene) -> Iterator[Gauge]:
    found = zip(scene.hardware.processors, scene.readings.processors, strict=True)
    for processor, reading in found:
        name, uri = f"CPU{processor.socket}", scene.processor(processor.socket)
        celsius = reading.celsius
        yield _temperature(f"{name}Temp", name, celsius, "CPU", uri, THROTTLE_CELSIUS)
        yield _power(f"{name}Power", name, reading.power_w, "CPU", uri)


def _parts(scene: HostScene) -> Iterator[Gauge]:
    found, disk, card = scene.readings, "StorageDevice", "NetworkingDevice"
    yield _power("MemoryPower", "all memory", sum(found.modules_w), "MemorySubsystem")
    yield _temperature(DRIVE_TEMP, "the boot drive", found.drive_celsius, disk, scene.drive, 80)
    yield _power("Disk1Power", "the boot drive", found.drive_w, disk, scene.drive)
    yield _temperature(
        NETWORK_TEMP, "the Ethernet adapter", found.network_celsius, card, scene.adapter, 105
    )
    yield _power("NIC1Power", "the Ethernet adapter", found.network_w, card, scene.adapter)
    yield _power("BoardPower", "the board", found.board_w, "SystemBoard", scene.chassis)


def _cards(scene: HostScene) -> Iterator[Gauge]:
    found = zip(scene.hardware.fabric_cards, scene.readings.cards_w, strict=True)
    for card, power_w in found:
        adapter = uris.FABRIC_ADAPTER.format(system=scene.id, adapter=card.fabric)
        name = f"the card for {card.fabric}"
        yield _power(f"Card-{card.fabric}Power", name, power_w, "ExpansionBay", adapter)


def _fans(scene: HostScene) -> Iterator[Gauge]:
    found = zip(scene.fans, scene.readings.fans, strict=True)
    for number, (fan, reading) in enumerate(found, start=1):
        yield Gauge(
            f"Fan{number}Speed",
            f"Speed of fan {number}",
            "Percent",
            reading.percent,
            "Fan",
            (fan,),
            speed_rpm=reading.rpm,
        )
        yield _power(f"Fan{number}Power", f"fan {number}", reading.power_w, "Fan", fan)


def _supplies(scene: HostScene) -> Iterator[Gauge]:
    found = zip(scene.supplies, scene.readings.supplies, strict=True)
    context = "PowerSupply"
    for number, (uri, reading) in enumerate(found, start=1):
        id_, name = f"PSU{number}", f"power supply {number}"
        taken, given = reading.input_w, reading.output_w
        yield _power(f"{id_}InputPower", name, taken, context, uri, side=_INPUT)
        yield _power(f"{id_}OutputPower", name, given, context, uri, side=_OUTPUT)
        for kind, value in (("Voltage", INPUT_V), ("Current", reading.input_a)):
            text = f"Input {kind.lower()} of {name}"
            yield Gauge(f"{id_}Input{kind}", text, kind, value, context, (uri,), sub_context=_INPUT)
        yield _temperature(f"{id_}Temp", name, reading.celsius, context, uri, 90)
