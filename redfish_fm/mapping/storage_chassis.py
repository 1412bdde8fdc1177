"""The chassis of an NVMe subsystem with the drives that its pool is made of.

Pure. Redfish: Chassis.v1_28_0, Drive.v1_22_0. The drives add up to the capacity of the pool; what
becomes of the pool becomes of them.
"""

from typing import Any

from redfish_fm.fabric.equipment import DriveBay
from redfish_fm.fabric.model import Switch
from redfish_fm.mapping import uris
from redfish_fm.mapping.chassis_sensors import vary
from redfish_fm.mapping.chassis_switches import render_switch_chassis, switch_chassis_uri
from redfish_fm.mapping.device_cores import eui64
from redfish_fm.mapping.device_names import OK
from redfish_fm.mapping.host_scene import identity, located
from redfish_fm.mapping.read import BYTES_PER_MIB
from redfish_fm.mapping.rendering import Rendering, ref, refs

_DRIVE_W_LEAST = 8


def render_storage_chassis(
    out: Rendering, switch: Switch, storage: str, port: str, pool: str
) -> dict[str, Any]:
    """Add the chassis of a subsystem with its drives; return what the Storage says of them.

    The drives are behind `port`, and what `pool` is made of; all three are URIs.
    """
    hardware, chassis = switch.hardware, switch_chassis_uri(switch)
    if hardware is None or chassis is None:
        return {}
    drives = [
        _render_drive(out, switch, bay, number, storage, pool)
        for number, bay in enumerate(hardware.drives, 1)
    ]
    for drive in drives:
        out.facts.resource_ports[drive] = port
    links: dict[str, Any] = {"Storage": refs([storage])}
    more: dict[str, Any] = {}
    if drives:
        links["Drives"] = refs(drives)
        place = uris.DRIVES.format(chassis=switch.id)
        more["Drives"] = out.collection(place, "Drive", f"Drives of {switch.name}")
    render_switch_chassis(
        out,
        switch,
        storage,
        links,
        more_w=sum(_drive_w(switch, number) for number in range(1, len(drives) + 1)),
        context="StorageSubsystem",
        **more,
    )
    return {"Drives": refs(drives) if drives else None, "Links": {"Enclosures": refs([chassis])}}


def _drive_w(switch: Switch, number: int) -> int:
    return _DRIVE_W_LEAST + vary(switch.serial_number, f"bay{number}", 4)


def _render_drive(
    out: Rendering, switch: Switch, bay: DriveBay, number: int, storage: str, pool: str
) -> str:
    drive = f"Bay{number}"
    place = {"chassis": switch.id, "drive": drive}
    uri, environment = uris.DRIVE.format(**place), uris.DRIVE_ENVIRONMENT.format(**place)
    name = f"Drive {number} of {switch.name}"
    out.put(
        environment,
        "EnvironmentMetrics",
        f"Environment of {name.lower()}",
        PowerWatts={"Reading": _drive_w(switch, number)},
        TemperatureCelsius={"Reading": 34 + vary(switch.serial_number, f"heat{number}", 7)},
    )
    out.put(
        uri,
        "Drive",
        name,
        **identity(bay.part),
        FirmwareVersion=bay.firmware_version,
        MediaType="SSD",
        Protocol="NVMe",
        CapacityBytes=bay.capacity_mib * BYTES_PER_MIB,
        BlockSizeBytes=512,
        DriveFormFactor="U2",
        HotspareType="None",
        EncryptionAbility="None",
        LocationIndicatorActive=False,
        Identifiers=eui64(bay.eui64),
        PhysicalLocation=located(f"BAY {number}", "Bay", number - 1),
        EnvironmentMetrics=ref(environment),
        Status=OK,
        Links={
            "Chassis": ref(uris.CHASSIS.format(chassis=switch.id)),
            "Storage": ref(storage),
            "StoragePools": refs([pool]),
        },
    )
    return uri
