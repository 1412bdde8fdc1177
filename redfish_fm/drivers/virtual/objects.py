"""The things of a virtual fabric that a fault can be ordered for, and their ids as text.

kind      id                           example
fabric    the fabric's id              CXL
switch    the switch's id              cxl1
port      switch/port                  cxl1/D1
device    the device's id              mem1
domain    a failure domain's name      box1
vppb      switch/virtual switch/index  cxl1/1/0
part      switch/port/path             cxl1/D1/ld=3, cxl1/D1/ld=0 region=2, cxl1/D1/namespace=1
host      the host's id                host1
"""

from collections.abc import Callable
from enum import Enum

from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.tables import read_target
from redfish_fm.fabric.model import BindTarget, PortId, VppbId

Object = str | PortId | VppbId | BindTarget
"""What an id means; fabrics, switches, devices and domains are their ids."""


class ObjectKind(Enum):
    """What a fault applies to."""

    FABRIC = "fabric"
    SWITCH = "switch"
    PORT = "port"
    DEVICE = "device"
    DOMAIN = "domain"
    VPPB = "vppb"
    PART = "part"
    HOST = "host"


def find(hardware: Hardware, kinds: tuple[ObjectKind, ...], id_: str) -> Object | None:
    """Return what `id_` means among objects of `kinds`, None if nothing."""
    for kind in kinds:
        found = _FINDERS[kind](hardware, id_)
        if found is not None:
            return found
    return None


def _fabric(hardware: Hardware, id_: str) -> str | None:
    return id_ if id_ == hardware.inventory.fabric else None


def _switch(hardware: Hardware, id_: str) -> str | None:
    return id_ if id_ in hardware.switches else None


def _port(hardware: Hardware, id_: str) -> PortId | None:
    switch, _, port = id_.partition("/")
    facts = hardware.switches[switch].facts if switch in hardware.switches else None
    known = facts is not None and any(each.id.port == port for each in facts.ports)
    return PortId(switch, port) if known else None


def _device(hardware: Hardware, id_: str) -> str | None:
    return id_ if id_ in hardware.devices else None


def _domain(hardware: Hardware, id_: str) -> str | None:
    return id_ if hardware.domain(id_) else None


def _vppb(hardware: Hardware, id_: str) -> VppbId | None:
    switch, *rest = id_.split("/")
    if switch not in hardware.switches or len(rest) != 2 or not rest[1].isdecimal():
        return None
    vppb = VppbId(switch, rest[0], int(rest[1]))
    return vppb if hardware.switches[switch].has(vppb) else None


def _part(hardware: Hardware, id_: str) -> BindTarget | None:
    where, _, path = id_.rpartition("/")
    port = _port(hardware, where)
    if port is None:
        return None
    try:
        return read_target(port.switch, port.port, path)
    except (ValueError, TypeError):  # no such word, or no number
        return None


def _host(hardware: Hardware, id_: str) -> str | None:
    return id_ if any(host.id == id_ for host in hardware.inventory.hosts) else None


_FINDERS: dict[ObjectKind, Callable[[Hardware, str], Object | None]] = {
    ObjectKind.FABRIC: _fabric,
    ObjectKind.SWITCH: _switch,
    ObjectKind.PORT: _port,
    ObjectKind.DEVICE: _device,
    ObjectKind.DOMAIN: _domain,
    ObjectKind.VPPB: _vppb,
    ObjectKind.PART: _part,
    ObjectKind.HOST: _host,
}
