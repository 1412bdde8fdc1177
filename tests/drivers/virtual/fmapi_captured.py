"""The switches of which conversations were captured, rebuilt as inventories.

Ports have the places that they had there; what was bound at first is bound here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.fabric.model import (
    Attachment,
    BindTarget,
    Device,
    DeviceKind,
    FabricKind,
    Host,
    Inventory,
    Link,
    LogicalDevice,
    PartKind,
    Pool,
    Port,
    PortId,
    PortRole,
    Switch,
    VirtualSwitch,
    VppbId,
)

SWITCH = "s"
LINK = Link(5, 16)


@dataclass
class Plan:
    """`hosts`: ports with a host, `dark`: upstream ports without. `devices`: port to LDs, 0 none.

    `bound`: what each VCS has at first, vPPB by vPPB: port and LD, None for nothing.
    """

    ports: int
    hosts: tuple[int, ...] = ()
    dark: tuple[int, ...] = ()
    devices: dict[int, int] = field(default_factory=dict)
    absent: tuple[int, ...] = ()
    vppbs: int = 0
    counts: tuple[int, ...] = ()
    bound: tuple[tuple[tuple[int, int | None] | None, ...], ...] = ()
    pooled: bool = False
    ld_mib: int = 256

    def inventory(self) -> Inventory:
        """Return the fabric."""
        upstream = sorted((*self.hosts, *self.dark))
        return Inventory(
            "F",
            "F",
            FabricKind.BIND,
            "CXL",
            switches=(
                Switch(
                    SWITCH,
                    SWITCH,
                    "CXL",
                    "",
                    "SN",
                    tuple(self._port(number) for number in range(self.ports)),
                    tuple(
                        VirtualSwitch(str(vcs), SWITCH, str(port), f"h{port}", self._count(vcs))
                        for vcs, port in enumerate(upstream)
                    ),
                ),
            ),
            hosts=tuple(Host(f"h{n}", f"h{n}", f"{n:032x}", 1, 1, 1) for n in upstream),
            devices=tuple(self._device(port, lds) for port, lds in self.devices.items()),
        )

    def bind(self, hardware: Hardware) -> None:
        """Bind what was bound at first."""
        for vcs, entries in enumerate(self.bound):
            for vppb, entry in enumerate(entries):
                if entry is not None:
                    self.force(hardware, vcs, vppb, entry)

    def force(
        self, hardware: Hardware, vcs: int, vppb: int, entry: tuple[int, int | None] | None
    ) -> None:
        """Write one binding."""
        target = None if entry is None else BindTarget(SWITCH, str(entry[0]), entry[1])
        hardware.switches[SWITCH].force(VppbId(SWITCH, str(vcs), vppb), target)

    def _count(self, vcs: int) -> int:
        return self.counts[vcs] if self.counts else self.vppbs

    def _port(self, number: int) -> Port:
        at = PortId(SWITCH, str(number))
        if number in self.hosts or number in self.dark:
            host = f"h{number}" if number in self.hosts else None
            return Port(at, PortRole.UPSTREAM, LINK, host=host)
        device = f"d{number}" if number in self.devices else None
        return Port(at, PortRole.DOWNSTREAM, LINK, device=device)

    def _device(self, port: int, lds: int) -> Device:
        capacity_mib = self.ld_mib * max(1, lds)
        fixed = 0 if self.pooled else self.ld_mib
        return Device(
            f"d{port}",
            f"d{port}",
            DeviceKind.MEMORY,
            Attachment.MLD if lds else Attachment.SLD,
            "",
            "",
            f"SN{port}",
            LINK,
            capacity_mib,
            lds=tuple(LogicalDevice(n, fixed) for n in range(lds)),
            pool=Pool(PartKind.LD, capacity_mib, 256, lds) if self.pooled and lds else None,
            qos=bool(lds) and self.pooled,
        )


def ports(numbers: Iterable[int], ld: int | None = None) -> tuple[tuple[int, int | None], ...]:
    return tuple((number, ld) for number in numbers)


ONE_VCS = Plan(
    7,
    dark=(0,),
    devices={1: 0, 2: 0, 3: 0, 4: 0, 5: 4, 6: 4},
    vppbs=10,
    bound=((*ports((1, 2, 3, 4)), (5, 0), (5, 1), (5, 2), (5, 3), (6, 0), (6, 1)),),
)
"""Vectors 0 to 34, and 47 to 58."""

TWO_VCSS = Plan(
    10,
    dark=(0, 5),
    devices={1: 0, 2: 0, 6: 0},
    vppbs=4,
    bound=(ports((1, 2, 3, 4)), ports((6, 7, 8, 9))),
)
"""Vectors 35 to 46."""

ONE_MLD = Plan(
    3,
    hosts=(0, 2),
    devices={1: 8},
    vppbs=4,
    bound=(tuple((1, n) for n in range(4)), tuple((1, n) for n in range(4, 8))),
)
"""Vectors 59 to 66."""

PACKETS_SWITCH = Plan(
    32,
    hosts=(0,),
    dark=(8, 16, 24),
    devices={1: 4, 2: 4, 3: 16, 4: 16, 9: 4},
    absent=(9,),
    vppbs=8,
    bound=(((0, None), (1, 0), (2, 0), (3, 0), (4, 0)),),
    pooled=True,
    ld_mib=1024,
)
"""Vectors 67 to 118."""
