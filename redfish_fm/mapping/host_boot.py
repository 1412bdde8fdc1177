"""How a host starts: firmware settings, what it tries in which order, whether it verifies it.

Pure. Redfish: Bios.v1_2_3, BootOption.v1_0_6, SecureBoot.v1_1_2, ComputerSystem.v1_27_0 Boot.
Device paths are those of the UEFI specification.
"""

from typing import Any

from redfish_fm.mapping import uris
from redfish_fm.mapping.host_scene import HostScene
from redfish_fm.mapping.rendering import Rendering, refs

ATTRIBUTES = {
    "BootMode": "Uefi",
    "CxlMemory": "Enabled",
    "MemoryAbove4G": "Enabled",
    "ResizableBar": "Enabled",
    "SimultaneousMultithreading": "Enabled",
    "SriovSupport": "Enabled",
}
"""Settings of the firmware that matter to who lends devices to the host."""

DRIVE_OPTION, NETWORK_OPTION = "Boot0000", "Boot0001"


def render_boot(out: Rendering, scene: HostScene) -> None:
    """Add firmware settings, boot options and secure boot."""
    out.put(
        uris.BIOS.format(system=scene.id),
        "Bios",
        f"Firmware settings of {scene.name}",
        Attributes=dict(ATTRIBUTES),
        ResetBiosToDefaultsPending=False,
    )
    out.put(
        uris.SECURE_BOOT.format(system=scene.id),
        "SecureBoot",
        f"Secure boot of {scene.name}",
        SecureBootEnable=False,
        SecureBootCurrentBoot="Disabled",
        SecureBootMode="UserMode",
    )
    drive, mac = scene.hardware.drive, scene.hardware.network.macs[0]
    eui = "-".join(drive.eui64[i : i + 2] for i in range(0, 16, 2))
    _render_option(
        out,
        scene,
        DRIVE_OPTION,
        DisplayName=f"{drive.part.model} {drive.part.serial_number}",
        Alias="Hdd",
        UefiDevicePath=f"PciRoot(0x0)/Pci(0x1,0x0)/Pci(0x0,0x0)/NVMe(0x1,{eui})",
        RelatedItem=refs([scene.drive]),
    )
    _render_option(
        out,
        scene,
        NETWORK_OPTION,
        DisplayName=f"{scene.hardware.network.part.model}, port 1",
        Alias="Pxe",
        UefiDevicePath="PciRoot(0x0)/Pci(0x2,0x0)/Pci(0x0,0x0)/"
        f"MAC({mac.replace(':', '')},0x1)/IPv4(0.0.0.0)",
        RelatedItem=refs([scene.ethernet(1)]),
    )


def _render_option(out: Rendering, scene: HostScene, option: str, **properties: Any) -> None:
    out.put(
        uris.BOOT_OPTION.format(system=scene.id, option=option),
        "BootOption",
        f"Boot option {option} of {scene.name}",
        BootOptionReference=option,
        BootOptionEnabled=True,
        **properties,
    )


def boot(out: Rendering, scene: HostScene) -> dict[str, Any]:
    """Add the collection of boot options; return ComputerSystem.Boot."""
    options = uris.BOOT_OPTIONS.format(system=scene.id)
    return {
        "BootOrder": [DRIVE_OPTION, NETWORK_OPTION],
        "BootOptions": out.collection(options, "BootOption", f"Boot options of {scene.name}"),
        "BootSourceOverrideEnabled": "Disabled",
        "BootSourceOverrideMode": "UEFI",
        "BootSourceOverrideTarget": "None",
    }
