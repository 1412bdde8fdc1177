"""NVMe subsystems of a discovered fabric as Redfish: storage, controller, ports, pool, endpoints.

Pure. Redfish: Storage.v1_21_0, StorageController.v1_11_0; Swordfish: StoragePool.v1_9_1. To
drivers a subsystem is the switch of its own attachments (docs/decisions/0008); to clients it is a
Storage, its network ports are those of its one controller, and what the driver calls the device
behind port D1 is the pool of capacity that namespaces are cut out of. Its drives and its chassis
are next door (`storage_chassis`).
"""

from typing import Any

from redfish_fm.fabric.model import Device, Host, Inventory, PartKind, Port, PortRole, Switch
from redfish_fm.fabric.values import Binder, CapacityPool, Unit
from redfish_fm.mapping import uris
from redfish_fm.mapping.device_names import OK
from redfish_fm.mapping.host_scene import located
from redfish_fm.mapping.hosts import system_uri
from redfish_fm.mapping.read import BYTES_PER_MIB
from redfish_fm.mapping.rendering import GT_PER_LANE, Rendering, ref, refs
from redfish_fm.mapping.storage_chassis import render_storage_chassis

CONTROLLER = "1"
"""Id of the one controller that a subsystem shows: it stands for those that its hosts get."""
NVME_OF = "NVMeOverFabrics"


def storage_uri(subsystem: str) -> str:
    """Return the URI of a subsystem's Storage, which is its unit's id too."""
    return uris.STORAGE.format(storage=subsystem)


def render_subsystem(out: Rendering, inventory: Inventory, switch: Switch) -> None:
    """Add one subsystem with its controller, ports, pool and target endpoint."""
    devices = {device.id: device for device in inventory.devices}
    plugged = next(port for port in switch.ports if port.device in devices)
    device = devices[plugged.device or ""]
    storage, fabric = storage_uri(switch.id), inventory.fabric
    out.facts.switch_uris[fabric, switch.id] = storage
    for port in switch.ports:
        _render_port(out, fabric, switch, port, device)
    _render_controller(out, fabric, switch, device)
    pools = uris.STORAGE_POOLS.format(storage=switch.id)
    out.put(
        storage,
        "Storage",
        switch.name,
        Identifiers=_nqn(device.nqn),
        Status=OK,
        **render_storage_chassis(
            out, switch, storage, _port_uri(switch.id, plugged.id.port), pool_uri(switch, device)
        ),
        Controllers=out.collection(
            uris.STORAGE_CONTROLLERS.format(storage=switch.id),
            "StorageController",
            f"Controllers of {switch.name}",
        ),
        StoragePools=out.collection(pools, "StoragePool", f"Storage pools of {switch.name}"),
        Volumes=out.collection(
            uris.VOLUMES.format(storage=switch.id), "Volume", f"Namespaces of {switch.name}"
        ),
        NVMeSubsystemProperties={
            "MaxNamespacesSupported": device.pool.part_count_max if device.pool else None,
            "SharedNamespaceControllerAttachmentSupported": True,
        },
    )
    _put_unit(out, fabric, storage, device)
    _render_pool(out, fabric, switch, plugged, device)
    _render_target(out, fabric, switch, device)


def _put_unit(out: Rendering, fabric: str, storage: str, device: Device) -> None:
    # Namespaces are attached, never the subsystem: it is exclusive only as far as they are.
    out.facts.units.append(Unit(storage, fabric, Binder.NOTHING, exclusive=False))
    out.facts.entity_units[storage] = frozenset({storage})
    if device.nqn is not None:
        out.facts.durable_units[f"NQN:{device.nqn}".upper()] = frozenset({storage})


def _nqn(nqn: str | None) -> list[dict[str, str]] | None:
    return None if nqn is None else [{"DurableName": nqn, "DurableNameFormat": "NQN"}]


def _port_uri(subsystem: str, port: str) -> str:
    return uris.CONTROLLER_PORT.format(storage=subsystem, controller=CONTROLLER, port=port)


def _network_ports(switch: Switch) -> list[str]:
    network = [port for port in switch.ports if port.role is PortRole.UPSTREAM]
    return [_port_uri(switch.id, port.id.port) for port in network]


def _render_port(out: Rendering, fabric: str, switch: Switch, port: Port, device: Device) -> None:
    uri, rate = _port_uri(switch.id, port.id.port), GT_PER_LANE.get(port.link.gen)
    network = port.role is PortRole.UPSTREAM
    out.facts.port_uris[fabric, port.id] = uri
    out.facts.port_units[uri] = frozenset({storage_uri(switch.id)})
    if not network and device.serial_number:
        out.facts.port_serials[uri] = device.serial_number
    out.put(
        uri,
        "Port",
        f"{'Network' if network else 'Media'} port {port.id.port} of {switch.name}",
        PortId=port.id.port,
        PortProtocol=NVME_OF if network else "NVMe",
        PortType=port.role.value,
        LinkState="Enabled",
        InterfaceEnabled=True,
        Width=port.link.lanes,
        MaxSpeedGbps=None if rate is None else rate * port.link.lanes,
    )


def _render_controller(out: Rendering, fabric: str, switch: Switch, device: Device) -> None:
    place = {"storage": switch.id, "controller": CONTROLLER}
    uri, name = uris.STORAGE_CONTROLLER.format(**place), f"Controller of {switch.name}"
    ports = uris.CONTROLLER_PORTS.format(**place)
    out.facts.path_ports[uri] = tuple(_network_ports(switch))
    out.put(
        uri,
        "StorageController",
        name,
        Manufacturer=device.manufacturer,
        Model=switch.model,
        SerialNumber=switch.serial_number,
        **_controller_details(switch),
        SupportedControllerProtocols=[NVME_OF],
        SupportedDeviceProtocols=["NVMe"],
        NVMeControllerProperties={"ControllerType": "IO", "NVMeVersion": "2.0"},
        Ports=out.collection(ports, "Port", f"Ports of {switch.name}"),
        Status=OK,
    )


def _controller_details(switch: Switch) -> dict[str, Any]:
    if switch.hardware is None:
        return {}
    return {
        "PartNumber": switch.hardware.part_number,
        "FirmwareVersion": switch.hardware.firmware_version,
        "Location": located(switch.id, "Embedded", 0),
    }


def pool_uri(switch: Switch, device: Device) -> str:
    """Return the URI of the pool that a subsystem's namespaces are cut out of."""
    return uris.STORAGE_POOL.format(storage=switch.id, pool=device.id)


def _render_pool(
    out: Rendering, fabric: str, switch: Switch, plugged: Port, device: Device
) -> None:
    pool = device.pool
    if pool is None or pool.kind is not PartKind.NAMESPACE:
        return
    place = {"storage": switch.id, "pool": device.id}
    uri, name = uris.STORAGE_POOL.format(**place), f"Capacity of {switch.name}"
    out.facts.resource_ports[uri] = _port_uri(switch.id, plugged.id.port)
    # Namespace ids count from 1 (NVM Express).
    numbers = tuple(range(1, pool.part_count_max + 1))
    out.facts.pools[uri] = CapacityPool(
        uri, fabric, pool.kind, pool.capacity_mib, pool.granularity_mib, numbers, plugged.id
    )
    allocated = {"AllocatedBytes": pool.capacity_mib * BYTES_PER_MIB}
    out.put(
        uri,
        "StoragePool",
        name,
        AllocatedVolumes=out.collection(
            uris.ALLOCATED_VOLUMES.format(**place), "Volume", f"Namespaces out of {name}"
        ),
        Capacity={"Data": allocated, "IsThinProvisioned": False},
        SupportedPoolTypes=["Block"],
        SupportedProvisioningPolicies=["Fixed"],
        Status=OK,
        Links={"OwningStorageResource": ref(storage_uri(switch.id))},
    )


def _render_target(out: Rendering, fabric: str, switch: Switch, device: Device) -> None:
    entity = {
        "EntityType": "StorageSubsystem",
        "EntityRole": "Target",
        "EntityLink": ref(storage_uri(switch.id)),
    }
    names = _nqn(device.nqn)
    out.put(
        uris.ENDPOINT.format(fabric=fabric, endpoint=switch.id),
        "Endpoint",
        f"Subsystem {switch.name}",
        EndpointProtocol=NVME_OF,
        Identifiers=names,
        ConnectedEntities=[entity if names is None else {**entity, "Identifiers": names}],
        Links={"LocalPorts": refs(_network_ports(switch))},
    )


def render_network_host(out: Rendering, fabric: str, host: Host) -> None:
    """Add the initiator endpoint by which a host is known to all subsystems of one fabric.

    It uses no port: which way it comes over the network is not known.
    """
    names = [{"DurableName": host.uuid, "DurableNameFormat": "UUID"}]
    own = _nqn(host.nqn)
    if host.nqn is not None:
        out.facts.durable_hosts[f"NQN:{host.nqn}".upper()] = system_uri(host.id)
    out.put(
        uris.ENDPOINT.format(fabric=fabric, endpoint=host.id),
        "Endpoint",
        f"Host {host.name}",
        EndpointProtocol=NVME_OF,
        Identifiers=own,
        ConnectedEntities=[
            {
                "EntityType": "RootComplex",
                "EntityRole": "Initiator",
                "EntityLink": ref(system_uri(host.id)),
                "Identifiers": [*(own or ()), *names],
            }
        ],
    )
