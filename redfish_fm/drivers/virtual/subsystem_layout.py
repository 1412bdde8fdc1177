"""The subsystems of an NVMe over Fabrics topology, in the words of switches that bind.

Pure. A subsystem is the switch of its own attachments: its network ports are upstream ports that
belong to no host, each host has one virtual switch named after it with as many vPPBs as it can
attach namespaces, and what holds the namespaces is plugged into port D1.
"""

from redfish_fm.drivers.virtual.device_layout import NETWORK_LINK, lay_out_pool
from redfish_fm.drivers.virtual.equipment import subsystem_hardware
from redfish_fm.drivers.virtual.host_layout import HostLayout
from redfish_fm.drivers.virtual.identities import Identities
from redfish_fm.drivers.virtual.source import Problems
from redfish_fm.drivers.virtual.spec import FabricSpec, SubsystemSpec
from redfish_fm.fabric.model import Device, Port, PortId, PortRole, Switch, VirtualSwitch


class SubsystemLayout:
    """One NVMe-oF fabric; `switches`, `devices` and `hosts` are the result."""

    def __init__(
        self,
        fabric: FabricSpec,
        path: str,
        hosts: HostLayout,
        identities: Identities,
        problems: Problems,
    ) -> None:
        self.switches: dict[str, Switch] = {}
        self.devices: list[Device] = []
        self.hosts: set[str] = set()
        self._fabric = fabric
        self._hosts = hosts
        self._identities = identities
        self._problems = problems
        for i, group in enumerate(fabric.subsystems or ()):
            for n in range(group.count):
                self._add(group, n, f"{path}.subsystems[{i}]")

    def _add(self, group: SubsystemSpec, n: int, path: str) -> None:
        id_ = self._identities.claim(group.id, group.count, group.first + n, path)
        names = self._hosts.dealt(group.hosts, n, group.count, f"{path}.hosts")
        device = lay_out_pool(group, id_, n, path, self._identities, self._problems)
        upstream = [
            Port(PortId(id_, f"U{i}"), PortRole.UPSTREAM, NETWORK_LINK)
            for i in range(1, group.ports + 1)
        ]
        pool_port = Port(PortId(id_, "D1"), PortRole.DOWNSTREAM, NETWORK_LINK, device=device.id)
        self.hosts.update(names)
        self.devices.append(device)
        self.switches[id_] = Switch(
            id=id_,
            name=id_,
            protocol=self._fabric.protocol,
            model=device.model,
            serial_number=device.serial_number,
            ports=(*upstream, pool_port),
            virtual_switches=tuple(
                VirtualSwitch(name, id_, "U1", name, group.attachments) for name in names
            ),
            domain=device.domain,
            manufacturer=device.manufacturer,
            hardware=subsystem_hardware(
                self._identities, group, id_, device.model, device.capacity_mib
            ),
        )
