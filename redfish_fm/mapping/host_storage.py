"""What a host starts from: one NVMe drive with the volume on it.

Pure. Redfish: Storage.v1_21_0, StorageController.v1_11_0, Drive.v1_22_0, DriveMetrics.v1_3_0;
Swordfish: Volume.v1_10_2. It belongs to the host for good: no fabric reaches it.
"""

from typing import Any

from redfish_fm.mapping import uris
from redfish_fm.mapping.device_cores import eui64
from redfish_fm.mapping.host_scene import DRIVE, STORAGE, HostScene, identity, located
from redfish_fm.mapping.rendering import GT_PER_LANE, Rendering, ref, refs

BLOCK_BYTES = 512
_GEN, _LANES = 4, 4


def render_storage(out: Rendering, scene: HostScene) -> None:
    """Add the storage with its controller, drive and volume."""
    place = {"system": scene.id, "storage": STORAGE}
    out.put(
        scene.storage,
        "Storage",
        f"Boot storage of {scene.name}",
        Status=scene.status,
        Controllers=out.collection(
            uris.HOST_CONTROLLERS.format(**place),
            "StorageController",
            f"Controllers of the boot storage of {scene.name}",
        ),
        Drives=refs([scene.drive]),
        Volumes=out.collection(
            uris.HOST_VOLUMES.format(**place), "Volume", f"Boot volumes of {scene.name}"
        ),
        Links={"Enclosures": refs([scene.chassis])},
    )
    _render_controller(out, scene)
    _render_drive(out, scene)
    _render_volume(out, scene)


def _render_controller(out: Rendering, scene: HostScene) -> None:
    drive = scene.hardware.drive
    out.put(
        scene.controller,
        "StorageController",
        f"Controller of the boot drive of {scene.name}",
        **identity(drive.part),
        FirmwareVersion=drive.firmware_version,
        SupportedControllerProtocols=["PCIe"],
        SupportedDeviceProtocols=["NVMe"],
        SpeedGbps=GT_PER_LANE[_GEN] * _LANES,
        PCIeInterface=pcie_interface(_GEN, _LANES, scene.powered),
        NVMeControllerProperties={"ControllerType": "IO", "NVMeVersion": "1.4"},
        Identifiers=eui64(drive.eui64),
        Status=scene.status,
        Links={
            "AttachedVolumes": refs([scene.volume]),
            "PCIeFunctions": refs([scene.pcie_function(DRIVE)]),
        },
    )


def _render_drive(out: Rendering, scene: HostScene) -> None:
    drive, metrics = scene.hardware.drive, {"chassis": scene.id, "drive": DRIVE}
    out.put(
        scene.drive,
        "Drive",
        f"Boot drive of {scene.name}",
        **identity(drive.part),
        FirmwareVersion=drive.firmware_version,
        MediaType="SSD",
        Protocol="NVMe",
        DriveFormFactor="M2_2280",
        CapacityBytes=drive.capacity_bytes,
        BlockSizeBytes=BLOCK_BYTES,
        CapableSpeedGbs=GT_PER_LANE[_GEN] * _LANES,
        NegotiatedSpeedGbs=GT_PER_LANE[_GEN] * _LANES if scene.powered else None,
        EncryptionAbility="None",
        Identifiers=eui64(drive.eui64),
        PhysicalLocation=located("M.2 slot 1", "Slot", 0),
        Status=scene.status,
        Metrics=ref(uris.DRIVE_METRICS.format(**metrics)),
        Links={
            "Chassis": ref(scene.chassis),
            "Storage": ref(scene.storage),
            "Volumes": refs([scene.volume]),
            "PCIeFunctions": refs([scene.pcie_function(DRIVE)]),
        },
    )
    celsius = scene.readings.drive_celsius
    out.put(
        uris.DRIVE_METRICS.format(**metrics),
        "DriveMetrics",
        f"Metrics of the boot drive of {scene.name}",
        NVMeSMART={} if celsius is None else {"CompositeTemperatureCelsius": celsius},
    )


def _render_volume(out: Rendering, scene: HostScene) -> None:
    drive = scene.hardware.drive
    out.put(
        scene.volume,
        "Volume",
        f"Boot volume of {scene.name}",
        CapacityBytes=drive.capacity_bytes,
        BlockSizeBytes=BLOCK_BYTES,
        RAIDType="None",
        VolumeUsage="Data",
        IsBootCapable=True,
        Encrypted=False,
        Identifiers=eui64(drive.eui64),
        Status=scene.status,
        Links={
            "Controllers": refs([scene.controller]),
            "Drives": refs([scene.drive]),
            "OwningStorageResource": ref(scene.storage),
        },
    )


def pcie_interface(gen: int, lanes: int, powered: bool) -> dict[str, Any]:
    """Return a PCIeInterface whose link, with power, runs as fast as it can."""
    running = {"PCIeType": f"Gen{gen}", "LanesInUse": lanes} if powered else {}
    return {"MaxPCIeType": f"Gen{gen}", "MaxLanes": lanes, **running}
