"""Is an inventory consistent? All defects at once, for drivers' tests and for imports.

Pure. The invariants are those that model.Inventory promises to mapping.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from redfish_fm.fabric.model import (
    LD_FM_OWNED,
    Attachment,
    Device,
    Inventory,
    Port,
    PortRole,
    Switch,
    VirtualSwitch,
)
from redfish_fm.fabric.planner import LD_COUNT_MAX


def defects(inventory: Inventory) -> list[str]:
    """Return one line per broken invariant, naming what breaks it; empty if sound."""
    return [
        *_duplicates("switch", (switch.id for switch in inventory.switches)),
        *_duplicates("host", (host.id for host in inventory.hosts)),
        *_duplicates("device", (device.id for device in inventory.devices)),
        *(line for switch in inventory.switches for line in _switch(inventory, switch)),
        *(line for device in inventory.devices for line in _device(device)),
    ]


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


def _virtual_switch(
    where: str, switch: Switch, vcs: VirtualSwitch, ports: dict[str, Port]
) -> Iterator[str]:
    if vcs.switch != switch.id:
        yield f"{where} says it belongs to switch {vcs.switch}"
    port = ports.get(vcs.upstream_port)
    if port is None:
        yield f"{where} names upstream port {vcs.upstream_port}, which does not exist"
    elif port.role is not PortRole.UPSTREAM:
        yield f"{where} has upstream port {vcs.upstream_port}, which is a {port.role.value}"
    elif None not in (vcs.host, port.host) and vcs.host != port.host:
        yield f"{where} belongs to host {vcs.host}, its upstream port to host {port.host}"
    if vcs.vppb_count < 0:
        yield f"{where} has {vcs.vppb_count} vPPBs"


def _device(device: Device) -> Iterator[str]:
    where = f"device {device.id}"
    if device.attachment is Attachment.MLD and not device.lds:
        yield f"{where} is an MLD without logical devices"
    if device.attachment is not Attachment.MLD and device.lds:
        yield f"{where} is no MLD but has {len(device.lds)} logical devices"
    yield from _duplicates(f"{where}: logical device", (str(ld.id) for ld in device.lds))
    for ld in device.lds:
        if ld.id == LD_FM_OWNED:
            yield f"{where}: logical device {LD_FM_OWNED:#x} is the fabric manager's own"
        elif not 0 <= ld.id < LD_COUNT_MAX:
            yield f"{where}: logical device {ld.id} is not one of 0-{LD_COUNT_MAX - 1}"
