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
        for j, devices in enumerate(group.devices):
            if devices.total is not None and devices.count > 1:
                problems.add(f"{path}.switches[{i}].devices[{j}].total", "either count or total")
            total += devices.in_all(group.count) * _part_count(devices)
        for j, uplink in enumerate(group.uplinks):
            far_ends = group.count * uplink.count
            total += 2 * far_ends
            if far_ends > PORT_COUNT_MAX:
                text = f"{uplink.to} would get {far_ends} ports; a switch has {PORT_COUNT_MAX}"
                problems.add(f"{path}.switches[{i}].uplinks[{j}]", f"{text} at most")
        total += group.count * (1 + ports)
    for i, device in enumerate(spec.devices):
        names = ("",) if device.ports == "all" else device.ports
        ports = device.count * max(map(names.count, names))
        if ports > PORT_COUNT_MAX:
            text = f"one switch would get {ports} ports; it has {PORT_COUNT_MAX} at most"
            problems.add(f"{path}.devices[{i}]", text)
        total += device.count * _part_count(device)
    for subsystem in spec.subsystems or ():
        attached = _attached(subsystem.hosts, hosts, subsystem.count)
        total += subsystem.count * (1 + subsystem.ports + attached)
    return total


def _part_count(spec: PluggedSpec) -> int:
    """Return at least how many values one device is made of."""
    functions = min(FUNCTION_COUNT_MAX, spec.functions * (1 + spec.virtual_functions))
    cut = spec.lds or spec.dynamic
    return 1 + functions + (cut.count if cut else 0)


def _port_count(group: SwitchSpec, hosts: int) -> int:
    """Return how many ports the switches of a group have at most."""
    devices = sum(each.on_switch(0, group.count) * each.heads for each in group.devices)
    attached = _attached(group.hosts, hosts, group.count)
    uplinks = sum(each.count for each in group.uplinks)
    return attached * group.host_ports + devices + group.spare_ports + uplinks


def _attached(hosts: Hosts, count: int, among: int) -> int:
    """Return how many of `count` hosts each of `among` switches or subsystems gets at most."""
    if hosts == "all":
        return count
    if hosts == "dealt":
        return -(-count // among)
    return hosts.each if isinstance(hosts, EachSpec) else len(hosts)
