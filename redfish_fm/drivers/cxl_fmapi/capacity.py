"""Dynamic capacity as parts: how much of which region each host has been given. Pure."""

from redfish_fm.drivers.cxl_fmapi.dcd_commands import Region
from redfish_fm.drivers.cxl_fmapi.events import Extent
from redfish_fm.fabric.model import PartState

BYTES_PER_MIB = 1 << 20

MANAGED_REGION = 0
"""The one region of each LD that is given out.

A vPPB is bound to a whole LD, with all of its regions: two of them could neither be bound one by
one nor given to two hosts.
"""


def in_region(region: Region, extent: Extent) -> bool:
    """Return whether an extent lies in a region."""
    return region.base <= extent.start < region.base + region.length


def region_parts(regions: tuple[Region, ...], extents: tuple[Extent, ...]) -> dict[int, PartState]:
    """Return what a host has of each region of which it has anything, by the region's number."""
    found = {}
    for number, region in enumerate(regions):
        mine = [each for each in extents if in_region(region, each)]
        size_mib = sum(each.length for each in mine) // BYTES_PER_MIB
        if size_mib:
            laid = tuple(
                (each.start // BYTES_PER_MIB, each.length // BYTES_PER_MIB) for each in mine
            )
            found[number] = PartState(size_mib, extents=laid)
    return found
