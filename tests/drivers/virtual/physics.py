"""A small fabric with everything that hardware can be, built as values, by short names.

cxl1  vPPBs of host1 and host2; D1 pool (16 LDs of 1 TiB on demand), D2 dynamic (regions of two
      LDs), D3 fixed (two LDs that can be sanitized), D4 first and D5 second head of multi,
      D6 first port of dual, D7 nic (functions), D8 sub (namespaces)
cxl2  vPPBs of host1 and host2; D1 second port of dual
"""

from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.drivers.virtual.faults import FaultPlan
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.fabric.model import (
    Allocate,
    Attachment,
    Bind,
    BindTarget,
    Deallocate,
    Device,
    DeviceKind,
    FabricKind,
    Function,
    FunctionType,
    Host,
    Inventory,
    Link,
    LogicalDevice,
    PartKind,
    Pool,
    Port,
    PortId,
    PortRole,
    Sanitize,
    Switch,
    Unbind,
    VirtualSwitch,
    VppbId,
)
from tests.drivers.fabrics import Powered
from tests.virtual_time import VirtualClock

GIB = 1024
TIB = 1024 * GIB

FIRST = VppbId("cxl1", "1", 0)
NEXT = VppbId("cxl1", "1", 1)
SECOND = VppbId("cxl1", "2", 0)
FAR = VppbId("cxl2", "2", 0)
"""A vPPB of host2 on the other switch."""


def part(port: str = "D1", switch: str = "cxl1", **path: int) -> BindTarget:
    return BindTarget(switch, port, **path)


LD = part(ld=0)
OTHER_LD = part(ld=1)
REGION = part("D2", ld=0, region=0)
FIXED = part("D3", ld=0)
NAMESPACE = part("D8", namespace=1)


def _device(
    id_: str, kind: DeviceKind, attachment: Attachment, link: Link, **more: object
) -> Device:
    return Device(
        id=id_,
        name=id_,
        kind=kind,
        attachment=attachment,
        model="simulated",
        manufacturer="redfish_fm",
        serial_number=f"SN-{id_}",
        link=link,
        **more,  # type: ignore[arg-type]
    )


GEN5 = Link(5, 16)
DEVICES = (
    _device(
        "pool", DeviceKind.MEMORY, Attachment.MLD, GEN5, capacity_mib=TIB, domain="box",
        lds=tuple(LogicalDevice(n, 0) for n in range(16)),
        pool=Pool(PartKind.LD, TIB, 256, 16), sanitizes=True,
    ),
    _device(
        "dynamic", DeviceKind.MEMORY, Attachment.MLD, GEN5, capacity_mib=64 * GIB, domain="box",
        lds=tuple(LogicalDevice(n, 0, dynamic=True) for n in range(2)),
        pool=Pool(PartKind.REGION, 64 * GIB, 2 * GIB, 8), sanitizes=True,
    ),
    _device(
        "fixed", DeviceKind.MEMORY, Attachment.MLD, GEN5, capacity_mib=64 * GIB,
        lds=tuple(LogicalDevice(n, 32 * GIB) for n in range(2)), sanitizes=True,
    ),
    _device(
        "multi", DeviceKind.MEMORY, Attachment.SLD, Link(5, 8), capacity_mib=64 * GIB,
        shared_heads=True, sanitizes=True,
    ),
    _device("dual", DeviceKind.NVME, Attachment.PCIE, Link(4, 4), capacity_mib=TIB, sanitizes=True),
    _device(
        "nic", DeviceKind.NIC, Attachment.PCIE, Link(5, 8), binds_functions=True,
        functions=(
            Function(0), Function(1, FunctionType.VIRTUAL, 0), Function(2, FunctionType.VIRTUAL, 0)
        ),
    ),
    _device(
        "sub", DeviceKind.NVME, Attachment.SUBSYSTEM, Link(4, 4), capacity_mib=TIB,
        pool=Pool(PartKind.NAMESPACE, TIB, GIB, 32),
    ),
)  # fmt: skip
PLUGS = {
    "cxl1": (
        ("D1", "pool", None), ("D2", "dynamic", None), ("D3", "fixed", None), ("D4", "multi", 1),
        ("D5", "multi", 2), ("D6", "dual", 1), ("D7", "nic", None), ("D8", "sub", None),
    ),
    "cxl2": (("D1", "dual", 2),),
}  # fmt: skip


def _switch(id_: str) -> Switch:
    up = tuple(Port(PortId(id_, f"U{n}"), PortRole.UPSTREAM, GEN5, host=f"host{n}") for n in (1, 2))
    down = tuple(
        Port(PortId(id_, port), PortRole.DOWNSTREAM, GEN5, device=device, head=head)
        for port, device, head in PLUGS[id_]
    )
    virtual = tuple(VirtualSwitch(f"{n}", id_, f"U{n}", f"host{n}", 8) for n in (1, 2))
    return Switch(id_, id_, "CXL", "simulated", f"SN-{id_}", (*up, *down), virtual)


WORLD = Inventory(
    fabric="World",
    name="World",
    kind=FabricKind.BIND,
    protocol="CXL",
    switches=(_switch("cxl1"), _switch("cxl2")),
    hosts=tuple(
        Host(f"host{n}", f"host{n}", f"00000000-0000-0000-0000-00000000000{n}", 1, 8, GIB)
        for n in (1, 2)
    ),
    devices=DEVICES,
)


def world(**how: object) -> Hardware:
    """Return the powered fabric; call it where a loop of virtual time runs."""
    return Hardware(WORLD, VirtualClock(), **how)  # type: ignore[arg-type]


def session(hardware: Hardware, seed: int = 0) -> Powered:
    """Return a driver on hardware."""
    clock = VirtualClock()
    return Powered(hardware, VirtualDriver(hardware, clock, clock, FaultPlan(seed)), clock)


def allocate(target: BindTarget = LD, size_mib: int = 4 * GIB, shareable: bool = False) -> Allocate:
    return Allocate(target, size_mib, shareable)


def bind(vppb: VppbId = FIRST, target: BindTarget = LD) -> Bind:
    return Bind(vppb, target)


def unbind(vppb: VppbId = FIRST, target: BindTarget = LD) -> Unbind:
    return Unbind(vppb, target)


def deallocate(target: BindTarget = LD) -> Deallocate:
    return Deallocate(target)


def sanitize(target: BindTarget = LD) -> Sanitize:
    return Sanitize(target)
