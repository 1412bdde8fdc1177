"""The switches of a PCIe or CXL fabric, and what is plugged into their ports.

Pure and deterministic. Upstream ports come first (U1..), then each device of the switch's group
and the spare ports (D1..); devices that span switches come last, so they move no other port.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from redfish_fm.drivers.virtual.device_layout import Placing, lay_out_device, link
from redfish_fm.drivers.virtual.host_layout import HostLayout
from redfish_fm.drivers.virtual.identities import Identities
from redfish_fm.drivers.virtual.source import Problems
from redfish_fm.drivers.virtual.spec import (
    PORT_COUNT_MAX,
    DeviceSpec,
    FabricSpec,
    LinkSpec,
    SpanningSpec,
    SwitchSpec,
)
from redfish_fm.fabric.model import Device, Link, Port, PortId, PortRole, Switch, VirtualSwitch


class SwitchLayout:
    """One fabric being cabled; `switches`, `devices` and `hosts` are the result."""

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
        for i, group in enumerate(fabric.switches or ()):
            self._add_group(group, f"{path}.switches[{i}]")
        for i, spanning in enumerate(fabric.devices):
            self._add_spanning(spanning, f"{path}.devices[{i}]")

    def _add_group(self, group: SwitchSpec, path: str) -> None:
        made = [0] * len(group.devices)
        for n in range(group.count):
            switch = self._identities.claim(group.id, group.count, group.first + n, path)
            upstream = list(self._upstream(group, n, switch, f"{path}.hosts"))
            ports = list(upstream)
            for j, devices in enumerate(group.devices):
                for _ in range(devices.count):
                    where = f"{path}.devices[{j}]"
                    ports += self._plugged(group, devices, made[j], switch, ports, where)
                    made[j] += 1
            for _ in range(group.spare_ports):
                ports.append(_downstream(switch, ports, link(LinkSpec())))
            self.hosts.update(port.host for port in upstream if port.host)
            self.switches[switch] = self._switch(group, n, switch, upstream, ports, path)
            self._check_ports(switch, path)

    def _switch(
        self,
        group: SwitchSpec,
        n: int,
        switch: str,
        upstream: Sequence[Port],
        ports: Sequence[Port],
        path: str,
    ) -> Switch:
        return Switch(
            id=switch,
            name=switch,
            protocol=self._fabric.protocol,
            model=group.model or f"Virtual {self._fabric.protocol} switch",
            serial_number=self._identities.serial("switch", switch),
            ports=tuple(ports),
            virtual_switches=tuple(
                VirtualSwitch(str(i), switch, port.id.port, port.host, group.vppbs)
                for i, port in enumerate(upstream, start=1)
            ),
            domain=self._identities.domain(group.domain, n, path),
        )

    def _upstream(self, group: SwitchSpec, n: int, switch: str, path: str) -> Iterator[Port]:
        index = 0
        for host in self._hosts.dealt(group.hosts, n, path):
            for _ in range(group.host_ports):
                index += 1
                yield Port(
                    id=PortId(switch, f"U{index}"),
                    role=PortRole.UPSTREAM,
                    link=link(group.host_link),
                    host=host,
                    host_port=self._hosts.next_port(host),
                )

    def _plugged(
        self,
        group: SwitchSpec,
        spec: DeviceSpec,
        n: int,
        switch: str,
        before: Sequence[Port],
        path: str,
    ) -> list[Port]:
        """Add device `n` of its group and return its ports, which follow those `before`."""
        template = spec.id.replace("{switch}", switch)
        total = spec.count if "{switch}" in spec.id else spec.count * group.count
        id_ = self._identities.claim(template, total, spec.first + n, path)
        placing = Placing(id_, n, self._fabric.protocol, spec.heads, path)
        device = lay_out_device(spec, placing, self._identities, self._problems)
        self.devices.append(device)
        ports: list[Port] = []
        for head in range(1, spec.heads + 1):
            number = head if spec.heads > 1 else None
            ports.append(_downstream(switch, [*before, *ports], device.link, id_, number))
        return ports

    def _add_spanning(self, spec: SpanningSpec, path: str) -> None:
        """Add a group of devices each of which has a port on several switches."""
        names = self._spanned(spec, path)
        for n in range(spec.count):
            id_ = self._identities.claim(spec.id, spec.count, spec.first + n, path)
            placing = Placing(id_, n, self._fabric.protocol, max(2, len(names)), path)
            device = lay_out_device(spec, placing, self._identities, self._problems)
            self.devices.append(device)
            for head, name in enumerate(names, start=1):
                switch = self.switches[name]
                port = _downstream(name, switch.ports, device.link, id_, head)
                self.switches[name] = replace(switch, ports=(*switch.ports, port))
        for name in dict.fromkeys(names):
            self._check_ports(name, path)

    def _spanned(self, spec: SpanningSpec, path: str) -> list[str]:
        """Return the switch of each port."""
        if spec.ports == "all":
            if len(self.switches) < 2:
                text = f"there are {len(self.switches)} switches: use a device of the switch"
                self._problems.add(f"{path}.ports", text)
            return list(self.switches)
        for i, name in enumerate(spec.ports):
            if name not in self.switches:
                text = f"there is no switch {name} in fabric {self._fabric.id}"
                self._problems.add(f"{path}.ports[{i}]", text)
        return [name for name in spec.ports if name in self.switches]

    def _check_ports(self, switch: str, path: str) -> None:
        count = len(self.switches[switch].ports)
        if count > PORT_COUNT_MAX:
            text = f"{switch} would have {count} ports; a switch has {PORT_COUNT_MAX} at most"
            self._problems.add(path, text)


def _downstream(
    switch: str,
    before: Sequence[Port],
    link_: Link,
    device: str | None = None,
    head: int | None = None,
) -> Port:
    index = sum(port.role is PortRole.DOWNSTREAM for port in before) + 1
    port_id = PortId(switch, f"D{index}")
    return Port(port_id, PortRole.DOWNSTREAM, link_, device=device, head=head)
