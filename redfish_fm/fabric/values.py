"""Endpoints, zones, connections, units and bindings as the isolation rules see them.

Pure values, read from documents by mapping, kept in fabric.index, judged by fabric.zoning.
Resource ids (`id` of Endpoint, Zone, Connection, Chunk) are opaque unique strings; in the running
service they are the URIs of the resources. Redfish: Endpoint, Zone, Connection, MemoryChunks.
"""

from dataclasses import dataclass
from enum import Enum

from redfish_fm.fabric.model import BindTarget, PartKind, PortId, Qos, VppbId
from redfish_fm.fabric.qos_control import QosControl
from redfish_fm.values import value_class


class Role(Enum):
    """Redfish ConnectedEntities.EntityRole, folded over all entities of one endpoint."""

    INITIATOR = "Initiator"
    TARGET = "Target"
    BOTH = "Both"
    EXEMPT = "Exempt"
    """Switch, Bridge, StorageExpander, Manager, FabricBridge without a chunk: no isolation."""


class Binder(Enum):
    """What binds a unit on a `bind` fabric: joining a zone, or a Connection."""

    ZONE = "zone"
    CONNECTION = "connection"
    NOTHING = "nothing"
    """The fabric is not of kind bind, or no driver can bind this unit."""


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest thing a driver can bind alone.

    `within` names the unit that contains it (an LD's MLD), whose taking takes this one too.
    `target` is None where no driver can bind it (an import without hardware).
    """

    id: str
    fabric: str
    binder: Binder
    exclusive: bool = True
    target: BindTarget | None = None
    within: str | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One Redfish Endpoint. Invariant: `host` is set iff the role initiates.

    `units` are what it gives access to as a target; `state` and `health` are the last observed
    Status (None = not known) and matter only for new targets (rule 6).
    """

    id: str
    fabric: str
    role: Role
    host: str | None = None
    units: frozenset[str] = frozenset()
    ports: frozenset[str] = frozenset()
    """Switch-side or device-side ports it uses, for the one-initiator-per-port rule."""
    excludes: frozenset[str] = frozenset()
    """Endpoint.Links.MutuallyExclusiveEndpoints; it counts whichever of the two says so."""


@dataclass(frozen=True, slots=True)
class EndpointGroup:
    """One Redfish EndpointGroup: a name for several endpoints of one side of connections."""

    id: str
    fabric: str
    endpoints: tuple[str, ...] = ()


class ZoneType(Enum):
    """Redfish Zone.ZoneType."""

    DEFAULT = "Default"
    ENDPOINTS = "ZoneOfEndpoints"
    ZONES = "ZoneOfZones"
    RESOURCE_BLOCKS = "ZoneOfResourceBlocks"


@value_class
class Zone:
    """One Redfish Zone. `endpoints` keeps the client's order; duplicates are a violation."""

    id: str
    fabric: str
    zone_type: ZoneType
    endpoints: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    routing: bool = False
    """Zone.DefaultRoutingEnabled."""


class Access(Enum):
    """Redfish Connection AccessCapabilities (the two that memory chunks know)."""

    READ = "Read"
    WRITE = "Write"


@dataclass(frozen=True, slots=True)
class ChunkGrant:
    """One row of Connection.MemoryChunkInfo."""

    chunk: str
    access: frozenset[Access]


@dataclass(frozen=True, slots=True)
class RegionGrant:
    """One row of Connection.MemoryRegionInfo."""

    region: str
    access: frozenset[Access]


@dataclass(frozen=True, slots=True)
class VolumeGrant:
    """One row of Connection.VolumeInfo. `lun` None: the service chooses."""

    volume: str
    access: frozenset[Access]
    lun: int | None = None


@dataclass(frozen=True, slots=True)
class Connection:
    """One Redfish Connection: what is granted between two sides.

    Endpoints and groups of one side exclude each other (a rule). The targets may be empty where
    volumes are named.
    """

    id: str
    fabric: str
    initiators: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    chunks: tuple[ChunkGrant, ...] = ()
    regions: tuple[RegionGrant, ...] = ()
    volumes: tuple[VolumeGrant, ...] = ()
    initiator_groups: tuple[str, ...] = ()
    target_groups: tuple[str, ...] = ()
    by_parts: bool = False
    """It names parts, or none any more: then it grants nothing, and never its whole targets."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """Capacity that a part of a pool is wanted to have, because a resource was made for it.

    `holder` is the id of that resource (chunk, region or volume).
    """

    fabric: str
    target: BindTarget
    size_mib: int
    holder: str
    shareable: bool = False


@dataclass(frozen=True, slots=True)
class QosWish:
    """Bandwidth that an LD is wanted to have. `holder` is the id of its CXLLogicalDevice.

    With `control` it is what the whole device at a port is to do, and `holder` is the port's.
    """

    fabric: str
    target: BindTarget
    qos: Qos
    holder: str
    control: QosControl | None = None


@dataclass(frozen=True, slots=True)
class CapacityPool:
    """Where capacity comes from: a memory domain, an LD's dynamic capacity, a storage pool.

    `id` is the URI of the MemoryDomain, PCIeDevice (dynamic capacity is the device's, whichever
    LD has the region) or StoragePool. Sizes in MiB: parts are multiples of `granularity_mib`.
    `port` is where the device is plugged, None where no driver can allocate (imports). `parts`
    are the numbers a part may have (LD ids, region numbers per LD, namespace ids). `shareable`:
    several hosts may have a part.
    """

    id: str
    fabric: str
    kind: PartKind
    capacity_mib: int
    granularity_mib: int
    parts: tuple[int, ...]
    port: PortId | None = None
    shareable: bool = True


@dataclass(frozen=True, slots=True)
class MemoryDomain:
    """A MemoryDomain: where chunks may be carved, and by which rules. Sizes in MiB.

    `pool` is the id of the CapacityPool that its chunks are allocated from (each one its own LD);
    None: chunks are cut out of the domain by address and need no hardware step.
    """

    id: str
    capacity_mib: int
    granularity_mib: int = 1
    carvable: bool = False
    pool: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A memory chunk; offset and size in MiB; `unit` is the LD or device it lies in.

    `domain` is its MemoryDomain; `allocation` what hardware has to provide for it, None where
    nothing has to be done.
    """

    id: str
    unit: str
    offset_mib: int | None
    size_mib: int
    access: frozenset[Access] = frozenset({Access.READ, Access.WRITE})
    domain: str | None = None
    allocation: Allocation | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """A dynamic-capacity MemoryRegion of an LD; sizes in MiB. It is a unit of its own.

    `ld` is the unit of the CXLLogicalDevice it was made under, `pool` the CapacityPool.
    """

    id: str
    ld: str
    pool: str
    number: int
    size_mib: int
    block_mib: int = 1
    shareable: bool = False
    access: frozenset[Access] = frozenset({Access.READ, Access.WRITE})
    allocation: Allocation | None = None


@dataclass(frozen=True, slots=True)
class Volume:
    """A Volume: an NVMe namespace of a subsystem. It is a unit of its own; size in MiB.

    `subsystem` is the unit it lies within (the Storage), `pool` the CapacityPool it comes from
    (None for imported or discovered ones); `lun` is its NamespaceId. `fabric` and `target` say
    where a discovered one, without `allocation`, is attached ("" and None: nowhere known).
    """

    id: str
    subsystem: str
    pool: str | None
    size_mib: int
    shareable: bool = False
    lun: int | None = None
    access: frozenset[Access] = frozenset({Access.READ, Access.WRITE})
    allocation: Allocation | None = None
    fabric: str = ""
    target: BindTarget | None = None


@dataclass(frozen=True, slots=True)
class VppbGrant:
    """A unit that a client put on one vPPB itself (PATCH of its Links.Port); holds like a zone.

    `id` is the vPPB resource, `host` the owner of its virtual switch.
    """

    id: str
    fabric: str
    vppb: VppbId
    unit: str
    host: str


@dataclass(frozen=True, slots=True)
class Binding:
    """A wanted binding, as recorded by the commit that granted it.

    `holders` are the ids of the zones or connections that keep it alive; the last one to leave
    releases it. `host` owns the VCS.
    """

    fabric: str
    unit: str
    host: str
    vppb: VppbId
    target: BindTarget
    holders: frozenset[str]
    shared: bool = False
    """Other hosts may be bound to the same target (a shareable region or namespace)."""


class Rule(Enum):
    """The isolation rules, one name per way to break them (DESIGN section 5)."""

    # As exact as Enum's own, which hashes the name in Python at each look-up.
    __hash__ = object.__hash__

    HOST_SHARING = "1: exclusive unit reached by two hosts"
    ZONE_MANY_HOSTS = "2: zone with exclusive units has initiators of several hosts"
    ZONE_UNIT_TWICE = "2: zone-bound unit in a second zone"
    CONNECTION_NO_COMMON_ZONE = "3: ends share no zone"
    CONNECTION_CHUNK_FOREIGN = "3: chunk does not belong to the target"
    CONNECTION_CHUNK_MISSING = "3: an LD is granted without naming a chunk"
    CONNECTION_ACCESS = "3: more access than the chunk allows"
    LD_HOST = "4: LD belongs to another host"
    LD_FM_OWNED = "4: the FM-owned LD is never bound"
    NO_FREE_VPPB = "4: no free vPPB in the host's virtual switch"
    NO_PATH = "4: the host has no virtual switch on the unit's switch"
    TARGET_UNAVAILABLE = "6: newly added target is Absent, Disabled or Critical"
    DUPLICATE_MEMBER = "6: member named twice"
    UNKNOWN_MEMBER = "6: member does not exist"
    FOREIGN_FABRIC = "6: member belongs to another fabric"
    NOT_BINDABLE = "6: endpoint without ConnectedEntities can not be bound"
    ENDPOINT_IN_USE = "6: endpoint is in a zone or connection"
    ZONE_IN_USE = "6: a connection would lose its last common zone"
    PORT_HAS_INITIATOR = "5: the port already has an initiator endpoint"
    ZONE_TYPE = "6: zone type not allowed here"
    ZONE_NESTING = "6: a zone of zones holds zones of endpoints only"
    MAX_ZONES = "6: the fabric holds no more zones"
    CONNECTION_SIDES = "3: a side names endpoints and endpoint groups"
    CONNECTION_REGION_FOREIGN = "3: region does not belong to the target"
    CONNECTION_VOLUME_FOREIGN = "3: volume does not belong to the target"
    CONNECTION_LUN = "3: two volumes of one connection have the same LUN"
    SHARING_NEEDS_REGION = "4: memory is shared through a shareable MemoryRegion only"
    PART_SIZE = "4: size is not a positive multiple of the granularity"
    PART_RANGE = "4: does not fit where it is to lie"
    PART_OVERLAP = "4: overlaps another one"
    POOL_EXHAUSTED = "4: the pool has not enough free capacity or parts"
    NOT_CARVABLE = "4: nothing can be carved here"
    COMPOSED = "5: a composition holds it"
    BLOCK_UNKNOWN = "5: no such resource block"
    BLOCK_TWICE = "5: resource block named twice"
    BLOCK_COMPUTE = "5: a composed system runs on exactly one host"
    BLOCK_TAKEN = "5: the resource block is in another composition, or reserved"
    BLOCK_IN_USE = "5: a zone or connection outside of compositions has what is in the block"
    BLOCK_UNAVAILABLE = "5: what is in the resource block is Absent, Disabled or Critical"
    BANDWIDTH = "4: more bandwidth is guaranteed than the device has"
    PART_IN_USE = "6: a connection grants it"
    MUTUALLY_EXCLUSIVE = "6: zoned together with an endpoint that excludes it"
    GROUP_IN_USE = "6: a connection names the endpoint group"
    DEFAULT_ROUTING = "6: the Default zone holds exclusive units"
    VPPB_HELD = "6: the vPPB is held by a zone or connection"
    VPPB_WRONG_UNIT = "6: what is behind the port is not bound through a vPPB"


@dataclass(frozen=True, slots=True)
class Violation:
    """One reason why a change is refused (or, in an audit, what is already wrong).

    `subject` is the id of what breaks the rule (an endpoint, chunk or zone); `holder` the id of
    what it collides with, or None; `pointer` the JSON pointer in the client's body, or None;
    `others` further ids worth naming. Made by fabric.zoning, worded by mapping.violations.
    """

    rule: Rule
    subject: str
    holder: str | None = None
    pointer: str | None = None
    others: tuple[str, ...] = ()
