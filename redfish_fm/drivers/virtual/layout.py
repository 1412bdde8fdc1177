"""From a topology's groups to inventories: repeats them, numbers ports, makes identities.

Pure and deterministic: equal specs give equal inventories, ids, UUIDs and serial numbers. Port
ids are U1.. (upstream) and D1.. (downstream) on every switch; virtual switches count from 1.
"""

import hashlib
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from redfish_fm.drivers.virtual.source import Problems
from redfish_fm.drivers.virtual.spec import (
    PORT_COUNT_MAX,
    DeviceSpec,
    EachSpec,
    FabricSpec,
    HostSpec,
    LinkSpec,
    SwitchSpec,
    TopologySpec,
    mib,
)
from redfish_fm.fabric.model import (
    Attachment,
    Device,
    DeviceKind,
    FabricKind,
    Host,
    Inventory,
    Link,
    LogicalDevice,
    Port,
    PortId,
    PortRole,
    Switch,
    VirtualSwitch,
)

_UUID_SPACE = uuid.UUID("4ffb6c3e-6b7c-5d43-9d7a-0a5a1f2f4a10")
_LD_STEP_MIB = 256
"""LD capacities are multiples of 256 MiB, the unit in which the FM API counts memory."""


def lay_out(spec: TopologySpec, problems: Problems) -> tuple[Inventory, ...]:
    """Return one inventory per fabric; what does not add up goes to `problems`."""
    return _Layout(spec, problems).inventories()


@dataclass(slots=True)
class _Parts:
    """What one fabric is made of so far."""

    switches: list[Switch] = field(default_factory=list)
    devices: list[Device] = field(default_factory=list)
    hosts: dict[str, Host] = field(default_factory=dict)


class _Layout:
    """One run over one topology."""

    def __init__(self, spec: TopologySpec, problems: Problems) -> None:
        self._spec = spec
        self._problems = problems
        self._ids: dict[str, str] = {}
        self._hosts: dict[str, Host] = {}
        self._host_ports: Counter[str] = Counter()

    def inventories(self) -> tuple[Inventory, ...]:
        for i, group in enumerate(self._spec.hosts):
            for n in range(group.count):
                self._add_host(group, n, f"hosts[{i}]")
        fabrics: Counter[str] = Counter(fabric.id for fabric in self._spec.fabrics)
        for name in (name for name, count in fabrics.items() if count > 1):
            self._problems.add("fabrics", f"fabric {name} is described {fabrics[name]} times")
        return tuple(
            self._fabric(fabric, f"fabrics[{i}]") for i, fabric in enumerate(self._spec.fabrics)
        )

    def _add_host(self, group: HostSpec, n: int, path: str) -> None:
        made = self._claim(group.id, group.count, group.first + n, path)
        if group.uuid is not None and group.count > 1:
            self._problems.add(f"{path}.uuid", "several hosts can not have one UUID")
        self._hosts[made] = Host(
            id=made,
            name=made,
            uuid=self._uuid(group.uuid, made, path),
            cpu_count=group.cpus,
            core_count=group.cores,
            memory_mib=mib(group.memory),
            domain=self._domain(group.domain, n, path),
        )

    def _uuid(self, given: str | None, host: str, path: str) -> str:
        try:
            made = uuid.UUID(given) if given else uuid.uuid5(_UUID_SPACE, self._key("host", host))
        except ValueError:
            self._problems.add(f"{path}.uuid", f"{given!r} is not a UUID")
            return ""
        return str(made)

    def _fabric(self, spec: FabricSpec, path: str) -> Inventory:
        parts = _Parts()
        for i, group in enumerate(spec.switches):
            made = [0] * len(group.devices)
            for n in range(group.count):
                self._add_switch(spec, group, n, made, f"{path}.switches[{i}]", parts)
        return Inventory(
            fabric=spec.id,
            name=spec.name or f"{spec.protocol} fabric {spec.id}",
            kind=FabricKind.BIND,
            protocol=spec.protocol,
            switches=tuple(parts.switches),
            hosts=tuple(host for name, host in self._hosts.items() if name in parts.hosts),
            devices=tuple(parts.devices),
            max_zones=spec.max_zones,
        )

    def _add_switch(
        self, fabric: FabricSpec, group: SwitchSpec, n: int, made: list[int], path: str, to: _Parts
    ) -> None:
        """Add switch `n` of its group; `made` counts the devices made of each device group."""
        switch = self._claim(group.id, group.count, group.first + n, path)
        ports = list(self._upstream(group, n, switch, f"{path}.hosts"))
        upstream = tuple(ports)
        to.hosts.update((p.host, self._hosts[p.host]) for p in upstream if p.host)
        for j, devices in enumerate(group.devices):
            for _ in range(devices.count):
                device = self._device(
                    fabric, group, devices, made[j], switch, f"{path}.devices[{j}]"
                )
                made[j] += 1
                to.devices.append(device)
                ports.append(_downstream(switch, ports, device.link, device.id))
        for _ in range(group.spare_ports):
            ports.append(_downstream(switch, ports, _link(LinkSpec()), None))
        if len(ports) > PORT_COUNT_MAX:
            text = f"{switch} would have {len(ports)} ports; a switch has {PORT_COUNT_MAX} at most"
            self._problems.add(path, text)
        to.switches.append(
            Switch(
                id=switch,
                name=switch,
                protocol=fabric.protocol,
                model=group.model or f"Virtual {fabric.protocol} switch",
                serial_number=self._serial("switch", switch),
                ports=tuple(ports),
                virtual_switches=tuple(
                    VirtualSwitch(str(i), switch, port.id.port, port.host, group.vppbs)
                    for i, port in enumerate(upstream, start=1)
                ),
                domain=self._domain(group.domain, n, path),
            )
        )

    def _upstream(self, group: SwitchSpec, n: int, switch: str, path: str) -> Iterator[Port]:
        index = 0
        for host in self._attached(group, n, path):
            for _ in range(group.host_ports):
                index += 1
                self._host_ports[host] += 1
                yield Port(
                    id=PortId(switch, f"U{index}"),
                    role=PortRole.UPSTREAM,
                    link=_link(group.host_link),
                    host=host,
                    host_port=self._host_ports[host],
                )

    def _attached(self, group: SwitchSpec, n: int, path: str) -> list[str]:
        names = list(self._hosts)
        if group.hosts == "all":
            return names
        if isinstance(group.hosts, EachSpec):
            each = group.hosts.each
            if each > len(names):
                self._problems.add(f"{path}.each", f"there are only {len(names)} hosts")
                return []
            return [names[(n * each + i) % len(names)] for i in range(each)]
        known = []
        for i, name in enumerate(group.hosts):
            if name in known:
                self._problems.add(f"{path}[{i}]", f"host {name} is named twice")
            elif name not in self._hosts:
                self._problems.add(f"{path}[{i}]", f"there is no host {name}")
            else:
                known.append(name)
        return known

    def _device(
        self,
        fabric: FabricSpec,
        group: SwitchSpec,
        spec: DeviceSpec,
        n: int,
        switch: str,
        path: str,
    ) -> Device:
        total = spec.count * group.count
        device = self._claim(spec.id.replace("{switch}", switch), total, spec.first + n, path)
        attachment = self._attachment(fabric, spec, path)
        capacity_mib = 0 if spec.capacity is None else mib(spec.capacity)
        return Device(
            id=device,
            name=device,
            kind=spec.kind,
            attachment=attachment,
            model=spec.model or f"Virtual {spec.kind.value}",
            manufacturer=spec.manufacturer,
            serial_number=self._serial("device", device),
            link=_link(spec.link),
            capacity_mib=capacity_mib,
            lds=self._lds(spec, attachment, capacity_mib, path),
            domain=self._domain(spec.domain, n, path),
        )

    def _attachment(self, fabric: FabricSpec, spec: DeviceSpec, path: str) -> Attachment:
        usual = Attachment.SLD if spec.lds is None else Attachment.MLD
        if fabric.protocol == "PCIe":
            usual = Attachment.PCIE
        attachment = spec.attachment or usual
        if fabric.protocol == "PCIe" and attachment is not Attachment.PCIE:
            self._problems.add(f"{path}.attachment", "a PCIe fabric has no CXL devices")
        if attachment is Attachment.MLD and spec.lds is None:
            self._problems.add(f"{path}.lds", "missing: an MLD has at least one LD")
        if attachment is not Attachment.MLD and spec.lds is not None:
            self._problems.add(f"{path}.lds", f"only an MLD has LDs, this is {attachment.value}")
        if spec.kind is DeviceKind.MEMORY and spec.capacity is None:
            self._problems.add(f"{path}.capacity", "missing: this device is memory")
        return attachment

    def _lds(
        self, spec: DeviceSpec, attachment: Attachment, capacity_mib: int, path: str
    ) -> tuple[LogicalDevice, ...]:
        if spec.lds is None or attachment is not Attachment.MLD:
            return ()
        share = capacity_mib // spec.lds.count
        each = share - share % _LD_STEP_MIB if spec.lds.capacity is None else mib(spec.lds.capacity)
        if each < _LD_STEP_MIB:
            self._problems.add(f"{path}.lds", f"an LD has at least {_LD_STEP_MIB} MiB")
        if each * spec.lds.count > capacity_mib:
            text = f"{spec.lds.count} x {each} MiB is more than the device's {capacity_mib} MiB"
            self._problems.add(f"{path}.lds", text)
        return tuple(LogicalDevice(i, each) for i in range(spec.lds.count))

    def _claim(self, template: str, count: int, n: int, path: str) -> str:
        """Return the id made of `template`; ids of hosts, switches and devices never meet."""
        made = template.replace("{n}", str(n))
        where = f"{path}.id"
        if "{" in made or "}" in made:
            self._add_once(
                where, f"{template!r}: only {{n}} and, for devices, {{switch}} are known"
            )
        elif count > 1 and made == template and "{n}" not in template:
            self._add_once(where, f"count {count} needs {{n}} in the id {template!r}")
        elif made in self._ids:
            self._add_once(where, f"{made} is already the id of {self._ids[made]}")
        self._ids.setdefault(made, path)
        return made

    def _add_once(self, path: str, text: str) -> None:
        """Add a problem unless its group has one there already: a repeat is not news."""
        if path not in {problem.path for problem in self._problems.found}:
            self._problems.add(path, text)

    def _domain(self, given: str | tuple[str, ...] | None, n: int, path: str) -> str | None:
        names = (given,) if isinstance(given, str) else given or ()
        for name in names:
            if name not in self._spec.domains:
                self._add_once(f"{path}.domain", f"{name} is not among the topology's domains")
        return names[n % len(names)] if names else None

    def _key(self, what: str, name: str) -> str:
        return f"{self._spec.name}/{what}/{name}"

    def _serial(self, what: str, name: str) -> str:
        return hashlib.blake2s(self._key(what, name).encode(), digest_size=6).hexdigest().upper()


def _downstream(switch: str, before: list[Port], link: Link, device: str | None) -> Port:
    index = sum(port.role is PortRole.DOWNSTREAM for port in before) + 1
    return Port(PortId(switch, f"D{index}"), PortRole.DOWNSTREAM, link, device=device)


def _link(spec: LinkSpec) -> Link:
    return Link(spec.gen, spec.lanes, spec.latency_ns)
