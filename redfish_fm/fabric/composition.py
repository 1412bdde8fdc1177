"""Resource blocks, compositions and reservations as rules and placement see them.

Pure values, read from documents by mapping and kept in fabric.composition_index. Ids are opaque
strings; in the running service they are the URIs of the resources. Redfish: ResourceBlock.v1_4_3,
ComputerSystem.v1_27_0 Links.ResourceBlocks, CompositionReservation.v1_0_2.
"""

from dataclasses import dataclass
from enum import Enum


class BlockType(Enum):
    """Redfish ResourceBlock.ResourceBlockType, the values that this service knows a meaning of."""

    COMPUTE = "Compute"
    PROCESSOR = "Processor"
    MEMORY = "Memory"
    NETWORK = "Network"
    STORAGE = "Storage"
    COMPUTER_SYSTEM = "ComputerSystem"
    EXPANSION = "Expansion"
    INDEPENDENT = "IndependentResource"


class CompositionState(Enum):
    """Redfish ResourceBlock.CompositionStatus.CompositionState."""

    COMPOSING = "Composing"
    COMPOSED_AND_AVAILABLE = "ComposedAndAvailable"
    COMPOSED = "Composed"
    UNUSED = "Unused"
    FAILED = "Failed"
    UNAVAILABLE = "Unavailable"


@dataclass(frozen=True, slots=True)
class Block:
    """One ResourceBlock: what one composition takes as a whole, or shares where `sharing`.

    `host` is set for a block that brings a host (compute), `units` are what its devices bind
    whole, `pools` the CapacityPools that parts are carved from. `kind` and `model` are what a
    request may ask for ("GPU", "NVMe", …); `switches` are where it is plugged, (fabric, switch).
    `domain` is its failure domain, None where not known. Sizes in MiB. `latency_ns` is what its
    own link adds to that of the switch, `bandwidth_mb_s` what it carries per direction; None where
    not known. `core_count` is of a host. `withdrawn`: a client took it out of the pools.
    `supplying` are the blocks that it is made of, where it was composed itself.
    """

    id: str
    types: frozenset[BlockType]
    host: str | None = None
    units: frozenset[str] = frozenset()
    pools: frozenset[str] = frozenset()
    sharing: bool = False
    compositions_max: int | None = 1
    """How many compositions it may be in; None where only capacity limits it."""
    kind: str = ""
    model: str = ""
    manufacturer: str = ""
    capacity_mib: int = 0
    switches: tuple[tuple[str, str], ...] = ()
    domain: str | None = None
    latency_ns: int | None = None
    bandwidth_mb_s: int | None = None
    core_count: int = 0
    withdrawn: bool = False
    supplying: tuple[str, ...] = ()

    @property
    def computes(self) -> bool:
        """Whether it can be what a composed system runs on."""
        return self.host is not None


@dataclass(frozen=True, slots=True)
class Composition:
    """One composed or expanded system: who runs it, of which blocks, and what it had made for it.

    `holdings` are the zones, connections and parts of pools that exist for it alone: they are
    changed through it. `expands`: it is a physical host that was given more, not a new system.
    `mirrors` are groups of parts that are copies of each other.
    """

    id: str
    host: str | None = None
    blocks: tuple[str, ...] = ()
    holdings: frozenset[str] = frozenset()
    expands: bool = False
    mirrors: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True, slots=True)
class Reservation:
    """Blocks kept for one client until `expires_s` (seconds since 1970, wall time)."""

    id: str
    blocks: tuple[str, ...]
    expires_s: float
