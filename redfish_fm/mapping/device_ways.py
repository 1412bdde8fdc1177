"""What a device gives to hosts: one endpoint and one unit for each way to have (a part of) it.

Pure. Redfish: Endpoint, PCIeDevice, PCIeFunction, CXLLogicalDevice. The parts are the LDs of an
MLD, the functions of a device that binds them alone, the heads of a device that serves a host by
each, the ports of a device that one host may have by two ways; else the device itself. A unit's
id is the URI of the resource that stands for the part.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from redfish_fm.fabric.model import (
    Attachment,
    BindTarget,
    Device,
    DeviceKind,
    Function,
    LogicalDevice,
    PartKind,
    PortId,
)
from redfish_fm.fabric.values import Binder, Unit
from redfish_fm.mapping import uris

_ID = re.compile(r"\{\w+\}")
"""An id in a URI template."""


@dataclass(frozen=True, slots=True)
class Way:
    """One thing that a client can give to a host.

    `unit` is its URI, `within` the unit it lies in; `endpoint` the Id of its Endpoint; `target`
    None where nothing can bind it; `head` counts the device's ports from 1 where it has several.
    """

    unit: str
    endpoint: str
    name: str
    within: str | None = None
    port: PortId | None = None
    target: BindTarget | None = None
    binder: Binder = Binder.NOTHING
    exclusive: bool = True
    ld: LogicalDevice | None = None
    function: Function | None = None
    head: int | None = None

    def as_unit(self, fabric: str) -> Unit:
        """Return the unit as the isolation rules see it."""
        return Unit(self.unit, fabric, self.binder, self.exclusive, self.target, self.within)


def own_uri(template: str, device: str) -> str:
    """Return a URI that has no other id in it than the device's, however often."""
    return device.join(_around_ids(template))


@cache
def _around_ids(template: str) -> list[str]:
    # Of every device several are asked for; to put them together is a tenth of formatting them.
    return _ID.split(template)


@lru_cache(maxsize=1024)
def _port_uri(fabric: str, switch: str, port: str) -> str:
    return uris.PORT.format(fabric=fabric, switch=switch, port=port)


def port_uri(fabric: str, port: PortId) -> str:
    """Return the URI of a switch port."""
    return _port_uri(fabric, port.switch, port.port)


def chassis_uri(device: Device) -> str:
    """Return the URI of the chassis that a device is, or is built into."""
    return own_uri(uris.CHASSIS, device.id)


def device_uri(device: Device) -> str:
    """Return the URI of the device's PCIeDevice."""
    return own_uri(uris.DEVICE, device.id)


def ld_uri(device: Device, ld: int) -> str:
    """Return the URI of one CXLLogicalDevice."""
    return _ld_uri(device.id, ld)


@lru_cache(maxsize=64)
def _ld_uri(device: str, ld: int) -> str:
    return uris.LD.format(chassis=device, device=device, ld=ld)


def function_uri(device: Device, function: int | str) -> str:
    """Return the URI of one PCIeFunction by its Id."""
    return _function_uri(device.id, function)


@lru_cache(maxsize=64)
def _function_uri(device: str, function: int | str) -> str:
    return uris.FUNCTION.format(chassis=device, device=device, function=function)


def head_function_id(head: int, function: int) -> str:
    """Return the Id of a function as one head (from 1) shows it: each head shows them all."""
    return f"{head}-{function}"


def has_memory(device: Device) -> bool:
    """Return whether it is CXL memory, which has memory domains."""
    return device.kind is DeviceKind.MEMORY and device.attachment is not Attachment.PCIE


def pools_lds(device: Device) -> bool:
    """Return whether its LDs have no memory before a chunk is made for them."""
    return device.pool is not None and device.pool.kind is PartKind.LD


def has_heads(device: Device, ports: Sequence[PortId]) -> bool:
    """Return whether each of several ports is a head of its own, with LDs or functions of its own.

    An SLD without `shared_heads` is one memory that is reached by several ways.
    """
    return device.shared_heads and len(ports) > 1


def logical_devices(device: Device, ports: Sequence[PortId] = ()) -> tuple[LogicalDevice, ...]:
    """Return the LDs that are shown: an SLD is its one LD 0, or one LD for each of its heads.

    Every head of a multi-headed SLD has the same share of the capacity.
    """
    if device.attachment is Attachment.SLD:
        count = len(ports) if has_heads(device, ports) else 1
        return tuple(LogicalDevice(number, device.capacity_mib // count) for number in range(count))
    return device.lds if device.attachment is Attachment.MLD else ()


def functions(device: Device) -> tuple[Function, ...]:
    """Return the functions that a device without LDs has: function 0 where none are told."""
    return device.functions or (Function(0),)


def shown_functions(device: Device, ports: Sequence[PortId]) -> list[tuple[str, Function]]:
    """Return (Id, function) of every PCIeFunction: each LD is one, each of several ports shows all.

    Of an SLD that is one memory on several ports, the first port's function is that of the LD.
    """
    lds = [(str(ld.id), Function(ld.id)) for ld in logical_devices(device, ports)]
    by_port = len(ports) > 1 and not (device.binds_functions or device.lds)
    if lds and (device.lds or not by_port or has_heads(device, ports)):
        return lds
    if not by_port:
        return [(str(each.id), each) for each in functions(device)]
    shown = [
        (head_function_id(head, each.id), each)
        for head in range(1, len(ports) + 1)
        for each in functions(device)
    ]
    return [*lds, *shown[len(lds) :]]


def whole_unit(
    device: Device, ports: Sequence[PortId], fabric: str, binder: Binder, uri: str
) -> Unit:
    """Return the unit that is the device itself, whether or not anyone binds it."""
    if device.attachment is Attachment.MLD or device.binds_functions:
        # Nobody binds it as a whole: it is a unit only because its parts lie within it.
        return Unit(uri, fabric, Binder.NOTHING)
    if has_heads(device, ports):
        return Unit(uri, fabric, Binder.NOTHING, exclusive=False)
    target = BindTarget(ports[0].switch, ports[0].port) if ports else None
    return Unit(uri, fabric, binder, target=target)


def ways(device: Device, ports: Sequence[PortId], binder: Binder) -> Iterator[Way]:
    """Yield every way to have the device, in the order of its LDs, functions or ports.

    `binder` is what binds whole devices in its fabric. A device that is plugged in nowhere has
    the ways through its parts only (units without target).
    """
    if device.attachment is Attachment.MLD:
        yield from _lds(device, ports, binder)
    elif device.binds_functions:
        yield from _functions(device, ports, binder)
    elif has_heads(device, ports):
        yield from _heads(device, ports, binder)
    else:
        yield from _ports(device, ports, binder)


def _lds(device: Device, ports: Sequence[PortId], binder: Binder) -> Iterator[Way]:
    port = ports[0] if ports else None
    by_connection = Binder.CONNECTION if binder is Binder.ZONE else binder
    for ld in device.lds:
        # Regions are bound, never the LD that holds them: that one is shared by what is in it.
        # It has a target all the same, in which those of its regions lie.
        dynamic = ld.dynamic
        yield Way(
            ld_uri(device, ld.id),
            f"{device.id}-ld{ld.id}",
            f"LD {ld.id} of {device.name}",
            device_uri(device),
            port,
            None if port is None else BindTarget(port.switch, port.port, ld.id),
            Binder.NOTHING if dynamic else by_connection,
            not dynamic,
            ld=ld,
        )


def _functions(device: Device, ports: Sequence[PortId], binder: Binder) -> Iterator[Way]:
    port, whole = ports[0] if ports else None, device_uri(device)
    for function in functions(device):
        # Whoever has a physical function rules over its virtual ones (SR-IOV).
        parent = None if function.parent is None else function_uri(device, function.parent)
        target = None if port is None else BindTarget(port.switch, port.port, function=function.id)
        yield Way(
            function_uri(device, function.id),
            f"{device.id}-f{function.id}",
            f"Function {function.id} of {device.name}",
            parent or whole,
            port,
            target,
            binder,
            function=function,
        )


def _heads(device: Device, ports: Sequence[PortId], binder: Binder) -> Iterator[Way]:
    lds = logical_devices(device, ports)
    for head, port in enumerate(ports, 1):
        ld = lds[head - 1] if lds else None
        first = functions(device)[0]
        own = function_uri(device, head_function_id(head, first.id))
        yield Way(
            own if ld is None else ld_uri(device, ld.id),
            f"{device.id}-h{head}",
            f"Head {head} of {device.name}",
            device_uri(device),
            port,
            BindTarget(port.switch, port.port),
            binder,
            ld=ld,
            head=head,
        )


def unit_by_port(device: Device, head: int) -> str:
    """Return the unit that a device is by one of its ports (from 1), where all are ways to it."""
    return device_uri(device) if head == 1 else function_uri(device, head_function_id(head, 0))


def _ports(device: Device, ports: Sequence[PortId], binder: Binder) -> Iterator[Way]:
    several = len(ports) > 1
    ld = next(iter(logical_devices(device)), None)
    within = None
    for head, port in enumerate(ports, 1):
        # Each further way lies within the one before: whoever has one way has the device, while
        # two that only lie within the same third would not take each other.
        unit = unit_by_port(device, head)
        yield Way(
            unit,
            f"{device.id}-p{head}" if several else device.id,
            f"{device.name}, port {head}" if several else device.name,
            within,
            port,
            BindTarget(port.switch, port.port),
            binder,
            ld=ld,
            head=head if several else None,
        )
        within = unit
