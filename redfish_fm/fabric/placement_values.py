"""What a client wishes of a system without naming devices, and what placement answers.

Pure values, made by mapping of constrained requests and read by it again. Ids are opaque strings;
in the running service they are the URIs of the resources. Capacities in MiB, latencies in ns from
the host to the device, bandwidths in MB/s per direction.
"""

from dataclasses import dataclass
from enum import Enum

from redfish_fm.fabric.paths import SwitchKey


class MemoryPolicy(Enum):
    """How the parts of one memory wish lie on appliances; values of our OEM schema."""

    ONE_APPLIANCE = "OneAppliance"
    """All of them in one appliance, the nearest: the same latency everywhere."""
    SPREAD = "Spread"
    """No two of them in one failure domain."""
    MIRRORED = "Mirrored"
    """Each of them twice, the two copies in different failure domains."""


@dataclass(frozen=True, slots=True)
class Wish:
    """So many whole devices of one kind ("GPU", "NVMe", "NIC", "FPGA", "Memory").

    None asks for nothing in particular; numbers are the least that will do. `name` says where the
    request asks for it (a JSON pointer), for the answer. `same_switch`: refused unless all are
    behind one switch; `spread`: refused unless each is in a failure domain of its own.
    """

    kind: str
    count: int = 1
    model: str | None = None
    manufacturer: str | None = None
    capacity_mib_min: int = 0
    bandwidth_mb_s_min: int = 0
    core_count_min: int = 0
    latency_ns_max: int | None = None
    same_switch: bool = False
    spread: bool = False
    name: str = ""
    at: SwitchKey | None = None
    """The only switch that will do, because the system has some of it there."""
    apart: frozenset[str] = frozenset()
    """Failure domains that will not do, because the system has some of it there."""


@dataclass(frozen=True, slots=True)
class MemoryWish:
    """So many parts of pools, each of `capacity_mib`: memory, or namespaces where kind is "NVMe".

    A part is cut out of a pool, or is a chunk that is there already (a fixed logical device).
    """

    capacity_mib: int
    count: int = 1
    kind: str = "Memory"
    policy: MemoryPolicy = MemoryPolicy.ONE_APPLIANCE
    latency_ns_max: int | None = None
    name: str = ""
    at: frozenset[str] = frozenset()
    """The only appliances that will do, because the system has some of it there; empty: any."""
    apart: frozenset[str] = frozenset()
    """Failure domains that will not do, because the system has some of it there."""


@dataclass(frozen=True, slots=True)
class ComputeWish:
    """What the system runs on: the host that is named, else any with at least this much."""

    host: str | None = None
    core_count_min: int = 0
    memory_mib_min: int = 0
    model: str | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that one system is to get.

    `blocks` are named by the client and are part of the answer whatever else is chosen (one that
    computes decides the host). `system` is the composition that is changed or the physical host
    that is expanded: it brings its own host, and may use more of the blocks it is in; None for a
    new system. `among`: only these blocks (zone affinity). `latency_ns_max` binds every wish.
    `allow_overprovisioning`: parts may be larger than asked for (rounded up to what a pool can be
    cut into, or a fixed part that is larger). `reservation` is the one whose client asks.
    """

    compute: ComputeWish = ComputeWish()
    devices: tuple[Wish, ...] = ()
    memory: tuple[MemoryWish, ...] = ()
    blocks: tuple[str, ...] = ()
    system: str | None = None
    among: frozenset[str] | None = None
    latency_ns_max: int | None = None
    allow_overprovisioning: bool = False
    reservation: str | None = None
    held: tuple[str, ...] | None = None
    """The wishes say what `system` shall have: these blocks of it count for them, and its parts of
    pools. None: they say what it is to get."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A part to be cut out of a block's pool.

    `pool` is the id of the CapacityPool; `ld` the unit of the logical device that a region of
    dynamic capacity is to lie in, None for every other part. `copy` counts the mirrors of one part.
    """

    block: str
    pool: str
    size_mib: int
    ld: str | None = None
    wish: str = ""
    copy: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """A part that is there already and free: the only chunk of a fixed logical device."""

    block: str
    chunk: str
    size_mib: int
    wish: str = ""
    copy: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """Where everything is: the answer of a request that can be met.

    `host` is the system that it runs on, `compute` the block that brings it (None where a system
    is changed or expanded). `blocks` are what the system is to be made of beside its compute: the
    named ones in the client's order, then the chosen ones with the appliances of the parts, without
    what `system` has already. `devices` tells for each wish for devices what was chosen.
    """

    host: str
    compute: str | None
    blocks: tuple[str, ...]
    devices: tuple[tuple[str, ...], ...] = ()
    cuts: tuple[Cut, ...] = ()
    chunks: tuple[Found, ...] = ()
    latency_ns: int = 0
    """Of the farthest thing chosen."""
    wished: tuple[str, ...] = ()
    """The name of the wish that each of `devices` is for."""
    kept: tuple[str, ...] = ()
    """Blocks that the system had already and that meet wishes, or have parts that do."""


class Group(Enum):
    """What kind of candidate a rejection is about."""

    REQUEST = "request"
    HOST = "host"
    SWITCH = "switch"
    APPLIANCE = "appliance"
    BLOCK = "block"


class Reason(Enum):
    """Why a candidate will not do; `requested` and `available` of a rejection are of that."""

    COUNT = "not enough free devices"
    CAPACITY = "not enough free capacity"
    PARTS = "no free parts of the pool"
    GRANULARITY = "the size is no multiple of what can be cut; more would be given than asked for"
    LATENCY = "farther than the latency budget"
    NO_PATH = "the host does not reach it"
    NO_VPPB = "not enough free vPPBs in the host's virtual switch"
    DOMAINS = "not enough failure domains"
    MODEL = "no device of that kind and model is known"
    CORES = "not enough processor cores"
    HOST_MEMORY = "not enough memory in the host"
    HOST_TAKEN = "the host is in another system, or reserved"
    HOST_IN_USE = "a zone, Connection or vPPB of somebody names the host"
    BLOCK = "the named block can not be taken"
    NO_HOST = "no such host"


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why one candidate was rejected. `candidate` is its id ("" for the whole request).

    `wish` is the name of the wish. `requested` and `available` are counts, MiB or ns, as the
    reason says; None where nothing is counted. `alike`: so many further candidates are in exactly
    the same state and were rejected for the same reason.
    """

    group: Group
    candidate: str
    reason: Reason
    wish: str = ""
    requested: int | None = None
    available: int | None = None
    alike: int = 0


@dataclass(frozen=True, slots=True)
class Rejections:
    """Why a request can not be met: one row for each unmet wish, and why each candidate failed.

    `unmet` has the best that could be had instead (`available`), over all candidates.
    """

    unmet: tuple[Rejection, ...]
    candidates: tuple[Rejection, ...] = ()
