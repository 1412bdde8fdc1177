"""What a fabric is made of, what is seen of it, and what can be done to it.

Pure values. Drivers make Inventory, Observation and Hint; the planner makes Step; nobody
changes one after it is built. Ids are opaque strings: a switch, port, host or device has the
id its driver gives it, unique within one fabric. No URI, no JSON, no time source here.
CXL words: VCS is a virtual CXL switch, vPPB a virtual PCI-to-PCI bridge in it, LD a logical
device of a multi-logical device (MLD); a PCIe switch's partition and its slots are described
by the same two types, because they bind the same way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class FabricKind(Enum):
    """How a fabric grants access; decides which isolation rules apply (DESIGN section 5)."""

    BIND = "bind"
    ZONE_GRANTS = "zone-grants"
    CONNECTION_GRANTS = "connection-grants"
    REACH = "reach"


class PortRole(Enum):
    """Direction of a switch port; values are Redfish Port.PortType strings."""

    UPSTREAM = "UpstreamPort"
    DOWNSTREAM = "DownstreamPort"


class DeviceKind(Enum):
    """What a device is for; decides which Redfish resources describe it."""

    GPU = "GPU"
    NVME = "NVMe"
    MEMORY = "Memory"
    NIC = "NIC"
    FPGA = "FPGA"


class Attachment(Enum):
    """How a device can be bound: whole through its port, or one logical device at a time."""

    PCIE = "PCIe"
    SLD = "SLD"
    MLD = "MLD"


LD_FM_OWNED = 0xFFFF
"""The LD id that the fabric manager itself owns; it is never bound to a host."""


@dataclass(frozen=True, slots=True, order=True)
class PortId:
    """A physical port of one switch. Made by drivers; a key everywhere else."""

    switch: str
    port: str


@dataclass(frozen=True, slots=True, order=True)
class VppbId:
    """One bindable bridge: a vPPB of a VCS, or a slot of a PCIe partition.

    `vppb` is the index inside the VCS, counted from 0.
    """

    switch: str
    vcs: str
    vppb: int


@dataclass(frozen=True, slots=True, order=True)
class BindTarget:
    """What a vPPB is bound to: a downstream port of the same switch, or one LD behind it.

    `ld` is None for a whole port (PCIe device, SLD).
    """

    switch: str
    port: str
    ld: int | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A PCIe or CXL link's capability: generation, lane count, added latency in ns."""

    gen: int
    lanes: int
    latency_ns: int = 0


@dataclass(frozen=True, slots=True)
class Port:
    """A switch port as discovered. Exactly one of `host`, `device` is set where cabled."""

    id: PortId
    role: PortRole
    link: Link
    host: str | None = None
    device: str | None = None
    host_port: int | None = None
    """Index (from 1) of the host's own root port at the other end; None where not a host."""


@dataclass(frozen=True, slots=True)
class VirtualSwitch:
    """A VCS or PCIe partition: one upstream port and `vppb_count` bindable bridges."""

    id: str
    switch: str
    upstream_port: str
    host: str | None
    vppb_count: int


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch with its ports and virtual switches. `protocol` is "CXL" or "PCIe"."""

    id: str
    name: str
    protocol: str
    model: str
    serial_number: str
    ports: tuple[Port, ...]
    virtual_switches: tuple[VirtualSwitch, ...]
    domain: str | None = None
    """Failure domain (power or chassis); None means not known."""


@dataclass(frozen=True, slots=True)
class Host:
    """The owner of a root complex. `uuid` is lower-case RFC 4122 text."""

    id: str
    name: str
    uuid: str
    cpu_count: int
    core_count: int
    memory_mib: int
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class LogicalDevice:
    """One LD of an MLD: id 0-15 as the FM API counts them, capacity in MiB."""

    id: int
    capacity_mib: int


@dataclass(frozen=True, slots=True)
class Device:
    """A device behind a downstream port. `capacity_mib` is 0 where it stores nothing."""

    id: str
    name: str
    kind: DeviceKind
    attachment: Attachment
    model: str
    manufacturer: str
    serial_number: str
    link: Link
    capacity_mib: int = 0
    lds: tuple[LogicalDevice, ...] = ()
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class Inventory:
    """Everything one driver discovered of one fabric. Made by Driver.discover, read by mapping.

    Invariants (checked by `fabric.inventory.defects`): ids unique per class; a port names a host
    or a device that exists; a virtual switch's upstream port exists and is UPSTREAM; an MLD has
    at least one LD, others none.
    """

    fabric: str
    name: str
    kind: FabricKind
    protocol: str
    """Redfish Fabric.FabricType: "PCIe" or "CXL" here; other strings on imports."""
    switches: tuple[Switch, ...] = ()
    hosts: tuple[Host, ...] = ()
    devices: tuple[Device, ...] = ()
    max_zones: int | None = None


@dataclass(frozen=True, slots=True)
class PortState:
    """What a switch last said of one port. `health` is a Redfish Status.Health string."""

    link_up: bool
    device_present: bool
    speed_gbps: float | None = None
    width: int | None = None
    health: str = "OK"


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at a fabric. Made by Driver.observe, read by reconcile, audit and mapping.

    Times are seconds of the service clock that the driver was given. Invariant: a switch is in
    `unreachable` or all its vPPBs and ports are in the maps.

    `barrier_s` proves the past: every command handed to `apply` at or before this instant has
    either been executed or never will be (a later command was answered on the same ordered link,
    or the link was reset and `late_max_s` has passed). Nothing is known of commands after it.
    """

    fabric: str
    started_s: float
    barrier_s: float
    bindings: Mapping[VppbId, BindTarget | None]
    ports: Mapping[PortId, PortState] = field(default_factory=dict)
    unreachable: frozenset[str] = frozenset()

    @property
    def complete(self) -> bool:
        """Whether every switch answered."""
        return not self.unreachable


@dataclass(frozen=True, slots=True)
class Bind:
    """Bind `vppb` to `target`. Repeating it changes nothing."""

    vppb: VppbId
    target: BindTarget


@dataclass(frozen=True, slots=True)
class Unbind:
    """Free `vppb` if it is bound to `target`. Repeating it changes nothing."""

    vppb: VppbId
    target: BindTarget


Step = Bind | Unbind
"""One command to hardware. Made by fabric.binding.plan, carried out by Driver.apply."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A suggestion to look: never a fact. Made by Driver.watch; losing one costs time only.

    `switch` None means the whole fabric.
    """

    fabric: str
    switch: str | None = None
