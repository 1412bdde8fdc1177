"""How large a topology would be, counted before anything is made.

Pure. `count:` multiplies: a few lines can ask for more than any machine holds.
"""

from redfish_fm.drivers.virtual.source import Problems
from redfish_fm.drivers.virtual.spec import (
    FUNCTION_COUNT_MAX,
    PORT_COUNT_MAX,
    EachSpec,
    FabricSpec,
    Hosts,
    PluggedSpec,
    SwitchSpec,
    TopologySpec,
)

SIZE_MAX = 2_000_000
"""Hosts, ports, virtual switches, devices and LDs in all; ten times what the tests serve."""


def fits(spec: TopologySpec, problems: Problems) -> bool:
    """Whether the topology can be laid out; if not, `problems` says which group is too large."""
    before = problems.count
    hosts = total = sum(group.count for group in spec.hosts)
    for i, fabric in enumerate(spec.fabrics):
        total += _fabric_size(fabric, hosts, f"fabrics[{i}]", problems)
    if total > SIZE_MAX and problems.count == before:
        problems.add("", f"{total} hosts, ports and devices; there are {SIZE_MAX} at most")
    return problems.count == before


def _fabric_size(spec: FabricSpec, hosts: int, path: str, problems: Problems) -> int:
    total = 0
    for i, group in enumerate(spec.switches or ()):
        ports = _port_count(group, hosts)
        if ports > PORT_COUNT_MAX:
            text = f"each would have {ports} ports; a switch has {PORT_COUNT_MAX} at most"
            problems.add(f"{path}.switches[{i}]", text)
        parts = sum(devices.count * _part_count(devices) for devices in group.devices)
        total += group.count * (1 + ports + parts)
    for i, device in enumerate(spec.devices):
        names = ("",) if device.ports == "all" else device.ports
        ports = device.count * max(map(names.count, names))
        if ports > PORT_COUNT_MAX:
            text = f"one switch would get {ports} ports; it has {PORT_COUNT_MAX} at most"
            problems.add(f"{path}.devices[{i}]", text)
        total += device.count * _part_count(device)
    for subsystem in spec.subsystems or ():
        total += subsystem.count * (1 + subsystem.ports + _attached(subsystem.hosts, hosts))
    return total


def _part_count(spec: PluggedSpec) -> int:
    """Return at least how many values one device is made of."""
    functions = min(FUNCTION_COUNT_MAX, spec.functions * (1 + spec.virtual_functions))
    cut = spec.lds or spec.dynamic
    return 1 + functions + (cut.count if cut else 0)


def _port_count(group: SwitchSpec, hosts: int) -> int:
    devices = sum(devices.count * devices.heads for devices in group.devices)
    return _attached(group.hosts, hosts) * group.host_ports + devices + group.spare_ports


def _attached(hosts: Hosts, count: int) -> int:
    if hosts == "all":
        return count
    return hosts.each if isinstance(hosts, EachSpec) else len(hosts)
