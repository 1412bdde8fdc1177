"""The switches of a PCIe or CXL fabric, and what is plugged into their ports.

Pure and deterministic. Upstream ports come first (U1..), then each device of the switch's group
and the spare ports (D1..); devices that span switches come last, so they move no other port. Links
between switches have ports of their own (F1.., see chain_layout).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from redfish_fm.drivers.virtual.chain_layout import Joint, joined
from redfish_fm.drivers.virtual.device_layout import Placing, lay_out_device, link
from redfish_fm.drivers.virtual.equipment import FULL, cable, slot_w, switch_hardware
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
from redfish_fm.fabric.equipment import Cable
from redfish_fm.fabric.model import (
    Device,
    DeviceKind,
    Link,
    Port,
    PortId,
    PortRole,
    Switch,
    VirtualSwitch,
)


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
        self._kinds: dict[str, DeviceKind] = {}
        self._joints: list[Joint] = []
        self._vppbs: dict[str, int] = {}
        self._fabric = fabric
        self._hosts = hosts
        self._identities = identities
        self._problems = problems
        for i, group in enumerate(fabric.switches or ()):
            self._add_group(group, f"{path}.switches[{i}]")
        for i, spanning in enumerate(fabric.devices):
            self._add_spanning(spanning, f"{path}.devices[{i}]")
        if self._joints:
            self.switches = joined(
                self.switches, self._joints, self._vppbs, fabric.protocol, problems
            )

    def _add_group(self, group: SwitchSpec, path: str) -> None:
        made = [0] * len(group.devices)
        for n in range(group.count):
            switch = self._identities.claim(group.id, group.count, group.first + n, path)
            domain = self._identities.domain(group.domain, n, path)
            upstream = list(self._upstream(group, n, switch, domain, f"{path}.hosts"))
            ports = list(upstream)
            for j, devices in enumerate(group.devices):
                for _ in range(devices.on_switch(n, group.count)):
                    where = f"{path}.devices[{j}]"
                    ports += self._plugged(group, devices, made[j], switch, domain, ports, where)
                    made[j] += 1
            for _ in range(group.spare_ports):
                ports.append(_downstream(switch, ports, link(LinkSpec())))
            self.hosts.update(port.host for port in upstream if port.host)
            self.switches[switch] = self._switch(group, switch, domain, upstream, ports)
            self._check_ports(switch, path)
            self._vppbs[switch] = group.vppbs
            for j, uplink in enumerate(group.uplinks):
                wire = partial(self._cable, group.detail, uplink.link)
                self._joints.append(Joint(switch, uplink, f"{path}.uplinks[{j}]", wire))

    def _switch(
        self,
        group: SwitchSpec,
        switch: str,
        domain: str | None,
        upstream: Sequence[Port],
        ports: Sequence[Port],
    ) -> Switch:
        model = group.model or f"Virtual {self._fabric.protocol} switch"
        lanes = sum(port.link.lanes for port in ports)
        slotted = (port.device for port in ports if port.device and port.cable is None)
        slots_w = sum(slot_w(self._kinds[device]) for device in slotted)
        return Switch(
            id=switch,
            name=switch,
            protocol=self._fabric.protocol,
            model=model,
            serial_number=self._identities.serial("switch", switch),
            ports=tuple(ports),
            virtual_switches=tuple(
                VirtualSwitch(str(i), switch, port.id.port, port.host, group.vppbs)
                for i, port in enumerate(upstream, start=1)
            ),
            domain=domain,
            manufacturer=group.manufacturer,
            hardware=switch_hardware(self._identities, group, switch, model, lanes, slots_w),
            # The FM API of CXL switches has a command for it.
            resets_ports=self._fabric.protocol == "CXL",
        )

    def _upstream(
        self, group: SwitchSpec, n: int, switch: str, domain: str | None, path: str
    ) -> Iterator[Port]:
        index = 0
        for host in self._hosts.dealt(group.hosts, n, group.count, path):
            near = self._hosts.hosts[host].domain == domain
            for _ in range(group.host_ports):
                index += 1
                port = PortId(switch, f"U{index}")
                yield Port(
                    id=port,
                    role=PortRole.UPSTREAM,
                    link=link(group.host_link),
                    host=host,
                    host_port=self._hosts.next_port(host),
                    cable=self._cable(group.detail, group.host_link, port, near),
                )

    def _plugged(
        self,
        group: SwitchSpec,
        spec: DeviceSpec,
        n: int,
        switch: str,
        domain: str | None,
        before: Sequence[Port],
        path: str,
    ) -> list[Port]:
        """Add device `n` of its group and return its ports, which follow those `before`."""
        template = spec.id.replace("{switch}", switch)
        alone = "{switch}" in spec.id and spec.total is None
        total = spec.count if alone else spec.in_all(group.count)
        id_ = self._identities.claim(template, total, spec.first + n, path)
        placing = Placing(id_, n, self._fabric.protocol, spec.heads, path)
        device = lay_out_device(spec, placing, self._identities, self._problems)
        self.devices.append(device)
        self._kinds[id_] = device.kind
        near = device.domain in (None, domain)
        box = device.hardware is not None and device.hardware.enclosure is not None
        cabled = box or not near or spec.heads > 1
        ports: list[Port] = []
        for head in range(1, spec.heads + 1):
            number = head if spec.heads > 1 else None
            port = _downstream(switch, [*before, *ports], device.link, id_, number)
            wire = self._cable(spec.detail, spec.link, port.id, near) if cabled else None
            ports.append(port if wire is None else replace(port, cable=wire))
        return ports

    def _cable(self, detail: str, spec: LinkSpec, port: PortId, near: bool) -> Cable | None:
        """Return the cable of a port; those of what is shown at its core only are not told."""
        name = f"{port.switch}/{port.port}"
        return cable(self._identities, spec, name, near=near) if detail == FULL else None

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
                wire = self._cable(spec.detail, spec.link, port.id, device.domain == switch.domain)
                port = replace(port, cable=wire)
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
    # Downstream ports come last, so the last one knows how many there are.
    index = 1
    if before and before[-1].role is PortRole.DOWNSTREAM:
        index += int(before[-1].id.port.removeprefix("D"))
    port_id = PortId(switch, f"D{index}")
    return Port(port_id, PortRole.DOWNSTREAM, link_, device=device, head=head)
