"""Which addresses of a device's capacity a part is made of. Pure; addresses and sizes in MiB."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Extent:
    """A run of device addresses."""

    start_mib: int
    size_mib: int

    @property
    def end_mib(self) -> int:
        """Return the first address behind it."""
        return self.start_mib + self.size_mib

    def overlaps(self, other: "Extent") -> bool:
        """Whether they have an address in common."""
        return self.start_mib < other.end_mib and other.start_mib < self.end_mib


def gaps(capacity_mib: int, used: Iterable[Extent]) -> list[Extent]:
    """Return what is free between `used`, by address."""
    found, at_mib = [], 0
    for extent in sorted(used):
        if extent.start_mib > at_mib:
            found.append(Extent(at_mib, extent.start_mib - at_mib))
        at_mib = max(at_mib, extent.end_mib)
    if at_mib < capacity_mib:
        found.append(Extent(at_mib, capacity_mib - at_mib))
    return found


def carve(
    capacity_mib: int, granularity_mib: int, used: Iterable[Extent], size_mib: int
) -> tuple[Extent, ...] | None:
    """Return extents of together `size_mib`, each whole blocks; None where there is not so much.

    One extent where any gap is large enough (the smallest such gap, lowest address first), else the
    largest gaps first, so that there are few.
    """
    blocks_mib = capacity_mib - capacity_mib % granularity_mib
    free = gaps(blocks_mib, used)
    fitting = [gap for gap in free if gap.size_mib >= size_mib]
    if fitting:
        best = min(fitting, key=lambda gap: (gap.size_mib, gap.start_mib))
        return (Extent(best.start_mib, size_mib),)
    taken, left_mib = [], size_mib
    for gap in sorted(free, key=lambda gap: (-gap.size_mib, gap.start_mib)):
        part_mib = min(gap.size_mib, left_mib)
        taken.append(Extent(gap.start_mib, part_mib))
        left_mib -= part_mib
        if not left_mib:
            return tuple(sorted(taken))
    return None


def without(extent: Extent, taken: Iterable[Extent]) -> list[Extent]:
    """Return what of `extent` is in none of `taken`."""
    left = [extent]
    for other in taken:
        left = [rest for each in left for rest in _cut(each, other)]
    return left


def _cut(extent: Extent, other: Extent) -> list[Extent]:
    if not extent.overlaps(other):
        return [extent]
    before = Extent(extent.start_mib, max(0, other.start_mib - extent.start_mib))
    after = Extent(other.end_mib, max(0, extent.end_mib - other.end_mib))
    return [rest for rest in (before, after) if rest.size_mib]
