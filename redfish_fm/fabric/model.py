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

from redfish_fm.fabric.equipment import Cable, DeviceHardware, SwitchHardware
from redfish_fm.fabric.hardware import Bmc, HostHardware, Part
from redfish_fm.fabric.link_errors import LinkErrors
from redfish_fm.fabric.qos_control import QosControl, QosTelemetry


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
    INTERSWITCH = "InterswitchPort"
    """Leads to another switch; hosts may come in by it from either side."""


class DeviceKind(Enum):
    """What a device is for; decides which Redfish resources describe it."""

    GPU = "GPU"
    NVME = "NVMe"
    MEMORY = "Memory"
    NIC = "NIC"
    FPGA = "FPGA"


class Attachment(Enum):
    """How a device can be bound: whole through its port, or one part of it at a time."""

    PCIE = "PCIe"
    SLD = "SLD"
    MLD = "MLD"
    SUBSYSTEM = "Subsystem"
    """An NVMe subsystem, whose namespaces are attached to hosts one at a time."""


class PartKind(Enum):
    """What a device's pool of capacity is cut into."""

    LD = "LD"
    """Logical devices of an MLD, sized by Set LD Allocations."""
    REGION = "Region"
    """Dynamic-capacity regions of an LD, made of extents."""
    NAMESPACE = "Namespace"
    """Namespaces of an NVMe subsystem."""


class FunctionType(Enum):
    """Redfish PCIeFunction.FunctionType."""

    PHYSICAL = "Physical"
    VIRTUAL = "Virtual"


class Media(Enum):
    """What is known of the contents of memory or of a namespace."""

    CLEAN = "clean"
    """Nothing of any host is in it."""
    DIRTY = "dirty"
    """A host had it since it was last sanitized."""
    SANITIZING = "sanitizing"


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


@dataclass(frozen=True, slots=True)
class BindTarget:
    """What a vPPB is bound to: a downstream port of the same switch, or one part behind it.

    All numbers None is the whole port (PCIe device, SLD, one head of a device with several).
    `ld` with `region` is a dynamic-capacity region of that LD; `function` a PCIe function that
    is bound alone; `namespace` an NVMe namespace, where port and vPPB stand for a subsystem and
    for one of a host's attachments to it.
    """

    switch: str
    port: str
    ld: int | None = None
    function: int | None = None
    region: int | None = None
    namespace: int | None = None

    @property
    def path(self) -> tuple[tuple[str, int], ...]:
        """From the outermost part to the innermost; empty for the whole port. Sortable."""
        named = (
            ("function", self.function),
            ("ld", self.ld),
            ("namespace", self.namespace),
            ("region", self.region),
        )
        return tuple((name, number) for name, number in named if number is not None)


@dataclass(frozen=True, slots=True)
class Link:
    """A PCIe or CXL link's capability: generation, lane count, added latency in ns."""

    gen: int
    lanes: int
    latency_ns: int = 0


@dataclass(frozen=True, slots=True)
class Port:
    """A switch port as discovered. One of `host`, `device`, `peer` is set where cabled."""

    id: PortId
    role: PortRole
    link: Link
    host: str | None = None
    device: str | None = None
    host_port: int | None = None
    """Index (from 1) of the host's own root port at the other end; None where not a host."""
    head: int | None = None
    """Which head (from 1) of a device with several is plugged in here; None for the only one."""
    cable: Cable | None = None
    """What leads to the far end; None where it is plugged in directly, or not known. Of a link
    between switches one end has it."""
    peer: PortId | None = None
    """The port of another switch at the far end, whose peer this one is."""
    ld_count: int | None = None
    """How many LDs a CXL port supports; None where the switch does not tell."""


@dataclass(frozen=True, slots=True)
class VirtualSwitch:
    """A VCS or PCIe partition: one upstream port and `vppb_count` bindable bridges.

    `through` is the switch nearer to the host by way of which the host comes in; None where the
    upstream port is the host's own.
    """

    id: str
    switch: str
    upstream_port: str
    host: str | None
    vppb_count: int
    through: str | None = None


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
    manufacturer: str = ""
    hardware: SwitchHardware | None = None
    resets_ports: bool = False
    """Whether its downstream ports can be reset: drivers.base.PortControl."""


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
    nqn: str | None = None
    """NVMe Qualified Name by which NVMe subsystems know it."""
    part: Part | None = None
    """Which machine it is; without it nothing is known of its chassis."""
    bmc: Bmc | None = None
    hardware: HostHardware | None = None
    """What is inside; None where a driver does not tell."""
    powered: bool = True
    """Whether it had power when it was discovered; what it has now its BMC says."""
    hot_plug: bool = True
    """Whether devices may come and go while it has power."""


@dataclass(frozen=True, slots=True)
class LogicalDevice:
    """One LD of an MLD: id 0-15 as the FM API counts them, capacity in MiB.

    An LD of a device with a pool of LDs has capacity 0 until it is allocated; `dynamic` ones hold
    regions instead (capacity 0, the pool is the device's).
    """

    id: int
    capacity_mib: int
    dynamic: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """One PCIe function; `parent` is the physical function of a virtual one (SR-IOV)."""

    id: int
    type: FunctionType = FunctionType.PHYSICAL
    parent: int | None = None


@dataclass(frozen=True, slots=True)
class Pool:
    """Capacity of a device that is cut into parts on demand.

    Parts are allocated in multiples of `granularity_mib`, at most `part_count_max` at a time
    (per LD for regions). `shareable`: a part may be given to several hosts. `sanitizes`: whoever
    gives a part back has it overwritten by the device itself, which tells nothing of it.
    """

    kind: PartKind
    capacity_mib: int
    granularity_mib: int
    part_count_max: int
    shareable: bool = True
    sanitizes: bool = False


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
    functions: tuple[Function, ...] = ()
    """PCIe functions; empty means function 0 alone."""
    binds_functions: bool = False
    """Whether the switch binds each function alone; else they all go with the port."""
    shared_heads: bool = False
    """Of a device on several ports: each head serves its own host (multi-host NIC, multi-headed
    memory). Else the ports are two ways to one exclusive device (dual-ported NVMe)."""
    pool: Pool | None = None
    sanitizes: bool = False
    """Whether contents can be sanitized, and are reported (`Observation.parts`)."""
    nqn: str | None = None
    """NVMe Qualified Name of an NVMe subsystem."""
    qos: bool = False
    """Of an MLD: whether bandwidth of its LDs can be set, and is reported (`Observation.qos`)."""
    telemetry: QosTelemetry | None = None
    """Of an MLD whose QoS Control can be set, and is reported (`PortState.control`)."""
    hardware: DeviceHardware | None = None


@dataclass(frozen=True, slots=True)
class Inventory:
    """Everything one driver discovered of one fabric. Made by Driver.discover, read by mapping.

    Invariants (checked by `fabric.inventory.defects`): ids unique per class; a port names a host
    or a device that exists, or a peer that names it; a virtual switch's upstream port exists and
    is UPSTREAM, or leads to the switch that its host comes `through`, where that host has a
    virtual switch too; an MLD has at least one LD, others none.
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


class CableState(Enum):
    """How the cable at a port is; values but the last are Redfish Cable.CableStatus strings."""

    NORMAL = "Normal"
    DEGRADED = "Degraded"
    """Its link does not reach the lanes or the generation that both ends have."""
    FAILED = "Failed"
    """No link comes up over it, whatever its ends do."""
    UNPLUGGED = "Unplugged"


@dataclass(frozen=True, slots=True)
class PortState:
    """What a switch last said of one port. `health` is a Redfish Status.Health string."""

    link_up: bool
    device_present: bool
    speed_gbps: float | None = None
    width: int | None = None
    health: str = "OK"
    training: bool = False
    """The link is being trained: neither up nor down for good."""
    serial_number: str | None = None
    """Of the device that is there now; None where it does not tell."""
    powered: bool = True
    """Whether the device or host at the other end has power."""
    errors: LinkErrors | None = None
    """None where the switch does not tell."""
    cable: CableState | None = None
    """None where the switch does not tell, or where there is none."""
    control: QosControl | None = None
    """Of the device that is there: what it watches; None where it does not tell."""
    backpressure_percent: int | None = None


@dataclass(frozen=True, slots=True)
class PartState:
    """What hardware says of one part, or of a whole device whose contents it keeps track of.

    `size_mib` is what is allocated; `shareable` whether several hosts may be bound to it;
    `extents` (offset, size in MiB) where hardware laid it, empty where it does not tell.
    """

    size_mib: int
    media: Media = Media.CLEAN
    shareable: bool = False
    extents: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Qos:
    """Bandwidth of one LD in percent of its device's: `allocated` is guaranteed, `limit` the most.

    The defaults are those of an LD that nobody asked anything of.
    """

    allocated: int = 0
    limit: int = 100


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
    parts: Mapping[BindTarget, PartState] = field(default_factory=dict)
    """Every allocated part, and every memory device whose contents are kept track of; a part of
    a pool that is not here is not allocated. Targets that nobody reports are not sanitized."""
    switch_health: Mapping[str, str] = field(default_factory=dict)
    """Redfish Status.Health of each switch that tells; the others feel well as far as is known."""

    qos: Mapping[BindTarget, Qos] = field(default_factory=dict)
    """Of every LD of a device with `qos` that is there and has power."""
    busy: frozenset[VppbId] = frozenset()
    """VPPBs that somebody binds or unbinds, and nobody knows what they were: they may reach all."""

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


@dataclass(frozen=True, slots=True)
class Allocate:
    """Give the part `size_mib` of its device's pool. Repeating it changes nothing.

    Refused by hardware where the part has another size, the pool is too small or the size is no
    multiple of its granularity.
    """

    target: BindTarget
    size_mib: int
    shareable: bool = False


@dataclass(frozen=True, slots=True)
class Deallocate:
    """Give the part's capacity back to the pool. Repeating it changes nothing.

    Refused by hardware while the part is bound or its contents are not clean.
    """

    target: BindTarget


@dataclass(frozen=True, slots=True)
class Sanitize:
    """Start to overwrite all contents of `target`, which must not be bound. Idempotent."""

    target: BindTarget


@dataclass(frozen=True, slots=True)
class SetQos:
    """Give an LD this bandwidth, or its whole device `control`. Repeating it changes nothing.

    Refused by hardware where the LDs of the device would have more than all of it allocated.
    """

    target: BindTarget
    qos: Qos
    control: QosControl | None = None


Step = Bind | Unbind | Allocate | Deallocate | Sanitize | SetQos
"""One command to hardware. Made by fabric.planner.plan, carried out by Driver.apply."""

Place = VppbId | BindTarget
"""Something that a command concerns, and that no other may touch until it is settled."""


def places(step: Step) -> tuple[Place, ...]:
    """Return what a step concerns."""
    return (step.vppb, step.target) if isinstance(step, Bind | Unbind) else (step.target,)


@dataclass(frozen=True, slots=True)
class Hint:
    """A suggestion to look: never a fact. Made by Driver.watch; losing one costs time only.

    `switch` None means the whole fabric.
    """

    fabric: str
    switch: str | None = None
