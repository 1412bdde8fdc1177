"""Is one device consistent in itself: its logical devices, functions and pool?

Pure. A part of `fabric.inventory`, which knows how devices are plugged in.
"""

from collections import Counter
from collections.abc import Iterator

from redfish_fm.fabric.model import (
    LD_FM_OWNED,
    Attachment,
    Device,
    FunctionType,
    PartKind,
    Pool,
)
from redfish_fm.fabric.targets import LD_COUNT_MAX

_POOLS_OF = {
    Attachment.PCIE: frozenset[PartKind](),
    Attachment.SLD: frozenset[PartKind](),
    Attachment.MLD: frozenset({PartKind.LD, PartKind.REGION}),
    Attachment.SUBSYSTEM: frozenset({PartKind.NAMESPACE}),
}
"""What the pool of a device can be cut into, by how the device is bound."""


def device_defects(device: Device) -> Iterator[str]:
    """Yield one line per broken invariant of a device."""
    where = f"device {device.id}"
    if device.capacity_mib < 0:
        yield f"{where} has a capacity of {device.capacity_mib} MiB"
    yield from _lds(where, device)
    yield from _functions(where, device)
    yield from _pool(where, device)


def _lds(where: str, device: Device) -> Iterator[str]:
    if device.attachment is Attachment.MLD and not device.lds:
        yield f"{where} is an MLD without logical devices"
    if device.attachment is not Attachment.MLD and device.lds:
        yield f"{where} is no MLD but has {len(device.lds)} logical devices"
    for id_, count in Counter(ld.id for ld in device.lds).items():
        if count > 1:
            yield f"{where}: logical device {id_} is defined {count} times"
    kind = None if device.pool is None else device.pool.kind
    for ld in device.lds:
        if ld.id == LD_FM_OWNED:
            yield f"{where}: logical device {LD_FM_OWNED:#x} is the fabric manager's own"
        elif not 0 <= ld.id < LD_COUNT_MAX:
            yield f"{where}: logical device {ld.id} is not one of 0-{LD_COUNT_MAX - 1}"
        if ld.capacity_mib < 0 or (ld.capacity_mib and kind is not None):
            yield f"{where}: logical device {ld.id} has {ld.capacity_mib} MiB before any allocation"
        if ld.dynamic != (kind is PartKind.REGION):
            what = "is dynamic" if ld.dynamic else "is not dynamic"
            yield f"{where}: logical device {ld.id} {what}, the device's pool says otherwise"


def _functions(where: str, device: Device) -> Iterator[str]:
    types = {function.id: function.type for function in device.functions}
    for id_, count in Counter(function.id for function in device.functions).items():
        if count > 1:
            yield f"{where}: function {id_} is defined {count} times"
    for function in device.functions:
        if function.id < 0:
            yield f"{where}: function {function.id} has no such number"
        if function.type is FunctionType.PHYSICAL and function.parent is not None:
            yield f"{where}: physical function {function.id} has a parent, {function.parent}"
        if (
            function.type is FunctionType.VIRTUAL
            and types.get(-1 if function.parent is None else function.parent)
            is not FunctionType.PHYSICAL
        ):
            yield f"{where}: virtual function {function.id} is of no physical function"
    if device.binds_functions and not device.functions:
        yield f"{where} binds functions but has none"
    if device.binds_functions and device.attachment is not Attachment.PCIE:
        yield f"{where} binds functions but is no PCIe device"


def _pool(where: str, device: Device) -> Iterator[str]:
    pool = device.pool
    if pool is None:
        if device.attachment is Attachment.SUBSYSTEM:
            yield f"{where} is a subsystem without a pool of namespaces"
        return
    if pool.kind not in _POOLS_OF[device.attachment]:
        yield f"{where} is {device.attachment.value} but has a pool of {pool.kind.value} parts"
    yield from _sizes(f"{where}: its pool", pool)
    if pool.capacity_mib > device.capacity_mib:
        yield f"{where} has {device.capacity_mib} MiB, its pool {pool.capacity_mib} MiB"
    if device.lds and pool.kind is PartKind.LD and pool.part_count_max > len(device.lds):
        yield f"{where} has {len(device.lds)} logical devices, its pool {pool.part_count_max}"


def _sizes(where: str, pool: Pool) -> Iterator[str]:
    if pool.granularity_mib < 1:
        yield f"{where} is cut by {pool.granularity_mib} MiB"
    elif pool.capacity_mib < pool.granularity_mib:
        yield f"{where} of {pool.capacity_mib} MiB holds no part of {pool.granularity_mib} MiB"
    if pool.part_count_max < 1:
        yield f"{where} holds {pool.part_count_max} parts"
