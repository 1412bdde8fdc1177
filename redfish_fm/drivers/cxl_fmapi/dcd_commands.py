"""Dynamic capacity (56h). Pure tables; offsets and sizes in bytes.

Capacities called `units` are multiples of 256 MiB. Tags have 16 bytes; zeros mean none.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from redfish_fm.drivers.cxl_fmapi.command import Nothing, command
from redfish_fm.drivers.cxl_fmapi.events import Extent
from redfish_fm.drivers.cxl_fmapi.layouts import After, At, Counted
from redfish_fm.drivers.cxl_fmapi.numbers import AddPolicy, RemovalPolicy


@dataclass(frozen=True, slots=True)
class DcdInfo:
    """What a device can do (5600h). Block sizes are masks: bit n stands for 2^n bytes."""

    SIZE: ClassVar = 84
    host_count: Annotated[int, At(0x00)]
    region_count: Annotated[int, At(0x01)]
    add_policies: Annotated[frozenset[int], At(0x04, 2)]
    removal_policies: Annotated[frozenset[int], At(0x08, 2)]
    sanitize_on_release: Annotated[int, At(0x0A)]
    capacity_units: Annotated[int, At(0x0C, 8, unit="256 MiB")]
    block_sizes_0: Annotated[int, At(0x14, 8)]
    block_sizes_1: Annotated[int, At(0x1C, 8)]
    block_sizes_2: Annotated[int, At(0x24, 8)]
    block_sizes_3: Annotated[int, At(0x2C, 8)]
    block_sizes_4: Annotated[int, At(0x34, 8)]
    block_sizes_5: Annotated[int, At(0x3C, 8)]
    block_sizes_6: Annotated[int, At(0x44, 8)]
    block_sizes_7: Annotated[int, At(0x4C, 8)]


@dataclass(frozen=True, slots=True)
class RegionQuery:
    """Regions of one host (5601h)."""

    SIZE: ClassVar = 4
    host_id: Annotated[int, At(0x00, 2)]
    number: Annotated[int, At(0x02)]
    start: Annotated[int, At(0x03)]


@dataclass(frozen=True, slots=True)
class Region:
    """One region of dynamic capacity. `flags` as the device's DSMAS has them."""

    SIZE: ClassVar = 40
    base: Annotated[int, At(0x00, 8, unit="byte")]
    decode_units: Annotated[int, At(0x08, 8, unit="256 MiB")]
    length: Annotated[int, At(0x10, 8, unit="byte")]
    block_size: Annotated[int, At(0x18, 8, unit="byte")]
    flags: Annotated[int, At(0x20)]
    sanitize: Annotated[bool, At(0x24, bits=(0, 1))]


@dataclass(frozen=True, slots=True)
class RegionSupply:
    """How many extents and tags a device has, and has left."""

    SIZE: ClassVar = 16
    extents_supported: Annotated[int, At(0x00, 4)]
    extents_available: Annotated[int, At(0x04, 4)]
    tags_supported: Annotated[int, At(0x08, 4)]
    tags_available: Annotated[int, At(0x0C, 4)]


@dataclass(frozen=True, slots=True)
class Regions:
    """Regions of one host; `available` counts all it has."""

    SIZE: ClassVar = 4
    host_id: Annotated[int, At(0x00, 2)]
    available: Annotated[int, At(0x02)]
    regions: Annotated[tuple[Region, ...], Counted(0x04, Region, At(0x03))]
    supply: Annotated[RegionSupply, After(RegionSupply)]


@dataclass(frozen=True, slots=True)
class RegionConfiguration:
    """How a region is to be divided (5602h)."""

    SIZE: ClassVar = 16
    region: Annotated[int, At(0x00)]
    block_size: Annotated[int, At(0x04, 8, unit="byte")]
    sanitize: Annotated[bool, At(0x0C, bits=(0, 1))]


@dataclass(frozen=True, slots=True)
class ExtentQuery:
    """Extents of one host (5603h)."""

    SIZE: ClassVar = 12
    host_id: Annotated[int, At(0x00, 2)]
    number: Annotated[int, At(0x04, 4)]
    start: Annotated[int, At(0x08, 4)]


@dataclass(frozen=True, slots=True)
class ExtentList:
    """A piece of a host's extents; valid together only with pieces of the same generation."""

    SIZE: ClassVar = 0x18
    host_id: Annotated[int, At(0x00, 2)]
    start: Annotated[int, At(0x04, 4)]
    total: Annotated[int, At(0x0C, 4)]
    generation: Annotated[int, At(0x10, 4)]
    extents: Annotated[tuple[Extent, ...], Counted(0x18, Extent, At(0x08, 4))]


@dataclass(frozen=True, slots=True)
class AddCapacity:
    """Capacity to offer to a host (5604h); extents only with AddPolicy.PRESCRIPTIVE."""

    SIZE: ClassVar = 0x20
    host_id: Annotated[int, At(0x00, 2)]
    policy: Annotated[int, At(0x02, bits=(0, 4), of=AddPolicy)]
    region: Annotated[int, At(0x03)]
    length: Annotated[int, At(0x04, 8, unit="byte")]
    tag: Annotated[bytes, At(0x0C, 16)]
    extents: Annotated[tuple[Extent, ...], Counted(0x20, Extent, At(0x1C, 4))]


@dataclass(frozen=True, slots=True)
class ReleaseCapacity:
    """Capacity to ask back of a host, or to take from it (5605h)."""

    SIZE: ClassVar = 0x20
    host_id: Annotated[int, At(0x00, 2)]
    policy: Annotated[int, At(0x02, bits=(0, 4), of=RemovalPolicy)]
    forced: Annotated[bool, At(0x02, bits=(4, 1))]
    sanitize: Annotated[bool, At(0x02, bits=(5, 1))]
    length: Annotated[int, At(0x04, 8, unit="byte")]
    tag: Annotated[bytes, At(0x0C, 16)]
    extents: Annotated[tuple[Extent, ...], Counted(0x20, Extent, At(0x1C, 4))]


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag by itself."""

    SIZE: ClassVar = 16
    tag: Annotated[bytes, At(0x00, 16)]


@dataclass(frozen=True, slots=True)
class TagQuery:
    """Tags from `start` on, `limit` of them at most (5608h)."""

    SIZE: ClassVar = 8
    start: Annotated[int, At(0x00, 4)]
    limit: Annotated[int, At(0x04, 4)]


@dataclass(frozen=True, slots=True)
class TagUse:
    """Who has, and who waits for, the capacity of a tag: sets of host ids."""

    SIZE: ClassVar = 84
    tag: Annotated[bytes, At(0x00, 16)]
    flags: Annotated[int, At(0x10)]
    references: Annotated[frozenset[int], At(0x14, 32)]
    pending: Annotated[frozenset[int], At(0x34, 32)]


@dataclass(frozen=True, slots=True)
class Tags:
    """A piece of the tags; valid together only with pieces of the same generation."""

    SIZE: ClassVar = 16
    generation: Annotated[int, At(0x00, 4)]
    total: Annotated[int, At(0x04, 4)]
    validity: Annotated[int, At(0x0C)]
    tags: Annotated[tuple[TagUse, ...], Counted(0x10, TagUse, At(0x08, 4))]


GET_DCD_INFO = command(0x5600, "Get DCD Info", Nothing, DcdInfo)
GET_REGIONS = command(0x5601, "Get Host DC Region Configuration", RegionQuery, Regions)
SET_REGION = command(0x5602, "Set DC Region Configuration", RegionConfiguration, Nothing)
GET_EXTENTS = command(0x5603, "Get DC Region Extent Lists", ExtentQuery, ExtentList)
ADD_CAPACITY = command(
    0x5604, "Initiate Dynamic Capacity Add", AddCapacity, Nothing, background=True
)
RELEASE_CAPACITY = command(
    0x5605, "Initiate Dynamic Capacity Release", ReleaseCapacity, Nothing, background=True
)
ADD_REFERENCE = command(0x5606, "Dynamic Capacity Add Reference", Tag, Nothing)
REMOVE_REFERENCE = command(0x5607, "Dynamic Capacity Remove Reference", Tag, Nothing)
LIST_TAGS = command(0x5608, "Dynamic Capacity List Tags", TagQuery, Tags)

ROWS = (
    GET_DCD_INFO,
    GET_REGIONS,
    SET_REGION,
    GET_EXTENTS,
    ADD_CAPACITY,
    RELEASE_CAPACITY,
    ADD_REFERENCE,
    REMOVE_REFERENCE,
    LIST_TAGS,
)
