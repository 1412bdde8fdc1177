"""Is an inventory consistent? All defects at once, for drivers' tests and for imports.

Pure. The invariants are those that model.Inventory promises to mapping.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from redfish_fm.fabric.chain_defects import chain_defects
from redfish_fm.fabric.device_defects import device_defects
from redfish_fm.fabric.model import (
    Host,
    Inventory,
    Port,
    PortRole,
    Switch,
    VirtualSwitch,
)


def defects(inventory: Inventory) -> list[str]:
    """Return one line per broken invariant, naming what breaks it; empty if sound."""
    return [
        *_duplicates("switch", (switch.id for switch in inventory.switches)),
        *_duplicates("host", (host.id for host in inventory.hosts)),
        *_duplicates("device", (device.id for device in inventory.devices)),
        *_duplicates("NQN", (host.nqn for host in inventory.hosts if host.nqn)),
        *(line for switch in inventory.switches for line in _switch(inventory, switch)),
        *(line for device in inventory.devices for line in device_defects(device)),
        *_plugs(inventory),
        *chain_defects(inventory),
    ]


def collisions(inventories: Sequence[Inventory]) -> list[str]:
    """Return one line per id that several fabrics of one service can not both have.

    A vPPB is named by its switch alone, so switch ids are unique over all fabrics; a host that
    is in several fabrics is the same host in each.
    """
    owners: dict[str, str] = {}
    hosts: dict[str, Host] = {}
    lines = _duplicates("fabric", (inventory.fabric for inventory in inventories))
    for inventory in inventories:
        for id_ in dict.fromkeys(switch.id for switch in inventory.switches):
            owner = owners.setdefault(id_, inventory.fabric)
            if owner != inventory.fabric:
                lines.append(f"switch {id_} is in fabric {owner} and in {inventory.fabric}")
        for host in inventory.hosts:
            if hosts.setdefault(host.id, host) != host:
                lines.append(f"host {host.id} of fabric {inventory.fabric} is another elsewhere")
    return lines


def _duplicates(what: str, ids: Iterable[str]) -> list[str]:
    counts = Counter(ids)
    return [f"{what} {id_} is defined {count} times" for id_, count in counts.items() if count > 1]


def _switch(inventory: Inventory, switch: Switch) -> Iterator[str]:
    where = f"switch {switch.id}"
    yield from _duplicates(f"{where}: port", (port.id.port for port in switch.ports))
    yield from _duplicates(f"{where}: virtual switch", (vcs.id for vcs in switch.virtual_switches))
    hosts = {host.id for host in inventory.hosts}
    devices = {device.id for device in inventory.devices}
    for port in switch.ports:
        yield from _port(f"{where}: port {port.id.port}", switch, port, hosts, devices)
    upstream = {port.id.port: port for port in switch.ports}
    for vcs in switch.virtual_switches:
        yield from _virtual_switch(f"{where}: virtual switch {vcs.id}", switch, vcs, upstream)
        if vcs.host is not None and vcs.host not in hosts:
            yield f"{where}: virtual switch {vcs.id} names host {vcs.host}, which does not exist"


def _port(
    where: str, switch: Switch, port: Port, hosts: set[str], devices: set[str]
) -> Iterator[str]:
    if port.id.switch != switch.id:
        yield f"{where} says it belongs to switch {port.id.switch}"
    if port.host is not None and port.device is not None:
        yield f"{where} is cabled to host {port.host} and to device {port.device}"
    if port.host is not None and port.host not in hosts:
        yield f"{where} names host {port.host}, which does not exist"
    if port.device is not None and port.device not in devices:
        yield f"{where} names device {port.device}, which does not exist"
    if port.host_port is not None and (port.host is None or port.host_port < 1):
        yield f"{where} has host port {port.host_port}, which no host can have"
    if port.head is not None and port.device is None:
        yield f"{where} has head {port.head} of no device"


def _virtual_switch(
    where: str, switch: Switch, vcs: VirtualSwitch, ports: dict[str, Port]
) -> Iterator[str]:
    if vcs.switch != switch.id:
        yield f"{where} says it belongs to switch {vcs.switch}"
    port = ports.get(vcs.upstream_port)
    if port is None:
        yield f"{where} names upstream port {vcs.upstream_port}, which does not exist"
    elif port.role is not (PortRole.INTERSWITCH if vcs.through else PortRole.UPSTREAM):
        yield f"{where} has upstream port {vcs.upstream_port}, which is a {port.role.value}"
    elif None not in (vcs.host, port.host) and vcs.host != port.host:
        yield f"{where} belongs to host {vcs.host}, its upstream port to host {port.host}"
    if vcs.vppb_count < 0:
        yield f"{where} has {vcs.vppb_count} vPPBs"


def _plugs(inventory: Inventory) -> Iterator[str]:
    """Check which heads of each device are plugged in where."""
    heads: defaultdict[str, list[int | None]] = defaultdict(list)
    for switch in inventory.switches:
        for port in switch.ports:
            if port.device is not None:
                heads[port.device].append(port.head)
    for device in inventory.devices:
        found = heads[device.id]
        if len(found) > 1 and sorted(h or 0 for h in found) != [*range(1, len(found) + 1)]:
            named = ", ".join(str(head) for head in found)
            yield f"device {device.id} is on {len(found)} ports with heads {named}"
        if len(found) == 1 and found[0] not in (None, 1):
            yield f"device {device.id} is on one port with head {found[0]}"
        if len(found) < 2 and device.shared_heads:
            yield f"device {device.id} has shared heads but is on {len(found)} ports"
