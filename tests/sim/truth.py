"""What hardware truly holds, judged by physics alone: who shares what, and where capacity is.

Shares no code with the rules, nor with the hardware's own admission checks, so that hardware that
forgets to refuse is seen as well.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from redfish_fm.drivers.virtual.device import SimulatedDevice
from redfish_fm.drivers.virtual.devices import Devices
from redfish_fm.fabric.model import (
    BindTarget,
    FabricKind,
    FunctionType,
    Inventory,
    VirtualSwitch,
    VppbId,
)
from tests.drivers.chains import cables


@dataclass(frozen=True)
class Double:
    """Two hosts reach one thing. `ours` means that nobody else can be blamed."""

    first: VppbId
    second: VppbId
    target: BindTarget
    ours: bool


def collide(devices: Devices, one: BindTarget, other: BindTarget) -> bool:
    """Whether two targets share anything that was not allocated for several hosts.

    Two ports of one device are one thing, unless each serves a host of its own. Where a part is
    gone (the device was replaced) there is nothing to share.
    """
    device = devices.at(one)
    if device is None or devices.at(other) is not device:
        return (one.switch, one.port) == (other.switch, other.port)
    same_port = (one.switch, one.port) == (other.switch, other.port)
    if device.facts.shared_heads and not same_port:
        return False
    if one.function is not None and other.function is not None:
        return one.function == other.function or _controls(device, one.function, other.function)
    shorter, longer = sorted((one.path, other.path), key=len)
    if longer[: len(shorter)] != shorter:
        return False
    if one.path != other.path or device.facts.pool is None:
        return True
    parts = [part for part in device.parts.values() if part.target.path == one.path]
    return any(not part.shareable for part in parts)


def _controls(device: SimulatedDevice, one: int, other: int) -> bool:
    """Whether one is the physical function of the other, which is a virtual one."""
    return any(
        function.type is FunctionType.VIRTUAL and {function.id, function.parent} == {one, other}
        for function in device.facts.functions
    )


def host_at(inventory: Inventory, vcs: VirtualSwitch) -> str | None:
    """Return whose port cables lead to from a virtual switch; in a network, whose it is."""
    port = cables(inventory, vcs)[-1]
    networked = inventory.kind is FabricKind.CONNECTION_GRANTS
    return vcs.host if networked else port.host


def capacity_faults(devices: Mapping[str, SimulatedDevice]) -> Iterator[str]:
    """Yield what is wrong with where capacity is: all is in one part or free, nothing in two."""
    for device in devices.values():
        pool = device.facts.pool
        if pool is None:
            continue
        extents = sorted(
            (extent.start_mib, extent.end_mib)
            for part in device.parts.values()
            for extent in part.extents
        )
        for (_, end), (start, _) in pairwise(extents):
            if start < end:
                yield f"{device.facts.id}: address {start} MiB is in two parts"
        if extents and extents[-1][1] > pool.capacity_mib:
            yield f"{device.facts.id}: a part ends behind {pool.capacity_mib} MiB"
        for part in device.parts.values():
            size_mib = sum(extent.size_mib for extent in part.extents)
            if size_mib != part.size_mib:
                yield f"{part.target} has {size_mib} MiB, not {part.size_mib}"


def free_mib(device: SimulatedDevice) -> int:
    """Return what of a device's pool is in no part, counted by address."""
    pool = device.facts.pool
    taken = {
        block
        for part in device.parts.values()
        for extent in part.extents
        for block in range(extent.start_mib, extent.end_mib)
    }
    return 0 if pool is None else pool.capacity_mib - len(taken)
