"""The Ethernet adapter of a host: the card, its ports and functions, the host's interfaces.

Pure. Redfish: NetworkAdapter.v1_14_0, Port.v1_18_0, NetworkDeviceFunction.v1_11_1,
NetworkInterface.v1_2_3, EthernetInterface.v1_12_4. What is at the other ends of its cables is not
known here.
"""

from redfish_fm.mapping import uris
from redfish_fm.mapping.host_scene import NETWORK_ADAPTER, HostScene, identity, located
from redfish_fm.mapping.host_storage import pcie_interface
from redfish_fm.mapping.rendering import Rendering, ref, refs

MTU_BYTES = 1500
GEN, LANES = 4, 8


def render_network(out: Rendering, scene: HostScene) -> None:
    """Add adapter, ports, functions and interfaces."""
    place = {"chassis": scene.id, "adapter": NETWORK_ADAPTER}
    name = f"Ethernet adapter of {scene.name}"
    ports = out.collection(uris.NETWORK_PORTS.format(**place), "Port", f"Ports of the {name}")
    functions = out.collection(
        uris.NETWORK_FUNCTIONS.format(**place), "NetworkDeviceFunction", f"Functions of the {name}"
    )
    _render_adapter(out, scene, name, ports, functions)
    out.put(
        uris.NETWORK_INTERFACE.format(system=scene.id, interface=NETWORK_ADAPTER),
        "NetworkInterface",
        name,
        Status=scene.status,
        Ports=ports,
        NetworkDeviceFunctions=functions,
        Links={"NetworkAdapter": ref(scene.adapter)},
    )
    for number, mac in zip(scene.network_ports, scene.hardware.network.macs, strict=True):
        _render_port(out, scene, number, mac)
        _render_function(out, scene, number, mac)
        _render_interface(out, scene, number, mac)


def _render_adapter(
    out: Rendering,
    scene: HostScene,
    name: str,
    ports: dict[str, str],
    functions: dict[str, str],
) -> None:
    card, numbers = scene.hardware.network, scene.network_ports
    out.put(
        scene.adapter,
        "NetworkAdapter",
        name,
        **identity(card.part),
        Controllers=[
            {
                "FirmwarePackageVersion": card.firmware_version,
                "PCIeInterface": pcie_interface(GEN, LANES, scene.powered),
                "ControllerCapabilities": {
                    "NetworkPortCount": len(numbers),
                    "NetworkDeviceFunctionCount": len(numbers),
                },
                "Links": {
                    "PCIeDevices": refs([scene.pcie_device(NETWORK_ADAPTER)]),
                    "Ports": refs(map(scene.network_port, numbers)),
                    "NetworkDeviceFunctions": refs(map(scene.network_function, numbers)),
                },
            }
        ],
        Ports=ports,
        NetworkDeviceFunctions=functions,
        Location=located("OCP slot", "Slot", 0),
        Status=scene.status,
    )


def _render_port(out: Rendering, scene: HostScene, number: int, mac: str) -> None:
    speed = scene.hardware.network.speed_gbps
    out.put(
        scene.network_port(number),
        "Port",
        f"Ethernet port {number} of {scene.name}",
        PortId=str(number),
        PortProtocol="Ethernet",
        PortType="BidirectionalPort",
        LinkNetworkTechnology="Ethernet",
        MaxSpeedGbps=speed,
        CurrentSpeedGbps=speed if scene.powered else None,
        InterfaceEnabled=True,
        LinkState="Enabled",
        LinkStatus="LinkUp" if scene.powered else "LinkDown",
        Ethernet={"AssociatedMACAddresses": [mac]},
        Location=located(f"Ethernet {number}", "Connector", number - 1),
        Status=scene.status,
        Links={"EthernetInterfaces": refs([scene.ethernet(number)])},
    )


def _render_function(out: Rendering, scene: HostScene, number: int, mac: str) -> None:
    port = scene.network_port(number)
    out.put(
        scene.network_function(number),
        "NetworkDeviceFunction",
        f"Ethernet function {number} of {scene.name}",
        NetDevFuncType="Ethernet",
        NetDevFuncCapabilities=["Ethernet"],
        DeviceEnabled=True,
        BootMode="PXE" if number == 1 else "Disabled",
        Ethernet={"MACAddress": mac, "PermanentMACAddress": mac, "MTUSize": MTU_BYTES},
        AssignablePhysicalNetworkPorts=refs([port]),
        Status=scene.status,
        Links={
            "PCIeFunction": ref(scene.pcie_function(NETWORK_ADAPTER, number - 1)),
            "PhysicalNetworkPortAssignment": ref(port),
            "EthernetInterfaces": refs([scene.ethernet(number)]),
        },
    )


def _render_interface(out: Rendering, scene: HostScene, number: int, mac: str) -> None:
    out.put(
        scene.ethernet(number),
        "EthernetInterface",
        f"Ethernet interface {number} of {scene.name}",
        EthernetInterfaceType="Physical",
        InterfaceEnabled=True,
        LinkStatus="LinkUp" if scene.powered else "LinkDown",
        MACAddress=mac,
        PermanentMACAddress=mac,
        SpeedMbps=scene.hardware.network.speed_gbps * 1000 if scene.powered else None,
        FullDuplex=True,
        AutoNeg=True,
        MTUSize=MTU_BYTES,
        Status=scene.status,
        Links={
            "Chassis": ref(scene.chassis),
            "Ports": refs([scene.network_port(number)]),
            "NetworkDeviceFunctions": refs([scene.network_function(number)]),
        },
    )
