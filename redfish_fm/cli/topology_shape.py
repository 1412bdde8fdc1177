"""What a topology looks like, with what is alike told once: for `redfish-fm topology show`.

Pure: inventories in, plain values and lines out.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from redfish_fm.fabric.model import Device, Host, Inventory, Switch

_MIB = 1 << 20
_BINARY = (("TiB", 1 << 20), ("GiB", 1 << 10))
"""In MiB."""
_DECIMAL = (("TB", 10**12), ("GB", 10**9))
"""In bytes."""

Shape = dict[str, Any]
"""Words of one group of equal things, as `--json` shows them; `ids` are its members."""


def host_shapes(inventories: Iterable[Inventory]) -> list[Shape]:
    """Return the hosts of all fabrics, those of one kind together; each host once."""
    hosts = {host.id: host for inventory in inventories for host in inventory.hosts}
    return _grouped((_host(host), host.id) for host in hosts.values())


def switch_shapes(inventory: Inventory) -> list[Shape]:
    """Return the switches (or subsystems) of a fabric with their devices, equal ones together."""
    devices = {device.id: device for device in inventory.devices}
    return _grouped((_switch(switch, devices), switch.id) for switch in inventory.switches)


def _grouped(things: Iterable[tuple[Shape, str]]) -> list[Shape]:
    """Put things of equal shape together, in the order of the first of each."""
    groups: dict[str, Shape] = {}
    for shape, id_ in things:
        group = groups.setdefault(repr(shape), {**shape, "ids": []})
        group["ids"].append(id_)
    return list(groups.values())


def _host(host: Host) -> Shape:
    return {"cpus": host.cpu_count, "cores": host.core_count, "memory_mib": host.memory_mib}


def _switch(switch: Switch, devices: dict[str, Device]) -> Shape:
    plugged = dict.fromkeys(port.device for port in switch.ports if port.device is not None)
    shapes = _grouped((_device(devices[id_]), id_) for id_ in plugged if id_ in devices)
    empty = [port for port in switch.ports if port.host is None and port.device is None]
    joins = [port.peer.switch for port in switch.ports if port.peer is not None]
    bridges = {vcs.vppb_count for vcs in switch.virtual_switches}
    return {
        "model": switch.model,
        "ports": len(switch.ports),
        "empty": len([port for port in empty if port.role.value == "DownstreamPort"]),
        "joined": len(joins),
        "joined_to": [*dict.fromkeys(joins)],
        "hosts": len({vcs.host for vcs in switch.virtual_switches if vcs.host}),
        "vppbs_each": max(bridges, default=0),
        # Switches are alike where their devices are; which ones these are is told nowhere.
        "devices": [
            {**{word: value for word, value in each.items() if word != "ids"},
             "count": len(each["ids"])}
            for each in shapes
        ],
    }  # fmt: skip


def _device(device: Device) -> Shape:
    return {
        "kind": device.kind.value,
        "model": device.model,
        "attachment": device.attachment.value,
        "capacity_mib": device.capacity_mib,
        "lds": len(device.lds),
    }


def host_line(shape: Shape) -> str:
    """Return one group of hosts in words."""
    what = (_count(shape["cpus"], "CPU"), _count(shape["cores"], "core"), size(shape["memory_mib"]))
    return f"{_named(shape['ids'], 'host')}: {', '.join(what)}"


def switch_line(shape: Shape, noun: str, place: str) -> str:
    """Return one group of switches in words.

    `noun` is what one is called, `place` what a host has there for each thing it binds.
    """
    empty = f", {shape['empty']} of them empty" if shape["empty"] else ""
    joined = f"; {_joined(shape)}" if shape["joined"] else ""
    each = " each" if len(shape["ids"]) > 1 else ""
    hosts = f"{_count(shape['hosts'], 'host')} with {_count(shape['vppbs_each'], place)}"
    ports = f"{_count(shape['ports'], 'port')}{empty}"
    return f"{_named(shape['ids'], noun)}: {shape['model']};{each} {ports}; {hosts}{joined}"


def _joined(shape: Shape) -> str:
    """Return to what a switch is joined."""
    names = shape["joined_to"]
    to = names[0] if len(names) == 1 else f"{len(names)} switches"
    return f"{_count(shape['joined'], 'link')} to {to}"


def device_lines(shape: Shape) -> Iterator[str]:
    """Yield the devices of one switch of a group in words, a kind a line."""
    for each in shape["devices"]:
        capacity = f", {size(each['capacity_mib'])}" if each["capacity_mib"] else ""
        lds = f", {_count(each['lds'], 'LD')}" if each["lds"] else ""
        attachment = each["attachment"]
        yield f"{each['count']} x {each['kind']} ({attachment}): {each['model']}{capacity}{lds}"


def size(mib: int) -> str:
    """Return a capacity in the largest unit that leaves it a whole number, as files have them."""
    for unit, factor in _BINARY:
        if mib >= factor and mib % factor == 0:
            return f"{mib // factor} {unit}"
    for unit, factor in _DECIMAL:
        # Whole MiB of a decimal size are rounded down.
        number = -(-(mib * _MIB) // factor)
        if mib * _MIB >= factor and number * factor // _MIB == mib:
            return f"{number} {unit}"
    return f"{mib} MiB"


def _named(ids: Sequence[str], noun: str) -> str:
    if len(ids) == 1:
        return f"{noun} {ids[0]}"
    return f"{len(ids)} {_plural(noun)} {ids[0]} to {ids[-1]}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {_plural(noun)}"


def _plural(noun: str) -> str:
    return f"{noun}es" if noun.endswith("ch") else f"{noun}s"
