"""The chassis of a switch or of a storage subsystem: in its rack, with all that keeps it running.

Pure. Redfish: Chassis.v1_28_0, SwitchMetrics.v1_1_0. A switch whose driver knows nothing of its
chassis has none.
"""

from typing import Any

from redfish_fm.fabric.equipment import SwitchHardware
from redfish_fm.fabric.model import Switch
from redfish_fm.mapping import uris
from redfish_fm.mapping.chassis_enclosure import Core, render_enclosure
from redfish_fm.mapping.chassis_racks import place
from redfish_fm.mapping.device_names import OK
from redfish_fm.mapping.metrics_ports import put_switch_metrics
from redfish_fm.mapping.rendering import Rendering, ref, refs


def switch_chassis_uri(switch: Switch) -> str | None:
    """Return the URI of the chassis that a switch is built into, where its driver knows of it."""
    return None if switch.hardware is None else uris.CHASSIS.format(chassis=switch.id)


def render_switch_chassis(
    out: Rendering,
    switch: Switch,
    stands_for: str,
    links: dict[str, Any],
    *,
    slots_w: int = 0,
    more_w: int = 0,
    context: str = "Switch",
    **properties: Any,
) -> None:
    """Add the chassis of a switch (URI `stands_for`), fed for devices of `slots_w` in its slots.

    `more_w` is what else in it draws power by itself; `properties` are further ones.
    """
    hardware, chassis = switch.hardware, switch_chassis_uri(switch)
    if hardware is None or chassis is None:
        return
    out.facts.switch_chassis[stands_for] = chassis
    name = f"chassis of {switch.name}"
    links = {"ManagedBy": refs([uris.MANAGER.format(manager=uris.FABRIC_MANAGER)]), **links}
    out.put(
        chassis,
        "Chassis",
        f"Chassis of {switch.name}",
        **{
            "ChassisType": "RackMount",
            **_inside(out, switch, hardware, stands_for, name, slots_w, more_w, context),
            **properties,
            **place(out, switch.domain, chassis, links=links),
        },
        Manufacturer=switch.manufacturer,
        Model=switch.model,
        PartNumber=hardware.part_number,
        SerialNumber=switch.serial_number,
        UUID=hardware.uuid,
        PowerState="On",
        LocationIndicatorActive=False,
        Status=OK,
    )


def _inside(
    out: Rendering,
    switch: Switch,
    hardware: SwitchHardware,
    stands_for: str,
    name: str,
    slots_w: int,
    more_w: int,
    context: str,
) -> dict[str, Any]:
    if hardware.enclosure is None or hardware.draw is None:
        return {}
    core = Core(
        chassis=switch.id,
        name=name,
        identity=switch.serial_number,
        draw=hardware.draw,
        context=context,
        related=stands_for,
        domain=switch.domain,
        more_w=more_w,
        slots_w=slots_w,
    )
    return render_enclosure(out, core, hardware.enclosure)


def switch_properties(out: Rendering, switch: Switch, fabric: str) -> dict[str, Any]:
    """Return what a Switch says beyond what binding needs, with its metrics added to `out`."""
    hardware, chassis = switch.hardware, switch_chassis_uri(switch)
    links = {"ManagedBy": refs([uris.MANAGER.format(manager=uris.FABRIC_MANAGER)])}
    if hardware is None or chassis is None:
        return {"Links": links}
    environment = uris.ENVIRONMENT_METRICS.format(chassis=switch.id)
    return {
        "Manufacturer": switch.manufacturer,
        "PartNumber": hardware.part_number,
        "UUID": hardware.uuid,
        "FirmwareVersion": hardware.firmware_version,
        "TotalSwitchWidth": sum(port.link.lanes for port in switch.ports),
        "LocationIndicatorActive": False,
        "Location": None if switch.domain is None else {"Placement": {"Rack": switch.domain}},
        "EnvironmentMetrics": ref(environment) if hardware.enclosure is not None else None,
        "Metrics": put_switch_metrics(out, fabric, switch.id, switch.name)
        if hardware.counts_errors
        else None,
        "Links": {**links, "Chassis": ref(chassis)},
    }
