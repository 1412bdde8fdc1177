"""The chassis that a host is built into, and what is measured of it as a whole.

Pure. Redfish: Chassis.v1_28_0, EnvironmentMetrics.v1_5_0, Assembly.v1_6_1. What is in it stands in
modules of its own; in which rack it stands, and at which height, is said by `chassis_racks`.
"""

from typing import Any

from redfish_fm.fabric.hardware import Part
from redfish_fm.fabric.model import Host
from redfish_fm.mapping import uris
from redfish_fm.mapping.chassis_racks import place
from redfish_fm.mapping.chassis_sensors import put_sensors
from redfish_fm.mapping.device_names import OK
from redfish_fm.mapping.host_scene import HostScene, chassis_uri, identity, manager_uri
from redfish_fm.mapping.host_sensors import AIR_IN, sensors
from redfish_fm.mapping.metering import TOTAL_POWER
from redfish_fm.mapping.rendering import Rendering, ref, refs


def render_chassis(out: Rendering, host: Host, powered: bool, scene: HostScene | None) -> None:
    """Add the chassis; without `scene` nothing is known of what is in it."""
    if host.part is None:
        return
    managers = refs([manager_uri(host.id)]) if host.bmc is not None else []
    links: dict[str, Any] = {"ComputerSystems": refs([uris.SYSTEM.format(system=host.id)])}
    if managers:
        links |= {"ManagedBy": managers, "ManagersInChassis": managers}
    inside: dict[str, Any] = {}
    if scene is not None:
        links |= _links(scene)
        inside = _inside(out, scene)
    out.put(
        chassis_uri(host.id),
        "Chassis",
        f"Chassis of {host.name}",
        ChassisType="RackMount",
        **identity(host.part),
        PowerState="On" if powered else "Off",
        LocationIndicatorActive=False,
        Status=OK,
        **inside,
        **place(out, host.domain, chassis_uri(host.id), links=links),
    )


def _links(scene: HostScene) -> dict[str, Any]:
    return {
        "Processors": refs(scene.processors),
        "Storage": refs([scene.storage]),
        "Drives": refs([scene.drive]),
        "PowerSupplies": refs(scene.supplies),
        "Fans": refs(scene.fans),
    }


def _inside(out: Rendering, scene: HostScene) -> dict[str, Any]:
    """Add what belongs to the chassis as a whole; return its links to all that is in it."""
    where, name, hardware = {"chassis": scene.id}, scene.name, scene.hardware
    _render_environment(out, scene)
    _render_assembly(out, scene, hardware.board)
    return {
        "RackUnits": "EIA_310",
        "HeightRackUnits": hardware.rack_units,
        "RackMountWidth": "EIA_310",
        "ThermalDirection": "FrontToBack",
        "EnvironmentalClass": "A2",
        "MaxPowerWatts": hardware.power_supply_w,
        "PowerSubsystem": ref(uris.POWER_SUBSYSTEM.format(**where)),
        "ThermalSubsystem": ref(uris.THERMAL_SUBSYSTEM.format(**where)),
        "EnvironmentMetrics": ref(uris.ENVIRONMENT_METRICS.format(**where)),
        "Assembly": ref(uris.ASSEMBLY.format(**where)),
        "Sensors": put_sensors(out, scene.id, name, sensors(scene)),
        "Drives": out.collection(uris.DRIVES.format(**where), "Drive", f"Drives of {name}"),
        "PCIeDevices": out.collection(
            uris.DEVICES.format(**where), "PCIeDevice", f"PCIe devices of {name}"
        ),
        "NetworkAdapters": out.collection(
            uris.NETWORK_ADAPTERS.format(**where), "NetworkAdapter", f"Network adapters of {name}"
        ),
    }


def _render_environment(out: Rendering, scene: HostScene) -> None:
    found = scene.readings
    fans = [
        scene.excerpt(
            f"Fan{number}Speed",
            reading.percent,
            SpeedRPM=reading.rpm,
            DeviceName=f"Fan {number}",
            PhysicalContext="Fan",
        )
        for number, reading in enumerate(found.fans, start=1)
    ]
    out.put(
        uris.ENVIRONMENT_METRICS.format(chassis=scene.id),
        "EnvironmentMetrics",
        f"Environment of {scene.name}",
        PowerWatts=scene.excerpt(TOTAL_POWER, found.input_w),
        TemperatureCelsius=scene.excerpt(AIR_IN, found.inlet_celsius),
        FanSpeedsPercent=fans,
        **{"FanSpeedsPercent@odata.count": len(fans)},
    )


def _render_assembly(out: Rendering, scene: HostScene, board: Part) -> None:
    uri = uris.ASSEMBLY.format(chassis=scene.id)
    out.put(
        uri,
        "Assembly",
        f"Assembly of {scene.name}",
        Assemblies=[
            {
                "@odata.id": f"{uri}#/Assemblies/0",
                "MemberId": "0",
                "Name": "System board",
                "Producer": board.manufacturer,
                "Model": board.model,
                "PartNumber": board.part_number,
                "SerialNumber": board.serial_number,
                "PhysicalContext": "SystemBoard",
                "Replaceable": True,
                "Status": OK,
            }
        ],
        **{"Assemblies@odata.count": 1},
    )
