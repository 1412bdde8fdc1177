"""Small fabrics and steps for driver tests: two-hosts, by short names."""

from dataclasses import dataclass
from pathlib import Path

from redfish_fm.drivers.virtual.driver import VirtualDriver
from redfish_fm.drivers.virtual.faults import FaultPlan
from redfish_fm.drivers.virtual.hardware import Hardware
from redfish_fm.drivers.virtual.machines import Machines
from redfish_fm.drivers.virtual.topology import load, names
from redfish_fm.fabric.model import Bind, BindTarget, Inventory, PortId, Unbind, VppbId
from tests.virtual_time import VirtualClock

MOCKUPS = Path(__file__).resolve().parents[2] / "mockups"
PCIE, CXL = load("two-hosts", MOCKUPS).inventories()
SMALL_SCALE = "scale:hosts=5,gpus=11,switches=3,memory=2"
SHIPPED = tuple(SMALL_SCALE if name == "scale" else name for name in names(MOCKUPS))
"""Every shipped topology, the one that has parameters at a size for tests."""

FIRST = VppbId("cxl1", "1", 0)
"""A vPPB of host1's VCS."""
NEXT = VppbId("cxl1", "1", 1)
SECOND = VppbId("cxl1", "2", 0)
"""A vPPB of host2's VCS."""
MLD = PortId("cxl1", "D1")
SLD = BindTarget("cxl1", "D2")


def ld(number: int) -> BindTarget:
    """Return an LD of the MLD."""
    return BindTarget(MLD.switch, MLD.port, number)


def bind(vppb: VppbId = FIRST, target: BindTarget | None = None) -> Bind:
    return Bind(vppb, target or ld(0))


def unbind(vppb: VppbId = FIRST, target: BindTarget | None = None) -> Unbind:
    return Unbind(vppb, target or ld(0))


@dataclass
class Powered:
    """Hardware and a driver on it, both on the running loop's virtual time."""

    hardware: Hardware
    driver: VirtualDriver
    clock: VirtualClock

    @property
    def faults(self) -> FaultPlan:
        return self.driver.faults

    def in_s(self, seconds: float = 60.0) -> float:
        """Return a deadline that many seconds from now."""
        return self.clock.now_s() + seconds

    def again(self) -> "Powered":
        """Return a new session with the same hardware, as after a crash of the service."""
        return Powered(self.hardware, VirtualDriver(self.hardware, self.clock, self.clock),
                       self.clock)  # fmt: skip

    async def seen(self, vppb: VppbId = FIRST) -> BindTarget | None:
        """Return what a look says of one vPPB."""
        return (await self.driver.observe()).bindings[vppb]


def power_up(
    inventory: Inventory = CXL,
    state: Path | None = None,
    *,
    seed: int = 0,
    command_s: float = 0.002,
    permissive: bool = False,
    keeps_bindings: bool = True,
    journal_max: int = 100_000,
) -> Powered:
    clock = VirtualClock()
    hardware = Hardware(
        inventory,
        clock,
        state,
        permissive=permissive,
        keeps_bindings=keeps_bindings,
        journal_max=journal_max,
    )
    driver = VirtualDriver(hardware, clock, clock, FaultPlan(seed), command_s=command_s)
    return Powered(hardware, driver, clock)


def machines_of(*hardware: Hardware) -> Machines:
    """Return the hosts of some fabrics, all on, with nothing kept on disk."""
    hosts = [host.id for each in hardware for host in each.inventory.hosts]
    return Machines(hosts, hardware, VirtualClock())
